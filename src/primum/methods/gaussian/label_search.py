"""Minimise a smooth function f of soft labels by L-BFGS-B (SciPy), for any number of classes.

Every row of Q is a point of the simplex. L-BFGS-B supports only bounds, so the labels are functions
of variables v that have only bounds:

    two classes:    q = (1 - v, v),                0 <= v <= 1,     minimise f(q)
    K classes:      q = v / s,  s = sum_k v_k,     v >= 0,          minimise f(q) + c/2 (s - 1)^2

The second has the stationary points of the simplex and no others. q does not change if v is
multiplied by a number, so the slope of f along v is 0, that of the penalty must be 0 too, and s is
1. There the gradient in v_k is ``g_k - g.q``, with g the gradient of f: 0 where q_k is above 0, and
at least 0 elsewhere, which are the conditions of a stationary point of the simplex.

If there are many variables, most of them are 0 at the solution. The search is then over a working
set of the others, which is corrected until no share outside it would grow.

The search stops when the gap is within a tolerance: the largest decrease that the linear function
with the same gradient allows. For a convex function the gap bounds the distance to the minimum.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds

from primum._typing import Floats, Mask
from primum.solvers.lbfgsb import minimise_to_gap

# L-BFGS-B stops early where its line search fails; it is restarted from there at most this often: a
# guard, because each restart makes progress.
MAX_RESTARTS = 20

# With more shares than this, only a working set of them has variables: those above 0, and those
# that would grow. Most shares of many classes are 0, as the first steps show.
MAX_FREE_SHARES, FIRST_STEPS, MAX_WORKING_SETS = 20_000, 40, 100
# The gap over a working set, as a fraction of the tolerance, so that few sets are needed.
INNER_GAP_SHARE = 0.3

# Advice if rounding limits a search.
RAISE = "raise tol or alpha"

Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class LabelOptimum:
    """Labels Q (U, K) at which a search stopped, and the objective there.

    ``gap`` is a first-order bound on how much lower the objective can be.
    """

    Q: Floats
    value: float
    gap: float
    n_iter: int


def minimize_over_labels(
    objective: Objective, start: Floats, tol: float, max_iter: int
) -> LabelOptimum:
    """Return labels at which the gap is within the tolerance, unless max_iter is reached."""
    if start.shape[1] == 2 or start.size <= MAX_FREE_SHARES:
        return _minimize(_LabelVariables(objective, start), start, tol, max_iter)
    Q = start
    free = np.ones(start.shape, dtype=bool)
    n_iter = 0
    for _ in range(MAX_WORKING_SETS):
        left = max_iter - n_iter
        most = min(left, FIRST_STEPS) if np.count_nonzero(free) > MAX_FREE_SHARES else left
        search = _LabelVariables(objective, Q, free)
        optimum = _minimize(search, Q, INNER_GAP_SHARE * tol, most)
        n_iter = n_iter + optimum.n_iter
        Q = optimum.Q
        gap = label_gap(search.gradient, Q)
        if gap <= tol or n_iter >= max_iter:
            break
        free = (Q > 0) | (search.gradient < (search.gradient * Q).sum(axis=1, keepdims=True))
    return LabelOptimum(Q, optimum.value, gap, n_iter)


def _minimize(search: "_LabelVariables", start: Floats, tol: float, max_iter: int) -> LabelOptimum:
    """Return labels at which the gap over free shares is within the tolerance, if possible."""
    v = search.variables(start)
    n_iter = 0
    last = np.inf
    bounds = Bounds(0.0, 1.0 if search.n_classes == 2 else np.inf)
    for _ in range(MAX_RESTARTS):
        result = minimise_to_gap(search, v, bounds, search.gap_at, tol, max_iter - n_iter)
        v = search.variables(search.labels(result.x))
        n_iter = n_iter + int(result.nit)
        gap = search.gap_at(v)
        value = search.value
        if gap <= tol or n_iter >= max_iter or value >= last:
            break
        last = value
    return LabelOptimum(search.labels(v), value, gap, n_iter)


class _LabelVariables:
    """The objective and its gradient in variables; remembers the last evaluation.

    If ``free`` is given, the other shares are 0 and have no variables.
    """

    def __init__(self, objective: Objective, start: Floats, free: Mask | None = None) -> None:
        self.objective = objective
        self.n_classes = start.shape[1]
        self.free = free
        self.v = np.zeros(0)
        self.Q = start
        self.value, self.gradient = objective(start)
        # As steep as f itself.
        self.penalty = float(np.ptp(self.gradient, axis=1).max())

    def variables(self, Q: Floats) -> Floats:
        """Return the variables that represent labels."""
        if self.free is not None:
            return Q[self.free]
        return Q[:, 1].copy() if self.n_classes == 2 else Q.ravel()

    def _shares(self, v: Floats) -> Floats:
        """Return variables as shares (U, K), which need not add up to 1."""
        if self.free is None:
            return v.reshape(-1, self.n_classes)
        shares = np.zeros(self.free.shape)
        shares[self.free] = v
        return shares

    def labels(self, v: Floats) -> Floats:
        """Return the labels of variables: equal (free) shares if all of a row are 0."""
        if self.n_classes == 2:
            return np.column_stack([1.0 - v, v])
        shares = self._shares(v)
        sums = shares.sum(axis=1, keepdims=True)
        if (sums > 0).all():
            return np.asarray(shares / sums)
        equal = np.ones(shares.shape) if self.free is None else self.free.astype(np.float64)
        shares = np.where(sums > 0, shares, equal)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def __call__(self, v: Floats) -> tuple[float, Floats]:
        self.Q = Q = self.labels(v)
        self.value, self.gradient = self.objective(Q)
        self.v = v.copy()
        if self.n_classes == 2:
            return self.value, self.gradient[:, 1] - self.gradient[:, 0]
        mean = (self.gradient * Q).sum(axis=1, keepdims=True)
        sums = self._shares(v).sum(axis=1, keepdims=True)
        slopes = (self.gradient - mean) / np.where(sums > 0, sums, 1.0)
        slopes += self.penalty * (sums - 1.0)
        penalty = 0.5 * self.penalty * float(np.sum((sums - 1.0) ** 2))
        return self.value + penalty, slopes.ravel() if self.free is None else slopes[self.free]

    def gap_at(self, v: Floats) -> float:
        """Return the gap over labels with free shares only, and store the objective."""
        if not np.array_equal(v, self.v):
            self(v)
        gradient = self.gradient
        if self.free is not None:
            gradient = np.where(self.free, gradient, np.inf)
        return label_gap(gradient, self.Q)


def label_gap(gradient: Floats, Q: Floats) -> float:
    """Return the largest decrease of a linear function with this gradient, from labels Q."""
    lowest = gradient.min(axis=1, keepdims=True)
    return float(np.sum(np.where(Q > 0, gradient - lowest, 0.0) * Q))
