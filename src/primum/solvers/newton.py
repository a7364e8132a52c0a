"""Newton's method along the path from the centres of the label sets to the optimum.

For sigma > 0 the strictly convex problem

    minimise over q_i in S_i    1/2 ||M Q - T||^2 + 1/(2 sigma) sum_i w_i ||q_i - c_i||^2    (path)

has a unique solution. As sigma grows it moves from the centres c_i to the optimal labelling that is
closest to them, which is the solution sought. Its dual has only as many variables as T,

    psi(Xi) = 1/2 ||Xi||^2 + <T, Xi> - sum_i w_i [ p_i.q_i + ||q_i - c_i||^2 / (2 sigma) ],
    P = M'Xi,    q_i = project(c_i - sigma p_i),

is convex and piecewise quadratic, and has

    gradient   g = Xi + T - M Q          (and 1/2 ||g||^2 is the duality gap of (path)),
    Hessian    I + sigma sum_i w_i E_i E_i' (x) m_i m_i',

where E_i are the directions in which q_i can still move: its face (``faces.py``). A prior replaces
the first two terms of psi and the I of its Hessian (``labellings.prior``).

1. At each sigma take Newton steps with an exact line search, in systems of the size of T or of the
   number of undecided labels, whichever is smaller. High accuracy is not needed on the path: stop
   once the duality gap of (path) is no larger than the cost of a finite sigma.
2. Once few rows are undecided, guess that sigma = infinity has the same faces and solve for their
   labels directly. Labels that leave their set are moved to its boundary, rows on the wrong
   boundary are freed, and the guess is repeated as long as it improves (a primal-dual active set
   method). If it is right, the solution is exact.
3. Otherwise multiply sigma by a constant and predict the next point. Between two values of sigma at
   which a label reaches or leaves the boundary of its set, the path solves a linear system: that of
   the faces. If more labels are undecided than there are equations, the system is large and the
   faces will change anyway, so the path is extrapolated along its secant; near its end it is linear
   in 1/sigma.

The labelling with the smallest proven gap is returned.

A warm start from the solution of a similar problem (``solve_from``) would be lost on the path,
which forgets where it starts. Proximal points do not forget: with the labels c of the similar
problem, or of the previous step, in place of the centres of the label sets,

    minimise over q_i in S_i    1/2 ||M Q - T||^2 + 1/(2 sigma) sum_i w_i ||q_i - c_i||^2

has a solution that leaves most rows on the face of c. The same Newton steps solve its dual. They
start where these faces are right: with the rows F in the interior of theirs,

    (I + sigma M_F M_F') Xi = M c - T.

Then sigma grows and c becomes the solution, until a guess of the faces is exact, as on the path.
Whatever the start, the labels are proven to be optimal, or there is no answer. If several are
optimal, they need not be the ones closest to the centres: this is for models that depend only on
M Q.

A problem with many equations and many labels may have no similar one, but projected gradients find
labels on nearly the faces of the solution (``gradient.py``). From there a few proximal Newton steps
replace the path, whose systems would have thousands of unknowns at each of some fifty steps. If
they do not find the labelling closest to the centres, the path is followed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats, Mask
from primum.equations.coordinates import EPS
from primum.labellings.prior import BOUND_SOFTNESS, Prior
from primum.labellings.problem import LabelProblem, Solution, per_row, total_of, weighted
from primum.labellings.sets import LabelSet, along, centres_of, on_face, tied_entries
from primum.solvers.class_blocks import MAX_PROXIMAL_POINTS, PROXIMAL_RIDGE, PROXIMAL_ROUNDING
from primum.solvers.faces import MAX_DIRECT_SIZE, OpenColumns, cholesky, faces_of, flat, unflat
from primum.solvers.gradient import is_large, minimise_by_gradients

# The factor of sigma from one point of the path to the next: 3 to 10 work equally well.
SIGMA_GROWTH = 5.0
# Newton steps at one sigma, at most: a dozen is typical.
MAX_STEPS_PER_SIGMA = 50
# If these do not suffice, sigma grows by the square root of its last factor, but at least by the
# first number. After a point that took at most the second number of steps, it grows by the square
# again. At the third number of points, even the least growth may not suffice.
MIN_GROWTH, MAX_EASY_STEPS, MAX_IN_VAIN = 1.1, 10, 3
# Steps of the active set that finishes a guess, at most: a right guess needs two or three.
MAX_GUESSES = 10
# A guess is worth a try once a step of sigma leaves this fraction of the undecided rows undecided:
# before that, it is almost never right.
MIN_STEADY_SHARE = 0.75
# The line search ends once the slope is this fraction of the initial one: more accurate steps save
# no Newton steps.
LINE_SEARCH_ACCURACY = 0.1
# Points that cost more than this, in units of the loss, are far from the end of the path, where the
# shares of a prior need not be met exactly.
EARLY_COST = 1e-6
# After this many steps, every other step changes the multiplier of one class of a prior: changing
# all at once fails where hardly any label can move.
MAX_JOINT_STEPS = 10
# Sigma, times rms(p), at most: beyond it, rounding dominates.
MAX_SIGMA = 1e14
# The gap to reach, as a fraction of the tolerance. A thousandth costs a few more steps and brings
# the labels, not only the loss, close to their limit.
GAP_GOAL = 1e-3
# Once the gap is that small, this many more values of sigma are tried until a guess is exact:
# labels that hardly affect the loss, compared with outlying rows, are decided only then.
MAX_CLOSE_SIGMAS = 6
# Rows with |p| below this fraction of its size at the centres are hardly decided: other labels may
# be optimal too, up to the accuracy of p.
UNDECIDED_P = 1e-9
# Singular values below this fraction of the longest column of M are rounding: they are roots of
# eigenvalues of a Gram matrix, where rounding leaves half the digits, and a little more.
RANK_ROUNDING = 1e-6
# The last pivot of a singular Gram matrix is rounding but, after another small pivot, it can be as
# large as this fraction of the first.
MIN_SAFE_PIVOT = 1e-4
# Singular Gram matrices larger than this are solved by proximal points, if these leave at most this
# fraction of the right-hand side: their eigendecomposition takes many times as long.
MAX_EIGH_SIZE, MAX_UNSOLVED = 600, 1e-8
# A gap of at most this many times its rounding is near the end of the path, whatever the tolerance:
# a few more values of sigma lead to rounding.
NEAR_END_FACTOR = 1e3


@dataclass(frozen=True)
class DualPoint:
    """A dual point Xi and ``P = M'Xi``."""

    xi: Floats
    p: Floats


