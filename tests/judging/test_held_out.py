"""What out-of-fold scores say of a stack, given the scores."""

import numpy as np
import pytest

from primum.judging.difference import cautious_variance
from primum.judging.held_out import HeldOut, too_few_numbers
from primum.judging.losses import RMSE, read_scoring
from primum.reading.folds import Fold


def difference(held_out, own, other, scoring):
    predictions = held_out.predictions(own), held_out.predictions(other)
    return held_out.difference(*predictions, read_scoring(scoring, held_out.classes))


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "neg_log_loss", "roc_auc", "f1"])
def test_a_weight_counts_as_so_many_copies(scoring):
    rng = np.random.default_rng(0)
    codes, times = rng.integers(0, 2, 40), rng.integers(1, 4, 40)
    own, other = (np.column_stack([1 - s, s]) for s in rng.random((2, 40)))
    halves = np.arange(20), np.arange(20, 40)
    weighted = HeldOut(
        [Fold(*halves), Fold(*halves[::-1])], codes, np.arange(2), times.astype(float)
    )
    rows = weighted.rows
    found = difference(weighted, own[rows], other[rows], scoring)

    copies = np.repeat(np.arange(40), times)
    halves = np.flatnonzero(copies < 20), np.flatnonzero(copies >= 20)
    expanded = HeldOut([Fold(*halves), Fold(*halves[::-1])], codes[copies], np.arange(2))
    rows = copies[expanded.rows]
    expected = difference(expanded, own[rows], other[rows], scoring)
    assert found.mean == pytest.approx(expected.mean, rel=1e-12)


def numbers(n_rows, n_folds=5):
    """Return what judges numbers in folds, and predictions of two models."""
    rng = np.random.default_rng(0)
    parts = np.array_split(np.arange(n_rows), n_folds)
    folds = [Fold(np.setdiff1d(np.arange(n_rows), part), part) for part in parts]
    held_out = HeldOut(folds, rng.normal(size=n_rows), None)
    errors = rng.normal(size=(2, n_rows))
    return held_out, *(held_out.predicted_numbers(held_out.truth + one) for one in errors)


@pytest.mark.parametrize("n_rows", [30, 60])
def test_few_differences_of_squared_errors_tell_little_of_their_variance(n_rows):
    """Products of two independent factors have the kurtosis 9, and the models of folds change."""
    held_out, mine, others = numbers(n_rows)
    loss, absolute = (held_out.loss_of(name) for name in (RMSE, "neg_mean_absolute_error"))
    found = held_out.difference(mine, others, loss)
    assert found.degrees_of_freedom == (n_rows - 1) / 4
    assert held_out.difference(mine, others, absolute).degrees_of_freedom == n_rows - 1
    change = loss.of_rows(mine) - loss.of_rows(others)
    errors = [one.predicted - held_out.truth for one in (mine, others)]
    factors = errors[0] - errors[1], errors[0] + errors[1]
    moved = np.prod([np.mean(one**2) for one in factors]) * 30 / n_rows
    size = held_out.mean_loss(others, loss)
    spread = cautious_variance(change, n_rows) + moved / (2 * size) ** 2
    correction = (1 / 5 + 1 / 4) / (n_rows / 5)
    assert found.standard_error == pytest.approx(np.sqrt(spread * correction))
    squared = held_out.difference(mine, others, held_out.loss_of("neg_mean_squared_error"))
    own = held_out.loss_of("neg_mean_squared_error").of_rows
    expected = cautious_variance(own(mine) - own(others), n_rows) + moved
    assert squared.standard_error == pytest.approx(np.sqrt(expected * correction))


def test_the_variance_of_products_is_as_uncertain_as_a_quarter_of_the_rows():
    """The rule for the degrees of freedom, in simulations: the variance of a sample variance."""
    products = np.prod(np.random.default_rng(0).normal(size=(2, 20_000, 30)), axis=0)
    variances = products.var(axis=1, ddof=1)
    freedom = 2 * variances.mean() ** 2 / variances.var()
    assert freedom == pytest.approx(29 / 4, rel=0.15)


def test_fewer_than_ten_numbers_withhold_claims():
    assert too_few_numbers(10) is None
    alert = too_few_numbers(9)
    assert alert.withholds
    assert "Nothing can be claimed from 9 known numbers" in alert.text
