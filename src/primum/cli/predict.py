"""``primum predict``: apply a model to a table and write a table of predictions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pyarrow as pa

from primum._progress import showing_passes
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats
from primum.cli._options import PREDICTION, TablePath, csv_options, id_option, plain_errors
from primum.cli._output import check_table_name, out_option, refuse_inputs, write_table
from primum.cli._predictions import refuse_scores, score_names, scores_of, table_predictions
from primum.models.files import StoredModel, load_model
from primum.tables.csv import CsvOptions
from primum.tables.reading import Table, open_table

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
    """Predict the class of every row of DATA (CSV, a spreadsheet, or a Parquet file or folder).

    Writes the column prediction, in the order of the rows, as CSV, Parquet or a spreadsheet
    (.xlsx). The model prepares the columns of DATA, which is read into memory. Unless --score is
    passed, there is one more column with the probability of every class; those of a least-squares
    model are its clipped scores.

    A model of primum fit --no-prepare needs finite numbers, and has no columns of probabilities.
    DATA, CSV or Parquet, is then processed out of core, so that it can be of any size.
    """
    check_table_name(out)
    refuse_inputs(out, [("MODEL", model), ("DATA", data)])
    with plain_errors():
        stored = load_model(model)
    with plain_errors(), one_blas_thread(), showing_passes("predicting"):
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
    refuse_scores(stored.estimator, score)
    if stored.columns is not None:
        return table_predictions(stored, data, options, id_column, score)
    table = open_table(data, options)
    ids = _id_columns(table, id_column, stored)
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


def _refuse_ids_as_scores(ids: list[str], model: Any, score: str | None) -> None:
    for name in ids:
        if name in score_names(model, score):
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
        none = {name: np.empty(0) for name in score_names(model, score)}
        return {PREDICTION: model.classes_[:0], **none}
    named = hasattr(model, "feature_names_in_")
    rows: Any = pd.DataFrame(X, columns=model.feature_names_in_, copy=False) if named else X
    scores = scores_of(model, rows, score)
    columns = {PREDICTION: model.predict(rows)}
    columns |= dict(zip(score_names(model, score), scores.T, strict=True))
    return columns
