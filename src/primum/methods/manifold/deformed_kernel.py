"""The graph of rows, and the kernel deformed by it: kernel machines become semi-supervised.

A kernel machine that penalises its functions along a graph of labelled and unlabelled rows,

    minimise over f    loss(f) + alpha ||f||_K^2 + beta f' P f,

with f the values on all n rows and P a positive semi-definite matrix, such as a power of the
graph's Laplacian, is the supervised machine with penalty alpha ||f||^2 in another kernel, the
deformed one (Sindhwani, Niyogi and Belkin 2005). With r = beta / alpha,

    k~(x, z) = k(x, z) - k_x' (I + r P K)^-1 r P k_z,

where k_x are the values of k between x and all rows. With a factorisation K = C C' of the kernel
matrix into n x m features it is positive semi-definite as computed, because it is a product V V':

    K~ = K - K (I + r P K)^-1 r P K = C (I + r G)^-1 C',   G = C' P C,
    V = C R^-1,                         I + r G = R'R      (R upper triangular),

and the smallest eigenvalue of I + r G is at least 1, however singular K is. Since
(I + r P K)^-1 = I - r P K~, columns of K~ extend to new rows by

    k~(x, x_j) = k_x' (e_j - r P K~ e_j),

without a further linear system. If k is linear, C is the matrix of the rows themselves, K is never
formed, and k~(x, z) = x' (I + r G)^-1 z.

C is a Cholesky factor: triangular, so that G costs no more than the factorisation. If K is
numerically singular it is the pivoted factor, whose m columns are the numerical rank of K, far
fewer than n for a smooth kernel. C and G do not depend on r: after them, each further r costs one
m x m Cholesky factorisation, and L columns of K~ O(n m L).

The graph connects row i and row j if one is among the k nearest neighbours of the other. Graph and
Laplacian are sparse. The Laplacian measures how much a function varies between connected rows:

    f' Lap f = 1/2 sum_ij w_ij (f_i - f_j)^2,      Lap = D - W,   D = diag(W 1),

and, normalised, I - D^(-1/2) W D^(-1/2), where f_i is divided by the square root of the degree.
Powers of it penalise rapid variation more. The weights w_ij of connected rows are 1 ("binary") or
exp(-||x_i - x_j||^2 / (2 s^2)) ("heat"), with s the median distance between connected rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, cholesky, eigvalsh, solve_triangular
from scipy.linalg.lapack import dpotrf, dpstrf
from scipy.sparse.csgraph import laplacian
from sklearn.utils import gen_batches

from primum._typing import Floats, Index
from primum.rows import as_dense

GRAPH_WEIGHTS = ("binary", "heat")
# With more features, trees find neighbours no faster than computing all distances.
MAX_TREE_FEATURES = 5


def neighbor_graph(X: Any, n_neighbors: int, weights: str = "binary") -> Any:
    """Return the symmetric CSR weights (n, n) of the graph of nearest neighbours of rows X (n, d).

    Equal rows would be each other's neighbours and cut off from the others: pass distinct rows.
    A row is no neighbour of itself, and has all others if they are fewer than ``n_neighbors``.
    Isolated rows, if underflowing heat weights leave any, have no entries.
    """
    n = X.shape[0]
    if n_neighbors < 1:
        raise ValueError(
            f"n_neighbors is {n_neighbors}, so every row of the graph is isolated: pass at least 1."
        )
    if weights not in GRAPH_WEIGHTS:
        raise ValueError(f"weights must be one of {GRAPH_WEIGHTS}, got {weights!r}.")
    if n < 2:
        return sparse.csr_array((n, n))
    mode = "connectivity" if weights == "binary" else "distance"
    graph = sparse.csr_array(_neighbor_search(X, n_neighbors).kneighbors_graph(mode=mode))
    graph = graph.maximum(graph.T).tocsr()
    if weights == "heat":
        if len(graph.data) == 0:
            raise ValueError(
                "The distances between neighbouring rows underflow: multiply the features by a "
                "constant, or pass graph_weights='binary'."
            )
        scaled = graph.data / np.median(graph.data)
        graph.data = np.exp(-0.5 * scaled * scaled)
        graph.eliminate_zeros()
    return graph


def neighbor_graphs(X: Any, counts: Sequence[int]) -> list[Any]:
    """Return the binary graphs for several numbers of neighbours, searching for these once."""
    n = X.shape[0]
    if n < 2:
        return [sparse.csr_array((n, n)) for _ in counts]
    nearest = _neighbor_search(X, max(counts)).kneighbors(return_distance=False)
    graphs = []
    for count in counts:
        columns = nearest[:, :count]  # the nearest come first
        starts = np.arange(n + 1) * columns.shape[1]
        ones = np.ones(columns.size)
        graph = sparse.csr_array((ones, columns.reshape(-1), starts), shape=(n, n))
        graphs.append(graph.maximum(graph.T).tocsr())
    return graphs


def _neighbor_search(X: Any, n_neighbors: int) -> Any:
    """Return a search for nearest neighbours, fitted to the rows."""
    from sklearn.neighbors import NearestNeighbors  # not needed to import the package

    if isinstance(X, np.ndarray):
        X = X - X.mean(axis=0)  # distances by inner products lose digits far from the origin
    algorithm = "brute" if X.shape[1] > MAX_TREE_FEATURES else "auto"
    most = min(n_neighbors, X.shape[0] - 1)
    return NearestNeighbors(n_neighbors=most, algorithm=algorithm).fit(X)


def laplacian_power(graph: Any, *, normalized: bool = False, power: int = 1) -> Any:
    """Return a power of the graph's Laplacian as a CSR array; a larger one is less sparse."""
    dense_or_sparse: Any = laplacian(graph.astype(np.float64), normed=normalized)
    plain = sparse.csr_array(dense_or_sparse)
    raised = plain
    for _ in range(power - 1):
        raised = (raised @ plain).tocsr()
    return raised


