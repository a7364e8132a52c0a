"""CSV files, parsed strictly: every error names its line.

Every row must have as many fields as the header, and quotes must be closed. What the given format
leaves open is detected: the separator, the decimal mark of files separated by semicolons, titles
above the header, and UTF-16 and UTF-32, which spreadsheets export.
"""

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from primum._progress import PASSES, tell
from primum._typing import AnyArray, Floats
from primum._words import listed
from primum.tables.cells import NUMBER, THOUSANDS, mark_shown, only_mark, sampled_cells
from primum.tables.files import (
    TableFile,
    TableFormat,
    TablePart,
    column_names,
    find_header,
    first_line,
)

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
MAX_LINE_CHARACTERS = 2**24  # a file without line ends must not be read as one line
SNIFFED_LINES = 100  # the separator is detected from these, because a single line may mislead
CELLS_PER_PART = 2**16  # cells read at a time, few enough for their text to stay in the cache
ROWS_AT_A_TIME = 1024  # when rows are read one by one: few enough to take no memory
MIN_ROWS_PER_PART = 32  # every column of a part costs a few microseconds, however few rows it has
TRUTH = {"true": 1.0, "false": 0.0}  # the numbers of truth values
# Cells that could be read as numbers but are not: booleans, and codes with leading zeros.
NAMES = r"^(?i:true|false)$|^0\d"
# Numbers that may have three decimals or separate thousands.
DOUBTFUL = r"^[+-]?[1-9]\d{0,2}([.]\d{3})+$|^[+-]?[1-9]\d{0,2}(,\d{3})+$"

Record = tuple[int, list[str]]  # the line where it begins, and its fields


