"""Reading a whole table into memory, as people wrote it: CSV, Parquet or a spreadsheet.

Cells stay as written where they are not all numbers: what they mean is decided per column, from
all rows (``columns``).

Tables of other libraries than pandas, such as polars, by the protocols that they share.
"""

import codecs
import gzip
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from primum.tables.csv import CsvFile, CsvOptions, to_numbers
from primum.tables.reading import CSV_SUFFIXES, CsvTable, is_parquet, refuse_layout
from primum.tables.spreadsheets import (
    SPREADSHEETS,
    found_in,
    is_spreadsheet,
    read_spreadsheet,
    skipped_rows,
)

if TYPE_CHECKING:
    import pandas as pd


TEXT_SUFFIXES = (".tsv", ".tsv.gz", ".txt", ".txt.gz")
# Cells that could be read as numbers, but are more: booleans and codes with leading zeros.
NAMES = r"^(?i:true|false)$|^0\d"


def read_frame(
    path: str | Path, options: CsvOptions | None = None, as_text: Sequence[str] = ()
) -> "pd.DataFrame":
    """Read a table.

    Parameters
    ----------
    path : path
        A CSV file (.csv, .tsv, .txt, also compressed by gzip), a Parquet file or folder, or a
        spreadsheet (.xlsx, .ods).
    options : CsvOptions, optional
        The format of the file; what it leaves open is detected.
    as_text : sequence of str
        Columns of a CSV file, if it has them, that stay text even if all cells are numbers: 007.

    Returns
    -------
    DataFrame
        One column per column of the table. Columns of a CSV file are numbers if all of their cells
        are, and text otherwise; empty cells are missing.
    """
    path, options = Path(path), options or CsvOptions()
    if not path.exists():
        raise ValueError(f"There is no file {path}.")
    if is_spreadsheet(path):
        return read_spreadsheet(path, options)
    refuse_layout(path, options, has_header_row=_is_csv(path))
    if _is_csv(path):
        return _read_csv(path, options, as_text)
    if not path.is_dir() and path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")
    if _known_parquet(path):
        return _read_parquet(path)
    raise AssertionError("is_parquet returns True or raises an error for other names")


def header_in_words(path: Path, options: CsvOptions, name: str) -> str:
    """Return where the names of columns were read from, for an error on a column that is absent."""
    if is_spreadsheet(path):
        return found_in(path, options, name)
    if not _is_csv(path):
        return ""
    return (
        f"Line {_csv_file(path, options).header_line} is its header (--header-row names another)."
    )


def pandas_code(path: Path, options: CsvOptions) -> str:
    """Return the expression by which pandas reads what ``read_frame`` reads.

    Cells of a CSV file stay text, of which ``primum.compare`` makes the same as of numbers.
    """
    name = repr(path.as_posix())
    if is_spreadsheet(path):
        sheet = "" if options.sheet is None else f", sheet_name={options.sheet!r}"
        return f"pd.read_excel({name}{sheet}{_skipped(skipped_rows(path, options))})"
    if not _is_csv(path):
        return f"pd.read_parquet({name})"
    file = _csv_file(path, options)
    other = "" if file.encoding == "utf-8" else f", encoding={file.encoding!r}"
    return (
        f"pd.read_csv(\n    {name}, sep={file.separator!r}, dtype=str, keep_default_na=False, "
        f"skipinitialspace=True{other}{_skipped(file.header_line - 1)}\n)"
    )


def _skipped(n_rows: int) -> str:
    return f", skiprows={n_rows}" if n_rows else ""


def _csv_file(path: Path, options: CsvOptions) -> CsvFile:
    return CsvFile(path, replace(options, encoding=_encoding(path, options.encoding)))


def _is_csv(path: Path) -> bool:
    return not path.is_dir() and path.name.lower().endswith((*CSV_SUFFIXES, *TEXT_SUFFIXES))


def _known_parquet(path: Path) -> bool:
    try:
        return is_parquet(path)
    except ValueError as problem:
        known = ", ".join(SPREADSHEETS)
        raise ValueError(f"{str(problem).rstrip('.')}, or, for a spreadsheet, {known}.") from None


def _read_csv(path: Path, options: CsvOptions, as_text: Sequence[str]) -> "pd.DataFrame":
    import pandas as pd
    import pyarrow as pa

    table = CsvTable(path, replace(options, encoding=_encoding(path, options.encoding)))
    parts = [part.as_written for part in table.parts([], table.columns)]
    columns = {}
    for name in table.columns:
        text = pa.chunked_array([part.pop(name) for part in parts]).combine_chunks()
        columns[name] = (
            text.to_numpy(zero_copy_only=False)
            if name in as_text
            else _cells(text, _marks(table), table.missing)
        )
    return pd.DataFrame(columns)


def _marks(table: CsvTable) -> str:
    """Return the decimal marks that a column may have, the likely one first.

    Columns of one file can differ, for example if one of them holds version numbers. Where commas
    separate fields, a comma inside a field is more likely to separate thousands.
    """
    mark = table.file.decimal
    return mark if table.file.separator == "," else mark + {".": ",", ",": "."}[mark]


def _cells(text: Any, marks: str, missing: Sequence[str]) -> Any:
    """Return a column of a CSV file: numbers if all cells are, else text; 007 is a name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    absent = pc.is_in(text, value_set=pa.array(list(missing), pa.string()))
    known = ~absent.to_numpy(zero_copy_only=False)
    if not pc.any(pc.match_substring_regex(text, NAMES)).as_py():
        for mark in marks:
            numbers = to_numbers(text, mark, missing)
            if not (np.isnan(numbers) & known).any():
                return numbers
    return pc.if_else(absent, None, text).to_numpy(zero_copy_only=False)


def _encoding(path: Path, given: str) -> str:
    """Return the encoding of a file: spreadsheets export UTF-16, mostly with a mark of its own."""
    if codecs.lookup(given).name != "utf-8":
        return given
    start = _first_bytes(path)
    if start in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    # Half of every ASCII character is zero there, and nothing is in text of other encodings.
    return {(False, True): "utf-16-le", (True, False): "utf-16-be"}.get(
        (start[:1] == b"\0", start[1:2] == b"\0"), given
    )


def _first_bytes(path: Path) -> bytes:
    compressed = path.suffix.lower() == ".gz"
    try:
        with gzip.open(path) if compressed else path.open("rb") as content:
            return bytes(content.read(4))
    except (EOFError, gzip.BadGzipFile, zlib.error):  # reading the rows says so
        return b""


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Without pandas' metadata a stored index is a column like any other.
        return pq.read_table(path).to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as problem:
        line = (str(problem).strip().splitlines() or [type(problem).__name__])[0].rstrip(".")
        raise ValueError(f"{path} cannot be read as Parquet: {line}.") from problem
