"""``primum compare`` from a file to a report, on a table of every kind that people have."""

import html
import re
import warnings

import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import tables_like

QUICK = ("--methods", "em-lda", "--repeats", 1, "--no-curves", "--jobs", 1, "--quiet")
# The target of a table, and a column with its kind and what the report says about it.
KINDS = {
    "loans": ("status", "amount", "number", "Scaled."),
    "hawks": ("species", "wing", "number", "missing, filled in with the median"),
    "stops": ("outcome", "county", "category", "the 19 most frequent of 25 levels"),
    "churn": ("churn", "customer", "text", "so it seems to identify the rows."),
    "penguins": ("species", "mass", "number", "Scaled."),
    "diaries": ("mood", "sleep", "number", "Scaled."),
    "tweets": ("mood", "text", "text", "weighted by how rare they are."),
    "rare_class": ("kind", "a", "number", "Scaled."),
    "nine_classes": ("kind", "f7", "number", "Scaled."),
}


@pytest.fixture(name="compare")
def call_compare(call):
    def run(path, target, *options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return call("compare", path, "--target", target, *QUICK, *options)

    return run


@pytest.fixture
def reported(compare, tmp_path):
    """Compare on a file, and return what was printed, on one line, and the text of the report."""

    def run(path, target, *options):
        answer = compare(path, target, *options)
        assert answer.exit_code == 0, answer.output
        assert "Traceback" not in answer.output
        page = tmp_path / f"{path.partition('.')[0]}-comparison" / "report.html"
        return " ".join(answer.output.split()), texts_of(page.read_text(encoding="utf-8"))

    return run


def texts_of(page):
    """Return the text of every cell and sentence of a page, one per line."""
    return html.unescape(re.sub(r"(\s*<[^>]+>\s*)+", "\n", page))


# Three more tables of numbers, some with several or rare classes, like those of other tests.
LIKE_OTHERS = {"penguins", "rare_class", "nine_classes"}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.slow] * (kind in LIKE_OTHERS)) for kind in KINDS],
)
def test_from_a_file_to_a_report(reported, tmp_path, kind):
    target, column, of_kind, done = KINDS[kind]
    frame = getattr(tables_like, kind)()
    frame.to_csv(tmp_path / "table.csv", index=False)
    output, report = reported("table.csv", target)
    assert f"{frame[target].notna().sum()} labelled rows (" in output
    for name in frame[target].dropna().unique():
        assert f"{str(name)!r}: {(frame[target] == name).sum()}" in output
    assert "EM-LDA" in output
    assert done_to(column, report)[0] == of_kind
    assert done in "\n".join(done_to(column, report))


def done_to(column, report):
    """Return what a report says of a column: its kind, and in a few lines what is done to it."""
    _, _, columns = report.partition("how they are prepared")
    _, _, row = columns.partition(f"\n{column}\n")
    return row.split("\n")[:6]


def test_flights_are_sampled_and_their_times_are_hours(reported, call, tmp_path):
    frame = tables_like.flights()
    frame.to_csv(tmp_path / "table.csv", index=False)
    output, report = reported("table.csv", "status", "--max-rows", 200, "--save-model", "m.skops")
    assert output.startswith(  # before the run
        "200 of 400 rows are used, a random sample: 60 of 60 labelled and 140 of 340 unlabelled "
        "rows; --max-rows changes that. 60 labelled rows ('late': "
    )
    assert "200 of 400 rows are used" in report
    assert done_to("departs", report)[0] == "time"
    assert "Converted to hours and scaled." in done_to("departs", report)
    tables_like.with_time_objects(frame).to_excel(tmp_path / "new.xlsx", index=False)
    found = []
    for name in ("table.csv", "new.xlsx"):
        answer = call("predict", "m.skops", name, "--out", f"{name}.csv")
        assert answer.exit_code == 0, answer.output
        assert "Warning" not in answer.output
        found.append(pd.read_csv(f"{name}.csv"))
    pd.testing.assert_frame_equal(*found)
    frame.assign(departs=1330).to_csv(tmp_path / "new.csv", index=False)
    answer = call("predict", "m.skops", "new.csv", "--out", "p.csv")
    assert "but the model was fitted to times of day there: correct the column" in answer.output


def test_few_fractions_are_a_question_in_one_sentence(compare, refused, tmp_path):
    """Ratings in steps of a half may be classes or numbers."""
    frame = tables_like.houses()
    frame["stars"] = [0.5, 1.0, 1.5, 2.0, None] * (len(frame) // 5)
    frame.to_csv(tmp_path / "table.csv", index=False)
    answer = compare("table.csv", "stars")
    refused(answer, 1, "may be classes or numbers to predict: pass --classes or --regression.")
    assert len(answer.output.strip().splitlines()) == 1
    assert not (tmp_path / "table-comparison").exists()


def test_diaries_with_their_groups(reported, tmp_path):
    tables_like.diaries().to_csv(tmp_path / "table.csv", index=False)
    output, report = reported("table.csv", "mood", "--group", "id")
    assert "60 labelled rows (" in output
    assert "It contains the groups." in done_to("id", report)


def test_a_spreadsheet_with_titles_a_total_and_other_sheets(
    reported, compare, call, refused, tmp_path
):
    frame = tables_like.churn()
    tables_like.write_workbook(frame, tmp_path / "table.xlsx")
    refused(
        compare("table.xlsx", "churn"),
        1,
        "no column 'churn'",
        "its other sheets are 'Customers' (--sheet); sheet 'Customers' has that column",
    )
    sheet = ("--sheet", "Customers")
    named = compare("table.xlsx", "churn", *sheet, "--header-row", 1)
    refused(named, 1, "no column 'churn'", "Row 1 of sheet 'Customers' is its header")
    output, report = reported("table.xlsx", "churn", *sheet, "--save-model", "m.skops")
    assert output.startswith(
        "The last row of the table is left out, because it seems to be a total"
    )
    assert "50 labelled rows ('No': " in output
    assert "and 100 unlabelled rows" in output
    assert "pd.read_excel('table.xlsx', sheet_name='Customers', skiprows=3)" in report
    predict = ("predict", "m.skops", "table.xlsx", "--out", "p.csv")
    refused(call(*predict), 1, "lacks the 3 columns", "sheet 'Customers' has that column")
    answer = call(*predict, *sheet)
    assert "the last row of table.xlsx seems to be a total of the others" in answer.output
    assert len(pd.read_csv("p.csv")) == len(frame) + 1
