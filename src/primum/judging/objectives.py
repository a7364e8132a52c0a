"""Objectives of predictions, and the decision rules that follow them.

An objective says what predictions of classes are judged by: costs of errors, or a score of one
class.

    cost                     mean over rows of C[true class, predicted class], in the user's unit
    balanced_accuracy        the same with the cost 1 / share of the true class
    f1                       harmonic mean of precision and recall of the positive class
    recall_at_precision=p    recall of the positive class, minus what its precision falls short of p
    average_precision        area under precision against recall, which depends on scores alone

All but the last depend on which class is predicted for given scores, so models need a decision
rule. With probabilities p of the classes, the class of least expected cost is

    argmin_k  sum_j p_j C[j, k],

with two classes the positive one where its probability is at least c_fp / (c_fp + c_fn). Scores are
seldom probabilities: they come from models that were fitted to other labels, and to few. So they
are calibrated first, on rows that were held out when the scores were computed,

    p = softmax(a log s + b),    (a, b) = argmin  sum_i v_i (-log p_i[y_i])
                                                  + 1/2 (a - 1)^2 + |b|^2.

The penalty is that of a normal distribution of variance 1 around "the scores are probabilities":
few labels change little, and many decide. For two classes this is Platt's scaling, shrunk, and the
rule a threshold of the score.

The best threshold for F1, and for the largest recall with a given precision, depend on the numbers
of right and wrong positive predictions above it: sums of q and 1 - q over held-out rows with

    q = (m y + 10 p) / (m + 10),    m = number of labelled rows of the rarer class:

probabilities where labels are few, labels (y = 1: positive) where they are many.

Choosing the threshold with the least observed cost instead, as is often done, follows the few
labels of a rare class: ``docs/costs.md`` has the figures.

References
----------
Platt, J. (1999). Probabilistic outputs for support vector machines. Advances in Large Margin
Classifiers.
Elkan, C. (2001). The foundations of cost-sensitive learning. IJCAI.
Lipton, Z., Elkan, C. & Naryanaswamy, B. (2014). Optimal thresholding of classifiers to maximize F1
measure. ECML PKDD.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax

from primum._typing import AnyArray, Floats, Index
from primum._words import listed

if TYPE_CHECKING:
    from primum.judging.held_out import HeldOut


ACCURACY, COST, BALANCED, F1 = "accuracy", "cost", "balanced_accuracy", "f1"
AVERAGE_PRECISION, RECALL = "average_precision", "recall_at_precision"
# Objectives about one of two classes.
OF_POSITIVE = (F1, AVERAGE_PRECISION, RECALL)
# Digits of scores in words: two, or as many as tell them from 0 and 1.
MIN_SCORE_DIGITS, MAX_SCORE_DIGITS = 2, 6
# Lower scores count as this one, half a point: their logarithms would decide alone, and few labels
# do not tell whether they are right.
MIN_SCORE = 0.005
# Bounds of the slope, which is positive so that the order of two classes' scores is kept. A slope
# of 1 changes nothing, and one beyond these is that of scores that say almost nothing, or all.
SLOPE_BOUNDS = (0.1, 10.0)
# The threshold for two classes if neither costs nor labels give another one.
EVEN_SCORE = 0.5
# This many labels of the rarer class count as much as the probabilities: with fewer, the threshold
# that is best on the labels is mostly chance.
LABELS_AS_PROBABILITIES = 10
# Costs of errors, other than 0. Mean costs are shown as decimal numbers, and their variances must
# neither overflow nor vanish.
MIN_COST, MAX_COST = 1e-9, 1e12


@dataclass(frozen=True)
class Objective:
    """What predictions are judged by, and what a decision rule is chosen for.

    Classes are codes, so that it holds for classes by name and by code.

    Attributes
    ----------
    name : str
        One of the names above, without the precision.
    cost : tuple of tuples of float, or None
        The costs of predicted classes (columns) for true classes (rows), if they are given.
    positive : int or None
        The class that the score, or the threshold, is about; None with more than two classes.
    precision : float or None
        The precision that is asked for.
    """

    name: str
    cost: tuple[tuple[float, ...], ...] | None = None
    positive: int | None = None
    precision: float | None = None

    @property
    def scoring(self) -> str:
        """The name as ``scoring`` spells it."""
        return self.name if self.precision is None else f"{self.name}={self.precision:g}"

    @property
    def has_rule(self) -> bool:
        """Whether the class with the largest score is not always the best to predict."""
        return self.name not in (ACCURACY, AVERAGE_PRECISION)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted classifier, as scorers of scikit-learn do; more is better.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X : array-like
            Rows.
        y : array-like
            Their classes.

        Returns
        -------
        float
            Minus the mean cost, or the score.
        """
        from primum.judging.losses import Predictions, read_scoring

        codes = np.searchsorted(estimator.classes_, np.asarray(y))
        predicted = np.searchsorted(estimator.classes_, estimator.predict(X))
        scores = None if self.has_rule else np.asarray(estimator.predict_proba(X))
        predictions = Predictions(codes, predicted, scores)
        return -read_scoring(self, estimator.classes_).of_split(predictions)

    def cost_matrix(self, codes: Index, n_classes: int, weight: Floats | None = None) -> Floats:
        """Return the costs of predicted classes (columns) for true classes (rows).

        The costs of the balanced error depend on the labels; a class without labels costs nothing.
        """
        if self.cost is not None:
            return np.array(self.cost)
        totals = np.bincount(codes, weight, minlength=n_classes).astype(float)
        present = np.count_nonzero(totals)
        costs = np.divide(totals.sum(), present * totals, out=np.zeros(n_classes), where=totals > 0)
        return np.asarray(costs[:, None] * (1 - np.eye(n_classes)))


