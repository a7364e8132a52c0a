"""Which of the first rows of a table has the names of its columns.

It is the first row, unless that is a title: a row of which at most half of the cells are filled.
Below titles it is the first row that is none, if its cells are different names, all but at most one
of them filled, and if the rows confirm that it is no row of data: the titles are single cells, or
numbers follow below it. In any other case it is the first row, and the user can name another.
"""

from collections.abc import Sequence
from typing import Any

from primum.tables.cells import NUMBER

# Rows that are looked at.
FIRST_ROWS = 50

Row = Sequence[Any]


def find_header(rows: Sequence[Row]) -> int:
    """Return the position of the row with the names, among rows without empty ones.

    Parameters
    ----------
    rows : sequence of sequence
        The first rows of a table, of any lengths; an empty cell is None or "".

    Returns
    -------
    int
        The position, from 0.
    """
    filled = [sum(map(_is_filled, row)) for row in rows[:FIRST_ROWS]]
    titles = [_is_title(row, max(filled)) for row in rows[:FIRST_ROWS]]
    if not (titles and titles[0]) or all(titles):
        return 0
    found = titles.index(False)
    names = [cell.strip() for cell in rows[found] if _is_name(cell)]
    if not filled[found] == len(set(names)) >= max(filled) - 1:
        return 0
    numbers_below = any(_is_number(cell) for row in rows[found + 1 : FIRST_ROWS] for cell in row)
    single = max(filled) > 2 and max(filled[:found]) == 1
    return found if single or numbers_below else 0


def _is_title(row: Row, width: int) -> bool:
    """Return whether a row is a title, unless it names one of two columns only."""
    n_filled = sum(map(_is_filled, row))
    return 2 * n_filled <= width and (width > 2 or _is_filled(row[0]))


def _is_filled(cell: Any) -> bool:
    return not (cell is None or cell == "" or cell != cell)


def _is_name(cell: Any) -> bool:
    return isinstance(cell, str) and cell.strip() != "" and not _is_number(cell)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return NUMBER.fullmatch(cell.strip().replace(",", ".")) is not None
    return _is_filled(cell)  # also dates and times
