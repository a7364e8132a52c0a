"""Neighbour graphs against their definition."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from primum.methods.manifold.deformed_kernel import laplacian_power, neighbor_graph


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def connected(X, k):
    """Return whether one of two rows is among the k nearest neighbours of the other."""
    distance = cdist(X, X)
    np.fill_diagonal(distance, np.inf)
    nearest = np.zeros(distance.shape, dtype=bool)
    np.put_along_axis(nearest, distance.argsort(axis=1)[:, :k], True, axis=1)
    return nearest | nearest.T


def test_binary_weights_are_the_definition():
    X = rows()
    graph = neighbor_graph(X, 4)
    assert sparse.issparse(graph)
    np.testing.assert_array_equal(graph.toarray(), connected(X, 4).astype(float))


@pytest.mark.parametrize("d", [3, 8])
def test_rows_far_from_the_origin(d):
    X = rows(d=d) + 1e6
    np.testing.assert_array_equal(neighbor_graph(X, 4).toarray(), connected(X, 4).astype(float))


def test_heat_weights_are_the_definition():
    X = rows()
    edges, distance = connected(X, 4), cdist(X, X)
    s = np.median(distance[edges])
    expected = np.where(edges, np.exp(-(distance**2) / (2 * s**2)), 0.0)
    np.testing.assert_allclose(neighbor_graph(X, 4, "heat").toarray(), expected, atol=1e-14)


def test_sparse_rows_have_the_graph_of_dense_ones():
    X = np.unique(np.where(rows() > 0, rows(), 0.0), axis=0)
    found = neighbor_graph(sparse.csr_array(X), 4, "heat").toarray()
    np.testing.assert_allclose(found, neighbor_graph(X, 4, "heat").toarray(), atol=1e-7)


@pytest.mark.parametrize("weights", ["binary", "heat"])
def test_the_laplacian_sums_squared_differences(weights):
    X, f = rows(), np.random.default_rng(1).normal(size=40)
    graph = neighbor_graph(X, 5, weights)
    W = graph.toarray()
    expected = 0.5 * (W * np.subtract.outer(f, f) ** 2).sum()
    assert f @ (laplacian_power(graph) @ f) == pytest.approx(expected)
    g = f / np.sqrt(W.sum(axis=1))
    expected = 0.5 * (W * np.subtract.outer(g, g) ** 2).sum()
    assert f @ (laplacian_power(graph, normalized=True) @ f) == pytest.approx(expected)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_powers(power):
    graph = neighbor_graph(rows(), 5)
    plain = laplacian_power(graph).toarray()
    raised = laplacian_power(graph, power=power)
    assert sparse.issparse(raised)
    np.testing.assert_allclose(raised.toarray(), np.linalg.matrix_power(plain, power))


def test_few_rows_are_all_connected():
    np.testing.assert_array_equal(neighbor_graph(rows(3), 10).toarray(), 1 - np.eye(3))
    assert neighbor_graph(rows(1), 10).nnz == 0


@pytest.mark.parametrize("normalized", [True, False])
def test_isolated_rows_have_no_part_in_the_penalty(normalized):
    X = np.vstack([rows(), np.full((1, 3), 1e6)])
    graph = neighbor_graph(X, 4, "heat")
    assert graph[[40]].nnz == 0
    penalty = laplacian_power(graph, normalized=normalized)
    assert np.isfinite(penalty.data).all()
    assert abs(penalty[[40]]).sum() == 0


def test_bad_settings():
    with pytest.raises(ValueError, match=r"n_neighbors is 0, so every row .* at least 1"):
        neighbor_graph(rows(), 0)
    with pytest.raises(ValueError, match=r"weights must be one of .*, got 'cosine'"):
        neighbor_graph(rows(), 3, "cosine")


def test_distances_that_underflow():
    X = 1e-170 * np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(ValueError, match="distances between neighbouring rows underflow"):
        neighbor_graph(X, 3, "heat")
