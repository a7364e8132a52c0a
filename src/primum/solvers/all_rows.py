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
from primum.labellings.sets import best_differs, undecided_rows
from primum.labellings.streamed import RowSelection, StreamedColumns, Sweep
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


@dataclass(frozen=True)
class SweptPoint:
    """A dual point, and the sweep over all rows at this point.

    The sweep collects the rows that are undecided at ``sigma / band``. ``from_band`` is True if xi
    results from labels solved for in a band, and so is closer to the optimum than the path is.
    """

    xi: Floats
    sigma: float
    band: float
    sweep: Sweep
    from_band: bool = False


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
        self, xi: Floats, sigma: float, band: float, inside: float, from_band: bool = False
    ) -> SweptPoint:
        """Return a point with its sweep, in one pass.

        ``inside`` is the expected number of undecided rows: if it is large, the sweep is organised
        differently, and no rows are collected.
        """
        close, n = (sigma / band, self.largest_band), self.columns.shape[1]
        many = min(band * inside, n) > 2 * self.largest_band
        mostly_inside = many and inside > 0.5 * n
        sweep = self.columns.sweep(
            self.problem.labels, xi, sigma, mostly_inside, None if many else close, self.rough
        )
        return SweptPoint(xi, sigma, band, replace(sweep, Mq=centred(sweep.Mq)), from_band)

    def look(self, xi: Floats, sigma: float, close: RowSelection) -> SweptPoint:
        """Return a point with its sweep, which collects rows, in one pass."""
        sweep = self.columns.look(self.problem.labels, xi, sigma, close)
        return SweptPoint(xi, sigma, 1.0, replace(sweep, Mq=centred(sweep.Mq)))

    def after(self, point: SweptPoint, step: Floats) -> SweptPoint:
        """Return the point after a step at the same sigma, in one pass."""
        return self.at(point.xi + step, point.sigma, point.band, point.sweep.inside)

    def measure(self, xi: Floats, labels: HyperplaneLabels, moment: Floats) -> tuple[Floats, float]:
        """Return the sum of the design rows times their labels, and the sum of their slacks."""
        if self.measure_with is None:
            return self.columns.measure(self.problem.labels, xi, labels)
        return self.measure_with(xi, labels, moment)

    def gap(self, point: SweptPoint) -> float:
        """Return the difference between P of the labels of a sweep and D."""
        problem, residual = self.problem, point.sweep.Mq - self.problem.target
        gap = path_gap(point.sweep, problem.gradient(point.xi, residual))
        return gap + problem.prior_gap(residual, problem.multipliers(point.xi))

    def near_zero(self, point: SweptPoint) -> bool:
        """Return whether the optimum seems to be 0, so that the twin is feasible.

        Many rows stay undecided, and the objective is at most as large as its gap times the share
        of these rows.
        """
        share = point.sweep.inside / self.columns.shape[1]
        objective = half_square(point.xi)
        return share > MIN_FEASIBLE_SHARE and objective <= share * self.gap(point)

    @property
    def largest_band(self) -> int:
        """The largest number of rows whose labels are solved for in memory."""
        r, n = self.columns.shape
        numbers = self.columns.design.rows.collectable
        at_least = MIN_BAND_PER_DIMENSION * r * n_contrasts(self.problem.labels)
        return min(max(int(MAX_BAND_SHARE * n), MIN_BAND_ROWS), max(numbers // r, at_least))

    def band(self, inside: float) -> float:
        """Return the width of a band, given the expected number of undecided rows."""
        if n_contrasts(self.problem.labels) > 1:  # more rows would cost more than a pass
            return MIN_BAND
        # A tenth is left free, because the number of rows in the band is predicted.
        return min(MAX_BAND, max(MIN_BAND, 0.9 * self.largest_band / max(inside, 1.0)))

    def stays(self, point: SweptPoint, step: Floats) -> bool:
        """Return whether no row of the sample outside the band changes sides after a step."""
        labels, columns = self.sample.labels, self.sample.columns
        p = columns.project(point.xi)
        moved = best_differs(labels, p, p + columns.project(step))
        return not bool((moved & ~undecided_rows(labels, p, point.sigma / point.band)).any())


def path_gap(sweep: Sweep, g: Floats) -> float:
    """Return the gap without that of a prior: ``sum_i w_i slack(p_i, q_i) + 1/2 ||g||^2``."""
    return sweep.slack + half_square(g)


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
    problem, xi, sweep = full.problem, point.xi, point.sweep
    best = BestSoFar(
        full.gap(point),
        xi,
        HyperplaneLabels(problem.labels, full.columns.B.T @ xi, point.sigma),
        nu=problem.multipliers(xi),
        feasible=problem.meets_prior(sweep.Mq - problem.target),
        moment=sweep.moment,
    )
    if not full.rough:
        return best
    at_goal = best.gap <= goal and not sweep.can_be_solved
    return measured(full, best) if at_goal else replace(best, gap=np.inf)


def measured(full: SampledProblem, best: BestSoFar) -> BestSoFar:
    """Return a labelling with its sum and its gap measured in double precision: one pass."""
    problem, nu = full.problem, best.nu
    assert best.labels is not None
    assert best.moment is not None
    moment, slack = full.measure(best.xi, best.labels, best.moment)
    residual = centred(full.columns.B @ moment - problem.target)
    off = problem.dual_point(residual, nu) - best.xi
    gap = slack + half_square(off) + problem.prior_gap(residual, nu)
    return replace(best, gap=gap, moment=moment)
