"""Runs that are killed, spoilt, or asked for twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from generate import two_classes
from primum import LeastSquaresClassifier
from primum_lab import (
    LEAST_SQUARES,
    CrossValidation,
    Experiment,
    LearningCurve,
    Method,
    failures,
    run_experiment,
    summarize,
)
from primum_lab.summary import per_repeat


def experiment(repeats=3, seed=0, methods=LEAST_SQUARES, design=None, names=("a", "b")):
    data = {}
    for k, name in enumerate(names):
        X, y, *_ = two_classes(90, 0, 3, seed=k)
        data[name] = (X, np.array(["no", "yes"])[y])
    design = design or CrossValidation(n_folds=3, n_labeled=10)
    return Experiment("test", data, design, methods, repeats=repeats, seed=seed)


def run(folder, *args, resume=False, n_jobs=1, **kwargs):
    return run_experiment(
        experiment(*args, **kwargs), folder, n_jobs=n_jobs, resume=resume, verbose=False
    )


def same(one, other):
    """Everything but the time is equal."""
    pd.testing.assert_frame_equal(one.drop(columns="seconds"), other.drop(columns="seconds"))


def test_rows_and_summary(tmp_path):
    results = run(tmp_path)
    assert len(results) == 2 * 3 * 3 * len(LEAST_SQUARES)
    assert results["note"].isna().all()
    summary = summarize(results, curve=False).set_index(["dataset", "classifier", "measure"])
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
    parallel = run(tmp_path / "two", n_jobs=2)
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

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_failures_are_rows_with_their_message_and_are_said_aloud(tmp_path):
    methods = (*LEAST_SQUARES[:1], Method("Fussy", Fussy(), sees="labeled"))
    said = (
        r"^Fussy failed in \d+ of 18 fits \(first error: ArithmeticError: the first row displeases"
    )
    with pytest.warns(FitFailedWarning, match=said):
        results = run(tmp_path, methods=methods)
    failed = results[results["error"].isna()]
    assert 0 < len(failed) < len(results) / 2
    assert set(failed["classifier"]) == {"Fussy"}
    assert set(failed["note"]) == {"ArithmeticError: the first row displeases me"}
    listed = failures(results)
    assert set(listed["classifier"]) == {"Fussy"}
    assert listed["times"].sum() == len(failed)
    assert set(listed["fits"]) == {9}
    summary = summarize(results, curve=False)
    fussy = summary[(summary.classifier == "Fussy") & (summary.measure == "error")]
    whole = per_repeat(results, curve=False).query("classifier == 'Fussy'")["error"].notna().sum()
    assert fussy["repeats"].sum() == whole
    assert fussy["failed"].sum() == 6 - whole


class Broken(Fussy):
    def fit(self, X, y):
        raise ArithmeticError("never")


def test_a_method_that_always_fails_is_named(tmp_path):
    methods = (*LEAST_SQUARES[:1], Method("Broken", Broken()))
    with pytest.warns(FitFailedWarning, match="^Broken failed in all 18 fits") as said:
        results = run(tmp_path, methods=methods)
    assert {one.filename for one in said} == {__file__}  # not a file of the laboratory
    summary = summarize(results, curve=False).query("classifier == 'Broken'")
    assert set(summary["repeats"]) == {0}
    assert set(summary["failed"]) == {3}
    assert summary["mean"].isna().all()


# A run that ends as if by a power cut, right after some line of its journal.
KILLED = """
import os, signal
from primum_lab import run_experiment
from primum.comparison.store import ResultStore
from tests_runner import experiment

append = ResultStore.append

def append_and_die(store, unit, rows):
    append(store, unit, rows)
    if len(store.done) == {lines}:
        os.kill(os.getpid(), signal.SIGKILL)

ResultStore.append = append_and_die
run_experiment(experiment(repeats=4), {folder!r}, verbose=False)
"""


@pytest.mark.parametrize("lines", [pytest.param(1, marks=pytest.mark.slow), 5])
def test_killed_anywhere_it_resumes_to_identical_results(tmp_path, lines):
    whole = run(tmp_path / "whole", repeats=4)
    folder = tmp_path / "killed"
    (tmp_path / "tests_runner.py").write_text(Path(__file__).read_text())
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parent.parent), *sys.path])
    code = KILLED.format(lines=lines, folder=str(folder))
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == -signal.SIGKILL
    journal = folder / "journal.jsonl"
    assert journal.read_bytes().count(b"\n") == lines
    resumed = run(folder, repeats=4, resume=True)
    same(resumed, whole)
    assert journal.read_bytes().count(b"\n") == 8
    assert not resumed.duplicated(["dataset", "repeat", "at", "classifier"]).any()


def test_slow_methods_can_be_run_less_often(tmp_path):
    rare = Method("rare", LEAST_SQUARES[3].estimator, every=2)
    results = run(tmp_path, repeats=5, methods=(*LEAST_SQUARES, rare))
    summary = summarize(results, curve=False).set_index(["dataset", "classifier", "measure"])
    assert summary.loc[("a", "rare", "error"), "repeats"] == 3
    assert summary.loc[("a", "rare", "error"), "failed"] == 0
    assert summary.loc[("a", "ICLS", "error"), "repeats"] == 5
    both = results[results["repeat"] == 2].pivot(
        index=["dataset", "at"], columns="classifier", values="error"
    )
    np.testing.assert_array_equal(both["rare"], both["ICLS"])


def test_estimators_without_a_seed_repeat_their_numbers(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 3)) + y[:, None]
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    experiment = Experiment(
        name="mine",
        data={"a": (X, y)},
        design=CrossValidation(n_labeled=12, scaling="none"),
        methods=(Method("forest", forest, sees="labeled"),),
        repeats=2,
    )
    one, other = (
        run_experiment(experiment, tmp_path / name, verbose=False).drop(columns="seconds")
        for name in ("one", "other")
    )
    pd.testing.assert_frame_equal(one, other)
    assert one.groupby("repeat")["loss_test"].mean().nunique() == 2


def test_a_log_shows_lines_of_progress(tmp_path, capsys):
    y = np.repeat([0, 1], 40)
    experiment = Experiment(
        name="mine",
        data={"a": (np.c_[y + 0.1 * np.arange(80)], y)},
        design=CrossValidation(n_labeled=12, scaling="none"),
        methods=(Method("twin", LeastSquaresClassifier(), sees="labeled"),),
        repeats=3,
    )
    run_experiment(experiment, tmp_path / "run")
    assert capsys.readouterr().err.endswith("mine: 3 of 3 repeats\n")
