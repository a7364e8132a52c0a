"""Whether the local minimum in which a transductive SVM ends matters.

The objective of the TSVM has many local minima. Two searches for its minimum on the same folds,
switching and annealing, show how far apart such minima are, in the objective and in the errors.
Where switching disagrees with a published value, either this difference is as large as the
disagreement, or something else must explain it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from primum.experiments.pages.tables import dataset_title
from primum.pages.page import Cell, Table

if TYPE_CHECKING:
    import pandas as pd

SEARCH, OTHER_SEARCH = "TSVM", "TSVM (annealing)"
# Objectives whose relative difference is smaller belong to the same minimum.
SAME_MINIMUM = 1e-6
NAMES = {"error": "error", "loss_test": "test loss"}


@dataclass(frozen=True)
class Minima:
    """Comparison of two searches on the same folds.

    Attributes
    ----------
    folds : int
        Number of folds on which both were run.
    objective, other_objective : float
        Mean objective of switching and of annealing.
    lower, higher : float
        Fractions of the folds in which annealing ends lower, and higher, than switching.
    shift : dict of (float, float)
        For each measure, its mean with annealing minus that with switching, and the standard error
        of this difference over repeats.
    """

    folds: int
    objective: float
    other_objective: float
    lower: float
    higher: float
    shift: dict[str, tuple[float, float]]

    @property
    def same(self) -> float:
        """Fraction of the folds in which both end in the same minimum."""
        return 1.0 - self.lower - self.higher


def paired_folds(results: "pd.DataFrame") -> "pd.DataFrame":
    """Return the folds on which both searches were run, with their results."""
    keys = ["dataset", "repeat", "at"]
    both = results[results["classifier"].isin((SEARCH, OTHER_SEARCH))]
    wide = both.pivot(index=keys, columns="classifier", values=["objective", *NAMES])
    if both["classifier"].nunique() < 2:
        return wide[:0]
    # In the order of the data sets in the results, not sorted by name.
    return wide.astype(float).dropna().reindex(both["dataset"].unique(), level="dataset")


def minima_of(folds: "pd.DataFrame") -> Minima:
    """Compare the two searches on some paired folds."""
    objective = folds["objective"]
    change = objective[OTHER_SEARCH] / objective[SEARCH] - 1.0
    return Minima(
        len(folds),
        float(objective[SEARCH].mean()),
        float(objective[OTHER_SEARCH].mean()),
        float(np.mean(change < -SAME_MINIMUM)),
        float(np.mean(change > SAME_MINIMUM)),
        {measure: _shift(folds[measure]) for measure in NAMES},
    )


def _shift(values: "pd.DataFrame") -> tuple[float, float]:
    difference = values[OTHER_SEARCH] - values[SEARCH]
    by_repeat = difference.groupby(["dataset", "repeat"]).mean()
    return float(difference.mean()), float(by_repeat.std() / np.sqrt(len(by_repeat)))


def minima_table(folds: "pd.DataFrame") -> Table:
    """Return a table with one row per data set: objectives, minima and changes of the error."""
    rows = []
    for name, part in folds.groupby("dataset", sort=False):
        found = minima_of(part)
        texts = [
            dataset_title(name),
            str(found.folds),
            f"{found.objective:.5f}",
            f"{found.other_objective:.5f}",
            *(f"{share:.0%}" for share in (found.lower, found.same, found.higher)),
            *(f"{shift:+.4f} ± {spread:.4f}" for shift, spread in found.shift.values()),
        ]
        rows.append(tuple(Cell(text) for text in texts))
    return Table(
        "Two searches for the minimum of the TSVM objective on the same folds. Change: mean with "
        "annealing minus mean with switching, ± its standard error over repeats.",
        (
            *("Dataset", "Folds", "Objective, switching", "Objective, annealing"),
            *("Annealing lower", "Same", "Higher", "Change of error", "Change of test loss"),
        ),
        tuple(rows),
    )


def local_optima_sentences(folds: "pd.DataFrame", summary: "pd.DataFrame") -> Iterator[str]:
    """Describe how often the searches differ, and whether that explains cells that disagree."""
    found = minima_of(folds)
    yield (
        f"Local optima of the TSVM: on the {found.folds} folds where both searches were run, "
        f"annealing ends in a lower minimum than switching in {found.lower:.0%}, in the same one "
        f"in {found.same:.0%} and in a higher one in {found.higher:.0%}; mean objective "
        f"{found.objective:.5f} by switching, {found.other_objective:.5f} by annealing."
    )
    cells = summary[(summary["classifier"] == SEARCH) & summary["measure"].isin(NAMES)]
    apart = cells[cells["z"].abs() >= 2]
    if apart.empty and cells["z"].notna().any():
        yield "No TSVM cell is two standard errors or more from the published one."
    for _, cell in apart.iterrows():
        here = folds[folds.index.get_level_values("dataset") == cell["dataset"]]
        if len(here):
            yield _explanation(cell, minima_of(here))


def _explanation(cell: "pd.Series", found: Minima) -> str:
    """Describe whether other minima could explain a published value."""
    missing = cell["published_mean"] - cell["mean"]
    measure, (shift, spread) = NAMES[cell["measure"]], found.shift[cell["measure"]]
    return (
        f"TSVM on {cell['dataset']}, {measure}: z = {cell['z']:+.1f}, the published "
        f"mean differs by {missing:+.4f}. Mean objective {found.objective:.5f} by switching and "
        f"{found.other_objective:.5f} by annealing on the same {found.folds} folds; they end in "
        f"different minima in {1 - found.same:.0%}, and annealing changes the {measure} "
        f"by {shift:+.4f} ± {spread:.4f}: {_verdict(missing, shift, spread)}."
    )


def _verdict(missing: float, shift: float, spread: float) -> str:
    """Assess whether a change, within two standard errors, explains a disagreement.

    It does if it is in the direction of the published value and at least half of the disagreement;
    it does not if it is significantly less.
    """
    towards, half = shift * np.sign(missing), 0.5 * abs(missing)
    if towards + 2 * spread < half:
        return "local optima do not account for the disagreement"
    if towards - 2 * spread > 0 and towards >= half:
        return "local optima can account for the disagreement"
    return "too uncertain to say whether local optima account for the disagreement"
