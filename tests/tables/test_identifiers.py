"""Columns that look like identifiers, by their names and values."""

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from primum.tables.columns import looks_like_identifier, may_identify_rows
from primum.tables.problem import table_problem
from primum.tables.remarks import array_identifiers

SHUFFLED = np.random.default_rng(0).permutation(50) + 1000.0


@pytest.mark.parametrize(
    "name", ["id", "ID", "patient_id", "CustomerID", "patientId", "Row number", "case-nr", "index"]
)
def test_distinct_integers_with_such_a_name(name):
    assert looks_like_identifier(name, SHUFFLED)
    assert not looks_like_identifier(name, SHUFFLED + 0.5)
    assert not looks_like_identifier(name, np.r_[SHUFFLED, SHUFFLED[:1]])
    assert not looks_like_identifier(name, SHUFFLED[:20])


@pytest.mark.parametrize("name", ["width", "identity", "x1"])
def test_distinct_integers_in_order_with_any_name(name):
    assert looks_like_identifier(name, np.arange(50.0))
    assert looks_like_identifier(name, -np.arange(50.0))
    assert not looks_like_identifier(name, SHUFFLED)
    assert not looks_like_identifier(name, np.arange(50.0) // 2)


def codes(n_rows, low, high, seed=0):
    """Return different whole numbers, drawn at random."""
    drawn = np.random.default_rng(seed).choice(int(high - low), n_rows, replace=False)
    return drawn + float(low)


@pytest.mark.parametrize(
    "values",
    [codes(100, 1000, 1600), codes(2000, 0, 2e5), codes(50, 1e6, 9e6), codes(150, 1e5, 1e6, 1)],
)
def test_whole_numbers_that_never_repeat_may_be_names(values):
    assert may_identify_rows(values)
    assert may_identify_rows(10 * values) or len(values) in (50, 150)
    assert not may_identify_rows(np.r_[values[:-1], values[0]])
    assert not may_identify_rows(values + 0.5)
    assert not may_identify_rows(values[:20])


MEASUREMENTS = {
    "incomes": lambda rng, n: rng.lognormal(10.5, 0.6, n),
    "prices": lambda rng, n: rng.lognormal(12.5, 0.5, n),
    "rounded prices": lambda rng, n: 1000 * np.rint(rng.lognormal(5.6, 0.5, n)),
    "areas": lambda rng, n: rng.normal(1500, 500, n),
    "populations": lambda rng, n: rng.lognormal(9, 2, n),
    "seconds since 1970": lambda rng, n: rng.integers(1.5e9, 1.6e9, n),
    "even": lambda rng, n: rng.integers(0, 10_000, n),
    "heavy tails": lambda rng, n: 1000 * rng.pareto(1, n),
}


@pytest.mark.parametrize("kind", MEASUREMENTS)
def test_measurements_are_no_names(kind):
    rng = np.random.default_rng(0)
    draws = [
        np.rint(MEASUREMENTS[kind](rng, n)) for n in (25, 50, 100, 300, 1000) for _ in range(20)
    ]
    assert not any(map(may_identify_rows, draws))


def test_dates_as_numbers_are_no_names():
    days = pd.date_range("2001-01-01", periods=400).strftime("%Y%m%d").to_numpy(dtype=float)
    assert not may_identify_rows(np.random.default_rng(0).permutation(days))


@pytest.mark.parametrize(
    "name", ["iris", "wine", "breast_cancer", "diabetes", "digits", "linnerud"]
)
def test_no_feature_of_real_tables_is_suspected(name):
    table = getattr(datasets, f"load_{name}")(as_frame=True)
    assert array_identifiers(table.data) == []
    if name == "diabetes":
        assert array_identifiers(datasets.load_diabetes(scaled=False).data) == []


def test_suspected_columns_are_said():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"code": codes(80, 1000, 1400), "size": rng.normal(size=80)})
    labels = np.where(np.arange(80) < 40, np.arange(80) % 2, np.nan)
    problem = table_problem(frame.assign(kind=labels), "kind")
    assert [alert.kind for alert in problem.alerts] == ["identifier"]
    text = problem.alerts[0].text
    assert text.startswith("The whole numbers in the column 'code' never repeat, as if")
    assert "pass --id code (in Python, id='code')" in text
    other = table_problem(frame.assign(kind=labels, n=range(80)), "kind", id="n").alerts[0].text
    assert "pass --exclude code (in Python, exclude=['code'])" in other
    assert table_problem(frame.assign(kind=labels), "kind", id="code").alerts == []
    assert [alert.text.split(",")[0] for alert in array_identifiers(frame)] == [
        "The whole numbers in X['code'] never repeat"
    ]
    numbered = np.column_stack([np.arange(80.0), frame["size"]])
    assert "X[:, 0]" in array_identifiers(numbered)[0].text
    with_one_missing = frame.assign(kind=labels)
    with_one_missing.loc[3, "code"] = np.nan
    assert table_problem(with_one_missing, "kind").alerts == []
