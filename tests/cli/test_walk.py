"""How many functions one reads to follow a comparison and its settlement by the command."""

import shutil

import numpy as np
import pandas as pd
import pytest

from walk import functions_of

# Lower them whenever a command takes fewer.
MOST_FUNCTIONS = {"forest": 881, "forest,icls": 1093}
# The report is written again as a whole.
MOST_OF_SETTLE = 286


@pytest.fixture(autouse=True)
def quick_comparisons():
    """Count a comparison as users run it, without shortcuts of the other tests."""


@pytest.fixture
def compare(call, rng):
    """Return a function that compares methods on a table of 150 rows."""
    y = np.arange(150) % 2
    X = rng.normal(size=(150, 3)) * np.where(y, 1.5, 1.0)[:, None] + 0.8 * y[:, None]
    frame = pd.DataFrame(X.round(3), columns=["a", "b", "c"])
    frame["churn"] = np.where(np.arange(150) < 40, np.where(y, "yes", "no"), None)
    frame.to_csv("data.csv", index=False)
    table = ("data.csv", "--target", "churn", "--no-curves", "--repeats", 1, "--jobs", 1, "--quiet")

    def run(methods):
        answer = call("compare", *table, "--methods", methods, "--force")
        assert answer.exit_code == 0, answer.output

    return run


@pytest.mark.parametrize("methods", MOST_FUNCTIONS)
def test_a_comparison_runs_few_functions(compare, methods):
    found = functions_of(lambda: compare(methods))
    assert len(found) <= MOST_FUNCTIONS[methods], "\n".join(sorted(found))


def test_a_settlement_runs_few_functions(compare, call, tmp_path):
    compare("forest")
    sheet = tmp_path / "data-comparison" / "rows_to_label.csv"
    filled = pd.read_csv(sheet, dtype=str).assign(churn="yes")
    filled.to_csv(sheet, index=False)
    shutil.copytree(tmp_path / "data-comparison", tmp_path / "before")

    def settle():
        shutil.rmtree(tmp_path / "data-comparison")
        shutil.copytree(tmp_path / "before", tmp_path / "data-comparison")
        answer = call("settle", "data-comparison")
        assert answer.exit_code == 0, answer.output
        assert "new labels" in answer.output

    found = functions_of(settle)
    assert len(found) <= MOST_OF_SETTLE, "\n".join(sorted(found))
