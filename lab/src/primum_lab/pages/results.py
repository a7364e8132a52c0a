"""Tables and figures of results: the paper's, and those of your own experiments.

Figures are in a clean style, with colours that colour-blind readers can distinguish. Curves show
means with a band of one standard error on either side; curves of times, which have outliers, show
medians with a band from the lower to the upper quartile.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame, Series
from scipy.stats import norm

from primum._files import replacing
from primum.pages.page import Cell, PageTable
from primum.pages.pictures import line_styles, new_figure
from primum_lab.datasets import CATALOGUE
from primum_lab.datasets.loading import Dataset, pca99
from primum_lab.paper import minima_of
from primum_lab.summary import roles_of, twin_of

# Descriptions of the measures, with units.
MEASURED = {
    "error": "classification error (fraction of the test rows)",
    "loss_test": "loss on test rows",
    "seconds": "training time (seconds)",
}
# The losses of the paper, by the names of their functions.
LOSSES = {
    "squared_loss": "squared loss on test rows (mean squared difference between the score and the "
    "label, 0 or 1)",
    "squared_hinge": "squared hinge loss on test rows (mean; 0 beyond the margin)",
}
# The small print of a cell.
NOTES = {"se": "± {:.3f}", "published_mean": "{:.3f}", "z": "z {:+.1f}"}
BOLD = (
    "Bold: the best of all methods shown; if that is an oracle, which knows all labels, also the "
    "best of the others."
)
# Labels of the axes, by measure or by the name of the loss.
LABELS = {
    "error": "classification error",
    "loss_test": "loss on test rows",
    "squared_loss": "squared loss on test rows",
    "squared_hinge": "squared hinge on test rows",
    "seconds": "training time (s)",
}
FORMATS = ("png", "svg", "pdf")


def datasets_table(datasets: Sequence[Dataset]) -> PageTable:
    """Return Table 1, computed from the data."""
    rows = []
    for dataset in datasets:
        share = max(dataset.codes.mean(), 1 - dataset.codes.mean())
        rows.append((dataset.info.title, *dataset.X.shape, pca99(dataset.X), f"{share:.2f}"))
    return PageTable.of(
        "Data sets. PCA99: principal components that retain 99% of the variance. Majority: "
        "fraction of rows in the larger class.",
        ("Dataset", "Objects", "Features", "PCA99", "Majority"),
        rows,
    )


def measure_in_words(summary: DataFrame, measure: str) -> str:
    """Return a description of a measure of a summary, with its unit."""
    losses = set(summary["loss"].dropna()) if "loss" in summary else set()
    if measure != "loss_test" or len(losses) != 1:
        return MEASURED[measure]
    (loss,) = losses
    return LOSSES.get(loss, f"{loss} on test rows")


def dataset_title(name: str) -> str:
    """Return the display name of a data set."""
    return CATALOGUE[name].title if name in CATALOGUE else str(name)


def best_of(means: Series, roles: Mapping[str, str]) -> set[str]:
    """Return the classifiers with the smallest mean; if all are oracles, also the best others."""
    best = set(means.index[means == means.min()])
    others = means[[roles[name] != "oracle" for name in means.index]]
    return best if best & set(others.index) else best | set(others.index[others == others.min()])


def _summary_table(
    cells: DataFrame, caption: str, show: Callable[[Series, bool], Cell], absent: str
) -> PageTable:
    """Return a table with one row per data set and one column per classifier."""
    classifiers, roles = list(cells["classifier"].unique()), roles_of(cells)
    rows = []
    for name in cells["dataset"].unique():
        row = cells[cells["dataset"] == name].set_index("classifier")
        best = best_of(row["mean"], roles)
        at = f", U = {row['n_unlabeled'].iloc[0]}" if "n_unlabeled" in row else ""
        shown = (show(row.loc[c], c in best) if c in row.index else absent for c in classifiers)
        rows.append((f"{dataset_title(name)}{at}", *shown))
    return PageTable.of(caption, ("Dataset", *classifiers), rows)


def _times_worse(cell: Series, repeats: int) -> str:
    """Return in how many repeats a method is worse than the twin, in parentheses."""
    fewer = f" of {cell['repeats']}" if cell["repeats"] < repeats else ""
    return f" ({int(cell['times_worse'])}{fewer})" if "times_worse" in cell.dropna() else ""


def error_table(summary: DataFrame, measure: str = "error") -> PageTable:
    """Return Table 2 (or 3) from a summary: means and times worse, in the paper's form."""
    cells = summary[summary["measure"] == measure]
    cells = cells.assign(se=cells["sd_over_repeats"] / cells["repeats"] ** 0.5)
    repeats, twin = int(cells["repeats"].max()), twin_of(cells)
    caption = (
        f"Mean {measure_in_words(cells, measure)} over {repeats} repeats; in parentheses, the "
        f"number of them worse than {twin}. {BOLD} Underlined: significantly worse than {twin} "
        "(Wilcoxon, p < 0.01). Small print: ± the standard error of the mean, then the published "
        "mean and z."
    )
    return _summary_table(cells, caption, partial(_error_cell, repeats), "")


