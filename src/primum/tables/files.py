"""Tables in files: one reader of CSV, Parquet and spreadsheets, whole or in parts.

``open_table`` recognises the kind of a file by its name. The ``TableFile`` that it returns is read

* as a whole, by ``frame``: cells stay as people wrote them unless a column has only numbers, and
  the module ``columns`` decides what they mean;
* in parts, by ``parts``, for tables of any size: features must be finite numbers in every row,
  otherwise an error names the place; other columns are passed on as written, because `007` and `7`
  are different labels, and different identifiers.

Either way the same ``TableFormat`` says how the file is written.

The names of the columns are in the first row, unless that is a title: a row with at most half of
its cells filled. Below titles they are in the first row that is not a title, if its cells are
different names with at most one gap and other rows confirm that it is not data: titles are single
cells, or numbers follow below. In any other case they are in the first row, and the user can name
another.

Text is written to a spreadsheet as text, even if it looks like a formula.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np

from primum._lazy import install_advice, needed
from primum._typing import Floats, Index
from primum.rows import Block, ParquetRows, refuse_non_finite
from primum.rows.parquet import READ_AHEAD, SUFFIXES
from primum.tables.cells import NUMBER
from primum.tables.columns import no_such_column

if TYPE_CHECKING:
    import pandas as pd

TEXT_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
# The library that reads a spreadsheet, by its suffix.
SPREADSHEETS = {".xlsx": "openpyxl", ".xlsm": "openpyxl", ".ods": "odfpy"}
HEADER_ROWS = 50  # rows that are searched for the names of the columns: titles above are shorter

Row = Sequence[Any]


@dataclass(frozen=True)
class TableFormat:
    """How a table is written in a file; what it leaves open is detected.

    Attributes
    ----------
    separator : str or None
        The character between the fields of a CSV file; None: detected from the first lines.
    decimal : str or None
        "." or ","; None: "." unless semicolons separate the fields and numbers have commas.
    missing : tuple of str
        Markers of missing values, in addition to an empty cell.
    encoding : str
        Encoding of a CSV file; instead of UTF-8, UTF-16 and UTF-32 are detected.
    sheet : str or None
        The sheet of a spreadsheet; None: the first.
    header_row : int or None
        The line or row with the names of the columns, from 1; None: detected, see ``find_header``.
    """

    separator: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    encoding: str = "utf-8"
    sheet: str | None = None
    header_row: int | None = None


@dataclass(frozen=True)
class TablePart:
    """Some consecutive rows: features as numbers, other columns as Arrow arrays."""

    X: Floats
    as_written: dict[str, Any]


class TableFile(ABC):
    """A table in a file or folder.

    Attributes
    ----------
    path : Path
        The file or folder.
    columns : list of str
        Names of its columns.
    row_identifiers : list of str
        Columns that seem to identify rows: those of a CSV file without a name, or the index of a
        DataFrame stored as Parquet.
    is_text : bool
        Whether its cells are text, whatever they contain.
    decimal : str or None
        The decimal mark that was given or, after ``frame``, that the text shows.
    """

    is_text: ClassVar[bool] = False
    decimal: str | None = None
    path: Path
    columns: list[str]
    row_identifiers: list[str]

    @abstractmethod
    def parts(self, numbers: Sequence[str], as_written: Sequence[str] = ()) -> Iterator[TablePart]:
        """Yield all rows in order, at least one part; raise an error for non-numeric features."""

    @abstractmethod
    def frame(self, as_text: Sequence[str] = ()) -> "pd.DataFrame":
        """Return the whole table, with missing cells where they are empty or marked.

        Columns of a CSV file become numbers if all their cells are numbers, unless they are among
        ``as_text``, such as codes like 007.
        """

    @abstractmethod
    def numbered(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield every row that is not empty with its line or row number in the file, from 1.

        Cells are returned as they are, but "" where empty, and without surrounding spaces in CSV.
        """

    @abstractmethod
    def pandas_code(self) -> str:
        """Return the Python expression with which pandas reads what ``frame`` reads.

        Cells of a CSV file stay text, because ``primum.compare`` reads numbers in text itself.
        """

    def cells_at(self, positions: Index) -> "pd.DataFrame":
        """Return some rows, in the order of their positions, with their cells as written."""
        import pandas as pd

        order = np.argsort(positions)
        wanted, start, parts = np.asarray(positions)[order], 0, []
        for part in self.parts([], self.columns):
            n_rows = len(next(iter(part.as_written.values())))
            here = wanted[np.searchsorted(wanted, start) : np.searchsorted(wanted, start + n_rows)]
            if len(here):
                cells = {name: of.take(here - start) for name, of in part.as_written.items()}
                parts.append(pd.DataFrame({n: _object_column(of) for n, of in cells.items()}))
            start += n_rows
        rows = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=self.columns)
        return rows.iloc[np.argsort(order)]

    def header_in_words(self, name: str) -> str:
        """Return where column names were read from, for the error that ``name`` is missing."""
        return ""

    def require(self, names: Sequence[str], columns: Iterable[str] | None = None) -> None:
        """Raise an error if some names are not among the columns, by default all of the table."""
        columns = list(self.columns if columns is None else columns)
        if missing := [name for name in names if name not in columns]:
            sentence = no_such_column(names, columns, str(self.path))
            raise ValueError(f"{sentence} {self.header_in_words(missing[0])}".strip())


