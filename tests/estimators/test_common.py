"""The scikit-learn contract, for every estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from generate import two_classes
from primum import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    L2SVMClassifier,
    LeastSquaresClassifier,
    S4VMClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
    USMClassifier,
    WellSVMClassifier,
)

# A new estimator joins all tests of this file by being listed here.
ESTIMATORS = [
    LeastSquaresClassifier(),
    LeastSquaresClassifier(alpha=0.1, fit_intercept=False),
    USMClassifier(),
    EMLeastSquaresClassifier(),
    EMLeastSquaresClassifier(labels="hard"),
    SelfLearningClassifier(),
    SelfLearningClassifier(LogisticRegression(max_iter=10_000)),
    ICLSClassifier(),
    ICLSClassifier(alpha=0.1),
    ICLSClassifier(metric="all"),
    ICLSClassifier(metric="euclidean", solver="lbfgsb"),
    L2SVMClassifier(),
    L2SVMClassifier(alpha=0.01, costs="sum", penalize_intercept=True),
    SelfLearningClassifier(L2SVMClassifier()),
    TSVMClassifier(),
    TSVMClassifier("annealing"),
    TSVMClassifier("cccp"),
    S4VMClassifier(),
    WellSVMClassifier(),
]
each_estimator = pytest.mark.parametrize("clf", ESTIMATORS, ids=str)


def expected_failures(estimator):
    return {
        "check_classifiers_classes": "it uses -1 as a class, which means unknown here; "
        "test_classes_of_any_type checks the same with other names"
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


CLASS_NAMES = {
    "strings": (np.array(["no", "yes"]), None),
    "objects": (np.array(["no", "yes"], dtype=object), None),
    "integers": (np.array([3, 7]), -1),
    "floats": (np.array([-1.0, 1.0]), np.nan),
    "booleans": (np.array([False, True]), None),
}


@each_estimator
@pytest.mark.parametrize("kind", CLASS_NAMES)
def test_classes_of_any_type(clf, kind):
    """The replacement for check_classifiers_classes: names of classes change nothing else."""
    X, y, X_u, _ = two_classes(20, 30, 3)
    names, unknown = CLASS_NAMES[kind]
    expected = clone(clf).fit(np.vstack([X, X_u]), np.r_[y, np.full(30, -1)])
    labels = names[y].tolist() + [unknown] * 30
    if kind in ("integers", "floats"):
        labels = np.array(labels)
    fitted = clone(clf).fit(np.vstack([X, X_u]), labels)
    np.testing.assert_array_equal(fitted.classes_, names)
    np.testing.assert_array_equal(fitted.predict(X_u), names[expected.predict(X_u)])
    np.testing.assert_array_equal(fitted.decision_function(X_u), expected.decision_function(X_u))
    assert set(fitted.predict(X_u).tolist()) <= set(names.tolist())


@each_estimator
@pytest.mark.parametrize(
    "make",
    [
        lambda y: pd.Series(np.where(y < 0, None, y), dtype="Int64"),
        lambda y: pd.Series(np.where(y < 0, np.nan, y)),
        lambda y: pd.Series(["no", "yes"])[np.abs(y)].reset_index(drop=True).where(y >= 0),
        lambda y: pd.Series(np.where(y < 0, None, np.array(["no", "yes"])[y]), dtype="category"),
        lambda y: pd.Series(np.where(y < 0, None, y == 1), dtype="boolean"),
    ],
    ids=["Int64", "float", "string", "category", "boolean"],
)
def test_pandas_labels(clf, make):
    X, y, X_u, _ = two_classes(20, 30, 3)
    X, y = np.vstack([X, X_u]), np.r_[y, np.full(30, -1)]
    expected = clone(clf).fit(X, y)
    fitted = clone(clf).fit(X, make(y))
    np.testing.assert_array_equal(fitted.decision_function(X), expected.decision_function(X))


@each_estimator
def test_unlabelled_rows_in_y_or_apart(clf):
    X, y, X_u, _ = two_classes(20, 30, 3)
    mixed = np.random.default_rng(0).permutation(50)
    together = clone(clf).fit(np.vstack([X, X_u])[mixed], np.r_[y, np.full(30, -1)][mixed])
    if isinstance(clf, LeastSquaresClassifier | L2SVMClassifier):
        apart = clone(clf).fit(X, y)
    else:
        apart = clone(clf).fit(X, y, X_unlabeled=X_u)
    np.testing.assert_allclose(
        together.decision_function(X_u), apart.decision_function(X_u), atol=1e-5
    )


@each_estimator
def test_swapping_the_classes_only_changes_the_sign(clf):
    X, y, X_u, _ = two_classes(20, 60, 3, seed=3)
    X, y = np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]
    if not getattr(clf, "fit_intercept", True):
        pytest.skip("without intercept the coding of the classes matters")
    swapped = np.where(y < 0, -1, 1 - y)
    scores, opposite = (clone(clf).fit(X, labels).decision_function(X) for labels in (y, swapped))
    np.testing.assert_allclose(scores, -opposite, atol=1e-5)


@each_estimator
def test_probabilities_are_valid_and_agree_with_predict(clf):
    X, y, X_u, _ = two_classes(20, 60, 3)
    fitted = clone(clf).fit(X, y)
    if not hasattr(fitted, "predict_proba"):
        pytest.skip("a margin is no probability")
    probability = fitted.predict_proba(5 * X_u)
    assert probability.shape == (60, 2)
    assert probability.min() >= 0
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.classes_[probability.argmax(1)], fitted.predict(5 * X_u))


@each_estimator
def test_pipeline_search_pickle_and_names(clf):
    X, y, *_ = two_classes(40, 0, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler(), clone(clf)).set_output(transform="pandas")
    pipeline.fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    copy = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(copy.predict(frame), pipeline.predict(frame))
    assert np.isfinite(cross_val_score(pipeline, frame, y, error_score="raise")).all()


def test_grid_search_over_alpha():
    X, y, *_ = two_classes(40, 0, 3)
    search = GridSearchCV(ICLSClassifier(), {"alpha": [0.0, 0.1], "metric": ["labeled", "all"]})
    search.fit(X, y)
    assert search.best_estimator_.certificate_.converged


@each_estimator
def test_float32_rows_are_summed_in_double_precision(clf):
    X, y, X_u, _ = two_classes(20, 60, 3)
    X, X_u = X.astype(np.float32), X_u.astype(np.float32)
    y = np.r_[y, np.full(60, -1)]
    single = clone(clf).fit(np.vstack([X, X_u]), y)
    double = clone(clf).fit(np.vstack([X, X_u]).astype(np.float64), y)
    np.testing.assert_allclose(
        single.decision_function(X_u), double.decision_function(X_u), atol=1e-4
    )
