"""Decimal marks and units of numbers that are written as text."""

import numpy as np
import pandas as pd
import pytest

from primum.tables.cells import decimal_mark_of, frame_digests
from primum.tables.files import TableFormat, open_table
from primum.tables.problem import table_problem

RNG = np.random.default_rng(1)
N = 60
THOUSANDS = [f"{n + 1}.{(7 * n) % 100:03d}" for n in RNG.permutation(99)[:N]]
VALUES = np.array([float(text.replace(".", "")) for text in THOUSANDS])
COMMAS = [f"{v:.1f}".replace(".", ",") for v in RNG.uniform(1, 200, N)]
POINTS = [f"{v:.1f}" for v in RNG.uniform(1, 200, N)]


def problem_of(target="class", decimal=None, **columns):
    frame = pd.DataFrame({"class": ["a", "b"] * (N // 2), "size": RNG.normal(size=N), **columns})
    return table_problem(frame, target, decimal=decimal)


def column(cells, decimal=None, **others):
    problem = problem_of(x=cells, decimal=decimal, **others)
    found = next(c for c in problem.columns if c.name == "x")
    return found, problem.X["x"].to_numpy() if found.used else None


@pytest.mark.parametrize(
    ("others", "decimal", "factor"),
    [
        ({"other": COMMAS}, None, 1),
        ({"other": [f"{cell} km" for cell in COMMAS]}, None, 1),
        ({"other": ["1.250.000", "3.000"] * (N // 2)}, None, 1),
        ({}, ",", 1),
        ({"other": POINTS}, None, 1000),
        ({"other": POINTS}, ",", 1),
        ({}, ".", 1000),
    ],
)
def test_other_columns_show_what_a_point_means(others, decimal, factor):
    for cells in (THOUSANDS, [f"{cell} €" for cell in THOUSANDS]):
        found, values = column(cells, decimal, **others)
        np.testing.assert_allclose(values, VALUES / factor)
        assert (found.kind, found.note) == ("number", "")
        target = problem_of("x", decimal, x=cells, **others)
        np.testing.assert_allclose(target.labels.astype(float), VALUES / factor)
        assert "--decimal" not in target.kind.how


@pytest.mark.parametrize("others", [{}, {"other": COMMAS, "third": POINTS}])
def test_it_is_said_if_nothing_shows_it(others):
    sentence = (
        f"Cells such as '{THOUSANDS[0]}' are read as {VALUES[0] / 1000:g}: if the point separates "
        "thousands, pass --decimal ',' (decimal=',')."
    )
    found, values = column(THOUSANDS, **others)
    np.testing.assert_allclose(values, VALUES / 1000)
    assert found.note == sentence
    assert problem_of("x", x=THOUSANDS, **others).kind.how.endswith(sentence)


@pytest.mark.parametrize("cell", ["0.125", "1234.567", "12.5"])
def test_a_cell_that_cannot_have_thousands_settles_it(cell):
    found, values = column([cell, *THOUSANDS[1:]])
    np.testing.assert_allclose(values, [float(cell), *VALUES[1:] / 1000])
    assert found.note == ""


@pytest.mark.parametrize(("separator", "decimal"), [(";", None), ("\t", None), (";", ",")])
def test_files_are_read_as_their_text(tmp_path, separator, decimal):
    """A file has one decimal mark, and 860 stands beside 1.822."""
    land = ["860", *THOUSANDS[1:]]
    price = [f"{cell} €" for cell in THOUSANDS]
    text = pd.DataFrame({"area": COMMAS, "land": land, "price": price})
    if decimal:
        text = text.drop(columns="area").assign(rooms="3")
    text.to_csv(tmp_path / "t.csv", sep=separator, index=False)
    table = open_table(tmp_path / "t.csv", TableFormat(decimal=decimal))
    frame = table.frame(["price"])
    assert table.decimal == ","
    problem = table_problem(frame, "price", decimal=table.decimal)
    assert problem.labels.tolist() == VALUES.tolist()
    assert problem.X["land"].tolist() == [860, *VALUES[1:]]
    assert {c.reading for c in problem.columns if c.used} == {","}
    pd.testing.assert_frame_equal(
        table_problem(text, "price", decimal=decimal).X, problem.X, check_dtype=False
    )


def test_dates_versions_and_names_show_no_mark():
    names = ["a.b", "1,2,3", "31.12.2024", "10.0.0.1", "v1.5"] * (N // 5)
    assert decimal_mark_of(pd.DataFrame({"x": names, "y": THOUSANDS, "z": VALUES / 7})) == ""


@pytest.mark.parametrize(
    ("write", "unit"),
    [("{} km", "km"), ("{}min", "min"), ("EUR {}", "EUR"), ("{} m²", "m²"), ("{}k", "k"),
     ("{} °C", "°C"), ("{} days", "day")],
)  # fmt: skip
def test_numbers_with_one_unit_are_numbers(write, unit):
    cells = [write.format(cell) for cell in COMMAS]
    numbers = [float(cell.replace(",", ".")) for cell in COMMAS]
    found, values = column([*cells[:-2], "far", None])
    np.testing.assert_array_equal(values, [*numbers[:-2], np.nan, np.nan])
    assert found.note == (
        f"Read as numbers; unit {unit}. One cell is not a number ('far') and counts as missing."
    )
    target = problem_of("x", x=cells)
    assert target.labels.tolist() == numbers
    assert target.kind.how.endswith(f"Their unit is {unit}.")


@pytest.mark.parametrize("write", ["Shop {}", "ID{}", "IMM-{}", "0{} x", "{} of {}", "{}-b"])
def test_names_with_numbers_are_names(write):
    found, _ = column([write.format(n, n) for n in RNG.permutation(N)])
    assert found.kind in ("category", "text")
    assert "unit" not in found.note


def test_numbers_in_different_units_are_left_alone():
    found, _ = column([f"{n} {'km' if n % 3 else 'm'}" for n in range(10)] * (N // 10))
    assert found.kind == "category"
    assert found.note == (
        "Its numbers have different units, such as 'km' and 'm', and are treated as text: write "
        "them in one unit."
    )


def test_a_target_in_different_units_is_said_to_be_text():
    prices = [f"{cell} {'EUR' if row % 3 else 'USD'}" for row, cell in enumerate(COMMAS)]
    found = problem_of("x", x=prices)
    assert found.labels.tolist() == prices
    assert found.kind.how == (
        "The numbers in column 'x' have different units, such as 'EUR' and 'USD', and are treated "
        "as text: write them in one unit."
    )


def test_a_text_that_repeats_among_numbers_counts_as_missing():
    income = [*COMMAS[:50], *["refused"] * 10]
    found, values = column(income)
    assert (found.kind, np.isnan(values).sum()) == ("number", 10)
    assert found.note == "10 cells are not numbers ('refused') and count as missing."
    several, _ = column([*income[:-3], "later", "never", "later"])
    assert (several.kind, several.used) == ("text", False)
    assert several.note.endswith(
        "Most of its cells are numbers: pass --missing 'refused' if that marks missing ones."
    )
    few = ["1", "2", "3", "4", "other"] * (N // 5)  # codes
    assert column(few)[0].kind == "category"
    assert column([*COMMAS[:50], *["200+"] * 10])[0].kind == "text"  # more than nothing is known


def test_rows_with_vectors_and_counted_words_have_digests():
    words = [
        np.array([[1, 4], [2, 1]]),
        np.array([[1, 4], [2, 2]]),
        None,
        np.array([[1, 4], [2, 1]]),
    ]
    frame = pd.DataFrame({"words": words, "vector": [[0.5, 1.0]] * 4, "age": [1, 1, 1, 1]})
    first, second, third, fourth = frame_digests(frame).tolist()
    assert first == fourth
    assert len({first, second, third}) == 3
    other = frame.assign(vector=[[0.5, 2.0], *[[0.5, 1.0]] * 3])
    assert (frame_digests(other) == frame_digests(frame)).tolist() == [False, True, True, True]
