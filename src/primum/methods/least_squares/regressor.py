"""Supervised least-squares regression, the twin of ``ICLSRegressor``.

    minimise over w, b    (1/n) sum_i (w'x_i + b - y_i)^2 + alpha ||w||^2

If the optimum is not unique, the w of minimum norm is taken (with the features centred).
"""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._sklearn import check_namespace
from primum._threads import one_blas_thread, using_threads
from primum._typing import Floats
from primum.methods.base import KnownTargetsScoreMixin, fitting
from primum.methods.least_squares.classifier import LinearEstimator, SupervisedLeastSquares
from primum.reading.data import read_regression_rows
from primum.solvers import fit_least_squares


class LeastSquaresRegressionBase(KnownTargetsScoreMixin, RegressorMixin, LinearEstimator):
    """Predictions ``X @ coef_ + intercept_`` of numbers, some of which are unknown in training."""

    _read = staticmethod(read_regression_rows)
    _device_attributes: ClassVar[tuple[str, ...]] = ("coef_", "targets_")
    coef_: Floats
    intercept_: float

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


class LeastSquaresRegressor(SupervisedLeastSquares, LeastSquaresRegressionBase):
    """Supervised linear regression by least squares; rows with unknown targets are ignored.

    It gives the same predictions as scikit-learn's ``Ridge(n * alpha)``, where n is the number of
    labelled rows, and accepts the same kinds of rows as ICLSRegressor.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty: ``alpha * ||w||^2`` is added to the mean squared loss. The intercept is not
        penalised.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    n_jobs : int, default=None
        Number of threads that process blocks of rows; -1 means all processors. None means the
        number set by ``joblib.parallel_config``, or 1 inside a parallel joblib loop such as a grid
        search. Otherwise it means as many threads as scikit-learn's own multi-threaded
        estimators use: all processors, unless ``OMP_NUM_THREADS`` says otherwise. It does not
        affect the result.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept; 0.0 if ``fit_intercept=False``.
    solver_ : {"normal_equations", "row_space", "conjugate_gradients"}
        How the least-squares problem was solved: by factorising the normal matrix, by factorising
        the rows (if there are fewer rows than columns) or iteratively (if there are many of both).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    ICLSRegressor : Its semi-supervised counterpart.
    LeastSquaresRegressorCV : Chooses the ridge by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import LeastSquaresRegressor
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([1.0, 3.0, 5.0, np.nan])
    >>> LeastSquaresRegressor().fit(X, y).predict([[3.0]]).round(6)
    array([7.])
    """

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
            data = read_regression_rows(self, X, y, X_unlabeled, sample_weight)
            scale = data.labels.scale(shifted=self.fit_intercept)
            labeled = replace(data.labeled, y=scale.standardised(data.labeled.y))
            with one_blas_thread(), using_threads(self.n_jobs):
                model, self.solver_ = fit_least_squares(
                    labeled, alpha=self.alpha, fit_intercept=self.fit_intercept
                )
            self._remember(*scale.restored_fit(*model))
            if data.home is not None:
                data.home.convert_attributes(self, self._device_attributes)
        return self
