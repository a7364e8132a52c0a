"""A property of rows that is given for the first of them and is the same for all others."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import AnyArray, Index
from primum.equations import View


@dataclass(frozen=True)
class PerRow:
    """Values of the first rows, and the value of all rows after them.

    Attributes
    ----------
    first : array (n, ...)
        One value for each of the first rows.
    later : array (...)
        The value of every row after them.
    """

    first: AnyArray
    later: AnyArray

    def take(self, index: Index) -> AnyArray:
        """Return the values of the rows at some positions."""
        index = np.asarray(index)
        values = np.empty((len(index), *self.first.shape[1:]), dtype=self.first.dtype)
        known = index < len(self.first)
        values[known] = self.first[index[known]]
        values[~known] = self.later
        return values

    def at(self, view: View) -> Any:
        """Return the values of a block of rows, on its device."""
        where = view.block.where
        return view.like(self.take(np.arange(where.start, where.stop)))
