"""Class shares of the unlabelled rows: known answers, invariances, coverage."""

import numpy as np
import pytest
from scipy import stats

from primum.judging.shares import (
    COVARIATE,
    LABEL,
    RANDOM,
    ClassShare,
    CrossFittedScores,
    EstimatedShares,
    estimate_shares,
    maximum_likelihood_shares,
    without_known,
)

N_UNLABELED = 400


def scores_of(codes, rng, n_classes, strength):
    """Return calibrated scores of rows: posterior probabilities of normal features."""
    x = rng.normal(size=(len(codes), n_classes)) + strength * np.eye(n_classes)[codes]
    odds = np.exp(strength * x)
    return odds / odds.sum(axis=1, keepdims=True)


def problem(rng, labeled, unlabeled, n_labeled=60, strength=1.5):
    """Return scores of two "folds" and the true shares of the unlabelled rows."""
    n_classes = len(labeled)
    codes = rng.choice(n_classes, n_labeled, p=labeled)
    hidden = rng.choice(n_classes, N_UNLABELED, p=unlabeled)
    scores = scores_of(codes, rng, n_classes, strength)
    of_hidden = scores_of(hidden, rng, n_classes, strength)
    folds = np.arange(n_labeled) % 2
    scored = CrossFittedScores(codes, scores, folds, np.stack([of_hidden] * 2), N_UNLABELED)
    return scored, np.bincount(hidden, minlength=n_classes) / N_UNLABELED


def covered(shift, labeled, unlabeled, n_draws, **options):
    rng, hits = np.random.default_rng(0), 0
    for _ in range(n_draws):
        scored, truth = problem(rng, labeled, unlabeled, **options)
        shares = estimate_shares(scored, np.arange(len(truth)), shift)
        hits += sum(one.low <= share <= one.high for one, share in zip(shares.classes, truth))  # noqa: B905
        assert sum(shares.estimates.values()) == pytest.approx(1)
    return hits / n_draws / len(labeled)


@pytest.mark.parametrize(
    ("shift", "labeled", "unlabeled"),
    [
        (RANDOM, (0.5, 0.5), (0.5, 0.5)),
        (RANDOM, (0.5, 0.3, 0.2), (0.5, 0.3, 0.2)),
        (LABEL, (0.5, 0.5), (0.9, 0.1)),
        (LABEL, (0.4, 0.3, 0.3), (0.6, 0.3, 0.1)),
    ],
)
def test_intervals_contain_the_truth_about_as_often_as_they_say(shift, labeled, unlabeled):
    n_draws = 150
    low, high = stats.binom.ppf([1e-3, 1 - 1e-3], n_draws, 0.95) / n_draws
    assert low <= covered(shift, labeled, unlabeled, n_draws) <= high


def test_intervals_for_a_random_sample_are_wrong_if_the_labels_are_none():
    assert covered(RANDOM, (0.5, 0.5), (0.9, 0.1), 20, n_labeled=200) < 0.2


def test_scores_of_one_class_that_only_vary_widen_its_interval():
    rng, hits, n_draws = np.random.default_rng(0), 0, 200
    for _ in range(n_draws):
        codes = rng.choice(3, 500, p=(0.475, 0.475, 0.05))
        noise = rng.random(500) * (rng.random(500) < 0.5)
        first = np.array([0.9, 0.1, 0.5])[codes]
        scores = np.column_stack([first * (1 - noise), (1 - first) * (1 - noise), noise])
        known, hidden = (codes[:100], scores[:100]), np.stack([scores[100:]] * 2)
        scored = CrossFittedScores(*known, np.arange(100) % 2, hidden, 400)
        third = estimate_shares(scored, np.arange(3)).classes[2]
        hits += third.low <= np.mean(codes[100:] == 2) <= third.high
    assert hits / n_draws >= 0.9


def test_scores_that_say_nothing_leave_the_interval_of_wilson():
    codes = np.repeat([0, 1], [30, 10])
    constant = np.full((40, 2), 0.5)
    scored = CrossFittedScores(codes, constant, np.zeros(40, dtype=int), constant[None], 10**9)
    share = estimate_shares(scored, np.array(["a", "b"])).classes[1]
    assert share.estimate == pytest.approx(0.25)
    z = stats.t.ppf(0.975, 39)
    p = 0.25
    middle, half = p + z**2 / 80, z * np.sqrt(p * (1 - p) / 40 + z**2 / 6400)
    wilson = [(middle + sign * half) / (1 + z**2 / 40) for sign in (-1, 1)]
    assert [share.low, share.high] == pytest.approx(wilson)
    whole = estimate_shares(scored, np.array(["a", "b"]), LABEL).classes[1]
    assert (whole.low, whole.high) == (0, 1)


