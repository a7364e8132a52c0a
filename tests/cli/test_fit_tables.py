"""``primum fit`` prepares tables as ``primum compare`` does; ``primum predict`` takes them raw."""

import numpy as np
import pandas as pd
import pytest

import primum
from primum.comparison.models import with_preparation
from primum.tables.problem import table_problem

FIT = ("--target", "health", "--id", "case", "--alpha", "0.1", "--out", "m.skops")


@pytest.fixture(name="table")
def mixed_table(rng):
    """Text, dates and missing values; the class depends on the age and on the colour."""
    red, age = rng.random(120) < 0.5, rng.normal(50, 10, 120)
    health = np.where(age + 10 * red > 55, "ill", "well")
    return pd.DataFrame(
        {
            "case": [f"c{number:03d}" for number in range(120)],
            "age": np.where(np.arange(120) % 7 == 3, np.nan, age.round(1)),
            "colour": np.where(red, "red", "blue"),
            "seen": pd.date_range("2020-01-01", periods=120).strftime("%d.%m.%Y"),
            "health": np.where(np.arange(120) < 60, health, None),
        }
    )


@pytest.fixture(name="expected")
def fit_in_memory(table):
    problem = table_problem(table, "health", id="case")
    model = with_preparation(problem.transformer, primum.ICLSClassifier(alpha=0.1))
    return model.fit(problem.X, problem.labels)


def write(frame, path):
    {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".xlsx": lambda: frame.to_excel(path, index=False),
        ".parquet": lambda: frame.to_parquet(path),
    }[path.suffix]()
    return path.name


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_fit_and_predict_on_the_table_as_it_is(call, tmp_path, table, expected, suffix):
    data = write(table, tmp_path / f"data{suffix}")
    answer = call("fit", data, *FIT)
    assert answer.exit_code == 0, answer.output
    assert "60 labelled rows and 60 unlabelled rows" in answer.output
    assert "age, age (missing), colour=blue, colour=red, seen (days)" in answer.output
    assert call("predict", "m.skops", data, "--out", "p.csv").exit_code == 0
    found = pd.read_csv(tmp_path / "p.csv")
    assert list(found) == ["case", "prediction", "probability_ill", "probability_well"]
    assert found["case"].tolist() == table["case"].tolist()
    np.testing.assert_allclose(found.iloc[:, 2:], expected.predict_proba(table), atol=1e-8)
    np.testing.assert_array_equal(found["prediction"], expected.predict(table))


def test_further_rows_are_prepared_with_the_others(call, tmp_path, table, expected):
    data = write(table[:60], tmp_path / "data.csv")
    more = [write(table[60:90].drop(columns="health"), tmp_path / "more.xlsx")]
    (tmp_path / "folder").mkdir()
    write(table[90:].drop(columns="case"), tmp_path / "folder" / "0.parquet")
    answer = call("fit", data, "--unlabeled", *more, "--unlabeled", "folder", *FIT)
    assert answer.exit_code == 0, answer.output
    loaded = primum.load(tmp_path / "m.skops")
    np.testing.assert_allclose(
        loaded.predict_proba(table), expected.predict_proba(table), atol=1e-8
    )


def test_scores_on_request(call, tmp_path, table, expected):
    data = write(table, tmp_path / "data.csv")
    call("fit", data, *FIT)
    for score in ("raw", "clipped"):
        call("predict", "m.skops", data, "--score", score, "--out", "p.csv")
        found = pd.read_csv(tmp_path / "p.csv")
        assert list(found) == ["case", "prediction", "score"]
        raw = expected.decision_function(table) + 0.5
        scores = raw if score == "raw" else raw.clip(0, 1)
        np.testing.assert_allclose(found["score"], scores, atol=1e-8)


def test_the_penalty_does_not_depend_on_units(call, tmp_path, rng):
    y = np.arange(60) % 2
    frame = pd.DataFrame(rng.normal(size=(60, 2)) + y[:, None], columns=["a", "b"])
    scores = []
    for unit in (1.0, 1000.0):
        write((frame * [1, unit]).assign(health=y, case=np.arange(60)), tmp_path / "data.csv")
        call("fit", "data.csv", *FIT)
        call("predict", "m.skops", "data.csv", "--out", "p.csv")
        scores.append(pd.read_csv(tmp_path / "p.csv")["probability_1"])
    np.testing.assert_allclose(*scores, atol=1e-6)


def test_minus_one_is_unknown_whatever_the_further_rows(call, tmp_path, rows):
    labels = np.tile([0, 1, -1], 20)
    rows[:60].assign(label=labels).to_csv("data.csv", index=False)
    rows[60:90].drop(columns="label").to_csv("more.csv", index=False)
    answer = call(
        *("fit", "data.csv", "--target", "label", "--unlabeled", "more.csv", "--out", "m.skops")
    )
    assert answer.exit_code == 0, answer.output
    assert "40 labelled rows and 50 unlabelled" in answer.output


def test_columns_are_chosen(call, tmp_path, table):
    data = write(table, tmp_path / "data.csv")
    for choice in (("--features", "age,colour"), ("--exclude", "seen")):
        assert call("fit", data, *choice, *FIT).exit_code == 0
        assert primum.load(tmp_path / "m.skops").feature_names_in_.tolist() == ["age", "colour"]


def test_a_column_that_is_set_aside_is_named(call, tmp_path, table):
    data = write(table, tmp_path / "data.csv")
    answer = call("fit", data, "--target", "health", "--out", "m.skops")
    assert "Warning: 'case' of data.csv is not used. All of its values are differ" in answer.output


def test_refusals(call, tmp_path, table, refused, monkeypatch):
    data = write(table, tmp_path / "data.csv")
    fit = ("fit", data, "--out", "m.skops", "--target")
    refused(call(*fit, "healht"), 1, "data.csv has no column 'healht' (did you mean 'health'?)")
    refused(call(*fit, "health", "--features", "age", "--exclude", "age"), 1, "both a feature and")
    other = write(table.rename(columns={"age": "years"}), tmp_path / "other.csv")
    refused(call(*fit, "health", "--unlabeled", other), 1, "other.csv has no column 'age'")
    write(table, tmp_path / "large.parquet")
    monkeypatch.setattr("primum.cli.fit.MAX_PREPARED_CELLS", 599)
    answer = call(*fit, "health", "--unlabeled", "large.parquet")
    refused(answer, 1, "large.parquet has 120 rows, too many to be prepared", "pass --no-prepare")
    write(table, tmp_path / "data.xlsx")
    answer = call("fit", "data.xlsx", *fit[2:], "health", "--no-prepare")
    refused(answer, 1, "Spreadsheets are for --prepare")
    assert not (tmp_path / "m.skops").exists()


def test_a_marker_is_named_as_an_option(call, tmp_path, table, refused):
    labels = table["health"].where(table.index < 60, "NA")
    data = write(table.assign(health=labels), tmp_path / "data.csv")
    refused(call("fit", data, *FIT), 1, "'NA' in column 'health' is one of 3", "--missing 'NA'")
    assert call("fit", data, "--missing", "NA", *FIT).exit_code == 0
