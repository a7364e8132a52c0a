"""A search over a grid: one task per fold, which scores all models of the grid.

The models of one training set share as much work as possible:

once                the moments of the unlabelled rows
per training set    those of its labelled rows; the singular values of few rows
per alpha           one factorisation, one matrix of the unlabelled rows for all metrics
per metric          a solution that starts from that of the previous metric, and is proven
"""

import reprlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Generic

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from primum import labellings
from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import Floats, Index
from primum._warnings import warn
from primum.equations import Linear, Moments, RidgePath, Span, gather_moments, span_of
from primum.equations.normal import MAX_FACTORISED_NUMBERS
from primum.labellings import (
    METRICS,
    ImplicitProblem,
    ImplicitProblems,
    Labelling,
    LeastSquaresFamily,
    ShareBounds,
)
from primum.labellings.sets import nearest_shares
from primum.reading.data import FitArguments, TrainingData, split_rows
from primum.reading.folds import Fold
from primum.reading.labels import KnownLabels
from primum.reading.targets import Known, SomeKnown, TargetScale
from primum.rows import ArrayRows, LabeledRows, chain
from primum.solvers import solve_implicit


@dataclass(frozen=True)
class Grid:
    """The grid of a search, and the settings that all of its models share.

    Without metrics there are only supervised models. If ``alpha_labeled`` is None, it is tuned
    together with alpha.
    """

    alphas: Sequence[float]
    metrics: Sequence[str | float]
    fit_intercept: bool
    alpha_labeled: float | None = None
    tol: float = 1e-8
    max_iter: int = 10000

    @property
    def supervised_points(self) -> list[dict[str, Any]]:
        """The points of the supervised models."""
        return [{"alpha": alpha} for alpha in self.alphas]

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points of the grid in order, as parameters of an estimator."""
        return [{"alpha": alpha, "metric": m} for alpha in self.alphas for m in self.metrics]


@dataclass(frozen=True)
class HeldOutRows:
    """Rows held out of a training set.

    Attributes
    ----------
    labeled : LabeledRows
        The rows with labels as least squares fits them.
    shown : tuple
        (X, y) as scorers see them: a DataFrame if there is one, and the names of the classes.
    score_params : dict
        Metadata that the scorer has requested, for these rows.
    """

    labeled: LabeledRows
    shown: tuple[Any, Any]
    score_params: dict[str, Any]


@dataclass(frozen=True)
class FoldTask:
    """One training set, the rows held out of it, and the scale of a regression's targets.

    ``moments`` are those of the unlabelled rows, and ``shares`` the bounds on their mean label, if
    there is a prior.
    """

    data: TrainingData[Known]
    held_out: HeldOutRows
    moments: Moments | None
    shares: ShareBounds | None = None
    scale: TargetScale | None = None

    def supervised_models(self, alphas: Sequence[float], fit_intercept: bool) -> list[Linear]:
        """Return the supervised model of every alpha."""
        labeled, models = self.data.labeled, []
        path = RidgePath([labeled.rows], fit_intercept)
        for equations in map(path.at, alphas):
            sums = equations.design(labeled.rows).weighted_sum(labeled.y)
            models.append(equations.decode(equations.solve(sums)))
        return models

    def constrained_models(self, grid: Grid, twins: Sequence[Linear]) -> list[tuple[Linear, bool]]:
        """Return (model, whether it is proven) for every alpha and, for each, every metric.

        ``twins`` are the supervised models of every alpha.
        """
        # Large ridges come first: their problems are the easiest to solve without a warm start.
        order = np.argsort(-np.asarray(grid.alphas), kind="stable").tolist()
        solved = dict(zip(order, self._in_order(grid, twins, order), strict=True))
        return [model for number in range(len(order)) for model in solved[number]]

    def _in_order(
        self, grid: Grid, twins: Sequence[Linear], order: Sequence[int]
    ) -> Iterator[list[tuple[Linear, bool]]]:
        """Yield the models of all metrics for each of some alphas."""
        labeled, unlabeled = self.data.labeled, self.data.unlabeled
        path, start = RidgePath([labeled.rows, unlabeled], grid.fit_intercept, self.moments), None
        metrics = [labellings.metric_of_rows(m, labeled, grid.fit_intercept) for m in grid.metrics]
        for alpha, twin in ((grid.alphas[number], twins[number]) for number in order):
            equations = path.at(alpha)
            family = LeastSquaresFamily(equations, labeled, equations.design(unlabeled))
            alpha_labeled = alpha if grid.alpha_labeled is None else grid.alpha_labeled
            problems = ImplicitProblems(family, alpha_labeled, twin, self.data.label_set)
            solutions, proven = [], []
            for problem in problems.of_all(metrics):
                if self.shares is not None:
                    problem = labellings.with_prior(problem, family, self.shares)
                q, is_optimal = _solve(problem, grid, start)
                start = q if isinstance(q, np.ndarray) else None
                solutions.append(q)
                proven.append(is_optimal)
            gammas = _gammas(family, solutions)
            yield list(zip(map(equations.decode, gammas), proven, strict=True))

    def scores(self, models: Sequence[Linear], score: "Score") -> Floats:
        """Return the scores of models of the training set."""
        if self.scale is not None:
            models = [self.scale.restored_fit(*model) for model in models]
        return score(models, self.held_out) if models else np.zeros(0)


def _gammas(family: LeastSquaresFamily, solutions: Sequence[Floats | Labelling]) -> list[Floats]:
    """Return the coordinates of the fits to several labellings: in memory, one pass for all."""
    arrays = [q for q in solutions if isinstance(q, np.ndarray)]
    if len(arrays) < len(solutions):
        return [family.gamma(q) for q in solutions]
    moments = family.unlabeled.weighted_sum(np.column_stack(arrays))
    columns = np.split(moments, len(arrays), axis=1)
    return [family.gamma_of(part if arrays[0].ndim == 2 else part[:, 0]) for part in columns]


def _solve(
    problem: ImplicitProblem, grid: Grid, start: Floats | None
) -> tuple[Floats | Labelling, bool]:
    """Return a labelling, and whether it is proven to be optimal."""
    solution = solve_implicit(
        problem, solver="auto", tol=grid.tol, max_iter=grid.max_iter, start=start
    )
    if solution.proven or problem.problem.n_rows == 0:
        return solution.labels, True
    unmeasured = replace(solution, moment=None)
    return solution.labels, labellings.is_proven(problem, unmeasured, tol=grid.tol)


# Mean scores that agree to this many digits count as equal: solutions are not more accurate, and
# the choice must not depend on their rounding.
SCORE_DIGITS = 10


Score = Callable[[Sequence[Linear], HeldOutRows], Floats]


def brier_scores(models: Sequence[Linear], rows: HeldOutRows) -> Floats:
    """Return minus the Brier score of every model, from its clipped scores.

    This is the mean squared error of the probability of the second of two classes, and the sum of
    those of all classes if there are more.
    """
    truth = rows.labeled.y
    scores = _values(models, rows.labeled.X)
    if truth.ndim == 1:
        squares = (np.clip(scores, 0.0, 1.0) - truth[:, None]) ** 2
    else:
        by_model = scores.reshape(*truth.shape, -1).transpose(0, 2, 1)
        shares = nearest_shares(by_model.reshape(-1, truth.shape[1])).reshape(by_model.shape)
        squares = np.sum((shares - truth[:, None, :]) ** 2, axis=2)
    return -np.average(squares, axis=0, weights=rows.labeled.weight)


def squared_errors(models: Sequence[Linear], rows: HeldOutRows) -> Floats:
    """Return minus the mean squared error of every model."""
    errors = _values(models, rows.labeled.X) - rows.labeled.y[:, None]
    return -np.average(errors**2, axis=0, weights=rows.labeled.weight)


def _values(models: Sequence[Linear], X: Any) -> Floats:
    """Return the values of all models, with those of every class side by side."""
    coef, intercept = (np.stack(values, axis=-1) for values in zip(*models, strict=True))
    return np.asarray(X @ coef.reshape(len(coef), -1)) + intercept.reshape(-1)


def scorer_scores(
    models: Sequence[Linear],
    rows: HeldOutRows,
    scorer: Any,
    candidates: Sequence[Any],
    labels: Known,
    span: Span | None = None,
) -> Floats:
    """Return the scores of a scikit-learn scorer, which sees candidates as if they were fitted.

    Models of rows in coordinates of their ``span`` are turned into those of all columns.
    """
    classes = (labels.classes,) if isinstance(labels, KnownLabels) else ()
    scores = []
    for candidate, model in zip(candidates, models, strict=True):
        if span is not None:
            model = span.model(model)
        score = scorer(candidate._remember(*classes, *model), *rows.shown, **rows.score_params)
        number = score.item() if getattr(score, "size", 0) == 1 else score
        if not isinstance(number, Real):
            raise ValueError(
                f"scoring returned {reprlib.repr(score)} for {type(candidate).__name__}: use a "
                "scorer that returns one number, the higher the better."
            )
        scores.append(float(number))
    return np.array(scores)


def cv_results(params: Sequence[dict[str, Any]], scores: Floats) -> dict[str, Any]:
    """Return ``cv_results_`` in the layout of GridSearchCV, from scores (splits, points)."""
    table: dict[str, Any] = {}
    for name in params[0]:
        values = [point[name] for point in params]
        dtype = object if str in map(type, values) else np.float64
        table[f"param_{name}"] = np.ma.MaskedArray(np.array(values, dtype=dtype), mask=False)
    table["params"] = list(params)
    for number, row in enumerate(scores):
        table[f"split{number}_test_score"] = row
    with np.errstate(invalid="ignore"):  # scores may be infinite
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
        warn(
            f"One or more of the test scores are non-finite: {name} does not consider {wrong} of "
            f"{n_points} settings, {cause}.",
            UserWarning,
        )


def _ranks(mean: Floats) -> Index:
    """Return the ranks of mean scores: equal ones share a rank, non-finite ones the last.

    Scores that differ only by rounding count as equal. They are frequent: if some labelling attains
    the supervised twin, all metrics give it.
    """
    finite = np.isfinite(mean)
    size, worst = np.abs(mean[finite]).max(initial=0.0), mean[finite].min(initial=0.0) - 1.0
    comparable = np.round(np.where(finite, mean, worst) / (size or 1.0), SCORE_DIGITS)
    return rankdata(-comparable, method="min").astype(np.int32)


@dataclass(frozen=True)
class FoldScores:
    """Scores of all points of the grid and of the supervised models of all alphas.

    ``unproven`` is the number of models that are not proven to be within the tolerance.
    """

    points: Floats
    twins: Floats
    unproven: int = 0


def score_fold(task: FoldTask, grid: Grid, score: Score, score_twins: Score) -> FoldScores:
    """Return the scores of all points of the grid, and of the supervised models of all alphas."""
    with one_blas_thread():
        twins = tuned = task.supervised_models(grid.alphas, grid.fit_intercept)
        if grid.alpha_labeled is not None:
            fixed = task.supervised_models([grid.alpha_labeled], grid.fit_intercept)
            twins = fixed * len(grid.alphas)
        solved = task.constrained_models(grid, twins) if grid.metrics else []
    return FoldScores(
        task.scores([model for model, _ in solved], score),
        task.scores(tuned, score_twins),
        sum(not proven for _, proven in solved),
    )


# Rows are wide if both unlabelled rows and columns are more than this: the time of a fit grows with
# the cube of the smaller number, and just below this a fit of three classes takes several seconds.
MAX_NARROW_SIZE = 1000


def with_fewer_unlabeled(
    given: FitArguments[SomeKnown], most_rows: int | None
) -> FitArguments[SomeKnown]:
    """Replace the unlabelled rows of a search by a random sample, if they are many and wide.

    A fit to n rows of d > n columns has n coordinates, so fewer rows make every point of the grid
    cheaper. Other rows, and rows outside memory, are returned as they are.
    """
    inside, more = len(given.labels.unlabeled), given.more
    n_rows = inside + more.n_rows
    wide = min(n_rows, given.X.shape[1]) > MAX_NARROW_SIZE
    if most_rows is None or n_rows <= most_rows or not wide or not more.in_memory:
        return given
    # Always the same sample, so that a search has one result.
    chosen = np.sort(np.random.default_rng(0).choice(n_rows, most_rows, replace=False))
    of_X, of_more = chosen[chosen < inside], chosen[chosen >= inside] - inside
    return replace(
        given,
        labels=replace(given.labels, unlabeled=given.labels.unlabeled[of_X]),
        more=ArrayRows(more.take(of_more).X),
        sets=None if given.sets is None else given.sets.take(of_X),
    )


def in_their_span(
    given: FitArguments[SomeKnown], grid: Grid
) -> tuple[FitArguments[SomeKnown], Span | None]:
    """Return few rows of many columns in coordinates of their span, which all folds share.

    The result has only the rows that the search uses, labelled ones first. Rows of other shapes are
    returned as they are, with None.
    """
    labels, n_columns = given.labels, given.X.shape[1]
    n_labeled, n_inside = len(labels.labeled), labels.n_rows
    n_rows = n_inside + given.more.n_rows
    few = MAX_NARROW_SIZE < n_columns > n_rows and n_rows**2 <= MAX_FACTORISED_NUMBERS
    ridges = [*grid.alphas, *([] if grid.alpha_labeled is None else [grid.alpha_labeled])]
    # "auto" depends on the number of columns.
    shared = grid.metrics and given.more.in_memory and "auto" not in grid.metrics
    if not (few and shared):
        return given, None
    used = np.concatenate([labels.labeled, labels.unlabeled])
    parts = [part for part in (ArrayRows(given.X[used]), given.more) if part.n_rows]
    span = span_of(parts, min(ridges))
    if span is None:
        return given, None
    reduced = replace(
        given,
        X=span.rows[:n_inside],
        labels=replace(
            labels, labeled=np.arange(n_labeled), unlabeled=np.arange(n_labeled, n_inside)
        ),
        weight=given.weight_of(used),
        more=ArrayRows(span.rows[n_inside:]),
    )
    return reduced, span


@dataclass(frozen=True)
class GridSearch(Generic[SomeKnown]):
    """The validated arguments of a search.

    ``shown`` are the rows of X as scorers see them, ``score_params`` the metadata they requested.
    ``share_bounds_of`` returns the bounds of a prior on the mean label of the unlabelled rows of a
    training set (None: no prior).
    """

    given: FitArguments[SomeKnown]
    grid: Grid
    shown: Any
    score_params: dict[str, Any]
    share_bounds_of: Callable[[TrainingData[SomeKnown]], ShareBounds | None]

    def run(
        self, folds: Sequence[Fold], score: Score, score_twins: Score, n_jobs: int | None
    ) -> list[FoldScores]:
        """Return the scores of every fold, in order."""
        tasks = self._tasks(folds)
        in_memory = tasks[0].data.unlabeled.in_memory
        parallel = Parallel(n_jobs=n_jobs, prefer=None if in_memory else "threads")
        work = delayed(score_fold)
        return list(parallel(work(task, self.grid, score, score_twins) for task in tasks))

    def _tasks(self, folds: Sequence[Fold]) -> list[FoldTask]:
        """Return the folds as tasks; the moments of the unlabelled rows are gathered once."""
        given, data = self.given, split_rows(self.given)
        # Only a grid with metrics uses unlabelled rows.
        unknown = given.labels.unlabeled[given.unknown if self.grid.metrics else slice(0)]
        # Consecutive in memory: they are read many times.
        of_X = ArrayRows(ArrayRows(given.X).take(unknown).X, weight=given.weight_of(unknown))
        unlabeled = chain([of_X, given.more]) if self.grid.metrics else of_X
        moments = gather_moments([unlabeled]) if unlabeled.n_rows and unlabeled.dense else None
        data = replace(data, unlabeled=unlabeled)
        return [self._task(fold, data, moments) for fold in folds]

    def _task(self, fold: Fold, data: TrainingData[SomeKnown], moments: Moments | None) -> FoldTask:
        labels, test = self.given.labels, fold.test
        rows = labels.labeled[test]
        params = {name: take_rows(values, rows) for name, values in self.score_params.items()}
        shown = take_rows(self.shown, rows), labels.values[test]
        held_out = HeldOutRows(self._labeled(test), shown, params)
        present = fold.train[np.isin(fold.train, self.given.known)]
        data = replace(data, labeled=self._labeled(present))
        if isinstance(labels, KnownLabels):
            return FoldTask(data, held_out, moments, self.share_bounds_of(data))
        scale = replace(labels, targets=data.labeled.y).scale(shifted=self.grid.fit_intercept)
        return FoldTask(_standardised(data, scale), held_out, moments, scale=scale)

    def _labeled(self, positions: Index) -> LabeledRows:
        """Return some of the labelled rows."""
        given, rows = self.given, self.given.labels.labeled[positions]
        X = ArrayRows(given.X).take(rows).X
        return LabeledRows(X, given.labels.targets[positions], given.weight_of(rows))


def _standardised(data: TrainingData[Known], scale: TargetScale) -> TrainingData[Known]:
    """Return a training set with its targets on a scale."""
    labeled = replace(data.labeled, y=scale.standardised(data.labeled.y))
    assert isinstance(data.label_set, labellings.LabelInterval)
    return replace(data, labeled=labeled, sets=scale.possible(data.label_set), present=None)


def check_weights(given: FitArguments[Known], folds: Sequence[Fold], of_scores: bool) -> None:
    """Raise an error if a training set, or a class in it, or a test set has no weight."""
    if given.weight is None:
        return
    labels, weight = given.labels, given.weight[given.labels.labeled]
    classes = labels.classes.tolist() if isinstance(labels, KnownLabels) else [None]
    for number, fold in enumerate(folds):
        sums = np.bincount(labels.strata[fold.train], weight[fold.train], len(classes))
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
        warn(
            f"{unproven} of the {compared} models that {type(estimator).__name__} compared are not "
            "proven to be within the requested tol; raise tol or max_iter, standardise the "
            "features or leave out the smallest alphas.",
            ConvergenceWarning,
        )


def read_alphas(alphas: Any) -> list[float]:
    """Return valid ridge penalties, or raise an error that names the first invalid one."""

    def is_valid(value: Any) -> bool:
        return isinstance(value, Real) and 0 <= float(value) < np.inf

    valid = "ridge penalties are finite numbers that are not negative"
    return [float(a) for a in _read_grid(alphas, "alphas", "ridge penalty", is_valid, valid)]


def read_metrics(metrics: Any) -> list[str | float]:
    """Return valid metrics, or raise an error that names the first invalid one."""

    def is_valid(value: Any) -> bool:
        if isinstance(value, str):
            return value in METRICS
        return isinstance(value, Real) and 0 <= float(value) <= 1

    valid = f"a metric is a number from 0 to 1, or one of {', '.join(map(repr, METRICS))}"
    values = _read_grid(metrics, "metrics", "metric", is_valid, valid)
    return [value if isinstance(value, str) else float(value) for value in values]


def _read_grid(
    values: Any, name: str, noun: str, is_valid: Callable[[Any], bool], valid: str
) -> list[Any]:
    if getattr(values, "ndim", 1) == 0:
        value = values.item()
        raise ValueError(f"{name} is the single value {value!r}: pass a list, {name}=[{value!r}].")
    values = list(values)
    if not values:
        raise ValueError(f"{name} is empty: give at least one {noun}.")
    for number, value in enumerate(values):
        if not is_valid(value):
            raise ValueError(f"{name} has the value {value!r} at position {number}: {valid}.")
    return values
