"""Healy and Westmacott's iteration: where it ends, and how fast."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigvals
from sklearn.exceptions import ConvergenceWarning

from generate import several_classes, two_classes
from primum import HealyWestmacottClassifier, LeastSquaresClassifier

sizes = st.tuples(
    st.integers(8, 30),
    st.integers(1, 40),
    st.integers(1, 4),
    st.integers(2, 4),
    st.integers(0, 2**20),
)


def problem(L, U, d, n_classes, seed):
    if n_classes == 2:
        return two_classes(L, U, d, seed=seed)[:3]
    return several_classes(L, U, d, n_classes, seed=seed)[:3]


def with_constant(X):
    return np.column_stack([np.ones(len(X)), X])


def spectral_radius(X, X_u):
    """Return the largest eigenvalue of A^-1 X_u'X_u by its definition."""
    D, D_u = with_constant(X), with_constant(X_u)
    return np.abs(eigvals(D_u.T @ D_u, D.T @ D + D_u.T @ D_u)).max()


def parameters(clf):
    return np.column_stack([clf.intercept_, clf.coef_])


@given(sizes)
def test_full_rank_labelled_rows_end_at_the_supervised_solution(size):
    X, y, X_u = problem(*size)
    radius = spectral_radius(X, X_u)
    clf = HealyWestmacottClassifier(tol=1e-9 * (1 - radius)).fit(X, y, X_u)
    expected = LeastSquaresClassifier().fit(X, y)
    assert clf.converged_
    np.testing.assert_allclose(
        clf.decision_function(X_u), expected.decision_function(X_u), atol=1e-7
    )


@given(sizes)
def test_the_distance_falls_by_the_spectral_radius_in_every_round(size):
    """In the norm of the scores of all rows, in which the map is symmetric."""
    X, y, X_u = problem(*size)
    radius = spectral_radius(X, X_u)
    supervised = parameters(LeastSquaresClassifier().fit(X, y))
    rows = with_constant(np.vstack([X, X_u]))
    distances = []
    for rounds in (1, 2, 3, 4):
        with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
            clf = HealyWestmacottClassifier(max_iter=rounds, tol=0.0).fit(X, y, X_u)
        distances.append(np.linalg.norm(rows @ (parameters(clf) - supervised).T))
    for before, after in pairwise(distances):
        assert after <= radius * before + 1e-12


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_rate_is_the_spectral_radius(n_classes):
    X, y, X_u = problem(10, 60, 3, n_classes, 0)
    clf = HealyWestmacottClassifier(tol=1e-12).fit(X, y, X_u)
    assert clf.rate_ == pytest.approx(spectral_radius(X, X_u), abs=2e-3)
    assert clf.n_iter_ <= np.log(1e-12) / np.log(clf.rate_) + 2


def test_starts_at_the_weighted_mean_label():
    X, y, X_u, _ = two_classes(10, 30, 2)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 10)
    with pytest.warns(ConvergenceWarning, match="after max_iter=1 rounds"):
        clf = HealyWestmacottClassifier(max_iter=1).fit(X, y, X_u, sample_weight=weight)
    root = np.sqrt(np.r_[weight, np.ones(30)])
    labels = np.r_[y, np.full(30, np.average(y, weights=weight))]
    rows = with_constant(np.vstack([X, X_u]))
    expected = np.linalg.lstsq(rows * root[:, None], labels * root)[0]
    np.testing.assert_allclose(clf.coef_[0], expected[1:], atol=1e-12)
    np.testing.assert_allclose(clf.soft_labels_, with_constant(X_u) @ expected, atol=1e-12)


@given(st.integers(0, 2**20))
def test_with_few_labels_it_ends_at_the_solution_nearest_to_the_start(seed):
    """Nearest in the scores of all rows, among the solutions with the least labelled loss."""
    X, y, X_u, _ = two_classes(4, 60, 8, seed=seed)
    D, D_u = with_constant(X), with_constant(X_u)
    rows, labels = np.vstack([D, D_u]), np.r_[y, np.full(60, y.mean())]
    A = rows.T @ rows
    start = np.linalg.solve(A, rows.T @ labels)
    # The A-projection of the start on {beta: D beta = y}, which 4 rows satisfy exactly.
    step = np.linalg.solve(A, D.T)
    nearest = start + step @ np.linalg.solve(D @ step, y - D @ start)
    clf = HealyWestmacottClassifier(max_iter=100_000).fit(X, y, X_u)
    assert clf.converged_
    np.testing.assert_allclose(clf.decision_function(X_u) + 0.5, D_u @ nearest, atol=1e-5)


def test_without_unlabelled_rows_it_is_least_squares():
    X, y, *_ = two_classes(20, 0, 3)
    clf = HealyWestmacottClassifier().fit(X, y)
    np.testing.assert_allclose(clf.coef_, LeastSquaresClassifier().fit(X, y).coef_, atol=1e-12)
    assert clf.n_iter_ == 1
    assert clf.rate_ == 0.0
    assert clf.converged_
    assert clf.soft_labels_.shape == (0,)
