"""``primum fit``: fit a model to tables and store it in a file."""

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import primum
from primum import (
    ICLSClassifier,
    LeastSquaresClassifier,
    UndeterminedModelWarning,
    USMClassifier,
)
from primum._words import listed
from primum.cli._options import (
    Metric,
    Penalty,
    TablePath,
    comma_separated,
    csv_options,
    id_option,
    plain_errors,
)
from primum.cli._output import out_option, refuse_inputs
from primum.cli._prior import Prior, prior_in_words, prior_of, prior_options
from primum.cli._progress import progress
from primum.labellings import Certificate
from primum.rows import ParquetRows
from primum.tables.csv import CsvOptions
from primum.tables.labels import doubtful_label
from primum.tables.reading import Table, is_parquet, open_table
from primum.tables.training import LabeledTable, read_features, read_labeled_table

METHODS = {
    "icls": ICLSClassifier,
    "usm": USMClassifier,
    "supervised": LeastSquaresClassifier,
}
FOR_ICLS = {
    "metric": "--metric",
    "alpha_labeled": "--alpha-labeled",
    "prior": "--prior",
    "prior_level": "--prior-level",
}


@click.command()
@click.argument("data", type=TablePath(dir_okay=False))
@click.option(
    "--target",
    required=True,
    help="Column with the labels; unknown ones are empty, or -1 among integers.",
)
@id_option("Column that identifies the rows: not a feature; copied to the predictions.")
@click.option(
    "--unlabeled",
    multiple=True,
    type=TablePath(dir_okay=True),
    help="Further rows without labels.",
)
@click.option(
    "--features",
    callback=comma_separated,
    help="Comma-separated columns to use as features; default: all other columns.",
)
@click.option(
    "--drop", callback=comma_separated, help="Comma-separated columns not to use as features."
)
@click.option("--method", type=click.Choice(list(METHODS)), default="icls", show_default=True)
@click.option(
    "--alpha", type=Penalty(), default=0.0, help="Ridge penalty, added to the mean squared loss."
)
@click.option(
    "--alpha-labeled",
    type=Penalty(),
    help="For icls: the ridge penalty of the labelled loss; default: the value of --alpha.",
)
@click.option(
    "--metric",
    type=Metric(),
    help="For icls: auto (default: labeled if the labelled rows have full column rank, else 0.2), "
    "labeled, all, euclidean, or a number from 0 (labeled) to 1 (all).",
)
@prior_options
@csv_options
@out_option
def fit(
    data: Path,
    target: str,
    id_column: str | None,
    unlabeled: tuple[Path, ...],
    features: list[str],
    drop: list[str],
    method: str,
    alpha: float,
    alpha_labeled: float | None,
    metric: str | float | None,
    prior: Prior,
    prior_level: float | None,
    options: CsvOptions,
    out: Path,
) -> None:
    """Fit a model to DATA (CSV or Parquet) and store it.

    Rows of DATA without a label are unlabelled rows. Further unlabelled rows can be CSV files,
    and one Parquet file or folder of any size, which is read out of core.
    """
    refuse_inputs(out, [("DATA", data), *(("--unlabeled", path) for path in unlabeled)])
    tables, stored = _sort(unlabeled)
    for_icls = _given(
        method, metric=metric, alpha_labeled=alpha_labeled, prior=prior, prior_level=prior_level
    )
    with plain_errors():
        table = open_table(data, options)
        names = _feature_names(table, target, id_column, features, drop)
        more = [open_table(path, options) for path in tables]
        X, y = _read(table, target, names, more, options.missing, listed=bool(features))
        if prior is not None:
            for_icls["prior"] = prior_of(prior, sorted(y.dropna().unique(), key=str))
        model = METHODS[method](alpha).set_params(**for_icls)
        _fit(model, X, y, stored)
        words = _in_words(model, y, stored)
        primum.save(model, out, id=id_column, target=target)
    click.echo("\n".join([*words, f"Model: {out}"]))


def _given(method: str, **for_icls: Any) -> dict[str, Any]:
    """Return the options for icls that were passed; raise an error for another method."""
    given = {name: value for name, value in for_icls.items() if value is not None}
    if given and method != "icls":
        raise click.UsageError(f"{FOR_ICLS[next(iter(given))]} requires --method icls.")
    return given


