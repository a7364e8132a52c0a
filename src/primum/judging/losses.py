"""Losses for judging held-out predictions: lower is better.

The following are means over rows. For classes,

    accuracy             1 if the predicted class is another one, else 0
    balanced_accuracy    the same times n / (K n_c): all K classes that occur count the same
    neg_brier_score      half the squared distance of the scores from the one-hot label
    neg_log_loss         minus the logarithm of the score of the true class
    cost                 the cost of the predicted class, given the true one

where n_c of the n rows, by weight, have the class of the row. For numeric targets, with the errors
e_i of held-out rows and the deviations d_i of their targets from the mean target,

    neg_root_mean_squared_error        RMSE, R = (mean of e_i^2)^(1/2), in units of the target
    neg_mean_absolute_error            mean of |e_i|
    neg_mean_squared_error             mean of e_i^2
    neg_root_mean_squared_log_error    RMSE of log(1 + y); predictions below 0 count as 0
    r2                                 q = mean of e_i^2 / mean of d_i^2, one minus the score

RMSE and q are functions of means over rows. Linearised (the delta method), they are the means of

    R / 2 + e_i^2 / (2 R)    and    q + (e_i^2 - q d_i^2) / mean of d_i^2,

whose variances over rows are those of the estimates. So groups, weights and the corrected standard
error of ``held_out`` apply to them. Differences are judged in shares of the loss of the baseline
(``difference.EQUIVALENT_SHARE``), because a target has no natural unit.

Any other scorer of scikit-learn is applied to all rows of a fold, through a model that returns the
stored predictions. Such a score, the area under the ROC curve for instance, may be undefined in a
fold that holds out no row of some class. The rows that all folds of a repeat hold out are then
scored together.

Two classifiers can differ in error only on rows for which they predict different classes: there are
few of them, and their labels settle which one is better. Two regressors differ on every row, by any
amount. For numbers there is neither a bound by disagreement nor a settlement: what remains is an
estimate with its standard error.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from math import ceil, floor, log10
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import average_precision_score, check_scoring, get_scorer_names

from primum._sklearn import metric_module
from primum._typing import AnyArray, Floats, Index
from primum.judging.objectives import (
    AVERAGE_PRECISION,
    COST,
    F1,
    OF_POSITIVE,
    RECALL,
    Objective,
    cost_digits,
    read_objective,
)

# A score of 0 counts as this probability, so that its log loss is finite: about the rounding of a
# probability of 1.
MIN_PROBABILITY = 1e-15
# Short names of scorings of numbers.
SHORT_SCORINGS = {
    "rmse": "neg_root_mean_squared_error",
    "mae": "neg_mean_absolute_error",
    "mse": "neg_mean_squared_error",
    "rmsle": "neg_root_mean_squared_log_error",
}
# Losses of the predicted classes alone.
OF_CLASSES = ("accuracy", "balanced_accuracy")


@dataclass(frozen=True)
class Measure:
    """How a loss is called and shown.

    Attributes
    ----------
    name : str
        Name of the loss, for example "error".
    unit : str
        Shown after a number, for example "points".
    scale : float
        Factor from the loss to the number shown.
    digits : int
        Digits after the decimal point.
    """

    name: str = "error"
    unit: str = " points"
    scale: float = 100.0
    digits: int = 1

    def show(self, value: float) -> str:
        """Return the size of a change in words, without sign."""
        return f"{abs(value) * self.scale:,.{self.digits}f}{self.unit}"

    def show_limit(self, value: float) -> str:
        """Return a limit that someone chose, without digits that it does not need: "1 point"."""
        number = f"{value * self.scale:g}"
        return f"{number}{self.unit.removesuffix('s') if number == '1' else self.unit}"

    def show_range(self, low: float, high: float) -> str:
        """Return a range of changes, with signs.

        Ends that would be rounded to one number are rounded outwards instead.
        """
        exact = [value * self.scale for value in (low, high)]
        ends = [round(value, self.digits) + 0.0 for value in exact]
        if ends[0] == ends[1] and exact[0] != exact[1]:
            step = 10.0**-self.digits
            ends = [step * floor(exact[0] / step) + 0.0, step * ceil(exact[1] / step) + 0.0]
        shown = [f"{end:+,.{self.digits}f}" if end else f"{end:.{self.digits}f}" for end in ends]
        return f"{' to '.join(shown)}{self.unit}"

    def in_steps_of(self, margin: float) -> Self:
        """Return the measure with digits enough for changes of about a tenth of a margin.

        One point of error needs one digit, and a margin of 0.24 EUR two.
        """
        shown = margin * self.scale
        if not 0 < shown < np.inf:
            return self
        return replace(self, digits=max(self.digits, 1 - floor(log10(shown))))


ERROR = Measure()


@dataclass(frozen=True)
class Predictions:
    """Predictions of one model for rows whose classes, or numeric targets, are known.

    Attributes
    ----------
    truth, predicted : array of shape (n_rows,)
        Class codes, or numbers.
    scores : array of shape (n_rows, n_classes) or None
        Scores of classes, if the model has any.
    """

    truth: AnyArray
    predicted: AnyArray
    scores: Floats | None

    @classmethod
    def of_scores(cls, truth: Index, scores: Floats) -> "Predictions":
        """Return the predictions of a classifier that chooses the class with the largest score."""
        return cls(truth, predicted_codes(scores), scores)

    def take(self, rows: Index) -> "Predictions":
        """Return the predictions of some of the rows."""
        scores = None if self.scores is None else self.scores[rows]
        return Predictions(self.truth[rows], self.predicted[rows], scores)

    @property
    def needed_scores(self) -> Floats:
        """The scores; an error if there are none."""
        if self.scores is None:
            raise ValueError(
                "The scoring needs scores, but a classifier has neither predict_proba nor "
                "decision_function: leave it out, or choose a scoring of predicted classes."
            )
        return self.scores


# Predictions for no rows: the default of stored models, which are always given others.
NO_ROWS = Predictions(np.zeros(0), np.zeros(0), None)


def joined(parts: Sequence[Predictions]) -> Predictions:
    """Return the predictions of several splits as one."""
    scores = [part.scores for part in parts if part.scores is not None]
    return Predictions(
        np.concatenate([part.truth for part in parts]),
        np.concatenate([part.predicted for part in parts]),
        np.concatenate(scores) if len(scores) == len(parts) else None,
    )


def predicted_codes(scores: Floats) -> AnyArray:
    """Return the class codes with the largest scores; of two classes with a tie, the second."""
    if scores.shape[1] == 2:
        return (scores[:, 1] >= scores[:, 0]).astype(np.intp)
    return np.asarray(scores.argmax(axis=1))


def _wrong(part: Predictions, weight: Floats | None = None) -> Floats:
    return (part.predicted != part.truth).astype(np.float64)


def _balanced(part: Predictions, weight: Floats | None = None) -> Floats:
    totals = np.bincount(part.truth, weight)
    return _wrong(part) * totals.sum() / (np.count_nonzero(totals) * totals[part.truth])


def _half_brier(part: Predictions, weight: Floats | None = None) -> Floats:
    scores = part.needed_scores
    return np.asarray(0.5 * np.sum((scores - np.eye(scores.shape[1])[part.truth]) ** 2, axis=1))


def _log_loss(part: Predictions, weight: Floats | None = None) -> Floats:
    scores = part.needed_scores[np.arange(len(part.truth)), part.truth]
    return -np.log(np.maximum(scores, MIN_PROBABILITY))


# How a loss that is a mean over rows is shown, and its value in every row.
ROW_LOSSES: dict[str, tuple[Measure, Callable[..., Floats]]] = {
    "accuracy": (ERROR, _wrong),
    "balanced_accuracy": (Measure("balanced error"), _balanced),
    "neg_brier_score": (Measure("Brier score", "", 1.0, 3), _half_brier),
    "neg_log_loss": (Measure("log loss", "", 1.0, 3), _log_loss),
}


@dataclass(frozen=True)
class Loss:
    """How predictions are judged.

    Attributes
    ----------
    scoring : str or callable
        The scoring of scikit-learn.
    measure : Measure
        Its name and unit.
    of_rows : callable or None
        Function of predictions, and of weights of the rows if these are not equal, that returns the
        loss of every row; None if the loss is no mean over rows.
    of_split : callable
        Function of the same that returns the loss of all rows together; NaN if it is undefined.
    needs_scores : bool
        Whether classifiers that only predict classes cannot be judged by it.
    objective : Objective or None
        What decision rules are chosen for, if not for the least error.
    """

    scoring: Any
    measure: Measure
    of_rows: Callable[..., Floats] | None
    of_split: Callable[..., float]
    needs_scores: bool = False
    objective: Objective | None = None


def read_scoring(scoring: Any, classes: AnyArray) -> Loss:
    """Return the loss of a scikit-learn scoring.

    Parameters
    ----------
    scoring : str, callable or Objective
        "accuracy", "balanced_accuracy", "neg_brier_score" (the sum over classes divided by two),
        "neg_log_loss", the name of any other scorer of scikit-learn, or a callable
        ``scorer(estimator, X, y)`` that returns more for better predictions. A callable must not
        look at X. An objective says what costs errors have, or which class is positive.
    classes : array of shape (n_classes,)
        Names of the classes.

    Returns
    -------
    Loss
        The loss.
    """
    objective, measure = read_objective(scoring, classes), measure_of(scoring)
    if objective is not None and objective.name in OF_POSITIVE:
        minus = partial(_minus_score_of_positive, objective)
        needs_scores = not objective.has_rule
        return Loss(objective.scoring, measure, None, minus, needs_scores, objective)
    name = scoring_name(scoring)
    if not _is_mean(scoring):
        return Loss(scoring, measure, None, partial(_minus_score, read_scorer(scoring), classes))
    cost = None if objective is None else objective.cost
    of_rows = ROW_LOSSES[name][1] if cost is None else partial(_costs, np.array(cost))
    needs_scores = name not in (*OF_CLASSES, COST)
    return Loss(name, measure, of_rows, partial(_mean, of_rows), needs_scores, objective)


def _mean(of_rows: Callable[..., Floats], part: Predictions, weight: Floats | None = None) -> float:
    return float(np.average(of_rows(part, weight), weights=weight))


def _costs(matrix: Floats, part: Predictions, weight: Floats | None = None) -> Floats:
    return np.asarray(matrix[part.truth, part.predicted])


def _minus_score_of_positive(
    objective: Objective, part: Predictions, weight: Floats | None = None
) -> float:
    """Return minus a score of the positive class; NaN if no row belongs to it."""
    weight = np.ones(len(part.truth)) if weight is None else weight
    truth, claimed = part.truth == objective.positive, part.predicted == objective.positive
    right, of_class = float(weight[truth & claimed].sum()), float(weight[truth].sum())
    if not of_class:
        return float("nan")
    if objective.name == AVERAGE_PRECISION:
        scores = part.needed_scores[:, objective.positive]
        return -float(average_precision_score(truth, scores, sample_weight=weight))
    predicted = float(weight[claimed].sum())
    if objective.name == F1:
        return -2 * right / (predicted + of_class)
    precision = right / predicted if predicted else 1.0
    return -right / of_class + max(float(objective.precision or 0.0) - precision, 0.0)


def _is_mean(scoring: Any) -> bool:
    """Return whether the loss of a scoring is a mean over rows."""
    if isinstance(scoring, Objective):
        return scoring.name not in OF_POSITIVE
    return isinstance(scoring, str) and scoring in ROW_LOSSES


def scoring_name(scoring: Any) -> str:
    """Return the name of a scoring."""
    if isinstance(scoring, Objective):
        return scoring.scoring
    return str(
        scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "the given score")
    )


def measure_of(scoring: Any) -> Measure:
    """Return how the loss of a scoring is called and shown."""
    if isinstance(scoring, Objective) and scoring.cost is not None:
        return Measure("cost per row", "", 1.0, cost_digits(np.array(scoring.cost)))
    if _is_mean(scoring):
        return ROW_LOSSES[scoring_name(scoring)][0]
    return _measure_of_scorer(scoring)


def _measure_of_scorer(scoring: Any) -> Measure:
    return Measure(f"loss (minus {scoring_name(scoring)})", "", 1.0, 3)


class FixedModel(BaseEstimator):
    """A model whose predictions are already known, for scikit-learn's scorers."""

    def __init__(self, predictions: Predictions = NO_ROWS) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing."""
        return self


class FixedClassifier(ClassifierMixin, FixedModel):
    """A classifier whose predictions are already known."""

    def __init__(
        self, predictions: Predictions = NO_ROWS, classes: AnyArray = NO_ROWS.truth
    ) -> None:
        super().__init__(predictions)
        self.classes = classes

    @property
    def classes_(self) -> AnyArray:
        """The classes."""
        return self.classes

    def predict(self, X: Any) -> AnyArray:
        """Return the stored classes."""
        return np.asarray(self.classes_[self.predictions.predicted])

    def predict_proba(self, X: Any) -> Floats:
        """Return the stored scores."""
        return np.asarray(self.predictions.needed_scores)


def named_scorer(scoring: Any, stored: FixedModel) -> Any:
    """Return scikit-learn's scorer of a name or a callable, for a model of stored predictions."""
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        near = get_close_matches(scoring, [*get_scorer_names(), RECALL], 1)
        advice = f"did you mean {near[0]!r}?" if near else "see sklearn.metrics.get_scorer_names()."
        raise ValueError(f"scoring={scoring!r} is not a scorer of scikit-learn: {advice}")
    return check_scoring(stored, scoring)


