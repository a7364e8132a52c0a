"""Non-finite values: locating them, and detecting those that appear between passes.

The first pass over rows finds such values by their effect on its sums. Rows in files or on a
cluster can change afterwards, so every later pass checks each block: by its sum of the rows times
their labels if it computes one, and by the sum of all squares otherwise.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from primum._typing import Index
from primum.rows.base import Block, to_numpy

T = TypeVar("T")


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
        with np.errstate(invalid="ignore"):  # of values that are refused below
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
        # The sum of squares, which BLAS computes faster than NumPy a sum. If it overflows, the
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
