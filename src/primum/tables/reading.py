"""Reading a table: CSV or Parquet, distinguished by its file name.

Features must be finite numbers in every row; otherwise an error names the place. Other columns are
passed on as written: `007` and `7` are different labels, and different identifiers.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from primum._typing import Floats
from primum.rows import Block, ParquetRows, refuse_non_finite
from primum.rows.parquet import READ_AHEAD, SUFFIXES
from primum.tables.cells import NUMBER, THOUSANDS
from primum.tables.csv import SEPARATORS, CsvFile, CsvOptions, Record, to_numbers

CSV_SUFFIXES = (".csv", ".csv.gz")
CELLS_PER_PART = 2**16  # of a CSV file: few enough for the text to stay in the cache
FEWEST_ROWS_PER_PART = 32  # every column of a part costs a few microseconds
SHOWN = 8


@dataclass(frozen=True)
class Part:
    """Some consecutive rows: features as numbers, other columns as Arrow arrays."""

    X: Floats
    as_written: dict[str, Any]


class Table(ABC):
    """A table in a file or folder.

    Attributes
    ----------
    path : Path
        The file or folder.
    columns : list of str
        Names of its columns.
    row_identifiers : list of str
        Those that seem to identify rows: columns of a CSV file without a name, or the index of a
        DataFrame stored as Parquet.
    is_text : bool
        Whether its cells are text, whatever they contain.
    """

    is_text: ClassVar[bool] = False
    path: Path
    columns: list[str]
    row_identifiers: list[str]

    @abstractmethod
    def parts(self, numbers: Sequence[str], as_written: Sequence[str] = ()) -> Iterator[Part]:
        """Yield all rows in order, at least one part; raise an error for non-numeric features."""

    def find(self, names: Iterable[str]) -> None:
        """Raise an error if the table lacks one of these columns."""
        for name in names:
            if name not in self.columns:
                close = get_close_matches(name, self.columns, 1)
                meant = f" (did you mean {close[0]!r}?)" if close else ""
                raise ValueError(f"{self.path} has no column {name!r}{meant}; {self._found()}.")

    def _found(self) -> str:
        return f"its columns are {_listed(self.columns)}"


def is_parquet(path: Path) -> bool:
    """Return whether a path is Parquet (a folder is); raise an error if it is not CSV either."""
    name = path.name.lower()
    if path.is_dir() or name.endswith(SUFFIXES):
        return True
    if name.endswith(CSV_SUFFIXES):
        return False
    raise ValueError(
        f"{path} is neither CSV nor Parquet by its name: it must end in one of "
        f"{', '.join((*CSV_SUFFIXES, *SUFFIXES))}."
    )


def open_table(path: Path, options: CsvOptions) -> Table:
    """Open a table for reading; the options apply to CSV only."""
    refuse_layout(path, options, has_header_row=not is_parquet(path))
    return ParquetTable(path) if is_parquet(path) else CsvTable(path, options)


def refuse_layout(path: Path, options: CsvOptions, *, has_header_row: bool) -> None:
    """Raise an error for a sheet or a header row of a file that has none."""
    if options.sheet is not None:
        raise ValueError(f"{path} is not a spreadsheet, so it has no sheet {options.sheet!r}.")
    if options.header_row is not None and not has_header_row:
        raise ValueError(f"{path} has names of columns but no header row: leave out --header-row.")


class ParquetTable(Table):
    """A Parquet file or a folder of Parquet files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        schema = ParquetRows(path, (), 0).files[0].schema
        self.columns = list(schema.names)
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        self.row_identifiers = [name for name in index if isinstance(name, str)]

    def parts(self, numbers: Sequence[str], as_written: Sequence[str] = ()) -> Iterator[Part]:  # noqa: D102
        self.find([*numbers, *as_written])
        rows = ParquetRows(self.path, numbers, len(numbers))
        others = self._others(rows, list(as_written))
        waiting = next(others)
        if rows.n_rows == 0:
            yield Part(np.empty((0, len(numbers))), _by_name(waiting))
        for block in rows.map(_finite):
            while as_written and waiting.num_rows < block.n_rows:
                waiting = pa.concat_tables([waiting, next(others)])
            yield Part(block.X, _by_name(waiting.slice(0, block.n_rows)))
            waiting = waiting.slice(block.n_rows)

    def _others(self, rows: ParquetRows, names: list[str]) -> Iterator[Any]:
        """Yield columns of any type as Arrow tables, the first without rows."""
        schema = _common_schema(rows, names)
        yield schema.empty_table()
        for file in rows.files:
            with pq.ParquetFile(file.path, pre_buffer=False, buffer_size=READ_AHEAD) as opened:
                for batch in opened.iter_batches(columns=names, use_threads=False):
                    yield pa.Table.from_batches([batch]).cast(schema)


