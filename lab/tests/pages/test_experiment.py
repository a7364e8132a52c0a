"""The page of an own experiment: complete, and true to the figures."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC

from generate import two_classes
from primum import ICLSClassifier, L2SVMClassifier, LeastSquaresClassifier
from primum.comparison.store import ResultsError
from primum_lab import (
    CrossValidation,
    Experiment,
    HoldOut,
    LearningCurve,
    Method,
    run_experiment,
    squared_hinge,
    summarize,
)
from primum_lab.pages.experiment import results_table, write_report
from primum_lab.pages.results import curves_figure


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ArithmeticError("1 < 2 & never fits")


METHODS = (
    Method("Plain", LeastSquaresClassifier(), sees="labeled"),
    Method("Implicit", ICLSClassifier()),
    Method("Logistic", LogisticRegression(), sees="labeled"),
    Method("Everything", LeastSquaresClassifier(), sees="all"),
)


def experiment(methods=METHODS, design=None, **more):
    data = {name: two_classes(90, 0, 3, seed=k)[:2] for k, name in enumerate(("a", "<b>"))}
    design = design or CrossValidation(n_folds=3, n_labeled=10, scaling="train")
    return Experiment("Mine & yours", data, design, methods, **{"repeats": 4, "seed": 17, **more})


def report(folder, **more):
    mine = experiment(**more)
    results = run_experiment(mine, folder, verbose=False)
    return results, write_report(mine, results, folder).read_text(encoding="utf-8")


def test_cross_validation(tmp_path):
    results, page = report(tmp_path)
    assert "<h1>Mine &amp; yours</h1>" in page
    for words in (
        "Methods: 4; data sets: 2; repeats: 4; seed: 17.",
        "The supervised twin is Plain",
        "Mean classification error (fraction of the test rows) ± its standard error, over up to 4",
        "Bold: the best of all methods shown",
        "number of repeats in which it is worse than Plain, the supervised twin",
        "Loss on test rows: squared_loss",
        "mean squared difference between the score and the label, 0 or 1",
        "Median training time (seconds) over up to 4 repeats",
        "3-fold cross-validation",
        "Labelled rows: 10. Features: standardised on the training rows",
        "Seed: 17.",
        f"scikit-learn {sklearn.__version__}",
        "&lt;b&gt;",
        "LogisticRegression(C=1.0",
        "90 x 3",
    ):
        assert words in page, words
    assert "<b>b</b>" not in page
    assert not re.search(r"(src|href)='(?!data:|#)", page)
    assert "z against" not in page
    stored = pd.read_parquet(tmp_path / "results.parquet")
    pd.testing.assert_frame_equal(stored, results)
    assert len(pd.read_csv(tmp_path / "summary.csv")) == 2 * 4 * 5


def test_cells_are_means_with_standard_errors_and_medians_of_times(tmp_path):
    results, _ = report(tmp_path)
    summary = summarize(results, curve=False)
    by_hand = (
        results[(results.dataset == "a") & (results.classifier == "Implicit")]
        .groupby("repeat")[["error", "seconds"]]
        .mean()
    )
    plain = results[(results.dataset == "a") & (results.classifier == "Plain")]
    worse = (by_hand["error"] > plain.groupby("repeat")["error"].mean()).sum()
    mean, se = by_hand["error"].mean(), by_hand["error"].std() / 2
    row = results_table(summary, "error").rows[0]
    assert [cell.text for cell in row][2] == f"{mean:.3f} ± {se:.3f} ({worse})"
    times = results_table(summary, "seconds").rows[0]
    assert times[2].text == f"{by_hand['seconds'].median():.3g}"
    assert not any(cell.bold for cell in times)


def summary_of(means):
    """Return a summary of one data set from {classifier: (role, mean)}."""
    cell = {"dataset": "a", "measure": "error", "se": 0.01, "repeats": 9, "failed": 0}
    rows = [
        {**cell, "classifier": name, "role": role, "mean": mean, "times_worse": None}
        for name, (role, mean) in means.items()
    ]
    return pd.DataFrame(rows).assign(significantly_worse=False, loss="squared_loss")


@pytest.mark.parametrize(
    ("means", "bold"),
    [
        ({"S": ("twin", 0.3), "I": ("semi-supervised", 0.2), "R": ("supervised", 0.1)}, {"R"}),
        ({"S": ("twin", 0.1), "I": ("semi-supervised", 0.2)}, {"S"}),
        ({"S": ("twin", 0.1), "I": ("semi-supervised", 0.1)}, {"S", "I"}),
        (
            {"S": ("twin", 0.3), "I": ("semi-supervised", 0.2), "O": ("oracle", 0.1)},
            {"O", "I"},
        ),
        (
            {"S": ("twin", 0.1), "I": ("semi-supervised", 0.2), "O": ("oracle", 0.15)},
            {"S"},
        ),
        ({"S": ("twin", 0.3), "I": ("semi-supervised", np.nan)}, {"S"}),
    ],
)
def test_bold_is_the_best_of_all(means, bold):
    table = results_table(summary_of(means), "error")
    marked = {name for name, cell in zip(table.header, table.rows[0], strict=True) if cell.bold}
    assert marked == bold


def test_learning_curves(tmp_path):
    _, page = report(tmp_path, design=LearningCurve(n_labeled=10, sizes=(2, 8)))
    assert page.count("<figure>") == 3
    for words in (
        "Lines are means over repeats, bands one standard error on either side; 4 repeats.",
        "Lines are medians over repeats, bands from the lower to the upper quartile; 4 repeats.",
        "U: the largest number of unlabelled rows.",
        "a, U = 8",
        "nested sets of unlabelled rows of growing size",
    ):
        assert words in page, words


def test_one_test_set_per_repeat(tmp_path):
    _, page = report(tmp_path, design=HoldOut(n_labeled=10, test_share=0.25))
    assert "Design: one random test set per repeat, with a share of 0.25 of the rows;" in page
    assert "nested sets" not in page


def test_different_losses_are_not_compared(tmp_path):
    machine = Method("Machine", L2SVMClassifier(), sees="labeled", loss=squared_hinge)
    unknown = Method("Unknown", LinearSVC(), sees="labeled")
    _, page = report(tmp_path, methods=(*METHODS[:2], machine, unknown))
    sections = dict(re.findall(r"<h2 id='[^']*'>(.*?)</h2>(.*?)</section>", page, flags=re.DOTALL))
    squared = sections["Loss on test rows: squared_loss"]
    hinge = sections["Loss on test rows: squared_hinge"]
    assert "<th scope='col'>Implicit</th>" in squared
    assert "<th scope='col'>Machine</th>" not in squared
    assert "<th scope='col'>Unknown</th>" not in squared
    assert "<th scope='col'>Machine</th>" in hinge
    assert "<th scope='col'>Implicit</th>" not in hinge
    assert "No loss: Unknown." in sections["Methods without a loss"]


def test_failures_are_listed(tmp_path):
    with pytest.warns(FitFailedWarning, match="Broken failed in all 24 fits"):
        _, page = report(tmp_path, methods=(*METHODS[:2], Method("Broken", Broken())))
    sections = dict(re.findall(r"<h2 id='[^']*'>(.*?)</h2>(.*?)</section>", page, flags=re.DOTALL))
    assert "Broken failed in all 24 fits" in sections["Summary"]
    listed = sections["Failed fits"]
    assert "ArithmeticError: 1 &lt; 2 &amp; never fits" in listed
    assert listed.count("<td>12</td>") == 4  # 12 of 12 fits on both data sets
    assert "<td>failed</td>" in sections["Classification error"]


def test_an_experiment_without_a_twin(tmp_path):
    with pytest.warns(UserWarning, match="there is no supervised twin"):
        _, page = report(tmp_path, methods=METHODS[1:2])
    assert "there is no twin to compare with" in page
    assert "worse than" not in page


def test_runs_with_several_versions_are_all_listed(tmp_path):
    report(tmp_path)
    path = tmp_path / "config.json"
    snapshot = json.loads(path.read_text())
    snapshot["versions"].append({**snapshot["versions"][0], "numpy": "9.9"})
    path.write_text(json.dumps(snapshot))
    mine = experiment()
    page = write_report(mine, run_experiment(mine, tmp_path, resume=True, verbose=False), tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "(run 1 into this folder): python" in text
    assert re.search(r"\(run 2 into this folder\): .*numpy 9\.9", text)


def test_a_folder_without_results(tmp_path):
    results, _ = report(tmp_path / "run")
    (tmp_path / "other").mkdir()
    with pytest.raises(ResultsError, match=r"There are no results in .*other: it has no config"):
        write_report(experiment(), results, tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.parametrize(
    "design",
    [CrossValidation(n_folds=3, n_labeled=12), LearningCurve(n_labeled=12, sizes=(4, 32))],
)
def test_several_classes(tmp_path, design):
    data = {"iris": load_iris(return_X_y=True), "two": two_classes(90, 0, 3)[:2]}
    methods = (
        Method("Bayes", GaussianNB(), sees="labeled"),
        Method("Self-training", SelfTrainingClassifier(GaussianNB())),
    )
    mine = Experiment("Flowers", data, design, methods, repeats=3)
    results = run_experiment(mine, tmp_path, verbose=False)
    page = write_report(mine, results, tmp_path).read_text(encoding="utf-8")
    curve = isinstance(design, LearningCurve)
    assert page.count("<figure>") == (3 if curve else 0)
    for words in (
        "Data sets of more than two classes: iris (3). They have one score per class",
        "the sum over both classes would be twice the number shown",
        "150 x 4, 3 classes",
        "<td>90 x 3</td>",
    ):
        assert words in page, words
    summary = summarize(results, curve=curve)
    cells = summary[(summary["dataset"] == "iris") & (summary["classifier"] == "Bayes")]
    last = cells[cells["measure"] == "loss_test"].iloc[-1]
    assert f"{last['mean']:.3f} ± {last['se']:.3f}" in page
    if curve:
        figure = curves_figure(summary, "error", "loss_test")
        labels = [panel.get_ylabel() for panel in figure.axes]
        assert labels == ["classification error", "squared loss on test rows"] * 2


def test_two_classes_have_no_remark_on_several(tmp_path):
    assert "more than two classes" not in report(tmp_path)[1]


def test_the_documented_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[3] / "docs" / "experiments.md").read_text()
    (code,) = (
        c for c in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "write_report" in c
    )
    code = code.replace("repeats=20", "repeats=2").replace("n_jobs=-1", "n_jobs=1, verbose=False")
    X, y = two_classes(120, 0, 3)[:2]
    names = {"X": pd.DataFrame(X), "y": pd.Series(y)}
    exec(code, names)
    assert names["results"]["note"].isna().all()
    assert "The supervised twin is Least squares" in (tmp_path / "out/report.html").read_text()


def test_the_example_of_the_page_on_experiments_runs(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[3] / "docs" / "experiments.md").read_text()
    monkeypatch.chdir(tmp_path)
    X, y = load_breast_cancer(return_X_y=True)
    (own_data,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    small = own_data.replace("repeats=20", "repeats=2").replace("n_jobs=-1", "n_jobs=1")
    small = small.replace("LogisticRegression()", "LogisticRegression(max_iter=1000)")
    exec(compile(small, "experiments.md", "exec"), {"X": X, "y": y})
    assert re.search(r"^Harm\(times_worse=\d, ", capsys.readouterr().out, flags=re.MULTILINE)
    assert (tmp_path / "out" / "report.html").exists()
