"""Weights of labelled rows that are not a random sample."""

import numpy as np
import pytest

from primum.judging.drift import CLIPPED_AT, covariate_weights, label_weights, options_in_words
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
    with pytest.raises(ValueError, match=r"40 labelled rows are worth .* fewer than 20"):
        covariate_weights(*far)
    with pytest.raises(ValueError, match=r"at least 20 labelled .* there are 12 and 400"):
        covariate_weights(far[0][:12], far[1])


def test_both_options_are_offered_with_their_assumptions():
    text = options_in_words()
    for part in ("shift='label'", "within a class", "shift='covariate'", "same features"):
        assert part in text