def test_scores_that_are_right_give_the_shares_of_the_unlabelled_rows():
    rng = np.random.default_rng(1)
    codes, hidden = np.arange(100) % 2, (rng.random(1000) < 0.2).astype(int)
    scored = CrossFittedScores(
        codes, np.eye(2)[codes], np.zeros(100, dtype=int), np.eye(2)[hidden][None], 1000
    )
    for shift in (RANDOM, LABEL, COVARIATE):
        share = estimate_shares(scored, np.array([0, 1]), shift).classes[1]
        assert share.estimate == pytest.approx(hidden.mean(), abs=1e-6)
        assert share.high - share.low < 0.06


@pytest.mark.parametrize("shift", [RANDOM, LABEL])
def test_copies_of_all_rows_in_groups_change_nothing(shift):
    scored, _ = problem(np.random.default_rng(2), (0.5, 0.3, 0.2), (0.5, 0.3, 0.2))
    rows = np.tile(np.arange(60), 3)
    grouped = CrossFittedScores(
        *(scored.codes[rows], scored.scores[rows], scored.fold_of[rows], scored.unlabeled),
        *(N_UNLABELED, None, rows, N_UNLABELED),
    )
    weighted = CrossFittedScores(
        *(scored.codes, scored.scores, scored.fold_of, scored.unlabeled, N_UNLABELED),
        weight=np.full(60, 7.0),
    )
    expected = estimate_shares(scored, np.arange(3), shift).prior
    for other in (grouped, weighted):
        found = estimate_shares(other, np.arange(3), shift).prior
        assert np.array(list(found.values())) == pytest.approx(np.array(list(expected.values())))


def test_em_finds_the_shares_of_calibrated_scores_and_maximises_the_likelihood():
    rng = np.random.default_rng(3)
    labeled, truth = np.full(3, 1 / 3), np.array([0.6, 0.3, 0.1])
    scores = scores_of(rng.choice(3, 20_000, p=truth), rng, 3, 1.5)
    found = maximum_likelihood_shares(scores, labeled)
    assert found == pytest.approx(truth, abs=0.02)
    best = np.log(scores @ (found / labeled)).mean()
    for _ in range(20):
        other = np.abs(found + rng.normal(scale=0.01, size=3))
        assert np.log(scores @ (other / other.sum() / labeled)).mean() < best + 1e-9


def test_a_sample_of_the_unlabelled_rows_widens_the_interval():
    scored, _ = problem(np.random.default_rng(4), (0.5, 0.5), (0.5, 0.5))
    some = CrossFittedScores(
        scored.codes, scored.scores, scored.fold_of, scored.unlabeled[:, :40], N_UNLABELED
    )
    for shift in (RANDOM, LABEL):
        whole, part = (
            estimate_shares(one, np.arange(2), shift).classes[1] for one in (scored, some)
        )
        assert part.high - part.low > whole.high - whole.low


def test_known_labels_are_subtracted():
    scored, _ = problem(np.random.default_rng(5), (0.5, 0.5), (0.5, 0.5))
    shares = estimate_shares(scored, np.arange(2))
    left = without_known(shares, np.array([0, 100]), 300, 400)
    for one, before, known in zip(left.classes, shares.classes, (0, 100), strict=True):
        assert one.estimate * 300 + known == pytest.approx(before.estimate * 400)
        assert one.low <= one.estimate <= one.high
    assert left.n_unlabeled == 300


def test_shares_are_given_as_numbers_of_rows_too():
    yes, no = (
        ClassShare("yes", 0.349, 0.248, 0.466, 0.5),
        ClassShare("no", 0.651, 0.534, 0.752, 0.5),
    )
    shares = EstimatedShares([yes, no], "", "labels are drawn at random", 0.95, 88, 312)
    assert "'yes' 34.9% (24.8% to 46.6%), about 109 (77 to 145) rows; 'no' 65.1%" in str(shares)
    assert str(shares).endswith("This assumes that labels are drawn at random.")
