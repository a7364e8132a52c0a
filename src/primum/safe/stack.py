"""A fitted stack, the weighted scores of fitted candidates, and how its weights are found.

**The nearest point.** The point of a convex hull that is nearest to a given one solves

    minimise over w >= 0, sum(w) = 1    || F w - f ||^2

With G = F - f 1' the residual is G w, and the problem asks for the point of least norm in the hull
of the columns of G. It is a problem of non-negative least squares: for v = s w,

    || G v ||^2 + (1'v - 1)^2 = s^2 || G w ||^2 + (s - 1)^2,

and the same w minimises this for every s (Lawson & Hanson 1974, chapter 23).

**The weights** of a stack of candidates come from their out-of-fold scores,

    minimise over w >= 0, sum(w) = 1

        sum_i v_i 1/2 ||O_i w - y_i||^2 / sum_i v_i  +  (shrinkage / L) ||w - w0||^2

O_i is the matrix (outputs, candidates) of the scores of row i, y_i its one-hot label and v_i its
weight. The factor 1/2 makes the loss of two classes, written as two columns, equal to the squared
error of the score of one of them. For numeric targets there is one output, and y_i is standardised
by the labelled rows: the loss is half the squared error in units of the variance.

The shrinkage towards the baseline w0 vanishes as 1/L, where L is the number of labelled rows: with
few labels the stack is close to the baseline, with many the scores decide. With the shrinkage
written as further rows, the solution is the point of a convex hull nearest to the labels. It is
unique, even if candidates are equal.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._sklearn import HasMethods, StrOptions
from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray, Floats, Index
from primum.judging.held_out import HeldOut
from primum.judging.losses import predicted_codes
from primum.judging.objectives import DecisionRule
from primum.methods.base import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    POSITIVE,
    KnownLabelsScoreMixin,
    KnownTargetsScoreMixin,
)
from primum.reading.data import locating_bad_values, open_outside
from primum.reading.targets import TargetScale
from primum.rows import Block, first_non_finite, refuse_non_finite
from primum.safe.candidates import CandidateModel, Prepared
from primum.safe.candidates.own import Team
from primum.safe.out_of_fold import Scored, checked_scores, run
from primum.safe.rows import Targets


def nearest_in_hull(points: Floats, target: Floats) -> tuple[Floats, float]:
    """Return the weights of the columns of points nearest to the target, and their proven gap.

    By convexity, the gap bounds how much the squared distance exceeds the minimum.
    """
    residuals = points - target[:, None]
    n_points = residuals.shape[1]
    scale = float(np.abs(residuals).max()) or 1.0
    triangle = np.linalg.qr(residuals / scale, mode="r")
    system = np.vstack([triangle, np.ones(n_points)])
    v = nnls(system, np.concatenate([np.zeros(len(triangle)), [1.0]]))[0]
    weights = v / v.sum()
    gradient = residuals.T @ (residuals @ weights)
    return weights, max(2 * float(gradient @ weights - gradient.min()), 0.0)


def stack_weights(
    scores: Floats,
    values: Floats,
    baseline: Floats,
    *,
    shrinkage: float,
    n_labeled: int,
    row_weight: Floats | None = None,
) -> tuple[Floats, float]:
    """Return the weights of candidates, and a bound on how far their objective is from the minimum.

    Parameters
    ----------
    scores : array of shape (n_rows, n_outputs, n_candidates)
        Out-of-fold scores. The same labelled row may occur several times, as in repeated
        cross-validation.
    values : array of shape (n_rows, n_outputs)
        One-hot labels, or standardised numbers.
    baseline : array of shape (n_candidates,)
        The weights w0.
    shrinkage : float
        Strength of the shrinkage.
    n_labeled : int
        L.
    row_weight : array of shape (n_rows,), optional
        Weights of the rows; by default 1.

    Returns
    -------
    weights : array of shape (n_candidates,)
        The weights, which are at least 0 and add up to 1.
    gap : float
        Bound on how much their objective exceeds the minimum.
    """
    weight = np.ones(len(scores)) if row_weight is None else row_weight
    root = np.sqrt(0.5 * weight / weight.sum())[:, None]
    pull = np.sqrt(shrinkage / n_labeled)
    points = (root[:, :, None] * scores).reshape(-1, len(baseline))
    target = (root * values).reshape(-1)
    return nearest_in_hull(
        np.concatenate([points, pull * np.eye(len(baseline))]),
        np.concatenate([target, pull * baseline]),
    )


# Valid values of the parameters of a safe choice, in addition to those of any method.
RANGES: dict[str, list[Any]] = {
    "candidates": [str, list, tuple],
    "baseline": [str, list, tuple, HasMethods("fit")],
    "shrinkage": POSITIVE,
    "n_repeats": AT_LEAST_ONE,
    "scoring": [str, callable],
    "time_budget": [*NOT_NEGATIVE, None],
    "standardize": ["boolean", StrOptions({"auto"})],
    "verbose": ["verbose"],
}
# The stacks of a fit, as tables name them: of all candidates, of the supervised candidates and
# counterparts, and of the baselines alone.
SAFE, SUPERVISED, BASELINE = "safe stack", "supervised stack", "baseline"
# What is said of a candidate that has no counterpart in the supervised stack.
UNPAIRED = (
    "has no supervised counterpart with scores, so it is left out of the verdict on unlabelled "
    "rows."
)


@dataclass(frozen=True)
class Stacks:
    """The stacks of a fit.

    Attributes
    ----------
    weights : dict of str to dict of str to float
        The weights of the candidates in each stack.
    shrinkage : float
        Strength of the shrinkage towards the baseline.
    gap : float
        Proven bound on how much the objective of the first stack's weights exceeds its minimum.
    scores : dict of arrays of shape (n_held_out, n_outputs)
        Out-of-fold scores of the candidates.
    models : dict of CandidateModel
        The candidates that have a weight, fitted to all rows.
    probe : dict of arrays of shape (n_probe, n_outputs)
        Their scores for some unlabelled rows.
    """

    weights: dict[str, dict[str, float]]
    shrinkage: float
    gap: float
    scores: dict[str, Floats]
    models: dict[str, CandidateModel]
    probe: dict[str, Floats]


def weigh_and_refit(
    team: Team,
    scored: Scored,
    held_out: HeldOut,
    targets: Targets,
    shrinkage: float,
    probe: Any,
    *,
    n_jobs: int | None = None,
    title: str = "",
) -> Stacks:
    """Return the weights of the stacks, and the candidates that have one, fitted to all rows.

    A candidate that fails only now is left out, and the weights are found again without it. Raises
    an error if a baseline failed.
    """
    scores, baselines = scored.scores(len(held_out.folds)), team.baselines
    while True:
        for failure in scored.failures:
            if failure.candidate in baselines:
                raise ValueError(
                    f"The baseline cannot be fitted ({failure}): correct it, or choose another "
                    "one with baseline=."
                )
        members, supervised = team.members(scores)
        own, gap = fit_weights(scores, members, baselines, held_out, targets, shrinkage)
        twin, _ = fit_weights(scores, supervised, baselines, held_out, targets, shrinkage)
        share = dict.fromkeys(baselines, 1.0 / len(baselines))
        weights = {SAFE: own, SUPERVISED: twin, BASELINE: share}
        wanted = [name for name in scores if any(w.get(name, 0.0) > 0 for w in weights.values())]
        tasks = [
            (name, "final fit", final_fit, scored.prepared[name], targets, probe) for name in wanted
        ]
        results = run(scored, tasks, n_jobs, title)
        fitted = {name: result for name, _, result in results if result is not None}
        if len(fitted) == len(wanted):
            for name in team.unpaired(scores):
                note = f"{name} {UNPAIRED}"
                scored.approximated.setdefault(name, []).append(note)
            models = {name: model for name, (model, _) in fitted.items()}
            of_probe = {name: values for name, (_, values) in fitted.items()}
            return Stacks(weights, shrinkage, gap, scores, models, of_probe)
        scores = {n: values for n, values in scores.items() if n in fitted or n not in wanted}


def fit_weights(
    scores: dict[str, Floats],
    names: Sequence[str],
    baselines: Sequence[str],
    held_out: HeldOut,
    targets: Targets,
    shrinkage: float,
    among: Index | slice = slice(None),
) -> tuple[dict[str, float], float]:
    """Return the weights of candidates, fitted to some of the held-out rows, and their gap."""
    rows, weight = held_out.rows[among], held_out.row_weight
    weights, gap = stack_weights(
        np.stack([scores[name] for name in names], axis=2)[among],
        targets.values[rows],
        np.array([float(name in baselines) for name in names]) / len(baselines),
        shrinkage=shrinkage,
        n_labeled=len(np.unique(rows)),
        row_weight=None if weight is None else weight[among],
    )
    return dict(zip(names, weights.tolist(), strict=True)), gap


def cross_fitted(
    scores: dict[str, Floats],
    names: Sequence[str],
    baselines: Sequence[str],
    held_out: HeldOut,
    targets: Targets,
    shrinkage: float,
) -> Floats:
    """Return the scores of a stack, each row's with weights fitted to the other folds."""
    rows, fold_of = held_out.rows, held_out.fold_of
    every = np.stack([scores[name] for name in names], axis=2)
    stacked = np.empty(every.shape[:2])
    for number, fold in enumerate(held_out.folds):
        others = np.flatnonzero(~np.isin(rows, fold.test))
        weights = {name: float(name in baselines) / len(baselines) for name in names}
        if len(others):
            weights, _ = fit_weights(
                scores, names, baselines, held_out, targets, shrinkage, among=others
            )
        in_fold = fold_of == number
        stacked[in_fold] = every[in_fold] @ np.array(list(weights.values()))
    return stacked


