"""Finite Newton method for linear SVMs with squared hinge loss (Keerthi & DeCoste 2005).

    minimise over w    1/2 w'Rw + 1/2 sum_k c_k max(0, 1 - y_k o_k)^2,        o = Xw,

R is diagonal, 0 for an unpenalised intercept. The sum has one term for every row, or two (y = -1
and 1) for rows that count on both sides; optionally there is one constraint  a'o = t.  Only terms
inside the margin, I = {k: y_k o_k < 1}, have a slope. With h_i and r_i the sums of c_k and c_k y_k
over the terms of row i in I, the quadratic through them has its minimum at the Newton point

    (R + X'HX) w = X'r,        H = diag(h).

Move there, or towards it by an exact line search if the objective does not decrease enough over two
steps (Grippo, Lampariello & Lucidi 1986). If a full step leaves I unchanged, w is the minimum, so
the method ends after finitely many steps. ``systems`` solves the system.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from primum._typing import Floats, Index, Mask
from primum.machines.systems import NewtonSystem

# A full Newton step is accepted if the objective decreases by this fraction of the slope (1/2 for a
# quadratic) from the current or the previous point: a step up is often followed by two down.
SUFFICIENT_DECREASE = 0.01


@dataclass(frozen=True)
class Costs:
    """Half squared hinges ``cost / 2 * max(0, 1 - sign * o)^2``, one or two for every row.

    Attributes
    ----------
    sign, cost : arrays of shape (n_terms,)
        The side, -1 or 1, and the cost of each term.
    twice : int
        How many of the last rows have two terms. There is one term for every row, in order, and
        then a second one for each of these.
    """

    sign: Floats
    cost: Floats
    twice: int = 0

    def slack(self, o: Floats) -> Floats:
        """Return ``1 - sign * o`` for every term."""
        return 1.0 - self.sign * (np.concatenate([o, o[-self.twice :]]) if self.twice else o)

    def per_row(self, values: Floats) -> Floats:
        """Return the sum of values over the terms of each row."""
        if self.twice == 0:
            return values
        total = values[: -self.twice].copy()
        total[-self.twice :] += values[-self.twice :]
        return total


@dataclass(frozen=True)
class Balance:
    """The constraint ``weight'o = target``."""

    weight: Floats
    target: float


@dataclass(frozen=True)
class Machine:
    """A point w with its outputs o = Xw and its objective."""

    w: Floats
    o: Floats
    objective: float
    n_iter: int = 0
    converged: bool = True


def two_sided_costs(y: Floats, cost: Floats, plus: Floats, minus: Floats) -> Costs:
    """Return the costs of rows with labels y, then of rows that count on both sides."""
    m = len(plus)
    return Costs(
        np.concatenate([y, np.ones(m), -np.ones(m)]), np.concatenate([cost, plus, minus]), m
    )


def machine_at(system: NewtonSystem, w: Floats) -> Machine:
    """Return a point with its outputs; its objective is not computed yet."""
    return Machine(w, system.X @ w, np.inf)


class _Point:
    """A point, each term's slack and pull there, and the objective."""

    __slots__ = ("inside", "o", "pull", "slack", "value", "w")

    def __init__(self, ridge: Floats, costs: Costs, w: Floats, o: Floats) -> None:
        self.w, self.o = w, o
        self.slack = costs.slack(o)
        self.inside: Mask = self.slack > 0
        self.pull = costs.cost * self.inside * self.slack
        self.value = 0.5 * float(ridge @ (w * w) + self.pull @ self.slack)


