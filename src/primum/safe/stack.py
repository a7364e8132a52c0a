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
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray, Floats, Index
from primum.judging.losses import predicted_codes
from primum.judging.objectives import DecisionRule
from primum.methods.base import KnownLabelsScoreMixin, KnownTargetsScoreMixin
from primum.reading.data import locating_bad_values, open_outside
from primum.reading.targets import TargetScale
from primum.rows import Block, first_non_finite, refuse_non_finite
from primum.safe.candidates import CandidateModel


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


# Rows are scored in blocks of this many, because kernels and neighbours need a number per pair of
# rows: fewer than for one model (``disagreements.ROWS_PER_BLOCK``), because a stack has several.
SCORED_ROWS_PER_BLOCK = 4096
# Function of the scores (n_rows, n_outputs) that returns one or several values per row.
OfScores = Callable[[Floats], AnyArray]
# What a stack of some of the models takes from the stack that has all of them.
OF_PARENT = ("classes_", "target_mean_", "target_scale_", "n_features_in_", "feature_names_in_")
Stack = TypeVar("Stack", bound="StackMixin")


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

    def _filled(
        self, stack: Stack, weights: dict[str, float], models: dict[str, CandidateModel]
    ) -> Stack:
        """Return the stack of some of the models, for the same features and targets."""
        stack.weights_ = weights
        stack.models_ = {name: models[name] for name, weight in weights.items() if weight > 0}
        for name in OF_PARENT:
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

    def _stack(
        self, weights: dict[str, float], models: dict[str, CandidateModel]
    ) -> "StackedClassifier":
        return self._filled(StackedClassifier(), weights, models)

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

    def _stack(
        self, weights: dict[str, float], models: dict[str, CandidateModel]
    ) -> "StackedRegressor":
        return self._filled(StackedRegressor(), weights, models)


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
    """Return the class codes (n_rows, n_stacks) that stacks of shared models predict.

    A model of several stacks predicts every row once.
    """
    models = {name: model for stack in stacks for name, model in stack.models_.items()}
    return np.concatenate([codes_of_scores(stacks, scores) for scores in _scores(models, X)])


def codes_of_scores(stacks: Sequence[StackPredictionMixin], scores: dict[str, Floats]) -> Index:
    """Return the class codes (n_rows, n_stacks) of stacks, given the scores of their models."""
    stacked = [
        _weighted(stack.weights_, {name: scores[name] for name in stack.models_})
        for stack in stacks
    ]
    both = zip(stacks, stacked, strict=True)
    return np.stack([stack.codes_of(values) for stack, values in both], axis=1)


def _weighted(weights: dict[str, float], scores: dict[str, Floats]) -> Floats:
    return np.asarray(sum(weights[name] * values for name, values in scores.items()))


def _scores(models: dict[str, CandidateModel], X: Any) -> Iterator[dict[str, Floats]]:
    """Yield the scores of models, block by block."""
    for start in range(0, X.shape[0], SCORED_ROWS_PER_BLOCK):
        block = X[start : start + SCORED_ROWS_PER_BLOCK]
        yield {name: model.predict(block) for name, model in models.items()}
