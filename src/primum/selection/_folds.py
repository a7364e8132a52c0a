"""Folds of the labelled rows; the unlabelled ones are in every training set."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from primum._typing import Index
from primum.estimators._labels import KnownLabels
from primum.selection.splitting import SemiSupervisedSplit, check_every_class


@dataclass(frozen=True)
class Fold:
    """Positions, among the labelled rows, of those to train on and of those held out."""

    train: Index
    test: Index


def read_folds(
    cv: Any, labels: KnownLabels, groups: Any, *, shuffle: bool, random_state: Any
) -> list[Fold]:
    """Return the folds that cv stands for.

    A number and a splitter split the labelled rows; an iterable consists of pairs of indices of
    rows of X, as everywhere in scikit-learn.
    """
    if cv is None or isinstance(cv, Integral) or hasattr(cv, "split"):
        folds = _dealt_folds(cv, labels, groups, shuffle, random_state)
    else:
        folds = [_given_fold(number, labels, *split) for number, split in enumerate(cv)]
    if not folds:
        raise ValueError("cv has no splits: pass at least one pair of training and test rows.")
    for number, fold in enumerate(folds):
        check_every_class(number, labels, fold.train)
    return folds


def _dealt_folds(
    cv: Any, labels: KnownLabels, groups: Any, shuffle: bool, random_state: Any
) -> list[Fold]:
    """Return the folds of a number or a splitter."""
    if cv is None or isinstance(cv, Integral):
        _check_every_class_fills_the_folds(5 if cv is None else int(cv), labels)
    if not isinstance(cv, SemiSupervisedSplit):
        cv = SemiSupervisedSplit(
            cv, shuffle=shuffle, random_state=random_state if shuffle else None
        )
    rows = np.zeros((len(labels.labeled), 1))
    parts = cv.splitter.split(rows, labels.codes, _known_groups(labels, groups))
    return [Fold(train, test) for train, test in parts]


def _known_groups(labels: KnownLabels, groups: Any) -> Any:
    """Return the groups of the labelled rows."""
    if groups is None:
        return None
    groups, n_rows = np.asarray(groups), len(labels.labeled) + len(labels.unlabeled)
    if groups.shape != (n_rows,):
        raise ValueError(
            f"groups has the shape {groups.shape}, but X has {n_rows} rows: pass one group for "
            "every row of X."
        )
    return groups[labels.labeled]


def _check_every_class_fills_the_folds(n_folds: int, labels: KnownLabels) -> None:
    """Raise an error if a class has fewer labelled rows than there are folds."""
    counts = np.bincount(labels.codes, minlength=len(labels.classes))
    smallest = int(counts.argmin())
    if counts[smallest] < n_folds:
        name, count = labels.classes.tolist()[smallest], int(counts[smallest])
        raise ValueError(
            f"cv={n_folds} folds need at least {n_folds} labelled rows of every class, but class "
            f"{name!r} has {count}: "
            + (f"pass cv={count} or less, or label" if count > 1 else "label")
            + " more rows of it."
        )


def _given_fold(number: int, labels: KnownLabels, train: Any, test: Any) -> Fold:
    n_rows = len(labels.labeled) + len(labels.unlabeled)
    position = np.full(n_rows, -1)
    position[labels.labeled] = np.arange(len(labels.labeled))
    # Boolean masks are as good as indices.
    train, test = (position[np.arange(n_rows)[np.asarray(rows)]] for rows in (train, test))
    if len(test) == 0 or (test < 0).any():
        raise ValueError(
            f"The test set of split {number} has {np.count_nonzero(test < 0)} unlabelled and "
            f"{np.count_nonzero(test >= 0)} labelled rows: unlabelled rows are always trained on, "
            "so hold out labelled ones only, and at least one."
        )
    return Fold(train[train >= 0], test)
