"""A last row that is the total of the others is no case."""

import numpy as np
import pandas as pd
import pytest

from primum.tables.problem import summed_columns, table_problem, without_total

RNG = np.random.default_rng(0)
SALES = pd.DataFrame(
    {
        "shop": [f"shop {i}" for i in range(30)],
        "amount": RNG.uniform(1, 9, 30).round(2),
        "visits": RNG.integers(1, 50, 30),
        "kind": ["a", "b", None] * 10,
    }
)


def ending(**cells):
    """Return the table with a last row; what it does not name is empty."""
    return pd.concat([SALES, pd.DataFrame([cells])], ignore_index=True)


AMOUNT, VISITS = SALES["amount"].sum(), SALES["visits"].sum()
TOTALS = {
    "no word": {"amount": AMOUNT, "visits": VISITS},
    "a word": {"shop": "Total", "amount": AMOUNT, "visits": VISITS},
    "another name": {"shop": "all shops", "amount": AMOUNT, "visits": VISITS},
    "one sum": {"shop": "Gesamt", "amount": AMOUNT},
    "a mean too": {"shop": "total:", "amount": AMOUNT, "visits": VISITS / 30},
    "rounded": {"amount": AMOUNT + 1e-5, "visits": VISITS},
}
CASES = {
    "a label": {"amount": AMOUNT, "visits": VISITS, "kind": "a"},
    "one sum by coincidence": {"shop": "shop 31", "visits": VISITS},
    "not all are sums": {"shop": "shop 31", "amount": 5.0, "visits": VISITS},
    "no sums": {"shop": "Total Fitness", "amount": 5.0, "visits": 3},
    "only a name": {"shop": "Total"},
    "nothing": {},
}


@pytest.mark.parametrize("case", TOTALS)
def test_a_total_is_left_out(case):
    frame, sentence = without_total(ending(**TOTALS[case]), "kind", ())
    assert len(frame) == 30
    assert "left out, because it seems to be a total: it has no label, and its nu" in sentence


@pytest.mark.parametrize("case", CASES)
def test_a_case_is_kept(case):
    frame, sentence = without_total(ending(**CASES[case]), "kind", ())
    assert (len(frame), sentence) == (31, "")


def test_zeros_and_small_tables_are_no_totals():
    zeros = pd.DataFrame({"a": [0] * 9, "b": [1, -1, 0] * 3, "kind": [None] * 9})
    assert summed_columns(zeros, "kind", ()) == []
    small = pd.DataFrame({"a": [1, 1, 2], "b": [2, 2, 4], "kind": [None] * 3})
    assert summed_columns(small, "kind", ()) == []
    sparse = pd.DataFrame({"a": [0, 0, 1, 0, 1], "b": [0, 1, 0, 0, 1], "kind": [None] * 5})
    assert summed_columns(sparse, "kind", ()) == []


def test_standardised_columns_end_in_no_total():
    rows = RNG.normal(size=(1000, 2))
    frame = pd.DataFrame(rows - rows.mean(axis=0), columns=["a", "b"])
    frame.loc[999] = frame[:999].sum()
    assert summed_columns(frame, None, ()) == []


def test_amounts_written_as_text():
    frame = ending(shop="Total", amount=AMOUNT, visits=VISITS)
    frame["amount"] = [f"€ {amount:.2f}".replace(".", ",") for amount in frame["amount"]]
    assert summed_columns(frame, "kind", ()) == ["amount", "visits"]
    frame["visits"] = [f"{100 * visits:,.0f}".replace(",", ".") for visits in frame["visits"]]
    assert summed_columns(frame, "kind", ()) == ["amount", "visits"]


def test_a_problem_says_so():
    found = table_problem(ending(shop="Total", amount=AMOUNT, visits=VISITS), "kind")
    assert (len(found.X), len(found.labels)) == (30, 30)
    assert [alert.text for alert in found.alerts] == [
        "The last row of the table is left out, because it seems to be a total: it has no label, "
        "and its numbers are the sums of 'amount', 'visits'."
    ]
    assert table_problem(SALES, "kind").alerts == []


def test_one_sum_is_a_coincidence():
    x = [*[0.0] * 27, 1.0, 1.0, 1.0]
    frame = pd.DataFrame({"x": [*x, sum(x)], "kind": [*(["a", "b"] * 15), None]})
    assert summed_columns(frame, "kind", ()) == []
    assert summed_columns(frame.assign(z=frame["x"]), "kind", ()) == ["x", "z"]