def final_fit(prepared: Prepared, targets: Targets, probe: Any) -> tuple[CandidateModel, Floats]:
    """Return the model of all labelled rows, and its scores for the rows probe."""
    model = prepared.fit(np.arange(len(targets)), targets)
    scores = np.zeros((0, targets.n_outputs))
    if probe.shape[0]:
        scores = stacked_scores({"": model}, {"": 1.0}, probe)
    return model, checked_scores(scores, probe.shape[0], targets.n_outputs)


# Rows are scored in blocks of this many, because kernels and neighbours need a number per pair of
# rows: fewer than for one model (``disagreements.ROWS_PER_BLOCK``), because a stack has several.
SCORED_ROWS_PER_BLOCK = 4096
# Function of the scores (n_rows, n_outputs) that returns one or several values per row.
OfScores = Callable[[Floats], AnyArray]
# Fitted attributes that ``baseline_`` and ``supervised_`` share with the model.
SHARED_ATTRIBUTES = (
    "classes_",
    "target_mean_",
    "target_scale_",
    "n_features_in_",
    "feature_names_in_",
)


class StackMixin(KnownLabelsScoreMixin):
    """A weighted sum of scores.

    The classes that inherit it have the fitted attributes ``weights_`` and ``models_``, the models
    of all candidates whose weight is not 0.
    """

    weights_: dict[str, float]
    models_: dict[str, CandidateModel]

    def _of_scores(
        self, X: Any, function: OfScores, dtype: Any = np.float64, n_values: int | None = None
    ) -> Any:
        """Return a function of the weighted scores of rows, one or n_values numbers per row.

        Rows in files or on a cluster are scored block by block.
        """
        check_is_fitted(self, "models_")
        outside = open_outside(self, X)
        if outside is None:
            with locating_bad_values(X, "X"):
                rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
            return function(stacked_scores(self.models_, self.weights_, rows))
        kernel = partial(_of_block, self.models_, self.weights_, function)
        n_jobs = effective_n_jobs(getattr(self, "n_jobs", None))
        with one_blas_thread(), using_threads(n_jobs):
            return outside.apply(kernel, dtype, n_values)

    def _stack(self, weights: dict[str, float], models: dict[str, CandidateModel]) -> Any:
        """Return the stack of some of the models, for the same features and targets."""
        stack: Any = StackedRegressor() if is_regressor(self) else StackedClassifier()
        stack.weights_ = weights
        stack.models_ = {name: models[name] for name, weight in weights.items() if weight > 0}
        for name in SHARED_ATTRIBUTES:
            if hasattr(self, name):
                setattr(stack, name, getattr(self, name))
        return stack

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


