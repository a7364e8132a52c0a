"""A reference solver: bounded-variable least squares on a matrix with U columns (SciPy).

It is slow, and its memory grows with U x U, but it shares no idea with the other solvers. The
labelling closest to 1/2 is selected by U more equations ``eps q = eps / 2``. They perturb the
labels slightly, so those inside the box are solved for once more without them.
"""

import numpy as np
from scipy.optimize import lsq_linear

from primum._typing import Floats
from primum.labellings import LabelProblem
from primum.solvers.solution import Solution

PULL = 1e-5
# A matrix M with a smaller norm is rounding: no label changes the loss.
NOTHING = 1e-13
# Labels this close to 0 or 1 are on the boundary of the box.
BORDER = 1e-9
# Singular values below this fraction of the largest are rounding.
RANK = 1e-9


def solve_reference(problem: LabelProblem, tol: float, max_iter: int) -> Solution:
    """Return the optimal labelling closest to 1/2."""
    columns = problem.columns
    M = columns.take(np.arange(problem.n_rows))
    weight = np.ones(problem.n_rows) if columns.weight is None else columns.weight
    eps = PULL * size if (size := np.linalg.norm(M, 2)) > NOTHING else 1.0
    pull = eps * np.sqrt(weight)
    result = lsq_linear(
        np.vstack([M * weight, np.diag(pull)]),
        np.concatenate([problem.target, pull / 2]),
        bounds=(0.0, 1.0),
        method="bvls",
        tol=1e-15,
        max_iter=max_iter,
    )
    q = _without_pull(M * weight, problem.target, np.clip(result.x, 0.0, 1.0), weight)
    return Solution(q, int(result.nit))


def _without_pull(M: Floats, t: Floats, q: Floats, weight: Floats) -> Floats:
    """Solve for the labels inside the box alone, if they stay inside."""
    inside = (q > BORDER) & (q < 1 - BORDER)
    centred = np.where(inside, 0.5, np.round(q))
    root = np.sqrt(weight[inside])
    step = np.linalg.lstsq(M[:, inside] / root, t - M @ centred, rcond=RANK)[0]
    centred[inside] += step / root
    return centred if ((centred >= 0) & (centred <= 1)).all() else q
