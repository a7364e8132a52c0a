"""``primum fit``: fit a model to tables and store it in a file."""

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import primum
from primum import ICLSClassifier, LeastSquaresClassifier, UndeterminedModelWarning, USMClassifier
from primum._progress import showing_passes
from primum._typing import Floats
from primum._words import listed
from primum.cli import _options as options
from primum.cli._options import out_option, refuse_inputs
from primum.cli._training import TrainingRows, TrainingTables
from primum.comparison.arguments import with_preparation
from primum.labellings import Certificate
from primum.models.files import classifier_of
from primum.reading.known import drawn_confidence, read_chosen
from primum.reading.labels import read_labels
from primum.rows import ParquetRows
from primum.tables.files import TableFormat
from primum.tables.labels import doubtful_label

METHODS = {"icls": ICLSClassifier, "usm": USMClassifier, "supervised": LeastSquaresClassifier}


@click.command()
@click.argument("data", type=options.TablePath(dir_okay=False))
@click.option(
    "--target",
    required=True,
    help="Column with the labels; unknown ones are empty, or -1 among integers.",
)
@options.id_option("Column that identifies the rows: not a feature; copied to the predictions.")
@options.chosen_option
@click.option(
    "--unlabeled",
    multiple=True,
    type=options.TablePath(),
    help="Further rows without labels: a table, or a folder of Parquet files.",
)
@click.option(
    "--features",
    callback=options.comma_separated,
    help="Comma-separated columns to use as features; default: all other columns.",
)
@click.option(
    "--drop",
    callback=options.comma_separated,
    help="Comma-separated columns not to use as features.",
)
@click.option(
    "--prepare/--no-prepare",
    default=True,
    help="Prepare the columns as primum compare does. --no-prepare: features are finite numbers "
    "and used as they are; Parquet rows of --unlabeled are read out of core.",
)
@click.option("--method", type=click.Choice(list(METHODS)), default="icls")
@click.option(
    "--alpha",
    type=options.Penalty(),
    default=0.0,
    help="Ridge penalty, added to the mean squared loss.",
)
@click.option(
    "--alpha-labeled",
    type=options.Penalty(),
    help="For icls: the ridge penalty of the labelled loss; default: the value of --alpha.",
)
@click.option(
    "--metric",
    type=options.Metric(),
    help="For icls: auto (default: labeled if the labelled rows have full column rank, else 0.2), "
    "labeled, all, euclidean, or a number from 0 (labeled) to 1 (all).",
)
@options.prior_options
@options.format_options
@out_option
def fit(
    data: Path,
    target: str,
    id_column: str | None,
    chosen: str | None,
    unlabeled: tuple[Path, ...],
    features: list[str],
    drop: list[str],
    prepare: bool,
    method: str,
    alpha: float,
    table_format: TableFormat,
    out: Path,
    **for_icls: Any,
) -> None:
    """Fit a model to DATA (CSV, Parquet or a spreadsheet) and store it.

    Rows of DATA without a label are unlabelled rows, and so are those of further tables. Columns
    are prepared as primum compare does: missing cells are imputed, categories become columns of 0
    and 1, dates become days, and all features are standardised, so that --alpha does not depend on
    units; with free text, they become components of all rows. primum predict then takes tables as
    they are.
    """
    refuse_inputs(out, [("DATA", data), *(("--unlabeled", path) for path in unlabeled)])
    for_icls = {name: value for name, value in for_icls.items() if value is not None}
    if for_icls and method != "icls":
        option = next(iter(for_icls)).replace("_", "-")
        raise click.UsageError(f"--{option} requires --method icls.")
    with options.plain_errors():
        tables = TrainingTables(
            *(data, target, id_column, unlabeled, features, drop, table_format), chosen=chosen
        )
        rows = tables.prepared() if prepare else tables.numbers()
        _mention_doubtful(target, data, rows.labels)
        prior = for_icls.get("prior")
        if isinstance(prior, dict):  # names of classes become those of the table
            by_text = {str(name): name for name in rows.labels.dropna().unique()}
            for_icls["prior"] = {by_text.get(name, name): prior[name] for name in prior}
        elif prior == options.CONFIDENCE and rows.n_chosen:
            for_icls["prior"] = _drawn_prior(rows, for_icls.get("prior_level", 0.95))
        model = _fit(METHODS[method](alpha).set_params(**for_icls), rows)
        words = _in_words(model, rows)
        primum.save(model, out, id=id_column, target=target)
    click.echo("\n".join([*words, f"Model: {out}"]))


