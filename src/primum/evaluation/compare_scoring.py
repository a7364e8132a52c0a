"""Losses of stored predictions: lower is better.

Losses that are means over rows (error, balanced error, Brier score, log loss) are those of
``selection.losses``. Any other score of scikit-learn is computed once for every split.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from primum._typing import AnyArray, Floats, Index
from primum.selection.losses import ROW_LOSSES, measure_of, read_scorer, score_of
from primum.selection.wording import Measure

# Losses of the predicted classes alone.
OF_CLASSES = ("accuracy", "balanced_accuracy")


@dataclass(frozen=True)
class Predictions:
    """Predictions of one classifier for the held-out rows of one split."""

    truth: Index
    predicted: Index
    scores: Floats | None

    def take(self, rows: Index) -> "Predictions":
        """Return the predictions of some of the rows."""
        scores = None if self.scores is None else self.scores[rows]
        return Predictions(self.truth[rows], self.predicted[rows], scores)


def joined(parts: Sequence[Predictions]) -> Predictions:
    """Return the predictions of several splits as one."""
    scores = [part.scores for part in parts if part.scores is not None]
    return Predictions(
        np.concatenate([part.truth for part in parts]),
        np.concatenate([part.predicted for part in parts]),
        np.concatenate(scores) if len(scores) == len(parts) else None,
    )


@dataclass(frozen=True)
class Loss:
    """How predictions are judged.

    Attributes
    ----------
    scoring : str or callable
        The scoring of scikit-learn.
    measure : Measure
        Its name and unit.
    of_rows : callable or None
        Predictions to the loss of every row, if the loss is a mean over rows.
    of_split : callable
        Predictions to the loss of the split; NaN if it is undefined there.
    needs_scores : bool
        Whether classifiers that only predict classes cannot be judged by it.
    """

    scoring: Any
    measure: Measure
    of_rows: Callable[[Predictions], Floats] | None
    of_split: Callable[[Predictions], float]
    needs_scores: bool = False


def read_scoring(scoring: Any, classes: AnyArray) -> Loss:
    """Return the loss of a scikit-learn scoring.

    Parameters
    ----------
    scoring : str or callable
        "accuracy", "balanced_accuracy", "neg_brier_score" (the sum over classes divided by two),
        "neg_log_loss", the name of any other scorer of scikit-learn, or a callable
        ``scorer(estimator, X, y)``, of which higher is better. A callable must not look at X.
    classes : array of shape (n_classes,)
        Names of the classes.

    Returns
    -------
    Loss
        The loss.
    """
    measure = measure_of(scoring)
    if isinstance(scoring, str) and scoring in ROW_LOSSES:
        of_scores, needs = ROW_LOSSES[scoring].of_rows, scoring not in OF_CLASSES

        def of_rows(found: Predictions) -> Floats:
            scores = _scores_of(found) if needs else np.eye(len(classes))[found.predicted]
            return np.asarray(of_scores(scores, found.truth))

        return Loss(scoring, measure, of_rows, lambda found: float(of_rows(found).mean()), needs)
    scorer = read_scorer(scoring)
    return Loss(scoring, measure, None, lambda found: -_scored(scorer, found, classes))


def _scores_of(predictions: Predictions) -> Floats:
    if predictions.scores is None:
        raise ValueError(
            "The scoring needs scores, but a classifier has neither predict_proba nor "
            "decision_function: leave it out, or choose a scoring of predicted classes."
        )
    return predictions.scores


class StoredClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions are already known, for scikit-learn's scorers."""

    def __init__(self, predictions: Any = None, classes: Any = None) -> None:
        self.predictions = predictions
        self.classes = classes

    @property
    def classes_(self) -> AnyArray:
        """The classes."""
        return np.asarray(self.classes)

    def fit(self, X: Any, y: Any) -> "StoredClassifier":
        """Do nothing."""
        return self

    def predict(self, X: Any) -> AnyArray:
        """Return the stored classes."""
        return np.asarray(self.classes_[self.predictions.predicted])

    def predict_proba(self, X: Any) -> Floats:
        """Return the stored scores."""
        return _scores_of(self.predictions)


def _scored(scorer: Any, predictions: Predictions, classes: AnyArray) -> float:
    return score_of(scorer, StoredClassifier(predictions, classes), predictions.truth, classes)


def row_changes(pairs: Sequence[tuple[Predictions, Predictions]], loss: Loss) -> list[Floats]:
    """Return the differences of the losses in the held-out rows of every split."""
    of_rows: Any = loss.of_rows
    return [of_rows(one) - of_rows(other) for one, other in pairs]


def twin_loss(
    loss: Loss, pairs: Sequence[tuple[Predictions, Predictions]], classes: AnyArray
) -> Loss:
    """Return the loss by which methods are compared with their twins.

    It is that of the comparison, unless that needs scores which some twin does not have: then it
    is the error.
    """
    complete = all(part.scores is not None for pair in pairs for part in pair)
    of_classes = loss.of_rows is not None and not loss.needs_scores
    return loss if complete or of_classes else read_scoring("accuracy", classes)