class CsvFile:
    """A CSV file, compressed by gzip if its name ends in .gz.

    Parameters
    ----------
    path : Path
        The file.
    table_format : TableFormat
        How it is written.

    Attributes
    ----------
    separator, decimal, encoding : str
        As given, or as detected.
    header : list of str
        The names of the columns, empty for a column without a name.
    header_line : int
        The line with these names, from 1.
    """

    def __init__(self, path: Path, table_format: TableFormat) -> None:
        self.path, given_line = path, table_format.header_row
        self.encoding, self.header_line = table_format.encoding, given_line or 1
        if codecs.lookup(self.encoding).name == "utf-8":
            self.encoding = _wider_encoding(self._first_bytes()) or self.encoding
        lines = self._first_lines()
        if given_line is None:
            self.header_line = _header_line(lines, table_format.separator)
        first = [line for number, line in lines if number >= self.header_line]
        self.separator = table_format.separator or _separator(path, first)
        self.decimal = table_format.decimal or _decimal(first, self.separator)
        with self._opened() as (_, text):
            line, header = next(self._records(text), (1, []))
        if not header:
            where = f"line {given_line}" if given_line else "the first line"
            raise ValueError(f"{path} is empty: {where} must contain the column names.")
        self.header_line, self.header = line, [name.strip() for name in header]

    def chunks(self, n_rows: int) -> Iterator[list[Record]]:
        """Yield all rows in chunks, and report progress."""
        size, done = self.path.stat().st_size, 0
        with self._opened() as (raw, text):
            records = islice(self._records(text), 1, None)
            while chunk := list(islice(records, n_rows)):
                yield chunk
                if done < raw.tell() < size:  # text is read ahead, so the end may be reached early
                    done = raw.tell()
                    tell(PASSES, done, size)
        tell(PASSES, size, size)

    def _records(self, text: IO[str]) -> Iterator[Record]:
        """Yield the header and every row; raise an error for a row with more or fewer fields."""
        before = self.header_line - 1
        lines = islice(_bounded_lines(text, self.path), before, None)
        reader = csv.reader(lines, delimiter=self.separator, strict=True, skipinitialspace=True)
        width = 0
        while True:
            line = before + reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as problem:
                raise ValueError(
                    f"{self.path}, line {line}, has malformed quotes or fields ({problem}): "
                    "correct the line."
                ) from problem
            if not fields or (fields == [""] and width != 1):
                continue  # a blank line
            width = width or len(fields)
            if len(fields) != width:
                raise ValueError(self._ragged(line, len(fields), width))
            yield line, fields

    def _ragged(self, line: int, n_fields: int, width: int) -> str:
        surplus = (
            "; if the rows begin with row names, as written by R's write.table, add a name for "
            "that column to the header"
        )
        titles = f"; if line {self.header_line} is a title, pass --header-row"
        return (
            f"{self.path}, line {line}, has {n_fields} fields but the header has {width} "
            f"(separator {self.separator!r}): correct the line"
            f"{surplus if n_fields == width + 1 else ''}{titles if width == 1 else ''}."
        )

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], IO[str]]]:
        """Open the file; yield it as bytes, to measure the progress, and as text."""
        # A byte order mark is not part of the first column name.
        utf8 = codecs.lookup(self.encoding).name == "utf-8"
        decoder = "utf-8-sig" if utf8 else self.encoding
        try:
            with self.path.open("rb") as raw:
                content: Any = gzip.GzipFile(fileobj=raw) if self._compressed else raw
                yield raw, io.TextIOWrapper(content, decoder, newline="")
        except UnicodeError as problem:
            raise ValueError(self._undecodable(problem)) from problem
        except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
            raise ValueError(
                f"{self.path} is not a gzip file, or it is truncated or damaged: "
                f"{first_line(problem)}; copy or compress it again."
            ) from problem

    def _bytes(self) -> Any:
        """Open the file, decompressed."""
        return (gzip.open if self._compressed else open)(self.path, "rb")

    def _first_bytes(self) -> bytes:
        with suppress(EOFError, gzip.BadGzipFile, zlib.error), self._bytes() as content:
            return bytes(content.read(4))
        return b""  # the error comes when the rows are read

    @property
    def _compressed(self) -> bool:
        return self.path.suffix.lower() == ".gz"

    def _undecodable(self, problem: UnicodeError) -> str:
        utf8 = "utf-8" in codecs.lookup(self.encoding).name
        advice = "save it as UTF-8, or pass its encoding" if utf8 else "pass its actual encoding"
        place = self._undecodable_line(problem)
        return (
            f"{self.path} is not {self.encoding.upper()} text ({place}): {advice}, "
            f"for example --encoding {'cp1252' if utf8 else 'utf-8'}."
        )

    def _undecodable_line(self, problem: UnicodeError) -> str:
        if "\n".encode(self.encoding) != b"\n":
            return problem.reason if isinstance(problem, UnicodeDecodeError) else str(problem)
        with self._bytes() as content:
            for number, line in enumerate(content, 1):
                try:
                    line.decode(self.encoding)
                except UnicodeDecodeError as here:
                    return f"line {number} has the byte 0x{here.object[here.start]:02x}"
        return str(problem)

    def _first_lines(self) -> list[tuple[int, str]]:
        """Return the first non-blank lines, from a given header on, with line numbers from 1."""
        with self._opened() as (_, text):
            numbered = enumerate(_bounded_lines(text, self.path), 1)
            lines = islice(numbered, self.header_line - 1, None)
            return list(islice((line for line in lines if line[1].strip()), SNIFFED_LINES))


