"""Accelerated projected gradients, for problems that are large but well conditioned.

    q <- project(y - M'(M y - T) / l),      y = q + momentum,

where l is the largest eigenvalue of ``G = M'M`` and the momentum is that of Nesterov, restarted
whenever it points uphill (O'Donoghue and Candès, 2015). The gap shrinks by a constant factor in
about ``sqrt(condition of G)`` steps, and a step costs two products with M and a projection. With a
kernel and its penalty G is well conditioned, and with many classes Newton's method, whose systems
have as many unknowns as there are free labels, changes the faces of only a few of them in a step.
Where this method would take too long, it says so after a few steps.
"""

from collections.abc import Callable

import numpy as np

from primum._typing import Floats
from primum.labellings.problem import LabelProblem, total_of, weighted
from primum.labellings.sets import centres_of

# Problems with at least this many labels, times classes, and equations.
WORTH_IT = 2000
# Steps between two measurements of the gap, and most steps.
STEPS, MOST_STEPS = 25, 1500
PATIENCE = 3  # measurements over which the rate is estimated
POWER_STEPS, SAFETY = 20, 1.05  # for the largest eigenvalue


def is_large(problem: LabelProblem) -> bool:
    """Return whether there are many equations and many labels, of several classes."""
    r, n = problem.columns.shape
    K = len(problem.target.T) if problem.labels.shape else 1
    return K > 1 and problem.prior is None and min(r, n) * K >= WORTH_IT


def descend(
    problem: LabelProblem, goal: float, start: Floats | None = None
) -> tuple[Floats, int] | None:
    """Return (labels with a gap within the goal, steps), or None if the goal is too far away.

    ``start`` are the labels of a similar problem; None: the centres of the label sets.
    """
    labels, weight = problem.labels, problem.columns.weight
    multiply, C, curvature = _curvature(problem)
    q = y = centres_of(labels, problem.n_rows) if start is None else start
    t, gaps = 1.0, [np.inf]
    for step in range(1, MOST_STEPS + 1):
        ahead = labels.project(y - (multiply(y) - C) / curvature)
        if np.vdot(y - ahead, ahead - q) > 0:
            t = 1.0
        t_next = 0.5 * (1 + (1 + 4 * t * t) ** 0.5)
        y, q, t = ahead + (t - 1) / t_next * (ahead - q), ahead, t_next
        if step % STEPS:
            continue
        gaps.append(total_of(labels.slack(multiply(q) - C, q), weight))
        if gaps[-1] <= goal:
            return q, step
        if _is_too_slow(gaps, goal):
            return None
    return None


def _curvature(problem: LabelProblem) -> tuple[Callable[[Floats], Floats], Floats, float]:
    """Return (the product with G, M'T, the largest eigenvalue of G)."""
    columns, (r, n) = problem.columns, problem.columns.shape
    weight = columns.weight
    C = columns.project(problem.target)
    if n <= 2 * r:
        G = columns.products(np.arange(n))

        def multiply(q: Floats) -> Floats:
            return G @ weighted(q, weight)
    else:

        def multiply(q: Floats) -> Floats:
            return columns.project(columns.accumulate(q))

    v, size = np.random.default_rng(0).normal(size=(n, 1)), 0.0
    for _ in range(POWER_STEPS):
        v = multiply(v / np.linalg.norm(v))
        size = float(np.linalg.norm(v))
    return multiply, C, SAFETY * size


def _is_too_slow(gaps: list[float], goal: float) -> bool:
    """Return whether the last measurements promise no end in the steps that are left."""
    if len(gaps) < 2 + PATIENCE:
        return False
    fall = np.log(gaps[-1 - PATIENCE] / gaps[-1]) / PATIENCE
    return fall * (MOST_STEPS / STEPS - len(gaps)) < np.log(gaps[-1] / goal)
