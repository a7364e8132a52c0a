"""Scores in the predictions: least-squares scores, decision values or probabilities."""

from typing import Any

import numpy as np

from primum import LaplacianLeastSquaresClassifier, SafeClassifier
from primum._typing import Floats
from primum.cli._options import SCORE
from primum.estimators._kernel import KernelClassifier
from primum.estimators._linear import LeastSquaresBase
from primum.models.faults import classifier_of

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
