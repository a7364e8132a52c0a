"""Designs that hide labels of fully labelled data: the paper's two, and a plain hold-out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from primum._typing import AnyArray, Floats, Index

TrainAndTest = Iterator[tuple[Index, Index]]


@dataclass(frozen=True)
class Split:
    """Rows by their role; ``at`` is the fold, or the number of unlabelled rows."""

    at: int
    labeled: Index
    unlabeled: Index
    test: Index


@dataclass(frozen=True)
class SplitDesign:
    """The common base of the designs.

    Attributes
    ----------
    n_labeled : int or None
        Number of labelled rows; None means the paper's rule, ``max(d + 5, 20)``.
    scaling : {"paper", "train", "none"}
        ``paper``: features are standardised on the whole data set before any split, as in the
        published runs, so the scale of the test rows leaks into training. ``train``: features are
        standardised on each training set, labelled and unlabelled. ``none``: no scaling.
    """

    name: ClassVar[str]  # names the purpose of the random numbers
    n_labeled: int | None = None
    scaling: str = "paper"

    def __post_init__(self) -> None:
        if self.scaling not in ("paper", "train", "none"):
            raise ValueError(f"scaling must be 'paper', 'train' or 'none', got {self.scaling!r}.")

    def labeled_count(self, d: int) -> int:
        """Return the number of labelled rows.

        Parameters
        ----------
        d : int
            Number of features.

        Returns
        -------
        int
            The number.
        """
        return max(d + 5, 20) if self.n_labeled is None else self.n_labeled

    def splits(self, y: AnyArray, d: int, rng: np.random.Generator) -> Iterator[Split]:
        """Split the rows of one repeat.

        Parameters
        ----------
        y : array of shape (n_rows,)
            Labels.
        d : int
            Number of features.
        rng : Generator
            Random numbers.

        Yields
        ------
        Split
            Labelled, unlabelled and test rows.
        """
        n_labeled, n_classes = self.labeled_count(d), len(np.unique(y))
        for at, (train, test) in enumerate(self._parts(y, rng)):
            _check_enough(n_labeled, len(train), n_classes)
            order = labeled_first(y, train, rng)
            yield Split(at, order[:n_labeled], order[n_labeled:], test)

    def _parts(self, y: AnyArray, rng: np.random.Generator) -> TrainAndTest:
        """Yield the training and the test rows of each split of one repeat."""
        raise NotImplementedError


@dataclass(frozen=True)
class CrossValidation(SplitDesign):
    """Cross-validation; in each training set a few rows are labelled and all others unlabelled.

    Parameters
    ----------
    n_labeled : int, default=None
        Number of labelled rows; None means the paper's rule, ``max(d + 5, 20)``.
    scaling : {"paper", "train", "none"}, default="paper"
        ``paper``: features are standardised on the whole data set before any split, as in the
        published runs, so the scale of the test rows leaks into training. ``train``: features are
        standardised on each training set, labelled and unlabelled. ``none``: no scaling.
    n_folds : int, default=10
        Number of folds, each with at least one row of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from primum_lab import CrossValidation
    >>> y = np.arange(100) % 2
    >>> design = CrossValidation(n_labeled=10, n_folds=4)
    >>> splits = design.splits(y, 3, np.random.default_rng(0))
    >>> [(len(split.unlabeled), len(split.test)) for split in splits]
    [(65, 25), (65, 25), (65, 25), (65, 25)]
    """

    name: ClassVar[str] = "cross-validation"
    n_folds: int = 10

    def _parts(self, y: AnyArray, rng: np.random.Generator) -> TrainAndTest:
        folds = deal_folds(y, self.n_folds, rng)
        for fold, test in enumerate(folds):
            yield np.concatenate([rows for k, rows in enumerate(folds) if k != fold]), test


@dataclass(frozen=True)
class HoldOut(SplitDesign):
    """One random test set in every repeat; a few of the other rows are labelled.

    Parameters
    ----------
    n_labeled : int, default=None
        Number of labelled rows; None means the paper's rule, ``max(d + 5, 20)``.
    scaling : {"paper", "train", "none"}, default="paper"
        ``paper``: features are standardised on the whole data set before any split, as in the
        published runs, so the scale of the test rows leaks into training. ``train``: features are
        standardised on each training set, labelled and unlabelled. ``none``: no scaling.
    test_share : float, default=0.2
        The share of the rows that are test rows.

    Examples
    --------
    >>> import numpy as np
    >>> from primum_lab import HoldOut
    >>> y = np.arange(100) % 2
    >>> design = HoldOut(n_labeled=10)
    >>> splits = design.splits(y, 3, np.random.default_rng(0))
    >>> [(len(split.unlabeled), len(split.test)) for split in splits]
    [(70, 20)]
    """

    name: ClassVar[str] = "hold-out"
    test_share: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.test_share < 1:
            raise ValueError(f"test_share must be between 0 and 1, got {self.test_share}.")

    def _parts(self, y: AnyArray, rng: np.random.Generator) -> TrainAndTest:
        test, train = np.split(rng.permutation(len(y)), [round(self.test_share * len(y))])
        if len(absent := np.setdiff1d(y, y[train])):
            raise ValueError(
                f"Class {absent.tolist()[0]!r} has so few rows that all of them are test rows: "
                "leave it out."
            )
        yield train, test


@dataclass(frozen=True)
class LearningCurve(SplitDesign):
    """Nested unlabelled sets of growing size; all other rows are test rows.

    Parameters
    ----------
    n_labeled : int, default=None
        Number of labelled rows; None means the paper's rule, ``max(d + 5, 20)``.
    scaling : {"paper", "train", "none"}, default="paper"
        ``paper``: features are standardised on the whole data set before any split, as in the
        published runs, so the scale of the test rows leaks into training. ``train``: features are
        standardised on each training set, labelled and unlabelled. ``none``: no scaling.
    sizes : tuple of int, default=(1, 2, 4, ..., 1024)
        Numbers of unlabelled rows; those that leave no test rows are skipped.

    Examples
    --------
    >>> import numpy as np
    >>> from primum_lab import LearningCurve
    >>> y = np.arange(100) % 2
    >>> design = LearningCurve(n_labeled=10, sizes=(4, 16))
    >>> splits = design.splits(y, 3, np.random.default_rng(0))
    >>> [(len(split.unlabeled), len(split.test)) for split in splits]
    [(4, 86), (16, 74)]
    """

    name: ClassVar[str] = "learning-curve"
    sizes: tuple[int, ...] = tuple(2**k for k in range(11))

    def splits(self, y: AnyArray, d: int, rng: np.random.Generator) -> Iterator[Split]:
        """Split the rows of one repeat.

        Parameters
        ----------
        y : array of shape (n_rows,)
            Labels.
        d : int
            Number of features.
        rng : Generator
            Random numbers.

        Yields
        ------
        Split
            Labelled, unlabelled and test rows.
        """
        n_labeled = self.labeled_count(d)
        _check_enough(n_labeled, len(y) - 1, len(np.unique(y)))
        order = labeled_first(y, np.arange(len(y)), rng)
        labeled, rest = order[:n_labeled], order[n_labeled:]
        for size in self.sizes:
            if size < len(rest):
                yield Split(size, labeled, rest[:size], rest[size:])


def deal_folds(y: AnyArray, n_folds: int, rng: np.random.Generator) -> list[Index]:
    """Return folds of ``len(y) // n_folds`` rows with every class; the last also gets the rest."""
    shuffled = rng.permutation(len(y))
    anchors: list[Index] = []
    classes = np.unique(y)
    for label, name in zip(classes, classes.tolist(), strict=True):
        members = shuffled[y[shuffled] == label]
        if len(members) < n_folds:
            raise ValueError(
                f"{n_folds} folds need at least {n_folds} rows of each class, but class {name!r} "
                f"has {len(members)}: use fewer folds."
            )
        anchors.append(members[:n_folds])
    first = np.stack(anchors, axis=1)
    # Shuffle again, because in the old order early rows would be short of small classes.
    rest = rng.permutation(shuffled[~np.isin(shuffled, first)])
    share = len(y) // n_folds - first.shape[1]
    cuts = share * np.arange(1, n_folds)
    return [np.concatenate(pair) for pair in zip(first, np.split(rest, cuts), strict=True)]


