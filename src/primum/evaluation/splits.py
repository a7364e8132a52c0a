"""Splitting rows into labelled, unlabelled and test.

``SemiSupervisedSplit`` is for scikit-learn's own validation functions and partly labelled data.
``CrossValidation`` and ``LearningCurve`` are the paper's two designs, which hide labels of fully
labelled data.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from primum._typing import AnyArray, Floats, Index
from primum.estimators import read_labels


class SemiSupervisedSplit:
    """Cross-validation with all unlabelled rows in every training set and none in the test sets.

    Plain cross-validation puts unlabelled rows into the test folds and withholds them from
    training. There, scikit-learn's scorers take their marker for a class that is never predicted;
    the ``score`` of this library's classifiers ignores them. This splitter splits only the
    labelled rows. Use it as ``cv=`` anywhere in scikit-learn.

    Parameters
    ----------
    cv : int or splitter, default=5
        How to split the labelled rows: a number of stratified folds, or any scikit-learn
        splitter.
    shuffle : bool, default=False
        Whether to shuffle the labelled rows of each class before dealing them out; only with a
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

    def __init__(self, cv: Any = 5, *, shuffle: bool = False, random_state: Any = None) -> None:
        self.cv, self.shuffle, self.random_state = cv, shuffle, random_state
        self._splitter()  # raise errors for invalid options here, not in the middle of a search

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Index, Index]]:
        """Yield (training rows, test rows); all unlabelled rows are in every training set."""
        labels = read_labels(y, len(y), multi_class=True)
        known = labels.labeled
        dealt = self._splitter()
        if isinstance(dealt, StratifiedKFold):
            _check_enough_for_folds(dealt.n_splits, labels.codes)
        known_groups = None if groups is None else np.asarray(groups)[known]
        for train, test in dealt.split(np.zeros((len(known), 1)), labels.codes, known_groups):
            yield np.sort(np.concatenate([known[train], labels.unlabeled])), known[test]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        if y is None:
            return int(self._splitter().get_n_splits(X, y, groups))
        labels = read_labels(y, len(y), multi_class=True)
        known_groups = None if groups is None else np.asarray(groups)[labels.labeled]
        return int(self._splitter().get_n_splits(labels.codes, labels.codes, known_groups))

    def _splitter(self) -> Any:
        """Return the splitter of the labelled rows."""
        if self.cv is None or isinstance(self.cv, Integral):
            n_folds = 5 if self.cv is None else self.cv
            return StratifiedKFold(n_folds, shuffle=self.shuffle, random_state=self.random_state)
        if self.shuffle or self.random_state is not None:
            raise ValueError(
                "shuffle and random_state are for a number of folds, but cv is "
                f"{self.cv!r}: pass them to that splitter."
            )
        return check_cv(self.cv)


def _check_enough_for_folds(n_folds: int, codes: Index) -> None:
    """Raise an error if there are more folds than labelled rows of the largest class."""
    largest = int(np.bincount(codes).max())
    if largest < n_folds:
        raise ValueError(
            f"{n_folds} stratified folds need a class with at least {n_folds} labelled rows, but "
            f"of the {len(codes)} labelled rows at most {largest} are of one class: use fewer "
            "folds, or label more rows."
        )


@dataclass(frozen=True)
class Split:
    """Rows by their role; ``at`` is the fold, or the number of unlabelled rows."""

    at: int
    labeled: Index
    unlabeled: Index
    test: Index


@dataclass(frozen=True)
class Design:
    """The common base of the paper's two designs.

    Attributes
    ----------
    n_labeled : int or None
        Number of labelled rows; None means the paper's rule, ``max(d + 5, 20)``.
    scaling : {"paper", "train", "none"}
        ``paper``: features are standardised on the whole data set before any split, as in the
        published runs, so the scale of the test rows leaks into training. ``train``: features are
        standardised on each training set, labelled and unlabelled. ``none``: no scaling.
    """

    n_labeled: int | None = None
    scaling: str = "paper"

    def __post_init__(self) -> None:
        if self.scaling not in ("paper", "train", "none"):
            raise ValueError(f"scaling must be 'paper', 'train' or 'none', got {self.scaling!r}.")

    @property
    def name(self) -> str:
        """The purpose that seeds the random numbers."""
        raise NotImplementedError

    def labeled_count(self, d: int) -> int:
        """Return the number of labelled rows for d features."""
        return max(d + 5, 20) if self.n_labeled is None else self.n_labeled

    def splits(self, y: Index, d: int, rng: np.random.Generator) -> Iterator[Split]:
        """Yield the splits of one repeat, for labels y encoded as 0 and 1."""
        raise NotImplementedError


