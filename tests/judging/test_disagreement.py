"""Differences in error, judged by the rows on which two models disagree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from primum.judging.difference import DESIGN_EFFECT, Difference, Disagreement, Posterior
from primum.judging.held_out import HeldOut
from primum.judging.losses import Predictions
from primum.reading.folds import Fold

SEEN = Difference(-0.1, 0.04, 99, 100)
COUNTS = st.floats(0, 60)
DISAGREEMENTS = st.builds(
    Disagreement,
    better=COUNTS,
    worse=COUNTS,
    neither=COUNTS,
    n_different=st.integers(0, 400),
    n_compared=st.integers(400, 5000),
    train_share=st.floats(0.5, 0.95),
    n_classes=st.integers(2, 9),
)


def judged(*values):
    return Posterior(SEEN, Disagreement(*values))


def held_out(codes, n_classes=3, weight=None):
    """Return a judge of rows that five folds hold out, each once."""
    rows = np.arange(len(codes))
    folds = [Fold(rows[rows % 5 != k], rows[rows % 5 == k]) for k in range(5)]
    return HeldOut(folds, codes, np.arange(n_classes), weight)


def disagreement_of(own, others, truth, weight=None, **compared):
    judge = held_out(truth, weight=weight)
    both = (Predictions(truth[judge.rows], which[judge.rows], None) for which in (own, others))
    return judge.disagreement(*both, **compared)


def test_the_rows_are_counted_by_which_model_is_right():
    own, others, truth = np.array([[0, 0, 1, 2, 1], [0, 1, 0, 1, 1], [0, 0, 0, 0, 2]])
    found = disagreement_of(own, others, truth)
    assert (found.better, found.worse, found.neither) == (1.0, 1.0, 1.0)
    weight = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    found = disagreement_of(own, others, truth, weight)
    worth = weight.sum() ** 2 / np.sum(weight**2)
    counts = np.array([found.better, found.worse, found.neither])
    np.testing.assert_allclose(counts, np.array([2.0, 4.0, 8.0]) * worth / weight.sum())


def test_with_certain_shares_it_is_the_difference_of_two_betas():
    """Many rows compared and all labels in training: only which model is right is unknown."""
    found = judged(15, 6, 0, 10**6, 10**7, 1.0, 2)
    exact = stats.beta(15 / DESIGN_EFFECT + 0.5, 6 / DESIGN_EFFECT + 0.5)
    low, high = found.interval(0.9)
    assert low == pytest.approx(-0.1 * (2 * exact.ppf(0.95) - 1), abs=5e-4)
    assert high == pytest.approx(-0.1 * (2 * exact.ppf(0.05) - 1), abs=5e-4)
    assert found.probabilities.help == pytest.approx(exact.sf(0.55), abs=2e-3)


def test_several_classes_follow_the_dirichlet_distribution():
    found = judged(15, 6, 30, 10**6, 10**7, 1.0, 4)
    rng = np.random.default_rng(0)
    counts = np.array([15, 6, 30]) / DESIGN_EFFECT + 0.5
    better, worse, _ = rng.dirichlet(counts, 10**6).T
    drawn = -0.1 * (better - worse)
    assert found.interval(0.9) == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=5e-4)
    assert found.probabilities.help == pytest.approx(np.mean(drawn < -0.01), abs=3e-3)


@given(DISAGREEMENTS)
def test_swapping_the_models_swaps_help_and_harm(one):
    other = Disagreement(
        one.worse, one.better, one.neither, one.n_different, one.n_compared, one.train_share,
        one.n_classes,
    )  # fmt: skip
    found, swapped = (Posterior(SEEN, which).probabilities for which in (one, other))
    assert found.help == pytest.approx(swapped.harm, abs=0.01)
    assert found.no_difference == pytest.approx(swapped.no_difference, abs=0.01)


@given(DISAGREEMENTS)
def test_no_change_is_larger_than_the_share_on_which_they_disagree_allows(disagreement):
    changes = disagreement.changes
    assert np.all(np.diff(changes) >= 0)
    assert np.abs(changes).max() <= 1
    n_same = disagreement.n_compared - disagreement.n_different
    most = stats.beta.ppf(1 - 1e-6, disagreement.n_different + 0.5, n_same + 0.5)
    assert np.abs(changes).max() <= most


def test_few_labels_claim_nothing_and_many_settle_it():
    few, many = judged(3, 0, 0, 80, 1000, 0.8, 2), judged(60, 6, 0, 80, 1000, 0.8, 2)
    assert few.probabilities.help < 0.95 < many.probabilities.help


def test_models_that_hardly_disagree_make_no_difference_without_a_label():
    assert judged(0, 0, 0, 2, 1000, 0.8, 2).probabilities.no_difference > 0.99
    more = stats.beta(7.5, 993.5).sf(0.01)  # of all rows, however much the folds lack labels
    assert judged(0, 400, 0, 7, 1000, 0.5, 2).probabilities.harm <= more + 0.01
    assert judged(0, 0, 0, 200, 1000, 0.8, 2).probabilities.no_difference < 0.95


def test_fewer_labels_in_the_folds_widen_the_interval():
    widths = [np.ptp(judged(30, 1, 0, 300, 1000, q, 2).interval(0.9)) for q in (1.0, 0.8, 0.5)]
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize("train_share", [0.5, 0.8, 1.0])
def test_models_that_differ_on_two_thirds_of_the_rows_change_no_more_errors(train_share):
    """A gain that grows with the labels ends where one model is right on all rows that differ."""
    low, high = judged(60, 0, 0, 6500, 10_000, train_share, 2).interval(0.9)
    share = stats.beta(6500.5, 3500.5)
    assert -share.ppf(0.96) < low < high < -0.3
    alike = judged(30, 30, 0, 6500, 10_000, train_share, 2).interval(0.9)
    assert alike[1] - alike[0] > 0.1


def test_a_forecast_scales_the_counts():
    open_ = judged(9, 3, 0, 80, 1000, 0.8, 2)
    needed = open_.labels_to_settle()
    factor = needed / SEEN.n_rows
    later = judged(9 * factor, 3 * factor, 0, 80, 1000, 0.8, 2)
    assert max(later.probabilities.to_dict().values()) >= 0.95
    fewer = judged(9 * 0.9 * factor, 3 * 0.9 * factor, 0, 80, 1000, 0.8, 2)
    assert max(fewer.probabilities.to_dict().values()) < 0.95


@pytest.mark.parametrize("gain", [0.0, 0.05])
@pytest.mark.parametrize("n_draws", [120, pytest.param(300, marks=pytest.mark.slow)])
def test_the_interval_contains_the_truth_where_rows_are_independent(gain, n_draws):
    """Two fixed models that disagree on 12% of the rows; 100 labels, 500 unlabelled rows."""
    rng = np.random.default_rng(int(100 * gain))
    right = 0.5 + gain / 0.12 / 2
    contained = 0
    for _ in range(n_draws):
        n = rng.binomial(100, 0.12)
        better = rng.binomial(n, right)
        found = judged(better, n - better, 0, rng.binomial(500, 0.12), 500, 0.8, 2)
        low, high = found.interval(0.9)
        contained += low <= -gain <= high
    assert contained >= stats.binom.ppf(0.001, n_draws, 0.9)


def test_a_single_unlabelled_row_changes_next_to_nothing():
    """Otherwise the share on which the models disagree would be anything from 0 to 1."""
    truth = np.zeros(600, dtype=int)
    own, others = truth, (np.arange(600) < 6).astype(int)
    without = Posterior(SEEN, disagreement_of(own, others, truth)).interval()
    for n_different in (0, 1):
        compared = {"n_different": n_different, "n_compared": 1}
        found = Posterior(SEEN, disagreement_of(own, others, truth, **compared))
        assert found.interval() == pytest.approx(without, abs=0.003)
    many = disagreement_of(own, others, truth, n_different=30, n_compared=1000)
    assert (many.n_different, many.n_compared) == (30, 1000)


def test_models_that_agree_on_few_rows_may_disagree_on_others():
    """A share below a point, which is what matters, takes about 140 equal rows to show."""
    shares = [judged(0, 0, 0, 0, n, 0.8, 2).probabilities.no_difference for n in (20, 60, 200)]
    assert shares[0] < shares[1] < 0.95 < shares[2]


@pytest.mark.parametrize("train_share", [0.05, 0.2, 0.5])
def test_small_training_sets_do_not_inflate_a_gain(train_share):
    usual = judged(20, 4, 0, 300, 1000, 0.8, 2).interval(0.0)[0]
    assert abs(judged(20, 4, 0, 300, 1000, train_share, 2).interval(0.0)[0]) < 1.4 * abs(usual)
