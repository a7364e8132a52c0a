"""The common base of the linear least-squares classifiers: ``fit`` and predictions.

What the linear estimators share: rows of any kind, threads and devices.

The common base of the linear least-squares regressors: ``fit``, predictions and ``score``.

What the supervised least-squares estimators share: their parameters and their fit.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._sklearn import ARRAY_API, Interval, check_namespace, check_sample_weight
from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray, Floats
from primum.equations import Linear, equations_of
from primum.labellings import LabeledRows
from primum.methods.base import (
    ClassPredictionMixin,
    KnownLabelsScoreMixin,
    documented_fit,
    fitting,
    nearest_probabilities,
    predicted_classes,
)
from primum.reading.arrays import ArrayBackend, backend_of, on_this_machine, refuse_masked
from primum.reading.data import TrainingData, open_outside, read_regression_data, read_training_data
from primum.reading.targets import KnownTargets, read_targets
from primum.rows import ArrayRows, Block, Rows, refuse_non_finite, to_numpy

# Valid values of the parameter n_jobs.
N_JOBS = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]


class LinearEstimator(BaseEstimator):
    """A fitted linear map of rows that are in memory, in files, on a cluster or on a device."""

    # Fitted attributes that are stored on the device of the rows.
    _device_attributes: ClassVar[tuple[str, ...]] = ()
    n_jobs: int | None
    coef_: Any
    intercept_: Any

    @contextmanager
    def _computing(self, home: ArrayBackend | None) -> Iterator[None]:
        """Limit the threads during a fit, and move its result to the device of the rows."""
        with one_blas_thread(), using_threads(self.n_jobs):
            yield
        if home is not None:
            home.convert_attributes(self, self._device_attributes)
            if hasattr(self, "supervised_"):
                home.convert_attributes(self.supervised_, self._device_attributes)

    @abstractmethod
    def _linear_map(self, coef: Any, intercept: Any) -> tuple[Any, Any]:
        """Return (coefficients, intercept) by which rows are mapped, given the fitted ones."""

    @abstractmethod
    def _values_in_memory(self, X: Any) -> Any:
        """Return the values of rows in a NumPy array or a sparse matrix."""

    def _values(self, X: Any, method: str, n_values: int | None = None) -> Any:
        """Return ``X @ coef + intercept``, one or n_values numbers per row, for a public method."""
        refuse_masked(X, "X")
        if (rows := open_outside(self, X)) is not None:
            return self._apply(rows, self._block_values(), np.float64, n_values)
        home = backend_of(X)
        return self._values_in_memory(X) if home is None else self._values_there(X, home, method)

    def _values_there(self, X: Any, home: ArrayBackend, method: str) -> Any:
        """Return the values of an array of another library, in double precision."""
        check_namespace(self, X, method)
        rows = ArrayRows(validate_data(self, X, dtype=home.dtypes, reset=False))
        xp, (coef, intercept) = home.xp, self._linear_map(self.coef_, self.intercept_)
        # Single precision is converted block by block: a full copy might not fit on the device.
        blocks = rows.map(lambda block: xp.astype(block.X, xp.float64) @ coef + intercept)
        return xp.concat(list(blocks), axis=0)

    def _block_values(self) -> Callable[[Block], Floats]:
        """Return a function that computes the values of blocks of rows outside memory."""
        coef, intercept = self._linear_map(to_numpy(self.coef_), to_numpy(self.intercept_))

        def values(block: Block) -> Floats:
            found = np.asarray(block.X @ coef + intercept)
            if not np.isfinite(found).all():
                refuse_non_finite(block)
            return found

        return values

    def _apply(
        self, rows: Rows, kernel: Callable[[Block], Any], dtype: Any, n_values: int | None = None
    ) -> Any:
        """Return ``kernel(block)``, one or n_values numbers per row, on the device of the rows."""
        with using_threads(self.n_jobs):
            values = rows.apply(kernel, dtype, n_values)
        home = backend_of(rows.array) if isinstance(rows, ArrayRows) else None
        return values if home is None else home.xp.asarray(values, device=home.device)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = ARRAY_API
        return tags


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
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:  # noqa: D102
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


class SupervisedLeastSquares:
    """A mixin: least squares on labelled rows, with a ridge on the mean loss."""

    solver_: str
    n_jobs: int | None
    n_features_in_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "rcond": [Interval(Real, 0, 1, closed="left"), None],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        fit_intercept: bool = True,
        rcond: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.rcond = rcond
        self.n_jobs = n_jobs

    def _fitted_to(self, labeled: LabeledRows, known: Linear | None) -> Linear:
        """Fit to rows, or take a fit that is known, and return its (coefficients, intercept)."""
        if known is None:
            return self._fitter(labeled.X, labeled.weight)(labeled.y)
        # A known fit is of more rows than columns, for which _fitter solves normal equations, too.
        self.solver_, self.n_features_in_ = "normal_equations", labeled.X.shape[1]
        return known

    def _fitter(
        self, X: Any, weight: Floats | None = None
    ) -> Callable[[Floats], tuple[Floats, Any]]:
        """Return a function from labels of the rows to the (coefficients, intercept) of their fit.

        Calling it again for other labels is cheap.
        """
        rows = ArrayRows(X, weight=weight)
        with using_threads(self.n_jobs):
            equations = equations_of(
                [rows], alpha=self.alpha, fit_intercept=self.fit_intercept, rcond=self.rcond
            )
        design = equations.design(rows)
        last: list[Floats | None] = [None]  # warm start: other labels give a similar fit

        def fit(y: Floats) -> tuple[Floats, Any]:
            with using_threads(self.n_jobs):
                last[0] = gamma = equations.solve(design.weighted_sum(y), last[0])
            return equations.decode(gamma)

        self.solver_ = equations.solver
        self.n_features_in_ = X.shape[1]
        return fit
