"""Pictures and tables of what was computed elsewhere."""

from primum.report.constraint_set import constraint_set, plot_constraint_set

__all__ = ["constraint_set", "plot_constraint_set"]