def read_objective(
    scoring: Any, classes: AnyArray, cost: Any = None, positive: Any = None
) -> Objective | None:
    """Return what the arguments ``scoring``, ``cost`` and ``positive`` ask for.

    Parameters
    ----------
    scoring : str, callable or Objective
        The scoring.
    classes : array of shape (n_classes,)
        Names of the classes.
    cost : mapping, array-like or DataFrame, optional
        Costs of errors; see ``read_cost``.
    positive : object, optional
        One of two classes.

    Returns
    -------
    Objective or None
        None if the class with the largest score is to be predicted.
    """
    if isinstance(scoring, Objective):
        return scoring
    code = None if positive is None else positive_code(positive, classes)
    if cost is not None:
        if scoring not in (None, ACCURACY, COST):
            raise ValueError(
                f"Costs of errors replace the scoring, but scoring={scoring!r} is given too: pass "
                "one of them."
            )
        return _of_costs(read_cost(cost, classes), code)
    if not isinstance(scoring, str):
        return None
    name, _, asked = scoring.partition("=")
    if name == RECALL:
        return Objective(RECALL, None, _needed(scoring, classes, code), _precision(scoring, asked))
    if scoring == COST:
        raise ValueError("scoring='cost' needs the costs of errors: pass them without a scoring.")
    if scoring == BALANCED:
        return Objective(BALANCED, positive=_second(classes) if code is None else code)
    if scoring in OF_POSITIVE and (len(classes) == 2 or code is not None):
        return Objective(scoring, positive=_needed(scoring, classes, code))
    return None


def names_a_rule(scoring: str) -> bool:
    """Return whether models follow a scoring of that name by a decision rule."""
    return scoring.partition("=")[0] in (BALANCED, F1, RECALL)


def _second(classes: AnyArray) -> int | None:
    return 1 if len(classes) == 2 else None


def _of_costs(matrix: Floats, positive: int | None) -> Objective:
    """Return the objective of costs; the class that costs more to miss is positive."""
    if len(matrix) == 2 and positive is None:
        positive = int(matrix[1, 0] >= matrix[0, 1])
    return Objective(COST, tuple(map(tuple, matrix.tolist())), positive)


