"""Rows of an array in memory, with or without labels: dense, CSR, memory-mapped, or on a device."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from primum._threads import block_threads, in_threads
from primum._typing import Floats, Index, T
from primum.rows.base import Block, Rows, to_numpy

# A block of this many numbers (4 MB in float64) is small compared with memory, and large enough
# that threads seldom wait for each other between two NumPy calls.
BLOCK_NUMBERS = 2**19
# An accelerator needs few, large blocks: this many, unless they would be smaller than 1 GB in
# float64. A device that holds the rows has room for a few arrays of a sixteenth of their size.
DEVICE_BLOCKS, MIN_DEVICE_BLOCK_NUMBERS = 16, 2**27
# Numbers worth collecting from rows in single precision (``Rows.collectable``): fewer than from
# others, because passes on a device are fast compared with main memory.
DEVICE_COLLECTABLE_NUMBERS = 2**19
# A sparse block has at least this many stored values per column, because a sum over its rows has
# one number per column: results stay small compared with the blocks that they come from.
MIN_VALUES_PER_COLUMN = 8
# With fewer blocks per thread than this, another thread does not pay off: threads would mostly wait
# for the last block.
MIN_BLOCKS_PER_THREAD = 4


class ArrayRows(Rows):
    """Selected rows of an array, in order, as blocks of float64.

    Only one block per thread is copied at a time, so rows can be selected from a large array
    without a second copy in memory. If there are many blocks, they are processed by as many threads
    as ``n_jobs`` allows. Arrays of other libraries are processed on their own device.

    Parameters
    ----------
    array : array or CSR array (n, d)
        Features.
    index : array or None
        Sorted indices of the rows to select (None: all).
    weight : array or None
        Weight of each selected row (None: 1).
    """

    def __init__(
        self, array: Any, index: Index | None = None, weight: Floats | None = None
    ) -> None:
        if index is not None and isinstance(chosen := _as_slice(index), slice):
            # Consecutive rows become a view, which avoids copies later.
            array = _slice(array, chosen.start, chosen.stop)
            index = None
        self.array, self.index, self.weight = array, index, weight
        self.n_columns = array.shape[1]
        self.n_rows = array.shape[0] if index is None else len(index)
        self.xp: Any = np
        self.device: Any = None
        self.dense, numbers = not sparse.issparse(array), float(BLOCK_NUMBERS)
        of_row = float(max(1, array.shape[1]))
        if not self.dense:
            # The results computed from a row often have more numbers than the row itself.
            of_row = array.nnz / max(1, array.shape[0]) + 32.0
            numbers = max(numbers, MIN_VALUES_PER_COLUMN * array.shape[1])
        elif not isinstance(array, np.ndarray):
            self.xp, self.device = device_of(array)
            self.single = array.dtype == self.xp.float32
            if self.single:
                self.collectable = DEVICE_COLLECTABLE_NUMBERS
            if "cpu" not in str(self.device).lower():
                numbers = array.shape[0] * array.shape[1] // DEVICE_BLOCKS
                numbers = max(MIN_DEVICE_BLOCK_NUMBERS, numbers)
        self.rows_per_block = max(1, int(numbers / of_row))

    def map(self, kernel: Callable[[Block], T]) -> Iterator[T]:  # noqa: D102
        self.passes += 1
        size = self.rows_per_block
        starts = range(0, self.n_rows, size)
        enough = len(starts) // MIN_BLOCKS_PER_THREAD
        threads = min(block_threads(), enough) if self.xp is np and enough > 1 else 1

        def work(start: int) -> T:
            return kernel(self.block(start, slice(start, min(start + size, self.n_rows))))

        return in_threads(work, starts, threads) if threads > 1 else map(work, starts)

    def block(self, start: int, where: slice | Index) -> Block:
        """Return the rows at some positions as a block: float64, but on a device as they are."""
        chosen = where if self.index is None else self.index[where]
        weight = None if self.weight is None else self.weight[where]
        if isinstance(self.array, np.ndarray):
            X: Any = np.asarray(self.array[chosen], dtype=np.float64)
        elif not self.dense and isinstance(chosen, slice):
            part = _slice(self.array, chosen.start, chosen.stop)
            X = part.astype(np.float64, copy=False)
        elif not self.dense:
            X = self.array[chosen].astype(np.float64, copy=False)
        # Single precision is not converted here: the first operation on a block subtracts
        # something in double precision, which converts it without an extra pass over memory.
        elif isinstance(chosen, slice):
            X = self.array[chosen, :]
        else:
            X = self.xp.take(self.array, self.xp.asarray(chosen, device=self.device), axis=0)
        return Block(start, X, weight)

    def take(self, index: Index) -> Block:  # noqa: D102
        block = self.block(0, _as_slice(index))
        if sparse.issparse(block.X):
            return block
        return replace(block, X=to_numpy(block.X).astype(float, copy=False))


@dataclass(frozen=True)
class LabeledRows:
    """Rows, dense or CSR, with known labels and with weights (None: 1).

    The labels y are numbers in {0, 1} for two classes, one-hot rows (L, K) for K > 2, and any
    numbers for regression.
    """

    X: Any
    y: Floats
    weight: Floats | None = None

    @cached_property
    def rows(self) -> ArrayRows:
        """The features as rows."""
        return ArrayRows(self.X, weight=self.weight)

    @cached_property
    def total(self) -> float:
        """Sum of the weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @cached_property
    def root(self) -> Floats:
        """The square root of every row's weight."""
        return np.ones(len(self.y)) if self.weight is None else np.sqrt(self.weight)


def as_dense(X: Any) -> Floats:
    """Return dense or sparse rows as a NumPy array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def device_of(array: Any) -> tuple[Any, Any]:
    """Return the library and the device of an array of another library than NumPy."""
    from primum._sklearn import get_namespace_and_device

    xp, _, device = get_namespace_and_device(array)
    if xp.zeros(1, dtype=xp.float64, device=device).dtype != xp.float64:
        raise ValueError(
            "The array library computes in single precision only: enable double precision, in "
            "JAX with jax.config.update('jax_enable_x64', True)."
        )
    return xp, device


def _as_slice(index: Index) -> slice | Index:
    """Return indices as a slice if they are consecutive, to be read without a copy.

    The folds of a cross-validation may be in any order, and may contain a row more than once.
    """
    as_long = len(index) > 0 and index[-1] - index[0] + 1 == len(index)
    if as_long and (index[1:] > index[:-1]).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


def _slice(array: Any, start: int, stop: int) -> Any:
    """Return consecutive rows without a copy, which SciPy's own slicing makes."""
    is_sparse = bool(sparse.issparse(array))
    if not is_sparse:
        return array[start:stop, :]
    indptr = array.indptr[start : stop + 1]
    held = slice(indptr[0], indptr[-1])
    parts = (array.data[held], array.indices[held], indptr - indptr[0])
    return type(array)(parts, shape=(stop - start, array.shape[1]), copy=False)
