"""A reference solver: bounded-variable least squares on a matrix with U columns (SciPy).

It is slow, and its memory grows with U x U, but it shares no idea with the other solvers. The
labelling closest to the centres is selected by U more equations ``eps q = eps c``. They perturb the
labels slightly, so those inside are solved for once more without them.
"""

import numpy as np
from scipy.optimize import lsq_linear

from primum._typing import Floats
from primum.labellings import Interval, LabelProblem
from primum.labellings.problem import Solution

PULL = 1e-5
# A matrix M with a smaller norm is rounding: no label changes the loss.
NOTHING = 1e-13
# Labels this close to a bound are on it.
BORDER = 1e-9
# Singular values below this fraction of the largest are rounding.
RANK = 1e-9


def solve_reference(problem: LabelProblem, tol: float, max_iter: int) -> Solution:
    """Return the optimal labelling closest to the centres."""
    columns = problem.columns
    M = columns.take(np.arange(problem.n_rows))
    weight = np.ones(problem.n_rows) if columns.weight is None else columns.weight
    eps = PULL * size if (size := np.linalg.norm(M, 2)) > NOTHING else 1.0
    pull = eps * np.sqrt(weight)
    labels = problem.labels
    assert isinstance(labels, Interval)
    q = labels.centres(problem.n_rows)
    low, high = (np.broadcast_to(bound, len(q)) for bound in (labels.low, labels.high))
    free = low < high  # SciPy does not accept equal bounds
    if not free.any():
        return Solution(q, 0)
    system = np.vstack([M * weight, np.diag(pull)])
    result = lsq_linear(
        system[:, free],
        np.concatenate([problem.target, pull * q]) - system[:, ~free] @ q[~free],
        bounds=(low[free], high[free]),
        method="bvls",
        tol=1e-15,
        max_iter=max_iter,
    )
    q[free] = result.x
    q = _without_pull(problem, M * weight, labels.project(q), weight)
    return Solution(q, int(result.nit))


def _without_pull(problem: LabelProblem, M: Floats, q: Floats, weight: Floats) -> Floats:
    """Solve for the labels inside their intervals alone, if they stay inside."""
    labels, t = problem.labels, problem.target
    border = labels.best(np.where(q > labels.centre, -1.0, 1.0))
    inside = np.abs(q - border) > BORDER
    centred = np.where(inside, labels.centre, border)
    root = np.sqrt(weight[inside])
    step = np.linalg.lstsq(M[:, inside] / root, t - M @ centred, rcond=RANK)[0]
    centred[inside] += step / root
    return centred if (labels.project(centred) == centred).all() else q
