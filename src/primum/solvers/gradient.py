"""Accelerated projected gradients, for problems with many equations and many labels.

    q <- project(y - M'(M y - T) / l),      y = q + momentum,

where l is the largest eigenvalue of ``G = M'M`` and the momentum is that of Nesterov, restarted
whenever it points uphill (O'Donoghue and Candès, 2015). A step costs two products with M and a
projection, and any number of labels can change their faces in it. Newton's method, whose systems
have one unknown for each free label, changes the faces of only a few labels in a step.

The gap shrinks by a constant factor in about ``sqrt(condition of G)`` steps. With a kernel and its
penalty, G is well-conditioned, and gradients lead to the goal. With wide rows, such as texts, it is
not, but nearly all labels reach their face in some hundred steps: Newton's method can start there.
Single precision is enough for that: with the product G q of the last measured labels q,

    G y = G q + G (y - q),

and the second term becomes as small as the distance that is left. If this method would take too
long, it gives up after a few steps.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats
from primum.labellings.problem import LabelProblem, per_row, total_of, weighted
from primum.labellings.sets import centres_of

# Steps between two measurements of the gap, each of which costs as much as a step, and the maximum
# number of steps, beyond which Newton's method takes less time.
STEPS_PER_GAP, MAX_GRADIENT_STEPS = 25, 1500
# Measurements over which the rate is estimated: single ones vary with the restarts.
RATE_GAPS = 3
# Power iterations for the largest eigenvalue, and the factor by which their result is raised: they
# approach it from below, and steps longer than its inverse diverge.
EIGENVALUE_STEPS, EIGENVALUE_MARGIN = 20, 1.05
# Faces have settled if no more than this fraction of the rows has changed its face since the last
# measurement. If the goal is this few measurements away, going on is faster than Newton's method.
SETTLED_SHARE, MAX_GAPS_LEFT = 0.01, 4


@dataclass(frozen=True)
class GradientResult:
    """The labels that gradients reached, their gap, the number of steps, whether they suffice."""

    labels: Floats
    gap: float
    steps: int
    suffices: bool


def minimise_by_gradients(
    problem: LabelProblem,
    goal: float,
    start: Floats | None = None,
    settled: float = SETTLED_SHARE,
    max_steps: int = MAX_GRADIENT_STEPS,
) -> GradientResult:
    """Return labels with a gap within the goal, or where steps ended because that is too far away.

    In a wide problem, labels whose faces have settled suffice. ``start`` are the labels of a
    similar problem; None: the centres of the label sets.
    """
    labels = problem.labels
    slopes = _Slopes(problem)
    q = y = centres_of(labels, problem.columns.shape[1]) if start is None else start
    t = 1.0
    gaps = [slopes.measure(problem, q)]
    face = labels.open(q)
    step = 0
    for step in range(1, min(max_steps, MAX_GRADIENT_STEPS) + 1):
        ahead = labels.project(y - slopes.at(y) / slopes.steepest)
        if np.vdot(y - ahead, ahead - q) > 0:
            t = 1.0
        t_next = 0.5 * (1 + (1 + 4 * t * t) ** 0.5)
        y = ahead + (t - 1) / t_next * (ahead - q)
        q = ahead
        t = t_next
        if step % STEPS_PER_GAP:
            continue
        gaps.append(slopes.measure(problem, q))
        before = face
        face = labels.open(q)
        n_changed = np.count_nonzero(per_row((before != face).astype(np.intp)))
        has_settled = slopes.is_wide and n_changed <= settled * len(q)
        if gaps[-1] <= goal or (has_settled and _left(gaps[-2:], goal) > MAX_GAPS_LEFT):
            return GradientResult(q, gaps[-1], step, suffices=True)
        if not slopes.is_wide and len(gaps) >= 2 + RATE_GAPS:
            # At the rate of the last measurements, the remaining steps may be too few.
            left = _left(gaps[-1 - RATE_GAPS :], goal)
            if left > MAX_GRADIENT_STEPS / STEPS_PER_GAP - len(gaps):
                break
    return GradientResult(q, gaps[-1], step, suffices=False)


class _Slopes:
    """Gradients of the problem, and the largest eigenvalue of G.

    ``is_wide`` is whether G is formed, because it has at most twice as many numbers as M.
    """

    def __init__(self, problem: LabelProblem) -> None:
        self.columns = problem.columns
        r, n = self.columns.shape
        self.is_wide = n <= 2 * r
        if self.is_wide:
            self.G = self.columns.products(np.arange(n))
            self.rough = self.G.astype(np.float32)
        self.of_target = self.columns.project(problem.target)
        self.q = problem.target[:0]
        self.slope = self.of_target
        v = np.random.default_rng(0).normal(size=(n, 1))
        for _ in range(EIGENVALUE_STEPS):
            v = self._product(v / np.linalg.norm(v))
        self.steepest = EIGENVALUE_MARGIN * float(np.linalg.norm(v))

    def measure(self, problem: LabelProblem, q: Floats) -> float:
        """Return the gap of labels, and compute the next gradients relative to these labels."""
        self.q = q
        self.slope = self._product(q) - self.of_target
        return total_of(problem.labels.slack(self.slope, q), self.columns.weight)

    def at(self, y: Floats) -> Floats:
        """Return ``M'(M y - T)``."""
        if not self.is_wide:
            return self._product(y) - self.of_target
        moved = weighted(y - self.q, self.columns.weight)
        return self.slope + self.rough @ moved.astype(np.float32)

    def _product(self, q: Floats) -> Floats:
        if not self.is_wide:
            return self.columns.project(self.columns.accumulate(q))
        return np.asarray(self.G @ weighted(q, self.columns.weight))


def _left(gaps: list[float], goal: float) -> float:
    """Return how many more measurements a goal takes, at the rate of the last ones."""
    fall = np.log(gaps[0] / gaps[-1]) / (len(gaps) - 1)
    return float(np.log(gaps[-1] / goal) / fall) if fall > 0 else np.inf
