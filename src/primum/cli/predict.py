"""``primum predict``: apply a model to a table and write a table of predictions.

The table is read as people wrote it or, for a model of ``primum fit --no-prepare``, must consist of
finite numbers, which are read and predicted block by block. Scores are least-squares scores,
decision values or probabilities.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pyarrow as pa

from primum import LaplacianLeastSquaresClassifier, SafeClassifier
from primum._progress import showing_passes
from primum._sklearn import REGRESSOR, learner_of
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats
from primum._words import wrapped
from primum.cli import _options as options
from primum.cli._options import PREDICTION, SCORE, warn
from primum.judging.disagreements import ROWS_PER_BLOCK
from primum.judging.words import capitalised
from primum.methods.kernels import KernelClassifier
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.models import StoredModel, classifier_of, load_model
from primum.tables.cells import (
    USUAL_MISSING,
    is_present,
    objects_of,
    other_mark,
    read_cells,
    readings_of_numbers,
    vectors_of,
)
from primum.tables.columns import MAIN_SHARE, layouts_of
from primum.tables.files import TableFile, TableFormat, columns_by_name, open_table
from primum.tables.problem import summed_columns

ROWS_PER_PART = 2**17  # rows written at a time: a row group, if the output is Parquet
# Models whose decision values, for two classes, are the score of the second class minus 1/2.
LEAST_SQUARES = (
    LeastSquaresBase,
    KernelClassifier,
    LaplacianLeastSquaresClassifier,
    SafeClassifier,
)
PROBABILITY = "probability"
KINDS = {"number": "numbers", "date": "dates", "time": "times of day", "boolean": "yes or no"}


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
    "they are the nearest probabilities to the scores: not negative, with sum 1. For other models, "
    "clipped adds their probabilities, and raw their decision values.",
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

    A model that does not prepare a table (from primum fit --no-prepare, or stored by primum.save)
    needs finite numbers. DATA, CSV or Parquet, is then processed out of core, so it can be of any
    size, and probabilities are written with --score clipped only.
    """
    options.check_table_name(out)
    options.refuse_inputs(out, [("MODEL", model), ("DATA", data)])
    with options.plain_errors():
        stored = load_model(model)
        refuse_scores(stored.estimator, score)
    with options.plain_errors(), one_blas_thread(), showing_passes("predicting"):
        table = open_table(data, table_format)
        predictions = TablePredictions(stored, table, table_format, id_column, score)
        of_numbers = stored.columns is None
        options.write_table(out, predictions.of_numbers() if of_numbers else predictions.of_cells())
    numbers = predicts_numbers(stored.estimator) and stored.target
    unit = f" (column prediction, in units of {stored.target})" if numbers else ""
    click.echo(f"Predictions: {out}{unit}")
    if rule := rule_in_words(stored.estimator):
        click.echo(wrapped(rule))


def _named(model: Any, X: Floats) -> Any:
    """Return rows with the feature names of the model, if it has any."""
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


def predicts_numbers(model: Any) -> bool:
    """Return whether a model predicts numbers."""
    return learner_of(classifier_of(model)) == REGRESSOR


def rule_in_words(model: Any) -> str:
    """Return a sentence on the decision rule that classes follow; empty without one."""
    last = classifier_of(model)
    if (rule := getattr(last, "rule_", None)) is None:
        return ""
    objective = getattr(last, "objective_", None)
    costs = getattr(last, "cost_", None) if objective is None else objective.cost
    follow = "a decision rule" if costs is None else "the costs of errors"
    return f"Classes follow {follow}, not the largest score: {rule.in_words(model.classes_)}."


def score_names(model: Any, score: str | None) -> list[str]:
    """Return the names of the columns of scores: one, or one per class if there are several.

    Probabilities have one column per class; a model without them has raw scores instead. A
    regressor has no scores.
    """
    if score is None or predicts_numbers(model):
        return []
    classes = model.classes_.tolist()
    if score == PROBABILITY and hasattr(model, "predict_proba"):
        return [f"{PROBABILITY}_{name}" for name in classes]
    return [SCORE] if len(classes) == 2 else [f"{SCORE}_{name}" for name in classes]


