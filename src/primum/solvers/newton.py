"""Newton's method along the path from q = 1/2 to the optimum.

For sigma > 0 the strictly convex problem

    minimise over q in [0, 1]^U    1/2 ||M q - t||^2 + 1/(2 sigma) ||q - 1/2||^2        (path)

has a unique solution. As sigma grows it moves from q = 1/2 to the optimum of the box problem that
is closest to 1/2, which is the solution sought. Its dual has only r variables,

    psi(xi) = 1/2 ||xi||^2 + t'xi - sum_i [ p_i q_i + (q_i - 1/2)^2 / (2 sigma) ],
    p = M'xi,    q = clip(1/2 - sigma p, 0, 1),

is convex and piecewise quadratic, and has

    gradient   g = xi + t - M q          (and 1/2 ||g||^2 is the duality gap of (path)),
    Hessian    I + sigma M_J M_J',       J = the rows strictly inside the box.

1. At each sigma take Newton steps with an exact line search, in systems of size min(r, |J|).
   High accuracy is not needed on the path: stop once the duality gap of (path) is no larger than
   the cost of a finite sigma.
2. Once few rows are undecided, guess that sigma = infinity has the same ones and solve for their
   labels directly. Labels that leave the box are moved to its boundary, rows on the wrong boundary
   are freed, and the guess is repeated as long as it improves (a primal-dual active set method). If
   it is right, the solution is exact.
3. Otherwise multiply sigma by a constant and predict: near its end the path is linear in 1/sigma.

The labelling with the smallest proven gap is returned.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats, Index, Mask
from primum.labellings import Columns, LabelProblem, duality_gap
from primum.solvers.solution import Solution

GROWTH = 5.0  # of sigma; 3 to 10 work equally well
STEPS_PER_SIGMA = 50
GUESSES_PER_SIGMA = 10
LINE_SEARCH_ACCURACY = 0.1
LARGEST_SIGMA = 1e14  # times 1 / rms(p): beyond it, rounding dominates
# A thousandth of the tolerance costs a few more steps and brings the labels, not only the loss,
# close to their limit.
AIM = 1e-3
# Once the gap is that small, this many more values of sigma are tried until a guess is exact:
# labels that hardly affect the loss, compared with outlying rows, are decided only then.
PATIENCE = 6
# Rows with |p| below this fraction of its size at q = 1/2 are weakly decided: other labels may be
# optimal too.
WEAK = 1e-9
# Singular values below this fraction of the longest column of M are rounding.
RANK = 1e-6
EPS = float(np.finfo(float).eps)
# A gap of this many times its rounding is near the end of the path, whatever the tolerance.
NEAR_ROUNDING = 1e3


@dataclass(frozen=True)
class _Point:
    """A dual point xi and ``p = M'xi``."""

    xi: Floats
    p: Floats


@dataclass(frozen=True)
class Answer:
    """A labelling, its proven gap, and whether it is the optimal labelling closest to 1/2."""

    q: Floats
    gap: float
    final: bool


@dataclass(frozen=True)
class _Rounding:
    """Rounding thresholds for p, for singular values of M, and for the gap."""

    p: float
    singular_value: float
    gap: float


@dataclass(frozen=True)
class Stage:
    """A point of the path, and the best solution so far."""

    sigma: float
    xi: Floats
    undecided: int
    best: Answer
    iterations: int


def solve_newton(problem: LabelProblem, tol: float, max_iter: int) -> Solution:
    """Return the optimal labelling closest to 1/2."""
    for last in follow_path(problem, tol, max_iter):  # noqa: B007
        pass
    return Solution(last.best.q, last.iterations)