def _sort(unlabeled: tuple[Path, ...]) -> tuple[list[Path], Path | None]:
    """Return (CSV files to load into memory, Parquet to read out of core)."""
    stored = [path for path in unlabeled if is_parquet(path)]
    if len(stored) > 1:
        raise click.UsageError(
            "--unlabeled takes one Parquet file or folder: put several files into one folder."
        )
    return [path for path in unlabeled if path not in stored], stored[0] if stored else None


def _feature_names(
    table: Table, target: str, id_column: str | None, features: list[str], drop: list[str]
) -> list[str]:
    """Return the columns to learn from."""
    others = [target, *drop] if id_column is None else [target, id_column, *drop]
    table.find([*others, *features])
    both = [name for name in features if name in others]
    if both:
        raise ValueError(f"{both[0]!r} is both a feature and the target, the id or dropped.")
    names = features or _all_features(table, others)
    if not names:
        raise ValueError(f"{table.path} has no column left to use as a feature.")
    return names


def _all_features(table: Table, others: list[str]) -> list[str]:
    """Return all columns except ``others`` and those that seem to identify the rows."""
    for name in table.row_identifiers:
        if name not in others:
            click.echo(
                f"Warning: {name!r} of {table.path} seems to identify the rows, so it is not used "
                "as a feature; to use it, list it in --features.",
                err=True,
            )
    return [name for name in table.columns if name not in (*others, *table.row_identifiers)]


def _read(
    table: Table,
    target: str,
    names: list[str],
    more: list[Table],
    missing: Sequence[str],
    *,
    listed: bool,
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the rows that are loaded into memory and their labels.

    ``listed`` is whether the user listed the features; otherwise some columns may not be features.
    """
    with progress(f"reading {table.path.name}"):
        data = read_labeled_table(table, names, target, missing)
    _mention_doubtful(table, target, data)
    blocks = [data.X]
    for other in more:
        with progress(f"reading {other.path.name}"):
            blocks.append(read_features(other, names))
    X = np.concatenate(blocks)
    for name in () if listed else data.identifiers(names):
        _mention_identifier(table, name)
    y = pd.Series([*data.labels, *[None] * (len(X) - len(data.labels))], dtype=object)
    return pd.DataFrame(X, columns=names), y


def _mention_identifier(table: Table, name: str) -> None:
    """Warn of a feature that may identify the rows instead."""
    click.echo(
        f"Warning: {name!r} of {table.path} is used as a feature but looks like an "
        "identifier, because its values are distinct integers: if it identifies the rows, "
        f"pass --id {name!r} or --drop {name!r}; if it is a feature, list it in --features "
        "with the others.",
        err=True,
    )


def _mention_doubtful(table: Table, target: str, data: LabeledTable) -> None:
    """Warn that a text such as "NA" is a class."""
    text = doubtful_label(data.labels)
    if text is not None:
        click.echo(
            f"Warning: {text!r} in column {target!r} of {table.path} is treated as a class: pass "
            f"--missing {text!r} if it marks unknown labels.",
            err=True,
        )


def _fit(model: Any, X: pd.DataFrame, y: pd.Series, stored: Path | None) -> None:
    with warnings.catch_warnings(record=True) as caught, progress("fitting", number=True):
        warnings.simplefilter("always")
        model.fit(X, y, X_unlabeled=stored)
    for warning in caught:
        click.echo(f"Warning: {warning.message}", err=True)
        if issubclass(warning.category, UndeterminedModelWarning):
            click.echo("Here these are --method supervised and --metric 0.2.", err=True)


def _in_words(model: Any, y: pd.Series, stored: Path | None) -> list[str]:
    """Describe what was fitted and what is proven about it."""
    counts = Counter(y.dropna())
    labeled = counts.total()
    return [
        f"Fitted {type(model).__name__} to {labeled} labelled rows"
        f"{_unlabeled_in_words(len(y) - labeled, stored)}.{_ignored_in_words(model)}",
        f"Its {len(counts)} classes, with their labelled rows, are "
        f"{listed([f'{name!r} ({counts[name]})' for name in model.classes_.tolist()])}.",
        # The names reveal a column that is not a feature, such as a row number.
        f"Its {model.n_features_in_} features are {listed(model.feature_names_in_)}. "
        f"{_score_in_words(model.classes_.tolist())}",
        *prior_in_words(model, has_unlabeled=stored is not None or labeled < len(y)),
        *(_proof_in_words(model.certificate_) if hasattr(model, "certificate_") else ()),
    ]


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


def _ignored_in_words(model: Any) -> str:
    """Say so if a model does not use unlabelled rows."""
    return " It ignores unlabelled rows." if type(model) is METHODS["supervised"] else ""


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
