"""Base classes of the candidates of the safe choice, and the rows and targets that they share.

A candidate gives every row one score in [0, 1] per class or, with numeric targets, one score: the
standardised prediction. It is prepared once for all folds, and then tuned and fitted to the
labelled rows of each. What depends on features alone (components, graphs, kernels) belongs to the
preparation, which includes the rows that a fold holds out, without their labels.

A fitted candidate is a function from rows to scores. It consists of arrays, and can be stored
without the estimators that produced it. A linear one takes the features as given: standardisation
and projections are absorbed into its coefficients.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from scipy import sparse
from scipy.special import softmax

from primum._typing import AnyArray, Floats, Index, Mask
from primum.equations.sampled import Sampled
from primum.labellings.sets import nearest_shares
from primum.reading.data import stack_rows
from primum.reading.targets import TargetScale

# The score of a class that does not occur among the labels, a logarithm of its probability: the
# probability underflows to 0, and as a least-squares score it is far below the others.
LOG_OF_ABSENT = -1e6


class CandidateModel(ABC):
    """A fitted candidate."""

    @abstractmethod
    def predict(self, X: Any) -> Floats:
        """Return the scores of rows, (n_rows, n_outputs)."""


@dataclass(frozen=True)
class LinearModel(CandidateModel):
    """Scores from one linear function per class, or from one for a numeric target.

    Attributes
    ----------
    coef : array of shape (n_features, n_outputs)
        Coefficients.
    intercept : array of shape (n_outputs,)
        Intercepts.
    probabilities : bool
        Whether the linear functions are logarithms of probabilities, up to a constant; otherwise
        they are least-squares scores.
    are_shares : bool
        Whether least-squares scores belong to classes and are moved to the nearest point of the
        simplex; those of a numeric target are not.
    """

    coef: Floats
    intercept: Floats
    probabilities: bool
    are_shares: bool = True

    def predict(self, X: Any) -> Floats:  # noqa: D102
        values = np.asarray(X @ self.coef) + self.intercept
        if self.probabilities:
            return np.asarray(softmax(values, axis=1))
        return np.asarray(nearest_shares(values)) if self.are_shares else values


def linear_model(
    coef: Floats, intercept: Floats, labels: "ClassTargets", *, probabilities: bool
) -> LinearModel:
    """Return a model of decision values, one row of ``coef`` for each class that occurs."""
    offset = np.full(labels.n_classes, LOG_OF_ABSENT)
    offset[labels.present] = intercept
    everywhere = np.zeros((coef.shape[1], labels.n_classes))
    everywhere[:, labels.present] = coef.T
    return LinearModel(everywhere, offset, probabilities)


def constant_model(targets: "Targets", n_features: int) -> LinearModel:
    """Return the model that gives all rows the mean of the targets, such as class shares."""
    return least_squares_model(np.zeros((n_features, targets.n_outputs)), targets.mean, targets)


def least_squares_model(coef: Floats, intercept: Floats, targets: "Targets") -> LinearModel:
    """Return a model of least-squares scores, one column of ``coef`` for each."""
    return LinearModel(coef, intercept, probabilities=False, are_shares=targets.are_shares)


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
        return replace(model, coef=coef / self.scale[:, None], intercept=intercept)


def standardisation(X: Any) -> Affine:
    """Return the change that standardises features; sparse ones are scaled but not centred."""
    from sklearn.preprocessing import StandardScaler

    centred = not sparse.issparse(X)
    scaler = StandardScaler(with_mean=centred).fit(X)
    shift = scaler.mean_ / scaler.scale_ if centred else np.zeros(X.shape[1])
    return Affine(scaler.scale_, shift)


def as_given(X: Any) -> Affine:
    """Return the change of features whose scales are kept; sparse ones are weighted by rarity.

    A word that occurs in few rows says more than one that occurs in all, but unit variance would
    give it too much weight. The weight is the usual ``1 + log((1 + n) / (1 + n_j))``, where n_j of
    n rows are not 0; it is 1 for a column without zeros.
    """
    n_rows, n_features = X.shape
    is_sparse = sparse.issparse(X)
    counts = np.asarray((X != 0).sum(axis=0)).reshape(-1) if is_sparse else n_rows
    weight = np.broadcast_to(1.0 + np.log((1 + n_rows) / (1 + counts)), n_features)
    return Affine(1.0 / weight, np.zeros(n_features))


# Function of rows that returns the change which makes their features comparable.
Scaling = Callable[[Any], Affine]


@dataclass(frozen=True)
class SharedRows:
    """The rows that all candidates share, in memory.

    Attributes
    ----------
    labeled, unlabeled : array or CSR matrix
        Features of the labelled and of the unlabelled rows.
    unlabeled_weight : array or None
        Weights of the unlabelled rows (None: 1). Those of the labelled rows are in ``Targets``.
    seed : int
        Seed of whatever is random.
    weighted : bool
        Whether any row has a weight other than 1.
    columns : array or None
        Names of the columns, if the rows were given as a pandas DataFrame.
    scaling : callable
        How candidates make features comparable, given the rows they learn from.
    reduced : SharedRows or None
        The same rows with fewer features, if they are too wide; see ``wide``.
    reduction : Affine or None
        The change to these features.
    sampled : Sampled or None
        What ``unlabeled`` is a sample of, unless it has all unlabelled rows.
    """

    labeled: Any
    unlabeled: Any
    unlabeled_weight: Floats | None = None
    seed: int = 0
    weighted: bool = False
    columns: AnyArray | None = None
    scaling: Scaling = standardisation
    reduced: "SharedRows | None" = None
    reduction: Affine | None = None
    sampled: Sampled | None = None

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabelled rows, in memory or not."""
        return self.sampled.n_rows if self.sampled is not None else int(self.unlabeled.shape[0])

    @property
    def n_labeled(self) -> int:
        """Number of labelled rows."""
        return int(self.labeled.shape[0])

    @property
    def all(self) -> Any:
        """The labelled rows, then the unlabelled ones."""
        return stack_rows([self.labeled, self.unlabeled])

    def standardised(self) -> tuple["SharedRows", Affine]:
        """Return the rows, changed by the ``scaling`` of all of them, and the change."""
        change = self.scaling(self.all)
        labeled, unlabeled = change.transform(self.labeled), change.transform(self.unlabeled)
        return replace(self, labeled=labeled, unlabeled=unlabeled), change

    def with_labeled(self, rows: Index) -> "SharedRows":
        """Return the same with only some of the labelled rows."""
        reduced = None if self.reduced is None else self.reduced.with_labeled(rows)
        return replace(self, labeled=self.labeled[rows], reduced=reduced)

    def sampled_for(self, candidate: "Candidate[Fitted]") -> "SharedRows":
        """Return the rows with at most as many unlabelled ones as a candidate uses."""
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
            reduced=None if self.reduced is None else self.reduced.with_at_most(n_unlabeled),
        )


