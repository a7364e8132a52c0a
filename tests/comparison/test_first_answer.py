"""The first answer of a comparison: baseline and safe stack, before anything else is fitted."""

import io
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import primum
from generate import two_classes
from primum import LeastSquaresClassifier, SafeClassifier, SafeRegressor
from primum.comparison import run

pytestmark = pytest.mark.usefixtures("quick_drift")

BASELINES = [("ridge", LeastSquaresClassifier(alpha=0.1)), ("logistic", LogisticRegression())]
SAFE = ("safe stack", SafeClassifier(["spreading"], cv=3, n_repeats=1))
NEAR = ("near", KNeighborsClassifier(), False)
SETTINGS = {"baseline": BASELINES, "methods": [NEAR, SAFE], "n_repeats": 2}
SAID = "First answer, from the baseline and the safe stack alone; it is not the final one."


def partly(n_labeled=40, n_unlabeled=60):
    X, y, X_u, _ = two_classes(n_labeled, n_unlabeled, 3)
    return np.vstack([X, X_u]), np.r_[y, np.full(n_unlabeled, -1)]


@pytest.fixture
def events(monkeypatch):
    """The fits, and what is said, in their order."""
    happened, run_task = [], run.run_task

    def fit(task, *others):
        happened.append((task.stage, task.entry.name, task.number))
        return run_task(task, *others)

    monkeypatch.setattr(run, "run_task", fit)
    monkeypatch.setattr("primum.comparison.compare.say", happened.append)
    return happened


def said(events):
    return [text for text in events if isinstance(text, str)]


@pytest.mark.parametrize("options", [{}, {"nested": True}, {"time_budget": 1e6}])
def test_nothing_else_is_fitted_before_it_and_nothing_twice(events, options):
    primum.compare(*partly(), **SETTINGS, **options, curves=True)
    (text,) = said(events)
    before, after = events[: events.index(text)], events[events.index(text) + 1 :]
    assert {name for _, name, _ in before} == {"ridge", "logistic", "safe stack"}
    assert {stage for stage, *_ in before} <= {"all", "whole"}
    assert "near" in {name for _, name, _ in after}
    assert any(stage.startswith("n_unlabeled") for stage, *_ in after)
    assert len(set(before + after)) == len(before + after)


def test_it_says_what_the_final_answer_says_of_the_two(events):
    result = primum.compare(*partly(), **SETTINGS, curves=True)
    text = " ".join(said(events)[0].split())
    assert text.startswith(f"{SAID} Still running: near, the learning curves.")
    rows = {method.name: method for method in result.methods}
    losses = [f"{name} {rows[name].loss:.1%}" for name in ("baseline", "safe stack")]
    assert text.endswith(f"Error on held-out rows: {', '.join(losses)}.")
    verdict = rows["safe stack"].judged
    low, high = (f"{100 * end:+.1f}" for end in verdict.interval)
    assert f"the safe stack (SafeClassifier) may change the error by {low} to {high} points" in text
    assert f"({verdict.interval_level:.1%} interval;".replace(".0%", "%") in text
    assert "The unlabelled rows have not been shown to help: use the baseline (ridge" in text


def test_the_final_answer_does_not_depend_on_it(events, capsys):
    X, y = partly()
    loud, quiet = (primum.compare(X, y, **SETTINGS, verbose=one) for one in (True, False))
    assert len(said(events)) == 1  # the quiet one says nothing
    tables = [result.table.drop(columns="seconds") for result in (loud, quiet)]
    assert tables[0].equals(tables[1])
    assert loud.verdict == quiet.verdict


@pytest.mark.parametrize("methods", [[SAFE], [NEAR]], ids=["nothing follows", "no safe stack"])
def test_there_is_none_where_it_would_be_the_final_one_or_has_no_stack(events, methods):
    primum.compare(*partly(), **{**SETTINGS, "methods": methods})
    assert said(events) == []


def test_a_stored_comparison_has_it_only_if_something_is_left_to_fit(events, tmp_path):
    X, y = partly()
    stored = {**SETTINGS, "folder": tmp_path}
    primum.compare(X, y, **stored)
    first = said(events)
    primum.compare(X, y, **stored, resume=True)
    assert said(events) == first
    more = {**stored, "methods": [NEAR, SAFE, ("nearest", KNeighborsClassifier(1), False)]}
    primum.compare(X, y, **more, resume=True)
    assert len(said(events)) == 2
    again = events[events.index(said(events)[1]) :]
    assert {name for _, name, _ in again[1:]} == {"nearest"}
    assert f"{SAID} Still running: nearest. " in " ".join(said(events)[1].split())


def test_it_announces_no_curves_that_the_rows_do_not_allow(events):
    few = {**SETTINGS, "methods": [NEAR, ("safe stack", SafeClassifier(["forest"], cv=3))]}
    primum.compare(*partly(n_labeled=20, n_unlabeled=0), **few, curves=True)
    (text,) = said(events)
    assert f"{SAID} Still running: near. " in " ".join(text.split())
    after = events[events.index(text) + 1 :]
    assert {stage for stage, *_ in after} == {"all"}


class Failing(ClassifierMixin, BaseEstimator):
    """Cannot be fitted."""

    def fit(self, X, y):
        raise ValueError("no")

    def predict(self, X):
        raise ValueError("no")


def test_a_stack_that_failed_has_none(events):
    stack = SafeClassifier(["spreading"], baseline=("own", Failing()))
    settings = {**SETTINGS, "methods": [("safe stack", stack), NEAR]}
    result = primum.compare(*partly(), **settings, nested=True)
    assert "safe stack" in {failure.name for failure in result.failures}
    assert said(events) == []


def test_rows_that_seem_to_belong_together_withhold_it_too(events):
    X, y = partly(60, 240)
    person = np.where(y >= 0, np.arange(len(y)) % 6, 6 + np.arange(len(y)) % 24)
    primum.compare(np.column_stack([X, person]), y, **SETTINGS)
    (text,) = said(events)
    assert "\nWarning: " in text
    assert "whether anything is better cannot be said yet." in " ".join(text.split())


def test_numbers_are_in_their_unit(events):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.where(np.arange(90) < 50, X @ [1.0, 2.0, 0.0] + rng.normal(size=90), np.nan)
    methods = [("safe stack", SafeRegressor(["forest"], cv=3, n_repeats=1)), "forest"]
    result = primum.compare(X, y, methods=methods, n_repeats=1)
    loss = result.methods[0].loss
    (text,) = said(events)
    assert SAID in " ".join(text.split())
    assert re.search(rf"on held-out rows: baseline {loss:.3g}\d*, safe stack ", text)


def test_a_progress_bar_does_not_destroy_it(monkeypatch):
    pytest.importorskip("tqdm")
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    primum.compare(*partly(), **SETTINGS)
    shown = screen.getvalue()
    start = shown.index("First answer")
    lines = shown[start : shown.index("\n\n", start)].split("\n")
    assert "\r" not in "".join(lines)  # which would write over it
    assert lines[-1].startswith("Error on held-out rows: baseline ")
    assert shown[:start].endswith("\r") or shown[:start].endswith("\n")
    assert "100%" in shown[start:]  # and the bar goes on below


def test_it_is_printed_to_stderr(capsys):
    primum.compare(*partly(), **SETTINGS)
    streams = capsys.readouterr()
    assert "First answer" in streams.err
    assert streams.out == ""
