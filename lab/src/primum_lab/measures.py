"""Measures of a fit: the error, and losses of scores on the scale of labels 0 and 1.

With two classes, scores are an array of shape (n,), the scores s of class 1 for labels y of 0 and
1. With more, they have shape (n, K), in the order of ``classes_``, for one-hot labels, and a loss
   is the sum of the same loss over the K classes, as minimised by the least-squares classifiers and
   by one-versus-rest SVMs. For two classes, written as K = 2 columns 1 - s and s, that sum would be
   exactly twice the loss of s; it is not used, so that the numbers remain those of the paper.

Decision values mean different things in different classifiers: scores fitted to 0 and 1 or to -1
and 1, log-odds, votes. Read on the wrong scale they give meaningless losses. So the score is, in
this order, what the method declares, a decision value of known scale (for classes of this library),
or the predicted probability. Decision values of unknown scale are not used: such a method has an
error, from its predictions, but no loss.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from primum import LaplacianLeastSquaresClassifier, SelfLearningClassifier
from primum._typing import AnyArray, Floats, Index
from primum.methods.kernels import KernelClassifier
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.methods.svm.base import LinearMachine

# How scores are read from a fitted classifier; and the measures, which are columns of the results.
Score = Callable[[Any, AnyArray], Floats]
MEASURES = ("error", "loss_labeled", "loss_train", "loss_test", "seconds")


def error(scores: Floats, y: Index) -> float:
    """Return the fraction of misclassified rows.

    Parameters
    ----------
    scores : array of shape (n,) or (n, K)
        Scores of class 1, which is predicted at 1/2 and above. Or scores of K classes: the class
        with the largest score is predicted, in a tie the first.
    y : array of shape (n,)
        Labels as 0 and 1, or as 0, 1, ..., K - 1.

    Returns
    -------
    float
        The fraction.

    Examples
    --------
    >>> import numpy as np
    >>> from primum_lab import error
    >>> round(error(np.array([0.2, 0.7, 0.6]), np.array([0, 1, 0])), 2)
    0.33
    """
    if np.ndim(scores) == 1:
        return float(np.mean((scores >= 0.5) != (y == 1)))
    return float(np.mean(np.argmax(scores, axis=1) != y))


def squared_loss(scores: Floats, y: Index) -> float:
    """Return the mean over rows of the squared difference between scores and labels.

    Parameters
    ----------
    scores : array of shape (n,) or (n, K)
        Scores of class 1, or of each of K classes.
    y : array of shape (n,)
        Labels as 0 and 1, or as 0, 1, ..., K - 1.

    Returns
    -------
    float
        The mean of (s - y)^2 or, for K classes, of the sum over the classes of (s_k - [y = k])^2:
        the Brier score in its original form if the scores are probabilities. Two columns 1 - s and
        s give twice the number of s alone.

    Examples
    --------
    >>> import numpy as np
    >>> from primum_lab import squared_loss
    >>> squared_loss(np.array([0.5, 1.0]), np.array([0, 1]))
    0.125
    """
    return _mean_of_sums((scores - _targets(scores, y)) ** 2)


def squared_hinge(scores: Floats, y: Index) -> float:
    """Return the mean squared hinge loss, whose margin extends from score 0 to score 1.

    Parameters
    ----------
    scores : array of shape (n,) or (n, K)
        Scores of class 1, or of each of K classes.
    y : array of shape (n,)
        Labels as 0 and 1, or as 0, 1, ..., K - 1.

    Returns
    -------
    float
        The mean over rows; for K classes, of the sum over the classes, each against the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from primum_lab import squared_hinge
    >>> squared_hinge(np.array([0.5, 1.2]), np.array([0, 1]))
    0.5
    """
    wrong = np.where(_targets(scores, y) == 1, 1.0 - scores, scores)
    return _mean_of_sums(np.maximum(0.0, 2.0 * wrong) ** 2)


def _targets(scores: Floats, y: Index) -> AnyArray:
    """Return the labels that the scores are compared with: 0 and 1, or one-hot."""
    return y if np.ndim(scores) == 1 else np.eye(np.shape(scores)[1])[y]


def _mean_of_sums(losses: Floats) -> float:
    """Return the mean over rows of the sum over classes."""
    return float(np.mean(losses if losses.ndim == 1 else losses.sum(axis=1)))


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
    >>> from primum_lab import score_minus_half
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
    >>> from primum_lab import score_signed
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
    >>> from primum_lab import score_probability
    >>> clf = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> score_probability(clf, [[0.5]]).round(2)
    array([0.5])
    """
    probabilities = np.asarray(clf.predict_proba(X))
    return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


def default_score(clf: Any) -> Score | None:
    """Return the score function of a classifier whose method does not declare one."""
    inner = _innermost(clf)
    if isinstance(inner, LeastSquaresBase | KernelClassifier | LaplacianLeastSquaresClassifier):
        return score_minus_half
    if isinstance(inner, LinearMachine) and not hasattr(inner, "predict_proba"):
        return score_signed
    return score_probability if hasattr(clf, "predict_proba") else None


def _innermost(clf: Any) -> Any:
    """Return the classifier inside a pipeline, search or self-learning that makes the decisions."""
    if isinstance(clf, Pipeline):
        return _innermost(clf.steps[-1][1])
    if isinstance(clf, SelfLearningClassifier):
        return _innermost(clf.estimator_ if hasattr(clf, "estimator_") else clf.estimator)
    return _innermost(clf.best_estimator_) if hasattr(clf, "best_estimator_") else clf


def refuse_marker_as_class(clf: Any) -> None:
    """Raise an error if a classifier treated the marker of unlabelled rows as a class."""
    if -1 in getattr(clf, "classes_", ()):
        raise ValueError(
            f"{type(clf).__name__} treats -1, the marker of unlabelled rows, as a class: it cannot "
            "learn from unlabelled rows, so declare its Method with sees='labeled'."
        )
