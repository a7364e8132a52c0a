"""A small ridge in large units: what the rows leave open is 0, not rounding divided by the ridge.

Expected scores are those of exact rational arithmetic.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from primum import ICLSClassifier, ICLSClassifierCV, LeastSquaresClassifier, LeastSquaresRegressor
from primum.equations import RidgePath
from primum.rows import ArrayRows

N_FEATURES = 4
UNITS, ALPHAS = (2.0**-20, 1.0, 2.0**10, 2.0**20), (1e-8, 1e-4, 1.0)


def solved(A, b):
    """Return the solution of linear equations in fractions, by elimination."""
    rows, n = [[*row, right] for row, right in zip(A, b, strict=True)], len(b)
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(n):
            if k != i and rows[k][i]:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [u - factor * v for u, v in zip(rows[k], rows[i], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def exact_scores(X, y, weight, alpha, fit_intercept, rows):
    """Return the scores of ridge regression on the mean loss, correct to the last digit."""
    exact = np.vectorize(Fraction, otypes=[object])
    X, y, w, rows = exact(X), exact(y), exact(weight), exact(rows)
    center, level = (w @ X / w.sum(), w @ y / w.sum()) if fit_intercept else (0 * X[0], 0)
    Z = X - center
    A = Z.T @ (w[:, None] * Z) + w.sum() * Fraction(alpha) * exact(np.eye(X.shape[1]))
    coef = np.array(solved(A.tolist(), (Z.T @ (w * (y - level))).tolist()))
    return ((rows - center) @ coef + level).astype(float)


def problem(kind, units=1.0, weighted=False):
    """Return labelled rows (X, y), their weights, and other rows, which span all directions."""
    rng = np.random.default_rng(len(kind))
    n = {"fewer rows": 3, "as many rows": 4, "one more row": 5}.get(kind, 20)
    X, more = (np.round(rng.normal(0.3, 1.0, size=(size, N_FEATURES)), 3) for size in (n, 30))
    if kind == "equal columns":
        X[:, 3] = X[:, 0]
    if kind == "a sum":
        X = np.round(1024 * X) / 1024
        X[:, 3] = X[:, 0] + X[:, 1]
    y = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    return units * X, y, weight, units * more


KINDS = ("fewer rows", "as many rows", "one more row", "equal columns", "a sum", "full rank")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fit_intercept", "weighted"), [(True, False), (True, True), (False, True)]
)
def test_scores_are_exact_in_all_units(kind, fit_intercept, weighted):
    for units in UNITS:
        X, y, weight, more = problem(kind, units, weighted)
        for alpha in ALPHAS:
            expected = exact_scores(X, y, weight, alpha, fit_intercept, more)
            for rows in (X, sparse.csr_array(X)):
                model = LeastSquaresRegressor(alpha, fit_intercept=fit_intercept)
                scores = model.fit(rows, y, sample_weight=weight).predict(more)
                np.testing.assert_allclose(scores, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("metric", ["labeled", 0.2, "all"])
@pytest.mark.parametrize("kind", ["as many rows", "equal columns", "a sum"])
@pytest.mark.parametrize("units", [2.0**10, 2.0**20])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_twin_of_a_certificate_is_exact(metric, kind, units, fit_intercept):
    X, y, weight, more = problem(kind, units)
    rows, labels = np.vstack([X, more]), np.r_[y, np.full(len(more), -1)]
    for alpha in (1e-8, 1e-3):
        expected = exact_scores(X, y, weight, alpha, fit_intercept, more)
        clf = ICLSClassifier(alpha, metric=metric, fit_intercept=fit_intercept).fit(rows, labels)
        scores, twin = (m.decision_function(more) + 0.5 for m in (clf, clf.supervised_))
        np.testing.assert_allclose(twin, expected, atol=1e-9 * np.abs(expected).max())
        proof = clf.certificate_
        assert proof.converged
        if not proof.moved:
            np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_collinear_labelled_rows_leave_the_twin_attainable():
    """The columns are equal among the labelled rows but not among the unlabelled ones."""
    rng = np.random.default_rng(0)
    X, more = rng.normal(size=(40, 4)), rng.normal(size=(400, 4))
    X[:, 3] = X[:, 0]
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
    expected = LeastSquaresClassifier(1e-9).fit(X, y).decision_function(more)
    for units in (1e5, 1e6, 1e7):
        for metric in (0.2, "all"):
            clf = ICLSClassifier(1e-3, metric=metric)
            clf.fit(units * X, y, X_unlabeled=units * more)
            assert clf.certificate_.moved is False
            np.testing.assert_allclose(clf.decision_function(units * more), expected, atol=1e-6)


@pytest.mark.parametrize("n_rows", [3, 6])
def test_the_ridges_of_a_path_are_exact(n_rows):
    """Fewer rows than columns, or more; one of them occurs twice, with another label."""
    rng = np.random.default_rng(0)
    X, more = (2.0**20 * np.round(rng.normal(size=(n, N_FEATURES)), 3) for n in (n_rows, 10))
    X[-1], y = X[0], np.arange(n_rows) % 2.0
    y[-1] = 1 - y[0]
    path = RidgePath([ArrayRows(X)], fit_intercept=True)
    for alpha in (1e-8, 1e-4, 1.0, 1e4):
        equations = path.at(alpha)
        coef, intercept = equations.decode(
            equations.solve(equations.design(ArrayRows(X)).weighted_sum(y))
        )
        expected = exact_scores(X, y, np.ones(n_rows), alpha, True, more)
        np.testing.assert_allclose(
            more @ coef + intercept, expected, atol=1e-9 * np.abs(expected).max()
        )


def test_a_tuned_twin_is_exact():
    X, y, weight, more = problem("equal columns", 2.0**20)
    rows, labels = np.vstack([X, more]), np.r_[y, np.full(len(more), -1)]
    clf = ICLSClassifierCV(alphas=[1e-4], metrics=[0.0, 1.0], cv=2).fit(rows, labels)
    twin = clf.best_estimator_.supervised_.decision_function(more) + 0.5
    np.testing.assert_allclose(twin, exact_scores(X, y, weight, 1e-4, True, more), atol=1e-9)
