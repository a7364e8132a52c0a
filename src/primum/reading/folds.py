"""Folds of the labelled rows; the unlabelled ones are in every training set.

``SemiSupervisedSplit`` is a splitter for scikit-learn's own validation functions. Estimators and
comparisons read the parameters ``cv`` and ``groups`` here: ``read_folds`` requires every class in
every training set, and so does ``judging_folds``, whose folds are shuffled and keep groups
together; ``read_repeated_folds`` repeats such folds and lets a training set lack a class.
``tuning_folds`` returns folds inside a training set with groups. Numeric targets form one stratum,
so their folds are not stratified.
"""

import reprlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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

from primum._typing import AnyArray, Index, Mask
from primum._warnings import warn
from primum.reading.data import TrainingRows
from primum.reading.known import row_indices
from primum.reading.labels import KnownLabels, read_labels
from primum.reading.targets import Known, KnownTargets

# Folds of the default cv, as in scikit-learn, unless there are fewer labelled rows.
DEFAULT_FOLDS = 5


class SemiSupervisedSplit:
    """Cross-validation with all unlabelled rows in every training set and none in the test sets.

    Plain cross-validation puts unlabelled rows into the test folds and withholds them from
    training. In a test fold, scikit-learn's scorers take their marker for a class that is never
    predicted; the ``score`` of this library's classifiers ignores them. This splitter splits only
    the labelled rows, of two or more classes. Use it as ``cv=`` anywhere in scikit-learn.

    Every training set must have a labelled row of every class; if not, an error names the class.

    Parameters
    ----------
    cv : int or splitter, default=None
        How to split the labelled rows: a number of stratified folds, or any scikit-learn
        splitter. None means 5 folds or, if the smallest class has fewer labelled rows, as many as
        it has, but at least 2.
    shuffle : bool, default=False
        Whether to shuffle the labelled rows of each class before splitting them; only with a
        number of folds, as in ``StratifiedKFold``.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling; only with ``shuffle=True``. With an integer, every call of ``split``
        gives the same folds.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import SemiSupervisedSplit
    >>> y = np.array([0, 1, 0, 1, -1, -1])
    >>> for train, test in SemiSupervisedSplit(2).split(np.zeros((6, 1)), y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 4 5] [2 3]
    """

    def __init__(self, cv: Any = None, *, shuffle: bool = False, random_state: Any = None) -> None:
        self.cv, self.shuffle, self.random_state = cv, shuffle, random_state
        # Raise errors for invalid options here, not in the middle of a search.
        self._with_folds(DEFAULT_FOLDS if cv is None else cv)

    def __repr__(self) -> str:
        arguments = [] if self.cv is None else [repr(self.cv)]
        if self.shuffle:
            arguments += ["shuffle=True", f"random_state={self.random_state!r}"]
        return f"{type(self).__name__}({', '.join(arguments)})"

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Index, Index]]:
        """Split the labelled rows; all unlabelled rows are in every training set.

        Parameters
        ----------
        X : object
            Not used.
        y : array-like of shape (n_samples,)
            Classes, with markers where unknown.
        groups : array-like of shape (n_samples,), default=None
            Groups, for a splitter that uses them.

        Yields
        ------
        train : array
            Training rows.
        test : array
            Test rows, all of them labelled.
        """
        labels = read_labels(y, len(y), multi_class=True)
        for number, fold in enumerate(given_folds(self.splitter_of(labels), labels, groups)):
            check_every_class(number, labels, fold.train)
            train, test = labels.labeled[fold.train], labels.labeled[fold.test]
            yield np.sort(np.concatenate([train, labels.unlabeled])), test

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits of y; without y, of a y with enough labelled rows.

        Parameters
        ----------
        X : object, default=None
            Not used.
        y : array-like of shape (n_samples,), default=None
            Classes, with markers where unknown.
        groups : array-like of shape (n_samples,), default=None
            Groups, for a splitter that uses them.

        Returns
        -------
        int
            The number of splits.
        """
        if y is None:
            splitter = self._with_folds(DEFAULT_FOLDS if self.cv is None else self.cv)
            return int(splitter.get_n_splits(X, y, groups))
        labels = read_labels(y, len(y), multi_class=True)
        splitter, of_known = self.splitter_of(labels), known_groups(labels, groups)
        return int(splitter.get_n_splits(labels.codes, labels.codes, of_known))

    def splitter_of(self, labels: Known) -> Any:
        """Return the splitter of the labelled rows; folds of numeric targets are not stratified.

        Parameters
        ----------
        labels : KnownLabels or KnownTargets
            The known labels.

        Returns
        -------
        splitter
            A splitter of scikit-learn.
        """
        if not is_number(self.cv):
            return self._with_folds(self.cv)
        n_folds = number_of_stratified_folds(self.cv, labels)
        if isinstance(labels, KnownLabels):
            return self._with_folds(n_folds)
        return KFold(n_folds, shuffle=self.shuffle, random_state=self.random_state)

    def _with_folds(self, cv: Any) -> Any:
        if isinstance(cv, Integral):
            return StratifiedKFold(cv, shuffle=self.shuffle, random_state=self.random_state)
        if self.shuffle or self.random_state is not None:
            raise ValueError(
                f"shuffle and random_state are for a number of folds, but cv is {cv!r}: pass them "
                "to that splitter."
            )
        return check_cv(cv)


def is_number(cv: Any) -> bool:
    """Return whether cv is a number of folds or None."""
    return cv is None or isinstance(cv, Integral)


def number_of_stratified_folds(cv: Integral | None, labels: Known) -> int:
    """Return cv, or the default; raise an error if a class has fewer labelled rows."""
    if isinstance(labels, KnownTargets):
        n_rows = len(labels.labeled)
        there_are = "there is only one sample" if n_rows == 1 else f"there are only {n_rows}"
        return number_of_folds(cv, n_rows, "", there_are)
    least = labels.counts.min()
    name = labels.classes.tolist()[labels.counts.argmin()]
    return number_of_folds(cv, least, " of every class", f"class {name!r} has {least}")


def number_of_folds(cv: Integral | None, n_rows: int, of_what: str, there_are: str) -> int:
    """Return cv, or the default for n_rows labelled rows; raise an error if there are too few."""
    if cv is None and n_rows < 2:
        raise ValueError(
            f"Cross-validation needs at least 2 labelled rows{of_what}, but {there_are}: label "
            "more rows."
        )
    n_folds = min(DEFAULT_FOLDS, n_rows) if cv is None else int(cv)
    if n_rows < n_folds:
        advice = f"pass cv={n_rows} or less, or label" if n_rows > 1 else "label"
        raise ValueError(
            f"cv={n_folds} folds need at least {n_folds} labelled rows{of_what}, but {there_are}: "
            f"{advice} more rows."
        )
    return n_folds


def check_every_class(number: int, labels: KnownLabels, train: Index) -> None:
    """Raise an error if a class has no labelled row in a training set.

    A classifier fitted to it would never predict that class, and would have one score too few.
    """
    missing = np.setdiff1d(labels.codes, labels.codes[train])
    if len(missing):
        name, count = labels.classes.tolist()[missing[0]], labels.counts[missing[0]]
        raise ValueError(
            f"The training set of split {number} has no labelled row of class {name!r}, which has "
            f"{count} labelled row{'s' if count > 1 else ''} in all: label more rows of it, leave "
            "the class out, or split so that every training set has a row of every class."
        )


# The number of attempts to distribute groups so that every training set has every class: a few may
# fail by chance, but if all of them fail, it is hardly possible.
MAX_GROUP_ATTEMPTS = 20
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


def read_folds(
    cv: Any, labels: Known, groups: Any, *, shuffle: bool = False, seed: Any = None
) -> list[Fold]:
    """Return the folds that cv stands for.

    A number or a splitter splits the labelled rows; an iterable consists of pairs of indices of
    rows of X, as everywhere in scikit-learn.
    """
    if _splits(cv):
        if shuffle and not is_number(cv) and not isinstance(cv, SemiSupervisedSplit):
            raise ValueError(
                f"shuffle=True needs a number of folds, but cv is {cv!r}: shuffle in that splitter "
                "instead."
            )
        if not isinstance(cv, SemiSupervisedSplit):
            cv = SemiSupervisedSplit(cv, shuffle=shuffle, random_state=seed if shuffle else None)
        cv = cv.splitter_of(labels)
    return _checked(given_folds(cv, labels, groups), labels)


def judging_folds(
    cv: Any, labels: Known, groups: Any, seed: Any, chosen: Mask | None = None
) -> list[Fold]:
    """Return folds for judging models: none trains on a row that it holds out.

    A number of folds means stratified, shuffled ones, which keep groups together if there are any.
    With groups, ``seed`` is a number. Rows of X with a chosen label are never held out.
    """
    if chosen is not None:
        folds = judging_folds(cv, _to_split(cv, labels, chosen), groups, seed)
        of_row = known_groups(labels, groups)
        return _with_chosen(folds, cv, chosen[labels.labeled], of_row)
    if not is_number(cv):
        return _check_disjoint(read_folds(cv, labels, groups))
    strata = labels.strata
    if groups is None:
        n_folds = number_of_stratified_folds(cv, labels)
        return _checked(_split(n_folds, strata, None, seed), labels)

    # The number of folds that keep groups together: no more than groups of the rarest class.
    of_row = np.unique(known_groups(labels, groups), return_inverse=True)[1]
    counts = _groups_of_classes(strata, of_row)
    least = int(counts.min())
    if isinstance(labels, KnownTargets):
        if least < 2:
            raise ValueError(
                "All labelled rows belong to one group, so no group can be held out: label "
                "rows of other groups, or leave out the groups."
            )
        n_folds = number_of_folds(cv, least, ", in as many groups", f"they are in {least}")
    else:
        name = labels.classes.tolist()[int(counts.argmin())]
        if least < 2:
            raise ValueError(
                f"All labelled rows of class {name!r} belong to one group, so it cannot be both "
                "trained on and held out: label rows of it in other groups, or leave the class out."
            )
        there_are = f"class {name!r} has them in {least}"
        n_folds = number_of_folds(cv, least, " of every class, in as many groups", there_are)
    # The first attempt is taken that leaves rows of every class in every training set.
    n_strata = len(np.unique(strata))
    for attempt in range(MAX_GROUP_ATTEMPTS):
        folds = _split(n_folds, strata, of_row, seed + attempt)
        if all(len(np.unique(strata[fold.train])) == n_strata for fold in folds):
            return folds
    return _checked(folds, labels)


def given_folds(cv: Any, labels: Known, groups: Any) -> list[Fold]:
    """Return the folds of a splitter of the labelled rows, or of pairs of indices of rows of X."""
    if isinstance(cv, NEED_GROUPS) and groups is None:
        raise ValueError(f"cv={cv!r} keeps groups together: pass the group of each row as groups=.")
    if hasattr(cv, "split"):
        rows = np.zeros((len(labels.labeled), 1))
        values = labels.codes if isinstance(labels, KnownLabels) else labels.targets
        parts = cv.split(rows, values, known_groups(labels, groups))
        folds = [Fold(train, test) for train, test in parts]
    else:
        if getattr(cv, "ndim", 1) == 0:
            raise ValueError(f"cv is {cv!r}: pass a number of folds as an int, cv={cv.item()!r}.")
        position = np.full(labels.n_rows, -1)
        position[labels.labeled] = np.arange(len(labels.labeled))
        folds = []
        for number, split in enumerate(cv):
            if isinstance(split, str) or not hasattr(split, "__len__") or len(split) != 2:
                raise ValueError(
                    f"Split {number} of cv is {reprlib.repr(split)}: pass pairs (training rows, "
                    "test rows) of indices of rows of X."
                )
            train, test = (
                position[row_indices(rows, labels.n_rows, f"The {name} set of split {number}")]
                for rows, name in zip(split, ("training", "test"), strict=True)
            )
            if (test < 0).any():
                raise ValueError(
                    f"The test set of split {number} has {np.count_nonzero(test < 0)} unlabelled "
                    f"and {np.count_nonzero(test >= 0)} labelled rows: unlabelled rows cannot be "
                    "scored and are always trained on, so hold out labelled ones only."
                )
            folds.append(Fold(train[train >= 0], test))
    if not folds:
        raise ValueError("cv has no splits: pass at least one pair of training and test rows.")
    return folds


def _check_disjoint(folds: list[Fold]) -> list[Fold]:
    """Return folds; raise an error if one trains on rows that it holds out."""
    for number, fold in enumerate(folds):
        if n_both := len(np.intersect1d(fold.train, fold.test)):
            raise ValueError(
                f"Split {number} of cv trains on {n_both} of the {len(fold.test)} labelled rows "
                "that it holds out, which would be scored too well: pass splits whose training and "
                "test rows do not overlap."
            )
    return folds


def known_groups(labels: Known, groups: Any) -> Any:
    """Return the groups of the labelled rows."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (labels.n_rows,):
        raise ValueError(
            f"groups has the shape {groups.shape}, but X has {labels.n_rows} rows: pass one group "
            "for every row of X."
        )
    return groups[labels.labeled]


