"""A search over a grid: one task per fold, which scores all models of the grid.

The models of one training set share as much work as possible:

once                the moments of the unlabelled rows
per training set    those of its labelled rows; the singular values of few rows
per alpha           one factorisation, one matrix of the unlabelled rows for all metrics
per metric          a solution that starts from that of the previous metric, and is proven
"""

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from primum import labellings
from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import Floats, Index
from primum.equations import Linear, Moments, RidgePath, Span, gather_moments, span_of
from primum.equations.normal import MAX_FACTORISED_NUMBERS
from primum.labellings import METRICS, LabelSet, LeastSquaresFamily, ShareBounds
from primum.labellings.sets import nearest_shares
from primum.reading.data import TrainingRows
from primum.reading.folds import Fold
from primum.reading.labels import KnownLabels
from primum.reading.targets import TargetScale
from primum.rows import ArrayRows, LabeledRows, Rows, chain
from primum.solvers import solve_problem


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


@dataclass(frozen=True)
class HeldOutRows:
    """Rows held out of a training set: as least squares fits them, and as scorers see them.

    ``shown`` are (X, y), with a DataFrame if there is one and the names of the classes, and
    ``score_params`` the metadata that the scorer has requested. ``span`` is that of ``labeled``, if
    these rows are in coordinates of a span.
    """

    labeled: LabeledRows
    shown: tuple[Any, Any]
    score_params: dict[str, Any]
    span: Span | None


Score = Callable[[Sequence[Linear], HeldOutRows], Floats]


def ridge_models(
    labeled: LabeledRows, alphas: Sequence[float], fit_intercept: bool
) -> list[Linear]:
    """Return the supervised model of every alpha."""
    path = RidgePath([labeled.rows], fit_intercept)
    models = []
    for equations in map(path.at, alphas):
        sums = equations.design(labeled.rows).weighted_sum(labeled.y)
        models.append(equations.decode(equations.solve(sums)))
    return models


def score_fold(
    labeled: LabeledRows,
    unlabeled: Rows,
    labels: LabelSet | None,
    held_out: HeldOutRows,
    grid: Grid,
    moments: Moments | None,
    shares: ShareBounds | None,
    scale: TargetScale | None,
    score: Score,
    score_twins: Score,
) -> tuple[Floats, Floats, int]:
    """Return the scores of the grid's points (P,) and supervised models (A,), and a count.

    It is the number of models that are not proven to be within the tolerance. ``labels`` are the
    label sets of the unlabelled rows, ``moments`` the moments of these rows, ``shares`` the bounds
    of a prior on their mean label, and ``scale`` that of a regression's targets.
    """
    fit_intercept = grid.fit_intercept
    with one_blas_thread():
        # The supervised models; those of a fixed ridge of the labelled loss are the twins.
        tuned = twins = ridge_models(labeled, grid.alphas, fit_intercept)
        if grid.alpha_labeled is not None:
            fixed = ridge_models(labeled, [grid.alpha_labeled], fit_intercept)
            twins = fixed * len(grid.alphas)
        path = RidgePath([labeled.rows, unlabeled], fit_intercept, moments)
        metrics = [labellings.metric_of_rows(m, labeled, fit_intercept) for m in grid.metrics]
        models: list[list[Linear]] = [[] for _ in grid.alphas]
        start = None
        unproven = 0
        # Large ridges come first: their problems are the easiest to solve without a warm start.
        order = np.argsort(-np.asarray(grid.alphas), kind="stable").tolist()
        for number in order if metrics else []:
            equations = path.at(grid.alphas[number])
            family = LeastSquaresFamily(equations, labeled, equations.design(unlabeled))
            alpha = grid.alphas[number] if grid.alpha_labeled is None else grid.alpha_labeled
            solutions = []
            for problem in labellings.implicit_problems(
                family, alpha, twins[number], metrics, labels, shares
            ):
                # Each metric starts from the labels of the one before.
                solution = solve_problem(
                    problem, solver="auto", tol=grid.tol, max_iter=grid.max_iter, start=start
                )
                start = solution.labels if isinstance(solution.labels, np.ndarray) else None
                solutions.append(solution.labels)
                if not solution.proven and problem.columns.shape[1]:
                    unmeasured = replace(solution, moment=None)
                    judged = labellings.judge(problem, unmeasured, grid.tol)
                    unproven += not labellings.is_proven(*judged, grid.tol)
            # The fits to these labels: in memory, one pass over the rows serves all of them.
            arrays = [q for q in solutions if isinstance(q, np.ndarray)]
            if len(arrays) == len(solutions):
                sums = family.unlabeled.weighted_sum(np.column_stack(arrays))
                parts = np.split(sums, len(arrays), axis=1)
                shaped = [part if arrays[0].ndim == 2 else part[:, 0] for part in parts]
                gammas = [family.gamma_of(part) for part in shaped]
            else:
                gammas = [family.gamma(q) for q in solutions]
            models[number] = [equations.decode(gamma) for gamma in gammas]
    points = [model for of_alpha in models for model in of_alpha]
    if scale is not None:
        points, tuned = ([scale.restored_fit(*model) for model in some] for some in (points, tuned))
    scores = score(points, held_out) if points else np.zeros(0)
    return scores, score_twins(tuned, held_out), unproven


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
    classes: Sequence[Any],
) -> Floats:
    """Return the scores of a scikit-learn scorer, which sees candidates as if they were fitted.

    ``classes`` are those of classifiers, as the only element, and nothing for regressors.
    """
    scores = []
    for candidate, model in zip(candidates, models, strict=True):
        if rows.span is not None:  # the scorer sees all columns
            model = rows.span.model(model)
        score = scorer(candidate._remember(*classes, *model), *rows.shown, **rows.score_params)
        number = score.item() if getattr(score, "size", 0) == 1 else score
        if not isinstance(number, Real):
            raise ValueError(
                f"scoring returned {reprlib.repr(score)} for {type(candidate).__name__}: use a "
                "scorer that returns one number, the higher the better."
            )
        scores.append(float(number))
    return np.array(scores)


