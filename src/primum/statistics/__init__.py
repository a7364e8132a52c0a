"""Additive summaries of rows."""

from primum.statistics.moments import (
    Moments,
    first_non_finite,
    gather_columns,
    gather_moments,
    refuse_non_finite,
)

__all__ = [
    "Moments",
    "first_non_finite",
    "gather_columns",
    "gather_moments",
    "refuse_non_finite",
]
