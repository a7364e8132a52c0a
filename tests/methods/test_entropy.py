"""Entropy-regularised logistic regression: its derivatives, its limits and RSSL's answers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import entr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from generate import several_classes, two_classes
from primum import EntropyLogisticClassifier
from primum.methods.entropy import START_FACTORS, EntropyProblem, descend, lowest_descent
from reference import arrays, reference_problems

PROBLEMS = reference_problems()
n_classes_and_seed = st.tuples(st.integers(2, 5), st.integers(0, 2**20))


def problem(L, U, d, n_classes, *, seed=0):
    if n_classes == 2:
        return two_classes(L, U, d, seed=seed)
    return several_classes(L, U, d, n_classes, seed=seed)


def drawn(n_classes, seed, L=8, U=9, d=3):
    """Return a random f, with weights and penalties of its own, and a random point."""
    rng = np.random.default_rng(seed)
    f = EntropyProblem(
        rng.normal(size=(L + U, d)),
        np.eye(n_classes)[rng.integers(0, n_classes, L)],
        rng.uniform(0, 1, L + U),
        rng.uniform(0, 0.1, d),
    )
    return f, rng.normal(size=f.shape) * rng.choice([0.1, 1.0, 3.0])


def objective_by_definition(clf, X, y, X_u):
    p, p_u = clf.predict_proba(X), clf.predict_proba(X_u)
    log_loss = -np.mean(np.log(p[np.arange(len(y)), y]))
    entropy = np.mean(entr(p_u).sum(axis=1))
    return log_loss + clf.unlabeled_weight * entropy + clf.alpha * np.sum(clf.coef_**2)


@given(n_classes_and_seed)
def test_gradient_agrees_with_finite_differences(case):
    f, W = drawn(*case)
    _, gradient = f.at(W)
    numeric = approx_fprime(W.ravel(), lambda w: f.at(w)[0], 1e-7)
    np.testing.assert_allclose(gradient.ravel(), numeric, atol=2e-5)


@given(n_classes_and_seed)
def test_second_derivative_agrees_with_differences_of_the_gradient(case):
    f, W = drawn(*case)
    w, v = W.ravel(), np.random.default_rng(case[1]).normal(size=W.size)
    numeric = (f.at(w + 1e-6 * v)[1] - f.at(w - 1e-6 * v)[1]) / 2e-6
    np.testing.assert_allclose(f.hessian(w) @ v, numeric, atol=1e-6)


@given(n_classes_and_seed)
def test_a_descent_never_ends_above_its_start(case):
    f, W = drawn(*case)
    for max_iter in (1, 3, 1000):
        assert descend(f, W, tol=1e-10, max_iter=max_iter).value <= f.at(W)[0] * (1 + 1e-14)


def test_large_scores_overflow_nowhere():
    f, W = drawn(3, 0)
    value, gradient = f.at(1e4 * W)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_objective_is_that_of_the_definition_and_at_most_the_twins(n_classes):
    X, y, X_u, _ = problem(20, 80, 4, n_classes)
    clf = EntropyLogisticClassifier(0.7, alpha=0.02).fit(X, y, X_u)
    assert clf.objective_ == pytest.approx(objective_by_definition(clf, X, y, X_u), rel=1e-10)
    assert clf.objective_ < clf.supervised_objective_
    assert clf.converged_
    assert clf.gap_ <= clf.tol
    assert clf.n_iter_ > clf.supervised_.n_iter_.max()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_without_entropy_it_is_logistic_regression(n_classes, alpha, fit_intercept):
    X, y, X_u, _ = problem(30, 40, 4, n_classes)
    expected = LogisticRegression(
        C=1 / (2 * 30 * alpha), fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12
    ).fit(X, y)
    clf = EntropyLogisticClassifier(0.0, alpha=alpha, fit_intercept=fit_intercept)
    for fitted in (clf.fit(X, y, X_u), clf.set_params(unlabeled_weight=1.0).fit(X, y)):
        np.testing.assert_allclose(fitted.coef_, expected.coef_, atol=1e-6)
        np.testing.assert_allclose(fitted.intercept_, expected.intercept_, atol=1e-6)
        np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_integer_weights_repeat_rows(n_classes):
    X, y, X_u, _ = problem(15, 30, 3, n_classes)
    X, y = np.vstack([X, X_u]), np.r_[y, np.full(30, -1)]
    weight = np.random.default_rng(0).integers(0, 4, 45)
    weight[:n_classes] = 2
    clf = EntropyLogisticClassifier(0.5, alpha=0.1)
    weighted = clf.fit(X, y, sample_weight=weight).coef_
    repeated = clf.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).coef_
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows_give_the_same_model(n_classes):
    X, y, X_u, _ = problem(20, 60, 6, n_classes)
    X, X_u = (np.where(np.abs(rows) < 1, 0.0, rows) for rows in (X, X_u))
    clf = EntropyLogisticClassifier(0.5)
    dense = clf.fit(X, y, X_u).coef_
    np.testing.assert_allclose(
        clf.fit(sparse.csr_array(X), y, sparse.csr_array(X_u)).coef_, dense, atol=1e-7
    )


def test_certain_predictions_for_separated_clusters():
    """With clusters far apart the entropy all but vanishes, and the boundary is between them."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    X_u = np.column_stack([8.0 * truth, np.zeros(200)]) + rng.normal(size=(200, 2))
    X, y = np.array([[0.0, -3.0], [8.0, 3.0]]), np.array([0, 1])
    clf = EntropyLogisticClassifier(1.0, alpha=1e-3).fit(X, y, X_u)
    assert clf.score(X_u, truth) == 1.0
    assert entr(clf.predict_proba(X_u)).sum(axis=1).mean() < 0.05


