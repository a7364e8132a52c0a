"""SAFEW, by its definition and its theorem."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from generate import several_classes, two_classes
from primum import ICLSClassifier, L2SVMClassifier, SAFEWClassifier, SelfLearningClassifier
from primum.reading.classifiers import class_scores
from primum.safe.stack import nearest_in_hull

MINUS_ONE = {
    "check_classifiers_classes": "it uses -1 as a class, which means unknown here; "
    "test_names_of_classes checks the same with other names"
}


@parametrize_with_checks([SAFEWClassifier()], expected_failed_checks=lambda _: MINUS_ONE)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


SCORES = hnp.arrays(float, (12, 4), elements=st.floats(0, 1, width=16))
POINTS = hnp.arrays(float, 12, elements=st.floats(0, 1, width=16))
MIXTURES = hnp.arrays(float, 4, elements=st.floats(0.015625, 1, width=16))


@given(SCORES, POINTS, MIXTURES)
def test_never_further_from_any_truth_in_the_hull(F, baseline, mixture):
    weights, gap = nearest_in_hull(F, baseline)
    truth = F @ (mixture / mixture.sum())
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert np.sum((F @ weights - truth) ** 2) <= np.sum((baseline - truth) ** 2) + gap + 1e-9


@given(SCORES, POINTS, MIXTURES)
def test_the_gap_is_a_bound(F, baseline, mixture):
    weights, gap = nearest_in_hull(F, baseline)
    other = F @ (mixture / mixture.sum())
    assert gap <= 1e-9
    assert np.sum((F @ weights - baseline) ** 2) <= np.sum((other - baseline) ** 2) + gap + 1e-9


def test_the_projection_is_that_of_a_generic_solver(rng):
    F, baseline = rng.random((30, 3)), rng.random(30)
    weights, _ = nearest_in_hull(F, baseline)
    found = minimize(
        lambda w: np.sum((F @ w - baseline) ** 2),
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        tol=1e-12,
    )
    np.testing.assert_allclose(weights, found.x, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_whatever_the_true_mixture_it_is_not_worse_than_the_baseline(n_classes):
    make = several_classes if n_classes > 2 else lambda *args: two_classes(*args[:3])
    X, y, X_u, _ = make(20, 60, 3, n_classes)
    candidates = [
        ("icls", ICLSClassifier(alpha=0.1)),
        ("self-learning", SelfLearningClassifier()),
        ("neighbours", KNeighborsClassifier(3), False),
        ("svm", L2SVMClassifier(), False),
    ]
    clf = SAFEWClassifier(candidates).fit(X, y, X_u)
    F = np.column_stack(
        [
            class_scores(
                entry.fit(np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]), X_u, n_classes
            ).ravel()
            for entry in clf._entries()[0]
        ]
    )
    baseline = class_scores(clf.supervised_, X_u, n_classes).ravel()
    mixed = clf.predict_proba(X_u).ravel()
    np.testing.assert_allclose(mixed, F @ list(clf.weights_.values()), atol=1e-12)
    for mixture in np.random.default_rng(0).dirichlet(np.full(4, 0.5), size=50):
        truth = F @ mixture
        assert np.sum((mixed - truth) ** 2) <= np.sum((baseline - truth) ** 2)


def test_a_baseline_among_the_candidates_is_refused():
    X, y, X_u, _ = two_classes(20, 30, 3)
    candidates = [("icls", ICLSClassifier()), ("logistic", LogisticRegression(), False)]
    with pytest.raises(ValueError, match="'logistic' is the baseline itself"):
        SAFEWClassifier(candidates, baseline=LogisticRegression()).fit(X, y, X_u)
    # With other parameters it is another classifier.
    candidates[1] = ("logistic", LogisticRegression(C=100.0), False)
    SAFEWClassifier(candidates, baseline=LogisticRegression()).fit(X, y, X_u)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], "candidates is empty"),
        ([ICLSClassifier()], "must be a list of .name, estimator."),
        ([("a", ICLSClassifier()), ("a", ICLSClassifier())], "'a' is used twice"),
        ([("a", 3)], "'a' is 3, which lacks fit or predict"),
    ],
)
def test_bad_candidates(candidates, message):
    X, y, X_u, _ = two_classes(20, 30, 3)
    with pytest.raises(ValueError, match=message):
        SAFEWClassifier(candidates).fit(X, y, X_u)


class NoScores(KNeighborsClassifier):
    predict_proba = property()


def test_candidates_without_scores():
    X, y, X_u, _ = two_classes(20, 30, 3)
    with pytest.raises(ValueError, match="'a' has neither predict_proba nor decision"):
        SAFEWClassifier([("a", NoScores(), False)]).fit(X, y, X_u)


def test_names_of_classes():
    X, y, X_u, _ = several_classes(30, 40, 3, 3)
    X, y = np.vstack([X, X_u]), np.r_[y, np.full(40, -1)]
    expected = SAFEWClassifier().fit(X, y)
    names = np.array(["a", "b", "c"])
    labels = [names[code] if code >= 0 else None for code in y]
    found = SAFEWClassifier().fit(X, labels)
    np.testing.assert_array_equal(found.predict(X), names[expected.predict(X)])
    np.testing.assert_array_equal(found.classes_, names)


def test_rows_of_every_kind():
    X, y, X_u, _ = two_classes(30, 40, 3)
    expected = SAFEWClassifier().fit(X, y, X_u)
    together = SAFEWClassifier().fit(np.vstack([X, X_u]), np.r_[y, np.full(40, -1)])
    np.testing.assert_allclose(together.predict_proba(X), expected.predict_proba(X))
    as_sparse = SAFEWClassifier().fit(sparse.csr_array(X), y, sparse.csr_array(X_u))
    np.testing.assert_allclose(as_sparse.predict_proba(X), expected.predict_proba(X), atol=1e-4)


def test_a_data_frame_reaches_the_candidates():
    X, y, X_u, _ = two_classes(30, 40, 3)
    frame, more = (pd.DataFrame(rows, columns=list("abc")) for rows in (X, X_u))
    candidates = [("scaled", make_pipeline(StandardScaler(), ICLSClassifier()))]
    clf = SAFEWClassifier(candidates, baseline=make_pipeline(StandardScaler(), Perceptron()))
    clf.fit(frame, y, more)
    assert clf.candidates_["scaled"][0].feature_names_in_.tolist() == ["a", "b", "c"]
    assert clf.predict_proba(frame).shape == (30, 2)


def test_weights_of_rows_are_copies(rng):
    X, y, X_u, _ = two_classes(30, 50, 3)
    X, y = np.vstack([X, X_u]), np.append(y, np.full(50, -1))
    times = rng.integers(0, 3, 80)
    times[:2] = 1
    found = SAFEWClassifier().fit(X, y, sample_weight=times.astype(float))
    copies = np.repeat(np.arange(80), times)
    expected = SAFEWClassifier().fit(X[copies], y[copies])
    for name, weight in expected.weights_.items():
        assert found.weights_[name] == pytest.approx(weight, abs=1e-3)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-3)


def test_the_nearest_mixture_in_the_weighted_norm_is_not_further_from_any_weighted_truth(rng):
    X, y, X_u, _ = two_classes(30, 50, 3)
    weight = np.append(np.ones(30), rng.exponential(size=50))
    X, y = np.vstack([X, X_u]), np.append(y, np.full(50, -1))
    clf = SAFEWClassifier().fit(X, y, sample_weight=weight)
    candidates = [m.predict_proba(X_u)[:, 1] for m in clf.candidates_.values()]
    mixture, baseline = clf.predict_proba(X_u)[:, 1], clf.supervised_.predict_proba(X_u)[:, 1]
    for truth in candidates:
        distance = [np.sum(weight[30:] * (s - truth) ** 2) for s in (mixture, baseline)]
        assert distance[0] <= distance[1] + 1e-9


def test_a_candidate_without_weights_is_named():
    X, y, X_u, _ = two_classes(20, 20, 3)
    candidates = [("neighbours", KNeighborsClassifier(), False)]
    with pytest.raises(ValueError, match=r"'neighbours' \(KNeighborsClassifier\) does not support"):
        SAFEWClassifier(candidates).fit(X, y, X_u, sample_weight=np.ones(20))


class NaNs(KNeighborsClassifier):
    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


def test_the_candidate_whose_scores_are_not_finite_is_named():
    X, y, X_u, _ = two_classes(20, 30, 3)
    with pytest.raises(ValueError, match="'graph' returned scores that are not finite for 30 rows"):
        SAFEWClassifier([("graph", NaNs(), False)]).fit(X, y, X_u)


def test_the_default_is_scaled_and_its_parts_predict_classes():
    X, truth = load_breast_cancer(return_X_y=True)
    names = np.array(["malignant", "benign"])
    y = [names[code] if row < 60 else None for row, code in enumerate(truth)]
    clf = SAFEWClassifier().fit(X, y)
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:60], names[truth[:60]])
    assert clf.score(X[60:], names[truth[60:]]) > plain.score(X[60:], names[truth[60:]]) - 0.02
    np.testing.assert_array_equal(clf.supervised_.predict(X), plain.predict(X))


def test_the_weights_of_rows_reach_every_step():
    X, y, X_u, _ = two_classes(30, 40, 3)
    times = np.arange(30) % 3 + 1
    weighted = SAFEWClassifier().fit(X, y, X_u, sample_weight=times)
    copied = SAFEWClassifier().fit(np.repeat(X, times, axis=0), np.repeat(y, times), X_u)
    np.testing.assert_allclose(
        weighted.supervised_.predict_proba(X), copied.supervised_.predict_proba(X), atol=1e-4
    )
