"""The common base of the linear least-squares classifiers: ``fit`` and predictions."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import check_namespace
from primum._typing import AnyArray, Floats
from primum.estimators._base import LinearEstimator
from primum.estimators._data import TrainingData, open_outside, read_training_data
from primum.estimators._fitting import documented_fit, fitting
from primum.estimators._scoring import (
    ClassPredictionMixin,
    KnownLabelsScoreMixin,
    nearest_probabilities,
    predicted_classes,
)
from primum.rows import Block


class LeastSquaresBase(
    KnownLabelsScoreMixin, ClassPredictionMixin, ClassifierMixin, LinearEstimator
):
    """Predictions from scores fitted by least squares to labels 0 and 1.

    Two classes have one score. The second class is predicted where it is at least 1/2.
    ``decision_function`` is the score minus 1/2, and ``intercept_`` the score's intercept minus
    1/2, so that as everywhere in scikit-learn ``decision_function`` is ``X @ coef_.T + intercept_``
    with its threshold at zero.

    K > 2 classes have one score each, fitted to one-hot labels, and ``decision_function`` returns
    the scores themselves. With an intercept they add up to 1. The class with the largest score is
    predicted, and the first of them if several are equal.
    """

    # Whether the estimator can be fitted to more than two classes.
    _several_classes: ClassVar[bool] = False
    _device_attributes: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "soft_labels_")
    classes_: AnyArray
    coef_: Floats
    intercept_: Floats

    @documented_fit()
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:
        with self._fitting_to(X, y, X_unlabeled, sample_weight) as data:
            self._fit_data(data)
        return self

    @contextmanager
    def _fitting_to(self, *arguments: Any, **partial: Any) -> Iterator[TrainingData]:
        """Provide the validated arguments of ``fit``, and what surrounds fitting to them."""
        with fitting(self):
            data = read_training_data(self, *arguments, **partial)
            with self._computing(data.home):
                yield data

    @abstractmethod
    def _fit_data(self, data: TrainingData) -> None:
        """Fit to validated data."""

    def _remember(self, classes: AnyArray, coef: Floats, intercept: Floats | float) -> Self:
        """Keep the coefficients (d,) or (d, K) of the scores, and their intercept."""
        self.classes_ = classes
        several = coef.ndim == 2
        self.coef_ = np.ascontiguousarray(coef.T) if several else coef[None, :]
        self.intercept_ = np.asarray(intercept) if several else np.array([intercept - 0.5])
        return self

    @property
    def _score_parameters(self) -> tuple[Floats, Any]:
        """Coefficients (d,) and intercept of the score, or (d, K) and (K,) for K > 2 classes."""
        if len(self.classes_) > 2:
            return self.coef_.T, self.intercept_
        return self.coef_[0], float(self.intercept_[0] + 0.5)

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of every row.

        For two classes it is the score minus 1/2: the second class is predicted where it is at
        least 0. For more it is the score of every class: the class with the largest is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Dask collection
            Rows to score: an array, a Parquet file or folder, or a Dask array or DataFrame.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            A lazy Dask array if the rows are a Dask collection.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        return self._values(X, "decision_function", n_classes if n_classes > 2 else None)

    def _values_in_memory(self, X: Any) -> Any:
        return super().decision_function(X)

    def predict(self, X: Any) -> Any:
        """Return the predicted class of every row.

        For two classes it is the second where its score is at least 1/2; for more, the class with
        the largest score, and the first of them if several are equal.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Dask collection
            Rows, as in ``decision_function``.

        Returns
        -------
        array of shape (n_samples,)
            A lazy Dask array if the rows are a Dask collection.
        """
        check_is_fitted(self)
        if (rows := open_outside(self, X)) is None:
            check_namespace(self, X, "predict")
            return super().predict(X)
        score, classes = self._block_values(), self.classes_

        def predict(block: Block) -> AnyArray:
            return predicted_classes(score(block), classes)

        return self._apply(rows, predict, classes.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities nearest to the scores, which are not calibrated.

        For two classes they are the score clipped to [0, 1], and 1 minus it; for more, the point of
        the probability simplex at the least Euclidean distance from the scores. They agree with
        ``predict`` (with two classes, ties at 1/2 go to the second), but least squares does not
        model probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Dask collection
            Rows, as in ``decision_function``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``. A lazy Dask array if the rows are a
            Dask collection.
        """
        check_is_fitted(self)
        if (rows := open_outside(self, X)) is None:
            check_namespace(self, X, "predict_proba")
            return nearest_probabilities(self.decision_function(X))
        score, n_classes = self._block_values(), len(self.classes_)
        return self._apply(
            rows, lambda block: nearest_probabilities(score(block)), np.float64, n_classes
        )

    def _linear_map(self, coef: Any, intercept: Any) -> tuple[Any, Any]:
        return (coef.T, intercept) if len(self.classes_) > 2 else (coef[0, :], intercept[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._several_classes
        return tags
