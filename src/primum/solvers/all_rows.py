"""Passes over all rows: what a solver for many rows does in them, and its best labelling so far.

A pass at a dual point Xi and a sigma (``SampledProblem.at``) gives psi, its gradient and Hessian
and both bounds on the optimum, and collects the rows close to the hyperplane. Labels that may be
the answer are measured in a pass of their own (``measured``).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from primum._typing import Floats
from primum.labellings.labelling import HyperplaneLabels
from primum.labellings.problem import LabelProblem, centred, half_square
from primum.labellings.streamed import StreamedColumns, SweptPoint
from primum.solvers.open_labels import n_contrasts

# If a larger fraction of the rows stays undecided, the twin may be feasible: otherwise only about
# as many rows as there are dimensions stay so.
MIN_FEASIBLE_SHARE = 0.05
# Rows are close if they would be undecided at sigma / MAX_BAND: those are the ones that a step of
# sigma (``newton.SIGMA_GROWTH``) may move. If too many would be, or if there are several classes,
# the band is narrower.
MAX_BAND, MIN_BAND = 4.0, 2.0
# The band has at most this fraction of the rows (or MIN_BAND_ROWS, if that is more), so that
# solving for it is far cheaper than a pass. It also has at most as many numbers as are worth
# collecting (``Rows.collectable``), or MIN_BAND_PER_DIMENSION rows per dimension, if that is more.
MAX_BAND_SHARE, MIN_BAND_ROWS, MIN_BAND_PER_DIMENSION = 0.25, 2**12, 8


# Called with (dual point, labels, the solver's value of the sum of the design rows times the
# labels). Returns that sum, computed from the rows, and the sum of the slacks at the point.
MeasureLabels = Callable[[Floats, HyperplaneLabels, Floats], tuple[Floats, float]]


@dataclass(frozen=True)
class SampledProblem:
    """The problem of all rows, and a sample of them that predicts the effect of a step.

    If ``rough`` is True, rows in single precision are multiplied as they are.
    """

    problem: LabelProblem
    columns: StreamedColumns
    sample: LabelProblem
    measure_with: MeasureLabels | None = None
    rough: bool = False

    def at(
        self, xi: Floats, sigma: float, width: float, inside: float, from_band: bool = False
    ) -> SweptPoint:
        """Return a point swept in one pass.

        ``inside`` is the expected number of undecided rows: if it is large, the sweep is organised
        differently, and no rows are collected.
        """
        close = (sigma / width, self.largest_band)
        n = self.columns.shape[1]
        many = min(width * inside, n) > 2 * self.largest_band
        mostly_inside = many and inside > 0.5 * n
        point = self.columns.sweep(
            self.problem.labels, xi, sigma, mostly_inside, None if many else close, self.rough
        )
        return replace(point, Mq=centred(point.Mq), width=width, from_band=from_band)

    def after(self, point: SweptPoint, step: Floats) -> SweptPoint:
        """Return the point after a step at the same sigma, in one pass."""
        return self.at(point.xi + step, point.sigma, point.width, point.inside)

    def gap(self, point: SweptPoint) -> float:
        """Return the difference between P of the labels of a sweep and D."""
        problem = self.problem
        residual = point.Mq - self.problem.target
        gap = path_gap(point, problem.gradient(point.xi, residual))
        return gap + problem.prior_gap(residual, problem.multipliers(point.xi))

    @property
    def largest_band(self) -> int:
        """The largest number of rows whose labels are solved for in memory."""
        r, n = self.columns.shape
        numbers = self.columns.design.rows.collectable
        at_least = MIN_BAND_PER_DIMENSION * r * n_contrasts(self.problem.labels)
        return min(max(int(MAX_BAND_SHARE * n), MIN_BAND_ROWS), max(numbers // r, at_least))

    def width(self, inside: float) -> float:
        """Return the width of a band, given the expected number of undecided rows."""
        if n_contrasts(self.problem.labels) > 1:  # more rows would cost more than a pass
            return MIN_BAND
        # A tenth is left free, because the number of rows in the band is predicted.
        return min(MAX_BAND, max(MIN_BAND, 0.9 * self.largest_band / max(inside, 1.0)))


def path_gap(point: SweptPoint, g: Floats) -> float:
    """Return the gap without that of a prior: ``sum_i w_i slack(p_i, q_i) + 1/2 ||g||^2``."""
    return point.slack + half_square(g)


@dataclass(frozen=True)
class BestSoFar:
    """The best labelling so far, its proven gap and the dual point that proves it.

    ``lost`` is True if Newton's steps did not converge from their start. ``nu`` are the multipliers
    of a prior, and ``feasible`` is whether its bounds are met. ``moment`` is the sum of the design
    rows times their labels, if known.
    """

    gap: float
    xi: Floats
    labels: HyperplaneLabels | None = None
    lost: bool = False
    nu: Floats = field(default_factory=lambda: np.zeros(0))
    feasible: bool = True
    moment: Floats | None = None

    @property
    def order(self) -> tuple[bool, float]:
        """A sort key, which is smaller for a better labelling."""
        return not self.feasible, self.gap

    def suffices(self, goal: float) -> bool:
        """Return whether the gap is within the goal, and the bounds of a prior are met."""
        return self.feasible and self.gap <= goal


def labels_on_path(full: SampledProblem, point: SweptPoint, goal: float) -> BestSoFar:
    """Return the labels of a point of the path, with their gap."""
    problem, xi = full.problem, point.xi
    best = BestSoFar(
        full.gap(point),
        xi,
        HyperplaneLabels(problem.labels, full.columns.B.T @ xi, point.sigma),
        nu=problem.multipliers(xi),
        feasible=problem.meets_prior(point.Mq - problem.target),
        moment=point.moment,
    )
    if not full.rough:
        return best
    at_goal = best.gap <= goal and not point.can_be_solved
    return measured(full, best) if at_goal else replace(best, gap=np.inf)


def measured(full: SampledProblem, best: BestSoFar) -> BestSoFar:
    """Return a labelling with its sum and its gap measured in double precision: one pass."""
    problem, nu = full.problem, best.nu
    assert best.labels is not None
    assert best.moment is not None
    if full.measure_with is None:
        moment, slack = full.columns.measure(problem.labels, best.xi, best.labels)
    else:
        moment, slack = full.measure_with(best.xi, best.labels, best.moment)
    residual = centred(full.columns.B @ moment - problem.target)
    off = problem.dual_point(residual, nu) - best.xi
    gap = slack + half_square(off) + problem.prior_gap(residual, nu)
    return replace(best, gap=gap, moment=moment)
