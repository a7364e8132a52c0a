"""CSV files, parsed strictly: every error names its line.

Every row must have as many fields as the header, and quotes must be closed. Only the separator is
detected, the decimal mark of files separated by semicolons, and titles above the header.

Which of the first rows of a table has the names of its columns.

It is the first row, unless that is a title: a row of which at most half of the cells are filled.
Below titles it is the first row that is none, if its cells are different names, all but at most one
of them filled, and if the rows confirm that it is no row of data: the titles are single cells, or
numbers follow below it. In any other case it is the first row, and the user can name another.
"""

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from primum._progress import PASSES, tell
from primum._typing import Floats
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


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
MAX_LINE_LENGTH = 2**24  # characters; a file without line ends must not be read as one line
SNIFFED_LINES = 100
TRUTH = {"true": 1.0, "false": 0.0}

Record = tuple[int, list[str]]  # the line where it begins, and its fields


@dataclass(frozen=True)
class CsvOptions:
    """The format of a file: of a CSV file, and where the table is in a spreadsheet.

    Attributes
    ----------
    separator : str or None
        The character between fields; None: detected from the first lines.
    decimal : str or None
        "." or ","; None: "." unless semicolons separate the fields and numbers have commas.
    missing : tuple of str
        Markers of missing values, in addition to an empty cell.
    encoding : str
        Encoding of the text.
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


class CsvFile:
    """A CSV file, compressed by gzip if its name ends in .gz.

    Parameters
    ----------
    path : Path
        The file.
    options : CsvOptions
        Its format.

    Attributes
    ----------
    separator, decimal : str
        As given, or as detected.
    header : list of str
        The names of the columns, empty for a column without a name.
    header_line : int
        The line with these names, from 1.
    """

    def __init__(self, path: Path, options: CsvOptions) -> None:
        self.path, self.encoding = path, options.encoding
        self.header_line = options.header_row or 1
        lines = self._first_lines()
        if options.header_row is None:
            self.header_line = _header_line(lines, options.separator)
        first = [line for number, line in lines if number >= self.header_line]
        self.separator = options.separator or _separator(path, first)
        self.decimal = options.decimal or _decimal(first, self.separator)
        with self._opened() as (_, text):
            line, header = next(self._records(text), (1, []))
        if not header:
            where = f"line {options.header_row}" if options.header_row else "the first line"
            raise ValueError(f"{path} is empty: {where} must contain the column names.")
        self.header_line, self.header = line, [name.strip() for name in header]

    def chunks(self, n_rows: int) -> Iterator[list[Record]]:
        """Yield all rows in chunks, and report the progress."""
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

    def _ragged(self, line: int, found: int, width: int) -> str:
        surplus = (
            "; if the rows begin with row names, as written by R's write.table, add a name for "
            "that column to the header"
        )
        titles = f"; if line {self.header_line} is a title, pass --header-row"
        return (
            f"{self.path}, line {line}, has {found} fields but the header has {width} (separator "
            f"{self.separator!r}): correct the line{surplus if found == width + 1 else ''}"
            f"{titles if width == 1 else ''}."
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
                f"{_sentence(problem)}; copy or compress it again."
            ) from problem

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
        with gzip.open(self.path) if self._compressed else self.path.open("rb") as content:
            for number, line in enumerate(content, 1):
                try:
                    line.decode(self.encoding)
                except UnicodeDecodeError as here:
                    return f"line {number} has the byte 0x{here.object[here.start]:02x}"
        return str(problem)

    def _first_lines(self) -> list[tuple[int, str]]:
        """Return the first lines that are not blank, from a given header on, numbered from 1."""
        with self._opened() as (_, text):
            lines = islice(
                enumerate(_bounded_lines(text, self.path), 1), self.header_line - 1, None
            )
            return list(islice((line for line in lines if line[1].strip()), SNIFFED_LINES))


def _bounded_lines(text: IO[str], path: Path) -> Iterator[str]:
    """Yield the lines of a file; raise an error for one that is too long to be a row."""
    number = 0
    while line := text.readline(MAX_LINE_LENGTH):
        number += 1
        if len(line) == MAX_LINE_LENGTH:
            raise ValueError(
                f"{path}, line {number}, has more than {MAX_LINE_LENGTH} characters: this is not a "
                "table with one row per line."
            )
        yield line


def _header_line(lines: list[tuple[int, str]], separator: str | None) -> int:
    """Return the line of the header, if only one is possible; else the first.

    Below it, a separator must split all lines into as many fields.
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
    """Return the separator that splits the first lines into the most fields, as many in each."""
    widths = {
        separator: [len(fields) for fields in _split(lines, separator)] for separator in SEPARATORS
    }
    several = {separator: found for separator, found in widths.items() if found and found[0] > 1}
    equal = {separator: found for separator, found in several.items() if len(set(found)) == 1}
    # If none fits all lines, the header decides, and reading fails at the line that differs.
    header = {separator: found[0] for separator, found in (equal or several).items()}
    best = [name for name, width in header.items() if width == max(header.values())]
    if len(best) > 1:
        raise ValueError(
            f"{path} may be separated by {' or '.join(SEPARATORS[name] for name in best)}: choose "
            "one with --sep."
        )
    return best[0] if best else ","


def _split(lines: list[str], separator: str) -> list[list[str]]:
    """Return the fields of the first lines, up to the first malformed one."""
    records: list[list[str]] = []
    with suppress(csv.Error):  # the file is read strictly later, which names the line
        records.extend(fields for fields in csv.reader(lines, delimiter=separator) if fields)
    return records


def _decimal(lines: list[str], separator: str) -> str:
    """Return the decimal mark: a comma only if numbers in the first lines have it and no point."""
    if separator != ";":
        return "."
    cells = [cell.strip() for fields in _split(lines, separator) for cell in fields]
    with_mark = [cell for cell in cells if NUMBER.fullmatch(cell.replace(",", "."))]
    commas, points = (any(mark in cell for cell in with_mark) for mark in ",.")
    return "," if commas and not points else "."


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


def _sentence(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0].rstrip(".")
