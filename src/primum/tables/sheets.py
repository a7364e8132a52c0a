"""The sheet that people fill in: the rows to label, in their stored order, as the table has them.

Its columns are the key of every row (``primum_row``: r1, r2, ...), the target, which is empty, a
mark that these rows were chosen (``primum_chosen``), the id, and the other columns as they are
written in the table. ``filled`` finds its rows again, whatever a spreadsheet has done to it.

Cells of a table are data. In a CSV file, where a spreadsheet would take text that begins with =,
+, - or @ for a formula, such text gets an apostrophe in front; in a spreadsheet it is text by type.
Text that no spreadsheet can hold is cut.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from primum._files import replacing, write_file
from primum._typing import Index
from primum.judging.named_labels import KEY_COLUMN
from primum.tables.cells import NUMBER, plain_text
from primum.tables.files import TableFile
from primum.tables.labels import CHOSEN

if TYPE_CHECKING:
    import pandas as pd

# What the sheet says in the column that marks chosen rows.
YES = "yes"
SPREADSHEET = ".xlsx"
# The most characters that a cell of a spreadsheet can have; it would drop the rest on its own.
LONGEST_CELL = 32_767
# Text that a spreadsheet could take for a formula, and such text after an apostrophe.
FORMULA = re.compile(r"'*[=+\-@\t\r].", re.DOTALL)
GUARDED = re.compile(r"'+[=+\-@\t\r].", re.DOTALL)


@dataclass(frozen=True)
class Sheet:
    """The rows to label.

    Attributes
    ----------
    header : tuple of str
        Names of the columns; the first is ``KEY_COLUMN``.
    rows : tuple of tuple
        Cells, the target empty.
    target : str
        The column to be filled.
    id_name : str or None
        The column with the ids.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    target: str
    id_name: str | None = None

    @property
    def keys(self) -> list[str]:
        """The keys of the rows."""
        return [str(row[0]) for row in self.rows]

    @property
    def texts(self) -> list[list[str]]:
        """The cells as text."""
        return [[cell_text(cell) for cell in row] for row in self.rows]

    @property
    def shown(self) -> list[int]:
        """Places of the columns that help a person to label."""
        own = (KEY_COLUMN, CHOSEN, self.target)
        return [place for place, name in enumerate(self.header) if name not in own]

    def to_dict(self) -> dict[str, Any]:
        """Return the sheet as plain JSON values."""
        return {
            "header": list(self.header),
            "rows": self.texts,
            "target": self.target,
            "id_name": self.id_name,
        }

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return a sheet that was stored by ``to_dict``."""
        rows = tuple(tuple(row) for row in values["rows"])
        return cls(tuple(values["header"]), rows, values["target"], values["id_name"])


def sheet_of(
    cells: "pd.DataFrame",
    keys: Sequence[str],
    target: str,
    id_name: str | None = None,
    mark: str = YES,
) -> Sheet:
    """Return the sheet of the rows to label.

    Parameters
    ----------
    cells : DataFrame
        The rows of the table to label, in the stored order.
    keys : sequence of str
        Their keys.
    target : str
        The column with the labels.
    id_name : str, optional
        The column with the ids.
    mark : str, default="yes"
        What the column that marks chosen rows says, such as "yes 3f2a9c": by the digits, sheets of
        different comparisons are told apart.

    Returns
    -------
    Sheet
        The sheet.

    Examples
    --------
    >>> import pandas as pd
    >>> from primum.tables.sheets import sheet_of
    >>> rows = pd.DataFrame({"age": [31, 47], "churn": [None, None], "id": ["007", "012"]})
    >>> sheet_of(rows, ["r1", "r2"], "churn", "id").header
    ('primum_row', 'churn', 'primum_chosen', 'id', 'age')
    """
    own = (KEY_COLUMN, target, CHOSEN)
    first = [] if id_name is None or id_name not in cells.columns else [id_name]
    others = [str(name) for name in cells.columns if name not in (*own, *first)]
    columns = cells[[*first, *others]].to_numpy(dtype=object).tolist()
    rows = tuple((key, "", mark, *map(_plain, row)) for key, row in zip(keys, columns, strict=True))
    return Sheet((*own, *first, *others), rows, target, first[0] if first else None)


def _plain(cell: Any) -> Any:
    """Return a cell that every kind of file can hold; missing ones are empty, long ones cut."""
    if cell is None or cell != cell:
        return ""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(cell, datetime):  # a spreadsheet has no time zones
        return cell.replace(tzinfo=None, microsecond=0)
    if isinstance(cell, bool | int | float):
        return cell
    text = cell if isinstance(cell, str) else cell_text(cell)
    # One character is left for the apostrophe of ``guarded``.
    return text if len(text) < LONGEST_CELL else f"{text[: LONGEST_CELL - 2]}…"


def cell_text(cell: Any) -> str:
    """Return a cell as text; a moment at midnight is a day.

    Parameters
    ----------
    cell : object
        The cell.

    Returns
    -------
    str
        The text; empty for a missing cell.
    """
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    return plain_text(cell).strip()


def cells_at(table: TableFile, positions: Index) -> "pd.DataFrame":
    """Return some rows of a table with their cells as written.

    Parameters
    ----------
    table : TableFile
        The table. One in CSV or Parquet is read in parts.
    positions : array of int
        The rows, in any order.

    Returns
    -------
    DataFrame
        These rows, in the order of the positions.
    """
    import pandas as pd

    from primum.tables.spreadsheets import Spreadsheet

    if isinstance(table, Spreadsheet):
        return table.frame().iloc[positions]
    order = np.argsort(positions)
    wanted, start, taken = np.asarray(positions)[order], 0, []
    for part in table.parts([], table.columns):
        n_rows = len(next(iter(part.as_written.values())))
        own = wanted[np.searchsorted(wanted, start) : np.searchsorted(wanted, start + n_rows)]
        if len(own):
            cells = {name: of.take(own - start) for name, of in part.as_written.items()}
            taken.append(pd.DataFrame({n: object_column(of) for n, of in cells.items()}))
        start += n_rows
    found = pd.concat(taken, ignore_index=True) if taken else pd.DataFrame(columns=table.columns)
    return found.iloc[np.argsort(order)]


def object_column(column: Any) -> "pd.Series":
    """Return a column of Arrow as Python objects, whole numbers also beside missing ones."""
    import pandas as pd

    return pd.Series(column.to_pylist(), dtype=object)


def guarded(text: str) -> str:
    """Return text that no spreadsheet takes for a formula; numbers and single signs stay.

    Parameters
    ----------
    text : str
        A cell.

    Returns
    -------
    str
        The text, after an apostrophe if it could be a formula.

    Examples
    --------
    >>> from primum.tables.sheets import guarded
    >>> guarded("=1+1"), guarded("-1.5"), guarded("-")
    ("'=1+1", '-1.5', '-')
    """
    number = NUMBER.fullmatch(text.strip().replace(",", "."))
    return f"'{text}" if FORMULA.match(text) and not number else text


def unguarded(text: str) -> str:
    """Return text without the apostrophe that ``guarded`` has added."""
    return text[1:] if GUARDED.match(text) else text


def write_sheet(path: Path, sheet: Sheet, separator: str = ",") -> None:
    """Write a sheet; the file appears only once it is complete.

    Parameters
    ----------
    path : Path
        A CSV file or, by its suffix .xlsx, a spreadsheet.
    sheet : Sheet
        The rows to label.
    separator : str, default=","
        The character between the fields of a CSV file.
    """
    if path.suffix.lower() == SPREADSHEET:
        from primum.tables.spreadsheets import write_spreadsheet

        rows = ([None if cell == "" else cell for cell in row] for row in sheet.rows)
        with replacing(path) as file:
            write_spreadsheet(file, [sheet.header, *rows], "the rows to label")
        return
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\r\n").writerows(_lines(sheet))
    write_file(path, text.getvalue().encode("utf-8-sig"))  # the mark by which Excel knows UTF-8


def _lines(sheet: Sheet) -> Iterator[list[str]]:
    """Yield the header and the rows as text that is no formula."""
    for row in [list(sheet.header), *sheet.texts]:
        yield [guarded(text) for text in row]
