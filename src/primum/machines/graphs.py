"""Neighbour graphs and their Laplacians, sparse throughout.

The graph connects row i and row j if one is among the k nearest neighbours of the other. Its
Laplacian measures how much a function varies between connected rows:

    f' Lap f = 1/2 sum_ij w_ij (f_i - f_j)^2,      Lap = D - W,   D = diag(W 1),

and, normalised, I - D^(-1/2) W D^(-1/2), for which f_i is divided by the square root of the degree.
Powers of it penalise rapid variation more. The weights w_ij of connected rows are 1 ("binary") or
exp(-||x_i - x_j||^2 / (2 s^2)) ("heat"), with s the median distance between connected rows.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import laplacian

GRAPH_WEIGHTS = ("binary", "heat")
# With more features, trees find neighbours no faster than computing all distances.
TREE_DIMENSIONS = 5


def neighbour_graph(X: Any, n_neighbors: int, weights: str = "binary") -> Any:
    """Return the symmetric sparse weight matrix of the graph of nearest neighbours.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Rows. Equal rows would be each other's neighbours and cut off from the others: pass
        distinct rows.
    n_neighbors : int
        Number of neighbours of each row, itself not counted; all other rows if there are fewer.
    weights : {"binary", "heat"}
        Weights of the edges.

    Returns
    -------
    CSR array of shape (n_rows, n_rows)
        Isolated rows, if underflowing heat weights leave any, have no entries.
    """
    from sklearn.neighbors import NearestNeighbors  # not needed to import the package

    n = X.shape[0]
    if n_neighbors < 1:
        raise ValueError(
            f"n_neighbors is {n_neighbors}, so that every row of the graph is isolated: pass at "
            "least 1."
        )
    if weights not in GRAPH_WEIGHTS:
        raise ValueError(f"weights must be one of {GRAPH_WEIGHTS}, got {weights!r}.")
    if n < 2:
        return sparse.csr_array((n, n))
    if isinstance(X, np.ndarray):
        X = X - X.mean(axis=0)  # distances by inner products lose digits far from the origin
    mode = "connectivity" if weights == "binary" else "distance"
    algorithm = "brute" if X.shape[1] > TREE_DIMENSIONS else "auto"
    search = NearestNeighbors(n_neighbors=min(n_neighbors, n - 1), algorithm=algorithm).fit(X)
    graph = sparse.csr_array(search.kneighbors_graph(mode=mode))
    graph = graph.maximum(graph.T).tocsr()
    if weights == "heat":
        graph.data = _heat(graph.data)
        graph.eliminate_zeros()
    return graph


def _heat(distances: Any) -> Any:
    """Return the heat weights of edges, given their lengths."""
    if len(distances) == 0:
        raise ValueError(
            "The distances between neighbouring rows underflow: multiply the features by a "
            "constant, or pass graph_weights='binary'."
        )
    scaled = distances / np.median(distances)
    return np.exp(-0.5 * scaled * scaled)


def laplacian_power(graph: Any, *, normalized: bool = False, power: int = 1) -> Any:
    """Return a power of the graph's Laplacian as a CSR array; a larger one is less sparse."""
    found: Any = laplacian(graph.astype(np.float64), normed=normalized)
    plain = sparse.csr_array(found)
    raised = plain
    for _ in range(power - 1):
        raised = (raised @ plain).tocsr()
    return raised
