"""Rows, wherever they are: visited block by block, never all at once."""

from primum.rows.array import ArrayRows
from primum.rows.design import Design

__all__ = ["ArrayRows", "Design"]
