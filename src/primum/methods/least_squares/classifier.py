"""Supervised least-squares classification, the twin of ``ICLSClassifier``.

    minimise over w, b    (1/n) sum_i (w'x_i + b - y_i)^2 + alpha ||w||^2,      y in {0, 1}

K > 2 classes have one w and b each, fitted to the K columns of one-hot labels. If the optimum is
not unique, the w of minimum norm is taken (with the features centred).
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._sklearn import ARRAY_API, check_namespace
from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray, Floats
from primum.equations import Linear, equations_of
from primum.methods import base
from primum.reading.data import (
    ClassRows,
    TrainingRows,
    backend_of,
    open_outside,
    read_rows,
)
from primum.reading.labels import refuse_masked
from primum.rows import ArrayRows, Block, Rows, refuse_non_finite, to_numpy
from primum.solvers import fit_least_squares


class LinearEstimator(BaseEstimator):
    """A fitted linear map of rows that are in memory, in files, on a cluster or on a device."""

    alpha: float
    fit_intercept: bool
    n_jobs: int | None
    # How the arguments of ``fit`` are read.
    _read: Callable[..., TrainingRows]
    _ranges: ClassVar[dict[str, list[Any]]] = {"alpha": base.NOT_NEGATIVE}
    # Directions of the features whose second moment is below this fraction of the largest are
    # dropped; None: those of rounding.
    _rcond: float | None = None
    # Fitted attributes that are stored on the device of the rows.
    _device_attributes: ClassVar[tuple[str, ...]] = ()
    coef_: Any
    intercept_: Any

    @abstractmethod
    def _linear_map(self, coef: Any, intercept: Any) -> tuple[Any, Any]:
        """Return the (coefficients, intercept) that map rows, given the fitted ones."""

    @abstractmethod
    def _values_in_memory(self, X: Any) -> Any:
        """Return the values of rows in a NumPy array or a sparse matrix."""

    def _values(self, X: Any, method: str, n_values: int | None = None) -> Any:
        """Return ``X @ coef + intercept``, one or n_values numbers per row, for a public method."""
        refuse_masked(X, "X")
        if (rows := open_outside(self, X)) is not None:
            return self._apply(rows, self._block_values(), np.float64, n_values)
        home = backend_of(X)
        if home is None:
            return self._values_in_memory(X)
        check_namespace(self, X, method)
        rows = ArrayRows(validate_data(self, X, dtype=home.dtypes, reset=False))
        coef, intercept = self._linear_map(self.coef_, self.intercept_)
        xp = home.xp
        # Single precision is converted block by block: a full copy might not fit on the device.
        blocks = rows.map(lambda block: xp.astype(block.X, xp.float64) @ coef + intercept)
        return xp.concat(list(blocks), axis=0)

    def _block_values(self) -> Callable[[Block], Floats]:
        """Return a function that computes the values of blocks of rows outside memory."""
        coef, intercept = self._linear_map(to_numpy(self.coef_), to_numpy(self.intercept_))

        def values(block: Block) -> Floats:
            products = np.asarray(block.X @ coef + intercept)
            if not np.isfinite(products).all():
                refuse_non_finite(block)
            return products

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
    base.KnownLabelsScoreMixin,
    base.ClassPredictionMixin,
    ClassifierMixin,
    LinearEstimator,
):
    """Predictions from scores fitted by least squares to labels 0 and 1.

    Two classes have one score. The second class is predicted if it is at least 1/2.
    ``decision_function`` is the score minus 1/2, and ``intercept_`` the score's intercept minus
    1/2: as everywhere in scikit-learn, ``decision_function`` is ``X @ coef_.T + intercept_``, with
    its threshold at zero.

    K > 2 classes have one score each, fitted to one-hot labels, and ``decision_function`` returns
    the scores themselves. With an intercept they add up to 1. The class with the largest score is
    predicted, and the first of them if several are equal.
    """

    _read = staticmethod(read_rows)
    _device_attributes: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "soft_labels_")
    classes_: AnyArray
    coef_: Floats
    intercept_: Floats
    supervised_: BaseEstimator

    @base.documented_fit()
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:  # noqa: D102
        with base.fitting(self):
            data = read_rows(self, X, y, X_unlabeled, sample_weight)
            with one_blas_thread(), using_threads(self.n_jobs):
                # The supervised twin, and the model.
                twin = base.unfitted_like(self, LeastSquaresClassifier)
                model, twin.solver_ = fit_least_squares(
                    data.labeled,
                    alpha=self.alpha,
                    fit_intercept=self.fit_intercept,
                    rcond=self._rcond,
                )
                self.supervised_ = twin._remember(data.labels.classes, *model)
                self._fit_data(data, twin._score_parameters)
            if data.home is not None:
                data.home.convert_attributes(self, self._device_attributes)
                data.home.convert_attributes(twin, self._device_attributes)
        return self

    def _fit_data(self, data: ClassRows, twin: Linear) -> None:
        """Fit to labelled and unlabelled rows, given the model of the supervised twin."""
        raise NotImplementedError

    def _remember(self, classes: AnyArray, coef: Floats, intercept: Floats | float) -> Self:
        """Keep the coefficients (d,) or (d, K) of the scores, and their intercept."""
        self.classes_ = classes
        several = coef.ndim == 2
        self.coef_ = np.ascontiguousarray(coef.T) if several else coef[None, :]
        self.intercept_ = np.asarray(intercept) if several else np.array([intercept - 0.5])
        return self

    @property
    def _score_parameters(self) -> Linear:
        """Coefficients (d,) and intercept of the score, or (d, K) and (K,) for K > 2 classes."""
        if len(self.classes_) > 2:
            return self.coef_.T, self.intercept_
        return self.coef_[0], float(self.intercept_[0] + 0.5)

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of every row.

        For two classes it is the score minus 1/2: the second class is predicted if it is at
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

        For two classes it is the second if its score is at least 1/2; for more, the class with
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
        label = partial(base.predicted_classes, classes=self.classes_)
        return self._of_scores(X, "predict", label, self.classes_.dtype)

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
        n_classes = len(self.classes_)
        return self._of_scores(
            X, "predict_proba", base.nearest_probabilities, np.float64, n_classes
        )

    def _of_scores(
        self, X: Any, method: str, function: Callable[[Any], Any], dtype: Any, n_values: Any = None
    ) -> Any:
        """Return a function of the decision values, one or n_values numbers per row."""
        if (rows := open_outside(self, X)) is None:
            check_namespace(self, X, method)
            return function(self.decision_function(X))
        score = self._block_values()
        return self._apply(rows, lambda block: function(score(block)), dtype, n_values)

    def _linear_map(self, coef: Any, intercept: Any) -> tuple[Any, Any]:
        return (coef.T, intercept) if len(self.classes_) > 2 else (coef[0, :], intercept[0])


@base.with_parameters
class SupervisedLeastSquares(LinearEstimator):
    """Least squares on labelled rows, with a ridge on the mean loss."""

    alpha: float = field(default=0.0, kw_only=False)
    fit_intercept: bool = True
    n_jobs: int | None = None


class LeastSquaresClassifier(SupervisedLeastSquares, LeastSquaresBase):
    """Supervised least-squares classifier; unlabelled rows are ignored.

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
    classes_ : array of shape (n_classes,)
        The classes, sorted. The second of two is encoded as 1; more than two are encoded one-hot.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        Coefficients of the score of the second of two classes, or of every class.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercept of the decision function: for two classes the intercept of the score minus 1/2,
        for more the intercepts of the scores.
    solver_ : {"normal_equations", "row_space", "conjugate_gradients"}
        How the least-squares problem was solved: by factorising the normal matrix, by factorising
        the rows (if there are fewer rows than columns) or iteratively (if there are many of both).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    ICLSClassifier : Its semi-supervised counterpart.
    LeastSquaresClassifierCV : Chooses the ridge by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import LeastSquaresClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> LeastSquaresClassifier().fit(X, y).predict([[0.0], [3.0]])
    array([0, 1])
    """

    @base.documented_fit()
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:  # noqa: D102
        with base.fitting(self):
            data = read_rows(self, X, y, X_unlabeled, sample_weight)
            with one_blas_thread(), using_threads(self.n_jobs):
                model, self.solver_ = fit_least_squares(
                    data.labeled,
                    alpha=self.alpha,
                    fit_intercept=self.fit_intercept,
                    rcond=self._rcond,
                )
            self._remember(data.labels.classes, *model)
            if data.home is not None:
                data.home.convert_attributes(self, self._device_attributes)
        return self

    def _refitter(self, X: Any, weight: Floats | None = None) -> Callable[[AnyArray, Floats], Self]:
        """Return a function that cheaply refits to other labels of the same rows.

        Labels are numbers 0 and 1 for two classes, and one-hot rows for more.
        """
        rows = ArrayRows(X, weight=weight)
        with using_threads(self.n_jobs):
            equations = equations_of(
                [rows], alpha=self.alpha, fit_intercept=self.fit_intercept, rcond=self._rcond
            )
        design = equations.design(rows)
        gamma: Floats | None = None  # a warm start: other labels give a similar fit
        self.solver_ = equations.solver
        self.n_features_in_ = X.shape[1]

        def refit(classes: AnyArray, y: Floats) -> LeastSquaresClassifier:
            nonlocal gamma
            with using_threads(self.n_jobs):
                gamma = equations.solve(design.weighted_sum(y), gamma)
            return self._remember(classes, *equations.decode(gamma))

        return refit
