"""Rows that belong together though nobody said so."""

import os
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from primum.tables.problem import table_problem
from primum.tables.remarks import array_alert, find_repeats, repeats_of
from primum_lab.datasets import CATALOGUE, available, load

N_PERSONS, N_DAYS = 30, 6
FOLDER = Path(os.environ.get("PRIMUM_DATA") or Path(__file__).parents[3] / "shared" / "data")


def diaries(n_known=10):
    """Diary entries in random order, of persons with numbers; those of some are labelled."""
    rng = np.random.default_rng(0)
    person = rng.permutation(np.repeat(100 + np.arange(N_PERSONS), N_DAYS))
    frame = pd.DataFrame(
        {
            "id": person,
            "sleep": rng.normal(size=len(person)),
            "pain": rng.integers(0, 10, len(person)),
            "city": rng.choice(["Delft", "Leiden", "Gouda"], len(person)),
        }
    )
    y = rng.choice(["good", "bad"], len(person)).astype(object)
    return frame.assign(mood=np.where(person < 100 + n_known, y, None))


def exact_probabilities(sizes, n_labeled):
    """Return P(t values in both), for labels of n_labeled rows at random, by enumeration."""
    ways = {(0, 0): 1}
    for size in sizes:
        more = {}
        for (labeled, both), count in ways.items():
            for own in range(size + 1):
                key = labeled + own, both + (0 < own < size)
                more[key] = more.get(key, 0) + count * comb(size, own)
        ways = more
    total = comb(sum(sizes), n_labeled)
    return {both: count / total for (labeled, both), count in ways.items() if labeled == n_labeled}


@pytest.mark.parametrize("sizes", [(2,) * 8, (5, 4, 3, 2, 1, 1), (7, 7, 7), (1, 1, 1)])
def test_the_bound_is_one(sizes):
    """It is at least the exact probability, which all labellings together give."""
    cells, n_labeled = np.repeat(np.arange(len(sizes)), sizes), sum(sizes) // 3
    exact, seen = exact_probabilities(sizes, n_labeled), {}
    rng = np.random.default_rng(0)
    for _ in range(200):
        found = repeats_of(cells, rng.permutation(len(cells)) < n_labeled)
        seen[found.n_both] = found.log_p
    in_order = repeats_of(cells, np.arange(len(cells)) < n_labeled)
    for n_both, log_p in {**seen, in_order.n_both: in_order.log_p}.items():
        tail = sum(share for both, share in exact.items() if both <= n_both)
        assert np.exp(log_p) >= tail * (1 - 1e-9)


def test_the_expected_number_is_that_of_permutations():
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 60, 300)
    found = [repeats_of(cells, rng.permutation(300) < 80) for _ in range(200)]
    assert np.mean([one.n_both for one in found]) == pytest.approx(found[0].expected, rel=0.02)


@pytest.mark.parametrize("as_text", [False, True])
def test_persons_that_were_labelled_one_by_one_are_found(as_text):
    frame = diaries()
    if as_text:
        frame["id"] = "P" + frame["id"].astype(str)
    (alert,) = table_problem(frame, "mood").alerts
    assert alert.kind == "groups"
    assert alert.withholds
    assert "of 30 values of 'id' that several rows have, 0 occur in both labelled" in alert.text
    assert "pass --group id (in Python, group='id'). If not, pass --indep" in alert.text
    assert table_problem(frame, "mood", group="id").alerts == []
    assert table_problem(frame, "mood", independent_rows=True).alerts == []
    # Not to learn from it does not make the rows independent.
    assert table_problem(frame, "mood", exclude=["id"]).alerts == [alert]
    (named,) = table_problem(frame.rename(columns={"id": "the id"}), "mood").alerts
    assert "--group 'the id' (in Python" in named.text


def test_labels_at_random_raise_no_question():
    frame, rng = diaries(N_PERSONS), np.random.default_rng(2)
    for _ in range(20):
        known = rng.permutation(len(frame)) < 60
        labels = frame["mood"].where(known, None)
        assert table_problem(frame.assign(mood=labels), "mood").alerts == []


def test_some_persons_with_both_kinds_of_rows_do_not_hide_the_others():
    frame = diaries()
    some = frame["id"].isin([100, 101]) & (frame.index % 2 == 0)
    frame["mood"] = frame["mood"].mask(some, None)
    (alert,) = table_problem(frame, "mood").alerts
    assert "have, 2 occur in both" in alert.text


def test_the_level_at_which_labels_were_given_is_asked_for():
    """Clinics were labelled, so persons within them never occur in both either."""
    person, labeled = np.repeat(np.arange(60), 5), np.arange(300) < 100
    clinic = np.repeat(np.arange(15), 20)
    for order in (1, -1):
        columns = [("person", person.astype(float)), ("clinic", clinic.astype(float))][::order]
        name, _ = find_repeats(columns, labeled)
        assert name == "clinic"


@pytest.mark.parametrize(
    "cells",
    [
        np.where(np.arange(180) < 60, "train", "test"),  # a split, not a group
        np.arange(180.0),  # nothing repeats
        np.repeat(np.arange(60), 3) + 0.5,  # measurements name nobody
        np.r_[np.arange(60), np.repeat(np.arange(60, 80), 6)],  # no labelled rows belong together
    ],
)
def test_other_columns_that_differ_between_labelled_and_unlabelled_rows(cells):
    cells = cells if cells.dtype.kind == "f" else cells.astype(object)
    assert find_repeats([("column", cells)], np.arange(180) < 60) is None


def test_arrays_are_searched_too():
    frame = diaries()
    X, labeled = frame[["sleep", "id", "pain"]], frame["mood"].notna().to_numpy()
    assert "pass groups=X[:, 1]. If not, pass independent_rows=True." in (
        array_alert(X.to_numpy(), labeled).text
    )
    assert "of X['id'] that several rows have" in array_alert(X, labeled).text
    assert array_alert(sparse.csr_array(X.to_numpy()), labeled) is None
    assert array_alert(X[["sleep", "pain"]].to_numpy(), labeled) is None


@pytest.mark.parametrize("n_labeled", [20, 100])
@pytest.mark.parametrize("name", CATALOGUE)
def test_no_question_on_the_data_sets_of_the_paper(name, n_labeled):
    if name not in available(FOLDER):
        pytest.skip(f"{name} is not in {FOLDER}")
    X = np.asarray(load(name, FOLDER, download=False).X)
    for seed in range(3):
        labeled = np.random.default_rng(seed).permutation(len(X)) < n_labeled
        assert array_alert(X, labeled) is None
