"""Validated dense or sparse rows for linear machines, with a constant column."""

from abc import abstractmethod
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from primum._sklearn import Interval
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats
from primum.methods.base import ClassPredictionMixin, KnownLabelsScoreMixin, documented_fit, fitting
from primum.methods.parameters import with_parameters
from primum.reading.arrays import refuse_other_library
from primum.reading.data import FitArguments, in_memory, read_arguments
from primum.reading.labels import KnownLabels


@dataclass(frozen=True)
class MachineData:
    """Labelled rows, then unlabelled ones; rows of weight zero are left out.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_labeled + n_unlabeled, n_columns)
        In double precision, with a final column of ones if there is an intercept.
    y : array of shape (n_labeled,), or (n_labeled, n_classes) for more than two classes
        Labels -1 and 1: of the second of two classes, or of every class against the rest.
    weight : array of shape (n_labeled + n_unlabeled,)
        Weight of each row.
    given : FitArguments
        The arguments of ``fit``.
    """

    X: Any
    y: Floats
    weight: Floats
    given: FitArguments[KnownLabels]

    @property
    def classes(self) -> AnyArray:
        """The classes."""
        return self.given.labels.classes

    @property
    def n_labeled(self) -> int:
        """Number of labelled rows."""
        return len(self.y)

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabelled rows of positive weight."""
        return len(self.weight) - len(self.y)

    def transduction(self, shares: Floats) -> AnyArray:
        """Return the class of every row, known or by its share of the second class.

        The rows of X come first, then those of X_unlabeled.
        """
        labels, n = self.given.labels, self.given.X.shape[0]
        codes = np.empty(n + len(shares) - len(labels.unlabeled), dtype=np.intp)
        codes[labels.labeled] = labels.codes
        codes[np.append(labels.unlabeled, np.arange(n, len(codes)))] = shares > 0.5
        return self.classes[codes]


def read_machine_data(
    estimator: "LinearMachine", X: Any, y: Any, X_unlabeled: Any, sample_weight: Any
) -> MachineData:
    """Validate the arguments of ``fit`` and stack the rows that the machine uses."""
    given = read_arguments(estimator, X, y, X_unlabeled, sample_weight)
    refuse_other_library(estimator, given.home)
    labels, index, more = given.labels, given.labels.labeled[given.known], given.X[:0]
    if estimator._uses_unlabeled:
        index = np.concatenate([index, labels.unlabeled[given.unknown]])
        more = in_memory(estimator, given.more)
    ordered = len(labels.unlabeled) == 0 and len(index) == given.X.shape[0]
    own = np.ones(len(index)) if given.weight is None else given.weight[index]
    return MachineData(
        X=with_constant([given.X if ordered else given.X[index], more], estimator.fit_intercept),
        y=2.0 * labels.targets[given.known] - 1.0,
        weight=np.append(own, np.ones(more.shape[0])),
        given=given,
    )


def with_constant(parts: list[Any], fit_intercept: bool) -> Any:
    """Stack rows and append a column of ones."""
    n, d = sum(part.shape[0] for part in parts), parts[0].shape[1]
    parts = [part for part in parts if part.shape[0]]
    if any(sparse.issparse(part) for part in parts):
        stacked = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
        columns = [stacked, sparse.csr_array(np.ones((n, 1)))] if fit_intercept else [stacked]
        return sparse.hstack(columns, format="csr", dtype=np.float64)
    X = np.empty((n, d + int(fit_intercept)))
    X[:, d:] = 1.0
    np.concatenate(parts, out=X[:, :d])
    return X


@with_parameters
class LinearMachine(KnownLabelsScoreMixin, ClassPredictionMixin, ClassifierMixin, BaseEstimator):
    """The common base of the linear SVMs and of entropy-regularised logistic regression."""

    alpha: float = field(default=1.0, kw_only=False)
    fit_intercept: bool = True
    penalize_intercept = False
    warm_start = False
    _several_classes: ClassVar[bool] = True
    _uses_unlabeled: ClassVar[bool] = True

    @documented_fit(
        in_memory=True,
        weights="Class fractions of transductive SVMs count rows regardless of their weight.",
    )
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:  # noqa: D102
        with fitting(self, warm_start=self.warm_start):
            data = read_machine_data(self, X, y, X_unlabeled, sample_weight)
            with one_blas_thread():
                self._fit_data(data)
        return self

    @abstractmethod
    def _fit_data(self, data: MachineData) -> Any:
        """Fit to validated data."""

    def _ridge(self, n_columns: int) -> Floats:
        """Return the diagonal of the penalty."""
        ridge = np.full(n_columns, float(self.alpha))
        if self.fit_intercept and not self.penalize_intercept:
            ridge[-1] = 0.0
        return ridge

    def _remember(self, classes: AnyArray, w: Floats) -> Self:
        """Keep the SVM w, or one in each row: coefficients, then the intercept if there is one."""
        rows = np.atleast_2d(w)
        self.classes_ = classes
        self.coef_ = (rows[:, :-1] if self.fit_intercept else rows).copy()
        self.intercept_ = rows[:, -1].copy() if self.fit_intercept else np.zeros(len(rows))
        return self

    def _weights(self) -> Floats:
        """Coefficients followed by the intercept, if there is one: a row for every SVM."""
        if not self.fit_intercept:
            return self.coef_
        return np.column_stack([self.coef_, self.intercept_])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._several_classes
        tags.input_tags.sparse = True
        return tags


@with_parameters
class TransductiveMachine(LinearMachine):
    """A linear SVM that also learns from unlabelled rows."""

    unlabeled_weight: float = 1.0
    prior: Any = None
    _ranges: ClassVar[dict[str, list[Any]]] = {
        "prior": [Interval(Real, 0, 1, closed="neither"), dict, "array-like", None]
    }
    _several_classes: ClassVar[bool] = False

    def _remember_labels(self, data: MachineData, w: Floats, labels: Floats) -> None:
        """Store an SVM and the labels -1 and 1 of the unlabelled rows."""
        self._remember(data.classes, w)
        self.transduction_ = data.transduction(self._shares(data, labels > 0))

    def _shares(self, data: MachineData, shares: Any) -> Floats:
        """Return the share of the second class for all unlabelled rows, given those with weight.

        Those of weight zero, all in X, have the share 0 or 1 of the class predicted for them.
        """
        given, present = data.given, data.given.unknown
        scores = given.X[given.labels.unlabeled] @ self.coef_[0] + self.intercept_[0]
        of_X = (scores >= 0).astype(np.float64)
        of_X[present] = shares[: len(present)]
        return np.append(of_X, shares[len(present) :])
