"""What the tuned estimators share: the search, its choice and the final fit.

``TunedSupervised`` chooses a ridge penalty, ``TunedImplicit`` a ridge penalty and a metric. They
are mixins of classifiers and of regressors, which say how ``fit`` reads its arguments, how models
are scored, and what an estimator remembers of a model.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.metrics import check_scoring
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from primum._sklearn import take_rows
from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray, Floats, Index
from primum.equations import Linear
from primum.labellings import METRICS, Shares
from primum.methods.base import AT_LEAST_ONE, N_JOBS, NOT_NEGATIVE, fitting
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.methods.least_squares.regressor import LeastSquaresRegressionBase
from primum.methods.least_squares.search import (
    FoldScores,
    Grid,
    Search,
    TrainingSet,
    brier_scores,
    check_scores,
    check_weights,
    in_parallel,
    read_alphas,
    read_metrics,
    results_table,
    score_grid,
    score_supervised,
    scorer_scores,
    squared_errors,
    warn_if_unproven,
)
from primum.reading.arrays import refuse_other_library
from primum.reading.data import FitArguments, read_arguments
from primum.reading.folds import read_folds
from primum.reading.labels import KnownLabels, read_labels
from primum.reading.targets import KnownTargets, read_targets

# Half a decade apart: for standardised features, from hardly any shrinking to nearly constant
# scores.
ALPHAS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
METRIC_GRID = (0.0, 0.2, 0.5, 1.0)


class Tuned:
    """An estimator whose parameters are chosen by cross-validation of the labelled rows."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": ["array-like"],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "fit_intercept": ["boolean"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }
    # The plain estimators that are compared, and the fitted attributes of the best one to have.
    _plain: ClassVar[Any]
    _supervised: ClassVar[Any]
    _delegated: ClassVar[tuple[str, ...]]
    # How models are scored if ``scoring`` is None.
    _default_score: ClassVar[Any]

    alphas: Sequence[float]
    cv: Any
    scoring: Any
    fit_intercept: bool
    shuffle: bool
    random_state: Any
    n_jobs: int | None
    best_estimator_: Any

    def _tune(
        self, given: FitArguments[Any], X: Any, sample_weight: Any, groups: Any
    ) -> list[FoldScores]:
        """Return the scores of every fold."""
        refuse_other_library(self, given.home)
        folds = read_folds(
            self.cv, given.labels, groups, shuffle=self.shuffle, seed=self.random_state
        )
        check_weights(given, folds, self.scoring is None)
        # A scorer may need the columns of a DataFrame.
        shown = X if hasattr(X, "columns") else given.X
        params = self._score_params(sample_weight)
        search = Search(
            given, folds, self.fit_intercept, shown, params, self._shares_of(given.labels)
        )
        with one_blas_thread(), using_threads(self.n_jobs):
            return self._run(search)

    def _shares_of(self, known: Any) -> Callable[[TrainingSet], Shares | None] | None:
        """Return how the bounds of a prior follow from a training set; None without a prior."""
        return None

    @abstractmethod
    def _run(self, search: Search) -> list[FoldScores]:
        """Return the scores of every fold."""

    @abstractmethod
    def _fit_best(
        self, results: Sequence[FoldScores], X: Any, y: Any, more: Any, weight: Any, **sets: Any
    ) -> Self:
        """Keep the scores, and fit with the best parameters to all rows."""

    def _keep_scores(self, params: Sequence[dict[str, Any]], scores: Floats) -> None:
        """Keep the table of scores (splits, points) and the first of the best points."""
        self.cv_results_ = results_table(params, scores)
        check_scores(type(self).__name__, self.cv_results_["mean_test_score"])
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = dict(params[self.best_index_])
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.n_splits_ = len(scores)

    def _keep_best(self, best: Any) -> None:
        """Have the fitted attributes of the best estimator."""
        self.best_estimator_ = best
        for name in (*self._delegated, "n_features_in_", "feature_names_in_"):
            if hasattr(best, name):
                setattr(self, name, getattr(best, name))

    def _score_of(self, given: FitArguments[Any], candidates: Sequence[Any]) -> Any:
        """Return the function that scores models, one for each candidate."""
        if self.scoring is None:
            return type(self)._default_score
        names = getattr(self, "feature_names_in_", None)
        make = partial(_fitted, candidates, type(self)._remembered, given.labels, names)
        return partial(scorer_scores, scorer=self._scorer_of(), fitted=make)

    @staticmethod
    @abstractmethod
    def _remembered(estimator: Any, known: Any, model: Linear) -> Any:
        """Return an estimator with the coefficients of a model."""

    def _score_params(self, sample_weight: Any) -> dict[str, Any]:
        """Return the metadata that the scorer has requested."""
        routing = get_config()["enable_metadata_routing"]
        if self.scoring is None or sample_weight is None or not routing:
            return {}
        return dict(process_routing(self, "fit", sample_weight=sample_weight).scorer.score)

    def _scorer_of(self) -> Any:
        return check_scoring(self, self.scoring)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of ``scoring`` over the rows whose label or target is known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels or targets; unknown ones are marked as in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. With metadata routing, a scorer receives it if it has requested it.

        Returns
        -------
        float
            The score; if ``scoring`` is None, the accuracy of a classifier and R^2 of a regressor.
        """
        if self.scoring is None:
            return float(super().score(X, y, sample_weight))  # type: ignore[misc]
        known, truth = type(self)._known_of(y)
        if len(known) < len(y):
            X = take_rows(X, known)
        params = {}
        if sample_weight is not None:
            params = {"sample_weight": take_rows(sample_weight, known)}
        if get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, "score", **params).scorer.score)
        return float(self._scorer_of()(self, X, truth, **params))

    @staticmethod
    @abstractmethod
    def _known_of(y: Any) -> tuple[Index, AnyArray]:
        """Return the rows whose label or target is known, and these labels or targets."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata ``fit`` and ``score`` accept, and what the scorer receives of it.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.scoring is not None:
            mapping = MethodMapping().add(caller="fit", callee="score")
            mapping.add(caller="score", callee="score")
            router.add(scorer=self._scorer_of(), method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.array_api_support = False
        return tags


class TunedSupervised(Tuned):
    """A supervised estimator whose ridge penalty is chosen by cross-validation."""

    _delegated: ClassVar[tuple[str, ...]] = ("classes_", "coef_", "intercept_", "solver_")

    def __init__(
        self,
        alphas: Sequence[float] = ALPHAS,
        *,
        cv: Any = None,
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

    def _run(self, search: Search) -> list[FoldScores]:
        alphas = read_alphas(self.alphas)
        candidates = [self._plain(alpha, fit_intercept=self.fit_intercept) for alpha in alphas]
        work = partial(
            score_supervised,
            alphas=alphas,
            fit_intercept=self.fit_intercept,
            score=self._score_of(search.given, candidates),
        )
        return in_parallel(work, search.tasks(with_unlabeled=False), self.n_jobs)

    def _fit_best(
        self, results: Sequence[FoldScores], X: Any, y: Any, more: Any, weight: Any, **sets: Any
    ) -> Self:
        """Fit with the best penalty to the labelled rows."""
        scores = np.stack([result.twins for result in results])
        self._keep_scores([{"alpha": alpha} for alpha in read_alphas(self.alphas)], scores)
        self.alpha_ = self.best_params_["alpha"]
        best = self._plain(self.alpha_, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs)
        self._keep_best(best.fit(X, y, sample_weight=weight))
        return self


class TunedImplicit(Tuned):
    """An implicitly constrained estimator, ridge and metric chosen by cross-validation."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Tuned._parameter_constraints,
        "metrics": ["array-like"],
        "alpha_labeled": [*NOT_NEGATIVE, None],
        "tol": NOT_NEGATIVE,
        "max_iter": AT_LEAST_ONE,
    }
    # Parameters of the plain estimator other than those of the grid, and the tuned twin.
    _passed_on: ClassVar[tuple[str, ...]] = ("alpha_labeled", "fit_intercept", "tol", "max_iter")
    _tuned_twin: ClassVar[Any]

    metrics: Sequence[str | float]
    alpha_labeled: float | None
    tol: float
    max_iter: int

    def _grid(self) -> Grid:
        return Grid(
            read_alphas(self.alphas),
            read_metrics(self.metrics, METRICS),
            self.fit_intercept,
            self.alpha_labeled,
            self.tol,
            self.max_iter,
        )

    def _candidate(self, **parameters: Any) -> Any:
        return self._plain(**{name: getattr(self, name) for name in self._passed_on}, **parameters)

    def _run(self, search: Search) -> list[FoldScores]:
        grid = self._grid()
        candidates = [self._candidate(**point) for point in grid.points]
        twins = [self._supervised(a, fit_intercept=grid.fit_intercept) for a in grid.alphas]
        work = partial(
            score_grid,
            grid=grid,
            score=self._score_of(search.given, candidates),
            score_twins=self._score_of(search.given, twins),
        )
        results = in_parallel(work, search.tasks(with_unlabeled=True), self.n_jobs)
        warn_if_unproven(self, results)
        return results

    def _fit_best(
        self,
        results: Sequence[FoldScores],
        X: Any,
        y: Any,
        more: Any,
        weight: Any,
        *,
        of_twin: tuple[Any, Any, Any] | None = None,
        **sets: Any,
    ) -> Self:
        """Fit with the best point of the grid, and the twin with its best penalty.

        ``of_twin`` are the (X, y, weight) that the twin is fitted to, if they are not the same.
        """
        points = np.stack([result.points for result in results])
        self._keep_scores(self._grid().points, points)
        self.alpha_ = self.best_params_["alpha"]
        best = self._candidate(**self.best_params_, n_jobs=self.n_jobs)
        self._keep_best(best.fit(X, y, more, sample_weight=weight, **sets))
        self.metric_ = best.metric_
        shared = ("alphas", "cv", "scoring", "fit_intercept", "shuffle", "random_state", "n_jobs")
        twin = self._tuned_twin(**{name: getattr(self, name) for name in shared})
        X, y, weight = (X, y, weight) if of_twin is None else of_twin
        self.supervised_ = twin._fit_best(results, X, y, None, weight)
        return self


def _fitted(
    candidates: Sequence[Any], remembered: Any, known: Any, names: Any, number: int, model: Linear
) -> Any:
    """Return a candidate with the coefficients of a model, as if it were fitted."""
    estimator = remembered(candidates[number], known, model)
    estimator.n_features_in_ = len(model[0])
    if names is not None:
        estimator.feature_names_in_ = names
    return estimator


class TunedClassifier(Tuned, LeastSquaresBase):
    """A least-squares classifier with parameters chosen by cross-validation."""

    _several_classes: ClassVar[bool] = True
    _default_score = staticmethod(brier_scores)

    def fit(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        sample_weight: Any = None,
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
            Further unlabelled rows, each of weight 1, which are in every training set. A Parquet
            file or folder, or a Dask array or DataFrame, is read in several passes for every fold
            and point of the grid: pass a sample of its rows if that takes too long.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X, in the fits and in the Brier score. A scorer receives it only
            if metadata routing is enabled and the scorer has requested it, as in GridSearchCV.
        groups : array-like of shape (n_samples,), default=None
            Group of each row of X, for splitters such as GroupKFold.

        Returns
        -------
        self
            The fitted estimator.
        """
        with fitting(self):
            given = read_arguments(self, X, y, X_unlabeled, sample_weight)
            results = self._tune(given, X, sample_weight, groups)
            self._fit_best(results, X, y, X_unlabeled, sample_weight)
        return self

    @staticmethod
    def _remembered(estimator: Any, known: KnownLabels, model: Linear) -> Any:
        return estimator._remember(known.classes, *model)

    @staticmethod
    def _known_of(y: Any) -> tuple[Index, AnyArray]:
        labels = read_labels(y, len(y), multi_class=True, one_class=True)
        return labels.labeled, labels.classes[labels.codes]


class TunedRegressor(Tuned, LeastSquaresRegressionBase):
    """A least-squares regressor with parameters chosen by cross-validation."""

    _default_score = staticmethod(squared_errors)

    @staticmethod
    def _remembered(estimator: Any, known: KnownTargets, model: Linear) -> Any:
        return estimator._remember(*model)

    @staticmethod
    def _known_of(y: Any) -> tuple[Index, AnyArray]:
        known = read_targets(y, len(y))
        return known.labeled, known.targets
