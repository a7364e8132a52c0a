"""Accuracy over the rows whose label is known."""

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score

from primum._sklearn import check_sample_weight
from primum.estimators._labels import read_labels


class KnownLabelsScoreMixin:
    """A ``score`` that leaves out rows with unknown labels.

    Counted as errors, they would make every partly labelled test fold look bad.
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy over the rows whose label is known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, unknown ones marked as in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            The share of correct predictions.
        """
        predicted = np.asarray(self.predict(X))  # type: ignore[attr-defined]
        labels = read_labels(y, len(predicted), multi_class=True, one_class=True)
        known, truth = labels.labeled, labels.classes[labels.codes]
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, predicted)[known]
        return float(
            accuracy_score(truth, np.asarray(predicted)[known], sample_weight=sample_weight)
        )
