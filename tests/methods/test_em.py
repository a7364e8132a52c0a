"""EM least squares: the soft minimum is proven, the hard one is where labels no longer change."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning

from generate import hard_cases, two_classes
from primum import EMLeastSquaresClassifier


def objective(clf, X, y, X_u):
    """Squares of all rows with their best soft labels, plus the ridge, per labelled row."""
    scores = clf.decision_function(np.vstack([X, X_u])) + 0.5
    labels = np.r_[y, np.clip(scores[len(y) :], 0, 1)]
    penalty = clf.alpha * len(scores) * float((clf.coef_**2).sum())
    return (np.sum((scores - labels) ** 2) + penalty) / len(y)


def least_objective(X, y, X_u, alpha=0.0, fit_intercept=True):
    """The same minimum from SciPy's bounded least squares, over coefficients and labels at once."""
    L, U, d, first = len(X), len(X_u), X.shape[1], int(fit_intercept)
    rows = np.column_stack([np.ones((L + U, first)), np.vstack([X, X_u])])
    labels = np.vstack([np.zeros((L, U)), -np.eye(U)])
    ridge = np.eye(d, d + first + U, first) * (alpha * (L + U)) ** 0.5
    matrix = np.vstack([np.hstack([rows, labels]), ridge])
    free = np.full(d + first, np.inf)
    answer = lsq_linear(
        matrix,
        np.r_[y, np.zeros(U + d)],
        (np.r_[-free, np.zeros(U)], np.r_[free, np.ones(U)]),
        tol=1e-14,
        lsmr_tol="auto",
    )
    return 2 * answer.cost / L


problems = st.builds(
    lambda L, U, d, seed: two_classes(L, U, d, seed=seed)[:3],
    L=st.integers(2, 20),
    U=st.integers(0, 60),
    d=st.integers(1, 30),
    seed=st.integers(0, 2**16),
)
alphas = st.sampled_from([0.0, 1e-8, 1e-4, 0.1])


@settings(max_examples=25)  # each is solved by SciPy too
@given(problem=problems, alpha=alphas, fit_intercept=st.booleans())
def test_the_minimum_is_that_of_bounded_least_squares(problem, alpha, fit_intercept):
    clf = EMLeastSquaresClassifier(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10)
    clf.fit(problem[0], problem[1], X_unlabeled=problem[2])
    expected = least_objective(*problem, alpha, fit_intercept)
    assert objective(clf, *problem) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25)  # each is fitted to 1e-12
@given(problem=problems, alpha=alphas, max_iter=st.integers(1, 6))
def test_the_gap_is_a_bound_wherever_it_ends(problem, alpha, max_iter):
    X, y, X_u = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        early = EMLeastSquaresClassifier(alpha=alpha, max_iter=max_iter).fit(X, y, X_unlabeled=X_u)
    best = EMLeastSquaresClassifier(alpha=alpha, tol=1e-12).fit(X, y, X_unlabeled=X_u)
    above = objective(early, *problem) - objective(best, *problem)
    assert -1e-12 <= above <= early.gap_ + 1e-12
    assert best.gap_ <= 1e-12 * (1 + objective(best, *problem))


@pytest.mark.parametrize("alpha", [1e-4, 1e-8, 0.0])
def test_a_few_newton_steps_suffice(alpha):
    """Alternating between fit and labels took more than ten thousand rounds here."""
    X, y, X_u, _ = two_classes(40, 760, 133)
    clf = EMLeastSquaresClassifier(alpha=alpha, tol=1e-12).fit(X, y, X_unlabeled=X_u)
    assert clf.n_iter_ < 40
    scores = clf.decision_function(np.vstack([X, X_u])) + 0.5
    residual = scores - np.r_[y, np.clip(scores[40:], 0, 1)]
    np.testing.assert_allclose(residual.sum(), 0, atol=1e-9)
    slope = np.vstack([X, X_u]).T @ residual + 800 * alpha * clf.coef_[0]
    np.testing.assert_allclose(slope, 0, atol=1e-9)


def test_tol_bounds_what_is_lost():
    X, y, X_u, _ = two_classes(10, 20_000, 3)
    best = objective(EMLeastSquaresClassifier(tol=1e-14).fit(X, y, X_unlabeled=X_u), X, y, X_u)
    for tol in (1e-3, 1e-5, 1e-8):
        clf = EMLeastSquaresClassifier(tol=tol).fit(X, y, X_unlabeled=X_u)
        found = objective(clf, X, y, X_u)
        assert found - best <= clf.gap_ + 1e-15
        assert clf.gap_ <= tol * (1 + found)


@pytest.mark.parametrize("name", hard_cases())
def test_soft_labels_are_stationary(name):
    """The labels are the clipped scores, and a refit to them changes no score."""
    X, y, X_u, parameters = hard_cases()[name]
    parameters.pop("alpha_labeled", None)
    clf = EMLeastSquaresClassifier(**parameters).fit(X, y, X_unlabeled=X_u)
    scores = clf.decision_function(np.vstack([X, X_u])) + 0.5
    np.testing.assert_allclose(clf.soft_labels_, np.clip(scores[len(X) :], 0, 1), atol=1e-8)
    D = np.vstack([X, X_u])
    if clf.fit_intercept:
        D = np.column_stack([np.ones(len(D)), (D - D.mean(axis=0)) / (D.std(axis=0) + 1e-300)])
    if clf.alpha == 0:
        refit = np.linalg.lstsq(D, np.r_[y, clf.soft_labels_])[0]
        np.testing.assert_allclose(D @ refit, scores, atol=1e-6)


def test_weights_repeat_rows():
    X, y, X_u, _ = two_classes(20, 80, 10)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(80, -1)]
    weight = np.random.default_rng(0).integers(0, 4, 100)
    weight[:20] += 1
    heavy = EMLeastSquaresClassifier(alpha=1e-3).fit(rows, labels, sample_weight=weight)
    often = EMLeastSquaresClassifier(alpha=1e-3)
    often.fit(np.repeat(rows, weight, axis=0), np.repeat(labels, weight))
    np.testing.assert_allclose(heavy.coef_, often.coef_, atol=1e-9)
    assert heavy.n_iter_ == often.n_iter_
    assert heavy.soft_labels_.shape == (80,)


def test_stopping_short_is_said():
    X, y, X_u, _ = two_classes(40, 300, 30)
    with pytest.warns(ConvergenceWarning, match=r"after 2 Newton steps.*raise max_iter \(now 2\)"):
        clf = EMLeastSquaresClassifier(max_iter=2).fit(X, y, X_unlabeled=X_u)
    assert clf.gap_ > clf.tol
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter=1 rounds with \d+ labels still changing"
    ):
        EMLeastSquaresClassifier("hard", max_iter=1).fit(X, y, X_unlabeled=X_u)


def test_rounding_that_stops_it_is_said():
    X, y, X_u, _ = two_classes(20, 100, 3)
    with pytest.warns(ConvergenceWarning, match="rounding limits it"):
        EMLeastSquaresClassifier(tol=0.0).fit(X, y, X_unlabeled=X_u)


def test_hard_labels_end_where_none_of_them_changes():
    X, y, X_u, _ = two_classes(12, 100, 3)
    clf = EMLeastSquaresClassifier("hard").fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(clf.soft_labels_, clf.decision_function(X_u) >= 0)
    assert not hasattr(clf, "gap_")