def _object_column(column: Any) -> "pd.Series":
    """Return an Arrow column as Python objects; integers stay integers beside missing cells."""
    import pandas as pd

    return pd.Series(column.to_pylist(), dtype=object)


def table_kind(path: Path) -> str:
    """Return "CSV", "Parquet" (also for a folder) or "spreadsheet", by the name of a path."""
    name = path.name.lower()
    if path.is_dir() or name.endswith(SUFFIXES):
        return "Parquet"
    if name.endswith(TEXT_SUFFIXES):
        return "CSV"
    if name.endswith(tuple(SPREADSHEETS)):
        return "spreadsheet"
    raise ValueError(not_a_table(path, TEXT_SUFFIXES, SPREADSHEETS))


def not_a_table(path: Path, text: Iterable[str], spreadsheets: Iterable[str]) -> str:
    """Return the error sentence for a file name that is not a table's."""
    return (
        f"{path} is neither CSV nor Parquet by its name: it must end in one of "
        f"{', '.join((*text, *SUFFIXES))}, or, for a spreadsheet, {', '.join(spreadsheets)}."
    )


def open_table(path: str | Path, table_format: TableFormat | None = None) -> TableFile:
    """Open a table for reading.

    Parameters
    ----------
    path : path
        A CSV file (.csv, .tsv, .txt, also compressed by gzip), a Parquet file or folder, or a
        spreadsheet (.xlsx, .xlsm, .ods).
    table_format : TableFormat, optional
        How it is written; what it leaves open is detected.

    Returns
    -------
    TableFile
        The table; often only the names of its columns have been read.
    """
    path, table_format = Path(path), table_format or TableFormat()
    if not path.exists():
        raise ValueError(f"There is no file {path}.")
    kind = table_kind(path)
    if kind == "spreadsheet":
        return Spreadsheet(path, table_format)
    if table_format.sheet is not None:
        raise ValueError(f"{path} is not a spreadsheet, so it has no sheet {table_format.sheet!r}.")
    if kind == "CSV":
        from primum.tables.csv import CsvTable

        return CsvTable(path, table_format)
    if table_format.header_row is not None:
        raise ValueError(f"{path} has names of columns but no header row: leave out --header-row.")
    return ParquetTable(path)


