"""The obvious way: bounded-variable least squares on a matrix with U columns (SciPy).

Slow, and memory grows with U x U. Its use is that it shares no idea with the other solvers. The
labelling closest to 1/2 is singled out by U more equations ``eps q = eps / 2``, with eps small
enough to disturb the loss by less than rounding.
"""

import numpy as np
from scipy.optimize import lsq_linear

from primum.problems import BoxProblem
from primum.solvers.solution import Solution

PULL = 1e-5
# A matrix M of this size is rounding: no label changes the loss.
NOTHING = 1e-13


def solve_reference(problem: BoxProblem, tol: float, max_iter: int) -> Solution:
    """Return the optimal labelling closest to 1/2, up to the pull's size."""
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
    return Solution(np.clip(result.x, 0.0, 1.0), int(result.nit))
