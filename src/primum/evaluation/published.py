"""The published values, and how far ours are from them.

The random draws differ, so values are compared statistically:

    z = (ours - theirs) / sqrt(sd_ours^2 / n_ours + sd_theirs^2 / n_theirs).

In a faithful reproduction z is distributed like a standard normal variable. This assumes that the
standard deviation over our repeats is well estimated, so z is not computed for a handful of them.
"""

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
