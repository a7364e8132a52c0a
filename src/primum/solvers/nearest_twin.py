"""Least labelled loss first, then nearest to the twin (``problems.nearest_twin``).

1. Minimise the labelled loss.
2. If no labelling was ruled out from reaching the twin's loss, hold ``M_1 q`` there and minimise
   the distance to the twin over all rows. The equation ``M_1 q = m`` is kept by the method of
   multipliers: each round is a box problem in which a deviation is penalised and the level is
   shifted by what was missed before. A round divides what is missed by about ``PENALTY**2``.
3. Otherwise the least loss is reached on a face of the set of models: rows away from a hyperplane
   have the label of their side in every optimal labelling, and only the few rows on it are open.
   Mostly their labels follow from ``M_1 q = m``; if not, step 2 is taken for them alone.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.problems import (
    BoxProblem,
    FormedColumns,
    HyperplaneLabels,
    NearestTwin,
    StreamedColumns,
)
from primum.problems.nearest_twin import PENALTY
from primum.rows import to_numpy
from primum.solvers.solution import Solution

ROUNDS = 8
# What is missed of the level may cost this share of the tolerance.
SHARE = 0.1
# Rows at a smaller angle (its sine) to the hyperplane are on it.
ON_HYPERPLANE = 1e-9
# Singular values of the open rows' part of M_1 below this share of their M are rounding.
RANK = 1e-9
# A labelled loss that much above the twin's, in mean loss, is rounding.
ROUNDING = 1e-12

# In memory the labelled loss is minimised to this share of the tolerance: the model is as exact as
# the root of its gap.
FINER = 1e-3

SolveBox = Callable[[BoxProblem, float], Solution]


def solve_nearest_twin(
    problem: BoxProblem, tie: NearestTwin, solve_box: SolveBox, tol: float
) -> Solution:
    """Return the labelling of the best model; ``problem`` is that of the labelled loss."""
    finer = FINER if isinstance(problem.columns, FormedColumns) else 1.0
    first = solve_box(problem, finer * tol)
    Mq = tie.columns.accumulate(first.labels)
    gap = problem.judge(first.labels, first.dual, tol).gap / problem.loss_unit
    if tie.excess(Mq) <= max(gap, problem.gap_within(ROUNDING)):
        held = _hold(tie, tie.goal, solve_box, tol)
    else:
        held = _on_face(tie, _by_row(tie, first.labels), Mq, solve_box, tol)
    return replace(held, iterations=first.iterations + held.iterations, dual=first.dual)


def _hold(tie: NearestTwin, level: Floats, solve_box: SolveBox, tol: float) -> Solution:
    """Return the labelling nearest to the twin with ``M_1 q`` at a level that can be reached."""
    shift, iterations = np.zeros(tie.rank), 0
    best, least = None, np.inf
    for _ in range(ROUNDS):
        solution = solve_box(tie.held(level + shift), tol)
        Mq = tie.columns.accumulate(solution.labels)
        off = Mq[: tie.rank] - level
        pull = PENALTY**2 * (off - shift)
        iterations += solution.iterations
        missed = float(np.linalg.norm(tie.strength * off))
        if missed >= 0.5 * least:  # as near as rounding allows
            break
        best, least = Solution(solution.labels, iterations, pull=pull), missed
        price = missed * float(np.linalg.norm(tie.multipliers(Mq, pull))) + missed**2
        if price <= SHARE * tol * tie.total:
            break
        shift -= off
    assert best is not None
    return replace(best, iterations=iterations)


def _on_face(
    tie: NearestTwin, labels: Any, Mq: Floats, solve_box: SolveBox, tol: float
) -> Solution:
    """Return the nearest of the optimal labellings, all rows but those on the face being fixed."""
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
    """Return the pull with the smallest multipliers that leaves the rows of M undecided."""
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
        loss_only = tie.columns.scaled((np.arange(len(gradient)) < tie.rank).astype(np.float64))
        p, lengths, q = tie.columns.project(gradient), loss_only.lengths(), labels
    near = np.abs(p) <= ON_HYPERPLANE * np.linalg.norm(gradient) * lengths
    chosen = np.flatnonzero(near | ((q > 0) & (q < 1)))
    positions = labels.positions[chosen] if _has_band(labels) else chosen
    return positions, q[chosen]


def _has_band(labels: Any) -> bool:
    """Tell whether all rows but a band are on one side of a hyperplane or the other."""
    return isinstance(labels, HyperplaneLabels) and bool(np.isinf(labels.sigma))


def _by_row(tie: NearestTwin, labels: Any) -> Any:
    """Return a labelling of another form row by row, if the rows are in memory."""
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