class StackPredictionMixin(StackMixin):
    """Predictions of classes from weighted scores.

    The classes that inherit it have the fitted attribute ``classes_``, and ``rule_`` if classes are
    not predicted by the largest score.
    """

    classes_: AnyArray
    rule_: DecisionRule | None

    def codes_of(self, scores: Floats) -> Index:
        """Return the class codes that are predicted for scores.

        Parameters
        ----------
        scores : array of shape (n_rows, n_classes)
            Scores of the stack.

        Returns
        -------
        array of shape (n_rows,)
            Class codes.
        """
        rule: DecisionRule | None = getattr(self, "rule_", None)
        return predicted_codes(scores) if rule is None else rule.codes(scores)

    def predict_proba(self, X: Any) -> Any:
        """Return the score of every class, a number in [0, 1]; those of a row add up to 1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Dask collection
            Rows. A Parquet file or folder, or a Dask array or DataFrame, is read block by block.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The weighted mean of the scores of the candidates. A lazy Dask array if the rows are a
            Dask collection.
        """
        return self._of_scores(X, np.asarray, n_values=self._n_classes)

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Dask collection
            Rows, as in ``predict_proba``.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            For two classes the score of the second minus 1/2, for more all scores. A lazy Dask
            array if the rows are a Dask collection.
        """
        n_classes = self._n_classes
        return self._of_scores(X, _decisions, n_values=None if n_classes == 2 else n_classes)

    def predict(self, X: Any) -> Any:
        """Return the predicted class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Dask collection
            Rows, as in ``predict_proba``.

        Returns
        -------
        array of shape (n_samples,)
            The class with the largest score; in a tie the second of two classes, or the first of
            more. If errors have costs, or the scoring is about one class, the class that the
            decision rule chooses. A lazy Dask array if the rows are a Dask collection.
        """
        check_is_fitted(self, "models_")
        return self._of_scores(X, self._classes_of, self.classes_.dtype)

    def _classes_of(self, scores: Floats) -> AnyArray:
        return np.asarray(self.classes_[self.codes_of(scores)])

    @property
    def _n_classes(self) -> int:
        check_is_fitted(self, "models_")
        return len(self.classes_)


class StackNumberMixin(KnownTargetsScoreMixin, StackMixin):
    """Predictions of numbers: weighted standardised scores, converted to the unit of the targets.

    ``target_mean_`` and ``target_scale_`` are the mean and the standard deviation of the known
    targets.
    """

    target_mean_: float
    target_scale_: float

    def predict(self, X: Any) -> Any:
        """Return the predicted number of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Dask collection
            Rows. A Parquet file or folder, or a Dask array or DataFrame, is read block by block.

        Returns
        -------
        array of shape (n_samples,)
            The weighted mean of the predictions of the candidates. A lazy Dask array if the rows
            are a Dask collection.
        """
        check_is_fitted(self, "models_")
        scale = TargetScale(self.target_mean_, self.target_scale_)
        return self._of_scores(X, lambda scores: np.asarray(scale.restored(scores[:, 0])))


class StackedClassifier(StackPredictionMixin, ClassifierMixin, BaseEstimator):
    """A fitted stack of candidates.

    It is part of a fitted SafeClassifier; its own ``fit`` does nothing.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    weights_ : dict of str to float
        The weight of every candidate.
    models_ : dict
        The fitted candidates with a weight above 0.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: the stack is fitted already.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Ignored.
        y : array-like of shape (n_samples,)
            Ignored.

        Returns
        -------
        self
            The stack.
        """
        return self


class StackedRegressor(StackNumberMixin, RegressorMixin, BaseEstimator):
    """A fitted stack of candidates for numeric targets.

    It is part of a fitted SafeRegressor; its own ``fit`` does nothing.

    Attributes
    ----------
    weights_ : dict of str to float
        The weight of every candidate.
    models_ : dict
        The fitted candidates with a weight above 0.
    target_mean_, target_scale_ : float
        Mean and standard deviation of the known targets, in whose units the candidates predict.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: the stack is fitted already.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Ignored.
        y : array-like of shape (n_samples,)
            Ignored.

        Returns
        -------
        self
            The stack.
        """
        return self


def stacked_scores(models: dict[str, CandidateModel], weights: dict[str, float], X: Any) -> Floats:
    """Return the weighted scores of rows."""
    return np.concatenate([_weighted(weights, scores) for scores in _scores(models, X)])


def _decisions(scores: Floats) -> Floats:
    """Return decision values: of two classes the score of the second minus 1/2, else all scores."""
    return scores[:, 1] - 0.5 if scores.shape[1] == 2 else scores


def _of_block(
    models: dict[str, CandidateModel], weights: dict[str, float], function: OfScores, block: Block
) -> AnyArray:
    """Return a function of the weighted scores of a block of rows outside memory."""
    if first_non_finite(block.X) is not None:
        refuse_non_finite(block)
    return function(stacked_scores(models, weights, block.X))


def codes_of_stacks(stacks: Sequence[StackPredictionMixin], X: Any) -> Index:
    """Return the class codes (n_rows, n_stacks) of the largest scores of stacks of shared models.

    A model of several stacks predicts every row once.
    """
    models = {name: model for stack in stacks for name, model in stack.models_.items()}
    weights = [stack.weights_ for stack in stacks]
    return np.concatenate([codes_of_scores(weights, scores) for scores in _scores(models, X)])


def codes_of_scores(weights: Sequence[dict[str, float]], scores: dict[str, Floats]) -> Index:
    """Return the class codes (n_rows, n_stacks) of the largest scores, by the weights of stacks."""
    return np.stack([predicted_codes(_weighted(own, scores)) for own in weights], axis=1)


def _weighted(weights: dict[str, float], scores: dict[str, Floats]) -> Floats:
    """Return the weighted sum of the scores of all models that have a weight."""
    return np.asarray(sum(weight * scores[name] for name, weight in weights.items() if weight > 0))


def _scores(models: dict[str, CandidateModel], X: Any) -> Iterator[dict[str, Floats]]:
    """Yield the scores of models, block by block."""
    for start in range(0, X.shape[0], SCORED_ROWS_PER_BLOCK):
        block = X[start : start + SCORED_ROWS_PER_BLOCK]
        yield {name: model.predict(block) for name, model in models.items()}
