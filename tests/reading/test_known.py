"""Shares of the classes that labels drawn at random allow, where others were chosen."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

from primum.reading.folds import judging_folds
from primum.reading.known import drawn_confidence, drawn_labels, drawn_share, read_chosen
from primum.reading.labels import read_labels


def test_without_chosen_labels_the_intervals_are_those_of_all_labels():
    from primum import ICLSClassifier

    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(130, 2)), rng.integers(0, 3, 30)
    y = np.append(codes, np.full(100, -1))
    model = ICLSClassifier(0.1, prior="confidence").fit(X, y)
    nobody = np.zeros(30, dtype=bool)
    np.testing.assert_allclose(drawn_confidence(codes, nobody, 3, 100, 0.95), model.prior_)


def test_intervals_of_the_unlabelled_rows_hold_although_labels_were_chosen():
    # Of 200 rows 30 are drawn; then 40 of the second class are chosen, as far as there are any.
    rng, missed, n_draws = np.random.default_rng(0), np.zeros(2), 500
    for _ in range(n_draws):
        truth = rng.permutation((np.arange(200) < 90).astype(int))
        chosen = 30 + np.flatnonzero(truth[30:])[:40]
        known = np.append(np.arange(30), chosen)
        rest = np.setdiff1d(np.arange(200), known)
        mask = np.arange(len(known)) >= 30
        for k, marked in enumerate((mask, np.zeros_like(mask))):
            low, high = drawn_confidence(truth[known], marked, 2, len(rest), 0.95)[1]
            missed[k] += not low <= np.mean(truth[rest]) <= high
    assert missed[0] / n_draws <= 0.05
    assert missed[1] / n_draws > 0.9  # as if all labels had been drawn at random


def test_a_share_leaves_no_class_empty():
    codes, chosen = np.array([0, 0, 0, 1, 1]), np.arange(5) >= 3
    assert drawn_share(codes, chosen, 10) == 0.1
    assert drawn_share(codes, chosen, 1) is None
    assert drawn_share(np.array([0, 1, 1, 1]), np.arange(4) >= 2, 10) == 0.5


def test_drawn_labels_are_the_others_and_chosen_rows_count_as_unlabelled():
    y = np.array([0, 1, -1, 1, 0, 1])
    labels = read_labels(y, 6)
    chosen = read_chosen([1, 2], labels)
    assert chosen.tolist() == [False, True, False, False, False, False]
    drawn = drawn_labels(labels, chosen)
    assert (drawn.labeled.tolist(), drawn.unlabeled.tolist()) == ([0, 3, 4, 5], [1, 2])
    assert drawn.codes.tolist() == [0, 1, 0, 1]
    assert drawn_labels(labels, None) is labels
    assert read_chosen([2], labels) is None


@pytest.mark.parametrize("cv", [None, 3, KFold(3), GroupKFold(3)])
def test_folds_hold_out_every_drawn_row_once_and_no_group_is_split(cv):
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 2, 60), np.arange(60) // 3
    labels = read_labels(y, 60)
    chosen = read_chosen(np.arange(0, 60, 5), labels)
    plain = isinstance(cv, KFold)
    folds = judging_folds(cv, labels, None if plain else groups, 0, chosen)
    held_out = np.sort(np.concatenate([fold.test for fold in folds]))
    np.testing.assert_array_equal(held_out, np.flatnonzero(~chosen))
    for fold in folds:
        others = np.setdiff1d(np.arange(60), fold.test)
        kept = others if plain else others[~np.isin(groups[others], groups[fold.test])]
        np.testing.assert_array_equal(fold.train, kept)
