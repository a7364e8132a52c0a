"""Losses by which a stack is judged, from the scores of its rows.

Those of the names below are means over rows. Any other scorer of scikit-learn is applied to each
fold: to a classifier that returns the scores that are known already.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring, get_scorer_names

from primum._typing import AnyArray, Floats, Index
from primum.judging.difference import repeats_of
from primum.judging.words import ERROR, Measure

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


def name_of(scoring: Any) -> str:
    """Return the name of a scoring."""
    return str(
        scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "the given score")
    )


def measure_of(scoring: Any) -> Measure:
    """Return how the loss of a scoring is called and shown."""
    if isinstance(scoring, str) and scoring in ROW_LOSSES:
        return ROW_LOSSES[scoring].measure
    return Measure(f"loss (minus {name_of(scoring)})", "", 1.0, 3)


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


def read_scorer(scoring: Any) -> Any:
    """Return the scorer that a name or a callable stands for; raise an error for any other."""
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        near = get_close_matches(scoring, get_scorer_names(), 1)
        advice = f"did you mean {near[0]!r}?" if near else "see sklearn.metrics.get_scorer_names()."
        raise ValueError(f"scoring={scoring!r} is not a scorer of scikit-learn: {advice}")
    scorer = check_scoring(KnownScores(), scoring)
    function = getattr(scorer, "_score_func", None)
    if getattr(function, "__module__", "").endswith("_regression"):
        raise ValueError(
            f"scoring={scoring!r} is for numeric targets: choose one for classes, such as "
            "'accuracy' or 'roc_auc'."
        )
    return scorer


@dataclass(frozen=True)
class Scorer:
    """A scorer of scikit-learn, applied to scores that are known already.

    Attributes
    ----------
    scoring : str or callable
        What it is made of.
    classes : array of shape (n_classes,)
        Names of the classes.
    """

    scoring: Any
    classes: AnyArray

    @cached_property
    def _scorer(self) -> Any:
        return read_scorer(self.scoring)

    @property
    def name(self) -> str:
        """What it is called in messages."""
        named = isinstance(self.scoring, str)
        return f"score {self.scoring!r}" if named else "given score"

    def of(self, scores: Floats, codes: Index, weight: Floats | None = None) -> float:
        """Return the score of rows, or NaN if it is undefined because they lack a class."""
        known = KnownScores(scores, self.classes)
        return score_of(self._scorer, known, codes, self.classes, weight)


def score_of(
    scorer: Any, classifier: Any, codes: Index, classes: AnyArray, weight: Floats | None = None
) -> float:
    """Return the score of a classifier whose X are positions of rows.

    It is NaN if it is undefined because the rows lack a class.
    """
    rows, truth = np.arange(len(codes))[:, None], classes[codes]
    known = {} if weight is None else {"sample_weight": weight}
    if len(np.unique(codes)) == len(classes):
        return float(scorer(classifier, rows, truth, **known))
    with warnings.catch_warnings():
        # What scikit-learn only warns of, such as a precision of 0 / 0, is undefined as well.
        warnings.simplefilter("error", UserWarning)
        try:
            return float(scorer(classifier, rows, truth, **known))
        except (UserWarning, ValueError):
            return float("nan")


def check_folds(
    scoring: Any,
    classes: AnyArray,
    tests: Sequence[Index],
    codes: Index,
    weight: Floats | None = None,
) -> list[int]:
    """Return the numbers of the folds in which a scoring is undefined, before anything is fitted.

    ``tests`` are the rows that the folds hold out, and ``codes`` the classes of all rows. The
    scoring is tried on a classifier that is nearly always right. It is an error if it is undefined
    in some fold and cannot be computed from all folds of a repeat together.
    """
    if isinstance(scoring, str) and scoring in ROW_LOSSES:
        return []
    read_scorer(scoring)
    scorer = Scorer(scoring, classes)
    if len(tests) < 2:
        raise ValueError(
            f"The {scorer.name} is computed in every split and needs at least two, but cv has "
            "one: use more folds, or scoring='accuracy'."
        )
    scores = 0.9 * np.eye(len(classes))[codes] + 0.1 / len(classes)
    _check_all_rows(scorer, scores, codes, weight)

    def is_undefined(rows: Index) -> bool:
        known = None if weight is None else weight[rows]
        return not np.isfinite(scorer.of(scores[rows], codes[rows], known))

    undefined = [number for number, test in enumerate(tests) if is_undefined(test)]
    if undefined:
        if repeats_of(tests, len(codes)) is None:
            raise undefined_in_a_fold(scorer, undefined[0], codes[tests[undefined[0]]])
        for code in np.flatnonzero(np.bincount(codes, minlength=len(classes)) == 1):
            if is_undefined(np.flatnonzero(codes != code)):
                raise ValueError(
                    f"The {scorer.name} cannot be estimated with one labelled row of class "
                    f"{classes.tolist()[code]!r}: label more rows of it, or choose another scoring."
                )
    return undefined


def _check_all_rows(scorer: Scorer, scores: Floats, codes: Index, weight: Floats | None) -> None:
    """Raise an error if a scoring cannot be computed even of all labelled rows together."""
    cause: Exception | None = None
    try:
        found = scorer.of(scores, codes, weight)
        reason = f"it is {found}"
    except Exception as problem:  # whatever a scorer raises is the reason
        found = float("nan")
        reason, cause = f"{type(problem).__name__}: {problem}".rstrip("."), problem
    if not np.isfinite(found):
        raise ValueError(
            f"The {scorer.name} cannot be computed in the {len(codes)} labelled rows of the "
            f"classes {scorer.classes.tolist()} ({reason}): choose another scoring."
        ) from cause


def undefined_in_a_fold(scorer: Scorer, number: int, held_out: Index) -> ValueError:
    """Return the error for folds that cannot be scored one by one and not together."""
    missing = np.setdiff1d(np.arange(len(scorer.classes)), held_out)
    names = scorer.classes.tolist()
    which = f", among which is none of class {names[missing[0]]!r}" if len(missing) else ""
    return ValueError(
        f"The {scorer.name} cannot be computed in the {len(held_out)} rows that split {number} "
        f"holds out{which}: choose another scoring, fewer folds, or splits that hold out every "
        "row once."
    )


def predicted_codes(scores: Floats) -> AnyArray:
    """Return the class codes with the largest scores; the second of two that are equal."""
    if scores.shape[1] == 2:
        return (scores[:, 1] >= scores[:, 0]).astype(np.intp)
    return np.asarray(scores.argmax(axis=1))
