"""The normal equations of least squares on all rows, in the form that suits their size.

With the labels q of the rows, ``A beta = X'q``. There are three ways to solve this:

    fewer rows than columns     the rows are factorised, not A              ``row_space.py``
    few columns                 A is formed and factorised                  ``coordinates.py``
    many of both                A is known by its products with vectors     ``iterative.py``
"""

from collections.abc import Sequence
from typing import Protocol

from primum._typing import Floats
from primum.problems.coordinates import coordinates_of
from primum.problems.iterative import iterative_equations
from primum.problems.row_space import row_space_coordinates
from primum.rows import Design, Frame, Rows

# A is formed up to this many columns: it then takes 128 MB and some seconds to factorise, and both
# grow fast. It is formed beyond that where it is no larger than the rows, which are in memory.
FORM_A_UP_TO = 2**12
# Rows are factorised up to this many numbers (256 MB), as long as they are fewer than the columns.
FACTORISE_ROWS_UP_TO = 2**25


class NormalEquations(Protocol):
    """What may be asked of the normal equations.

    A fit is known by its coordinates gamma, whose meaning is left to the equations.
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
        """Which of the three ways is taken."""
        ...

    @property
    def frame(self) -> Frame:
        """How rows are seen."""
        ...

    def design(self, rows: Rows) -> Design:
        """Return rows as design rows, centred as here."""
        ...

    def solve(self, sums: Floats, start: Floats | None = None) -> Floats:
        """Return gamma of ``A^+ sums``; gamma of a similar fit may help as a start.

        Several columns of sums give as many columns of gamma.
        """
        ...

    def solve_part(
        self, sums: Floats, parts: Sequence[tuple[Design, Floats]], size: float
    ) -> tuple[Floats, Floats]:
        """Solve the normal equations of some of the rows, as far as these determine a fit.

        Parameters
        ----------
        sums : array (m,)
            The right-hand side.
        parts : sequence of (Design, array)
            Rows, and how often each of them counts; 0 leaves a row out.
        size : float
            Length of the sums that have cancelled in the right-hand side. What is less than the
            rounding of these counts as zero.

        Returns
        -------
        step, rest : arrays
            Two gammas with ``H step + A rest = sums``, where H is A for the given rows alone,
            ridge included. ``rest`` is as good as zero unless H is nearly singular.
        """
        ...

    def expand(self, gamma: Floats) -> Floats:
        """Return the coefficients for design rows."""
        ...

    def decode(self, gamma: Floats) -> tuple[Floats, float]:
        """Return (coefficients, intercept) for features that are not centred."""
        ...

    def encode(self, coef: Floats, intercept: float) -> Floats:
        """Return the gamma of given coefficients: the inverse of decode."""
        ...

    def length(self, gamma: Floats) -> float:
        """Return the root of ``beta'A beta``: of the sum of squared scores, plus the ridge."""
        ...


def equations_of(
    parts: Sequence[Rows], *, alpha: float, fit_intercept: bool, rcond: float | None = None
) -> NormalEquations:
    """Return the normal equations of all given rows.

    With rcond, directions in which A is below rcond times its largest eigenvalue are left out.
    """
    n_rows, n_columns = sum(rows.n_rows for rows in parts), parts[0].n_columns
    if n_rows < n_columns and n_rows * n_columns <= FACTORISE_ROWS_UP_TO:
        return row_space_coordinates(parts, alpha=alpha, fit_intercept=fit_intercept, rcond=rcond)
    smaller = n_columns <= n_rows and all(rows.dense for rows in parts)
    if n_columns <= FORM_A_UP_TO or smaller:
        return coordinates_of(parts, alpha=alpha, fit_intercept=fit_intercept, rcond=rcond)
    if rcond is not None:
        raise ValueError(
            f"rcond={rcond} needs a matrix of {n_columns} x {n_columns} numbers, which is not "
            f"formed beyond {FORM_A_UP_TO} columns: leave rcond out and use alpha."
        )
    return iterative_equations(parts, alpha=alpha, fit_intercept=fit_intercept)
