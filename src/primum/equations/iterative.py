"""Least squares on rows with so many columns that A is not formed.

The features are centred, so the intercept separates: it is the mean label, and

    A_c = Xc'Xc + n alpha I

remains for the coefficients. A product with A_c is one pass over the rows, of any kind; sparse rows
are centred by a rank-one correction. ``A_c w = s`` is solved by conjugate gradients, preconditioned
by the diagonal if there is a ridge. Without a ridge they start from zero, so that the solution has
minimum norm if it is not unique. Here the coordinates gamma of a fit are its coefficients
themselves, for design rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np

from primum._typing import Floats
from primum._warnings import warn
from primum.equations.conjugate import conjugate_gradients
from primum.equations.coordinates import NormalEquations, rank_tolerance
from primum.equations.design import Frame, View
from primum.equations.moments import gather_columns
from primum.rows import Block, Rows, reduce_parts

# Right-hand sides are solved together up to this many numbers: few enough to stay in cache (4 MB)
# or, if every pass over the rows is expensive, more (64 MB).
MAX_TOGETHER_IN_MEMORY = 2**19
MAX_TOGETHER_OUTSIDE = 2**23
# A residual, relative to the right-hand side, above this triggers a warning: solutions that
# converged have 1e-12, and losses are compared to about this accuracy.
MAX_RESIDUAL = 1e-9


@dataclass(frozen=True)
class IterativeEquations(NormalEquations):
    """Normal equations of the given rows, solved through passes over them.

    Attributes
    ----------
    parts : tuple of Rows
        The rows.
    diagonal : array (d,)
        Diagonal of A.
    varying : array (d, 1)
        1, but 0 for columns whose sums of squares do not distinguish them from constant ones: the
        products of those are mere rounding, which would mislead conjugate gradients.
    """

    parts: tuple[Rows, ...]
    diagonal: Floats
    varying: Floats

    near = False
    solver = "conjugate_gradients"

    def apply(self, V: Floats) -> Floats:
        """Return ``A_c V`` for coefficients V (d, k): one pass."""
        frame = Frame(self.center, False)
        masked = self.varying * V

        def product_of(block: Block) -> Any:
            view = View(block, frame)
            return view.sum(view.dot(masked))

        return self.ridge * V + self.varying * reduce_parts(self.parts, product_of, add)

    def solve(self, sums: Floats, start: Floats | None = None) -> Floats:  # noqa: D102
        first = int(self.fit_intercept)
        gamma = np.empty_like(sums)
        gamma[:first] = sums[:first] / self.weight
        gamma[first:] = self._coefficients(sums[first:], None if start is None else start[first:])
        return gamma

    def _coefficients(self, sums: Floats, start: Floats | None) -> Floats:
        """Solve for one or more columns of coefficients, a few columns at a time."""
        B = sums.reshape(len(sums), -1) * self.varying
        guess = None if start is None else start.reshape(len(sums), -1)
        diagonal = self.diagonal if self.ridge > 0 else None
        in_memory = all(rows.in_memory for rows in self.parts)
        width = max(1, (MAX_TOGETHER_IN_MEMORY if in_memory else MAX_TOGETHER_OUTSIDE) // len(B))
        answer = np.empty_like(B)
        for low in range(0, B.shape[1], width):
            some = slice(low, low + width)
            some_guess = None if guess is None else guess[:, some]
            right = np.ascontiguousarray(B[:, some])
            solved = conjugate_gradients(self.apply, right, diagonal, some_guess)
            if solved.residual > MAX_RESIDUAL:
                from sklearn.exceptions import ConvergenceWarning

                warn(
                    f"Least squares on {len(self.center)} columns reached a relative residual of "
                    f"only {solved.residual:.0e} after {solved.steps} steps of conjugate "
                    "gradients; raise alpha or standardise the features.",
                    ConvergenceWarning,
                )
            answer[:, some] = solved.X
        return answer.reshape(sums.shape)

    def expand(self, gamma: Floats) -> Floats:  # noqa: D102
        return gamma

    def length(self, gamma: Floats) -> float:  # noqa: D102
        V, first = gamma.reshape(len(gamma), -1), int(self.fit_intercept)
        images = np.concatenate([self.weight * V[:first], self.apply(V[first:])])
        return float(np.vdot(V, images)) ** 0.5

    def encode(self, coef: Floats, intercept: Floats | float) -> Floats:  # noqa: D102
        return self.frame.coefficients(coef, intercept)


def iterative_equations(
    parts: Sequence[Rows], *, alpha: float, fit_intercept: bool
) -> IterativeEquations:
    """Return the normal equations of least squares on all given rows."""
    weight, mean, squares = gather_columns(parts)
    center = mean if fit_intercept else np.zeros_like(mean)
    ridge = weight * alpha
    diagonal = ridge + (squares if fit_intercept else squares + weight * mean**2)
    rounding = rank_tolerance(sum(rows.n_rows for rows in parts), 1)
    varying = (squares > rounding * weight * mean**2) | (not fit_intercept)
    kept = varying.astype(np.float64)[:, None]
    return IterativeEquations(weight, center, fit_intercept, ridge, tuple(parts), diagonal, kept)
