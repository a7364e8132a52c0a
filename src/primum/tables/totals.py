"""A last row that is no case, but the total of the others, as spreadsheets have it.

It has no label, and its numbers are the sums of their columns. One sum may be a coincidence, so at
least two are needed, unless the row says that it is a total; and no number that is not one, unless
it says so or has no other cells: then half may be something else, such as a mean.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primum._typing import Floats
from primum._words import listed
from primum.tables.cells import numbers_of, objects_of

if TYPE_CHECKING:
    import pandas as pd

LEAST_ROWS = 3
# Sums of cells that are written with fewer digits than they have differ a little.
ROUNDING = 1e-6
WORDS = re.compile(
    r"\b(sub|grand )?(total|sum|summe|gesamt|totaal|totale|som|suma)s?\b", re.IGNORECASE
)


def without_total(
    frame: "pd.DataFrame", target: str | None, missing: Sequence[str]
) -> tuple["pd.DataFrame", str]:
    """Return a table without a last row that is a total, and a sentence on it, or an empty one."""
    columns = summed_columns(frame, target, missing)
    if not columns:
        return frame, ""
    some = listed([repr(name) for name in columns], 3)
    return frame.iloc[:-1], (
        "The last row of the table is left out, because it seems to be a total: it has no label, "
        f"and its numbers are the sums of {some}."
    )


def summed_columns(frame: "pd.DataFrame", target: str | None, missing: Sequence[str]) -> list[str]:
    """Return the columns whose last cell is their sum, if the last row is a total; else none."""
    if len(frame) <= LEAST_ROWS:
        return []
    last = {name: objects_of(frame[name].iloc[-1:], missing)[0] for name in frame.columns}
    if target is not None and last.pop(target, None) is not None:
        return []
    given = {name: cell for name, cell in last.items() if cell is not None}
    numbers = dict(_numbers(frame[list(given)], missing))
    sums = [name for name, values in numbers.items() if _ends_in_sum(values)]
    words = [str(cell) for name, cell in given.items() if name not in numbers]
    said = any(map(WORDS.search, words))
    if len(sums) < 2 and not said:
        return []
    others_too = said or not words
    return sums if (2 * len(sums) if others_too else len(sums)) >= len(numbers) else []


def _numbers(frame: "pd.DataFrame", missing: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield the columns whose last cell is a number other than 0, as numbers."""
    for name in frame.columns:
        for mark in ".,":
            if not np.isnan(numbers_of(frame[name].iloc[-1:], mark, missing)[0]):
                values = numbers_of(frame[name], mark, missing)
                if values[-1] != 0:
                    yield name, values
                break


def _ends_in_sum(values: Floats) -> bool:
    """Return whether the last of some numbers is the sum of the others, and exceeds all of them."""
    others = values[:-1][~np.isnan(values[:-1])]
    sizes = np.abs(others)
    close = abs(values[-1] - others.sum()) <= ROUNDING * sizes.sum()
    return bool(close and len(others) >= LEAST_ROWS and abs(values[-1]) > sizes.max())