def sampled_note(name: str, rows: SharedRows, used: SharedRows) -> str:
    """Return a sentence on the unlabelled rows that a candidate uses, if these are not all."""
    n_all, n_used = rows.n_unlabeled, used.unlabeled.shape[0]
    if n_used == n_all:
        return ""
    return f"{name} uses a random sample of {n_used} of the {n_all} unlabelled rows."


class Targets(ABC):
    """The known targets of labelled rows, classes or numbers, with weights (None: 1) and groups.

    Those that are ``chosen`` (None: none) were not drawn at random.
    """

    weight: Floats | None
    groups: Index | None
    chosen: Mask | None
    # Whether the scores of a row are shares of classes.
    are_shares: ClassVar[bool]

    @property
    @abstractmethod
    def y(self) -> AnyArray:
        """What an estimator is fitted to: class codes, or numbers in their own unit."""

    @property
    @abstractmethod
    def values(self) -> Floats:
        """What scores are compared with, (n_rows, n_outputs)."""

    @property
    @abstractmethod
    def mean(self) -> Floats:
        """The scores of a constant model, from the labels drawn at random."""

    @property
    @abstractmethod
    def are_equal(self) -> bool:
        """Whether only one class, or number, occurs."""

    @abstractmethod
    def unknown(self, n_rows: int) -> AnyArray:
        """Return the targets that mark unlabelled rows for estimators that use them."""

    @abstractmethod
    def restored(self, scores: Floats) -> Floats:
        """Return scores in the unit of the targets."""

    @abstractmethod
    def take(self, rows: Index) -> Self:
        """Return the targets of some rows."""

    @abstractmethod
    def part(self, share: float, seed: int) -> Index:
        """Return the positions of about this share of the rows, but of enough to fit a model to."""

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_outputs(self) -> int:
        """Number of scores of a row."""
        return int(self.values.shape[1])

    def _of_rows(self, rows: Index) -> dict[str, Any]:
        parts = {"weight": self.weight, "groups": self.groups, "chosen": self.chosen}
        return {name: None if part is None else part[rows] for name, part in parts.items()}


