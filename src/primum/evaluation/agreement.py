"""Agreement of a reproduction with the published values, and with the paper's claims."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from primum.evaluation.published import MIN_REPEATS_FOR_Z, compare_with_published

if TYPE_CHECKING:
    import pandas as pd


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
