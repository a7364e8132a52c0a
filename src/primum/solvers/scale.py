"""Many rows, few passes.

What costs is a pass over the rows, so every pass does as much as it can, and most of the way is
gone on few rows.

1. Follow Newton's path (``newton.py``) on a random sample of the rows, each standing for many, as
   far as a few percent of them are undecided. This costs no pass.
2. Minimise the same dual function psi on all rows, from there. One fused pass per Newton step gives
   psi, its gradient and Hessian, and both bounds on the optimum (``StreamedColumns.sweep``); a
   further pass only where a full step is too long.
3. Hold every row far from the hyperplane ``p = 0`` on its side, gather the rows close to it, and
   solve for their labels exactly, in memory.
4. Judge the result on all rows. If a row was held on the wrong side, the gap says so: go on along
   the path on all rows, which leaves fewer undecided, and try again with a wider band. The better
   of all points seen is kept, so a failed try costs passes and nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from primum._typing import Floats, Index
from primum.problems import BoxProblem, FormedColumns, StreamedColumns, Sweep
from primum.solvers.newton import GROWTH, Stage, follow_path, solve_newton
from primum.solvers.solution import Solution

SAMPLE = 2**14
UNDECIDED = 0.02  # share of the sample at which the path is left for all rows
BAND = 2.0  # rows are close if they would be undecided at sigma / BAND
LARGEST_BAND = 0.25  # share of the rows that may be gathered
STEPS_PER_SIGMA = 12
STAGES = 25
LINE_SEARCH = 2.0 ** -np.arange(1.0, 13.0)
FEW_DISTINCT = 0.25  # share of distinct rows below which equal rows are solved as one


@dataclass(frozen=True)
class _Best:
    """The best labelling so far, its proven gap and the dual point that proves it.

    ``labels`` is None for a point of the path, whose labels follow from xi and sigma.
    """

    gap: float
    xi: Floats
    sigma: float
    labels: Floats | None = None


def solve_scale(problem: BoxProblem, tol: float, max_iter: int) -> Solution:
    """Return an optimal labelling of rows that are visited a few times only."""
    columns = problem.columns
    if not isinstance(columns, StreamedColumns):
        return solve_newton(problem, tol, max_iter)
    index = _sample(problem.n_rows)
    if _distinct_share(columns.take(index)) < FEW_DISTINCT:
        return _solve_distinct(problem, columns, tol, max_iter)
    goal = problem.gap_within(tol)
    start = _sample_stage(problem, columns, index, tol, max_iter)
    xi, sigma, iterations, band = start.xi, start.sigma, start.iterations, BAND
    best = _Best(np.inf, xi, sigma)
    before: tuple[float, Floats] | None = None
    for _ in range(STAGES):
        arrived, sweep, steps = _minimise_psi(columns, problem.target, sigma, xi, goal)
        iterations += steps
        found = (
            _on_path(problem, sweep, arrived, sigma),
            *_in_band(problem, columns, arrived, sigma, band, tol),
        )
        best = min((best, *found), key=lambda answer: answer.gap)
        if best.gap <= goal or iterations >= max_iter:
            break
        # Where the path is nearly straight, longer strides cost no more steps.
        stride = GROWTH**2 if steps <= 2 else GROWTH
        xi = _continued(arrived, sigma, before, sigma * stride)
        before, sigma, band = (sigma, arrived), sigma * stride, band * 2.0
    return Solution(_write_down(columns, best), iterations, dual=best.xi)


def _continued(
    xi: Floats, sigma: float, before: tuple[float, Floats] | None, ahead: float
) -> Floats:
    """Follow the path, linear in 1 / sigma, from its last two points."""
    if before is None:
        return xi
    sigma_before, xi_before = before
    ratio = (1 / ahead - 1 / sigma) / (1 / sigma - 1 / sigma_before)
    return xi + ratio * (xi - xi_before)


def _sample(n: int) -> Index:
    rng = np.random.default_rng(0)  # any sample will do; the same one every time
    return np.sort(rng.choice(n, min(SAMPLE, n), replace=False))


def _distinct_share(M: Floats) -> float:
    return (
        len(np.unique(_fingerprints(np.random.default_rng(0).normal(size=len(M)) @ M)))
        / (M.shape[1])
    )


def _fingerprints(p: Floats) -> Floats:
    """Round projections of rows so that equal rows have equal numbers."""
    return np.round(p / max(float(np.abs(p).max()), 1e-300), 12)


def _solve_distinct(
    problem: BoxProblem, columns: StreamedColumns, tol: float, max_iter: int
) -> Solution:
    """Solve with equal rows as one row of their weight; they share a label anyway."""
    direction = np.random.default_rng(0).normal(size=columns.shape[0])
    prints = _fingerprints(columns.project(direction))
    _, first, which = np.unique(prints, return_index=True, return_inverse=True)
    weight = np.bincount(which, columns.weight).astype(np.float64)
    order = np.argsort(first)
    distinct = FormedColumns(columns.take(first[order]), weight[order])
    solution = solve_newton(replace(problem, columns=distinct), tol, max_iter)
    labels = np.empty(len(first))
    labels[order] = solution.labels
    return Solution(labels[which], solution.iterations)


def _sample_stage(
    problem: BoxProblem, columns: StreamedColumns, index: Index, tol: float, max_iter: int
) -> Stage:
    """Return the point of a sample's path from which to go on with all rows."""
    weight = np.full(len(index), problem.n_rows / len(index))
    if columns.weight is not None:
        weight *= columns.weight[index]
    sample = replace(problem, columns=FormedColumns(columns.take(index), weight))
    for stage in follow_path(sample, tol, max_iter):
        if stage.sigma > 0 and stage.undecided <= UNDECIDED * len(index):
            break
    return stage if stage.sigma > 0 else replace(stage, sigma=1.0)


