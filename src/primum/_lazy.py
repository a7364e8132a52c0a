"""Imports on first use: public names (PEP 562) and optional dependencies."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package : str
        Full name of the package.
    homes : mapping of str to str
        The full name of the module that defines each name. Modules of the package itself need not
        be listed.
    """

    def find(name: str) -> Any:
        if name in homes:
            value = getattr(import_module(homes[name]), name)
        elif not name.startswith("_") and find_spec(module := f"{package}.{name}"):
            value = import_module(module)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)  # so that this is called once per name
        return value

    return find


# The extra of primum that installs each package, by import name.
EXTRAS = {
    "click": "cli",
    "dask": "dask",
    "distributed": "dask",
    "matplotlib": "plot",
    "odfpy": "excel",
    "openpyxl": "excel",
    "pandas": "tables",
    "pyarrow": "tables",
    "skops": "models",
    "tqdm": "cli",
}

# The extra that installs everything the command needs to start.
COMMAND = "cli"


def is_installed(name: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    try:
        return find_spec(name) is not None
    except ValueError:  # blocked in sys.modules
        return False


@contextmanager
def needed(purpose: str, otherwise: str = "") -> Iterator[None]:
    """Say how to install an optional package that cannot be imported.

    Parameters
    ----------
    purpose : str
        What needs the package: a plural that begins the sentence.
    otherwise : str
        The alternative, in words that follow "or".
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        name = (problem.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        raise ImportError(install_advice(f"{purpose} need", name, otherwise)) from problem


def package_advice(needs: str, name: str, note: str) -> str:
    """Return a request to install a package that is in no extra, with a note about it."""
    return f"{needs} {name}: pip install {name}. {note}"


def install_advice(needs: str, name: str, otherwise: str = "") -> str:
    """Return a request to install a package, with the command that does so."""
    instead = f", or {otherwise}" if otherwise else ""
    return f"{needs} {name}: pip install 'primum[{EXTRAS[name]}]'{instead}."
