"""Minimise a smooth function f of soft labels by L-BFGS-B (SciPy), for any number of classes.

Every row of Q is a point of the simplex. L-BFGS-B knows only bounds, so the labels are functions of
variables v that have nothing but bounds:

    two classes:    q = (1 - v, v),                0 <= v <= 1,     minimise f(q)
    K classes:      q = v / s,  s = sum_k v_k,     v >= 0,          minimise f(q) + c/2 (s - 1)^2

The second has the stationary points of the simplex and no others. q does not change if v is
multiplied by a number, so the slope of f along v is 0, that of the penalty must be 0 too, and s is
1. There the gradient in v_k is ``g_k - g.q``, with g the gradient of f: 0 where q_k is above 0, and
at least 0 elsewhere, which are the conditions of a stationary point of the simplex.

The search stops when the gap is within a tolerance: the largest decrease that the linear function
with the same gradient allows. For a convex function the gap bounds the distance to the minimum.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from primum._typing import Floats

LBFGS_MEMORY = 20
# L-BFGS-B stops early where its line search fails; from there it is restarted this often at most.
RESTARTS = 20

# What to do where rounding limits a search.
RAISE = "raise tol or alpha"

Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class FoundLabels:
    """The labels at which a search stopped.

    Attributes
    ----------
    Q : array (U, K)
        Labels.
    value : float
        Value of the objective.
    gap : float
        First-order bound on how much lower the objective can be.
    n_iter : int
        Number of iterations.
    """

    Q: Floats
    value: float
    gap: float
    n_iter: int


def minimize_over_labels(
    objective: Objective, start: Floats, tol: float, max_iter: int
) -> FoundLabels:
    """Return labels at which the gap is within the tolerance, unless max_iter is reached."""
    search = _LabelVariables(objective, start)
    v, n_iter, last = search.variables(start), 0, np.inf
    for _ in range(RESTARTS):
        result = _lbfgsb(search, v, tol, max_iter - n_iter)
        v, n_iter = search.variables(search.labels(result.x)), n_iter + int(result.nit)
        value, gap = search.value_and_gap(v)
        if gap <= tol or n_iter >= max_iter or value >= last:
            break
        last = value
    return FoundLabels(search.labels(v), value, gap, n_iter)


def _lbfgsb(search: "_LabelVariables", start: Floats, tol: float, max_iter: int) -> OptimizeResult:
    def stop_at_gap(intermediate_result: OptimizeResult) -> None:
        if search.value_and_gap(intermediate_result.x)[1] <= tol:
            raise StopIteration

    return minimize(
        search,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(0.0, 1.0 if search.n_classes == 2 else np.inf),
        callback=stop_at_gap,
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "maxcor": LBFGS_MEMORY,
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )


class _LabelVariables:
    """The objective and its gradient in variables; remembers the last evaluation."""

    def __init__(self, objective: Objective, start: Floats) -> None:
        self.objective, self.n_classes = objective, start.shape[1]
        self.v = np.zeros(0)
        self.value, self.gradient = objective(start)
        # As steep as f itself.
        self.penalty = float(np.ptp(self.gradient, axis=1).max())

    def variables(self, Q: Floats) -> Floats:
        """Return variables that stand for labels."""
        return Q[:, 1].copy() if self.n_classes == 2 else Q.ravel()

    def labels(self, v: Floats) -> Floats:
        """Return the labels of variables; where all are 0, equal shares."""
        if self.n_classes == 2:
            return np.column_stack([1.0 - v, v])
        v = v.reshape(-1, self.n_classes)
        sums = v.sum(axis=1, keepdims=True)
        return np.where(sums > 0, v, 1.0) / np.where(sums > 0, sums, self.n_classes)

    def __call__(self, v: Floats) -> tuple[float, Floats]:
        Q = self.labels(v)
        self.value, self.gradient = self.objective(Q)
        self.v = v.copy()
        if self.n_classes == 2:
            return self.value, self.gradient[:, 1] - self.gradient[:, 0]
        mean = (self.gradient * Q).sum(axis=1, keepdims=True)
        sums = v.reshape(Q.shape).sum(axis=1, keepdims=True)
        slopes = (self.gradient - mean) / np.where(sums > 0, sums, 1.0)
        slopes += self.penalty * (sums - 1.0)
        penalty = 0.5 * self.penalty * float(np.sum((sums - 1.0) ** 2))
        return self.value + penalty, slopes.ravel()

    def value_and_gap(self, v: Floats) -> tuple[float, float]:
        """Return the objective and the gap."""
        if not np.array_equal(v, self.v):
            self(v)
        return self.value, label_gap(self.gradient, self.labels(v))


def label_gap(gradient: Floats, Q: Floats) -> float:
    """Return the largest decrease of a linear function with this gradient, from labels Q."""
    lowest = gradient.min(axis=1, keepdims=True)
    return float(np.sum((gradient - lowest) * Q))
