"""Tables of data sets and of results: the paper's, and those of your own experiments."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pandas import DataFrame, Series

from primum.experiments.datasets.catalogue import CATALOGUE
from primum.experiments.datasets.loading import Dataset, pca99
from primum.experiments.paper import minima_of
from primum.experiments.summary import roles_of, twin_of
from primum.pages.page import Cell, Table

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


def datasets_table(datasets: Sequence[Dataset]) -> Table:
    """Return Table 1, computed from the data."""
    rows = []
    for dataset in datasets:
        share = max(dataset.codes.mean(), 1 - dataset.codes.mean())
        rows.append((dataset.info.title, *dataset.X.shape, pca99(dataset.X), f"{share:.2f}"))
    return Table.of(
        "Data sets. PCA99: principal components that retain 99% of the variance. Majority: "
        "fraction of rows in the larger class.",
        ("Dataset", "Objects", "Features", "PCA99", "Majority"),
        rows,
    )


def measured(summary: DataFrame, measure: str) -> str:
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
    cells: DataFrame,
    caption: str,
    show: Callable[[Series, bool], Cell],
    absent: str,
) -> Table:
    """Return a table with one row per data set and one column per classifier."""
    classifiers, roles = list(cells["classifier"].unique()), roles_of(cells)
    rows = []
    for name in cells["dataset"].unique():
        row = cells[cells["dataset"] == name].set_index("classifier")
        best = best_of(row["mean"], roles)
        at = f", U = {row['n_unlabeled'].iloc[0]}" if "n_unlabeled" in row else ""
        shown = (show(row.loc[c], c in best) if c in row.index else absent for c in classifiers)
        rows.append((f"{dataset_title(name)}{at}", *shown))
    return Table.of(caption, ("Dataset", *classifiers), rows)


def _times_worse(cell: Series, repeats: int) -> str:
    """Return in how many repeats a method is worse than the twin, in parentheses."""
    fewer = f" of {cell['repeats']}" if cell["repeats"] < repeats else ""
    return f" ({int(cell['times_worse'])}{fewer})" if "times_worse" in cell.dropna() else ""


def error_table(summary: DataFrame, measure: str = "error") -> Table:
    """Return Table 2 (or 3) from a summary: means and times worse, in the paper's form."""
    cells = summary[summary["measure"] == measure]
    cells = cells.assign(se=cells["sd_over_repeats"] / cells["repeats"] ** 0.5)
    repeats, twin = int(cells["repeats"].max()), twin_of(cells)
    caption = (
        f"Mean {measured(cells, measure)} over {repeats} repeats; in parentheses, the number of "
        f"them worse than {twin}. {BOLD} Underlined: significantly worse than {twin} "
        "(Wilcoxon, p < 0.01). Small print: ± the standard error of the mean, then the published "
        "mean and z."
    )
    return _summary_table(cells, caption, partial(_error_cell, repeats), "")


def _error_cell(repeats: int, cell: Series, bold: bool) -> Cell:
    given = cell.dropna()
    if "mean" not in given:
        return Cell("failed" if cell["failed"] else "–")
    text = f"{cell['mean']:.2f}" if cell["mean"] < 10 else f"{cell['mean']:.1f}"
    notes = ", ".join(form.format(given[key]) for key, form in NOTES.items() if key in given)
    text += _times_worse(cell, repeats)
    return Cell(text, bold, bool(cell["significantly_worse"]), notes)


def results_table(summary: DataFrame, measure: str) -> Table:
    """Return a table with one row per data set: means with standard errors, medians for times.

    Parameters
    ----------
    summary : DataFrame
        From ``summarize``; for learning curves, with one number of unlabelled rows per data set.
    measure : {"error", "loss_test", "seconds"}
        The measure to show.

    Returns
    -------
    Table
        The table, with a caption that explains it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum.experiments import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, run_experiment, summarize
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = CrossValidation(n_folds=3)
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=2)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, verbose=False)
    >>> from primum.experiments.pages.tables import results_table
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
    what, twin = measured(cells, measure), twin_of(cells)
    at = " U: the largest number of unlabelled rows." if "n_unlabeled" in cells else ""
    if measure == "seconds":
        return f"Median {what} over up to {repeats} repeats.{at}"
    text = f"Mean {what} ± its standard error, over up to {repeats} repeats.{at} {BOLD}"
    if twin is None:
        return text
    return (
        f"{text} In parentheses: number of repeats in which it is worse than {twin}, the "
        "supervised twin. Underlined: significantly worse than the twin (Wilcoxon, p < 0.01)."
    )


def minima_table(folds: DataFrame) -> Table:
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
    return Table.of(
        "Two searches for the minimum of the TSVM objective on the same folds. Change: mean with "
        "annealing minus mean with switching, ± its standard error over repeats.",
        (
            *("Dataset", "Folds", "Objective, switching", "Objective, annealing"),
            *("Annealing lower", "Same", "Higher", "Change of error", "Change of test loss"),
        ),
        rows,
    )
