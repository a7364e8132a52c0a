"""Models of whole tables, which prepare the columns themselves: stored, read and applied."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from primum import ICLSClassifier, TSVMClassifier
from primum.models import StoredModel, load_model, save_model
from primum.tables.problem import table_problem

N_ROWS = 120


@pytest.fixture(name="table")
def mixed_table(rng):
    """A table as people keep it; the class depends on the age and on the colour."""
    red = rng.random(N_ROWS) < 0.5
    age = rng.integers(20, 80, N_ROWS).astype(float) / 2
    health = np.where(age + 10 * red > 30, "ill", "well")
    return pd.DataFrame(
        {
            "case": [f"{number:04d}" for number in range(N_ROWS)],
            "age": age,
            "colour": np.where(red, "red", "blue"),
            "code": rng.choice(["007", "7", "x"], N_ROWS),
            "seen": pd.date_range("2020-01-01", periods=N_ROWS).strftime("%d.%m.%Y"),
            "smoker": rng.choice(["yes", "no"], N_ROWS),
            "state of health": np.where(np.arange(N_ROWS) < 60, health, None),
        }
    )


def stored_model(table, classifier=None, **names):
    problem = table_problem(table, "state of health", id="case")
    pipeline = make_pipeline(problem.transformer, classifier or ICLSClassifier(alpha=0.1))
    fitted = pipeline.fit(problem.X, problem.labels)
    columns = {c.name: [c.kind, c.reading] for c in problem.columns if c.used}
    return StoredModel(fitted, "case", "state of health", columns)


@pytest.fixture
def model(tmp_path, table):
    stored = stored_model(table)
    save_model(stored, tmp_path / "m.skops")
    return stored


@pytest.fixture(name="predict")
def call_predict(call, tmp_path, model):
    def check(frame, *arguments, **how):
        frame.to_csv(tmp_path / "new.csv", index=False, **how)
        answer = call("predict", "m.skops", "new.csv", *arguments, "--out", "out.csv")
        assert answer.exit_code == 0, answer.output
        return answer, pd.read_csv(tmp_path / "out.csv", dtype={"case": str})

    return check


def test_a_model_remembers_the_table(tmp_path, model):
    stored = load_model(tmp_path / "m.skops")
    assert (stored.id_column, stored.target) == ("case", "state of health")
    assert stored.columns == {
        "age": ["number", "."],
        "colour": ["category", ""],
        "code": ["category", ""],
        "seen": ["date", "%d.%m.%Y"],
        "smoker": ["boolean", ""],
    }


def test_class_and_probabilities_with_the_id(predict, model, table):
    _, found = predict(table)
    assert list(found) == ["case", "prediction", "probability_ill", "probability_well"]
    assert found["case"].tolist() == table["case"].tolist()
    assert found["prediction"].tolist() == model.estimator.predict(table).tolist()
    expected = model.estimator.predict_proba(table)
    np.testing.assert_allclose(found.iloc[:, 2:], expected, atol=1e-12)


def test_a_table_in_another_notation_has_the_same_predictions(predict, table):
    _, before = predict(table)
    other = table.drop(columns="state of health").iloc[:, ::-1]
    other["seen"] = pd.to_datetime(other["seen"], format="%d.%m.%Y").dt.strftime("%Y-%m-%d")
    other["smoker"] = other["smoker"].map({"yes": "TRUE", "no": "FALSE"})
    _, after = predict(other.assign(unused=1), sep=";", decimal=",")
    pd.testing.assert_frame_equal(after, before)


def test_parquet_and_spreadsheets(call, tmp_path, predict, table):
    pytest.importorskip("openpyxl")
    _, before = predict(table)
    table.to_parquet(tmp_path / "new.parquet")
    with pd.ExcelWriter(tmp_path / "new.xlsx") as book:
        pd.DataFrame({"remark": ["none"]}).to_excel(book, sheet_name="remarks", index=False)
        table.to_excel(book, sheet_name="patients", index=False)
    for arguments in (["new.parquet"], ["new.xlsx", "--sheet", "patients"]):
        answer = call("predict", "m.skops", *arguments, "--out", "again.csv")
        assert answer.exit_code == 0, answer.output
        found = pd.read_csv(tmp_path / "again.csv", dtype={"case": str})
        pd.testing.assert_frame_equal(found, before)


def test_ids_that_look_like_formulas(call, tmp_path, predict, table):
    formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "=HYPERLINK(A1)"]
    changed = table.assign(case=[*formulas, *table["case"][len(formulas) :]])
    _, found = predict(changed)
    assert found["case"].tolist() == changed["case"].tolist()  # CSV has them as they are
    openpyxl = pytest.importorskip("openpyxl")
    answer = call("predict", "m.skops", "new.csv", "--out", "out.xlsx")
    assert answer.exit_code == 0, answer.output
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    header, *rows = sheet.iter_rows()
    assert [cell.value for cell in header] == list(found)
    assert [row[0].value for row in rows] == changed["case"].tolist()
    assert {row[0].data_type for row in rows} == {"s"}  # text, never a formula
    np.testing.assert_allclose([row[2].value for row in rows], found["probability_ill"])


def test_a_spreadsheet_cannot_hold_everything(call, refused, tmp_path, predict, table, monkeypatch):
    pytest.importorskip("openpyxl")
    predict(table.assign(case=["\x01", *table["case"][1:]]))
    write = ("predict", "m.skops", "new.csv", "--out", "out.xlsx")
    refused(call(*write), 1, r"The text '\x01' has characters that a spreadsheet cannot hold")
    predict(table)
    monkeypatch.setattr("primum.tables.files.MAX_SHEET_ROWS", 100)
    refused(call(*write), 1, "A spreadsheet has at most 100 rows: write the predictions as CSV")
    assert not (tmp_path / "out.xlsx").exists()
    refused(call(*write[:-1], "out.pdf"), 2, "or, for a spreadsheet, .xlsx.")


def test_missing_cells_and_new_levels(predict, table):
    changed = table.copy()
    changed.loc[:, "age"] = np.nan
    changed.loc[0, "colour"] = "green"
    changed.loc[1, "seen"] = None
    _, found = predict(changed)
    assert found.notna().all(axis=None)


def test_cells_of_another_kind_are_named(predict, table):
    changed = table.astype({"age": object})
    changed.loc[3, "age"] = "old"
    answer, found = predict(changed)
    assert "column 'age' of new.csv, 1 cell is not numbers, such as 'old'" in answer.output
    assert len(found) == N_ROWS


@pytest.mark.parametrize(
    ("column", "cell", "kind"),
    [("age", "old", "numbers"), ("seen", 7, "dates"), ("smoker", "often", "yes or no")],
)
def test_a_column_of_another_kind(call, refused, tmp_path, model, table, column, cell, kind):
    table.assign(**{column: cell}).to_csv(tmp_path / "new.csv", index=False)
    answer = call("predict", "m.skops", "new.csv", "--out", "out.csv")
    what = f"Column {column!r} of new.csv has cells such as '{cell}"
    refused(answer, 1, what, f"the model was fitted to {kind} there")
    assert not (tmp_path / "out.csv").exists()


def test_missing_columns(call, refused, tmp_path, model, table):
    renamed = table.rename(columns={"age": "Age", "colour": "shade"})
    renamed.to_csv(tmp_path / "new.csv", index=False)
    answer = call("predict", "m.skops", "new.csv", "--out", "out.csv")
    refused(answer, 1, "new.csv lacks the 2 columns 'age' (did you mean 'Age'?), 'colour'; its")


def test_without_the_id_column(predict, table):
    answer, found = predict(table.drop(columns="case"))
    assert "new.csv has no column 'case'" in answer.output
    assert list(found) == ["prediction", "probability_ill", "probability_well"]


def test_another_id_column(call, refused, tmp_path, predict, table):
    _, found = predict(table.assign(name="=1+1"), "--id", "name")
    assert found["name"].tolist() == ["=1+1"] * N_ROWS
    answer = call("predict", "m.skops", "new.csv", "--id", "nam", "--out", "other.csv")
    refused(answer, 1, "new.csv has no column 'nam' (did you mean 'name'?)")
    table.assign(probability_ill=1).to_csv("new.csv", index=False)
    answer = call("predict", "m.skops", "new.csv", "--id", "probability_ill", "--out", "other.csv")
    refused(answer, 1, "'probability_ill' is a column of the predictions")


def test_no_rows(predict, table):
    _, found = predict(table[:0])
    assert found.shape == (0, 4)


def test_scores_replace_the_probabilities_on_request(predict, model, table):
    _, found = predict(table, "--score", "raw")
    assert list(found) == ["case", "prediction", "score"]
    raw = model.estimator.decision_function(table) + 0.5
    np.testing.assert_allclose(found["score"], raw, atol=1e-12)


def test_a_classifier_without_probabilities_has_scores(predict, tmp_path, table):
    stored = stored_model(table, TSVMClassifier())
    save_model(stored, tmp_path / "m.skops")
    _, found = predict(table)
    assert list(found) == ["case", "prediction", "score"]
    np.testing.assert_allclose(found["score"], stored.estimator.decision_function(table))


def test_a_damaged_preparation(call, refused, tmp_path, model, table):
    model.estimator[0].named_transformers_["number ."][0].reading = 3
    model.estimator[0].named_transformers_["category"][1].categories_ = []
    save_model(model, tmp_path / "m.skops")
    table.to_csv(tmp_path / "new.csv", index=False)
    answer = call("predict", "m.skops", "new.csv", "--out", "out.csv")
    refused(answer, 1, "m.skops is not a valid model, because it cannot predict", "fit it again")


def test_three_decimals_after_a_comma_are_no_thousands(predict, table):
    shown = [f"{age:.3f}" for age in table["age"] / 30]  # from 0.3 to 1.3
    numbers, text = (
        table.assign(age=cells) for cells in (shown, [cell.replace(".", ",") for cell in shown])
    )
    expected = predict(numbers)[1]
    pd.testing.assert_frame_equal(predict(text)[1], expected)
    few = text.assign(age=["0,950", *["1,250"] * (N_ROWS - 1)])
    read = predict(table.assign(age=[0.95, *[1.25] * (N_ROWS - 1)]))[1]
    pd.testing.assert_frame_equal(predict(few)[1], read)


def test_a_few_rows_are_read_as_the_table_that_was_learnt_from(predict, tmp_path, table):
    """Nothing in a file of three rows tells that 1.800 is above a thousand."""
    sizes = [f"{int(100 * age):,}".replace(",", ".") for age in table["age"]]
    shares = [f"{age / 7:.2f}".replace(".", ",") for age in table["age"]]
    way = [f"{share} km" for share in shares]
    written = table.assign(age=sizes, share=shares, way=way)
    save_model(stored_model(written), tmp_path / "m.skops")
    large = np.flatnonzero(table["age"] >= 10)[:3]
    few = written.iloc[large].assign(share="5", way="7 km")
    plain = few.assign(age=100 * table["age"].iloc[large], share=5, way=7)
    pd.testing.assert_frame_equal(predict(few, sep=";")[1], predict(plain)[1])
