"""The deformed kernel against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from primum.methods.manifold.deformed_kernel import (
    deform_kernel,
    deform_linear,
    factorize,
    laplacian_power,
    neighbor_graph,
)

problems = st.fixed_dictionaries(
    {
        "n": st.integers(2, 40),
        "d": st.integers(1, 4),
        "seed": st.integers(0, 1000),
        "width": st.sampled_from([0.01, 0.3, 5.0]),
        "power": st.integers(1, 2),
        "normalized": st.booleans(),
        "weights": st.sampled_from(["binary", "heat"]),
    }
)
ratios = st.floats(0.0, 1e4)


def make(n, d, seed, width, power, normalized, weights):
    """Return rows, new rows, their kernel and the penalty."""
    X = np.random.default_rng(seed).normal(size=(n + 5, d))
    X, new = X[:n], X[n:]
    graph = neighbor_graph(X, 3, weights)
    penalty = laplacian_power(graph, normalized=normalized, power=power)
    return X, new, lambda A, B: rbf_kernel(A, B, gamma=width), penalty


def defined(K, penalty, ratio, K_new):
    """Return k~ between new rows, whose kernel values are K_new, and all rows."""
    P = ratio * penalty.toarray()
    return K_new - K_new @ np.linalg.solve(np.eye(len(K)) + P @ K, P @ K)


@settings(max_examples=60, deadline=None)
@given(problems, ratios)
def test_the_definition_for_the_rows_and_for_new_ones(problem, ratio):
    X, new, kernel, penalty = make(**problem)
    K, K_new = kernel(X, X), kernel(new, X)
    deformed = deform_kernel(K, penalty).at(ratio)
    index = np.arange(0, len(X), 2)
    expected = defined(K, penalty, ratio, K)
    np.testing.assert_allclose(deformed.gram()[:, index], expected[:, index], atol=1e-8)
    expected = defined(K, penalty, ratio, K_new)
    found = K_new @ deformed.expansion(index, np.eye(len(index)))
    np.testing.assert_allclose(found, expected[:, index], atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(problems, ratios)
def test_symmetric_positive_semi_definite_and_below_the_kernel(problem, ratio):
    X, _, kernel, penalty = make(**problem)
    K = kernel(X, X)
    V = deform_kernel(K, penalty).at(ratio).features()
    deformed = V @ V.T
    np.testing.assert_array_equal(deformed, deformed.T)
    rounding = 1e-12 * len(X) * max(1.0, ratio / 1000)  # it grows with the ratio
    assert np.linalg.eigvalsh(deformed)[0] > -rounding
    # A penalty only shortens functions: K - K~ is positive semi-definite as well.
    assert np.linalg.eigvalsh(K - deformed)[0] > -rounding


@pytest.mark.parametrize("width", [1.0, 100.0])
def test_the_definition_where_the_product_is_computed_in_blocks(width):
    X, _, kernel, penalty = make(400, 2, 0, width, 1, False, "binary")
    K = kernel(X, X)
    V = deform_kernel(K, penalty).at(2.0).features()
    assert (V.shape[1] < 400) == (width == 1.0)
    np.testing.assert_allclose(V @ V.T, defined(K, penalty, 2.0, K), atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(problems, ratios)
def test_coefficients_of_functions(problem, ratio):
    X, _, kernel, penalty = make(**problem)
    deformed = deform_kernel(kernel(X, X), penalty).at(ratio)
    index = np.array([0, 1, 0])  # a row may occur several times
    coef = np.random.default_rng(0).normal(size=(3, 2))
    one_by_one = deformed.expansion(index, np.eye(3)) @ coef
    np.testing.assert_allclose(deformed.expansion(index, coef), one_by_one, atol=1e-8)
    np.testing.assert_allclose(deformed.expansion(index) @ coef, one_by_one, atol=1e-8)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_the_linear_kernel_needs_no_matrix(storage):
    X, new, _, penalty = make(30, 4, 0, 1.0, 1, False, "binary")
    by_rows, by_kernel = deform_linear(storage(X), penalty), deform_kernel(X @ X.T, penalty)
    index = np.arange(10)
    a, b = by_rows.at(3.0), by_kernel.at(3.0)
    np.testing.assert_allclose(a.gram()[:, index], b.gram()[:, index], atol=1e-12)
    found = new @ a.expansion(index, np.eye(10))
    np.testing.assert_allclose(found, new @ X.T @ b.expansion(index, np.eye(10)), atol=1e-12)


def test_ratio_zero_is_the_kernel():
    X, _, kernel, penalty = make(30, 4, 0, 1.0, 1, False, "binary")
    deformed = deform_kernel(kernel(X, X), penalty).at(0.0)
    np.testing.assert_allclose(deformed.gram(), kernel(X, X), atol=1e-13)


def test_a_large_ratio_leaves_functions_that_are_constant_on_components():
    X = np.r_[np.random.default_rng(0).normal(size=(20, 1)), [[100.0], [101.0], [102.0], [103.0]]]
    penalty = laplacian_power(neighbor_graph(X, 3))
    columns = deform_kernel(rbf_kernel(X, gamma=0.1), penalty).at(1e7).gram()[:, [0, 21]]
    assert np.ptp(columns[20:], axis=0).max() < 1e-6
    assert np.abs(columns[20:, 0]).max() < 1e-6
    assert np.abs(columns[20:, 1]).min() > 1e-2


@pytest.mark.parametrize("n", [1, 50, 300])
def test_the_factor_has_the_rank_of_the_kernel(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    K = polynomial_kernel(X, degree=2)
    triangle, order = factorize(K)
    assert triangle.shape == (n, min(n, 6))
    np.testing.assert_array_equal(triangle, np.tril(triangle))
    np.testing.assert_allclose(triangle @ triangle.T, K[order][:, order], atol=1e-10)


def test_rounding_is_no_negative_eigenvalue():
    X = np.random.default_rng(0).normal(size=(300, 2))
    single = rbf_kernel(X, gamma=0.1).astype(np.float32).astype(float)
    assert np.linalg.eigvalsh(single)[0] < 0
    triangle, order = factorize(single)
    np.testing.assert_allclose(triangle @ triangle.T, single[order][:, order], atol=1e-5)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], r"not positive semi-definite: the smallest eigen.* is -1,"),
        ([[0.0, 1.0], [1.0, 0.0]], r"not positive semi-definite: the smallest eigen.* is -1,"),
        ([[-3.0]], r"not positive semi-definite: the smallest eigenvalue of its matrix is -3,"),
        ([[1.0, 0.5], [0.4, 1.0]], r"not symmetric: its value for two rows is 0\.\d, and 0\.\d"),
        ([[1.0, np.nan], [np.nan, 1.0]], "The kernel of two rows is nan: scale"),
        ([[np.inf, 0.0], [0.0, 1.0]], "The kernel of two rows is inf: scale"),
    ],
)
def test_matrices_that_are_no_kernels(K, message):
    with pytest.raises(ValueError, match=message):
        factorize(np.array(K))


@pytest.mark.parametrize("power", [1, 3])
def test_accurate_up_to_the_ratio_that_is_refused(power):
    """In the limit only constants are left: k~ is 1 / (1'K^-1 1), and each step is 10 times nearer.

    Rounding acts as a penalty on them, and a ratio is refused before it decides the answer.
    """
    X = np.random.default_rng(0).normal(size=(30, 3))
    K = rbf_kernel(X)
    limit = 1.0 / np.linalg.solve(K, np.ones(30)).sum()
    penalty = laplacian_power(neighbor_graph(X, 5), power=power)
    deformation = deform_kernel(K, penalty)
    for exponent in range(6, 11):
        found = deformation.at(10.0**exponent).features()
        assert np.abs(found @ found.T - limit).max() < max(0.01 * limit, 1e4 * 10.0**-exponent)
    for exponent in range(13, 30):
        with pytest.raises(ValueError, match=r"penalty on the graph, 1e\+.. times"):
            deformation.at(10.0**exponent)


@pytest.mark.parametrize("ratio", [1e300, np.inf])
def test_a_ratio_that_overflows_is_refused(ratio):
    X = 1e5 * np.random.default_rng(0).normal(size=(20, 2))
    deformation = deform_linear(X, laplacian_power(neighbor_graph(X, 3)))
    with pytest.raises(ValueError, match="penalty on the graph"):
        deformation.at(ratio)


def test_units_of_the_features_do_not_limit_the_ratio():
    X = np.random.default_rng(0).normal(size=(20, 3))
    units = np.array([1e-8, 1.0, 1e8])
    penalty = laplacian_power(neighbor_graph(X, 3))
    found = deform_linear(X * units, penalty).at(1e4).gram()
    expected = X @ np.linalg.solve(np.diag(units**-2.0) + 1e4 * (X.T @ (penalty @ X)), X.T)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-14)
