"""The authors' figures, and how far ours are from them.

Random draws differ, so figures are compared statistically:

    z = (ours - theirs) / sqrt(sd_ours^2 / n_ours + sd_theirs^2 / n_theirs).

A faithful reproduction has z scattered like a standard normal. That supposes that the spread over
our repeats is well estimated, so there is no z for a handful of them.
"""

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

# A published value is one of the same number of labelled rows: the published learning curves of
# Transfusion had 114, most likely by another coding of its features, and are not compared.
KEYS = ("dataset", "n_labeled", "n_unlabeled", "classifier", "measure")
# With fewer repeats a z of 2 is no rarity: with 5 it would be exceeded by chance in 1 cell of 9.
MIN_REPEATS_FOR_Z = 20
TABLES = {
    "table2": "crossvalidation_least_squares.csv",
    "table3": "crossvalidation_svm.csv",
    "curves": "learning_curves.csv.gz",
}


def published(table: str) -> "pd.DataFrame":
    """Return the published means and spreads: of ``table2``, ``table3`` or ``curves``."""
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
