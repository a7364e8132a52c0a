"""Finite Newton method for linear SVMs with squared hinge loss (Keerthi & DeCoste 2005).

    minimise over w    1/2 w'Rw + 1/2 sum_k c_k max(0, 1 - y_k o_k)^2,        o = Xw,

R is diagonal, 0 for an unpenalised intercept. The sum has one term for every row, or two (y = -1
and 1) for rows that count on both sides; optionally there is one constraint  a'o = t.  Only terms
inside the margin, I = {k: y_k o_k < 1}, have a slope. With h_i and r_i the sums of c_k and c_k y_k
over the terms of row i in I, the quadratic through them has its minimum at the Newton point

    (R + X'HX) w = X'r,        H = diag(h).

Move there, or towards it by an exact line search if the objective does not decrease enough over two
steps (Grippo, Lampariello & Lucidi 1986). If a full step leaves I unchanged, w is the minimum, so
the method ends after finitely many steps. There are three ways to solve the system:

    Primal      Cholesky of R + X'HX, updated by the rows that enter or leave the margin
    Dual        w = X'b / alpha and Cholesky of alpha / h_i + x_i'x_j over the rows inside it
    Conjugate   conjugate gradients, for sparse rows
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack
from scipy.sparse.linalg import LinearOperator, cg

from primum._typing import Floats, Index, Mask

# Costs that differ by less than this fraction of the largest are equal up to rounding.
COST_ROUNDING = 1e-14
# Up to this many sparse rows, the dense matrix of their inner products is used (32 MB); for more,
# conjugate gradients take less time.
MAX_DUAL_ROWS = 2000
# After this many updates sums are recomputed, so that rounding errors do not accumulate: often
# enough to lose about two digits at most, seldom enough to cost next to nothing.
MAX_UPDATES = 200


class NewtonSystem(ABC):
    """The linear systems that the finite Newton method has to solve."""

    exact = True
    name: str

    def __init__(self, X: Any, ridge: Floats) -> None:
        self.X, self.ridge = X, ridge

    def solve(
        self, h: Floats, rho: Floats, w: Floats, o: Floats, accuracy: float
    ) -> tuple[Floats, Floats]:
        """Return the solution v of ``(R + X'HX) v = X'rho`` and Xv, starting from w and o = Xw.

        If the solver is not exact, ``accuracy`` is the gradient error at which the solution counts
        as exact; for a step, a hundredth of the error at w suffices, unless w is 0.
        """
        if h.any():
            v = self._solution(h, rho, w, accuracy)
        else:  # the minimum of the penalty alone; an unpenalised intercept keeps its value
            penalized = self.ridge > 0
            v = np.where(penalized, self.X.T @ rho / np.where(penalized, self.ridge, 1.0), w)
        return v, self.X @ v

    def penalty(self, w: Floats, v: Floats, o: Floats) -> float:
        """Return ``w'Rv`` of two points, given the outputs o of v."""
        return float(self.ridge @ (w * v))

    def entered(self, machine: "Machine", pull: Floats) -> "Machine":
        """Return a machine, given by its coefficients, as a point of this system.

        ``pull`` are the b of ``Dual`` that make up the coefficients.
        """
        return machine

    def left(self, machine: "Machine") -> "Machine":
        """Return a point of this system as a machine given by its coefficients."""
        return machine

    @abstractmethod
    def _solution(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        """Return the solution v if some h are not 0."""


def newton_system(X: Any, ridge: Floats, groups: Sequence[slice] | None = None) -> NewtonSystem:
    """Return the cheapest system for these rows.

    ``groups`` are rows whose costs are likely to be rescaled together.
    """
    n, d = X.shape
    if sparse.issparse(X):
        return Dual(X, ridge) if n <= min(MAX_DUAL_ROWS, d) else Conjugate(X, ridge)
    if 2 * n <= 3 * d:
        return Dual(X, ridge)
    return Primal(X, ridge, [slice(0, n)] if groups is None else list(groups))


class Primal(NewtonSystem):
    """Cholesky of ``R + X'HX``, for more rows than columns.

    The sum over each group of rows is stored for its costs divided by their maximum, so that
    rescaling a group is free, and is updated by the rows that changed. Only one triangle of the
    symmetric sums is computed.
    """

    name = "primal"

    def __init__(self, X: Floats, ridge: Floats, groups: list[slice]) -> None:
        super().__init__(X, ridge)
        self.groups = groups
        d = X.shape[1]
        self._sums = [np.zeros((d, d), order="F") for _ in groups]
        self._shares = [np.zeros(group.stop - group.start) for group in groups]
        self._updates = [0 for _ in groups]
        # Allocating new arrays would take longer than computing them.
        self._H, self._scratch = np.empty((d, d), order="F"), np.empty((d, d), order="F")
        self._rows = np.empty((max(map(len, self._shares), default=0), d))

    def _solution(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        return self.factorized(h, self.X.T @ rho)[0]

    def factorized(self, h: Floats, right: Floats) -> tuple[Floats, Floats | None]:
        """Return the solution and the lower Cholesky factor; None if the matrix is singular."""
        return _positive_solution(lambda: self._matrix(h), right)

    def _matrix(self, h: Floats) -> Floats:
        """Return the lower triangle of ``R + X'HX``."""
        H = self._H
        H.fill(0.0)
        H.ravel(order="K")[:: len(H) + 1] = self.ridge
        for k, group in enumerate(self.groups):
            part = h[group]
            largest = part.max(initial=0.0)
            if largest == 0:
                continue
            # The sum of share_i x_i x_i' over the group, updated by the rows that changed.
            share = part / largest
            self._updates[k] += 1
            change = share - self._shares[k]
            changed = np.abs(change) > COST_ROUNDING
            if changed.any():
                many = np.count_nonzero(changed) > np.count_nonzero(share)
                if many or self._updates[k] > MAX_UPDATES:
                    self._sums[k].fill(0.0)
                    self._updates[k] = 0
                    self._shares[k] = np.zeros_like(share)
                    change = share
                    changed = share > 0
                for sign in (1.0, -1.0):
                    rows = (changed & (sign * change > 0)).nonzero()[0]
                    if len(rows):
                        A = self._rows[: len(rows)]
                        self.X[group].take(rows, axis=0, out=A, mode="clip")
                        A *= np.sqrt(sign * change[rows])[:, None]
                        blas.dsyrk(sign, A.T, beta=1.0, c=self._sums[k], lower=1, overwrite_c=1)
                self._shares[k][changed] = share[changed]
            H += np.multiply(self._sums[k], largest, out=self._scratch)
        return H


class Dual(NewtonSystem):
    """Cholesky over the rows inside the margin, for fewer rows than columns.

    With K = ZZ' over the penalised columns and b = rho - Ho, the system is alpha w = Z'b and,
    over the rows inside, ``(K + alpha / h) b = alpha rho / h - alpha intercept`` with ``1'b = 0``
    if the intercept is unpenalised.
    """

    name = "dual"

    def __init__(self, X: Any, ridge: Floats) -> None:
        super().__init__(X, ridge)
        self.alpha = float(ridge[0])
        self.free = bool(ridge[-1] == 0)
        Z = X[:, :-1] if self.free else X
        self.gram = (Z @ Z.T).toarray() if sparse.issparse(X) else Z @ Z.T

    def _matrix(self, rows: Index, inverse: Floats) -> Floats:
        M = self.gram.copy() if len(rows) == len(self.gram) else self.gram[rows].take(rows, axis=1)
        M.ravel()[:: len(rows) + 1] += inverse
        return M.T  # a Fortran array, which LAPACK factorises in place

    def _solution(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        return self.coefficients(self.expansion(h, rho))

    def expansion(self, h: Floats, rho: Floats) -> Floats:
        """Return b of the solution, and the intercept; that is 0 unless it is unpenalised."""
        rows = h.nonzero()[0]
        b = np.where(h > 0, 0.0, rho)
        inverse = self.alpha / h[rows]
        q = inverse * rho[rows]
        if b.any():
            q -= self.gram[rows] @ b
        sides = np.column_stack([q, np.ones(len(rows))]) if self.free else q
        solved, _ = _positive_solution(lambda: self._matrix(rows, inverse), sides)
        if not self.free:
            b[rows] = solved
            return np.append(b, 0.0)
        fixed, ones = solved.T
        intercept = (fixed.sum() + b.sum()) / ones.sum()
        b[rows] = fixed - intercept * ones
        return np.append(b, intercept / self.alpha)

    def coefficients(self, expansion: Floats) -> Floats:
        """Return the coefficients, given b and the intercept."""
        w = np.asarray(self.X.T @ expansion[:-1]) / self.alpha
        if self.free:
            w[-1] = expansion[-1]
        return w


class Conjugate(NewtonSystem):
    """Conjugate gradients, preconditioned by the diagonal; no matrix but X is stored."""

    exact = False
    name = "conjugate_gradients"

    def __init__(self, X: Any, ridge: Floats) -> None:
        if X.nnz < 2**31:  # halves the memory traffic for indices
            X.indices = X.indices.astype(np.int32)
            X.indptr = X.indptr.astype(np.int32)
        super().__init__(X, ridge)
        self._transposed = X.T.tocsr()
        self._squares = self._transposed.multiply(self._transposed).tocsr()

    def _solution(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        X = self.X
        transposed = self._transposed
        d = len(w)
        right = transposed @ rho
        diagonal = self.ridge + self._squares @ h
        diagonal[diagonal <= 0] = 1.0
        system = LinearOperator(
            (d, d), matvec=lambda v: self.ridge * v + transposed @ (h * (X @ v)), dtype=np.float64
        )
        inverse = LinearOperator((d, d), matvec=lambda v: v / diagonal, dtype=np.float64)
        start = np.linalg.norm(right - system @ w) if w.any() else 0.0
        # A step need not be exact: a hundredth of what is left, or a third of what counts as exact.
        enough = max(0.01 * start, 0.3 * accuracy * np.sqrt(2 * self.ridge[0]))
        solution, _ = cg(system, right, x0=w, rtol=1e-12, atol=enough, maxiter=10 * d, M=inverse)
        return np.asarray(solution)


def _positive_solution(matrix: Callable[[], Floats], right: Floats) -> tuple[Floats, Floats | None]:
    """Return ``M^-1 right`` and the lower Cholesky factor of M, None if it is singular.

    ``matrix`` computes the lower triangle of M, in memory that is overwritten.
    """
    factor, solution, info = lapack.dposv(matrix(), right, lower=1, overwrite_a=1)
    if info == 0:
        return np.asarray(solution), factor
    lower = np.tril(matrix())
    symmetric = lower + np.tril(lower, -1).T
    return np.asarray(np.linalg.lstsq(symmetric, right, rcond=None)[0]), None


# A full Newton step is accepted if the objective decreases by this fraction of the slope (1/2 for a
# quadratic) from the current or the previous point: a step up is often followed by two down.
SUFFICIENT_DECREASE = 0.01


@dataclass(frozen=True)
class HingeCosts:
    """Half squared hinges ``cost / 2 * max(0, 1 - sign * o)^2``, one or two for every row.

    ``sign`` and ``cost`` are (n_terms,): the side, -1 or 1, and the cost of each term. There is one
    term for every row, in order, and then a second one for each of the last ``twice`` rows.
    """

    sign: Floats
    cost: Floats
    twice: int = 0

    def slack(self, o: Floats) -> Floats:
        """Return ``1 - sign * o`` for every term."""
        return 1.0 - self.sign * (np.concatenate([o, o[-self.twice :]]) if self.twice else o)

    def per_row(self, values: Floats) -> Floats:
        """Return the sum of values over the terms of each row."""
        if self.twice == 0:
            return values
        total = values[: -self.twice].copy()
        total[-self.twice :] += values[-self.twice :]
        return total


@dataclass(frozen=True)
class Balance:
    """The constraint ``weight'o = target``."""

    weight: Floats
    target: float


@dataclass(frozen=True)
class Machine:
    """A point w with its outputs o = Xw and its objective."""

    w: Floats
    o: Floats
    objective: float
    n_iter: int = 0
    converged: bool = True


def machine_at(system: NewtonSystem, w: Floats) -> Machine:
    """Return a point with its outputs; its objective is not computed yet."""
    return Machine(w, system.X @ w, np.inf)


class _MarginPoint:
    """A point, each term's slack and pull there, and the objective."""

    __slots__ = ("costs", "inside", "o", "pull", "slack", "system", "value", "w")

    def __init__(self, system: NewtonSystem, costs: HingeCosts, w: Floats, o: Floats) -> None:
        self.system, self.costs, self.w, self.o = system, costs, w, o
        self.slack = costs.slack(o)
        self.inside: Mask = self.slack > 0
        self.pull = costs.cost * self.inside * self.slack
        self.value = 0.5 * (system.penalty(w, w, o) + float(self.pull @ self.slack))


def minimize(
    system: NewtonSystem,
    costs: HingeCosts,
    start: Machine,
    *,
    tol: float,
    max_iter: int,
    balance: Balance | None = None,
) -> Machine:
    """Return the minimum, from any start.

    It stops if a Newton step moves no row into or out of the margin, or if its predicted decrease
    is below ``tol`` times the objective.
    """
    feasible = balance is None
    done = False
    n_iter = 0
    at = _MarginPoint(system, costs, start.w, start.o)
    before = at.value
    while not done and n_iter < max_iter:
        n_iter += 1
        # The Newton point: the minimum of the quadratic through the terms inside the margin.
        accuracy = math.sqrt(tol * max(at.value, 0.0))
        active = costs.cost * at.inside
        h, rho = costs.per_row(active), costs.per_row(costs.sign * active)
        w, o = system.solve(h, rho, at.w, at.o, accuracy)
        if balance is not None:
            # The multiplier moves it along (R + X'HX)^-1 X'a until the constraint holds.
            still = np.zeros_like(w), np.zeros_like(o)
            along, o_along = system.solve(h, balance.weight, *still, accuracy)
            far = (balance.target - balance.weight @ o) / (balance.weight @ o_along)
            w, o = w + far * along, o + far * o_along
        newton = _MarginPoint(system, costs, w, o)
        crosses = (newton.inside != at.inside).nonzero()[0]
        if not feasible or len(crosses) == 0:
            done = feasible and (system.exact or at.value - newton.value <= tol * at.value)
            at = newton
            feasible = True
            continue
        change = newton.slack - at.slack
        slope = system.penalty(at.w, newton.w - at.w, newton.o - at.o) + float(at.pull @ change)
        done = -0.5 * slope <= tol * at.value
        if newton.value > max(before, at.value) + SUFFICIENT_DECREASE * slope:
            # The lowest point on the line through the Newton point. The slope along it is
            # continuous and piecewise linear, with a kink where the slack of a term changes sign.
            # Up to the Newton point these are the terms ``crosses``; without them, slope and
            # curvature would cancel there.
            bends, jumps = _bends(at, change, crosses)
            if jumps @ (1.0 - bends) < 0.0:  # still decreasing there: further terms cross beyond
                crosses = (((change > 0) != at.inside) & (change != 0)).nonzero()[0]
                bends, jumps = _bends(at, change, crosses)
            # The slope would be 0 at 1 without the bends; it increases, so find where it is 0.
            step = 0.0
            if slope < 0.0:
                order = bends.argsort()
                places = np.append(0.0, bends[order])
                curvatures = np.append(-slope, jumps[order]).cumsum()
                slopes = np.append(slope, curvatures[:-1] * np.diff(places)).cumsum()
                last = int(slopes.searchsorted(0.0)) - 1
                step = float(places[last])
                if curvatures[last] > 0:
                    step = float(places[last] - slopes[last] / curvatures[last])
            w, o = at.w + step * (newton.w - at.w), at.o + step * (newton.o - at.o)
            newton = _MarginPoint(system, costs, w, o)
        before, at = at.value, newton
    return Machine(at.w, at.o, at.value, n_iter, converged=done)


def _bends(at: _MarginPoint, change: Floats, crosses: Index) -> tuple[Floats, Floats]:
    """Return where terms cross, and how much the curvature jumps there."""
    start, speed = at.slack[crosses], change[crosses]
    # A term that enters the margin, speed > 0, adds curvature; one that leaves removes it.
    return -start / speed, at.costs.cost[crosses] * speed * np.abs(speed)
