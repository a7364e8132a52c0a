"""Supervised least-squares regression, the twin of ``ICLSRegressor``.

    minimise over w, b    (1/n) sum_i (w'x_i + b - y_i)^2 + alpha ||w||^2

If the optimum is not unique, the w of minimum norm is taken (with the features centred).
"""

from dataclasses import replace

from sklearn.base import BaseEstimator

from primum.equations import Linear
from primum.labellings import LabeledRows
from primum.methods.base import copy_feature_names
from primum.methods.least_squares.base import LeastSquaresRegressionBase, SupervisedLeastSquares
from primum.reading.data import TrainingData
from primum.reading.targets import KnownTargets, TargetScale


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
    rcond : float, default=None
        Drop directions of the features whose second moment is below rcond times the largest, a
        crude form of regularisation. None keeps every direction above rounding.
    n_jobs : int, default=None
        Number of threads that process blocks of rows; -1 means all processors. None means the
        number set by ``joblib.parallel_config``, and 1 inside a parallel joblib loop such as a grid
        search. Otherwise None means as many threads as scikit-learn's own multi-threaded
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

    def _fit_data(self, data: TrainingData[KnownTargets]) -> None:
        scale = data.known.scale(shifted=self.fit_intercept)
        self._fit_labeled(replace(data.labeled, y=scale.standardised(data.labeled.y)), scale)

    def _fit_labeled(
        self,
        labeled: LabeledRows,
        scale: TargetScale,
        like: BaseEstimator | None = None,
        known: Linear | None = None,
    ) -> Linear:
        """Fit to rows that are already validated, by the estimator ``like`` if it is given.

        Their targets, and the (coefficients, intercept) that are returned, are on the scale.
        ``known`` are the latter, if they are known.
        """
        fit = self._fitted_to(labeled, known)
        self._remember(*scale.restored_fit(*fit))
        if like is not None:
            copy_feature_names(like, self)
        return fit
