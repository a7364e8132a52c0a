"""Rows and groups as what the statistics count, and scores of several folds together."""

import numpy as np
import pytest

from primum.judging.difference import Difference
from primum.judging.held_out import group_contributions, pooled_difference, resampled_difference
from primum.judging.losses import folds_of_repeats


@pytest.mark.parametrize("wrong", [(np.nan, 0.1), (0.1, np.nan), (-np.inf, 0.1), (0.1, np.inf)])
def test_a_difference_is_finite(wrong):
    with pytest.raises(ValueError, match="A difference of losses must be finite, got the mean"):
        Difference(*wrong, 9, 10)


def test_the_folds_of_a_repeat_hold_out_every_row_once():
    folds = [np.array(fold) for fold in ([0, 1], [2, 3], [0, 2], [1, 3])]
    assert folds_of_repeats(folds, 4) == [[0, 1], [2, 3]]
    assert folds_of_repeats(folds, 5) is None
    assert folds_of_repeats(folds[:3], 4) is None
    assert folds_of_repeats([np.array([0]), np.array([0])], 1) == [[0], [1]]


def test_of_a_mean_the_jackknife_gives_what_is_computed_from_rows(rng):
    """The pseudo-values of a mean are the values themselves."""
    values = rng.normal(size=24)
    repeats = [np.arange(12), np.arange(12, 24)]
    units = np.tile(np.arange(12), 2)
    found = pooled_difference(lambda index: values[index].mean(), repeats, units, [9] * 8)
    expected = resampled_difference(np.split(values, 8), 9, n_rows=12)
    assert found.mean == pytest.approx(expected.mean)
    assert found.standard_error == pytest.approx(expected.standard_error)
    assert found.degrees_of_freedom == expected.degrees_of_freedom


def area(truth, scores):
    """Return the area under the ROC curve: the share of pairs in the right order."""
    return np.mean(scores[truth][:, None] > scores[~truth])


def test_the_standard_error_of_a_pooled_score_is_about_right():
    """Scores of known models, so that only the rows vary: the area under the curve of 4 in 64."""
    rng = np.random.default_rng(0)
    truth = np.arange(64) < 4
    found, errors = [], []
    for _ in range(100):
        one, other = rng.normal(size=(2, 64)) + 1.5 * truth

        def change(index, one=one, other=other):
            return area(truth[index], other[index]) - area(truth[index], one[index])

        difference = pooled_difference(change, [np.arange(64)], np.arange(64), [10**9])
        found.append(difference.mean)
        errors.append(difference.standard_error)
    # The spread of 100 estimates is known up to 7%; the jackknife is somewhat conservative.
    assert 0.8 * np.std(found) < np.mean(errors) < 1.5 * np.std(found)


def grouped_difference(differences, folds, groups, *, n_groups):
    n_train = [len(np.unique(groups[fold.train])) for fold in folds]
    parts = group_contributions(differences, folds, groups)
    return resampled_difference(parts, n_train, n_rows=n_groups)


class Split:
    def __init__(self, train, test):
        self.train, self.test = np.array(train), np.array(test)


def test_the_difference_of_groups_is_the_mean_over_rows_however_large_they_are():
    """A group of five rows on which a method is worse, and three single rows where it is better."""
    groups = np.array([0, 0, 0, 0, 0, 1, 2, 3])
    folds = [Split([5, 6, 7], [0, 1, 2, 3, 4]), Split([0, 1, 2, 3, 4], [5, 6, 7])]
    found = grouped_difference([np.ones(5), -np.ones(3)], folds, groups, n_groups=4)
    assert found.mean == pytest.approx((5 - 3) / 8)


def test_the_standard_error_of_groups_is_that_of_the_mean_over_rows():
    """Against the spread over many samples of groups of unequal size; training sets as large."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        sizes = rng.integers(1, 8, 40)
        groups = np.repeat(np.arange(40), sizes)
        values = np.repeat(rng.normal(size=40) * sizes / 4, sizes)
        split = Split(np.arange(len(groups)), np.arange(len(groups)))
        one = grouped_difference([values], [split], groups, n_groups=40)
        # One split that trains on as many groups as it holds out doubles the variance.
        found.append((one.mean, one.standard_error / np.sqrt(2)))
    means, errors = np.array(found).T
    assert 0.9 < np.median(errors) / means.std() < 1.3


def test_equal_groups_are_judged_by_their_means(rng):
    values, groups = rng.normal(size=24), np.repeat(np.arange(8), 3)
    folds = [Split(np.arange(12, 24), np.arange(12)), Split(np.arange(12), np.arange(12, 24))]
    found = grouped_difference(np.split(values, 2), folds, groups, n_groups=8)
    means = values.reshape(8, 3).mean(axis=1)
    expected = resampled_difference(np.split(means, 2), 4, n_rows=8)
    assert found.mean == pytest.approx(expected.mean)
    assert found.standard_error == pytest.approx(expected.standard_error)