# G is computed in this many blocks of rows: more blocks skip more zeros, but slow down products.
GRAM_BLOCKS = 16
# The diagonal is computed for this many rows at a time: 80 MB at the most rows that can be fitted.
DIAGONAL_BLOCK_ROWS = 1000
# Largest entry, relative to those of K, of the part of K that its factor may miss. This part is of
# the order of rounding if K is positive semi-definite, and of its negative eigenvalues otherwise.
# Kernels computed in single precision must pass.
PSD_TOLERANCE = 1e-5

# Largest relative error of the deformed kernel, in its least accurate direction: scores keep three
# digits.
MAX_DEFORMATION_ERROR = 1e-3
# Power iterations for that error: it is needed to a factor of two or so.
NORM_STEPS = 5


@dataclass(frozen=True)
class Deformation:
    """The parts of deformed kernels of n given rows that do not depend on the ratio r.

    ``features`` is C (n, m), an array or a CSR matrix, ``roughness`` the lower triangle of G
    (m, m), and ``penalty`` P (n, n), a CSR array. If the kernel is linear, C are the rows.
    """

    features: Any
    roughness: Floats
    penalty: Any
    linear: bool

    def at(self, ratio: float) -> "DeformedKernel":
        """Return the deformed kernel for r = beta / alpha."""
        with np.errstate(over="ignore", invalid="ignore"):  # an error is raised below
            shifted = ratio * self.roughness
        shifted.flat[:: len(shifted) + 1] += 1.0
        diagonal = shifted.diagonal().copy()
        if not np.isfinite(diagonal).all():
            raise _too_rough(ratio)
        # The lower triangle in C order is the upper one in Fortran order, without a copy.
        try:
            factor = cholesky(shifted.T, lower=False, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise _too_rough(ratio) from None
        # Rounding of R'R, scaled to unit diagonal, changes its inverse by as many units in the last
        # place as the largest eigenvalue of that inverse. The unscaled inverse has none above 1, so
        # the largest element of the diagonal is a bound, mostly sufficient.
        largest = float(diagonal.max(initial=0.0))
        unit = np.finfo(factor.dtype).eps
        if unit * largest > MAX_DEFORMATION_ERROR:
            root = np.sqrt(diagonal)
            largest = 1.0
            v = np.random.default_rng(0).normal(size=len(root))
            for _ in range(NORM_STEPS):
                v /= np.linalg.norm(v)
                v = root * cho_solve((factor, False), root * v, check_finite=False)
                largest = float(np.linalg.norm(v))
        if unit * largest > MAX_DEFORMATION_ERROR:
            raise _too_rough(ratio)
        return DeformedKernel(self, float(ratio), factor)

    def in_single_precision(self) -> "Deformation":
        """Return the same in single precision, which halves the time of further ratios."""
        features: Any = self.features.astype(np.float32)
        roughness: Any = self.roughness.astype(np.float32)
        return replace(self, features=features, roughness=roughness)


@dataclass(frozen=True)
class DeformedKernel:
    """The deformed kernel of given rows, for one ratio r; ``factor`` is R (m, m).

    All values are multiplied by ``scale``.
    """

    deformation: Deformation
    ratio: float
    factor: Floats
    scale: float = 1.0

    def rescaled(self) -> "DeformedKernel":
        """Return a multiple of this kernel, with the mean diagonal of K on the rows.

        The deformation shrinks a kernel, and machines with a given penalty shrink with it.
        """
        if self.ratio == 0:
            return self
        rows = self.deformation.features
        blocks = list(gen_batches(rows.shape[0], DIAGONAL_BLOCK_ROWS))
        before = sum(_sum_of_squares(as_dense(rows[block])) for block in blocks)
        after = sum(_sum_of_squares(self.features(block)) for block in blocks)
        return replace(self, scale=self.scale * before / after) if after else self

    def features(self, index: Index | slice = slice(None)) -> Floats:
        """Return rows of V, whose inner products are the values of the deformed kernel."""
        dense = as_dense(self.deformation.features[index])
        solved = solve_triangular(self.factor, dense.T, trans="T", check_finite=False)
        solved *= np.sqrt(self.scale)
        return np.asarray(solved.T)

    def gram(self, index: Index | slice = slice(None)) -> Floats:
        """Return the deformed kernel matrix of some rows."""
        features = self.features(index)
        return features @ features.T

    def expansion(self, index: Index, coef: Floats | None = None) -> Floats:
        """Return the coefficients that evaluate sum_j coef_j k~(., x_j), j in index, at a row x.

        ``coef`` is (n, n_functions), or None for the n functions k~(., x_j). Return coefficients
        (n_rows, n_functions) of the undeformed kernel values k(x, x_i) of all rows or, if the
        kernel is linear, (n_features, n_functions) of x itself.
        """
        rows = self.deformation.features[index].T
        weights = self._solve(self.scale * (as_dense(rows) if coef is None else rows @ coef))
        del rows
        if self.deformation.linear:
            return weights
        expansion = np.asarray(self.deformation.penalty @ (self.deformation.features @ weights))
        expansion *= -self.ratio
        if coef is None:
            expansion[index, np.arange(len(index))] += self.scale
        else:
            np.add.at(expansion, index, self.scale * coef)
        return expansion

    def _solve(self, sums: Floats) -> Floats:
        """Return (I + r G)^-1 times an array."""
        return np.asarray(cho_solve((self.factor, False), sums, check_finite=False))


def _too_rough(ratio: float) -> ValueError:
    return ValueError(
        f"The penalty on the graph, {ratio:.3g} times that on the norm (the ratio "
        "graph_alpha / alpha), is so large that nothing else is left within the precision of the "
        "computation: lower the ratio or graph_power, or standardise the features."
    )


def deform_kernel(K: Floats, penalty: Any, *, overwrite: bool = False) -> Deformation:
    """Return the deformation of a kernel matrix by a sparse penalty on the values at its rows.

    With ``overwrite``, the memory of K is reused.
    """
    triangle, order = factorize(K)
    # The lower triangle of G: leaving out zeros and the upper triangle saves five sixths of the
    # operations. The product with the penalty takes the place of K.
    work = K if overwrite else np.empty_like(triangle)
    permuted = penalty[order][:, order]
    m = triangle.shape[1]
    gram = np.zeros((m, m))
    size = max(1, -(-m // GRAM_BLOCKS))
    for start in range(0, m, size):
        stop = min(start + size, m)
        block = triangle[start:, start:stop]
        work[start:, start:stop] = permuted[start:, start:] @ block
        np.matmul(block.T, work[start:, :stop], out=gram[start:stop, :stop])
    # The rows of C in their original order, without a copy if that is their order.
    features = triangle
    if not (order[1:] > order[:-1]).all():
        features = np.empty_like(triangle)
        features[order] = triangle
    return Deformation(features, gram, penalty, linear=False)


def deform_linear(X: Any, penalty: Any) -> Deformation:
    """Return the deformation of the linear kernel of rows, without its matrix."""
    return Deformation(X, as_dense(X.T @ (penalty @ X)), penalty, linear=True)


def _sum_of_squares(values: Floats) -> float:
    return float(np.vdot(values, values))


def factorize(K: Floats) -> tuple[Floats, Index]:
    """Return (C, order) with ``K[order][:, order]`` equal to C C' to rounding.

    C is the Cholesky factor, or the pivoted one if K is numerically singular: lower triangular,
    with as many columns as the numerical rank of K. A matrix that is not finite, symmetric and
    positive semi-definite raises an error.
    """
    scale = max(K.max(initial=0.0), -K.min(initial=0.0))
    if not np.isfinite(scale):
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(
            f"The kernel of two rows is {K[i, j]}: scale the features, or choose a kernel or "
            "kernel parameters whose values are finite."
        )
    tolerance = PSD_TOLERANCE * np.sqrt(len(K)) * scale
    # Products with a random vector reveal any remainder, with probability one, at little cost.
    probe = np.random.default_rng(0).normal(size=len(K))
    product = K @ probe
    if np.abs(product - probe @ K).max(initial=0.0) > tolerance:
        i, j = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
        raise ValueError(
            f"The kernel is not symmetric: its value for two rows is {K[i, j]:.3g}, and "
            f"{K[j, i]:.3g} with the rows exchanged. Choose a symmetric kernel."
        )
    # For a symmetric matrix, the upper triangle in Fortran order is the lower one in C order.
    factor, singular = dpotrf(K.T, lower=0, clean=1)
    if not singular:
        return factor.T, np.arange(len(K))
    factor, pivots, rank, _ = dpstrf(K.T, lower=0)
    triangle = np.tril(factor.T[:, :rank])
    order = pivots - 1
    missed = product[order] - triangle @ (triangle.T @ probe[order])
    if np.abs(missed).max(initial=0.0) > tolerance:  # because of negative eigenvalues
        raise ValueError(
            "The kernel is not positive semi-definite: the smallest eigenvalue of its matrix is "
            f"{eigvalsh(K, subset_by_index=[0, 0])[0]:.3g}, and its largest entry "
            f"{np.abs(K).max():.3g}. Choose another kernel or other kernel parameters, for example "
            "kernel='rbf', or standardise the features."
        )
    return triangle, order
