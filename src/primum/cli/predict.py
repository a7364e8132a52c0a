"""``primum predict``: apply a model to a table and write a table of predictions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pyarrow as pa

from primum import LaplacianLeastSquaresClassifier, SafeClassifier
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats
from primum.cli._options import (
    PREDICTION,
    SCORE,
    TablePath,
    csv_options,
    id_option,
    plain_errors,
)
from primum.cli._output import check_table_name, out_option, refuse_inputs, write_table
from primum.cli._progress import progress
from primum.cli._table_predictions import table_predictions
from primum.estimators._kernel import KernelClassifier
from primum.estimators._linear import LeastSquaresBase
from primum.models.faults import classifier_of
from primum.models.files import StoredModel, load_model
from primum.tables.csv import CsvOptions
from primum.tables.reading import Table, open_table

# For two classes, their decision values are scores of the second class minus 1/2.
LEAST_SQUARES = (
    LeastSquaresBase,
    KernelClassifier,
    LaplacianLeastSquaresClassifier,
    SafeClassifier,
)
ROWS_PER_PART = 2**17  # rows written at a time: a row group, if the output is Parquet


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("data", type=TablePath(dir_okay=True, any_table=True))
@id_option("Column that identifies the rows, copied to the output; default: that of primum fit.")
@click.option(
    "--score",
    type=click.Choice(["clipped", "raw"]),
    help="Add the column score: the least-squares score, fitted to 0 for the first class and 1 "
    "for the second, in sorted order. Clipped to [0, 1] it is an uncalibrated estimate of the "
    "probability of the second class; raw, it can lie outside [0, 1] and ranks all rows. With "
    "more than two classes, add one such column per class, named score_ and the class; clipped, "
    "they are the nearest probabilities to the scores: not negative, with sum 1. Of a model that "
    "is not least squares, these are its probabilities and its decision values.",
)
@csv_options
@out_option
def predict(
    model: Path,
    data: Path,
    id_column: str | None,
    score: str | None,
    options: CsvOptions,
    out: Path,
) -> None:
    """Predict the class of every row of DATA (CSV, or a Parquet file or folder).

    Writes the column prediction and, on request, scores, in the order of the rows, as CSV, Parquet
    or a spreadsheet (.xlsx). Tables other than spreadsheets are processed out of core, so they can
    be of any size.

    A model of primum compare prepares the columns of DATA, which may be a spreadsheet and is read
    into memory, and adds one column with the probability of every class.
    """
    check_table_name(out)
    refuse_inputs(out, [("MODEL", model), ("DATA", data)])
    with plain_errors():
        stored = load_model(model)
    if stored.columns is not None and score is not None:
        raise click.UsageError(f"--score is for models of primum fit: {model} adds probabilities.")
    with plain_errors(), one_blas_thread(), progress("predicting"):
        write_table(out, _parts(stored, data, options, id_column, score))
    click.echo(f"Predictions: {out}")


def _parts(
    stored: StoredModel,
    data: Path,
    options: CsvOptions,
    id_column: str | None,
    score: str | None,
) -> Iterator[dict[str, Any]]:
    """Return blocks of the columns to be written."""
    if stored.columns is not None:
        return table_predictions(stored, data, options, id_column)
    table = open_table(data, options)
    ids = _id_columns(table, id_column, stored)
    _refuse_scores(stored.estimator, score)
    _refuse_ids_as_scores(ids, stored.estimator, score)
    parts = _predictions(stored.estimator, table, ids, score)
    return (dict(zip(part.column_names, part.columns, strict=True)) for part in parts)


def _id_columns(table: Table, asked: str | None, stored: StoredModel) -> list[str]:
    """Return the id column: the one requested, or that of the fit if the table has it."""
    name = stored.id_column if asked is None else asked
    if name is None:
        return []
    if asked is None and name not in table.columns:
        click.echo(
            f"Warning: the predictions have no id column, because {table.path} has no column "
            f"{name!r}.",
            err=True,
        )
        return []
    table.find([name])
    return [name]


def _score_names(model: Any, score: str | None) -> list[str]:
    """Return the names of the columns of scores: one, or one per class if there are several."""
    if score is None:
        return []
    classes = model.classes_.tolist()
    return [SCORE] if len(classes) == 2 else [f"{SCORE}_{name}" for name in classes]


def _refuse_ids_as_scores(ids: list[str], model: Any, score: str | None) -> None:
    for name in ids:
        if name in _score_names(model, score):
            raise ValueError(f"{name!r} is a column of the predictions: rename the id column.")


def _predictions(model: Any, table: Table, ids: list[str], score: str | None) -> Iterator[Any]:
    """Yield the predictions as Arrow tables of many rows, at least one table."""
    waiting: list[Any] = []
    for part in table.parts(_features(model, table, ids), ids):
        waiting.append(pa.table({**part.as_written, **_predicted(model, part.X, score)}))
        if sum(map(len, waiting)) >= ROWS_PER_PART:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _features(model: Any, table: Table, ids: list[str]) -> list[str]:
    """Return the columns to score: by name, or all of them if the model has no feature names."""
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    others = [name for name in table.columns if name not in ids]
    if len(others) != model.n_features_in_:
        raise ValueError(
            f"{table.path} has {len(others)} columns but the model has {model.n_features_in_} "
            "features without names: drop the other columns."
        )
    return others


def _predicted(model: Any, X: Floats, score: str | None) -> dict[str, AnyArray]:
    """Return the columns of the predictions of some rows."""
    if len(X) == 0:  # scikit-learn raises an error for an empty X
        none = {name: np.empty(0) for name in _score_names(model, score)}
        return {PREDICTION: model.classes_[:0], **none}
    named = hasattr(model, "feature_names_in_")
    rows: Any = pd.DataFrame(X, columns=model.feature_names_in_, copy=False) if named else X
    scores = _scores(model, rows, score)
    columns = {PREDICTION: model.predict(rows)}
    columns |= dict(zip(_score_names(model, score), scores.T, strict=True))
    return columns


def _scores(model: Any, rows: Any, score: str | None) -> Floats:
    """Return the columns of scores, none if ``score`` is None; raise an error if they overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        raw = _raw_scores(model, rows)
    if not np.isfinite(raw).all():
        raise ValueError("Some rows have values so large that their scores overflow: rescale them.")
    if score is None:
        return raw[:, :0]
    if score == "raw":
        return raw
    probabilities = np.asarray(model.predict_proba(rows))
    return probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities


def _raw_scores(model: Any, rows: Any) -> Floats:
    """Return decision values; those of least squares for two classes as scores of the second."""
    if not hasattr(model, "decision_function"):
        return np.asarray(model.predict_proba(rows))[:, 1 if len(model.classes_) == 2 else 0 :]
    decisions = np.asarray(model.decision_function(rows))
    if decisions.ndim == 2:
        return decisions
    is_score = isinstance(classifier_of(model), LEAST_SQUARES)
    return (decisions + 0.5 if is_score else decisions)[:, None]


def _refuse_scores(model: Any, score: str | None) -> None:
    """Raise an error if a model lacks the scores that were requested."""
    if score == "clipped" and not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(classifier_of(model)).__name__} has no probabilities: pass --score raw for its "
            "decision values, or no --score."
        )
