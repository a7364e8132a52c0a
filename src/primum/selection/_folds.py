"""Folds of the labelled rows; the unlabelled ones are in every training set."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from primum._typing import Index
from primum.estimators._labels import KnownLabels
from primum.estimators._targets import KnownTargets
from primum.selection.splitting import SemiSupervisedSplit, check_every_class

Known = KnownLabels | KnownTargets


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
    if hasattr(cv, "split"):
        rows, labels = np.zeros((len(known.labeled), 1)), _labels(known)
        parts = cv.split(rows, labels, _known_groups(known, groups))
        folds = [Fold(train, test) for train, test in parts]
    else:
        folds = [_given_fold(number, known, *split) for number, split in enumerate(cv)]
    if not folds:
        raise ValueError("cv has no splits: pass at least one pair of training and test rows.")
    return folds


def _labels(known: Known) -> Any:
    return known.codes if isinstance(known, KnownLabels) else known.targets


def _splitter(cv: Any, known: Known, shuffle: bool, seed: Any) -> Any:
    """Return the splitter of the labelled rows."""
    if isinstance(cv, SemiSupervisedSplit):
        return cv.splitter
    if cv is not None and not isinstance(cv, Integral):
        if shuffle:
            raise ValueError(
                f"shuffle=True needs a number of folds, but cv is {cv!r}: shuffle in that "
                "splitter instead."
            )
        return check_cv(cv)
    n_folds = 5 if cv is None else int(cv)
    check_folds_possible(n_folds, known)
    kind = StratifiedKFold if isinstance(known, KnownLabels) else KFold
    return kind(n_folds, shuffle=shuffle, random_state=seed if shuffle else None)


def check_folds_possible(n_folds: int, known: Known) -> None:
    """Raise an error if there are more folds than labelled rows, of a class if there are any."""
    if isinstance(known, KnownLabels):
        counts = np.bincount(known.codes, minlength=len(known.classes))
        count, name = int(counts.min()), known.classes.tolist()[int(counts.argmin())]
        what, found = " of every class", f"class {name!r} has {count}"
    else:
        count, what = len(known.labeled), ""
        found = "there is only one sample" if count == 1 else f"there are only {count}"
    if count < n_folds:
        advice = f"pass cv={count} or less, or label" if count > 1 else "label"
        raise ValueError(
            f"cv={n_folds} folds need at least {n_folds} labelled rows{what}, but {found}: "
            f"{advice} more rows."
        )


def _known_groups(known: Known, groups: Any) -> Any:
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


def _given_fold(number: int, known: Known, train: Any, test: Any) -> Fold:
    """Return a fold given by indices, or a mask, of rows of X."""
    n_rows = len(known.labeled) + len(known.unlabeled)
    position = np.full(n_rows, -1)
    position[known.labeled] = np.arange(len(known.labeled))
    train, test = (position[_indices(rows, n_rows)] for rows in (train, test))
    if (test < 0).any():
        raise ValueError(
            f"The test set of split {number} has {np.count_nonzero(test < 0)} unlabelled and "
            f"{np.count_nonzero(test >= 0)} labelled rows: unlabelled rows cannot be scored and "
            "are always trained on, so hold out labelled ones only."
        )
    return Fold(train[train >= 0], test)


def _indices(rows: Any, n_rows: int) -> Index:
    """Return indices of rows, given as such or as a mask."""
    rows = np.asarray(rows)
    return np.arange(n_rows)[rows if rows.size else rows.astype(np.intp)]


def _check_fold(number: int, fold: Fold, known: Known) -> None:
    """Raise an error if a fold cannot be trained on or scored."""
    if len(fold.test) == 0 or len(fold.train) == 0:
        raise ValueError(
            f"Split {number} trains on {len(fold.train)} labelled rows and holds out "
            f"{len(fold.test)}: use splits with at least one of each."
        )
    if isinstance(known, KnownLabels):
        check_every_class(number, known, fold.train)
