"""Rows in memory, in files or on a cluster, processed block by block."""

from primum.rows.array import BLOCK_NUMBERS, ArrayRows
from primum.rows.base import (
    Block,
    Rows,
    chain,
    is_outside,
    joined_weights,
    of_converted,
    open_rows,
    reduce_parts,
    stack,
    to_numpy,
)
from primum.rows.finite import RowsChangedError, first_non_finite, refuse_non_finite
from primum.rows.parquet import ParquetRows