def test_too_few_iterations_are_said():
    X, y, X_u, _ = two_classes(20, 60, 5)
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations .* \(now 1\)"):
        clf = EntropyLogisticClassifier(max_iter=1).fit(X, y, X_u)
    assert not clf.converged_
    assert clf.objective_ <= clf.supervised_objective_


def test_a_tolerance_below_rounding_is_said():
    X, y, X_u, _ = two_classes(20, 60, 5)
    with pytest.warns(ConvergenceWarning, match="rounding limits it"):
        EntropyLogisticClassifier(tol=1e-30).fit(X, y, X_u)


def test_no_penalty_is_refused():
    X, y, *_ = two_classes(20, 0, 2)
    with pytest.raises(ValueError, match="'alpha' parameter of EntropyLogisticClassifier"):
        EntropyLogisticClassifier(alpha=0.0).fit(X, y)


def rssl(name, method):
    """Return RSSL's answer, coefficients first; it models the log-odds of class 0."""
    theta = -np.array(PROBLEMS[name]["methods"][method]["theta"]).ravel()
    return np.append(theta[1:], theta[0])


def ours(name, entropy_weight):
    """Fit with RSSL's settings: a ridge of 0.1 and sums instead of means."""
    X, y, X_u, _, _ = arrays(PROBLEMS[name])
    L, U = len(X), len(X_u)
    return EntropyLogisticClassifier(entropy_weight * U / L, alpha=0.1 / L).fit(X, y, X_u)


def summed_objective(name, entropy_weight):
    """Return RSSL's objective."""
    X, y, X_u, _, _ = arrays(PROBLEMS[name])
    rows = np.column_stack([np.vstack([X, X_u]), np.ones(len(X) + len(X_u))])
    weight = np.append(np.ones(len(X)), np.full(len(X_u), entropy_weight))
    return EntropyProblem(rows, np.eye(2)[y], weight, np.append(np.full(X.shape[1], 0.1), 0.0))


def parameters(clf):
    return np.append(clf.coef_[0], clf.intercept_)


@pytest.mark.parametrize("name", PROBLEMS)
def test_logistic_regression_agrees_with_rssl_and_is_no_higher(name):
    theirs, clf = rssl(name, "logistic"), ours(name, 0.0)
    f = summed_objective(name, 0.0)
    np.testing.assert_allclose(parameters(clf), theirs, atol=2e-4)
    assert f.at(parameters(clf))[0] <= f.at(theirs)[0]
    expected = PROBLEMS[name]["methods"]["logistic"]["pred_test"]
    np.testing.assert_array_equal(clf.predict(arrays(PROBLEMS[name])[-1]), np.ravel(expected))


@pytest.mark.parametrize("name", PROBLEMS)
def test_rssl_ends_in_a_local_minimum_of_the_same_objective(name):
    theirs = rssl(name, "entropy_logistic")
    f = summed_objective(name, 0.5)
    end = descend(f, theirs, tol=1e-7, max_iter=1000)
    np.testing.assert_allclose(end.W, theirs, atol=5e-4)
    assert 0 <= f.at(theirs)[0] - end.value < 1e-6


# Where several minima are found, and the lowest of them is below RSSL's.
LOWER_THAN_RSSL = {"sonar", "sonar_few", "ionosphere"}


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_minimum_is_above_rssls(name):
    f, clf = summed_objective(name, 0.5), ours(name, 0.5)
    theirs = f.at(rssl(name, "entropy_logistic"))[0]
    mine = f.at(parameters(clf))[0]
    assert clf.converged_
    assert mine == pytest.approx(clf.objective_ * len(PROBLEMS[name]["y"]))
    assert mine <= theirs
    assert (mine < theirs - 0.01) == (name in LOWER_THAN_RSSL)


@pytest.mark.skipif("diabetes" not in PROBLEMS, reason="needs the real data of ../shared")
def test_the_lowest_of_several_descents_is_taken():
    f = summed_objective("diabetes", 0.5)
    start = parameters(ours("diabetes", 0.0))[None]
    ends = [descend(f, c * start, tol=1e-7, max_iter=1000).value for c in START_FACTORS]
    best = lowest_descent(f, start, tol=1e-7, max_iter=1000)
    assert best.value == min(ends) < ends[0] - 0.01
    convex = replace(f, weight=np.where(np.arange(len(f.weight)) < len(f.targets), f.weight, 0))
    alone = descend(convex, start, tol=1e-7, max_iter=1000)
    assert lowest_descent(convex, start, tol=1e-7, max_iter=1000).n_iter == alone.n_iter


@pytest.mark.parametrize("unit", [1e76, 1e150, 1e300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_that_overflow_are_refused(unit, form):
    X, y, X_u, _ = two_classes(20, 60, 3)
    with pytest.raises(ValueError, match=r"X has values up to .*e\+\d+, so .* overflow: rescale"):
        EntropyLogisticClassifier().fit(form(unit * X), y, form(unit * X_u))


def test_large_values_give_finite_scores():
    X, y, X_u, _ = two_classes(20, 60, 3)
    with pytest.warns(ConvergenceWarning, match="standardise"):
        clf = EntropyLogisticClassifier().fit(1e70 * X, y, 1e70 * X_u)
    assert np.isfinite(clf.decision_function(1e70 * X_u)).all()
