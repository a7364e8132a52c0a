"""Additive summaries of rows."""

from primum.statistics.moments import Moments, gather_moments

__all__ = ["Moments", "gather_moments"]
