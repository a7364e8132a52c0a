"""Scores of the models of a grid on held-out rows, and their table."""

import reprlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import rankdata

from primum._typing import Floats, Index
from primum.labellings.sets import nearest_shares
from primum.selection._models import Model

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


def brier_scores(models: Sequence[Model], rows: HeldOutRows) -> Floats:
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


def squared_errors(models: Sequence[Model], rows: HeldOutRows) -> Floats:
    """Return minus the mean squared error of every model."""
    coef, intercept = (np.stack(values, axis=-1) for values in zip(*models, strict=True))
    errors = np.asarray(rows.X @ coef) + intercept - rows.targets[:, None]
    return -np.average(errors**2, axis=0, weights=rows.weight)


def scorer_scores(
    models: Sequence[Model],
    rows: HeldOutRows,
    scorer: Any,
    fitted: Callable[[int, Model], Any],
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
