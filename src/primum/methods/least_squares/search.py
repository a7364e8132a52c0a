"""A search over a grid: one task per fold, which scores all models of the grid.

The models of one training set share as much work as possible:

once                the moments of the unlabelled rows
per training set    those of its labelled rows; the singular values of few rows
per alpha           one factorisation, one matrix of the unlabelled rows for all metrics
per metric          a solution that starts from that of the previous metric, and is proven
"""

import reprlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import Floats, Index
from primum.equations import Linear, Moments, RidgePath, gather_moments
from primum.labellings import (
    ImplicitProblem,
    LabeledRows,
    LabelInterval,
    LabelSet,
    LeastSquaresFamily,
    Shares,
    Witness,
    implicit_problems,
    is_proven,
    metric_of_rows,
    with_prior,
)
from primum.labellings.sets import nearest_shares
from primum.reading.data import FitArguments
from primum.reading.folds import Fold
from primum.reading.labels import KnownLabels
from primum.reading.targets import TargetScale
from primum.rows import ArrayRows, Rows, chain
from primum.solvers import solve_implicit


@dataclass(frozen=True)
class Grid:
    """The grid of a search, and what all of its models have in common.

    ``alpha_labeled`` None means that it is tuned together with alpha.
    """

    alphas: Sequence[float]
    metrics: Sequence[str | float]
    fit_intercept: bool
    alpha_labeled: float | None = None
    tol: float = 1e-8
    max_iter: int = 10000

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points of the grid in order, as parameters of an estimator."""
        return [{"alpha": alpha, "metric": m} for alpha in self.alphas for m in self.metrics]


def supervised_models(
    labeled: LabeledRows, alphas: Sequence[float], fit_intercept: bool
) -> Iterator[Linear]:
    """Yield the supervised model of every alpha."""
    path = RidgePath([labeled.rows], fit_intercept)
    for alpha in alphas:
        equations = path.at(alpha)
        sums = equations.design(labeled.rows).weighted_sum(labeled.y)
        yield equations.decode(equations.solve(sums))


@dataclass(frozen=True)
class TrainingSet:
    """Labelled rows, unlabelled rows, and the moments and possible labels of the latter.

    ``shares`` are bounds on their mean label, if there is a prior.
    """

    labeled: LabeledRows
    unlabeled: Rows
    moments: Moments | None
    labels: LabelSet | None = None
    shares: Shares | None = None

    def constrained_models(self, grid: Grid, twins: Sequence[Linear]) -> list[tuple[Linear, bool]]:
        """Return (model, whether it is proven) of every alpha and, for each, every metric.

        ``twins`` are the supervised models of every alpha.
        """
        # Large ridges first: their problems are the easiest to solve without a start.
        order = np.argsort(-np.asarray(grid.alphas), kind="stable").tolist()
        solved = dict(zip(order, self._in_order(grid, twins, order), strict=True))
        return [model for number in range(len(order)) for model in solved[number]]

    def _in_order(
        self, grid: Grid, twins: Sequence[Linear], order: Sequence[int]
    ) -> Iterator[list[tuple[Linear, bool]]]:
        """Yield the models of all metrics for each of some alphas."""
        parts = [self.labeled.rows, self.unlabeled]
        path, start = RidgePath(parts, grid.fit_intercept, self.moments), None
        metrics = [metric_of_rows(m, self.labeled, grid.fit_intercept) for m in grid.metrics]
        for alpha, twin in ((grid.alphas[number], twins[number]) for number in order):
            equations = path.at(alpha)
            family = LeastSquaresFamily(equations, self.labeled, equations.design(self.unlabeled))
            problems = implicit_problems(
                family,
                metrics=metrics,
                alpha_labeled=alpha if grid.alpha_labeled is None else grid.alpha_labeled,
                supervised=twin,
                labels=self.labels,
            )
            labellings, proven = [], []
            for problem in self._within_prior(problems, family):
                q, is_optimal = _solve(problem, grid, start)
                start = q if isinstance(q, np.ndarray) else None
                labellings.append(q)
                proven.append(is_optimal)
            gammas = _gammas(family, labellings)
            yield list(zip(map(equations.decode, gammas), proven, strict=True))

    def _within_prior(
        self, problems: Sequence[ImplicitProblem], family: LeastSquaresFamily
    ) -> Sequence[ImplicitProblem]:
        if self.shares is None:
            return problems
        return [with_prior(problem, family, self.shares) for problem in problems]


def _gammas(family: LeastSquaresFamily, labellings: Sequence[Any]) -> list[Floats]:
    """Return the coordinates of the fits to several labellings: in memory, one pass for all."""
    if not all(isinstance(q, np.ndarray) for q in labellings):
        return [family.gamma(q) for q in labellings]
    several = labellings[0].ndim == 2
    moments = family.unlabeled.weighted_sum(np.column_stack(labellings))
    each = np.split(moments, len(labellings), axis=1)
    return [family.gamma_of(moment if several else moment[:, 0]) for moment in each]


def _solve(problem: ImplicitProblem, grid: Grid, start: Floats | None) -> tuple[Any, bool]:
    """Return a labelling, and whether it is proven to be optimal."""
    solution = solve_implicit(
        problem, solver="auto", tol=grid.tol, max_iter=grid.max_iter, start=start
    )
    if solution.proven or problem.problem.n_rows == 0:
        return solution.labels, True
    witness = Witness(solution.dual, solution.pull, multipliers=solution.multipliers)
    return solution.labels, is_proven(problem, solution.labels, tol=grid.tol, witness=witness)


# Mean scores that agree to this many digits are equal.
EQUAL_DIGITS = 10


@dataclass(frozen=True)
class HeldOutRows:
    """Rows held out of a training set.

    Attributes
    ----------
    X, targets, weight : arrays
        Features, labels as least squares fits them, and weights (None: 1).
    given : tuple
        (X, y) as scorers see them: a DataFrame if there is one, and the names of the classes.
    score_params : dict
        Metadata that the scorer has requested, of these rows.
    """

    X: Any
    targets: Floats
    weight: Floats | None
    given: tuple[Any, Any]
    score_params: dict[str, Any]


def brier_scores(models: Sequence[Linear], rows: HeldOutRows) -> Floats:
    """Return minus the Brier score of every model, from its clipped scores.

    This is the mean squared error of the probability of the second of two classes, and the sum of
    those of all classes if there are more.
    """
    coef, intercept = (np.stack(values, axis=-1) for values in zip(*models, strict=True))
    n_rows, truth = len(rows.targets), rows.targets
    scores = np.asarray(rows.X @ coef.reshape(len(coef), -1)) + intercept.reshape(-1)
    if truth.ndim == 1:
        squares = (np.clip(scores, 0.0, 1.0) - truth[:, None]) ** 2
    else:
        by_model = scores.reshape(n_rows, truth.shape[1], -1).transpose(0, 2, 1)
        shares = nearest_shares(by_model.reshape(-1, truth.shape[1])).reshape(by_model.shape)
        squares = np.sum((shares - truth[:, None, :]) ** 2, axis=2)
    return -np.average(squares, axis=0, weights=rows.weight)


def squared_errors(models: Sequence[Linear], rows: HeldOutRows) -> Floats:
    """Return minus the mean squared error of every model."""
    coef, intercept = (np.stack(values, axis=-1) for values in zip(*models, strict=True))
    errors = np.asarray(rows.X @ coef) + intercept - rows.targets[:, None]
    return -np.average(errors**2, axis=0, weights=rows.weight)


def scorer_scores(
    models: Sequence[Linear],
    rows: HeldOutRows,
    scorer: Any,
    fitted: Callable[[int, Linear], Any],
) -> Floats:
    """Return the scores of a scikit-learn scorer; ``fitted`` makes an estimator of a model."""
    X, y = rows.given
    estimators = (fitted(number, model) for number, model in enumerate(models))
    return np.array([_one_score(scorer, each, X, y, rows.score_params) for each in estimators])


def _one_score(scorer: Any, estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> float:
    score = scorer(estimator, X, y, **params)
    number = score.item() if getattr(score, "size", 0) == 1 else score
    if not isinstance(number, Real):
        raise ValueError(
            f"scoring returned {reprlib.repr(score)} for {type(estimator).__name__}: use a scorer "
            "that returns one number, the higher the better."
        )
    return float(number)


def results_table(params: Sequence[dict[str, Any]], scores: Floats) -> dict[str, Any]:
    """Return ``cv_results_`` in the layout of GridSearchCV, from scores (splits, points)."""
    table: dict[str, Any] = {}
    for name in params[0]:
        values = [point[name] for point in params]
        kinds = {type(value) for value in values}
        dtype = object if str in kinds else np.float64
        table[f"param_{name}"] = np.ma.MaskedArray(np.array(values, dtype=dtype), mask=False)
    table["params"] = list(params)
    for number, row in enumerate(scores):
        table[f"split{number}_test_score"] = row
    with np.errstate(invalid="ignore"):  # of infinite scores
        mean, std = scores.mean(axis=0), scores.std(axis=0)
    table["mean_test_score"], table["std_test_score"] = mean, std
    table["rank_test_score"] = _ranks(mean)
    return table


def check_scores(name: str, mean: Floats) -> None:
    """Warn if some mean scores are not finite, as GridSearchCV does; raise an error if none is."""
    wrong, n_points = int(np.count_nonzero(~np.isfinite(mean))), len(mean)
    cause = "because scoring returned NaN or infinity in at least one fold"
    if wrong == n_points:
        raise ValueError(
            f"{name} cannot choose between {n_points} settings, {cause} for each of them: use a "
            "scorer that is defined on all folds, or other folds."
        )
    if wrong:
        warnings.warn(
            f"One or more of the test scores are non-finite: {name} does not consider {wrong} of "
            f"{n_points} settings, {cause}.",
            UserWarning,
            stacklevel=6,
        )


def _ranks(mean: Floats) -> Index:
    """Return the ranks of mean scores: equal ones share a rank, and those not finite the last.

    Scores that differ by rounding only are equal. They are frequent: where the supervised twin can
    be attained, all metrics give it.
    """
    finite = np.isfinite(mean)
    size, worst = np.abs(mean[finite]).max(initial=0.0), mean[finite].min(initial=0.0) - 1.0
    comparable = np.round(np.where(finite, mean, worst) / (size or 1.0), EQUAL_DIGITS)
    return rankdata(-comparable, method="min").astype(np.int32)


@dataclass(frozen=True)
class FoldTask:
    """One training set, the rows held out of it, and the scale of a regression's targets."""

    training: TrainingSet
    held_out: HeldOutRows
    scale: TargetScale | None = None

    def restored(self, models: Sequence[Linear]) -> list[Linear]:
        """Return models for targets as they were given."""
        if self.scale is None:
            return list(models)
        return [self.scale.restored_fit(*model) for model in models]


