"""Folds of the labelled rows; the unlabelled ones are in every training set."""

import reprlib
import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from primum._typing import Index
from primum.estimators._labels import KnownLabels
from primum.estimators._targets import KnownTargets
from primum.selection.splitting import (
    SemiSupervisedSplit,
    check_every_class,
    number_of_folds,
    number_of_stratified_folds,
)

# How often groups are distributed anew until every training set has every class.
GROUP_ATTEMPTS = 20
Known = KnownLabels | KnownTargets
NEED_GROUPS = (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    StratifiedGroupKFold,
)


@dataclass(frozen=True)
class Fold:
    """Positions, among the labelled rows, of those to train on and of those held out."""

    train: Index
    test: Index


def read_folds(cv: Any, known: Known, groups: Any, *, shuffle: bool, seed: Any) -> list[Fold]:
    """Return the folds that cv stands for.

    A number and a splitter split the labelled rows; an iterable consists of pairs of indices of
    rows of X, as everywhere in scikit-learn.
    """
    if cv is None or isinstance(cv, Integral) or hasattr(cv, "split"):
        cv = _splitter(cv, known, shuffle, seed)
    folds = given_folds(cv, known, groups)
    for number, fold in enumerate(folds):
        _check_fold(number, fold, known)
    return folds


def given_folds(cv: Any, known: Known, groups: Any) -> list[Fold]:
    """Return the folds of a splitter of the labelled rows, or of pairs of indices of rows of X."""
    if isinstance(cv, NEED_GROUPS) and groups is None:
        raise ValueError(f"cv={cv!r} keeps groups together: pass the group of each row as groups=.")
    if hasattr(cv, "split"):
        rows, labels = np.zeros((len(known.labeled), 1)), _labels(known)
        parts = cv.split(rows, labels, known_groups(known, groups))
        folds = [Fold(train, test) for train, test in parts]
    else:
        if getattr(cv, "ndim", 1) == 0:
            raise ValueError(f"cv is {cv!r}: pass a number of folds as an int, cv={cv.item()!r}.")
        folds = [_given_fold(number, known, split) for number, split in enumerate(cv)]
    if not folds:
        raise ValueError("cv has no splits: pass at least one pair of training and test rows.")
    return folds


def check_disjoint(folds: list[Fold]) -> list[Fold]:
    """Return folds by which models are judged; raise an error if one trains on held-out rows."""
    for number, fold in enumerate(folds):
        if n_both := len(np.intersect1d(fold.train, fold.test)):
            raise ValueError(
                f"Split {number} of cv trains on {n_both} of the {len(fold.test)} labelled rows "
                "that it holds out, which would be scored too well: pass splits whose training and "
                "test rows do not overlap."
            )
    return folds


def _labels(known: Known) -> Any:
    return known.codes if isinstance(known, KnownLabels) else known.targets


def _splitter(cv: Any, known: Known, shuffle: bool, seed: Any) -> Any:
    """Return the splitter of the labelled rows."""
    if isinstance(cv, SemiSupervisedSplit):
        if isinstance(known, KnownLabels):
            return cv.splitter_of(known)
        cv, shuffle, seed = cv.cv, cv.shuffle, cv.random_state  # targets have no classes
    if cv is not None and not isinstance(cv, Integral):
        if shuffle:
            raise ValueError(
                f"shuffle=True needs a number of folds, but cv is {cv!r}: shuffle in that "
                "splitter instead."
            )
        return check_cv(cv)
    seed = seed if shuffle else None
    if isinstance(known, KnownLabels):
        n_folds = number_of_stratified_folds(cv, known)
        return StratifiedKFold(n_folds, shuffle=shuffle, random_state=seed)
    n_rows = len(known.labeled)
    found = "there is only one sample" if n_rows == 1 else f"there are only {n_rows}"
    n_folds = number_of_folds(cv, n_rows, "", found)
    return KFold(n_folds, shuffle=shuffle, random_state=seed)


def known_groups(known: Known, groups: Any) -> Any:
    """Return the groups of the labelled rows."""
    if groups is None:
        return None
    groups, n_rows = np.asarray(groups), len(known.labeled) + len(known.unlabeled)
    if groups.shape != (n_rows,):
        raise ValueError(
            f"groups has the shape {groups.shape}, but X has {n_rows} rows: pass one group for "
            "every row of X."
        )
    return groups[known.labeled]


def _given_fold(number: int, known: Known, split: Any) -> Fold:
    """Return a fold given by indices, or a mask, of rows of X."""
    if isinstance(split, str) or not hasattr(split, "__len__") or len(split) != 2:
        raise ValueError(
            f"Split {number} of cv is {reprlib.repr(split)}: pass pairs (training rows, test rows) "
            "of indices of rows of X."
        )
    n_rows = len(known.labeled) + len(known.unlabeled)
    position = np.full(n_rows, -1)
    position[known.labeled] = np.arange(len(known.labeled))
    names = (f"The training set of split {number}", f"The test set of split {number}")
    train, test = (
        position[_indices(rows, n_rows, name)] for rows, name in zip(split, names, strict=True)
    )
    if (test < 0).any():
        raise ValueError(
            f"The test set of split {number} has {np.count_nonzero(test < 0)} unlabelled and "
            f"{np.count_nonzero(test >= 0)} labelled rows: unlabelled rows cannot be scored and "
            "are always trained on, so hold out labelled ones only."
        )
    return Fold(train[train >= 0], test)