@dataclass(frozen=True)
class ClassTargets(Targets):
    """Classes 0, 1, ..., n_classes - 1 of labelled rows, their weights (None: 1) and groups.

    Those that are ``chosen`` (None: none) were not drawn at random.
    """

    codes: Index
    n_classes: int
    weight: Floats | None = None
    groups: Index | None = None
    chosen: Mask | None = None
    are_shares: ClassVar[bool] = True

    @property
    def y(self) -> Index:  # noqa: D102
        return self.codes

    @property
    def are_equal(self) -> bool:  # noqa: D102
        return len(self.present) == 1

    def unknown(self, n_rows: int) -> Index:  # noqa: D102
        return np.full(n_rows, -1)

    def restored(self, scores: Floats) -> Floats:  # noqa: D102
        return scores

    def part(self, share: float, seed: int) -> Index:
        """Return the positions of about this share of the rows, two of each class that has two."""
        rng = np.random.default_rng(seed)
        parts = []
        for code in self.present:
            of_class = rng.permutation(np.flatnonzero(self.codes == code))
            parts.append(of_class[: max(2, int(share * len(of_class)))])
        return np.sort(np.concatenate(parts))

    @property
    def values(self) -> Floats:
        """The one-hot labels, with one column per class."""
        return np.asarray(np.eye(self.n_classes)[self.codes])

    @property
    def weighted(self) -> Floats:
        """One column per class, times the weights of the rows."""
        return self.values if self.weight is None else self.values * self.weight[:, None]

    @property
    def present(self) -> Index:
        """The classes that occur."""
        return np.unique(self.codes)

    @property
    def mean(self) -> Floats:
        """The share of every class, by weight, among the labels drawn at random."""
        if self.chosen is not None and not self.chosen.all():
            return replace(self.take(np.flatnonzero(~self.chosen)), chosen=None).mean
        counts = np.bincount(self.codes, self.weight, self.n_classes)
        return np.asarray(counts / counts.sum())

    def take(self, rows: Index) -> "ClassTargets":
        """Return the labels of some rows."""
        return replace(self, codes=self.codes[rows], **self._of_rows(rows))


@dataclass(frozen=True)
class NumberTargets(Targets):
    """Numeric targets of labelled rows, their weights (None: 1) and groups.

    Attributes
    ----------
    numbers : array of shape (n_rows,)
        The numbers, in their own unit.
    scale : TargetScale
        How they are standardised, so that scores and penalties do not depend on their unit.
    """

    numbers: Floats
    scale: TargetScale
    weight: Floats | None = None
    groups: Index | None = None
    chosen: Mask | None = None
    are_shares: ClassVar[bool] = False

    @property
    def y(self) -> Floats:  # noqa: D102
        return self.numbers

    @property
    def values(self) -> Floats:  # noqa: D102
        return self.scale.standardised(self.numbers)[:, None]

    @property
    def mean(self) -> Floats:  # noqa: D102
        drawn = np.arange(len(self.numbers))
        if self.chosen is not None and not self.chosen.all():
            drawn = np.flatnonzero(~self.chosen)
        weight = None if self.weight is None else self.weight[drawn]
        return np.asarray(np.average(self.values[drawn], axis=0, weights=weight))

    @property
    def are_equal(self) -> bool:  # noqa: D102
        return bool(np.ptp(self.numbers) == 0)

    def unknown(self, n_rows: int) -> Floats:  # noqa: D102
        return np.full(n_rows, np.nan)

    def restored(self, scores: Floats) -> Floats:  # noqa: D102
        return np.asarray(self.scale.restored(scores))

    def take(self, rows: Index) -> "NumberTargets":  # noqa: D102
        return replace(self, numbers=self.numbers[rows], **self._of_rows(rows))

    def part(self, share: float, seed: int) -> Index:  # noqa: D102
        n_rows = len(self.numbers)
        size = min(n_rows, max(2, int(share * n_rows)))
        return np.sort(np.random.default_rng(seed).permutation(n_rows)[:size])