def _scores(model: Any, rows: Any, score: str | None) -> Floats:
    """Return the columns of scores, none if ``score`` is None; raise an error if they overflow."""
    if score == PROBABILITY and hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        raw = _raw_scores(model, rows)
    if not np.isfinite(raw).all():
        raise ValueError("Some rows have values so large that their scores overflow: rescale them.")
    if score != "clipped":
        return raw if score else raw[:, :0]
    probabilities = np.asarray(model.predict_proba(rows))
    return probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities


def _raw_scores(model: Any, rows: Any) -> Floats:
    """Return decision values; for least squares with two classes, the score of the second."""
    if not hasattr(model, "decision_function"):
        return np.asarray(model.predict_proba(rows))[:, 1 if len(model.classes_) == 2 else 0 :]
    decisions = np.asarray(model.decision_function(rows))
    if decisions.ndim == 2:
        return decisions
    is_score = isinstance(classifier_of(model), LEAST_SQUARES)
    return (decisions + 0.5 if is_score else decisions)[:, None]


def refuse_scores(model: Any, score: str | None) -> None:
    """Raise an error if a model lacks the scores that were requested."""
    if score is not None and predicts_numbers(model):
        raise ValueError(
            f"--score is for models of classes, but {type(classifier_of(model)).__name__} predicts "
            "numbers: leave it out."
        )
    if score == "clipped" and not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(classifier_of(model)).__name__} has no probabilities: pass --score raw for its "
            "decision values, or no --score."
        )


def predicted(model: Any, rows: Any, score: str | None) -> dict[str, Any]:
    """Return the columns of the predictions and the scores of some rows."""
    names = score_names(model, score)
    if predicts_numbers(model):
        return {PREDICTION: model.predict(rows) if rows.shape[0] else np.empty(0)}
    if rows.shape[0] == 0:  # scikit-learn raises an error for an empty X
        return {PREDICTION: model.classes_[:0], **{name: np.empty(0) for name in names}}
    scores = _scores(model, rows, score)
    return {PREDICTION: model.predict(rows), **dict(zip(names, scores.T, strict=True))}


