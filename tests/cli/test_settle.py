"""From a table to a settled answer, by labels in a sheet: compare, label, settle, save, predict."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from primum.comparison.labelling_files import StoredLabelling
from primum.comparison.words import REFITTED
from primum.tables.labels import CHOSEN

QUICK = ("--methods", "em-lda", "--repeats", 1, "--no-curves", "--jobs", 1, "--quiet")
N_ROWS, N_LABELED = 150, 20


@pytest.fixture(name="truth")
def hidden_truth(rng):
    """Two classes of unequal spread, on which EM and the baseline differ in some rows."""
    y = np.arange(N_ROWS) % 2
    X = rng.normal(size=(N_ROWS, 3)) * np.where(y, 1.5, 1.0)[:, None] + 0.8 * y[:, None]
    frame = pd.DataFrame(X.round(3), columns=["a", "b", "c"])
    frame.insert(0, "case", [f"{number:04d}" for number in range(N_ROWS)])
    frame["note"] = rng.choice(["=1+1", "fine, thanks", "-x"], N_ROWS)
    frame["churn"] = np.where(y == 1, "yes", "no")
    return frame


@pytest.fixture(name="table")
def partly_labelled(truth, tmp_path):
    frame = truth.copy()
    frame.loc[N_LABELED:, "churn"] = None
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Folders of finished comparisons by their options: one is copied, not made again."""
    return {}, tmp_path_factory


@pytest.fixture
def compare(call, table):
    def run(*options, data="data.csv", target="churn"):
        return call("compare", data, "--target", target, "--id", "case", *QUICK, *options)

    return run


@pytest.fixture
def compared(compare, kept, tmp_path):
    """Return a function that returns what a comparison printed, and leaves its folder here."""
    done, places = kept

    def run(*options):
        if options not in done:
            output = succeeded(compare("--out", "report", *options))
            place = places.mktemp("comparison") / "report"
            shutil.copytree(tmp_path / "report", place)
            done[options] = output, place
        elif not (tmp_path / "report").exists():
            shutil.copytree(done[options][1], tmp_path / "report")
        return done[options][0]

    return run


def succeeded(answer):
    assert answer.exit_code == 0, answer.output
    return re.sub(r"\s+", " ", answer.output)


def stored_values(path):
    """Return what is stored, as an earlier version wrote it, without a checksum."""
    values = json.loads(path.read_text())
    del values["checksum"], values["left_out"]
    return values


def refused(answer, *texts):
    assert answer.exit_code != 0
    output = re.sub(r"\s+", " ", answer.output)
    for text in texts:
        assert text in output


def fill(path, truth, first, last, out=None, **how):
    """Give rows of a sheet, from the first up to the last, their labels."""
    sheet = pd.read_csv(
        path, dtype=str, keep_default_na=False, encoding="utf-8-sig", sep=None, engine="python"
    )
    of = truth.set_index("case")["churn"]
    places = sheet["primum_row"].str[1:].astype(int).sort_values().index[first:last]
    sheet.loc[places, "churn"] = of[sheet.loc[places, "case"]].to_numpy()
    sheet.to_csv(out or path, index=False, **how)


def true_change(folder, truth):
    """Return errors(challenger) - errors(baseline) on the rows on which they differ."""
    asked = StoredLabelling.read(folder).settlement
    codes = asked.questions[0].codes
    right = np.searchsorted(asked.classes, truth["churn"].to_numpy()[asked.rows])
    return int(np.sum(codes[:, 0] == right) - np.sum(codes[:, 1] == right))


