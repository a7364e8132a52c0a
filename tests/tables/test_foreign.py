"""Tables of other libraries than pandas have the same answers."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import primum
from primum.tables.cells import as_pandas
from primum.tables.problem import table_problem, with_unlabeled

pytestmark = pytest.mark.usefixtures("quick_drift")


class Stream:
    """A table that has nothing but the Arrow PyCapsule protocol."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A table that has nothing but the dataframe interchange protocol."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._table.__dataframe__(nan_as_null, allow_copy)


def of_polars(table):
    return pytest.importorskip("polars").from_arrow(table)


KINDS = [lambda table: table, Stream, Interchange, of_polars]
NAMES = ["pyarrow", "stream", "interchange", "polars"]


@pytest.fixture(name="frame")
def mixed_frame(rng):
    red, age = rng.random(60) < 0.5, rng.normal(50, 10, 60).round(1)
    health = np.where(age + 10 * red > 55, "ill", "well")
    return pd.DataFrame(
        {
            "age": np.where(np.arange(60) % 7 == 3, np.nan, age),
            "colour": np.where(red, "red", "blue"),
            "health": [label if i < 40 else None for i, label in enumerate(health)],
        }
    )


@pytest.fixture(name="other", params=KINDS, ids=NAMES)
def foreign_table(request, frame):
    def convert(part):
        return request.param(pa.Table.from_pandas(part, preserve_index=False))

    return convert


def test_the_problem_is_the_same(frame, other):
    expected, found = (table_problem(table, "health") for table in (frame, other(frame)))
    pd.testing.assert_frame_equal(found.X, expected.X)
    assert found.labels.tolist() == expected.labels.tolist()
    assert found.columns == expected.columns
    joined = with_unlabeled(other(frame[:50]), other(frame[50:]), "health")
    assert table_problem(joined, "health").labels.tolist() == expected.labels.tolist()


def compared(table, *labels, **target):
    """The result of a small comparison, and its table without times."""
    result = primum.compare(
        table,
        *labels,
        **target,
        methods=[("ICLS", primum.ICLSClassifier(alpha=0.1))],
        baseline=[("ridge", primum.LeastSquaresClassifier(alpha=0.1))],
        n_repeats=1,
        curves=False,
        verbose=False,
        cv=2,
    )
    return result, result.table.drop(columns="seconds")


def test_compare_and_its_model_take_it(frame, other):
    expected, found = (compared(table, target="health") for table in (frame, other(frame)))
    pd.testing.assert_frame_equal(found[1], expected[1])
    models = [result.fit_recommended() for result, _ in (expected, found)]
    np.testing.assert_array_equal(
        models[1].predict_proba(other(frame)), models[0].predict_proba(frame)
    )


def test_labels_beside_a_table_of_numbers(frame, other):
    numbers = frame[["age"]].fillna(50.0).assign(twice=lambda rows: rows["age"] ** 2)
    expected, found = (compared(table, frame["health"]) for table in (numbers, other(numbers)))
    pd.testing.assert_frame_equal(found[1], expected[1])
    assert found[0].coefficients == expected[0].coefficients  # with the names of the columns


def test_what_is_no_table_is_left_alone(frame):
    for thing in (frame, np.eye(2), [[1.0]], None):
        assert as_pandas(thing) is thing
    with pytest.raises(ValueError, match=r"must be a table .* got ndarray: pass a DataFrame"):
        table_problem(np.eye(2), "health")
