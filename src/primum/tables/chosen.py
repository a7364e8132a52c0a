"""Columns that primum writes into a table to be labelled, and finds again.

A sheet of rows to label has a number for every row and a mark: its labels are not a random sample
(``primum.reading.chosen``). Neither column is a feature.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from primum._typing import Mask
from primum.tables.cells import FALSE, objects_of, plain_text

if TYPE_CHECKING:
    import pandas as pd

CHOSEN = "primum_chosen"
# Notes on these columns.
MARKS_CHOSEN = "It marks labels that were chosen, which are used for training only."
NUMBERS_SHEET = "It numbers the rows of a sheet to be labelled."


def chosen_column(columns: Sequence[str], named: str | None) -> str | None:
    """Return the column that marks chosen labels: the one that was named, or primum's own."""
    return CHOSEN if named is None and CHOSEN in columns else named


def marked_rows(values: "pd.Series", missing: Sequence[str] = ()) -> Mask:
    """Return which cells mark their row: those that are neither empty nor "no", 0 or false.

    Examples
    --------
    >>> import pandas as pd
    >>> from primum.tables.chosen import marked_rows
    >>> marked_rows(pd.Series(["yes", "", None, "No", "0", "x", True, 0.0])).tolist()
    [True, False, False, False, False, True, True, False]
    """
    cells = objects_of(values, missing)
    texts = ["" if cell is None else plain_text(cell).lower() for cell in cells]
    return np.array([text not in ("", "0", *FALSE) for text in texts], dtype=bool)


def recognised(columns: Sequence[str], named: str | None) -> str:
    """Return a sentence if primum's own column is found although none was named, else nothing."""
    if named is not None or CHOSEN not in columns:
        return ""
    return (
        f"The column {CHOSEN!r} marks labels that were chosen: models are trained on them, but not "
        "judged by them."
    )
