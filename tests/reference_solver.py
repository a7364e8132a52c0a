"""A reference solver: bounded-variable least squares on a matrix with U columns (SciPy).

It is slow, and its memory grows with U x U, but it shares no idea with the other solvers. The
labelling closest to the centres is selected by U more equations ``eps q = eps c``. They perturb the
labels slightly, so those inside are solved for once more without them.
"""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from scipy.optimize import lsq_linear

from primum.labellings.problem import Solution
from primum.labellings.sets import centres_of
from primum.solvers import SOLVERS

# eps as a fraction of the norm of M: its square is far below the tolerance of any test.
CENTRING = 1e-5
# A matrix M with a smaller norm is rounding: no label changes the loss.
ROUNDING_OF_M = 1e-13
# Labels this close to a bound are on it.
BORDER = 1e-9
# Singular values below this fraction of the largest are rounding.
RANK = 1e-9


@contextmanager
def solving(solver):
    """Yield the solver to give to an estimator; "reference" takes the place of newton meanwhile."""
    if solver != "reference":
        yield solver
        return
    with patch.dict(SOLVERS, newton=solve_reference):
        yield "newton"


def solve_reference(problem, tol=1e-8, max_iter=1000):
    """Return the optimal labelling closest to the centres."""
    columns = problem.columns
    M = columns.take(np.arange(columns.shape[1]))
    weight = np.ones(columns.shape[1]) if columns.weight is None else columns.weight
    eps = CENTRING * size if (size := np.linalg.norm(M, 2)) > ROUNDING_OF_M else 1.0
    pull = eps * np.sqrt(weight)
    labels = problem.labels
    q = centres_of(labels, columns.shape[1])
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


def _without_pull(problem, M, q, weight):
    """Solve for the labels inside their intervals alone, if they stay inside."""
    labels, t = problem.labels, problem.target
    border = labels.best(np.where(q > labels.centre, -1.0, 1.0))
    inside = np.abs(q - border) > BORDER
    centred = np.where(inside, labels.centre, border)
    root = np.sqrt(weight[inside])
    step = np.linalg.lstsq(M[:, inside] / root, t - M @ centred, rcond=RANK)[0]
    centred[inside] += step / root
    return centred if (labels.project(centred) == centred).all() else q
