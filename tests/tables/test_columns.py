"""Kinds of columns, and what is done to each."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from primum.tables.cells import booleans_of, days_of, hours_of, names_of, numbers_of
from primum.tables.columns import describe_columns

RNG = np.random.default_rng(0)
N = 60


def column(values, name="x", **options):
    frame = pd.DataFrame({name: values, "other": RNG.normal(size=len(values))})
    return describe_columns(frame, **options)[0]


@pytest.mark.parametrize(
    ("values", "kind", "reading"),
    [
        (RNG.normal(size=N), "number", "."),
        (RNG.integers(0, 5, N), "number", "."),
        ([f"{v:.2f}".replace(".", ",") for v in RNG.normal(size=N)], "number", ","),
        ([f"{v:.1f}" for v in RNG.normal(size=N)], "number", "."),
        ([f"1.{v}00,50" for v in RNG.integers(1, 9, N)], "number", ","),
        (["red", "green", "blue"] * 20, "category", ""),
        (pd.Categorical([1, 2, 3] * 20), "category", ""),
        (["yes", "no"] * 30, "boolean", ""),
        ([True, False] * 30, "boolean", ""),
        ([True, None, False] * 20, "boolean", ""),
        (pd.date_range("2024-01-01", periods=N), "date", "ISO8601"),
        (pd.date_range("2024-01-01", periods=N, tz="Europe/Paris"), "date", "ISO8601"),
        ([datetime.date(2024, 1, 1 + i % 28) for i in range(N)], "date", "ISO8601"),
        (["2024-01-31", "2024-02-01 12:30"] * 30, "date", "ISO8601"),
        (["31.01.2024", "1.2.2024"] * 30, "date", "%d.%m.%Y"),
        (["12/31/2024", "01/02/2024"] * 30, "date", "%m/%d/%Y"),
        (["31/12/2024", "01/02/2024"] * 30, "date", "%d/%m/%Y"),
        (["13:30", "9:05"] * 30, "time", ""),
        (["13:30:05", "9:05:00.5", "?"] * 20 + ["9:05"] * 40, "time", ""),
        (["1:30 PM", "12:05 a.m."] * 30, "time", ""),
        ([datetime.time(i % 24, i % 60) for i in range(N)], "time", ""),
        (pa.array([datetime.time(i % 24) for i in range(N)]).to_pandas(), "time", ""),
        (["75:30", "81:10"] * 30, "category", ""),  # more than a day
        (pd.period_range("2024-01", periods=N, freq="M"), "date", "ISO8601"),
        ([Decimal(i % 7) / 4 for i in range(N)], "number", "."),
        ([f"{v:.3f}".replace(".", ",") for v in RNG.uniform(size=N)], "number", ","),
    ],
)
def test_kinds(values, kind, reading):
    found = column(values)
    assert (found.kind, found.reading, found.used) == (kind, reading, True)
    assert found.action.endswith(".")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([7] * N, "same value in every row"),
        (["a"] * N, "same value in every row"),
        ([[1, 2], [3]] * 30, "Only some of its cells are vectors, so nothing is learnt"),
        ([["a"], ["b", "c"]] * 30, "cells of type list"),
        ([{"a": 1}, {"a": 2}] * 30, "cells of type dict"),
        ([np.arange(2), np.arange(3)] * 30, "different lengths, such as 2 and 3"),
        (RNG.normal(size=N) * 1j, "cells of type complex"),
        ([None] * N, "It is empty"),
        ([np.nan] * N, "It is empty"),
        (["", "  ", "NA"] * 20, "It is empty"),
        ([f"customer-{i}" for i in range(N)], "All of its values are different"),
        ([f"{i:040x}" for i in RNG.integers(0, 2**62, N)], "long but hardly contain words"),
        ([f"https://example.org/{i:08x}/index.html" for i in range(N)], "hardly contain words"),
        (np.arange(N), "number the rows"),
        (1000 - np.arange(N), "number the rows"),
        (RNG.permutation(N) + 1, "number the rows"),
        ([str(i) for i in RNG.permutation(N)], "number the rows"),
    ],
)
def test_columns_that_are_set_aside(values, why):
    found = column(values, missing=("NA",))
    assert not found.used
    assert found.action == "Set aside."
    assert why in found.note


@pytest.mark.parametrize(
    "values",
    [
        [f"A remark on row {i}, which is long" for i in range(N)],
        [f"这个产品的质量非常好{chr(0x4E00 + i)}" for i in range(N)],
        ["The parcel came late, and nobody answered.", "All is well, thank you very much."] * 30
        + [f"Nobody answered call {i} of last week." for i in range(30)],
    ],
)
def test_free_text_is_used(values):
    found = column(values)
    assert (found.kind, found.used) == ("text", True)
    words, groups = found.vocabulary.terms
    assert found.action == (
        f"One column for each of {len(words)} words and {len(groups)} groups of 2 or 3 characters, "
        "weighted by how rare they are."
    )


def test_vectors_are_one_block():
    cells = [*RNG.normal(size=(N - 2, 5)), np.zeros(3), None]
    found = column(cells)
    assert (found.kind, found.reading, found.used) == ("vector", "5", True)
    assert found.action == "5 numbers, scaled together; 3% missing, filled in with the mean."
    assert found.note == "One cell is no vector of 5 numbers and counts as missing."
    written = column([str(row.round(3).tolist()) for row in RNG.normal(size=(N, 5))])
    assert (written.kind, written.reading) == ("vector", "5")


def test_consecutive_columns_of_an_embedding_are_one_block():
    X = RNG.normal(size=(N, 12))
    named = {
        "emb_": (X, "emb_0 to emb_11"),
        "x": (X, ""),  # any numbers are called so
        "vec": (X * 10.0 ** np.arange(12), ""),  # these have different units
        "dim": (np.rint(9 * X), ""),  # these are counts
    }
    for stem, (values, block) in named.items():
        frame = pd.DataFrame(values, columns=[f"{stem}{j}" for j in range(12)])
        found = describe_columns(frame)
        assert {c.block for c in found} == {block}
        if block:
            assert {c.action for c in found} == {"12 numbers, scaled together."}


def test_columns_with_a_role_are_no_features():
    frame = pd.DataFrame(
        {
            "key": [f"k{i % 55}" for i in range(N)],
            "copy": [f"k{i % 55}" for i in range(N)],
            "patient": ["p", "q"] * 30,
            "useless": RNG.normal(size=N),
            "x": RNG.normal(size=N),
            "class": ["a", "b"] * 30,
        }
    )
    found = describe_columns(frame, target="class", id="key", group="patient", exclude=["useless"])
    assert [column.name for column in found if column.used] == ["x"]
    notes = {column.name: column.note for column in found}
    assert notes["copy"] == "It equals the column that identifies the rows."
    assert notes["class"] == "It contains the labels."
    assert notes["patient"] == "It contains the groups."
    assert notes["useless"] == "You excluded it."


def test_cells_of_another_kind_count_as_missing():
    cells = [str(v) for v in RNG.normal(size=95)] + ["n/a", "?", "no idea", "", None]
    found = column(cells)
    assert found.kind == "number"
    assert found.missing == 0.05
    assert found.note == "3 cells are not numbers (such as 'no idea') and count as missing."
    assert found.action == (
        "5% missing, filled in with the median; a further column marks these cells; scaled."
    )


def test_a_mixture_of_numbers_and_text_is_text():
    found = column([1, 2.0, "many", "few", True, None] * 10)
    assert found.kind == "category"
    assert found.note == "It mixes numbers and text, and is treated as text."


def test_infinite_and_huge_numbers_count_as_missing():
    found = column([np.inf, 1e200, -np.inf, *RNG.normal(size=57)])
    assert found.note == "3 cells are infinite or too large and count as missing."
    assert found.missing == 0.05


def test_rare_levels_are_said_to_be_grouped():
    cells = [f"level {i}" for i in RNG.integers(0, 200, 2000)]
    found = column(cells)
    assert found.action == (
        "One column for each of the 19 most frequent of 200 levels and one for all others."
    )


def test_a_value_or_nothing_is_a_category():
    found = column(["x", None] * 30)
    assert (found.kind, found.used) == ("category", True)
    assert found.action.endswith("50% missing, which is a level of its own.")


def test_doubtful_dates_are_said():
    assert column(["31/02/2024", "31/03/2024"] * 30).kind != "number"
    doubtful = column(["01/02/2024", "03/04/2024"] * 30)
    assert doubtful.note == (
        "Dates are read as day/month/year (month/day/year would fit too: write 2015-01-31 if that "
        "is meant)."
    )
    assert column(["01/02/2024 10:30 PM", "03/04/2024 1:00 AM"] * 30).note == doubtful.note
    assert column(["01.02.2024", "03.04.2024"] * 30).note == ""


@pytest.mark.parametrize(
    ("shown", "order", "reading"),
    [
        ("9/30/1990 0:00:00", "month/day/year", "%m/%d/%Y"),
        ("30-9-1990", "day/month/year", "%d/%m/%Y"),
    ],
)
def test_doubtful_dates_are_read_like_those_of_other_columns(shown, order, reading):
    born = [shown, shown.replace("1990", "1991")] * 30
    frame = pd.DataFrame({"when": ["1/2/2024", "3/4/2024"] * 30, "born": born})
    doubtful, clear = describe_columns(frame)
    assert (clear.kind, clear.note) == ("date", "")
    assert doubtful.reading == reading
    assert doubtful.note == f"Dates are read as {order}, like those of other columns."
    frame["left"] = ["13/1/2024" if order.startswith("month") else "1/13/2024"] * 60
    assert "would fit too" in describe_columns(frame)[0].note  # the others contradict each other


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["9/30/1990 0:00:00", "10/1/1990 12:00:00"], [7577.0, 7578.5]),
        (["1/2/2015 3:00 PM", "12/31/2015 12:00 am"], [16437.625, 16800.0]),
        (["02-Jan-2015", "3-FEB-2015"], [16437.0, 16469.0]),
        (["02-Jan-15 18:00", "03-feb-15 06:00"], [16437.75, 16469.25]),
        (["2015/01/02 6:00:00 pm", "2015/02/03 6:00:00 am"], [16437.75, 16469.25]),
    ],
)
def test_dates_as_people_write_them(cells, days):
    found = column(cells * 30)
    assert (found.kind, found.used) == ("date", True)
    np.testing.assert_allclose(days_of(pd.Series(cells), found.reading), days)


def test_kinds_do_not_depend_on_the_labels():
    frame = pd.DataFrame({"x": RNG.normal(size=N), "c": ["u", "v"] * 30, "y": ["a", "b"] * 30})
    other = frame.assign(y=["b", None] * 30)
    assert describe_columns(frame, target="y")[:2] == describe_columns(other, target="y")[:2]


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1,234.5", ".", 1234.5),
        ("1.234,5", ",", 1234.5),
        ("1.234,5", ".", np.nan),
        ("1,5", ".", np.nan),
        ("1,5", ",", 1.5),
        ("1.5", ",", np.nan),
        ("12 %", ".", 12.0),
        ("€ 3.50", ".", 3.5),
        ("-1 234 567", ".", -1234567.0),
        ("1\u00a0234,5", ",", 1234.5),
        ("1'234.5", ".", 1234.5),
        ("1e-3", ".", 0.001),
        ("=1+1", ".", np.nan),
        ("inf", ".", np.nan),
        ("1_000", ".", np.nan),
        ("", ".", np.nan),
    ],
)
def test_numbers_as_people_write_them(text, decimal, number):
    np.testing.assert_array_equal(numbers_of(pd.Series([text]), decimal), [number])


def test_markers_of_missing_cells():
    np.testing.assert_array_equal(
        numbers_of(pd.Series([1.0, -999.0]), ".", ("-999",)), [1.0, np.nan]
    )
    np.testing.assert_array_equal(numbers_of(pd.Series(["1", "-999"]), ".", ("-999",)), [1, np.nan])
    assert names_of(pd.Series([7.0, None, " a ", "none"]), ("none",)).tolist() == [
        "7", None, "a", None,
    ]  # fmt: skip


def test_days_and_truth():
    cells = pd.Series(["2.1.1970", "3.1.1970", "nonsense", None])
    np.testing.assert_array_equal(days_of(cells, "%d.%m.%Y"), [1, 2, np.nan, np.nan])
    half = pd.Series(pd.to_datetime(["1970-01-01 12:00", None]))
    np.testing.assert_array_equal(days_of(half), [0.5, np.nan])
    cells = pd.Series([True, "No", "t", 0, 2, None, "maybe"])
    np.testing.assert_array_equal(booleans_of(cells), [1, 0, 1, 0, np.nan, np.nan, np.nan])


def arrow(values, kind):
    return pd.Series(values, dtype=pd.ArrowDtype(kind))


@pytest.mark.parametrize(
    ("values", "kind", "numbers"),
    [
        (arrow([1, None, 3], pa.int64()), "number", [1, np.nan, 3]),
        (arrow([Decimal("1.50"), None], pa.decimal128(9, 2)), "number", [1.5, np.nan]),
        (arrow([datetime.timedelta(hours=12)], pa.duration("s")), "number", [0.5]),
        (arrow([datetime.date(1970, 1, 3)], pa.date32()), "date", [2]),
        (arrow([datetime.datetime(1970, 1, 3, 6)], pa.timestamp("us")), "date", [2.25]),
        (arrow([True, None, False], pa.bool_()), "boolean", [1, np.nan, 0]),
    ],
)
def test_types_of_arrow_are_read_like_those_of_pandas(values, kind, numbers):
    read = {"number": numbers_of, "date": days_of, "boolean": booleans_of}[kind]
    assert column(values).kind == kind
    np.testing.assert_array_equal(read(values), numbers)


@pytest.mark.skipif(pd.__version__ < "3", reason="pandas 2 reads such dates as missing")
@pytest.mark.parametrize("other", ["%d-%b-%Y", "%d.%m.%Y %H:%M"])
def test_dates_of_several_formats_are_said_to_be_dates(other):
    days = pd.date_range("2012-01-05", periods=60)
    cells = [day.strftime(other if k % 2 else "%Y-%m-%d") for k, day in enumerate(days)]
    (mixed,) = describe_columns(pd.DataFrame({"when": cells}))
    assert mixed.note == (
        "Its cells look like dates of more than one format, such as '2012-01-05' and "
        f"{days[1].strftime(other)!r}: write all of them like 2015-01-31, and they are read as "
        "dates."
    )
    assert not mixed.used
    assert not mixed.identifies_rows
    cells[::2] = [f"note {k}" for k in range(30)]
    assert "look like dates" not in describe_columns(pd.DataFrame({"when": cells}))[0].note


def test_dates_beyond_the_range_of_nanoseconds():
    days = [np.datetime64(text, "D").astype(int) for text in ("9999-12-31", "0001-01-01")]
    assert days_of(pd.Series(["9999-12-31", "0001-01-01"])).tolist() == days
    dates = [datetime.date(9999, 12, 31), datetime.date(1, 1, 1)]
    assert days_of(pd.Series(dates, dtype=object)).tolist() == days


def test_a_leading_zero_is_no_group_of_thousands():
    assert np.isnan(numbers_of(pd.Series(["0,125", "-0,5"]))).all()
    assert numbers_of(pd.Series(["0,125", "1.250,5"]), ",").tolist() == [0.125, 1250.5]


@pytest.mark.parametrize(
    ("cell", "hours"),
    [
        *(
            ("13:30", 13.5),
            ("9:45", 9.75),
            ("00:00", 0),
            ("24:00", 24),
            ("23:59:59.5", 24 - 0.5 / 3600),
        ),
        *(("12:30 am", 0.5), ("12:30 PM", 12.5), ("1:15\u202fp.m.", 13.25), (" 7:00 ", 7)),
        *((datetime.time(13, 30), 13.5), (datetime.time(0, 0, 36), 0.01), (7.5, np.nan)),
        *(("24:01", np.nan), ("13:30 pm", np.nan), ("9:5", np.nan), ("13:60", np.nan)),
        *(("2024-01-01 13:30", np.nan), ("", np.nan), (None, np.nan), ("noon", np.nan)),
    ],
)
def test_hours(cell, hours):
    found = hours_of(pd.Series([cell, "x"], dtype=object))
    np.testing.assert_allclose(found, [hours, np.nan], rtol=1e-12)
    np.testing.assert_array_equal(hours_of(pd.Series(found)), found)  # reading again


def test_many_different_times_are_one_feature():
    times = [f"{minute // 60}:{minute % 60:02}" for minute in range(0, 1440, 5)]
    found = column(times, "departs")
    assert (found.kind, found.action) == ("time", "Converted to hours and scaled.")
    few = column([*times, "cancelled"])
    assert few.note == "One cell is not a time ('cancelled') and counts as missing."
