"""The common base of the linear least-squares regressors: ``fit``, predictions and ``score``."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._sklearn import check_namespace, check_sample_weight
from primum._typing import Floats
from primum.estimators._backend import on_this_machine
from primum.estimators._base import LinearEstimator
from primum.estimators._checks import refuse_masked
from primum.estimators._data import TrainingData, read_regression_data
from primum.estimators._fitting import fitting
from primum.estimators._targets import KnownTargets, read_targets


class LeastSquaresRegressionBase(RegressorMixin, LinearEstimator):
    """Predictions ``X @ coef_ + intercept_`` of numbers, some of which are unknown in training."""

    _device_attributes: ClassVar[tuple[str, ...]] = ("coef_", "targets_")
    coef_: Floats
    intercept_: float

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit to the rows whose target is known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Sparse rows are not densified as a whole.
        y : array-like of shape (n_samples,)
            Targets; NaN, None or pd.NA where the target is unknown. Every number, including -1, is
            a target.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, which are validated and ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X in the loss: an integer weight counts a row that many times.

        Returns
        -------
        self
            The fitted estimator.
        """
        with fitting(self):
            data = read_regression_data(self, X, y, X_unlabeled, sample_weight)
            with self._computing(data.home):
                self._fit_data(data)
        return self

    @abstractmethod
    def _fit_data(self, data: TrainingData[KnownTargets]) -> None:
        """Fit to validated data."""

    def _remember(self, coef: Floats, intercept: float) -> Self:
        """Keep the coefficients (d,) and the intercept of the predictions."""
        self.coef_, self.intercept_ = coef, intercept
        return self

    def predict(self, X: Any) -> Any:
        """Return the predicted target of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Dask collection
            Rows: an array, a Parquet file or folder, or a Dask array or DataFrame.

        Returns
        -------
        array of shape (n_samples,)
            The predictions, which are not restricted to any bounds. A lazy Dask array if the rows
            are a Dask collection.
        """
        check_is_fitted(self)
        return self._values(X, "predict")

    def _values_in_memory(self, X: Any) -> Floats:
        check_namespace(self, X, "predict")
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return np.asarray(X @ self.coef_ + self.intercept_)

    def _linear_map(self, coef: Any, intercept: Any) -> tuple[Any, Any]:
        return coef, intercept

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, the coefficient of determination, over the rows whose target is known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets; unknown ones are marked as in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            1 for perfect predictions, 0 for predictions as good as the mean of the targets.
        """
        predicted = np.asarray(on_this_machine(self.predict(X)))
        known = read_targets(on_this_machine(y), len(predicted))
        if sample_weight is not None:
            refuse_masked(sample_weight, "sample_weight")
            weight = check_sample_weight(on_this_machine(sample_weight), predicted)
            sample_weight = weight[known.labeled]
        truth, predicted = known.targets, predicted[known.labeled]
        return float(r2_score(truth, predicted, sample_weight=sample_weight))
