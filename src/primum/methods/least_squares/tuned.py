"""Supervised least squares, tuned: the twins of ``ICLSClassifierCV`` and ``ICLSRegressorCV``."""

from typing import Any, Self

from primum.methods.least_squares.tuning import TunedClassifier, TunedRegressor, TunedSupervised


class LeastSquaresClassifierCV(TunedSupervised, TunedClassifier):
    """Supervised least-squares classifier whose ridge penalty is chosen by cross-validation.

    Unlabelled rows are ignored. The folds are those of ``ICLSClassifierCV``, so that both can be
    compared on the same held-out rows.

    Parameters
    ----------
    alphas : array-like of float, default=(0.0001, 0.0003, 0.001, ..., 30, 100)
        The ridge penalties to choose from: ``alpha * ||w||^2`` is added to the mean squared loss.
    cv : int, splitter or iterable, default=None
        How to split the labelled rows: a number of stratified folds, a scikit-learn splitter,
        or pairs of indices of rows of X to train on and to hold out. None means 5 folds or, if the
        smallest class has fewer labelled rows, as many as it has, but at least 2.
    scoring : str or callable, default=None
        Name of a scikit-learn scorer, or a callable ``scorer(estimator, X, y)``; higher is better.
        None means minus the Brier score of ``predict_proba``: for two classes the mean squared
        error of the probability of the second, for more the sum over all classes. The method
        ``score`` also uses it and returns the accuracy if it is None.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    shuffle : bool, default=False
        Whether to shuffle the labelled rows before splitting them; only with a number of folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling; ignored with ``shuffle=False``.
    n_jobs : int, default=None
        Number of folds that are processed in parallel; -1 means all processors, None means 1
        unless inside a ``joblib.parallel_config``. It does not affect the result.

    Attributes
    ----------
    alpha_ : float
        The penalty with the highest mean score; the first of them if several tie.
    best_score_ : float
        Its mean score over the folds.
    best_params_ : dict
        The same penalty, as parameters of LeastSquaresClassifier.
    best_index_ : int
        Its position in ``cv_results_``.
    best_estimator_ : LeastSquaresClassifier
        Fitted with it to all labelled rows.
    cv_results_ : dict of arrays
        Scores of all penalties, in the layout of GridSearchCV.
    n_splits_ : int
        Number of folds.
    classes_, coef_, intercept_, solver_
        Those of ``best_estimator_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    ICLSClassifierCV : Its semi-supervised counterpart.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import LeastSquaresClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 30)) + 0.5 * y[:, None]
    >>> LeastSquaresClassifierCV(alphas=(0.01, 0.1, 1.0)).fit(X, y).alpha_
    1.0
    """


class LeastSquaresRegressorCV(TunedSupervised, TunedRegressor):
    """Supervised linear regression whose ridge penalty is chosen by cross-validation.

    Rows with unknown targets are ignored. The folds are those of ``ICLSRegressorCV``, so that both
    can be compared on the same held-out rows.

    Parameters
    ----------
    alphas : array-like of float, default=(0.0001, 0.0003, 0.001, ..., 30, 100)
        The ridge penalties to choose from: ``alpha * ||w||^2`` is added to the mean squared loss.
    cv : int, splitter or iterable, default=None
        How to split the labelled rows: a number of folds of consecutive rows, a scikit-learn
        splitter, or pairs of indices of rows of X to train on and to hold out. None means 5 folds
        or, with fewer labelled rows, as many as there are, but at least 2.
    scoring : str or callable, default=None
        Name of a scikit-learn scorer, or a callable ``scorer(estimator, X, y)``; higher is better.
        None means minus the mean squared error. The method ``score`` also uses it and returns R^2
        if it is None.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    shuffle : bool, default=False
        Whether to shuffle the labelled rows before splitting them; only with a number of folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling; ignored with ``shuffle=False``.
    n_jobs : int, default=None
        Number of folds that are processed in parallel; -1 means all processors, None means 1
        unless inside a ``joblib.parallel_config``. It does not affect the result.

    Attributes
    ----------
    alpha_ : float
        The penalty with the highest mean score; the first of them if several tie.
    best_score_ : float
        Its mean score over the folds.
    best_params_ : dict
        The same penalty, as parameters of LeastSquaresRegressor.
    best_index_ : int
        Its position in ``cv_results_``.
    best_estimator_ : LeastSquaresRegressor
        Fitted with it to all labelled rows.
    cv_results_ : dict of arrays
        Scores of all penalties, in the layout of GridSearchCV.
    n_splits_ : int
        Number of folds.
    coef_, intercept_, solver_
        Those of ``best_estimator_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    ICLSRegressorCV : Its semi-supervised counterpart.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import LeastSquaresRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 30))
    >>> y = X[:, 0] + rng.normal(size=40)
    >>> LeastSquaresRegressorCV(alphas=(0.01, 0.1, 1.0)).fit(X, y).alpha_
    0.1
    """

    def fit(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Choose the penalty by cross-validation, and fit with it to all labelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Sparse rows are not densified as a whole.
        y : array-like of shape (n_samples,)
            Targets; NaN, None or pd.NA where the target is unknown. Every number is a target.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, which are validated and ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X, in the fits and in the mean squared error. A scorer receives it
            only if metadata routing is enabled and the scorer has requested it.
        groups : array-like of shape (n_samples,), default=None
            Group of each row of X, for splitters such as GroupKFold.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit_to(X, y, X_unlabeled, sample_weight, groups)
