"""Memory for blocks of rows that are converted one after the other.

A block takes a few megabytes. Allocators return memory of this size to the system when it is freed
(always on Dask's workers, often elsewhere), and the system clears it before it is used again. Doing
this for every block would take longer than the computations.
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
        # The reference count of memory that no block uses; it differs between interpreters.
        self._unused = getrefcount(self._numbers)

    def empty(self, *shape: int) -> Floats:
        """Return an array with arbitrary values."""
        size = prod(shape)
        if self._numbers.size < size or getrefcount(self._numbers) > self._unused:
            self._numbers = np.empty(size)
        return self._numbers[:size].reshape(shape)
