"""Writing a table as a spreadsheet: text stays text, even if it looks like a formula."""

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from primum._optional import needed

SUFFIX = ".xlsx"
MOST_ROWS = 2**20 - 1  # of a sheet, without the names of the columns


def write_spreadsheet(file: BinaryIO, parts: Iterable[Mapping[str, Any]]) -> None:
    """Write a table from blocks of its columns."""
    book = _workbook()
    sheet, n_rows = book.active, 0
    for part in parts:
        if n_rows == 0:
            sheet.append([_cell(sheet, name) for name in part])
        columns = [_as_list(column) for column in part.values()]
        n_rows += len(columns[0])
        if n_rows > MOST_ROWS:
            raise ValueError(
                f"A spreadsheet has at most {MOST_ROWS} rows: write the predictions as CSV or "
                "Parquet."
            )
        for row in zip(*columns, strict=True):
            sheet.append([_cell(sheet, value) for value in row])
    book.save(file)


def _workbook() -> Any:
    with needed("Spreadsheets", "write the predictions as CSV"):
        from openpyxl import Workbook

    return Workbook()


def _as_list(column: Any) -> list[Any]:
    return (column if isinstance(column, pa.ChunkedArray) else pa.array(column)).to_pylist()


def _cell(sheet: Any, value: Any) -> Any:
    """Return a cell; text that begins with = is no formula."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    try:
        cell = WriteOnlyCell(sheet, value)
    except IllegalCharacterError:
        raise ValueError(
            f"The text {value!r} has characters that a spreadsheet cannot hold: write the "
            "predictions as CSV or Parquet."
        ) from None
    if isinstance(value, str):
        cell.data_type = "s"
    return cell
