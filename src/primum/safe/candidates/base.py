"""Base classes of the candidates of the safe choice.

A candidate gives every row one score in [0, 1] per class or, with numeric targets, one score: the
standardised prediction. It is prepared once for all folds, and then tuned and fitted to the
labelled rows of each. What depends on features alone (components, graphs, kernels) belongs to the
preparation, which includes the rows that a fold holds out, without their labels.

A fitted candidate is a function from rows to scores. It consists of arrays, and can be stored
without the estimators that produced it. A linear one takes the features as given: standardisation
and projections are absorbed into its coefficients.

Some candidates learn from a random sample of many labelled rows, because kernel ridge regression
takes time with the third power of their number. The sample is drawn once and keeps the class
shares. In a fold, the candidate is fitted to the sampled rows that the fold trains on, and scores
all rows that the fold holds out. If the fold trains on no sampled row, the scores are the mean of
its targets.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax

from primum._typing import Floats, Index
from primum.labellings.sets import nearest_shares
from primum.safe.rows import Affine, Scaling, SharedRows, Targets, sampled_note

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

    def after(self, change: Affine) -> "LinearModel":
        """Return this model of new features as a model of the features before the change."""
        coef = self.coef if change.directions is None else change.directions @ self.coef
        intercept = self.intercept - change.shift @ self.coef
        return replace(self, coef=coef / change.scale[:, None], intercept=intercept)


def linear_model(
    coef: Floats, intercept: Floats, targets: Targets, *, probabilities: bool
) -> LinearModel:
    """Return a model of decision values, one row of ``coef`` for each class that occurs."""
    offset = np.full(targets.n_outputs, LOG_OF_ABSENT)
    offset[targets.present] = intercept
    everywhere = np.zeros((coef.shape[1], targets.n_outputs))
    everywhere[:, targets.present] = coef.T
    return LinearModel(everywhere, offset, probabilities)


def constant_model(targets: Targets, n_features: int) -> LinearModel:
    """Return the model that gives all rows the mean of the targets, such as class shares."""
    return least_squares_model(np.zeros((n_features, targets.n_outputs)), targets.mean, targets)


def least_squares_model(coef: Floats, intercept: Floats, targets: Targets) -> LinearModel:
    """Return a model of least-squares scores, one column of ``coef`` for each."""
    return LinearModel(coef, intercept, probabilities=False, are_shares=targets.are_shares)


@dataclass(frozen=True)
class ReducedModel(CandidateModel):
    """A model of new features."""

    reduction: Affine
    model: CandidateModel

    def predict(self, X: Any) -> Floats:  # noqa: D102
        return self.model.predict(self.reduction.transform(X))


class Prepared(ABC):
    """A candidate prepared for given rows."""

    # What was approximated, in one sentence.
    note: str = ""

    @abstractmethod
    def fit(self, train: Index, targets: Targets) -> CandidateModel:
        """Return the model tuned and fitted to the labelled rows at the positions train.

        ``targets`` are those of all labelled rows; only those of train are used.
        """

    @abstractmethod
    def held_out(self, train: Index, test: Index, targets: Targets) -> Floats:
        """Return the scores that the model fitted to the rows train gives to the rows test."""


@dataclass(frozen=True)
class PreparedRows(Prepared):
    """A candidate whose model predicts rows as they are.

    Attributes
    ----------
    labeled : array or CSR matrix of shape (n_labeled, n_features)
        The labelled rows.
    fit_to : callable
        Function of the positions of training rows and of all targets that returns the model.
    note : str
        What was approximated.
    """

    labeled: Any
    fit_to: Callable[[Index, Targets], CandidateModel]
    note: str = ""

    def fit(self, train: Index, targets: Targets) -> CandidateModel:  # noqa: D102
        return self.fit_to(train, targets)

    def held_out(self, train: Index, test: Index, targets: Targets) -> Floats:  # noqa: D102
        return self.fit_to(train, targets).predict(self.labeled[test])


@dataclass(frozen=True)
class PreparedChanged(Prepared):
    """A candidate that is prepared for new features of the rows, which are computed once."""

    change: Affine
    prepared: Prepared
    note: str = ""

    def fit(self, train: Index, targets: Targets) -> CandidateModel:  # noqa: D102
        model = self.prepared.fit(train, targets)
        if isinstance(model, LinearModel):
            return model.after(self.change)
        return ReducedModel(self.change, model)

    def held_out(self, train: Index, test: Index, targets: Targets) -> Floats:  # noqa: D102
        return self.prepared.held_out(train, test, targets)


class Candidate(ABC):
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

    def applies_to(self, n_outputs: int) -> bool:
        """Return whether it can be fitted to that many classes."""
        return True

    @abstractmethod
    def prepare(self, rows: SharedRows) -> Prepared:
        """Compute what depends on the features only."""


FitRows = Callable[[Any, Targets, int, Scaling], CandidateModel]


class Supervised(Candidate):
    """A candidate that learns from the labelled training rows alone.

    Parameters
    ----------
    name : str
        Its name.
    fit_rows : callable
        Function of labelled training rows, their targets, a seed and a scaling that returns the
        model.
    growth : float, default=1
        The power of the number of rows with which its time grows.
    most_labeled : int or None, default=None
        Of more labelled rows, a random sample is used; None: all.
    """

    def __init__(
        self,
        name: str,
        fit_rows: FitRows,
        growth: float = 1.0,
        most_labeled: int | None = None,
    ) -> None:
        self.name = name
        self.fit_rows = fit_rows
        self.growth = growth
        self.most_labeled = most_labeled

    def prepare(self, rows: SharedRows) -> PreparedRows:  # noqa: D102
        return PreparedRows(rows.labeled, partial(self._fit, rows.labeled, rows.seed, rows.scaling))

    def _fit(
        self, labeled: Any, seed: int, scaling: Scaling, train: Index, targets: Targets
    ) -> CandidateModel:
        return self.fit_rows(labeled[train], targets.take(train), seed, scaling)


class Transductive(Candidate):
    """A linear candidate that is fitted to all rows, standardised by all of them."""

    uses_unlabeled = True
    reduces = True

    @abstractmethod
    def fit_standardised(self, rows: SharedRows, train: Index, targets: Targets) -> LinearModel:
        """Return the model of standardised rows, given targets that are not all equal."""

    def prepare(self, rows: SharedRows) -> PreparedChanged:  # noqa: D102
        used, change = rows.with_at_most(self.most_unlabeled).standardised()
        note = sampled_note(self.name, rows, used)
        return PreparedChanged(change, PreparedRows(used.labeled, partial(self._fit, used)), note)

    def _fit(self, rows: SharedRows, train: Index, targets: Targets) -> LinearModel:
        seen = targets.take(train)
        if seen.are_equal:
            return constant_model(seen, rows.labeled.shape[1])
        return self.fit_standardised(rows, train, targets)


def prepare(candidate: Candidate, rows: SharedRows, targets: Targets) -> Prepared:
    """Return a candidate prepared for rows, for a sample of the labelled ones if it takes no more.

    If the rows are too wide for it, it is prepared for their components.
    """
    sample = labeled_sample(candidate, targets, rows.seed)
    used = rows if sample is None else rows.with_labeled(sample)
    if candidate.reduces and used.reduced is not None and used.reduction is not None:
        reduced = candidate.prepare(used.reduced)
        prepared: Prepared = PreparedChanged(used.reduction, reduced, reduced.note)
    else:
        prepared = candidate.prepare(used)
    if sample is None:
        return prepared
    note = (
        f"{candidate.name} uses a random sample of {len(sample)} of the {len(targets)} labelled "
        f"rows. {prepared.note}"
    ).rstrip()
    fit = partial(_fit_in_sample, prepared, sample, rows.labeled.shape[1])
    return PreparedRows(rows.labeled, fit, note)


def labeled_sample(candidate: Candidate, targets: Targets, seed: int) -> Index | None:
    """Return the sorted positions of the labelled rows that a candidate takes; None: all."""
    most = candidate.most_labeled
    if most is None or len(targets) <= most:
        return None
    return targets.part(most / len(targets), seed)


def _fit_in_sample(
    prepared: Prepared, sample: Index, n_features: int, train: Index, targets: Targets
) -> CandidateModel:
    """Return a candidate prepared for a sample of the rows, fitted to those of train."""
    in_sample = np.flatnonzero(np.isin(sample, train))
    if len(in_sample) == 0:  # a small training set
        return constant_model(targets.take(train), n_features)
    return prepared.fit(in_sample, targets.take(sample))
