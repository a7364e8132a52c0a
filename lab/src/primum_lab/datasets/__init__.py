"""The paper's sixteen data sets, verified: their catalogue, as ``catalogue.toml`` lists them.

The test suite never goes online, so the addresses are not tested against their servers. A wrong
or changed file does no harm: its fingerprint differs, so it is not used.
"""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import product
from typing import Any

from primum._lazy import lazy

# The public names of ``loading``, which is imported when one of them is first used.
_LOADING = ("Dataset", "available", "data_directory", "fetch", "load", "pca99", "z_score")
__all__ = sorted(
    (
        *("CATALOGUE", "DatasetInfo", "describe", *_LOADING),
        *("CorruptDatasetError", "DatasetError", "DatasetNotFoundError", "UnknownDatasetError"),
    )
)
__getattr__ = lazy(__name__, dict.fromkeys(_LOADING, f"{__name__}.loading"))

Label = str | int | float

UCI_LICENSE = "CC BY 4.0 (as stated by the UCI repository; check its page before redistributing)"


class DatasetError(Exception):
    """Base of all errors about data sets.

    Examples
    --------
    >>> from primum_lab.datasets import DatasetError, load
    >>> try:
    ...     load("wdbc2")
    ... except DatasetError as error:
    ...     print(type(error).__name__)
    UnknownDatasetError
    """


class UnknownDatasetError(DatasetError, ValueError):
    """The catalogue has no data set of that name.

    Examples
    --------
    >>> from primum_lab.datasets import UnknownDatasetError
    >>> issubclass(UnknownDatasetError, ValueError)
    True
    """


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """The data set is in the catalogue, but not on this machine, and could not be fetched.

    Examples
    --------
    >>> from primum_lab.datasets import DatasetNotFoundError
    >>> issubclass(DatasetNotFoundError, FileNotFoundError)
    True
    """


class CorruptDatasetError(DatasetError, ValueError):
    """A file is not the data set that its name says.

    Examples
    --------
    >>> from primum_lab.datasets import CorruptDatasetError
    >>> issubclass(CorruptDatasetError, ValueError)
    True
    """


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
    rename : mapping of str to str, default={}
        Labels that this origin spells differently, and their published spelling.
    """

    parts: tuple[str, ...]
    package: str = ""
    header: int = 0
    label: int = -1
    ignore: tuple[int, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The package or the addresses, in words."""
        return f"package {self.package}" if self.package else " and ".join(self.parts)


@dataclass(frozen=True)
class DatasetInfo:
    """The description of a data set.

    Parameters
    ----------
    name : str
        Name in the catalogue, and of its file ``<name>.csv.gz``.
    title : str
        Name in the paper.
    rows, features, pca99 : int
        Number of rows, of features after encoding, and of principal components that retain 99% of
        the variance of the standardised features, all as in Table 1 of the paper.
    majority : float
        Fraction of rows in the larger class, to two digits, as in Table 1.
    classes : tuple of two labels
        The class labels in sorted order: the first is encoded as 0, the second as 1.
    class_meanings : tuple of two str
        Their meanings.
    class_counts : tuple of two int
        Number of rows of each class.
    columns : tuple of str
        Published feature columns.
    source, citation : str
        Its source and how to cite it.
    sha256 : str
        Checksum of the reference ``<name>.csv.gz``.
    fingerprint : str
        Checksum of the encoded data set, independent of its origin.
    license : str
        Its licence, by default that of the UCI repository.
    coding : str, default="Used as published."
        How the published columns are encoded.
    package : Origin, default=None
        Installable package that contains the data set unchanged.
    distribution : str, default=""
        The name of that package for pip.
    downloads : tuple of Origin, default=()
        Addresses, tried in order.

    Examples
    --------
    >>> from primum_lab.datasets import CATALOGUE
    >>> info = CATALOGUE["wdbc"]
    >>> info.rows, info.features, info.class_meanings
    (569, 30, ('benign', 'malignant'))
    """

    name: str
    title: str
    rows: int
    features: int
    pca99: int
    majority: float
    classes: tuple[Label, Label]
    class_meanings: tuple[str, str]
    class_counts: tuple[int, int]
    columns: tuple[str, ...]
    source: str
    citation: str
    sha256: str
    fingerprint: str
    license: str = UCI_LICENSE
    coding: str = "Used as published."
    package: Origin | None = None
    distribution: str = ""
    downloads: tuple[Origin, ...] = ()

    @property
    def filename(self) -> str:
        """Name of the file of this data set in a data folder."""
        return f"{self.name}.csv.gz"


def _columns(parts: list[list[str] | int]) -> tuple[str, ...]:
    """Return all combinations of the parts of names; a number n stands for 1 to n."""
    choices = (range(1, part + 1) if isinstance(part, int) else part for part in parts)
    return tuple("".join(map(str, chosen)) for chosen in product(*choices))


def _with_tuples(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(fact) if isinstance(fact, list) else fact for key, fact in facts.items()}


def _entry(name: str, facts: dict[str, Any]) -> DatasetInfo:
    """Return a data set as it is listed in the catalogue."""
    facts["columns"] = _columns(facts["columns"])
    facts["downloads"] = [Origin(**_with_tuples(origin)) for origin in facts["downloads"]]
    if "package" in facts:
        facts["package"] = Origin(**_with_tuples(facts["package"]))
    return DatasetInfo(name, **_with_tuples(facts))


_LISTED = tomllib.loads((files(__package__) / "catalogue.toml").read_text(encoding="utf-8"))
CATALOGUE = {name: _entry(name, facts) for name, facts in _LISTED.items()}


def describe(name: str) -> DatasetInfo:
    """Return the description of a data set.

    Parameters
    ----------
    name : str
        Its name in the catalogue, or its title in the paper; case does not matter.

    Returns
    -------
    DatasetInfo
        Its entry.

    Examples
    --------
    >>> describe("SPECT").rows
    267
    """
    if (key := str(name).lower()) in CATALOGUE:
        return CATALOGUE[key]
    close = difflib.get_close_matches(key, CATALOGUE, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    raise UnknownDatasetError(
        f"There is no data set {name!r}; {hint}The names are {', '.join(CATALOGUE)}."
    )
