"""Folds of the labelled rows for a stack: repeated, and allowed to lack a class."""

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold

from primum._typing import AnyArray
from primum.estimators._data import FitArguments
from primum.estimators._labels import KnownLabels
from primum.selection._folds import Fold, check_disjoint, given_folds, known_groups, split_groups
from primum.selection.splitting import SemiSupervisedSplit


def read_repeated_folds(
    cv: Any, n_repeats: int, given: FitArguments[KnownLabels], groups: Any, seed: int
) -> list[Fold]:
    """Return folds, as positions among the labelled rows of positive weight.

    A number of folds means as many stratified ones, repeated and shuffled, which keep groups
    together if there are any; any other cv gives the folds itself. A class that is missing in a
    training set has no score there.
    """
    known = given.labels
    if cv is None or isinstance(cv, Integral):
        present = replace(known, labeled=known.labeled[given.known], codes=known.codes[given.known])
        n_folds = _number_of_folds(5 if cv is None else int(cv), present)
        if groups is None:
            return _stratified(n_folds, n_repeats, present, seed)
        of_rows = known_groups(known, groups)[given.known]
        return _of_groups(n_folds, n_repeats, present, of_rows, seed)
    splitter = cv.splitter_of(known) if isinstance(cv, SemiSupervisedSplit) else cv
    position = np.full(len(known.labeled), -1)
    position[given.known] = np.arange(len(given.known))
    folds = [
        Fold(*(found[found >= 0] for found in (position[fold.train], position[fold.test])))
        for fold in given_folds(splitter, known, groups)
    ]
    for number, fold in enumerate(folds):
        if len(fold.train) == 0 or len(fold.test) == 0:
            raise ValueError(
                f"Split {number} trains on {len(fold.train)} labelled rows of positive weight and "
                f"holds out {len(fold.test)}: use splits with at least one of each."
            )
    return check_disjoint(folds)


def _number_of_folds(n_folds: int, known: KnownLabels) -> int:
    counts = np.bincount(known.codes, minlength=len(known.classes))
    if counts.max() < 2:
        raise ValueError(
            f"Every class has only one labelled row ({len(known.codes)} in all), so that no row "
            "can be held out to compare models: label more rows, or use a supervised classifier."
        )
    # More folds than rows of the largest class cannot be stratified at all.
    return min(n_folds, int(counts.max()))


def _stratified(n_folds: int, n_repeats: int, known: KnownLabels, seed: int) -> list[Fold]:
    splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=seed)
    with warnings.catch_warnings():
        # That a class has fewer rows than there are folds matters to none of the candidates.
        warnings.filterwarnings("ignore", "The least populated class in y", UserWarning)
        parts = list(splitter.split(np.zeros((len(known.codes), 1)), known.codes))
    return [Fold(train, test) for train, test in parts]


def _of_groups(
    n_folds: int, n_repeats: int, known: KnownLabels, groups: AnyArray, seed: int
) -> list[Fold]:
    names, of_row = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f"All labelled rows belong to the group {names.tolist()[0]!r}, so that no group can be "
            "held out: label rows of other groups, or leave out groups=."
        )
    return [
        fold
        for repeat in range(n_repeats)
        for fold in split_groups(min(n_folds, len(names)), known.codes, of_row, seed + repeat)
    ]
