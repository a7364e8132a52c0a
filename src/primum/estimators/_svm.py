"""Finite Newton for linear machines with a squared hinge (Keerthi & DeCoste 2005).

    minimise over w    1/2 w'Rw + 1/2 sum_i [ p_i max(0, 1 - o_i)^2 + m_i max(0, 1 + o_i)^2 ],

    o = Xw;  R diagonal, 0 for a free intercept;  p_i, m_i: cost of row i as a positive, a negative,

optionally with one condition  a'o = t.  Only the rows inside their margin have a slope:

    h_i = p_i [o_i < 1] + m_i [o_i > -1],        r_i = p_i [o_i < 1] - m_i [o_i > -1],

and the quadratic through them has its minimum at the Newton point  (R + X'HX) w = X'r.  Move
towards it by an exact line search; where a whole step changes no [...], w is the minimum, so the
method ends after finitely many steps. How the system is solved is told apart in three classes:

    Primal      Cholesky of R + X'HX, which changes by the rows that enter or leave the margin
    Dual        w = X'b / alpha and Cholesky of alpha / h_i + x_i'x_j over the rows inside
    Conjugate   conjugate gradients, for sparse rows
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from primum._typing import Floats, Mask

# Sparse rows up to this many are solved by their products, which are dense.
DUAL_ROWS = 2000
# Sums updated this often are computed anew, so that rounding does not pile up.
REFRESH = 200


class NewtonSystem(Protocol):
    """What finite Newton needs to know of the rows."""

    X: Any
    ridge: Floats

    def solve(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        """Return the solution of ``(R + X'HX) v = X'rho``, from a guess w."""


@dataclass(frozen=True)
class Costs:
    """The cost of every row as a positive and as a negative."""

    plus: Floats
    minus: Floats

    def loss(self, o: Floats) -> float:
        """Return half the sum of the squared hinges."""
        below, above = np.maximum(1.0 - o, 0.0), np.maximum(1.0 + o, 0.0)
        return 0.5 * float(self.plus @ (below * below) + self.minus @ (above * above))

    def inside(self, o: Floats) -> tuple[Mask, Mask]:
        """Return which rows have a slope as a positive, and as a negative."""
        return (o < 1.0) & (self.plus > 0), (o > -1.0) & (self.minus > 0)


@dataclass(frozen=True)
class Balance:
    """The condition ``weight'o = target``."""

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


def signed_costs(y: Floats, cost: Floats) -> Costs:
    """Return the costs of rows whose labels -1 and 1 are known."""
    return Costs(np.where(y > 0, cost, 0.0), np.where(y > 0, 0.0, cost))


def machine_at(system: NewtonSystem, costs: Costs, w: Floats) -> Machine:
    """Return a point with what is computed from it."""
    o = system.X @ w
    return Machine(w, o, objective(system, costs, w, o))


def objective(system: NewtonSystem, costs: Costs, w: Floats, o: Floats) -> float:
    """Return the value to be minimised."""
    return 0.5 * float(system.ridge @ (w * w)) + costs.loss(o)


def minimise(
    system: NewtonSystem,
    costs: Costs,
    start: Machine,
    *,
    tol: float,
    max_iter: int,
    balance: Balance | None = None,
) -> Machine:
    """Return the minimum, from any start.

    It stops where a Newton step changes nothing that matters: no row enters or leaves its margin,
    or the decrease it promises is below ``tol`` times the objective.
    """
    w, o = start.w, start.o
    value = objective(system, costs, w, o)
    feasible = balance is None
    for n_iter in range(1, max_iter + 1):
        inside = costs.inside(o)
        newton = _newton_point(system, costs, inside, w, np.sqrt(tol * value), balance)
        o_newton = system.X @ newton
        value_newton = objective(system, costs, newton, o_newton)
        settled = all(map(np.array_equal, costs.inside(o_newton), inside))
        if settled or not feasible:
            done = settled
            w, o, value = newton, o_newton, value_newton
        else:
            step, promise = _exact_step(system, costs, inside, (w, o), (newton, o_newton))
            done = promise <= tol * value
            w, o = w + step * (newton - w), o + step * (o_newton - o)
            value = objective(system, costs, w, o)
        feasible = True
        if done:
            return Machine(w, o, value, n_iter)
    return Machine(w, o, value, max_iter, converged=False)


def warn_if_short(machine: Machine, name: str, max_iter: int, stacklevel: int = 4) -> None:
    """Say so if a fit ended before its minimum."""
    if not machine.converged:
        warnings.warn(
            f"{name} stopped after max_iter={max_iter} Newton steps before reaching tol; raise "
            "max_iter or tol, or scale the features.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def newton_system(X: Any, ridge: Floats, groups: Sequence[slice] | None = None) -> NewtonSystem:
    """Return the cheapest way to solve for these rows.

    ``groups`` are rows whose costs are likely to be multiplied together.
    """
    n, d = X.shape
    if sparse.issparse(X):
        return Dual(X, ridge) if n <= min(DUAL_ROWS, d) else Conjugate(X, ridge)
    if 2 * n <= 3 * d:
        return Dual(X, ridge)
    return Primal(X, ridge, [slice(0, n)] if groups is None else list(groups))


def _newton_point(
    system: NewtonSystem,
    costs: Costs,
    inside: tuple[Mask, Mask],
    w: Floats,
    accuracy: float,
    balance: Balance | None,
) -> Floats:
    plus, minus = np.where(inside[0], costs.plus, 0.0), np.where(inside[1], costs.minus, 0.0)
    h = plus + minus
    newton = system.solve(h, plus - minus, w, accuracy)
    if balance is None:
        return newton
    # The multiplier moves the minimum along (R + X'HX)^-1 X'a until the condition holds.
    along = system.solve(h, balance.weight, np.zeros_like(w), accuracy)
    rate = balance.weight @ (system.X @ along)
    short = balance.target - balance.weight @ (system.X @ newton)
    return newton + (short / rate) * along


def _exact_step(
    system: NewtonSystem,
    costs: Costs,
    inside: tuple[Mask, Mask],
    here: tuple[Floats, Floats],
    newton: tuple[Floats, Floats],
) -> tuple[float, float]:
    """Return (best step towards the Newton point, decrease that a quadratic promises).

    The slope along the line is continuous and piecewise linear; it bends where a row passes 1
    as a positive or -1 as a negative.
    """
    (w, o), (there, o_there) = here, newton
    d, q = there - w, o_there - o
    slope = float(
        system.ridge @ (w * d)
        - costs.plus[inside[0]] @ ((1.0 - o[inside[0]]) * q[inside[0]])
        + costs.minus[inside[1]] @ ((1.0 + o[inside[1]]) * q[inside[1]])
    )
    bends, jumps = [], []
    for edge, cost, active, sign in (
        (1.0, costs.plus, inside[0], 1.0),
        (-1.0, costs.minus, inside[1], -1.0),
    ):
        # A row inside moves out, or a row outside moves in.
        crosses = np.flatnonzero((cost > 0) & (np.where(active, sign, -sign) * q > 0))
        bends.append((edge - o[crosses]) / q[crosses])
        jumps.append(np.where(active[crosses], -1.0, 1.0) * cost[crosses] * q[crosses] ** 2)
    # A Newton step promises its slope: curvature and slope cancel at step 1.
    return _first_flat(slope, -slope, np.concatenate(bends), np.concatenate(jumps)), -0.5 * slope


def _first_flat(slope: float, curvature: float, bends: Floats, jumps: Floats) -> float:
    """Return where a slope that rises piecewise linearly reaches zero."""
    near = bends < 1.0
    for chosen in (near, np.ones_like(near)):
        order = np.flatnonzero(chosen)[np.argsort(bends[chosen])]
        at = np.concatenate([[0.0], bends[order]])
        curvatures = curvature + np.concatenate([[0.0], np.cumsum(jumps[order])])
        slopes = slope + np.concatenate([[0.0], np.cumsum(curvatures[:-1] * np.diff(at))])
        last = int(np.flatnonzero(slopes < 0.0)[-1]) if slope < 0 else 0
        bend = curvatures[last]
        flat = at[last] - slopes[last] / bend if bend > 0 else at[last]
        if flat <= 1.0:
            break
    return float(flat)


class Primal:
    """Cholesky of ``R + X'HX``, for more rows than columns.

    The sum over each group of rows is kept for its costs divided by their largest, so that
    multiplying a group's costs costs nothing, and is updated by the rows that changed.
    """

    def __init__(self, X: Floats, ridge: Floats, groups: list[slice]) -> None:
        self.X, self.ridge, self.groups = X, ridge, groups
        d = X.shape[1]
        self._sums = [np.zeros((d, d)) for _ in groups]
        self._shares = [np.zeros(group.stop - group.start) for group in groups]
        self._updates = [0 for _ in groups]

    def solve(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        if not h.any():
            return _without_rows(self.X.T @ rho, self.ridge, w)
        H = np.diag(self.ridge)
        for k, group in enumerate(self.groups):
            largest = h[group].max(initial=0.0)
            if largest > 0:
                H += largest * self._sum(k, h[group] / largest)
        return _cholesky_solve(H, self.X.T @ rho)

    def _sum(self, k: int, share: Floats) -> Floats:
        """Return ``sum_i share_i x_i x_i'`` over group k."""
        X = self.X[self.groups[k]]
        change = share - self._shares[k]
        changed = np.flatnonzero(np.abs(change) > 1e-14)
        rows = np.flatnonzero(share)
        self._updates[k] += 1
        if 2 * len(changed) > len(rows) or self._updates[k] > REFRESH:
            A = X[rows] * np.sqrt(share[rows])[:, None]
            self._sums[k], self._updates[k] = A.T @ A, 0
            self._shares[k] = share
        elif len(changed):
            A = X[changed]
            self._sums[k] += (A.T * change[changed]) @ A
            self._shares[k][changed] = share[changed]
        return self._sums[k]


class Dual:
    """Cholesky over the rows inside the margin, for fewer rows than columns.

    With K = ZZ' over the penalised columns and b = rho - Ho, the system says alpha w = Z'b and,
    over the rows inside, ``(K + alpha / h) b = alpha rho / h - alpha intercept`` with ``1'b = 0``
    if the intercept is free.
    """

    def __init__(self, X: Any, ridge: Floats) -> None:
        self.X, self.ridge = X, ridge
        self.alpha = float(ridge[0])
        self.free = bool(ridge[-1] == 0)
        Z = X[:, :-1] if self.free else X
        self._K = (Z @ Z.T).toarray() if sparse.issparse(X) else Z @ Z.T

    def solve(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        rows = np.flatnonzero(h)
        if len(rows) == 0:
            return _without_rows(self.X.T @ rho, self.ridge, w)
        b = rho.copy()
        b[rows] = 0.0
        M = self._K[np.ix_(rows, rows)]
        M.flat[:: len(rows) + 1] += self.alpha / h[rows]
        q = self.alpha * rho[rows] / h[rows]
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

    def __init__(self, X: Any, ridge: Floats) -> None:
        self.X, self.ridge = X, ridge
        self._transposed = X.T.tocsr()
        self._squares = self._transposed.multiply(self._transposed).tocsr()

    def solve(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
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
        enough = 0.3 * accuracy * np.sqrt(2 * self.ridge[0])
        solution, _ = cg(system, right, x0=w, rtol=1e-12, atol=enough, maxiter=10 * d, M=inverse)
        return np.asarray(solution)


def _without_rows(right: Floats, ridge: Floats, w: Floats) -> Floats:
    """Return the minimum of the penalty alone; a free intercept stays where it is."""
    return np.where(ridge > 0, right / np.where(ridge > 0, ridge, 1.0), w)


def _cholesky_solve(M: Floats, right: Floats) -> Floats:
    """Return ``M^-1 right``; M is overwritten."""
    factor, info = lapack.dpotrf(M, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        return np.asarray(np.linalg.lstsq(_symmetric(M), right, rcond=None)[0])
    return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])


def _symmetric(M: Floats) -> Floats:
    return np.tril(M) + np.tril(M, -1).T
