"""Which numbers are a numeric target, and which are classes."""

import numpy as np
import pandas as pd
import pytest

from primum.reading.labels import refuse_numeric_target
from primum.tables.problem import table_problem

RNG = np.random.default_rng(0)
PRICES = np.round(RNG.lognormal(12, 0.4, 70), -2)
NUMERIC = {
    "prices": PRICES,
    "whole prices": PRICES.astype(int),
    "a few prices with cents": [1.99, 2.49, 3.0],
    "prices to a thousand": np.round(RNG.lognormal(12, 0.4, 200), -3),
    "negative balances": RNG.integers(-9000, 9000, 50),
}
CLASSES = {
    "two fractions": [0.5, 1.5, 0.5],
    "codes": RNG.integers(0, 10, 30),
    "one label of each of forty classes": np.arange(40),
    "codes from 1, a quarter of which has no label": RNG.permutation(np.arange(1, 61))[:45],
    "ratings": RNG.integers(1, 11, 25),
    "years": RNG.integers(1990, 2024, 300),
    "years, few labels": RNG.permutation(np.arange(1990, 2024))[:28],
    "few codes with gaps": [200, 201, 204, 301, 302, 304, 400, 401, 403, 404, 500, 502, 503],
    "many codes with gaps that repeat": np.repeat(RNG.integers(10_000, 99_999, 50), 3),
    "codes stored as floats": np.arange(30.0),
    "names": ["1.5", "2.5", "x"],
    "truth": [True, False, True],
}


@pytest.mark.parametrize("case", NUMERIC)
def test_measurements_are_refused(case):
    with pytest.raises(ValueError, match=r"^y is a numeric target \(\d+ different numbers from "):
        refuse_numeric_target(NUMERIC[case], "y", "do so")


@pytest.mark.parametrize("case", CLASSES)
def test_classes_are_not(case):
    refuse_numeric_target(CLASSES[case], "y", "do so")


def test_the_sentence():
    with pytest.raises(ValueError) as caught:
        refuse_numeric_target([1.5, 20.0, 300.0, 300.0], "Column 'price'", "put a letter before")
    assert str(caught.value) == (
        "Column 'price' is a numeric target (3 different numbers from 1.5 to 300 in 4 labelled "
        "rows), which is not supported yet: choose a target of classes or, if the numbers are "
        "codes of classes, put a letter before. ICLSRegressor fits numbers whose unknown values "
        "have bounds."
    )


@pytest.mark.parametrize(
    "write", [float, lambda p: f"{p:.0f}", lambda p: f"${p:,.0f}", lambda p: f"{p:.2f} €"]
)
def test_amounts_in_a_table_however_written(write):
    frame = pd.DataFrame({"x": np.arange(80.0) % 7, "price": [*map(write, PRICES), *[None] * 10]})
    with pytest.raises(ValueError, match=r"^Column 'price' is a numeric target .*put a letter"):
        table_problem(frame, "price")


@pytest.mark.parametrize("write", ["c{:.0f}", "0{:.0f}"])
def test_text_is_a_way_round(write):
    """A letter says that a number is a name, and so does a leading zero."""
    labels = [write.format(price) for price in PRICES]
    frame = pd.DataFrame({"x": np.arange(70.0) % 7, "price": labels})
    assert table_problem(frame, "price").labels.tolist() == labels


@pytest.mark.parametrize("labels", [["5 %", "7,5 %", "10 %"] * 9, ["$1", "$2", "$10"] * 9])
def test_a_few_amounts_are_names(labels):
    frame = pd.DataFrame({"x": np.arange(27.0), "y": np.arange(27.0) % 5, "dose": labels})
    assert table_problem(frame, "dose").labels.tolist() == labels
