"""What a candidate of the safe choice is.

A candidate gives every row one score in [0, 1] per class. It is prepared once for all folds, and
then tuned and fitted to the labelled rows of each. What depends on the features only (components,
graphs, kernels) belongs to the preparation: the rows that a fold holds out stay there, without
their labels.

A fitted candidate is a map from rows to scores. It consists of arrays, and can be stored without
the estimators that produced it. One that is linear is a map of the features as given:
standardisation and projections are absorbed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from primum._typing import AnyArray, Floats, Index, Mask
from primum.labellings.sets import nearest_shares
from primum.reading.data import stack_rows


class CandidateModel(ABC):
    """A fitted candidate."""

    @abstractmethod
    def predict(self, X: Any) -> Floats:
        """Return the scores of rows, (n_rows, n_classes)."""


@dataclass(frozen=True)
class LinearModel(CandidateModel):
    """Scores from one linear function per class.

    Attributes
    ----------
    coef : array of shape (n_features, n_classes)
        Coefficients.
    intercept : array of shape (n_classes,)
        Intercepts.
    probabilities : bool
        Whether the linear functions are logarithms of probabilities, up to a constant; otherwise
        they are least-squares scores, which are moved to the nearest point of the simplex.
    """

    coef: Floats
    intercept: Floats
    probabilities: bool

    def predict(self, X: Any) -> Floats:  # noqa: D102
        values = np.asarray(X @ self.coef) + self.intercept
        return np.asarray(softmax(values, axis=1) if self.probabilities else nearest_shares(values))


def linear_model(
    coef: Floats, intercept: Floats, labels: "Labels", *, probabilities: bool
) -> LinearModel:
    """Return a model of decision values, one row of ``coef`` for each class that occurs."""
    # The probability of a class that does not occur underflows to 0, and its least-squares score is
    # as far below the others as it can be.
    offset = np.full(labels.n_classes, -1e6)
    offset[labels.present] = intercept
    everywhere = np.zeros((coef.shape[1], labels.n_classes))
    everywhere[:, labels.present] = coef.T
    return LinearModel(everywhere, offset, probabilities)


def constant_model(scores: Floats, n_features: int) -> LinearModel:
    """Return the model that gives all rows the same scores."""
    return LinearModel(np.zeros((n_features, len(scores))), scores, probabilities=False)


def as_dense(X: Any) -> Floats:
    """Return rows as an array."""
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


@dataclass(frozen=True)
class Affine:
    """New features, ``(X / scale) @ directions - shift``; without directions ``X / scale - shift``.

    Sparse rows stay sparse, unless there are directions or a shift.
    """

    scale: Floats
    shift: Floats
    directions: Floats | None = None

    def transform(self, X: Any) -> Any:
        """Return the new features of rows."""
        inverse = 1.0 / self.scale
        scaled: Any = X * inverse if isinstance(X, np.ndarray) else X @ sparse.diags_array(inverse)
        if self.directions is not None:
            scaled = np.asarray(scaled @ self.directions)
        return scaled - self.shift if np.any(self.shift) else scaled

    def then(self, model: LinearModel) -> LinearModel:
        """Return a model of the new features as a model of the features before the change."""
        coef = model.coef if self.directions is None else self.directions @ model.coef
        intercept = model.intercept - self.shift @ model.coef
        return LinearModel(coef / self.scale[:, None], intercept, model.probabilities)


def standardisation(X: Any) -> Affine:
    """Return what standardises features; sparse ones are scaled but not centred."""
    from sklearn.preprocessing import StandardScaler

    centred = not sparse.issparse(X)
    scaler = StandardScaler(with_mean=centred).fit(X)
    shift = scaler.mean_ / scaler.scale_ if centred else np.zeros(X.shape[1])
    return Affine(scaler.scale_, shift)


@dataclass(frozen=True)
class SharedRows:
    """The rows that all candidates share, in memory.

    Attributes
    ----------
    labeled, unlabeled : array or CSR matrix
        Features of the labelled and of the unlabelled rows.
    unlabeled_weight : array or None
        Weights of the unlabelled rows (None: 1). Those of the labelled rows are in ``Labels``.
    seed : int
        Seed of whatever is random.
    weighted : bool
        Whether any row has a weight other than 1.
    columns : array or None
        Names of the columns, if the rows were given as a pandas DataFrame.
    """

    labeled: Any
    unlabeled: Any
    unlabeled_weight: Floats | None = None
    seed: int = 0
    weighted: bool = False
    columns: AnyArray | None = None

    @property
    def n_labeled(self) -> int:
        """Number of labelled rows."""
        return int(self.labeled.shape[0])

    @property
    def all(self) -> Any:
        """The labelled rows, then the unlabelled ones."""
        return stack_rows([self.labeled, self.unlabeled])

    def standardised(self) -> tuple["SharedRows", Affine]:
        """Return the rows standardised by all of them, and how."""
        change = standardisation(self.all)
        labeled, unlabeled = change.transform(self.labeled), change.transform(self.unlabeled)
        return replace(self, labeled=labeled, unlabeled=unlabeled), change

    def sampled_for(self, candidate: "Candidate") -> "SharedRows":
        """Return the rows with as many unlabelled ones as a candidate uses."""
        most = candidate.most_unlabeled
        return self if most is None else self.with_at_most(most)

    def with_at_most(self, n_unlabeled: int) -> "SharedRows":
        """Return a random sample of at most n_unlabeled unlabelled rows with all labelled ones."""
        n_rows = self.unlabeled.shape[0]
        if n_rows <= n_unlabeled:
            return self
        rng = np.random.default_rng(self.seed)
        sample = np.sort(rng.choice(n_rows, n_unlabeled, replace=False))
        weight = self.unlabeled_weight
        return replace(
            self,
            unlabeled=self.unlabeled[sample],
            unlabeled_weight=None if weight is None else weight[sample],
        )


def sampled_note(name: str, rows: SharedRows, used: SharedRows) -> str:
    """Return a sentence on the unlabelled rows that a candidate uses, if these are not all."""
    n_all, n_used = rows.unlabeled.shape[0], used.unlabeled.shape[0]
    if n_used == n_all:
        return ""
    return f"{name} uses a random sample of {n_used} of the {n_all} unlabelled rows."


@dataclass(frozen=True)
class Labels:
    """Classes 0, 1, ..., n_classes - 1 of labelled rows, their weights (None: 1) and groups.

    Those that are ``chosen`` (None: none) were not drawn at random.
    """

    codes: Index
    n_classes: int
    weight: Floats | None = None
    groups: Index | None = None
    chosen: Mask | None = None

    @property
    def one_hot(self) -> Floats:
        """One column per class."""
        return np.asarray(np.eye(self.n_classes)[self.codes])

    @property
    def weighted(self) -> Floats:
        """One column per class, times the weights of the rows."""
        return self.one_hot if self.weight is None else self.one_hot * self.weight[:, None]

    @property
    def present(self) -> Index:
        """The classes that occur."""
        return np.unique(self.codes)

    @property
    def shares(self) -> Floats:
        """The share of every class, by weight, among the labels drawn at random."""
        if self.chosen is not None and not self.chosen.all():
            return replace(self.take(np.flatnonzero(~self.chosen)), chosen=None).shares
        counts = np.bincount(self.codes, self.weight, self.n_classes)
        return np.asarray(counts / counts.sum())

    def take(self, rows: Index) -> "Labels":
        """Return the labels of some rows."""
        weight = None if self.weight is None else self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        chosen = None if self.chosen is None else self.chosen[rows]
        return replace(self, codes=self.codes[rows], weight=weight, groups=groups, chosen=chosen)


def partly_labelled(
    rows: SharedRows, train: Index, labels: Labels
) -> tuple[Any, Index, Floats | None]:
    """Return all rows, their codes and weights (None: 1), with labels of the rows train only.

    Those are the first; the unlabelled rows and the other labelled ones have the code -1.
    """
    hidden = np.setdiff1d(np.arange(rows.n_labeled), train)
    X = stack_rows([rows.labeled[train], rows.unlabeled, rows.labeled[hidden]])
    codes = np.full(X.shape[0], -1)
    codes[: len(train)] = labels.codes[train]
    if not rows.weighted:
        return X, codes, None
    n_unlabeled = X.shape[0] - rows.n_labeled
    more = np.ones(n_unlabeled) if rows.unlabeled_weight is None else rows.unlabeled_weight
    own = np.ones(rows.n_labeled) if labels.weight is None else labels.weight
    return X, codes, np.concatenate([own[train], more, own[hidden]])


class Prepared(ABC):
    """A candidate prepared for given rows."""

    # What was approximated, in one sentence.
    note: str = ""

    @abstractmethod
    def fit(self, train: Index, labels: Labels) -> CandidateModel:
        """Return the model tuned and fitted to the labelled rows at the positions train.

        ``labels`` are those of all labelled rows; only those of train are used.
        """

    @abstractmethod
    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:
        """Return the scores of the labelled rows test of the model fitted to those of train."""


class PreparedAsGiven(Prepared):
    """A candidate of the features as they are given: nothing can be computed in advance."""

    rows: SharedRows

    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:  # noqa: D102
        return self.fit(train, labels).predict(self.rows.labeled[test])


class Candidate(ABC):
    """A way to score rows, with or without unlabelled rows.

    Attributes
    ----------
    name : str
        Its name in tables.
    uses_unlabeled : bool
        Whether it learns from unlabelled rows.
    counterpart : str or None
        The name of the supervised candidate to which it is compared; None if it is supervised.
    most_unlabeled : int or None
        Of more unlabelled rows, a random sample is used; None: all.
    growth : float
        With which power of the number of rows the time of its preparation and of a fit grows.
    """

    name: str
    uses_unlabeled: bool = False
    counterpart: str | None = None
    most_unlabeled: int | None = None
    growth: float = 1.0

    def applies_to(self, n_classes: int) -> bool:
        """Return whether it can be fitted to that many classes."""
        return True

    def operations(self, rows: SharedRows, n_classes: int) -> float:
        """Return about how many operations a fit takes, from the numbers of rows and columns.

        It is 0 if they grow no faster than the rows and columns, so that no size is excessive.
        """
        return 0.0

    @abstractmethod
    def prepare(self, rows: SharedRows) -> Prepared:
        """Compute what depends on the features only."""


@dataclass(frozen=True)
class PreparedRows(PreparedAsGiven):
    """A candidate that is fitted to labelled rows alone.

    Attributes
    ----------
    rows : SharedRows
        The rows.
    fit_rows : callable
        Labelled training rows, their labels and a seed to the model.
    """

    rows: SharedRows
    fit_rows: Callable[[Any, Labels, int], "CandidateModel"]

    def fit(self, train: Index, labels: Labels) -> "CandidateModel":  # noqa: D102
        return self.fit_rows(self.rows.labeled[train], labels.take(train), self.rows.seed)


class Supervised(Candidate):
    """A candidate that learns from the labelled training rows alone.

    Parameters
    ----------
    name : str
        Its name.
    fit_rows : callable
        Labelled training rows, their labels and a seed to the model.
    growth : float, default=1
        With which power of the number of rows its time grows.
    """

    def __init__(
        self, name: str, fit_rows: Callable[[Any, Labels, int], CandidateModel], growth: float = 1.0
    ) -> None:
        self.name, self.fit_rows, self.growth = name, fit_rows, growth

    def prepare(self, rows: SharedRows) -> PreparedRows:  # noqa: D102
        return PreparedRows(rows, self.fit_rows)


@dataclass(frozen=True)
class PreparedLinear(Prepared):
    """A linear candidate of new features, which are computed once.

    Attributes
    ----------
    change : Affine
        To the new features.
    labeled : array or CSR matrix
        The new features of the labelled rows.
    fit_changed : callable
        Positions of the training rows, and the labels of all, to the model of the new features.
    note : str
        What was approximated.
    """

    change: Affine
    labeled: Any
    fit_changed: Callable[[Index, Labels], LinearModel]
    note: str = ""

    def fit(self, train: Index, labels: Labels) -> LinearModel:  # noqa: D102
        return self.change.then(self.fit_changed(train, labels))

    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:  # noqa: D102
        return self.fit_changed(train, labels).predict(self.labeled[test])


class Transductive(Candidate):
    """A linear candidate that is fitted to all rows, standardised by all of them."""

    uses_unlabeled = True

    @abstractmethod
    def fit_standardised(self, rows: SharedRows, train: Index, labels: Labels) -> LinearModel:
        """Return the model of standardised rows, given labels of several classes."""

    def prepare(self, rows: SharedRows) -> PreparedLinear:  # noqa: D102
        used, change = rows.sampled_for(self).standardised()
        note = sampled_note(self.name, rows, used)
        return PreparedLinear(change, used.labeled, partial(self._fit, used), note)

    def _fit(self, rows: SharedRows, train: Index, labels: Labels) -> LinearModel:
        own = labels.take(train)
        if len(own.present) == 1:
            return constant_model(own.shares, rows.labeled.shape[1])
        return self.fit_standardised(rows, train, labels)