def _checked(folds: list[Fold], labels: Known) -> list[Fold]:
    """Return folds; raise an error if one cannot be trained on or scored."""
    for number, fold in enumerate(folds):
        _refuse_empty(number, fold, "labelled rows")
        if isinstance(labels, KnownLabels):
            check_every_class(number, labels, fold.train)
    return folds


def _refuse_empty(number: int, fold: Fold, rows: str) -> None:
    if len(fold.test) == 0 or len(fold.train) == 0:
        raise ValueError(
            f"Split {number} trains on {len(fold.train)} {rows} and holds out {len(fold.test)}: "
            "use splits with at least one of each."
        )


def _split(n_folds: int, codes: Index, groups: Index | None, seed: Any) -> list[Fold]:
    """Return shuffled folds of labelled rows, stratified as far as their groups allow.

    Folds with an empty training or test set are left out.
    """
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # That a class has fewer rows than there are folds matters only if it is missing in one.
        warnings.filterwarnings("ignore", "The least populated class in y", UserWarning)
        parts = list(splitter.split(np.zeros((len(codes), 1)), codes, groups))
    return [Fold(train, test) for train, test in parts if len(train) and len(test)]


def tuning_folds(most: int, codes: Index, groups: Any) -> list[Fold]:
    """Return folds of labelled rows that keep groups together, for tuning inside a training set.

    There are at most ``most`` folds; each trains on and holds out rows of every class. If groups do
    not allow that, there are none, and a warning says so.
    """
    of_row = np.unique(groups, return_inverse=True)[1]
    n_groups = _groups_of_classes(codes, of_row)
    n_classes = np.count_nonzero(n_groups)
    for n_folds in range(min(most, n_groups[n_groups > 0].min()), 1, -1):
        for seed in range(MAX_GROUP_ATTEMPTS):
            folds = _split(n_folds, codes, of_row, seed)
            parts = [part for fold in folds for part in (fold.train, fold.test)]
            if all(len(np.unique(codes[part])) == n_classes for part in parts):
                return folds
    warn(
        "Groups were split to choose a penalty, because some class has labelled rows in too few of "
        "them.",
        UserWarning,
    )
    return []