def standardising(numbers: Floats, weight: Floats | None = None) -> TargetScale:
    """Return the scale on which numbers have the mean 0 and the standard deviation 1."""
    mean = float(np.average(numbers, weights=weight))
    width = float(np.sqrt(np.average((numbers - mean) ** 2, weights=weight)))
    # Equal numbers differ from their mean by rounding.
    return TargetScale(mean, width if np.ptp(numbers) > 0 and width > 0 else 1.0)


# What a candidate is fitted to: classes, numbers or either; and what all those of a fit are.
Fitted = TypeVar("Fitted", bound=Targets, contravariant=True)
Kind = TypeVar("Kind", bound=Targets)
FitRows = Callable[[Any, Fitted, int, Scaling], CandidateModel]


def partly_labelled(
    rows: SharedRows, train: Index, labels: Targets
) -> tuple[Any, AnyArray, Floats | None]:
    """Return all rows, their targets and weights (None: 1), with targets of the rows train only.

    The rows train come first; all other rows, labelled or not, have an unknown target.
    """
    hidden = np.setdiff1d(np.arange(rows.n_labeled), train)
    X = stack_rows([rows.labeled[train], rows.unlabeled, rows.labeled[hidden]])
    y = labels.unknown(X.shape[0])
    y[: len(train)] = labels.y[train]
    if not rows.weighted:
        return X, y, None
    n_unlabeled = X.shape[0] - rows.n_labeled
    of_others = np.ones(n_unlabeled) if rows.unlabeled_weight is None else rows.unlabeled_weight
    weight = np.ones(rows.n_labeled) if labels.weight is None else labels.weight
    return X, y, np.concatenate([weight[train], of_others, weight[hidden]])


class Prepared(ABC, Generic[Fitted]):
    """A candidate prepared for given rows."""

    # What was approximated, in one sentence.
    note: str = ""

    @abstractmethod
    def fit(self, train: Index, labels: Fitted) -> CandidateModel:
        """Return the model tuned and fitted to the labelled rows at the positions train.

        ``labels`` are the targets of all labelled rows; only those of train are used.
        """

    @abstractmethod
    def held_out(self, train: Index, test: Index, labels: Fitted) -> Floats:
        """Return the scores that the model fitted to the rows train gives to the rows test."""


class PreparedAsGiven(Prepared[Fitted]):
    """A candidate that uses the features as given, so that nothing is computed in advance."""

    rows: SharedRows

    def held_out(self, train: Index, test: Index, labels: Fitted) -> Floats:  # noqa: D102
        return self.fit(train, labels).predict(self.rows.labeled[test])