# Rows are wide if both unlabelled rows and columns are more than this: the time of a fit grows with
# the cube of the smaller number, and just below this a fit of three classes takes several seconds.
MAX_NARROW_SIZE = 1000


def rows_of_search(
    given: TrainingRows, grid: Grid, most_rows: int | None
) -> tuple[TrainingRows, Span | None]:
    """Return the arguments of a search with cheaper rows, and their span if they are in it.

    A fit to n rows of d > n columns has n coordinates, so if the unlabelled rows are many and wide,
    a random sample of ``most_rows`` makes every point of the grid cheaper. Few rows of many columns
    are in coordinates of their span, which all folds share: the result then has only the rows that
    the search uses, labelled ones first. Other rows, and rows outside memory, stay as they are.
    """
    n_inside = len(given.labels.unlabeled)
    n_rows = n_inside + given.more.n_rows
    n_columns = given.X.shape[1]
    if not given.more.in_memory:
        return given, None
    if most_rows is not None and n_rows > most_rows and min(n_rows, n_columns) > MAX_NARROW_SIZE:
        # Always the same sample, so that a search has one result.
        chosen = np.sort(np.random.default_rng(0).choice(n_rows, most_rows, replace=False))
        of_X = chosen[chosen < n_inside]
        of_more = chosen[chosen >= n_inside] - n_inside
        given = replace(
            given,
            labels=replace(given.labels, unlabeled=given.labels.unlabeled[of_X]),
            more=ArrayRows(given.more.take(of_more).X),
            sets=None if given.sets is None else given.sets.take(of_X),
        )
    labels = given.labels
    n_rows = labels.n_rows + given.more.n_rows
    few = MAX_NARROW_SIZE < n_columns > n_rows and n_rows**2 <= MAX_FACTORISED_NUMBERS
    # "auto" depends on the number of columns.
    if not few or not grid.metrics or "auto" in grid.metrics:
        return given, None
    used = np.concatenate([labels.labeled, labels.unlabeled])
    parts = [part for part in (ArrayRows(given.X[used]), given.more) if part.n_rows]
    ridges = [*grid.alphas, *([] if grid.alpha_labeled is None else [grid.alpha_labeled])]
    span = span_of(parts, min(ridges))
    if span is None:
        return given, None
    n_labeled, n_used = len(labels.labeled), len(used)
    reduced = replace(
        given,
        X=span.rows[:n_used],
        labels=replace(
            labels, labeled=np.arange(n_labeled), unlabeled=np.arange(n_labeled, n_used)
        ),
        weight=given.weight_of(used),
        more=ArrayRows(span.rows[n_used:]),
    )
    return reduced, span


