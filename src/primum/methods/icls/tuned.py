"""Implicitly constrained least squares with the ridge and the metric chosen by cross-validation.

Only labelled rows are held out, because only they can be scored; the unlabelled rows, or a sample
of many wide ones, are in every training set. Without a sample, the search gives the same choice and
the same scores as a grid search over ``ICLSClassifier`` or ``ICLSRegressor`` with these folds, but
shares the work between the points of the grid (``least_squares/grid_search.py``).
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from primum.methods.base import with_parameters
from primum.methods.icls.classifier import ICLSClassifier, WithPrior
from primum.methods.icls.regressor import ICLSRegressor
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.methods.least_squares.regressor import LeastSquaresRegressionBase
from primum.methods.least_squares.tuning import (
    METRIC_GRID,
    LeastSquaresClassifierCV,
    LeastSquaresRegressorCV,
    Tuned,
)


@with_parameters
class ICLSClassifierCV(WithPrior, Tuned, LeastSquaresBase):
    """Implicitly constrained least squares, with ridge and metric chosen by cross-validation.

    The labelled rows are split into folds. Every point of the grid is fitted to the unlabelled rows
    and to the labelled rows of all folds but one, and is scored on that one.

    Parameters
    ----------
    alphas : array-like of float, default=(0.0001, 0.0003, 0.001, ..., 30, 100)
        The ridge penalties to choose from, on the mean squared loss; 0 is possible.
    metrics : array-like of float or str, default=(0, 0.2, 0.5, 1)
        The metrics to choose from, as in ICLSClassifier: 0 is the labelled loss (the paper), 1 the
        second moment of all rows. ``"auto"`` is possible, too, and chooses anew in every training
        set, which has fewer labelled rows than the final fit. It is not in the default, which
        contains both metrics that it can choose.
    cv : int, splitter or iterable, default=None
        How to split the labelled rows: a number of stratified folds, a scikit-learn splitter,
        or pairs of indices of rows of X to train on and to hold out. Unlabelled rows are in every
        training set whether or not they are listed. None means 5 folds or, if the smallest class
        has fewer labelled rows, as many as it has, but at least 2.
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
    alpha_labeled : float, default=None
        Ridge penalty of the labelled loss; None means that it equals alpha at every point.
    tol : float, default=1e-8
        Tolerance on the proven gap of every fit, as in ICLSClassifier.
    max_iter : int, default=10000
        Maximum number of solver iterations of every fit.
    max_search_rows : int or None, default=500
        Number of unlabelled rows in the search if there are more than 1000 of them in memory, with
        more than 1000 columns, as texts have: a random sample, always the same. The final fit uses
        all rows. With None, the search uses them too.
    prior : None, dict, array-like or "confidence", default=None
        Prior knowledge of the share of each class among the unlabelled rows, as in ICLSClassifier.
        ``"confidence"`` computes the intervals from the labelled rows of each training set.
    prior_level : float, default=0.95
        Probability that the intervals of ``prior="confidence"`` contain all shares.

    Attributes
    ----------
    alpha_ : float
        The penalty of the point with the highest mean score; the first if several tie.
    metric_ : float or str
        Its metric; for "auto", the metric that it chose in the fit to all rows.
    best_score_ : float
        Its mean score over the folds.
    best_params_ : dict
        The same point, as parameters of ICLSClassifier.
    best_index_ : int
        Its position in ``cv_results_``.
    best_estimator_ : ICLSClassifier
        Fitted with these parameters to all rows.
    cv_results_ : dict of arrays
        Scores of all points of the grid, in the layout of GridSearchCV: ``params``,
        ``param_alpha``, ``param_metric``, ``split0_test_score``, ..., ``mean_test_score``,
        ``std_test_score`` and ``rank_test_score``.
    supervised_ : LeastSquaresClassifierCV
        The supervised twin, tuned on the same folds. That of the chosen alpha is
        ``best_estimator_.supervised_``.
    n_splits_ : int
        Number of folds.
    classes_, coef_, intercept_, soft_labels_, prior_, certificate_, solver_, n_iter_
        Those of ``best_estimator_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    ICLSClassifier : The classifier whose parameters are chosen.
    LeastSquaresClassifierCV : Its supervised twin.
    primum.pages.plot_path : Draws the scores over the grid.

    Notes
    -----
    The points of the grid share most of their work if the rows are NumPy arrays or sparse matrices
    with at most a few thousand columns or rows. With rows in files or on a cluster, the result is
    the same but the search is no faster than a grid search. With a prior, there are no warm starts
    from other points of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ICLSClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 20)) + 0.5 * truth[:, None]
    >>> y = np.where(rng.random(200) < 0.2, truth, -1)
    >>> clf = ICLSClassifierCV(alphas=(0.01, 0.1, 1.0), cv=3).fit(X, y)
    >>> clf.alpha_, clf.metric_
    (1.0, 0.0)
    >>> clf.best_score_ > clf.supervised_.best_score_  # here; on other data the twin can be better
    True
    """

    metrics: Sequence[str | float] = field(default=METRIC_GRID, kw_only=False)
    alpha_labeled: float | None = None
    tol: float = 1e-8
    max_iter: int = 10000
    max_search_rows: int | None = 500
    prior: Any = None
    prior_level: float = 0.95

    _plain: ClassVar[type[BaseEstimator]] = ICLSClassifier
    _tuned_twin: ClassVar[type[Tuned] | None] = LeastSquaresClassifierCV

    def fit(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        sample_weight: Any = None,
        possible: Any = None,
        label_bounds: Any = None,
        groups: Any = None,
    ) -> Self:
        """Choose the parameters by cross-validation, and fit with them to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Sparse rows are not densified as a whole.
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1 and of any class, which are in every training
            set. A Parquet file or folder, or a Dask array or DataFrame, is read in several passes
            for every fold and point of the grid: pass a sample of its rows if that takes too long.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X, in the fits and in the Brier score. A scorer receives it only
            if metadata routing is enabled and the scorer has requested it, as in GridSearchCV.
        possible : array-like of bool of shape (n_samples, n_classes), default=None
            Which classes each row of X may have, as in ICLSClassifier. A row with one possible
            class is a labelled row, which is held out by one of the folds like any other.
        label_bounds : array-like of shape (n_samples, 2), default=None
            For two classes, bounds on the soft label of each unlabelled row of X, as in
            ICLSClassifier.
        groups : array-like of shape (n_samples,), default=None
            Group of each row of X, for splitters such as GroupKFold.

        Returns
        -------
        self
            The fitted estimator.
        """
        sets = {"possible": possible, "label_bounds": label_bounds}
        return self._fit_to(X, y, X_unlabeled, sample_weight, groups, **sets)

    def soft_labels(self, X_unlabeled: Any) -> Any:
        """Return the soft labels of the rows that were passed to ``fit`` as X_unlabeled.

        Parameters
        ----------
        X_unlabeled : path or Dask collection
            The same rows, in the same order.

        Returns
        -------
        array of shape (n_more,) or (n_more, n_classes)
            Those of ``best_estimator_``.
        """
        check_is_fitted(self)
        return self.best_estimator_.soft_labels(X_unlabeled)


@with_parameters
class ICLSRegressorCV(Tuned, LeastSquaresRegressionBase):
    """ICLSRegressor, with the ridge and the metric chosen by cross-validation.

    The labelled rows are split into folds. Every point of the grid is fitted to the unlabelled rows
    and to the labelled rows of all folds but one, and is scored on that one. The result is that of
    a grid search over ICLSRegressor with these folds, but the points of the grid share most of the
    work.

    Parameters
    ----------
    alphas : array-like of float, default=(0.0001, 0.0003, 0.001, ..., 30, 100)
        The ridge penalties to choose from, on the mean squared loss; 0 is possible.
    metrics : array-like of float or str, default=(0, 0.2, 0.5, 1)
        The metrics to choose from, as in ICLSRegressor: 0 is the labelled loss, 1 the second moment
        of all rows.
    cv : int, splitter or iterable, default=None
        How to split the labelled rows: a number of folds of consecutive rows, a scikit-learn
        splitter, or pairs of indices of rows of X to train on and to hold out. Unlabelled rows are
        in every training set whether or not they are listed. None means 5 folds or, with fewer
        labelled rows, as many as there are, but at least 2.
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
    alpha_labeled : float, default=None
        Ridge penalty of the labelled loss; None means that it equals alpha at every point.
    tol : float, default=1e-8
        Tolerance on the proven gap of every fit, as in ICLSRegressor.
    max_iter : int, default=10000
        Maximum number of solver iterations of every fit.
    max_search_rows : int or None, default=500
        Number of unlabelled rows in the search if there are more than 1000 of them in memory, with
        more than 1000 columns, as texts have: a random sample, always the same. The final fit uses
        all rows. With None, the search uses them too.
    bounds : pair of float, default=None
        The range (low, high) of the target of every unlabelled row without bounds of its own, as in
        ICLSRegressor.

    Attributes
    ----------
    alpha_ : float
        The penalty of the point with the highest mean score; the first if several tie.
    metric_ : float or str
        Its metric; for "auto", the metric that it chose in the fit to all rows.
    best_score_ : float
        Its mean score over the folds.
    best_params_ : dict
        The same point, as parameters of ICLSRegressor.
    best_index_ : int
        Its position in ``cv_results_``.
    best_estimator_ : ICLSRegressor
        Fitted with these parameters to all rows.
    cv_results_ : dict of arrays
        Scores of all points of the grid, in the layout of GridSearchCV.
    supervised_ : LeastSquaresRegressorCV
        The supervised twin, tuned on the same folds. That of the chosen alpha is
        ``best_estimator_.supervised_``.
    n_splits_ : int
        Number of folds.
    coef_, intercept_, targets_, certificate_, solver_, n_iter_
        Those of ``best_estimator_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    ICLSRegressor : The regressor whose parameters are chosen.
    ICLSClassifierCV : The same for classes; its notes on speed apply.
    LeastSquaresRegressorCV : Its supervised twin.
    primum.pages.plot_path : Draws the scores over the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ICLSRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> truth = np.clip(50 + 20 * X[:, 0] + 20 * rng.normal(size=200), 0, 100)
    >>> y = np.where(np.arange(200) < 20, truth, np.nan)
    >>> reg = ICLSRegressorCV(alphas=(0.1, 1.0), metrics=(0.0, 1.0), bounds=(0, 100)).fit(X, y)
    >>> sorted(reg.best_params_)
    ['alpha', 'metric']
    """

    metrics: Sequence[str | float] = field(default=METRIC_GRID, kw_only=False)
    alpha_labeled: float | None = None
    tol: float = 1e-8
    max_iter: int = 10000
    max_search_rows: int | None = 500
    bounds: tuple[float, float] | None = None

    _plain: ClassVar[type[BaseEstimator]] = ICLSRegressor
    _tuned_twin: ClassVar[type[Tuned] | None] = LeastSquaresRegressorCV

    def fit(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        sample_weight: Any = None,
        target_bounds: Any = None,
        groups: Any = None,
    ) -> Self:
        """Choose the parameters by cross-validation, and fit with them to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Sparse rows are not densified as a whole.
        y : array-like of shape (n_samples,)
            Targets; NaN, None or pd.NA where the target is unknown. Every number is a target.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1 and with the common ``bounds``, which are in
            every training set. A Parquet file or folder, or a Dask array or DataFrame, is read in
            several passes for every fold and point of the grid.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X, in the fits and in the mean squared error. A scorer receives it
            only if metadata routing is enabled and the scorer has requested it.
        target_bounds : array-like of shape (n_samples, 2), default=None
            The lowest and the highest possible target of each row of X, as in ICLSRegressor. Those
            of labelled rows are only checked.
        groups : array-like of shape (n_samples,), default=None
            Group of each row of X, for splitters such as GroupKFold.

        Returns
        -------
        self
            The fitted estimator.
        """
        sets = {"target_bounds": target_bounds}
        return self._fit_to(X, y, X_unlabeled, sample_weight, groups, **sets)

    def targets(self, X_unlabeled: Any) -> Any:
        """Return the targets of the rows that were passed to ``fit`` as X_unlabeled.

        Parameters
        ----------
        X_unlabeled : path or Dask collection
            The same rows, in the same order.

        Returns
        -------
        array of shape (n_more,)
            Those of ``best_estimator_``.
        """
        check_is_fitted(self)
        return self.best_estimator_.targets(X_unlabeled)
