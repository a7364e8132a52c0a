"""Labels of tables: as they are written, and never two classes made one."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from primum.models import load_model


@pytest.fixture(name="call")
def call_with_numbers(call_without_preparation):
    return call_without_preparation


@pytest.fixture(name="fit")
def fit_to_labels(call, files, rows):
    """Fit to sixty rows with labels that repeat, from CSV text or a Parquet column."""

    def fit(labels, name="labels.csv", *arguments):
        data = rows[:60].drop(columns="label")
        data["label"] = labels * (60 // len(labels))
        if name.endswith("csv"):
            data.to_csv(name, index=False)
        else:
            data.to_parquet(name)
        return call("fit", name, "--target", "label", *arguments, "--out", "m.skops")

    return fit


def classes(files):
    return load_model(files / "m.skops").estimator.classes_.tolist()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["0", "1", ""], [0, 1]),
        (["1.0", "2.0", ""], [1, 2]),
        (["0.0", "1.0", "-1.0"], [0, 1]),
        (["NA", "null", ""], ["NA", "null"]),
        (["True", "False", ""], ["False", "True"]),
        (["1", "2", "-1"], [1, 2]),
        (["007", "7", ""], ["007", "7"]),
        (["007", "008", ""], ["007", "008"]),
        (["1", "1.0", ""], ["1", "1.0"]),
        (["0", "-0", ""], ["-0", "0"]),
        (["1e1", "10", ""], ["10", "1e1"]),
        (["+1", "1", ""], ["+1", "1"]),
        (["9007199254740993", "9007199254740992", ""], [9007199254740992, 9007199254740993]),
        (["1" * 30, "2" * 30, ""], ["1" * 30, "2" * 30]),
        ([" yes", "no ", " "], ["no", "yes"]),
    ],
)
def test_labels_of_a_csv(fit, files, labels, expected):
    answer = fit(labels)
    assert answer.exit_code == 0, answer.output
    assert "40 labelled rows and 20 unlabelled" in answer.output
    assert classes(files) == expected
    assert [type(label) for label in classes(files)] == [type(label) for label in expected]


def test_labels_come_back_as_they_were_written(call, fit):
    fit(["007", "7"])
    call("predict", "m.skops", "labels.csv", "--out", "p.csv")
    assert set(pd.read_csv("p.csv", dtype=str)["prediction"]) == {"007", "7"}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 1, None], [0, 1]),
        ([0.0, 1.0, np.nan], [0, 1]),
        (["007", "7", None], ["007", "7"]),
        (["1", "2", ""], ["1", "2"]),
        ([True, False, None], [False, True]),
        ([1, 2, -1], [1, 2]),
    ],
)
def test_labels_of_parquet(fit, files, labels, expected):
    answer = fit(labels, "labels.parquet")
    assert answer.exit_code == 0, answer.output
    assert "40 labelled rows and 20 unlabelled" in answer.output
    assert classes(files) == expected


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet"])
def test_marks_of_unknown_labels(fit, files, refused, name):
    labels = ["yes", "no", "NA", "unknown"]
    answer = fit(labels, name)
    refused(answer, 1, f"'NA' in column 'label' of {name} is one of 4 different labels")
    assert "pass --missing 'NA'" in answer.output
    answer = fit(labels, name, "--missing", "NA,unknown")
    assert answer.exit_code == 0, answer.output
    assert "30 labelled rows and 30 unlabelled" in answer.output
    assert classes(files) == ["no", "yes"]


@pytest.mark.parametrize("labels", [["0", "1", "9"], [0, 1, 9], [0.0, 1.0, 9.0]])
def test_a_number_as_mark(fit, files, labels):
    name = "labels.csv" if isinstance(labels[0], str) else "labels.parquet"
    assert fit(labels, name, "--missing", "9").exit_code == 0
    assert classes(files) == [0, 1]


def test_a_mark_that_may_be_a_class(fit, refused):
    assert "Warning: 'unknown' in column 'label'" in fit(["yes", "unknown"]).output
    for text in ("-1", "nan", "None", "<NA>"):
        refused(fit(["yes", text]), 1, f"{text!r} in column", f"pass --missing {text!r}")


def test_minus_one_in_data_and_further_rows_in_csv(call, files, fit):
    answer = fit(["0", "1", "-1"], "labels.csv", "--unlabeled", "more.csv")
    assert answer.exit_code == 0, answer.output
    assert "40 labelled rows and 500 unlabelled" in answer.output


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([b"0", b"1"], "bytes"),
        ([date(2024, 1, 1), date(2024, 1, 2)], "date"),
        ([["a"], ["b"]], "list"),
        ([{"a": 1}, {"a": 2}], "dict"),
    ],
)
def test_labels_of_other_types(fit, refused, labels, kind):
    answer = fit(labels, "labels.parquet")
    refused(answer, 1, f"labels.parquet has labels of type {kind}", "store them as text")
