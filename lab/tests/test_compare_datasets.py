"""``primum compare`` on the data sets of the paper, with most labels hidden."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from primum_lab.datasets import CATALOGUE, available, load

FOLDER = os.environ.get("PRIMUM_DATA")
LABELED_PER_CLASS = 20
LARGEST = 2000  # rows; the test is about the command, not about its speed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(FOLDER is None, reason="PRIMUM_DATA names no folder with the data sets"),
]


def hidden(name):
    """Return a data set as a table, with the labels of a few rows of every class, and the truth."""
    if name not in available(Path(FOLDER)):
        pytest.skip(f"{name} is not in PRIMUM_DATA")
    found, rng = load(name, Path(FOLDER)), np.random.default_rng(0)
    rows = rng.permutation(len(found.X))[:LARGEST]
    truth = np.array(["first", "second"], dtype=object)[found.codes[rows]]
    table = pd.DataFrame(np.asarray(found.X)[rows]).add_prefix("feature ")
    place = pd.Series(truth).groupby(truth).cumcount()
    return table.assign(answer=np.where(place < LABELED_PER_CLASS, truth, None)), truth


@pytest.mark.parametrize("name", CATALOGUE)
def test_verdict_and_predictions(call, tmp_path, name):
    table, truth = hidden(name)
    table.to_csv(tmp_path / "data.csv", index=False)
    limits = ("--repeats", 1, "--no-curves", "--jobs", 1, "--time-budget", 60, "--quiet")
    compare = ("compare", "data.csv", "--target", "answer", "--save-model", "m.skops", *limits)
    answer = call(*compare)
    assert answer.exit_code == 0, answer.output
    assert "tuned baseline" in answer.output
    assert max(map(len, answer.output.splitlines())) <= 80
    answer = call("predict", "m.skops", "data.csv", "--out", "p.csv")
    assert answer.exit_code == 0, answer.output
    found = pd.read_csv("p.csv")
    unknown = table["answer"].isna().to_numpy()
    accuracy = (found["prediction"] == truth)[unknown].mean()
    assert accuracy > 0.5 - 3 * 0.5 / np.sqrt(unknown.sum())  # no worse than guessing