def _groups_of_classes(codes: Index, of_row: Index) -> Index:
    """Return, for every class, the number of groups with labelled rows of it."""
    return np.bincount(np.unique(np.column_stack([codes, of_row]), axis=0)[:, 0])


def _to_split(cv: Any, labels: Known, chosen: Mask) -> Known:
    """Return the labels that cv splits: those drawn at random, unless it consists of pairs."""
    return labels.keeping(~chosen[labels.labeled]) if _splits(cv) else labels


def _splits(cv: Any) -> bool:
    """Return whether cv splits the rows that it is given; if not, it is pairs of rows of X."""
    return is_number(cv) or hasattr(cv, "split")


def _with_chosen(
    folds: Sequence[Fold], cv: Any, chosen: Mask, groups: AnyArray | None
) -> list[Fold]:
    """Turn folds of labels drawn at random into folds of all labels that hold out no chosen one.

    Every fold trains on the chosen labels, except on those in the group of a row that it holds out.
    Pairs of rows define their own training sets; chosen rows are only removed from the test sets.
    The folds are those of the labels that ``_to_split`` returns; ``chosen`` and ``groups`` are
    (n_labeled,).
    """
    if not _splits(cv):
        all_folds = [Fold(fold.train, fold.test[~chosen[fold.test]]) for fold in folds]
        for number, fold in enumerate(all_folds):
            _refuse_empty(number, fold, "labelled rows that were not chosen")
        return all_folds
    drawn, of_chosen = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    all_folds = []
    for fold in folds:
        test = drawn[fold.test]
        trained = of_chosen
        if groups is not None:
            trained = of_chosen[~np.isin(groups[of_chosen], groups[test])]
        all_folds.append(Fold(np.sort(np.append(drawn[fold.train], trained)), test))
    return all_folds