@dataclass(frozen=True)
class FoldScores:
    """Scores of all points of the grid and of the supervised models of all alphas.

    ``unproven`` is the number of models that are not proven to be within the tolerance.
    """

    points: Floats
    twins: Floats
    unproven: int = 0


Score = Callable[[Sequence[Linear], HeldOutRows], Floats]


def score_supervised(
    task: FoldTask, *, alphas: Sequence[float], fit_intercept: bool, score: Score
) -> FoldScores:
    """Return the scores of the supervised models."""
    with one_blas_thread():
        models = list(supervised_models(task.training.labeled, alphas, fit_intercept))
    return FoldScores(np.zeros(0), score(task.restored(models), task.held_out))


def score_grid(task: FoldTask, *, grid: Grid, score: Score, score_twins: Score) -> FoldScores:
    """Return the scores of all points of the grid, and of the supervised models of all alphas."""
    training = task.training
    with one_blas_thread():
        tuned = list(supervised_models(training.labeled, grid.alphas, grid.fit_intercept))
        twins = tuned
        if grid.alpha_labeled is not None:
            fixed = supervised_models(training.labeled, [grid.alpha_labeled], grid.fit_intercept)
            twins = list(fixed) * len(grid.alphas)
        models, proven = zip(*training.constrained_models(grid, twins), strict=True)
    return FoldScores(
        score(task.restored(models), task.held_out),
        score_twins(task.restored(tuned), task.held_out),
        len(proven) - sum(proven),
    )


