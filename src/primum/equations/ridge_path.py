"""The normal equations of the same rows for several ridges.

Only ``n alpha D`` differs between them: the sums over the rows, or their singular values if there
are fewer rows than columns, are computed once.
"""

from collections.abc import Sequence
from functools import cached_property

from primum.equations.coordinates import coordinates_of
from primum.equations.moments import Moments, gather_moments
from primum.equations.normal import (
    NormalEquations,
    equations_of,
    factorises_rows,
    forms_normal_matrix,
)
from primum.equations.row_space import RowSpacePath
from primum.rows import Rows


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
