"""Reading labelled rows: features as numbers, labels as written."""

import numpy as np
import pandas as pd
import pytest

from primum.tables.files import open_table
from primum.tables.labels import check_classes, read_labeled_rows


@pytest.fixture(name="table", params=["t.csv", "t.parquet"])
def write_and_open(request, tmp_path):
    def write(frame):
        path = tmp_path / request.param
        if request.param.endswith("csv"):
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path)
        return open_table(path)

    return write


@pytest.mark.parametrize(
    ("labels", "missing", "expected"),
    [
        (["red", "blue", None, "green"], (), ["red", "blue", None, "green"]),
        (["red", "?", "blue", "green"], ("?",), ["red", None, "blue", "green"]),
        ([3, 1, 2, -1], (), [3, 1, 2, None]),
        ([3.0, 1.0, 2.0, None], (), [3, 1, 2, None]),
        ([3, 1, 2, 9], ("9",), [3, 1, 2, None]),
    ],
)
def test_labels_of_three_classes(table, labels, missing, expected):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "kind": labels})
    X, found = read_labeled_rows(table(frame), ["x"], "kind", missing)
    assert found == expected
    assert [type(label) for label in found] == [type(label) for label in expected]
    np.testing.assert_array_equal(X, frame[["x"]])


def test_features_alone(table):
    frame = pd.DataFrame({"x": [1.0, 2.0], "kind": ["a", "b"], "y": [3.0, 4.0]})
    X = np.concatenate([part.X for part in table(frame).parts(["y", "x"])])
    np.testing.assert_array_equal(X, frame[["y", "x"]])


def test_no_rows(table):
    frame = pd.DataFrame({"x": [1.0], "kind": ["a"]})[:0]
    with pytest.raises(ValueError, match=r"t\.\w+ has column names but no rows"):
        read_labeled_rows(table(frame), ["x"], "kind", ())


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a", "b", "NA"], "'NA' in column 'kind' of .* is one of 3 different labels: pass --miss"),
        (["a", "None"], "'None' in column 'kind' of .* is one of 2 different labels"),
        ([0.5, 1.0, 2.25], "Column 'kind' of .* is a numeric target .3 different numbers"),
        (["0.5", "1", "2e-3"], "3 different numbers from 0.002 to 1 in 3 labelled rows"),
    ],
)
def test_labels_that_are_no_classes(labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_classes([*labels, None], "column 'kind' of t.csv", "pass --missing {}")


@pytest.mark.parametrize(
    "labels", [["a", "b", "0.5"], [1, 2, 30], ["NA", "b"], [0.5, 1.5], ["1.0", "2", "3"]]
)
def test_labels_that_may_be_classes(labels):
    check_classes([*labels, None], "column 'kind' of t.csv", "pass --missing {}")
