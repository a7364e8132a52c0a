"""What a pass over all rows gives at a dual point, for the solver of many rows (``scale.py``).

A pass at Xi computes psi, its gradient and Hessian, and both bounds on the optimum
(``StreamedColumns.sweep``). It also collects a band of rows: those that are close to the hyperplane
``p = 0``, whose labels can then be solved for in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from primum._typing import Floats
from primum.labellings import HyperplaneLabels, LabelProblem, StreamedColumns, Sweep, centred
from primum.solvers.faces import n_contrasts

FEASIBLE = 0.05  # if a larger fraction of the rows stays undecided, the twin may be feasible
# Rows are close if they would be undecided at sigma / BAND. If too many would be, or if there are
# several classes, the band is narrower.
BAND, NARROWEST_BAND = 4.0, 2.0
# At most this fraction of the rows is in the band (but FEW_ROWS if that is more), and at most as
# many numbers as are worth collecting (``Rows.collectable``), but at least BAND_PER_COLUMN rows per
# dimension.
LARGEST_BAND, FEW_ROWS, BAND_PER_COLUMN = 0.25, 2**12, 8


@dataclass(frozen=True)
class Point:
    """A dual point, and the sweep over all rows that it belongs to.

    The sweep collects the rows that are undecided at ``sigma / band``. ``from_band`` is True if xi
    results from labels solved for in a band: it is then closer to the optimum than the path is.
    """

    xi: Floats
    sigma: float
    band: float
    sweep: Sweep
    from_band: bool = False


# Called with (dual point, labels, the solver's value of the sum of the design rows times the
# labels). Returns that sum, computed from the rows, and the sum of the slacks at the point.
Measure = Callable[[Floats, HyperplaneLabels, Floats], tuple[Floats, float]]


@dataclass(frozen=True)
class AllRows:
    """The problem of all rows, and a sample of them that predicts what a step would do.

    If ``rough`` is True, rows in single precision are multiplied as they are.
    """

    problem: LabelProblem
    columns: StreamedColumns
    sample: LabelProblem
    measure_with: Measure | None = None
    rough: bool = False

    def at(
        self, xi: Floats, sigma: float, band: float, inside: float, from_band: bool = False
    ) -> Point:
        """Return a point with its sweep, in one pass.

        ``inside`` is the expected number of undecided rows: if it is large, the sweep is organised
        differently, and no rows are collected.
        """
        close, n = (sigma / band, self.largest_band), self.columns.shape[1]
        many = min(band * inside, n) > 2 * self.largest_band
        mostly_inside = many and inside > 0.5 * n
        found = self.columns.sweep(
            self.problem.labels, xi, sigma, mostly_inside, None if many else close, self.rough
        )
        return Point(xi, sigma, band, replace(found, Mq=centred(found.Mq)), from_band)

    def after(self, point: Point, step: Floats) -> Point:
        """Return the point after a step at the same sigma, in one pass."""
        return self.at(point.xi + step, point.sigma, point.band, point.sweep.inside)

    def measure(self, xi: Floats, labels: HyperplaneLabels, moment: Floats) -> tuple[Floats, float]:
        """Return the sum of the design rows times their labels, and the sum of their slacks."""
        if self.measure_with is None:
            return self.columns.measure(self.problem.labels, xi, labels)
        return self.measure_with(xi, labels, moment)

    def gap(self, point: Point) -> float:
        """Return the difference between P of the labels of a sweep and D."""
        problem, residual = self.problem, point.sweep.Mq - self.problem.target
        gap = path_gap(point.sweep, problem.gradient(point.xi, residual))
        return gap + problem.prior_gap(residual, problem.multipliers(point.xi))

    def near_zero(self, point: Point) -> bool:
        """Return whether the optimum seems to be 0, so that the twin is feasible.

        Rows stay undecided, and the objective is smaller than its gap: the more rows there are, the
        less it needs to be smaller.
        """
        share = point.sweep.inside / self.columns.shape[1]
        objective = 0.5 * float(np.vdot(point.xi, point.xi))
        return share > FEASIBLE and objective <= share * self.gap(point)

    @property
    def largest_band(self) -> int:
        """The largest number of rows whose labels are solved for in memory."""
        r, n = self.columns.shape
        numbers = self.columns.design.rows.collectable
        at_least = BAND_PER_COLUMN * r * n_contrasts(self.problem.labels)
        return min(max(int(LARGEST_BAND * n), FEW_ROWS), max(numbers // r, at_least))

    def band(self, inside: float) -> float:
        """Return the width of a band, given the expected number of undecided rows."""
        if n_contrasts(self.problem.labels) > 1:  # more rows would cost more than a pass
            return NARROWEST_BAND
        return min(BAND, max(NARROWEST_BAND, 0.9 * self.largest_band / max(inside, 1.0)))

    def stays(self, point: Point, step: Floats) -> bool:
        """Return whether no row of the sample outside the band changes sides after a step."""
        labels, columns = self.sample.labels, self.sample.columns
        p = columns.project(point.xi)
        differs = labels.best(p) != labels.best(p + columns.project(step))
        moved = differs if differs.ndim == 1 else differs.any(axis=1)
        return not bool((moved & ~labels.undecided(p, point.sigma / point.band)).any())


def path_gap(sweep: Sweep, g: Floats) -> float:
    """Return the gap without the part of a prior: ``sum_i w_i slack(p_i, q_i) + 1/2 ||g||^2``."""
    return sweep.slack + 0.5 * float(np.vdot(g, g))
