"""Features, coordinates and least squares of a kernel, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from primum.equations import CentredKernel, kernel_features, kernel_ridge


def problem(seed, n=30, d=3, *, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, rng.uniform(0.1, 3.0, n) if weighted else None, rng


seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_features_have_the_inner_products_of_the_centred_kernel(seed, weighted, fit_intercept):
    X, weight, _ = problem(seed, weighted=weighted)
    K = X @ X.T
    features = kernel_features(CentredKernel(K.copy(), weight, fit_intercept))
    assert features.rows.shape == (30, 3)
    if fit_intercept:
        X = X - np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(features.rows @ features.rows.T, X @ X.T, atol=1e-12)


@given(seeds, st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_coordinates_make_least_squares_a_sum(seed, weighted, fit_intercept):
    X, weight, rng = problem(seed, weighted=weighted)
    features = kernel_features(CentredKernel(rbf_kernel(X), weight, fit_intercept))
    coordinates, alpha = features.coordinates(0.05), 0.05
    w = np.ones(30) if weight is None else weight
    y = rng.normal(size=(30, 2))
    design = coordinates.frame.expand(features.rows)
    coef, intercept = coordinates.decode(coordinates.solve(design.T @ (w[:, None] * y)))
    residual = y - features.rows @ coef - intercept
    np.testing.assert_allclose(
        features.rows.T @ (w[:, None] * residual), w.sum() * alpha * coef, atol=1e-10
    )
    if fit_intercept:
        np.testing.assert_allclose(w @ residual, 0.0, atol=1e-10)
    back = coordinates.decode(coordinates.encode(coef, intercept))
    np.testing.assert_allclose(back[0], coef, atol=1e-12)


@given(seeds, st.booleans(), st.booleans(), st.sampled_from([1e-12, 1e-6, 0.01, 1.0]))
@settings(max_examples=30, deadline=None)
def test_the_two_ways_to_a_model_agree(seed, weighted, fit_intercept, alpha):
    """One linear system with K, and the coordinates of its eigendecomposition."""
    X, weight, rng = problem(seed, weighted=weighted)
    y = rng.integers(0, 2, 30).astype(float)
    options = {"alpha": alpha, "fit_intercept": fit_intercept}
    dual, intercept = kernel_ridge(rbf_kernel(X, gamma=5.0), y, weight, **options)
    features = kernel_features(CentredKernel(rbf_kernel(X, gamma=5.0), weight, fit_intercept))
    coordinates = features.coordinates(alpha)
    w = np.ones(30) if weight is None else weight
    sums = coordinates.frame.expand(features.rows).T @ (w * y)
    other = features.to_kernel(*coordinates.decode(coordinates.solve(sums)))
    K = rbf_kernel(rng.normal(size=(10, 3)), X, gamma=5.0)
    np.testing.assert_allclose(K @ dual + intercept, K @ other[0] + other[1], atol=1e-9)
    there = features.from_kernel(dual, intercept)
    scores = features.rows @ there[0] + there[1]
    np.testing.assert_allclose(
        scores, rbf_kernel(X, gamma=5.0) @ dual + intercept, rtol=1e-9, atol=1e-9
    )


@given(seeds, st.booleans(), st.sampled_from([1e-6, 0.01, 1.0]))
@settings(max_examples=20, deadline=None)
def test_kernel_values_give_the_scores_of_the_features(seed, weighted, alpha):
    """Smooth kernels have eigenvalues down to rounding, whose eigenvectors are hardly known."""
    X, weight, rng = problem(seed, 80, 2, weighted=weighted)
    K = rbf_kernel(X, gamma=0.1)
    features = kernel_features(CentredKernel(K.copy(), weight, True))
    coordinates = features.coordinates(alpha)
    w = np.ones(80) if weight is None else weight
    y = rng.integers(0, 2, 80).astype(float)
    sums = coordinates.frame.expand(features.rows).T @ (w * y)
    coef, intercept = coordinates.decode(coordinates.solve(sums))
    dual, level = features.to_kernel(coef, intercept)
    np.testing.assert_allclose(K @ dual + level, features.rows @ coef + intercept, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_without_intercept_it_is_kernel_ridge_regression(weighted):
    X, weight, rng = problem(1, weighted=weighted)
    y = rng.normal(size=(30, 3))
    total = 30 if weight is None else weight.sum()
    dual, intercept = kernel_ridge(rbf_kernel(X), y, weight, alpha=0.1, fit_intercept=False)
    expected = KernelRidge(alpha=0.1 * total, kernel="rbf").fit(X, y, weight)
    np.testing.assert_allclose(dual, expected.dual_coef_, atol=1e-12)
    np.testing.assert_array_equal(intercept, 0.0)


@given(seeds, st.booleans(), st.sampled_from([1e-7, 1e-6, 1e-5, 1e-3]))
@settings(max_examples=30, deadline=None)
def test_a_small_ridge_in_few_dimensions_is_accurate(seed, weighted, alpha):
    """The coefficients of the kernel values are then large, and must add up to 0."""
    X, weight, rng = problem(seed, 10, 2, weighted=weighted)
    y = rng.integers(0, 2, 10).astype(float)
    dual, intercept = kernel_ridge(X @ X.T, y, weight, alpha=alpha, fit_intercept=True)
    w = np.full(10, 0.1) if weight is None else weight / weight.sum()
    centred, level = X - w @ X, w @ y
    coef = np.linalg.solve((centred.T * w) @ centred + alpha * np.eye(2), centred.T @ (w * y))
    np.testing.assert_allclose(X @ X.T @ dual + intercept, centred @ coef + level, atol=1e-8)


def test_rows_of_hardly_any_weight_have_accurate_features():
    X, _, _ = problem(2, weighted=False)
    weight = np.ones(30)
    weight[::7] = 1e-30
    features = kernel_features(CentredKernel(rbf_kernel(X), weight, False))
    heavy = weight == 1.0
    # The light rows are not represented themselves, but their products with the others are.
    np.testing.assert_allclose(
        features.rows[~heavy] @ features.rows[heavy].T, rbf_kernel(X[~heavy], X[heavy]), atol=1e-9
    )


@pytest.mark.parametrize("alpha", [1e-9, 0.1])
def test_negative_eigenvalues_are_refused_by_both(alpha):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    values = np.linspace(1.0, 2.0, 20)
    values[4] = -0.25
    K = (Q * values) @ Q.T
    text = r"^The kernel matrix is not positive semi-definite: its smallest eigenvalue is -0.25;"
    with pytest.raises(ValueError, match=text):
        kernel_features(CentredKernel(K.copy(), None, False))
    with pytest.raises(ValueError, match=text):
        kernel_ridge(K.copy(), np.arange(20.0), None, alpha=alpha, fit_intercept=False)


def test_with_an_intercept_a_conditionally_positive_kernel_is_enough():
    """The negative squared distance: centred, it is the linear kernel."""
    X, _, rng = problem(3, weighted=False)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    y = rng.normal(size=30)
    options = {"alpha": 0.1, "fit_intercept": True}
    dual, intercept = kernel_ridge(-0.5 * D, y, None, **options)
    linear, level = kernel_ridge(X @ X.T, y, None, **options)
    np.testing.assert_allclose(-0.5 * D @ dual + intercept, X @ X.T @ linear + level, atol=1e-10)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        kernel_ridge(-0.5 * D, y, None, alpha=0.1, fit_intercept=False)


def test_a_constant_kernel_leaves_the_intercept():
    y = np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    K = np.full((5, 5), 7.3)
    dual, intercept = kernel_ridge(K.copy(), y, None, alpha=0.1, fit_intercept=True)
    np.testing.assert_allclose(K @ dual + intercept, 0.6)
    assert kernel_features(CentredKernel(K, None, True)).rows.shape == (5, 0)
