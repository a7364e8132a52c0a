"""Cross-validation of partly labelled data, for scikit-learn's own validation functions."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from primum._typing import Index
from primum.estimators import read_labels
from primum.estimators._labels import KnownLabels

# Folds of the default cv, unless there are fewer labelled rows.
DEFAULT_FOLDS = 5


class SemiSupervisedSplit:
    """Cross-validation with all unlabelled rows in every training set and none in the test sets.

    Plain cross-validation puts unlabelled rows into the test folds and withholds them from
    training. There, scikit-learn's scorers take their marker for a class that is never predicted;
    the ``score`` of this library's classifiers ignores them. This splitter splits only the
    labelled rows, of two or more classes. Use it as ``cv=`` anywhere in scikit-learn.

    Every training set must have a labelled row of every class; an error names a class that has
    none.

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
    >>> from primum.evaluation import SemiSupervisedSplit
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
        given = [] if self.cv is None else [repr(self.cv)]
        if self.shuffle:
            given += ["shuffle=True", f"random_state={self.random_state!r}"]
        return f"{type(self).__name__}({', '.join(given)})"

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
        known = labels.labeled
        known_groups = None if groups is None else np.asarray(groups)[known]
        parts = self.splitter_of(labels).split(
            np.zeros((len(known), 1)), labels.codes, known_groups
        )
        for number, (train, test) in enumerate(parts):
            check_every_class(number, labels, train)
            yield np.sort(np.concatenate([known[train], labels.unlabeled])), known[test]

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
        known_groups = None if groups is None else np.asarray(groups)[labels.labeled]
        splitter = self.splitter_of(labels)
        return int(splitter.get_n_splits(labels.codes, labels.codes, known_groups))

    def splitter_of(self, labels: KnownLabels) -> Any:
        """Return the splitter of the labelled rows.

        Parameters
        ----------
        labels : KnownLabels
            What is known about the labels.

        Returns
        -------
        splitter
            A splitter of scikit-learn.
        """
        if self.cv is None or isinstance(self.cv, Integral):
            return self._with_folds(number_of_stratified_folds(self.cv, labels))
        return self._with_folds(self.cv)

    def _with_folds(self, cv: Any) -> Any:
        if isinstance(cv, Integral):
            return StratifiedKFold(cv, shuffle=self.shuffle, random_state=self.random_state)
        if self.shuffle or self.random_state is not None:
            raise ValueError(
                f"shuffle and random_state are for a number of folds, but cv is {cv!r}: pass them "
                "to that splitter."
            )
        return check_cv(cv)


def number_of_stratified_folds(cv: Integral | None, labels: KnownLabels) -> int:
    """Return cv, or the default; raise an error if a class has fewer labelled rows."""
    counts = np.bincount(labels.codes, minlength=len(labels.classes))
    least, name = int(counts.min()), labels.classes.tolist()[int(counts.argmin())]
    return number_of_folds(cv, least, " of every class", f"class {name!r} has {least}")


def number_of_folds(cv: Integral | None, n_rows: int, of_what: str, found: str) -> int:
    """Return cv, or the default for n_rows labelled rows; raise an error if there are too few."""
    if cv is None and n_rows < 2:
        raise ValueError(
            f"Cross-validation needs at least 2 labelled rows{of_what}, but {found}: label more "
            "rows."
        )
    n_folds = min(DEFAULT_FOLDS, n_rows) if cv is None else int(cv)
    if n_rows < n_folds:
        advice = f"pass cv={n_rows} or less, or label" if n_rows > 1 else "label"
        raise ValueError(
            f"cv={n_folds} folds need at least {n_folds} labelled rows{of_what}, but {found}: "
            f"{advice} more rows."
        )
    return n_folds


def check_every_class(number: int, labels: KnownLabels, train: Index) -> None:
    """Raise an error if a class has no labelled row in a training set.

    A classifier fitted to it would never predict that class, and would have one score too few.
    """
    counts = np.bincount(labels.codes, minlength=len(labels.classes))
    missing = np.flatnonzero(np.bincount(labels.codes[train], minlength=len(labels.classes)) == 0)
    if len(missing):
        name, count = labels.classes.tolist()[missing[0]], counts[missing[0]]
        raise ValueError(
            f"The training set of split {number} has no labelled row of class {name!r}, which has "
            f"{count} labelled row{'s' if count > 1 else ''} in all: label more rows of it, leave "
            "the class out, or split so that every training set has a row of every class."
        )
