"""Folds of numeric targets: shuffled, of about the same size, with groups and chosen rows."""

import numpy as np
import pytest

from primum.reading.folds import judging_folds, tuning_folds
from primum.reading.known import drawn_labels, read_chosen
from primum.reading.targets import read_targets

RNG = np.random.default_rng(0)
Y = np.where(RNG.random(90) < 0.5, RNG.normal(size=90), np.nan)
TARGETS = read_targets(Y, 90)
N_LABELED = len(TARGETS.labeled)


def test_every_labelled_row_is_held_out_once():
    folds = judging_folds(4, TARGETS, None, 0)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(N_LABELED))
    assert {len(fold.test) for fold in folds} <= {N_LABELED // 4, N_LABELED // 4 + 1}
    assert any(np.diff(fold.test).max() > 1 for fold in folds)  # shuffled


def test_groups_stay_together():
    groups = np.arange(90) // 7
    of_row = groups[TARGETS.labeled]
    for fold in judging_folds(3, TARGETS, groups, 0):
        assert not set(of_row[fold.train]) & set(of_row[fold.test])
    for fold in tuning_folds(3, TARGETS.strata, of_row):
        assert not set(of_row[fold.train]) & set(of_row[fold.test])


def test_chosen_rows_are_never_held_out():
    chosen = read_chosen(TARGETS.labeled[:10], TARGETS)
    drawn = drawn_labels(TARGETS, chosen)
    np.testing.assert_array_equal(drawn.targets, TARGETS.targets[10:])
    assert set(drawn.unlabeled) == set(TARGETS.unlabeled) | set(TARGETS.labeled[:10])
    for fold in judging_folds(3, TARGETS, None, 0, chosen):
        assert set(range(10)) <= set(fold.train)


@pytest.mark.parametrize(
    ("cv", "groups", "chosen", "sentence"),
    [
        (N_LABELED + 1, None, None, f"there are only {N_LABELED}: pass cv={N_LABELED} or less"),
        (3, np.zeros(90), None, "All labelled rows belong to one group"),
        (
            3,
            None,
            TARGETS.labeled[1:],
            f"Of {N_LABELED} labelled rows, {N_LABELED - 1} were chosen, so none of the others can",
        ),
    ],
)
def test_too_little_to_hold_out(cv, groups, chosen, sentence):
    with pytest.raises(ValueError, match=sentence):
        judging_folds(cv, TARGETS, groups, 0, read_chosen(chosen, TARGETS))
