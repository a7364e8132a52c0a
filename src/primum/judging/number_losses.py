"""Losses of predicted numbers, by which held-out predictions are judged: lower is better.

With the errors e_i of held-out rows and the deviations d_i of their targets from the mean target,

    neg_root_mean_squared_error        RMSE, R = (mean of e_i^2)^(1/2), in units of the target
    neg_mean_absolute_error            mean of |e_i|
    neg_mean_squared_error             mean of e_i^2
    neg_root_mean_squared_log_error    RMSE of log(1 + y); predictions below 0 count as 0
    r2                                 1 - R^2 = q = mean of e_i^2 / mean of d_i^2

RMSE and q are functions of means over rows. Linearised there (the delta method), they are means of

    R / 2 + e_i^2 / (2 R)    and    q + (e_i^2 - q d_i^2) / mean of d_i^2,

which are the losses themselves, and whose variance over rows is that of the estimate. So groups,
weights and the corrected standard error of ``held_out`` apply to them. Any other scorer of
scikit-learn is applied to all rows of a fold.

Differences are judged in shares of the loss of the baseline (``difference.EQUIVALENT_SHARE``),
because a target has no natural unit.

Two classifiers can differ in error only on rows for which they predict different classes: there are
few of them, and their labels settle which one is better. Two regressors differ on every row, by any
amount. For numbers there is neither a bound by disagreement nor a settlement: what remains is an
estimate with its standard error.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from primum._typing import Floats, Index
from primum.judging.losses import (
    SHORT_SCORINGS,
    Loss,
    Measure,
    Predictions,
    name_of,
    named_scorer,
)

RMSE = SHORT_SCORINGS["rmse"]
# A loss is shown with this many digits of the standard deviation of the targets.
DIGITS = 3


def _squared(own: Predictions, weight: Floats | None = None) -> Floats:
    return np.asarray((own.predicted - own.truth) ** 2, dtype=np.float64)


def _absolute(own: Predictions, weight: Floats | None = None) -> Floats:
    return np.abs(own.predicted - own.truth).astype(np.float64)


def _root(squares: Floats, weight: Floats | None) -> Floats:
    """Return numbers of rows whose mean is the root of the mean of squares, to first order."""
    root = float(np.sqrt(np.average(squares, weights=weight)))
    return root / 2 + squares / (2 * root) if root > 0 else np.zeros(len(squares))


def _root_squared(own: Predictions, weight: Floats | None = None) -> Floats:
    return _root(_squared(own), weight)


def _root_squared_log(own: Predictions, weight: Floats | None = None) -> Floats:
    logarithms = np.log1p(own.truth), np.log1p(np.maximum(own.predicted, 0.0))
    return _root(_squared(Predictions(*logarithms, None)), weight)


def _unexplained(own: Predictions, weight: Floats | None = None) -> Floats:
    deviations = (own.truth - np.average(own.truth, weights=weight)) ** 2
    variance = float(np.average(deviations, weights=weight))
    if variance == 0:
        return np.full(len(deviations), np.nan)
    squares = _squared(own)
    share = float(np.average(squares, weights=weight)) / variance
    return np.asarray(share + (squares - share * deviations) / variance)


# The name of a loss, the power of the unit of the target that it has, and its value in every row.
NUMBER_LOSSES: dict[str, tuple[str, int, Callable[..., Floats]]] = {
    RMSE: ("RMSE", 1, _root_squared),
    "neg_mean_absolute_error": ("mean absolute error", 1, _absolute),
    "neg_mean_squared_error": ("mean squared error", 2, _squared),
    "neg_root_mean_squared_log_error": ("RMSE of logarithms", 0, _root_squared_log),
    "r2": ("unexplained variance", 0, _unexplained),
}
MEASURES = {
    "neg_root_mean_squared_log_error": Measure("RMSE of logarithms", "", 1.0, 3),
    "r2": Measure("unexplained variance"),
}


def full_scoring(scoring: Any) -> Any:
    """Return a scoring of numbers by the name that scikit-learn has for it."""
    return SHORT_SCORINGS.get(scoring.lower(), scoring) if isinstance(scoring, str) else scoring


def read_number_scoring(scoring: Any, truth: Floats, unit: str = "") -> Loss:
    """Return the loss of a scikit-learn scoring of predicted numbers.

    Parameters
    ----------
    scoring : str or callable
        "neg_root_mean_squared_error", "neg_mean_absolute_error", "neg_mean_squared_error",
        "neg_root_mean_squared_log_error", "r2" (one minus it), the name of any other scorer of
        scikit-learn for numbers, or a callable ``scorer(estimator, X, y)`` that returns more for
        better predictions. A callable must not look at X.
    truth : array of shape (n_labeled,)
        The known targets, for the number of digits.
    unit : str, default=""
        The unit of the target, for example "EUR".

    Returns
    -------
    Loss
        The loss.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.judging.losses import Predictions
    >>> from primum.judging.number_losses import read_number_scoring
    >>> truth = np.array([1.0, 2.0, 3.0])
    >>> loss = read_number_scoring("neg_root_mean_squared_error", truth)
    >>> loss.of_split(Predictions(truth, truth + [2.0, -2.0, 2.0], None))
    2.0
    """
    measure = number_measure(scoring, truth, unit)
    if not _is_known(scoring):
        return Loss(scoring, measure, None, partial(_minus_score, read_number_scorer(scoring)))
    of_rows = NUMBER_LOSSES[scoring][2]

    def of_split(own: Predictions, weight: Floats | None = None) -> float:
        return float(np.average(of_rows(own, weight), weights=weight))

    return Loss(scoring, measure, of_rows, of_split)


def number_measure(scoring: Any, truth: Floats, unit: str = "") -> Measure:
    """Return how the loss of a scoring of numbers is called and shown."""
    if not _is_known(scoring):
        return Measure(f"loss (minus {name_of(scoring)})", "", 1.0, 3)
    if scoring in MEASURES:
        return MEASURES[scoring]
    name, power, _ = NUMBER_LOSSES[scoring]
    spread = float(np.std(truth)) ** power
    order = int(np.floor(np.log10(spread))) if 0 < spread < np.inf else 0
    shown = f" {unit}{'²' if power == 2 else ''}" if unit else ""
    return Measure(name, shown, 1.0, max(DIGITS - 1 - order, 0))


def _is_known(scoring: Any) -> bool:
    """Return whether the loss of a scoring is a mean over rows, if only to first order."""
    return isinstance(scoring, str) and scoring in NUMBER_LOSSES


class StoredRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose predictions are already known, for scikit-learn's scorers."""

    def __init__(self, predictions: Any = None) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any) -> "StoredRegressor":
        """Do nothing."""
        return self

    def predict(self, X: Any) -> Floats:
        """Return the stored numbers."""
        return np.asarray(self.predictions.predicted)


