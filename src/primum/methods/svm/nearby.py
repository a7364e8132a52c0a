"""Newton systems that follow each other closely, solved with the inverse of an earlier one.

While labels change little from one refit to the next, so does the matrix ``A = R + X'HX`` of a
Newton step (``newton.py``). An earlier matrix ``A_0 = R + X'H_0 X``, whose inverse is known, is
then an excellent preconditioner of conjugate gradients. The difference of the two is a sum over the
rows whose h has changed, and products of A_0 with the directions of conjugate gradients follow from
their residuals.

With fewer rows than columns, the unknowns are the outputs instead of the coefficients. Let K = ZZ'
over the penalised columns, w = Z'b / alpha, and f = Kb / alpha the outputs without the intercept t.
The system is ``b = rho - H(f + t)``, ``1'b = 0``. With G = K / alpha it becomes

    (G^-1 + H) f + h t = rho,        h'f + 1'h t = 1'rho.

G is never inverted, and may be singular. Only N is computed, once, with S = H_0^(1/2):

    N = (I + S G S)^-1,        (G^-1 + H_0)^-1 = S^-1 (I - N) S^-1.

The difference of two such matrices is the diagonal H - H_0, and b is what remains of rho: a step
takes one product with N, and no product with K or X.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import blas, lapack

from primum._typing import Floats
from primum.methods.svm.newton import COST_ROUNDING, Dual, Machine, NewtonSystem, Primal

# The error of a solution, as a fraction of the error that counts as exact: low enough for errors of
# many solutions after each other to stay below that.
SOLUTION_ERROR_SHARE = 1e-4
# If this many steps do not suffice, another matrix is inverted: the number of steps that cost as
# much as an inverse is proportional to the number of equations.
MIN_PRECONDITIONED_STEPS, EQUATIONS_PER_STEP = 4, 10
# The costs of H_0 are at least this fraction of the largest, so that S has an inverse that keeps
# most digits.
MIN_COST_SHARE = 1e-3


def nearby_steps(
    change: Callable[[Floats], Floats],
    preconditioned: Callable[[Floats], Floats],
    residual: Floats,
    enough: float,
) -> tuple[Floats, Floats] | None:
    """Solve for a residual by conjugate gradients, until the square of the error is small.

    ``change`` multiplies by A - A_0, and ``preconditioned`` solves with A_0, which also estimates
    the error. Return the solution and what is left of the residual, or None if the steps do not
    suffice.
    """
    direction = preconditioned(residual)
    image = residual  # of the direction, under A_0
    solution, square = np.zeros_like(residual), float(residual @ direction)
    for _ in range(max(MIN_PRECONDITIONED_STEPS, len(residual) // EQUATIONS_PER_STEP)):
        if square <= enough:
            return solution, residual
        of_A = image + change(direction)
        length = square / float(direction @ of_A)
        solution, residual = solution + length * direction, residual - length * of_A
        z = preconditioned(residual)
        before = square
        square = float(residual @ z)
        direction = z + (square / before) * direction
        image = residual + (square / before) * image
    return (solution, residual) if square <= enough else None


class NearbyPrimal(NewtonSystem):
    """For more rows than columns; the unknowns are the coefficients."""

    exact = False
    name = "primal"

    def __init__(self, system: Primal) -> None:
        super().__init__(system.X, system.ridge)
        self.system = system
        self._inverse: Floats | None = None
        self._h = np.zeros(len(system.X))
        self._changed = np.empty(0, dtype=np.intp)
        self._rows = system.X[:0]

    def solve(  # noqa: D102
        self, h: Floats, rho: Floats, w: Floats, o: Floats, accuracy: float
    ) -> tuple[Floats, Floats]:
        if self._inverse is not None and h.any():
            change = h - self._h
            changed = (np.abs(change) > COST_ROUNDING * h.max()).nonzero()[0]
            if not np.array_equal(changed, self._changed):
                self._changed = changed
                self._rows = self.X[changed]
            inverse = self._inverse
            X = self._rows
            changes = change[changed]
            steps = nearby_steps(
                lambda direction: X.T @ (changes * (X @ direction)),
                lambda right: np.asarray(inverse @ right),
                self.X.T @ (rho - h * o) - self.ridge * w,
                (SOLUTION_ERROR_SHARE * accuracy) ** 2,
            )
            if steps is not None:
                return w + steps[0], o + self.X @ steps[0]
        return super().solve(h, rho, w, o, accuracy)

    def _solution(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        v, factor = self.system.factorized(h, self.X.T @ rho)
        self._h = h.copy()
        self._inverse = None
        if factor is not None:
            lower = np.tril(lapack.dpotri(factor, lower=1)[0])
            self._inverse = np.asarray(lower + np.tril(lower, -1).T)
        return v


class NearbyDual(NewtonSystem):
    """For fewer rows than columns; the unknowns are the outputs and the intercept.

    A point w is (b, t), and t is 0 if there is no intercept or a penalised one.
    """

    exact = False
    name = "dual"

    def __init__(self, system: Dual) -> None:
        super().__init__(system.X, system.ridge)
        self.system = system
        self._inverse: Floats | None = None  # the lower triangle of N

    def penalty(self, w: Floats, v: Floats, o: Floats) -> float:  # noqa: D102
        return float(w[:-1] @ (o - v[-1]))

    def entered(self, machine: Machine, pull: Floats) -> Machine:  # noqa: D102
        w = np.append(pull, machine.w[-1] if self.system.free else 0.0)
        return replace(machine, w=w, o=self._outputs(w))

    def left(self, machine: Machine) -> Machine:  # noqa: D102
        w = self.system.coefficients(machine.w)
        return replace(machine, w=w, o=self.X @ w)

    def solve(  # noqa: D102
        self, h: Floats, rho: Floats, w: Floats, o: Floats, accuracy: float
    ) -> tuple[Floats, Floats]:
        if not h.any():
            w = np.append(rho, w[-1])
            return w, self._outputs(w)
        solution = self._moved(h, rho, w, o, accuracy)
        if solution is None:
            # N, and the terms for the intercept, for these costs.
            self._h = np.maximum(h, MIN_COST_SHARE * h.max())
            root = self._root = np.sqrt(self._h)
            matrix = (self.system.gram * root * (root / self.system.alpha)[:, None]).T
            matrix.ravel(order="K")[:: len(h) + 1] += 1.0
            factor, singular = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
            self._inverse = None
            if not singular:  # otherwise the rounding of K is larger than 1
                self._inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
                image = self._times_inverse(root)
                self._level = 1.0 - image / root
                self._curvature = float(root @ image)
            solution = self._moved(h, rho, w, o, accuracy)
        if solution is None:
            w = self._solution(h, rho, w, accuracy)
            solution = w, self._outputs(w)
        return solution

    def _solution(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        return self.system.expansion(h, rho)

    def _outputs(self, w: Floats) -> Floats:
        return np.asarray(self.system.gram @ w[:-1] / self.system.alpha + w[-1])

    def _moved(
        self, h: Floats, rho: Floats, w: Floats, o: Floats, accuracy: float
    ) -> tuple[Floats, Floats] | None:
        """Return the solution and its outputs, or None if the inverse is too far away."""
        if self._inverse is None:
            return None
        remains = rho - h * o
        residual = self._joined(remains - w[:-1], remains.sum())
        change = h - self._h

        def of_change(direction: Floats) -> Floats:
            product = change * (direction[:-1] + direction[-1])
            return self._joined(product, product.sum())

        enough = (SOLUTION_ERROR_SHARE * accuracy) ** 2
        steps = nearby_steps(of_change, self._preconditioned, residual, enough)
        if steps is None:
            return None
        step, rest = steps
        o = o + step[:-1] + step[-1]
        return np.append(rho - h * o - rest[:-1], w[-1] + step[-1]), o

    def _joined(self, of_rows: Floats, of_intercept: float) -> Floats:
        return np.append(of_rows, of_intercept if self.system.free else 0.0)

    def _times_inverse(self, values: Floats) -> Floats:
        return np.asarray(blas.dsymv(1.0, self._inverse, values, lower=1))

    def _preconditioned(self, residual: Floats) -> Floats:
        scaled = residual[:-1] / self._root
        f = (scaled - self._times_inverse(scaled)) / self._root
        if not self.system.free:
            return np.append(f, 0.0)
        intercept = (residual[-1] - self._h @ f) / self._curvature
        return np.append(f - intercept * self._level, intercept)


def nearby(system: NewtonSystem) -> NewtonSystem:
    """Return a system that is faster for a series of similar refits, if there is one."""
    if isinstance(system, Primal):
        return NearbyPrimal(system)
    return NearbyDual(system) if isinstance(system, Dual) else system