def score_folds(
    given: TrainingRows,
    grid: Grid,
    folds: Sequence[Fold],
    *,
    shown: Any,
    score_params: dict[str, Any],
    span: Span | None,
    share_bounds_of: Callable[[LabeledRows, Rows], ShareBounds | None],
    score: Score,
    score_twins: Score,
    n_jobs: int | None,
) -> list[tuple[Floats, Floats, int]]:
    """Return what ``score_fold`` returns for every fold of the labelled rows, in order.

    ``shown`` are the rows of X as scorers see them, and ``score_params`` the metadata they
    requested. ``share_bounds_of`` returns the bounds of a prior on the mean label of the unlabelled
    rows of a training set (None: no prior).
    """
    labels = given.labels

    def labeled_rows(positions: Index) -> LabeledRows:
        index = labels.labeled[positions]
        X = ArrayRows(given.X).take(index).X
        return LabeledRows(X, labels.targets[positions], given.weight_of(index))

    # The unlabelled rows, which only a grid with metrics uses, are in every training set: those of
    # X are consecutive in memory, because they are read many times, and moments are gathered once.
    unknown = labels.unlabeled[given.unknown if grid.metrics else slice(0)]
    of_X = ArrayRows(ArrayRows(given.X).take(unknown).X, weight=given.weight_of(unknown))
    unlabeled = chain([of_X, given.more]) if grid.metrics else of_X
    moments = gather_moments([unlabeled]) if unlabeled.n_rows and unlabeled.dense else None
    tasks = []
    for fold in folds:
        index = labels.labeled[fold.test]
        params = {name: take_rows(values, index) for name, values in score_params.items()}
        seen = take_rows(shown, index), labels.values[fold.test]
        held_out = HeldOutRows(labeled_rows(fold.test), seen, params, span)
        train = labeled_rows(fold.train[np.isin(fold.train, given.known)])
        sets = given.label_set
        shares = scale = None
        if isinstance(labels, KnownLabels):
            shares = share_bounds_of(train, unlabeled)
        else:  # the scale of the training set's own targets
            scale = replace(labels, targets=train.y).scale(shifted=grid.fit_intercept)
            assert isinstance(sets, labellings.LabelInterval)
            train = replace(train, y=scale.standardised(train.y))
            sets = scale.possible(sets)
        tasks.append(
            delayed(score_fold)(
                train, unlabeled, sets, held_out, grid, moments, shares, scale, score, score_twins
            )
        )
    parallel = Parallel(n_jobs=n_jobs, prefer=None if unlabeled.in_memory else "threads")
    return list(parallel(tasks))


def check_weights(given: TrainingRows, folds: Sequence[Fold], of_scores: bool) -> None:
    """Raise an error if a training set, or a class in it, or a test set has no weight."""
    if given.weight is None:
        return
    labels = given.labels
    weight = given.weight[given.labels.labeled]
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


def read_grid(name: str, values: Any) -> list[Any]:
    """Return valid alphas or metrics, or raise an error that names the first invalid one."""
    noun = "ridge penalty" if name == "alphas" else "metric"
    if getattr(values, "ndim", 1) == 0:
        value = values.item()
        raise ValueError(f"{name} is the single value {value!r}: pass a list, {name}=[{value!r}].")
    values = list(values)
    if not values:
        raise ValueError(f"{name} is empty: give at least one {noun}.")
    for number, value in enumerate(values):
        not_negative = isinstance(value, Real) and float(value) >= 0
        if name == "alphas":
            valid = "ridge penalties are finite numbers that are not negative"
            is_valid = not_negative and float(value) < np.inf
        else:
            valid = f"a metric is a number from 0 to 1, or one of {', '.join(map(repr, METRICS))}"
            is_valid = value in METRICS if isinstance(value, str) else not_negative and value <= 1
        if not is_valid:
            raise ValueError(f"{name} has the value {value!r} at position {number}: {valid}.")
    return [value if isinstance(value, str) else float(value) for value in values]