def _common_schema(rows: ParquetRows, names: list[str]) -> Any:
    """Return the types of columns, without metadata; raise an error if the files disagree."""
    for file in rows.files:
        for name in names:
            if file.schema.get_field_index(name) < 0:
                raise ValueError(f"{file.path} does not have exactly one column named {name!r}.")
    schemas = [
        pa.schema([(name, file.schema.field(name).type) for name in names]) for file in rows.files
    ]
    for file, schema in zip(rows.files, schemas, strict=True):
        for name in names:
            kind, first = schema.field(name).type, schemas[0].field(name).type
            if kind != first:
                raise ValueError(
                    f"{file.path} has type {kind} in column {name!r}, but {rows.files[0].path} has "
                    f"{first}: write all files with the same type."
                )
    return schemas[0]


def _by_name(table: Any) -> dict[str, Any]:
    return dict(zip(table.column_names, table.columns, strict=True))


def _finite(block: Block) -> Block:
    if not np.isfinite(block.X).all():
        refuse_non_finite(block)
    return block


class CsvTable(Table):
    """A CSV file, compressed by gzip if its name ends in .gz.

    Parameters
    ----------
    path : Path
        The file.
    options : CsvOptions
        Its format.
    """

    is_text: ClassVar[bool] = True

    def __init__(self, path: Path, options: CsvOptions) -> None:
        self.path, self.file = path, CsvFile(path, options)
        self.missing = ("", *options.missing)
        header = list(enumerate(self.file.header, 1))
        self.columns = [name or f"column {j}" for j, name in header]
        self.row_identifiers = [f"column {j}" for j, name in header if not name]
        self._position = {name: j for j, name in enumerate(self.columns)}
        if len(self._position) < len(self.columns):
            name = Counter(self.columns).most_common(1)[0][0]
            raise ValueError(f"{path} has several columns named {name!r}: rename them.")

    def parts(self, numbers: Sequence[str], as_written: Sequence[str] = ()) -> Iterator[Part]:  # noqa: D102
        self.find([*numbers, *as_written])
        # The empty part carries the types even if there are no rows.
        for chunk in chain([[]], self.file.chunks(self._rows_per_part)):
            others = {name: self._cells(chunk, name) for name in as_written}
            yield Part(self._matrix(chunk, numbers), others)

    @property
    def _rows_per_part(self) -> int:
        return max(FEWEST_ROWS_PER_PART, CELLS_PER_PART // len(self.columns))

    def _cells(self, chunk: list[Record], name: str) -> Any:
        """Return the cells of a column, without surrounding spaces, as an Arrow array."""
        position = self._position[name]
        cells = [fields[position] for _, fields in chunk]
        return pc.utf8_trim_whitespace(pa.array(cells, pa.string()))

    def _matrix(self, chunk: list[Record], names: Sequence[str]) -> Floats:
        """Return columns as numbers; raise an error if one is missing or its square overflows."""
        X = np.empty((len(chunk), len(names)))
        for j, name in enumerate(names):
            X[:, j] = to_numbers(self._cells(chunk, name), self.file.decimal, self.missing)
        with np.errstate(over="ignore"):
            usable = np.isfinite(X * X)
        if not usable.all():
            raise ValueError(self._unusable(chunk, names, usable))
        return X

    def _unusable(self, chunk: Any, names: Sequence[str], usable: Any) -> str:
        """Describe the cells that are not numbers or, if there are none, the first missing one."""
        first = {name: int(usable[:, j].argmin()) for j, name in enumerate(names)}
        places = [
            (chunk[i][0], name, self._cells(chunk[i : i + 1], name)[0].as_py())
            for j, (name, i) in enumerate(first.items())
            if not usable[i, j]
        ]
        text = [place for place in places if place[2] not in self.missing]
        if not text:
            line, name, _ = min(places, key=lambda place: place[0])
            return (
                f"{self.path}, line {line}, has a missing value in column {name!r}: impute it, or "
                "drop the row or the column."
            )
        listed = _listed(f"{name!r} (line {line}: {cell[:30]!r})" for line, name, cell in text)
        return (
            f"{self.path} has columns that are not numbers, or too large: {listed}. Convert or "
            f"scale them, or leave them out of the features{self._hint(text[0][2])}."
        )

    def _hint(self, cell: str) -> str:
        """Return a hint about decimal marks and thousands separators."""
        other = "," if self.file.decimal == "." else "."
        if other in cell and NUMBER.fullmatch(cell.replace(",", ".")):
            return (
                f" (the decimal mark is assumed to be {self.file.decimal!r} and the separator "
                f"{self.file.separator!r}: --decimal '{other}' changes the mark; if {other!r} "
                "separates thousands, remove it)"
            )
        if THOUSANDS.fullmatch(cell):
            return " (thousands separators are not supported: remove them from the numbers)"
        return ""

    def _found(self) -> str:
        kind = SEPARATORS.get(self.file.separator, repr(self.file.separator))
        hint = " (use --sep for another separator)" if len(self.columns) == 1 else ""
        return f"its columns, separated by {kind}, are {_listed(self.columns)}{hint}"


def _listed(items: Iterable[str]) -> str:
    items = list(items)
    return ", ".join(items[:SHOWN]) + (f", ... ({len(items)})" if len(items) > SHOWN else "")
