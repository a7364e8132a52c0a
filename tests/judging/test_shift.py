"""Weights of labelled rows that are not a random sample."""

import numpy as np
import pytest
from scipy import stats

from primum.judging.drift import (
    CLIPPED_AT,
    covariate_weights,
    label_weights,
    mixture_test,
    no_mixture,
    no_overlap,
    options_in_words,
)
from primum.judging.shares import ClassShare, EstimatedShares


def test_label_weights_give_the_classes_their_shares():
    shares = [ClassShare(name, share, 0, 1, 0.5) for name, share in (("a", 0.9), ("b", 0.1))]
    codes = np.repeat([0, 1], [10, 30])
    found = label_weights(codes, EstimatedShares(shares, "", "", 0.95, 40, 500))
    assert np.average(codes, weights=found.weight) == pytest.approx(0.1)
    assert found.weight.mean() == pytest.approx(1)
    assert 10 < found.effective_size < 40
    assert "shift='label'" in found.text
    assert "within a class" in found.text


def test_covariate_weights_move_the_mean_to_that_of_the_unlabelled_rows():
    rng = np.random.default_rng(0)
    labeled, unlabeled = rng.normal(size=(300, 2)), rng.normal((0.7, 0), size=(2000, 2))
    found = covariate_weights(labeled, unlabeled)
    weight = found.weight
    assert np.average(labeled, axis=0, weights=weight) == pytest.approx([0.7, 0], abs=0.2)
    assert weight.max() == pytest.approx(np.quantile(weight, CLIPPED_AT), rel=0.01)
    grouped = covariate_weights(labeled, unlabeled, groups=np.arange(300) // 3)
    assert np.corrcoef(weight, grouped.weight)[0, 1] > 0.9


def test_covariate_weights_of_a_random_sample_are_about_equal():
    rng = np.random.default_rng(1)
    found = covariate_weights(rng.normal(size=(80, 3)), rng.normal(size=(500, 3)))
    assert found.effective_size > 60


def test_rows_that_cannot_stand_for_the_others_are_refused():
    rng = np.random.default_rng(2)
    far = rng.normal(size=(40, 1)), rng.normal(size=(400, 1)) + 4
    weight = np.append(np.full(38, 1e-9), [1, 1])
    said = "the 40 labelled rows count as 2.0 of equal weight, fewer than 20"
    assert said in no_overlap(*far, weight)
    with pytest.raises(ValueError, match=r"at least 20 labelled .* there are 12 and 400"):
        covariate_weights(far[0][:12], far[1])


def test_both_options_are_offered_with_their_assumptions():
    text = options_in_words()
    for part in ("shift='label'", "within a class", "shift='covariate'", "same features"):
        assert part in text


@pytest.mark.parametrize(("apart", "refused"), [(0.0, 0), (1.0, 0), (4.0, 3), (50.0, 3)])
def test_covariate_weights_need_overlap(apart, refused):
    """Without any, clipped odds are all alike, so that the effective size does not show it."""
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(100, 2)), rng.normal((apart, 0), size=(400, 2))
        weights = covariate_weights(*rows, random_state=seed)
        found.append(no_overlap(*rows, weights.weight, random_state=seed))
    assert sum(map(bool, found)) == refused
    if apart == 50:
        assert weights.effective_size > 90
        assert "100% accuracy" in found[0]


def test_a_ring_around_the_labelled_rows_is_no_overlap_either():
    """A linear model of the odds does not see it."""
    rng = np.random.default_rng(0)
    around = rng.normal(size=(500, 2))
    rows = 0.5 * rng.normal(size=(100, 2)), 6 * around / np.linalg.norm(around, axis=1)[:, None]
    assert no_overlap(*rows, covariate_weights(*rows).weight)


