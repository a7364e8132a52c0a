"""Finite Newton for linear machines with a squared hinge (Keerthi & DeCoste 2005).

    minimise over w    1/2 w'Rw + 1/2 sum_k c_k max(0, 1 - y_k o_k)^2,        o = Xw,

R is diagonal, 0 for a free intercept. The sum has a term for every row, or two (y = -1 and 1) for
rows that count on both sides; optionally there is one condition  a'o = t.  Only terms inside
their margin have a slope, I = {k: y_k o_k < 1}, and with h_i and r_i the sums of c_k and c_k y_k
over the terms of row i in I, the quadratic through them has its minimum at the Newton point

    (R + X'HX) w = X'r,        H = diag(h).

Move towards it by an exact line search. Where a whole step leaves I as it is, w is the minimum,
so the method ends after finitely many steps. Three classes solve the system:

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

from primum._typing import Floats, Index, Mask

# Sparse rows up to this many are solved by their products, which are dense.
DUAL_ROWS = 2000
# Sums updated this often are computed anew, so that rounding does not pile up.
REFRESH = 200


class NewtonSystem(Protocol):
    """What finite Newton needs to know of the rows."""

    X: Any
    ridge: Floats
    exact: bool

    def solve(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        """Return the solution of ``(R + X'HX) v = X'rho``, from a guess w.

        Where it is not exact, ``accuracy`` says which error of the gradient is small enough
        for good; a hundredth of the guess's, unless that is 0, is small enough for a step.
        """


@dataclass(frozen=True)
class Costs:
    """Half squared hinges ``cost / 2 * max(0, 1 - sign * o)^2``, one or two for every row.

    Attributes
    ----------
    sign, cost : arrays of shape (n_terms,)
        The side, -1 or 1, and the cost of each term.
    row : array of shape (n_terms,) or None
        Which row it is about; None if there is one for every row, in order.
    """

    sign: Floats
    cost: Floats
    row: Index | None = None

    def slack(self, o: Floats) -> Floats:
        """Return ``1 - sign * o`` for every term."""
        return 1.0 - self.sign * (o if self.row is None else o[self.row])

    def loss(self, slack: Floats) -> float:
        """Return the sum of the terms."""
        inside = np.maximum(slack, 0.0)
        inside *= inside
        return 0.5 * float(self.cost @ inside)

    def per_row(self, values: Floats, n_rows: int) -> Floats:
        """Return the sum of values over the terms of each row."""
        if self.row is None:
            return values
        return np.asarray(np.bincount(self.row, values, n_rows), dtype=np.float64)


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


def two_sided_costs(y: Floats, cost: Floats, plus: Floats, minus: Floats) -> Costs:
    """Return the costs of rows with labels y, then of rows that count on both sides."""
    n, m = len(y), len(plus)
    both = np.arange(n, n + m)
    return Costs(
        np.concatenate([y, np.ones(m), -np.ones(m)]),
        np.concatenate([cost, plus, minus]),
        np.concatenate([np.arange(n), both, both]),
    )


def machine_at(system: NewtonSystem, w: Floats) -> Machine:
    """Return a point with its outputs; its objective is not known yet."""
    return Machine(w, system.X @ w, np.inf)


def objective(system: NewtonSystem, costs: Costs, w: Floats, o: Floats) -> float:
    """Return the value to be minimised."""
    return 0.5 * float(system.ridge @ (w * w)) + costs.loss(costs.slack(o))


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
    w, o, slack = start.w, start.o, costs.slack(start.o)
    feasible, done, n_iter = balance is None, False, 0
    while not done and n_iter < max_iter:
        n_iter += 1
        value = 0.5 * float(system.ridge @ (w * w)) + costs.loss(slack)
        inside = slack > 0
        newton = _newton_point(system, costs, inside, w, np.sqrt(tol * value), balance)
        o_newton = system.X @ newton
        slack_newton = costs.slack(o_newton)
        if not feasible or ((slack_newton > 0) == inside).all():
            gain = 0.0 if system.exact else value - objective(system, costs, newton, o_newton)
            feasible, done = True, feasible and gain <= tol * value
            w, o, slack = newton, o_newton, slack_newton
        else:
            d, bend = newton - w, slack_newton - slack
            step, promise = _exact_step(system.ridge, costs.cost, (w, d), (slack, bend))
            done = promise <= tol * value
            w, o, slack = w + step * d, o + step * (o_newton - o), slack + step * bend
    return Machine(w, o, objective(system, costs, w, o), n_iter, converged=done)


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
    inside: Mask,
    w: Floats,
    accuracy: float,
    balance: Balance | None,
) -> Floats:
    active = costs.cost * inside
    n_rows = system.X.shape[0]
    h = costs.per_row(active, n_rows)
    newton = system.solve(h, costs.per_row(costs.sign * active, n_rows), w, accuracy)
    if balance is None:
        return newton
    # The multiplier moves the minimum along (R + X'HX)^-1 X'a until the condition holds.
    along = system.solve(h, balance.weight, np.zeros_like(w), accuracy)
    rate = balance.weight @ (system.X @ along)
    short = balance.target - balance.weight @ (system.X @ newton)
    return newton + (short / rate) * along


def _exact_step(
    ridge: Floats, cost: Floats, point: tuple[Floats, Floats], terms: tuple[Floats, Floats]
) -> tuple[float, float]:
    """Return (best step from a point in a direction, decrease that the quadratic promises).

    The slope along the line is continuous and piecewise linear: it bends where a term's slack
    passes zero. At a Newton direction slope and curvature cancel at step 1.
    """
    (w, d), (slack, change) = point, terms
    inside = slack > 0
    slope = float(ridge @ (w * d) + (cost * inside) @ (slack * change))
    # A term inside moves out, or a term outside moves in.
    there = slack + change
    crosses = np.flatnonzero((there > 0) != inside)
    step = _first_flat(slope, -slope, *_bends(crosses, cost, slack, change))
    if step > 1.0:  # further terms cross beyond the Newton point
        crosses = np.flatnonzero(((change > 0) != inside) & (change != 0))
        step = _first_flat(slope, -slope, *_bends(crosses, cost, slack, change))
    return step, -0.5 * slope


def _bends(crosses: Index, cost: Floats, slack: Floats, change: Floats) -> tuple[Floats, Floats]:
    """Return where terms cross, and by how much the curvature jumps there."""
    start, speed = slack[crosses], change[crosses]
    # Moving in, speed > 0, adds curvature; moving out takes it away.
    return -start / speed, cost[crosses] * speed * np.abs(speed)


def _first_flat(slope: float, curvature: float, bends: Floats, jumps: Floats) -> float:
    """Return where a slope that rises piecewise linearly reaches zero."""
    if slope >= 0.0:
        return 0.0
    if len(bends) == 0:
        return -slope / curvature if curvature > 0 else 0.0
    order = bends.argsort()
    at, curvatures, slopes = np.zeros((3, len(bends) + 1))
    at[1:], curvatures[1:] = bends[order], jumps[order]
    curvatures[0] = curvature
    curvatures.cumsum(out=curvatures)
    slopes[0], slopes[1:] = slope, curvatures[:-1] * (at[1:] - at[:-1])
    slopes.cumsum(out=slopes)
    last = int(slopes.searchsorted(0.0)) - 1
    bend = curvatures[last]
    return float(at[last] - slopes[last] / bend if bend > 0 else at[last])


class Primal:
    """Cholesky of ``R + X'HX``, for more rows than columns.

    The sum over each group of rows is kept for its costs divided by their largest, so that
    multiplying a group's costs costs nothing, and is updated by the rows that changed.
    """

    exact = True

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

    exact = True

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
        whole = len(rows) == len(h)
        M = self._K.copy() if whole else self._K[rows].take(rows, axis=1)
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

    exact = False

    def __init__(self, X: Any, ridge: Floats) -> None:
        if X.nnz < 2**31:  # half the memory to read
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
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
        start = np.linalg.norm(right - system @ w) if w.any() else 0.0
        enough = max(0.01 * start, 0.3 * accuracy * np.sqrt(2 * self.ridge[0]))
        solution, _ = cg(system, right, x0=w, rtol=1e-12, atol=enough, maxiter=10 * d, M=inverse)
        return np.asarray(solution)


def _without_rows(right: Floats, ridge: Floats, w: Floats) -> Floats:
    """Return the minimum of the penalty alone; a free intercept stays where it is."""
    return np.where(ridge > 0, right / np.where(ridge > 0, ridge, 1.0), w)


def _cholesky_solve(M: Floats, right: Floats) -> Floats:
    """Return ``M^-1 right``; M is overwritten."""
    # The transpose of a symmetric C array is the Fortran array that LAPACK works on in place.
    diagonal = M.diagonal().copy()
    factor, info = lapack.dpotrf(M.T, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        np.fill_diagonal(M, diagonal)
        symmetric = np.tril(M) + np.tril(M, -1).T
        return np.asarray(np.linalg.lstsq(symmetric, right, rcond=None)[0])
    return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])
