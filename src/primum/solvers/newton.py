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

where E_i are the directions in which q_i can still move: its face (``open_labels.py``). A prior
replaces the first two terms of psi and the I of its Hessian (``labellings.prior``).

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

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats, Mask
from primum.equations.coordinates import EPS
from primum.labellings.prior import BOUND_SOFTNESS
from primum.labellings.problem import LabelProblem, Solution, per_row, total_of, weighted
from primum.labellings.sets import along, centres_of, keys_of, on_face, tied_entries
from primum.solvers.class_blocks import MAX_PROXIMAL_POINTS, PROXIMAL_RIDGE, PROXIMAL_ROUNDING
from primum.solvers.gradient import minimise_by_gradients
from primum.solvers.open_labels import MAX_DIRECT_SIZE, OpenLabels, cholesky, flat, unflat

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
# Gradients come first if the smaller of the numbers of labels and equations, times classes, is at
# least this: below it, Newton's method takes less time. With wide rows (the second number), single
# precision and labels near their faces are enough.
MIN_LARGE_SIZE, MIN_WIDE_SIZE = 2000, 1200


@dataclass(frozen=True)
class Point:
    """A point of the path: its sigma, the dual point Xi, ``P = M'Xi`` and the labels Q."""

    sigma: float
    xi: Floats
    p: Floats
    q: Floats


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


def is_large(problem: LabelProblem) -> bool:
    """Return whether there are many equations and many labels, so that gradients may pay off."""
    K = problem.labels.shape[0] if problem.labels.shape else 1
    r, n = problem.columns.shape
    if problem.prior is not None:
        return False
    wide = n <= 2 * r  # at most twice as many rows as equations
    return min(r, n) * K >= MIN_WIDE_SIZE if wide else K > 1 and min(r, n) * K >= MIN_LARGE_SIZE


def follow_path(
    problem: LabelProblem, tol: float, max_iter: int, start: tuple[float, Floats] | None = None
) -> Iterator[Stage]:
    """Yield the start of the path and its points at growing sigma, until the solution is final.

    If ``start`` is given, the path is entered there, at (sigma, Xi).
    """
    # The path starts at the centres of the label sets, with sigma close to 0.
    columns, labels, tol = problem.columns, problem.labels, problem.gap_within(tol)
    centres = centres_of(labels, columns.shape[1])
    xi = problem.residual(centres)
    p = columns.project(xi)
    nu = 0.0 * problem.multipliers(xi)
    _, _, gap, feasible = problem.gap_of(centres, xi, nu)
    best = Trial(centres, gap, feasible and gap <= GAP_GOAL * tol, nu, feasible)
    rounding = rounding_thresholds(problem, xi, p)
    sigma = first_sigma = 1.0 / max(float(np.sqrt(np.vdot(p, p) / p.size)), 1e-300)
    yield Stage(0.0, xi, columns.shape[1], best, 0)

    # Sigma grows by ``growth``. Between two kinks the path is a straight line, and a prediction is
    # exact. Where kinks crowd, as they do if the weights of rows differ by many orders of
    # magnitude, Newton's steps from beyond many of them are cut short at every kink: sigma then
    # grows by less. If steps do not arrive even from close by, the reason may not be kinks but
    # rounding: the usual growth follows, and after ``MAX_IN_VAIN`` such points always.
    first = Point(sigma, xi, p, centres)
    latest: Point | None = None
    previous: Point | None = None
    growth, can_be_shorter, in_vain = SIGMA_GROWTH, True, 0
    iterations, close, undecided_before = 0, 0, -1
    if start is not None and start[0] > sigma:
        sigma, xi = start
        p = columns.project(xi)
    while (
        not best.final
        and close < MAX_CLOSE_SIGMAS
        and iterations < max_iter
        and sigma < first_sigma * MAX_SIGMA
    ):
        budget = min(MAX_STEPS_PER_SIGMA, max_iter - iterations)
        arrived, residual, steps = minimise_psi(problem, sigma, xi, p, budget)
        # Too far: go back. The damping of a prior takes more steps, but not because of kinks.
        if steps == MAX_STEPS_PER_SIGMA and can_be_shorter and problem.prior is None:
            iterations += steps + 1
            if latest is None:
                sigma = max(sigma / SIGMA_GROWTH**2, first.sigma)
                can_be_shorter, xi, p = sigma > first.sigma, first.xi, first.p
            else:
                growth **= 0.5
                can_be_shorter, sigma = growth > MIN_GROWTH, latest.sigma * growth
                xi, p = predicted_start(problem, sigma, latest, previous)
            continue

        # Judge the point, and guess that its faces are those of the solution.
        q, nu = arrived.q, problem.multipliers(arrived.xi)
        _, _, gap, feasible = problem.gap_of(q, residual, nu)
        on_path = guess = Trial(q, gap, final=False, nu=nu, feasible=feasible)
        close += feasible and gap <= GAP_GOAL * tol
        undecided = int(np.count_nonzero(keys_of(labels.open(q))))
        near_end = undecided == undecided_before or gap <= max(tol, NEAR_END_FACTOR * rounding.gap)
        tries = 0
        if near_end or undecided >= MIN_STEADY_SHARE * undecided_before:
            left = max_iter - iterations - steps
            guess, tries = guess_labels(
                problem, rounding, arrived.xi, q, GAP_GOAL * tol, left, near_end=near_end
            )
        best = min((best, on_path, guess), key=attrgetter("order"))
        iterations, undecided_before = iterations + steps + tries, undecided
        yield Stage(sigma, arrived.xi, undecided, best, iterations)
        if best.final:
            return

        # Predict the next point.
        if steps == MAX_STEPS_PER_SIGMA and latest is not None:
            growth, in_vain = SIGMA_GROWTH, in_vain + 1
        elif steps <= MAX_EASY_STEPS:
            growth = min(growth**2, SIGMA_GROWTH)
        previous, latest = latest, arrived
        can_be_shorter = growth > MIN_GROWTH and in_vain < MAX_IN_VAIN
        sigma = arrived.sigma * growth
        xi, p = predicted_start(problem, sigma, latest, previous)
        iterations += 1  # a prediction solves a system as large as that of a step


