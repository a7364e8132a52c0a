"""Arrays of other libraries, computed where they live.

scikit-learn dispatches to other libraries only if SCIPY_ARRAY_API was set before SciPy was
imported, so the first test runs the others in a process of their own. They run with
array-api-strict, which has nothing but the standard, and with PyTorch where it is installed.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
import sklearn

from primum import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    LeastSquaresClassifier,
    USMClassifier,
)

DISPATCHES = os.environ.get("SCIPY_ARRAY_API") == "1"
alone = pytest.mark.skipif(not DISPATCHES, reason="run by the first test of this file")


@pytest.mark.skipif(DISPATCHES, reason="this is the inner run")
def test_the_tests_below_pass_where_scikit_learn_dispatches():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.fixture(params=["array_api_strict", "torch"])
def asarray(request):
    return pytest.importorskip(request.param).asarray


@pytest.fixture(params=["formed", "streamed"])
def columns(request, monkeypatch):
    if request.param == "streamed":
        monkeypatch.setattr("primum.problems.columns.FORM_UP_TO", 0)
        monkeypatch.setattr("primum.solvers.scale.SAMPLE", 512)
        monkeypatch.setattr("primum.rows.array.BLOCK_NUMBERS", 2**13)


def problem(U=6_000, d=5, L=10):
    rng = np.random.default_rng(0)
    y = np.r_[0, 1, rng.integers(0, 2, L - 2)]
    X, X_u = rng.normal(size=(L, d)), rng.normal(size=(U, d))
    X[:, 0] += y
    return X, y, X_u


FAMILY = [
    LeastSquaresClassifier(),
    USMClassifier(alpha=0.1),
    EMLeastSquaresClassifier("soft"),
    EMLeastSquaresClassifier("hard"),
    ICLSClassifier(),
    ICLSClassifier(metric="all"),
    ICLSClassifier(fit_intercept=False),
]


@alone
@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("clf", FAMILY, ids=str)
def test_the_same_answer_in_the_same_library(clf, asarray):
    X, y, X_u = problem()
    expected = sklearn.clone(clf).fit(X, y, X_unlabeled=X_u)
    with sklearn.config_context(array_api_dispatch=True):
        fitted = sklearn.clone(clf).fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))
        predicted = fitted.predict(asarray(X_u))
        chances = fitted.predict_proba(asarray(X_u))
        for array in (fitted.coef_, fitted.intercept_, predicted, chances):
            assert type(array) is type(asarray(X))
    np.testing.assert_allclose(np.asarray(fitted.coef_), expected.coef_, atol=1e-10)
    np.testing.assert_array_equal(np.asarray(predicted), expected.predict(X_u))
    np.testing.assert_allclose(np.asarray(chances), expected.predict_proba(X_u), atol=1e-10)
    if hasattr(expected, "certificate_"):
        assert fitted.certificate_.converged
        soft = np.asarray(fitted.soft_labels_)
        np.testing.assert_allclose(soft, expected.soft_labels_, atol=1e-8)


@alone
@pytest.mark.usefixtures("columns")
def test_rows_scattered_in_one_array_single_precision_and_weights(asarray):
    X, y, X_u = problem()
    order = np.random.default_rng(1).permutation(len(X) + len(X_u))
    rows = np.vstack([X, X_u]).astype(np.float32)[order]
    labels = np.r_[y, np.full(len(X_u), -1)][order]
    weight = np.random.default_rng(2).integers(0, 3, len(rows)) + (labels >= 0)
    expected = ICLSClassifier().fit(rows.astype(float), labels, sample_weight=weight)
    with sklearn.config_context(array_api_dispatch=True):
        weight = asarray(weight.astype(np.float32))
        fitted = ICLSClassifier().fit(asarray(rows), asarray(labels), sample_weight=weight)
        assert fitted.coef_.dtype == asarray(rows).dtype
    np.testing.assert_allclose(np.asarray(fitted.coef_), expected.coef_, atol=1e-6)
    assert fitted.certificate_.converged


@alone
def test_equal_rows_are_found_there_too(asarray, monkeypatch):
    monkeypatch.setattr("primum.problems.columns.FORM_UP_TO", 0)
    X, y, X_u = problem(U=100)
    X_u = np.repeat(X_u, 50, axis=0)
    expected = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    with sklearn.config_context(array_api_dispatch=True):
        fitted = ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))
    np.testing.assert_allclose(np.asarray(fitted.coef_), expected.coef_, atol=1e-10)


@alone
def test_a_value_that_is_no_number_is_refused(asarray):
    X, y, X_u = problem()
    X_u[4_321, 2] = np.nan
    with (
        sklearn.config_context(array_api_dispatch=True),
        pytest.raises(ValueError, match="X_unlabeled contains NaN"),
    ):
        ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))


@alone
def test_ties_go_to_the_second_class_there_too(asarray):
    X, y, _ = problem()
    rows = np.zeros((3, 5))
    rows[:, 0] = [0.0, 1.0, -1.0]
    with sklearn.config_context(array_api_dispatch=True):
        clf = LeastSquaresClassifier().fit(asarray(X), asarray(y))
        clf.coef_, clf.intercept_ = asarray(np.eye(1, 5)), asarray(np.zeros(1))
        predicted = clf.predict(asarray(rows))
        assert type(predicted) is type(asarray(X))
    assert np.asarray(predicted).tolist() == [1, 1, 0]