@dataclass(frozen=True)
class Search:
    """The validated arguments of a search.

    ``shown`` are the rows of X as scorers see them, and ``score_params`` what these requested.
    ``shares_of`` returns the bounds of a prior on the mean label of the unlabelled rows, given a
    training set without them (None: no prior).
    """

    given: FitArguments[Any]
    folds: Sequence[Fold]
    fit_intercept: bool
    shown: Any
    score_params: dict[str, Any]
    shares_of: Callable[[TrainingSet], Shares | None] | None = None

    def tasks(self, *, with_unlabeled: bool) -> list[FoldTask]:
        """Return the folds as tasks; the moments of the unlabelled rows are gathered once."""
        given = self.given
        unknown = given.labels.unlabeled[given.unknown] if with_unlabeled else np.zeros(0, np.intp)
        # Consecutive in memory: they are read many times.
        of_X = ArrayRows(ArrayRows(given.X).take(unknown).X, weight=given.weight_of(unknown))
        unlabeled = chain([of_X, given.more]) if with_unlabeled else of_X
        moments = gather_moments([unlabeled]) if unlabeled.n_rows and unlabeled.dense else None
        sets = None if given.sets is None else given.sets.take(given.unknown)
        template = TrainingSet(self._labeled(np.zeros(0, np.intp)), unlabeled, moments, sets)
        return [self._task(fold, template) for fold in self.folds]

    def _task(self, fold: Fold, template: TrainingSet) -> FoldTask:
        known, test = self.given.labels, self._labeled(fold.test)
        rows = known.labeled[fold.test]
        truth = known.targets[fold.test]
        if isinstance(known, KnownLabels):
            truth = known.classes[known.codes[fold.test]]
        held_out = HeldOutRows(
            test.X,
            test.y,
            test.weight,
            (take_rows(self.shown, rows), truth),
            {name: take_rows(values, rows) for name, values in self.score_params.items()},
        )
        present = fold.train[np.isin(fold.train, self.given.known)]
        training = replace(template, labeled=self._labeled(present))
        if self.shares_of is not None:
            training = replace(training, shares=self.shares_of(training))
        if isinstance(known, KnownLabels):
            return FoldTask(training, held_out)
        scale = replace(known, targets=training.labeled.y).scale(shifted=self.fit_intercept)
        return FoldTask(_standardised(training, scale), held_out, scale)

    def _labeled(self, positions: Index) -> LabeledRows:
        """Return some of the labelled rows."""
        given, rows = self.given, self.given.labels.labeled[positions]
        X = ArrayRows(given.X).take(rows).X
        return LabeledRows(X, given.labels.targets[positions], given.weight_of(rows))