def predicted_start(
    problem: LabelProblem, sigma: float, latest: Point, previous: Point | None
) -> tuple[Floats, Floats]:
    """Return (Xi, P) for the next sigma: the latest point, or a prediction with a smaller psi."""
    columns, labels, xi = problem.columns, problem.labels, latest.xi
    open_labels = OpenLabels(columns, labels, labels.open(latest.q))
    if open_labels.freedom <= open_labels.n_equations:  # where it would be on the same faces
        q = latest.q + (latest.sigma - sigma) * along(open_labels.face, latest.p)
        g = problem.gradient(xi, problem.residual(q))
        held = None if problem.prior is None else problem.held(xi, sigma)
        change = open_labels.newton_direction(sigma, g, held)
        ahead = xi + change, latest.p + columns.project(change)
    elif previous is not None:  # along the secant, in 1 / sigma
        ratio = (1 / sigma - 1 / latest.sigma) / (1 / latest.sigma - 1 / previous.sigma)
        ahead = xi + ratio * (xi - previous.xi), latest.p + ratio * (latest.p - previous.p)
    else:
        return xi, latest.p

    def psi(start: tuple[Floats, Floats]) -> float:
        xi, p = start
        q = labels.project(labels.centre - sigma * p)
        inner = per_row(p * q + (q - labels.centre) ** 2 / (2 * sigma))
        total = inner.sum() if columns.weight is None else (inner * columns.weight).sum()
        return problem.conjugate(xi) - float(total)

    return min((ahead, (xi, latest.p)), key=psi)


def rounding_thresholds(problem: LabelProblem, xi: Floats, p: Floats) -> Rounding:
    """Return the rounding thresholds of a problem, given the Xi and P from which it is solved."""
    lengths, weight = problem.columns.lengths(), problem.columns.weight
    size = np.linalg.norm(problem.target) + np.linalg.norm(xi)
    weak = UNDECIDED_P * float(np.sqrt(np.vdot(p, p) / p.size))
    singular_value = RANK_ROUNDING * float(lengths.max())
    total = float(lengths.sum() if weight is None else lengths @ weight)
    return Rounding(weak, singular_value, float(EPS * size * total))


