"""A solver for many rows that needs few passes.

The cost is in the passes over the rows, so every pass does as much as possible, and most of the
progress is made on few rows.

1. Follow Newton's path (``newton.py``) on a random sample of the rows (``sample.py``) until a few
   percent of them are undecided. In memory this costs no pass, elsewhere one.
2. Minimise the same dual function psi on all rows, from there. One fused pass per Newton step gives
   psi, its gradient and Hessian, and both bounds on the optimum, and collects the rows close to the
   hyperplane ``p = 0``; a further pass is needed only if a full step is too long.
3. As soon as the sample shows that the next step moves no other row across the hyperplane, fix all
   others on their sides and solve for the labels of the close rows exactly, in memory.
4. One more pass measures the gap of these labels over all rows; the caller may measure more in it
   (``MeasureLabels``). If a row was fixed on the wrong side, the gap shows it: collect the rows
   close to the new hyperplane and try again. If that does not halve the gap, continue along the
   path on all rows, which leaves fewer undecided, with a wider band. If Newton's steps do not
   converge from the point of the sample, the path of all rows is followed from its start. The best
   of all points is kept, so a failed try only costs passes. If everything fails and the rows are in
   memory, ``newton.py`` solves the problem in many passes.

Rows in single precision on a device are multiplied as they are in steps 2 and 3, which is several
times as fast. What is found there is measured in double precision; if it does not suffice, the
search continues in double precision.

Nothing is stored per row, so the rows need not fit in memory: the solution is a hyperplane and the
labels of a band of rows (``HyperplaneLabels``).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from primum._typing import Floats
from primum.labellings.labelling import HyperplaneLabels
from primum.labellings.problem import FormedColumns, LabelProblem, Solution, centred, half_square
from primum.labellings.sets import directions_of
from primum.labellings.streamed import StreamedColumns, Sweep
from primum.solvers.faces import flat, n_contrasts, solve_hessian, unflat
from primum.solvers.newton import GAP_GOAL, GROWTH, Stage, Trial, solve_newton
from primum.solvers.sample import find_copies, merged, sample_columns, sample_stage

# If a larger fraction of the rows stays undecided, the twin may be feasible.
UNDECIDED_IF_FEASIBLE = 0.05
# Rows are close if they would be undecided at sigma / BAND. If too many would be, or if there are
# several classes, the band is narrower.
BAND, NARROWEST_BAND = 4.0, 2.0
# At most this fraction of the rows is in the band (but FEW_ROWS if that is more), and at most as
# many numbers as are worth collecting (``Rows.collectable``), but at least BAND_PER_COLUMN rows per
# dimension.
LARGEST_BAND, FEW_ROWS, BAND_PER_COLUMN = 0.25, 2**12, 8
STEPS_PER_SIGMA = 12  # Newton steps, a pass each
LONGEST_STRIDE = 1e3  # largest factor of sigma near an optimum of 0
# Rounding of sums over many rows in double and in single precision, as a fraction.
SUM_ROUNDING, SINGLE_SUM_ROUNDING = 1e-13, 1e-5
STAGES = 25  # values of sigma, at most
MAX_FAILED_STAGES = 2  # without convergence; rows in memory are then left to newton.py
# Steps that one pass tries if a full one is too long.
LINE_SEARCH = 2.0 ** -np.arange(1.0, 13.0)


@dataclass(frozen=True)
class SweptPoint:
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
MeasureLabels = Callable[[Floats, HyperplaneLabels, Floats], tuple[Floats, float]]


@dataclass(frozen=True)
class AllRows:
    """The problem of all rows, and a sample of them that predicts what a step would do.

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

        Rows stay undecided, and the objective is smaller than its gap: the more rows there are, the
        less it needs to be smaller.
        """
        share = point.sweep.inside / self.columns.shape[1]
        objective = half_square(point.xi)
        return share > UNDECIDED_IF_FEASIBLE and objective <= share * self.gap(point)

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

    def stays(self, point: SweptPoint, step: Floats) -> bool:
        """Return whether no row of the sample outside the band changes sides after a step."""
        labels, columns = self.sample.labels, self.sample.columns
        p = columns.project(point.xi)
        differs = labels.best(p) != labels.best(p + columns.project(step))
        moved = differs if differs.ndim == 1 else differs.any(axis=1)
        return not bool((moved & ~labels.undecided(p, point.sigma / point.band)).any())


def path_gap(sweep: Sweep, g: Floats) -> float:
    """Return the gap without the part of a prior: ``sum_i w_i slack(p_i, q_i) + 1/2 ||g||^2``."""
    return sweep.slack + half_square(g)


@dataclass(frozen=True)
class _Best:
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
        """What is smaller for a better labelling."""
        return not self.feasible, self.gap


def solve_scale(
    problem: LabelProblem, tol: float, max_iter: int, measure: MeasureLabels | None = None
) -> Solution:
    """Return an optimal labelling, in a few passes over the rows.

    ``measure`` is called for every labelling that may be the answer; None: ``columns.measure``.
    """
    columns = problem.columns.streamed
    if columns is None:
        return solve_newton(problem, tol, max_iter)
    drawn, index = sample_columns(columns)
    if (copies := find_copies(problem.labels, columns, drawn)) is not None:
        few, labels_of_all = copies
        solution = solve_newton(replace(problem, columns=few), tol, max_iter)
        return replace(solution, labels=labels_of_all(solution.labels))
    if problem.labels.uniform:
        drawn = merged(drawn)  # a row with many copies may stay undecided; it counts as one row
    sample = replace(problem, columns=drawn, labels=problem.labels.take(index))
    start = sample_stage(sample, tol, max_iter)
    rough = columns.design.rows.single and problem.prior is None and problem.labels.uniform
    rows, goal = AllRows(problem, columns, sample, measure, rough), problem.gap_within(tol)
    best, iterations = _follow_all_rows(rows, start, tol, max_iter)
    if best.gap > goal and rough:
        rows, start = replace(rows, rough=False), replace(start, iterations=iterations)
        best, iterations = _follow_all_rows(rows, start, tol, max_iter)
    if best.gap > goal and best.lost:
        start = replace(_uncommitted(problem, columns, drawn), iterations=iterations)
        best, iterations = _follow_all_rows(rows, start, tol, max_iter)
    missed = best.gap > goal or not best.feasible
    if missed and iterations < max_iter and columns.design.rows.in_memory:
        return _better_of(
            problem, best, iterations, solve_newton(problem, tol, max_iter - iterations)
        )
    return _solution(best, iterations)


def _solution(best: _Best, iterations: int) -> Solution:
    return Solution(best.labels, iterations, dual=best.xi, multipliers=best.nu, moment=best.moment)


def _better_of(problem: LabelProblem, best: _Best, iterations: int, other: Solution) -> Solution:
    """Return the better of the best labelling so far and that of another solver."""
    steps, nu = iterations + other.iterations, other.multipliers
    residual = problem.residual(other.labels)
    gap = problem.slack(other.labels, problem.dual_point(residual, nu))
    gap += problem.prior_gap(residual, nu)
    if (not problem.meets_prior(residual), gap) < best.order:
        return replace(other, iterations=steps)
    return _solution(best, steps)


def _follow_all_rows(rows: AllRows, start: Stage, tol: float, max_iter: int) -> tuple[_Best, int]:
    """Return (the best labelling found along the path of all rows, iterations)."""
    goal, iterations = rows.problem.gap_within(tol), start.iterations
    best, before, wider, failed = _Best(np.inf, start.xi, feasible=False), None, 1.0, 0
    inside = start.undecided / rows.sample.columns.shape[1] * rows.columns.shape[1]
    point = rows.at(start.xi, start.sigma, rows.band(inside), inside)
    if point.sweep.overflows:  # most rows may lie just outside the undecided ones
        point = replace(point, band=NARROWEST_BAND)
    for stage in range(STAGES):
        steps = 0
        if not point.from_band:
            # Once the goal is reached, more precise labels are worth a few more steps.
            enough = GAP_GOAL * goal if best.gap <= goal and not rows.rough else goal
            # Once a band was tried in vain, every stage ends on the path.
            point, steps = _minimise_psi(rows, point, enough, early=wider == 1.0)
        iterations += steps
        failed += steps == STEPS_PER_SIGMA
        if stage == 0 and failed:
            return _Best(np.inf, point.xi, lost=True), iterations
        gap_before, on_path = best.gap, _on_path(rows, point, goal)
        in_band = _in_band(rows, point, tol)
        best = min((best, on_path, in_band), key=lambda labelling: labelling.order)
        # In memory, newton.py is the better way to continue.
        hopeless = failed == MAX_FAILED_STAGES and rows.columns.design.rows.in_memory
        ended = hopeless or iterations >= max_iter or point.sweep.inside == 0
        if ended or _suffices(best, gap_before, goal, rows.rough):
            break
        improved = best is in_band and best.gap <= 0.5 * gap_before
        if point.sweep.can_be_solved and not improved:
            wider *= 2.0
        insufficient = rows.rough and np.isfinite(best.gap)  # measured in double precision
        xi, sigma, inside = point.xi, point.sigma, float(point.sweep.inside)
        if improved or insufficient:
            xi = in_band.xi if improved else xi
            rows = replace(rows, rough=rows.rough and not insufficient)
        elif point.from_band:  # in vain: return to the path, from this sweep
            point = replace(point, band=wider * rows.band(inside), from_band=False)
            continue
        else:
            needed = best.gap / (GAP_GOAL * goal) if goal > 0 else np.inf
            before, (xi, sigma, inside) = (sigma, xi), _ahead(rows, point, before, steps, needed)
        point = rows.at(xi, sigma, wider * rows.band(inside), inside, from_band=improved)
    return best, iterations


def _suffices(best: _Best, gap_before: float, goal: float, rough: bool) -> bool:
    """Return whether a labelling is optimal up to the goal, and more stages are not worth it."""
    # In single precision, no more than the goal is aimed at.
    converged = best.gap <= goal and (rough or best.gap > 0.5 * gap_before)
    return best.feasible and (best.gap <= GAP_GOAL * goal or converged)


def _ahead(
    rows: AllRows, point: SweptPoint, before: tuple[float, Floats] | None, steps: int, needed: float
) -> tuple[Floats, float, float]:
    """Return (xi, sigma, expected number of undecided rows) of the next point of the path.

    ``before`` are sigma and xi of the point before this one, and ``needed`` is the factor by which
    the gap is too large.
    """
    sigma, inside = point.sigma * _stride(rows, point, steps), float(point.sweep.inside)
    if rows.near_zero(point):
        # Xi and the gap are proportional to 1 / sigma: go to where the gap is small enough.
        sigma = max(sigma, point.sigma * min(4.0 * needed, LONGEST_STRIDE))
        return (point.sigma / sigma) * point.xi, sigma, inside
    return _extrapolated(point, before, sigma), sigma, inside * (point.sigma / sigma)


def _stride(rows: AllRows, point: SweptPoint, steps: int) -> float:
    """Return the factor by which sigma grows."""
    # Where the path is nearly straight, longer strides do not cost more steps; none needs to be
    # longer than it takes to leave so few rows undecided that their labels can be solved for.
    longest = GROWTH**2 if steps <= 2 else GROWTH
    enough = 1.5 * point.band * point.sweep.inside / max(1, rows.largest_band)
    return longest if point.sweep.can_be_solved else min(longest, max(GROWTH, enough))


def _extrapolated(point: SweptPoint, before: tuple[float, Floats] | None, sigma: float) -> Floats:
    """Extrapolate the path, linear in 1 / sigma, from its last two points."""
    if before is None:
        return point.xi
    sigma_before, xi_before = before
    ratio = (1 / sigma - 1 / point.sigma) / (1 / point.sigma - 1 / sigma_before)
    return point.xi + ratio * (point.xi - xi_before)


def _uncommitted(problem: LabelProblem, columns: StreamedColumns, sample: FormedColumns) -> Stage:
    """Return the start of the path of all rows, with all labels near their centres.

    For rows that a sample does not represent well: if it contains no row with a rare feature, a
    point far along its path is of no use.
    """
    centres = HyperplaneLabels(problem.labels, np.zeros_like(columns.B.T @ problem.target), 1.0)
    xi = problem.residual(centres)
    size_of_p = float(np.sqrt(np.mean(sample.project(xi) ** 2)))
    start = Trial(np.zeros(0), np.inf, final=False, nu=np.zeros(0))
    return Stage(1.0 / max(size_of_p, 1e-300), xi, columns.shape[1], start, 0)


def _minimise_psi(
    rows: AllRows, point: SweptPoint, goal: float, early: bool
) -> tuple[SweptPoint, int]:
    """Return (a point near the minimum of psi over all rows, steps).

    If ``early`` is True, the steps end once it seems that a sweep has collected all rows whose
    labels are still to be determined.
    """
    problem, labels, sigma = rows.problem, rows.problem.labels, point.sigma
    for step in range(STEPS_PER_SIGMA):
        xi, here = point.xi, point.sweep
        residual = here.Mq - problem.target
        g = problem.gradient(xi, residual)
        # 1/2 ||g||^2 bounds the distance from the minimum of psi; the gap also contains the cost of
        # a finite sigma, which more steps cannot lower.
        within = half_square(g) <= 1e-2 * path_gap(here, g)
        solved = rows.gap(point) <= goal
        # Near an optimum of 0, shares outside their bounds cost next to nothing.
        if (within and not solved) or (solved and problem.meets_prior(residual)):
            return point, step
        grams = [(directions_of(labels.shape, key), gram) for key, gram in here.grams.items()]
        b, held = -flat(labels, g), problem.held(xi, sigma)
        direction = unflat(labels, solve_hessian(labels, grams, sigma, b, held))
        if early and here.can_be_solved and rows.stays(point, direction):
            return point, step
        psi, slope = problem.conjugate(xi) - here.inner, float(np.vdot(g, direction))
        there = rows.after(point, direction)
        noise = (SINGLE_SUM_ROUNDING if rows.rough else SUM_ROUNDING) * (abs(psi) + abs(here.inner))
        if problem.conjugate(there.xi) - there.sweep.inner > psi + 1e-4 * slope + noise:
            length = _step_length(problem, rows.columns, sigma, xi, direction, slope)
            there = rows.after(point, length * direction)
        point = there
    return point, STEPS_PER_SIGMA


def _step_length(
    problem: LabelProblem,
    columns: StreamedColumns,
    sigma: float,
    xi: Floats,
    direction: Floats,
    slope: float,
) -> float:
    """Return the step at which psi stops decreasing along the direction, in one pass."""
    steps = np.concatenate([LINE_SEARCH, [0.0]])
    level = float(np.vdot(xi + problem.target, direction))
    derivative = level + steps * float(np.vdot(direction, direction))
    if (prior := problem.prior) is not None:
        z = xi + problem.target
        derivative -= [prior.reduction_along(z, direction, step) for step in steps]
    derivative -= columns.slopes(problem.labels, xi, direction, sigma, steps)
    derivative[-1] = slope
    falling = int(np.argmax(derivative < 0))  # the longest step at which psi still decreases
    if falling == 0:
        return float(steps[0])
    low, high = steps[falling], steps[falling - 1]
    at_low, at_high = derivative[falling], derivative[falling - 1]
    return float(low - at_low * (high - low) / (at_high - at_low))


def _on_path(rows: AllRows, point: SweptPoint, goal: float) -> _Best:
    """Return the labels of a point of the path, with their gap."""
    problem, xi, sweep = rows.problem, point.xi, point.sweep
    best = _Best(
        rows.gap(point),
        xi,
        HyperplaneLabels(problem.labels, rows.columns.B.T @ xi, point.sigma),
        nu=problem.multipliers(xi),
        feasible=problem.meets_prior(sweep.Mq - problem.target),
        moment=sweep.moment,
    )
    if not rows.rough:
        return best
    at_goal = best.gap <= goal and not sweep.can_be_solved
    return _measured(rows, best) if at_goal else replace(best, gap=np.inf)


def _in_band(rows: AllRows, point: SweptPoint, tol: float) -> _Best:
    """Solve for the rows close to the hyperplane with all others fixed, and measure the gap."""
    problem, columns, xi, sweep = rows.problem, rows.columns, point.xi, point.sweep
    band = sweep.band
    if band is None or not sweep.can_be_solved:
        return _Best(np.inf, xi, feasible=False)
    labels, positions = problem.labels, band.positions
    others = sweep.moment - band.sum
    fixed = centred(columns.B @ others)
    inner = replace(
        problem,
        columns=FormedColumns(*band.columns(columns.B)),
        target=problem.target - fixed,
        labels=labels.take(positions),
        prior=None if problem.prior is None else problem.prior.without(fixed),
    )
    solution = solve_newton(inner, tol, 1000, (point.sigma, xi))
    nu, reached = solution.multipliers, inner.residual(solution.labels)
    best = _Best(
        np.inf,
        problem.dual_point(reached, nu),
        HyperplaneLabels(labels, columns.B.T @ xi, np.inf, positions, solution.labels),
        nu=nu,
        feasible=problem.meets_prior(reached),
        moment=others + band.sum_of(solution.labels),
    )
    return _measured(rows, best)


def _measured(rows: AllRows, best: _Best) -> _Best:
    """Return a labelling with its sum and its gap, in double precision: one pass."""
    problem, nu = rows.problem, best.nu
    assert best.labels is not None
    assert best.moment is not None
    moment, slack = rows.measure(best.xi, best.labels, best.moment)
    residual = centred(rows.columns.B @ moment - problem.target)
    off = problem.dual_point(residual, nu) - best.xi
    gap = slack + half_square(off) + problem.prior_gap(residual, nu)
    return replace(best, gap=gap, moment=moment)
