"""More than two classes: one score per class, fitted to one-hot labels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import accuracy_score

from generate import several_classes, two_classes
from primum import LeastSquaresClassifier
from primum.equations import normal
from primum.labellings import LabeledRows, least_squares_family
from primum.rows import ArrayRows

FAMILY = [LeastSquaresClassifier(), LeastSquaresClassifier(alpha=0.1)]
each = pytest.mark.parametrize("clf", FAMILY, ids=str)


@pytest.fixture
def iterative(monkeypatch):
    """Have the equations of sparse rows solved by conjugate gradients."""
    monkeypatch.setattr(normal, "FORM_A_UP_TO", 0)
    monkeypatch.setattr(normal, "FACTORISE_ROWS_UP_TO", 0)


def partly_labelled(L=40, U=80, d=4, K=4, seed=0):
    X, y, X_u, _ = several_classes(L, U, d, K, seed=seed)
    return X, y, X_u


@given(
    L=st.integers(3, 40),
    d=st.integers(1, 30),
    K=st.integers(3, 6),
    seed=st.integers(0, 2**16),
    fit_intercept=st.booleans(),
)
def test_supervised_least_squares_is_linear_regression_on_one_hot_labels(
    L, d, K, seed, fit_intercept
):
    X, y, X_u, _ = several_classes(max(L, K), 20, d, K, seed=seed)
    clf = LeastSquaresClassifier(fit_intercept=fit_intercept).fit(X, y)
    linear = LinearRegression(fit_intercept=fit_intercept).fit(X, np.eye(K)[y])
    assert clf.coef_.shape == (K, d)
    assert clf.intercept_.shape == (K,)
    np.testing.assert_allclose(clf.coef_, linear.coef_, atol=1e-8)
    scores = clf.decision_function(X_u)
    np.testing.assert_allclose(scores, linear.predict(X_u), atol=1e-8)
    np.testing.assert_array_equal(clf.predict(X_u), scores.argmax(axis=1))
    if fit_intercept:
        np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_ridge_is_that_of_scikit_learn(fit_intercept):
    X, y, _ = partly_labelled()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    clf = LeastSquaresClassifier(0.1, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    ridge = Ridge(0.1 * weight.sum(), fit_intercept=fit_intercept)
    ridge.fit(X, np.eye(4)[y], sample_weight=weight)
    np.testing.assert_allclose(clf.coef_, ridge.coef_, atol=1e-8)
    np.testing.assert_allclose(clf.intercept_, ridge.intercept_, atol=1e-8)


@pytest.mark.usefixtures("iterative")
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_conjugate_gradients_give_the_same(alpha):
    X, y, _ = partly_labelled()
    clf = LeastSquaresClassifier(alpha).fit(sparse.csr_array(X), y)
    assert clf.solver_ == "conjugate_gradients"
    linear = Ridge(alpha * len(X), solver="svd").fit(X, np.eye(4)[y])
    np.testing.assert_allclose(clf.coef_, linear.coef_, atol=1e-8)
    np.testing.assert_allclose(clf.intercept_, linear.intercept_, atol=1e-8)


@each
def test_permuting_the_classes_permutes_the_columns(clf):
    X, y, X_u = partly_labelled()
    order = np.array([2, 0, 3, 1])
    scores = clf.fit(X, y, X_unlabeled=X_u).decision_function(X_u)
    permuted = clf.fit(X, order[y], X_unlabeled=X_u).decision_function(X_u)
    np.testing.assert_allclose(permuted[:, order], scores, atol=1e-7)


@each
def test_names_of_classes_are_only_names(clf):
    X, y, X_u = partly_labelled()
    names = np.array(["blue", "green", "red", "white"])
    expected = clf.fit(X, y, X_unlabeled=X_u).predict(X_u)
    rows, labels = np.vstack([X, X_u]), names[y].tolist() + [None] * len(X_u)
    clf.fit(rows, labels)
    np.testing.assert_array_equal(clf.classes_, names)
    np.testing.assert_array_equal(clf.predict(X_u), names[expected])
    assert clf.score(rows, labels) == accuracy_score(names[y], clf.predict(X))


def test_probabilities_are_the_nearest_point_of_the_simplex():
    """The nearest point q of the simplex is the one with (v - q).(e_k - q) <= 0 for every k."""
    X, y, X_u = partly_labelled(K=5)
    clf = LeastSquaresClassifier().fit(X, y)
    scores, q = clf.decision_function(5 * X_u), clf.predict_proba(5 * X_u)
    assert q.min() >= 0.0
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
    pull = scores - q
    assert (pull - np.sum(pull * q, axis=1, keepdims=True)).max() < 1e-9
    np.testing.assert_array_equal(q.argmax(axis=1), clf.predict(5 * X_u))


def test_many_classes_have_probabilities_too():
    X, y, X_u = partly_labelled(L=300, K=80, d=10)
    assert LeastSquaresClassifier().fit(X, y).predict_proba(X_u).shape == (80, 80)


def test_ties_go_to_the_first_class_of_the_largest_score():
    X, y, _ = partly_labelled(K=3)
    clf = LeastSquaresClassifier().fit(X, y)
    clf.coef_ = np.zeros((3, 4))
    for intercept, expected in ([0.2, 0.4, 0.4], 1), ([1 / 3] * 3, 0), ([0.0, 0.0, 1.0], 2):
        clf.intercept_ = np.array(intercept)
        assert clf.predict(X).tolist() == [expected] * len(X)


@each
def test_rows_of_any_kind_are_scored_alike(clf, tmp_path):
    array = pytest.importorskip("dask.array")
    X, y, X_u = partly_labelled()
    dense = clf.fit(X, y, X_unlabeled=X_u)
    methods = ("predict", "predict_proba", "decision_function")
    expected = [getattr(dense, method)(X_u) for method in methods]
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X_u, columns=list("abcd")).to_parquet(path)
    for rows in sparse.csr_array(X_u), path, array.from_array(X_u, chunks=(30, 4)):
        for method, values in zip(methods, expected, strict=True):
            found = getattr(dense, method)(rows)
            assert found.shape == values.shape
            np.testing.assert_allclose(np.asarray(found), values, atol=1e-12)
        scores = clf.fit(X, y, X_unlabeled=rows).decision_function(X_u)
        np.testing.assert_allclose(scores, expected[2], atol=1e-7)
    on_sparse = clf.fit(sparse.csr_array(X), y).decision_function(X_u)
    supervised = clf.fit(X, y).decision_function(X_u)
    np.testing.assert_allclose(on_sparse, supervised, atol=1e-7)


def test_every_class_needs_a_labelled_row_with_weight():
    X, y, _ = partly_labelled()
    with pytest.raises(ValueError, match="All labelled rows of class 2 have sample_weight 0"):
        LeastSquaresClassifier().fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))


def family_of(X, y, X_u, K, **parameters):
    labeled = LabeledRows(sparse.csr_array(X), np.eye(K)[y])
    parameters = {"alpha": 0.0, "fit_intercept": True} | parameters
    return least_squares_family(labeled, ArrayRows(sparse.csr_array(X_u)), **parameters)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["factorised", "iterative"])
def test_coordinates_of_several_columns(solver, fit_intercept, request):
    """Each column is the fit of its class alone; encode inverts decode."""
    if solver == "iterative":
        request.getfixturevalue("iterative")
    X, y, X_u = partly_labelled()
    q = np.random.default_rng(0).dirichlet(np.ones(4), len(X_u))
    family = family_of(X, y, X_u, 4, alpha=0.1, fit_intercept=fit_intercept)
    equations, gamma = family.equations, family.gamma(q)
    assert (equations.solver == "conjugate_gradients") == (solver == "iterative")
    coef, intercept = equations.decode(gamma)
    assert coef.shape == (4, 4)
    assert np.shape(intercept) == (4,)
    labels = np.vstack([np.eye(4)[y], q])
    ridge = Ridge(0.1 * len(labels), fit_intercept=fit_intercept).fit(np.vstack([X, X_u]), labels)
    np.testing.assert_allclose(coef, ridge.coef_.T, atol=1e-8)
    np.testing.assert_allclose(intercept, ridge.intercept_, atol=1e-8)
    np.testing.assert_allclose(family.scores(gamma), ridge.predict(X_u), atol=1e-8)
    np.testing.assert_allclose(equations.encode(coef, intercept), gamma, atol=1e-9)
    np.testing.assert_allclose(family.gamma(q, start=0.9 * gamma), gamma, atol=1e-9)
    lengths = [equations.length(column) for column in gamma.T]
    assert equations.length(gamma) == pytest.approx(np.linalg.norm(lengths))


def test_no_rows_have_as_many_sums_as_labels_would_have():
    X, y, X_u = partly_labelled()
    family = family_of(X, y, X_u[:0], 4)
    assert family.unlabeled.weighted_sum(np.zeros((0, 4))).shape == (5, 4)
    assert family.unlabeled.weighted_sum(np.zeros(0)).shape == (5,)
    assert family.unlabeled.weighted_sum(lambda view: view.dot(np.ones((5, 3)))).shape == (5, 3)
    np.testing.assert_array_equal(family.gamma(np.zeros((0, 4))).shape, (5, 4))


def test_two_models_are_compared_by_class():
    X, y, X_u = partly_labelled()
    family = family_of(X, y, X_u, 4)
    one, other = (LeastSquaresClassifier(alpha).fit(X, y) for alpha in (0.0, 1.0))
    scores = [clf.decision_function(np.vstack([X, X_u])) for clf in (one, other)]
    squares, changed = family.compare_scores(one._score_parameters, other._score_parameters, 1e-12)
    assert squares == pytest.approx(np.mean(np.sum((scores[0] - scores[1]) ** 2, axis=1)))
    assert changed == np.count_nonzero(one.predict(X_u) != other.predict(X_u)) > 0
    same = family.compare_scores(one._score_parameters, one._score_parameters, 1e-12)
    assert same == (0.0, 0)


def test_a_change_within_rounding_is_none():
    X, y, X_u = partly_labelled(d=1, K=3)
    family = family_of(X, y, X_u, 3)
    coef = np.zeros((1, 3))
    one, other = (coef, np.array([1.0, 1.0 - 1e-9, 0.0])), (coef, np.array([1.0 - 1e-3, 1.0, 0.0]))
    assert family.compare_scores(one, other, 1e-12)[1] == len(X_u)
    assert family.compare_scores(one, other, 1e-9)[1] == 0


def test_two_classes_keep_one_score():
    X, y, X_u, _ = two_classes(20, 30, 3)
    clf = LeastSquaresClassifier().fit(X, y)
    assert clf.coef_.shape == (1, 3)
    linear = LinearRegression().fit(X, np.eye(2)[y])
    np.testing.assert_allclose(clf.decision_function(X_u) + 0.5, linear.predict(X_u)[:, 1])
