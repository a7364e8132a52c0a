"""Memory for blocks of rows that are converted one after the other.

A block has some megabytes. The system clears memory of that size whenever a process gets it anew,
and allocators return it when it is freed: on Dask's workers always, elsewhere often. For every
block, this would take longer than the computations with it.
"""

import threading
from math import prod
from sys import getrefcount

import numpy as np

from primum._typing import Floats


class BlockMemory(threading.local):
    """The memory of one block per thread, used again once nothing refers to the block."""

    def __init__(self) -> None:
        self._numbers = np.empty(0)
        # References to memory that no block refers to. What counts depends on the interpreter.
        self._unused = getrefcount(self._numbers)

    def empty(self, *shape: int) -> Floats:
        """Return an array with arbitrary values."""
        size = prod(shape)
        if self._numbers.size < size or getrefcount(self._numbers) > self._unused:
            self._numbers = np.empty(size)
        return self._numbers[:size].reshape(shape)
