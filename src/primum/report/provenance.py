"""What was run, from the configuration that is stored with the results."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from primum.evaluation import further_folder, read_snapshot
from primum.report.page import paragraph
from primum.report.tables import Cell, Table, dataset_title

SEES = {
    "labeled": "labelled rows",
    "partly": "labelled and unlabelled rows",
    "shares": "labelled and unlabelled rows, and the true shares of the classes among the latter",
    "all": "all training rows with their labels",
}
# By kind of design, with its parameters in braces.
DESIGNS = {
    "cross-validation": "{n_folds}-fold cross-validation; in each training set the labels of all "
    "but the labelled rows are hidden, and the value of a repeat is the mean over its folds",
    "hold-out": "one random test set per repeat, with a share of {test_share:g} of the rows; all "
    "other rows but the labelled ones are unlabelled",
    "learning-curve": "nested sets of unlabelled rows of growing size; all other rows are test "
    "rows",
}
SCALING = {
    "paper": "standardised on the whole data set before any split, so that the scale of the test "
    "rows leaks into training, as in the published runs",
    "train": "standardised on the training rows, labelled and unlabelled",
    "none": "not scaled",
}


def provenance(folder: Path, further: Iterable[str] = ()) -> Iterator[str]:
    """Yield, as HTML, the design, the seed, the methods, the data sets and the versions.

    ``further`` are the names of methods whose results are in folders of their own.
    """
    snapshot = read_snapshot(folder)
    config = snapshot["config"]
    methods = dict(config["methods"])
    for name in further:
        methods |= read_snapshot(further_folder(folder, name))["config"]["methods"]
    yield paragraph(design_sentence(config["design"]))
    yield paragraph(
        f"Seed: {config['seed']}. All splits derive from it, and every random_state that an "
        "estimator left open."
    )
    yield _methods_table(methods).to_html()
    yield _data_table(config["data"]).to_html()
    for number, versions in enumerate(snapshot["versions"], start=1):
        which = f" (run {number} into this folder)" if len(snapshot["versions"]) > 1 else ""
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        yield f"<p>Versions{which}: {escape(listed)}.</p>"


def design_sentence(design: Mapping[str, Any]) -> str:
    """Return a description of how rows were split."""
    labeled = design["n_labeled"]
    count = "max(d + 5, 20) for d features" if labeled is None else str(labeled)
    how = DESIGNS[design["kind"]].format_map(design)
    scaling = SCALING[design["scaling"]]
    return f"Design: {how}. Labelled rows: {count}. Features: {scaling}."


def _methods_table(methods: Mapping[str, Any]) -> Table:
    rows = [
        (
            Cell(name),
            Cell(SEES[method["sees"]]),
            Cell(_function_name(method["score"]) or "by default"),
            Cell(_function_name(method["loss"])),
            Cell("every" if method["every"] == 1 else f"1 of {method['every']}"),
            Cell(_words(method["estimator"])),
        )
        for name, method in methods.items()
    ]
    return Table(
        "Methods. Score: how the scores of the classes are read; by default, on the known scale of "
        "primum's classes, otherwise as probabilities.",
        ("Method", "Trained on", "Score", "Loss", "Repeats", "Estimator"),
        tuple(rows),
    )


def _data_table(data: Mapping[str, str]) -> Table:
    rows = []
    for name, identity in data.items():
        shape, _, digest = identity.partition(", sha256 ")
        rows.append((Cell(dataset_title(name)), Cell(shape), Cell(digest[:16])))
    return Table(
        "Data sets in this folder. Checksum: start of the SHA-256 of features and labels.",
        ("Dataset", "Rows x features", "Checksum"),
        tuple(rows),
    )


def _function_name(described: Any) -> str:
    function = described.get("function") if isinstance(described, Mapping) else described
    name = function.get("name") if isinstance(function, Mapping) else function
    return "" if name is None else str(name).partition(",")[0].rpartition(".")[2]


def _words(described: Any) -> str:
    """Return the description of an estimator as a Python expression."""
    if isinstance(described, Mapping) and "class" in described:
        name = described["class"].partition(",")[0].rpartition(".")[2]
        parameters = described.get("parameters", {})
        return f"{name}({', '.join(f'{key}={_words(v)}' for key, v in parameters.items())})"
    if isinstance(described, Mapping) and "array" in described:
        return _words(described["array"])
    if isinstance(described, list):
        return f"[{', '.join(map(_words, described))}]"
    return repr(described)
