"""How the numbers of a table are written: their decimal mark and their unit.

The decimal mark is one property of a table. 12.5 shows a point, 12,5 and 1.250.000 show a comma;
1.234 shows neither, because it may have three decimals or separate thousands. Such cells are read
by what the other columns show. A column shows a mark if most of its cells are numbers by it, and
fewer by the other one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primum.tables.cells import (
    AROUND_NUMBERS,
    USUAL_MISSING,
    number_of,
    numbers_of,
    objects_of,
    other_mark,
    same_unit,
    split_unit,
    usual_type,
)

if TYPE_CHECKING:
    import pandas as pd

MARKS = ".,"
MOSTLY = 0.8  # with this share of numbers, a column consists of numbers and something else
SAMPLED = 1000  # cells of a column that show a mark, if any do
FEWEST_DOUBTFUL = 3  # cells like 1.234: fewer are not worth a word
MOST_UNITS = 3  # letters that are more varied are no units


def marks_by_preference(decimal: str | None) -> str:
    """Return both decimal marks, that of the table first, by default the point."""
    return ",." if decimal == "," else MARKS


def decimal_mark_of(frame: "pd.DataFrame", missing: Sequence[str] = ()) -> str:
    """Return the decimal mark that the text of a table shows; empty if none, or both.

    Parameters
    ----------
    frame : DataFrame
        The table.
    missing : sequence of str
        Markers of missing cells.

    Returns
    -------
    {".", ",", ""}
        The mark.

    Examples
    --------
    >>> import pandas as pd
    >>> from primum.tables.notation import decimal_mark_of
    >>> decimal_mark_of(pd.DataFrame({"area": ["119,6", "80,5"], "price": ["277.500", "90.000"]}))
    ','
    """
    columns = (usual_type(frame[name]) for name in frame.columns)
    texts = (column for column in columns if getattr(column.dtype, "kind", "O") == "O")
    return only_mark(mark_shown(objects_of(sampled_cells(text), missing)) for text in texts)


def sampled_cells(values: Any) -> Any:
    """Return some cells of a column, from all its parts."""
    return values[:: max(1, len(values) // SAMPLED)]


def only_mark(marks: Iterable[str], if_both: str = "") -> str:
    """Return the decimal mark that columns show, some of them none; ``if_both`` if they differ."""
    shown = set(marks) - {""}
    return if_both if len(shown) > 1 else "".join(shown)


def mark_shown(cells: Iterable[Any]) -> str:
    """Return the decimal mark that the cells of a column show; empty if none."""
    texts = [c for c in cells if isinstance(c, str) and c.lower() not in USUAL_MISSING]
    if not any(mark in text for text in texts for mark in MARKS):
        return ""
    bare = [split_unit(text)[0] for text in texts]
    counts = {m: int(np.sum([not np.isnan(number_of(t, m)) for t in bare])) for m in MARKS}
    best = max(counts, key=lambda mark: counts[mark])
    shows = counts[best] >= MOSTLY * len(texts) and counts["."] != counts[","]
    return best if shows else ""


def doubtful_mark(cells: "pd.Series", reading: str) -> str:
    """Return a sentence on cells such as 1.234, if nothing shows what their points mean."""
    if reading.startswith(","):
        return ""
    own, other = (numbers_of(cells, how) for how in (reading, other_mark(reading)))
    doubtful = np.flatnonzero(np.abs(own) < np.abs(other))
    if len(doubtful) < FEWEST_DOUBTFUL or np.isnan(own).sum() < np.isnan(other).sum():
        return ""
    first = doubtful[0]
    return (
        f"Cells such as {str(cells.iloc[first])[:30]!r} are read as {own[first]:g}: if the point "
        "separates thousands, pass --decimal ',' (decimal=',')."
    )


def common_unit(cells: Iterable[Any]) -> str:
    """Return the unit of most cells, all of which must be numbers with a unit; empty if none."""
    units, n_cells = _units(cells)
    unit, count = units.most_common(1)[0] if units else ("", 0)
    return unit if count >= MOSTLY * n_cells else ""


def different_units(cells: Iterable[Any], what: str = "Its numbers") -> str:
    """Return a sentence on numbers that have several units; empty if they have not."""
    units, n_cells = _units(cells)
    if not 1 < len(units) <= MOST_UNITS or units.total() < MOSTLY * n_cells:
        return ""
    some = " and ".join(repr(unit) for unit, _ in units.most_common(2))
    return (
        f"{what} have different units, such as {some}, and are treated as text: write them in "
        "one unit."
    )


def _units(cells: Iterable[Any]) -> tuple[Counter[str], int]:
    """Return how often every unit occurs, and how many cells there are.

    Signs such as % and € need not be found: they are always understood.
    """
    texts = list(cells)
    if not any(_unit(text) for text in texts[:50]):
        return Counter(), len(texts)
    return Counter(unit for unit in map(_unit, texts) if unit), len(texts)


def _unit(cell: Any) -> str:
    unit = split_unit(cell)[1] if isinstance(cell, str) else ""
    return same_unit(unit).strip(AROUND_NUMBERS)


def repeated_text(strange: Iterable[Any]) -> str:
    """Return the text that cells repeat, if it has no digit; empty if they differ."""
    texts = {str(cell) for cell in strange}
    text = texts.pop() if len(texts) == 1 else ""
    return "" if any(map(str.isdigit, text)) else text