def _drawn_prior(rows: TrainingRows, level: float) -> Floats:
    """Return the bounds of ``--prior confidence``, to which chosen labels do not contribute."""
    labels = read_labels(rows.labels, len(rows.labels), multi_class=True)
    chosen = read_chosen(rows.chosen, labels)
    assert chosen is not None
    n_unlabeled = len(labels.unlabeled)
    if rows.stored is not None:
        n_unlabeled += ParquetRows(rows.stored, (), 0).n_rows
    sizes = len(labels.classes), n_unlabeled
    return drawn_confidence(labels.codes, chosen[labels.labeled], *sizes, level)


def _mention_doubtful(target: str, data: Path, labels: pd.Series) -> None:
    """Warn that a text such as "NA" is a class."""
    text = doubtful_label(labels.tolist())
    if text is not None:
        options.warn(
            f"{text!r} in column {target!r} of {data} is treated as a class: pass --missing "
            f"{text!r} if it marks unknown labels."
        )


def _fit(classifier: Any, rows: TrainingRows) -> Any:
    """Return the fitted classifier, in a pipeline with the preparation if there is one."""
    ignores = type(classifier) is METHODS["supervised"]
    model = with_preparation(rows.transformer, classifier, not ignores)
    stored = {} if rows.stored is None else {"X_unlabeled": rows.stored}
    with warnings.catch_warnings(record=True) as caught, showing_passes("fitting", number=True):
        warnings.simplefilter("always")
        model.fit(rows.X, rows.labels, **stored)
    for warning in caught:
        options.warn(str(warning.message))
        if issubclass(warning.category, UndeterminedModelWarning):
            click.echo("Here these are --method supervised and --metric 0.2.", err=True)
    return model


def _in_words(fitted: Any, rows: TrainingRows) -> list[str]:
    """Describe what was fitted and what is proven about it."""
    counts, model = Counter(rows.labels.dropna()), classifier_of(fitted)
    labeled, n_rows, stored = counts.total(), len(rows.labels), rows.stored
    names = model.feature_names_in_ if model is fitted else fitted[:-1].get_feature_names_out()
    ignores = " It ignores unlabelled rows." if type(model) is METHODS["supervised"] else ""
    chosen = f" ({rows.n_chosen} of them chosen)" if rows.n_chosen else ""
    return [
        f"Fitted {type(model).__name__} to {labeled} labelled rows{chosen}"
        f"{_unlabeled_in_words(n_rows - labeled, stored)}.{ignores}",
        f"Its {len(counts)} classes, with their labelled rows, are "
        f"{listed([f'{name!r} ({counts[name]})' for name in model.classes_.tolist()])}.",
        # The names reveal a column that is not a feature, such as a row number.
        f"Its {model.n_features_in_} features are {listed(list(map(str, names)))}. "
        f"{_score_in_words(model.classes_.tolist())}",
        *_prior_in_words(
            model, drawn=rows.n_chosen > 0, has_unlabeled=stored is not None or labeled < n_rows
        ),
        *(_proof_in_words(model.certificate_) if hasattr(model, "certificate_") else ()),
    ]


def _prior_in_words(model: Any, *, drawn: bool, has_unlabeled: bool) -> list[str]:
    """Describe the bounds of a fitted model's prior, in one line; no line without a prior."""
    if getattr(model, "prior", None) is None:
        return []
    parts = [
        f"{name!r} {low:.4g}" + (f" to {high:.4g}" if low < high else "")
        for name, (low, high) in zip(model.classes_.tolist(), model.prior_.tolist(), strict=True)
        if low > 0 or high < 1
    ]
    where = ""
    if isinstance(model.prior, str):
        where = ", computed from the labelled rows"
    elif drawn and isinstance(model.prior, np.ndarray):
        where = ", computed from the labels that were not chosen"
    effect = "" if has_unlabeled else " It has no effect without unlabelled rows."
    shares = listed(parts) or "no bounds"
    return [f"Its prior on the shares of the classes{where}: {shares}.{effect}"]


def _score_in_words(classes: list[Any]) -> str:
    if len(classes) > 2:
        return (
            "It has one score per class, fitted to 1 in rows of that class and to 0 in the others; "
            "the class with the largest score is predicted."
        )
    first, second = classes
    return (
        f"Its score is fitted to 0 for {first!r} and to 1 for {second!r}, with the threshold at "
        "1/2."
    )


def _unlabeled_in_words(in_memory: int, stored: Path | None) -> str:
    if stored is None:
        return f" and {in_memory or 'no'} unlabelled rows"
    those_stored = f" and the {ParquetRows(stored, (), 0).n_rows} unlabelled rows of {stored}"
    return f", {in_memory} unlabelled rows{those_stored}" if in_memory else those_stored


def _proof_in_words(proof: Certificate) -> list[str]:
    return [
        f"Squared loss on the labelled rows: {proof.labeled_loss:.6g}, of the supervised model "
        f"{proof.supervised_loss:.6g}.",
        *str(proof).splitlines(),
    ]
