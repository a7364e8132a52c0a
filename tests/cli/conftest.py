"""Files to fit to, and calls of the command line."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from primum.cli.main import primum


@pytest.fixture(autouse=True)
def quick_comparisons(monkeypatch, quick_drift):
    """Tune in two folds, and let five trees find leaks.

    Three folds and 25 trees take half of the time of a small comparison.
    """
    monkeypatch.setattr("primum.tables.remarks.N_FOREST_TREES", 5)
    monkeypatch.setattr("primum.comparison.plan.MAX_INNER_FOLDS", 2)


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(primum, [str(a) for a in arguments])


@pytest.fixture
def call_without_preparation(call):
    """Calls in which ``primum fit`` uses numbers as they are."""
    return lambda *a: call(*a, "--no-prepare") if a[0] == "fit" else call(*a)


@pytest.fixture
def rows(rng):
    y = np.tile([0, 1], 250)
    X = rng.normal(size=(500, 3)) + y[:, None]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["label"] = np.where(y == 1, "yes", "no")
    return frame


@pytest.fixture
def files(tmp_path, rows):
    """Ten labelled rows, ten without a label, and the others in CSV and Parquet."""
    data = rows[:20].copy()
    data.loc[10:, "label"] = None
    data.to_csv(tmp_path / "data.csv", index=False)
    data.to_parquet(tmp_path / "data.parquet")
    more = rows[20:].drop(columns="label")
    more.to_csv(tmp_path / "more.csv", index=False)
    (tmp_path / "more").mkdir()
    more[:100].to_parquet(tmp_path / "more" / "0.parquet")
    more[100:].to_parquet(tmp_path / "more" / "1.parquet", row_group_size=50)
    return tmp_path


@pytest.fixture
def refused():
    """Check that a call failed with one sentence that has some words in it."""

    def check(answer, code, *words):
        assert answer.exit_code == code, answer.output
        assert "Traceback" not in answer.output
        assert isinstance(answer.exception, SystemExit)
        sentence = answer.output.strip().splitlines()[-1]
        assert sentence.startswith("Error: ")
        for word in words:
            assert word in sentence

    return check