class CsvTable(TableFile):
    """The table in a CSV file.

    Parameters
    ----------
    path : Path
        The file.
    table_format : TableFormat
        How it is written.
    """

    is_text: ClassVar[bool] = True

    def __init__(self, path: Path, table_format: TableFormat) -> None:
        self.path, self.file, self.decimal = path, CsvFile(path, table_format), table_format.decimal
        self.missing = ("", *table_format.missing)
        self.columns = column_names(path, self.file.header)
        named = zip(self.columns, self.file.header, strict=True)
        self.row_identifiers = [column for column, name in named if not name]
        self._position = {name: j for j, name in enumerate(self.columns)}

    def header_in_words(self, name: str) -> str:  # noqa: D102
        kind = SEPARATORS.get(self.file.separator, repr(self.file.separator))
        return (
            f"Line {self.file.header_line}, separated by {kind}, is its header (--header-row and "
            "--sep name others)."
        )

    def pandas_code(self) -> str:  # noqa: D102
        file, skipped = self.file, self.file.header_line - 1
        other = "" if file.encoding == "utf-8" else f", encoding={file.encoding!r}"
        return (
            f"pd.read_csv(\n    {self.path.as_posix()!r}, sep={file.separator!r}, dtype=str, "
            f"keep_default_na=False, skipinitialspace=True{other}"
            f"{f', skiprows={skipped}' if skipped else ''}\n)"
        )

    def numbered(self) -> Iterator[tuple[int, list[Any]]]:  # noqa: D102
        for chunk in self.file.chunks(ROWS_AT_A_TIME):
            yield from ((line, [field.strip() for field in fields]) for line, fields in chunk)

    def frame(self, as_text: Sequence[str] = ()) -> pd.DataFrame:  # noqa: D102
        parts = [part.as_written for part in self.parts([], self.columns)]
        cells, marks = {}, []
        for name in self.columns:
            text = pa.chunked_array([part.pop(name) for part in parts]).combine_chunks()
            if name in as_text:
                cells[name], mark = text.to_numpy(zero_copy_only=False), self._mark(text)
            else:
                cells[name], mark = self._typed(text)
            marks.append(mark)
        # Semicolons separate fields where commas are decimal marks.
        if_both = "," if self.file.separator == ";" else ""
        self.decimal = self.decimal or only_mark(marks, if_both) or None
        return pd.DataFrame(cells)

    def _mark(self, text: Any) -> str:
        """Return the decimal mark that text shows."""
        return mark_shown(c for c in sampled_cells(text).to_pylist() if c not in self.missing)

    def _typed(self, text: Any) -> tuple[AnyArray, str]:
        """Return a column, as numbers if all its cells are, else as text, and the mark it shows.

        A cell such as 007 makes it a column of names. Columns of one file can differ in their
        decimal marks, for example if one of them holds version numbers. If commas separate fields,
        a comma inside a field is more likely to separate thousands. Numbers that may have three
        decimals or separated thousands stay text, to be read with the mark of other columns.
        """
        absent = pc.is_in(text, value_set=pa.array(self.missing, pa.string()))
        is_filled = ~absent.to_numpy(zero_copy_only=False)
        named = pc.any(pc.match_substring_regex(text, NAMES)).as_py()
        present = text.filter(pc.invert(absent))
        if not named and not _is_doubtful(present):
            mark = self.file.decimal
            for other in mark if self.file.separator == "," else dict.fromkeys((mark, ".", ",")):
                numbers = to_numbers(text, other, self.missing)
                if not (np.isnan(numbers) & is_filled).any():
                    has_mark = pc.any(pc.match_substring(present, other)).as_py()
                    return numbers, other if has_mark else ""
        return pc.if_else(absent, None, text).to_numpy(zero_copy_only=False), self._mark(text)

    def parts(self, numbers: Sequence[str], as_written: Sequence[str] = ()) -> Iterator[TablePart]:  # noqa: D102
        self.require([*numbers, *as_written])
        rows_per_part = max(MIN_ROWS_PER_PART, CELLS_PER_PART // len(self.columns))
        # A first, empty part carries the types even if there are no rows.
        for chunk in chain([[]], self.file.chunks(rows_per_part)):
            others = {name: self._cells(chunk, name) for name in as_written}
            yield TablePart(self._matrix(chunk, numbers), others)

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

    def _unusable(self, chunk: list[Record], names: Sequence[str], usable: AnyArray) -> str:
        """Describe the cells that are not numbers or, if all are, the first missing one."""
        places = []  # the first such cell of every column
        for name, row in zip(names, usable.argmin(axis=0).tolist(), strict=True):
            if not usable[row, names.index(name)]:
                cell = self._cells(chunk[row : row + 1], name)[0].as_py()
                places.append((chunk[row][0], name, cell))
        text = [place for place in places if place[2] not in self.missing]
        if not text:
            line, name, _ = min(places, key=lambda place: place[0])
            return (
                f"{self.path}, line {line}, has a missing value in column {name!r}: impute it, or "
                "drop the row or the column."
            )
        cells = listed([f"{name!r} (line {line}: {cell[:30]!r})" for line, name, cell in text])
        return (
            f"{self.path} has columns that are not numbers, or too large: {cells}. Convert or "
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


def _wider_encoding(start: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if a file begins like one, usually with a mark; else None."""
    if start in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    # In UTF-16 a byte of every ASCII character is zero; text in other encodings has no zeros.
    zeros = (start[:1] == b"\0", start[1:2] == b"\0")
    return {(False, True): "utf-16-le", (True, False): "utf-16-be"}.get(zeros)


def _bounded_lines(text: IO[str], path: Path) -> Iterator[str]:
    """Yield the lines of a file; raise an error for one that is too long to be a row."""
    number = 0
    while line := text.readline(MAX_LINE_CHARACTERS):
        number += 1
        if len(line) == MAX_LINE_CHARACTERS:
            raise ValueError(
                f"{path}, line {number}, has more than {MAX_LINE_CHARACTERS} characters: this is "
                "not a table with one row per line."
            )
        yield line


def _header_line(lines: list[tuple[int, str]], separator: str | None) -> int:
    """Return the line of the header, if only one is possible; else the first.

    A separator must split all lines from there on into equally many fields.
    """
    possible = set()
    for mark in SEPARATORS if separator is None else [separator]:
        records = _split([line for _, line in lines], mark)
        header = find_header(records) if len(records) == len(lines) else 0
        widths = {len(fields) for fields in records[header:]}
        if len(widths) == 1 and widths != {1}:
            possible.add(header)
    return lines[possible.pop()][0] if len(possible) == 1 else 1


def _separator(path: Path, lines: list[str]) -> str:
    """Return the separator that splits all first lines into the same, largest number of fields."""
    widths = {mark: [len(fields) for fields in _split(lines, mark)] for mark in SEPARATORS}
    several = {mark: counts for mark, counts in widths.items() if counts and counts[0] > 1}
    equal = {mark: counts for mark, counts in several.items() if len(set(counts)) == 1}
    # If none fits all lines, the header decides, and reading fails at the line that differs.
    header = {mark: counts[0] for mark, counts in (equal or several).items()}
    best = [mark for mark, width in header.items() if width == max(header.values())]
    if len(best) > 1:
        raise ValueError(
            f"{path} may be separated by {' or '.join(SEPARATORS[mark] for mark in best)}: choose "
            "one with --sep."
        )
    return best[0] if best else ","


def _split(lines: list[str], separator: str) -> list[list[str]]:
    """Return the fields of the first lines, up to the first malformed one."""
    records: list[list[str]] = []
    with suppress(csv.Error):  # strict reading later names the line
        records.extend(fields for fields in csv.reader(lines, delimiter=separator) if fields)
    return records


def _decimal(lines: list[str], separator: str) -> str:
    """Return the decimal mark: a comma if the first numbers have commas but no points."""
    if separator != ";":
        return "."
    cells = [cell.strip() for fields in _split(lines, separator) for cell in fields]
    with_mark = [cell for cell in cells if NUMBER.fullmatch(cell.replace(",", "."))]
    commas, points = (any(mark in cell for cell in with_mark) for mark in ",.")
    return "," if commas and not points else "."


def _is_doubtful(text: Any) -> bool:
    """Return whether all marks in the cells of a column may separate thousands."""
    marked = text.filter(pc.match_substring_regex(text, "[.,]"))
    return len(marked) > 0 and bool(pc.all(pc.match_substring_regex(marked, DOUBTFUL)).as_py())


def to_numbers(text: Any, decimal: str, missing: Sequence[str]) -> Floats:
    """Return cells as numbers, True as 1 and False as 0; NaN if missing or not a number.

    Parameters
    ----------
    text : Arrow array of strings
        Cells, without surrounding spaces.
    decimal : {".", ","}
        The decimal mark. The other one is not accepted: in 1.500 it may separate thousands.
    missing : sequence of str
        Markers of missing values.

    Returns
    -------
    array of shape (n_cells,)
        The numbers.
    """
    text = pc.if_else(pc.is_in(text, value_set=pa.array(missing, pa.string())), None, text)
    if decimal == ",":
        text = pc.replace_substring(pc.replace_substring(text, ".", "_"), ",", ".")
    try:
        return np.asarray(pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return np.array([_number(cell) for cell in text.to_pylist()])


def _number(cell: str | None) -> float:
    if cell is None:
        return np.nan
    return float(cell) if NUMBER.fullmatch(cell) else TRUTH.get(cell.lower(), np.nan)
