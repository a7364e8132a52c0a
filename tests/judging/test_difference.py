"""Statistics of a comparison, against closed forms and simulations whose truth is known."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from primum.judging.difference import Difference, Posterior, holm
from primum.judging.held_out import resampled_difference, resampled_difference_of_scores


def test_the_variance_of_rows_is_corrected_for_overlapping_training_sets():
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 2, size=(2, 5, 8)).astype(float)
    found = resampled_difference(list(rows.reshape(10, 8)), n_train=32)
    variance = rows.var() * 40 / 39 + 1 / 40
    assert found.mean == pytest.approx(rows.mean())
    assert found.standard_error == pytest.approx(np.sqrt(variance / 8 * (1 / 10 + 8 / 32)))
    assert (found.degrees_of_freedom, found.n_rows) == (39, 40)


def test_the_corrected_resampled_t_of_scores():
    values = np.array([0.1, -0.2, 0.3, 0.05])
    found = resampled_difference_of_scores(values, n_train=30, n_test=10, unit=0.0)
    expected = values.mean() / np.sqrt(values.var(ddof=1) * (1 / 4 + 10 / 30))
    assert found.t == pytest.approx(expected)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(expected), 3))
    assert found.p_better == pytest.approx(stats.t.cdf(expected, 3))
    equal = resampled_difference_of_scores([0.0, 0.0], n_train=30, n_test=10)
    assert equal.standard_error > 0
    assert equal.p_value == 1.0


def test_too_few_splits_or_rows():
    with pytest.raises(ValueError, match="at least two splits, got 1"):
        resampled_difference_of_scores([0.1], 8, 2)
    with pytest.raises(ValueError, match="at least one held-out row"):
        resampled_difference([[0.0], []], 8)


def correlated_splits(rng, n_rows, *, disagree, shift, training_noise):
    """Return row differences in two repeats of five folds, and the truth of the final model."""
    probability = np.array([disagree / 2 - shift / 2, 1 - disagree, disagree / 2 + shift / 2])
    rows = rng.choice([-1.0, 0.0, 1.0], p=probability, size=n_rows)
    parts = []
    for _ in range(2):
        order = rng.permutation(n_rows)
        for test in np.array_split(order, 5):
            noise = rng.choice([-1.0, 1.0], size=len(test)) * (
                rng.random(len(test)) < training_noise
            )
            parts.append(np.clip(rows[test] + noise, -1, 1))
    return parts


@pytest.mark.parametrize("n_rows", [20, 50, 200])
@pytest.mark.parametrize("training_noise", [0.0, 0.1])
def test_false_alarms_where_the_models_are_equally_good(n_rows, training_noise):
    """At the nominal 5%, no more than 5% of 1000 comparisons, up to sampling error."""
    rng = np.random.default_rng(n_rows)
    found = 0
    for _ in range(1000):
        parts = correlated_splits(
            rng, n_rows, disagree=0.2, shift=0.0, training_noise=training_noise
        )
        found += resampled_difference(parts, n_train=n_rows * 4 // 5).p_value < 0.05
    assert found <= stats.binom.ppf(0.999, 1000, 0.05)


def test_a_difference_of_fifteen_points_is_found_in_most_cases():
    rng = np.random.default_rng(0)
    found = [
        Posterior(
            resampled_difference(
                correlated_splits(rng, 200, disagree=0.2, shift=-0.15, training_noise=0.02), 160
            )
        ).probabilities.help
        for _ in range(50)
    ]
    assert np.mean(np.array(found) > 0.95) > 0.5


ESTIMATES = st.builds(
    Difference,
    mean=st.floats(-0.3, 0.3),
    standard_error=st.floats(1e-4, 0.3),
    degrees_of_freedom=st.integers(3, 300),
    n_rows=st.integers(10, 500),
)


@settings(max_examples=25)
@given(ESTIMATES, st.sampled_from([0.001, 0.01, 0.1]))
def test_probabilities_are_integrals_of_likelihood_times_prior(difference, limit):
    found = Posterior(difference, equivalence=limit).probabilities
    assert found.help + found.no_difference + found.harm == pytest.approx(1)
    edge, scale = 3.0, 3 * limit

    def density(d):  # up to a factor, which the shares of the area do not depend on
        z, f = (d - difference.mean) / difference.standard_error, difference.degrees_of_freedom
        return (1 + z**2 / f) ** (-(f + 1) / 2) / (1 + (d / scale) ** 2)

    narrow = difference.mean + difference.standard_error * np.array([-8, -3, -1, 0, 1, 3, 8])
    breaks = np.r_[-edge, -limit, 0, limit, edge, narrow, scale * np.array([-8, -1, 1, 8])]
    breaks = np.unique(breaks[np.abs(breaks) <= edge].round(9))  # not two breaks in one place
    area = {"help": 0.0, "no_difference": 0.0, "harm": 0.0}
    for low, high in pairwise(breaks):
        piece = integrate.quad(density, low, high)[0]
        where = "help" if high <= -limit else "harm" if low >= limit else "no_difference"
        area[where] += piece
    for name, value in found.to_dict().items():
        assert value == pytest.approx(area[name] / sum(area.values()), abs=3e-3)


@pytest.mark.parametrize("n", [600, pytest.param(1500, marks=pytest.mark.slow)])
def test_probabilities_are_calibrated_where_truth_follows_the_prior(n):
    """Of all cases with P(help) about p, a share of about p is truly better by a point."""
    rng = np.random.default_rng(1)
    truth = 0.03 * rng.standard_cauchy(n)
    spread = rng.uniform(0.01, 0.06, n)
    mean = truth + spread * rng.standard_t(30, n)
    claimed = np.array(
        [
            Posterior(Difference(m, s, 30, 31)).probabilities.help
            for m, s in zip(mean, spread, strict=True)
        ]
    )
    helped = truth < -0.01
    for low in np.arange(0, 1, 0.2):
        inside = (claimed >= low) & (claimed <= low + 0.2)
        error = np.sqrt(0.25 / inside.sum())
        assert helped[inside].mean() == pytest.approx(claimed[inside].mean(), abs=3.3 * error)


def test_a_loss_of_twenty_equal_rows_is_not_equal_everywhere():
    difference = resampled_difference([[0.0] * 4] * 5, 16)
    assert Posterior(difference).probabilities.no_difference < 0.95


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_bad_settings(wrong):
    with pytest.raises(ValueError, match="equivalence must not be negative"):
        Posterior(Difference(0.0, 0.1, 9, 10), equivalence=wrong)


@given(ESTIMATES)
def test_the_number_of_labels_that_settles_it(difference):
    posterior = Posterior(difference)
    needed = posterior.labels_to_settle()

    def clear_with(n_rows):
        later = Posterior(difference.with_rows(n_rows))
        return max(later.probabilities.to_dict().values()) >= 0.95

    if needed is None:
        assert not clear_with(100 * difference.n_rows)
    else:
        assert clear_with(needed)
        assert needed == difference.n_rows or not clear_with(int(0.95 * needed))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_the_step_down_definition(p_values):
    adjusted = holm(p_values)
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for rank, i in enumerate(np.argsort(p_values, kind="stable")):
            if p_values[i] * (len(p_values) - rank) > level:
                break
            rejected.add(int(i))
        assert set(np.flatnonzero(adjusted <= level).tolist()) == rejected


def test_the_largest_difference_seen_counts_once_more():
    """Where hardly any row differs, the observed variance alone would say too much."""
    found = resampled_difference([[0.0, 0.0], [0.0, 0.02]], 2)
    variance = np.var([0.0, 0.0, 0.0, 0.02]) * 4 / 3 + 0.02**2 / 4
    assert found.standard_error == pytest.approx(np.sqrt(variance / 2 * (1 / 2 + 2 / 2)))
    assert resampled_difference([[0.0]] * 4, 3).standard_error > 0
