"""``primum compare``: tables in, a verdict, a report and a model out; bad input in one sentence."""

import errno
import json
import os
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from primum._words import printable
from primum.cli._options import in_options
from primum.cli.compare import names_in_words
from primum.tables.problem import sampled

N_ROWS, N_LABELED = 60, 24
QUICK = ("--methods", "em-lda", "--repeats", 1, "--no-curves", "--jobs", 1, "--quiet")


@pytest.fixture(name="table")
def small_table(rng):
    truth = np.arange(N_ROWS) % 2
    return pd.DataFrame(
        {
            "case": [f"{number:03d}" for number in range(N_ROWS)],
            "size": np.round(rng.normal(size=N_ROWS) + 2 * truth, 3),
            "weight": np.round(rng.normal(size=N_ROWS) + truth, 3),
            "kind": rng.choice(["old", "new"], N_ROWS),
            "churned": np.where(np.arange(N_ROWS) < N_LABELED, np.where(truth, "yes", "no"), None),
        }
    )


@pytest.fixture
def compare(call, table, tmp_path):
    """Compare on a table of CSV, with the given options."""

    def run(*options, frame=table, **how):
        frame.to_csv(tmp_path / "data.csv", index=False, **how)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return call("compare", "data.csv", "--target", "churned", *QUICK, *options)

    return run


def succeeded(answer):
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_a_first_answer_comes_before_the_final_one_unless_quiet(call, table, tmp_path):
    table.to_csv(tmp_path / "data.csv", index=False)
    options = ("--methods", "safe-stack,em-lda", *QUICK[2:-1], "--force")
    loud = call("compare", "data.csv", "--target", "churned", *options)
    first = "First answer, from the baseline and the safe stack alone; it is not the final"
    assert first in loud.stderr
    assert "Still running: EM-LDA" in " ".join(loud.stderr.split())
    quiet = call("compare", "data.csv", "--target", "churned", *options, "--quiet")
    assert quiet.stderr == ""
    assert succeeded(quiet) == loud.stdout