def _indices(rows: Any, n_rows: int, name: str) -> Index:
    """Return indices of rows, given as such or as a mask."""
    try:
        given = np.asarray(rows)
    except ValueError:  # lists of unequal lengths
        given = np.empty((), dtype=object)
    if given.shape == (0,):
        return np.zeros(0, dtype=np.intp)
    is_mask = given.dtype.kind == "b"
    if given.ndim != 1 or given.dtype.kind not in "iub" or (is_mask and len(given) != n_rows):
        raise ValueError(
            f"{name} is {reprlib.repr(rows)}: pass indices of rows of X, integers from 0 to "
            f"{n_rows - 1}, or a mask of {n_rows} rows."
        )
    if not is_mask and ((given < -n_rows) | (given >= n_rows)).any():
        wrong = given[(given < -n_rows) | (given >= n_rows)][0]
        raise ValueError(
            f"{name} has the index {wrong}, but X has {n_rows} rows: pass indices from 0 to "
            f"{n_rows - 1}."
        )
    return np.arange(n_rows)[given]


def _check_fold(number: int, fold: Fold, known: Known) -> None:
    """Raise an error if a fold cannot be trained on or scored."""
    if len(fold.test) == 0 or len(fold.train) == 0:
        raise ValueError(
            f"Split {number} trains on {len(fold.train)} labelled rows and holds out "
            f"{len(fold.test)}: use splits with at least one of each."
        )
    if isinstance(known, KnownLabels):
        check_every_class(number, known, fold.train)


def group_folds(cv: Integral | None, known: KnownLabels, groups: Any, seed: int) -> list[Fold]:
    """Return stratified folds that keep groups of rows of X together, shuffled.

    Of several ways to distribute the groups, the first is taken that leaves labelled rows of every
    class in every training set.
    """
    of_row = np.unique(known_groups(known, groups), return_inverse=True)[1]
    n_folds = _number_of_group_folds(cv, known, of_row)
    for attempt in range(GROUP_ATTEMPTS):
        folds = split_groups(n_folds, known.codes, of_row, seed + attempt)
        if all(len(np.unique(known.codes[f.train])) == len(known.classes) for f in folds):
            return folds
    for number, fold in enumerate(folds):
        _check_fold(number, fold, known)
    return folds


def split_groups(n_folds: int, codes: Index, of_row: Index, seed: int) -> list[Fold]:
    """Return shuffled folds of labelled rows, stratified as far as their groups allow."""
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # That a class has fewer rows than there are folds matters only if it is missing in one.
        warnings.filterwarnings("ignore", "The least populated class in y", UserWarning)
        parts = list(splitter.split(np.zeros((len(codes), 1)), codes, of_row))
    return [Fold(train, test) for train, test in parts if len(train) and len(test)]


def tuning_folds(most: int, codes: Index, groups: Any) -> list[Fold]:
    """Return folds of labelled rows that keep groups together, for tuning inside a training set.

    There are at most so many; each trains on and holds out rows of every class. If groups do not
    allow that, there are none, and a warning says so.
    """
    of_row = np.unique(groups, return_inverse=True)[1]
    n_classes = len(np.unique(codes))
    pairs = np.unique(np.column_stack([codes, of_row]), axis=0)
    least = int(np.unique(pairs[:, 0], return_counts=True)[1].min())
    for n_folds in range(min(most, least), 1, -1):
        for seed in range(GROUP_ATTEMPTS):
            folds = split_groups(n_folds, codes, of_row, seed)
            parts = [part for fold in folds for part in (fold.train, fold.test)]
            if all(len(np.unique(codes[part])) == n_classes for part in parts):
                return folds
    warnings.warn(
        "Groups were split to choose a penalty, because some class has labelled rows in too few of "
        "them.",
        UserWarning,
        stacklevel=2,
    )
    return []


def _number_of_group_folds(cv: Integral | None, known: KnownLabels, of_row: Index) -> int:
    """Return the number of folds; raise an error if a class has labelled rows in fewer groups."""
    pairs = np.unique(np.column_stack([known.codes, of_row]), axis=0)
    counts = np.bincount(pairs[:, 0], minlength=len(known.classes))
    least, name = int(counts.min()), known.classes.tolist()[int(counts.argmin())]
    if least < 2:
        raise ValueError(
            f"All labelled rows of class {name!r} belong to one group, so that it cannot be both "
            "trained on and held out: label rows of it in other groups, or leave the class out."
        )
    found = f"class {name!r} has them in {least}"
    return number_of_folds(cv, least, " of every class, in as many groups", found)
