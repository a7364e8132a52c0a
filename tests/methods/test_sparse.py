"""Sparse rows: the answers of dense ones, without their memory, and with any number of columns."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from primum import (
    EMLeastSquaresClassifier,
    HealyWestmacottClassifier,
    ICLSClassifier,
    LeastSquaresClassifier,
    SelfLearningClassifier,
    USMClassifier,
)
from primum.equations import normal as equations
from primum.rows import ArrayRows
from primum.simulated import sparse_text
from primum_lab.as_published import PublishedICLS

FAMILY = [
    LeastSquaresClassifier(),
    LeastSquaresClassifier(alpha=0.1, fit_intercept=False),
    USMClassifier(),
    USMClassifier(alpha=0.1),
    EMLeastSquaresClassifier(),
    EMLeastSquaresClassifier(alpha=0.01),
    EMLeastSquaresClassifier("hard"),
    HealyWestmacottClassifier(tol=1e-3),
    SelfLearningClassifier(),
    ICLSClassifier(),
    ICLSClassifier(alpha=0.01, alpha_labeled=0.0),
    PublishedICLS(alpha=0.01, alpha_labeled=0.0, rcond=None),
    ICLSClassifier(alpha=0.01, fit_intercept=False),
    ICLSClassifier(metric="all"),
    ICLSClassifier(metric="euclidean"),
]
each_estimator = pytest.mark.parametrize("clf", FAMILY, ids=str)


def random_rows(rng, n=300, d=20):
    X = rng.normal(size=(n, d)) + 1.0
    X[rng.uniform(size=X.shape) < 0.7] = 0.0
    return X


def one_hot(rng, n=300, d=20):
    """Columns of each of four variables add up to 1: collinear with the intercept."""
    levels = d // 4
    return np.hstack([np.eye(levels)[rng.integers(0, levels, n)] for _ in range(4)])


def with_constants(rng, n=300, d=20):
    X = random_rows(rng, n, d)
    X[:, 3], X[:, 4], X[:, 5] = 0.1, 0.0, 250 * X[:, 6]
    return X


KINDS = {"random": random_rows, "one-hot": one_hot, "constant columns": with_constants}


def problem(kind="random", L=15, seed=0, n_classes=2, **size):
    rng = np.random.default_rng(seed)
    X = KINDS[kind](rng, **size)
    y = (X[:, 0] + 0.5 * rng.normal(size=len(X)) > X[:, 0].mean()).astype(int)
    if n_classes > 2:
        y = 2 * (X[:, 1] > np.median(X[:, 1])) + y
    y[:n_classes] = np.arange(n_classes)
    return X, np.where(np.arange(len(X)) < L, y, -1)


def text_problem(n, d, density, L):
    X, truth = sparse_text(n, d, density, random_state=0)
    return X, np.where(np.arange(n) < L, truth, -1), truth


def coefficients(clf):
    fitted = getattr(clf, "estimator_", clf)
    return np.append(fitted.coef_, fitted.intercept_)


SEVERAL_CLASSES = [
    ICLSClassifier(),
    ICLSClassifier(metric=0.3, fit_intercept=False),
    ICLSClassifier(alpha=0.1, metric="all"),
    ICLSClassifier(metric="euclidean"),
]


def traced(clf, X, y):
    """Fit and return the peak of memory too."""
    tracemalloc.start()
    try:
        return clf.fit(X, y), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def assert_same(fitted, expected, atol):
    np.testing.assert_allclose(coefficients(fitted), coefficients(expected), atol=atol)
    if hasattr(expected, "certificate_"):
        ours, theirs = fitted.certificate_, expected.certificate_
        assert ours.converged
        assert ours.objective == pytest.approx(theirs.objective, abs=1e-8)
        assert ours.labeled_loss == pytest.approx(theirs.labeled_loss, abs=1e-8)
        assert ours.shift == pytest.approx(theirs.shift, abs=1e-6)


@each_estimator
@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_of_dense_rows(clf, kind):
    X, y = problem(kind)
    expected = clone(clf).fit(X, y)
    fitted = clone(clf).fit(sparse.csr_array(X), y)
    assert_same(fitted, expected, 1e-7)
    np.testing.assert_array_equal(fitted.predict(sparse.csr_array(X)), expected.predict(X))


@pytest.mark.parametrize("clf", SEVERAL_CLASSES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_of_dense_rows_of_four_classes(clf, kind):
    X, y = problem(kind, L=30, n_classes=4)
    assert_same(clone(clf).fit(sparse.csr_array(X), y), clone(clf).fit(X, y), 1e-7)


@each_estimator
def test_any_sparse_format_mixed_with_dense_rows(clf):
    X, y = problem()
    expected = clone(clf).fit(X[:100], y[:100], X_unlabeled=X[100:])
    for kind, more in (
        (sparse.csc_matrix, sparse.coo_array),
        (np.asarray, sparse.csr_matrix),
        (sparse.lil_array, np.asarray),
    ):
        fitted = clone(clf).fit(kind(X[:100]), y[:100], X_unlabeled=more(X[100:]))
        assert_same(fitted, expected, 1e-7)


@each_estimator
def test_weights(clf):
    X, y = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    weight[:4] = 1.0
    expected = clone(clf).fit(X, y, sample_weight=weight)
    assert_same(clone(clf).fit(sparse.csr_array(X), y, sample_weight=weight), expected, 1e-7)


@pytest.mark.parametrize("metric", ["labeled", "all", "euclidean"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_streamed(monkeypatch, metric, kind, n_classes):
    X, y = problem(kind, n=6000, n_classes=n_classes)
    expected = ICLSClassifier(metric=metric).fit(X, y)
    monkeypatch.setattr("primum.labellings.implicit.MAX_FORMED_NUMBERS", 0)
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 1024)
    monkeypatch.setattr("primum.rows.array.BLOCK_NUMBERS", 2**12)
    fitted = ICLSClassifier(metric=metric).fit(sparse.csr_array(X), y)
    ours, theirs = fitted.certificate_, expected.certificate_
    assert ours.converged
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-8, abs=ours.gap + 1e-11)


def test_columns_with_large_means():
    """Centring cancels; the basis is then corrected from the rows."""
    X, y = problem()
    X[:, :3] += 1e3
    for clf in (ICLSClassifier(), USMClassifier()):
        assert_same(clone(clf).fit(sparse.csr_array(X), y), clone(clf).fit(X, y), 1e-6)


def with_a_weak_direction(rng, n):
    """Counts of which two nearly agree, and two columns to be filled in."""
    X = np.zeros((n, 12))
    X[:, 2:] = (rng.random((n, 10)) < 0.1) * rng.integers(1, 5, (n, 10))
    X[:, -1] = X[:, -2] + (rng.random(n) < 0.0005)
    return X, (X[:, 2:5].sum(axis=1) > 1).astype(int)


@pytest.mark.parametrize("clf", [ICLSClassifier(), USMClassifier(), LeastSquaresClassifier()])
@pytest.mark.parametrize("value", [1.0, 2024.0, 1e6])
def test_columns_that_are_constant_or_nearly_so_cost_the_others_nothing(rng, clf, value):
    X, truth = with_a_weak_direction(rng, 20_000)
    X[:, 0], X[:, 1] = value, value + rng.integers(0, 4, len(X))
    y = np.where(np.arange(len(X)) < 100, truth, -1)
    expected = clone(clf).fit(X, y)
    fitted = clone(clf).fit(sparse.csr_array(X), y)
    assert_same(fitted, expected, 1e-6)
    assert np.count_nonzero(fitted.coef_) > 9
    assert fitted.score(sparse.csr_array(X), truth) > 0.9


@pytest.mark.parametrize("difference", [1e-3, 1e-5, 1e-6, 1e-7, 1e-9])
@pytest.mark.parametrize("clf", [LeastSquaresClassifier(), ICLSClassifier()], ids=str)
def test_nearly_collinear_columns_are_told_apart_as_dense_ones_are(clf, difference, rng):
    X = rng.normal(size=(60, 3))
    X[:, 1] = X[:, 0] + difference * rng.normal(size=60)
    y = np.r_[np.arange(20) % 2, np.full(40, -1)]
    dense, few = clone(clf).fit(X, y), clone(clf).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(few.decision_function(X), dense.decision_function(X), atol=1e-6)


def test_memory_is_that_of_the_stored_values():
    X, y, _ = text_problem(100_000, 400, 0.01, 60)
    clf, peak = traced(PublishedICLS(rcond=None), X, y)
    assert clf.certificate_.converged
    assert peak < 0.25 * 8 * 100_000 * 400


@pytest.fixture
def never_form_a(monkeypatch):
    monkeypatch.setattr(equations, "MAX_FORMED_COLUMNS", 0)
    monkeypatch.setattr(ArrayRows, "dense", False)  # or A is formed for dense rows anyway


@pytest.fixture
def never_factorise(monkeypatch, never_form_a):
    monkeypatch.setattr(equations, "MAX_FACTORISED_NUMBERS", 0)


def formed(clf, X, y, **given):
    """Fit with A, whatever a test has set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equations, "MAX_FORMED_COLUMNS", 4096)
        patch.setattr(equations, "MAX_FACTORISED_NUMBERS", 0)
        return clone(clf).fit(X, y, **given)


