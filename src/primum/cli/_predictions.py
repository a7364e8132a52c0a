"""Predictions for a table as people wrote it, by a pipeline that prepares its columns.

Scores in the predictions: least-squares scores, decision values or probabilities.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from primum import LaplacianLeastSquaresClassifier, SafeClassifier
from primum._typing import Floats
from primum._words import listed
from primum.cli._options import PREDICTION, SCORE
from primum.methods.kernels import KernelClassifier
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.models.faults import classifier_of
from primum.models.files import StoredModel
from primum.tables.cells import (
    USUAL_MISSING,
    booleans_of,
    days_of,
    hours_of,
    numbers_of,
    objects_of,
)
from primum.tables.columns import LAYOUTS, MAIN_SHARE
from primum.tables.csv import CsvOptions
from primum.tables.frames import header_in_words, read_frame
from primum.tables.problem import summed_columns

if TYPE_CHECKING:
    import pandas as pd


# For two classes, their decision values are scores of the second class minus 1/2.
LEAST_SQUARES = (
    LeastSquaresBase,
    KernelClassifier,
    LaplacianLeastSquaresClassifier,
    SafeClassifier,
)


def score_names(model: Any, score: str | None) -> list[str]:
    """Return the names of the columns of scores: one, or one per class if there are several."""
    if score is None:
        return []
    classes = model.classes_.tolist()
    return [SCORE] if len(classes) == 2 else [f"{SCORE}_{name}" for name in classes]


def scores_of(model: Any, rows: Any, score: str | None) -> Floats:
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


def refuse_scores(model: Any, score: str | None) -> None:
    """Raise an error if a model lacks the scores that were requested."""
    if score == "clipped" and not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(classifier_of(model)).__name__} has no probabilities: pass --score raw for its "
            "decision values, or no --score."
        )


# Kernels compare every row of a block with the rows that the model was fitted to.
ROWS_PER_BLOCK = 2**13
PROBABILITY = "probability"
SHOWN = 8
KINDS = {"number": "numbers", "date": "dates", "time": "times of day", "boolean": "yes or no"}


def table_predictions(
    stored: StoredModel,
    path: Path,
    options: CsvOptions,
    asked: str | None,
    score: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield blocks of the id column, the predictions and the probabilities, at least one block.

    With ``score`` there are these scores instead of the probabilities.
    """
    columns = stored.columns or {}
    names = [name for name, (kind, _) in columns.items() if kind == "category"]
    ids = stored.id_column if asked is None else asked
    frame = read_frame(path, options, as_text=[*names, *([ids] if ids else [])])
    refuse_missing(frame, [*columns, *([asked] if asked else [])], path, options)
    if ids is not None and ids not in frame.columns:
        _warn(f"the predictions have no id column, because {path} has no column {ids!r}.")
        ids = None
    model = stored.estimator
    scores = probability_names(model) if score is None else score_names(model, score)
    if ids in (PREDICTION, *scores):
        raise ValueError(f"{ids!r} is a column of the predictions: rename the id column.")
    if summed_columns(frame, stored.target, options.missing):
        _warn(f"the last row of {path} seems to be a total of the others: ignore its prediction.")
    rows = _read(frame, columns, options.missing, path)
    for start in range(0, max(len(rows), 1), ROWS_PER_BLOCK):
        block = slice(start, start + ROWS_PER_BLOCK)
        carried = {} if ids is None else {ids: frame[ids].iloc[block].to_numpy()}
        yield {**carried, **_predicted(model, rows.iloc[block], scores, score)}


def _warn(sentence: str) -> None:
    click.echo(f"Warning: {sentence}", err=True)


