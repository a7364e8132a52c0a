"""Linear systems in the labels of several classes, solved class by class.

The labels of n rows with columns m_i move by Y (n, K) along the faces of these rows: y_ik is 0 for
classes k that are not in the face of row i, and every row of Y adds up to 0. With the Gram
matrix ``G = M'M`` of these rows,

    minimise over Y     1/2 || M Y - B ||^2 + ridge / 2 || Y ||^2                      (labels)

couples the classes only through the sums of the rows. Let J_k be the rows whose face has class k,
and let the multipliers lambda_i belong to the sums. Then

    (G_kk + ridge I) y_k = C_k + lambda_k,      C = M'B,      G_kk = G restricted to J_k,

and ``sum_k y_k = 0`` is a system in n unknowns for lambda, with the sum over the classes of the
inverses of ``G_kk + ridge I``. This takes ``sum_k |J_k|^3 + n^3 / 3`` multiplications. The joint
system of all free labels, up to n (K - 1) of them, takes a third of their cube: with fifty classes
that are all open, a thousand times as many.

Without a ridge, the Y of least norm is the limit of proximal points: the system with a small ridge
is solved again for what is left of B, until nothing is left.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats, Index, Mask

# The ridge of a proximal point, as a fraction of the largest diagonal entry, and the maximum number
# of points. Each point divides what is left along an eigenvector by one plus the ratio of its
# eigenvalue to the ridge, so a few suffice unless the eigenvalue is rounding.
PROXIMAL_RIDGE, MAX_PROXIMAL_POINTS = 1e-9, 5
# Factors are kept in memory if they are at most this many times as large as G, which is in memory
# too. Otherwise they are computed again whenever they are needed.
MAX_KEPT_FACTORS = 4
# A proximal point that leaves no more than this fraction of the right-hand side is the last: more
# of them would only move rounding.
PROXIMAL_ROUNDING = 1e-12


def cost_by_class(mask: Mask) -> float:
    """Return the number of multiplications, for the faces of n rows as a Boolean array (n, K)."""
    sizes = mask[:, _distinct(mask)[0]].sum(axis=0, dtype=np.float64)
    return float((4 / 3 * sizes**3).sum() + len(mask) ** 3 / 3)


@dataclass(frozen=True)
class ClassSystem:
    """The system of (labels) for a Gram matrix G, the classes of faces and a ridge, factorised.

    ``groups`` are (rows, classes): classes with the same rows J_k. ``factors`` are the Cholesky
    factors of ``G_kk + ridge I``, None if they are too large together, and ``of_levels`` (n, n) is
    that of the system for lambda.
    """

    G: Floats
    mask: Mask
    ridge: float
    groups: list[tuple[Index, Index]]
    factors: list[Floats] | None
    of_levels: Floats

    @classmethod
    def of(cls, G: Floats, mask: Mask, ridge: float) -> "ClassSystem | None":
        """Return the factorised system, or None if it is singular to working precision."""
        first, which = _distinct(mask)
        groups = [
            (np.flatnonzero(mask[:, k]), np.flatnonzero(which == group))
            for group, k in enumerate(first)
        ]
        keep = sum(len(J) ** 2 for J, _ in groups) <= MAX_KEPT_FACTORS * G.size
        T = np.zeros_like(G)
        factors = []
        for J, classes in groups:
            factor, info = _factor(G, J, ridge)
            if info != 0:
                return None
            if keep:
                factors.append(factor)
            # Only the lower triangles of inverses and of T are meaningful; J is sorted.
            inverse = lapack.dpotri(factor, lower=1, overwrite_c=not keep)[0]
            inverse *= len(classes)
            everywhere = len(J) == len(T)  # then the block need not be copied
            T[... if everywhere else np.ix_(J, J)] += inverse
        of_levels, info = lapack.dpotrf(T.T, lower=0, clean=0, overwrite_a=1)
        if info != 0:
            return None
        return cls(G, mask, ridge, groups, factors if keep else None, of_levels)

    def solve(self, C: Floats) -> Floats:
        """Return the Y of (labels)."""
        apart = self._solve_blocks(C)
        level = -lapack.dpotrs(self.of_levels, apart.sum(axis=1), lower=0)[0]
        return self._solve_blocks(C + level[:, None])

    def _solve_blocks(self, C: Floats) -> Floats:
        """Return Y with the block of every class solved on its own."""
        Y = np.zeros_like(C)
        for number, (J, classes) in enumerate(self.groups):
            factors = self.factors
            factor = _factor(self.G, J, self.ridge)[0] if factors is None else factors[number]
            where = np.ix_(J, classes)
            Y[where] = lapack.dpotrs(factor, C[where], lower=1)[0]
        return Y

    def least_norm(self, C: Floats) -> Floats:
        """Return the Y without a ridge that has the least norm, by proximal points."""
        total = np.zeros_like(C)
        left = C
        for _ in range(MAX_PROXIMAL_POINTS):
            total += self.solve(left)
            left = C - self.G @ total
            # What is left along the faces of the rows.
            inside = np.where(self.mask, left, 0.0)
            level = inside.sum(axis=1) / self.mask.sum(axis=1)
            along = np.where(self.mask, inside - level[:, None], 0.0)
            if np.abs(along).max() <= PROXIMAL_ROUNDING * np.abs(C).max():
                break
        return total


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
