"""``primum compare`` end to end on awkward files; the answers are known."""

import html
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

N_ROWS, N_LABELED = 60, 24
QUICK = ("--repeats", 1, "--no-curves", "--jobs", 1, "--quiet")
TARGET = "left this year?"


def table_of(classes=("no", "yes"), n_rows=N_ROWS, n_labeled=N_LABELED):
    """Return a table whose number x tells the classes apart without error, and the truth."""
    rng = np.random.default_rng(0)
    codes = np.arange(n_rows) % len(classes)
    truth = np.array(classes, dtype=object)[codes]
    x, noise = np.round(10.0 * codes + rng.uniform(-1, 1, n_rows), 2), rng.normal(size=n_rows)
    labels = np.where(np.arange(n_rows) < n_labeled, truth, None)
    return pd.DataFrame({"x": x, "noise": np.round(noise, 2), TARGET: labels}), truth


@pytest.fixture(name="compare")
def call_compare(call):
    """Compare on a file, by one quick method."""

    def run(name, *options, method="em-lda"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return call("compare", name, "--target", TARGET, "--methods", method, *QUICK, *options)

    return run


@pytest.fixture
def answered(compare, tmp_path):
    """Compare on a table of CSV, and return what was printed and what was done to the columns."""

    def run(frame, *options, method="em-lda", **how):
        frame.to_csv(tmp_path / "data.csv", index=False, **how)
        answer = compare("data.csv", *options, method=method)
        assert answer.exit_code == 0, answer.output
        assert "Traceback" not in answer.output
        assert "tuned baseline" in answer.output
        assert max(map(len, answer.output.splitlines())) <= 80
        page = (tmp_path / "data-comparison" / "report.html").read_text(encoding="utf-8")
        return answer.output, columns_in(page)

    return run


def columns_in(page):
    """Return (kind, used, what is done, note) of every column that a report lists."""
    _, _, rest = page.partition("Columns of the table and how they are prepared")
    rows = re.findall(r"<tr>(.*?)</tr>", rest.partition("</table>")[0], re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    texts = [[html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in cells]
    return {name: tuple(more) for name, *more in texts}


def test_semicolons_and_decimal_commas_change_nothing(compare, tmp_path):
    frame, _ = table_of()
    frame.to_csv(tmp_path / "plain.csv", index=False)
    frame.to_csv(tmp_path / "export.csv", index=False, sep=";", decimal=",")
    found = []
    for name in ("plain", "export"):
        assert compare(f"{name}.csv", "--out", f"{name}.json").exit_code == 0
        found.append(json.loads((tmp_path / f"{name}.json").read_text()))
    assert found[0]["methods"][0]["loss"] == found[1]["methods"][0]["loss"] == 0
    for key in ("verdict", "classes", "coefficients"):
        assert found[0][key] == found[1][key]


def test_the_code_in_the_report_repeats_the_comparison(compare, tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    frame, _ = table_of()
    frame["noise"] = frame["noise"].mask(frame["noise"] > 1)
    frame.to_csv(tmp_path / "export.csv", index=False, sep=";", decimal=",", encoding="utf-16")
    frame.to_parquet(tmp_path / "data.parquet")
    frame.to_excel(tmp_path / "book.xlsx", index=False, sheet_name="2024")
    for name, *options in (["export.csv"], ["data.parquet"], ["book.xlsx", "--sheet", "2024"]):
        answer = compare(name, "--out", f"{name}.md", *options)
        assert answer.exit_code == 0, answer.output
        report = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        code = re.search(r"```python\n(.*?)```", report, re.DOTALL)[1]
        assert name in code
        names = {}
        exec(code.replace("curves=False", "curves=False, verbose=False"), names)
        shown = re.search(r"\| EM-LDA \|.*", report)[0]
        again = re.search(r"\| EM-LDA \|.*", names["result"].to_markdown())[0]
        assert shown == again


def test_missing_cells_and_columns_that_are_set_aside(answered, call, tmp_path):
    frame, truth = table_of()
    rng = np.random.default_rng(1)
    days = pd.Timestamp("2020-01-31") + pd.to_timedelta(rng.integers(0, 900, N_ROWS), "D")
    frame = frame.assign(
        case=[f"C-{number:04d}" for number in range(N_ROWS)],
        country="DE",
        since=days.strftime("%d.%m.%Y"),
        plan=rng.choice(["basic", "plus"], N_ROWS),
        second=frame["x"],
        third=frame["x"],
    )
    for name in ("x", "noise", "since", "plan", "second", "third"):
        frame.loc[rng.permutation(N_ROWS)[: round(0.3 * N_ROWS)], name] = None
    output, columns = answered(frame, "--save-model", "m.skops")
    assert "24 labelled rows ('no': 12, 'yes': 12) and 36 unlabelled rows." in output
    assert "6 of 9 columns are used" in output
    assert "Predictions will have the column 'case', which seems to identify the rows." in output
    filled = "30% missing, filled in with the median; a further column marks these cells; "
    assert columns["x"] == ("number", "used", f"{filled}scaled.", "")
    assert columns["since"] == ("date", "used", f"{filled}converted to days and scaled.", "")
    assert "30% missing, which is a level of its own" in columns["plan"][2]
    assert columns["country"][1:] == (
        *("not used", "Set aside."),
        "It has the same value in every row.",
    )
    assert columns["case"][1:3] == ("not used", "Set aside.")
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert call("predict", "m.skops", "new.csv", "--out", "p.csv").exit_code == 0
    assert pd.read_csv(tmp_path / "p.csv")["case"].tolist() == frame["case"].tolist()
    fit = call("fit", "new.csv", "--target", TARGET, "--out", "f.skops")
    assert fit.exit_code == 0, fit.output
    assert call("predict", "f.skops", "new.csv", "--out", "q.csv").exit_code == 0
    assert pd.read_csv(tmp_path / "q.csv").columns[0] == "case"
    assert "All of its values are different" in columns["case"][3]
    assert columns[TARGET][1:] == ("not used", "Set aside.", "It contains the labels.")
    assert call("predict", "m.skops", "data.csv", "--out", "p.csv").exit_code == 0
    right = pd.read_csv(tmp_path / "p.csv")["prediction"].to_numpy() == truth
    known = frame[["x", "second", "third"]].notna().any(axis=1)
    assert right[known].mean() > 0.9  # of the three copies of x, one is there


def test_a_category_with_200_levels(answered):
    frame, _ = table_of(n_rows=800, n_labeled=40)
    levels = [f"town {number}" for number in range(200)]
    output, columns = answered(frame.assign(town=np.repeat(levels, 4)))
    assert "3 of 4 columns are used" in output
    assert columns["town"] == (
        *("category", "used"),
        "One column for each of the 19 most frequent of 200 levels and one for all others.",
        "",
    )


@pytest.mark.parametrize(
    "classes",
    [
        ("été à Besançon", "hiver", "mi-saison"),
        tuple(f"Größe n° {number}" for number in range(10)),
    ],
)
def test_several_classes_with_accents(answered, call, tmp_path, classes):
    frame, truth = table_of(classes, n_rows=100, n_labeled=50)
    output, _ = answered(frame, "--save-model", "m.skops", method="self-learning")
    printed = " ".join(output.split())
    for name in classes:
        assert f"{name!r}: {sum(truth[:50] == name)}" in printed
    assert call("predict", "m.skops", "data.csv", "--out", "p.csv").exit_code == 0
    found = pd.read_csv(tmp_path / "p.csv")
    assert set(found["prediction"]) <= set(classes)
    assert list(found)[1:] == [f"probability_{name}" for name in sorted(classes)]
    if len(classes) == 3:  # a linear model of one number cannot tell ten apart
        assert (found["prediction"] == truth).mean() > 0.9


def test_mixed_types_in_a_column(answered, compare, tmp_path):
    frame, _ = table_of()
    rng = np.random.default_rng(2)
    few, half = frame["x"].astype(object), frame["x"].astype(object)
    few[[3, 30]] = ["many", "unknown"]
    half[:] = rng.choice(np.array([1, 2.5, "none", "plenty"], dtype=object), N_ROWS)
    frame = frame.assign(few=few, half=half)
    _, columns = answered(frame)
    expected = "2 cells are not numbers (such as 'many') and count as missing."
    assert columns["few"][0] == "number"
    assert columns["few"][3] == expected
    assert columns["half"][:2] == ("category", "used")
    pytest.importorskip("openpyxl")
    frame.to_excel(tmp_path / "book.xlsx", index=False)
    assert compare("book.xlsx").exit_code == 0
    page = (tmp_path / "book-comparison" / "report.html").read_text(encoding="utf-8")
    columns = columns_in(page)
    assert columns["few"][0] == "number"
    assert columns["few"][3] == expected
    assert columns["half"] == (
        *("category", "used", "One column for each of 4 levels; levels seen once are grouped."),
        "It mixes numbers and text, and is treated as text.",
    )


EVIL = "<script>alert(1)</script>"
FORMULA = '=HYPERLINK("http://example.org";"<img src=x onerror=alert(1)>")'


@pytest.mark.parametrize("suffix", ["html", "md"])
def test_markup_and_formulas_are_escaped_everywhere(compare, tmp_path, suffix):
    classes = (f"no{EVIL}", FORMULA)
    frame, truth = table_of(classes)
    wrong = np.arange(N_ROWS) % 5 == 0  # so that the method changes some predictions
    frame["x"] = frame["x"].where(~wrong, 10 - frame["x"])
    frame = frame.assign(
        case=[f"{EVIL}{number}" for number in range(N_ROWS)],
        **{f"kind|{EVIL}": np.where(truth == FORMULA, f"a`|{EVIL}", "b[x](javascript:alert(1))")},
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    answer = compare("data.csv", "--id", "case", "--out", f"r.{suffix}")
    assert answer.exit_code == 0, answer.output
    report = (tmp_path / f"r.{suffix}").read_text(encoding="utf-8")
    assert EVIL in answer.output  # a terminal shows it as it is
    assert "alert(1)" in report
    body = re.sub(r"```.*?```", "", report, flags=re.DOTALL)  # code is not interpreted
    assert EVIL not in body
    assert "<img" not in body
    assert suffix == "html" or not re.search(r"(?<!\\)\]\(", body)  # no link in Markdown


@pytest.mark.parametrize("suffix", ["", ".html"])
def test_an_output_whose_name_is_too_long(compare, refused, tmp_path, monkeypatch, suffix):
    table_of()[0].to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.setattr("primum.cli.compare.open_table", lambda *_, **__: pytest.fail("was read"))
    long = "n" * (300 - len(suffix)) + suffix
    refused(
        compare("data.csv", "--out", long),
        2,
        "--out: the name nnnnnnnnnnnnnnnnnnnn... has 300 characters",
    )


def test_an_output_inside_a_file(compare, refused, tmp_path):
    table_of()[0].to_csv(tmp_path / "data.csv", index=False)
    for name in ("data.csv/answer", "data.csv/answer.html"):
        refused(compare("data.csv", "--out", name), 2, "there is no folder data.csv")


def test_warnings_of_models_fitted_for_the_report_name_classes(compare, tmp_path):
    """Three labels of a class leave one of them where a fold is held out within a fold."""
    frame, _ = table_of()
    frame.loc[[0, 1], TARGET], frame.loc[2, TARGET] = "moved", "gone"
    frame.to_csv(tmp_path / "data.csv", index=False)
    rules = ("--rare-classes", "group", "--cost", "other:yes=5")
    answer = compare("data.csv", *rules, "--baseline", "ridge", method="icls")
    assert answer.exit_code == 0, answer.output
    (said,) = [line for line in answer.stderr.splitlines() if "out of fold" in line]
    assert said.startswith("Warning: models were fitted again for the report, and one of them")
    assert "but class 'other' has 1: label more rows." in said


def test_a_class_with_two_labels_can_be_set_aside(answered, compare, refused, tmp_path):
    frame, _ = table_of()
    frame.loc[[0, 1], TARGET] = "moved away"
    frame.to_csv(tmp_path / "data.csv", index=False)
    sentence = "Class 'moved away' (2) has fewer than 3 labelled rows"
    refused(compare("data.csv"), 1, sentence, "label more rows, or pass --rare-classes drop to")
    output, _ = answered(frame, "--rare-classes", "drop")
    assert "22 labelled rows ('no': 11, 'yes': 11) and 38 unlabelled rows." in output
    assert "No model predicts the class with fewer than 3 labelled rows: 'moved away' (2)." in (
        " ".join(output.split())
    )
