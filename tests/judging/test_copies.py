"""Copies, and rows that belong together, among the labelled rows."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder

from primum.judging import copies as module
from primum.judging.copies import exact_copies, excess_of_near_rows, find_copies
from primum_lab.datasets import CATALOGUE, available, load

FOLDER = Path(os.environ.get("PRIMUM_DATA") or Path(__file__).parents[3] / "shared" / "data")


def clumps(rng, n_clumps, size=6):
    """Return rows that come in clumps, such as the recordings of one person."""
    centers = 1.5 * rng.normal(size=(n_clumps, 6))
    return np.repeat(centers, size, axis=0) + 0.3 * rng.normal(size=(n_clumps * size, 6))


def test_the_p_value_keeps_its_level_for_any_rows(monkeypatch):
    """Labels at random on rows in clumps: an alarm at 20% is raised in at most about 20%."""
    monkeypatch.setattr(module, "COPIES_SIGNIFICANCE", 0.2)
    monkeypatch.setattr(module, "MIN_EXCESS", 0.0)
    monkeypatch.setattr(module, "FIRST_SUBSETS", 19)
    monkeypatch.setattr(module, "ALL_SUBSETS", 19)
    rng, alarms = np.random.default_rng(0), 0
    for seed in range(60):
        X = rng.permutation(clumps(rng, 30, 4))
        alarms += excess_of_near_rows(X[:30], X[30:], random_state=seed) is not None
    assert stats.binom.ppf(0.001, 60, 0.2) <= alarms <= stats.binom.ppf(0.999, 60, 0.2)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, pd.DataFrame])
@pytest.mark.parametrize("jitter", [0.0, 1e-6, 1e-2])
def test_copies_and_near_copies_withhold_claims(make, jitter):
    rng = np.random.default_rng(1)
    rows = np.repeat(rng.normal(size=(15, 4)), 3, axis=0)
    rows += jitter * rng.normal(size=rows.shape)
    found = find_copies(make(rows), make(rng.normal(size=(200, 4))), remedy="pass groups=.")
    assert (found.kind, found.withholds) == ("copies", True)
    assert found.assumes == "no rows belong together"
    assert "the errors here are too low: pass groups=. Until then, nothing is cl" in found.text


def test_clumps_that_were_labelled_together_are_told_from_labels_at_random():
    rng = np.random.default_rng(2)
    X = clumps(rng, 90)
    together = excess_of_near_rows(X[:90], X[90:])
    assert together[0] - together[1] > 0.4
    for seed in range(5):
        mixed = rng.permutation(X)
        assert excess_of_near_rows(mixed[:90], mixed[90:], random_state=seed) is None


def test_labelled_rows_from_a_part_of_the_space_are_no_copies():
    rng = np.random.default_rng(3)
    for scale, shift in ((0.2, 0.0), (1.0, 10.0), (0.1, 3.0)):
        labeled, unlabeled = scale * rng.normal(size=(60, 3)) + shift, rng.normal(size=(300, 3))
        assert find_copies(labeled, unlabeled) is None


def test_equal_rows_are_no_copies_where_rows_are_often_equal():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 3, size=(400, 3)).astype(float)
    assert find_copies(X[:60], X[60:]) is None
    assert find_copies(X[:60], X[:0]) is None
    zeros = rng.normal(size=(60, 3)) * (rng.random(60) < 0.6)[:, None]  # a sensor that was off
    assert find_copies(zeros, zeros[:0]) is None


@pytest.mark.parametrize("levels", [(5,), (2, 2), (10, 2)])
def test_rows_of_a_table_with_few_different_ones_are_no_copies(levels):
    """Answers from 1 to 5, and columns that depend on each other, are equal in most rows."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=520)
    noisy = [shared + 0.5 * rng.normal(size=520) for _ in levels]
    cuts = [np.linspace(-1.5, 1.5, k - 1) for k in levels]
    X = np.transpose([np.digitize(one, cut) for one, cut in zip(noisy, cuts, strict=True)])
    assert exact_copies(X[:120])
    assert find_copies(X[:120], X[120:]) is None
    assert find_copies(X[:120], X[120:] + 100) is not None


def test_exact_copies_are_found_without_unlabelled_rows():
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(20, 2)), 2, axis=0)
    assert exact_copies(X) == (
        "20 of the 40 labelled rows have the same features as another one, more than chance "
        "explains."
    )
    frame = pd.DataFrame({"a": X[:, 0].astype(str), "b": "x"})
    assert find_copies(frame, frame[:0]).withholds
    assert find_copies(X + 1e-9 * rng.normal(size=X.shape), X[:0]) is None


def test_tables_are_prepared():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"kind": rng.choice(["a", "b"], 300), "size": rng.normal(size=300)})
    prepare = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    assert find_copies(frame[:40], frame[40:], prepare=prepare) is None
    near = pd.concat([frame[:20], frame[:20].assign(size=frame["size"][:20] + 1e-6)])
    assert find_copies(near, frame[40:], prepare=prepare).withholds


@pytest.mark.parametrize("n_labeled", [20, 100])
@pytest.mark.parametrize("name", CATALOGUE)
def test_no_alarm_on_the_data_sets_of_the_paper(name, n_labeled):
    if name not in available(FOLDER):
        pytest.skip(f"{name} is not in {FOLDER}")
    X = np.asarray(load(name, FOLDER, download=False).X)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(X))
        assert find_copies(X[order[:n_labeled]], X[order[n_labeled:]], random_state=seed) is None
