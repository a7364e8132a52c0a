"""Rows of arrays in memory."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from primum._typing import AnyArray, Floats, Index

T = TypeVar("T")

# A block of this many numbers (1 MB in float64) stays in cache while several things are computed.
BLOCK_NUMBERS = 2**17
# Fewer blocks than this are not worth a second thread.
BLOCKS_PER_THREAD = 16


class ArrayRows:
    """Selected rows of one or more arrays, in order, as blocks of float64.

    Only a block per thread is ever copied, so rows can be picked out of a large array without a
    second copy of it in memory. Blocks are worked on by as many threads as there are cores when
    there are many of them, and combined in their order: the result does not depend on the number
    of threads.

    Parameters
    ----------
    parts : sequence of (array, index or None)
        Arrays with the same number of columns, each with the sorted rows to take (None: all).

    Attributes
    ----------
    passes : int
        How often all rows were visited.
    """

    def __init__(self, parts: Sequence[tuple[AnyArray, Index | None]]) -> None:
        self.parts = [_simplified(*part) for part in parts if _count(*part)]
        self.n_columns = parts[0][0].shape[1]
        self.n_rows = sum(_count(*part) for part in self.parts)
        self.passes = 0

    def map(self, kernel: Callable[[slice, Floats], T]) -> Iterator[T]:
        """Yield ``kernel(where these rows stand, the rows)`` for all blocks, in order."""
        self.passes += 1
        pieces = list(self._pieces())
        threads = min(_cores(), len(pieces) // BLOCKS_PER_THREAD)

        def work(piece: tuple[slice, AnyArray, slice | Index]) -> T:
            where, array, chosen = piece
            return kernel(where, np.asarray(array[chosen], dtype=np.float64))

        if threads < 2:
            yield from map(work, pieces)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, pieces)

    def map_reduce(self, kernel: Callable[[slice, Floats], T], combine: Callable[[T, T], T]) -> T:
        """Combine ``kernel(where, block)`` over all blocks; there must be at least one row."""
        results = self.map(kernel)
        total = next(results)
        for result in results:
            total = combine(total, result)
        return total

    def fill(self, kernel: Callable[[Floats], Floats]) -> Floats:
        """Return ``kernel(block)``, one number per row, for all rows."""
        filled = np.empty(self.n_rows)

        def store(where: slice, block: Floats) -> None:
            filled[where] = kernel(block)

        for _ in self.map(store):
            pass
        return filled

    def take(self, index: Index) -> Floats:
        """Return the rows at sorted positions ``index`` as one array."""
        taken = np.empty((len(index), self.n_columns))
        start = 0
        for array, chosen in self.parts:
            stop = start + _count(array, chosen)
            low, high = np.searchsorted(index, [start, stop])
            here = index[low:high] - start
            taken[low:high] = array[here if chosen is None else chosen[here]]
            start = stop
        return taken

    def _pieces(self) -> Iterator[tuple[slice, AnyArray, slice | Index]]:
        """Yield (where the rows stand, their array, which rows of it), a block at a time."""
        size = max(1, BLOCK_NUMBERS // max(1, self.n_columns))
        start = 0
        for array, index in self.parts:
            n = _count(array, index)
            for low in range(0, n, size):
                high = min(low + size, n)
                chosen = slice(low, high) if index is None else index[low:high]
                yield slice(start + low, start + high), array, chosen
            start += n


def _simplified(array: AnyArray, index: Index | None) -> tuple[AnyArray, Index | None]:
    """Return rows that stand together as a view, which costs no copying later."""
    if index is not None and index[-1] - index[0] + 1 == len(index):
        return array[index[0] : index[-1] + 1], None
    return array, index


def _count(array: AnyArray, index: Index | None) -> int:
    return len(array) if index is None else len(index)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
