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

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from primum._sklearn import StrOptions
from primum._typing import AnyArray, Floats
from primum.methods.parameters import with_parameters
from primum.methods.svm.base import LinearMachine, MachineData, with_constant
from primum.methods.svm.newton import HingeCosts, Machine, machine_at, minimize, newton_system


@with_parameters
class L2SVMClassifier(LinearMachine):
    """Linear support vector machine with squared hinge loss; unlabelled rows are ignored.

    More than two classes are separated one against the rest. The class with the largest decision
    value is predicted, and the first of them if several are equal.

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
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        self.n_features_in_, self.solver_ = X.shape[1] - int(self.fit_intercept), system.name

        def refit(classes: AnyArray, y: Floats) -> L2SVMClassifier:
            nonlocal last
            signs = np.ascontiguousarray(np.atleast_2d(y.T))  # one against the rest
            if last is None or last.shape != (len(signs), X.shape[1]):
                last = np.zeros((len(signs), X.shape[1]))
            machines = [
                minimize(system, HingeCosts(sign, cost), machine_at(system, w), **limits)
                for sign, w in zip(signs, last, strict=True)
            ]
            last = np.stack([machine.w for machine in machines])
            return self._keep(classes, machines)

        return refit

    def _keep(self, classes: AnyArray, machines: list[Machine]) -> Self:
        slowest = max(machines, key=lambda machine: (not machine.converged, machine.n_iter))
        if not slowest.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} Newton steps before "
                "reaching tol; raise max_iter or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.objective_ = sum(machine.objective for machine in machines)
        self.n_iter_ = slowest.n_iter
        return self._remember(classes, np.stack([machine.w for machine in machines]))