@dataclass(frozen=True)
class PathPoint:
    """A point of the path, with its sigma and its labels."""

    sigma: float
    point: DualPoint
    q: Floats


def predicted_start(
    problem: LabelProblem, sigma: float, latest: PathPoint, previous: PathPoint | None
) -> DualPoint:
    """Return a start for the next sigma: the latest point, or a prediction with a smaller psi."""
    point, open_labels = latest.point, _open_at(problem, latest.q)
    if open_labels.freedom <= open_labels.n_equations:
        ahead = _with_the_same_faces(problem, sigma, latest, open_labels)
    elif previous is not None:
        ahead = _along_the_secant(sigma, latest, previous)
    else:
        return point
    return min((ahead, point), key=lambda start: _psi(problem, start, sigma))


def _open_at(problem: LabelProblem, q: Floats) -> OpenColumns:
    """Return the columns of the rows whose labels are not on the boundary of their sets."""
    return OpenColumns(problem.columns, problem.labels, problem.labels.open(q))


def _with_the_same_faces(
    problem: LabelProblem, sigma: float, latest: PathPoint, open_labels: OpenColumns
) -> DualPoint:
    """Return where the path would be if every label stayed on its face."""
    point = latest.point
    q = latest.q + (latest.sigma - sigma) * along(open_labels.face, point.p)
    g = problem.gradient(point.xi, problem.residual(q))
    change = open_labels.newton_direction(sigma, g, problem.held(point.xi, sigma))
    return DualPoint(point.xi + change, point.p + problem.columns.project(change))


def _along_the_secant(sigma: float, latest: PathPoint, previous: PathPoint) -> DualPoint:
    """Return the linear extrapolation in 1/sigma."""
    point, before = latest.point, previous.point
    ratio = (1 / sigma - 1 / latest.sigma) / (1 / latest.sigma - 1 / previous.sigma)
    return DualPoint(
        point.xi + ratio * (point.xi - before.xi), point.p + ratio * (point.p - before.p)
    )


def _psi(problem: LabelProblem, point: DualPoint, sigma: float) -> float:
    labels, xi = problem.labels, point.xi
    q = labels.project(labels.centre - sigma * point.p)
    inner = per_row(point.p * q + (q - labels.centre) ** 2 / (2 * sigma))
    total = weighted(inner, problem.columns.weight).sum()
    return problem.conjugate(xi) - float(total)


