"""Newton's method along the path from "no commitment" to the optimum.

For sigma > 0 the strictly convex problem

    minimise over q in [0, 1]^U    1/2 ||M q - t||^2 + 1/(2 sigma) ||q - 1/2||^2        (path)

has a unique answer. As sigma grows it moves from q = 1/2 to the optimum of the box problem that
is closest to 1/2, which is the one we want. Its dual has only r variables,

    psi(xi) = 1/2 ||xi||^2 + t'xi - sum_i [ p_i q_i + (q_i - 1/2)^2 / (2 sigma) ],
    p = M'xi,    q = clip(1/2 - sigma p, 0, 1),

is convex and piecewise quadratic, and has

    gradient   g = xi + t - M q          (and 1/2 ||g||^2 is the duality gap of (path)),
    Hessian    I + sigma M_J M_J',       J = the rows strictly inside the box.

1. At each sigma take Newton steps with an exact line search, in systems of size min(r, |J|).
   Precision is not needed on the way: stop once the duality gap of (path) is no larger than what
   finite sigma costs.
2. Multiply sigma by a constant and predict: near its end the path is linear in 1/sigma.
3. Once few rows are undecided, guess that they are the right ones and solve for their labels
   directly. If the guess is right, the answer is exact and we are done.

No step is trusted: the labelling with the smallest proven gap is the one returned.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats, Index
from primum.problems import BoxProblem, Columns, duality_gap
from primum.solvers.solution import Solution

GROWTH = 5.0  # of sigma; 3 to 10 work alike
FIRST_SIGMA = 1.0  # times 1 / rms(p): most rows are undecided there
STEPS_PER_SIGMA = 50
LINE_SEARCH_ACCURACY = 0.1
# A thousandth of the tolerance costs a few steps more and brings the labels, not only the loss,
# close to their limit.
AIM = 1e-3


@dataclass(frozen=True)
class _Point:
    """A dual point and the labels it implies at some sigma."""

    xi: Floats
    p: Floats


def solve_newton(problem: BoxProblem, tol: float, max_iter: int) -> Solution:
    """Return the optimal labelling closest to 1/2."""
    columns, unit = problem.columns, problem.loss_unit
    best_q = np.full(problem.n_rows, 0.5)
    xi = columns.accumulate(best_q) - problem.target
    point = _Point(xi, columns.project(xi))
    best_gap = duality_gap(point.p, best_q, columns.weight)
    size = float(np.sqrt(np.mean(point.p**2)))
    aim = AIM * tol / unit
    sigma, last_sigma = (FIRST_SIGMA / size if size > 0 else 0.0), 1e14 / max(size, 1e-300)
    previous: tuple[float, _Point] | None = None
    iterations = 0
    while best_gap > aim and iterations < max_iter and sigma <= last_sigma:
        budget = min(STEPS_PER_SIGMA, max_iter - iterations)
        arrived, q, steps = _minimise_psi(columns, problem.target, sigma, point, budget)
        iterations += steps
        for candidate in (q, _decide(problem, q, near_end=best_gap * unit <= tol)):
            if candidate is not None:
                gap = _gap(problem, candidate)
                if gap < best_gap:
                    best_gap, best_q = gap, candidate
        point = _predict(problem, sigma * GROWTH, (sigma, arrived), previous)
        previous = (sigma, arrived)
        sigma *= GROWTH
    return Solution(best_q, iterations)


def _gap(problem: BoxProblem, q: Floats) -> float:
    columns = problem.columns
    p = columns.project(columns.accumulate(q) - problem.target)
    return duality_gap(p, q, columns.weight)


def _minimise_psi(
    columns: Columns, t: Floats, sigma: float, point: _Point, max_steps: int
) -> tuple[_Point, Floats, int]:
    """Return (dual point, labels, steps) near the minimum of psi."""
    xi, p = point.xi, point.p
    for step in range(max_steps + 1):
        free = 0.5 - sigma * p
        q = np.clip(free, 0.0, 1.0)
        g = xi + t - columns.accumulate(q)
        if step == max_steps or 0.5 * float(g @ g) <= duality_gap(p, q, columns.weight):
            break
        direction = _newton_direction(columns, np.flatnonzero(q == free), sigma, g)
        along = columns.project(direction)
        length = _exact_step(xi + t, direction, free, sigma * along, g, along, columns.weight)
        xi, p = xi + length * direction, p + length * along
    return _Point(xi, p), q, step


def _newton_direction(columns: Columns, undecided: Index, sigma: float, g: Floats) -> Floats:
    """Solve ``(I + sigma M_J M_J') direction = -g`` in the smaller of the two spaces."""
    if len(undecided) > columns.shape[0]:
        H = sigma * columns.gram(undecided)
        H.flat[:: len(H) + 1] += 1.0
        return _solve_positive(H, -g)
    if len(undecided) == 0:
        return -g
    M = _root_weighted(columns, undecided)
    S = M.T @ M
    S.flat[:: len(S) + 1] += 1.0 / sigma
    return M @ _solve_positive(S, g @ M) - g


def _root_weighted(columns: Columns, index: Index) -> Floats:
    M = columns.take(index)
    return M if columns.weight is None else M * np.sqrt(columns.weight[index])


def _solve_positive(S: Floats, b: Floats) -> Floats:
    factor, info = lapack.dpotrf(S, lower=1, clean=0)
    if info != 0:  # singular to working precision: the least-norm solution will do
        return np.asarray(np.linalg.lstsq(S, b, rcond=None)[0])
    return np.asarray(lapack.dpotrs(factor, b, lower=1)[0])


def _exact_step(
    xi_t: Floats,
    direction: Floats,
    free: Floats,
    change: Floats,
    g: Floats,
    along: Floats,
    weight: Floats | None,
) -> float:
    """Return the step length at which psi is least along the direction, to some accuracy.

    The derivative of psi along the direction is an increasing, piecewise linear function of the
    step: bracket its zero, then close in by safeguarded linear interpolation.
    """
    level, slope = float(xi_t @ direction), float(direction @ direction)
    heavy = along if weight is None else along * weight

    def derivative(s: float) -> float:
        return level + s * slope - float(heavy @ np.clip(free - s * change, 0.0, 1.0))

    low, at_low = 0.0, float(g @ direction)
    accuracy = LINE_SEARCH_ACCURACY * abs(at_low)
    high, at_high = 1.0, derivative(1.0)
    while at_high < -accuracy:
        low, at_low, high = high, at_high, 2.0 * high
        at_high = derivative(high)
    s, at_s = high, at_high
    for _ in range(50):
        if abs(at_s) <= accuracy:
            break
        margin = 0.05 * (high - low)
        s = low - at_low * (high - low) / (at_high - at_low)
        s = min(max(s, low + margin), high - margin)
        at_s = derivative(s)
        if at_s > 0:
            high, at_high = s, at_s
        else:
            low, at_low = s, at_s
    return s


def _decide(problem: BoxProblem, q: Floats, near_end: bool) -> Floats | None:
    """Solve for the undecided labels with all others held: exact if those are the right rows.

    Of all labels that fit equally well the ones closest to 1/2 are taken. While more rows than r
    are undecided this is only worth trying near the end, where the supervised solution turns out
    to be feasible.
    """
    columns = problem.columns
    undecided = np.flatnonzero((q > 0) & (q < 1))
    if len(undecided) > columns.shape[0] and not near_end:
        return None
    decided = q.copy()
    if len(undecided):
        decided[undecided] = 0.5
        missing = problem.target - columns.accumulate(decided)
        root = 1.0 if columns.weight is None else np.sqrt(columns.weight[undecided])
        x = _least_norm(_root_weighted(columns, undecided), missing)
        decided[undecided] = np.clip(0.5 + x / root, 0.0, 1.0)
    return decided


def _least_norm(M: Floats, b: Floats) -> Floats:
    """Return the shortest x that minimises ``||M x - b||``."""
    if M.shape[1] <= M.shape[0]:
        factor, info = lapack.dpotrf(M.T @ M, lower=1, clean=0)
        if info == 0 and _well_conditioned(factor):
            return np.asarray(lapack.dpotrs(factor, b @ M, lower=1)[0])
    else:
        factor, info = lapack.dpotrf(M @ M.T, lower=1, clean=0)
        if info == 0 and _well_conditioned(factor):
            return np.asarray(lapack.dpotrs(factor, b, lower=1)[0] @ M)
    return np.asarray(np.linalg.lstsq(M, b, rcond=1e-10)[0])


def _well_conditioned(factor: Floats) -> bool:
    diagonal = np.diag(factor)
    return bool(diagonal.min() > 1e-6 * diagonal.max())


def _predict(
    problem: BoxProblem,
    sigma: float,
    latest: tuple[float, _Point],
    previous: tuple[float, _Point] | None,
) -> _Point:
    """Return the better start for the next sigma: the latest point, or the path's continuation."""
    latest_sigma, point = latest
    if previous is None:
        return point
    previous_sigma, before = previous
    ratio = (1 / sigma - 1 / latest_sigma) / (1 / latest_sigma - 1 / previous_sigma)
    ahead = _Point(
        point.xi + ratio * (point.xi - before.xi), point.p + ratio * (point.p - before.p)
    )
    weight, t = problem.columns.weight, problem.target
    return min((ahead, point), key=lambda start: _psi(start, t, sigma, weight))


def _psi(point: _Point, t: Floats, sigma: float, weight: Floats | None) -> float:
    q = np.clip(0.5 - sigma * point.p, 0.0, 1.0)
    inner = point.p * q + (q - 0.5) ** 2 / (2 * sigma)
    total = inner.sum() if weight is None else inner @ weight
    return float(0.5 * point.xi @ point.xi + t @ point.xi - total)
