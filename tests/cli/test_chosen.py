"""``--chosen``: labels that were not drawn at random train every model, and judge none."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from primum.models import load_model
from primum.reading.known import drawn_confidence

NOTE = "The column 'primum_chosen' marks labels that were chosen"
QUICK = ("--methods", "em-lda", "--repeats", 1, "--no-curves", "--jobs", 1, "--quiet")


@pytest.fixture(name="table")
def marked_table(rng):
    """Return 20 labels drawn at random and 10 chosen ones, of 90 rows; one mark has no label."""
    truth, rows = np.arange(90) % 2, np.arange(90)
    return pd.DataFrame(
        {
            "primum_row": [f"r{row}" for row in rows],
            "size": rng.normal(size=90) + 2 * truth,
            "weight": rng.normal(size=90) + truth,
            "label": np.where(rows < 30, np.where((rows >= 20) | truth, "yes", "no"), None),
            "primum_chosen": np.where((rows >= 20) & (rows < 31), "yes", None),
        }
    )


@pytest.mark.parametrize("column", ["primum_chosen", "asked"])
def test_a_comparison_judges_by_the_others(call, table, column):
    table.rename(columns={"primum_chosen": column}).to_csv("data.csv", index=False)
    named = () if column == "primum_chosen" else ("--chosen", column)
    options = ("--target", "label", *named, *QUICK, "--out", "report.json")
    answer = call("compare", "data.csv", *options)
    assert answer.exit_code == 0, answer.output
    words = " ".join(answer.output.split())
    assert "20 labelled rows ('no': 10, 'yes': 10), 10 chosen ones for training only and" in words
    assert "2 of 5 columns are used" in words
    assert words.count(NOTE) == (not named)
    report = json.loads(Path("report.json").read_text())
    assert (report["n_labeled"], report["n_chosen"], report["n_unlabeled"]) == (30, 10, 60)
    assert [one["n_labeled"] for one in report["model_card"]["classes"]] == [10, 10]
    assert report["model_card"]["guessing"] == 0.5


@pytest.mark.parametrize("prepare", ["--prepare", "--no-prepare"])
@pytest.mark.parametrize("named", [(), ("--chosen", "primum_chosen")])
def test_a_prior_comes_from_the_others(call, table, prepare, named):
    table.to_csv("data.csv", index=False)
    options = ("--target", "label", "--prior", "confidence", "--alpha", 0.1, *named, prepare)
    answer = call("fit", "data.csv", *options, "--out", "m.skops")
    assert answer.exit_code == 0, answer.output
    model = load_model(Path("m.skops")).estimator
    codes = (table["label"][:30] == "yes").to_numpy().astype(int)
    last = model if prepare == "--no-prepare" else model[-1]
    expected = drawn_confidence(codes, np.arange(30) >= 20, 2, 60, 0.95)
    np.testing.assert_allclose(last.prior_, expected)
    assert "to 30 labelled rows (10 of them chosen) and 60 unlabelled rows" in answer.output
    assert "computed from the labels that were not chosen" in answer.output
    assert "Its 2 features are size, weight." in answer.output
    assert (NOTE in answer.output) == (not named)
    assert "primum_row" not in answer.output


def test_what_is_refused(call, table, refused):
    table["primum_chosen"] = "yes"
    table.to_csv("data.csv", index=False)
    options = ("data.csv", "--target", "label")
    every = "All labelled rows of class 'no' (10) were chosen, so none can be held out"
    refused(call("compare", *options, *QUICK), 1, every)
    refused(call("compare", *options, *QUICK, "--chosen", "none"), 1, "no column 'none'")
    refused(call("fit", *options, "--chosen", "none", "--out", "m.skops"), 1, "no column 'none'")