@dataclass(frozen=True)
class Trial:
    """A labelling, its gap, and whether it is the optimal labelling closest to the centres.

    ``nu`` are the multipliers of a prior that gave the gap, and ``feasible`` is whether its bounds
    are met: a labelling outside them is no solution, however small its gap.
    """

    q: Floats
    gap: float
    final: bool
    nu: Floats
    feasible: bool = True

    @property
    def order(self) -> tuple[bool, bool, float]:
        """A sort key, which is smaller for a better answer."""
        return not self.final, not self.feasible, self.gap


@dataclass(frozen=True)
class Rounding:
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
    best: Trial
    iterations: int


def solve_newton(
    problem: LabelProblem, tol: float, max_iter: int, start: tuple[float, Floats] | None = None
) -> Solution:
    """Return the optimal labelling closest to the centres of the label sets.

    ``start`` is (sigma, Xi) of a point near the path, if one is known.
    """
    steps = 0
    if start is None and is_large(problem):
        solution, steps = _by_gradients(problem, tol, max_iter)
        if solution is not None:
            return solution
    for last in follow_path(problem, tol, max_iter - steps, start):  # noqa: B007
        pass
    return Solution(last.best.q, steps + last.iterations, multipliers=last.best.nu)


def _by_gradients(problem: LabelProblem, tol: float, max_iter: int) -> tuple[Solution | None, int]:
    """Return what ``solve_newton`` does, if projected gradients lead there, and iterations."""
    aim = GAP_GOAL * problem.gap_within(tol)
    reached = minimise_by_gradients(problem, aim, max_steps=max_iter)
    if not reached.suffices:
        return None, reached.steps
    q, left = reached.labels, max_iter - reached.steps
    xi = problem.residual(q)
    rounding = rounding_thresholds(problem, DualPoint(xi, problem.columns.project(xi)))
    if reached.gap <= aim:
        guess, iterations = FaceGuess(problem, rounding, xi).best_from(q, aim, left, near_end=True)
    else:
        guess, iterations = _by_proximal_labels(problem, q, aim, left, rounding)
    iterations += reached.steps
    if not guess.final:
        return None, iterations
    return Solution(guess.q, iterations, multipliers=guess.nu), iterations


def follow_path(
    problem: LabelProblem, tol: float, max_iter: int, start: tuple[float, Floats] | None = None
) -> Iterator[Stage]:
    """Yield the start of the path and its points at growing sigma, until the solution is final.

    If ``start`` is given, the path is entered there, at (sigma, Xi).
    """
    columns, labels = problem.columns, problem.labels
    tol = problem.gap_within(tol)
    centres = centres_of(labels, problem.n_rows)
    xi = problem.residual(centres)
    point = DualPoint(xi, columns.project(xi))
    best = _judge(problem, centres, xi, 0.0 * problem.multipliers(xi))
    best = replace(best, final=best.feasible and best.gap <= GAP_GOAL * tol)
    rounding = rounding_thresholds(problem, point)
    first_sigma = 1.0 / max(size_of(point.p), 1e-300)
    sigma, iterations, close, undecided_before = first_sigma, 0, 0, -1
    yield Stage(0.0, xi, problem.n_rows, best, iterations)
    stride = Stride(PathPoint(first_sigma, point, centres))
    if start is not None and start[0] > sigma:
        sigma, point = start[0], DualPoint(start[1], columns.project(start[1]))
    while (
        not best.final
        and close < MAX_CLOSE_SIGMAS
        and iterations < max_iter
        and sigma < first_sigma * MAX_SIGMA
    ):
        budget = min(MAX_STEPS_PER_SIGMA, max_iter - iterations)
        arrived, q, residual, steps = minimise_psi(problem, sigma, point, budget)
        # The damping of a prior takes more steps, but not because of kinks.
        if steps == MAX_STEPS_PER_SIGMA and stride.can_be_shorter and problem.prior is None:
            sigma, point = stride.back(problem, sigma)
            iterations += steps + 1
            continue
        on_path = _judge(problem, q, residual, problem.multipliers(arrived.xi))
        close += on_path.feasible and on_path.gap <= GAP_GOAL * tol
        undecided = sum(len(face.rows) for face in faces_of(labels, labels.open(q)))
        near_end = undecided == undecided_before or (
            on_path.gap <= max(tol, NEAR_END_FACTOR * rounding.gap)
        )
        if near_end or undecided >= MIN_STEADY_SHARE * undecided_before:
            guesses = FaceGuess(problem, rounding, arrived.xi)
            guess, tries = guesses.best_from(
                q, GAP_GOAL * tol, max_iter - iterations - steps, near_end=near_end
            )
        else:
            guess, tries = on_path, 0
        best = min((best, on_path, guess), key=lambda answer: answer.order)
        iterations += steps + tries
        undecided_before = undecided
        yield Stage(sigma, arrived.xi, undecided, best, iterations)
        if not best.final:
            sigma, point = stride.ahead(problem, PathPoint(sigma, arrived, q), steps)
            iterations += 1  # a prediction solves a system as large as that of a step


