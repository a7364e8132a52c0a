"""Own methods are scored on the scale they have, or not at all."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from generate import two_classes
from primum import (
    EntropyLogisticClassifier,
    ICLSClassifier,
    L2SVMClassifier,
    LeastSquaresClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
)
from primum.reading.folds import SemiSupervisedSplit
from primum_lab import (
    LEAST_SQUARES,
    CrossValidation,
    Experiment,
    Method,
    run_experiment,
    score_minus_half,
    score_probability,
    score_signed,
)
from primum_lab.measures import default_score

X, Y = two_classes(120, 0, 3, separation=4.0)[:2]
DESIGN = CrossValidation(n_folds=3, n_labeled=20, scaling="none")


def run(folder, *methods):
    experiment = Experiment("test", {"a": (X, Y)}, DESIGN, methods, repeats=1)
    return run_experiment(experiment, folder, verbose=False)


def splits():
    from primum.comparison.plan import rng_for

    return DESIGN.splits(Y, 3, rng_for(0, DESIGN.name, "a", 0))


def test_log_odds_are_not_read_as_scores(tmp_path):
    """The squared loss of probabilities is at most 1; of log-odds it was 24.6."""
    results = run(tmp_path, Method("Logistic", LogisticRegression(), sees="labeled"))
    for split, (_, row) in zip(splits(), results.iterrows(), strict=True):
        clf = LogisticRegression().fit(X[split.labeled], Y[split.labeled])
        chance = clf.predict_proba(X[split.test])[:, 1]
        assert row["loss_test"] == pytest.approx(np.mean((chance - Y[split.test]) ** 2))
        assert row["error"] == pytest.approx(1 - clf.score(X[split.test], Y[split.test]))
    assert set(results["score"]) == {"score_probability"}


def test_methods_without_decision_values(tmp_path):
    results = run(
        tmp_path,
        Method("Forest", RandomForestClassifier(10, random_state=0), sees="labeled"),
        Method("Spreading", LabelSpreading()),
    )
    assert results["note"].isna().all()
    assert (results["error"] < 0.4).all()
    assert (results["loss_test"] < 0.3).all()


def test_decision_values_of_unknown_scale_give_an_error_and_no_loss(tmp_path):
    results = run(
        tmp_path,
        Method("LinearSVC", LinearSVC(), sees="labeled"),
        Method("Ridge", RidgeClassifier(), sees="labeled", score=score_signed),
    )
    svc, ridge = (results[results.classifier == name] for name in ("LinearSVC", "Ridge"))
    assert (svc["error"] < 0.4).all()
    assert svc[["loss_labeled", "loss_train", "loss_test", "score"]].isna().all(axis=None)
    assert (ridge["loss_test"] < 0.3).all()
    assert results["note"].isna().all()


def test_the_marker_is_no_class(tmp_path):
    """A supervised method that is shown all rows learns three classes."""
    with pytest.warns(FitFailedWarning, match=r"Forest failed in all 3 .*treats -1, the marker .*"):
        results = run(tmp_path, Method("Forest", RandomForestClassifier(5, random_state=0)))
    assert results["error"].isna().all()


def test_undeclared_the_paper_methods_have_the_same_results(tmp_path):
    declared = run(tmp_path / "declared", *LEAST_SQUARES)
    undeclared = run(
        tmp_path / "undeclared", *(Method(m.name, m.estimator, m.sees) for m in LEAST_SQUARES)
    )
    for measure in ("error", "loss_labeled", "loss_train", "loss_test"):
        np.testing.assert_array_equal(declared[measure], undeclared[measure])


@pytest.mark.parametrize(
    ("clf", "reading"),
    [
        (LeastSquaresClassifier(), score_minus_half),
        (make_pipeline(StandardScaler(), ICLSClassifier()), score_minus_half),
        (SelfLearningClassifier(), score_minus_half),
        (SelfLearningClassifier(L2SVMClassifier()), score_signed),
        (SelfLearningClassifier(LogisticRegression()), score_probability),
        (TSVMClassifier(), score_signed),
        (EntropyLogisticClassifier(), score_probability),
        (
            GridSearchCV(ICLSClassifier(), {"alpha": [0.0, 1.0]}, cv=SemiSupervisedSplit(2)),
            score_minus_half,
        ),
        (LogisticRegression(), score_probability),
        (LinearSVC(), None),
    ],
)
def test_default_reading(clf, reading):
    hidden = np.where(np.arange(120) < 60, Y, -1)
    rows = slice(None, 60) if isinstance(clf, LogisticRegression | LinearSVC) else slice(None)
    assert default_score(clf.fit(X[rows], hidden[rows])) is reading
