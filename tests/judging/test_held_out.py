"""What out-of-fold scores say of a stack, given the scores."""

import numpy as np
import pytest

from primum.judging.held_out import HeldOut
from primum.judging.losses import read_scoring
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
