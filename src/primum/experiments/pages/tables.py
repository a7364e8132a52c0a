"""Tables of data sets and of results, in the form of the paper."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from primum.experiments.datasets.catalogue import CATALOGUE
from primum.experiments.datasets.loading import Dataset, pca99, z_score
from primum.experiments.summary import roles_of, twin_of
from primum.pages.tables import Cell, Table

if TYPE_CHECKING:
    import pandas as pd


# Descriptions of the measures, with units.
MEASURED = {
    "error": "classification error (fraction of the test rows)",
    "loss_test": "loss on test rows",
    "seconds": "training time (seconds)",
}


LOSSES = {
    "squared_loss": "squared loss on test rows (mean squared difference between the score and the "
    "label, 0 or 1)",
    "squared_hinge": "squared hinge loss on test rows (mean; 0 beyond the margin)",
}


BOLD = (
    "Bold: the best of all methods shown; if that is an oracle, which knows all labels, also the "
    "best of the others."
)


def datasets_table(datasets: Sequence[Dataset]) -> Table:
    """Return Table 1, computed from the data."""
    rows = []
    for dataset in datasets:
        share = max(dataset.codes.mean(), 1 - dataset.codes.mean())
        rows.append(
            tuple(
                Cell(text)
                for text in (
                    dataset.info.title,
                    str(dataset.X.shape[0]),
                    str(dataset.X.shape[1]),
                    str(pca99(z_score(dataset.X))),
                    f"{share:.2f}",
                )
            )
        )
    return Table(
        "Data sets. PCA99: principal components that retain 99% of the variance. Majority: "
        "fraction of rows in the larger class.",
        ("Dataset", "Objects", "Features", "PCA99", "Majority"),
        tuple(rows),
    )


def measured(summary: "pd.DataFrame", measure: str) -> str:
    """Return a description of a measure of a summary, with its unit."""
    losses = set(summary["loss"].dropna()) if "loss" in summary else set()
    if measure != "loss_test" or len(losses) != 1:
        return MEASURED[measure]
    (loss,) = losses
    return LOSSES.get(loss, f"{loss} on test rows")


def dataset_title(name: str) -> str:
    """Return the display name of a data set."""
    return CATALOGUE[name].title if name in CATALOGUE else str(name)


def best_of(means: "pd.Series", roles: Mapping[str, str]) -> set[str]:
    """Return the classifiers with the smallest mean; if all are oracles, also the best others."""
    best = set(means.index[means == means.min()])
    others = means[[roles[name] != "oracle" for name in means.index]]
    return best if best & set(others.index) else best | set(others.index[others == others.min()])


def error_table(summary: "pd.DataFrame", measure: str = "error") -> Table:
    """Return Table 2 (or 3) from a summary: means and times worse, in the paper's form."""
    cells = summary[summary["measure"] == measure]
    repeats = int(cells["repeats"].max())
    classifiers = list(cells["classifier"].unique())
    roles, twin = roles_of(cells), twin_of(cells)
    rows = []
    for name in cells["dataset"].unique():
        row = cells[cells["dataset"] == name].set_index("classifier")
        best = best_of(row["mean"], roles)
        shown = (
            _error_cell(row.loc[c], repeats, bold=c in best) if c in row.index else Cell("")
            for c in classifiers
        )
        rows.append((Cell(dataset_title(name)), *shown))
    return Table(
        f"Mean {measured(cells, measure)} over {repeats} repeats; in parentheses, the number of "
        f"them worse than {twin}. {BOLD} Underlined: significantly worse than {twin} "
        "(Wilcoxon, p < 0.01). Small print: ± the standard error of the mean, then the published "
        "mean and z.",
        ("Dataset", *classifiers),
        tuple(rows),
    )


def _error_cell(cell: "pd.Series", repeats: int, bold: bool) -> Cell:
    known = cell.dropna()
    if "mean" not in known:
        return Cell("failed" if cell["failed"] else "–")
    text = f"{cell['mean']:.2f}" if cell["mean"] < 10 else f"{cell['mean']:.1f}"
    if "times_worse" in known:
        fewer = f" of {cell['repeats']}" if cell["repeats"] < repeats else ""
        text += f" ({int(cell['times_worse'])}{fewer})"
    notes = []
    if "sd_over_repeats" in known:
        notes.append(f"± {cell['sd_over_repeats'] / cell['repeats'] ** 0.5:.3f}")
    if "published_mean" in known:
        notes.append(f"{cell['published_mean']:.3f}")
    if "z" in known:
        notes.append(f"z {cell['z']:+.1f}")
    return Cell(text, bold, bool(cell["significantly_worse"]), ", ".join(notes))
