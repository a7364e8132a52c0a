"""Raw tables: the published values of a data set, before any encoding, and their files.

Every source is read into the same small object, so that one encoding and one fingerprint serve
them all. Numbers are parsed by ``float``, which rounds correctly: a value written with enough
digits is restored bit for bit.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from primum._files import replacing
from primum._typing import Floats

TARGET = "target"
# The exceptions that reading a damaged file can raise.
DAMAGE = (OSError, EOFError, zlib.error, UnicodeError, csv.Error, ValueError)


@dataclass(frozen=True, eq=False)
class RawTable:
    """Raw feature values (NaN where missing) and the class labels as text."""

    values: Floats
    labels: list[str]


@dataclass(frozen=True)
class Origin:
    """A source of a data set other than a data folder, and its format.

    Parameters
    ----------
    parts : tuple of str
        Addresses, or paths inside the package; the rows of all parts are concatenated.
    package : str, default=""
        Import name of the package that contains the parts; empty for addresses.
    header : int, default=0
        Number of lines before the first row.
    label : int, default=-1
        Column of the class label.
    ignore : tuple of int, default=()
        Columns that are neither features nor the label, such as identifiers.
    rename : tuple of (str, str), default=()
        Labels that this origin spells differently, and their published spelling.
    """

    parts: tuple[str, ...]
    package: str = ""
    header: int = 0
    label: int = -1
    ignore: tuple[int, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()


def parse_parts(parts: Iterable[bytes], origin: Origin) -> RawTable:
    """Return the table in the contents of the parts of an origin."""
    if origin.parts[0].endswith(".mat"):
        return _parse_mat(next(iter(parts)))
    lines: list[str] = []
    for part in parts:
        lines += part.decode("utf-8-sig").splitlines()[origin.header :]
    rows = [row for row in csv.reader(lines, skipinitialspace=True) if any(row)]
    return _table_of(rows, origin)


def _table_of(rows: Sequence[list[str]], origin: Origin) -> RawTable:
    width = len(rows[0]) if rows else 0
    if width < 2 or any(len(row) != width for row in rows):
        raise ValueError("the rows are not a table")
    label = origin.label % width
    kept = [j for j in range(width) if j != label and j not in origin.ignore]
    rename = dict(origin.rename)
    labels = [rename.get(row[label].strip(), row[label].strip()) for row in rows]
    values = np.array([[_number(row[j]) for j in kept] for row in rows])
    return RawTable(values, labels)


def _number(cell: str) -> float:
    cell = cell.strip()
    return float(cell) if cell not in ("", "?") else np.nan


def _parse_mat(content: bytes) -> RawTable:
    try:
        stored = loadmat(  # file objects are allowed, contrary to the type stubs
            io.BytesIO(content),  # type: ignore[arg-type]
            variable_names=["X", "y"],
        )
        values, y = np.asarray(stored["X"], dtype=np.float64), np.ravel(stored["y"])
    except Exception as error:  # a damaged file can make the reader raise anything
        raise ValueError(f"the .mat file cannot be read ({error})") from error
    return RawTable(values, [f"{label:g}" for label in y])


def read_csv_gz(path: Path, columns: Sequence[str]) -> RawTable:
    """Return the table in a ``<name>.csv.gz``; raise one of DAMAGE if it is not one."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    if not rows or rows[0] != [*columns, TARGET]:
        raise ValueError("the header line differs")
    return _table_of(rows[1:], Origin(parts=(str(path),)))


def write_csv_gz(path: Path, table: RawTable, columns: Sequence[str]) -> None:
    """Write a table atomically: the file is complete or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(_text(table, columns).encode("utf-8"))


def _text(table: RawTable, columns: Sequence[str]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, TARGET])
    for row, label in zip(table.values.tolist(), table.labels, strict=True):
        writer.writerow([*map(_shortest, row), label])
    return text.getvalue()


def _shortest(value: float) -> str:
    """Return the shortest decimal that restores the number exactly; empty for NaN."""
    return "" if np.isnan(value) else repr(value).removesuffix(".0")
