"""The common interface of all kinds of rows: passes that process them block by block.

A kernel is a pure function of a block and of a few small arrays. It can run anywhere, and run again
if its result is lost. Results are combined in the order of the blocks, so the total does not depend
on which worker computed which block. ``open_rows`` opens rows in files or on a cluster.

Workers of a cluster import this room and the kernel's. Importing scikit-learn takes as long as
importing Dask, so it is imported only where arrays of other libraries need it.

The first pass over rows finds non-finite values by their effect on its sums. Rows in files or on a
cluster can change afterwards, so every later pass checks each block: by its sum of the rows times
their labels if it computes one, and by the sum of all squares otherwise.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from os import PathLike
from sys import getrefcount
from typing import Any

import numpy as np
from scipy import sparse

from primum._typing import AnyArray, Floats, Index, T


@dataclass(frozen=True)
class Block:
    """Consecutive rows X (n, d), from position ``start``, with weights (n,); None: 1.

    X is a NumPy or CSR array in float64, or an array of another library. For error messages there
    are the origin of the rows (a file, a partition), the position of the first one in it (None:
    ``start``) and the names of the columns.
    """

    start: int
    X: Any
    weight: Floats | None = None
    source: str = ""
    first: int | None = None
    names: Sequence[str] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def where(self) -> slice:
        """The positions of the rows."""
        return slice(self.start, self.start + self.n_rows)

    def split(self, rows: int) -> "Iterator[Block]":
        """Yield the same rows in blocks of at most ``rows`` rows."""
        if self.n_rows <= rows:
            yield self
            return
        for low in range(0, self.n_rows, rows):
            part = slice(low, min(low + rows, self.n_rows))
            first = None if self.first is None else self.first + low
            piece = self.with_rows(part, self.X[part, :])
            yield replace(piece, start=self.start + low, first=first)

    def with_rows(self, chosen: Any, X: Any) -> "Block":
        """Return the chosen rows, which are X, with their weights."""
        return replace(self, X=X, weight=None if self.weight is None else self.weight[chosen])


class Rows(ABC):
    """Rows of features, wherever they are stored."""

    n_rows: int
    n_columns: int
    passes: int = 0  # over all rows so far
    in_memory: bool = True  # whether an array with one number per row is affordable
    # Whether the rows are in single precision on a device, where products are several times as fast
    # in single precision.
    single: bool = False
    dense: bool = False  # whether the rows are a dense array in memory
    weight: Floats | None = None  # of each row; None: 1
    # Selected rows of up to this many numbers (64 MB) are worth collecting in main memory to save a
    # pass.
    collectable: int = 2**23

    @abstractmethod
    def map(self, kernel: Callable[[Block], T]) -> Iterator[T]:
        """Yield ``kernel(block)`` for all blocks, in order: one pass."""

    def map_reduce(self, kernel: Callable[[Block], T], combine: Callable[[T, T], T]) -> T:
        """Combine ``kernel(block)`` over all blocks; there must be at least one row."""
        return reduce(combine, self.map(kernel))

    def fill(self, kernel: Callable[[Block], AnyArray]) -> AnyArray:
        """Return ``kernel(block)``, one value or one vector per row, for all rows.

        The result may share memory with the kernel's result.
        """
        filled = None
        for where, values in self.map(lambda block: (block.where, kernel(block))):
            if len(values) == self.n_rows:  # one block: no copy
                filled = values
                continue
            if filled is None:
                filled = np.empty((self.n_rows, *values.shape[1:]), dtype=values.dtype)
            filled[where] = values
        return np.empty(0) if filled is None else filled

    def apply(
        self, kernel: Callable[[Block], AnyArray], dtype: Any, n_values: int | None = None
    ) -> Any:
        """Return one value per row: lazily if the rows are lazy, otherwise as ``fill`` does.

        ``n_values`` is the number of values per row if the kernel returns several.
        """
        if self.n_rows == 0:
            return np.empty((0,) if n_values is None else (0, n_values), dtype)
        return self.fill(kernel).astype(dtype, copy=False)

    @abstractmethod
    def take(self, index: Index) -> Block:
        """Return the rows at sorted positions ``index``: one pass, unless they are in memory."""


class ChainedRows(Rows):
    """Several kinds of rows, one after the other."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self.parts = list(parts)
        self.n_columns = parts[0].n_columns
        self.n_rows = sum(part.n_rows for part in parts)
        self.in_memory = all(part.in_memory for part in parts)
        self.single = any(part.single for part in parts)
        self.collectable = min(part.collectable for part in parts)
        self.dense = all(part.dense for part in parts)
        self.weight = joined_weights([(part.n_rows, part.weight) for part in parts])
        self.starts = np.cumsum([0, *(part.n_rows for part in parts)])[:-1].tolist()

    def map(self, kernel: Callable[[Block], T]) -> Iterator[T]:  # noqa: D102
        self.passes += 1
        for part, start in zip(self.parts, self.starts, strict=True):
            yield from part.map(_shifted(kernel, start))

    def map_reduce(self, kernel: Callable[[Block], T], combine: Callable[[T, T], T]) -> T:  # noqa: D102
        self.passes += 1
        parts = zip(self.parts, self.starts, strict=True)
        totals = [part.map_reduce(_shifted(kernel, start), combine) for part, start in parts]
        return reduce(combine, totals)

    def take(self, index: Index) -> Block:  # noqa: D102
        parts = zip(self.parts, self.starts, strict=True)
        return stack([part.take(within(index, start, part.n_rows)) for part, start in parts])


