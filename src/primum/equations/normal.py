"""The normal equations of least squares on all rows, in the form that suits their size.

With the labels q of the rows, ``A beta = X'q``. There are three ways to solve this:

    fewer rows than columns     the rows are factorised, not A              ``row_space.py``
    few columns                 A is formed and factorised                  ``coordinates.py``
    many of both                A is applied by products with vectors       ``iterative.py``

For several ridges, only ``n alpha D`` differs: the sums over the rows, or their singular values if
there are fewer rows than columns, are computed once (``RidgePath``).
"""

from collections.abc import Sequence
from functools import cached_property

from primum.equations.coordinates import NormalEquations, coordinates_of
from primum.equations.iterative import iterative_equations
from primum.equations.moments import Moments, gather_moments
from primum.equations.row_space import RowSpacePath, row_space_coordinates
from primum.rows import Rows

# A is formed up to this many columns, where it takes 128 MB and a few seconds to factorise; both
# grow fast. Beyond that, it is formed if it is no larger than rows that are dense and in memory.
MAX_FORMED_COLUMNS = 2**12
# Rows of at least this many numbers (64 MB) with more columns than rows are replaced by their
# coordinates, if these have at most ``MAX_FACTORISED_NUMBERS`` numbers.
MIN_SPAN_NUMBERS = 2**23
# If there are fewer rows than columns, rows are factorised up to this many numbers (256 MB).
MAX_FACTORISED_NUMBERS = 2**25


def equations_of(
    parts: Sequence[Rows], *, alpha: float, fit_intercept: bool, rcond: float | None = None
) -> NormalEquations:
    """Return the normal equations of all given rows.

    With rcond, directions in which A is below rcond times its largest eigenvalue are dropped.
    """
    solver = solver_of(parts)
    if solver == "row_space":
        return row_space_coordinates(parts, alpha=alpha, fit_intercept=fit_intercept, rcond=rcond)
    if solver == "normal_equations":
        return coordinates_of(parts, alpha=alpha, fit_intercept=fit_intercept, rcond=rcond)
    if rcond is not None:
        n_columns = parts[0].n_columns
        raise ValueError(
            f"rcond={rcond} needs a matrix of {n_columns} x {n_columns} numbers, which is not "
            f"formed beyond {MAX_FORMED_COLUMNS} columns: use alpha instead of rcond."
        )
    return iterative_equations(parts, alpha=alpha, fit_intercept=fit_intercept)


def solver_of(parts: Sequence[Rows]) -> str:
    """Return how equations of this size are solved, see the top of this file."""
    n_rows = sum(rows.n_rows for rows in parts)
    n_columns = parts[0].n_columns
    if n_rows < n_columns and n_rows * n_columns <= MAX_FACTORISED_NUMBERS:
        return "row_space"
    smaller = n_columns <= n_rows and all(rows.dense for rows in parts)
    return (
        "normal_equations" if n_columns <= MAX_FORMED_COLUMNS or smaller else "conjugate_gradients"
    )


def in_span_is_faster(parts: Sequence[Rows]) -> bool:
    """Return whether a fit in the span of wide rows takes less time than one on all columns."""
    n_rows = sum(rows.n_rows for rows in parts)
    n_columns = parts[0].n_columns
    wide = n_rows < n_columns and n_rows * n_columns >= MIN_SPAN_NUMBERS
    return wide and n_rows**2 <= MAX_FACTORISED_NUMBERS and all(rows.in_memory for rows in parts)


class RidgePath:
    """Least squares on all given rows, for any ridge.

    Parameters
    ----------
    parts : sequence of Rows
        The rows; ``last_moments``, if given, are the moments of the last of these parts.
    fit_intercept : bool
        Whether there is an intercept.
    last_moments : Moments, optional
        Moments that need not be gathered again.
    """

    def __init__(
        self, parts: Sequence[Rows], fit_intercept: bool, last_moments: Moments | None = None
    ) -> None:
        self.parts, self.fit_intercept, self.last_moments = parts, fit_intercept, last_moments

    def at(self, alpha: float) -> NormalEquations:
        """Return the normal equations for one ridge."""
        solver = solver_of(self.parts)
        if solver == "row_space":
            return self._row_space.at(alpha)
        if solver == "normal_equations":
            return coordinates_of(
                self.parts, alpha=alpha, fit_intercept=self.fit_intercept, moments=self._moments
            )
        return iterative_equations(self.parts, alpha=alpha, fit_intercept=self.fit_intercept)

    @cached_property
    def _row_space(self) -> RowSpacePath:
        return RowSpacePath(self.parts, self.fit_intercept)

    @cached_property
    def _moments(self) -> Moments:
        # Moments of sparse rows are differences of sums, which only a pass over all can correct.
        if self.last_moments is None or self.last_moments.of_products:
            return gather_moments(self.parts)
        return gather_moments(self.parts[:-1], self.last_moments)
