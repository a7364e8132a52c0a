"""Losses of stored predictions: lower is better.

Error, Brier score and log loss are means over rows, so that every held-out row has its loss. Any
other score of scikit-learn is computed once for every split.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from primum._typing import AnyArray, Floats, Index
from primum.selection.wording import ERROR, Measure

# Probabilities of 0 have an infinite log loss.
LEAST_PROBABILITY = 1e-15
# Scores between 0 and 1, shown in points.
SHARES = ("balanced_accuracy", "roc_auc", "f1", "average_precision", "precision", "recall")


@dataclass(frozen=True)
class Predictions:
    """Predictions of one classifier for the held-out rows of one split."""

    truth: Index
    predicted: Index
    scores: Floats | None


@dataclass(frozen=True)
class Loss:
    """How predictions are judged.

    Attributes
    ----------
    measure : Measure
        Its name and unit.
    of_rows : callable or None
        Predictions to the loss of every row, if the loss is a mean over rows.
    of_split : callable
        Predictions to the loss of the split.
    needs_scores : bool
        Whether classifiers that only predict classes cannot be judged by it.
    """

    measure: Measure
    of_rows: Callable[[Predictions], Floats] | None
    of_split: Callable[[Predictions], float]
    needs_scores: bool = False


def read_scoring(scoring: Any, classes: AnyArray) -> Loss:
    """Return the loss of a scikit-learn scoring; None means the error.

    Parameters
    ----------
    scoring : str, callable or None
        "accuracy", "neg_brier_score" (the sum over classes divided by two), "neg_log_loss", the
        name of any other scorer of scikit-learn, or a callable ``scorer(estimator, X, y)``, of
        which higher is better. A callable must not look at X.
    classes : array of shape (n_classes,)
        Names of the classes.

    Returns
    -------
    Loss
        The loss.
    """
    known = {
        None: (_errors, ERROR),
        "accuracy": (_errors, ERROR),
        "neg_brier_score": (_squares, Measure("Brier score", "", 1.0, 3)),
        "neg_log_loss": (_logs, Measure("log loss", "", 1.0, 3)),
    }
    if scoring is None or (isinstance(scoring, str) and scoring in known):
        of_rows, measure = known[scoring]
        return Loss(
            measure, of_rows, lambda found: float(of_rows(found).mean()), of_rows is not _errors
        )
    scorer = get_scorer(scoring)
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    share = isinstance(scoring, str) and scoring.startswith(SHARES)
    measure = Measure(f"1 - {name}", " points", 100.0, 1) if share else Measure(name, "", 1.0, 3)
    return Loss(
        measure, None, lambda predictions: float(share) - _scored(scorer, predictions, classes)
    )


def _errors(predictions: Predictions) -> Floats:
    return np.asarray(predictions.predicted != predictions.truth, dtype=float)


def _squares(predictions: Predictions) -> Floats:
    scores = _scores_of(predictions)
    return np.asarray(((scores - np.eye(scores.shape[1])[predictions.truth]) ** 2).sum(axis=1) / 2)


def _logs(predictions: Predictions) -> Floats:
    scores = _scores_of(predictions)
    chosen = scores[np.arange(len(scores)), predictions.truth]
    return np.asarray(-np.log(np.clip(chosen, LEAST_PROBABILITY, 1.0)))


def _scores_of(predictions: Predictions) -> Floats:
    if predictions.scores is None:
        raise ValueError("it has neither predict_proba nor decision_function")
    return predictions.scores


class StoredClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions are already known, for scikit-learn's scorers."""

    def __init__(self, predictions: Any = None, classes: Any = None) -> None:
        self.predictions = predictions
        self.classes = classes
        self.classes_ = classes

    def predict(self, X: Any) -> AnyArray:
        """Return the stored classes."""
        return np.asarray(self.classes_[self.predictions.predicted])

    def predict_proba(self, X: Any) -> Floats:
        """Return the stored scores."""
        return _scores_of(self.predictions)


def _scored(scorer: Any, predictions: Predictions, classes: AnyArray) -> float:
    stored = StoredClassifier(predictions, classes)
    rows = np.zeros((len(predictions.truth), 1))
    return float(scorer(stored, rows, classes[predictions.truth]))