def _precision(scoring: str, asked: str) -> float:
    try:
        precision = float(asked)
    except ValueError:
        precision = float("nan")
    if not 0 < precision < 1:
        raise ValueError(
            f"scoring={scoring!r} needs a precision between 0 and 1: write for example "
            f"'{RECALL}=0.9'."
        )
    return precision


def _needed(scoring: str, classes: AnyArray, code: int | None) -> int:
    """Return the positive class; by default 1 or True, beside 0, -1 or False."""
    names = classes.tolist()
    if code is not None:
        return code
    if len(names) != 2:
        raise ValueError(
            f"scoring={scoring!r} is about one of two classes, but there are {len(names)}: choose "
            "another scoring, or pass the costs of errors."
        )
    if names in ([0, 1], [-1, 1]):
        return 1
    raise ValueError(
        f"scoring={scoring!r} is about one class, and nothing says which of {names[0]!r} and "
        f"{names[1]!r} it is: pass positive={names[1]!r}, for example."
    )


def positive_code(positive: Any, classes: AnyArray) -> int:
    """Return the code of the class of interest, of two."""
    code = _code_of(positive, classes, "positive")
    if len(classes) != 2:
        raise ValueError(
            f"positive={positive!r} is for two classes, but there are {len(classes)} "
            f"({listed([repr(name) for name in classes.tolist()])}): pass the costs of errors "
            "instead."
        )
    return code


def _code_of(name: Any, classes: AnyArray, parameter: str) -> int:
    """Return the code of a class, by its name or by how that is written."""
    names = classes.tolist()
    if name in names:
        return int(names.index(name))
    written = [str(one) for one in names]
    if str(name) in written:
        return written.index(str(name))
    raise ValueError(
        f"{parameter} names the class {name!r}, which no labelled row has: the classes are "
        f"{listed([repr(one) for one in names])}."
    )


