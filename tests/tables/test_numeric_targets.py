"""Which numbers are a numeric target, and which are classes."""

import numpy as np
import pandas as pd
import pytest

from primum.reading.known import read_known
from primum.reading.labels import refuse_numeric_target
from primum.tables.labels import read_classes
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
        "rows), which a classifier cannot learn: predict numbers with primum.compare, "
        "SafeRegressor or another regressor or, if the numbers are codes of classes, put a letter "
        "before."
    )


@pytest.mark.parametrize(
    "write", [float, lambda p: f"{p:.0f}", lambda p: f"${p:,.0f}", lambda p: f"{p:.2f} €"]
)
def test_amounts_in_a_table_however_written(write):
    frame = pd.DataFrame({"x": np.arange(80.0) % 7, "price": [*map(write, PRICES), *[None] * 10]})
    problem = table_problem(frame, "price")
    assert problem.kind.is_numeric
    assert problem.labels.tolist() == [*PRICES, *[None] * 10]
    assert problem.kind.how == (
        "Column 'price' has 70 different numbers in 70 labels, so numbers are predicted; "
        "target_kind='classes' treats them as classes."
    )
    assert not table_problem(frame, "price", target_kind="classes").kind.is_numeric
    with pytest.raises(ValueError, match=r"^Column 'price' is a numeric target .*put a letter"):
        read_classes(frame["price"], "price", ())


def column(cells):
    """Return a table with a target and a feature."""
    return pd.DataFrame({"x": np.arange(len(cells)) % 7.0, "y": pd.Series(cells)})


@pytest.mark.parametrize(
    ("cells", "kind", "sentence"),
    [
        (
            [0.5, 1.0, 1.5] * 9,
            "auto",
            r"may be classes or numbers to predict: pass target_kind='c",
        ),
        (
            [*PRICES, "high"],
            "auto",
            "'y' has the label 'high' among 70 numbers: correct it, or ad",
        ),
        ([*PRICES, "high"], "numbers", "but 'high' in row 71 is not a number"),
        ([*PRICES, np.inf], "auto", "but 'inf' in row 71 is infinite"),
        ([2.5] * 9, "numbers", "All 9 known numbers in column 'y' are 2.5, so there is noth"),
        (pd.date_range("2020-01-01", periods=30), "auto", "Column 'y' contains dates, which are"),
        ([f"{d:%d.%m.%Y}" for d in pd.date_range("2020", periods=30)], "numbers", "contains dates"),
        ([*PRICES.astype(int), -1, -1], "auto", "without empty cells, and -1 is one of its numb"),
        ([None, None], "numbers", "No row is labelled"),
        ([1.5, 2.5], "prices", "target_kind must be 'auto', 'classes' or 'numbers', got 'prices'"),
    ],
)
def test_what_cannot_be_predicted_as_numbers(cells, kind, sentence):
    with pytest.raises(ValueError, match=sentence):
        table_problem(column(cells), "y", target_kind=kind)


@pytest.mark.parametrize(
    ("y", "kind", "sentence"),
    [
        (
            [0.5, 1.0, 1.5] * 9,
            "auto",
            "y has 3 different numbers in 27 labels, which may be class",
        ),
        ([*PRICES, np.inf], "auto", "Input y contains infinity"),
        ([2.5, 2.5, 2.5], "numbers", "All 3 known numbers in y are 2.5"),
        (PRICES.astype("datetime64[D]"), "auto", "y contains dates, which are neither"),
        ([*PRICES.astype(int), -1], "auto", "contains -1 in 1 rows, its only negative number"),
        (["a", "b"], "numbers", "y contains 'a' in row 0, which is not a number"),
    ],
)
def test_what_cannot_be_predicted_as_numbers_in_an_array(y, kind, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_known(np.array(y), len(y), kind)


def test_numbers_may_be_said_to_be_classes():
    y = np.array([0.5, 1.0, 1.5, np.nan] * 5)
    labels, kind = read_known(y, 20, "classes")
    assert kind.told
    assert labels.classes.tolist() == ["0.5", "1.0", "1.5"]
    targets, _ = read_known(y, 20, "numbers")
    np.testing.assert_array_equal(targets.targets, y[~np.isnan(y)])
    codes, _ = read_known(np.append(PRICES.astype(int), -1), 71, "classes")
    assert (len(codes.classes), codes.unlabeled.tolist()) == (70, [70])


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


def test_minus_one_among_many_whole_numbers_may_be_a_number():
    balances = pd.Series(np.append(RNG.permutation(np.arange(-30, 31)), [np.nan, -1]))
    with pytest.raises(ValueError, match="pass target_kind='numbers' if they are numbers to"):
        read_classes(balances, "balance", ())
