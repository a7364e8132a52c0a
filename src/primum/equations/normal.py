"""The normal equations of least squares on all rows, in the form that suits their size.

With the labels q of the rows, ``A beta = X'q``. There are three ways to solve this:

    fewer rows than columns     the rows are factorised, not A              ``row_space.py``
    few columns                 A is formed and factorised                  ``coordinates.py``
    many of both                A is applied by products with vectors       ``iterative.py``

The normal equations of the same rows for several ridges.

Only ``n alpha D`` differs between them: the sums over the rows, or their singular values if there
are fewer rows than columns, are computed once.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from primum._typing import Floats
from primum.equations.coordinates import coordinates_of
from primum.equations.curvature import Part
from primum.equations.design import Design, Frame
from primum.equations.iterative import iterative_equations
from primum.equations.moments import Moments, gather_moments
from primum.equations.row_space import RowSpacePath, row_space_coordinates
from primum.rows import Rows

# A is formed up to this many columns: it then takes 128 MB and some seconds to factorise, and both
# grow fast. Beyond that it is formed if it is no larger than the rows and these are in memory.
FORM_A_UP_TO = 2**12
# Rows are factorised up to this many numbers (256 MB), if there are fewer rows than columns.
FACTORISE_ROWS_UP_TO = 2**25


class NormalEquations(Protocol):
    """The interface of the normal equations.

    A fit is represented by its coordinates gamma, whose meaning depends on the implementation. The
    fits of several classes are the columns of gamma (r, K), of their sums (m, K) and of their
    coefficients (d, K), and the entries of their intercept (K,).
    """

    @property
    def weight(self) -> float:
        """Number of rows (sum of their weights)."""
        ...

    @property
    def center(self) -> Floats:
        """Mean of the rows, or zero without intercept."""
        ...

    @property
    def fit_intercept(self) -> bool:
        """Whether there is an intercept."""
        ...

    @property
    def ridge(self) -> float:
        """What is added to the diagonal of A, n alpha."""
        ...

    @property
    def solver(self) -> str:
        """Which of the three methods is used."""
        ...

    @property
    def frame(self) -> Frame:
        """How rows become design rows."""
        ...

    def design(self, rows: Rows) -> Design:
        """Return rows as design rows, with this centre."""
        ...

    def solve(self, sums: Floats, start: Floats | None = None) -> Floats:
        """Return gamma of ``A^+ sums``; ``start``, the gamma of a similar fit, is a warm start."""
        ...

    def solve_part(self, sums: Floats, parts: Sequence[Part], size: float) -> tuple[Floats, Floats]:
        """Solve the normal equations of some of the rows, as far as these determine a fit.

        Parameters
        ----------
        sums : array (m, c)
            The right-hand side.
        parts : sequence of (Design, RowCurvature)
            Rows, and how much each of them counts, in which directions of the c columns.
        size : float
            Norm of the sums that have cancelled in the right-hand side. Anything below their
            rounding counts as zero.

        Returns
        -------
        step, rest : arrays
            Two gammas (r, c) with ``H step + A rest = sums``, where H is A for the given rows and
            directions alone, including the ridge. ``rest`` is practically zero unless H is nearly
            singular.
        """
        ...

    def expand(self, gamma: Floats) -> Floats:
        """Return the coefficients for design rows."""
        ...

    def decode(self, gamma: Floats) -> tuple[Floats, Floats | float]:
        """Return (coefficients, intercept) for uncentred features."""
        ...

    def encode(self, coef: Floats, intercept: Floats | float) -> Floats:
        """Return the gamma of given coefficients: the inverse of decode."""
        ...

    def length(self, gamma: Floats) -> float:
        """Return the root of ``beta'A beta``, the sum of squared scores plus the ridge.

        For several columns of gamma, the root of the sum of all of them.
        """
        ...


def equations_of(
    parts: Sequence[Rows], *, alpha: float, fit_intercept: bool, rcond: float | None = None
) -> NormalEquations:
    """Return the normal equations of all given rows.

    With rcond, directions in which A is below rcond times its largest eigenvalue are dropped.
    """
    if factorises_rows(parts):
        return row_space_coordinates(parts, alpha=alpha, fit_intercept=fit_intercept, rcond=rcond)
    if forms_normal_matrix(parts):
        return coordinates_of(parts, alpha=alpha, fit_intercept=fit_intercept, rcond=rcond)
    if rcond is not None:
        n_columns = parts[0].n_columns
        raise ValueError(
            f"rcond={rcond} needs a matrix of {n_columns} x {n_columns} numbers, which is not "
            f"formed beyond {FORM_A_UP_TO} columns: use alpha instead of rcond."
        )
    return iterative_equations(parts, alpha=alpha, fit_intercept=fit_intercept)


def factorises_rows(parts: Sequence[Rows]) -> bool:
    """Return whether the rows are factorised, because there are fewer of them than columns."""
    n_rows, n_columns = _size(parts)
    return n_rows < n_columns and n_rows * n_columns <= FACTORISE_ROWS_UP_TO


def forms_normal_matrix(parts: Sequence[Rows]) -> bool:
    """Return whether A is formed, if the rows are not factorised."""
    n_rows, n_columns = _size(parts)
    smaller = n_columns <= n_rows and all(rows.dense for rows in parts)
    return n_columns <= FORM_A_UP_TO or smaller


def _size(parts: Sequence[Rows]) -> tuple[int, int]:
    return sum(rows.n_rows for rows in parts), parts[0].n_columns


class RidgePath:
    """Least squares on all given rows, for any ridge.

    Parameters
    ----------
    parts : sequence of Rows
        The rows; ``known``, if given, are the moments of the last of these parts.
    fit_intercept : bool
        Whether there is an intercept.
    known : Moments, optional
        Moments that need not be gathered again.
    """

    def __init__(
        self, parts: Sequence[Rows], fit_intercept: bool, known: Moments | None = None
    ) -> None:
        self.parts, self.fit_intercept, self.known = parts, fit_intercept, known

    def at(self, alpha: float) -> NormalEquations:
        """Return the normal equations for one ridge."""
        if factorises_rows(self.parts):
            return self._row_space.at(alpha)
        if forms_normal_matrix(self.parts):
            return coordinates_of(
                self.parts,
                alpha=alpha,
                fit_intercept=self.fit_intercept,
                moments=self._moments,
            )
        return equations_of(self.parts, alpha=alpha, fit_intercept=self.fit_intercept)

    @cached_property
    def _row_space(self) -> RowSpacePath:
        return RowSpacePath(self.parts, self.fit_intercept)

    @cached_property
    def _moments(self) -> Moments:
        # Moments of sparse rows are differences of sums, which only all rows together can correct.
        if self.known is None or self.known.of_products:
            return gather_moments(self.parts)
        return gather_moments(self.parts[:-1], self.known)