def test_a_verdict_a_table_and_a_report(compare, tmp_path):
    output = succeeded(compare("--id", "case"))
    assert "24 labelled rows ('no': 12, 'yes': 12) and 36 unlabelled rows." in output
    assert "3 of 5 columns are used" in output
    assert "tuned baseline" in output
    first = {line.split(" ")[0] for line in output.splitlines()}
    assert {"baseline", "ridge", "logistic", "EM-LDA"} <= first
    assert "The model to deploy is the tuned baseline: error " in output
    model = output[output.index("recall") :].splitlines()[2:4]
    assert [line.split()[:2] for line in model] == [["no", "12"], ["yes", "12"]]
    assert sum(int(line.split()[-1]) for line in model) == 36
    assert max(map(len, output.splitlines())) <= 80
    words = " ".join(output.split())
    assert "change: its difference from that of the tuned baseline; negative is better." in words
    of_table = output[output.index("method ") :].splitlines()
    rows = {line[:18].strip(): line[18:].split() for line in of_table[2:] if line[18:26].strip()}
    losses = {
        name: float(cells[0]) for name, cells in rows.items() if name in ("baseline", "EM-LDA")
    }
    difference = losses["EM-LDA"] - losses["baseline"]
    assert float(rows["EM-LDA"][1]) == pytest.approx(difference, abs=0.101)  # three rounded numbers
    assert "baseline: the average of tuned ridge and logistic regression. " in words
    assert "Report: data-comparison/report.html" in output
    page = (tmp_path / "data-comparison" / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "churned" in page


def test_the_stored_model_predicts(compare, call, tmp_path, table):
    output = succeeded(compare("--id", "case", "--save-model", "m.skops"))
    assert "Model: m.skops (" in output
    succeeded(call("predict", "m.skops", "data.csv", "--out", "p.csv"))
    found = pd.read_csv(tmp_path / "p.csv", dtype={"case": str})
    assert list(found) == ["case", "prediction", "probability_no", "probability_yes"]
    assert found["case"].tolist() == table["case"].tolist()
    likely = np.where(found["probability_yes"] > 0.5, "yes", "no")
    assert found["prediction"].tolist() == likely.tolist()
    known = table["churned"].notna()
    assert (found["prediction"] == table["churned"])[known].mean() > 0.7


def test_formats(compare, tmp_path):
    succeeded(compare("--format", "json"))
    found = json.loads((tmp_path / "data-comparison" / "report.json").read_text())
    assert found["n_labeled"] == N_LABELED
    assert found["target"] == "churned"
    output = succeeded(compare("--out", "answer.md", "--seed", 1))
    assert "Report: answer.md" in output
    assert (tmp_path / "answer.md").read_text().startswith("# ")
    answer = compare("--out", "answer.md", "--format", "json")
    assert "--out answer.md is not a file of the --format json" in answer.output


def test_resuming_and_replacing(compare, refused, tmp_path):
    first = succeeded(compare("--format", "json"))
    refused(compare("--format", "json"), 2, "exists: pass --force", "--resume to continue")
    again = succeeded(compare("--format", "json", "--resume"))
    assert again == first
    refused(compare("--seed", 3, "--resume"), 1, "results of another configuration", "with --out")
    refused(compare("--seed", 2**32), 2, "Invalid value for '--seed'")
    journal = tmp_path / "data-comparison" / "fits" / "journal.jsonl"
    before = journal.read_bytes()
    refused(compare("--force", "--group", "none"), 1, "no column 'none'")
    assert journal.read_bytes() == before  # a mistake does not delete what is there
    succeeded(compare("--seed", 3, "--format", "json", "--force"))
    assert journal.read_bytes() != before
    assert sorted(path.name for path in journal.parents[1].iterdir()) == ["fits", "report.json"]


def test_output_that_cannot_be_written_is_refused_first(compare, refused, tmp_path, monkeypatch):
    monkeypatch.setattr("primum.cli.compare.open_table", lambda *_, **__: pytest.fail("was read"))
    refused(compare("--out", "none/answer"), 2, "there is no folder none")
    refused(compare("--out", "none/answer.html"), 2, "there is no folder none")
    refused(compare("--save-model", "none/m.skops"), 2, "there is no folder none")
    (tmp_path / "taken").write_text("mine")
    refused(compare("--out", "taken"), 2, "taken exists and is not a folder")
    (tmp_path / "m.skops").write_text("mine")
    refused(compare("--save-model", "m.skops"), 2, "m.skops exists: pass --force")
    (tmp_path / "a.html").write_text("mine")
    refused(compare("--out", "a.html"), 2, "a.html exists: pass --force to replace it")
    refused(compare("--out", "b.html", "--resume"), 2, "--resume needs a folder")
    refused(compare("--save-model", "data.csv", "--force"), 2, "data.csv is DATA itself")
    refused(compare("--out", "b.html", "--save-model", "b.html"), 2, "b.html is the report")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_permission(compare, refused, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    refused(compare("--out", "closed/answer"), 2, "cannot be written to")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "data.csv is empty"),
        ("a,churned\n", "column names but no rows"),
        ("a,churned\n1,\n2,\n3,\n", "No row is labelled"),
        ("a,churned\n1,yes\n2,yes\n3,\n", "All 2 labels in column 'churned' are 'yes'"),
        ("a,Churned\n1,yes\n2,no\n", "no column 'churned' (did you mean 'Churned'?)"),
        ("a,churned\n1,yes\n2,no\n3,\n", "label"),
        ("churned\nyes\nno\n\n", "No column is left to learn from"),
    ],
)
def test_tables_without_an_answer(call, refused, tmp_path, content, words):
    (tmp_path / "data.csv").write_text(content)
    answer = call("compare", "data.csv", "--target", "churned", *QUICK)
    refused(answer, 1, words)
    assert not (tmp_path / "data-comparison").exists()


def test_files_that_are_no_tables(call, refused, tmp_path):
    (tmp_path / "data.pdf").write_text("a,b\n1,2\n")
    refused(call("compare", "data.pdf", "--target", "b"), 1, "data.pdf is neither CSV nor Parquet")
    (tmp_path / "data.xlsx").write_bytes(b"not a workbook")
    refused(call("compare", "data.xlsx", "--target", "b"), 1, "cannot be read as a spreadsheet")
    (tmp_path / "data.parquet").write_bytes(b"PAR1 not")
    refused(call("compare", "data.parquet", "--target", "b"), 1, "data.parquet cannot be read")
    refused(call("compare", "none.csv", "--target", "b"), 2, "'none.csv' does not exist")


