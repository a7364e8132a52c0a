"""Linear systems in the labels of several classes, solved class by class.

The labels of n rows with columns m_i move by Y (n, K): along the faces of these rows, so that y_ik
is 0 for classes k that are not in the face of row i, and every row adds up to 0. With the Gram
matrix ``G = M'M`` of these rows,

    minimise over Y     1/2 || M Y - B ||^2 + ridge / 2 || Y ||^2                      (labels)

has no product between two classes but the sums of the rows. Let J_k be the rows whose face has
class k, and let the multipliers lambda_i belong to the sums. Then

    (G_kk + ridge I) y_k = C_k + lambda_k,      C = M'B,      G_kk = G restricted to J_k,

and ``sum_k y_k = 0`` is a system in n unknowns for lambda, with the sum over the classes of the
inverses of ``G_kk + ridge I``. This takes ``sum_k |J_k|^3 + n^3 / 3`` multiplications, and the
joint system of all free labels, of which there are up to n (K - 1), a third of their cube. With
fifty classes that are all open this is a thousand times as many.

Without a ridge, Y with the least norm is the limit of proximal points: the solution with a small
ridge, solved again for what is left of B, until nothing is left.
"""

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats, Index, Mask

# The ridge of a proximal point, as a fraction of the largest diagonal entry, and their number.
SMALL_RIDGE, MAX_POINTS = 1e-9, 5
# A proximal point that leaves no more than this of B is the last.
NOTHING_LEFT = 1e-12


def cost_by_class(mask: Mask) -> float:
    """Return the number of multiplications, for the faces of n rows as a Boolean array (n, K)."""
    sizes = mask[:, _distinct(mask)[0]].sum(axis=0, dtype=np.float64)
    return float((4 / 3 * sizes**3).sum() + len(mask) ** 3 / 3)


def solve_by_class(G: Floats, mask: Mask, C: Floats, ridge: float) -> Floats | None:
    """Return the Y of (labels), or None if a matrix is singular to working precision."""
    first, which = _distinct(mask)
    T, b = np.zeros_like(G), np.zeros(len(G))
    for group, k in enumerate(first):
        J, classes = np.flatnonzero(mask[:, k]), np.flatnonzero(which == group)
        inverse = _inverse(G, J, ridge)
        if inverse is None:
            return None
        T[np.ix_(J, J)] += len(classes) * inverse
        b[J] += inverse @ C[np.ix_(J, classes)].sum(axis=1)
    factor, info = lapack.dpotrf(T.T, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        return None
    level = -lapack.dpotrs(factor, b, lower=1)[0]
    Y = np.zeros_like(C)
    for group, k in enumerate(first):
        J, classes = np.flatnonzero(mask[:, k]), np.flatnonzero(which == group)
        wanted = C[np.ix_(J, classes)] + level[J][:, None]
        Y[np.ix_(J, classes)] = lapack.dpotrs(_factor(G, J, ridge)[0], wanted, lower=1)[0]
    return Y


def solve_least_norm(G: Floats, mask: Mask, C: Floats) -> Floats | None:
    """Return the Y of (labels) without a ridge that has the least norm, or None."""
    ridge, total, left = SMALL_RIDGE * float(G.diagonal().max()), np.zeros_like(C), C
    for _ in range(MAX_POINTS):
        Y = solve_by_class(G, mask, left, ridge)
        if Y is None:
            return None
        total += Y
        left = C - G @ total
        if np.abs(_along(mask, left)).max() <= NOTHING_LEFT * np.abs(C).max():
            break
    return total


def _along(mask: Mask, values: Floats) -> Floats:
    """Return the part of the values of rows along their faces."""
    inside = np.where(mask, values, 0.0)
    return np.where(mask, inside - (inside.sum(axis=1) / mask.sum(axis=1))[:, None], 0.0)


def _distinct(mask: Mask) -> tuple[Index, Index]:
    """Return one class of each set of classes with the same rows, and the set of every class.

    Classes that no row can have are in no set.
    """
    used = np.flatnonzero(mask.any(axis=0))
    _, first, which = np.unique(mask[:, used], axis=1, return_index=True, return_inverse=True)
    sets = np.full(mask.shape[1], -1)
    sets[used] = which.ravel()
    return used[first], sets


def _factor(G: Floats, J: Index, ridge: float) -> tuple[Floats, int]:
    H = G[np.ix_(J, J)]
    H.flat[:: len(H) + 1] += ridge
    factor, info = lapack.dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
    return factor, int(info)


def _inverse(G: Floats, J: Index, ridge: float) -> Floats | None:
    """Return the inverse of a block of G with a ridge."""
    factor, info = _factor(G, J, ridge)
    if info != 0:
        return None
    inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    return np.tril(inverse) + np.tril(inverse, -1).T
