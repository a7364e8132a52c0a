"""What all linear least-squares classifiers have in common once they are fitted."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils import Tags

from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats
from primum.estimators._data import TrainingData, read_training_data
from primum.estimators._scoring import KnownLabelsScoreMixin


class LeastSquaresBase(
    KnownLabelsScoreMixin, LinearClassifierMixin, ClassifierMixin, BaseEstimator
):
    """Predictions from a score fitted by least squares to labels 0 and 1.

    The second class is predicted where the score is above 1/2. So that ``decision_function`` is
    ``X @ coef_.T + intercept_`` with its threshold at zero, as everywhere in scikit-learn, it is
    the score minus 1/2, and ``intercept_`` is the score's intercept minus 1/2.
    """

    classes_: AnyArray
    coef_: Floats
    intercept_: Floats

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels of two classes; -1 (integers) or None, NaN, pd.NA (any other type) where
            the label is unknown.
        X_unlabeled : array-like of shape (n_more, n_features), default=None
            Further unlabelled rows, of weight 1 each. A pipeline does not transform them: in a
            pipeline, mark unlabelled rows in y instead.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row of X counts.

        Returns
        -------
        self
            This estimator, fitted.
        """
        data = read_training_data(self, X, y, X_unlabeled, sample_weight)
        with one_blas_thread():
            self._fit_data(data)
        return self

    @abstractmethod
    def _fit_data(self, data: TrainingData) -> None:
        """Fit to rows that were checked and sorted."""

    def _remember(self, classes: AnyArray, coef: Floats, intercept: float) -> Self:
        self.classes_ = classes
        self.coef_ = coef[None, :]
        self.intercept_ = np.array([intercept - 0.5])
        return self

    @property
    def _score_parameters(self) -> tuple[Floats, float]:
        """Coefficients and intercept of the score."""
        return self.coef_[0], float(self.intercept_[0] + 0.5)

    def predict_proba(self, X: Any) -> Floats:
        """Return the scores, clipped to [0, 1], as if they were class probabilities.

        They add up to 1 and agree with ``predict``, but they are not calibrated: least squares
        does not model probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        array of shape (n_samples, 2)
            One column per class, in the order of ``classes_``.
        """
        second = np.clip(self.decision_function(X) + 0.5, 0.0, 1.0)
        return np.column_stack([1.0 - second, second])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = False
        return tags