def test_unknown_methods_and_scorings(compare, refused):
    refused(compare("--methods", "icsl"), 2, "unknown method 'icsl' (did you mean 'icls'?)")
    refused(compare("--methods", "icls,icls"), 2, "'icls' is listed twice")
    refused(compare("--scoring", "accurate"), 1, "accurate")
    refused(compare("--jobs", 0), 2, "must be -1 or at least 1")


def test_another_baseline(compare, refused, monkeypatch):
    output = succeeded(compare("--baseline", "hist-gradient-boosting"))
    assert "baseline: hist_gradient_boosting. " in " ".join(output.split())
    refused(compare("--baseline", "tabpnf"), 2, "unknown baseline 'tabpnf' (did you mean 'tabpfn'")
    monkeypatch.setitem(sys.modules, "tabpfn", None)
    refused(compare("--baseline", "tabpfn"), 2, "pip install tabpfn", "commercial")
    refused(compare("--methods", "tabpfn"), 2, "pip install tabpfn", "commercial")


def test_list_of_methods(call):
    output = succeeded(call("compare", "--list-methods"))
    names = [line.split()[0] for line in output.splitlines()]
    assert names[:6] == ["safe-stack", "icls", "self-learning", "tsvm", "forest", "boosting"]
    assert "compared by default, supervised" in output.splitlines()[4]
    assert "kernel-icls" in names
    assert names[-4:] == ["hist-gradient-boosting", "tabpfn", "tabicl", "catboost"]


def test_all_rows_labelled(compare, table):
    output = succeeded(compare(frame=table[:N_LABELED]))
    assert "All 24 rows are labelled ('no': 12, 'yes': 12), so there are no unlabelled" in output