def follow_path(problem: LabelProblem, tol: float, max_iter: int) -> Iterator[Stage]:
    """Yield the start of the path and its points at growing sigma, until the solution is final."""
    columns = problem.columns
    tol = problem.gap_within(tol)
    half = np.full(problem.n_rows, 0.5)
    xi = columns.accumulate(half) - problem.target
    point, previous = _Point(xi, columns.project(xi)), None
    gap = duality_gap(point.p, half, columns.weight)
    best = Answer(half, gap, final=gap <= AIM * tol)
    size_of_p = float(np.sqrt(np.mean(point.p**2)))
    lengths, size = columns.lengths(), float(np.linalg.norm(problem.target)) + np.linalg.norm(xi)
    total = float(lengths.sum() if columns.weight is None else lengths @ columns.weight)
    rounding = _Rounding(WEAK * size_of_p, RANK * float(lengths.max()), float(EPS * size * total))
    first_sigma = 1.0 / max(size_of_p, 1e-300)
    sigma, iterations, close, undecided_before = first_sigma, 0, 0, -1
    yield Stage(0.0, xi, problem.n_rows, best, iterations)
    while (
        not best.final
        and close < PATIENCE
        and iterations < max_iter
        and sigma < first_sigma * LARGEST_SIGMA
    ):
        budget = min(STEPS_PER_SIGMA, max_iter - iterations)
        arrived, q, steps = _minimise_psi(columns, problem.target, sigma, point, budget)
        on_path = _judge(problem, q)
        close += on_path.gap <= AIM * tol
        undecided = int(np.count_nonzero((q > 0) & (q < 1)))
        near_end = undecided == undecided_before or (
            on_path.gap <= max(tol, NEAR_ROUNDING * rounding.gap)
        )
        guess, tries = _guess_face(problem, q, AIM * tol, near_end, rounding)
        best = min((best, on_path, guess), key=lambda answer: (not answer.final, answer.gap))
        iterations += steps + tries
        undecided_before = undecided
        yield Stage(sigma, arrived.xi, undecided, best, iterations)
        point = _predict(problem, sigma * GROWTH, (sigma, arrived), previous)
        sigma, previous = sigma * GROWTH, (sigma, arrived)


def _judge(problem: LabelProblem, q: Floats) -> Answer:
    """Return q, a point of the path, with its gap; its labels are not yet final."""
    columns = problem.columns
    p = columns.project(columns.accumulate(q) - problem.target)
    gap = duality_gap(p, q, columns.weight)
    return Answer(q, gap, final=False)


def _minimise_psi(
    columns: Columns, t: Floats, sigma: float, point: _Point, max_steps: int
) -> tuple[_Point, Floats, int]:
    """Return (dual point, labels, steps) near the minimum of psi."""
    xi, p = point.xi, point.p
    for step in range(max_steps + 1):
        free = 0.5 - sigma * p
        q = _into_box(free)
        g = xi + t - columns.accumulate(q)
        if step == max_steps or 0.5 * float(g @ g) <= duality_gap(p, q, columns.weight):
            break
        direction = _newton_direction(columns, np.flatnonzero(q == free), sigma, g)
        along = columns.project(direction)
        length = _exact_step(xi + t, direction, free, sigma * along, g, along, columns.weight)
        xi, p = xi + length * direction, p + length * along
    return _Point(xi, p), q, step


def _into_box(q: Floats) -> Floats:
    # np.clip, without its overhead for short arrays
    return np.minimum(np.maximum(q, 0.0), 1.0)


def _newton_direction(columns: Columns, undecided: Index, sigma: float, g: Floats) -> Floats:
    """Solve ``(I + sigma M_J M_J') direction = -g`` in the smaller of the two spaces."""
    if len(undecided) > columns.shape[0]:
        H = sigma * columns.gram(undecided)
        H.flat[:: len(H) + 1] += 1.0
        return solve_positive(H, -g)
    if len(undecided) == 0:
        return -g
    M = _root_weighted(columns, undecided)
    S = M.T @ M
    S.flat[:: len(S) + 1] += 1.0 / sigma
    return M @ solve_positive(S, g @ M) - g


def _root_weighted(columns: Columns, index: Index) -> Floats:
    M = columns.take(index)
    return M if columns.weight is None else M * np.sqrt(columns.weight[index])


def solve_positive(S: Floats, b: Floats) -> Floats:
    """Solve with a positive definite matrix."""
    factor, info = _cholesky(S)
    if info != 0:  # singular to working precision: use the minimum-norm solution
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
    """Return the step length that minimises psi along the direction, to some accuracy.

    The derivative of psi along the direction is an increasing, piecewise linear function of the
    step: bracket its zero, then refine it by safeguarded linear interpolation.
    """
    level, slope = float(xi_t @ direction), float(direction @ direction)
    heavy = along if weight is None else along * weight

    def derivative(s: float) -> float:
        return level + s * slope - float(heavy @ _into_box(free - s * change))

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
        rise = at_high - at_low
        s = low - at_low * (high - low) / rise if rise > 0 else low
        s = min(max(s, low + margin), high - margin)
        at_s = derivative(s)
        if at_s > 0:
            high, at_high = s, at_s
        else:
            low, at_low = s, at_s
    return s


