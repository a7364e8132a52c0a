"""The scores of a fitted classifier, on a scale on which the labels are 0 and 1.

With two classes there is one score per row, that of class 1. With more there is one per row and
class, in the order of ``classes_``, and the labels are one-hot: 1 for the class of the row, 0 for
the others.

Decision values mean different things in different classifiers: scores fitted to 0 and 1 or to -1
and 1, log-odds, votes. Read on the wrong scale they give meaningless losses. So the score is, in
this order: what the method declares; for the classes of this library, their known scale; the
predicted probability. Decision values of unknown scale are not used: such a method has an error,
from its predictions, and no loss.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from primum._typing import AnyArray, Floats
from primum.estimators import LaplacianLeastSquaresClassifier, SelfLearningClassifier
from primum.estimators._kernel import KernelClassifier
from primum.estimators._linear import LeastSquaresBase
from primum.estimators._svm_data import LinearMachine

Score = Callable[[Any, AnyArray], Floats]


def score_minus_half(clf: Any, X: AnyArray) -> Floats:
    """Return the scores of one of this library's least-squares classifiers.

    With two classes, the decision values are the scores minus 1/2; with more, they are the scores.

    Parameters
    ----------
    clf : classifier
        A fitted least-squares classifier.
    X : array of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    array of shape (n_rows,) or (n_rows, n_classes)
        Scores of class 1, or of every class.

    Examples
    --------
    >>> from primum import LeastSquaresClassifier
    >>> from primum.evaluation import score_minus_half
    >>> clf = LeastSquaresClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> score_minus_half(clf, [[0.25]]).round(2)
    array([0.25])
    """
    decisions = np.asarray(clf.decision_function(X))
    return decisions + 0.5 if decisions.ndim == 1 else decisions


def score_signed(clf: Any, X: AnyArray) -> Floats:
    """Return the scores of a classifier fitted to labels -1 and 1, one against the rest.

    Parameters
    ----------
    clf : classifier
        A fitted classifier with ``decision_function``.
    X : array of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    array of shape (n_rows,) or (n_rows, n_classes)
        Scores of class 1, or of every class, on a scale from 0 to 1.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from primum.evaluation import score_signed
    >>> clf = RidgeClassifier(alpha=1e-12).fit([[0.0], [1.0]], [0, 1])
    >>> score_signed(clf, [[0.25]]).round(2)
    array([0.25])
    """
    return np.asarray((clf.decision_function(X) + 1.0) / 2.0)


def score_probability(clf: Any, X: AnyArray) -> Floats:
    """Return the probability of class 1, or of every class if there are more than two.

    Parameters
    ----------
    clf : classifier
        A fitted classifier with ``predict_proba``.
    X : array of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    array of shape (n_rows,) or (n_rows, n_classes)
        Probabilities.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from primum.evaluation import score_probability
    >>> clf = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> score_probability(clf, [[0.5]]).round(2)
    array([0.5])
    """
    probabilities = np.asarray(clf.predict_proba(X))
    return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


def default_score(clf: Any) -> Score | None:
    """Return the score function of a fitted classifier whose method does not declare one."""
    inner = _innermost(clf)
    if isinstance(inner, LeastSquaresBase | KernelClassifier | LaplacianLeastSquaresClassifier):
        return score_minus_half
    if isinstance(inner, LinearMachine) and not hasattr(inner, "predict_proba"):
        return score_signed
    return score_probability if hasattr(clf, "predict_proba") else None


def _innermost(clf: Any) -> Any:
    """Return the classifier that gives a pipeline, search or self-learning its decision values."""
    if isinstance(clf, Pipeline):
        return _innermost(clf.steps[-1][1])
    if isinstance(clf, SelfLearningClassifier):
        return _innermost(clf.estimator_)
    return _innermost(clf.best_estimator_) if hasattr(clf, "best_estimator_") else clf


def refuse_marker_as_class(clf: Any) -> None:
    """Raise an error if a classifier treated the marker of unlabelled rows as a class."""
    if -1 in getattr(clf, "classes_", ()):
        raise ValueError(
            f"{type(clf).__name__} treats -1, the marker of unlabelled rows, as a class: it cannot "
            "learn from unlabelled rows, so declare its Method with sees='labeled'."
        )
