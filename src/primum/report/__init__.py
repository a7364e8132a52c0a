"""Figures, tables and HTML reports."""

from primum.report.constraint_set import constraint_set, plot_constraint_set
from primum.report.experiment import results_table, write_report
from primum.report.figures import curves_figure
from primum.report.path import plot_path

__all__ = [
    "constraint_set",
    "curves_figure",
    "plot_constraint_set",
    "plot_path",
    "results_table",
    "write_report",
]
