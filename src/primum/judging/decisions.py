"""Decision rules: which class to predict for given scores, where errors differ in cost.

With probabilities p of the classes, the class of least expected cost is

    argmin_k  sum_j p_j C[j, k],

for two classes the positive one where its probability is at least c_fp / (c_fp + c_fn). Scores are
seldom probabilities: they come from models that were fitted to other labels, and to few. So they
are calibrated first, on rows that were held out when the scores were computed,

    p = softmax(a log s + b),    (a, b) = argmin  sum_i v_i (-log p_i[y_i])
                                                  + 1/2 (a - 1)^2 + |b|^2.

The penalty is that of a normal distribution of variance 1 around "the scores are probabilities":
few labels change little, and many decide. For two classes this is Platt's scaling, shrunk, and the
rule a threshold of the score.

The threshold that is best for F1, and that of the largest recall with a given precision, depend on
the numbers of right and wrong positive predictions above it, sums of q and of 1 - q over held-out
rows with

    q = (m y + 10 p) / (m + 10),    m = number of labelled rows of the rarer class:

probabilities where labels are few, labels (y = 1: positive) where they are many.

Choosing the threshold with the least observed cost instead, as is often done, follows the few
labels of a rare class: ``docs/costs.md`` has the figures by which the constants were chosen.

References
----------
Platt, J. (1999). Probabilistic outputs for support vector machines. Advances in Large Margin
Classifiers.
Elkan, C. (2001). The foundations of cost-sensitive learning. IJCAI.
Lipton, Z., Elkan, C. & Naryanaswamy, B. (2014). Optimal thresholding of classifiers to maximize F1
measure. ECML PKDD.
"""

from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax

from primum._typing import AnyArray, Floats, Index
from primum.judging.objectives import BALANCED, COST, F1, Objective

if TYPE_CHECKING:
    from primum.judging.held_out import HeldOut

# Scores are shown with so many digits.
LEAST_DIGITS, MOST_DIGITS = 2, 6
# Scores below this are taken for it: their logarithms would decide alone.
LEAST_SCORE = 0.005
# The slope is positive, so that the order of two classes' scores is kept.
SLOPES = (0.1, 10.0)
UNCHANGED = 0.5
# As many labels of the rarer class count as much as the probabilities.
LABELS_AS_PROBABILITIES = 10


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


def no_calibration(n_classes: int) -> Calibration:
    """Return the calibration that leaves scores as they are."""
    return Calibration(1.0, (0.0,) * n_classes)


def _logarithms(scores: Floats) -> Floats:
    return np.asarray(np.log(np.clip(scores, LEAST_SCORE, 1 - LEAST_SCORE)))


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

    bounds = [SLOPES, *[(None, None)] * n_classes]
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
    digits = 1 - floor(log10(margin)) if margin > 0 else LEAST_DIGITS
    return f"{score:.{min(max(digits, LEAST_DIGITS), MOST_DIGITS)}f}"


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
        Numbers of the rows: one that is held out several times counts once.
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
    return _rule(objective, calibration, scores, codes, weight, tuned=True)


def untuned_rule(
    objective: Objective, codes: Index, n_classes: int, weight: Floats | None = None
) -> DecisionRule:
    """Return the rule that uses scores as probabilities, where no row could be held out.

    A threshold that depends on the distribution of the scores is 1/2.
    """
    nothing, none = np.zeros((0, n_classes)), no_calibration(n_classes)
    return _rule(objective, none, nothing, codes, weight, tuned=False)


def _rule(
    objective: Objective,
    calibration: Calibration,
    scores: Floats,
    codes: Index,
    weight: Floats | None,
    tuned: bool,
) -> DecisionRule:
    n_classes, positive = scores.shape[1], 1 if objective.positive is None else objective.positive
    if objective.name in (COST, BALANCED):
        matrix = objective.cost_matrix(codes, n_classes, weight)
        if n_classes > 2:
            cost = tuple(map(tuple, matrix.tolist()))
            return DecisionRule(None, positive, calibration, cost, tuned)
        miss, alarm = matrix[positive, 1 - positive], matrix[1 - positive, positive]
        best = alarm / (alarm + miss) if alarm + miss else UNCHANGED
        return DecisionRule(
            calibration.score_of(best, positive), positive, calibration, None, tuned
        )
    if not len(scores) or weight is None:
        return DecisionRule(UNCHANGED, positive, calibration, None, tuned)
    truth = (codes == positive).astype(float)
    rarer = min(weight @ truth, weight @ (1 - truth))
    share = rarer / (rarer + LABELS_AS_PROBABILITIES)
    q = share * truth + (1 - share) * calibration.probabilities(scores)[:, positive]
    threshold = _threshold(objective, scores[:, positive], q, weight)
    return DecisionRule(threshold, positive, calibration, None, tuned)


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
    """Return the predicted classes of held-out rows, each by a rule of the other folds' rows.

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
        own, others = fold_of == number, np.flatnonzero(~np.isin(rows, fold.test))
        predicted[own] = rule_of(held_out, scores, objective, others).codes(scores[own])
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
