"""Free text and embeddings on the command line, from a file to predictions."""

import numpy as np
import pandas as pd
import pytest

import tables_like

QUICK = ("--repeats", 1, "--no-curves", "--jobs", 1, "--quiet")


@pytest.fixture
def said(call):
    def run(*arguments):
        answer = call(*arguments)
        assert answer.exit_code == 0, answer.output
        return " ".join(answer.output.split())

    return run


def test_text_goes_from_a_file_to_predictions(said, tmp_path):
    frame, truth = tables_like.remarks(200)
    frame.to_csv("remarks.csv", index=False)
    options = ("--target", "topic", "--methods", "icls", *QUICK)
    model = ("--save-model", "m.skops", "--model", "baseline")
    output = said("compare", "remarks.csv", *options, *model)
    assert "2 of 3 columns are used" in output
    said("predict", "m.skops", "remarks.csv", "--out", "predicted.csv")
    predicted = pd.read_csv(tmp_path / "predicted.csv")
    assert np.mean(predicted["prediction"] == truth) > 0.6


def test_fit_says_that_text_became_components(said):
    frame, _ = tables_like.remarks(200)
    frame.to_csv("remarks.csv", index=False)
    output = said("fit", "remarks.csv", "--target", "topic", "--alpha", 0.1, "--out", "m.skops")
    assert "Its 50 features are component 1, component 2" in output


def test_vectors_in_parquet_are_a_block(said, call, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 120)
    vectors = rng.normal(size=(120, 16)) + truth[:, None]
    frame = pd.DataFrame({"embedding": list(vectors)})
    frame["kind"] = np.where(np.arange(120) < 40, np.array(["a", "b"])[truth], None)
    frame.to_parquet("table.parquet")
    options = ("--target", "kind", "--methods", "em-lda", *QUICK, "--save-model", "m.skops")
    said("compare", "table.parquet", *options)
    report = (tmp_path / "table-comparison" / "report.html").read_text(encoding="utf-8")
    assert "16 numbers, scaled together." in report
    said("predict", "m.skops", "table.parquet", "--out", "predicted.csv")
    assert np.mean(pd.read_csv("predicted.csv")["prediction"] == np.array(["a", "b"])[truth]) > 0.9
    frame["embedding"] = list(vectors[:, :9])
    frame.to_parquet("other.parquet")
    refused = call("predict", "m.skops", "other.parquet", "--out", "none.csv")
    assert refused.exit_code != 0
    assert "No cell of column 'embedding' of other.parquet is a vector of 16 numbers" in " ".join(
        refused.output.split()
    )
