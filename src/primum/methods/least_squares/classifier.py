"""Supervised least-squares classification, the twin of ``ICLSClassifier``.

    minimise over w, b    (1/n) sum_i (w'x_i + b - y_i)^2 + alpha ||w||^2,      y in {0, 1}

K > 2 classes have one w and b each, fitted to the K columns of one-hot labels. If the optimum is
not unique, the w of minimum norm is taken (with the features centred).
"""

from collections.abc import Callable
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from primum._typing import AnyArray, Floats
from primum.equations import Linear
from primum.labellings import LabeledRows
from primum.methods.base import copy_feature_names
from primum.methods.least_squares.base import LeastSquaresBase, SupervisedLeastSquares
from primum.reading.data import TrainingData


class LeastSquaresClassifier(SupervisedLeastSquares, LeastSquaresBase):
    """Supervised least-squares classifier; unlabelled rows are ignored.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty: ``alpha * ||w||^2`` is added to the mean squared loss. The intercept is not
        penalised.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    rcond : float, default=None
        Drop directions of the features whose second moment is below rcond times the largest, a
        crude form of regularisation. None keeps every direction above rounding. The paper's
        experiments appear to have used 1.5e-8.
    n_jobs : int, default=None
        Number of threads that process blocks of rows; -1 means all processors. None means the
        number set by ``joblib.parallel_config``, and 1 inside a parallel joblib loop such as a grid
        search. Otherwise None means as many threads as scikit-learn's own multi-threaded
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

    _several_classes: ClassVar[bool] = True

    def _fit_data(self, data: TrainingData) -> None:
        self._fit_labeled(data.classes, data.labeled)

    def _fit_labeled(
        self,
        classes: AnyArray,
        labeled: LabeledRows,
        like: BaseEstimator | None = None,
        known: Linear | None = None,
    ) -> Self:
        """Fit to rows that are already validated, by the estimator ``like`` if it is given.

        ``known`` are the (coefficients, intercept) of the score, if they are known.
        """
        self._remember(classes, *self._fitted_to(labeled, known))
        if like is not None:
            copy_feature_names(like, self)
        return self

    def _refitter(
        self, X: Any, weight: Floats | None = None
    ) -> "Callable[[AnyArray, Floats], LeastSquaresClassifier]":
        """Return a function that cheaply refits to other labels of the same rows.

        Labels are numbers 0 and 1 for two classes, and one-hot rows for more.
        """
        fit = self._fitter(X, weight)

        def refit(classes: AnyArray, y: Floats) -> LeastSquaresClassifier:
            return self._remember(classes, *fit(y))

        return refit