class Stride:
    """How far to follow the path at once: less far where Newton's steps do not arrive.

    Between two kinks the path is a straight line, and a prediction is exact. Where kinks crowd, as
    they do if the weights of rows differ by many orders of magnitude, Newton's steps from a point
    beyond many of them are cut short at every kink.

    If they do not arrive even from close to the latest point, the reason may not be kinks but
    rounding: the usual stride follows, and after ``MAX_IN_VAIN`` such points always.
    """

    def __init__(self, start: PathPoint) -> None:
        self.start, self.growth = start, SIGMA_GROWTH
        self.latest: PathPoint | None = None
        self.previous: PathPoint | None = None
        self.can_be_shorter, self.in_vain = True, 0

    def ahead(
        self, problem: LabelProblem, arrived: PathPoint, steps: int
    ) -> tuple[float, DualPoint]:
        """Return the next (sigma, start) after a point that took some steps."""
        if steps == MAX_STEPS_PER_SIGMA and self.latest is not None:
            self.growth, self.in_vain = SIGMA_GROWTH, self.in_vain + 1
        elif steps <= MAX_EASY_STEPS:
            self.growth = min(self.growth**2, SIGMA_GROWTH)
        self.latest, self.previous = arrived, self.latest
        self.can_be_shorter = self.growth > MIN_GROWTH and self.in_vain < MAX_IN_VAIN
        return self._next(problem)

    def back(self, problem: LabelProblem, sigma: float) -> tuple[float, DualPoint]:
        """Return a (sigma, start) closer to the latest point than a sigma tried in vain."""
        if self.latest is None:
            sigma = max(sigma / SIGMA_GROWTH**2, self.start.sigma)
            self.can_be_shorter = sigma > self.start.sigma
            return sigma, self.start.point
        self.growth **= 0.5
        self.can_be_shorter = self.growth > MIN_GROWTH
        return self._next(problem)

    def _next(self, problem: LabelProblem) -> tuple[float, DualPoint]:
        assert self.latest is not None
        sigma = self.latest.sigma * self.growth
        return sigma, predicted_start(problem, sigma, self.latest, self.previous)


def size_of(p: Floats) -> float:
    """Return the root mean square of p."""
    return float(np.sqrt(np.vdot(p, p) / p.size))


def rounding_thresholds(problem: LabelProblem, point: DualPoint) -> Rounding:
    """Return the rounding thresholds of a problem, given the point from which it is solved."""
    columns = problem.columns
    lengths, size = columns.lengths(), np.linalg.norm(problem.target) + np.linalg.norm(point.xi)
    total = total_of(lengths, columns.weight)
    weak, singular_value = UNDECIDED_P * size_of(point.p), RANK_ROUNDING * float(lengths.max())
    return Rounding(weak, singular_value, float(EPS * size * total))


def _judge(problem: LabelProblem, q: Floats, residual: Floats, nu: Floats) -> Trial:
    """Return the labels q of a point of the path with their gap; they are not final yet."""
    gap = gap_of(problem, q, residual, nu)[2]
    return Trial(q, gap, final=False, nu=nu, feasible=problem.meets_prior(residual))


def gap_of(
    problem: LabelProblem, q: Floats, residual: Floats, nu: Floats
) -> tuple[Floats, Floats, float]:
    """Return (p, the slack of every row, the gap) of labels with this ``M Q - T``."""
    p = problem.columns.project(problem.dual_point(residual, nu))
    slack = problem.labels.slack(p, q)
    gap = total_of(slack, problem.columns.weight) + problem.prior_gap(residual, nu)
    return p, slack, gap


