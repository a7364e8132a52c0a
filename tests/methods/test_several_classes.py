"""More than two classes: one score per class, fitted to one-hot labels."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import accuracy_score

from generate import least_squares_family, several_classes, two_classes
from primum import EMLeastSquaresClassifier, ICLSClassifier, LeastSquaresClassifier, USMClassifier
from primum.equations import normal
from primum.labellings.sets import Simplex, nearest_shares
from primum.methods.least_squares.em import SoftLabelProblem
from primum.rows import ArrayRows, LabeledRows
from primum.solvers.implicit import measure_labels

FAMILY = [
    LeastSquaresClassifier(),
    LeastSquaresClassifier(alpha=0.1),
    USMClassifier(),
    USMClassifier(alpha=0.1, fit_intercept=False),
    EMLeastSquaresClassifier(tol=1e-12),
    EMLeastSquaresClassifier(alpha=0.1, fit_intercept=False, tol=1e-12),
    EMLeastSquaresClassifier("hard"),
    ICLSClassifier(),
    ICLSClassifier(alpha=0.1, metric=0.3),
    ICLSClassifier(metric="all", fit_intercept=False),
    ICLSClassifier(metric="euclidean"),
]
each = pytest.mark.parametrize("clf", FAMILY, ids=str)


@pytest.fixture
def iterative(monkeypatch):
    """Have the equations of sparse rows solved by conjugate gradients."""
    monkeypatch.setattr(normal, "MAX_FORMED_COLUMNS", 0)
    monkeypatch.setattr(normal, "MAX_FACTORISED_NUMBERS", 0)


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
def test_weights_repeat_rows(clf):
    X, y, X_u = partly_labelled()
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(len(X_u), -1)]
    weight = np.random.default_rng(0).integers(0, 4, len(rows))
    weight[: len(X)] += 1
    heavy = clone(clf).fit(rows, labels, sample_weight=weight)
    often = clone(clf).fit(np.repeat(rows, weight, axis=0), np.repeat(labels, weight))
    np.testing.assert_allclose(heavy.coef_, often.coef_, atol=1e-7)
    if hasattr(heavy, "soft_labels_"):
        assert heavy.soft_labels_.shape == (len(X_u), 4)
        np.testing.assert_array_equal(heavy.soft_labels_[weight[len(X) :] == 0], 0.25)
        np.testing.assert_allclose(heavy.soft_labels_.sum(axis=1), 1.0, atol=1e-12)


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
    of_em = isinstance(clf, EMLeastSquaresClassifier)
    for rows in sparse.csr_array(X_u), path, array.from_array(X_u, chunks=(30, 4)):
        for method, values in zip(methods, expected, strict=True):
            found = getattr(dense, method)(rows)
            assert found.shape == values.shape
            np.testing.assert_allclose(np.asarray(found), values, atol=1e-12)
        if of_em and not sparse.issparse(rows):
            continue  # it stores one label per row and class, in memory
        scores = clone(clf).fit(X, y, X_unlabeled=rows).decision_function(X_u)
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
    np.testing.assert_array_equal(family.gamma(np.zeros((0, 4))).shape, (5, 4))


def test_two_models_are_compared_by_class():
    X, y, X_u = partly_labelled()
    family = family_of(X, y, X_u, 4)
    one, other = (LeastSquaresClassifier(alpha).fit(X, y) for alpha in (0.0, 1.0))
    scores = [clf.decision_function(np.vstack([X, X_u])) for clf in (one, other)]
    models = one._score_parameters, other._score_parameters
    found = measure_labels(family, *models, 1e-12)
    assert found.squares == pytest.approx(np.sum((scores[0] - scores[1]) ** 2))
    assert found.changed == np.count_nonzero(one.predict(X_u) != other.predict(X_u)) > 0
    same = measure_labels(family, models[0], models[0], 1e-12)
    assert (same.squares, same.changed) == (0.0, 0)


def test_a_change_within_rounding_is_none():
    X, y, X_u = partly_labelled(d=1, K=3)
    family = family_of(X, y, X_u, 3)
    coef = np.zeros((1, 3))
    one, other = (coef, np.array([1.0, 1.0 - 1e-9, 0.0])), (coef, np.array([1.0 - 1e-3, 1.0, 0.0]))
    for rounding, changed in ((1e-12, len(X_u)), (1e-9, 0)):
        assert measure_labels(family, one, other, rounding).changed == changed


def test_two_classes_keep_one_score():
    X, y, X_u, _ = two_classes(20, 30, 3)
    clf = LeastSquaresClassifier().fit(X, y)
    assert clf.coef_.shape == (1, 3)
    linear = LinearRegression().fit(X, np.eye(2)[y])
    np.testing.assert_allclose(clf.decision_function(X_u) + 0.5, linear.predict(X_u)[:, 1])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_usm_from_its_definition(alpha, fit_intercept):
    X, y, X_u = partly_labelled()
    rows, Y = np.vstack([X, X_u]), np.eye(4)[y]
    center, level = (rows.mean(axis=0), Y.mean(axis=0)) if fit_intercept else (0.0, 0.0)
    moment = (rows - center).T @ (rows - center) / len(rows) + alpha * np.eye(4)
    coef = np.linalg.solve(moment, (X - center).T @ (Y - level) / len(X))
    clf = USMClassifier(alpha, fit_intercept=fit_intercept).fit(X, y, X_unlabeled=X_u)
    np.testing.assert_allclose(clf.coef_, coef.T, atol=1e-9)
    np.testing.assert_allclose(clf.intercept_, level - center @ coef if fit_intercept else 0.0)


def em_objective(X, y, X_u, alpha, coef, intercept, labels=None):
    """Sum of squares over rows and classes with the best soft labels, per labelled row."""
    Y, scores = np.eye(len(coef))[y], X_u @ coef.T + intercept
    labels = nearest_shares(scores) if labels is None else labels
    squares = np.sum((X @ coef.T + intercept - Y) ** 2) + np.sum((scores - labels) ** 2)
    return (squares + alpha * (len(X) + len(X_u)) * np.sum(coef**2)) / len(X)


em_problems = st.builds(
    lambda L, U, d, K, seed: several_classes(max(L, K), U, d, K, seed=seed, separation=1.0)[:3],
    L=st.integers(3, 20),
    U=st.integers(0, 40),
    d=st.integers(1, 12),
    K=st.integers(3, 5),
    seed=st.integers(0, 2**16),
)
alphas = st.sampled_from([0.0, 1e-6, 1e-2])


@given(problem=em_problems, alpha=alphas, fit_intercept=st.booleans(), seed=st.integers(0, 99))
def test_no_other_coefficients_have_a_lower_soft_objective(problem, alpha, fit_intercept, seed):
    X, y, X_u = problem
    clf = EMLeastSquaresClassifier(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10)
    clf.fit(X, y, X_unlabeled=X_u)
    at = em_objective(X, y, X_u, alpha, clf.coef_, clf.intercept_)
    rng = np.random.default_rng(seed)
    for size in (1e-6, 1e-3, 1.0):
        coef = clf.coef_ + size * rng.normal(size=clf.coef_.shape)
        intercept = clf.intercept_ + fit_intercept * size * rng.normal(size=len(coef))
        assert em_objective(X, y, X_u, alpha, coef, intercept) >= at - clf.gap_ - 1e-12
    q = rng.dirichlet(np.ones(len(clf.classes_)), len(X_u))
    rows, labels = np.vstack([X, X_u]), np.vstack([np.eye(len(clf.classes_))[y], q])
    ridge = Ridge(alpha * len(rows), fit_intercept=fit_intercept, solver="svd").fit(rows, labels)
    other = em_objective(X, y, X_u, alpha, ridge.coef_, ridge.intercept_, q)
    assert other >= at - clf.gap_ - 1e-12


@given(problem=em_problems, alpha=alphas, fit_intercept=st.booleans())
def test_alternation_cannot_lower_the_soft_objective(problem, alpha, fit_intercept):
    """The labels are the nearest shares to the scores, and a refit to them changes no score."""
    X, y, X_u = problem
    clf = EMLeastSquaresClassifier(alpha=alpha, fit_intercept=fit_intercept, tol=1e-12)
    clf.fit(X, y, X_unlabeled=X_u)
    rows = np.vstack([X, X_u])
    scores = clf.decision_function(rows)
    np.testing.assert_allclose(clf.soft_labels_, nearest_shares(scores[len(X) :]), atol=1e-9)
    labels = np.vstack([np.eye(len(clf.classes_))[y], clf.soft_labels_])
    refit = Ridge(alpha * len(rows), fit_intercept=fit_intercept, solver="svd").fit(rows, labels)
    np.testing.assert_allclose(refit.predict(rows), scores, atol=1e-5)


@given(problem=em_problems, alpha=alphas, max_iter=st.integers(1, 4))
def test_the_soft_gap_is_a_bound_wherever_it_ends(problem, alpha, max_iter):
    X, y, X_u = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        early = EMLeastSquaresClassifier(alpha=alpha, max_iter=max_iter).fit(X, y, X_unlabeled=X_u)
    best = EMLeastSquaresClassifier(alpha=alpha, tol=1e-11).fit(X, y, X_unlabeled=X_u)
    early_at, best_at = (
        em_objective(X, y, X_u, alpha, clf.coef_, clf.intercept_) for clf in (early, best)
    )
    assert -1e-10 <= early_at - best_at <= early.gap_ + 1e-12


def test_the_soft_minimum_is_that_of_a_generic_solver():
    X, y, X_u, _ = several_classes(12, 25, 3, 3, separation=0.5)
    alpha = 0.01

    def function(v):
        return em_objective(X, y, X_u, alpha, v[:9].reshape(3, 3), v[9:])

    expected = minimize(function, np.full(12, 0.1), tol=1e-12, options={"maxiter": 5000}).fun
    clf = EMLeastSquaresClassifier(alpha=alpha, tol=1e-12).fit(X, y, X_unlabeled=X_u)
    found = em_objective(X, y, X_u, alpha, clf.coef_, clf.intercept_)
    assert found == pytest.approx(expected, abs=1e-9)
    assert found <= expected + 1e-12


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_two_classes_as_several_give_the_answer_of_two_classes(alpha):
    """With an intercept the two scores add up to 1, and everything is counted twice."""
    X, y, X_u, _ = two_classes(20, 80, 5)
    clf = EMLeastSquaresClassifier(alpha=alpha, tol=1e-13).fit(X, y, X_unlabeled=X_u)
    labeled = LabeledRows(X, np.eye(2)[y])
    family = least_squares_family(labeled, ArrayRows(X_u), alpha=alpha, fit_intercept=True)
    problem = SoftLabelProblem(family, Simplex(2))
    point = problem.at(family.gamma(np.full((80, 2), 0.5)))
    for _ in range(20):
        point, gap = problem.newton(point)
    coef, intercept = family.equations.decode(point.gamma)
    np.testing.assert_allclose(coef[:, 1], clf.coef_[0], atol=1e-8)
    np.testing.assert_allclose(coef[:, 0], -clf.coef_[0], atol=1e-8)
    np.testing.assert_allclose(intercept - [0.5, 0.5], [-1, 1] * clf.intercept_, atol=1e-8)
    np.testing.assert_allclose(problem.labels_of(point)[:, 1], clf.soft_labels_, atol=1e-8)
    assert problem.per_labeled_row(gap) < 1e-12


@pytest.mark.usefixtures("iterative")
@pytest.mark.parametrize("labels", ["soft", "hard"])
@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_em_by_conjugate_gradients(labels, alpha, monkeypatch):
    X, y, X_u = partly_labelled()
    iterative = EMLeastSquaresClassifier(labels, alpha=alpha)
    iterative.fit(sparse.csr_array(X), y, X_unlabeled=sparse.csr_array(X_u))
    assert iterative.solver_ == "conjugate_gradients"
    dense = EMLeastSquaresClassifier(labels, alpha=alpha).fit(X, y, X_unlabeled=X_u)
    assert dense.solver_ == "normal_equations"
    np.testing.assert_allclose(iterative.coef_, dense.coef_, atol=1e-7)
    monkeypatch.setattr("primum.methods.least_squares.em.MAX_FACTORISED_UNKNOWNS", 0)
    unfactorised = EMLeastSquaresClassifier(labels, alpha=alpha).fit(X, y, X_unlabeled=X_u)
    np.testing.assert_allclose(unfactorised.coef_, dense.coef_, atol=1e-7)


def test_hard_labels_end_where_none_of_them_changes():
    X, y, X_u = partly_labelled()
    clf = EMLeastSquaresClassifier("hard").fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(clf.soft_labels_, np.eye(4)[clf.predict(X_u)])
    labels = np.r_[y, clf.predict(X_u)]
    refit = LeastSquaresClassifier().fit(np.vstack([X, X_u]), labels)
    np.testing.assert_allclose(clf.coef_, refit.coef_, atol=1e-9)


def test_few_newton_steps_suffice_for_several_classes_too():
    X, y, X_u, _ = several_classes(60, 2_000, 20, 6)
    clf = EMLeastSquaresClassifier().fit(X, y, X_unlabeled=X_u)
    assert clf.n_iter_ < 30
    assert clf.gap_ <= clf.tol * 2
