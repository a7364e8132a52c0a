"""Drift between labelled and unlabelled rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder

from primum.judging import drift as module
from primum.judging.drift import find_drift


def test_false_alarms_are_rare_where_there_is_no_drift(monkeypatch):
    """The p-value keeps its level, here 20%."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    monkeypatch.setattr(module, "_classifiers", lambda _: [LogisticRegression(), GaussianNB()])
    rng = np.random.default_rng(0)
    found = [
        find_drift(rng.normal(size=(30, 2)), rng.normal(size=(40, 2)), random_state=s).p_value
        for s in range(150)
    ]
    assert np.sum(np.array(found) < 0.2) <= stats.binom.ppf(0.999, 150, 0.2)


def test_a_shift_is_found_and_said():
    rng = np.random.default_rng(0)
    found = find_drift(rng.normal(size=(60, 3)), rng.normal(size=(500, 3)) + 1.5)
    assert found.found
    assert found.n_rows == 60
    assert found.text.startswith("Labelled and unlabelled rows come from visibly different")
    assert f"{100 * found.accuracy:.0f}% accuracy" in found.text
    assert set(found.to_dict()) == {"accuracy", "p_value", "n_rows", "found"}


def test_a_difference_in_spread_is_found_although_the_means_agree():
    rng = np.random.default_rng(0)
    assert find_drift(rng.normal(size=(150, 3)), 4 * rng.normal(size=(300, 3))).found


def test_no_drift_has_no_text():
    rng = np.random.default_rng(1)
    found = find_drift(rng.normal(size=(60, 3)), rng.normal(size=(100, 3)))
    assert not found.found
    assert found.text == ""


@pytest.mark.parametrize(("n_labeled", "n_unlabeled"), [(9, 100), (100, 9), (100, 0)])
def test_too_few_rows_for_a_test(n_labeled, n_unlabeled):
    assert find_drift(np.zeros((n_labeled, 2)), np.zeros((n_unlabeled, 2))) is None


def test_sparse_rows_and_data_frames():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    assert find_drift(sparse.csr_array(X), sparse.csr_array(X + 3)).found
    frame = pd.DataFrame({"kind": ["a", "b"] * 20, "size": X[:, 0]})
    other = frame.assign(kind="b")
    prepare = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    assert find_drift(frame, other, prepare=prepare).found
