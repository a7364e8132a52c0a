"""Sheets of a spreadsheet, whose table may begin below titles; text is written as text."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from primum._lazy import install_advice, needed
from primum.tables import files

MOST_ROWS = 2**20 - 1  # of a sheet, without the names of the columns


class Spreadsheet(files.TableFile):
    """The table in a sheet of a spreadsheet.

    Parameters
    ----------
    path : Path
        The file.
    table_format : TableFormat
        Which sheet and which row of it has the names, and the markers of missing cells.
    """

    def __init__(self, path: Path, table_format: files.TableFormat) -> None:
        self.path, self.format = path, table_format
        self._cells, sheets = _cells_of(path, table_format.sheet)
        self._sheet = table_format.sheet or sheets[0]
        self._others = [name for name in sheets if name != self._sheet]
        self._row = table_format.header_row or _header_row(self._cells)
        table = self._cells.iloc[self._row - 1 :].dropna(how="all").dropna(axis=1, how="all")
        if len(table) == 0:
            raise ValueError(
                f"{path} is empty: the first row must contain the column names"
                f"{self._others_in_words}."
            )
        self.columns, self.row_identifiers = files.column_names(path, _texts(table.iloc[0])), []
        self._numbers = (table.index[1:] + 1).tolist()
        self._rows = table.iloc[1:].reset_index(drop=True).set_axis(self.columns, axis=1)

    def frame(self, as_text: Sequence[str] = ()) -> pd.DataFrame:  # noqa: D102
        missing = list(self.format.missing)
        return (self._rows.replace(missing, None) if missing else self._rows).infer_objects()

    def numbered(self) -> Iterator[tuple[int, list[Any]]]:  # noqa: D102
        rows = self._rows.to_numpy(dtype=object).tolist()
        for number, row in zip(self._numbers, rows, strict=True):
            yield number, ["" if cell is None or cell != cell else cell for cell in row]

    def parts(self, numbers: Sequence[str], as_written: Sequence[str] = ()) -> Iterator[files.Part]:  # noqa: D102
        raise ValueError(
            "Spreadsheets are for --prepare of primum fit: save the numbers as CSV or Parquet."
        )

    def header_in_words(self, name: str) -> str:  # noqa: D102
        having = [sheet for sheet in self._others if name in self._names_in(sheet)]
        which = f"; sheet {having[0]!r} has that column" if having else ""
        return (
            f"Row {self._row} of sheet {self._sheet!r} is its header (--header-row names another)"
            f"{self._others_in_words}{which}."
        )

    def pandas_code(self) -> str:  # noqa: D102
        sheet = "" if self.format.sheet is None else f", sheet_name={self._sheet!r}"
        titles = self._cells.iloc[: self._row - 1].notna().to_numpy().any()
        skipped = f", skiprows={self._row - 1}" if titles else ""
        return f"pd.read_excel({self.path.as_posix()!r}{sheet}{skipped})"

    def _names_in(self, sheet: str) -> list[str]:
        cells, _ = _cells_of(self.path, sheet)
        return _texts(cells.iloc[_header_row(cells) - 1]) if len(cells) else []

    @property
    def _others_in_words(self) -> str:
        others = ", ".join(map(repr, self._others))
        return f", and its other sheets are {others} (--sheet)" if others else ""


def _texts(header: pd.Series) -> list[str]:
    return ["" if name is None or name != name else str(name).strip() for name in header]


def _header_row(cells: pd.DataFrame) -> int:
    """Return the number of the row with the names, from 1."""
    filled = cells.dropna(how="all").iloc[: files.FIRST_ROWS]
    if len(filled) == 0:
        return 1
    rows = filled.dropna(axis=1, how="all").to_numpy(dtype=object).tolist()
    return int(filled.index[files.find_header(rows)]) + 1


def _cells_of(path: Path, sheet: str | None) -> tuple[pd.DataFrame, list[str]]:
    """Return the cells of a sheet, as they are, and the names of all sheets."""
    as_they_are = {"header": None, "dtype": object, "keep_default_na": False, "na_values": [""]}
    try:
        with pd.ExcelFile(path) as book:
            sheets = [str(name) for name in book.sheet_names]
            if sheet is None or sheet in sheets:
                return pd.read_excel(book, sheet_name=sheet or 0, **as_they_are), sheets
    except ImportError as problem:
        library = files.SPREADSHEETS[path.suffix.lower()]
        advice = install_advice(f"Reading {path} needs", library, "save the table as CSV")
        raise ImportError(advice) from problem
    except Exception as problem:  # a damaged archive can fail in any way
        raise ValueError(
            f"{path} cannot be read as a spreadsheet: open it in a spreadsheet program and save it "
            "again, or save the table as CSV."
        ) from problem
    names = ", ".join(map(repr, sheets))
    raise ValueError(f"{path} has no sheet {sheet!r}: its sheets are {names}.")


def write_spreadsheet(file: BinaryIO, rows: Iterable[Sequence[Any]], what: str) -> None:
    """Write rows as a sheet, in which text stays text even if it looks like a formula.

    Parameters
    ----------
    file : binary file
        The file to write to.
    rows : iterable of sequence
        The names of the columns, and every row.
    what : str
        What the rows are, in words that follow "write", for errors.
    """
    with needed("Spreadsheets", f"write {what} as CSV"):
        from openpyxl import Workbook

    book = Workbook()
    for number, row in enumerate(rows):
        if number > MOST_ROWS:
            raise ValueError(
                f"A spreadsheet has at most {MOST_ROWS} rows: write {what} as CSV or Parquet."
            )
        book.active.append([_cell(book.active, value, what) for value in row])
    book.save(file)


def _cell(sheet: Any, value: Any, what: str) -> Any:
    """Return a cell; text that begins with = is no formula."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    try:
        cell = WriteOnlyCell(sheet, value)
    except IllegalCharacterError:
        raise ValueError(
            f"The text {value!r} has characters that a spreadsheet cannot hold: write {what} as "
            "CSV or Parquet."
        ) from None
    if isinstance(value, str):
        cell.data_type = "s"
    return cell
