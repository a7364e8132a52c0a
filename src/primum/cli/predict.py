"""``primum predict``: apply a model to a table and write a table of predictions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pyarrow as pa

from primum._progress import showing_passes
from primum._threads import one_blas_thread
from primum._typing import Floats
from primum._words import wrapped
from primum.cli import _options as options
from primum.cli import _predictions as predictions
from primum.models import StoredModel, load_model
from primum.tables.files import TableFile, TableFormat, columns_by_name, open_table

ROWS_PER_PART = 2**17  # rows written at a time: a row group, if the output is Parquet


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("data", type=options.TablePath())
@options.id_option(
    "Column that identifies the rows, copied to the output; default: that of primum fit."
)
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
@options.format_options
@options.out_option
def predict(
    model: Path,
    data: Path,
    id_column: str | None,
    score: str | None,
    table_format: TableFormat,
    out: Path,
) -> None:
    """Predict the class, or the number, of every row of DATA.

    DATA is a table: CSV, a spreadsheet, or a Parquet file or folder.

    Writes the column prediction, in the order of the rows, as CSV, Parquet or a spreadsheet
    (.xlsx). The model prepares the columns of DATA, which is read into memory. Unless --score is
    passed, further columns have the probability of each class; those of a least-squares
    model are its clipped scores.

    A model of primum fit --no-prepare needs finite numbers, and has no columns of probabilities.
    DATA, CSV or Parquet, is then processed out of core, so that it can be of any size.
    """
    options.check_table_name(out)
    options.refuse_inputs(out, [("MODEL", model), ("DATA", data)])
    with options.plain_errors():
        stored = load_model(model)
        predictions.refuse_scores(stored.estimator, score)
    with options.plain_errors(), one_blas_thread(), showing_passes("predicting"):
        table = open_table(data, table_format)
        if stored.columns is None:
            parts = _number_predictions(stored, table, id_column, score)
        else:
            parts = predictions.table_predictions(stored, table, table_format, id_column, score)
        options.write_table(out, parts)
    numbers = predictions.predicts_numbers(stored.estimator) and stored.target
    unit = f" (column prediction, in units of {stored.target})" if numbers else ""
    click.echo(f"Predictions: {out}{unit}")
    if rule := predictions.rule_in_words(stored.estimator):
        click.echo(wrapped(rule))


def _number_predictions(
    stored: StoredModel, table: TableFile, asked: str | None, score: str | None
) -> Iterator[dict[str, Any]]:
    """Yield blocks of many rows: the id column, the predictions and the scores, if requested."""
    model = stored.estimator
    ids = predictions.id_column_of(
        table, table.columns, asked, stored, predictions.score_names(model, score)
    )
    waiting: list[Any] = []
    for part in table.parts(_features(model, table, ids), ids):
        rows = _named(model, part.X)
        waiting.append(pa.table({**part.as_written, **predictions.predicted(model, rows, score)}))
        if sum(map(len, waiting)) >= ROWS_PER_PART:
            yield columns_by_name(pa.concat_tables(waiting))
            waiting = []
    if waiting:
        yield columns_by_name(pa.concat_tables(waiting))


def _named(model: Any, X: Floats) -> Any:
    """Return rows with the names of the features that the model was fitted to, if it has them."""
    names = getattr(model, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names, copy=False)


def _features(model: Any, table: TableFile, ids: list[str]) -> list[str]:
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