def read_scorer(scoring: Any) -> Any:
    """Return the scorer that a name or a callable stands for; raise an error for any other."""
    scorer = named_scorer(full_scoring(scoring), FixedClassifier())
    if metric_module(scorer).endswith("_regression"):
        raise ValueError(
            f"scoring={scoring!r} is for numeric targets: choose one for classes, such as "
            "'accuracy' or 'roc_auc'."
        )
    return scorer


def _minus_score(
    scorer: Any, classes: AnyArray, part: Predictions, weight: Floats | None = None
) -> float:
    """Return minus the score of predictions, or NaN if it is undefined without some class."""
    score = partial(_score_of, scorer, FixedClassifier(part, classes), classes[part.truth], weight)
    if len(np.unique(part.truth)) == len(classes):
        return -score()
    try:
        return -_unless_warned(score)
    except ValueError:
        return float("nan")


def _score_of(scorer: Any, stored: FixedModel, truth: AnyArray, weight: Floats | None) -> float:
    """Return what a scorer of scikit-learn says of stored predictions."""
    rows = np.arange(len(truth))[:, None]
    options = {} if weight is None else {"sample_weight": weight}
    return float(scorer(stored, rows, truth, **options))


def _unless_warned(score: Callable[[], float]) -> float:
    """Return a score, or NaN if scikit-learn warns about it: 0 / 0 and the like are undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            return score()
        except UserWarning:
            return float("nan")


def folds_of_repeats(tests: Sequence[Index], n_rows: int) -> list[list[int]] | None:
    """Return the numbers of the folds of every repeat, or None if folds do not cover the rows.

    ``tests`` are the rows that the folds hold out. The folds of a repeat, which are consecutive,
    hold out each of the n_rows labelled rows once.
    """
    repeats: list[list[int]] = [[]]
    seen = np.zeros(n_rows, dtype=bool)
    for number, test in enumerate(tests):
        if seen.all():
            repeats.append([])
            seen[:] = False
        if seen[test].any():
            return None
        seen[test] = True
        repeats[-1].append(number)
    return repeats if seen.all() else None


def check_folds(
    scoring: Any,
    classes: AnyArray,
    tests: Sequence[Index],
    codes: Index,
    weight: Floats | None = None,
) -> list[int]:
    """Return the numbers of the folds in which a scoring is undefined, before anything is fitted.

    ``tests`` are the rows that the folds hold out, and ``codes`` the classes of all rows. The
    scoring is tried on a classifier that is nearly always right. An error is raised if it is
    undefined in some fold and cannot be computed from all folds of a repeat together.
    """
    if _is_mean(scoring):
        return []
    loss, called = read_scoring(scoring, classes), _called(scoring)
    if len(tests) < 2:
        raise ValueError(
            f"The {called} is computed in every split and needs at least two, but cv has "
            "one: use more folds, or scoring='accuracy'."
        )
    scores = 0.9 * np.eye(len(classes))[codes] + 0.1 / len(classes)
    nearly_right = Predictions.of_scores(codes, scores)
    _check_all_rows(loss, classes, nearly_right, weight)

    def is_undefined(rows: Index) -> bool:
        row_weight = None if weight is None else weight[rows]
        return not np.isfinite(loss.of_split(nearly_right.take(rows), row_weight))

    undefined = [number for number, test in enumerate(tests) if is_undefined(test)]
    if undefined:
        if folds_of_repeats(tests, len(codes)) is None:
            raise undefined_in_a_fold(scoring, classes, undefined[0], codes[tests[undefined[0]]])
        for code in np.flatnonzero(np.bincount(codes, minlength=len(classes)) == 1):
            if is_undefined(np.flatnonzero(codes != code)):
                raise ValueError(
                    f"The {called} cannot be estimated with one labelled row of class "
                    f"{classes.tolist()[code]!r}: label more rows of it, or choose another scoring."
                )
    return undefined


def _check_all_rows(
    loss: Loss, classes: AnyArray, nearly_right: Predictions, weight: Floats | None
) -> None:
    """Raise an error if a scoring cannot be computed even of all labelled rows together."""
    cause: Exception | None = None
    try:
        score = -loss.of_split(nearly_right, weight)
        reason = f"it is {score}"
    except Exception as problem:  # whatever a scorer raises is the reason
        score = float("nan")
        reason, cause = f"{type(problem).__name__}: {problem}".rstrip("."), problem
    if not np.isfinite(score):
        raise ValueError(
            f"The {_called(loss.scoring)} cannot be computed in the {len(nearly_right.truth)} "
            f"labelled rows of the classes {classes.tolist()} ({reason}): choose another scoring."
        ) from cause


def undefined_in_a_fold(
    scoring: Any, classes: AnyArray | None, number: int, held_out: AnyArray
) -> ValueError:
    """Return the error for folds that can be scored neither one by one nor together."""
    names = [] if classes is None else classes.tolist()
    missing = np.setdiff1d(np.arange(len(names)), held_out)
    which = f", none of which has the class {names[missing[0]]!r}" if len(missing) else ""
    return ValueError(
        f"The {_called(scoring)} cannot be computed in the {len(held_out)} rows that split "
        f"{number} holds out{which}: choose another scoring, fewer folds, or splits that hold out "
        "every row once."
    )


def _called(scoring: Any) -> str:
    """Return what a scoring is called in messages."""
    has_name = isinstance(scoring, str | Objective)
    return f"score {scoring_name(scoring)!r}" if has_name else "given score"


RMSE = SHORT_SCORINGS["rmse"]
# Losses of numbers are shown with the decimals that this many digits of the deviation of y have: a
# third digit shows differences of practical importance (``difference.EQUIVALENT_SHARE``).
DIGITS_OF_NUMBERS = 3


def _squared(part: Predictions, weight: Floats | None = None) -> Floats:
    return np.asarray((part.predicted - part.truth) ** 2, dtype=np.float64)


def _absolute(part: Predictions, weight: Floats | None = None) -> Floats:
    return np.abs(part.predicted - part.truth).astype(np.float64)


def _root(squares: Floats, weight: Floats | None) -> Floats:
    """Return values for rows whose mean is the root mean square, to first order."""
    root = float(np.sqrt(np.average(squares, weights=weight)))
    return root / 2 + squares / (2 * root) if root > 0 else np.zeros(len(squares))


def _root_squared(part: Predictions, weight: Floats | None = None) -> Floats:
    return _root(_squared(part), weight)


def _root_squared_log(part: Predictions, weight: Floats | None = None) -> Floats:
    logarithms = np.log1p(part.truth), np.log1p(np.maximum(part.predicted, 0.0))
    return _root(_squared(Predictions(*logarithms, None)), weight)


def _unexplained(part: Predictions, weight: Floats | None = None) -> Floats:
    deviations = (part.truth - np.average(part.truth, weights=weight)) ** 2
    variance = float(np.average(deviations, weights=weight))
    if variance == 0:
        return np.full(len(deviations), np.nan)
    squares = _squared(part)
    share = float(np.average(squares, weights=weight)) / variance
    return np.asarray(share + (squares - share * deviations) / variance)


# How a loss is called (and shown, if it has no unit), the power of the target's unit that it has,
# and its value in every row.
NUMBER_LOSSES: dict[str, tuple[Measure, int, Callable[..., Floats]]] = {
    RMSE: (Measure("RMSE"), 1, _root_squared),
    "neg_mean_absolute_error": (Measure("mean absolute error"), 1, _absolute),
    "neg_mean_squared_error": (Measure("mean squared error"), 2, _squared),
    "neg_root_mean_squared_log_error": (
        Measure("RMSE of logarithms", "", 1.0, 3),
        0,
        _root_squared_log,
    ),
    "r2": (Measure("unexplained variance"), 0, _unexplained),
}


def full_scoring(scoring: Any) -> Any:
    """Return scikit-learn's name of a scoring of numbers."""
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
    >>> from primum.judging.losses import read_number_scoring
    >>> truth = np.array([1.0, 2.0, 3.0])
    >>> loss = read_number_scoring("neg_root_mean_squared_error", truth)
    >>> loss.of_split(Predictions(truth, truth + [2.0, -2.0, 2.0], None))
    2.0
    """
    measure = number_measure(scoring, truth, unit)
    if not _is_number_loss(scoring):
        return Loss(
            scoring, measure, None, partial(_minus_number_score, read_number_scorer(scoring))
        )
    of_rows = NUMBER_LOSSES[scoring][2]
    return Loss(scoring, measure, of_rows, partial(_mean, of_rows))


def number_measure(scoring: Any, truth: Floats, unit: str = "") -> Measure:
    """Return how the loss of a scoring of numbers is called and shown."""
    if not _is_number_loss(scoring):
        return _measure_of_scorer(scoring)
    measure, power, _ = NUMBER_LOSSES[scoring]
    if not power:
        return measure
    spread = float(np.std(truth)) ** power
    order = int(np.floor(np.log10(spread))) if 0 < spread < np.inf else 0
    shown = f" {unit}{'²' if power == 2 else ''}" if unit else ""
    return Measure(measure.name, shown, 1.0, max(DIGITS_OF_NUMBERS - 1 - order, 0))


def _is_number_loss(scoring: Any) -> bool:
    """Return whether the loss of a scoring is a mean over rows, if only to first order."""
    return isinstance(scoring, str) and scoring in NUMBER_LOSSES


class FixedRegressor(RegressorMixin, FixedModel):
    """A regressor whose predictions are already known."""

    def predict(self, X: Any) -> Floats:
        """Return the stored numbers."""
        return np.asarray(self.predictions.predicted)


def read_number_scorer(scoring: Any) -> Any:
    """Return the scorer that a name or a callable stands for; raise an error for any other."""
    scorer = named_scorer(scoring, FixedRegressor())
    home = metric_module(scorer)
    if home.startswith("sklearn.") and not home.endswith("_regression"):
        raise ValueError(
            f"scoring={scoring!r} is for classes: choose one for numeric targets, such as {RMSE!r} "
            "or 'r2'."
        )
    return scorer


def _minus_number_score(scorer: Any, part: Predictions, weight: Floats | None = None) -> float:
    """Return minus the score of predictions, or NaN if it is undefined."""
    return -_unless_warned(partial(_score_of, scorer, FixedRegressor(part), part.truth, weight))


def check_number_folds(
    scoring: Any, tests: Sequence[Index], truth: Floats, weight: Floats | None = None
) -> list[int]:
    """Return the numbers of the folds in which a scoring of numbers is undefined.

    ``tests`` are the rows that the folds hold out, and ``truth`` the targets of all rows. If the
    scoring cannot be computed on all rows together, an error is raised before anything is fitted.
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
            f"The score {scoring_name(scoring)!r} is undefined for the {len(truth)} labelled rows, "
            f"whose targets are from {truth.min():g} to {truth.max():g}: choose another scoring."
        )
    if loss.of_rows is not None:
        return []
    if len(tests) < 2:
        raise ValueError(
            f"The score {scoring_name(scoring)!r} is computed in every split and needs at least "
            f"two, but cv has one: use more folds, or scoring={RMSE!r}."
        )
    parts = [(test, None if weight is None else weight[test]) for test in tests]
    losses = [loss.of_split(nearly_right.take(test), own) for test, own in parts]
    return [number for number, value in enumerate(losses) if not np.isfinite(value)]
