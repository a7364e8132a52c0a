"""What the tuned estimators share: reading, folds, scoring, the choice and the final fit."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from primum._sklearn import take_rows
from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray, Floats, Index
from primum.equations import Moments, gather_moments
from primum.estimators._data import FitArguments, read_arguments, refuse_other_library
from primum.estimators._fitting import fitting
from primum.estimators._linear import N_JOBS, LeastSquaresBase
from primum.labellings import LabeledRows
from primum.rows import ArrayRows, Rows, chain
from primum.selection._folds import Fold, read_folds
from primum.selection._models import Model, TrainingSet
from primum.selection._scores import HeldOutRows, brier_scores, results_table, scorer_scores

# Half a decade apart: for standardised features, from hardly any shrinking to nearly constant
# scores.
ALPHAS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True)
class FoldTask:
    """One training set and the rows held out of it."""

    training: TrainingSet
    held_out: HeldOutRows


@dataclass(frozen=True)
class FoldScores:
    """Scores of all points of the grid and of the supervised models of all alphas.

    ``unproven`` is the number of models that are not proven to be within the tolerance.
    """

    points: Floats
    twins: Floats
    unproven: int = 0


@dataclass(frozen=True)
class Search:
    """The validated arguments of a search.

    ``shown`` are the rows of X as scorers see them, and ``score_params`` what these requested.
    """

    given: FitArguments
    folds: Sequence[Fold]
    shown: Any
    score_params: dict[str, Any]

    def tasks(self, *, with_unlabeled: bool) -> list[FoldTask]:
        """Return the folds as tasks; the moments of the unlabelled rows are gathered once."""
        given = self.given
        unknown = given.labels.unlabeled[given.unknown] if with_unlabeled else np.zeros(0, np.intp)
        # Consecutive in memory: they are read many times.
        of_X = ArrayRows(ArrayRows(given.X).take(unknown).X, weight=given.weight_of(unknown))
        unlabeled = chain([of_X, given.more]) if with_unlabeled else of_X
        moments = gather_moments([unlabeled]) if unlabeled.n_rows and unlabeled.dense else None
        return [self._task(fold, unlabeled, moments) for fold in self.folds]

    def _task(self, fold: Fold, unlabeled: Rows, moments: Moments | None) -> FoldTask:
        labels = self.given.labels
        rows = labels.labeled[fold.test]
        params = {name: take_rows(values, rows) for name, values in self.score_params.items()}
        labeled, test = self._labeled(fold.train, present=True), self._labeled(fold.test)
        held_out = HeldOutRows(
            test.X,
            test.y,
            test.weight,
            (take_rows(self.shown, rows), labels.classes[labels.codes[fold.test]]),
            params,
        )
        return FoldTask(TrainingSet(labeled, unlabeled, moments), held_out)

    def _labeled(self, positions: Index, *, present: bool = False) -> LabeledRows:
        """Return some of the labelled rows; if ``present``, only those that have weight."""
        given = self.given
        if present:
            positions = positions[np.isin(positions, given.known)]
        rows = given.labels.labeled[positions]
        targets = given.labels.targets[positions]
        return LabeledRows(ArrayRows(given.X).take(rows).X, targets, given.weight_of(rows))


class TunedLeastSquares(LeastSquaresBase):
    """A least-squares classifier with parameters chosen by cross-validation."""

    _several_classes: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": ["array-like"],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "fit_intercept": ["boolean"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }
    alphas: Sequence[float]
    cv: Any
    scoring: Any
    fit_intercept: bool
    shuffle: bool
    random_state: Any

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
            Rows. Sparse rows are never densified.
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1: an array, a Parquet file or folder, or a
            Dask array or DataFrame. They are in every training set. Rows in files and on a cluster
            are read in several passes for every fold and every point of the grid: choose on a
            sample of them if that takes too long.
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
            refuse_other_library(self, given.home)
            self._check_grid()
            search = self._read_search(given, X, sample_weight, groups)
            with one_blas_thread(), using_threads(self.n_jobs):
                results = self._run(search)
            self._choose(results)
            self._fit_best(X, y, X_unlabeled, sample_weight)
        return self

    def _read_search(self, given: FitArguments, X: Any, sample_weight: Any, groups: Any) -> Search:
        folds = read_folds(
            self.cv, given.labels, groups, shuffle=self.shuffle, random_state=self.random_state
        )
        _check_weights(given, folds, self.scoring is None)
        # A scorer may need the columns of a DataFrame.
        shown = X if hasattr(X, "columns") else given.X
        return Search(given, folds, shown, self._score_params(sample_weight))

    def _score_params(self, sample_weight: Any) -> dict[str, Any]:
        """Return the metadata that the scorer has requested."""
        routing = get_config()["enable_metadata_routing"]
        if self.scoring is None or sample_weight is None or not routing:
            return {}
        routed = process_routing(self, "fit", sample_weight=sample_weight)
        return dict(routed.scorer.score)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata ``fit`` accepts, and which of it the scorer receives.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.scoring is not None:
            mapping = MethodMapping().add(caller="fit", callee="score")
            router.add(scorer=self._scorer_of(), method_mapping=mapping)
        return router

    def _scorer_of(self) -> Any:
        return check_scoring(self, self.scoring)

    @abstractmethod
    def _check_grid(self) -> None:
        """Raise an error if the grid is not one."""

    @abstractmethod
    def _run(self, search: Search) -> list[FoldScores]:
        """Return the scores of every fold."""

    @abstractmethod
    def _choose(self, results: list[FoldScores]) -> None:
        """Keep the scores and the best parameters."""

    @abstractmethod
    def _fit_best(self, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any) -> None:
        """Fit with the best parameters to all rows."""

    def _keep_scores(self, params: Sequence[dict[str, Any]], scores: Floats) -> None:
        """Keep the table of scores and the first of the best points."""
        self.cv_results_ = results_table(params, scores)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = dict(params[self.best_index_])
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.n_splits_ = len(scores)

    def _delegate(self, names: Sequence[str]) -> None:
        """Have the fitted attributes of the best estimator."""
        for name in names:
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    best_estimator_: Any

    def _scoring_function(self, given: FitArguments, candidates: Sequence[Any]) -> Any:
        """Return the function that scores models, one for each of some estimators."""
        if self.scoring is None:
            return brier_scores
        names = getattr(self, "feature_names_in_", None)
        fitted = partial(_fitted, candidates, given.labels.classes, names)
        return partial(scorer_scores, scorer=self._scorer_of(), fitted=fitted)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags


def in_parallel(work: Any, tasks: Sequence[FoldTask], n_jobs: int | None) -> list[FoldScores]:
    """Return ``work(task)`` of every fold, in order."""
    in_memory = tasks[0].training.unlabeled.in_memory
    return list(
        Parallel(n_jobs=n_jobs, prefer=None if in_memory else "threads")(
            delayed(work)(task) for task in tasks
        )
    )


def _fitted(
    candidates: Sequence[Any], classes: AnyArray, names: Any, number: int, model: Model
) -> Any:
    """Return an estimator with the coefficients of a model."""
    estimator = candidates[number]._remember(classes, *model)
    estimator.n_features_in_ = len(model[0])
    if names is not None:
        estimator.feature_names_in_ = names
    return estimator


def read_alphas(alphas: Any) -> list[float]:
    """Return ridge penalties, or raise an error that names the one that is not."""
    values = _read_grid(alphas, "alphas", "ridge penalty")
    for number, value in enumerate(values):
        if not (isinstance(value, Real) and 0 <= float(value) < np.inf):
            raise ValueError(
                f"alphas has the value {value!r} at position {number}: ridge penalties are finite "
                "numbers that are not negative."
            )
    return [float(value) for value in values]


def _read_grid(values: Any, name: str, what: str) -> list[Any]:
    values = np.asarray(values, dtype=object).ravel().tolist() if np.ndim(values) else [values]
    if not values:
        raise ValueError(f"{name} is empty: give at least one {what}.")
    return values


def read_metrics(metrics: Any, known: Sequence[str]) -> list[str | float]:
    """Return metrics, or raise an error that names the one that is not."""
    values = _read_grid(metrics, "metrics", "metric")
    for number, value in enumerate(values):
        number_ok = isinstance(value, Real) and 0 <= float(value) <= 1
        if not (number_ok or (isinstance(value, str) and value in known)):
            raise ValueError(
                f"metrics has the value {value!r} at position {number}: a metric is a number from "
                f"0 to 1, or one of {', '.join(map(repr, known))}."
            )
    return [value if isinstance(value, str) else float(value) for value in values]


def _check_weights(given: FitArguments, folds: Sequence[Fold], of_scores: bool) -> None:
    """Raise an error if a class has no weight in a training set, or a test set has none."""
    if given.weight is None:
        return
    labels, weight = given.labels, given.weight[given.labels.labeled]
    for number, fold in enumerate(folds):
        sums = np.bincount(labels.codes[fold.train], weight[fold.train], len(labels.classes))
        if (sums == 0).any():
            name = labels.classes.tolist()[int(np.argmin(sums))]
            raise ValueError(
                f"All labelled rows of class {name!r} in the training set of split {number} have "
                "sample_weight 0: give some of them weight, or split otherwise."
            )
        if of_scores and weight[fold.test].sum() == 0:
            raise ValueError(
                f"All rows held out by split {number} have sample_weight 0, so they cannot be "
                "scored: give some of them weight, or split otherwise."
            )


def warn_if_unproven(estimator: Any, results: Sequence[FoldScores], n_models: int) -> None:
    """Warn if some models are not proven to be optimal."""
    unproven = sum(result.unproven for result in results)
    if unproven:
        warnings.warn(
            f"{unproven} of the {n_models * len(results)} models that {type(estimator).__name__} "
            "compared are not proven to be within the requested tol; raise tol, standardise the "
            "features or leave out the smallest alphas.",
            ConvergenceWarning,
            stacklevel=4,
        )
