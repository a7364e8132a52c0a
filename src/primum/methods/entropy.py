"""Logistic regression with a penalty on the entropy of its predictions for unlabelled rows.

    minimise over W, b   mean over labelled rows of -log p_y(x)
                         + lambda * mean over unlabelled rows of H(p(x))  +  alpha ||W||^2

p(x) is the sigmoid of one score for two classes, and the softmax of one score per class for more; H
is the entropy and lambda the ``unlabeled_weight``. The intercepts b are not penalised. With
lambda = 0, or without unlabelled rows, this is scikit-learn's
``LogisticRegression(C=1 / (2 * L * alpha))`` for L labelled rows.

The entropy is small where predictions are certain, so it pushes the boundary away from the
unlabelled rows. It is not convex, so the search starts at the supervised solution and ends in a
local minimum, whose objective is no higher. In full,

    f(W) = sum_l v_l (-log p_{y_l}(x_l)) + sum_u v_u H(p(x_u)) + sum_j ridge_j ||W_j||^2,

with p(x) the softmax of the scores of x, one for each of K > 2 classes, and H the entropy. Two
classes have one score, that of the second; the score of the first is 0. The weights v of the
labelled rows add up to 1, those of the unlabelled rows to the weight of the entropy.

With log p = s - log sum exp s, the derivatives with respect to the scores of a row are

    labelled:     p - e_y,          unlabelled:     -p (log p + H).

The entropy is not convex in W, so a search finds a local minimum. Local minima differ in how
certain the predictions are, which is a matter of the scale of W: so searches start at the
supervised solution times a few factors, and the lowest end is taken.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from primum._typing import Floats
from primum.methods import base
from primum.methods.svm.base import LinearMachine, MachineData

# Factors of the supervised solution at which searches start; the first is that solution itself. At
# 0 all predictions are uncertain, and only the labels pull at first.
START_FACTORS = (1.0, 0.0, 0.3, 3.0)
# Another start is preferred to the supervised solution if it ends lower by this fraction of f, more
# than searches miss: otherwise the two are the same minimum.
MIN_DECREASE = 1e-9
# Newton steps after L-BFGS, and products with the second derivative in each of them, at most: two
# or three steps are typical, because L-BFGS has ended close to the minimum.
MAX_POLISHING_STEPS, MAX_PRODUCTS = 10, 1000
# Changes of f below this fraction of it are rounding: of some sums over rows.
OBJECTIVE_ROUNDING = 16 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class EntropyProblem:
    """The function f of rows X (n, n_columns), labelled ones first.

    ``targets`` (n_labeled, K) are one-hot labels, also for two classes, ``weight`` (n,) the weights
    v, and ``ridge`` (n_columns,) the penalties.
    """

    X: Any
    targets: Floats
    weight: Floats
    ridge: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of W: one row per score."""
        n_classes = self.targets.shape[1]
        return (1 if n_classes == 2 else n_classes, self.X.shape[1])

    def at(self, W: Floats) -> tuple[float, Floats]:
        """Return f(W) and its gradient, which has the shape of W: a matrix, or flattened."""
        matrix = W.reshape(self.shape)
        losses, slopes, _, _ = self._rows(self._scores(matrix))
        pull = self.ridge * matrix
        value = float(self.weight @ losses + np.vdot(pull, matrix))
        return value, (self._gather(slopes) + 2.0 * pull).reshape(W.shape)

    def hessian(self, w: Floats) -> LinearOperator:
        """Return the second derivative at a flattened W."""
        _, slopes, p, log_p = self._rows(self._scores(w.reshape(self.shape)))

        def times(v: Floats) -> Floats:
            V, L = v.reshape(self.shape), len(self.targets)
            moved = self._scores(V)
            log_p_moved = moved - np.vecdot(p, moved)[:, None]
            slopes_moved = p * log_p_moved
            entropy = -np.vecdot(p[L:], log_p[L:]) + 1.0
            slopes_moved[L:] *= -(log_p[L:] + entropy[:, None])
            slopes_moved[L:] -= p[L:] * np.vecdot(slopes[L:], moved[L:])[:, None]
            return (self._gather(slopes_moved) + 2.0 * self.ridge * V).ravel()

        return LinearOperator((w.size, w.size), matvec=times, dtype=np.float64)

    def _scores(self, W: Floats) -> Floats:
        """Return the scores of every class; for two, that of the first is 0."""
        scores = np.asarray(self.X @ W.T)
        return scores if len(W) > 1 else np.column_stack([np.zeros(len(scores)), scores])

    def _gather(self, slopes: Floats) -> Floats:
        """Return the derivative in W, given those in the scores of every row."""
        slopes = slopes if self.shape[0] > 1 else slopes[:, 1:]
        return np.asarray(self.X.T @ (self.weight[:, None] * slopes)).T

    def _rows(self, scores: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the loss or the entropy of every row, its slopes in the scores, p and log p."""
        log_p = log_softmax(scores, axis=1)
        p, L = np.exp(log_p), len(self.targets)
        losses = -np.vecdot(p, log_p)
        slopes = -p * (log_p + losses[:, None])
        losses[:L] = -np.vecdot(self.targets, log_p[:L])
        slopes[:L] = p[:L] - self.targets
        return losses, slopes, p, log_p


@dataclass(frozen=True)
class Descent:
    """A point of f, its value and its largest partial derivative in absolute value."""

    W: Floats
    value: float
    slope: float
    n_iter: int


def lowest_descent(problem: EntropyProblem, start: Floats, *, tol: float, max_iter: int) -> Descent:
    """Return the lowest end of several descents, or of one if f is convex."""
    best = descend(problem, start, tol=tol, max_iter=max_iter)
    if not problem.weight[len(problem.targets) :].any():
        return best
    for factor in START_FACTORS[1:]:
        other = descend(problem, factor * start, tol=tol, max_iter=max_iter)
        if other.value < best.value - MIN_DECREASE * abs(best.value):
            best = other
    return best


def descend(problem: EntropyProblem, start: Floats, *, tol: float, max_iter: int) -> Descent:
    """Return the point at which L-BFGS ends, never higher than the start except for rounding.

    It stops when no partial derivative is larger than tol, or when f no longer falls. Rounding of f
    hides decreases of the order of the square of the slopes, so slopes below about 1e-8 are left to
    Newton's method, which does not search by values of f.
    """
    result = minimize(
        problem.at,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": tol, "ftol": 0.0, "maxiter": max_iter, "maxfun": 20 * max_iter},
    )
    w = result.x
    value = float(result.fun)
    slopes = result.jac
    # Newton steps, each of which lowers the slopes and does not raise f. If f is not convex, a step
    # may lead away from the minimum; such a step is not taken.
    for _ in range(MAX_POLISHING_STEPS if result.nit < max_iter else 0):
        slope = np.abs(slopes).max()
        if slope <= tol:
            break
        step, _ = cg(problem.hessian(w), slopes, maxiter=MAX_PRODUCTS)
        lower, slopes_there = problem.at(w - step)
        if np.abs(slopes_there).max() >= slope or lower > value + OBJECTIVE_ROUNDING * abs(value):
            break
        w = w - step
        value = lower
        slopes = slopes_there
    return Descent(w.reshape(start.shape), value, float(np.abs(slopes).max()), int(result.nit))


# L-BFGS multiplies squared differences of gradients, which are of the order of the values of X: the
# fourth power of this is still finite.
MAX_FEATURE = 1e75


@base.with_parameters
class EntropyLogisticClassifier(LinearMachine):
    """Logistic regression that prefers confident predictions for unlabelled rows. Not safe.

    It assumes that the classes are separated by a region with few rows. If the boundary runs
    through a dense region instead, the entropy pushes the model away from it, and the error can be
    higher than that of ``supervised_``.

    Parameters
    ----------
    unlabeled_weight : float, default=0.1
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
        Value of the objective, which is the mean log loss plus the entropy and the ridge, each with
        its weight; never above ``supervised_objective_``, up to rounding.
    supervised_objective_ : float
        The objective at the supervised twin.
    gap_ : float
        The largest partial derivative of the objective, in absolute value, at the solution: 0 at a
        local minimum.
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
    >>> clf = EntropyLogisticClassifier(unlabeled_weight=1.0).fit(X, y)
    >>> clf.objective_ < clf.supervised_objective_
    True
    >>> clf.predict([[0.0], [6.0]])
    array([0, 1])
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "unlabeled_weight": base.NOT_NEGATIVE,
        "tol": base.POSITIVE,
    }

    unlabeled_weight: float = field(default=0.1, kw_only=False)
    alpha: float = 0.01
    tol: float = 1e-10
    max_iter: int = 10000

    def _fit_data(self, data: MachineData) -> None:
        L, X = data.n_labeled, data.X
        largest = float(abs(X).max())
        if largest > MAX_FEATURE:  # products in the search would overflow
            raise ValueError(
                f"X has values up to {largest:.1e}, so logistic regression would overflow: rescale "
                "the features, for example with StandardScaler."
            )

        # The twin. The search continues from wherever it stopped, and issues its own warning.
        weight = data.weight.copy()
        twin = self.supervised_ = LogisticRegression(
            C=1.0 / (2.0 * weight[:L].sum() * self.alpha),
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = data.given.labels.values[data.given.known]
            features = X[:L, : X.shape[1] - int(self.fit_intercept)]
            twin.fit(features, labels, sample_weight=weight[:L])
        base.copy_feature_names(self, twin)

        # The objective, and its lowest local minimum near the twin.
        weight[:L] /= weight[:L].sum()
        if data.n_unlabeled:
            weight[L:] *= self.unlabeled_weight / weight[L:].sum()
        one_hot = data.y > 0 if data.y.ndim == 2 else np.column_stack([data.y < 0, data.y > 0])
        ridge = self._ridge(X.shape[1])
        problem = EntropyProblem(X, one_hot.astype(np.float64), weight, ridge)
        start = np.column_stack([twin.coef_, twin.intercept_][: 1 + int(self.fit_intercept)])
        self.supervised_objective_, _ = problem.at(start)
        lowest = lowest_descent(problem, start, tol=self.tol, max_iter=self.max_iter)
        self.objective_ = lowest.value
        self.gap_ = lowest.slope
        self.n_iter_ = lowest.n_iter + int(twin.n_iter_.max())
        self.converged_ = lowest.slope <= self.tol
        if not self.converged_:
            where = f"with a partial derivative of {self.gap_:.1e}, not within"
            base.warn_short_of_tol(self, lowest.n_iter, where)
        self._remember(data.classes, lowest.W)

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
        return base.logistic_probabilities(self.decision_function(X))
