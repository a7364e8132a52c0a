"""Figures in a clean style whose colours can be told apart by everybody."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from primum.datasets import CATALOGUE

if TYPE_CHECKING:
    import pandas as pd

# Okabe and Ito's colours.
STYLES = {
    "Supervised": ("#000000", "-"),
    "Self-Learning": ("#E69F00", "-"),
    "USM": ("#CC79A7", "-"),
    "ICLS": ("#0072B2", "-"),
    "Oracle": ("#009E73", "--"),
    "Projection": ("#56B4E9", "-."),
    "EM-LS": ("#D55E00", ":"),
    "TSVM": ("#D55E00", "-"),
}
LABELS = {
    "error": "classification error",
    "loss_test": "squared loss on test rows",
    "seconds": "training time (s)",
}
FORMATS = ("png", "svg", "pdf")
PAPER = ("Supervised", "Self-Learning", "USM", "ICLS", "Oracle")


def curves_figure(
    summary: "pd.DataFrame",
    *measures: str,
    classifiers: tuple[str, ...] = PAPER,
    log_scale: bool = True,
    largest: int | None = None,
) -> Any:
    """Draw mean and standard error against the number of unlabelled rows.

    Parameters
    ----------
    summary : DataFrame
        With a column ``n_unlabeled``.
    *measures : str
        Which measures to draw: a panel for every data set and measure.
    classifiers : tuple of str
        Which classifiers, if they are there.
    log_scale : bool
        Whether the numbers of unlabelled rows are powers of two.
    largest : int, optional
        Leave out larger numbers of unlabelled rows (to zoom in).

    Returns
    -------
    matplotlib Figure
        The drawing.
    """
    from matplotlib.figure import Figure

    cells = summary if largest is None else summary[summary["n_unlabeled"] <= largest]
    drawn = [(name, measure) for name in cells["dataset"].unique() for measure in measures]
    columns = min(4, len(drawn))
    rows = -(-len(drawn) // columns)
    figure = Figure(figsize=(3.1 * columns + 0.4, 2.5 * rows + 0.8), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, (name, measure) in zip(panels, drawn, strict=False):
        chosen = (cells["dataset"] == name) & (cells["measure"] == measure)
        _draw_panel(panel, cells[chosen], classifiers, log_scale)
        panel.set_title(CATALOGUE[name].title if name in CATALOGUE else name, fontsize=10)
        panel.set_yscale("log" if measure == "seconds" else "linear")
        if len(measures) > 1:
            panel.set_ylabel(LABELS.get(measure, measure), fontsize=9)
    for panel in panels[len(drawn) :]:
        panel.set_visible(False)
    figure.supxlabel("unlabelled rows", fontsize=10)
    if len(measures) == 1:
        figure.supylabel(LABELS.get(measures[0], measures[0]), fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _draw_panel(
    panel: Any, cells: "pd.DataFrame", classifiers: tuple[str, ...], log_scale: bool
) -> None:
    for name in classifiers:
        curve = cells[cells["classifier"] == name].sort_values("n_unlabeled")
        if curve.empty:
            continue
        color, line = STYLES.get(name, ("#999999", "-"))
        x, mean = curve["n_unlabeled"], curve["mean"]
        sem = curve["sd_over_repeats"].fillna(0) / np.sqrt(curve["repeats"])
        panel.plot(x, mean, line, color=color, label=name, linewidth=1.3)
        panel.fill_between(x, mean - sem, mean + sem, color=color, alpha=0.2, linewidth=0)
    if log_scale:
        panel.set_xscale("log", base=2)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)


def z_figure(summary: "pd.DataFrame") -> Any:
    """Draw all z against the quantiles of a standard normal: a faithful run is on the line."""
    from matplotlib.figure import Figure
    from scipy.stats import norm

    z = np.sort(summary.loc[summary["measure"] != "seconds", "z"].dropna().to_numpy())
    expected = norm.ppf((np.arange(len(z)) + 0.5) / len(z))
    figure = Figure(figsize=(4.2, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.axline((0, 0), slope=1, color="0.7", linewidth=1)
    axes.plot(expected, z, ".", color="#0072B2", markersize=4)
    axes.set(xlabel="quantile of a standard normal", ylabel="z against the published figure")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def save_figure(figure: Any, folder: Path, name: str) -> None:
    """Save a figure in all formats."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in FORMATS:
        figure.savefig(folder / f"{name}.{kind}", dpi=130)
