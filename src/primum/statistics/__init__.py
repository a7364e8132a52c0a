"""Additive summaries of rows."""

from primum.statistics.moments import Moments, gather_moments, refuse_non_finite

__all__ = ["Moments", "gather_moments", "refuse_non_finite"]
