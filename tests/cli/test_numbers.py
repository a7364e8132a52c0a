"""A table of prices through the command: a verdict, a model and predictions."""

import numpy as np
import pandas as pd

import tables_like


def test_prices_to_a_verdict_a_model_and_predictions(call, refused, tmp_path):
    frame = tables_like.houses()
    frame.to_csv(tmp_path / "houses.csv", index=False)
    options = ("--methods", "forest", "--repeats", 1, "--no-curves", "--jobs", 1, "--quiet")
    save = ("--save-model", "m.skops")
    answer = call("compare", "houses.csv", "--target", "price", *options, *save)
    assert answer.exit_code == 0, answer.output
    text = " ".join(answer.output.split())
    assert "69 different numbers in 70 labels, so numbers are predicted; --classes treats" in text
    assert "units of price" in text
    assert (tmp_path / "houses-comparison" / "report.html").exists()
    answer = call("predict", "m.skops", "houses.csv", "--out", "p.csv")
    assert "in units of price" in answer.output
    found = pd.read_csv("p.csv")["prediction"]
    known = frame["price"].astype(float)
    assert np.corrcoef(found[known.notna()], known.dropna())[0, 1] > 0.9
    refused(
        call("predict", "m.skops", "houses.csv", "--score", "raw", "--out", "q.csv"),
        1,
        "--score is for models of classes",
    )
    refused(
        call("fit", "houses.csv", "--target", "price", "--out", "f.skops"),
        1,
        "is a numeric target, and primum fit fits classifiers: primum compare --save-model",
    )