def labeled_first(y: AnyArray, rows: Index, rng: np.random.Generator) -> Index:
    """Return the rows shuffled, with one of each class first."""
    shuffled = rng.permutation(rows)
    front = [int(np.argmax(y[shuffled] == label)) for label in np.unique(y)]
    # Shuffle again, because in the old order the first rows are those of a plain shuffle.
    rest = rng.permutation(np.delete(shuffled, front))
    return np.concatenate([shuffled[front], rest])


def _check_enough(n_labeled: int, available: int, n_classes: int) -> None:
    if not n_classes <= n_labeled < available:
        raise ValueError(
            f"{n_labeled} labelled rows are requested, but there are {available} training rows "
            f"(and at least {n_classes} are needed, one of each class): set n_labeled to a number "
            "in between."
        )


def scale_features(X: Floats, split: Split, scaling: str) -> Floats:
    """Return the features, scaled as the design requires."""
    if scaling == "none":
        return X
    basis = X if scaling == "paper" else X[np.concatenate([split.labeled, split.unlabeled])]
    deviation = basis.std(axis=0, ddof=1)
    return (X - basis.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


@dataclass(frozen=True)
class SplitRows:
    """The rows of a split: labelled, then unlabelled, then test rows, so that parts are slices."""

    X: Floats
    y: Index
    n_labeled: int
    n_train: int

    @classmethod
    def of(cls, X: Floats, y: Index, split: Split) -> "SplitRows":
        """Return the rows of a split, from all rows."""
        order = np.concatenate([split.labeled, split.unlabeled, split.test])
        n_labeled, n_unlabeled = len(split.labeled), len(split.unlabeled)
        return cls(X[order], y[order], n_labeled, n_labeled + n_unlabeled)

    @property
    def parts(self) -> dict[str, slice]:
        """The positions of the rows on which losses are measured."""
        return {
            "labeled": slice(0, self.n_labeled),
            "train": slice(0, self.n_train),
            "test": slice(self.n_train, None),
        }

    def seen(self, sees: str) -> tuple[Floats, Index]:
        """Return the rows and labels that a method is trained on."""
        n = self.n_labeled if sees == "labeled" else self.n_train
        n_seen = n if sees == "all" else self.n_labeled
        return self.X[:n], np.where(np.arange(n) < n_seen, self.y[:n], -1)

    def true_shares(self) -> list[float]:
        """Return the share of every class among the unlabelled rows."""
        unlabeled = self.y[self.n_labeled : self.n_train]
        counts = np.bincount(unlabeled, minlength=int(self.y.max()) + 1)
        return [float(share) for share in counts / len(unlabeled)]
