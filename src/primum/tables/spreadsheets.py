"""Reading a sheet of a spreadsheet, whose table may begin below titles."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from primum._lazy import install_advice
from primum.tables.csv import FIRST_ROWS, find_header

if TYPE_CHECKING:
    import pandas as pd

    from primum.tables.csv import CsvOptions

# The library that reads a spreadsheet, by its suffix.
SPREADSHEETS = {".xlsx": "openpyxl", ".xlsm": "openpyxl", ".ods": "odfpy"}


def is_spreadsheet(path: Path) -> bool:
    """Return whether a file is a spreadsheet by its name."""
    return path.suffix.lower() in SPREADSHEETS


def read_spreadsheet(path: Path, options: "CsvOptions") -> "pd.DataFrame":
    """Return a table of a spreadsheet, see ``read_frame``."""
    cells, sheets = _cells(path, options.sheet)
    first = header_row(cells, options.header_row) - 1
    table = cells.iloc[first:].dropna(how="all").dropna(axis=1, how="all")
    if len(table) == 0:
        raise ValueError(
            f"{path} is empty: the first row must contain the column names"
            f"{_other_sheets(sheets, options.sheet)}."
        )
    names = _column_names(path, table.iloc[0].tolist())
    frame = table.iloc[1:].reset_index(drop=True).set_axis(names, axis=1)
    missing = list(options.missing)
    return frame.replace(missing, None).infer_objects() if missing else frame.infer_objects()


def header_row(cells: "pd.DataFrame", given: int | None = None) -> int:
    """Return the number of the row with the names, from 1: the given one, or the one found."""
    if given is not None:
        return given
    filled = cells.dropna(how="all").iloc[:FIRST_ROWS]
    if len(filled) == 0:
        return 1
    rows = filled.dropna(axis=1, how="all").to_numpy(dtype=object).tolist()
    return int(filled.index[find_header(rows)]) + 1


def skipped_rows(path: Path, options: "CsvOptions") -> int:
    """Return the number of rows before the header, if some of them are titles."""
    cells, _ = _cells(path, options.sheet)
    n_rows = header_row(cells, options.header_row) - 1
    return n_rows if cells.iloc[:n_rows].notna().to_numpy().any() else 0


def found_in(path: Path, options: "CsvOptions", name: str) -> str:
    """Return which row was taken as the header, and which other sheets there are.

    It ends an error about a column ``name`` that a table lacks.
    """
    cells, sheets = _cells(path, options.sheet)
    row = header_row(cells, options.header_row)
    used = sheets[0] if options.sheet is None else options.sheet
    others = [other for other in sheets if other != used]
    having = [other for other in others if name in _names_in(_cells(path, other)[0])]
    which = f"; sheet {having[0]!r} has that column" if having else ""
    return (
        f"Row {row} of sheet {used!r} is its header (--header-row names another)"
        f"{_other_sheets(sheets, options.sheet)}{which}."
    )


def _names_in(cells: "pd.DataFrame") -> list[str]:
    row = header_row(cells) - 1
    return [] if len(cells) == 0 else [str(name).strip() for name in cells.iloc[row]]


def _other_sheets(names: Sequence[str], sheet: str | None) -> str:
    others = [repr(name) for name in names if name != (names[0] if sheet is None else sheet)]
    return f", and its other sheets are {', '.join(others)} (--sheet)" if others else ""


def _column_names(path: Path, header: list[Any]) -> list[str]:
    written = ["" if name is None or name != name else str(name).strip() for name in header]
    names = [name or f"column {j}" for j, name in enumerate(written, 1)]
    if len(set(names)) < len(names):
        name = Counter(names).most_common(1)[0][0]
        raise ValueError(f"{path} has several columns named {name!r}: rename them.")
    return names


def _cells(path: Path, sheet: str | None) -> tuple["pd.DataFrame", list[str]]:
    """Return the cells of a sheet, as they are, and the names of all sheets."""
    import pandas as pd

    try:
        with pd.ExcelFile(path) as book:
            sheets = [str(name) for name in book.sheet_names]
            if sheet is None or sheet in sheets:
                return pd.read_excel(
                    book,
                    sheet_name=0 if sheet is None else sheet,
                    header=None,
                    dtype=object,
                    keep_default_na=False,
                    na_values=[""],
                ), sheets
    except ImportError as problem:
        library = SPREADSHEETS[path.suffix.lower()]
        advice = install_advice(f"Reading {path} needs", library, "save the table as CSV")
        raise ImportError(advice) from problem
    except Exception as problem:  # a damaged archive can fail in any way
        raise _damaged(path) from problem
    names = ", ".join(map(repr, sheets))
    raise ValueError(f"{path} has no sheet {sheet!r}: its sheets are {names}.")


def _damaged(path: Path) -> ValueError:
    return ValueError(
        f"{path} cannot be read as a spreadsheet: open it in a spreadsheet program and save it "
        "again, or save the table as CSV."
    )
