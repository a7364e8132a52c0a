"""Prediction of classes, and accuracy over the rows whose label is known."""

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score

from primum._sklearn import (
    LinearClassifierMixin,
    check_sample_weight,
    get_namespace,
    get_namespace_and_device,
)
from primum._typing import AnyArray
from primum.estimators._backend import on_this_machine
from primum.estimators._checks import refuse_masked
from primum.estimators._labels import read_labels
from primum.labellings.sets import nearest_shares
from primum.rows import to_numpy


def predicted_classes(decisions: Any, classes: AnyArray) -> Any:
    """Return the class of every row.

    For two classes, with one decision value per row, it is the second where the value is at least
    0; for more, the class with the largest value, and the first of them if several are equal. The
    classes are on the device of the decision values, unless they are not numbers.
    """
    values = to_numpy(decisions)
    codes = (values >= 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
    predicted = classes[codes]
    if isinstance(decisions, np.ndarray) or classes.dtype.kind not in "biuf":
        return predicted
    xp, _, device = get_namespace_and_device(decisions)
    return xp.asarray(predicted, device=device)


def nearest_probabilities(decisions: Any) -> Any:
    """Return the probabilities nearest to the scores that least-squares decisions stand for."""
    if decisions.ndim == 2:
        return nearest_shares(decisions)
    xp, _ = get_namespace(decisions)
    second = xp.clip(decisions + 0.5, 0.0, 1.0)
    return xp.stack([1.0 - second, second], axis=1)


class ClassPredictionMixin(LinearClassifierMixin):
    """A linear classifier that predicts the second of two classes where its decisions are 0.

    scikit-learn assigns such ties to the first class; in the paper a score of 1/2 is class 1.
    """

    classes_: AnyArray

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            The decision values, ``X @ coef_.T + intercept_``.
        """
        refuse_masked(X, "X")
        return super().decision_function(X)

    def predict(self, X: Any) -> Any:
        """Return the predicted class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            For two classes, the second where the decision function is at least 0; for more, the
            class with the largest decision value, and the first of them if several are equal.
        """
        return predicted_classes(self.decision_function(X), self.classes_)


class KnownLabelsScoreMixin:
    """A ``score`` that ignores rows with unknown labels.

    Counting them as errors would bias the score of every partly labelled test fold.
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy over the rows whose label is known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels; unknown ones are marked as in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            The fraction of correct predictions.
        """
        predicted = np.asarray(on_this_machine(self.predict(X)))  # type: ignore[attr-defined]
        labels = read_labels(on_this_machine(y), len(predicted), multi_class=True, one_class=True)
        known, truth = labels.labeled, labels.classes[labels.codes]
        if sample_weight is not None:
            refuse_masked(sample_weight, "sample_weight")
            weight = check_sample_weight(on_this_machine(sample_weight), predicted)
            sample_weight = weight[known]
        return float(accuracy_score(truth, predicted[known], sample_weight=sample_weight))
