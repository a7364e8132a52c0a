"""Scenarios draw what they say, and the same again."""

import numpy as np
import pytest

from primum_lab.datasets import CATALOGUE
from primum_lab.scenarios import PAPER_UNLABELED, SCENARIOS, SIMULATED


@pytest.mark.parametrize("name", [*SIMULATED, "digits"])
def test_draws_follow_from_the_seed(name):
    scenario = SCENARIOS[name]
    n_known = scenario.n_labeled + scenario.n_unlabeled
    (X, y), again = (scenario.draw(np.random.default_rng(3), n_known + 50) for _ in range(2))
    assert len(X) == len(y) == (1797 if name == "digits" else n_known + 50)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert not np.array_equal(X, scenario.draw(np.random.default_rng(4), n_known + 50)[0])
    classes = {"digits": 10, "five classes": 5, "nine classes": 9}.get(name, 2)
    assert set(y) == set(range(classes))


@pytest.mark.parametrize("name", PAPER_UNLABELED)
def test_real_data_leave_enough_rows_hidden(name):
    scenario = SCENARIOS[name]
    assert CATALOGUE[name].rows - scenario.n_labeled - scenario.n_unlabeled >= 500


def test_real_data_are_shuffled(monkeypatch, reference):
    monkeypatch.setenv("PRIMUM_DATA", str(reference))
    X, y = SCENARIOS["diabetes"].draw(np.random.default_rng(0), 1)
    assert X.shape == (768, 8)
    assert np.bincount(y).tolist() == [500, 268]
    assert len(np.unique(y[:20])) == 2
