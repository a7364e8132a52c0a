"""Newton systems that follow each other closely, solved with the inverse of an earlier one.

While labels change little from one refit to the next, so does the matrix ``A = R + X'HX`` of a
Newton step (``newton.py``), and an earlier inverse helps to solve with it. An earlier matrix
``A_0 = R + X'H_0 X``, whose inverse is known, is then an excellent preconditioner. The difference
of the two is a sum over the rows whose h has changed, and products of A_0 with the directions of
conjugate gradients follow from their residuals: a step takes two products with these rows, and a
solution two with all.
"""

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats
from primum.methods.svm.newton import NewtonSystem, Primal

# The error of a solution, as a fraction of what counts as exact.
SOLUTION_ERROR = 1e-4
# If this many steps do not suffice, another matrix is inverted.
PRECONDITIONED_STEPS = 4
# Costs that differ by less than this fraction of the largest are equal.
EQUAL_COSTS = 1e-14


class Nearby(NewtonSystem):
    """Conjugate gradients, preconditioned by the last matrix that was inverted."""

    exact = False
    name = "primal"

    def __init__(self, system: Primal) -> None:
        super().__init__(system.X, system.ridge)
        self.system = system
        self._inverse: Floats | None = None
        self._h = np.zeros(len(system.X))
        self._changed, self._rows = np.empty(0, dtype=np.intp), system.X[:0]

    def solve(  # noqa: D102
        self, h: Floats, rho: Floats, w: Floats, o: Floats, accuracy: float
    ) -> tuple[Floats, Floats]:
        if self._inverse is not None and h.any():
            residual = self.X.T @ (rho - h * o) - self.ridge * w
            step = self._steps(h, residual, (SOLUTION_ERROR * accuracy) ** 2)
            if step is not None:
                return w + step, o + self.X @ step
        return super().solve(h, rho, w, o, accuracy)

    def _solution(self, h: Floats, rho: Floats, w: Floats, accuracy: float) -> Floats:
        v, factor = self.system.factorized(h, self.X.T @ rho)
        self._inverse, self._h = None if factor is None else _inverse(factor), h.copy()
        return v

    def _steps(self, h: Floats, residual: Floats, enough: float) -> Floats | None:
        """Solve for a residual until the square of the error, estimated with A_0, is small.

        None if ``STEPS`` do not suffice.
        """
        X, change = self._changes(h)
        assert self._inverse is not None
        direction, image = self._inverse @ residual, residual  # image: of the direction under A_0
        solution, square = np.zeros_like(residual), float(residual @ direction)
        for _ in range(PRECONDITIONED_STEPS):
            if square <= enough:
                return solution
            of_A = image + X.T @ (change * (X @ direction))
            length = square / float(direction @ of_A)
            solution, residual = solution + length * direction, residual - length * of_A
            z, before = self._inverse @ residual, square
            square = float(residual @ z)
            direction = z + (square / before) * direction
            image = residual + (square / before) * image
        return solution if square <= enough else None

    def _changes(self, h: Floats) -> tuple[Floats, Floats]:
        """Return the rows whose h has changed, and by how much."""
        change = h - self._h
        changed = (np.abs(change) > EQUAL_COSTS * h.max()).nonzero()[0]
        if not np.array_equal(changed, self._changed):
            self._changed, self._rows = changed, self.X[changed]
        return self._rows, change[changed]


def _inverse(factor: Floats) -> Floats:
    """Return the inverse of a matrix, given its lower Cholesky factor."""
    lower = np.tril(lapack.dpotri(factor, lower=1)[0])
    return np.asarray(lower + np.tril(lower, -1).T)


def nearby(system: NewtonSystem) -> NewtonSystem:
    """Return a faster system for refits that follow each other closely, if there is one."""
    return Nearby(system) if isinstance(system, Primal) else system
