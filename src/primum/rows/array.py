"""Rows of arrays in memory."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from primum._typing import AnyArray, Floats, Index

T = TypeVar("T")

# A block of this many numbers (1 MB in float64) stays in cache while several things are computed.
BLOCK_NUMBERS = 2**17


class ArrayRows:
    """Selected rows of one or more arrays, in order, as blocks of float64.

    Only one block is ever copied, so rows can be picked out of a large array without a second
    copy of it in memory.

    Parameters
    ----------
    parts : sequence of (array, index or None)
        Arrays with the same number of columns, each with the rows to take (None: all).
    """

    def __init__(self, parts: Sequence[tuple[AnyArray, Index | None]]) -> None:
        self.parts = [(array, index) for array, index in parts if _count(array, index)]
        self.n_columns = parts[0][0].shape[1]
        self.n_rows = sum(_count(array, index) for array, index in self.parts)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield (where these rows stand, the rows), in order."""
        size = max(1, BLOCK_NUMBERS // max(1, self.n_columns))
        start = 0
        for array, index in self.parts:
            n = _count(array, index)
            for low in range(0, n, size):
                high = min(low + size, n)
                rows = array[low:high] if index is None else array[index[low:high]]
                yield slice(start + low, start + high), np.asarray(rows, dtype=np.float64)
            start += n

    def map_reduce(self, kernel: Callable[[slice, Floats], T], combine: Callable[[T, T], T]) -> T:
        """Combine ``kernel(where, block)`` over all blocks; there must be at least one row."""
        results = (kernel(where, block) for where, block in self.blocks())
        total = next(results)
        for result in results:
            total = combine(total, result)
        return total

    def take(self, index: Index) -> Floats:
        """Return the rows at sorted positions ``index`` as one array."""
        taken = np.empty((len(index), self.n_columns))
        for where, block in self.blocks():
            low, high = np.searchsorted(index, [where.start, where.stop])
            taken[low:high] = block[index[low:high] - where.start]
        return taken


def _count(array: AnyArray, index: Index | None) -> int:
    return len(array) if index is None else len(index)