def _error_cell(repeats: int, cell: Series, bold: bool) -> Cell:
    present = cell.dropna()
    if "mean" not in present:
        return Cell("failed" if cell["failed"] else "–")
    text = f"{cell['mean']:.2f}" if cell["mean"] < 10 else f"{cell['mean']:.1f}"
    notes = ", ".join(form.format(present[key]) for key, form in NOTES.items() if key in present)
    text += _times_worse(cell, repeats)
    return Cell(text, bold, bool(cell["significantly_worse"]), notes)


def results_table(summary: DataFrame, measure: str) -> PageTable:
    """Return a table with one row per data set: means with standard errors, medians for times.

    Parameters
    ----------
    summary : DataFrame
        From ``summarize``; for learning curves, with one number of unlabelled rows per data set.
    measure : {"error", "loss_test", "seconds"}
        The measure to show.

    Returns
    -------
    PageTable
        The table, with a caption that explains it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum_lab import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, run_experiment, summarize
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = CrossValidation(n_folds=3)
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=2)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, verbose=False)
    >>> from primum_lab.pages.results import results_table
    >>> results_table(summarize(results, curve=False), "error").header[:3]
    ('Dataset', 'Supervised', 'Self-Learning')
    """
    cells = summary[summary["measure"] == measure]
    repeats = int(cells["repeats"].max())
    caption = _result_caption(cells, measure, repeats)
    return _summary_table(cells, caption, partial(_result_cell, measure, repeats), "not run")


def _result_cell(measure: str, repeats: int, cell: Series, bold: bool) -> Cell:
    if not cell["repeats"]:
        return Cell("failed" if cell["failed"] else "–")
    failed = f"{cell['failed']} repeats failed" if cell["failed"] else ""
    if measure == "seconds":
        return Cell(f"{cell['median']:.3g}", note=failed)
    error = f" ± {cell['se']:.3f}" if "se" in cell.dropna() else ""
    text = f"{cell['mean']:.3f}{error}{_times_worse(cell, repeats)}"
    return Cell(text, bold, bool(cell["significantly_worse"]), failed)


def _result_caption(cells: DataFrame, measure: str, repeats: int) -> str:
    quantity, twin = measure_in_words(cells, measure), twin_of(cells)
    at = " U: the largest number of unlabelled rows." if "n_unlabeled" in cells else ""
    if measure == "seconds":
        return f"Median {quantity} over up to {repeats} repeats.{at}"
    text = f"Mean {quantity} ± its standard error, over up to {repeats} repeats.{at} {BOLD}"
    if twin is None:
        return text
    return (
        f"{text} In parentheses: number of repeats in which it is worse than {twin}, the "
        "supervised twin. Underlined: significantly worse than the twin (Wilcoxon, p < 0.01)."
    )


