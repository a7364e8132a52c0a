"""Runs that are killed, spoilt, or asked for twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from generate import two_classes
from primum.evaluation import (
    LEAST_SQUARES,
    CrossValidation,
    Experiment,
    LearningCurve,
    Method,
    ResultsError,
    per_repeat,
    run_experiment,
    summarise,
)


def experiment(repeats=3, seed=0, methods=LEAST_SQUARES, design=None, names=("a", "b")):
    data = {}
    for k, name in enumerate(names):
        X, y, *_ = two_classes(90, 0, 3, seed=k)
        data[name] = (X, np.array(["no", "yes"])[y])
    design = design or CrossValidation(n_folds=3, n_labeled=10)
    return Experiment("test", data, design, methods, repeats=repeats, seed=seed)


def run(folder, *args, resume=False, jobs=1, **kwargs):
    return run_experiment(
        experiment(*args, **kwargs), folder, jobs=jobs, resume=resume, progress=False
    )


def same(one, other):
    """Everything but the time is equal."""
    pd.testing.assert_frame_equal(one.drop(columns="seconds"), other.drop(columns="seconds"))


def test_rows_and_summary(tmp_path):
    results = run(tmp_path)
    assert len(results) == 2 * 3 * 3 * len(LEAST_SQUARES)
    assert results["note"].isna().all()
    summary = summarise(results, curve=False).set_index(["dataset", "classifier", "measure"])
    by_hand = results[(results.dataset == "a") & (results.classifier == "ICLS")]
    repeats = by_hand.groupby("repeat")["error"].mean()
    cell = summary.loc[("a", "ICLS", "error")]
    assert cell["mean"] == pytest.approx(repeats.mean())
    assert cell["sd_over_repeats"] == pytest.approx(repeats.std())
    twin = results[(results.dataset == "a") & (results.classifier == "Supervised")]
    worse = (repeats > twin.groupby("repeat")["error"].mean()).sum()
    assert cell["times_worse"] == worse


def test_any_subset_any_order_any_number_of_processes_gives_the_same_numbers(tmp_path):
    everything = run(tmp_path / "all")
    alone = run(tmp_path / "one", names=("a", "b")[:1])
    parallel = run(tmp_path / "two", jobs=2)
    same(parallel, everything)
    same(alone, everything[everything.dataset == "a"].reset_index(drop=True))


def test_more_repeats_can_be_added(tmp_path):
    run(tmp_path / "grown", repeats=1)
    grown = run(tmp_path / "grown", repeats=3, resume=True)
    same(grown, run(tmp_path / "whole", repeats=3))


def test_learning_curves_keep_sizes_apart(tmp_path):
    results = run(tmp_path, design=LearningCurve(n_labeled=10, sizes=(2, 8)))
    assert sorted(results["n_unlabeled"].unique()) == [2, 8]
    assert len(per_repeat(results, curve=True)) == 2 * 3 * 2 * len(LEAST_SQUARES)


class Fussy(ClassifierMixin, BaseEstimator):
    """A classifier that fails on some training sets."""

    def fit(self, X, y):
        if X[0, 0] > 0:
            raise ArithmeticError("the first row displeases me")
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]


def test_failures_are_rows_with_their_message(tmp_path):
    results = run(tmp_path, methods=(*LEAST_SQUARES[:1], Method("Fussy", Fussy())))
    failed = results[results["error"].isna()]
    assert 0 < len(failed) < len(results) / 2
    assert set(failed["classifier"]) == {"Fussy"}
    assert set(failed["note"]) == {"ArithmeticError: the first row displeases me"}
    summary = summarise(results, curve=False)
    fussy = summary[(summary.classifier == "Fussy") & (summary.measure == "error")]
    whole = per_repeat(results, curve=False).query("classifier == 'Fussy'")["error"].notna().sum()
    assert fussy["repeats"].sum() == whole
    assert fussy["failed"].sum() == 6 - whole


@pytest.mark.parametrize("lines", [1, 5])
def test_killed_anywhere_it_resumes_to_identical_results(tmp_path, lines):
    whole = run(tmp_path / "whole", repeats=40)
    folder = tmp_path / "killed"
    code = (
        "from tests_runner import experiment\n"
        "from primum.evaluation import run_experiment\n"
        f"run_experiment(experiment(repeats=40), {str(folder)!r}, progress=False)\n"
    )
    here = tmp_path / "tests_runner.py"
    here.write_text(Path(__file__).read_text())
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parent.parent), *sys.path])
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    journal = folder / "journal.jsonl"
    while not journal.exists() or journal.read_bytes().count(b"\n") < lines:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = journal.read_bytes().count(b"\n")
    assert before < 80
    resumed = run(folder, repeats=40, resume=True)
    same(resumed, whole)
    assert journal.read_bytes().count(b"\n") == 80
    assert not resumed.duplicated(["dataset", "repeat", "at", "classifier"]).any()


def test_a_half_written_line_is_done_again(tmp_path):
    whole = run(tmp_path)
    journal = tmp_path / "journal.jsonl"
    for cut in (1, 50, 700):
        journal.write_bytes(journal.read_bytes()[:-cut])
        same(run(tmp_path, resume=True), whole)


def test_a_corrupt_line_is_named_and_kept(tmp_path):
    run(tmp_path)
    journal = tmp_path / "journal.jsonl"
    spoilt = journal.read_text().replace('"a",1]', '"a",2]', 1)
    journal.write_text(spoilt)
    with pytest.raises(ResultsError, match=r"Line \d of .*journal.jsonl is corrupt: delete that"):
        run(tmp_path, resume=True)
    assert journal.read_text() == spoilt


def test_existing_results_are_not_overwritten(tmp_path):
    run(tmp_path)
    with pytest.raises(ResultsError, match="already holds results: pass --resume to continue"):
        run(tmp_path)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"seed": 1}, "seed was 0, now 1"),
        ({"methods": LEAST_SQUARES[:2]}, "methods was"),
        ({"design": CrossValidation(n_folds=4, n_labeled=10)}, "design was"),
    ],
)
def test_results_of_another_configuration_are_refused(tmp_path, change, key):
    run(tmp_path)
    before = (tmp_path / "journal.jsonl").read_bytes()
    with pytest.raises(ResultsError, match=f"results of another configuration .{key}"):
        run(tmp_path, resume=True, **change)
    assert (tmp_path / "journal.jsonl").read_bytes() == before


def test_other_data_under_the_same_name_are_refused(tmp_path):
    run(tmp_path)
    other = experiment()
    other.data["a"] = (other.data["a"][0][:80], other.data["a"][1][:80])
    with pytest.raises(ResultsError, match=r"another configuration .data was .*90 x 3"):
        run_experiment(other, tmp_path, resume=True, progress=False)


def test_the_snapshot_says_what_was_run(tmp_path):
    run(tmp_path)
    snapshot = json.loads((tmp_path / "config.json").read_text())
    assert snapshot["config"]["methods"]["ICLS"].startswith("ICLSClassifier(rcond=1.49")
    assert {"python", "numpy", "scipy", "scikit-learn", "primum"} <= set(snapshot["versions"])


def test_bad_experiments():
    with pytest.raises(ValueError, match="repeats must be at least 1, got 0"):
        experiment(repeats=0)
    with pytest.raises(ValueError, match="'c' must have one label per row and two classes"):
        Experiment("x", {"c": (np.zeros((5, 2)), np.zeros(5))}, CrossValidation(), LEAST_SQUARES)


def test_unwritable_folder(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResultsError, match=r"Cannot write results to .*choose another folder"):
        run(tmp_path / "file" / "inside")


def test_slow_methods_can_be_run_less_often(tmp_path):
    rare = Method("rare", LEAST_SQUARES[3].estimator, every=2)
    results = run(tmp_path, repeats=5, methods=(*LEAST_SQUARES, rare))
    summary = summarise(results, curve=False).set_index(["dataset", "classifier", "measure"])
    assert summary.loc[("a", "rare", "error"), "repeats"] == 3
    assert summary.loc[("a", "rare", "error"), "failed"] == 0
    assert summary.loc[("a", "ICLS", "error"), "repeats"] == 5
    both = results[results["repeat"] == 2].pivot(
        index=["dataset", "at"], columns="classifier", values="error"
    )
    np.testing.assert_array_equal(both["rare"], both["ICLS"])
