"""Minimise the labelled loss first, then the distance to the twin (``labellings.nearest_twin``).

0. If the labels that give the twin are all inside their sets, they are the solution.
1. Minimise the labelled loss.
2. Unless it is proven that no labelling attains the twin's loss, constrain ``M_1 q`` to that of the
   twin and minimise the distance to the twin over all rows. The method of multipliers imposes the
   constraint ``M_1 q = m``: each round is a label problem that penalises a deviation and shifts the
   level by the previous deviation. A round usually divides the deviation by ``FIRST_PENALTY**2``.
3. Otherwise the smallest loss is attained on a face of the set of models: rows off a hyperplane
   have the label of their side in every optimal labelling, and only the few rows on it are free.
   Usually their labels follow from ``M_1 q = m``; if not, step 2 is applied to them alone.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats
from primum.equations import View
from primum.labellings.labelling import HyperplaneLabels, Labelling
from primum.labellings.nearest_twin import NearestTwin
from primum.labellings.problem import LOSS_ROUNDING, FormedColumns, LabelProblem, Solution, centred
from primum.labellings.sets import key_of_all, keys_of, on_face, tied_entries
from primum.rows import to_numpy
from primum.solvers.open_labels import OpenLabels, unflat
from primum.solvers.sample import find_copies, sample_columns

# The penalty need not be large, because the multipliers correct for it, and a larger penalty makes
# the problem more ill-conditioned. It is raised if a round reduces the deviation only slightly,
# which happens if the level is on the boundary of those that labellings can attain.
FIRST_PENALTY, PENALTY_FACTOR, MAX_PENALTY = 1e2, 10.0, 1e5
# Rounds of multipliers, at most: most leave less than SLOW_ROUND_SHARE, so that few are needed.
MAX_PENALTY_ROUNDS = 30
# A round that leaves more than this fraction of the least deviation so far is slow: with a penalty
# that is large enough it leaves far less.
SLOW_ROUND_SHARE = 0.1
# The deviation from the level may cost this fraction of the tolerance: the rest is for the gap.
GAP_SHARE = 0.1
# A row counts as on the hyperplane if the sine of its angle to it is smaller than this: about the
# accuracy of the hyperplane.
HYPERPLANE_TOLERANCE = 1e-9
# Singular values of M_1 for the free rows below this fraction of the norm of their M are rounding:
# of the square roots and products before them, with room to spare.
FREE_RANK_TOLERANCE = 1e-9

# The accuracy of the model is the square root of the gap of the labelled loss, so this loss is
# minimised to this fraction of the tolerance: always in memory, elsewhere only if necessary.
LOSS_TOLERANCE_SHARE = 1e-3

# If a pivot is smaller, in coordinates where all rows have the second moment 1, the unlabelled rows
# do not span all directions, and perhaps not the twin: its square is close to rounding.
MIN_TWIN_PIVOT = 1e-6

# Returns a solution within a tolerance, in at most some iterations.
SolveLabels = Callable[[LabelProblem, float, int], Solution]


def solve_nearest_twin(
    problem: LabelProblem, tie: NearestTwin, solve_labels: SolveLabels, tol: float, max_iter: int
) -> Solution:
    """Return the labelling of the nearest model; ``problem`` is that of the labelled loss."""
    # The labels closest to the centres that give the twin itself, if none is on a boundary, are
    # c + M'V with M M'V = T - M c: one linear system, unless different labellings give different
    # models, or rows have different directions. The distance is 0 then, and no pull is needed.
    columns = tie.columns
    if columns.shape[1] >= columns.shape[0] and key_of_all(tie.labels) > 0:
        _, at_centres, _ = _labels_along(tie, np.zeros_like(tie.twin))
        factor, info = lapack.dpotrf(columns.gram(), lower=1)
        if info == 0 and np.diag(factor).min() >= MIN_TWIN_PIVOT:
            V = lapack.dpotrs(factor, tie.twin - at_centres, lower=1)[0]
            labels, Mq, inside = _labels_along(tie, V)
            missed = float(np.sum((Mq - tie.twin) ** 2))
            if inside and missed <= LOSS_TOLERANCE_SHARE * tol * tie.total:
                return Solution(labels, 1, pull=np.zeros_like(tie.goal))

    if (streamed := columns.streamed) is not None:
        copies = find_copies(problem.labels, streamed, sample_columns(streamed)[0])
        if copies is not None:
            few = replace(tie, columns=copies[0])
            loss = few.loss(problem.loss_unit, problem.loss_floor)
            solution = solve_nearest_twin(loss, few, solve_labels, tol, max_iter)
            return replace(solution, labels=copies[1](solution.array))
        solution, proven = _solve_in_order(problem, tie, solve_labels, tol, tol, max_iter)
        left = max_iter - solution.iterations
        if proven or left <= 0:
            return solution
        loss_tol = LOSS_TOLERANCE_SHARE * tol
        before = solution.iterations
        solution, _ = _solve_in_order(problem, tie, solve_labels, loss_tol, tol, left)
        return replace(solution, iterations=before + solution.iterations)
    return _solve_in_order(problem, tie, solve_labels, LOSS_TOLERANCE_SHARE * tol, tol, max_iter)[0]


def _solve_in_order(
    problem: LabelProblem,
    tie: NearestTwin,
    solve_labels: SolveLabels,
    loss_tol: float,
    tol: float,
    max_iter: int,
) -> tuple[Solution, bool]:
    """Minimise the loss and then the distance; also return whether the distance is proven."""
    first = solve_labels(problem, loss_tol, max_iter)
    Mq = tie.reached(first.labels)
    gap = problem.judge(first.labels, first.dual, tol).gap / problem.loss_unit
    left = max_iter - first.iterations
    if left <= 0:
        held = Solution(first.labels, 0, pull=Mq[: tie.rank] - tie.twin[: tie.rank])
    elif tie.excess(Mq) <= max(gap, problem.gap_within(LOSS_ROUNDING)):
        held = _hold(tie, tie.goal, solve_labels, tol, left)
    else:
        held = _on_face(tie, _by_row(tie, first.labels), Mq, solve_labels, tol, left)
    assert held.pull is not None
    proven = tie.judge(held.labels, held.pull, gap).within(tol**0.5)
    iterations = first.iterations + held.iterations
    return replace(held, iterations=iterations, dual=first.dual), proven


def _labels_along(tie: NearestTwin, V: Floats) -> tuple[Floats | Labelling, Floats, bool]:
    """Return the labels ``project(c + M'V)``, their ``M Q``, and whether all are inside."""
    columns, labels = tie.columns, tie.labels
    if (streamed := columns.streamed) is not None:
        sweep = streamed.sweep(labels, -V, 1.0, mostly_inside=True)
        inside = list(sweep.grams) == [key_of_all(labels)] and sweep.inside == columns.shape[1]
        return HyperplaneLabels(labels, -streamed.B.T @ V, 1.0), centred(sweep.Mq), inside
    q = labels.project(labels.centre + columns.project(V))
    inside = bool(labels.open(q).all())
    return q, tie.reached(q), inside


def _hold(
    tie: NearestTwin, level: Floats, solve_labels: SolveLabels, tol: float, max_iter: int
) -> Solution:
    """Return the labelling nearest to the twin with ``M_1 q`` at an attainable level."""
    shift = np.zeros_like(tie.goal)
    penalty = FIRST_PENALTY
    iterations = 0
    best = Solution(np.zeros(0), 0)
    least_gap = np.inf
    least = np.inf
    for _ in range(MAX_PENALTY_ROUNDS):
        solution = solve_labels(tie.held(level + shift, penalty), tol, max_iter - iterations)
        Mq = tie.reached(solution.labels)
        off = Mq[: tie.rank] - level
        pull = penalty**2 * (off - shift)
        iterations += solution.iterations
        missed = float(np.linalg.norm((tie.strength * off.T).T))
        judged = tie.judge(solution.labels, pull, 0.5 * missed**2)
        # The deviation from the level counts in full: as a loss, and in the proof.
        gap = judged.gap + missed**2 / tie.total
        slow = missed > SLOW_ROUND_SHARE * least
        least = min(missed, least)
        if best.pull is None or gap <= least_gap:
            best = Solution(solution.labels, iterations, pull=pull)
            least_gap = gap
        if gap <= GAP_SHARE * tol or (slow and penalty == MAX_PENALTY) or iterations >= max_iter:
            break
        shift -= off
        if slow:
            shift, penalty = shift / PENALTY_FACTOR**2, penalty * PENALTY_FACTOR
    return replace(best, iterations=iterations)


def _on_face(
    tie: NearestTwin,
    labels: Floats | Labelling,
    Mq: Floats,
    solve_labels: SolveLabels,
    tol: float,
    max_iter: int,
) -> Solution:
    """Return the nearest of the optimal labellings; only labels on the hyperplane are free."""
    of_rows = labels if isinstance(labels, np.ndarray) else _with_band(labels)
    step = Mq - tie.twin
    if of_rows is None:
        return Solution(labels, 0, pull=step[: tie.rank])

    # The rows whose labels the loss does not decide.
    gradient = tie.gradient(Mq)
    if isinstance(of_rows, np.ndarray):
        positions = np.arange(len(of_rows))
        q = of_rows
        sets = tie.labels
        lengths = tie.columns.scaled(np.ones(tie.rank)).lengths()
        p = tie.columns.project(gradient)
    else:
        positions = of_rows.positions
        q = of_rows.values
        sets = tie.labels.take(of_rows.positions)
        M = tie.columns.take(positions)
        lengths = np.linalg.norm(M[: tie.rank], axis=0)
        p = M.T @ gradient
    rounding = HYPERPLANE_TOLERANCE * np.linalg.norm(gradient) * lengths
    face = tied_entries(sets, p, rounding) | sets.open(q)
    chosen = np.flatnonzero(keys_of(face))
    free, q, face = positions[chosen], q[chosen], face[chosen]

    # The directions of M_1 in which these rows can move without changing the loss.
    M = tie.columns.take(free)
    weight = None if tie.columns.weight is None else tie.columns.weight[free]
    root = np.ones(len(free)) if weight is None else np.sqrt(weight)
    U, S, _ = np.linalg.svd(M[: tie.rank] * root, full_matrices=False)
    kept = np.flatnonzero(FREE_RANK_TOLERANCE * np.linalg.norm(M * root) < S)
    if len(kept) == len(free):
        # Their labels follow from the loss. The pull is the one with the smallest multipliers that
        # leaves the open labels undecided.
        strong = FormedColumns(tie.strength[:, None] * M[: tie.rank])
        open_labels = OpenLabels(strong, tie.labels, tie.labels.take(free).open(q))
        if not open_labels.faces:
            return Solution(labels, 0, pull=np.asarray(step[: tie.rank]))
        wanted = open_labels.components(-(M.T @ step))
        z = np.linalg.lstsq(open_labels.matrix().T, wanted, rcond=None)[0]
        z = unflat(tie.labels, np.asarray(z))
        pull = np.asarray(step[: tie.rank] + (tie.strength * z.T).T)
        return Solution(labels, 0, pull=pull)

    # The problem of these rows, with all others fixed.
    R = U[:, kept].T / S[kept][:, None]
    part = FormedColumns(np.vstack([R @ M[: tie.rank], M[tie.rank :]]), weight)
    reached = centred(part.accumulate(q))
    level = reached[: len(R)]
    others = Mq[tie.rank :] - reached[len(R) :]
    goal = np.concatenate([level, tie.twin[tie.rank :] - others])
    sets = on_face(tie.labels.take(free), face)
    few = NearestTwin(part, np.ones(len(R)), level, goal, tie.total, sets)
    solution = _hold(few, level, solve_labels, tol, max_iter)
    nearest: Floats | HyperplaneLabels
    if isinstance(of_rows, np.ndarray):
        nearest = of_rows.copy()
        nearest[free] = solution.array
    else:
        values = of_rows.values.copy()
        values[np.searchsorted(of_rows.positions, free)] = solution.array
        nearest = replace(of_rows, values=values)
    return replace(solution, labels=nearest, pull=R.T @ solution.pull)


def _with_band(labels: Labelling) -> HyperplaneLabels | None:
    """Return labels that follow from the side of a hyperplane outside a band; None for others."""
    plane = labels.hyperplane
    return plane if plane is not None and np.isinf(plane.sigma) else None


def _by_row(tie: NearestTwin, labels: Floats | Labelling) -> Floats | Labelling:
    """Return a labelling as an array with one label per row, if the rows are in memory."""
    if isinstance(labels, np.ndarray) or _with_band(labels):
        return labels
    streamed = tie.columns.streamed
    if streamed is not None and streamed.design.rows.in_memory:
        rows, frame = streamed.design.rows, streamed.design.frame
        return rows.fill(lambda block: to_numpy(labels(View(block, frame))))
    return labels
