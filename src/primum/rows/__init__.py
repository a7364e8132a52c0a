"""Rows in memory, in files or on a cluster, processed block by block."""

from primum.rows.array import BLOCK_NUMBERS, ArrayRows, LabeledRows, as_dense
from primum.rows.base import (
    Block,
    Rows,
    RowsChangedError,
    chain,
    first_non_finite,
    is_outside,
    joined_weights,
    library_of,
    open_rows,
    reduce_parts,
    refuse_non_finite,
    stack,
    to_numpy,
    within,
)
from primum.rows.parquet import ParquetRows
