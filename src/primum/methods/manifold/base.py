"""The common parts of the manifold methods: distinct rows, their graph, the deformed kernel."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import Tags, gen_batches

from primum._typing import AnyArray, Floats, Index
from primum.methods import base
from primum.methods.kernels import computed_kernel, gamma_of
from primum.methods.manifold import deformed_kernel
from primum.methods.manifold.deformed_kernel import DeformedKernel
from primum.reading.data import (
    ClassRows,
    read_numpy_rows,
    read_rows,
    refuse_other_library,
    stack_rows,
)
from primum.rows import ArrayRows

# A fit to n distinct rows needs up to 7 n^2 numbers, 5.6 GB at this limit, if most are labelled,
# and half as many if few are.
MAX_GRAPH_ROWS = 10_000
# Kernel values that a prediction computes at a time (64 MB): small compared with those of the fit,
# like ``kernels.KERNEL_BLOCK_NUMBERS``; half or twice as many would do as well.
PREDICTED_KERNEL_NUMBERS = 2**23


@base.with_parameters
class KernelOnGraph(BaseEstimator):
    """A kernel deformed by the neighbour graph of all training rows, labelled or not."""

    kernel: str | Callable[..., Any] = "rbf"
    gamma: float | str | None = "scale"
    kernel_params: dict[str, Any] | None = None
    graph_neighbors: int = 10
    graph_weights: str = "binary"
    graph_normalized: bool = True
    graph_power: int = 1

    def _deform(self, rows: Any, ratio: float) -> DeformedKernel:
        """Return the deformed kernel of distinct rows, which are stored for new ones."""
        n, d = rows.shape
        gamma = self.gamma  # one in kernel_params takes the place of the default
        if gamma == "scale":
            gamma = (self.kernel_params or {}).get("gamma", gamma)
        self.gamma_ = gamma_of(self.kernel, gamma, rows)
        penalty: Any = sparse.csr_array((n, n))
        if ratio:
            graph = deformed_kernel.neighbor_graph(rows, self.graph_neighbors, self.graph_weights)
            penalty = deformed_kernel.laplacian_power(
                graph, normalized=self.graph_normalized, power=self.graph_power
            )
        if self.kernel == "linear" and d <= min(n, MAX_GRAPH_ROWS):  # with the rows themselves
            return deformed_kernel.deform_linear(rows, penalty).at(ratio)
        self._refuse_many(n)
        self.X_fit_ = rows
        return deformed_kernel.deform_kernel(self._kernel(rows), penalty, overwrite=True).at(ratio)

    def _kernel(self, rows: Any, others: Any = None) -> Floats:
        """Return the undeformed kernel between rows, or rows and others, in memory of its own."""
        parameters = dict(self.kernel_params or {})
        if callable(self.kernel):
            others = rows if others is None else others
            return computed_kernel(self.kernel, rows, others, parameters)
        if self.gamma_ is not None:
            parameters["gamma"] = self.gamma_
        return np.asarray(pairwise_kernels(rows, others, metric=self.kernel, **parameters))

    def _expand(self, X: Any, expansion: Floats) -> Floats:
        """Return functions of new rows, given their expansion (see ``DeformedKernel``)."""
        rows = read_numpy_rows(self, X, reset=False).astype(np.float64, copy=False)
        if not hasattr(self, "X_fit_"):
            return np.asarray(rows @ expansion)
        n = rows.shape[0]
        values = np.empty((n, *expansion.shape[1:]))
        for batch in gen_batches(n, max(1, PREDICTED_KERNEL_NUMBERS // len(expansion))):
            values[batch] = self._kernel(rows[batch], self.X_fit_) @ expansion
        return values

    def _refuse_many(self, n_rows: int) -> None:
        if n_rows > MAX_GRAPH_ROWS:
            name = type(self).__name__
            raise ValueError(
                f"{name} needs the kernel matrix of all rows, labelled or not, but there are "
                f"{n_rows} distinct ones, and at most {MAX_GRAPH_ROWS} are supported: pass fewer "
                "unlabelled rows, or approximate the kernel by features, which removes "
                f"this limit, for example make_pipeline(Nystroem(), {name}(kernel='linear'))."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel not in ("laplacian", "chi2")
        return tags


@dataclass(frozen=True)
class ManifoldData:
    """Labelled and unlabelled rows of positive weight, equal ones merged.

    ``rows`` (n_rows, n_features), an array or a CSR matrix in double precision, are the distinct
    ones: a row that occurs twice counts twice in the loss, but is one vertex of the graph. Of every
    labelled row there are its position among them, its label as a code 0, 1, ... and as least
    squares fits it, (n_labeled,) or (n_labeled, K), and its weight (None: 1).
    """

    rows: Any
    labeled: Index
    codes: Index
    targets: Floats
    weight: Floats | None
    classes: AnyArray


def distinct_rows(X: Any) -> tuple[Any, Index]:
    """Return the distinct rows, and for every row its position among them.

    Dense rows are sorted, so that their order does not affect the graph if neighbours are tied.
    """
    if isinstance(X, np.ndarray):
        rows, inverse = np.unique(X, axis=0, return_inverse=True)
        return rows, inverse.ravel()
    X.sum_duplicates()
    X.eliminate_zeros()
    seen: dict[tuple[bytes, bytes], int] = {}
    position: Index = np.empty(X.shape[0], dtype=np.intp)
    for i, (start, stop) in enumerate(pairwise(X.indptr)):
        key = X.indices[start:stop].tobytes(), X.data[start:stop].tobytes()
        position[i] = seen.setdefault(key, len(seen))
    first = np.unique(position, return_index=True)[1]
    return X[first], position


class ManifoldMachine(base.KnownLabelsScoreMixin, ClassifierMixin, KernelOnGraph):
    """A classifier in the deformed kernel, with a twin in the undeformed kernel."""

    _several_classes: ClassVar[bool] = True
    # The parameter whose value 0 leaves the graph out.
    _weight_of_graph: ClassVar[str]

    @base.documented_fit(
        in_memory=True, weights="Equal rows are one vertex of the graph, whatever their weights."
    )
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:  # noqa: D102
        with base.fitting(self):
            several = self._several_classes
            given = read_rows(self, X, y, X_unlabeled, sample_weight, multi_class=several)
            self._fit_given(given)
            # The twin: the machine fitted to the labelled rows, without the graph.
            twin = copy(self)
            if self._ratio > 0:
                twin = clone(self).set_params(**{self._weight_of_graph: 0.0})
                twin.n_features_in_ = self.n_features_in_
                base.copy_feature_names(self, twin)
                twin._fit_given(given)
            self.supervised_ = twin
        return self

    def _fit_given(self, given: ClassRows) -> Self:
        """Fit to validated arguments, without the unlabelled rows if the graph is left out."""
        refuse_other_library(self, given.home)
        labels = given.labels
        index, more = labels.labeled[given.known], given.X[:0]
        n_labeled = len(index)
        if self._ratio > 0:
            index = np.concatenate([index, labels.unlabeled[given.unknown]])
            if not isinstance(given.more, ArrayRows):
                raise ValueError(
                    f"{type(self).__name__} needs a graph of all rows, but X_unlabeled is not in "
                    "memory: load a sample of it, or use ICLSClassifier or USMClassifier."
                )
            more = given.more.array
        rows, position = distinct_rows(stack_rows([given.X[index], more], np.float64))
        data = ManifoldData(
            rows=rows,
            labeled=position[:n_labeled],
            codes=labels.codes[given.known],
            targets=labels.targets[given.known],
            weight=given.weight_of(index[:n_labeled]),
            classes=labels.classes,
        )
        self.classes_ = data.classes
        self._fit_deformed(data, self._deform(rows, self._ratio))
        return self

    @property
    @abstractmethod
    def _ratio(self) -> float:
        """The ratio r of the two penalties; 0 means the undeformed kernel of the labelled rows."""

    @abstractmethod
    def _fit_deformed(self, data: ManifoldData, kernel: DeformedKernel) -> None:
        """Fit to validated data in the deformed kernel of its rows."""


@base.with_parameters
class LaplacianMachine(ManifoldMachine):
    """A machine with a loss of its own, and penalties on the norm and on the graph."""

    alpha: float = field(default=1e-4, kw_only=False)
    graph_alpha: float = field(default=1e-3, kw_only=False)
    _weight_of_graph: ClassVar[str] = "graph_alpha"

    @property
    def _ratio(self) -> float:
        return self.graph_alpha / self.alpha

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, new or not.

        Returns
        -------
        array of shape (n_samples,)
            For two classes, the second if the decision function is at least 0; for more, the
            class with the largest decision value, and the first of them if several are equal.
        """
        return np.asarray(base.predicted_classes(self.decision_function(X), self.classes_))
