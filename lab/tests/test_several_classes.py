"""Experiments on data of more than two classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC

from primum import ICLSClassifier, L2SVMClassifier, LeastSquaresClassifier
from primum.comparison.plan import rng_for
from primum.comparison.store import identity_of_data
from primum.reading.folds import SemiSupervisedSplit
from primum_lab import (
    BASELINES,
    LEAST_SQUARES,
    CrossValidation,
    Experiment,
    LearningCurve,
    Method,
    harm,
    run_experiment,
    score_minus_half,
    score_probability,
    score_signed,
    squared_hinge,
    summarize,
)
from primum_lab.methods import FURTHER_LEAST_SQUARES

X, Y = load_iris(return_X_y=True)
DESIGN = CrossValidation(n_folds=3, n_labeled=15, scaling="none")
BAYES = Method("Bayes", GaussianNB(), sees="labeled")


def run(folder, *methods, y=Y, design=DESIGN, repeats=1):
    experiment = Experiment("test", {"iris": (X, y)}, design, methods, repeats=repeats)
    return run_experiment(experiment, folder, verbose=False)


def splits():
    return DESIGN.splits(Y, X.shape[1], rng_for(0, DESIGN.name, "iris", 0))


def sum_of_squares(scores, y):
    """Return the mean over rows of the sum over classes, written as a loop."""
    return np.mean(
        [
            sum((row[k] - (label == k)) ** 2 for k in range(3))
            for row, label in zip(scores, y, strict=True)
        ]
    )


@pytest.mark.parametrize("declared", [None, score_probability])
def test_probabilities(tmp_path, declared):
    results = run(tmp_path, Method("Bayes", GaussianNB(), sees="labeled", score=declared))
    assert results["note"].isna().all()
    for split, (_, row) in zip(splits(), results.iterrows(), strict=True):
        clf = GaussianNB().fit(X[split.labeled], Y[split.labeled])
        test = X[split.test], Y[split.test]
        assert row["error"] == pytest.approx(1 - accuracy_score(test[1], clf.predict(test[0])))
        assert row["loss_test"] == pytest.approx(
            sum_of_squares(clf.predict_proba(test[0]), test[1])
        )


def test_one_against_the_rest(tmp_path):
    """Ridge regression on -1 and 1 is twice that on one-hot labels, minus 1."""
    results = run(tmp_path, Method("Ridge", RidgeClassifier(), sees="labeled", score=score_signed))
    for split, (_, row) in zip(splits(), results.iterrows(), strict=True):
        clf = RidgeClassifier().fit(X[split.labeled], Y[split.labeled])
        scores = (clf.decision_function(X[split.test]) + 1) / 2
        assert row["loss_test"] == pytest.approx(sum_of_squares(scores, Y[split.test]))
        assert row["error"] == pytest.approx(1 - clf.score(X[split.test], Y[split.test]))


@pytest.mark.parametrize("declared", [None, score_minus_half])
def test_least_squares(tmp_path, declared):
    """The loss on the labelled rows is what the fit minimises."""
    method = Method("LS", LeastSquaresClassifier(), sees="labeled", score=declared)
    results = run(tmp_path, method)
    assert set(results["score"]) == {"score_minus_half"}
    rows = np.column_stack([np.ones(len(X)), X])
    for split, (_, row) in zip(splits(), results.iterrows(), strict=True):
        one_hot = np.eye(3)[Y[split.labeled]]
        theta, residuals, *_ = np.linalg.lstsq(rows[split.labeled], one_hot, rcond=None)
        assert row["loss_labeled"] == pytest.approx(residuals.sum() / len(split.labeled))
        scores = rows[split.test] @ theta
        assert row["loss_test"] == pytest.approx(sum_of_squares(scores, Y[split.test]))
        assert row["error"] == pytest.approx(np.mean(scores.argmax(axis=1) != Y[split.test]))


def test_the_methods_of_the_paper(tmp_path):
    """The theorem: with the metric of all rows, the loss on them is never above the twin's."""
    projection = Method("Projection (all)", ICLSClassifier(metric="all"))
    methods = (*LEAST_SQUARES, *FURTHER_LEAST_SQUARES, *BASELINES, projection)
    results = run(tmp_path, *methods, repeats=2)
    assert results["error"].notna().all()
    assert results["loss_test"].notna().all()
    losses = results.pivot_table(index=["repeat", "at"], columns="classifier", values="loss_train")
    assert (losses["Projection (all)"] <= losses["Supervised"] + 1e-9).all()
    assert (losses["Oracle"] <= losses["Projection (all)"] + 1e-9).all()
    labeled = results.pivot_table(
        index=["repeat", "at"], columns="classifier", values="loss_labeled"
    )
    assert (labeled["Supervised"] <= labeled["ICLS"] + 1e-9).all()