@dataclass(frozen=True)
class TablePredictions:
    """A model, the table that it is applied to, and the columns that are requested.

    Attributes
    ----------
    stored : StoredModel
        The model.
    table : TableFile
        The table.
    table_format : TableFormat
        How the table is written.
    id_column : str or None
        The id column that was requested; None: that of the fit, if the table has it.
    score : {"clipped", "raw"} or None
        The scores that were requested.
    """

    stored: StoredModel
    table: TableFile
    table_format: TableFormat
    id_column: str | None
    score: str | None

    def of_numbers(self) -> Iterator[dict[str, Any]]:
        """Yield blocks of many rows: the id column, predictions and, if requested, scores."""
        model, score = self.stored.estimator, self.score
        ids = self._ids(self.table.columns, score_names(model, score))
        waiting: list[Any] = []
        for part in self.table.parts(_features(model, self.table, ids), ids):
            rows = _named(model, part.X)
            waiting.append(pa.table({**part.as_written, **predicted(model, rows, score)}))
            if sum(map(len, waiting)) >= ROWS_PER_PART:
                yield columns_by_name(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            yield columns_by_name(pa.concat_tables(waiting))

    def of_cells(self) -> Iterator[dict[str, Any]]:
        """Yield blocks of the id column, the predictions and the probabilities, at least one block.

        With ``score``, these scores replace the probabilities.
        """
        columns, model, score = self._columns, self.stored.estimator, self.score or PROBABILITY
        names = [name for name, (kind, _) in columns.items() if kind in ("category", "text")]
        id_column = self.id_column or self.stored.id_column
        frame = self.table.frame([*names, *filter(None, [id_column])])
        self.table.require([*columns, *filter(None, [self.id_column])], frame.columns)
        ids = self._ids(frame.columns, score_names(model, score))
        if summed_columns(frame, self.stored.target, self.table_format.missing):
            suspicion = f"the last row of {self.table.path} seems to be a total of the others"
            warn(f"{suspicion}: ignore its prediction.")
        rows = self._read(frame)
        for start in range(0, max(len(rows), 1), ROWS_PER_BLOCK):
            block = slice(start, start + ROWS_PER_BLOCK)
            part = rows.iloc[block]
            X = model[:-1].transform(part) if len(part) else part
            carried = {name: frame[name].iloc[block].to_numpy() for name in ids}
            yield {**carried, **predicted(model[-1], X, score)}

    @property
    def _columns(self) -> dict[str, list[str]]:
        """The kind and reading of every column that the model needs."""
        return self.stored.columns or {}

    def _ids(self, columns: Iterable[str], scores: list[str]) -> list[str]:
        """Return the id column: the one requested, or that of the fit if the table has it."""
        name = self.stored.id_column if self.id_column is None else self.id_column
        path = self.table.path
        if self.id_column is not None:
            self.table.require([self.id_column], columns)
        elif name is not None and name not in columns:
            warn(f"the predictions have no id column, because {path} has no column {name!r}.")
            name = None
        if name in (PREDICTION, *scores):
            raise ValueError(f"{name!r} is a column of the predictions: rename the id column.")
        return [] if name is None else [name]

    def _read(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that the pipeline needs; raise an error for one of another kind."""
        cells = {}
        for name, (kind, reading) in self._columns.items():
            if kind in ("category", "text"):
                cells[name] = objects_of(frame[name], self.table_format.missing)
            elif kind == "vector":
                cells[name] = self._vectors(frame[name], int(reading))
            else:
                cells[name] = self._as_kind(frame[name], kind, reading)
                self._check_kind(frame[name], cells[name], kind)
        return pd.DataFrame(cells, index=frame.index)

    def _vectors(self, values: pd.Series, length: int) -> AnyArray:
        """Return cells as vectors; raise an error if none has the length that the model needs."""
        missing, where = self.table_format.missing, self._where(values)
        cells = vectors_of(values, length, missing)
        absent = ~is_present(cells)
        strange = int(np.sum(is_present(objects_of(values, missing)) & absent))
        if len(cells) and absent.all():
            raise ValueError(
                f"No cell of {where} is a vector of {length} numbers, to which the model was "
                "fitted: compute them with the same embedding."
            )
        if strange:
            counted = f"{strange} cells are not vectors of {length} numbers"
            warn(f"in {where}, {counted}: treated as missing.")
        return cells

    def _where(self, values: pd.Series) -> str:
        """Return the place of a column, as part of a sentence."""
        return f"column {values.name!r} of {self.table.path}"

    def _as_kind(self, values: pd.Series, kind: str, reading: str) -> Any:
        """Return cells as numbers, days, hours or booleans, in the notation that fits most cells.

        It may differ from the notation of the table that the model was fitted to. If both decimal
        marks fit equally well, this table's mark is used or, if it shows none, that of the other
        table.
        """
        missing = self.table_format.missing
        decimal = self.table_format.decimal or self.table.decimal
        if kind in ("date", "time") and pd.api.types.is_numeric_dtype(values.dtype):
            return np.full(len(values), np.nan)  # a number is neither
        if kind == "number" and decimal and decimal != reading[:1]:
            reading = other_mark(reading)
        best = read_cells(values, kind, reading, missing)
        unread = (1 - MAIN_SHARE) * len(values) if kind == "date" else 0
        others: list[str] = []
        if kind == "number":
            others = readings_of_numbers(reading)
        elif kind == "date":
            others = layouts_of(map(str, values))
        for other in others:
            if np.isnan(best).sum() <= unread:
                break
            cells = read_cells(values, kind, other, missing)
            if np.isnan(cells).sum() < np.isnan(best).sum():
                best = cells
        return best

    def _check_kind(self, values: pd.Series, numbers: Floats, kind: str) -> None:
        """Raise an error if most cells are not of their kind, and warn if some are not."""
        cells, where = objects_of(values, self.table_format.missing), self._where(values)
        is_filled = [cell is not None and str(cell).lower() not in USUAL_MISSING for cell in cells]
        strange = np.flatnonzero(np.array(is_filled, dtype=bool) & np.isnan(numbers))
        if len(strange) == 0:
            return
        example = f"such as {str(cells[strange[0]])[:30]!r}"
        if len(strange) > sum(is_filled) / 2:
            raise ValueError(
                f"{capitalised(where)} has cells {example}, but the model was fitted to "
                f"{KINDS[kind]} there: correct the column."
            )
        cells_are = "1 cell is" if len(strange) == 1 else f"{len(strange)} cells are"
        warn(f"in {where}, {cells_are} not {KINDS[kind]}, {example}: treated as missing.")
