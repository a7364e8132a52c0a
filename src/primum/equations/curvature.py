"""The normal matrix of rows whose residuals are curved differently in different directions.

With several classes a row has one residual per class, and a loss may be curved in some directions
of these residuals and flat in others. The normal matrix of one class, ``sum_i w_i x_i x_i'``, then
becomes ``sum_i w_i (x_i x_i') (x) M_i`` with a small matrix ``M_i`` per row. Only a few of these
matrices differ, so a row costs one rank-one update however many classes there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats, Index
from primum.equations.design import Design
from primum.rows import Block, to_numpy

# A part of A, in coordinates where A is the identity, counts as singular if a pivot of its Cholesky
# factor is below the first: its square is close to the rounding of the sums. The Tikhonov term on
# the diagonal far exceeds that rounding, and every round divides the residual along an eigenvalue
# h by 1 + h / TIKHONOV_TERM.
MIN_PART_PIVOT, TIKHONOV_TERM, TIKHONOV_ROUNDS = 1e-5, 1e-9, 4


@dataclass(frozen=True)
class RowCurvature:
    """A weight, and one of a few symmetric matrices, for every row.

    Attributes
    ----------
    weight : array (n,)
        Weight of every row.
    kind : array (n,) of int
        Number of the row's matrix.
    matrices : array (p, c, c)
        The matrices; the first is the identity.
    """

    weight: Floats
    kind: Index
    matrices: Floats

    @classmethod
    def full(cls, weight: Floats, n_values: int) -> "RowCurvature":
        """Return the identity for every row."""
        return cls(weight, np.zeros(len(weight), dtype=np.intp), np.eye(n_values)[None])

    def times(self, V: Floats, where: slice = slice(None)) -> Floats:
        """Return the rows of V (n, c), each times its matrix but not its weight."""
        kind, product = self.kind[where], np.zeros_like(V)
        for number, matrix in enumerate(self.matrices):
            if matrix.any():
                chosen = kind == number
                product[chosen] = V[chosen] @ matrix
        return product


CurvedRows = tuple[Design, RowCurvature]


def curved_gram(parts: Sequence[CurvedRows], T: Floats, ridge: Floats) -> Floats:
    """Return ``sum w (T'x x'T) (x) M`` over all rows, plus ``ridge (x) identity``."""
    (r, c), plain = (len(ridge), parts[0][1].matrices.shape[1]), ridge
    grams, matrices = [], []
    for design, curvature in parts:
        for number, matrix in enumerate(curvature.matrices):
            chosen = curvature.weight * (curvature.kind == number)
            if not (matrix.any() and chosen.any()):
                continue
            gram = design.gram(T, chosen)
            if number == 0:
                plain = plain + gram
            else:
                grams.append(gram)
                matrices.append(matrix)
    H = np.zeros((r, c, r, c))
    for k in range(c):
        H[:, k, :, k] = plain
    if grams:
        H += np.tensordot(np.stack(grams), np.stack(matrices), axes=(0, 0)).transpose(0, 2, 1, 3)
    return H.reshape(r * c, r * c)


def curved_product(parts: Sequence[CurvedRows], V: Floats) -> Floats:
    """Return ``sum w x (x'V) M`` over all rows, for coefficients V (m, c): one pass."""

    def of_part(design: Design, curvature: RowCurvature) -> Floats:
        def block_product(block: Block) -> Floats:
            weight = curvature.weight[block.where]
            view = design.frame.view(replace(block, weight=weight))
            return view.sum(view.convert(curvature.times(to_numpy(view.dot(V)), block.where)))

        return design.rows.map_reduce(block_product, np.add)

    return reduce(np.add, (of_part(*part) for part in parts if part[0].n_rows))


def solve_semidefinite(H: Floats, right: Floats) -> Floats:
    """Return the minimum-norm solution of ``H v = right``, for H between zero and the identity.

    A singular H is regularised, and the remaining residual is solved for again (iterated Tikhonov
    regularisation).
    """
    factor, info = lapack.dpotrf(H, lower=1)
    if info == 0 and np.diag(factor).min(initial=1.0) > MIN_PART_PIVOT:
        return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])
    factor, _ = lapack.dpotrf(H + TIKHONOV_TERM * np.eye(len(H)), lower=1)
    solution = np.zeros_like(right)
    for _ in range(TIKHONOV_ROUNDS):
        solution += lapack.dpotrs(factor, right - H @ solution, lower=1)[0]
    return solution
