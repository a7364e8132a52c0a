"""The supervised linear SVM with squared hinge loss, the twin of the transductive ones.

    minimise over w, b    alpha/2 ||w||^2 + 1/2 sum_i c_i max(0, 1 - y_i (w'x_i + b))^2,   y = -1, 1

With costs "mean" (the default) c_i is sample_weight_i divided by the sum of the weights, and alpha
means what it means everywhere in this library: a penalty added to a mean loss. With "sum" c_i is
sample_weight_i, so that alpha = 1 is

    1/2 ||w||^2 + 1/2 sum_i max(0, 1 - y_i (w'x_i + b))^2,

and alpha = 1 / (2 C) is scikit-learn's LinearSVC. The intercept is unpenalised, or it is the
coefficient of a constant feature and penalised like any other (``penalize_intercept``, as in
LinearSVC). K > 2 classes have K such SVMs, each for one class (y = 1) against the rest (y = -1).
"""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from primum._sklearn import StrOptions
from primum._typing import AnyArray, Floats
from primum.methods.svm.base import LinearMachine, MachineData, ridge_of, with_constant
from primum.methods.svm.newton import (
    HingeCosts,
    Machine,
    NewtonSystem,
    machine_at,
    minimize,
    newton_system,
    warn_if_short,
)


class L2SVMClassifier(LinearMachine):
    """Linear support vector machine with squared hinge loss; unlabelled rows are ignored.

    More than two classes are separated one against the rest. The class with the largest decision
    value is predicted, and the first of them if several are equal.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty ``alpha/2 * ||w||^2``.
    costs : {"mean", "sum"}, default="mean"
        Whether the penalty is added to the mean or to the sum of the rows' losses (each half a
        squared hinge). ``LinearSVC(C=C)`` is ``alpha=1 / (2 * C), costs="sum",
        penalize_intercept=True``.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    penalize_intercept : bool, default=False
        Whether the intercept is penalised like a coefficient.
    tol : float, default=1e-10
        Stop when the predicted decrease of a Newton step is below this fraction of the objective.
    max_iter : int, default=1000
        Maximum number of Newton steps; a handful is typical.
    warm_start : bool, default=False
        Whether a further call of ``fit`` starts from the last solution, if it has as many features
        and classes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. The second of two is encoded as 1.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        Coefficients of the SVM of the second of two classes, or of every class against the rest.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercepts.
    objective_ : float
        Value of the objective above, summed over the SVMs.
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

    _several_classes: ClassVar[bool] = True
    _uses_unlabeled: ClassVar[bool] = False
    _ranges: ClassVar[dict[str, list[Any]]] = {"costs": [StrOptions({"mean", "sum"})]}

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        costs: str = "mean",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        tol: float = 1e-10,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.costs = costs
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def _fit_data(self, data: MachineData) -> Self:
        """Fit to the labelled rows of validated data."""
        L = data.n_labeled
        X = data.X if data.n_unlabeled == 0 else data.X[:L]
        signs = one_against_rest(data.y)
        start = self._start(len(signs), X.shape[1])
        machines = self._minimize(self._system(X), signs, data.weight[:L], start)
        self.n_features_in_ = X.shape[1] - int(self.fit_intercept)
        return self._keep(data.classes, machines)

    def _start(self, n_svms: int, n_columns: int) -> Floats:
        if self.warm_start and hasattr(self, "coef_"):
            w = self._weights()
            if w.shape == (n_svms, n_columns):
                return w
        return np.zeros((n_svms, n_columns))

    def _system(self, X: Any) -> NewtonSystem:
        ridge = ridge_of(self.alpha, X.shape[1], self.fit_intercept, self.penalize_intercept)
        return newton_system(X, ridge)

    def _minimize(
        self, system: NewtonSystem, signs: Floats, weight: Floats, start: Floats
    ) -> list[Machine]:
        """Return the SVM for each row of signs, the labels -1 and 1, from that row of start."""
        cost = weight / weight.sum() if self.costs == "mean" else weight
        self.solver_ = system.name
        return [
            minimize(
                system,
                HingeCosts(sign, cost),
                machine_at(system, w),
                tol=self.tol,
                max_iter=self.max_iter,
            )
            for sign, w in zip(signs, start, strict=True)
        ]

    def _keep(self, classes: AnyArray, machines: list[Machine]) -> Self:
        slowest = max(machines, key=lambda machine: (not machine.converged, machine.n_iter))
        warn_if_short(slowest, type(self).__name__, self.max_iter, stacklevel=5)
        self.objective_ = sum(machine.objective for machine in machines)
        self.n_iter_ = slowest.n_iter
        return self._remember(classes, np.stack([machine.w for machine in machines]))

    def _refitter(
        self, X: Any, weight: Floats | None = None
    ) -> "Callable[[AnyArray, Floats], L2SVMClassifier]":
        """Return a function that refits to other labels of the same rows, with a warm start.

        Labels are numbers 0 and 1 for two classes, and one-hot rows for more.
        """
        rows = with_constant([X], self.fit_intercept)
        system = self._system(rows)
        heavy = np.ones(rows.shape[0]) if weight is None else weight
        last: Floats | None = None

        def refit(classes: AnyArray, y: Floats) -> L2SVMClassifier:
            nonlocal last
            signs = one_against_rest(2.0 * y - 1.0)
            start = np.zeros((len(signs), rows.shape[1])) if last is None else last
            machines = self._minimize(system, signs, heavy, start)
            last = np.stack([machine.w for machine in machines])
            return self._keep(classes, machines)

        self.n_features_in_ = X.shape[1]
        return refit


def one_against_rest(y: Floats) -> Floats:
    """Return the labels -1 and 1 for each SVM: one row for two classes, one per class for more."""
    return np.ascontiguousarray(np.atleast_2d(y.T))