def refuse_missing(
    frame: "pd.DataFrame", names: Sequence[str], path: Path, options: CsvOptions
) -> None:
    """Raise an error if a table lacks columns."""
    missing = [name for name in names if name not in frame.columns]
    if not missing:
        return
    others = [name for name in frame.columns if name not in names]
    lower = {name.lower(): name for name in others}
    said = []
    for name in missing:
        close = get_close_matches(name.lower(), lower, 1)
        said.append(f"{name!r} (did you mean {lower[close[0]]!r}?)" if close else repr(name))
    what = "column" if len(missing) == 1 else f"{len(missing)} columns"
    found = ", ".join(map(repr, frame.columns[:SHOWN]))
    more = f", ... ({len(frame.columns)})" if len(frame.columns) > SHOWN else ""
    where = header_in_words(path, options, missing[0])
    raise ValueError(
        f"{path} lacks the {what} {listed(said)}; its columns are {found}{more}. {where}".strip()
    )


def _read(
    frame: "pd.DataFrame", columns: dict[str, list[str]], missing: Sequence[str], path: Path
) -> "pd.DataFrame":
    """Return the columns that the pipeline needs; raise an error if one is of another kind."""
    import pandas as pd

    found = {}
    for name, (kind, reading) in columns.items():
        values = frame[name]
        if kind == "category":
            found[name] = objects_of(values, missing)
            continue
        found[name] = _as_kind(values, kind, reading, missing)
        _check_kind(values, found[name], kind, missing, f"column {name!r} of {path}")
    return pd.DataFrame(found, index=frame.index)


def _as_kind(values: "pd.Series", kind: str, reading: str, missing: Sequence[str]) -> Any:
    """Return cells as numbers, days or hours, in the notation of which most cells are.

    It may be another one than that of the table that the model was fitted to.
    """
    import pandas as pd

    if kind == "boolean":
        return booleans_of(values, missing)
    if kind in ("date", "time") and pd.api.types.is_numeric_dtype(values.dtype):
        return np.full(len(values), np.nan)  # a number is neither
    if kind == "time":
        return hours_of(values, missing)
    read, notations = (numbers_of, (".", ",")) if kind == "number" else (days_of, LAYOUTS)
    unread = 0 if kind == "number" else (1 - MAIN_SHARE) * len(values)
    best = read(values, reading, missing)
    for other in notations:
        if np.isnan(best).sum() <= unread:
            break
        cells = read(values, other, missing)
        if np.isnan(cells).sum() < np.isnan(best).sum():
            best = cells
    return best


def _check_kind(values: Any, found: Any, kind: str, missing: Sequence[str], where: str) -> None:
    """Raise an error if most cells are not of their kind, and warn if some are not."""
    cells = objects_of(values, missing)
    given = np.array([cell is not None for cell in cells], dtype=bool)
    given &= np.array([str(cell).lower() not in USUAL_MISSING for cell in cells], dtype=bool)
    strange = np.flatnonzero(given & np.isnan(found))
    if len(strange) == 0:
        return
    example = f"such as {str(cells[strange[0]])[:30]!r}"
    if len(strange) > given.sum() / 2:
        raise ValueError(
            f"{where[0].upper()}{where[1:]} has cells {example}, but the model was fitted to "
            f"{KINDS[kind]} there: correct the column."
        )
    cells_are = "1 cell is" if len(strange) == 1 else f"{len(strange)} cells are"
    _warn(f"in {where}, {cells_are} not {KINDS[kind]}, {example}: treated as missing.")


def probability_names(model: Any) -> list[str]:
    """Return the names of the columns of probabilities or, without them, of scores."""
    if hasattr(model, "predict_proba"):
        return [f"{PROBABILITY}_{name}" for name in model.classes_.tolist()]
    return score_names(model, "raw")


def _predicted(
    model: Any, rows: "pd.DataFrame", names: list[str], score: str | None
) -> dict[str, Any]:
    """Return the predictions and scores of some rows, which are prepared once."""
    if len(rows) == 0:  # scikit-learn raises an error for an empty X
        return {PREDICTION: model.classes_[:0], **{name: np.empty(0) for name in names}}
    X, classifier = model[:-1].transform(rows), model[-1]
    if score is not None:
        scores = scores_of(classifier, X, score)
    elif hasattr(classifier, "predict_proba"):
        scores = classifier.predict_proba(X)
    else:
        scores = classifier.decision_function(X)
    columns = np.asarray(scores).reshape(len(rows), -1)
    return {PREDICTION: classifier.predict(X), **dict(zip(names, columns.T, strict=True))}