def minimise(
    system: NewtonSystem,
    costs: Costs,
    start: Machine,
    *,
    tol: float,
    max_iter: int,
    balance: Balance | None = None,
) -> Machine:
    """Return the minimum, from any start.

    It stops if a Newton step moves no row into or out of the margin, or if its predicted decrease
    is below ``tol`` times the objective.
    """
    ridge, feasible, done, n_iter = system.ridge, balance is None, False, 0
    at = _Point(ridge, costs, start.w, start.o)
    before = at.value
    while not done and n_iter < max_iter:
        n_iter += 1
        newton = _newton_point(system, costs, at, math.sqrt(tol * at.value), balance)
        crosses = (newton.inside != at.inside).nonzero()[0]
        if not feasible or len(crosses) == 0:
            done = feasible and (system.exact or at.value - newton.value <= tol * at.value)
            at, feasible = newton, True
        else:
            slope = float(ridge @ (at.w * (newton.w - at.w)) + at.pull @ (newton.slack - at.slack))
            done = -0.5 * slope <= tol * at.value
            if newton.value > max(before, at.value) + SUFFICIENT_DECREASE * slope:
                newton = _lowest_point(ridge, costs, at, newton, slope, crosses)
            before, at = at.value, newton
    return Machine(at.w, at.o, at.value, n_iter, converged=done)


def warn_if_short(machine: Machine, name: str, max_iter: int, stacklevel: int = 4) -> None:
    """Warn if a fit stopped before its minimum."""
    if not machine.converged:
        warnings.warn(
            f"{name} stopped after max_iter={max_iter} Newton steps before reaching tol; raise "
            "max_iter or tol, or scale the features.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def _newton_point(
    system: NewtonSystem, costs: Costs, at: _Point, accuracy: float, balance: Balance | None
) -> _Point:
    active = costs.cost * at.inside
    h, rho = costs.per_row(active), costs.per_row(costs.sign * active)
    w, o = system.solve(h, rho, at.w, at.o, accuracy)
    if balance is not None:
        # The multiplier moves the minimum along (R + X'HX)^-1 X'a until the constraint holds.
        still = np.zeros_like(w), np.zeros_like(o)
        along, o_along = system.solve(h, balance.weight, *still, accuracy)
        far = (balance.target - balance.weight @ o) / (balance.weight @ o_along)
        w, o = w + far * along, o + far * o_along
    return _Point(system.ridge, costs, w, o)


def _lowest_point(
    ridge: Floats, costs: Costs, at: _Point, newton: _Point, slope: float, crosses: Index
) -> _Point:
    """Return the lowest point on the line from a point through its Newton point.

    The slope along the line is continuous and piecewise linear, with a kink where the slack of a
    term changes sign. Up to the Newton point these are the terms ``crosses``; without them, slope
    and curvature would cancel there.
    """
    change = newton.slack - at.slack
    bends, jumps = bends_of(crosses, costs.cost, at.slack, change)
    if jumps @ (1.0 - bends) < 0.0:  # still decreasing there: further terms cross beyond
        crosses = (((change > 0) != at.inside) & (change != 0)).nonzero()[0]
        bends, jumps = bends_of(crosses, costs.cost, at.slack, change)
    step = first_flat(slope, -slope, bends, jumps)
    w, o = at.w + step * (newton.w - at.w), at.o + step * (newton.o - at.o)
    return _Point(ridge, costs, w, o)


def bends_of(crosses: Index, cost: Floats, slack: Floats, change: Floats) -> tuple[Floats, Floats]:
    """Return where terms cross, and by how much the curvature jumps there."""
    start, speed = slack[crosses], change[crosses]
    # A term that enters the margin, speed > 0, adds curvature; one that leaves removes it.
    return -start / speed, cost[crosses] * speed * np.abs(speed)


def first_flat(slope: float, curvature: float, bends: Floats, jumps: Floats) -> float:
    """Return where an increasing piecewise linear slope reaches zero."""
    if slope >= 0.0:
        return 0.0
    if len(bends) == 0:
        return -slope / curvature if curvature > 0 else 0.0
    order = bends.argsort()
    at, curvatures, slopes = np.zeros((3, len(bends) + 1))
    at[1:], curvatures[1:] = bends[order], jumps[order]
    curvatures[0] = curvature
    curvatures.cumsum(out=curvatures)
    slopes[0], slopes[1:] = slope, curvatures[:-1] * (at[1:] - at[:-1])
    slopes.cumsum(out=slopes)
    last = int(slopes.searchsorted(0.0)) - 1
    bend = curvatures[last]
    return float(at[last] - slopes[last] / bend if bend > 0 else at[last])
