"""A search over a grid: one task per fold, and the scores that it returns."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import Floats, Index
from primum.equations import gather_moments
from primum.estimators._data import FitArguments
from primum.estimators._labels import KnownLabels
from primum.estimators._targets import TargetScale
from primum.labellings import Interval, LabeledRows, Shares
from primum.rows import ArrayRows, chain
from primum.selection._folds import Fold
from primum.selection._models import Grid, Model, TrainingSet, supervised_models
from primum.selection._scores import HeldOutRows


@dataclass(frozen=True)
class FoldTask:
    """One training set, the rows held out of it, and the scale of a regression's targets."""

    training: TrainingSet
    held_out: HeldOutRows
    scale: TargetScale | None = None

    def restored(self, models: Sequence[Model]) -> list[Model]:
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


Score = Callable[[Sequence[Model], HeldOutRows], Floats]


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
    assert isinstance(training.labels, Interval)
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
