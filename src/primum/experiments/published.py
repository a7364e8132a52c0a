"""Agreement of a reproduction with the published values, and with the paper's claims.

The published values, and how far ours are from them.

The random draws differ, so values are compared statistically:

    z = (ours - theirs) / sqrt(sd_ours^2 / n_ours + sd_theirs^2 / n_theirs).

In a faithful reproduction z is distributed like a standard normal variable. This assumes that the
standard deviation over our repeats is well estimated, so z is not computed for a handful of them.
"""

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


# Values are compared for the same number of labelled rows only: the published learning curves of
# Transfusion had 114, most likely because its features were encoded differently, and are left out.
KEYS = ("dataset", "n_labeled", "n_unlabeled", "classifier", "measure")
# With fewer repeats |z| > 2 is not rare: with 5 repeats it happens by chance in 1 cell of 9.
MIN_REPEATS_FOR_Z = 20
TABLES = {
    "table2": "crossvalidation_least_squares.csv",
    "table3": "crossvalidation_svm.csv",
    "curves": "learning_curves.csv.gz",
}


def published(table: str) -> "pd.DataFrame":
    """Return the published means and standard deviations of table2, table3 or curves."""
    import pandas as pd

    name = TABLES[table]
    with (files(__package__) / "published" / name).open("rb") as file:
        return pd.read_csv(file, compression="gzip" if name.endswith("gz") else None)


def compare_with_published(summary: "pd.DataFrame", table: str) -> "pd.DataFrame":
    """Return the summary with columns ``published_mean`` and, given enough repeats, ``z``."""
    keys = [key for key in KEYS if key in summary]
    theirs = published(table)[[*keys, "mean", "sd", "repeats"]]
    theirs = theirs.rename(columns={name: f"{name}_theirs" for name in ("mean", "sd", "repeats")})
    both = summary.merge(theirs, on=keys, how="left")
    ours_variance = both["sd_over_repeats"] ** 2 / both["repeats"]
    theirs_variance = both["sd_theirs"] ** 2 / both["repeats_theirs"]
    spread = np.sqrt(ours_variance + theirs_variance)
    both["published_mean"] = both["mean_theirs"]
    z = (both["mean"] - both["mean_theirs"]) / spread
    both["z"] = z.where(both["repeats"] >= MIN_REPEATS_FOR_Z)
    return both[[*summary.columns, "published_mean", "z"]]


@dataclass(frozen=True)
class Agreement:
    """The distribution of z for one measure.

    A faithful run has about 95% of its cells within 2, and none beyond 4. ``repeats`` is the
    largest number of repeats among the cells that have a published value.
    """

    measure: str
    cells: int
    share_within_2: float
    largest: float
    largest_cell: str
    repeats: int

    @property
    def faithful(self) -> bool:
        """Whether at least 90% of the cells are within 2 and none is beyond 4."""
        return self.cells > 0 and self.share_within_2 >= 0.9 and self.largest <= 4

    def sentence(self) -> str:
        """Return a description in words."""
        if not self.repeats:
            return f"{self.measure}: no cell has a published value."
        if not self.cells:
            return (
                f"{self.measure}: {self.repeats} repeats are too few to assess the agreement with "
                f"the published values; {MIN_REPEATS_FOR_Z} are needed."
            )
        return (
            f"{self.measure}: {self.cells} cells have a published value; |z| < 2 in "
            f"{self.share_within_2:.0%} of them, largest |z| {self.largest:.1f} "
            f"({self.largest_cell})."
        )


def agreement(summary: "pd.DataFrame", measure: str) -> Agreement:
    """Return the agreement of one measure of a summary with the published values."""
    known = summary[(summary["measure"] == measure) & summary["published_mean"].notna()]
    repeats = int(known["repeats"].max()) if len(known) else 0
    cells = known[known["z"].notna()]
    if cells.empty:
        return Agreement(measure, 0, 0.0, 0.0, "none", repeats)
    size = cells["z"].abs()
    worst = cells.loc[size.idxmax()]
    at = f", U = {worst['n_unlabeled']}" if "n_unlabeled" in cells else ""
    return Agreement(
        measure,
        len(cells),
        float(np.mean(size < 2)),
        float(size.max()),
        f"{worst['classifier']} on {worst['dataset']}{at}",
        repeats,
    )


def stand_in_sentence(
    summary: "pd.DataFrame", table: str, measure: str, name: str, stand_in: str
) -> str:
    """Describe the agreement with one classifier replaced by a stand-in, and without either.

    For a classifier that was chosen because it agrees, and whose agreement is thus no evidence.
    """
    others = summary[summary["classifier"] != name].drop(columns=["published_mean", "z"])
    renamed = others.assign(classifier=others["classifier"].replace(stand_in, name))
    instead = compare_with_published(renamed, table)
    without = agreement(instead[instead["classifier"] != name], measure)
    return (
        f"With {stand_in} in place of {name}, "
        f"{agreement(instead, measure).sentence()} Without either, {without.sentence()}"
    )


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the data sets on which it does not hold here."""

    text: str
    exceptions: tuple[str, ...]

    def sentence(self) -> str:
        """Return a description in words."""
        holds = (
            "holds on every data set"
            if not self.exceptions
            else "fails on " + ", ".join(self.exceptions)
        )
        return f"{self.text}: {holds}."


def ordering_claims(summary: "pd.DataFrame") -> list[Claim]:
    """Check the paper's claims about Table 2."""
    errors = summary[summary["measure"] == "error"].set_index(["dataset", "classifier"])
    names = list(dict.fromkeys(errors.index.get_level_values("dataset")))

    def value(name: str, classifier: str, column: str) -> float:
        return float(errors.loc[(name, classifier), column])

    often = [
        name
        for name in names
        if value(name, "ICLS", "times_worse") > value(name, "Self-Learning", "times_worse")
    ]
    worse = [name for name in names if errors.loc[(name, "ICLS"), "significantly_worse"]]
    return [
        Claim(
            "ICLS is worse than the supervised classifier in no more repeats than self-learning is",
            tuple(often),
        ),
        Claim("ICLS is not significantly worse than the supervised classifier", tuple(worse)),
    ]
