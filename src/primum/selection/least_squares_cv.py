"""Supervised least-squares classification, tuned: the twin of ``ICLSClassifierCV``."""

from typing import ClassVar

from primum.estimators import LeastSquaresClassifier
from primum.selection._tuned import TunedSupervised
from primum.selection._tuned_classifier import TunedClassifier


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

    _plain: ClassVar[type] = LeastSquaresClassifier