def minima_table(folds: DataFrame) -> PageTable:
    """Return a table with one row per data set: objectives, minima and changes of the error."""
    rows = []
    for name, part in folds.groupby("dataset", sort=False):
        minima = minima_of(part)
        rows.append(
            (
                *(dataset_title(name), minima.folds),
                *(f"{value:.5f}" for value in (minima.objective, minima.other_objective)),
                *(f"{share:.0%}" for share in (minima.lower, minima.same, minima.higher)),
                *(f"{shift:+.4f} ± {spread:.4f}" for shift, spread in minima.shift.values()),
            )
        )
    return PageTable.of(
        "Two searches for the minimum of the TSVM objective on the same folds. Change: mean with "
        "annealing minus mean with switching, ± its standard error over repeats.",
        (
            *("Dataset", "Folds", "Objective, switching", "Objective, annealing"),
            *("Annealing lower", "Same", "Higher", "Change of error", "Change of test loss"),
        ),
        rows,
    )


def curves_figure(
    summary: DataFrame,
    *measures: str,
    classifiers: Sequence[str] | None = None,
    log_scale: bool = True,
    largest: int | None = None,
) -> Any:
    """Draw means (medians of times) and their bands against the number of unlabelled rows.

    Parameters
    ----------
    summary : DataFrame
        With a column ``n_unlabeled``.
    *measures : str
        Measures to draw: one panel for every data set and measure.
    classifiers : sequence of str, optional
        Classifiers to draw, if available; by default all.
    log_scale : bool
        Whether to use a logarithmic axis (base 2) for the number of unlabelled rows.
    largest : int, optional
        Omit larger numbers of unlabelled rows (to zoom in).

    Returns
    -------
    matplotlib Figure
        The figure.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum_lab import (
    ...     LEAST_SQUARES, Experiment, LearningCurve, run_experiment, summarize
    ... )
    >>> from primum_lab.pages.results import curves_figure
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = LearningCurve(sizes=(4, 16, 64))
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=2)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, verbose=False)
    >>> len(curves_figure(summarize(results, curve=True), "error", "loss_test").axes)
    2
    """
    cells = summary if largest is None else summary[summary["n_unlabeled"] <= largest]
    styles = line_styles(summary["classifier"].unique() if classifiers is None else classifiers)
    drawn = [(name, measure) for name in cells["dataset"].unique() for measure in measures]
    columns = min(4, len(drawn))
    rows = -(-len(drawn) // columns)
    figure = new_figure(3.1 * columns + 0.4, 2.5 * rows + 0.8)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, (name, measure) in zip(panels, drawn, strict=False):
        chosen = (cells["dataset"] == name) & (cells["measure"] == measure)
        _draw_panel(panel, cells[chosen], styles, log_scale)
        panel.set_title(dataset_title(name), fontsize=10)
        panel.set_yscale("log" if measure == "seconds" else "linear")
        if len(measures) > 1:
            panel.set_ylabel(_label(summary, measure), fontsize=9)
    for panel in panels[len(drawn) :]:
        panel.set_visible(False)
    figure.supxlabel("unlabelled rows", fontsize=10)
    if len(measures) == 1:
        figure.supylabel(_label(summary, measures[0]), fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    # The number of names side by side, at about one inch and a half each.
    side_by_side = min(len(labels), max(2, int(figure.get_figwidth() / 1.5)))
    figure.legend(handles, labels, loc="outside upper center", ncols=side_by_side, frameon=False)
    return figure


def _label(summary: DataFrame, measure: str) -> str:
    losses = summary["loss"].dropna().unique() if "loss" in summary else ["squared_loss"]
    if measure == "loss_test" and len(losses) == 1:
        return LABELS.get(losses[0], f"{losses[0]} on test rows")
    return LABELS.get(measure, measure)


def _draw_panel(
    panel: Any, cells: DataFrame, styles: dict[str, tuple[str, str]], log_scale: bool
) -> None:
    for name, (color, line) in styles.items():
        curve = cells[cells["classifier"] == name].sort_values("n_unlabeled")
        if curve.empty:
            continue
        x, (center, lower, upper) = curve["n_unlabeled"], _center_and_band(curve)
        panel.plot(x, center, line, color=color, label=name, linewidth=1.3)
        panel.fill_between(x, lower, upper, color=color, alpha=0.2, linewidth=0)
    if log_scale:
        panel.set_xscale("log", base=2)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)


def _center_and_band(curve: DataFrame) -> tuple[Any, Any, Any]:
    if "median" in curve and set(curve["measure"]) == {"seconds"}:
        return curve["median"], curve["q25"], curve["q75"]
    standard_error = curve["sd_over_repeats"].fillna(0) / np.sqrt(curve["repeats"])
    return curve["mean"], curve["mean"] - standard_error, curve["mean"] + standard_error


def curves(
    summary: DataFrame, measure: str, *, log_scale: bool = True
) -> tuple[Any, str, PageTable]:
    """Return the figure of one measure, its caption, and its numbers."""
    figure = curves_figure(summary, measure, log_scale=log_scale)
    return figure, curve_caption(summary, measure), curves_table(summary, measure)


def curve_caption(summary: DataFrame, measure: str) -> str:
    """Return a caption that says what a figure of curves shows and what its bands mean."""
    lines = "means over repeats, bands one standard error on either side"
    if measure == "seconds":
        lines = "medians over repeats, bands from the lower to the upper quartile"
    return (
        f"{_label(summary, measure).capitalize()} against the number of unlabelled rows. "
        f"Lines are {lines}; {summary['repeats'].max()} repeats."
    )


def curves_table(summary: DataFrame, measure: str) -> PageTable:
    """Return the numbers that ``curves_figure`` draws: one row per data set and number of rows.

    Parameters
    ----------
    summary : DataFrame
        With a column ``n_unlabeled``.
    measure : str
        Which measure to list.

    Returns
    -------
    PageTable
        Means with half the height of their bands; for times, medians with quartiles.
    """
    cells = summary[summary["measure"] == measure]
    names = list(cells["classifier"].unique())
    center, lower, upper = _center_and_band(cells)
    shown = cells.assign(
        text=[_with_band(*three, measure) for three in zip(center, lower, upper, strict=True)]
    )
    rows = []
    for (name, size), part in shown.groupby(["dataset", "n_unlabeled"], sort=False):
        texts = dict(zip(part["classifier"], part["text"], strict=True))
        values = (texts.get(classifier, "–") for classifier in names)
        rows.append((dataset_title(name), Cell(f"{size:,}", value=size), *values))
    band = "median (quartiles)" if measure == "seconds" else "mean ± standard error"
    caption = f"{_label(summary, measure).capitalize()}: {band}."
    return PageTable.of(caption, ("Dataset", "Unlabelled rows", *names), rows)


def _with_band(center: float, lower: float, upper: float, measure: str) -> str:
    if measure == "seconds":
        return f"{center:.2g} ({lower:.2g} to {upper:.2g})"
    return f"{center:.4f} ± {upper - center:.4f}"


def z_table(summary: DataFrame) -> PageTable:
    """Return the observed and expected shares of cells by distance from the published ones."""
    z = summary.loc[summary["measure"] != "seconds", "z"].dropna().abs()
    rows = []
    for edge in (0.5, 1.0, 1.5, 2.0, 3.0):
        shares = (z < edge).mean(), 2 * norm.cdf(edge) - 1
        rows.append((Cell(f"below {edge}", value=edge), *(f"{share:.1%}" for share in shares)))
    return PageTable.of(
        f"Share of the {len(z)} cells by |z|; expected: of a standard normal. Largest |z|: "
        f"{z.max():.1f}.",
        ("|z|", "Cells", "Expected"),
        rows,
    )


def z_figure(summary: DataFrame) -> Any:
    """Draw all z against the quantiles of a standard normal; a faithful run lies on the line."""
    z = np.sort(summary.loc[summary["measure"] != "seconds", "z"].dropna().to_numpy())
    expected = norm.ppf((np.arange(len(z)) + 0.5) / len(z))
    figure = new_figure(4.2, 4)
    axes = figure.add_subplot()
    axes.axline((0, 0), slope=1, color="0.7", linewidth=1)
    axes.plot(expected, z, ".", color="#0072B2", markersize=4)
    axes.set(xlabel="quantile of a standard normal", ylabel="z against the published value")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def save_figure(figure: Any, folder: Path, name: str) -> None:
    """Save a figure in all formats."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in FORMATS:
        with replacing(folder / f"{name}.{kind}") as file:
            figure.savefig(file, format=kind, dpi=130)
