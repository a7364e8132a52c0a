"""Conjugate gradients for several right-hand sides at once.

The matrix is symmetric positive semi-definite and available only through its products. All
right-hand sides share each product, because the cost is in the pass over the rows. From zero and
without a preconditioner, the result for a consistent singular system is the minimum-norm solution.

Rounding makes the recursively updated residual drift away from the true one, so the true residual
is recomputed at the end and solved for again.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from primum._typing import Floats

# Residual at convergence, relative to the right-hand side: a few digits above rounding, which
# restarts reach because they recompute the residual.
RESIDUAL_TOLERANCE = 1e-12
# Steps in all and restarts, at most. Equations that need more are too ill-conditioned for this
# method, and the caller says so (``iterative.MAX_RESIDUAL``).
MAX_CG_STEPS = 2000
MAX_CG_RESTARTS = 4
# The part of the residual that a restart may leave: one that does not halve it has reached the
# limit of rounding, because most lower it by many digits.
MAX_RESIDUAL_LEFT = 0.5


@dataclass(frozen=True)
class Solved:
    """Solutions (d, k), the largest relative residual among them, and the number of steps."""

    X: Floats
    residual: float
    steps: int


def conjugate_gradients(
    apply: Callable[[Floats], Floats],
    B: Floats,
    diagonal: Floats | None = None,
    start: Floats | None = None,
) -> Solved:
    """Solve ``A X = B`` for (d, k) right-hand sides, ``apply(V)`` being ``A V``.

    ``diagonal`` is that of A, for preconditioning; ``start`` is a guess of X.
    """
    size = np.maximum(_lengths(B), np.finfo(float).tiny)
    X = np.zeros_like(B) if start is None else start.copy()
    R = B.copy() if start is None else B - apply(X)
    residual = _lengths(R) / size
    steps = 0
    for _ in range(MAX_CG_RESTARTS):
        open_ = np.flatnonzero(residual > RESIDUAL_TOLERANCE)
        if not len(open_) or steps >= MAX_CG_STEPS:
            break
        goal = RESIDUAL_TOLERANCE * size[open_]
        correction, steps_taken = _descend(apply, R[:, open_], diagonal, goal, MAX_CG_STEPS - steps)
        X[:, open_] += correction
        R[:, open_] = B[:, open_] - apply(np.ascontiguousarray(X[:, open_]))
        before = residual
        residual = _lengths(R) / size
        steps = steps + steps_taken
        if residual.max() > MAX_RESIDUAL_LEFT * before.max():
            break
    return Solved(X, float(residual.max(initial=0.0)), steps)


def _descend(
    apply: Callable[[Floats], Floats], R: Floats, diagonal: Floats | None, goal: Floats, most: int
) -> tuple[Floats, int]:
    """Return (solution of ``A X = R``, number of steps) once the updated residual is small."""
    X, R = np.zeros_like(R), R.copy()
    Z = _preconditioned(R, diagonal)
    P, rho = Z.copy(), _dots(R, Z)
    for step in range(1, most + 1):
        AP = apply(P)
        curvature = _dots(P, AP)
        # A column that has converged, or whose direction is in the null space of A, is left alone.
        moving = (curvature > 0) & (_lengths(R) > goal)
        if not moving.any():
            return X, step
        length = np.where(moving, rho / np.where(moving, curvature, 1.0), 0.0)
        X += length * P
        R -= length * AP
        Z = _preconditioned(R, diagonal)
        before = rho
        rho = _dots(R, Z)
        P *= np.where(moving, rho / np.where(before > 0, before, 1.0), 0.0)
        P += Z
    return X, most


def _preconditioned(R: Floats, diagonal: Floats | None) -> Floats:
    return R if diagonal is None else R / diagonal[:, None]


def _dots(V: Floats, W: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", V, W))


def _lengths(V: Floats) -> Floats:
    return np.sqrt(_dots(V, V))