def test_support_vector_machines(tmp_path):
    """The hinge losses are those of the three machines, one against the rest."""
    method = Method("SVM", L2SVMClassifier(), sees="labeled", loss=squared_hinge)
    results = run(tmp_path, method)
    assert set(results["score"]) == {"score_signed"}
    for split, (_, row) in zip(splits(), results.iterrows(), strict=True):
        expected = 0.0
        for k in range(3):
            clf = L2SVMClassifier().fit(X[split.labeled], (Y[split.labeled] == k).astype(int))
            margins = np.where(Y[split.test] == k, 1, -1) * clf.decision_function(X[split.test])
            expected += np.mean(np.maximum(0.0, 1.0 - margins) ** 2)
        assert row["loss_test"] == pytest.approx(expected, rel=1e-6)


def test_a_grid_search_on_partly_labelled_data():
    hidden = np.where(np.arange(150) % 4 == 0, Y, -1)
    search = GridSearchCV(
        LeastSquaresClassifier(), {"alpha": [0.0, 1e-3]}, cv=SemiSupervisedSplit(5)
    )
    assert search.fit(X, hidden).best_score_ > 0.7
    assert search.score(X, Y) > 0.7


def test_names_of_classes_change_nothing(tmp_path):
    codes = run(tmp_path / "codes", BAYES)
    for k, names in enumerate((["a", "b", "c"], [10, 20, 30], [-1, 0, 1])):
        named = run(tmp_path / str(k), BAYES, y=pd.Series(np.array(names)[Y]))
        pd.testing.assert_frame_equal(
            named.drop(columns="seconds"), codes.drop(columns="seconds"), check_exact=True
        )


def test_harm_and_summary(tmp_path):
    methods = (
        Method("Twin", GaussianNB(), sees="labeled"),
        Method("Self", SelfTrainingClassifier(GaussianNB())),
        Method("Oracle", GaussianNB(), sees="all"),
    )
    results = run(tmp_path, *methods, repeats=6)
    assert results["note"].isna().all()
    errors = results.pivot_table(index="repeat", columns="classifier", values="error")
    found = harm(results, "Self")
    assert found.times_worse == np.sum(errors["Self"] > errors["Twin"])
    assert found.mean_difference == pytest.approx((errors["Self"] - errors["Twin"]).mean())
    summary = summarize(results, curve=False).set_index(["classifier", "measure"])
    assert summary.loc[("Self", "error"), "times_worse"] == found.times_worse
    worse = harm(results, "Self", measure="loss_test").times_worse
    assert summary.loc[("Self", "loss_test"), "times_worse"] == worse


def test_learning_curve(tmp_path):
    results = run(tmp_path, BAYES, design=LearningCurve(n_labeled=9, sizes=(3, 30)))
    assert results["n_unlabeled"].tolist() == [3, 30]
    assert results["loss_test"].between(0, 2).all()


def test_decision_values_of_unknown_scale(tmp_path):
    results = run(tmp_path, Method("SVC", LinearSVC(), sees="labeled"))
    assert (results["error"] < 0.4).all()
    assert results[["loss_labeled", "loss_train", "loss_test", "score"]].isna().all(axis=None)


def first_column(clf, X):
    return clf.predict_proba(X)[:, 0]


def test_scores_of_one_class_only(tmp_path):
    with pytest.warns(FitFailedWarning, match=r"150 rows of 3 .* shape \(150, 3\), got \(150,\)"):
        run(
            tmp_path,
            Method("One", LinearDiscriminantAnalysis(), sees="labeled", score=first_column),
        )


def test_a_class_with_too_few_rows_is_named(tmp_path):
    y = np.where(np.arange(150) < 2, "rare", np.array(["a", "b", "c"])[Y])
    with pytest.raises(ValueError, match="3 rows of each class, but class 'rare' has 2: use fewer"):
        run(tmp_path, BAYES, y=y)


def test_data_are_identified_by_their_labels_however_many_classes():
    rows = np.zeros((300, 1))
    assert ", 3 classes, sha256 " in identity_of_data(rows, np.arange(300) % 3)
    assert "classes" not in identity_of_data(rows, np.arange(300) % 2)
    many, shifted = np.arange(300), np.r_[np.arange(299), 43]
    for others in (np.where(many > 255, many - 256, many), shifted):
        assert identity_of_data(rows, many) != identity_of_data(rows, others)


def test_several_data_sets_of_different_kinds(tmp_path):
    data = {"iris": (X, Y), "two": (X, np.minimum(Y, 1)), "wine": load_wine(return_X_y=True)}
    experiment = Experiment(
        "test",
        data,
        CrossValidation(n_folds=3, scaling="train"),
        (Method("Logistic", LogisticRegression(), sees="labeled"),),
        repeats=1,
    )
    results = run_experiment(experiment, tmp_path, verbose=False)
    assert results["note"].isna().all()
    assert (results.groupby("dataset")["error"].mean() < 0.2).all()