@dataclass(frozen=True)
class CrossValidation(Design):
    """Cross-validation; in each training set a few rows are labelled, all others unlabelled."""

    n_folds: int = 10

    @property
    def name(self) -> str:  # noqa: D102
        return "cross-validation"

    def splits(self, y: Index, d: int, rng: np.random.Generator) -> Iterator[Split]:  # noqa: D102
        n_labeled = self.labeled_count(d)
        folds = deal_folds(y, self.n_folds, rng)
        for fold, test in enumerate(folds):
            train = np.concatenate([rows for k, rows in enumerate(folds) if k != fold])
            _check_enough(n_labeled, len(train))
            order = labeled_first(y, train, rng)
            yield Split(fold, order[:n_labeled], order[n_labeled:], test)


@dataclass(frozen=True)
class LearningCurve(Design):
    """Nested unlabelled sets of growing size; all other rows are test rows."""

    sizes: tuple[int, ...] = tuple(2**k for k in range(11))

    @property
    def name(self) -> str:  # noqa: D102
        return "learning-curve"

    def splits(self, y: Index, d: int, rng: np.random.Generator) -> Iterator[Split]:  # noqa: D102
        n_labeled = self.labeled_count(d)
        _check_enough(n_labeled, len(y) - 1)
        order = labeled_first(y, np.arange(len(y)), rng)
        labeled, rest = order[:n_labeled], order[n_labeled:]
        for size in self.sizes:
            if size < len(rest):
                yield Split(size, labeled, rest[:size], rest[size:])


def deal_folds(y: Index, n_folds: int, rng: np.random.Generator) -> list[Index]:
    """Return folds of ``len(y) // n_folds`` rows with every class; the last also has the rest."""
    shuffled = rng.permutation(len(y))
    anchors: list[Index] = []
    for label in np.unique(y):
        members = shuffled[y[shuffled] == label]
        if len(members) < n_folds:
            raise ValueError(
                f"{n_folds} folds need at least {n_folds} rows of each class, but class {label} "
                f"has {len(members)}: use fewer folds."
            )
        anchors.append(members[:n_folds])
    first = np.stack(anchors, axis=1)
    # Shuffle again: in the old order, rows before the last anchor are short of small classes.
    rest = rng.permutation(shuffled[~np.isin(shuffled, first)])
    share = len(y) // n_folds - first.shape[1]
    cuts = share * np.arange(1, n_folds)
    return [np.concatenate(pair) for pair in zip(first, np.split(rest, cuts), strict=True)]


def labeled_first(y: Index, rows: Index, rng: np.random.Generator) -> Index:
    """Return the rows shuffled, with one of each class first."""
    shuffled = rng.permutation(rows)
    front = [int(np.argmax(y[shuffled] == label)) for label in np.unique(y)]
    # Shuffle again: in the old order, the first rows are those that a plain shuffle would draw.
    rest = rng.permutation(np.delete(shuffled, front))
    return np.concatenate([shuffled[front], rest])


def _check_enough(n_labeled: int, available: int) -> None:
    if not 2 <= n_labeled < available:
        raise ValueError(
            f"{n_labeled} labelled rows are requested, but there are {available} training rows "
            "(and at least 2 are needed): set n_labeled to a number in between."
        )


def scale_features(X: Floats, split: Split, scaling: str) -> Floats:
    """Return the features, scaled as the design requires."""
    if scaling == "none":
        return X
    basis = X if scaling == "paper" else X[np.concatenate([split.labeled, split.unlabeled])]
    deviation = basis.std(axis=0, ddof=1)
    return (X - basis.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def hidden_labels(y: AnyArray, split: Split) -> tuple[Index, Index]:
    """Return (training rows, their labels with -1 where hidden)."""
    train = np.concatenate([split.labeled, split.unlabeled])
    labels = np.where(np.arange(len(train)) < len(split.labeled), y[train], -1)
    return train, labels
