"""Logistic regression whose predictions on the unlabelled rows have a small entropy.

    f(W) = sum_l v_l (-log p_{y_l}(x_l)) + sum_u v_u H(p(x_u)) + sum_j ridge_j ||W_j||^2,

with p(x) the softmax of the scores of x, one for each of K > 2 classes, and H the entropy. Two
classes have one score, that of the second; the score of the first is 0. The weights v of the
labelled rows add up to 1, those of the unlabelled rows to the weight of the entropy.

With log p = s - log sum exp s, the derivatives with respect to the scores of a row are

    labelled:     p - e_y,          unlabelled:     -p (log p + H).

The entropy is not convex in W, so a minimum found from one start is a local one. Where the minima
differ it is in how certain the predictions are, and along W that is a matter of scale: so searches
start at the supervised solution times a few factors, and the lowest end is taken.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import log_softmax

from primum._typing import Floats

# Factors of the supervised solution at which searches start; the first is that solution itself. At
# 0 all predictions are uncertain, and only the labels pull at first.
START_FACTORS = (1.0, 0.0, 0.3, 3.0)
# Another start is preferred to the supervised solution if it ends lower by this fraction of f.
LOWER = 1e-9
# Newton steps after L-BFGS, and products with the second derivative in each of them.
POLISHING_STEPS, MAX_PRODUCTS = 10, 1000
# Changes of f below this fraction of it are rounding.
ROUNDING = 16 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class EntropyProblem:
    """The function f.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_labeled + n_unlabeled, n_columns)
        Labelled rows, then unlabelled ones.
    targets : array of shape (n_labeled, n_classes)
        One-hot labels, also for two classes.
    weight : array of shape (n_labeled + n_unlabeled,)
        The weights v.
    ridge : array of shape (n_columns,)
        Penalty of each column.
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
    """Return the lowest of the ends of several descents; of one, if f is convex."""
    best = descend(problem, start, tol=tol, max_iter=max_iter)
    if not problem.weight[len(problem.targets) :].any():
        return best
    for factor in START_FACTORS[1:]:
        found = descend(problem, factor * start, tol=tol, max_iter=max_iter)
        if found.value < best.value - LOWER * abs(best.value):
            best = found
    return best


def descend(problem: EntropyProblem, start: Floats, *, tol: float, max_iter: int) -> Descent:
    """Return the point at which L-BFGS ends, never higher than the start but for rounding.

    It stops when no partial derivative is larger than tol, or when f no longer falls. Rounding of f
    hides decreases of the order of the square of the slopes, so slopes below about 1e-8 are left to
    Newton's method, which does not search by values of f.
    """
    found = minimize(
        problem.at,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": tol, "ftol": 0.0, "maxiter": max_iter, "maxfun": 20 * max_iter},
    )
    w, value, gradient = found.x, float(found.fun), found.jac
    if found.nit < max_iter:
        w, value, gradient = _polish(problem, w, value, gradient, tol)
    slope = float(np.abs(gradient).max())
    return Descent(w.reshape(start.shape), value, slope, int(found.nit))


def _polish(
    problem: EntropyProblem, w: Floats, value: float, gradient: Floats, tol: float
) -> tuple[Floats, float, Floats]:
    """Return the point after Newton steps, each of which lowers the slopes and does not raise f.

    Where f is not convex, a step may lead away from the minimum; such a step is not taken.
    """
    for _ in range(POLISHING_STEPS):
        slope = np.abs(gradient).max()
        if slope <= tol:
            break
        step, _ = cg(problem.hessian(w), gradient, maxiter=MAX_PRODUCTS)
        lower, gradient_there = problem.at(w - step)
        if np.abs(gradient_there).max() >= slope or lower > value + ROUNDING * abs(value):
            break
        w, value, gradient = w - step, lower, gradient_there
    return w, value, gradient
