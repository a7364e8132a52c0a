"""Linear machines: their rows, with a constant column, and the supervised SVM.

The supervised SVM has the squared hinge loss, and is the twin of the transductive ones:

    minimise over w, b    alpha/2 ||w||^2 + 1/2 sum_i c_i max(0, 1 - y_i (w'x_i + b))^2,   y = -1, 1

With costs "mean" (the default) c_i is sample_weight_i divided by the sum of the weights, and alpha
means what it means everywhere in this library: a penalty added to a mean loss. With "sum" c_i is
sample_weight_i, so that alpha = 1 is

    1/2 ||w||^2 + 1/2 sum_i max(0, 1 - y_i (w'x_i + b))^2,

and alpha = 1 / (2 C) is scikit-learn's LinearSVC. The intercept is unpenalised, or it is the
coefficient of a constant feature and penalised like any other (``penalize_intercept``, as in
LinearSVC). K > 2 classes have K such SVMs, each for one class (y = 1) against the rest (y = -1).
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from primum._sklearn import Interval, StrOptions
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats
from primum._warnings import warn
from primum.methods import base
from primum.methods.svm.newton import HingeCosts, machine_at, minimize, newton_system
from primum.reading.data import ClassRows, in_memory, read_rows, refuse_other_library


@dataclass(frozen=True)
class MachineData:
    """Labelled rows, then unlabelled ones, all of positive weight.

    X (n, n_columns) is in double precision, an array or a CSR matrix, with a final column of ones
    if there is an intercept. y (n_labeled,) are labels -1 and 1 of the second of two classes, or
    (n_labeled, K) of every class against the rest. weight (n,) is that of every row, and given are
    the arguments of ``fit``.
    """

    X: Any
    y: Floats
    weight: Floats
    given: ClassRows

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


def with_constant(parts: list[Any], fit_intercept: bool) -> Any:
    """Stack rows and append a column of ones."""
    n = sum(part.shape[0] for part in parts)
    d = parts[0].shape[1]
    parts = [part for part in parts if part.shape[0]]
    if any(sparse.issparse(part) for part in parts):
        stacked = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
        columns = [stacked, sparse.csr_array(np.ones((n, 1)))] if fit_intercept else [stacked]
        return sparse.hstack(columns, format="csr", dtype=np.float64)
    X = np.empty((n, d + int(fit_intercept)))
    X[:, d:] = 1.0
    np.concatenate(parts, out=X[:, :d])
    return X


@base.with_parameters
class LinearMachine(
    base.KnownLabelsScoreMixin, base.ClassPredictionMixin, ClassifierMixin, BaseEstimator
):
    """The common base of the linear SVMs and of entropy-regularised logistic regression."""

    alpha: float = field(default=1.0, kw_only=False)
    fit_intercept: bool = True
    penalize_intercept = False
    warm_start = False
    _several_classes: ClassVar[bool] = True
    _uses_unlabeled: ClassVar[bool] = True

    @base.documented_fit(
        in_memory=True,
        weights="Class fractions of transductive SVMs count rows regardless of their weight.",
    )
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:  # noqa: D102
        with base.fitting(self, warm_start=self.warm_start):
            several = self._several_classes
            given = read_rows(self, X, y, X_unlabeled, sample_weight, multi_class=several)
            refuse_other_library(self, given.home)
            # The rows that have weight, labelled ones first; they are not copied for their order.
            labels = given.labels
            index = labels.labeled[given.known]
            more = given.X[:0]
            if self._uses_unlabeled:
                index = np.concatenate([index, labels.unlabeled[given.unknown]])
                more = in_memory(self, given.more)
            ordered = len(labels.unlabeled) == 0 and len(index) == given.X.shape[0]
            rows = [given.X if ordered else given.X[index], more]
            weight = np.ones(len(index)) if given.weight is None else given.weight[index]
            data = MachineData(
                X=with_constant(rows, self.fit_intercept),
                y=2.0 * labels.targets[given.known] - 1.0,
                weight=np.append(weight, np.ones(more.shape[0])),
                given=given,
            )
            with one_blas_thread():
                self._fit_data(data)
        return self

    @abstractmethod
    def _fit_data(self, data: MachineData) -> Self | None:
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


@base.with_parameters
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
        shares = self._shares(data, labels > 0)
        # The class of every row, known or not: the rows of X, then those of X_unlabeled.
        known = data.given.labels
        n = data.given.X.shape[0]
        codes = np.empty(n + len(shares) - len(known.unlabeled), dtype=np.intp)
        codes[known.labeled] = known.codes
        codes[np.append(known.unlabeled, np.arange(n, len(codes)))] = shares > 0.5
        self.transduction_ = data.classes[codes]

    def _shares(self, data: MachineData, shares: AnyArray) -> Floats:
        """Return the share of the second class for all unlabelled rows, given those with weight.

        Those of weight zero, all in X, have the share 0 or 1 of the class predicted for them.
        """
        given, present = data.given, data.given.unknown
        scores = given.X[given.labels.unlabeled] @ self.coef_[0] + self.intercept_[0]
        of_X = (scores >= 0).astype(np.float64)
        of_X[present] = shares[: len(present)]
        return np.append(of_X, shares[len(present) :])


@base.with_parameters
class L2SVMClassifier(LinearMachine):
    """Linear support vector machine with squared hinge loss; unlabelled rows are ignored.

    More than two classes are separated one-versus-rest. The class with the largest decision value
    is predicted, and the first of them if several are equal.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty ``alpha/2 * ||w||^2``.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    costs : {"mean", "sum"}, default="mean"
        Whether the penalty is added to the mean or to the sum of the rows' losses (each half a
        squared hinge). ``LinearSVC(C=C)`` is ``alpha=1 / (2 * C), costs="sum",
        penalize_intercept=True``.
    penalize_intercept : bool, default=False
        Whether the intercept is penalised like a coefficient.
    tol : float, default=1e-10
        Stop when the predicted decrease of a Newton step is below this fraction of the objective.
    max_iter : int, default=1000
        Maximum number of Newton steps; a handful is typical.
    warm_start : bool, default=False
        Whether a further call of ``fit`` starts from the last solution, if the numbers of features
        and classes are the same.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. The second of two is encoded as 1.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        Coefficients of the SVM of the second of two classes, or of every class against the rest.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercepts.
    objective_ : float
        Value of the objective, penalty plus losses, summed over the SVMs.
    n_iter_ : int
        Number of Newton steps; the largest of all SVMs.
    solver_ : {"primal", "dual", "conjugate_gradients"}
        How the linear systems were solved: by a Cholesky factorisation over the columns or, if
        there are fewer rows, over the rows inside the margin, or iteratively (many sparse rows).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    TSVMClassifier : Its transductive counterpart.

    References
    ----------
    S. S. Keerthi and D. DeCoste, "A modified finite Newton method for fast solution of large scale
    linear SVMs", Journal of Machine Learning Research 6 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import L2SVMClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> L2SVMClassifier().fit(X, y).predict([[0.0], [3.0]])
    array([0, 1])
    """

    _uses_unlabeled: ClassVar[bool] = False
    _ranges: ClassVar[dict[str, list[Any]]] = {"costs": [StrOptions({"mean", "sum"})]}

    costs: str = "mean"
    penalize_intercept: bool = False
    tol: float = 1e-10
    max_iter: int = 1000
    warm_start: bool = False

    def _fit_data(self, data: MachineData) -> "L2SVMClassifier":
        """Fit to the labelled rows."""
        L = data.n_labeled
        X = data.X if data.n_unlabeled == 0 else data.X[:L]
        start = self._weights() if self.warm_start and hasattr(self, "coef_") else None
        return self._minimizer(X, data.weight[:L], start)(data.classes, data.y)

    def _refitter(
        self, X: Any, weight: Floats | None = None
    ) -> "Callable[[AnyArray, Floats], L2SVMClassifier]":
        """Return a function that refits to other labels of the same rows, with a warm start.

        Labels are numbers 0 and 1 for two classes, and one-hot rows for more.
        """
        rows = with_constant([X], self.fit_intercept)
        refit = self._minimizer(rows, np.ones(rows.shape[0]) if weight is None else weight)
        return lambda classes, y: refit(classes, 2.0 * y - 1.0)

    def _minimizer(
        self, X: Any, weight: Floats, last: Floats | None = None
    ) -> "Callable[[AnyArray, Floats], L2SVMClassifier]":
        """Return a function that fits to labels -1 and 1 of rows, from the last solution."""
        system = newton_system(X, self._ridge(X.shape[1]))
        cost = weight / weight.sum() if self.costs == "mean" else weight
        self.n_features_in_ = X.shape[1] - int(self.fit_intercept)
        self.solver_ = system.name

        def refit(classes: AnyArray, y: Floats) -> L2SVMClassifier:
            nonlocal last
            signs = np.ascontiguousarray(np.atleast_2d(y.T))  # one-versus-rest
            if last is None or last.shape != (len(signs), X.shape[1]):
                last = np.zeros((len(signs), X.shape[1]))
            machines = []
            for sign, w in zip(signs, last, strict=True):
                start, costs = machine_at(system, w), HingeCosts(sign, cost)
                machines.append(
                    minimize(system, costs, start, tol=self.tol, max_iter=self.max_iter)
                )
            last = np.stack([machine.w for machine in machines])
            slowest = max(machines, key=lambda machine: (not machine.converged, machine.n_iter))
            if not slowest.converged:
                warn(
                    f"{type(self).__name__} stopped after max_iter={self.max_iter} Newton steps "
                    "before reaching tol; raise max_iter or tol, or scale the features.",
                    ConvergenceWarning,
                )
            self.objective_ = sum(machine.objective for machine in machines)
            self.n_iter_ = slowest.n_iter
            return self._remember(classes, last)

        return refit
