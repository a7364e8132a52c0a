"""Rows in memory, in files or on a cluster, processed block by block."""

from primum.rows.array import BLOCK_NUMBERS, ArrayRows
from primum.rows.base import (
    Block,
    Rows,
    chain,
    is_outside,
    joined_weights,
    open_rows,
    stack,
    to_numpy,
)
from primum.rows.finite import RowsChangedError, first_non_finite, refuse_non_finite
from primum.rows.parquet import ParquetRows

__all__ = [
    "BLOCK_NUMBERS",
    "ArrayRows",
    "Block",
    "ParquetRows",
    "Rows",
    "RowsChangedError",
    "chain",
    "first_non_finite",
    "is_outside",
    "joined_weights",
    "open_rows",
    "refuse_non_finite",
    "stack",
    "to_numpy",
]
