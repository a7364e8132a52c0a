"""Implicitly constrained least squares with the ridge and the metric chosen by cross-validation.

Only labelled rows are held out, because only they can be scored; all unlabelled rows are in every
training set. The search gives the same choice and the same scores as a grid search over
``ICLSClassifier`` with these folds, but shares the work between the points of the grid
(``_models.py``).
"""

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import Interval
from primum._threads import one_blas_thread
from primum.estimators import ICLSClassifier, LeastSquaresClassifier
from primum.labellings import METRICS
from primum.selection._models import Grid, supervised_models
from primum.selection._tuned import (
    ALPHAS,
    FoldScores,
    FoldTask,
    Search,
    TunedLeastSquares,
    in_parallel,
    read_alphas,
    read_metrics,
    warn_if_unproven,
)
from primum.selection.least_squares_cv import LeastSquaresClassifierCV

DELEGATED = (
    "classes_",
    "coef_",
    "intercept_",
    "soft_labels_",
    "certificate_",
    "solver_",
    "n_iter_",
    "n_features_in_",
)


class ICLSClassifierCV(TunedLeastSquares):
    """Implicitly constrained least squares, with ridge and metric chosen by cross-validation.

    The labelled rows are split into folds. Every point of the grid is fitted to all unlabelled rows
    and to the labelled rows of all folds but one, and is scored on that one.

    Parameters
    ----------
    alphas : array-like of float, default=(0.0001, 0.0003, 0.001, ..., 30, 100)
        The ridge penalties to choose from, on the mean squared loss; 0 is possible.
    metrics : array-like of float or str, default=(0, 0.2, 0.5, 1)
        The metrics to choose from, as in ICLSClassifier: 0 is the labelled loss (the paper), 1 the
        second moment of all rows.
    alpha_labeled : float, default=None
        Ridge penalty of the labelled loss; None means that it equals alpha at every point.
    cv : int, splitter or iterable, default=5
        How to split the labelled rows: a number of stratified folds, a scikit-learn splitter,
        or pairs of indices of rows of X to train on and to hold out. Unlabelled rows are in every
        training set whether or not they are listed.
    scoring : str or callable, default=None
        A scikit-learn scorer, the higher the better. None means minus the Brier score of
        ``predict_proba``, which is the clipped score: the mean squared error of the probability of
        the second of two classes, or the sum of those of all classes if there are more.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float, default=1e-8
        Tolerance on the proven gap of every fit, as in ICLSClassifier.
    max_iter : int, default=10000
        Maximum number of solver iterations of every fit.
    shuffle : bool, default=False
        Whether to shuffle the labelled rows before splitting them; only with a number of folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling; ignored with ``shuffle=False``.
    n_jobs : int, default=None
        Number of folds that are computed at the same time; -1 means all processors, None means 1
        unless inside a ``joblib.parallel_config``. It does not affect the result.

    Attributes
    ----------
    alpha_ : float
        The penalty of the point with the highest mean score; of equal ones, the first.
    metric_ : float or str
        Its metric.
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
    classes_, coef_, intercept_, soft_labels_, certificate_, solver_, n_iter_ : arrays and others
        Those of ``best_estimator_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if X had string column names.

    See Also
    --------
    primum.report.plot_path : draws the scores over the grid.

    Notes
    -----
    The work is shared where rows are NumPy arrays or sparse matrices with at most a few thousand
    columns. With more columns than that, and with rows in files or on a cluster, the same models
    are computed with less or nothing in common: correct, but no faster than a grid search.

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
    >>> clf.best_score_ >= clf.supervised_.best_score_
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TunedLeastSquares._parameter_constraints,
        "metrics": ["array-like"],
        "alpha_labeled": [Interval(Real, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        alphas: Sequence[float] = ALPHAS,
        metrics: Sequence[str | float] = (0.0, 0.2, 0.5, 1.0),
        *,
        alpha_labeled: float | None = None,
        cv: Any = 5,
        scoring: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 10000,
        shuffle: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alphas = alphas
        self.metrics = metrics
        self.alpha_labeled = alpha_labeled
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_grid(self) -> None:
        self._grid = Grid(
            read_alphas(self.alphas),
            read_metrics(self.metrics, METRICS),
            self.fit_intercept,
            self.alpha_labeled,
            self.tol,
            self.max_iter,
        )

    @property
    def _points(self) -> list[dict[str, Any]]:
        grid = self._grid
        return [{"alpha": a, "metric": m} for a in grid.alphas for m in grid.metrics]

    def _candidate(self, **parameters: Any) -> ICLSClassifier:
        return ICLSClassifier(
            alpha_labeled=self.alpha_labeled,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            **parameters,
        )

    def _run(self, search: Search) -> list[FoldScores]:
        twins = [
            LeastSquaresClassifier(alpha, fit_intercept=self.fit_intercept)
            for alpha in self._grid.alphas
        ]
        candidates = [self._candidate(**point) for point in self._points]
        work = partial(
            _fold_scores,
            grid=self._grid,
            score=self._scoring_function(search.given, candidates),
            score_twins=self._scoring_function(search.given, twins),
        )
        results = in_parallel(work, search.tasks(with_unlabeled=True), self.n_jobs)
        warn_if_unproven(self, results, len(candidates))
        return results

    def _choose(self, results: list[FoldScores]) -> None:
        self._keep_scores(self._points, np.stack([result.points for result in results]))
        self.alpha_, self.metric_ = self.best_params_["alpha"], self.best_params_["metric"]
        self._twin_scores = np.stack([result.twins for result in results])

    def _fit_best(self, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any) -> None:
        best = self._candidate(**self.best_params_, n_jobs=self.n_jobs)
        self.best_estimator_ = best.fit(X, y, X_unlabeled, sample_weight=sample_weight)
        self._delegate(DELEGATED)
        shared = ("alphas", "cv", "scoring", "fit_intercept", "shuffle", "random_state", "n_jobs")
        twin = LeastSquaresClassifierCV(**{name: getattr(self, name) for name in shared})
        self.supervised_ = twin._fit_from(self._twin_scores, X, y, sample_weight)
        del self._twin_scores

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


def _fold_scores(task: FoldTask, *, grid: Grid, score: Any, score_twins: Any) -> FoldScores:
    """Return the scores of all points of the grid, and of the twins of all alphas."""
    training = task.training
    with one_blas_thread():
        tuned = list(supervised_models(training.labeled, grid.alphas, grid.fit_intercept))
        twins = tuned
        if grid.alpha_labeled is not None:
            fixed = supervised_models(training.labeled, [grid.alpha_labeled], grid.fit_intercept)
            twins = list(fixed) * len(grid.alphas)
        found = list(training.constrained_models(grid, twins))
    models, proven = zip(*found, strict=True)
    unproven = len(proven) - sum(proven)
    return FoldScores(score(models, task.held_out), score_twins(tuned, task.held_out), unproven)
