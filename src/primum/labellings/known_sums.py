"""Sums over the columns of M that follow from the normal equations, without a pass over the rows.

In the coordinates of ``coordinates.py``, the rows z of all data satisfy ``sum w z z' = I``, less
the ridge; subtracting the labelled rows leaves the sum over the unlabelled ones. With an intercept,
the first entry of every z is ``c = n^(-1/2)``, n being the weight of all data, so the first row of
``sum w z z'`` is ``c sum w z'``: the sum of the rows is known, too.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats


@dataclass(frozen=True)
class KnownSums:
    """The weighted sums ``M 1`` (None if there is no intercept) and ``M M'``."""

    of_columns: Floats | None
    gram: Floats

    def scaled(self, factor: Floats) -> "KnownSums":
        """Return the sums of M with each of its r dimensions multiplied by a factor."""
        of_columns = None if self.of_columns is None else factor * self.of_columns
        return KnownSums(of_columns, np.outer(factor, factor) * self.gram)

    def first(self, r: int) -> "KnownSums":
        """Return the sums of the first r dimensions of M."""
        of_columns = None if self.of_columns is None else self.of_columns[:r]
        return KnownSums(of_columns, self.gram[:r, :r])