def _guess_face(
    problem: LabelProblem, q: Floats, aim: float, near_end: bool, rounding: _Rounding
) -> tuple[Answer, int]:
    """Return (the best labelling found with decided rows fixed, number of tries).

    While more than r rows are undecided this pays off only near the end, where the supervised
    solution turns out to be feasible and their number stays the same.
    """
    columns = problem.columns
    best = Answer(q, np.inf, final=False)
    undecided = (q > 0) & (q < 1)
    for tries in range(GUESSES_PER_SIGMA):
        free = np.flatnonzero(undecided)
        if len(free) > columns.shape[0] and not near_end:
            return best, tries
        q = _solve_face(problem, q, free, rounding)
        p = columns.project(columns.accumulate(q) - problem.target)
        slack = np.maximum(p * q, p * q - p)
        gap = float(slack.sum() if columns.weight is None else slack @ columns.weight)
        if gap <= max(aim, rounding.gap):
            closest = _is_closest_to_half(columns, q, np.abs(p) <= rounding.p)
            return Answer(q, gap, final=closest), tries + 1
        if gap > 0.5 * best.gap:
            return best, tries + 1
        best = Answer(q, gap, final=False)
        wrong_border = ~undecided & (slack > aim / len(q))
        undecided = (undecided & (q > 0) & (q < 1)) | wrong_border
    return best, GUESSES_PER_SIGMA


def _solve_face(problem: LabelProblem, q: Floats, free: Index, rounding: _Rounding) -> Floats:
    """Refit the labels of some rows, as close to 1/2 as a best fit allows, and clip them."""
    columns = problem.columns
    if len(free) == 0:
        return q
    q = q.copy()
    q[free] = 0.5
    missing = problem.target - columns.accumulate(q)
    M = _root_weighted(columns, free)
    if M.shape[1] <= M.shape[0]:
        x = _solve_gram(M.T @ M, missing @ M, rounding)
    else:
        x = _solve_gram(M @ M.T, missing, rounding) @ M
    root = 1.0 if columns.weight is None else np.sqrt(columns.weight[free])
    q[free] = _into_box(0.5 + x / root)
    return q


def _is_closest_to_half(columns: Columns, q: Floats, undetermined: Mask) -> bool:
    """Return whether an optimal q is the optimal labelling closest to 1/2.

    A row on the boundary with p = 0 could have another label. Its label is right if the labels
    that minimise the distance to 1/2, ``clip(1/2 + M'v)`` for some v, leave it on the boundary; v
    follows from the rows inside.
    """
    inside = (q > 0) & (q < 1)
    doubtful = undetermined & ~inside
    if not doubtful.any():
        return True
    M = columns.take(np.flatnonzero(inside))
    v = np.asarray(np.linalg.lstsq(M.T, q[inside] - 0.5, rcond=1e-10)[0])
    wanted = _into_box(0.5 + columns.project(v)[doubtful])
    return bool(np.allclose(wanted, q[doubtful], rtol=0.0, atol=1e-7))


def _solve_gram(G: Floats, b: Floats, rounding: _Rounding) -> Floats:
    """Return the minimum-norm minimiser of ``||G x - b||``, for a Gram matrix of columns of M."""
    factor, info = _cholesky(G)
    diagonal = np.diag(factor)
    if info == 0 and diagonal.min() > max(rounding.singular_value, RANK * diagonal.max()):
        return np.asarray(lapack.dpotrs(factor, b, lower=1)[0])
    values, V = np.linalg.eigh(G)
    kept = values > max(rounding.singular_value**2, RANK**2 * values[-1])
    return np.asarray(V[:, kept] @ ((b @ V[:, kept]) / values[kept]))


def _cholesky(S: Floats) -> tuple[Floats, int]:
    # S is symmetric, so its transpose is S in Fortran order. clean=0 leaves arbitrary values in the
    # upper triangle, which is not read; S itself is kept in case it is singular.
    factor, info = lapack.dpotrf(S.T, lower=1, clean=0)
    return factor, int(info)


def _predict(
    problem: LabelProblem,
    sigma: float,
    latest: tuple[float, _Point],
    previous: tuple[float, _Point] | None,
) -> _Point:
    """Return the better start for the next sigma: the latest point, or an extrapolation."""
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
    q = _into_box(0.5 - sigma * point.p)
    inner = point.p * q + (q - 0.5) ** 2 / (2 * sigma)
    total = inner.sum() if weight is None else inner @ weight
    return float(0.5 * point.xi @ point.xi + t @ point.xi - total)