class ParquetTable(TableFile):
    """A Parquet file or a folder of Parquet files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_file() and path.stat().st_size == 0:
            raise ValueError(f"{path} is empty.")

    @cached_property
    def _schema(self) -> Any:
        return ParquetRows(self.path, (), 0).files[0].schema

    @cached_property
    def columns(self) -> list[str]:  # type: ignore[override]  # noqa: D102
        return list(self._schema.names)

    @cached_property
    def row_identifiers(self) -> list[str]:  # type: ignore[override]  # noqa: D102
        index = (self._schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in index if isinstance(name, str)]

    def frame(self, as_text: Sequence[str] = ()) -> "pd.DataFrame":  # noqa: D102
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # Ignoring pandas' metadata turns a stored index into a column like any other.
            return pq.read_table(self.path).to_pandas(ignore_metadata=True)
        except (pa.ArrowException, OSError) as problem:
            raise ValueError(
                f"{self.path} cannot be read as Parquet: {first_line(problem)}."
            ) from problem

    def numbered(self) -> Iterator[tuple[int, list[Any]]]:  # noqa: D102
        n_before = 0
        for part in self.parts([], self.columns):
            columns = [part.as_written[name].to_pylist() for name in self.columns]
            rows = list(zip(*columns, strict=True))
            for number, row in enumerate(rows, n_before + 1):
                yield number, ["" if cell is None else cell for cell in row]
            n_before += len(rows)

    def pandas_code(self) -> str:  # noqa: D102
        return f"pd.read_parquet({self.path.as_posix()!r})"

    def parts(self, numbers: Sequence[str], as_written: Sequence[str] = ()) -> Iterator[TablePart]:  # noqa: D102
        import pyarrow as pa

        self.require([*numbers, *as_written])
        rows = ParquetRows(self.path, numbers, len(numbers))
        others = self._others(rows, list(as_written))
        waiting = next(others)
        if rows.n_rows == 0:
            yield TablePart(np.empty((0, len(numbers))), columns_by_name(waiting))
        for block in rows.map(_finite):
            while as_written and waiting.num_rows < block.n_rows:
                waiting = pa.concat_tables([waiting, next(others)])
            yield TablePart(block.X, columns_by_name(waiting.slice(0, block.n_rows)))
            waiting = waiting.slice(block.n_rows)

    def _others(self, rows: ParquetRows, names: list[str]) -> Iterator[Any]:
        """Yield columns of any type as Arrow tables, the first without rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema(_common_types(rows, names))
        yield schema.empty_table()
        for file in rows.files:
            with pq.ParquetFile(file.path, pre_buffer=False, buffer_size=READ_AHEAD) as opened:
                for batch in opened.iter_batches(columns=names, use_threads=False):
                    yield pa.Table.from_batches([batch]).cast(schema)


def _common_types(rows: ParquetRows, names: list[str]) -> dict[str, Any]:
    """Return the types of columns; raise an error if the files disagree."""
    types: dict[str, Any] = {}
    for file in rows.files:
        for name in names:
            if file.schema.get_field_index(name) < 0:
                raise ValueError(f"{file.path} does not have exactly one column named {name!r}.")
            kind = file.schema.field(name).type
            if kind != types.setdefault(name, kind):
                raise ValueError(
                    f"{file.path} has type {kind} in column {name!r}, but {rows.files[0].path} has "
                    f"{types[name]}: write all files with the same type."
                )
    return types


def _finite(block: Block) -> Block:
    if not np.isfinite(block.X).all():
        refuse_non_finite(block)
    return block


def columns_by_name(table: Any) -> dict[str, Any]:
    """Return the columns of an Arrow table."""
    return dict(zip(table.column_names, table.columns, strict=True))


