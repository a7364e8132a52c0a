"""The paper's encoding, from published columns to numbers, and the two summaries of its Table 1.

Most data sets are used as published. Two are not:

* diabetes: a zero in four columns means missing and becomes the median of the other values in the
  column;
* mammography: BI-RADS is an assessment, not a measurement, and is dropped; missing values become
  the median or, in the two categorical columns, the most frequent level; these are then encoded by
  indicators of every level but the first.

In every data set, constant columns are removed.

Raw tables: the published values of a data set, before any encoding, and their files.

Every source is read into the same small object, so that one encoding and one fingerprint serve
them all. Numbers are parsed by ``float``, which rounds correctly: a value written with enough
digits is restored bit for bit.
"""

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from primum._files import replacing
from primum._typing import Floats, Index

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


Columns = tuple[Floats, tuple[str, ...]]

ZERO_IS_MISSING = ("Glucose", "DiastolicBloodPressure", "Skinfold", "BMI")


def code(name: str, values: Floats, columns: Sequence[str]) -> Columns:
    """Apply the paper's encoding of one data set.

    Parameters
    ----------
    name : str
        Name of the data set in the catalogue.
    values : array of shape (n_rows, n_columns)
        Published values, NaN where missing.
    columns : sequence of str
        Names of the published columns.

    Returns
    -------
    X : array of shape (n_rows, n_features)
        Encoded features; no column is constant.
    feature_names : tuple of str
        Their names.
    """
    special = {"diabetes": _code_diabetes, "mammography": _code_mammography}
    X, names = special.get(name, _as_it_stands)(values, tuple(columns))
    varies = np.ptp(X, axis=0) > 0
    kept = tuple(name for name, keep in zip(names, varies, strict=True) if keep)
    return np.ascontiguousarray(X[:, varies]), kept


def _as_it_stands(values: Floats, columns: tuple[str, ...]) -> Columns:
    return values, columns


def _code_diabetes(values: Floats, columns: tuple[str, ...]) -> Columns:
    X = values.copy()
    for column in ZERO_IS_MISSING:
        j = columns.index(column)
        X[:, j] = _fill(np.where(X[:, j] == 0, np.nan, X[:, j]), _median)
    return X, columns


def _code_mammography(values: Floats, columns: tuple[str, ...]) -> Columns:
    raw = dict(zip(columns, values.T, strict=True))
    coded = {name: _fill(raw[name], _median) for name in ("Age", "Density")}
    for name in ("Shape", "Margin"):
        column = _fill(raw[name], _most_frequent)
        for level in np.unique(column)[1:]:
            coded[f"{name}={level:g}"] = (column == level).astype(np.float64)
    return np.column_stack(list(coded.values())), tuple(coded)


def _fill(column: Floats, summary: Callable[[Floats], float]) -> Floats:
    missing = np.isnan(column)
    return np.where(missing, summary(column[~missing]), column)


def _median(column: Floats) -> float:
    return float(np.median(column))


def _most_frequent(column: Floats) -> float:
    levels, counts = np.unique(column, return_counts=True)
    return float(levels[np.argmax(counts)])


def fingerprint(X: Floats, codes: Index) -> str:
    """Return the sha256 of an encoded data set: shape, values by rows, labels as 0 and 1.

    It does not depend on the origin of the data set or the format of its numbers, only on every
    bit of every value and on the order of rows and columns.
    """
    shape = np.asarray(X.shape, dtype="<i8")
    # Adding zero turns -0.0, which some files write as 0, into 0.0.
    values = np.ascontiguousarray(X + 0.0, dtype="<f8")
    return hashlib.sha256(
        shape.tobytes() + values.tobytes() + codes.astype("u1").tobytes()
    ).hexdigest()


def z_score(X: Floats) -> Floats:
    """Return every feature with mean 0 and standard deviation 1 (n - 1 in the denominator).

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Features; no column is constant.

    Returns
    -------
    array of shape (n_rows, n_features)
        Standardised features.

    Examples
    --------
    >>> import numpy as np
    >>> z_score(np.array([[1.0], [2.0], [3.0]])).ravel()
    array([-1.,  0.,  1.])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) < 2:
        raise ValueError(f"X has shape {X.shape}: z-scores need a table of at least two rows.")
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if len(constant):
        raise ValueError(
            f"Column {constant[0]} of X is constant, so it has no z-score: remove it first."
        )
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))


def pca99(X: Floats, share: float = 0.99) -> int:
    """Return the number of principal components of standardised X that retain 99% of the variance.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Features, not yet standardised; no column is constant.
    share : float, default=0.99
        Fraction of the variance to retain.

    Returns
    -------
    int
        The number of components.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(5.0)
    >>> pca99(np.column_stack([x, 3 * x, x**2 % 3]))
    2
    """
    variances = np.linalg.svd(z_score(X), compute_uv=False) ** 2
    kept = np.cumsum(variances) / variances.sum()
    return int(np.searchsorted(kept, share) + 1)
