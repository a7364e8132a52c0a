"""Tuned least squares, and the common parts of tuned estimators: search, choice and final fit.

An estimator with metrics chooses a ridge penalty and a metric, a supervised one a ridge penalty
only. The supervised ones are the twins of ``ICLSClassifierCV`` and ``ICLSRegressorCV``. If rows
belong to groups, ``keep_groups`` lets these estimators, and logistic regression, choose the penalty
in folds that keep groups together: otherwise similar rows would be in both training and test sets,
and the penalty would be too small for new groups.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import check_scoring
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from primum._sklearn import take_rows
from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray, Floats, Index
from primum._warnings import warn
from primum.labellings import ShareBounds
from primum.methods.base import fitted_attributes, fitting, unfitted_like, with_parameters
from primum.methods.least_squares import grid_search
from primum.methods.least_squares.classifier import (
    LeastSquaresBase,
    LeastSquaresClassifier,
    LinearEstimator,
)
from primum.methods.least_squares.grid_search import Grid, Score
from primum.methods.least_squares.regressor import LeastSquaresRegressionBase, LeastSquaresRegressor
from primum.reading.classifiers import last_step
from primum.reading.data import refuse_other_library
from primum.reading.folds import DEFAULT_FOLDS, read_folds, tuning_folds
from primum.reading.labels import KnownLabels
from primum.reading.shares import prior_on
from primum.rows import LabeledRows, Rows

# Half a decade apart: for standardised features, from hardly any shrinking to nearly constant
# scores.
ALPHAS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# Weights of all rows in the metric, from the labelled rows only to all alike.
METRIC_GRID = (0.0, 0.2, 0.5, 1.0)
# Mean scores that agree to this many digits count as equal: solutions are not more accurate, and
# the choice must not depend on their rounding.
SCORE_DIGITS = 10


@with_parameters
class Tuned(LinearEstimator):
    """An estimator whose parameters are chosen by cross-validation of the labelled rows."""

    alphas: Sequence[float] = field(default=ALPHAS, kw_only=False)
    cv: Any = None
    scoring: Any = None
    fit_intercept: bool = True
    shuffle: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    # The estimator that is compared and fitted, and the tuned twin of one with metrics.
    _plain: ClassVar[type[BaseEstimator]]
    _tuned_twin: ClassVar["type[Tuned] | None"] = None

    def _fit_to(self, X: Any, y: Any, X_u: Any, weight: Any, groups: Any, **sets: Any) -> Self:
        """Choose the parameters, and fit with them to the arguments of ``fit``."""
        with fitting(self):
            # 1. The arguments, the folds, and the grid: without metrics, models are supervised.
            given = self._read(self, X, y, X_u, weight, **sets)
            refuse_other_library(self, given.home)
            labels = given.labels
            folds = read_folds(
                self.cv, labels, groups, shuffle=self.shuffle, seed=self.random_state
            )
            grid_search.check_weights(given, folds, self.scoring is None)
            parameters = self.get_params(deep=False)
            grid = Grid(grid_search.read_grid("alphas", self.alphas), [], self.fit_intercept)
            if self._tuned_twin is not None:
                settings = {name: parameters[name] for name in ("alpha_labeled", "tol", "max_iter")}
                metrics = grid_search.read_grid("metrics", parameters["metrics"])
                grid = replace(grid, metrics=metrics, **settings)
            twin_points: list[dict[str, Any]] = [{"alpha": alpha} for alpha in grid.alphas]
            points = [
                {**point, "metric": metric} for point in twin_points for metric in grid.metrics
            ]

            # 2. The rows of the search: fewer, if all of them could take too long. Scorers see rows
            # as they were given, with the columns of a DataFrame.
            searched, span = grid_search.rows_of_search(
                given, grid, parameters.get("max_search_rows")
            )
            shown = X if hasattr(X, "columns") else given.X
            params: dict[str, Any] = {}
            routing = get_config()["enable_metadata_routing"]
            if self.scoring is not None and weight is not None and routing:
                params = dict(process_routing(self, "fit", sample_weight=weight).scorer.score)
            if span is not None:  # only the labelled rows are scored, and they are the first ones
                shown = take_rows(shown, labels.labeled)
                params = {name: take_rows(part, labels.labeled) for name, part in params.items()}

            def score_of(kind: type[BaseEstimator], points: list[dict[str, Any]]) -> Score:
                """Return the function that scores models, one for each point."""
                if self.scoring is None:
                    classes = isinstance(labels, KnownLabels)
                    return grid_search.brier_scores if classes else grid_search.squared_errors
                return partial(
                    grid_search.scorer_scores,
                    scorer=self._scorer_of(),
                    candidates=[unfitted_like(self, kind, n_jobs=None, **p) for p in points],
                    classes=[labels.classes] if isinstance(labels, KnownLabels) else [],
                )

            def share_bounds_of(train: LabeledRows, unlabeled: Rows) -> ShareBounds | None:
                """Return the bounds of a prior on the mean label of the unlabelled rows."""
                prior = parameters.get("prior")
                if prior is None or not isinstance(labels, KnownLabels):  # shares are of classes
                    return None
                level = parameters["prior_level"]
                sets = searched.label_set
                return prior_on(prior, level, labels.classes, train, unlabeled, sets)[1]

            # 3. The scores (n_splits, n_points) of all points and of the supervised models.
            supervised = (self._tuned_twin or type(self))._plain
            with one_blas_thread(), using_threads(self.n_jobs):
                results = grid_search.score_folds(
                    searched,
                    grid,
                    folds,
                    shown=shown,
                    score_params=params,
                    span=span,
                    share_bounds_of=share_bounds_of,
                    score=score_of(self._plain, points),
                    score_twins=score_of(supervised, twin_points),
                    n_jobs=self.n_jobs,
                )
            scores, twin_scores, unproven = zip(*results, strict=True)
            if sum(unproven):
                warn(
                    f"{sum(unproven)} of the {len(folds) * len(points)} models that "
                    f"{type(self).__name__} compared are not proven to be within the requested "
                    "tol; raise tol or max_iter, standardise the features or leave out the "
                    "smallest alphas.",
                    ConvergenceWarning,
                )

            # 4. The best point, fitted to all rows, and the twin with its best penalty.
            if self._tuned_twin is None:
                return self._fit_best(twin_points, twin_scores, X, y, sample_weight=given.weight)
            self._fit_best(
                points, scores, X, y, X_unlabeled=X_u, sample_weight=given.weight, **sets
            )
            if sets.get("possible") is not None:  # rows with one possible class are labelled, too
                X = take_rows(X, labels.labeled)
                y = labels.values
                given = replace(given, weight=given.weight_of(labels.labeled))
            twin = unfitted_like(self, self._tuned_twin)
            self.supervised_ = twin._fit_best(
                twin_points, twin_scores, X, y, sample_weight=given.weight
            )
        return self

    def _fit_best(
        self, points: list[dict[str, Any]], scores: Sequence[Floats], X: Any, y: Any, **rest: Any
    ) -> Self:
        """Keep the scores of points (P,) in every split, and fit the first best to all rows."""
        # ``cv_results_`` in the layout of GridSearchCV.
        table: dict[str, Any] = {}
        for name in points[0]:
            values = [point[name] for point in points]
            dtype = object if str in map(type, values) else np.float64
            table[f"param_{name}"] = np.ma.MaskedArray(np.array(values, dtype=dtype), mask=False)
        table["params"] = points
        table |= {f"split{number}_test_score": row for number, row in enumerate(scores)}
        with np.errstate(invalid="ignore"):  # scores may be infinite
            mean, std = np.mean(scores, axis=0), np.std(scores, axis=0)
        table["mean_test_score"], table["std_test_score"] = mean, std
        # Equal mean scores share a rank, non-finite ones the last. Scores that differ only by
        # rounding count as equal. They are frequent: if some labelling attains the supervised twin,
        # all metrics give it.
        finite = np.isfinite(mean)
        size = np.abs(mean[finite]).max(initial=0.0) or 1.0
        worst = mean[finite].min(initial=0.0) - 1.0
        comparable = np.round(np.where(finite, mean, worst) / size, SCORE_DIGITS)
        table["rank_test_score"] = rankdata(-comparable, method="min").astype(np.int32)
        self.cv_results_ = table

        # As in GridSearchCV, some scores may be undefined.
        cause = "because scoring returned NaN or infinity in at least one fold"
        if not finite.any():
            raise ValueError(
                f"{type(self).__name__} cannot choose between {len(mean)} settings, {cause} for "
                "each of them: use a scorer that is defined on all folds, or other folds."
            )
        if not finite.all():
            warn(
                f"One or more of the test scores are non-finite: {type(self).__name__} does not "
                f"consider {np.count_nonzero(~finite)} of {len(mean)} settings, {cause}."
            )
        self.best_index_ = int(table["rank_test_score"].argmin())
        self.best_params_ = dict(points[self.best_index_])
        self.best_score_ = float(mean[self.best_index_])
        self.n_splits_ = len(scores)
        self.alpha_ = self.best_params_["alpha"]
        # The fitted attributes are those of the best estimator.
        best = unfitted_like(self, self._plain, **self.best_params_).fit(X, y, **rest)
        self.best_estimator_ = best
        for name, value in fitted_attributes(best).items():
            setattr(self, name, value)
        return self

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
            return float(super().score(X, y, sample_weight))
        rows, truth = self._known_of(y, len(y))
        if len(rows) < len(y):
            X = take_rows(X, rows)
        params = {} if sample_weight is None else {"sample_weight": take_rows(sample_weight, rows)}
        if get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, "score", **params).scorer.score)
        return float(self._scorer_of()(self, X, truth, **params))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that ``fit`` and ``score`` accept, and which the scorer receives.

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
        tags: Tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags


class LeastSquaresClassifierCV(Tuned, LeastSquaresBase):
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
        The penalty with the highest mean score; the first if several tie.
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

    _plain: ClassVar[type[BaseEstimator]] = LeastSquaresClassifier

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
        return self._fit_to(X, y, X_unlabeled, sample_weight, groups)


class LeastSquaresRegressorCV(Tuned, LeastSquaresRegressionBase):
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
        The penalty with the highest mean score; the first if several tie.
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

    _plain: ClassVar[type[BaseEstimator]] = LeastSquaresRegressor

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


class TakesGroups:
    """A base for estimators whose parameter ``groups`` is the group of every row that they fit.

    The name of a parameter is not enough to tell: a group lasso has groups of features.
    """

    groups: AnyArray | None


def keep_groups(estimator: Any, labeled: Index, codes: Index, groups: Index) -> None:
    """Let an estimator that chooses its penalty from the labelled rows keep groups together.

    Its ``groups`` are changed, or its ``cv`` if that is a number of folds; estimators not known to
    split rows by one of these are left alone. ``labeled`` (L,) are the positions of the labelled
    rows among those that it is fitted to, with codes of classes (one for all numbers) and groups.
    """
    for part in _tuned_parts(last_step(estimator)):
        if isinstance(part, TakesGroups):
            part.groups = groups
        elif part.cv is None or isinstance(part.cv, Integral):
            most = DEFAULT_FOLDS if part.cv is None else int(part.cv)
            folds = tuning_folds(most, codes, groups)
            if folds:
                part.set_params(cv=[(labeled[fold.train], labeled[fold.test]) for fold in folds])
                if getattr(part, "shuffle", False):  # only valid with a number of folds
                    part.set_params(shuffle=False)


def _tuned_parts(classifier: Any) -> Iterator[Any]:
    """Yield the classifiers that tune themselves: this one, or those that it averages."""
    from sklearn.ensemble import VotingClassifier, VotingRegressor  # slow: loads all trees

    if isinstance(classifier, VotingClassifier | VotingRegressor):
        for _, part in classifier.estimators:
            yield from _tuned_parts(part)
    elif isinstance(classifier, Tuned | LogisticRegressionCV | TakesGroups):
        yield classifier