def minimise_psi(
    problem: LabelProblem,
    sigma: float,
    point: DualPoint,
    max_steps: int,
    centre: Floats | None = None,
) -> tuple[DualPoint, Floats, Floats, int]:
    """Return (dual point, labels Q, M Q - T, steps) near the minimum of psi.

    ``centre``, labels of the rows, takes the place of the centres of their sets.
    """
    columns, labels = problem.columns, problem.labels
    xi, p, damping = point.xi, point.p, 1.0
    for step in range(max_steps + 1):
        free = (labels.centre if centre is None else centre) - sigma * p
        q = labels.project(free)
        residual = problem.residual(q)
        g = problem.gradient(xi, residual)
        cost = total_of(labels.slack(p, q), columns.weight)
        if step == max_steps or (
            0.5 * float(np.vdot(g, g)) <= cost and _has_settled(problem, residual, g, cost)
        ):
            break
        held = problem.held(xi, sigma, damping)
        if held is not None and problem.prior is not None and step % 2 and step > MAX_JOINT_STEPS:
            direction = problem.prior.along_one(g, held.curvature, step // 2)
        else:
            direction = _open_at(problem, q).newton_direction(sigma, g, held)
        along = columns.project(direction)
        line = _Line(labels, free, sigma * along, weighted(along, columns.weight))
        length = _exact_step(line, xi + problem.target, direction, g, problem.prior)
        damping = min(damping * _change_of_damping(length), 1.0)
        xi, p = xi + length * direction, p + length * along
    return DualPoint(xi, p), q, residual, step


def _change_of_damping(length: float) -> float:
    """Return the factor for the damping of a prior after a step, as Levenberg and Marquardt do.

    A step that should have been longer was damped too much, and one that was far too long, too
    little. No constant damping suits problems where few rows connect two groups of classes: their
    curvature is far below that of a row.
    """
    if length >= 1.0:
        return 0.1
    return 10.0 if length < 0.1 else 1.0  # more than ten times too long


def _has_settled(problem: LabelProblem, residual: Floats, g: Floats, cost: float) -> bool:
    """Return whether the shares of a prior are accurate enough for this point of the path.

    Bounds that are not met now may be out of reach at a larger sigma, where few labels can move.
    """
    if problem.prior is None:
        return True
    early = cost > problem.gap_within(EARLY_COST)
    return problem.prior.settled(residual + problem.target, g, early=early)


@dataclass(frozen=True)
class _Line:
    """The labels ``project(free - s change)`` for steps s, and their product with the direction."""

    labels: LabelSet
    free: Floats
    change: Floats
    weighted_along: Floats

    def product(self, s: float) -> float:
        """Return ``<direction, M Q>`` at a step."""
        q = self.labels.project(self.free - s * self.change)
        return float(np.vdot(self.weighted_along.T, q.T))  # labels are stored class by class


def _exact_step(
    line: _Line, xi_t: Floats, direction: Floats, g: Floats, prior: Prior | None
) -> float:
    """Return the step length that minimises psi along the direction, to some accuracy.

    The derivative of psi along the direction is an increasing, piecewise linear function of the
    step: bracket its zero, then refine it by safeguarded linear interpolation.
    """
    level, slope = float(np.vdot(xi_t, direction)), float(np.vdot(direction, direction))

    def derivative(s: float) -> float:
        plain = level + s * slope - line.product(s)
        return plain if prior is None else plain - prior.reduction_along(xi_t, direction, s)

    low, at_low = 0.0, float(np.vdot(g, direction))
    accuracy = LINE_SEARCH_ACCURACY * abs(at_low)
    high, at_high = 1.0, derivative(1.0)
    while at_high < -accuracy:
        low, at_low, high = high, at_high, 2.0 * high
        at_high = derivative(high)
    s, at_s = high, at_high
    for _ in range(50):  # a guard: each step shortens the bracket by a twentieth or more
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


@dataclass(frozen=True)
class FaceGuess:
    """Searches for an optimal labelling with the decided rows fixed.

    Attributes
    ----------
    problem : LabelProblem
        The problem.
    rounding : Rounding
        Its rounding thresholds.
    xi : array
        A dual point: the guess keeps the bounds of a prior that are active there.
    """

    problem: LabelProblem
    rounding: Rounding
    xi: Floats

    def best_from(
        self, q: Floats, aim: float, max_tries: int, *, near_end: bool
    ) -> tuple[Trial, int]:
        """Return (the best labelling found from q, number of tries).

        While there are more free labels than equations, this pays off only near the end, once the
        supervised solution turns out to be feasible and their number stays the same.
        """
        problem, rounding, labels = self.problem, self.rounding, self.problem.labels
        best = Trial(q, np.inf, final=False, nu=problem.multipliers(self.xi))
        face = labels.open(q)
        tries = 0
        for tries in range(min(MAX_GUESSES, max_tries)):
            open_labels = OpenColumns(problem.columns, labels, face)
            size = open_labels.n_equations
            if open_labels.freedom > size and (not near_end or size > MAX_DIRECT_SIZE):
                return best, tries
            q, nu = self._refitted(q, open_labels)
            residual = problem.residual(q)
            p, slack, gap = gap_of(problem, q, residual, nu)
            feasible = problem.meets_prior(residual)
            if feasible and gap <= max(aim, rounding.gap):
                tied = tied_entries(labels, p, rounding.p)
                if not np.array_equal(labels.open(q), face):
                    open_labels = _open_at(problem, q)
                closest = _is_closest_to_centres(q, tied, open_labels)
                return Trial(q, gap, final=closest, nu=nu), tries + 1
            if gap > 0.5 * best.gap:
                return best, tries + 1
            best = Trial(q, gap, final=False, nu=nu, feasible=feasible)
            # Faces shrink where a label reached their boundary. Those of the other rows grow where
            # their label is on the wrong boundary.
            kept = face & labels.open(q)
            unchanged = per_row(face.astype(np.intp)) == per_row(kept.astype(np.intp))
            wrong = unchanged & (slack > aim / len(q))
            face = kept | (wrong if q.ndim == 1 else wrong[:, None] & (labels.best(p) > 0))
        return best, max(0, min(MAX_GUESSES, max_tries))

    def _refitted(self, q: Floats, open_labels: OpenColumns) -> tuple[Floats, Floats]:
        """Refit the labels inside some faces, as close to the centres as a best fit allows.

        Return them with the multipliers of those bounds of a prior that are active at Xi.
        """
        problem, labels, face = self.problem, self.problem.labels, open_labels.face
        if not open_labels.faces:
            return q, problem.multipliers(self.xi)
        q, centres = q.copy(), centres_of(on_face(labels, face), len(face))
        for part in open_labels.faces:
            q[part.rows] = centres[part.rows]
        missing = flat(labels, -problem.residual(q))
        if open_labels.freedom > len(missing):
            nu = self._move_many(q, open_labels, missing)
        elif (
            problem.prior is None
            and open_labels.by_class_is_faster()
            and (system := open_labels.least_norm) is not None
        ):
            moves = system.least_norm(open_labels.across(unflat(labels, missing)))
            weight, nu = problem.columns.weight, np.zeros(0)
            q[open_labels.rows] += (
                moves if weight is None else moves / np.sqrt(weight[open_labels.rows])[:, None]
            )
        else:
            nu = self._move_few(q, open_labels, missing)
        return np.asarray(labels.project(q)), nu

    def _move_many(self, q: Floats, open_labels: OpenColumns, missing: Floats) -> Floats:
        """Move more free labels than there are equations, so that M Q changes by ``missing``.

        They are changed in place. Return the multipliers of a prior.
        """
        G, rounding = open_labels.hessian(), self.rounding
        moved, nu = self._moved_target(missing, lambda b: G @ _solve_gram(G, b, rounding))
        change = unflat(self.problem.labels, _solve_gram(G, moved, rounding))
        q += along(open_labels.face, self.problem.columns.project(change))
        return nu

    def _move_few(self, q: Floats, open_labels: OpenColumns, missing: Floats) -> Floats:
        """Do the same with fewer free labels than equations, as closely as these labels allow."""
        G, weight = open_labels.gram(), self.problem.columns.weight

        def solved(b: Floats) -> Floats:
            return _solve_gram(G, open_labels.along_flat(b), self.rounding)

        moved, nu = self._moved_target(missing, lambda b: open_labels.sum_flat(solved(b)))
        for part, step in zip(open_labels.faces, open_labels.split(solved(moved)), strict=True):
            if weight is not None:
                step = step / np.sqrt(weight[part.rows])
            q[part.rows] += step[0] if q.ndim == 1 else step.T @ part.directions.T
        return nu

    def _moved_target(
        self, missing: Floats, fitted: Callable[[Floats], Floats]
    ) -> tuple[Floats, Floats]:
        """Return (the target moved along a prior's direction to meet its active bounds, nu).

        ``missing``, flat, is the target minus the M Q from which some labels move. ``fitted``
        returns the change of M Q if these labels fit a target best. Multipliers without an effect
        are those at Xi.
        """
        xi, labels, prior = self.xi, self.problem.labels, self.problem.prior
        held, nu = self.problem.held(xi, np.inf), self.problem.multipliers(xi)
        if held is None or prior is None:
            return missing, nu
        V = held.directions
        # From M Q to where it would be with all active shares at their bounds.
        wanted = V.T @ (flat(labels, xi - prior.pull(nu / (1.0 - BOUND_SOFTNESS))) + missing)
        moved = missing - flat(labels, prior.pull(nu))
        step = np.linalg.lstsq(V.T @ fitted(V), wanted - V.T @ fitted(moved), rcond=None)[0]
        change = V @ step
        nu = nu - (prior.direction @ unflat(labels, change)) / prior.length**2
        return moved + change, np.asarray(nu)


def _is_closest_to_centres(q: Floats, tied: Mask, open_labels: OpenColumns) -> bool:
    """Return whether an optimal q is the optimal labelling closest to the centres.

    A row on the boundary that could leave it at no cost, along the tied entries, could have another
    label. Its label is right if the labels that minimise the distance to the centres,
    ``project(c + M'V)`` for some V, leave it on the boundary; V follows from the rows inside.
    """
    labels, face = open_labels.labels, open_labels.face
    doubtful = np.flatnonzero(per_row((tied & ~face).astype(np.intp)))
    if not len(doubtful):
        return True
    v = np.zeros(open_labels.n_equations)
    if open_labels.faces:
        v = _direction_to(open_labels, q - centres_of(on_face(labels, face), len(face)))
    # Entries that are neither tied nor open have a cost, which decides them.
    sets = on_face(labels.take(doubtful), (tied | face)[doubtful])
    closest = sets.project(sets.centre + open_labels.columns.project(unflat(labels, v))[doubtful])
    # Labels are of order 1, and a direction from singular values has about half its digits.
    return bool(np.allclose(closest, q[doubtful], rtol=0.0, atol=1e-7))


def _direction_to(open_labels: OpenColumns, off: Floats) -> Floats:
    """Return the shortest V for which ``M'V`` is closest to some values along the faces, flat."""
    more_equations = open_labels.n_equations >= open_labels.freedom
    if open_labels.columns.weight is None and more_equations and open_labels.by_class_is_faster():
        system = open_labels.least_norm
        if system is not None:
            Y = system.least_norm(off[open_labels.rows])
            return flat(open_labels.labels, open_labels.weighted_columns @ Y)
    # Singular values below this fraction of the largest are rounding.
    A, wanted = open_labels.matrix(), open_labels.components(off)
    return np.asarray(np.linalg.lstsq(A.T, wanted, rcond=1e-10)[0])


def _solve_gram(G: Floats, b: Floats, rounding: Rounding) -> Floats:
    """Return the minimum-norm minimiser of ``||G x - b||``, for a Gram matrix of columns of M."""
    factor, info = cholesky(G)
    diagonal = np.diag(factor)
    if info == 0 and diagonal.min() > max(rounding.singular_value, MIN_SAFE_PIVOT * diagonal.max()):
        return np.asarray(lapack.dpotrs(factor, b, lower=1)[0])
    if len(G) > MAX_EIGH_SIZE and (x := _by_proximal_points(G, b)) is not None:
        return x
    values, V = np.linalg.eigh(G)
    kept = values > max(rounding.singular_value**2, RANK_ROUNDING**2 * values[-1])
    return np.asarray(V[:, kept] @ ((b.T @ V[:, kept]) / values[kept]).T)


# The first sigma, times the size of p at the start: much smaller ones forget the start, and much
# larger ones need many steps. A fifth to five times as much takes about as long.
FIRST_SIGMA = 25.0
# A gap of at most this many times its rounding is rounding, which is estimated and not bounded.
ROUNDING_FACTOR = 10.0
# If the labels of a start have more free parameters than this, gradients are tried first. Their
# labels are not exact, so their gap has to be smaller than that of a guess by this factor: equal
# models then have equal scores, up to rounding.
MAX_NEWTON_FREEDOM, INEXACT_GAP_SHARE = 400, 1e-3
# Starts that do not lead to the solution within this many values of sigma, of this many steps each,
# are not worth following.
MAX_WARM_SIGMAS, MAX_WARM_STEPS = 8, 30


def solve_from(problem: LabelProblem, start: Floats, tol: float, max_iter: int) -> Solution | None:
    """Return an optimal labelling by a warm start from that of a similar problem, or None."""
    columns, labels = problem.columns, problem.labels
    aim = GAP_GOAL * problem.gap_within(tol)
    xi = problem.residual(start)
    point = DualPoint(xi, columns.project(xi))
    rounding = rounding_thresholds(problem, point)
    enough, steps = ROUNDING_FACTOR * rounding.gap, 0
    if total_of(labels.slack(point.p, start), columns.weight) <= enough:
        return Solution(start, 0, proven=True)
    if is_large(problem) and _open_at(problem, start).freedom > MAX_NEWTON_FREEDOM:
        goal = max(enough, INEXACT_GAP_SHARE * aim)
        reached = minimise_by_gradients(problem, goal, start, max_steps=max_iter)
        steps = reached.steps
        if reached.suffices:
            start = reached.labels
            if reached.gap <= goal:
                return Solution(start, steps, proven=True)
    trial, iterations = _by_proximal_labels(problem, start, aim, max_iter - steps, rounding)
    if trial.gap > max(aim, rounding.gap):
        return None
    return Solution(trial.q, steps + iterations, proven=True)


def _by_proximal_labels(
    problem: LabelProblem, q: Floats, aim: float, max_iter: int, rounding: Rounding
) -> tuple[Trial, int]:
    """Return (the labels to which those of a similar problem lead, number of iterations).

    Their gap is within the aim, unless this takes more than a few values of sigma.
    """
    nothing, xi = Trial(q, np.inf, final=False, nu=np.zeros(0)), problem.residual(q)
    guesses, open_labels = FaceGuess(problem, rounding, xi), _open_at(problem, q)
    sigma, iterations = FIRST_SIGMA / max(size_of(problem.columns.project(xi)), 1e-300), 0
    for number in range(MAX_WARM_SIGMAS):
        if iterations >= max_iter:
            break
        # Where the proximal problem has its minimum if no label leaves its face.
        start = open_labels.newton_direction(sigma, -problem.residual(q), exact=True)
        point = DualPoint(start, problem.columns.project(start))
        budget = min(MAX_WARM_STEPS, max_iter - iterations)
        _, q, residual, steps = minimise_psi(problem, sigma, point, budget, centre=q)
        if steps == budget:
            break
        before, open_labels = open_labels.freedom, _open_at(problem, q)
        iterations, sigma = iterations + steps + 1, sigma * SIGMA_GROWTH
        if number == 0 and steps > 0:
            continue  # faces have changed: a guess would rarely be right
        if open_labels.freedom > open_labels.n_equations:
            reached = _judge(problem, q, residual, problem.multipliers(xi))
            if reached.gap <= ROUNDING_FACTOR * rounding.gap:
                # More labels are free than there are equations: proximal points end at one of many
                # solutions, which is not the one that a guess would find.
                return reached, iterations
        guess, tries = guesses.best_from(
            q, aim, max_iter - iterations, near_end=open_labels.freedom == before
        )
        iterations += tries
        if guess.gap <= max(aim, rounding.gap):
            return guess, iterations
    return nothing, iterations


def _by_proximal_points(G: Floats, b: Floats) -> Floats | None:
    """Do the same for b in the range of G, in a fraction of the time; None if inaccurate."""
    H, x, left = G.copy(), np.zeros_like(b), b
    H.flat[:: len(H) + 1] += PROXIMAL_RIDGE * float(G.diagonal().max())
    factor, info = cholesky(H, overwrite=True)
    for _ in range(MAX_PROXIMAL_POINTS if info == 0 else 0):
        x = x + lapack.dpotrs(factor, left, lower=1)[0]
        left = b - G @ x
        if np.linalg.norm(left) <= PROXIMAL_ROUNDING * np.linalg.norm(b):
            break
    # What is left belongs to directions that hardly matter; a guess is judged by its gap.
    return np.asarray(x) if np.linalg.norm(left) <= MAX_UNSOLVED * np.linalg.norm(b) else None