def read_repeated_folds(
    cv: Any,
    n_repeats: int,
    given: TrainingRows,
    groups: Any,
    seed: int,
    chosen: Mask | None = None,
) -> list[Fold]:
    """Return folds, as positions among the labelled rows of positive weight.

    A number of folds means stratified ones, shuffled and repeated, which keep groups together if
    there are any; any other cv defines the folds itself. A class that is missing from a training
    set has no score there. Rows of X with a chosen label are never held out.
    """
    labels = given.labels
    if chosen is not None:
        drawn = replace(given, labels=_to_split(cv, labels, chosen))
        folds = read_repeated_folds(cv, n_repeats, drawn, groups, seed)
        of_row = None if groups is None else known_groups(labels, groups)[given.known]
        return _with_chosen(folds, cv, chosen[labels.labeled[given.known]], of_row)
    if is_number(cv):
        codes = labels.strata[given.known]
        # More folds than rows of the largest class cannot be stratified at all.
        most = int(np.bincount(codes).max())
        if len(codes) == 1:
            raise ValueError(
                "There is only one labelled row (one sample), so none can be held out to compare "
                "models: label more rows."
            )
        if most < 2:
            raise ValueError(
                f"Every class has only one labelled row ({len(codes)} in all), so no row can be "
                "held out to compare models: label more rows, or use a supervised classifier."
            )
        n_folds = min(DEFAULT_FOLDS if cv is None else int(cv), most)
        if groups is None:
            rng = np.random.RandomState(seed)
            return [f for _ in range(n_repeats) for f in _split(n_folds, codes, None, rng)]
        names, of_row = np.unique(known_groups(labels, groups)[given.known], return_inverse=True)
        if len(names) < 2:
            raise ValueError(
                f"All labelled rows belong to the group {names.tolist()[0]!r}, so no group can be "
                "held out: label rows of other groups, or leave out groups=."
            )
        n_folds = min(n_folds, len(names))
        seeds = range(seed, seed + n_repeats)
        return [fold for own in seeds for fold in _split(n_folds, codes, of_row, own)]
    splitter = cv.splitter_of(labels) if isinstance(cv, SemiSupervisedSplit) else cv
    position = np.full(len(labels.labeled), -1)
    position[given.known] = np.arange(len(given.known))
    folds = [
        Fold(*(rows[rows >= 0] for rows in (position[fold.train], position[fold.test])))
        for fold in given_folds(splitter, labels, groups)
    ]
    for number, fold in enumerate(folds):
        _refuse_empty(number, fold, "labelled rows of positive weight")
    return _check_disjoint(folds)
