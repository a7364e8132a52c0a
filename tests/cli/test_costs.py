"""``primum compare`` with costs and a positive class: from a table to predictions."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from primum.cli.main import primum

QUICK = ["--methods", "self-learning", "--repeats", "1", "--no-curves", "--jobs", "1", "--quiet"]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    fraud = rng.random(200) < 0.2
    frame = pd.DataFrame(rng.normal(size=(200, 2)) + 1.3 * fraud[:, None], columns=["a", "b"])
    frame["fraud"] = np.where(np.arange(200) < 90, np.where(fraud, "yes", "no"), "")
    frame.to_csv(tmp_path / "cases.csv", index=False)
    return tmp_path / "cases.csv"


def run(table, *options):
    out = ["--out", str(table.parent / "out")]
    command = ["compare", str(table), "--target", "fraud", *QUICK, *out, *options]
    return CliRunner().invoke(primum, command)


def test_the_saved_model_predicts_by_the_costs(table):
    model, out = table.parent / "model.skops", table.parent / "predictions.csv"
    result = run(table, "--cost", "yes:no=8", "--save-model", str(model))
    assert result.exit_code == 0, result.output
    assert "cost per row" in result.output
    assert "predicts 'yes' where its score is at least 0." in " ".join(result.output.split())
    asked = ["predict", str(model), str(table), "--out", str(out)]
    predicted = CliRunner().invoke(primum, asked)
    assert predicted.exit_code == 0
    said = " ".join(predicted.output.split())
    assert "Classes follow the costs of errors, not the largest score: 'yes' is predicted" in said
    found = pd.read_csv(out)
    yes = found[found.prediction == "yes"].probability_yes
    assert found[found.prediction == "no"].probability_yes.max() < yes.min() < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cost", "maybe:no=5"], "names the class 'maybe', which no labelled row has"),
        (["--cost", "yes:no=-5"], "The cost of predicting 'no' for 'yes' is -5"),
        (["--cost", "yes:yes=5"], "where it is right: correct predictions cost 0"),
        (["--cost", "yes=5"], "'yes=5' is not the cost of an error"),
        (["--cost", "yes:no=2", "--cost", "yes:no=3"], "the cost of yes:no is given twice"),
        (["--positive", "maybe"], "positive names the class 'maybe'"),
        (["--scoring", "f1"], "pass --positive yes, for example"),
        (["--cost", "yes:no=2", "--scoring", "f1"], "but --scoring f1 is given too"),
        (
            ["--cost", "yes:no=2", "--model", "ridge", "--save-model", "model.skops"],
            "there is no model 'ridge': choose from baseline, self-learning",
        ),
    ],
)
def test_errors_are_one_sentence(table, options, message):
    result = run(table, *options)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
