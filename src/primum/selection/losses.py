"""Losses by which a stack is judged, from the scores of its rows.

Those of the names below are means over rows. Any other scorer of scikit-learn is applied to each
fold: to a classifier that returns the scores that are known already.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from primum._typing import AnyArray, Floats, Index
from primum.selection.stacked import predicted_codes
from primum.selection.wording import ERROR, Measure

LEAST_PROBABILITY = 1e-15


def _wrong(scores: Floats, codes: Index) -> Floats:
    return (predicted_codes(scores) != codes).astype(np.float64)


def _balanced(scores: Floats, codes: Index, weight: Floats | None = None) -> Floats:
    totals = np.bincount(codes, weight, minlength=scores.shape[1])
    return _wrong(scores, codes) * totals.sum() / (np.count_nonzero(totals) * totals[codes])


def _half_brier(scores: Floats, codes: Index) -> Floats:
    return np.asarray(0.5 * np.sum((scores - np.eye(scores.shape[1])[codes]) ** 2, axis=1))


def _log_loss(scores: Floats, codes: Index) -> Floats:
    return -np.log(np.maximum(scores[np.arange(len(codes)), codes], LEAST_PROBABILITY))


@dataclass(frozen=True)
class RowLoss:
    """A loss that is a mean over rows.

    Attributes
    ----------
    measure : Measure
        How it is called and shown.
    of_rows : callable (scores, codes) -> losses
        The loss of every row.
    """

    measure: Measure
    of_rows: Callable[..., Floats]


ROW_LOSSES = {
    "accuracy": RowLoss(ERROR, _wrong),
    "balanced_accuracy": RowLoss(Measure("balanced error"), _balanced),
    "neg_brier_score": RowLoss(Measure("Brier score", "", 1.0, 3), _half_brier),
    "neg_log_loss": RowLoss(Measure("log loss", "", 1.0, 3), _log_loss),
}


class KnownScores(ClassifierMixin, BaseEstimator):
    """A classifier of rows whose scores are known; X are their positions."""

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        self.scores, self.classes = scores, classes

    def fit(self, X: Any, y: Any) -> "KnownScores":
        """Do nothing."""
        return self

    @property
    def classes_(self) -> AnyArray:
        """The classes."""
        return np.asarray(self.classes)

    def predict_proba(self, X: Any) -> Floats:
        """Return the scores."""
        return np.asarray(self.scores[np.asarray(X)[:, 0]])

    def predict(self, X: Any) -> AnyArray:
        """Return the classes with the largest scores."""
        return np.asarray(self.classes_[predicted_codes(self.predict_proba(X))])


def fold_scores(
    scoring: Any,
    scores: Floats,
    codes: Index,
    fold_of: Index,
    classes: AnyArray,
    weight: Floats | None = None,
) -> Floats:
    """Return the score of a scikit-learn scorer in every fold; higher is better."""
    classifier = KnownScores(scores, classes)
    scorer = check_scoring(classifier, scoring)
    rows = [np.flatnonzero(fold_of == number) for number in range(fold_of.max() + 1)]
    return np.array([_score(scorer, classifier, codes, index, weight) for index in rows])


def _score(
    scorer: Any, classifier: KnownScores, codes: Index, index: Index, weight: Floats | None
) -> Any:
    known = {} if weight is None else {"sample_weight": weight[index]}
    return scorer(classifier, index[:, None], classifier.classes_[codes[index]], **known)


def check_fold_scoring(
    scoring: Any,
    codes: Index,
    tests: Sequence[Index],
    classes: AnyArray,
    weight: Floats | None = None,
) -> None:
    """Raise an error if a score cannot be computed in some fold, before anything is fitted.

    ``tests`` are the positions of the rows that the folds hold out. It is computed for a
    classifier that is nearly always right.
    """
    if isinstance(scoring, str) and scoring in ROW_LOSSES:
        return
    classifier = KnownScores(0.9 * np.eye(len(classes))[codes] + 0.1 / len(classes), classes)
    scorer = check_scoring(classifier, scoring)
    if len(tests) < 2:
        raise ValueError(
            f"The {_named(scoring)} is computed in every split and needs at least two, but cv has "
            "one: use more folds, or scoring='accuracy'."
        )
    for number, index in enumerate(tests):
        cause: Exception | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = float(_score(scorer, classifier, codes, index, weight))
        except Exception as problem:
            reason, cause = f"{type(problem).__name__}: {problem}".rstrip("."), problem
        else:
            if np.isfinite(found):
                continue
            reason = f"it is {found}"
        raise ValueError(
            f"The {_named(scoring)} cannot be computed in the {len(index)} rows that split "
            f"{number} holds out ({reason}): choose another scoring, or splits in which every "
            "class is held out."
        ) from cause


def _named(scoring: Any) -> str:
    return f"score {scoring!r}" if isinstance(scoring, str) else "given score"
