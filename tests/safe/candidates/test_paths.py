"""Ridge and logistic paths have the solutions of scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import StratifiedKFold

from primum.methods import L2SVMClassifier
from primum.safe.candidates.paths import LOGISTIC, SQUARED_HINGE, Principal, margin_path, ridge_path

PENALTIES = np.geomspace(1e-3, 1e4, 8)
SHAPES = [(40, 6), (30, 50), (25, 25)]


def problem(shape, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) + 3.0
    X[:, -1] = X[:, 0]  # an axis without length
    codes = (X[:, 0] + rng.normal(size=len(X)) > 3.0).astype(int)
    return X, codes, rng.uniform(0.5, 2.0, len(X))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_ridge_is_that_of_scikit_learn(shape, weighted, container):
    X, codes, weight = problem(shape)
    Y, weight = np.eye(2)[codes], weight if weighted else None
    expected = RidgeCV(alphas=PENALTIES).fit(X, Y, sample_weight=weight)
    coef, intercept, errors = ridge_path(Principal.of(container(X), weight), Y, PENALTIES)
    np.testing.assert_allclose(coef, expected.coef_.T, atol=1e-8)
    np.testing.assert_allclose(intercept, expected.intercept_, atol=1e-8)
    assert PENALTIES[errors.argmin()] == pytest.approx(expected.alpha_)
    if not weighted:
        assert errors.min() == pytest.approx(-expected.best_score_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_logistic_regression_is_that_of_scikit_learn(shape, weighted):
    """Also of separable classes with hardly any penalty, where full Newton steps overshoot."""
    X, codes, weight = problem(shape)
    weight = weight if weighted else np.ones(len(X))
    folds = list(StratifiedKFold(3).split(X, codes))
    inverse = np.array([1e-2, 1.0, 1e3])
    losses = []
    for C in inverse:
        of_folds = []
        for train, test in folds:
            model = LogisticRegression(C=C, tol=1e-10, max_iter=10_000)
            model.fit(X[train], codes[train], sample_weight=weight[train])
            logs = model.predict_log_proba(X[test])[np.arange(len(test)), codes[test]]
            of_folds.append(-np.average(logs, weights=weight[test]))
        losses.append(np.mean(of_folds))
    best = inverse[int(np.argmin(losses))]
    expected = LogisticRegression(C=best, tol=1e-10, max_iter=10_000).fit(X, codes, weight)
    rows = Principal.of(X, weight)
    coef, intercept = rows.linear(*margin_path(rows, codes, folds, inverse, LOGISTIC)[:2])
    found = (X @ coef + intercept)[:, 0]
    np.testing.assert_allclose(found, expected.decision_function(X), atol=1e-4)
    alone, _ = rows.linear(*margin_path(rows, codes, folds, inverse[-1:], LOGISTIC)[:2])
    nearly = LogisticRegression(C=1e3, tol=1e-10, max_iter=10_000).fit(X, codes, weight)
    np.testing.assert_allclose(alone[:, 0], nearly.coef_[0], rtol=1e-3, atol=1e-3)


def test_equal_rows_have_no_axes():
    X, codes = np.full((6, 3), 2.0), np.array([0, 1, 0, 0, 1, 0])
    coef, intercept, _ = ridge_path(Principal.of(X, None), np.eye(2)[codes], PENALTIES)
    np.testing.assert_allclose(coef, 0.0)
    np.testing.assert_allclose(intercept, [2 / 3, 1 / 3])
    folds = [(np.arange(2, 6), np.arange(2)), (np.array([0, 1, 2, 4]), np.array([3, 5]))]
    _, intercept, _ = margin_path(Principal.of(X, None), codes, folds, [1.0], LOGISTIC)
    assert intercept[0] == pytest.approx(np.log(1 / 2), abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_svm_is_that_of_the_library(shape):
    X, codes, weight = problem(shape)
    folds, penalties = list(StratifiedKFold(3).split(X, codes)), np.array([1.0, 1e-2, 1e-4])
    rows, losses = Principal.of(X, weight), []
    for alpha in penalties:
        machines = [
            L2SVMClassifier(alpha).fit(X[t], codes[t], sample_weight=weight[t]) for t, _ in folds
        ]
        hinges = [
            np.maximum(0, 1 - (2 * codes[test] - 1) * m.decision_function(X[test])) ** 2
            for m, (_, test) in zip(machines, folds, strict=True)
        ]
        losses.append(
            np.mean(
                [
                    np.average(h, weights=weight[test])
                    for h, (_, test) in zip(hinges, folds, strict=True)
                ]
            )
        )
    w, b, best = margin_path(rows, codes, folds, 1 / penalties, SQUARED_HINGE, mean=True)
    assert best == np.argmin(losses)
    coef, intercept = rows.linear(w, b)
    expected = L2SVMClassifier(penalties[best]).fit(X, codes, sample_weight=weight)
    np.testing.assert_allclose(
        (X @ coef + intercept)[:, 0], expected.decision_function(X), atol=1e-5
    )