class Candidate(ABC, Generic[Fitted]):
    """A way to score rows, with or without unlabelled rows.

    Attributes
    ----------
    name : str
        Its name in tables.
    uses_unlabeled : bool
        Whether it learns from unlabelled rows.
    counterpart : str or None
        The name of the supervised candidate with which it is compared; None if it is supervised.
    most_unlabeled : int or None
        Of more unlabelled rows, a random sample is used; None: all.
    most_labeled : int or None
        Of more labelled rows, a random sample is used; None: all.
    growth : float
        The power of the number of rows with which the time of its preparation and of a fit grows.
    reduces : bool
        Whether it receives the principal components of rows that are too wide.
    slow_prediction : bool
        Whether predictions may take as long as fits, so that their time has to be measured.
    """

    name: str
    uses_unlabeled: bool = False
    counterpart: str | None = None
    most_unlabeled: int | None = None
    most_labeled: int | None = None
    growth: float = 1.0
    reduces: bool = False
    slow_prediction: bool = False

    def applies_to(self, n_classes: int) -> bool:
        """Return whether it can be fitted to that many classes."""
        return True

    @abstractmethod
    def prepare(self, rows: SharedRows) -> Prepared[Fitted]:
        """Compute what depends on the features only."""


@dataclass(frozen=True)
class PreparedRows(PreparedAsGiven[Fitted]):
    """A candidate that is fitted to labelled rows alone.

    Attributes
    ----------
    rows : SharedRows
        The rows.
    fit_rows : callable
        Function of labelled training rows, their labels, a seed and a scaling that returns the
        model.
    note : str
        What was approximated.
    """

    rows: SharedRows
    fit_rows: FitRows[Fitted]
    note: str = ""

    def fit(self, train: Index, labels: Fitted) -> "CandidateModel":  # noqa: D102
        rows = self.rows
        return self.fit_rows(rows.labeled[train], labels.take(train), rows.seed, rows.scaling)


class Supervised(Candidate[Fitted]):
    """A candidate that learns from the labelled training rows alone.

    Parameters
    ----------
    name : str
        Its name.
    fit_rows : callable
        Function of labelled training rows, their labels, a seed and a scaling that returns the
        model.
    growth : float, default=1
        The power of the number of rows with which its time grows.
    most_labeled : int or None, default=None
        Of more labelled rows, a random sample is used; None: all.
    """

    def __init__(
        self,
        name: str,
        fit_rows: FitRows[Fitted],
        growth: float = 1.0,
        most_labeled: int | None = None,
    ) -> None:
        self.name, self.fit_rows, self.growth = name, fit_rows, growth
        self.most_labeled = most_labeled

    def prepare(self, rows: SharedRows) -> PreparedRows[Fitted]:  # noqa: D102
        return PreparedRows(rows, self.fit_rows)


@dataclass(frozen=True)
class PreparedLinear(Prepared[Fitted]):
    """A linear candidate that uses new features, which are computed once.

    Attributes
    ----------
    change : Affine
        The change to the new features.
    labeled : array or CSR matrix
        The new features of the labelled rows.
    fit_changed : callable
        Function of the positions of training rows and the labels of all that returns the model.
    note : str
        What was approximated.
    """

    change: Affine
    labeled: Any
    fit_changed: Callable[[Index, Fitted], LinearModel]
    note: str = ""

    def fit(self, train: Index, labels: Fitted) -> LinearModel:  # noqa: D102
        return self.change.then(self.fit_changed(train, labels))

    def held_out(self, train: Index, test: Index, labels: Fitted) -> Floats:  # noqa: D102
        return self.fit_changed(train, labels).predict(self.labeled[test])


class Transductive(Candidate[Fitted]):
    """A linear candidate that is fitted to all rows, standardised by all of them."""

    uses_unlabeled, reduces = True, True

    @abstractmethod
    def fit_standardised(self, rows: SharedRows, train: Index, labels: Fitted) -> LinearModel:
        """Return the model of standardised rows, given targets that are not all equal."""

    def prepare(self, rows: SharedRows) -> PreparedLinear[Fitted]:  # noqa: D102
        used, change = rows.sampled_for(self).standardised()
        note = sampled_note(self.name, rows, used)
        return PreparedLinear(change, used.labeled, partial(self._fit, used), note)

    def _fit(self, rows: SharedRows, train: Index, labels: Fitted) -> LinearModel:
        seen = labels.take(train)
        if seen.are_equal:
            return constant_model(seen, rows.labeled.shape[1])
        return self.fit_standardised(rows, train, labels)