def chain(parts: Sequence[Rows]) -> Rows:
    """Return the parts one after the other, without those that have no rows."""
    present = [part for part in parts if part.n_rows]
    return ChainedRows(present) if len(present) > 1 else (present or list(parts))[0]


def _shifted(kernel: Callable[[Block], T], start: int) -> Callable[[Block], T]:
    def move(block: Block) -> Block:
        first = block.start if block.first is None else block.first
        return replace(block, start=block.start + start, first=first)

    return lambda block: kernel(move(block))


def reduce_parts(
    parts: Sequence[Rows], kernel: Callable[[Block], T], combine: Callable[[T, T], T]
) -> T:
    """Combine ``kernel(block)`` over all blocks of several kinds of rows; some may be empty."""
    return reduce(combine, (rows.map_reduce(kernel, combine) for rows in parts if rows.n_rows))


def within(index: Index, start: int, n_rows: int) -> Index:
    """Return the sorted positions that fall within n rows from ``start``, relative to it."""
    low, high = np.searchsorted(index, [start, start + n_rows])
    return index[low:high] - start


def stack_present(parts: Iterable[Block], n_columns: int) -> Block:
    """Return blocks as one, in memory; any of them may be empty."""
    present = [part for part in parts if part.n_rows]
    return stack(present) if present else Block(0, np.zeros((0, n_columns)))


def stack(blocks: Sequence[Block]) -> Block:
    """Return blocks as one, in memory."""
    if len(blocks) == 1:
        return blocks[0]
    weight = joined_weights([(block.n_rows, block.weight) for block in blocks])
    if any(sparse.issparse(block.X) for block in blocks):
        parts = [sparse.csr_array(block.X) for block in blocks]
        return Block(0, sparse.vstack(parts, format="csr"), weight)
    return Block(0, np.concatenate([to_numpy(block.X) for block in blocks]), weight)


def joined_weights(parts: Sequence[tuple[int, Floats | None]]) -> Floats | None:
    """Join the weights of several (number of rows, weights); None if all of them are None."""
    if all(weight is None for _, weight in parts):
        return None
    return np.concatenate([np.ones(n) if weight is None else weight for n, weight in parts])


def to_numpy(X: Any) -> Any:
    """Return an array of any library, or a sparse one, as a NumPy array."""
    if hasattr(X, "toarray"):
        return X.toarray()
    if hasattr(X, "detach"):  # a PyTorch tensor on any device
        return X.detach().cpu().numpy()
    if hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray):
        from primum._sklearn import convert_to_numpy

        return convert_to_numpy(X, X.__array_namespace__())
    return np.asarray(X)


_LIBRARIES: dict[type, Any] = {}


def library_of(array: Any) -> Any:
    """Return the array library of an array, as ``get_namespace`` does, but at little cost."""
    if isinstance(array, np.ndarray):
        return np
    if (library := _LIBRARIES.get(type(array))) is not None:
        return library
    from primum._sklearn import get_namespace

    library, dispatched = get_namespace(array)
    if dispatched:
        _LIBRARIES[type(array)] = library
    return library


