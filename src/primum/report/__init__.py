"""Figures, tables and HTML reports."""

from primum.report.constraint_set import constraint_set, plot_constraint_set
from primum.report.experiment import results_table, write_report
from primum.report.figures import curves_figure, save_figure
from primum.report.path import plot_path
from primum.report.tables import Table, datasets_table, error_table

__all__ = [
    "Table",
    "constraint_set",
    "curves_figure",
    "datasets_table",
    "error_table",
    "plot_constraint_set",
    "plot_path",
    "results_table",
    "save_figure",
    "write_report",
]
