"""The report of an experiment: one call, one HTML page.

It ends with what was run, from the configuration that is stored with the results.
"""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from primum._files import write_file
from primum.comparison.store import read_snapshot
from primum.pages.page import PageTable, html_page, paragraph, picture
from primum_lab.pages.results import LOSSES, curves, dataset_title, results_table
from primum_lab.runner import Experiment, further_folder
from primum_lab.splits import LearningCurve
from primum_lab.summary import failed_sentence, failures, fit_warnings, summarize

Section = tuple[str, list[str]]  # heading, HTML

# Training rows of a method, by the labels it sees.
SEES = {
    "labeled": "labelled rows",
    "partly": "labelled and unlabelled rows",
    "shares": "labelled and unlabelled rows, and the true shares of the classes among the latter",
    "all": "all training rows with their labels",
}
# Descriptions by kind of design, with parameters in braces.
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
    yield from data_and_versions(snapshot)


def data_and_versions(snapshot: Mapping[str, Any]) -> Iterator[str]:
    """Yield, as HTML, the data sets and the versions of a snapshot of a results folder."""
    yield _data_table(snapshot["config"]["data"]).to_html()
    for number, versions in enumerate(snapshot["versions"], start=1):
        which = f" (run {number} into this folder)" if len(snapshot["versions"]) > 1 else ""
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        yield f"<p>Versions{which}: {escape(listed)}.</p>"


def design_sentence(design: Mapping[str, Any]) -> str:
    """Return a description of how rows were split."""
    labeled = design["n_labeled"]
    count = "max(d + 5, 20) for d features" if labeled is None else str(labeled)
    splits = DESIGNS[design["kind"]].format_map(design)
    scaling = SCALING[design["scaling"]]
    return f"Design: {splits}. Labelled rows: {count}. Features: {scaling}."


def _methods_table(methods: Mapping[str, Any]) -> PageTable:
    return PageTable.of(
        "Methods. Score: how the scores of the classes are read; by default, on the known scale of "
        "primum's classes, otherwise as probabilities.",
        ("Method", "Trained on", "Score", "Loss", "Repeats", "Estimator"),
        (
            (
                *(name, SEES[method["sees"]]),
                *(_function_name(method["score"]) or "by default", _function_name(method["loss"])),
                "every" if method["every"] == 1 else f"1 of {method['every']}",
                _words(method["estimator"]),
            )
            for name, method in methods.items()
        ),
    )


def _data_table(data: Mapping[str, str]) -> PageTable:
    rows = []
    for name, identity in data.items():
        shape, _, digest = identity.partition(", sha256 ")
        rows.append((dataset_title(name), shape, digest[:16]))
    return PageTable.of(
        "Data sets in this folder. Checksum: start of the SHA-256 of features and labels.",
        ("Dataset", "Rows x features", "Checksum"),
        rows,
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


def write_report(experiment: Experiment, results: DataFrame, folder: str | Path) -> Path:
    """Write one HTML page with everything about an experiment.

    The page has tables, and figures for learning curves, of errors, losses and times, with standard
    errors and the comparison with the supervised twin; failed fits and warnings; the methods, the
    data, the seed and all versions. The numbers are written to the same folder, as
    ``results.parquet`` (one row per fit) and ``summary.csv`` (one row per cell).

    Parameters
    ----------
    experiment : Experiment
        The experiment that was run.
    results : DataFrame
        The return value of ``run_experiment``.
    folder : path
        The folder that was passed to ``run_experiment``.

    Returns
    -------
    Path
        Path of the page, ``report.html``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum_lab import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, run_experiment
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = CrossValidation(n_folds=3)
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=2)
    >>> from primum_lab.pages.experiment import write_report
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, verbose=False)
    ...     write_report(experiment, results, folder).name
    'report.html'
    """
    folder = Path(folder)
    curve = isinstance(experiment.design, LearningCurve)
    run = list(provenance(folder))
    summary = summarize(results, curve=curve)
    write_file(folder / "results.parquet", results.to_parquet(index=False))
    write_file(folder / "summary.csv", summary.to_csv(index=False))
    sections = [
        ("Summary", [paragraph(text) for text in _summary_sentences(experiment, results)]),
        *_measure_sections(experiment, summary, curve),
        *_note_sections(results),
        ("What was run", run),
    ]
    page = folder / "report.html"
    write_file(page, html_page(experiment.name, sections))
    return page


def _summary_sentences(experiment: Experiment, results: DataFrame) -> Iterator[str]:
    yield (
        f"Methods: {len(experiment.methods)}; data sets: {len(experiment.data)}; repeats: "
        f"{experiment.repeats}; seed: {experiment.seed}."
    )
    if experiment.twin is None:
        yield "No method sees only the labelled rows, so there is no twin to compare with."
    else:
        yield (
            f"The supervised twin is {experiment.twin}: the other methods are compared with it, "
            "repeat by repeat."
        )
    if sentence := failed_sentence(results):
        yield sentence


def _measure_sections(experiment: Experiment, summary: DataFrame, curve: bool) -> Iterator[Section]:
    """Yield errors, losses (one section per loss, because their scales differ) and times."""
    counts = {name: len(np.unique(y)) for name, (_, y) in experiment.data.items()}
    several = {name: count for name, count in counts.items() if count > 2}
    yield "Classification error", _parts(summary, "error", curve)
    losses = summary[summary["measure"] == "loss_test"].groupby("classifier", sort=False)
    n_losses = losses["mean"].count()
    have = summary[summary["classifier"].isin(n_losses.index[n_losses > 0])]
    for loss, cells in have.groupby("loss", sort=False):
        parts = _parts(cells, "loss_test", curve)
        if several and loss in LOSSES:
            parts.append(paragraph(_sum_over_classes(several)))
        yield f"Loss on test rows: {loss}", parts
    if unknown := list(n_losses.index[n_losses == 0]):
        text = (
            f"No loss: {', '.join(unknown)}. There are no probabilities, and the scale of the "
            "decision values is unknown; declare it with Method(score=...). (Or all fits failed.)"
        )
        yield "Methods without a loss", [paragraph(text)]
    yield "Training time", _parts(summary, "seconds", curve)


def _sum_over_classes(several: dict[str, int]) -> str:
    listed = ", ".join(f"{dataset_title(name)} ({count})" for name, count in several.items())
    return (
        f"Data sets of more than two classes: {listed}. They have one score per class, whose label "
        "is 1 in rows of that class and 0 in all others, and their loss is the sum over the "
        "classes. It is not comparable with the loss of two classes, which have one score: for "
        "them, the sum over both classes would be twice the number shown."
    )


def _parts(summary: DataFrame, measure: str, curve: bool) -> list[str]:
    if not curve:
        return [results_table(summary, measure).to_html()]
    figure, caption, numbers = curves(summary, measure)
    drawing = picture(figure, caption, numbers.to_html())
    largest = summary.groupby("dataset")["n_unlabeled"].transform("max")
    at_most = summary[summary["n_unlabeled"] == largest]
    return [drawing, results_table(at_most, measure).to_html()]


def _note_sections(results: DataFrame) -> Iterator[Section]:
    for heading, notes in (
        ("Failed fits", failures(results)),
        ("Warnings during fits", fit_warnings(results)),
    ):
        if len(notes):
            header = ("Dataset", "Method", "Times", "Fits", "First message")
            rows = (
                (dataset_title(name), *others) for name, *others in notes.itertuples(index=False)
            )
            yield heading, [PageTable.of("By data set and method.", header, rows).to_html()]
