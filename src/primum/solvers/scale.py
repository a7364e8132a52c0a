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
   path on all rows, which leaves fewer undecided, with a wider band.
5. If Newton's steps crawl, because rows change sides in bulk, a surrogate of few rows in memory
   stands for all rows instead (``surrogate.py``). If that fails, too, the path of all rows is
   followed from its start. The best of all points is kept, so a failed try only costs passes. If
   everything fails and the rows are in memory, ``newton.py`` solves the problem in many passes.

Rows in single precision on a device are multiplied as they are in steps 2 and 3, which is several
times as fast. The result is measured in double precision; if it does not suffice, the search
continues in double precision.

Nothing is stored per row, so the rows need not fit in memory: the solution is a hyperplane and the
labels of a band of rows (``HyperplaneLabels``).
"""

from dataclasses import replace

import numpy as np

from primum._typing import Floats
from primum.labellings.labelling import HyperplaneLabels
from primum.labellings.problem import FormedColumns, LabelProblem, Solution, centred, half_square
from primum.labellings.sets import directions_of, is_uniform
from primum.labellings.streamed import StreamedColumns
from primum.solvers.all_rows import (
    MIN_BAND,
    BestSoFar,
    MeasureLabels,
    SampledProblem,
    SweptPoint,
    labels_on_path,
    measured,
    path_gap,
)
from primum.solvers.newton import GAP_GOAL, SIGMA_GROWTH, Stage, Trial, solve_newton
from primum.solvers.open_labels import flat, solve_hessian, unflat
from primum.solvers.sample import find_copies, merge_copies, sample_columns, sample_stage
from primum.solvers.surrogate import SurrogateRows, follow_surrogates

# Newton steps at one sigma, a pass each, at most. With several classes, rows change sides in bulk
# more often, and other ways are better.
MAX_PASSES_PER_SIGMA, MAX_PASSES_OF_CLASSES = 12, 5
# The largest factor of sigma in a step of the path, near an optimum of 0, where the least sigma
# that suffices is known but uncertain.
MAX_STRIDE = 1e3
# Rounding of sums over many rows in double and in single precision, as a fraction: the unit of
# rounding, and two to three digits that long sums lose.
SUM_ROUNDING, SINGLE_SUM_ROUNDING = 1e-13, 1e-5
# If no more rows than this are in memory, no surrogate is made: a pass over them takes no time.
MAX_UNMODELLED_ROWS = 2**12
# If a step has to be shorter than this, Newton's method is given up: rows change sides in bulk, and
# equally short steps would follow.
MIN_STEP_LENGTH = 0.1
# Values of sigma, at most: a factor of SIGMA_GROWTH each leads through seventeen digits.
MAX_STAGES = 25
# Lengths of steps that one pass tries if a full one is too long, as fractions of it: far below
# MIN_STEP_LENGTH, because trying more of them costs no pass.
STEP_LENGTHS = 2.0 ** -np.arange(1.0, 13.0)


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
        return replace(solution, labels=labels_of_all(solution.array))
    if is_uniform(problem.labels):
        drawn = merge_copies(
            drawn
        )  # a row with many copies may stay undecided; it counts as one row
    sample = replace(problem, columns=drawn, labels=problem.labels.take(index))
    start = sample_stage(sample, tol, max_iter)
    rough = columns.design.rows.single and problem.prior is None and is_uniform(problem.labels)
    full, goal = SampledProblem(problem, columns, sample, measure, rough), problem.gap_within(tol)
    best, iterations = _follow_all_rows(full, start, tol, max_iter)
    if best.gap > goal and rough:
        full, start = replace(full, rough=False), replace(start, iterations=iterations)
        best, iterations = _follow_all_rows(full, start, tol, max_iter)
    in_memory = columns.design.rows.in_memory
    # If few rows are in memory, the solver below is as fast, and more exact.
    worthwhile = not in_memory or columns.shape[1] > MAX_UNMODELLED_ROWS
    if not best.suffices(goal) and goal > 0 and worthwhile and iterations < max_iter:
        full = replace(full, rough=False)
        best, iterations = _follow_surrogates(full, best, iterations, tol, max_iter)
    if best.gap > goal and best.lost and iterations < max_iter:
        start = replace(_uncommitted(problem, columns, drawn), iterations=iterations)
        other, iterations = _follow_all_rows(full, start, tol, max_iter)
        best = min((best, other), key=lambda labelling: labelling.order)
    missed = best.gap > goal or not best.feasible
    if missed and iterations < max_iter and in_memory:
        return _better_of(
            problem, best, iterations, solve_newton(problem, tol, max_iter - iterations)
        )
    return _solution(best, iterations)


def _follow_surrogates(
    full: SampledProblem, best: BestSoFar, iterations: int, tol: float, max_iter: int
) -> tuple[BestSoFar, int]:
    """Return (the better of a labelling and that of surrogates of all rows, iterations)."""
    labels = full.problem.labels
    few = SurrogateRows.of(*sample_columns(full.columns, matched=False))
    few = few.merged() if is_uniform(labels) else few
    sample = replace(full.problem, columns=few.columns, labels=labels.take(few.positions))
    start = sample_stage(sample, tol, max_iter - iterations)
    start = replace(start, iterations=start.iterations + iterations)
    modelled, iterations = follow_surrogates(full, few, start, tol, max_iter)
    if modelled.order < best.order:
        best = replace(modelled, lost=best.lost)
    return best, iterations


def _solution(best: BestSoFar, iterations: int) -> Solution:
    assert best.labels is not None
    return Solution(best.labels, iterations, dual=best.xi, multipliers=best.nu, moment=best.moment)


def _better_of(
    problem: LabelProblem, best: BestSoFar, iterations: int, other: Solution
) -> Solution:
    """Return the better of the best labelling so far and that of another solver."""
    steps, nu = iterations + other.iterations, other.multipliers
    residual = problem.residual(other.labels)
    gap = problem.slack(other.labels, problem.dual_point(residual, nu))
    gap += problem.prior_gap(residual, nu)
    if (not problem.meets_prior(residual), gap) < best.order:
        return replace(other, iterations=steps)
    return _solution(best, steps)


def _follow_all_rows(
    full: SampledProblem, start: Stage, tol: float, max_iter: int
) -> tuple[BestSoFar, int]:
    """Return (the best labelling found along the path of all rows, iterations)."""
    goal, iterations = full.problem.gap_within(tol), start.iterations
    best, before, wider = BestSoFar(np.inf, start.xi, feasible=False), None, 1.0
    inside = start.undecided / full.sample.columns.shape[1] * full.columns.shape[1]
    point = full.at(start.xi, start.sigma, full.band(inside), inside)
    if point.sweep.overflows:  # most rows may lie just outside the undecided ones
        point = replace(point, band=MIN_BAND)
    for _ in range(MAX_STAGES):
        steps = 0
        if not point.from_band:
            # Once the goal is reached, more precise labels are worth a few more steps.
            enough = GAP_GOAL * goal if best.gap <= goal and not full.rough else goal
            # Once a band was tried in vain, every stage ends on the path.
            left = max(0, max_iter - iterations)
            arrived, steps = _minimise_psi(full, point, enough, left, early=wider == 1.0)
            iterations += steps
            if arrived is None:
                return replace(best, lost=True), iterations
            point = arrived
        gap_before, on_path = best.gap, labels_on_path(full, point, goal)
        in_band = _in_band(full, point, tol)
        best = min((best, on_path, in_band), key=lambda labelling: labelling.order)
        ended = iterations >= max_iter or point.sweep.inside == 0
        if ended or _suffices(best, gap_before, goal, full.rough):
            break
        improved = best is in_band and best.gap <= 0.5 * gap_before
        if point.sweep.can_be_solved and not improved:
            wider *= 2.0
        insufficient = full.rough and np.isfinite(best.gap)  # measured in double precision
        xi, sigma, inside = point.xi, point.sigma, float(point.sweep.inside)
        if improved or insufficient:
            xi = in_band.xi if improved else xi
            full = replace(full, rough=full.rough and not insufficient)
        elif point.from_band:  # in vain: return to the path, from this sweep
            point = replace(point, band=wider * full.band(inside), from_band=False)
            continue
        else:
            needed = best.gap / (GAP_GOAL * goal) if goal > 0 else np.inf
            before, (xi, sigma, inside) = (sigma, xi), _ahead(full, point, before, steps, needed)
        point = full.at(xi, sigma, wider * full.band(inside), inside, from_band=improved)
    return best, iterations


def _suffices(best: BestSoFar, gap_before: float, goal: float, rough: bool) -> bool:
    """Return whether a labelling is optimal up to the goal, and more stages are not worth it."""
    # In single precision, the goal itself is the aim.
    converged = best.gap <= goal and (rough or best.gap > 0.5 * gap_before)
    return best.feasible and (best.gap <= GAP_GOAL * goal or converged)


def _ahead(
    full: SampledProblem,
    point: SweptPoint,
    before: tuple[float, Floats] | None,
    steps: int,
    needed: float,
) -> tuple[Floats, float, float]:
    """Return (xi, sigma, expected number of undecided rows) of the next point of the path.

    ``before`` are sigma and xi of the point before this one, and ``needed`` is the factor by which
    the gap is too large.
    """
    sigma, inside = point.sigma * _stride(full, point, steps), float(point.sweep.inside)
    if full.near_zero(point):
        # Xi and the gap are proportional to 1 / sigma: go to where the gap is small enough.
        sigma = max(sigma, point.sigma * min(4.0 * needed, MAX_STRIDE))
        return (point.sigma / sigma) * point.xi, sigma, inside
    return _extrapolated(point, before, sigma), sigma, inside * (point.sigma / sigma)


def _stride(full: SampledProblem, point: SweptPoint, steps: int) -> float:
    """Return the factor by which sigma grows."""
    # Where the path is nearly straight, longer strides do not cost more steps; none needs to be
    # longer than it takes to leave so few rows undecided that their labels can be solved for.
    longest = SIGMA_GROWTH**2 if steps <= 2 else SIGMA_GROWTH
    # The factor leaves a margin, because the number of undecided rows is predicted.
    enough = 1.5 * point.band * point.sweep.inside / max(1, full.largest_band)
    return longest if point.sweep.can_be_solved else min(longest, max(SIGMA_GROWTH, enough))


def _extrapolated(point: SweptPoint, before: tuple[float, Floats] | None, sigma: float) -> Floats:
    """Extrapolate the path, linear in 1 / sigma, from its last two points."""
    if before is None:
        return point.xi
    sigma_before, xi_before = before
    ratio = (1 / sigma - 1 / point.sigma) / (1 / point.sigma - 1 / sigma_before)
    return point.xi + ratio * (point.xi - xi_before)


def _uncommitted(problem: LabelProblem, columns: StreamedColumns, sample: FormedColumns) -> Stage:
    """Return the start of the path of all rows, with all labels near their centres.

    This serves rows that a sample does not represent well: if it contains no row with a rare
    feature, a point far along its path is of no use.
    """
    centres = HyperplaneLabels(problem.labels, np.zeros_like(columns.B.T @ problem.target), 1.0)
    xi = problem.residual(centres)
    size_of_p = float(np.sqrt(np.mean(sample.project(xi) ** 2)))
    start = Trial(np.zeros(0), np.inf, final=False, nu=np.zeros(0))
    return Stage(1.0 / max(size_of_p, 1e-300), xi, columns.shape[1], start, 0)


def _minimise_psi(
    full: SampledProblem, point: SweptPoint, goal: float, max_steps: int, *, early: bool
) -> tuple[SweptPoint | None, int]:
    """Return (a point near the minimum of psi over all rows, steps); None if steps crawl.

    If ``early`` is True, the steps end once it seems that a sweep has collected all rows whose
    labels are still to be determined.
    """
    problem, labels, sigma = full.problem, full.problem.labels, point.sigma
    several = bool(labels.shape) and problem.prior is None
    most = MAX_PASSES_OF_CLASSES if several else MAX_PASSES_PER_SIGMA
    for step in range(min(most, max_steps)):
        xi, here = point.xi, point.sweep
        residual = here.Mq - problem.target
        g = problem.gradient(xi, residual)
        # 1/2 ||g||^2 bounds the distance from the minimum of psi; the gap also contains the cost of
        # a finite sigma, which more steps cannot lower: a hundredth of it is enough.
        within = half_square(g) <= 1e-2 * path_gap(here, g)
        solved = full.gap(point) <= goal
        # Near an optimum of 0, shares outside their bounds cost next to nothing.
        if (within and not solved) or (solved and problem.meets_prior(residual)):
            return point, step
        grams = [(directions_of(labels.shape, key), gram) for key, gram in here.grams.items()]
        b, held = -flat(labels, g), problem.held(xi, sigma)
        direction = unflat(labels, solve_hessian(labels, grams, sigma, b, held))
        if early and here.can_be_solved and full.stays(point, direction):
            return point, step
        psi, slope = problem.conjugate(xi) - here.inner, float(np.vdot(g, direction))
        there = full.after(point, direction)
        # A step is long enough if it lowers psi by this part of what the slope promises (Armijo).
        noise = (SINGLE_SUM_ROUNDING if full.rough else SUM_ROUNDING) * (abs(psi) + abs(here.inner))
        if problem.conjugate(there.xi) - there.sweep.inner > psi + 1e-4 * slope + noise:
            length = _step_length(full, point, direction, slope)
            if length < MIN_STEP_LENGTH:
                return None, step
            there = full.after(point, length * direction)
        point = there
    return (point, max_steps) if max_steps < most else (None, most)


def _step_length(full: SampledProblem, point: SweptPoint, direction: Floats, slope: float) -> float:
    """Return the step at which psi stops decreasing along the direction, in one pass."""
    problem, steps = full.problem, np.concatenate([STEP_LENGTHS, [0.0]])
    z = point.xi + problem.target
    derivative = float(np.vdot(z, direction)) + steps * float(np.vdot(direction, direction))
    if problem.prior is not None:
        derivative -= [problem.prior.reduction_along(z, direction, step) for step in steps]
    derivative -= full.columns.slopes(problem.labels, point.xi, direction, point.sigma, steps)
    derivative[-1] = slope
    falling = int(np.argmax(derivative < 0))  # the longest step at which psi still decreases
    if falling == 0:
        return float(steps[0])
    low, high = steps[falling], steps[falling - 1]
    at_low, at_high = derivative[falling], derivative[falling - 1]
    return float(low - at_low * (high - low) / (at_high - at_low))


def _in_band(full: SampledProblem, point: SweptPoint, tol: float) -> BestSoFar:
    """Solve for the rows close to the hyperplane with all others fixed, and measure the gap."""
    problem, columns, xi, sweep = full.problem, full.columns, point.xi, point.sweep
    band = sweep.band
    if band is None or not sweep.can_be_solved:
        return BestSoFar(np.inf, xi, feasible=False)
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
    best = BestSoFar(
        np.inf,
        problem.dual_point(reached, nu),
        HyperplaneLabels(labels, columns.B.T @ xi, np.inf, positions, solution.array),
        nu=nu,
        feasible=problem.meets_prior(reached),
        moment=others + band.sum_of(solution.array),
    )
    return measured(full, best)
