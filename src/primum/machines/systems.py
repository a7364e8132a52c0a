"""Three ways to solve the linear system of a Newton step (``svm``).

(R + X'HX) w = X'rho

Primal      Cholesky of R + X'HX, updated by the rows that enter or leave the margin
Dual        w = X'b / alpha and Cholesky of alpha / h_i + x_i'x_j over the rows inside the margin
Conjugate   conjugate gradients, for sparse rows
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack
from scipy.sparse.linalg import LinearOperator, cg

from primum._typing import Floats, Index

# Up to this many sparse rows, the dense matrix of their inner products is used.
DUAL_ROWS = 2000
# After this many updates sums are recomputed, so that rounding errors do not accumulate.
REFRESH = 200


class NewtonSystem(Protocol):
    """The linear systems that the finite Newton method has to solve."""

    X: Any
    ridge: Floats
    exact: bool
    name: str

    def solve(
        self, h: Floats, rho: Floats, w: Floats, o: Floats, accuracy: float
    ) -> tuple[Floats, Floats]:
        """Return the solution v of ``(R + X'HX) v = X'rho`` and Xv, starting from w and o = Xw.

        If the solver is not exact, ``accuracy`` is the gradient error at which the solution counts
        as exact; for a step, a hundredth of the error at w suffices, unless w is 0.
        """


def newton_system(X: Any, ridge: Floats, groups: Sequence[slice] | None = None) -> NewtonSystem:
    """Return the cheapest system for these rows.

    ``groups`` are rows whose costs are likely to be rescaled together.
    """
    n, d = X.shape
    if sparse.issparse(X):
        return Dual(X, ridge) if n <= min(DUAL_ROWS, d) else Conjugate(X, ridge)
    if 2 * n <= 3 * d:
        return Dual(X, ridge)
    return Primal(X, ridge, [slice(0, n)] if groups is None else list(groups))


class Primal:
    """Cholesky of ``R + X'HX``, for more rows than columns.

    The sum over each group of rows is stored for its costs divided by their maximum, so that
    rescaling a group is free, and is updated by the rows that changed. Only one triangle of the
    symmetric sums is computed.
    """

    exact = True
    name = "primal"

    def __init__(self, X: Floats, ridge: Floats, groups: list[slice]) -> None:
        self.X, self.ridge, self.groups = X, ridge, groups
        d = X.shape[1]
        self._sums = [np.zeros((d, d), order="F") for _ in groups]
        self._shares = [np.zeros(group.stop - group.start) for group in groups]
        self._updates = [0 for _ in groups]
        # Allocating new arrays would take longer than computing them.
        self._H, self._scratch = np.empty((d, d), order="F"), np.empty((d, d), order="F")
        self._rows = np.empty((max(map(len, self._shares), default=0), d))

    def solve(  # noqa: D102
        self, h: Floats, rho: Floats, w: Floats, o: Floats, accuracy: float
    ) -> tuple[Floats, Floats]:
        v = self.factorised(h, rho, w)[0]
        return v, self.X @ v

    def factorised(self, h: Floats, rho: Floats, w: Floats) -> tuple[Floats, Floats | None]:
        """Return the solution and the lower Cholesky factor, None if the matrix is singular."""
        right = self.X.T @ rho
        if not h.any():
            return _without_rows(right, self.ridge, w), None
        factor, solution, info = lapack.dposv(self._matrix(h), right, lower=1, overwrite_a=1)
        if info == 0:
            return np.asarray(solution), factor
        H = self._matrix(h)
        full = np.tril(H) + np.tril(H, -1).T
        return np.asarray(np.linalg.lstsq(full, right, rcond=None)[0]), None

    def _matrix(self, h: Floats) -> Floats:
        """Return the lower triangle of ``R + X'HX``."""
        H = self._H
        H.fill(0.0)
        H.ravel(order="K")[:: len(H) + 1] = self.ridge
        for k, group in enumerate(self.groups):
            part = h[group]
            largest = part.max(initial=0.0)
            if largest > 0:
                H += np.multiply(self._sum(k, part / largest), largest, out=self._scratch)
        return H

    def _sum(self, k: int, share: Floats) -> Floats:
        """Return the lower triangle of ``sum_i share_i x_i x_i'`` over group k."""
        self._updates[k] += 1
        change = share - self._shares[k]
        changed = np.abs(change) > 1e-14
        if not changed.any():
            return self._sums[k]
        if np.count_nonzero(changed) > np.count_nonzero(share) or self._updates[k] > REFRESH:
            self._sums[k].fill(0.0)
            self._updates[k], self._shares[k] = 0, np.zeros_like(share)
            change, changed = share, share > 0
        for sign in (1.0, -1.0):
            self._add(k, (changed & (sign * change > 0)).nonzero()[0], change, sign)
        self._shares[k][changed] = share[changed]
        return self._sums[k]

    def _add(self, k: int, rows: Index, change: Floats, sign: float) -> None:
        """Add ``change_i x_i x_i'`` of rows of group k whose changes have the given sign."""
        if len(rows):
            A = self._rows[: len(rows)]
            self.X[self.groups[k]].take(rows, axis=0, out=A, mode="clip")
            A *= np.sqrt(sign * change[rows])[:, None]
            blas.dsyrk(sign, A.T, beta=1.0, c=self._sums[k], lower=1, overwrite_c=1)


class Dual:
    """Cholesky over the rows inside the margin, for fewer rows than columns.

    With K = ZZ' over the penalised columns and b = rho - Ho, the system is alpha w = Z'b and,
    over the rows inside, ``(K + alpha / h) b = alpha rho / h - alpha intercept`` with ``1'b = 0``
    if the intercept is unpenalised.
    """

    exact = True
    name = "dual"

    def __init__(self, X: Any, ridge: Floats) -> None:
        self.X, self.ridge = X, ridge
        self.alpha = float(ridge[0])
        self.free = bool(ridge[-1] == 0)
        Z = X[:, :-1] if self.free else X
        self._K = (Z @ Z.T).toarray() if sparse.issparse(X) else Z @ Z.T

    def solve(  # noqa: D102
        self, h: Floats, rho: Floats, w: Floats, o: Floats, accuracy: float
    ) -> tuple[Floats, Floats]:
        v = self._solution(h, rho, w)
        return v, self.X @ v

    def _solution(self, h: Floats, rho: Floats, w: Floats) -> Floats:
        rows = h.nonzero()[0]
        if len(rows) == 0:
            return _without_rows(self.X.T @ rho, self.ridge, w)
        b = rho.copy()
        b[rows] = 0.0
        whole = len(rows) == len(h)
        M = self._K.copy() if whole else self._K[rows].take(rows, axis=1)
        inverse = self.alpha / h[rows]
        M.ravel()[:: len(rows) + 1] += inverse
        q = inverse * rho[rows]
        if b.any():
            q -= self._K[rows] @ b
        if not self.free:
            b[rows] = _cholesky_solve(M, q)
            return (self.X.T @ b) / self.alpha
        known, ones = _cholesky_solve(M, np.column_stack([q, np.ones(len(rows))])).T
        intercept = (known.sum() + b.sum()) / ones.sum()
        b[rows] = known - intercept * ones
        w = (self.X.T @ b) / self.alpha
        w[-1] = intercept / self.alpha
        return w


class Conjugate:
    """Conjugate gradients, preconditioned by the diagonal; no matrix but X is stored."""

    exact = False
    name = "conjugate_gradients"

    def __init__(self, X: Any, ridge: Floats) -> None:
        if X.nnz < 2**31:  # halves the memory traffic for indices
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        self.X, self.ridge = X, ridge
        self._transposed = X.T.tocsr()
        self._squares = self._transposed.multiply(self._transposed).tocsr()

    def solve(  # noqa: D102
        self, h: Floats, rho: Floats, w: Floats, o: Floats, accuracy: float
    ) -> tuple[Floats, Floats]:
        v = self._solution(h, rho, w, accuracy)
        return v, self.X @ v

    def _solution(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        X, transposed = self.X, self._transposed
        right = transposed @ rho
        if not h.any():
            return _without_rows(right, self.ridge, w)
        d = len(right)
        diagonal = self.ridge + self._squares @ h
        diagonal[diagonal <= 0] = 1.0
        system = LinearOperator(
            (d, d), matvec=lambda v: self.ridge * v + transposed @ (h * (X @ v)), dtype=np.float64
        )
        inverse = LinearOperator((d, d), matvec=lambda v: v / diagonal, dtype=np.float64)
        start = np.linalg.norm(right - system @ w) if w.any() else 0.0
        enough = max(0.01 * start, 0.3 * accuracy * np.sqrt(2 * self.ridge[0]))
        solution, _ = cg(system, right, x0=w, rtol=1e-12, atol=enough, maxiter=10 * d, M=inverse)
        return np.asarray(solution)


def _without_rows(right: Floats, ridge: Floats, w: Floats) -> Floats:
    """Return the minimum of the penalty alone; an unpenalised intercept keeps its value."""
    return np.where(ridge > 0, right / np.where(ridge > 0, ridge, 1.0), w)


def _cholesky_solve(M: Floats, right: Floats) -> Floats:
    """Return ``M^-1 right``; M is overwritten."""
    # The transpose of a symmetric C array is a Fortran array, which LAPACK factorises in place.
    diagonal = M.diagonal().copy()
    _, solution, info = lapack.dposv(M.T, right, lower=1, overwrite_a=1)
    if info != 0:
        np.fill_diagonal(M, diagonal)
        symmetric = np.tril(M) + np.tril(M, -1).T
        return np.asarray(np.linalg.lstsq(symmetric, right, rcond=None)[0])
    return np.asarray(solution)
