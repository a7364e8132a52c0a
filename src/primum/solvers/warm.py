"""Newton's method from the solution of a similar problem.

The path of ``newton.py`` forgets where it starts from. Proximal points do not: with the labels c of
a similar problem, or of the previous step, instead of the centres of the label sets,

    minimise over q_i in S_i    1/2 ||M Q - T||^2 + 1/(2 sigma) sum_i w_i ||q_i - c_i||^2

has a solution that leaves most rows on the face of c. Its dual is solved by the same Newton steps.
They start where these faces are right: with the rows F inside of them,

    (I + sigma M_F M_F') Xi = M c - T.

Then sigma grows and c becomes the solution, until a guess of the faces is exact, as on the path.
Whatever the start, the labels are proven to be optimal, or there is no answer. If several are
optimal, they need not be the ones closest to the centres: this is for models that depend on M Q
alone.
"""

from primum._typing import Floats
from primum.labellings.problem import LabelProblem, Solution, total_of
from primum.solvers import newton
from primum.solvers.faces import Face, faces_of, freedom_of, n_contrasts, newton_direction

# The first sigma, times the size of p at the start: much smaller ones forget the start, and much
# larger ones need many steps. From a fifth to five times as much takes about as long.
FIRST_SIGMA = 25.0
# A gap of at most this many times its rounding is rounding.
ROUNDING_FACTOR = 10.0
# Starts that do not lead to the solution within this many values of sigma, of this many steps each,
# are not worth following.
MAX_SIGMAS, STEPS_PER_SIGMA = 8, 30


def solve_from(problem: LabelProblem, start: Floats, tol: float, max_iter: int) -> Solution | None:
    """Return an optimal labelling, found from that of a similar problem, or None."""
    columns, labels = problem.columns, problem.labels
    aim = newton.GAP_GOAL * problem.gap_within(tol)
    xi = problem.residual(start)
    point = newton.DualPoint(xi, columns.project(xi))
    rounding = newton.rounding_of(problem, point)
    enough = ROUNDING_FACTOR * rounding.gap
    if total_of(labels.slack(point.p, start), columns.weight) <= enough:
        return Solution(start, 0, proven=True)
    sigma, q, iterations = FIRST_SIGMA / max(newton.size_of(point.p), 1e-300), start, 0
    faces = faces_of(labels, labels.open(q))
    for number in range(MAX_SIGMAS):
        point = _on_faces(problem, sigma, q, faces)
        budget = min(STEPS_PER_SIGMA, max_iter - iterations)
        _, q, residual, steps = newton.minimise_psi(problem, sigma, point, budget, centre=q)
        if steps == budget:
            return None
        before, faces = freedom_of(faces), faces_of(labels, labels.open(q))
        iterations, sigma = iterations + steps + 1, sigma * newton.GROWTH
        if number == 0 and steps > 0:
            continue  # faces have changed: a guess would rarely be right
        if freedom_of(faces) > len(xi) * n_contrasts(labels) and (
            newton.gap_of(problem, q, residual, problem.multipliers(xi))[2] <= enough
        ):
            # More labels are free than there are equations: proximal points end at one of many
            # solutions, which is not the one that a guess would find.
            return Solution(q, iterations, proven=True)
        guess, tries = newton.guess_face(problem, q, aim, freedom_of(faces) == before, rounding)
        iterations += tries
        if guess.gap <= max(aim, rounding.gap):
            return Solution(guess.q, iterations, proven=True)
    return None


def _on_faces(
    problem: LabelProblem, sigma: float, q: Floats, faces: list[Face]
) -> newton.DualPoint:
    """Return the dual point of the proximal problem if no label leaves its face."""
    columns = problem.columns
    g = -problem.residual(q)
    xi = newton_direction(columns, problem.labels, faces, sigma, g, exact=True)
    return newton.DualPoint(xi, columns.project(xi))
