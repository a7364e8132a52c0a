"""Decision rules: least expected cost, shrunk where labels are few, never chosen on judged rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import average_precision_score, f1_score

from primum.judging.held_out import HeldOut
from primum.judging.losses import Predictions, measure_of, read_scoring
from primum.judging.objectives import (
    calibrate,
    read_cost,
    read_objective,
    shown_score,
    tuned_rule,
    untuned_rule,
)
from primum.reading.folds import Fold

NAMES = np.array(["no", "yes"])
FIVE = {("yes", "no"): 5}


def drawn(n, rng, slope=1.0, shift=0.0, share=-1.0):
    """Return scores and classes: softmax(slope log score + shift) is the truth."""
    value = rng.normal(share, 1.5, size=n)
    codes = (rng.random(n) < expit(slope * value + shift)).astype(int)
    second = expit(value)
    return np.column_stack([1 - second, second]), codes


def test_the_rule_of_probabilities_is_that_of_the_costs():
    objective = read_objective(None, NAMES, FIVE)
    assert untuned_rule(objective, np.array([0, 1]), 2).threshold == pytest.approx(1 / 6)
    three = np.array([[0, 1, 4], [2, 0, 1], [9, 1, 0]])
    rule = untuned_rule(read_objective(None, np.arange(3), three), np.arange(3), 3)
    scores = np.random.default_rng(0).dirichlet([3, 3, 3], 50)
    np.testing.assert_array_equal(rule.codes(scores), (scores @ three).argmin(axis=1))


def test_two_classes_as_a_threshold_or_by_expected_costs():
    """The threshold of the score is where the calibrated expected costs are equal."""
    scores, codes = drawn(300, np.random.default_rng(1), 0.6, 0.8)
    rule = tuned_rule(read_objective(None, NAMES, FIVE), scores, codes)
    expected = rule.calibration.probabilities(scores) @ read_cost(FIVE, NAMES)
    np.testing.assert_array_equal(rule.codes(scores), expected.argmin(axis=1))


def test_many_labels_find_the_calibration_and_few_hardly_change_it():
    scores, codes = drawn(40_000, np.random.default_rng(2), 0.5, 1.0)
    found = calibrate(scores, codes, np.ones(len(codes)))
    assert found.slope == pytest.approx(0.5, abs=0.03)
    assert found.bias[1] - found.bias[0] == pytest.approx(1.0, abs=0.06)
    few = calibrate(np.array([[0.7, 0.3]]), np.array([1]), np.ones(1))
    assert few.slope == pytest.approx(1.0, abs=0.5)
    assert abs(few.bias[1] - few.bias[0]) < 0.6


def test_rows_that_are_held_out_twice_count_once():
    scores, codes = drawn(60, np.random.default_rng(3))
    objective = read_objective("f1", NAMES, positive="yes")
    once = tuned_rule(objective, scores, codes, np.arange(60))
    twice = tuned_rule(objective, *(np.concatenate([x, x]) for x in (scores, codes, np.arange(60))))
    assert twice.threshold == pytest.approx(once.threshold, abs=1e-4)


def test_either_class_may_be_positive():
    scores, codes = drawn(200, np.random.default_rng(4))
    for scoring in ("f1", "recall_at_precision=0.6", "balanced_accuracy"):
        second = tuned_rule(read_objective(scoring, NAMES, positive="yes"), scores, codes)
        first = tuned_rule(
            read_objective(scoring, NAMES, positive="no"), scores[:, ::-1], 1 - codes
        )
        assert first.threshold == pytest.approx(second.threshold, abs=1e-4)
        np.testing.assert_array_equal(first.codes(scores[:, ::-1]), 1 - second.codes(scores))


@pytest.mark.parametrize(
    ("scoring", "best"),
    [
        ("f1", lambda tp, fp, fn: 2 * tp / (2 * tp + fp + fn)),
        ("balanced_accuracy", lambda tp, fp, fn: tp / (tp + fn) - fp / 15_000),
    ],
)
def test_with_many_labels_the_threshold_is_nearly_the_best(scoring, best):
    rng = np.random.default_rng(5)
    scores, codes = drawn(20_000, rng, 0.7, 0.5, -2.5)
    rule = tuned_rule(read_objective(scoring, NAMES, positive="yes"), scores, codes)

    def value(threshold):
        found, truth = scores[:, 1] >= threshold, codes == 1
        return best(*(np.sum(part) for part in (found & truth, found & ~truth, ~found & truth)))

    at_best = max(value(threshold) for threshold in np.linspace(0.01, 0.99, 99))
    assert value(rule.threshold) > 0.99 * at_best


def test_recall_at_a_precision_has_that_precision():
    rng = np.random.default_rng(6)
    objective = read_objective("recall_at_precision=0.8", NAMES, positive="yes")
    rule = tuned_rule(objective, *drawn(5000, rng))
    scores, codes = drawn(50_000, rng)
    found = rule.codes(scores) == 1
    assert np.mean(codes[found]) == pytest.approx(0.8, abs=0.03)


def test_losses_are_those_of_scikit_learn():
    scores, codes = drawn(80, np.random.default_rng(7))
    own = Predictions.of_scores(codes, scores)
    for scoring, score in (
        ("f1", f1_score(codes, own.predicted)),
        ("average_precision", average_precision_score(codes, scores[:, 1])),
    ):
        loss = read_scoring(read_objective(scoring, NAMES, positive="yes"), NAMES)
        assert loss.of_split(own) == pytest.approx(-score)
        assert np.isnan(loss.of_split(own.take(np.flatnonzero(codes == 0))))


def test_costs_of_rows_and_their_measure():
    objective = read_objective("accuracy", NAMES, {("yes", "no"): 20, ("no", "yes"): 0.5})
    loss = read_scoring(objective, NAMES)
    own = Predictions(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), None)
    assert loss.of_rows(own).tolist() == [0.0, 0.5, 20.0, 0.0]
    assert loss.of_split(own, np.array([1.0, 1.0, 2.0, 0.0])) == pytest.approx(40.5 / 4)
    assert (loss.measure.name, loss.measure.digits, loss.scoring) == ("cost per row", 3, "cost")
    assert measure_of(read_objective("accuracy", NAMES, {("yes", "no"): 5000})).digits == 1


def test_costs_can_be_given_in_three_ways():
    matrix = [[0, 2], [5, 0]]
    frame = pd.DataFrame([[0, 5], [2, 0]], index=["yes", "no"], columns=["yes", "no"])
    for cost in (matrix, frame, {("yes", "no"): 5, ("no", "yes"): 2}):
        np.testing.assert_array_equal(read_cost(cost, NAMES), matrix)
    numbers = np.array([0, 1])
    np.testing.assert_array_equal(read_cost({("1", "0"): 5}, numbers), [[0, 1], [5, 0]])


@pytest.mark.parametrize(
    ("scoring", "cost", "positive", "message"),
    [
        ("accuracy", {("maybe", "no"): 5}, None, "names the class 'maybe', which no labelled row"),
        ("accuracy", {("yes", "no"): -5}, None, "predicting 'no' for 'yes' is -5: costs are fin"),
        ("accuracy", {("yes", "yes"): 1}, None, "cost for predicting 'yes' where it is right"),
        ("accuracy", [[1, 1], [1, 0]], None, "cost 1 for predicting 'no' where it is right"),
        ("accuracy", {"yes": 1}, None, "has the key 'yes': pass pairs"),
        ("accuracy", {("yes", "no"): "much"}, None, "is 'much': pass a number"),
        ("accuracy", np.ones((3, 3)), None, r"the shape \(3, 3\), but there are 2 classes"),
        ("accuracy", np.zeros((2, 2)), None, "All costs are 0"),
        ("accuracy", pd.DataFrame([[0]], ["yes"], ["yes"]), None, "one for each of the classes"),
        ("f1", FIVE, None, "Costs of errors replace the scoring, but scoring='f1'"),
        ("cost", None, None, "scoring='cost' needs the costs"),
        ("f1", None, None, "which of 'no' and 'yes' it is: pass positive='yes'"),
        ("f1", None, "maybe", "positive names the class 'maybe'"),
        ("recall_at_precision", None, "yes", "needs a precision between 0 and 1"),
        ("recall_at_precision=2", None, "yes", "needs a precision between 0 and 1"),
    ],
)
def test_errors_are_one_sentence(scoring, cost, positive, message):
    with pytest.raises(ValueError, match=message):
        read_objective(scoring, NAMES, cost, positive)


def test_positive_is_for_two_classes():
    three = np.array(["a", "b", "c"])
    with pytest.raises(ValueError, match="positive='a' is for two classes, but there are 3"):
        read_objective("f1", three, positive="a")
    with pytest.raises(ValueError, match="is about one of two classes, but there are 3"):
        read_objective("recall_at_precision=0.5", three)


def test_no_rule_is_chosen_on_the_rows_that_it_is_judged_by():
    """With costs in inverse proportion to the shares, all rules cost the same on random labels.

    The mean over draws of the estimated cost is then that cost. Rules that were chosen on the same
    rows are far below it.
    """
    rng = np.random.default_rng(8)
    n, n_positive, fitted, honest = 40, 8, [], []
    objective = read_objective("accuracy", NAMES, {("yes", "no"): n / n_positive - 1})
    expected = (n - n_positive) / n
    for _ in range(400):
        codes = rng.permutation(np.arange(n) < n_positive).astype(int)
        second = expit(rng.normal(-1, 1, size=n))
        folds = [
            Fold(*(np.flatnonzero(p) for p in (np.arange(n) % 5 != k, np.arange(n) % 5 == k)))
            for k in range(5)
        ]
        held_out, loss = HeldOut(folds, codes, NAMES), read_scoring(objective, NAMES)
        scores = np.column_stack([1 - second, second])[held_out.rows]
        honest.append(loss.of_split(held_out.predictions(scores, objective)))
        found = held_out.predictions(scores).truth
        rule = tuned_rule(objective, scores, found)
        fitted.append(loss.of_split(Predictions(found, rule.codes(scores), scores)))
    error = np.std(honest) / np.sqrt(len(honest))
    assert np.mean(honest) > expected - 3 * error
    assert np.mean(fitted) < np.mean(honest) - 3 * error


@pytest.mark.parametrize(
    ("score", "shown"),
    [(0.0078, "0.0078"), (0.345, "0.34"), (0.07, "0.070"), (0.9987, "0.9987"), (0.0, "0.00")],
)
def test_scores_near_0_and_1_are_shown_with_digits_that_say_something(score, shown):
    assert shown_score(score) == shown