def minimise_psi(
    problem: LabelProblem,
    sigma: float,
    xi: Floats,
    p: Floats,
    max_steps: int,
    centre: Floats | None = None,
) -> tuple[Point, Floats, int]:
    """Return (a point near the minimum of psi at sigma, its ``M Q - T``, steps).

    The steps start at Xi and ``P = M'Xi``. ``centre``, labels of the rows, takes the place of the
    centres of their sets.
    """
    columns, labels, prior, damping = problem.columns, problem.labels, problem.prior, 1.0
    for step in range(max_steps + 1):
        free = (labels.centre if centre is None else centre) - sigma * p
        q = labels.project(free)
        residual = problem.residual(q)
        g = problem.gradient(xi, residual)
        slack = labels.slack(p, q)
        cost = float(slack.sum() if columns.weight is None else slack @ columns.weight)
        if step == max_steps:
            break
        if 0.5 * float(np.vdot(g, g)) <= cost:  # the rest of the gap is the cost of a finite sigma
            # Bounds that are not met now may be out of reach at a larger sigma, where few labels
            # can move.
            early = cost > problem.gap_within(EARLY_COST)
            if prior is None or prior.settled(residual + problem.target, g, early=early):
                break
        held = None if prior is None else problem.held(xi, sigma, damping)
        if held is not None and prior is not None and step % 2 and step > MAX_JOINT_STEPS:
            direction = prior.along_one(g, held.curvature, step // 2)
        else:
            open_labels = OpenLabels(columns, labels, labels.open(q))
            direction = open_labels.newton_direction(sigma, g, held)
        change = columns.project(direction)
        s = line_search(problem, xi, free, sigma, direction, change, g)
        # Levenberg and Marquardt: a step that should have been longer was damped too much, and one
        # that was more than ten times too long, too little. No constant damping suits problems
        # where few rows connect two groups of classes: their curvature is far below that of a row.
        damping = min(damping * (0.1 if s >= 1.0 else 10.0 if s < 0.1 else 1.0), 1.0)
        xi, p = xi + s * direction, p + s * change
    return Point(sigma, xi, p, q), residual, step


def line_search(
    problem: LabelProblem,
    xi: Floats,
    free: Floats,
    sigma: float,
    direction: Floats,
    change: Floats,
    g: Floats,
) -> float:
    """Return the step length that minimises psi along the direction, to some accuracy.

    The derivative of psi along the direction is an increasing, piecewise linear function of the
    step: bracket its zero, then refine it by safeguarded linear interpolation. ``free`` are the
    labels before their projection, ``change`` is M' times the direction, and ``g`` the gradient.
    """
    z, labels, prior = xi + problem.target, problem.labels, problem.prior
    level, slope = float(np.vdot(z, direction)), float(np.vdot(direction, direction))
    weight, moved = problem.columns.weight, sigma * change
    weighted_change = change if weight is None else weighted(change, weight)

    def derivative(s: float) -> float:
        q = labels.project(free - s * moved)
        plain = level + s * slope - float(np.vdot(weighted_change.T, q.T))  # stored class by class
        return plain if prior is None else plain - prior.reduction_along(z, direction, s)

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


def guess_labels(
    problem: LabelProblem,
    rounding: Rounding,
    xi: Floats,
    q: Floats,
    aim: float,
    max_tries: int,
    *,
    near_end: bool,
) -> tuple[Trial, int]:
    """Return (the best labelling found with the decided rows of q fixed, number of tries).

    While there are more free labels than equations, this pays off only near the end, once the
    supervised solution turns out to be feasible and their number stays the same. A guess keeps the
    bounds of a prior that are active at Xi.
    """
    labels, columns = problem.labels, problem.columns
    best, face = Trial(q, np.inf, final=False, nu=problem.multipliers(xi)), labels.open(q)
    max_tries = max(0, min(MAX_GUESSES, max_tries))
    for tries in range(max_tries):
        open_labels = OpenLabels(columns, labels, face)
        size = open_labels.n_equations
        if open_labels.freedom > size and (not near_end or size > MAX_DIRECT_SIZE):
            return best, tries
        q, nu = refit(problem, rounding, xi, q, open_labels)
        p, slack, gap, feasible = problem.gap_of(q, problem.residual(q), nu)
        if feasible and gap <= max(aim, rounding.gap):
            tied = tied_entries(labels, p, rounding.p)
            if not np.array_equal(labels.open(q), face):
                open_labels = OpenLabels(columns, labels, labels.open(q))
            closest = is_closest_to_centres(q, tied, open_labels)
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
    return best, max_tries


def refit(
    problem: LabelProblem, rounding: Rounding, xi: Floats, q: Floats, open_labels: OpenLabels
) -> tuple[Floats, Floats]:
    """Refit the labels inside some faces, as close to the centres as a best fit allows.

    Return them with the multipliers of those bounds of a prior that are active at Xi; multipliers
    without an effect are those at Xi.
    """
    columns, labels, prior = problem.columns, problem.labels, problem.prior
    weight = columns.weight
    nu = problem.multipliers(xi)
    if not open_labels.faces:
        return q, nu
    q, centres = q.copy(), centres_of(on_face(labels, open_labels.face), len(open_labels.face))
    for rows, _ in open_labels.faces:
        q[rows] = centres[rows]
    missing = flat(labels, -problem.residual(q))

    # Fewer labels than equations, class by class.
    many = open_labels.freedom > len(missing)
    if not many and prior is None and labels.shape and open_labels.by_class_is_faster():
        system = open_labels.least_norm
        if system is not None:
            M, rows = open_labels.weighted_columns, open_labels.rows
            moves = system.least_norm(np.asarray(M.T @ unflat(labels, missing)))
            q[rows] += moves if weight is None else moves / np.sqrt(weight[rows])[:, None]
            return np.asarray(labels.project(q)), np.zeros(0)

    # What moves M Q by b, or as close to it as these labels allow, and how close that is.
    G = open_labels.hessian() if many else open_labels.gram()

    def solved(b: Floats) -> Floats:
        return solve_gram(G, b if many else open_labels.along_flat(b), rounding)

    def fitted(b: Floats) -> Floats:
        return G @ solved(b) if many else open_labels.sum_flat(solved(b))

    # Active shares are held at their bounds: the target moves along the direction of the prior.
    held = None if prior is None else problem.held(xi, np.inf)
    if held is not None and prior is not None:
        V = held.directions
        wanted = V.T @ (flat(labels, xi - prior.pull(nu / (1.0 - BOUND_SOFTNESS))) + missing)
        moved = missing - flat(labels, prior.pull(nu))
        step = np.linalg.lstsq(V.T @ fitted(V), wanted - V.T @ fitted(moved), rcond=None)[0]
        change = V @ step
        nu = np.asarray(nu - (prior.direction @ unflat(labels, change)) / prior.length**2)
        missing = moved + change
    if many:
        q += along(open_labels.face, columns.project(unflat(labels, solved(missing))))
        return np.asarray(labels.project(q)), nu
    parts = open_labels.split(solved(missing))
    for (rows, directions), part in zip(open_labels.faces, parts, strict=True):
        if weight is not None:
            part = part / np.sqrt(weight[rows])
        q[rows] += part[0] if q.ndim == 1 else part.T @ directions.T
    return np.asarray(labels.project(q)), nu


def is_closest_to_centres(q: Floats, tied: Mask, open_labels: OpenLabels) -> bool:
    """Return whether an optimal q is the optimal labelling closest to the centres.

    A row on the boundary that could leave it at no cost, along the tied entries, could have another
    label. Its label is right if the labels that minimise the distance to the centres,
    ``project(c + M'V)`` for some V, leave it on the boundary; V follows from the rows inside.
    """
    labels, face, columns = open_labels.labels, open_labels.face, open_labels.columns
    doubtful = np.flatnonzero(per_row((tied & ~face).astype(np.intp)))
    if not len(doubtful):
        return True

    # The shortest V for which M'V is closest to what the rows inside are off, along their faces.
    v = np.zeros(open_labels.n_equations)
    if open_labels.faces:
        off = q - centres_of(on_face(labels, face), len(face))
        more_equations = open_labels.n_equations >= open_labels.freedom
        by_class = columns.weight is None and more_equations and open_labels.by_class_is_faster()
        system = open_labels.least_norm if by_class else None
        if system is not None:
            moves = system.least_norm(off[open_labels.rows])
            v = flat(labels, open_labels.weighted_columns @ moves)
        else:  # singular values below this fraction of the largest are rounding
            A, wanted = open_labels.matrix(), open_labels.components(off)
            v = np.asarray(np.linalg.lstsq(A.T, wanted, rcond=1e-10)[0])

    # Entries that are neither tied nor open have a cost, which decides them.
    sets = on_face(labels.take(doubtful), (tied | face)[doubtful])
    closest = sets.project(sets.centre + columns.project(unflat(labels, v))[doubtful])
    # Labels are of order 1, and a direction from singular values has about half its digits.
    return bool(np.allclose(closest, q[doubtful], rtol=0.0, atol=1e-7))


def solve_gram(G: Floats, b: Floats, rounding: Rounding) -> Floats:
    """Return the minimum-norm minimiser of ``||G x - b||``, for a Gram matrix of columns of M."""
    factor, info = cholesky(G)
    diagonal = np.diag(factor)
    if info == 0 and diagonal.min() > max(rounding.singular_value, MIN_SAFE_PIVOT * diagonal.max()):
        return np.asarray(lapack.dpotrs(factor, b, lower=1)[0])
    if len(G) > MAX_EIGH_SIZE:  # proximal points, for b in the range of G
        H, x, left = G.copy(), np.zeros_like(b), b
        H.flat[:: len(H) + 1] += PROXIMAL_RIDGE * float(G.diagonal().max())
        factor, info = cholesky(H, overwrite=True)
        for _ in range(MAX_PROXIMAL_POINTS if info == 0 else 0):
            x = x + lapack.dpotrs(factor, left, lower=1)[0]
            left = b - G @ x
            if np.linalg.norm(left) <= PROXIMAL_ROUNDING * np.linalg.norm(b):
                break
        # What is left belongs to directions that hardly matter; a guess is judged by its gap.
        if np.linalg.norm(left) <= MAX_UNSOLVED * np.linalg.norm(b):
            return np.asarray(x)
    values, V = np.linalg.eigh(G)
    kept = values > max(rounding.singular_value**2, RANK_ROUNDING**2 * values[-1])
    return np.asarray(V[:, kept] @ ((b.T @ V[:, kept]) / values[kept]).T)


def _by_gradients(problem: LabelProblem, tol: float, max_iter: int) -> tuple[Solution | None, int]:
    """Return what ``solve_newton`` does, if projected gradients lead there, and iterations."""
    aim = GAP_GOAL * problem.gap_within(tol)
    reached = minimise_by_gradients(problem, aim, max_steps=max_iter)
    if not reached.suffices:
        return None, reached.steps
    q, left = reached.labels, max_iter - reached.steps
    xi = problem.residual(q)
    rounding = rounding_thresholds(problem, xi, problem.columns.project(xi))
    if reached.gap <= aim:
        guess, iterations = guess_labels(problem, rounding, xi, q, aim, left, near_end=True)
    else:
        guess, iterations = _by_proximal_labels(problem, q, aim, left, rounding)
    iterations += reached.steps
    if not guess.final:
        return None, iterations
    return Solution(guess.q, iterations, multipliers=guess.nu), iterations


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
    p = columns.project(xi)
    rounding = rounding_thresholds(problem, xi, p)
    enough, steps = ROUNDING_FACTOR * rounding.gap, 0
    if total_of(labels.slack(p, start), columns.weight) <= enough:
        return Solution(start, 0, proven=True)
    freedom = OpenLabels(columns, labels, labels.open(start)).freedom
    if is_large(problem) and freedom > MAX_NEWTON_FREEDOM:
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
    columns, labels, xi = problem.columns, problem.labels, problem.residual(q)
    open_labels = OpenLabels(columns, labels, labels.open(q))
    p = columns.project(xi)
    sigma = FIRST_SIGMA / max(float(np.sqrt(np.vdot(p, p) / p.size)), 1e-300)
    iterations = 0
    for number in range(MAX_WARM_SIGMAS):
        if iterations >= max_iter:
            break
        # Where the proximal problem has its minimum if no label leaves its face.
        ahead = open_labels.newton_direction(sigma, -problem.residual(q), exact=True)
        budget = min(MAX_WARM_STEPS, max_iter - iterations)
        arrived, residual, steps = minimise_psi(
            problem, sigma, ahead, columns.project(ahead), budget, centre=q
        )
        q = arrived.q
        if steps == budget:
            break
        before, open_labels = open_labels.freedom, OpenLabels(columns, labels, labels.open(q))
        iterations, sigma = iterations + steps + 1, sigma * SIGMA_GROWTH
        if number == 0 and steps > 0:
            continue  # faces have changed: a guess would rarely be right
        if open_labels.freedom > open_labels.n_equations:
            nu = problem.multipliers(xi)
            _, _, gap, feasible = problem.gap_of(q, residual, nu)
            if gap <= ROUNDING_FACTOR * rounding.gap:
                # More labels are free than there are equations: proximal points end at one of many
                # solutions, which is not the one that a guess would find.
                return Trial(q, gap, final=False, nu=nu, feasible=feasible), iterations
        near_end, left = open_labels.freedom == before, max_iter - iterations
        guess, tries = guess_labels(problem, rounding, xi, q, aim, left, near_end=near_end)
        iterations += tries
        if guess.gap <= max(aim, rounding.gap):
            return guess, iterations
    return Trial(q, np.inf, final=False, nu=np.zeros(0)), iterations