def read_number_scorer(scoring: Any) -> Any:
    """Return the scorer that a name or a callable stands for; raise an error for any other."""
    scorer = named_scorer(scoring, StoredRegressor())
    home = getattr(getattr(scorer, "_score_func", None), "__module__", "")
    if home.startswith("sklearn.") and not home.endswith("_regression"):
        raise ValueError(
            f"scoring={scoring!r} is for classes: choose one for numeric targets, such as {RMSE!r} "
            "or 'r2'."
        )
    return scorer


def _minus_score(scorer: Any, own: Predictions, weight: Floats | None = None) -> float:
    """Return minus the score of predictions, or NaN if it is undefined."""
    rows = np.arange(len(own.truth))[:, None]
    options = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():
        # What scikit-learn only warns of, such as a score of a single row, is undefined.
        warnings.simplefilter("error", UserWarning)
        try:
            return -float(scorer(StoredRegressor(own), rows, own.truth, **options))
        except UserWarning:
            return float("nan")


def check_number_folds(
    scoring: Any, tests: Sequence[Index], truth: Floats, weight: Floats | None = None
) -> list[int]:
    """Return the numbers of the folds in which a scoring of numbers is undefined.

    ``tests`` are the rows that the folds hold out, and ``truth`` the targets of all rows. It is an
    error if the scoring cannot be computed of all rows together, before anything is fitted.
    """
    loss = read_number_scoring(scoring, truth)
    if scoring == "neg_root_mean_squared_log_error" and truth.min() < 0:
        raise ValueError(
            f"scoring={scoring!r} needs targets that are not negative, but one is "
            f"{truth.min():g}: choose {RMSE!r}."
        )
    nearly_right = Predictions(truth, 0.9 * truth + 0.1 * float(np.mean(truth)), None)
    if not np.isfinite(loss.of_split(nearly_right, weight)):
        raise ValueError(
            f"The score {name_of(scoring)!r} is undefined for the {len(truth)} labelled rows, "
            f"whose targets are from {truth.min():g} to {truth.max():g}: choose another scoring."
        )
    if loss.of_rows is not None:
        return []
    if len(tests) < 2:
        raise ValueError(
            f"The score {name_of(scoring)!r} is computed in every split and needs at least two, "
            f"but cv has one: use more folds, or scoring={RMSE!r}."
        )
    parts = [(test, None if weight is None else weight[test]) for test in tests]
    losses = [loss.of_split(nearly_right.take(test), own) for test, own in parts]
    return [number for number, value in enumerate(losses) if not np.isfinite(value)]
