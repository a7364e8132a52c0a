"""Least labelled loss first, then nearest to the twin (``labellings.nearest_twin``).

0. If the labels that give the twin are all between 0 and 1, they are the solution.
1. Minimise the labelled loss.
2. If it is not proven that no labelling attains the twin's loss, constrain ``M_1 q`` to that of the
   twin and minimise the distance to the twin over all rows. The constraint ``M_1 q = m`` is imposed
   by the method of multipliers: each round is a box problem in which a deviation is penalised and
   the level is shifted by the previous deviation. A round usually divides the deviation by
   ``PENALTY**2``.
3. Otherwise the least loss is attained on a face of the set of models: rows away from a hyperplane
   have the label of their side in every optimal labelling, and only the few rows on it are free.
   Usually their labels follow from ``M_1 q = m``; if not, step 2 is applied to them alone.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats, Index
from primum.labellings import (
    Columns,
    FormedColumns,
    HyperplaneLabels,
    LabelProblem,
    NearestTwin,
    StreamedColumns,
)
from primum.rows import to_numpy
from primum.solvers.copies import find_copies, sample_columns
from primum.solvers.solution import Solution

# The penalty need not be large, because the multipliers correct for it, and a larger penalty makes
# the problem worse conditioned. It is raised if a round reduces the deviation only slightly, which
# happens if the level is on the boundary of what labellings can attain.
PENALTY, RAISE, LARGEST_PENALTY = 1e2, 10.0, 1e5
ROUNDS = 30
SLOW = 0.1
# The deviation from the level may cost this fraction of the tolerance.
SHARE = 0.1
# Rows at an angle to the hyperplane whose sine is smaller are on it.
ON_HYPERPLANE = 1e-9
# Singular values of M_1 for the free rows below this fraction of their M are rounding.
RANK = 1e-9
# A labelled loss that exceeds the twin's by less than this, in mean loss, differs by rounding.
ROUNDING = 1e-12

# The accuracy of the model is the square root of the gap of the labelled loss, so this loss is
# minimised to this fraction of the tolerance: in memory always, elsewhere if it proves necessary.
FINER = 1e-3

# Below this pivot the unlabelled rows do not span all directions: the twin may be unattainable.
SMALL_PIVOT = 1e-6

SolveBox = Callable[[LabelProblem, float], Solution]


def solve_nearest_twin(
    problem: LabelProblem, tie: NearestTwin, solve_box: SolveBox, tol: float
) -> Solution:
    """Return the labelling of the nearest model; ``problem`` is that of the labelled loss."""
    if (labels := _labels_of_twin(tie, tol)) is not None:
        return Solution(labels, 1, pull=np.zeros(tie.rank))  # the distance is 0: no pull is needed
    if isinstance(tie.columns, StreamedColumns):
        copies = find_copies(tie.columns, sample_columns(tie.columns))
        if copies is not None:
            few = replace(tie, columns=copies[0])
            loss = few.loss(problem.loss_unit, problem.loss_floor)
            solution = solve_nearest_twin(loss, few, solve_box, tol)
            return replace(solution, labels=copies[1](solution.labels))
    if isinstance(problem.columns, StreamedColumns):
        solution, proven = _solve_in_order(problem, tie, solve_box, tol, tol)
        if proven:
            return solution
    return _solve_in_order(problem, tie, solve_box, FINER * tol, tol)[0]


def _solve_in_order(
    problem: LabelProblem, tie: NearestTwin, solve_box: SolveBox, loss_tol: float, tol: float
) -> tuple[Solution, bool]:
    """Minimise the loss and then the distance; return whether the distance is proven, too."""
    first = solve_box(problem, loss_tol)
    Mq = tie.columns.accumulate(first.labels)
    gap = problem.judge(first.labels, first.dual, tol).gap / problem.loss_unit
    if tie.excess(Mq) <= max(gap, problem.gap_within(ROUNDING)):
        held = _hold(tie, tie.goal, solve_box, tol)
    else:
        held = _on_face(tie, _by_row(tie, first.labels), Mq, solve_box, tol)
    assert held.pull is not None
    proven = tie.judge(held.labels, held.pull, gap).within(tol**0.5)
    iterations = first.iterations + held.iterations
    return replace(held, iterations=iterations, dual=first.dual), proven


def _labels_of_twin(tie: NearestTwin, tol: float) -> Any:
    """Return the labels closest to 1/2 that give the twin itself, if none of them is clipped.

    They are then ``1/2 + M'v`` with ``M M'v = t - M 1/2``: one linear system.
    """
    columns = tie.columns
    if columns.shape[1] < columns.shape[0]:
        return None  # different labellings give different models
    _, half, _ = _labels_along(columns, np.zeros(len(tie.twin)))
    factor, info = lapack.dpotrf(columns.gram_of_all, lower=1)
    if info != 0 or np.diag(factor).min() < SMALL_PIVOT:
        return None
    v = lapack.dpotrs(factor, tie.twin - half, lower=1)[0]
    labels, Mq, inside = _labels_along(columns, v)
    reached = float(np.sum((Mq - tie.twin) ** 2)) <= FINER * tol * tie.total
    return labels if inside and reached else None


def _labels_along(columns: Columns, v: Floats) -> tuple[Any, Floats, bool]:
    """Return the labels ``clip(1/2 + M'v)``, their ``M q``, and whether none was clipped."""
    if isinstance(columns, StreamedColumns):
        sweep = columns.sweep(-v, 1.0, mostly_inside=True)
        labels = HyperplaneLabels(-v @ columns.B, 1.0)
        return labels, sweep.Mq, sweep.inside == columns.shape[1]
    free = 0.5 + columns.project(v)
    q = np.clip(free, 0.0, 1.0)
    return q, columns.accumulate(q), bool((q == free).all())


def _hold(tie: NearestTwin, level: Floats, solve_box: SolveBox, tol: float) -> Solution:
    """Return the labelling nearest to the twin with ``M_1 q`` at an attainable level."""
    shift, penalty, iterations = np.zeros(tie.rank), PENALTY, 0
    best, least_gap, least = Solution(None, 0), np.inf, np.inf
    for _ in range(ROUNDS):
        solution = solve_box(tie.held(level + shift, penalty), tol)
        Mq = tie.columns.accumulate(solution.labels)
        off = Mq[: tie.rank] - level
        pull = penalty**2 * (off - shift)
        iterations += solution.iterations
        missed = float(np.linalg.norm(tie.strength * off))
        judged = tie.judge(solution.labels, pull, 0.5 * missed**2)
        # What is missed of the level counts in full, as a loss, and in the proof.
        gap = judged.gap + missed**2 / tie.total
        slow, least = missed > SLOW * least, min(missed, least)
        if best.labels is None or gap <= least_gap:
            best, least_gap = Solution(solution.labels, iterations, pull=pull), gap
        if gap <= SHARE * tol or (slow and penalty == LARGEST_PENALTY):
            break
        shift -= off
        if slow:
            shift, penalty = shift / RAISE**2, penalty * RAISE
    return replace(best, iterations=iterations)


def _on_face(
    tie: NearestTwin, labels: Any, Mq: Floats, solve_box: SolveBox, tol: float
) -> Solution:
    """Return the nearest of the optimal labellings; only the rows on the hyperplane are free."""
    if not (isinstance(labels, np.ndarray) or _has_band(labels)):
        return Solution(labels, 0, pull=Mq[: tie.rank] - tie.twin[: tie.rank])
    free, q = _open_rows(tie, labels, Mq)
    M = tie.columns.take(free)
    weight = None if tie.columns.weight is None else tie.columns.weight[free]
    root = np.ones(len(free)) if weight is None else np.sqrt(weight)
    U, S, _ = np.linalg.svd(M[: tie.rank] * root, full_matrices=False)
    kept = np.flatnonzero(RANK * np.linalg.norm(M * root) < S)
    if len(kept) == len(free):  # their labels follow from the loss
        return Solution(labels, 0, pull=_pull_of(tie, M[:, (q > 0) & (q < 1)], Mq))
    R = U[:, kept].T / S[kept][:, None]
    part = FormedColumns(np.vstack([R @ M[: tie.rank], M[tie.rank :]]), weight)
    reached = part.accumulate(q)
    level = reached[: len(R)]
    others = Mq[tie.rank :] - reached[len(R) :]
    goal = np.concatenate([level, tie.twin[tie.rank :] - others])
    few = NearestTwin(part, np.ones(len(R)), level, goal, tie.total)
    solution = _hold(few, level, solve_box, tol)
    return replace(
        solution, labels=_with_values(labels, free, solution.labels), pull=solution.pull @ R
    )


def _pull_of(tie: NearestTwin, M: Floats, Mq: Floats) -> Floats:
    """Return the pull of smallest multipliers for which the rows of M are undecided."""
    step = Mq - tie.twin
    wanted = -step @ M
    z = np.linalg.lstsq((tie.strength[:, None] * M[: tie.rank]).T, wanted, rcond=None)[0]
    return np.asarray(step[: tie.rank] + tie.strength * z)


def _open_rows(tie: NearestTwin, labels: Any, Mq: Floats) -> tuple[Index, Floats]:
    """Return (positions, labels) of the rows on the hyperplane, or with labels between 0 and 1."""
    gradient = tie.gradient(Mq)
    if _has_band(labels):
        M = tie.columns.take(labels.positions)
        p, lengths, q = gradient @ M, np.linalg.norm(M[: tie.rank], axis=0), labels.values
    else:
        lengths = tie.columns.first(tie.rank).lengths()
        p, q = tie.columns.project(gradient), labels
    near = np.abs(p) <= ON_HYPERPLANE * np.linalg.norm(gradient) * lengths
    chosen = np.flatnonzero(near | ((q > 0) & (q < 1)))
    positions = labels.positions[chosen] if _has_band(labels) else chosen
    return positions, q[chosen]


def _has_band(labels: Any) -> bool:
    """Return whether all rows except a band have the label of their side of a hyperplane."""
    return isinstance(labels, HyperplaneLabels) and bool(np.isinf(labels.sigma))


def _by_row(tie: NearestTwin, labels: Any) -> Any:
    """Return a labelling as an array with one label per row, if the rows are in memory."""
    if isinstance(labels, np.ndarray) or _has_band(labels):
        return labels
    columns = tie.columns
    if isinstance(columns, StreamedColumns) and columns.design.rows.in_memory:
        return to_numpy(columns.design.write_down(labels))
    return labels


def _with_values(labels: Any, positions: Index, values: Floats) -> Any:
    """Return a labelling with other labels at some positions."""
    if _has_band(labels):
        changed = labels.values.copy()
        changed[np.searchsorted(labels.positions, positions)] = values
        return replace(labels, values=changed)
    changed = labels.copy()
    changed[positions] = values
    return changed