def _standardised(training: TrainingSet, scale: TargetScale) -> TrainingSet:
    """Return a training set with its targets on a scale."""
    labeled = replace(training.labeled, y=scale.standardised(training.labeled.y))
    assert isinstance(training.labels, LabelInterval)
    return replace(training, labeled=labeled, labels=scale.possible(training.labels))


def in_parallel(
    work: Callable[[FoldTask], FoldScores], tasks: Sequence[FoldTask], n_jobs: int | None
) -> list[FoldScores]:
    """Return ``work(task)`` of every fold, in order."""
    in_memory = tasks[0].training.unlabeled.in_memory
    parallel = Parallel(n_jobs=n_jobs, prefer=None if in_memory else "threads")
    return list(parallel(delayed(work)(task) for task in tasks))


def check_weights(given: FitArguments[Any], folds: Sequence[Fold], of_scores: bool) -> None:
    """Raise an error if a training set, or a class in it, or a test set has no weight."""
    if given.weight is None:
        return
    known, weight = given.labels, given.weight[given.labels.labeled]
    classes = known.classes.tolist() if isinstance(known, KnownLabels) else [None]
    codes = known.codes if isinstance(known, KnownLabels) else np.zeros(len(weight), np.intp)
    for number, fold in enumerate(folds):
        sums = np.bincount(codes[fold.train], weight[fold.train], len(classes))
        name = classes[int(np.argmin(sums))]
        if (sums == 0).any():
            raise ValueError(
                f"All labelled rows {'' if name is None else f'of class {name!r} '}in the training "
                f"set of split {number} have sample_weight 0: give some of them a weight above "
                "0, or use other splits."
            )
        if of_scores and weight[fold.test].sum() == 0:
            raise ValueError(
                f"All rows held out by split {number} have sample_weight 0, so they cannot be "
                "scored: give some of them a weight above 0, or use other splits."
            )


def warn_if_unproven(estimator: Any, results: Sequence[FoldScores]) -> None:
    """Warn if some models are not proven to be optimal."""
    unproven = sum(result.unproven for result in results)
    if unproven:
        compared = sum(len(result.points) for result in results)
        warnings.warn(
            f"{unproven} of the {compared} models that {type(estimator).__name__} compared are not "
            "proven to be within the requested tol; raise tol or max_iter, standardise the "
            "features or leave out the smallest alphas.",
            ConvergenceWarning,
            stacklevel=5,
        )


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


def read_metrics(metrics: Any, known: Sequence[str]) -> list[str | float]:
    """Return metrics, or raise an error that names the one that is not."""
    values = _read_grid(metrics, "metrics", "metric")
    for number, value in enumerate(values):
        is_share = isinstance(value, Real) and 0 <= float(value) <= 1
        if not (is_share or (isinstance(value, str) and value in known)):
            raise ValueError(
                f"metrics has the value {value!r} at position {number}: a metric is a number from "
                f"0 to 1, or one of {', '.join(map(repr, known))}."
            )
    return [value if isinstance(value, str) else float(value) for value in values]


def _read_grid(values: Any, name: str, what: str) -> list[Any]:
    if getattr(values, "ndim", 1) == 0:
        value = values.item()
        raise ValueError(f"{name} is the single value {value!r}: pass a list, {name}=[{value!r}].")
    values = list(values)
    if not values:
        raise ValueError(f"{name} is empty: give at least one {what}.")
    return values