def test_from_a_table_to_a_settled_answer(compared, call, truth, tmp_path):
    output = compared()
    folder, sheet = tmp_path / "report", tmp_path / "report" / "rows_to_label.csv"
    assert "To settle it, open report/label.html in a browser" in output
    assert output.rstrip().endswith("then run: primum settle report rows_to_label.csv")
    assert (
        "The sheet is report/rows_to_label.csv; report/label.html shows its rows one at a time."
        in output
    )
    n_rows = len(StoredLabelling.read(folder).sheet.rows)
    assert n_rows > 5

    output = succeeded(call("settle", "report"))
    assert "no new labels" in output
    assert "No row has a label yet. On your 130 unlabelled rows" in output
    assert f"differ in {n_rows} predictions" in output

    fill(sheet, truth, 0, n_rows // 2, sep=";")
    output = succeeded(call("settle", "report", "rows_to_label.csv"))
    assert f"{n_rows // 2} new labels" in output
    assert "copy the column primum_chosen with them" in output
    report = (folder / "report.html").read_text()
    assert report.count("class='bound'") == 2
    assert "What labels settle on your rows" in report

    fill(sheet, truth, 0, n_rows)
    output = succeeded(call("settle", "report", "--save-model", "model.skops"))
    change = true_change(folder, truth)
    exactly = (
        "exactly as many"
        if change == 0
        else f"exactly {abs(change)} {'fewer' if change < 0 else 'more'}"
    )
    assert exactly in output
    assert "and all are labelled" in output
    assert f"{REFITTED}; in Python fit_recommended()" in output
    assert "saves the model that was judged" not in output  # it is saved
    again = succeeded(call("settle", "report"))
    assert f"saves the model that was judged. {REFITTED}; in Python fit_recommended()" in again
    assert "Report: report/report.html" in output
    assert exactly in (folder / "report.html").read_text()

    winner = "em-lda" if "'EM-LDA' on these rows" in output else "baseline"
    stored = (folder / "models" / f"{winner}.skops").read_bytes()
    assert (tmp_path / "model.skops").read_bytes() == stored
    succeeded(call("predict", "model.skops", "data.csv", "--out", "predictions.csv"))
    assert len(pd.read_csv(tmp_path / "predictions.csv")) == N_ROWS
    refused(call("settle", "report", "--save-model", "model.skops"), "pass --force to replace it")


def test_labels_of_several_people_add_up(compared, call, truth, tmp_path):
    compared()
    sheet = tmp_path / "report" / "rows_to_label.csv"
    fill(sheet, truth, 0, 4, tmp_path / "anna.csv", sep="\t")
    fill(sheet, truth, 3, 7, tmp_path / "ben.csv", encoding="utf-16")
    output = succeeded(call("settle", "report/report.html", "anna.csv", "ben.csv"))
    assert "anna.csv: 4 new labels." in output
    assert "ben.csv: 3 new labels." in output
    folder = tmp_path / "report"
    labels = StoredLabelling.read(folder).labels
    assert list(labels) == [f"r{k}" for k in range(1, 8)]
    output = succeeded(call("settle", "report", "ben.csv"))
    assert "ben.csv: no new labels." in output
    rows = pd.read_csv(tmp_path / "report" / "rows_to_label.csv", dtype=str, encoding="utf-8-sig")
    rows.loc[7, "churn"] = "?"
    rows.to_csv(tmp_path / "cleo.csv", index=False)
    output = succeeded(call("settle", "report", "cleo.csv"))
    assert "cleo.csv: no new labels, 1 row nobody can decide." in output
    labels["r8"] = "?"

    wrong = pd.read_csv(tmp_path / "anna.csv", dtype=str, sep="\t")
    before = wrong.loc[0, "churn"]
    wrong.loc[0, "churn"] = other = {"yes": "no", "no": "yes"}[before]
    wrong.to_csv(tmp_path / "wrong.csv", index=False)
    refused(
        call("settle", "report", "wrong.csv"),
        f"wrong.csv: Row r1 was given the label '{before}' before and '{other}' now",
        "pass --correct if it was a mistake",
    )
    assert StoredLabelling.read(folder).labels == labels
    output = succeeded(call("settle", "report", "wrong.csv", "--correct"))
    assert "wrong.csv: no new labels, 1 label corrected." in output
    assert StoredLabelling.read(folder).labels == {**labels, "r1": other}


def test_a_folder_may_be_renamed(compared, call, truth, tmp_path):
    compared()
    (tmp_path / "report").rename(tmp_path / "march")
    fill(tmp_path / "march" / "rows_to_label.csv", truth, 0, 2)
    output = succeeded(call("settle", "march"))
    assert "march/label.html" in output
    assert "report/" not in output
    assert "report/" not in (tmp_path / "march" / "report.html").read_text().split("<h2", 1)[0]


def test_skipped_rows_are_named(compared, call, truth, tmp_path):
    compared()
    fill(tmp_path / "report" / "rows_to_label.csv", truth, 2, 4)
    output = succeeded(call("settle", "report"))
    assert "Rows r1, r2 were skipped: label these first; rows below a gap count only" in output
    assert output.count("of its 10 rows decide between") == 1


def test_a_filled_sheet_is_never_overwritten(compare, compared, call, truth, tmp_path):
    compared()
    folder = tmp_path / "report"
    sheet = folder / "rows_to_label.csv"
    fill(sheet, truth, 0, 3)
    filled = sheet.read_bytes()
    succeeded(compare("--out", "report", "--resume"))
    assert sheet.read_bytes() == filled
    succeeded(call("settle", "report"))

    output = succeeded(compare("--out", "report", "--resume"))
    assert "Labels given earlier still count: 3." in output
    assert len(StoredLabelling.read(folder).labels) == 3
    assert "class='bound'" in (folder / "report.html").read_text()

    output = succeeded(compare("--out", "report", "--force", "--exclude", "c"))
    assert "The labels given earlier are about other models" in output
    assert "kept in report/settlement-1.json" in output
    assert "the new rows to label are in report/rows_to_label-2.csv" in output
    assert sheet.read_bytes() == filled
    assert StoredLabelling.read(folder).labels == {}
    assert (folder / "rows_to_label-2.csv").exists()


def test_an_empty_sheet_of_another_question_is_replaced(compare, compared, table, tmp_path):
    """The target has another name now; the old sheet had no column for it."""
    compared()
    table.rename(columns={"churn": "left"}).to_csv(tmp_path / "data.csv", index=False)
    output = succeeded(compare("--out", "report", "--force", target="left"))
    folder = tmp_path / "report"
    sheet = pd.read_csv(folder / "rows_to_label.csv", dtype=str, encoding="utf-8-sig")
    assert tuple(sheet.columns) == StoredLabelling.read(folder).sheet.header
    assert "left" in sheet.columns
    assert "report/rows_to_label.csv" in output
    assert sorted(path.name for path in folder.glob("*to_label*")) == ["rows_to_label.csv"]
    assert sorted(path.name for path in folder.glob("settlement*")) == ["settlement.json"]


def test_what_a_filled_sheet_answers_is_kept(compare, compared, truth, tmp_path):
    """Although none of its labels has been read yet."""
    compared()
    folder = tmp_path / "report"
    fill(folder / "rows_to_label.csv", truth, 0, 3)
    filled = (folder / "rows_to_label.csv").read_bytes()
    stored = (folder / "settlement.json").read_bytes()
    output = succeeded(compare("--out", "report", "--force", "--exclude", "c"))
    assert "report/rows_to_label.csv is about other models, so its labels settle nothing" in output
    assert "the question that they answer is kept in report/settlement-1.json" in output
    assert (folder / "settlement-1.json").read_bytes() == stored
    assert (folder / "rows_to_label.csv").read_bytes() == filled
    assert StoredLabelling.read(folder).files["sheet"] == "rows_to_label-2.csv"


@pytest.mark.parametrize("format", ["md", "json"])
def test_reports_of_every_format_are_updated(compared, call, truth, tmp_path, format):
    compared("--format", format)
    folder = tmp_path / "report"
    before = (folder / f"report.{format}").read_text()
    fill(folder / "rows_to_label.csv", truth, 0, 5)
    output = succeeded(call("settle", "report"))
    after = (folder / f"report.{format}").read_text()
    text = StoredLabelling.read(folder).settlement.leading.known
    assert text in output
    assert text not in before
    if format == "json":
        settled = json.loads(after)
        assert settled["settlement"]["n_labels"] == 5
        assert text in settled["verdict"]
        return
    assert text in after
    assert before.count("## ") == after.count("## ")
    (folder / "report.md").write_text("edited")  # it is written again as a whole
    succeeded(call("settle", "report"))
    assert (folder / "report.md").read_text() == after
    (folder / "report.md").unlink()
    assert "Warning: There is no report/report.md to" in succeeded(call("settle", "report"))


def test_rows_beyond_the_sample_are_asked_for_too(compare, truth, tmp_path):
    output = succeeded(compare("--out", "report", "--max-rows", 100))
    assert "100 of 150 rows are used" in output
    asked = StoredLabelling.read(tmp_path / "report").settlement
    assert asked.questions[0].pair.n_rows == N_ROWS - N_LABELED
    assert asked.ids == tuple(truth["case"].iloc[asked.rows])
    sheet = pd.read_csv(tmp_path / "report" / "rows_to_label.csv", dtype=str, encoding="utf-8-sig")
    assert sheet["case"].tolist() == list(asked.ids)
    (mark,) = set(sheet[CHOSEN])
    assert re.fullmatch("yes [0-9a-f]{6}", mark)
    assert "On your 130 unlabelled rows" in output


def test_a_spreadsheet_has_a_spreadsheet_to_fill_in(compare, call, table, truth, tmp_path):
    table.to_excel(tmp_path / "data.xlsx", index=False)
    output = succeeded(compare("--out", "report", data="data.xlsx"))
    assert "report/rows_to_label.xlsx" in output
    path = tmp_path / "report" / "rows_to_label.xlsx"
    sheet = pd.read_excel(path, dtype=object)
    assert sheet["case"].str.fullmatch(r"\d{4}").all()
    sheet["churn"] = truth.set_index("case")["churn"][sheet["case"]].to_numpy()
    sheet["case"] = sheet["case"].astype(int)
    sheet[::-1].to_excel(path, index=False)
    assert "all are labelled" in succeeded(call("settle", "report"))


def test_where_nothing_can_be_settled_one_sentence_says_why(compare, call, tmp_path):
    output = succeeded(compare("--out", "report.html"))
    assert "pass a folder as --out, and the rows to label are written beside the report" in output
    output = succeeded(compare("--out", "brier", "--scoring", "neg_brier_score"))
    assert "Labels of chosen rows settle which of two models makes fewer errors" in output
    assert "--scoring accuracy" in output
    assert not (tmp_path / "brier" / "rows_to_label.csv").exists()
    refused(
        call("settle", "brier"), "brier has no settlement.json: pass a folder that primum compare"
    )


def test_errors_are_one_sentence_with_the_line(compared, call, tmp_path):
    compared()
    sheet = tmp_path / "report" / "rows_to_label.csv"
    rows = pd.read_csv(sheet, dtype=str, encoding="utf-8-sig")
    rows.loc[1, "churn"] = "perhaps"
    rows.to_csv(tmp_path / "mine.csv", index=False)
    refused(
        call("settle", "report", "mine.csv"),
        "Error: mine.csv, line 3: The label 'perhaps' is not one of the classes no, yes",
    )
    refused(call("settle", "report", "absent.csv"), "Error: There is no file absent.csv.")
    for damaged in ("{", "[]", json.dumps({"format": 1})):
        (tmp_path / "report" / "settlement.json").write_text(damaged)
        refused(
            call("settle", "report"), "settlement.json is damaged", "compare again with --resume"
        )


@pytest.mark.parametrize(
    ("part", "name"),
    [
        *(("report", "../victim.json"), ("report", "/victim.json"), ("report", "a/../../b.md")),
        *(("sheet", ".."), ("sheet", "..\\rows.csv"), ("sheet", "c:rows.csv"), ("sheet", "")),
        *(("models", "../secret"), ("models", "models/../../secret"), ("models", "models/")),
    ],
)
def test_a_folder_that_was_passed_on_names_no_file_outside_it(compared, call, tmp_path, part, name):
    compared()
    (tmp_path / "victim.json").write_text("{}")
    path = tmp_path / "report" / "settlement.json"
    values = stored_values(path)
    if part == "models":
        values["models"] = dict.fromkeys(values["models"], name)
    else:
        values["files"][part] = name
    path.write_text(json.dumps(values))
    refused(
        call("settle", "report"),
        f"settlement.json is damaged, or of another version of primum (it names the file {name!r}, "
        "which is not one of this folder): restore it, or compare again with --resume.",
    )
    assert (tmp_path / "victim.json").read_text() == "{}"


@pytest.mark.parametrize("name", ["report.html", "models"])
def test_a_folder_that_was_passed_on_has_no_links(compared, call, tmp_path, name):
    compared()
    outside = tmp_path / "outside"
    (tmp_path / "report" / name).rename(outside)
    (tmp_path / "report" / name).symlink_to(outside)
    refused(call("settle", "report"), "settlement.json is damaged", "is a link to another place")
    (tmp_path / "report" / name).unlink()
    outside.rename(tmp_path / "report" / name)
    (tmp_path / "elsewhere").symlink_to(tmp_path / "report")
    assert "No row has a label yet" in succeeded(call("settle", "elsewhere"))


def test_stored_labels_that_are_none_are_refused(compared, call, tmp_path):
    compared()
    path = tmp_path / "report" / "settlement.json"
    path.write_text(json.dumps(stored_values(path) | {"labels": {"r1": 7}}))
    refused(call("settle", "report"), "settlement.json is damaged", "the label 7 for the row 'r1'")


def test_an_edited_settlement_is_found_before_anything_is_printed(compared, call, truth, tmp_path):
    compared()
    folder = tmp_path / "report"
    path = folder / "settlement.json"
    values = json.loads(path.read_text())
    for part, edited in (("rows", values["rows"][::-1]), ("labels", {"r1": 0})):
        path.write_text(json.dumps(values | {part: edited}))
        answer = call("settle", "report")
        refused(answer, "settlement.json is damaged", "changed after it was written: its checksum")
        assert "label yet" not in answer.output
    without = {name: value for name, value in values.items() if name != "checksum"}
    empty = "it does not contain the questions, rows, files and answer of a comparison): restore"
    for parts, what in (
        (without, "changed after it was written: its checksum is missing"),
        ({}, empty),
        ([], empty),
    ):
        path.write_text(json.dumps(parts))
        refused(call("settle", "report"), "settlement.json is damaged", what)
    # Another layout of the same values is the same; files of earlier versions have no checksum.
    earlier = {name: value for name, value in without.items() if name != "left_out"}
    for unedited in (values, earlier):
        path.write_text(json.dumps(unedited, indent=1, sort_keys=True))
        assert "No row has a label yet" in succeeded(call("settle", "report"))


def test_a_clear_answer_is_checked_and_not_settled(compared, tmp_path):
    compared()
    labelling = StoredLabelling.read(tmp_path / "report")
    assert labelling.how_to_label.startswith("To settle it, open ")
    checked = replace(labelling, cross_validated="help").how_to_label
    assert checked.startswith("To check this on your rows, open ")


def test_a_damaged_settlement_does_not_end_a_comparison(compare, compared, tmp_path):
    compared()
    folder = tmp_path / "report"
    (folder / "settlement.json").write_text("{")
    output = succeeded(compare("--out", "report", "--resume"))
    assert "kept in report/settlement-1.json" in output
    assert "the new rows to label are in report/rows_to_label-2.csv" in output
    assert (folder / "settlement-1.json").read_text() == "{"
    assert StoredLabelling.read(folder).files["sheet"] == "rows_to_label-2.csv"


def test_a_class_that_is_a_question_mark(compare, table, tmp_path):
    table["churn"] = table["churn"].replace({"yes": "?"})
    table.to_csv(tmp_path / "data.csv", index=False)
    output = succeeded(compare("--out", "report"))
    assert "No rows to label are written, because '?' is a class of this table" in output
    assert not (tmp_path / "report" / "settlement.json").exists()


def test_labels_that_are_added_below_the_table_leave_the_pool(compare, compared, truth, tmp_path):
    """Their rows are known by their id; the models of the second comparison have learnt them."""
    compared()
    folder = tmp_path / "report"
    fill(folder / "rows_to_label.csv", truth, 0, 6)
    sheet = pd.read_csv(folder / "rows_to_label.csv", dtype=str, encoding="utf-8-sig")
    labelled = sheet[sheet["churn"].notna()].drop(columns="primum_row")
    table = pd.read_csv(tmp_path / "data.csv", dtype=str)
    pd.concat([table, labelled]).to_csv(tmp_path / "more.csv", index=False)
    output = succeeded(compare("--out", "second", data="more.csv"))
    said = "6 of the 130 unlabelled rows are also labelled rows (the same id): they are left out"
    assert said in output
    asked = StoredLabelling.read(tmp_path / "second").settlement
    assert asked.questions[0].pair.n_rows == 124
    assert not set(asked.ids) & set(labelled["case"])
    assert said in re.sub(r"\s+", " ", (tmp_path / "second" / "report.html").read_text())


def test_an_order_that_an_earlier_version_has_stored_is_kept(
    compare, compared, call, truth, tmp_path
):
    compared()
    folder = tmp_path / "report"
    values = json.loads((folder / "settlement.json").read_text())
    asked = StoredLabelling.read(folder).settlement
    backwards = np.arange(len(asked.rows))[::-1]
    for part in (values, values["sheet"]):
        for name in ("rows", "ids"):
            if name in part and part[name] is not None:
                part[name] = [part[name][place] for place in backwards]
    for question in values["questions"]:
        question["codes"] = [question["codes"][place] for place in backwards]
    for row, key in zip(values["sheet"]["rows"], asked.keys, strict=True):
        row[0] = key
    later = "left_out", "checksum"
    (folder / "settlement.json").write_text(
        json.dumps({name: value for name, value in values.items() if name not in later})
    )
    stored = StoredLabelling.read(folder)
    assert stored.settlement.left_out == ""
    stored.folder.joinpath("rows_to_label.csv").unlink()
    succeeded(compare("--out", "report", "--resume"))
    again = StoredLabelling.read(folder)
    np.testing.assert_array_equal(again.settlement.rows, asked.rows[::-1])
    fill(folder / "rows_to_label.csv", truth, 0, 8)
    output = succeeded(call("settle", "report"))
    assert "8 new labels" in output
    succeeded(compare("--out", "report", "--resume"))
    labels = StoredLabelling.read(folder).settlement.labels
    right = np.searchsorted(asked.classes, truth["churn"].to_numpy()[asked.rows[::-1]])
    assert labels == dict(enumerate(right[:8].tolist()))


def test_the_page_has_labels_that_were_read_and_the_saved_model_is_named(
    compared, call, truth, tmp_path
):
    compared()
    folder = tmp_path / "report"
    read = re.compile(r"<script type='application/json' id='task'>(.*?)</script>", re.DOTALL)

    def answers():
        return json.loads(read.search((folder / "label.html").read_text())[1])["answers"]

    assert answers() == {}
    assert "Model: none.skops (the baseline, for now), for primum predict" in succeeded(
        call("settle", "report", "--save-model", "none.skops")
    )
    fill(folder / "rows_to_label.csv", truth, 0, 3)
    output = succeeded(call("settle", "report", "--save-model", "m.skops"))
    settled = StoredLabelling.read(folder)
    name = "the baseline" if settled.settled.deployed == "baseline" else '"em-lda"'
    judged = "as it was judged, fitted without the 3 new labels"
    assert re.search(rf"Model: m.skops \({name}(, for now)?, {judged}\)", output)
    assert answers() == dict(zip("012", settled.labels.values(), strict=True))
    assert (tmp_path / "m.skops").read_bytes() == (
        folder / settled.models[settled.settled.deployed]
    ).read_bytes()
