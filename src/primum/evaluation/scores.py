"""Reading the score of class 1 of a fitted classifier, on a scale whose labels are 0 and 1.

Decision values mean different things in different classifiers: scores fitted to 0 and 1 or to -1
and 1, log-odds, votes. Read on the wrong scale they give losses that look like results. So a score
is, in this order: what the method declares; for the classes of this library, their known scale; the
probability of class 1. Decision values of unknown scale are not read at all: such a method has an
error, from its predictions, and no loss.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from primum._typing import AnyArray, Floats
from primum.estimators import SelfLearningClassifier
from primum.estimators._linear import LeastSquaresBase
from primum.estimators._svm_data import LinearMachine

Score = Callable[[Any, AnyArray], Floats]


def score_minus_half(clf: Any, X: AnyArray) -> Floats:
    """Read the score of this library's least-squares family."""
    return np.asarray(clf.decision_function(X) + 0.5)


def score_signed(clf: Any, X: AnyArray) -> Floats:
    """Read a score fitted to labels -1 and 1."""
    return np.asarray((clf.decision_function(X) + 1.0) / 2.0)


def score_probability(clf: Any, X: AnyArray) -> Floats:
    """Read the probability of class 1."""
    return np.asarray(clf.predict_proba(X)[:, 1])


def default_score(clf: Any) -> Score | None:
    """Return how the score of a fitted classifier is read unless the method declares it."""
    inner = _innermost(clf)
    if isinstance(inner, LeastSquaresBase):
        return score_minus_half
    if isinstance(inner, LinearMachine):
        return score_signed
    return score_probability if hasattr(clf, "predict_proba") else None


def _innermost(clf: Any) -> Any:
    """Return the classifier whose decision values a pipeline, search or loop passes on."""
    if isinstance(clf, Pipeline):
        return _innermost(clf.steps[-1][1])
    if isinstance(clf, SelfLearningClassifier):
        return _innermost(clf.estimator_)
    return _innermost(clf.best_estimator_) if hasattr(clf, "best_estimator_") else clf


def refuse_marker_as_class(clf: Any) -> None:
    """Refuse a classifier that learnt the marker of unlabelled rows as if it were a class."""
    if -1 in getattr(clf, "classes_", ()):
        raise ValueError(
            f"{type(clf).__name__} took -1, the marker of unlabelled rows, for a class: it cannot "
            "learn from unlabelled rows, so give its Method sees='labeled'."
        )