def test_cells_with_markup_and_control_characters(compare, table, tmp_path):
    script = "<script>alert(1)</script>"
    evil = table.rename(columns={"size": script, "weight": "=cmd|' /C calc'!A0"})
    evil["churned"] = evil["churned"].replace({"yes": f"\x1b[31m{script}", "no": "=1+1"})
    output = succeeded(compare(frame=evil))
    assert "\x1b" not in output
    assert "\\x1b[31m" in output
    page = (tmp_path / "data-comparison" / "report.html").read_text(encoding="utf-8")
    assert script not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_spreadsheet_export_with_accents_and_groups(compare, table):
    table = table.rename(columns={"size": "größe"}).assign(patient=np.arange(N_ROWS) // 2)
    table["churned"] = table["churned"].replace({"yes": "gekündigt", "no": "treu"})
    options = ("--group", "patient", "--exclude", "case", "--missing", "k.A.")
    table.loc[5, "größe"] = None
    output = succeeded(compare(*options, frame=table, sep=";", decimal=",", na_rep="k.A."))
    assert "'gekündigt': 12, 'treu': 12" in output


def test_a_long_table_is_sampled(compare, table):
    long = pd.concat([table] * 5, ignore_index=True).drop(columns="case")
    output = succeeded(compare("--max-rows", 200, frame=long))
    assert "100 labelled rows" in output
    sentence = "a random sample: 100 of 120 labelled and 100 of 180 unlabelled rows;"
    assert sentence in output.replace("\n", " ")


def test_a_sample_keeps_rare_classes(rng):
    labels = np.array(["often"] * 5000 + ["rare"] * 30 + [None] * 5000, dtype=object)
    frame = pd.DataFrame({"x": rng.normal(size=len(labels)), "y": labels})
    part, note = sampled(frame, "y", (), 1000, seed=0)
    counts = part["y"].value_counts()
    assert counts["rare"] == 30
    assert abs(counts["often"] - 497) <= 1
    assert len(part) == 1000
    assert "of 5,030 labelled" in note
    same, nothing = sampled(frame, "y", (), len(frame), seed=0)
    assert same is frame
    assert nothing == ""


def test_a_reader_who_stops_reading_loses_no_file(compare, table, rng, tmp_path, monkeypatch):
    unclear = table.assign(size=rng.normal(size=N_ROWS), weight=rng.normal(size=N_ROWS))

    def closed(*_, **__):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("click.echo", closed)
    answer = compare("--id", "case", "--save-model", "m.skops", frame=unclear)
    assert (answer.exit_code, answer.output) == (1, "")
    folder = tmp_path / "data-comparison"
    names = ["fits", "label.html", "models", "report.html", "rows_to_label.csv", "settlement.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert (tmp_path / "m.skops").exists()


def named(*names):
    return [SimpleNamespace(name=name) for name in names]


@pytest.mark.parametrize(
    ("baselines", "methods", "shown", "expected"),
    [
        (["ridge", "logistic"], ["ICLS"], "", "the average of tuned ridge and logistic regression"),
        (["a", "b"], ["ICLS"], "the supervised stack", "the average of a and b"),
        (["a"], ["safe stack"], "", "a; safe stack: a weighted average"),
        (["a"], ["safe stack"], "the supervised stack", "; supervised stack: the same without"),
    ],
)
def test_names_that_occur_are_explained(baselines, methods, shown, expected):
    plan = SimpleNamespace(baselines=named(*baselines))
    text = names_in_words(SimpleNamespace(plan=plan, methods=named(*methods)), shown)
    assert text.startswith("baseline: ")
    assert expected in text
    assert ("supervised stack" in text) == ("; supervised stack" in expected)


def test_control_characters_are_shown():
    assert printable("a\x1b[2Jé\tü\n") == "a\\x1b[2Jé\\tü\n"


def test_interruption(compare, refused, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("primum.compare", interrupted, raising=False)
    refused(compare(), 1, "Stopped; continue with --resume.")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("scoring='r2' is for numeric targets: choose", "--scoring r2 is for numeric targets"),
        ("n_repeats=0 is too few", "--repeats 0 is too few"),
        ("there are no scores", "there are no scores"),
    ],
)
def test_messages_name_options(said, shown):
    assert in_options(said).startswith(shown)


def test_a_scoring_for_numbers_is_named_by_its_option(compare, refused):
    refused(compare("--scoring", "r2"), 1, "Error: --scoring r2 is for numeric targets")


@pytest.mark.parametrize("name", ["boosting", "logistic"])
def test_any_model_of_the_table_is_saved_by_name(compare, call, tmp_path, table, name):
    options = ("--methods", "boosting", "--model", name, "--save-model", "m.skops")
    output = succeeded(compare("--id", "case", *options))
    assert f"Model: m.skops ({name}), for primum predict" in output
    succeeded(call("predict", "m.skops", "data.csv", "--out", "p.csv"))
    found = pd.read_csv(tmp_path / "p.csv")["prediction"]
    known = table["churned"].notna()
    assert (found == table["churned"])[known].mean() > 0.7


def test_a_model_that_is_not_in_the_table_is_refused_first(compare, refused, monkeypatch):
    monkeypatch.setattr("primum.cli.compare.open_table", lambda *_, **__: pytest.fail("was read"))
    refused(compare("--model", "baseline"), 2, "--model names the model to save", "--save-model")
    answer = compare("--model", "forrest", "--save-model", "m.skops")
    refused(answer, 2, "no model 'forrest': choose from baseline, ridge, logistic, EM-LDA.")


def test_rows_do_not_both_belong_together_and_not(compare):
    answer = compare("--group", "plan", "--independent-rows")
    assert answer.exit_code == 2
    assert "--independent-rows says that no rows belong together, but --group" in answer.output


def test_labels_that_are_no_random_sample(compare, tmp_path):
    output = succeeded(compare("--shift", "label", "--out", "report.json"))
    words = " ".join(output.split())
    assert "weighted to estimate those on the unlabelled rows (shift='label')" in words
    assert "Shares of the classes among the 36 unlabelled rows, with 95% intervals: 'no' " in words
    stored = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert stored["shift"]["kind"] == "label"
    assert sum(one["estimate"] for one in stored["shares"]["classes"]) == pytest.approx(1)
    answer = compare("--shift", "prior", "--force")
    assert answer.exit_code == 2
    assert "'prior' is not one of 'none', 'label', 'covariate'" in answer.output
