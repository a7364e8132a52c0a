"""The interval of the loss of a chosen model: rows, groups, few errors, and the choice."""

import numpy as np
import pytest
from scipy import stats

from primum.judging.intervals import (
    design_effect,
    mean_interval,
    n_counted,
    n_independent,
    rate_interval,
    row_means,
    tails_of,
)

BOTH = (0.05, 0.05)


def plain(losses, groups=None, share=1.0):
    return n_counted(losses, np.zeros(len(losses), dtype=int), groups, share)


def test_no_errors_and_only_errors_are_no_certainty():
    low, high = rate_interval(0.0, 40, BOTH)
    assert low == 0
    assert high == pytest.approx(stats.beta.ppf(0.95, 0.5, 40.5))
    assert high > 0.04
    assert rate_interval(1.0, 40, BOTH) == pytest.approx((1 - high, 1.0))


def test_more_rows_give_a_shorter_interval_of_the_same_rate():
    widths = [np.diff(rate_interval(0.3, n, BOTH))[0] for n in (20, 80, 320)]
    assert widths[0] > 1.8 * widths[1] > 3.2 * widths[2]


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
def test_without_a_choice_both_tails_are_the_same(level):
    assert tails_of(level) == pytest.approx(((1 - level) / 2,) * 2)


def test_bounds_of_uncorrelated_methods_hold_together():
    below, above = tails_of(0.9, 5.0)
    assert below == pytest.approx(0.05)
    assert (1 - above) ** 5 == pytest.approx(0.95)


def test_equal_methods_count_as_one_and_uncorrelated_ones_as_many(rng):
    loss = rng.integers(0, 2, 50).astype(float)
    assert n_independent(np.column_stack([loss] * 4)) == pytest.approx(1)
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])  # uncorrelated columns
    assert n_independent(signs.astype(float)) == pytest.approx(3)
    assert 1 < n_independent(np.column_stack([loss, loss, rng.normal(size=50)])) < 3


def test_a_method_that_never_errs_counts_as_uncorrelated(rng):
    loss = rng.integers(0, 2, 50).astype(float)
    assert n_independent(np.column_stack([loss, loss, np.zeros(50)])) == pytest.approx(
        (np.sqrt(2) + 1) ** 2 / 3
    )
    assert n_independent(np.zeros((50, 2))) == pytest.approx(2)


def test_the_lowest_of_eight_equal_errors_is_too_low_and_the_interval_knows(rng):
    truth, n_rows, n_methods, draws = 0.3, 100, 8, 300
    missed = {1.0: 0, float(n_methods): 0}
    for lowest in rng.binomial(n_rows, truth, (draws, n_methods)).min(axis=1) / n_rows:
        for chosen_among in missed:
            missed[chosen_among] += (
                truth > rate_interval(lowest, n_rows, tails_of(0.9, chosen_among))[1]
            )
    assert missed[1.0] / draws > 0.2  # nominal: 0.05, of one method; 1 - 0.95^8 = 0.34 of eight
    assert missed[8.0] / draws < 0.09


def test_a_plain_rate_counts_the_rows_of_a_training_set(rng):
    losses = rng.integers(0, 2, 60).astype(float)
    assert plain(losses) == pytest.approx(60)
    assert plain(losses, share=0.8) == pytest.approx(48)
    assert plain(np.zeros(60)) == pytest.approx(60)


def test_a_rare_class_counts_in_a_balanced_error(rng):
    strata = np.r_[np.zeros(190), np.ones(10)].astype(int)
    losses = rng.integers(0, 2, 200).astype(float)
    # Half of the weight is that of ten rows.
    assert n_counted(losses, strata, None, 1.0) < 45
    even = np.arange(200) % 2
    assert n_counted(even * 0.0, even, None, 1.0) == pytest.approx(200)


def test_copies_of_rows_in_groups_add_nothing(rng):
    losses = rng.integers(0, 2, 50).astype(float)
    once = plain(losses, np.arange(50))
    copied = plain(np.repeat(losses, 6), np.repeat(np.arange(50), 6))
    assert copied == pytest.approx(once)
    assert once == pytest.approx(50, rel=0.05)


def test_groups_without_any_error_count_once_each():
    assert plain(np.zeros(300), np.repeat(np.arange(50), 6)) == pytest.approx(50, rel=0.05)


def test_groups_of_unrelated_rows_count_as_rows(rng):
    losses = rng.integers(0, 2, 3000).astype(float)
    groups = np.repeat(np.arange(1000), 3)
    assert plain(losses, groups) > 0.85 * 3000
    assert design_effect(losses - losses.mean(), groups) >= 1


def test_a_mean_of_equal_values_is_not_certain():
    low, high = mean_interval(0.2, np.full(30, 0.2), 30, BOTH, 30)
    assert low < 0.2 < high
    assert high - 0.2 == pytest.approx(stats.t.ppf(0.95, 29) * 0.2 / 30)


def test_the_interval_of_a_mean_contains_it_as_often_as_it_says(rng):
    draws = rng.exponential(size=(400, 60))
    found = [mean_interval(values.mean(), values, 60, BOTH, 60) for values in draws]
    assert 0.85 < np.mean([low < 1 < high for low, high in found]) < 0.97


def test_rows_are_averaged_over_repeats():
    rows, means = row_means(np.array([4, 2, 2, 4, 2]), [1, 0, 1, 0, 0])
    assert rows.tolist() == [2, 4]
    assert means.tolist() == pytest.approx([1 / 3, 1 / 2])
