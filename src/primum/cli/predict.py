"""``primum predict``: from a model and a table to a table of predictions."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats
from primum.cli._models import load_model
from primum.cli._progress import progress_bar
from primum.cli._tables import csv_blocks, is_parquet, out_option, plain_errors, write_table
from primum.rows import ParquetRows

ROWS_PER_PART = 2**17  # of what is written: a row group, if that is Parquet


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@out_option
def predict(model: Path, data: Path, out: Path) -> None:
    """Predict the class of every row of DATA (CSV, or a Parquet file or folder).

    Writes the columns prediction and score, in the order of the rows, as CSV or Parquet. Both
    tables are worked on in parts, so they may be of any size.
    """
    is_parquet(out)  # refuses a name that says neither
    if out.exists() and out.samefile(data):
        raise click.UsageError(f"--out {out} is DATA itself: give another name.")
    fitted = load_model(model)
    with plain_errors(), one_blas_thread(), progress_bar("predicting"):
        write_table(out, _predictions(fitted, data))
    click.echo(f"Predictions: {out}")


def _predictions(model: Any, data: Path) -> Iterator[dict[str, AnyArray]]:
    """Yield the table of predictions in parts, at least one."""
    names = getattr(model, "feature_names_in_", None)
    parts = _scores(data, None if names is None else list(names), model)
    for scores in _gather(chain([np.zeros(0)], parts)):
        yield {"prediction": model.classes_[(scores > 0).astype(np.intp)], "score": scores}


def _scores(path: Path, names: Sequence[str] | None, model: Any) -> Iterator[Floats]:
    """Yield the decision values of all rows of a table, a part at a time."""
    score = model._scorer()
    if is_parquet(path):
        return ParquetRows(path, names, model.n_features_in_).map(score)
    return map(score, csv_blocks(path, names, model.n_features_in_))


def _gather(parts: Iterable[AnyArray]) -> Iterator[AnyArray]:
    """Yield parts put together into large ones."""
    waiting: list[AnyArray] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= ROWS_PER_PART:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)