def read_cost(cost: Any, classes: AnyArray) -> Floats:
    """Return the matrix of costs: one row for each true class, one column for each predicted one.

    Parameters
    ----------
    cost : mapping, DataFrame or array-like
        ``{(true class, predicted class): cost}``, where any other error costs 1; a DataFrame with
        true classes as index and predicted ones as columns; or a matrix in the order of the
        classes.
    classes : array of shape (n_classes,)
        Names of the classes.

    Returns
    -------
    array of shape (n_classes, n_classes)
        The costs; 0 on the diagonal.
    """
    n_classes = len(classes)
    if hasattr(cost, "iloc"):
        cost = _pairs_of_frame(cost, classes)
    if isinstance(cost, Mapping):
        matrix = 1.0 - np.eye(n_classes)  # errors that are not listed cost 1
        for pair, value in cost.items():
            matrix[_pair(pair, classes)] = _number(value, pair)
    else:
        try:
            matrix = np.array(cost, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(
                f"cost is {cost!r}: pass {{(true class, predicted class): cost}}, or a matrix of "
                "numbers."
            ) from None
        if matrix.shape != (n_classes, n_classes):
            raise ValueError(
                f"cost has the shape {matrix.shape}, but there are {n_classes} classes: pass a row "
                "for each true class and a column for each predicted one."
            )
    return _checked(matrix, classes)


def _pairs_of_frame(frame: Any, classes: AnyArray) -> dict[tuple[Any, Any], Any]:
    """Return the cells of a table of costs; all classes must be in it."""
    for names, axis in ((frame.index, "rows"), (frame.columns, "columns")):
        named = {_code_of(name, classes, "cost") for name in names}
        if len(named) != len(classes) or len(names) != len(classes):
            raise ValueError(
                f"The {axis} of cost are {list(names)}: it needs one for each of the classes "
                f"{classes.tolist()}."
            )
    values = frame.to_numpy()
    return {
        (true, predicted): values[i, j]
        for i, true in enumerate(frame.index)
        for j, predicted in enumerate(frame.columns)
        if values[i, j] != 0 or str(true) != str(predicted)
    }


def classes_in_cost(cost: Any) -> list[Any]:
    """Return the classes that costs name; a matrix in the order of the classes names none."""
    if hasattr(cost, "iloc"):
        return [*cost.index, *cost.columns]
    pairs = cost if isinstance(cost, Mapping) else []
    return [name for pair in pairs if isinstance(pair, tuple | list) for name in pair]


def _pair(pair: Any, classes: AnyArray) -> tuple[int, int]:
    if not (isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2):
        raise ValueError(
            f"cost has the key {pair!r}: pass pairs (true class, predicted class) as keys."
        )
    true, predicted = (_code_of(name, classes, "cost") for name in pair)
    if true == predicted:
        raise ValueError(
            f"cost has a cost for predicting {pair[0]!r} where it is right: correct predictions "
            "cost 0, so subtract it from the other costs of that class."
        )
    return true, predicted


def _number(value: Any, pair: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"The cost of {pair!r} is {value!r}: pass a number.") from None


def _checked(matrix: Floats, classes: AnyArray) -> Floats:
    names = classes.tolist()
    for true, predicted in np.argwhere(~(matrix >= 0) | np.isinf(matrix)).tolist():
        raise ValueError(
            f"The cost of predicting {names[predicted]!r} for {names[true]!r} is "
            f"{matrix[true, predicted]:g}: costs are finite and not negative."
        )
    for true, predicted in np.argwhere((matrix > MAX_COST) | (matrix > 0) & (matrix < MIN_COST)):
        raise ValueError(
            f"The cost of predicting {names[predicted]!r} for {names[true]!r} is "
            f"{matrix[true, predicted]:g}, but costs other than 0 are between {MIN_COST:g} and "
            f"{MAX_COST:g}: use another unit, because only their ratios matter."
        )
    if matrix.diagonal().any():
        wrong = int(np.flatnonzero(matrix.diagonal())[0])
        raise ValueError(
            f"cost has the cost {matrix[wrong, wrong]:g} for predicting {names[wrong]!r} where it "
            "is right: correct predictions cost 0, so subtract it from the other costs of that "
            "class."
        )
    if not matrix.any():
        raise ValueError(
            "All costs are 0, so all predictions are equally good: pass a positive cost."
        )
    return matrix


def with_storable_cost(state: dict[str, Any], matrix: Any) -> dict[str, Any]:
    """Return the state of an estimator with its costs as the matrix that they stand for.

    Model files cannot store mappings whose keys are pairs.
    """
    cost = state.get("cost")
    pairs = isinstance(cost, Mapping) or hasattr(cost, "iloc")
    return state | {"cost": np.array(matrix)} if pairs and matrix is not None else state


def cost_digits(matrix: Floats) -> int:
    """Return how many digits mean costs show after the decimal point.

    They are three for costs of 1 to 99, where a hundredth of the most expensive error counts.
    """
    power = floor(log10(matrix.max()))
    return int(np.clip(3 - (max(power - 1, 0) if power > 0 else power), 0, 9))


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities: softmax(slope * log score + bias)."""

    slope: float
    bias: tuple[float, ...]

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities of the classes."""
        return np.asarray(softmax(self.slope * _logarithms(scores) + np.array(self.bias), axis=1))

    def score_of(self, probability: float, positive: int) -> float:
        """Return the score of a class, of two, that has the given probability."""
        if not 0 < probability < 1:
            return probability
        shift = self.bias[positive] - self.bias[1 - positive]
        return float(expit((logit(probability) - shift) / self.slope))


def _logarithms(scores: Floats) -> Floats:
    return np.asarray(np.log(np.clip(scores, MIN_SCORE, 1 - MIN_SCORE)))


def calibrate(scores: Floats, codes: Index, weight: Floats) -> Calibration:
    """Return the calibration of held-out scores, shrunk towards none."""
    logarithms, n_classes = _logarithms(scores), scores.shape[1]
    one_hot = np.eye(n_classes)[codes]

    def objective(x: Floats) -> tuple[float, Floats]:
        slope, bias = x[0], x[1:]
        log_p = log_softmax(slope * logarithms + bias, axis=1)
        residual = weight[:, None] * (np.exp(log_p) - one_hot)
        value = -np.sum(weight[:, None] * one_hot * log_p) + (slope - 1) ** 2 / 2 + bias @ bias
        gradient = [np.sum(residual * logarithms) + slope - 1, *(residual.sum(axis=0) + 2 * bias)]
        return float(value), np.array(gradient)

    bounds = [SLOPE_BOUNDS, *[(None, None)] * n_classes]
    start = np.append(1.0, np.zeros(n_classes))
    best = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(float(best[0]), tuple(best[1:].tolist()))


@dataclass(frozen=True)
class DecisionRule:
    """Which class is predicted for given scores.

    Attributes
    ----------
    threshold : float or None
        Of two classes, the positive one is predicted where its score is at least this; None with
        more classes. Above 1: never.
    positive : int
        The positive class.
    calibration : Calibration
        How scores become probabilities.
    cost : tuple of tuples of float, or None
        With more classes, that of least expected cost is predicted.
    tuned : bool
        Whether it was chosen on held-out scores; otherwise scores are used as probabilities.
    """

    threshold: float | None
    positive: int
    calibration: Calibration
    cost: tuple[tuple[float, ...], ...] | None = None
    tuned: bool = True

    def in_words(self, classes: AnyArray) -> str:
        """Return which class is predicted where, as part of a sentence."""
        if self.threshold is None:
            return "the class of least expected cost is predicted"
        name = classes.tolist()[self.positive]
        return f"{name!r} is predicted where its score is at least {shown_score(self.threshold)}"

    def codes(self, scores: Floats) -> Index:
        """Return the predicted classes.

        Parameters
        ----------
        scores : array of shape (n_rows, n_classes)
            Scores, as those of the held-out rows.

        Returns
        -------
        array of shape (n_rows,)
            Class codes.
        """
        if self.threshold is not None:
            above = scores[:, self.positive] >= self.threshold
            return np.where(above, self.positive, 1 - self.positive)
        expected = self.calibration.probabilities(scores) @ np.array(self.cost)
        return np.asarray(expected.argmin(axis=1))


def shown_score(score: float) -> str:
    """Return a score with two digits at least; near 0 and 1 with two that tell it from these."""
    margin = min(score, 1 - score)
    digits = 1 - floor(log10(margin)) if margin > 0 else MIN_SCORE_DIGITS
    return f"{score:.{min(max(digits, MIN_SCORE_DIGITS), MAX_SCORE_DIGITS)}f}"


def tuned_rule(
    objective: Objective,
    scores: Floats,
    codes: Index,
    rows: Index | None = None,
    weight: Floats | None = None,
) -> DecisionRule:
    """Return the rule for an objective, from scores of rows that were held out.

    Parameters
    ----------
    objective : Objective
        What the predictions are judged by.
    scores : array of shape (n_held_out, n_classes)
        Held-out scores.
    codes : array of shape (n_held_out,)
        Classes of the rows.
    rows : array of shape (n_held_out,), optional
        Numbers of the rows, so that one that is held out several times counts once.
    weight : array of shape (n_held_out,), optional
        Weights of the rows.

    Returns
    -------
    DecisionRule
        The rule.
    """
    weight = np.ones(len(codes)) if weight is None else weight / weight.mean()
    if rows is not None:
        weight = weight / np.bincount(rows)[rows]
    calibration = calibrate(scores, codes, weight)
    return _rule(objective, calibration, scores, codes, weight)


def untuned_rule(
    objective: Objective, codes: Index, n_classes: int, weight: Floats | None = None
) -> DecisionRule:
    """Return the rule that uses scores as probabilities, for when no row could be held out.

    A threshold that depends on the distribution of the scores is 1/2.
    """
    as_they_are = Calibration(1.0, (0.0,) * n_classes)
    return _rule(objective, as_they_are, np.zeros((0, n_classes)), codes, weight)


def _rule(
    objective: Objective,
    calibration: Calibration,
    scores: Floats,
    codes: Index,
    weight: Floats | None,
) -> DecisionRule:
    """Return the rule of calibrated scores; without held-out scores it is not tuned."""
    n_classes, positive = scores.shape[1], 1 if objective.positive is None else objective.positive
    tuned = len(scores) > 0
    rule = partial(DecisionRule, positive=positive, calibration=calibration, tuned=tuned)
    if objective.name in (COST, BALANCED):
        matrix = objective.cost_matrix(codes, n_classes, weight)
        if n_classes > 2:
            return rule(None, cost=tuple(map(tuple, matrix.tolist())))
        miss, alarm = matrix[positive, 1 - positive], matrix[1 - positive, positive]
        best = alarm / (alarm + miss) if alarm + miss else EVEN_SCORE
        return rule(calibration.score_of(best, positive))
    if not tuned or weight is None:
        return rule(EVEN_SCORE)
    truth = (codes == positive).astype(float)
    rarer = min(weight @ truth, weight @ (1 - truth))
    share = rarer / (rarer + LABELS_AS_PROBABILITIES)
    q = share * truth + (1 - share) * calibration.probabilities(scores)[:, positive]
    return rule(_threshold(objective, scores[:, positive], q, weight))


def _threshold(objective: Objective, scores: Floats, q: Floats, weight: Floats) -> float:
    """Return the threshold that is best for given numbers of right and wrong predictions.

    It is half way between the scores of two rows.
    """
    order = np.argsort(-scores, kind="stable")
    values, last = np.unique(-scores[order], return_index=True)
    ends = np.append(last[1:], len(order)) - 1
    right = np.cumsum((weight * q)[order])[ends]
    predicted = np.cumsum(weight[order])[ends]
    total = float((weight * q).sum())
    if objective.name == F1:
        best = int(np.argmax(2 * right / (predicted + total)))
    else:
        precision = right / predicted
        enough = np.flatnonzero(precision >= float(objective.precision or 0.0))
        best = int(enough[-1]) if len(enough) else int(np.argmax(precision))
    edges = np.append(-values, max(2 * -values[-1] - 1.0, 0.0))
    return float((edges[best] + edges[best + 1]) / 2)


def cross_fitted_codes(held_out: "HeldOut", scores: Floats, objective: Objective) -> Index:
    """Return the predicted classes of held-out rows, each by a rule from the other folds' rows.

    Parameters
    ----------
    held_out : HeldOut
        The rows.
    scores : array of shape (n_held_out, n_classes)
        Their scores.
    objective : Objective
        What the rule is chosen for.

    Returns
    -------
    array of shape (n_held_out,)
        Class codes.
    """
    rows, fold_of = held_out.rows, held_out.fold_of
    predicted = np.empty(len(rows), dtype=np.intp)
    for number, fold in enumerate(held_out.folds):
        in_fold, others = fold_of == number, np.flatnonzero(~np.isin(rows, fold.test))
        predicted[in_fold] = rule_of(held_out, scores, objective, others).codes(scores[in_fold])
    return predicted


def rule_of(
    held_out: "HeldOut", scores: Floats, objective: Objective, among: Index | None = None
) -> DecisionRule:
    """Return the rule that held-out scores give; ``among`` are positions of those that count."""
    rows, weight = held_out.rows, held_out.row_weight
    among = np.arange(len(rows)) if among is None else among
    codes = held_out.truth[rows]
    of_rows = None if weight is None else weight[among]
    if len(np.unique(codes[among])) < 2:
        return untuned_rule(objective, held_out.truth, scores.shape[1], held_out.weight)
    return tuned_rule(objective, scores[among], codes[among], rows[among], of_rows)