def first_line(problem: BaseException) -> str:
    """Return the first line of an error, or its type if it has no text."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0].rstrip(".")


def column_names(path: Path, header: Iterable[str]) -> list[str]:
    """Return the names in a header; an empty one becomes "column 3", by its position."""
    names = [name or f"column {j}" for j, name in enumerate(header, 1)]
    if len(set(names)) < len(names):
        name = Counter(names).most_common(1)[0][0]
        raise ValueError(f"{path} has several columns named {name!r}: rename them.")
    return names


def find_header(rows: Sequence[Row]) -> int:
    """Return the position of the row with the column names, among non-empty rows.

    Parameters
    ----------
    rows : sequence of sequence
        The first rows of a table, of any lengths; an empty cell is None or "".

    Returns
    -------
    int
        The position, from 0.
    """
    filled = [sum(map(_is_filled, row)) for row in rows[:HEADER_ROWS]]
    titles = [_is_title(row, max(filled)) for row in rows[:HEADER_ROWS]]
    if not (titles and titles[0]) or all(titles):
        return 0
    header = titles.index(False)
    names = [cell.strip() for cell in rows[header] if _is_name(cell)]
    if not filled[header] == len(set(names)) >= max(filled) - 1:
        return 0
    numbers_below = any(_is_number(cell) for row in rows[header + 1 : HEADER_ROWS] for cell in row)
    single = max(filled) > 2 and max(filled[:header]) == 1
    return header if single or numbers_below else 0


def _is_title(row: Row, width: int) -> bool:
    """Return whether a row is a title; a row that names one of two columns is not."""
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


MAX_SHEET_ROWS = 2**20 - 1  # rows of a sheet, without the header


class Spreadsheet(TableFile):
    """The table in a sheet of a spreadsheet.

    Parameters
    ----------
    path : Path
        The file.
    table_format : TableFormat
        Which sheet to read, which of its rows has the names, and the markers of missing cells.
    """

    def __init__(self, path: Path, table_format: TableFormat) -> None:
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
        self.columns, self.row_identifiers = column_names(path, _texts(table.iloc[0])), []
        self._numbers = (table.index[1:] + 1).tolist()
        self._rows = table.iloc[1:].reset_index(drop=True).set_axis(self.columns, axis=1)

    def frame(self, as_text: Sequence[str] = ()) -> "pd.DataFrame":  # noqa: D102
        missing = list(self.format.missing)
        return (self._rows.replace(missing, None) if missing else self._rows).infer_objects()

    def cells_at(self, positions: Index) -> "pd.DataFrame":  # noqa: D102
        return self.frame().iloc[positions]

    def numbered(self) -> Iterator[tuple[int, list[Any]]]:  # noqa: D102
        rows = self._rows.to_numpy(dtype=object).tolist()
        for number, row in zip(self._numbers, rows, strict=True):
            yield number, ["" if cell is None or cell != cell else cell for cell in row]

    def parts(self, numbers: Sequence[str], as_written: Sequence[str] = ()) -> Iterator[TablePart]:  # noqa: D102
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


def _texts(header: "pd.Series") -> list[str]:
    return ["" if name is None or name != name else str(name).strip() for name in header]


def _header_row(cells: "pd.DataFrame") -> int:
    """Return the number of the row with the names, from 1."""
    filled = cells.dropna(how="all").iloc[:HEADER_ROWS]
    if len(filled) == 0:
        return 1
    rows = filled.dropna(axis=1, how="all").to_numpy(dtype=object).tolist()
    return int(filled.index[find_header(rows)]) + 1


def _cells_of(path: Path, sheet: str | None) -> tuple["pd.DataFrame", list[str]]:
    """Return the cells of a sheet, as they are, and the names of all sheets."""
    import pandas as pd

    as_they_are = {"header": None, "dtype": object, "keep_default_na": False, "na_values": [""]}
    try:
        with pd.ExcelFile(path) as book:
            sheets = [str(name) for name in book.sheet_names]
            if sheet is None or sheet in sheets:
                return pd.read_excel(book, sheet_name=sheet or 0, **as_they_are), sheets
    except ImportError as problem:
        library = SPREADSHEETS[path.suffix.lower()]
        advice = install_advice(f"Reading {path} needs", library, "save the table as CSV")
        raise ImportError(advice) from problem
    except Exception as problem:  # a damaged archive can fail in any way
        raise ValueError(
            f"{path} cannot be read as a spreadsheet: open it in a spreadsheet program and save it "
            "again, or save the table as CSV."
        ) from problem
    names = ", ".join(map(repr, sheets))
    raise ValueError(f"{path} has no sheet {sheet!r}: its sheets are {names}.")


def write_spreadsheet(file: BinaryIO, rows: Iterable[Sequence[Any]], name: str) -> None:
    """Write rows as a sheet; text stays text even if it looks like a formula.

    Parameters
    ----------
    file : binary file
        The file to write to.
    rows : iterable of sequence
        The names of the columns, and every row.
    name : str
        What the rows are, in words that follow "write" in errors.
    """
    with needed("Spreadsheets", f"write {name} as CSV"):
        from openpyxl import Workbook

    book = Workbook()
    for number, row in enumerate(rows):
        if number > MAX_SHEET_ROWS:
            raise ValueError(
                f"A spreadsheet has at most {MAX_SHEET_ROWS} rows: write {name} as CSV or Parquet."
            )
        book.active.append([_cell(book.active, value, name) for value in row])
    book.save(file)


def _cell(sheet: Any, value: Any, name: str) -> Any:
    """Return a cell; text that begins with = does not become a formula."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    try:
        cell = WriteOnlyCell(sheet, value)
    except IllegalCharacterError:
        raise ValueError(
            f"The text {value!r} has characters that a spreadsheet cannot hold: write {name} as "
            "CSV or Parquet."
        ) from None
    if isinstance(value, str):
        cell.data_type = "s"
    return cell