def mixed(rng, n_labeled, moved=0.0):
    """Return labelled rows, their classes, unlabelled rows of other shares, and their scores."""
    y, hidden = rng.random(n_labeled) < 0.5, rng.random(400) < 0.15
    X, others = (rng.normal(size=(len(c), 3)) + 2 * c[:, None] for c in (y, hidden))
    others = others + moved * np.array([10, -7, 0])
    of_rows = [1 / (1 + np.exp(3 - rows.sum(axis=1))) for rows in (X, others)]
    scores = tuple(np.column_stack([1 - one, one]) for one in of_rows)
    return X, others, y.astype(int), scores


def test_the_test_of_a_mixture_keeps_its_level_with_estimated_shares():
    """Whatever rows are taken for, if only shares differ; here the shares are estimated."""
    rng, p_values = np.random.default_rng(0), []
    for _ in range(300):
        X, others, y, scores = mixed(rng, 40)
        taken = tuple((rows[:, 0] > 1).astype(float) for rows in (X, others))
        means = np.array([scores[0][y == code].mean(axis=0) for code in (0, 1)])
        shares = np.clip(np.linalg.solve(means.T, scores[1].mean(axis=0)), 0, 1)
        p_values.append(mixture_test(taken, scores, y, shares / shares.sum())[1])
    assert np.sum(np.array(p_values) < 0.1) <= stats.binom.ppf(0.999, 300, 0.1)
    assert np.sum(np.array(p_values) < 0.5) >= stats.binom.ppf(0.001, 300, 0.25)


@pytest.mark.parametrize(("moved", "refused"), [(0.0, 0), (1.0, 3)])
def test_label_weights_need_a_mixture_of_the_labelled_classes(moved, refused):
    found = []
    for seed in range(3):
        X, others, y, scores = mixed(np.random.default_rng(seed), 80, moved)
        found.append(no_mixture(X, others, y, scores, np.array([0.85, 0.15]), random_state=seed))
    assert sum(map(bool, found)) == refused
    assert all("are no mixture of the labelled classes" in text for text in found if text)


@pytest.mark.parametrize("moved", [0, 30])
def test_too_few_labelled_rows_to_reject_a_mixture_refuse_label_weights(moved):
    """One row of each of eight groups: no mixture, however far away, could be rejected."""
    rng = np.random.default_rng(0)
    y = np.arange(8) % 2
    scores = np.eye(2)[y], np.tile([0.0, 1.0], (160, 1))
    X, others = rng.normal(size=(8, 3)), rng.normal(size=(160, 3)) + moved
    found = no_mixture(X, others, y, scores, np.array([0.0, 1.0]))
    assert found.startswith("8 independent labelled rows (one of each group) are too few to show")


@pytest.mark.parametrize("n_labeled", [10, 12, 16])
def test_few_labelled_rows_never_allow_weights_for_rows_that_are_no_mixture(n_labeled):
    for seed in range(5):
        X, others, y, scores = mixed(np.random.default_rng(seed), n_labeled, 3.0)
        assert no_mixture(X, others, y, scores, np.array([0.85, 0.15]), random_state=seed)


@pytest.mark.parametrize("n_labeled", [24, 40])
def test_enough_labelled_rows_allow_label_weights(n_labeled):
    for seed in range(5):
        X, others, y, scores = mixed(np.random.default_rng(seed), n_labeled)
        found = no_mixture(X, others, y, scores, np.array([0.85, 0.15]), random_state=seed)
        assert "too few" not in found


def test_scores_that_saturate_do_not_hide_another_kind_of_rows():
    """Far beyond one class, all scores are those of this class."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 2)) + 4 * y[:, None]
    others = rng.normal(size=(300, 2)) + 40
    scores = np.eye(2)[y], np.tile([0.0, 1.0], (300, 1))
    assert "no mixture" in no_mixture(X, others, y, scores, np.array([0.0, 1.0]))


def test_a_random_sample_of_wide_rows_keeps_its_size():
    """The penalty is chosen by the loss that is fitted; otherwise odds overfit many features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(660, 150))
    weights = covariate_weights(X[:60], X[60:])
    assert weights.effective_size > 50
    assert not no_overlap(X[:60], X[60:], weights.weight)
