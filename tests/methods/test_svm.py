"""The supervised machine: known answers, LinearSVC, sparse rows, and the three ways to solve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from generate import several_classes, two_classes
from primum import L2SVMClassifier, SelfLearningClassifier
from primum.methods.svm.newton import Conjugate, Dual, HingeCosts, Primal, machine_at, minimize
from reference import arrays, reference_problems

PROBLEMS = reference_problems()
PAPER = {"costs": "sum", "penalize_intercept": True}


def objective(w, b, X, y, *, alpha=1.0, cost=1.0, penalize=True):
    """The formula at the top of svm/base.py, word for word."""
    slack = np.maximum(0, 1 - (2 * y - 1) * (X @ w + b))
    return alpha / 2 * (w @ w + penalize * b**2) + np.sum(cost * slack**2) / 2


@pytest.mark.parametrize("name", PROBLEMS)
def test_decisions_are_those_of_rssl(name):
    X, y, _, _, X_test = arrays(PROBLEMS[name])
    clf = L2SVMClassifier(**PAPER).fit(X, y)
    expected = PROBLEMS[name]["methods"]["svm_l2"]["decision_test"]
    np.testing.assert_allclose(clf.decision_function(X_test), expected, atol=1e-5)
    value = objective(clf.coef_[0], clf.intercept_[0], X, y)
    assert clf.objective_ == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("n", "d"), [(30, 80), (200, 5), (60, 60)])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_linear_svc_has_the_same_minimum(n, d, C):
    X, y, *_ = two_classes(n, 0, d)
    weight = np.random.default_rng(1).uniform(0.1, 3, n)
    theirs = LinearSVC(C=C, tol=1e-10, max_iter=1_000_000).fit(X, y, sample_weight=weight)
    ours = L2SVMClassifier(alpha=1 / (2 * C), **PAPER).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    value = objective(theirs.coef_[0], theirs.intercept_[0], X, y, alpha=1 / (2 * C), cost=weight)
    assert ours.objective_ <= value * (1 + 1e-12)


@given(
    n=st.integers(4, 40),
    d=st.integers(1, 30),
    alpha=st.sampled_from([1e-6, 1e-2, 1.0, 1e3]),
    penalize=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_the_gradient_vanishes(n, d, alpha, penalize, seed):
    X, y, *_ = two_classes(n, 0, d, seed=seed)
    clf = L2SVMClassifier(alpha, penalize_intercept=penalize).fit(X, y)
    w, b = clf.coef_[0], clf.intercept_[0]
    sign = 2 * y - 1
    pull = sign * np.maximum(0, 1 - sign * (X @ w + b)) / n
    np.testing.assert_allclose(alpha * w, X.T @ pull, atol=1e-9)
    np.testing.assert_allclose(penalize * alpha * b, pull.sum(), atol=1e-9)
    assert clf.objective_ == pytest.approx(
        objective(w, b, X, y, alpha=alpha, cost=1 / n, penalize=penalize), rel=1e-9, abs=1e-15
    )


@pytest.mark.parametrize("penalize", [False, True])
@pytest.mark.parametrize(("n", "d"), [(30, 80), (200, 5)])
def test_three_ways_to_solve_agree(n, d, penalize):
    X, y, *_ = two_classes(n, 0, d, seed=2)
    X = np.column_stack([X, np.ones(n)])
    ridge = np.append(np.full(d, 0.1), 0.1 * penalize)
    costs = HingeCosts(2.0 * y - 1, np.random.default_rng(3).uniform(0, 2, n))
    systems = [
        Primal(X, ridge, [slice(0, n // 2), slice(n // 2, n)]),
        Dual(X, ridge),
        Conjugate(sparse.csr_array(X), ridge),
    ]
    found = []
    for system in systems:
        start = machine_at(system, np.zeros(d + 1))
        machine = minimize(system, costs, start, tol=1e-14, max_iter=100)
        assert machine.converged
        found.append(machine)
    for other in found[1:]:
        np.testing.assert_allclose(other.w, found[0].w, atol=1e-6)
        assert other.objective == pytest.approx(found[0].objective, rel=1e-10)


@pytest.mark.parametrize("penalize", [False, True])
@pytest.mark.parametrize(("n", "d"), [(40, 300), (2500, 40)])
def test_sparse_rows_give_the_dense_answer(n, d, penalize):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.1)
    y = (X.sum(axis=1) + rng.normal(size=n) > 0).astype(int)
    clf = L2SVMClassifier(0.01, penalize_intercept=penalize)
    dense = clf.fit(X, y).decision_function(X)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        np.testing.assert_allclose(clf.fit(kind(X), y).decision_function(kind(X)), dense, atol=1e-4)
    assert clf.coef_.shape == (1, d)


def test_mean_and_sum_are_the_same_objective_scaled():
    X, y, *_ = two_classes(25, 0, 4)
    mean = L2SVMClassifier(0.2).fit(X, y)
    total = L2SVMClassifier(0.2 * 25, costs="sum").fit(X, y)
    np.testing.assert_allclose(mean.coef_, total.coef_, atol=1e-12)
    assert total.objective_ == pytest.approx(25 * mean.objective_)


def test_weights_repeat_rows():
    X, y, *_ = two_classes(25, 0, 4)
    weight = np.random.default_rng(0).integers(0, 4, 25)
    weight[:2] = 1
    heavy = L2SVMClassifier(0.1).fit(X, y, sample_weight=weight)
    often = L2SVMClassifier(0.1).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(heavy.coef_, often.coef_, atol=1e-9)


def test_warm_start_needs_one_step():
    X, y, *_ = two_classes(300, 0, 10)
    clf = L2SVMClassifier(1e-3, warm_start=True).fit(X, y)
    cold, coef = clf.n_iter_, clf.coef_
    clf.fit(X, y)
    assert clf.n_iter_ == 1 < cold
    np.testing.assert_allclose(clf.coef_, coef, atol=1e-10)
    assert clf.fit(X[:, :4], y).coef_.shape == (1, 4)


def test_stopping_short_is_said():
    X, y, *_ = two_classes(300, 0, 10)
    with pytest.warns(ConvergenceWarning, match="L2SVMClassifier stopped after max_iter=1 Newton"):
        L2SVMClassifier(1e-6, max_iter=1).fit(X, y)


def test_separable_rows_and_rows_far_away():
    X = np.array([[-1e6], [-1.0], [1.0], [1e6]])
    clf = L2SVMClassifier(1e-8).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(clf.decision_function(X[1:3]), [-1, 1], atol=1e-6)


def test_self_learning_around_the_machine_refits_from_scratch_or_not():
    X, y, X_u, _ = two_classes(20, 150, 4)
    svm = L2SVMClassifier(**PAPER)
    clf = SelfLearningClassifier(svm).fit(X, y, X_unlabeled=X_u)
    assert clf.termination_condition_ == "no_change"
    again = L2SVMClassifier(**PAPER).fit(np.vstack([X, X_u]), clf.transduction_)
    np.testing.assert_allclose(clf.estimator_.coef_, again.coef_, atol=1e-8)
    np.testing.assert_array_equal(clf.transduction_, np.r_[y, clf.predict(X_u)])


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("n", "d"), [(30, 80), (200, 5)])
def test_several_classes_are_those_of_linear_svc(n, d, fit_intercept):
    X, y, X_new, _ = several_classes(n, 50, d, 4)
    theirs = LinearSVC(C=0.5, tol=1e-10, max_iter=1_000_000, fit_intercept=fit_intercept)
    ours = L2SVMClassifier(fit_intercept=fit_intercept, **PAPER).fit(X, y)
    theirs.fit(X, y)
    assert ours.coef_.shape == (4, d)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_ + np.zeros(4), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X_new), theirs.predict(X_new))


@given(
    n=st.integers(5, 40),
    d=st.integers(1, 20),
    K=st.integers(3, 5),
    alpha=st.sampled_from([1e-3, 1e-1, 10.0]),
    seed=st.integers(0, 2**16),
)
def test_several_classes_are_one_machine_each_against_the_rest(n, d, K, alpha, seed):
    X, y, X_new, _ = several_classes(n, 20, d, K, seed=seed)
    clf = L2SVMClassifier(alpha).fit(X, y)
    each = [L2SVMClassifier(alpha).fit(X, y == k) for k in range(K)]
    expected = np.column_stack([one.decision_function(X_new) for one in each])
    np.testing.assert_allclose(clf.decision_function(X_new), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(clf.predict(X_new), clf.decision_function(X_new).argmax(axis=1))
    assert clf.objective_ == pytest.approx(sum(one.objective_ for one in each), rel=1e-8)


def test_several_classes_by_names_and_weights_in_sparse_rows():
    X, y, X_new, _ = several_classes(60, 50, 5, 3)
    names, weight = np.array(["blue", "green", "red"]), np.random.default_rng(0).uniform(1, 2, 60)
    expected = OneVsRestClassifier(L2SVMClassifier(0.1)).fit(np.repeat(X, 2, axis=0), y.repeat(2))
    labels = [*names[y], *[None] * 50]
    rows = sparse.csr_array(np.vstack([X, X_new]))
    clf = L2SVMClassifier(0.1, tol=1e-14).fit(rows, labels, sample_weight=np.full(110, 2.0))
    np.testing.assert_allclose(
        clf.decision_function(X_new), expected.decision_function(X_new), atol=1e-6
    )
    np.testing.assert_array_equal(clf.predict(X_new), names[expected.predict(X_new)])
    clf.fit(X, y, sample_weight=weight)
    second = L2SVMClassifier(0.1).fit(X, y == 1, sample_weight=weight)
    np.testing.assert_allclose(clf.coef_[1], second.coef_[0], atol=1e-8)


def test_warm_start_of_several_classes():
    X, y, *_ = several_classes(300, 0, 10, 4)
    clf = L2SVMClassifier(1e-3, warm_start=True).fit(X, y)
    cold, coef = clf.n_iter_, clf.coef_
    assert clf.fit(X, y).n_iter_ == 1 < cold
    np.testing.assert_allclose(clf.coef_, coef, atol=1e-10)
    assert clf.fit(X, y > 1).coef_.shape == (1, 10)
    assert clf.fit(X, y).coef_.shape == (4, 10)


def test_equal_decisions_go_to_the_first_class():
    X = np.array([[0.0], [0.0], [0.0], [1.0]])
    clf = L2SVMClassifier().fit(X, [0, 1, 2, 2])
    clf.coef_, clf.intercept_ = np.zeros((3, 1)), np.array([-1.0, 0.5, 0.5])
    assert clf.predict(X).tolist() == [1, 1, 1, 1]


def test_stopping_short_is_said_once_for_several_classes():
    X, y, *_ = several_classes(300, 0, 10, 4)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1 Newton") as said:
        L2SVMClassifier(1e-6, max_iter=1).fit(X, y)
    assert len(said) == 1
    assert said[0].filename == __file__


def test_self_learning_around_the_machine_with_several_classes():
    X, y, X_u, _ = several_classes(20, 150, 4, 3)
    clf = SelfLearningClassifier(L2SVMClassifier(**PAPER)).fit(X, y, X_unlabeled=X_u)
    assert clf.termination_condition_ == "no_change"
    again = L2SVMClassifier(**PAPER).fit(np.vstack([X, X_u]), clf.transduction_)
    np.testing.assert_allclose(clf.estimator_.coef_, again.coef_, atol=1e-8)
    np.testing.assert_array_equal(clf.transduction_, np.r_[y, clf.predict(X_u)])