class BlockMemory(threading.local):
    """The memory of one block per thread, reused once nothing refers to the block.

    A block takes a few megabytes. Allocators return memory of this size to the system when it is
    freed (always on Dask's workers, often elsewhere), and the system clears it before it is used
    again. Doing this for every block would take longer than the computations.
    """

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


def open_rows(source: Any, names: Sequence[str] | None, n_columns: int) -> Rows | None:
    """Return the rows of a Parquet file or folder or a Dask collection; None for anything else.

    ``names`` are the columns to read, in this order, if columns have names.
    """
    if not is_outside(source):
        return None
    # Imported only when needed: pyarrow and dask are optional.
    if isinstance(source, str | PathLike):
        from primum.rows.parquet import ParquetRows

        return ParquetRows(source, names, n_columns)
    from primum.rows.dask_rows import DaskRows

    return DaskRows(source, names, n_columns)


def is_outside(source: Any) -> bool:
    """Return whether rows are in files or on a cluster."""
    of_dask = type(source).__module__.partition(".")[0] in ("dask", "dask_expr")
    return of_dask or isinstance(source, str | PathLike)


class RowsChangedError(RuntimeError):
    """Rows changed during a fit."""


def refuse_non_finite(block: Block) -> None:
    """Raise an error that names the first non-finite value of a block."""
    first = block.start if block.first is None else block.first
    bad = first_non_finite(block.X)
    if bad is None:
        place = f" ({block.source})" if block.source else ""
        raise ValueError(
            f"Rows {first} to {first + block.n_rows - 1}{place} have values so large "
            "that their squares overflow: rescale the features."
        )
    raise ValueError(f"{_described(block, bad)}: drop such rows or impute the values.")


def still_finite(kernel: Callable[[Block], T]) -> Callable[[Block], T]:
    """Return a kernel that raises an error if rows that were finite before no longer are."""

    def checked(block: Block) -> T:
        with np.errstate(invalid="ignore"):  # such values raise an error below
            result = kernel(block)
        # A value that is not finite makes the sum of rows times labels NaN or infinite, even if the
        # label of its row is 0.
        moment = getattr(result, "moment", None)
        if moment is None or not np.isfinite(moment).all():
            refuse_changed(block)
        return result

    return checked


def refuse_changed(block: Block, positions: Index | None = None) -> None:
    """Raise an error if rows that were finite before no longer are.

    ``positions`` are the positions of the rows if they are not consecutive.
    """
    is_sparse = bool(sparse.issparse(block.X))
    values: Any = block.X.data if is_sparse else block.X
    with np.errstate(invalid="ignore", over="ignore"):
        # BLAS computes a sum of squares faster than NumPy computes a sum. If it overflows, the
        # values are checked one by one.
        flat = values.ravel(order="K") if isinstance(values, np.ndarray) else None
        total = float(values.sum() if flat is None else flat @ flat)
    bad = None if np.isfinite(total) else first_non_finite(block.X)
    if bad is None:
        return
    raise RowsChangedError(
        f"{_described(block, bad, positions)}, but had a number there in an earlier pass: rows "
        "must not change during a fit; read them from unchanging data, or persist the collection, "
        "and fit again."
    )


def _described(block: Block, bad: tuple[int, int, float], positions: Index | None = None) -> str:
    row, column, value = bad
    first = block.start if block.first is None else block.first
    place = f" ({block.source})" if block.source else ""
    name = column if block.names is None else repr(block.names[column])
    number = first + row if positions is None else positions[row]
    return f"Row {number}{place} has {value} in column {name}"


def first_non_finite(X: Any) -> tuple[int, int, float] | None:
    """Return (row, column, value) of the first non-finite value, or None."""
    is_sparse = bool(sparse.issparse(X))
    values = X.data if is_sparse else to_numpy(X).ravel()
    bad = np.flatnonzero(~np.isfinite(values))
    if not len(bad):
        return None
    at = int(bad[0])
    if is_sparse:
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        return row, int(X.indices[at]), float(values[at])
    return at // X.shape[1], at % X.shape[1], float(values[at])
