"""Rows, wherever they are: visited block by block, never all at once."""

from primum.rows.array import BLOCK_NUMBERS, ArrayRows
from primum.rows.base import Block, ChainedRows, Rows, chain, joined_weights, to_numpy
from primum.rows.design import Design, Frame, GivenLabels, Labels, View
from primum.rows.opening import is_outside, open_rows
from primum.rows.parquet import ParquetRows, RowsChangedError
from primum.rows.watching import watch_passes

__all__ = [
    "BLOCK_NUMBERS",
    "ArrayRows",
    "Block",
    "ChainedRows",
    "Design",
    "Frame",
    "GivenLabels",
    "Labels",
    "ParquetRows",
    "Rows",
    "RowsChangedError",
    "View",
    "chain",
    "is_outside",
    "joined_weights",
    "open_rows",
    "to_numpy",
    "watch_passes",
]
