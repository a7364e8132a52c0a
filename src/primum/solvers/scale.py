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
from primum.labellings.sets import best_differs, directions_of, is_uniform, undecided_rows
from primum.labellings.streamed import SweptPoint
from primum.solvers.all_rows import (
    MIN_BAND,
    MIN_FEASIBLE_SHARE,
    BestSoFar,
    MeasureLabels,
    SampledProblem,
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
    uniform = is_uniform(problem.labels)
    if uniform:  # a row with many copies may stay undecided; it counts as one row
        drawn = merge_copies(drawn)
    sample = replace(problem, columns=drawn, labels=problem.labels.take(index))
    start = sample_stage(sample, tol, max_iter)
    rough = columns.design.rows.single and problem.prior is None and uniform
    full = SampledProblem(problem, columns, sample, measure, rough)
    goal = problem.gap_within(tol)

    # The path of all rows, from where that of the sample ended.
    best, iterations = _follow_all_rows(full, start, tol, max_iter)
    if best.gap > goal and rough:
        full, start = replace(full, rough=False), replace(start, iterations=iterations)
        best, iterations = _follow_all_rows(full, start, tol, max_iter)
    full = replace(full, rough=False)

    # Surrogates. If few rows are in memory, the solver below is as fast, and more exact.
    in_memory = columns.design.rows.in_memory
    worthwhile = not in_memory or columns.shape[1] > MAX_UNMODELLED_ROWS
    if not best.suffices(goal) and goal > 0 and worthwhile and iterations < max_iter:
        rows = SurrogateRows.of(*sample_columns(columns, matched=False))
        rows = rows.merged() if uniform else rows
        labels = problem.labels.take(rows.positions)
        sample = replace(problem, columns=rows.columns, labels=labels)
        start = sample_stage(sample, tol, max_iter - iterations)
        start = replace(start, iterations=start.iterations + iterations)
        modelled, iterations = follow_surrogates(full, rows, start, tol, max_iter)
        if modelled.order < best.order:
            best = replace(modelled, lost=best.lost)

    # The path of all rows from its start, with all labels near their centres. This serves rows that
    # a sample does not represent well: if it contains no row with a rare feature, a point far along
    # its path is of no use.
    if best.gap > goal and best.lost and iterations < max_iter:
        nothing = np.zeros_like(columns.B.T @ problem.target)
        xi = problem.residual(HyperplaneLabels(problem.labels, nothing, 1.0))
        size_of_p = max(float(np.sqrt(np.mean(drawn.project(xi) ** 2))), 1e-300)
        trial = Trial(np.zeros(0), np.inf, final=False, nu=np.zeros(0))
        start = Stage(1.0 / size_of_p, xi, columns.shape[1], trial, iterations)
        other, iterations = _follow_all_rows(full, start, tol, max_iter)
        best = min((best, other), key=lambda labelling: labelling.order)

    # Many passes, in memory.
    missed = best.gap > goal or not best.feasible
    if missed and iterations < max_iter and in_memory:
        newton = solve_newton(problem, tol, max_iter - iterations)
        iterations += newton.iterations
        nu = newton.multipliers
        residual = problem.residual(newton.labels)
        gap = problem.slack(newton.labels, problem.dual_point(residual, nu))
        gap += problem.prior_gap(residual, nu)
        if (not problem.meets_prior(residual), gap) < best.order:
            return replace(newton, iterations=iterations)
    assert best.labels is not None
    return Solution(best.labels, iterations, dual=best.xi, multipliers=best.nu, moment=best.moment)


def _follow_all_rows(
    full: SampledProblem, start: Stage, tol: float, max_iter: int
) -> tuple[BestSoFar, int]:
    """Return (the best labelling found along the path of all rows, iterations)."""
    goal = full.problem.gap_within(tol)
    iterations = start.iterations
    best = BestSoFar(np.inf, start.xi, feasible=False)
    before: tuple[float, Floats] | None = None  # sigma and Xi of the last point of the path
    wider = 1.0
    inside = start.undecided / full.sample.columns.shape[1] * full.columns.shape[1]
    point = full.at(start.xi, start.sigma, full.width(inside), inside)
    if point.overflows:  # most rows may lie just outside the undecided ones
        point = replace(point, width=MIN_BAND)
    for _ in range(MAX_STAGES):
        # 1. Newton's steps to the minimum of psi, unless labels of a band have led here.
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

        # 2. The labels of this point, and those of the band around it.
        gap_before = best.gap
        on_path, in_band = labels_on_path(full, point, goal), _in_band(full, point, tol)
        best = min((best, on_path, in_band), key=lambda labelling: labelling.order)
        # In single precision, the goal itself is the aim; else more stages may be worth it.
        converged = best.gap <= goal and (full.rough or best.gap > 0.5 * gap_before)
        if best.feasible and (best.gap <= GAP_GOAL * goal or converged):
            break
        if iterations >= max_iter or point.inside == 0:
            break

        # 3. The next point: from better labels of the band, or further along the path.
        improved = best is in_band and best.gap <= 0.5 * gap_before
        if point.can_be_solved and not improved:
            wider *= 2.0
        insufficient = full.rough and np.isfinite(best.gap)  # measured in double precision
        xi = point.xi
        sigma = point.sigma
        inside = float(point.inside)
        if improved or insufficient:
            xi = in_band.xi if improved else xi
            full = replace(full, rough=full.rough and not insufficient)
        elif point.from_band:  # in vain: return to the path, from this sweep
            point = replace(point, width=wider * full.width(inside), from_band=False)
            continue
        else:
            # Where the path is nearly straight, longer strides do not cost more steps; none needs
            # to be longer than it takes to leave so few rows undecided that their labels can be
            # solved for, with a margin, because their number is predicted.
            stride = SIGMA_GROWTH**2 if steps <= 2 else SIGMA_GROWTH
            if not point.can_be_solved:
                fewer = 1.5 * point.width * point.inside / max(1, full.largest_band)
                stride = min(stride, max(SIGMA_GROWTH, fewer))
            sigma = point.sigma * stride
            # If many rows stay undecided, and the objective is at most as large as its gap times
            # the share of these rows, the optimum seems to be 0, and the twin feasible. Xi and the
            # gap are then proportional to 1 / sigma: go to where the gap is small enough.
            share = point.inside / full.columns.shape[1]
            if share > MIN_FEASIBLE_SHARE and half_square(xi) <= share * full.gap(point):
                needed = best.gap / (GAP_GOAL * goal) if goal > 0 else np.inf
                sigma = max(sigma, point.sigma * min(4.0 * needed, MAX_STRIDE))
                xi = (point.sigma / sigma) * xi
            else:  # the path is nearly linear in 1 / sigma
                if before is not None:
                    sigma_before, xi_before = before
                    ratio = 1 / sigma - 1 / point.sigma
                    ratio /= 1 / point.sigma - 1 / sigma_before
                    xi = xi + ratio * (xi - xi_before)
                inside *= point.sigma / sigma
            before = point.sigma, point.xi
        point = full.at(xi, sigma, wider * full.width(inside), inside, from_band=improved)
    return best, iterations


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
        xi = point.xi
        residual = point.Mq - problem.target
        g = problem.gradient(xi, residual)
        # 1/2 ||g||^2 bounds the distance from the minimum of psi; the gap also contains the cost of
        # a finite sigma, which more steps cannot lower: a hundredth of it is enough.
        within = half_square(g) <= 1e-2 * path_gap(point, g)
        solved = full.gap(point) <= goal
        # Near an optimum of 0, shares outside their bounds cost next to nothing.
        if (within and not solved) or (solved and problem.meets_prior(residual)):
            return point, step
        grams = [(directions_of(labels.shape, key), gram) for key, gram in point.grams.items()]
        b, held = -flat(labels, g), problem.held(xi, sigma)
        direction = unflat(labels, solve_hessian(labels, grams, sigma, b, held))
        if early and point.can_be_solved:
            # Whether no row of the sample outside the band changes sides.
            sample = full.sample.labels
            p = full.sample.columns.project(xi)
            moved = best_differs(sample, p, p + full.sample.columns.project(direction))
            if not (moved & ~undecided_rows(sample, p, sigma / point.width)).any():
                return point, step
        psi = problem.conjugate(xi) - point.inner
        slope = float(np.vdot(g, direction))
        there = full.after(point, direction)
        # A step is long enough if it lowers psi by this part of what the slope promises (Armijo).
        noise = (SINGLE_SUM_ROUNDING if full.rough else SUM_ROUNDING) * (
            abs(psi) + abs(point.inner)
        )
        if problem.conjugate(there.xi) - there.inner > psi + 1e-4 * slope + noise:
            # The step at which psi stops decreasing, in one pass: the longest one tried at which it
            # still decreases, and the next, interpolated.
            z = xi + problem.target
            steps = np.concatenate([STEP_LENGTHS, [0.0]])
            rise = float(np.vdot(z, direction)) + steps * float(np.vdot(direction, direction))
            if problem.prior is not None:
                rise -= [problem.prior.reduction_along(z, direction, step) for step in steps]
            rise -= full.columns.slopes(labels, xi, direction, sigma, steps)
            rise[-1] = slope
            falling = int(np.argmax(rise < 0))
            length = float(steps[falling])
            if falling > 0:
                longer = steps[falling - 1] - length
                length -= rise[falling] * longer / (rise[falling - 1] - rise[falling])
            if length < MIN_STEP_LENGTH:
                return None, step
            there = full.after(point, length * direction)
        point = there
    return (point, max_steps) if max_steps < most else (None, most)


def _in_band(full: SampledProblem, point: SweptPoint, tol: float) -> BestSoFar:
    """Solve for the rows close to the hyperplane with all others fixed, and measure the gap."""
    problem, columns, xi, band = full.problem, full.columns, point.xi, point.band
    if band is None or not point.can_be_solved:
        return BestSoFar(np.inf, xi, feasible=False)
    labels, positions = problem.labels, band.positions
    others = point.moment - band.sum
    fixed = centred(columns.B @ others)
    inner = replace(
        problem,
        columns=FormedColumns(*band.columns(columns.B)),
        target=problem.target - fixed,
        labels=labels.take(positions),
        prior=None if problem.prior is None else problem.prior.without(fixed),
    )
    solution = solve_newton(inner, tol, 1000, (point.sigma, xi))
    nu = solution.multipliers
    reached = inner.residual(solution.labels)
    best = BestSoFar(
        np.inf,
        problem.dual_point(reached, nu),
        HyperplaneLabels(labels, columns.B.T @ xi, np.inf, positions, solution.array),
        nu=nu,
        feasible=problem.meets_prior(reached),
        moment=others + band.sum_of(solution.array),
    )
    return measured(full, best)