@each_estimator
def test_few_rows_are_factorised(never_form_a, clf):
    X, y = problem(n=60, d=100)
    assert_same(clone(clf).fit(sparse.csr_array(X), y), formed(clf, X, y), 1e-7)
    assert_same(clone(clf).fit(X, y), formed(clf, X, y), 1e-7)


@pytest.mark.parametrize("clf", SEVERAL_CLASSES, ids=str)
def test_few_rows_of_four_classes_are_factorised(never_form_a, clf):
    X, y = problem(n=60, d=100, n_classes=4)
    assert_same(clone(clf).fit(sparse.csr_array(X), y), formed(clf, X, y), 1e-7)


UNFACTORISED = [c for c in FAMILY if not isinstance(c, ICLSClassifier)]


@pytest.mark.parametrize("clf", UNFACTORISED, ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("n", "d"), [(60, 100), (200, 40)])
def test_conjugate_gradients(never_factorise, clf, kind, n, d):
    """With fewer rows than columns A is singular, and the shortest coefficients are meant."""
    X, y = problem(n=n, d=d)
    assert_same(clone(clf).fit(kind(X), y), formed(clf, X, y), 1e-6)


@pytest.mark.parametrize(("n", "d"), [(60, 100), (200, 40)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_conjugate_gradients_for_four_classes(never_factorise, n, d, fit_intercept):
    X, y = problem(n=n, d=d, n_classes=4)
    clf = EMLeastSquaresClassifier(alpha=0.01, fit_intercept=fit_intercept)
    assert_same(clone(clf).fit(sparse.csr_array(X), y), formed(clf, X, y), 1e-6)


def test_conjugate_gradients_with_weights_and_further_rows(never_factorise):
    X, y = problem(n=300, d=40)
    weight = np.random.default_rng(1).uniform(0.5, 2, 100)
    rows = {"X_unlabeled": X[100:], "sample_weight": weight}
    few = {"X_unlabeled": sparse.csr_array(X[100:]), "sample_weight": weight}
    for clf in (USMClassifier(alpha=0.01), EMLeastSquaresClassifier(alpha=0.01)):
        fitted = clone(clf).fit(sparse.csr_array(X[:100]), y[:100], **few)
        assert_same(fitted, formed(clf, X[:100], y[:100], **rows), 1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize("value", [1.0, 2024.0, 1e6])
def test_conjugate_gradients_do_not_follow_the_rounding_of_constant_columns(
    never_form_a, alpha, value
):
    X, y = problem(n=600, d=40)
    X[:, 7] = value
    X[:, 8] = value + np.random.default_rng(0).integers(0, 4, len(X))
    family = (
        USMClassifier(alpha),
        EMLeastSquaresClassifier("hard", alpha=alpha),
        EMLeastSquaresClassifier(alpha=0.1),
    )
    for clf in family:
        fitted = clone(clf).fit(sparse.csr_array(X), y)
        assert_same(fitted, formed(clf, X, y), 1e-6)
        assert fitted.coef_[0, 7] == 0


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"alpha": 0.1},
        {"metric": 0.1},
        {"metric": "all"},
        {"metric": "euclidean"},
    ],
    ids=str,
)
def test_what_needs_all_columns_is_refused(never_factorise, parameters):
    X, y = problem()
    message = "and so many rows, this fit cannot be computed: .* TruncatedSVD"
    with pytest.raises(ValueError, match=message):
        ICLSClassifier(**parameters).fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="use alpha instead of rcond"):
        PublishedICLS(rcond=1e-8).fit(sparse.csr_array(X), y)


def test_an_unfinished_solution_is_admitted(never_factorise, monkeypatch):
    monkeypatch.setattr("primum.equations.conjugate.MAX_CG_STEPS", 3)
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="raise alpha or standardise"):
        USMClassifier().fit(sparse.csr_array(X), y)


@pytest.mark.parametrize(
    ("n", "d", "density", "L"),
    [
        (4000, 10_000, 0.002, 20),
        pytest.param(20_000, 30_000, 0.001, 100, marks=pytest.mark.slow),
    ],
)
def test_text(n, d, density, L):
    X, y, truth = text_problem(n, d, density, L)
    clf, peak = traced(EMLeastSquaresClassifier(alpha=1e-3), X, y)
    assert clf.solver_ == "conjugate_gradients"
    assert clf.gap_ <= clf.tol * (1 + clf.gap_)
    assert peak < 0.3 * 8 * n * d
    assert clf.score(X, truth) > 0.5
    assert clf.soft_labels_.shape == (n - L,)
