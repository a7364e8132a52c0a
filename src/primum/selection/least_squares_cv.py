"""Supervised least-squares classification, tuned: the twin of ``ICLSClassifierCV``."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from primum._threads import one_blas_thread
from primum._typing import Floats
from primum.estimators import LeastSquaresClassifier
from primum.selection._models import supervised_models
from primum.selection._tuned import (
    ALPHAS,
    FoldScores,
    FoldTask,
    Search,
    TunedLeastSquares,
    in_parallel,
    read_alphas,
)


class LeastSquaresClassifierCV(TunedLeastSquares):
    """Supervised least-squares classifier whose ridge penalty is chosen by cross-validation.

    Unlabelled rows are ignored. The folds are those of ``ICLSClassifierCV``, so that both can be
    compared on the same held-out rows.

    Parameters
    ----------
    alphas : array-like of float, default=(0.0001, 0.0003, 0.001, ..., 30, 100)
        The ridge penalties to choose from: ``alpha * ||w||^2`` is added to the mean squared loss.
    cv : int, splitter or iterable, default=5
        How to split the labelled rows: a number of stratified folds, a scikit-learn splitter,
        or pairs of indices of rows of X to train on and to hold out.
    scoring : str or callable, default=None
        A scikit-learn scorer, the higher the better. None means minus the Brier score of
        ``predict_proba``, which is the clipped score: the mean squared error of the probability of
        the second of two classes, or the sum of those of all classes if there are more.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
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
        The penalty with the highest mean score; of equal ones, the first.
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
    classes_, coef_, intercept_, solver_ : arrays and str
        Those of ``best_estimator_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if X had string column names.

    See Also
    --------
    ICLSClassifierCV : its semi-supervised counterpart.

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

    def __init__(
        self,
        alphas: Sequence[float] = ALPHAS,
        *,
        cv: Any = 5,
        scoring: Any = None,
        fit_intercept: bool = True,
        shuffle: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_grid(self) -> None:
        self._alphas = read_alphas(self.alphas)

    def _run(self, search: Search) -> list[FoldScores]:
        work = partial(
            _fold_scores,
            alphas=self._alphas,
            fit_intercept=self.fit_intercept,
            score=self._scoring_function(search.given, self._candidates()),
        )
        return in_parallel(work, search.tasks(with_unlabeled=False), self.n_jobs)

    def _candidates(self) -> list[LeastSquaresClassifier]:
        return [
            LeastSquaresClassifier(alpha, fit_intercept=self.fit_intercept)
            for alpha in self._alphas
        ]

    def _choose(self, results: list[FoldScores]) -> None:
        self._choose_from(np.stack([result.twins for result in results]))

    def _choose_from(self, scores: Floats) -> None:
        """Keep the scores (splits, alphas) and the best penalty."""
        self._keep_scores([{"alpha": alpha} for alpha in self._alphas], scores)
        self.alpha_ = self.best_params_["alpha"]

    def _fit_best(self, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any) -> None:
        best = LeastSquaresClassifier(
            self.alpha_, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs
        )
        self.best_estimator_ = best.fit(X, y, sample_weight=sample_weight)
        self._delegate(("classes_", "coef_", "intercept_", "solver_", "n_features_in_"))

    def _fit_from(self, scores: Floats, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit with the best of scores that are already computed."""
        self._check_grid()
        self._choose_from(scores)
        self._fit_best(X, y, None, sample_weight)
        self._delegate(("feature_names_in_",))
        return self


def _fold_scores(
    task: FoldTask, *, alphas: Sequence[float], fit_intercept: bool, score: Any
) -> FoldScores:
    with one_blas_thread():
        twins = list(supervised_models(task.training.labeled, alphas, fit_intercept))
    return FoldScores(np.zeros(0), score(twins, task.held_out))
