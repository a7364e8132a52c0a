"""What is imported when it is first used: names of packages (PEP 562), and optional packages."""

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
        For every name, the full name of the module that defines it. Modules of the package are
        found without being listed.
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


# The extra of primum that installs a package, by the name under which it is imported.
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

# The extra with everything that the command needs to start.
COMMAND = "cli"


def is_installed(name: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    try:
        return find_spec(name) is not None
    except ValueError:  # it is blocked in sys.modules
        return False


@contextmanager
def needed(what: str, otherwise: str = "") -> Iterator[None]:
    """Say how to install an optional package that cannot be imported.

    Parameters
    ----------
    what : str
        What needs it, a plural that begins the sentence.
    otherwise : str
        What can be done instead, in words that follow "or".
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        name = (problem.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        raise ImportError(install_advice(f"{what} need", name, otherwise)) from problem


def package_advice(needs: str, name: str, note: str) -> str:
    """Return the sentence that a package which no extra has is needed, and what to know of it."""
    return f"{needs} {name}: pip install {name}. {note}"


def install_advice(needs: str, name: str, otherwise: str = "") -> str:
    """Return the sentence that a package is needed, and the command that installs it."""
    instead = f", or {otherwise}" if otherwise else ""
    return f"{needs} {name}: pip install 'primum[{EXTRAS[name]}]'{instead}."
