"""Additive summaries of rows."""

from primum.rows import first_non_finite, refuse_non_finite
from primum.statistics.moments import (
    FAINT,
    Moments,
    gather_columns,
    gather_moments,
    refuse_faint,
)

__all__ = [
    "FAINT",
    "Moments",
    "first_non_finite",
    "gather_columns",
    "gather_moments",
    "refuse_faint",
    "refuse_non_finite",
]
