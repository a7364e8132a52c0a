"""Sums over the columns of M that follow from the normal equations, without a pass over the rows.

In the coordinates of ``coordinates.py``, the rows z of all data satisfy ``sum z z' = I`` (with the
ridge), and with an intercept their sum is known, because the features are centred on their mean.
Subtracting the labelled rows gives the sums of the unlabelled ones.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats


@dataclass(frozen=True)
class KnownSums:
    """``M 1`` (None if there is no intercept) and ``M M'``, with rows weighted."""

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