def _minimise_psi(
    columns: StreamedColumns, t: Floats, sigma: float, xi: Floats, goal: float
) -> tuple[Floats, Sweep, int]:
    """Return (dual point, its sweep, steps) near the minimum of psi over all rows."""
    here = columns.sweep(xi, sigma)
    for step in range(STEPS_PER_SIGMA):
        g = xi + t - here.Mq
        gap = _primal(here, t) - _dual(here, xi, t)
        # 1/2 ||g||^2 is what is missing to the minimum of psi; the gap also holds the price of
        # finite sigma, which more steps cannot lower.
        if gap <= goal or 0.5 * float(g @ g) <= 1e-2 * gap:
            return xi, here, step
        H = sigma * here.gram
        H.flat[:: len(H) + 1] += 1.0
        direction = -cho_solve(cho_factor(H), g)
        there = columns.sweep(xi + direction, sigma)
        slope = float(g @ direction)
        if _psi(there, xi + direction, t) > _psi(here, xi, t) + 1e-4 * slope:
            length = _step_length(columns, t, sigma, xi, direction, slope)
            direction = length * direction
            there = columns.sweep(xi + direction, sigma)
        xi, here = xi + direction, there
    return xi, here, STEPS_PER_SIGMA


def _primal(sweep: Sweep, t: Floats) -> float:
    return 0.5 * float(np.sum((sweep.Mq - t) ** 2))


def _dual(sweep: Sweep, xi: Floats, t: Floats) -> float:
    return -0.5 * float(xi @ xi) - float(t @ xi) - sweep.hinge


def _psi(sweep: Sweep, xi: Floats, t: Floats) -> float:
    return 0.5 * float(xi @ xi) + float(t @ xi) - sweep.inner


def _step_length(
    columns: StreamedColumns, t: Floats, sigma: float, xi: Floats, direction: Floats, slope: float
) -> float:
    """Return the step at which psi stops falling along the direction, from one pass."""
    steps = np.concatenate([LINE_SEARCH, [0.0]])
    level = float((xi + t) @ direction) + steps * float(direction @ direction)
    derivative = level - columns.slopes(xi, direction, sigma, steps)
    derivative[-1] = slope
    falling = int(np.argmax(derivative < 0))  # the longest step at which psi still falls
    if falling == 0:
        return float(steps[0])
    low, high = steps[falling], steps[falling - 1]
    at_low, at_high = derivative[falling], derivative[falling - 1]
    return float(low - at_low * (high - low) / (at_high - at_low))


def _on_path(problem: BoxProblem, sweep: Sweep, xi: Floats, sigma: float) -> _Best:
    gap = _primal(sweep, problem.target) - _dual(sweep, xi, problem.target)
    return _Best(gap, xi, sigma)


def _in_band(
    problem: BoxProblem,
    columns: StreamedColumns,
    xi: Floats,
    sigma: float,
    band: float,
    tol: float,
) -> Iterator[_Best]:
    """Solve for the rows close to the hyperplane with all others held, and judge that."""
    t = problem.target
    labels, held = columns.hold(xi, 0.5 * band / sigma)
    close = np.flatnonzero(labels == 0.5)
    if not 0 < len(close) <= LARGEST_BAND * len(labels):
        return
    weight = None if columns.weight is None else columns.weight[close]
    inner = replace(problem, columns=FormedColumns(columns.take(close), weight), target=t - held)
    labels[close] = solve_newton(inner, tol, 1000).labels
    reached = inner.columns.accumulate(labels[close]) - inner.target
    gap = float(reached @ reached) + float(t @ reached) + columns.hinge(reached)
    yield _Best(gap, reached, sigma, labels)


def _write_down(columns: StreamedColumns, best: _Best) -> Floats:
    """Return the labels of all rows."""
    if best.labels is not None:
        return best.labels
    free = 0.5 - best.sigma * columns.project(best.xi)
    return np.minimum(np.maximum(free, 0.0), 1.0)
