"""Logistic regression with a penalty on the entropy of its predictions for unlabelled rows.

    minimise over W, b   mean over labelled rows of -log p_y(x)
                         + lambda_u * mean over unlabelled rows of H(p(x))  +  alpha ||W||^2

p(x) is the sigmoid of one score for two classes, and the softmax of one score per class for more; H
is the entropy. The intercepts b are not penalised. With lambda_u = 0, or without unlabelled rows,
this is scikit-learn's ``LogisticRegression(C=1 / (2 * L * alpha))`` for L labelled rows.

The entropy is small where predictions are certain: the boundary is pushed away from the unlabelled
rows. It is not convex, so the search starts at the supervised solution and ends in a local minimum,
whose objective is no higher (``machines.entropy``).
"""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import Interval
from primum._typing import Floats
from primum.estimators._fitting import convergence_advice, copy_feature_names
from primum.estimators._svm_data import LinearMachine, MachineData, ridge_of
from primum.machines.entropy import EntropyProblem, lowest_descent

# L-BFGS multiplies squared differences of gradients, which are of the order of the values of X: the
# fourth power of this is still finite.
LARGEST_VALUE = 1e75


class EntropyLogisticClassifier(LinearMachine):
    """Logistic regression that prefers certain predictions for unlabelled rows. Not safe.

    It assumes that the classes are separated by a region with few rows. If the boundary runs
    through a dense region instead, the entropy pushes the model away from it, and the error can be
    higher than that of ``supervised_``.

    Parameters
    ----------
    lambda_u : float, default=0.1
        Weight of the mean entropy of the unlabelled rows, relative to the mean log loss of the
        labelled ones. With 0 the unlabelled rows are ignored.
    alpha : float, default=0.01
        Ridge penalty: ``alpha * ||w||^2`` is added to the mean log loss; above 0, because otherwise
        separable classes have no finite solution. The intercept is not penalised.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float, default=1e-10
        Stop when no partial derivative of the objective is larger than this.
    max_iter : int, default=10000
        Maximum number of L-BFGS iterations, for the supervised fit and again for each of the four
        searches that start from it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        Coefficients of the log-odds of the second of two classes, or of the score of every class.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercepts.
    supervised_ : LogisticRegression
        The supervised twin: scikit-learn's logistic regression on the labelled rows. Searches start
        at its coefficients times 1, 0, 0.3 and 3, and the one that ends lowest is taken.
    objective_ : float
        Value of the objective above; never above ``supervised_objective_``, up to rounding.
    supervised_objective_ : float
        Its value at the supervised twin.
    slope_ : float
        The largest partial derivative of the objective, in absolute value, at the solution.
    n_iter_ : int
        Number of L-BFGS iterations of the supervised fit and of the search that ended lowest.
    converged_ : bool
        Whether no partial derivative is larger than ``tol``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    ConvergenceWarning
        If the search ended with a partial derivative above ``tol``.

    See Also
    --------
    sklearn.linear_model.LogisticRegression : Its supervised twin.
    TSVMClassifier : Another method that avoids regions with many rows.

    References
    ----------
    Y. Grandvalet and Y. Bengio, "Semi-supervised learning by entropy minimization", Advances in
    Neural Information Processing Systems 17 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import EntropyLogisticClassifier
    >>> X = np.array([[0.0], [4.0], [-1.0], [1.0], [5.0], [5.5], [6.0]])
    >>> y = np.array([0, 1, -1, -1, -1, -1, -1])
    >>> clf = EntropyLogisticClassifier(lambda_u=1.0).fit(X, y)
    >>> clf.objective_ < clf.supervised_objective_
    True
    >>> clf.predict([[0.0], [6.0]])
    array([0, 1])
    """

    _several_classes: ClassVar[bool] = True
    _uses_unlabeled: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lambda_u": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        lambda_u: float = 0.1,
        *,
        alpha: float = 0.01,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_iter: int = 10000,
    ) -> None:
        self.lambda_u = lambda_u
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _fit_data(self, data: MachineData) -> None:
        _refuse_large_values(data)
        twin = self.supervised_ = self._fit_twin(data)
        problem = self._problem(data)
        start = np.column_stack([twin.coef_, twin.intercept_][: 1 + int(self.fit_intercept)])
        self.supervised_objective_, _ = problem.at(start)
        found = lowest_descent(problem, start, tol=self.tol, max_iter=self.max_iter)
        self.objective_, self.slope_ = found.value, found.slope
        self.n_iter_ = found.n_iter + int(twin.n_iter_.max())
        self.converged_ = found.slope <= self.tol
        if not self.converged_:
            self._warn_of_slope(found.n_iter)
        self._remember(data.classes, found.W)

    def _fit_twin(self, data: MachineData) -> LogisticRegression:
        """Return scikit-learn's logistic regression on the labelled rows."""
        L, d = data.n_labeled, data.X.shape[1] - int(self.fit_intercept)
        weight, known = data.weight[:L], data.given.labels
        twin = LogisticRegression(
            C=1.0 / (2.0 * weight.sum() * self.alpha),
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        with warnings.catch_warnings():
            # The search continues from wherever the twin stopped, and issues its own warning.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = known.classes[known.codes[data.given.known]]
            twin.fit(data.X[:L, :d], labels, sample_weight=weight)
        copy_feature_names(self, twin)
        return twin

    def _problem(self, data: MachineData) -> EntropyProblem:
        L, weight = data.n_labeled, data.weight.copy()
        weight[:L] /= weight[:L].sum()
        if data.n_unlabeled:
            weight[L:] *= self.lambda_u / weight[L:].sum()
        one_hot = data.y > 0 if data.y.ndim == 2 else np.column_stack([data.y < 0, data.y > 0])
        ridge = ridge_of(self.alpha, data.X.shape[1], self.fit_intercept, penalize=False)
        return EntropyProblem(data.X, one_hot.astype(np.float64), weight, ridge)

    def _warn_of_slope(self, n_iter: int) -> None:
        advice = convergence_advice(self.max_iter, reached=n_iter >= self.max_iter)
        warnings.warn(
            f"EntropyLogisticClassifier stopped after {n_iter} iterations with a partial "
            f"derivative of {self.slope_:.1e}, not within tol={self.tol:.1e}; {advice}.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return np.asarray(softmax(scores, axis=1))


def _refuse_large_values(data: MachineData) -> None:
    """Raise an error if products in the search would overflow."""
    largest = float(abs(data.X).max())
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"X has values up to {largest:.1e}, for which logistic regression overflows: rescale "
            "the features, for example with StandardScaler."
        )
