"""Candidates on the neighbour graph of all rows: label spreading, and a deformed kernel.

Label spreading, with the symmetric graph W of the k nearest neighbours and the one-hot labels Y of
the training rows:

    S = D^-1/2 W D^-1/2,   scores = rows of (I - a S)^-1 Y, divided by their sums

The part G of the inverse that belongs to labelled rows is computed once; a fold's scores are then
``G[test, train] Y``. scikit-learn's LabelSpreading converges to the same scores, but would build
the graph and iterate again in every fold. The score of a training row without its own label comes
from G too, so that a and k are chosen by leave-one-out. Rows that no training row reaches get the
class shares. A new row gets the mean scores of its k nearest neighbours. The counterpart is nearest
neighbours.

With many labels G would be large. Instead, the mass ``(I - a S)^-1 Y`` of a fold, which has few
columns, is computed for every a and k. The mass that a training row gets from itself is on the
diagonal of G, which is computed for ``MAX_CHECKED_LABELS`` labelled rows; their loss chooses a and
k.

All values of a share one run of conjugate gradients. With b = 1/a, ``(I - a S)^-1 = b (b I -
S)^-1``, and systems that differ by a multiple of I have the same Krylov spaces. So the residuals
for a larger b are multiples of those for the smallest, whose iterations need not be repeated
(Jegerlehner 1996). Only the rows of G are kept of the solutions.

Kernel ridge regression in a Gaussian kernel with the penalty r f' Lap f, where Lap is the
normalised Laplacian of the graph (``methods.manifold.deformed_kernel``): the deformed kernel of the
labelled rows is computed once for every bandwidth and strength r. A fold is then a ridge regression
in the part of its training rows, with the option (r = 0 is one) whose leave-one-out error is least;
with many training rows, this is chosen on a sample. Single precision is enough to choose; the
kernel of new rows is computed in double precision, for the final option only. The counterpart is
kernel ridge regression on the labelled training rows.

References
----------
Jegerlehner, B. (1996). Krylov space solvers for shifted linear systems. arXiv:hep-lat/9612014.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import squareform

from primum._typing import AnyArray, Floats, Index
from primum.labellings.sets import nearest_shares
from primum.methods.manifold.deformed_kernel import (
    DeformedKernel,
    deform_kernel,
    laplacian_power,
    neighbor_graph,
    neighbor_graphs,
)
from primum.safe.candidates.base import Candidate, CandidateModel, LinearModel, Prepared
from primum.safe.candidates.linear import choose_kernel, fit_kernel_ridge
from primum.safe.rows import Affine, Scaling, SharedRows, Targets, sampled_note

# Neighbours in the graph on which labels spread, from few to many, and the share of the mass that
# passes on in each step: labels spread over two steps on average at the first, over a hundred at
# the last.
SPREADING_NEIGHBORS = (5, 10, 20)
DAMPINGS = (0.5, 0.8, 0.9, 0.95, 0.99)
# The most labelled rows for which G is computed; with more, only its diagonal, for this many: time
# grows with their number, and that many losses suffice to choose a and k.
MAX_GRAM_LABELS, MAX_CHECKED_LABELS = 1000, 300
# Numbers of nearest labelled rows to choose from, each about half as large again as the last.
NEIGHBOR_COUNTS = (1, 2, 3, 5, 7, 10, 15, 20, 30)
# Size of the residual, relative to the right-hand side, at which conjugate gradients stop, in
# single and double precision: the choice of a and k needs few digits.
CG_TOLERANCES = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-8}
# Kernel ridge regression takes time with the third power of the number of labelled rows: if there
# are more, a random sample is used.
MAX_KERNEL_LABELS = 1500
# Neighbours in the graph that deforms the kernel: enough to connect it, few enough to follow it.
KERNEL_NEIGHBORS = 10
# Kernel widths, in units of the median distance between rows, and weights of the graph relative to
# the kernel, with 0 for the kernel as it is: a coarse grid, because each takes a decomposition.
BANDWIDTHS = (0.25, 0.5, 1.0)
STRENGTHS = (0.0, 1.0, 10.0, 100.0)
# Squared distances below this fraction of the largest are rounding: they are differences of squares
# of lengths.
DISTANCE_ROUNDING = 1e-13
# Replaces a divisor that is 0; representable in single precision.
MIN_DIVISOR = 1e-30


def normalised(W: Any) -> Any:
    """Return S of a graph: its weights divided by the roots of the degrees of both ends."""
    degree = np.asarray(W.sum(axis=1)).reshape(-1)
    root = sparse.diags_array(1.0 / np.sqrt(np.maximum(degree, MIN_DIVISOR)))
    return (root @ W @ root).tocsr()


def spread(S: Any, dampings: Sequence[float], B: AnyArray, rows: Index | slice) -> Floats:
    """Return some rows of ``(I - a S)^-1 B`` for every damping a, by conjugate gradients.

    The result has the shape (n_dampings, n_rows, n_columns). The columns of B are not 0.
    """
    inverse = (1.0 / np.asarray(dampings)).astype(B.dtype)
    least, shifts = inverse.min(), (inverse - inverse.min())[:, None]
    system = (least * sparse.eye_array(len(B), format="csr", dtype=B.dtype) - S).tocsr()
    residual, direction, size = B.copy(), B.copy(), _column_dots(B, B)
    enough, curvature = CG_TOLERANCES[B.dtype] ** 2 * size, np.zeros(B.shape[1], B.dtype)
    # For each shifted system: the factor of its residual, its direction and its solution.
    ratio, shortened = np.ones((2, len(shifts), B.shape[1]), B.dtype)
    labeled_mass = np.repeat(B[None, rows], len(shifts), axis=0)
    x = np.zeros_like(labeled_mass)
    while (size > enough).any():
        image = system @ direction
        step = size / np.maximum(_column_dots(direction, image), MIN_DIVISOR)
        ratio = 1.0 / (1.0 + shifts * step + step * curvature * (1.0 - ratio))
        x += (step * ratio)[:, None] * labeled_mass
        image *= step
        residual -= image
        before, size = size, _column_dots(residual, residual)
        turn = size / np.maximum(before, MIN_DIVISOR)
        shortened *= ratio
        labeled_mass *= (turn * ratio**2)[:, None]
        labeled_mass += shortened[:, None] * residual[rows]
        direction *= turn
        direction += residual
        curvature = turn / np.maximum(step, MIN_DIVISOR)
    return np.maximum(inverse[:, None, None] * x, 0.0)


def _column_dots(A: AnyArray, B: AnyArray) -> AnyArray:
    return np.asarray(np.einsum("ij,ij->j", A, B))


def shares_of_mass(mass: Floats, default: Floats) -> Floats:
    """Return the rows of mass divided by their sums; those without mass are the default."""
    total = mass.sum(axis=1, keepdims=True)
    reached = total > 0
    return np.where(reached, mass / np.where(reached, total, 1.0), default)


def half_brier(scores: Floats, labels: Targets) -> float:
    """Return half the Brier score, which chooses among options."""
    loss = 0.5 * np.sum((scores - labels.values) ** 2, axis=1)
    return float(np.average(loss, weights=labels.weight))


@dataclass(frozen=True)
class NeighborModel(CandidateModel):
    """Mean scores of the nearest rows, after a change of features."""

    change: Affine
    rows: Any
    scores: Floats
    n_neighbors: int

    def predict(self, X: Any) -> Floats:  # noqa: D102
        from sklearn.neighbors import NearestNeighbors

        index = NearestNeighbors(n_neighbors=self.n_neighbors).fit(self.rows)
        nearest = index.kneighbors(self.change.transform(X), return_distance=False)
        return np.asarray(self.scores[nearest].mean(axis=1))


@dataclass(frozen=True)
class Diffusion:
    """Number of neighbours, S of their graph, a, and ``(I - a S)^-1`` among the labelled rows."""

    n_neighbors: int
    S: Any
    damping: float
    among: Floats

    def scores(self, test: Index, train: Index, labels: Targets) -> Floats:
        """Return the scores of labelled rows, given the labels of the training rows."""
        return shares_of_mass(self.among[np.ix_(test, train)] @ labels.weighted, labels.mean)

    def left_out_loss(self, train: Index, labels: Targets) -> float:
        """Return the mean loss of the training rows, each scored without its own label."""
        among = self.among[np.ix_(train, train)]
        np.fill_diagonal(among, 0.0)
        return half_brier(shares_of_mass(among @ labels.weighted, labels.mean), labels)


def diffusions(X: Any, n_labeled: int) -> list[Diffusion]:
    """Return all options for the graphs of rows; labelled rows come first."""
    return [
        Diffusion(k, S, a, among)
        for k, S, parts in _spread_on_graphs(X, np.arange(n_labeled))
        for a, among in zip(DAMPINGS, parts, strict=True)
    ]


def _spread_on_graphs(X: Any, rows: Index) -> Iterator[tuple[int, Any, Floats]]:
    """Yield every number of neighbours, its S, and the rows and columns of G for every damping."""
    units = np.zeros((X.shape[0], len(rows)), np.float32)  # single precision is enough to choose
    units[rows, np.arange(len(rows))] = 1.0
    graphs = neighbor_graphs(X, SPREADING_NEIGHBORS)
    for k, graph in zip(SPREADING_NEIGHBORS, graphs, strict=True):
        S = normalised(graph)
        yield k, S, spread(S.astype(np.float32), DAMPINGS, units, rows)


def spread_labels(
    S: Any,
    dampings: Sequence[float],
    train: Index,
    labels: Targets,
    rows: Index | slice,
    dtype: Any,
) -> Floats:
    """Return the mass (n_dampings, n_rows, n_classes) that rows get from the labels of train."""
    present = labels.present
    B = np.zeros((S.shape[0], len(present)), dtype)
    B[train] = labels.weighted[:, present]
    parts = spread(S.astype(dtype), dampings, B, rows)
    mass = np.zeros((*parts.shape[:2], labels.n_outputs))
    mass[:, :, present] = parts
    return mass


def scores_of_all(S: Any, damping: float, train: Index, labels: Targets) -> Floats:
    """Return the scores of all rows of a graph, given the labels of the training rows."""
    mass = spread_labels(S, [damping], train, labels, slice(None), np.float64)[0]
    return shares_of_mass(mass, labels.mean)


@dataclass(frozen=True)
class PreparedOnGraph(Prepared):
    """The change of the features, and the changed rows of the graph, labelled rows first."""

    change: Affine
    scaled: Any

    def _model(
        self, n_neighbors: int, S: Any, damping: float, train: Index, labels: Targets
    ) -> NeighborModel:
        """Return the model with the scores of all rows of the graph."""
        k = min(n_neighbors, self.scaled.shape[0])
        return NeighborModel(self.change, self.scaled, scores_of_all(S, damping, train, labels), k)


@dataclass(frozen=True)
class PreparedSpreading(PreparedOnGraph):
    """Label spreading, prepared with G for every option."""

    options: list[Diffusion]
    note: str = ""

    def fit(self, train: Index, labels: Targets) -> NeighborModel:  # noqa: D102
        seen = labels.take(train)
        best = self._best(train, seen)
        return self._model(best.n_neighbors, best.S, best.damping, train, seen)

    def held_out(self, train: Index, test: Index, labels: Targets) -> Floats:  # noqa: D102
        seen = labels.take(train)
        return self._best(train, seen).scores(test, train, seen)

    def _best(self, train: Index, labels: Targets) -> Diffusion:
        return min(self.options, key=lambda option: option.left_out_loss(train, labels))


@dataclass(frozen=True)
class DiffusionPath:
    """Number of neighbours, S of their graph, and the diagonal of G for some labelled rows.

    ``diagonal`` has the shape (n_dampings, n_checked).
    """

    n_neighbors: int
    S: Any
    diagonal: Floats


@dataclass(frozen=True)
class PreparedManyLabels(PreparedOnGraph):
    """Label spreading with many labels: graphs, and the rows ``checked`` that choose among them."""

    paths: list[DiffusionPath]
    checked: Index
    n_labeled: int
    note: str = ""

    def fit(self, train: Index, labels: Targets) -> NeighborModel:  # noqa: D102
        path, damping, _ = self._best(train, labels)
        seen = labels.take(train)
        return self._model(path.n_neighbors, path.S, DAMPINGS[damping], train, seen)

    def held_out(self, train: Index, test: Index, labels: Targets) -> Floats:  # noqa: D102
        *_, mass = self._best(train, labels)
        return shares_of_mass(mass[test], labels.take(train).mean)

    def _best(self, train: Index, labels: Targets) -> tuple[DiffusionPath, int, Floats]:
        """Return the graph, the position of a, and the mass of the labelled rows."""
        seen, labeled = labels.take(train), np.arange(self.n_labeled)
        least = np.inf
        for path in self.paths:
            masses = spread_labels(path.S, DAMPINGS, train, seen, labeled, np.float32)
            for number, mass in enumerate(masses):
                loss = self._left_out_loss(mass, path.diagonal[number], train, labels)
                if loss < least:
                    least, best = loss, (path, number, mass)
        return best

    def _left_out_loss(
        self, mass: Floats, diagonal: Floats, train: Index, labels: Targets
    ) -> float:
        """Return the mean loss of the checked training rows, each scored without its own label."""
        trained = np.isin(self.checked, train)
        if not trained.any():  # a small training set, so that nothing distinguishes the options
            return 0.0
        rows = self.checked[trained]
        checked = labels.take(rows)
        rest = np.maximum(mass[rows] - diagonal[trained, None] * checked.weighted, 0.0)
        return half_brier(shares_of_mass(rest, labels.take(train).mean), checked)


def diffusion_paths(X: Any, checked: Index) -> list[DiffusionPath]:
    """Return the graphs of rows, with the diagonals for the rows ``checked``."""
    return [
        DiffusionPath(k, S, np.diagonal(parts, axis1=1, axis2=2))
        for k, S, parts in _spread_on_graphs(X, checked)
    ]


class Spreading(Candidate):
    """Label spreading on the graph of all rows."""

    name, uses_unlabeled, counterpart = "spreading", True, "neighbours"
    reduces = True
    most_unlabeled = 4000  # with more, a random sample is used
    growth = 2.5  # grows with rows times labelled rows, and with iterations

    def prepare(self, rows: SharedRows) -> PreparedOnGraph:  # noqa: D102
        used = rows.with_at_most(self.most_unlabeled)
        n_labeled = rows.n_labeled
        change = used.scaling(used.all)
        X = change.transform(used.all)
        note = sampled_note(self.name, rows, used)
        if n_labeled <= MAX_GRAM_LABELS:
            return PreparedSpreading(change, X, diffusions(X, n_labeled), note)
        rng = np.random.default_rng(rows.seed)
        checked = np.sort(rng.choice(n_labeled, MAX_CHECKED_LABELS, replace=False))
        return PreparedManyLabels(change, X, diffusion_paths(X, checked), checked, n_labeled, note)


def neighbors(X: Any, labels: Targets, seed: int, scaling: Scaling) -> NeighborModel:
    """Return nearest labelled rows, their number chosen by leave-one-out."""
    change = scaling(X)
    scaled = change.transform(X)
    return NeighborModel(change, scaled, labels.values, _best_count(scaled, labels))


def _best_count(X: Any, labels: Targets) -> int:
    """Return the number of neighbours with the least leave-one-out loss."""
    from sklearn.neighbors import NearestNeighbors

    most = min(NEIGHBOR_COUNTS[-1], X.shape[0] - 1)
    if most == 0:
        return 1
    nearest = NearestNeighbors(n_neighbors=most).fit(X).kneighbors(return_distance=False)
    counts = sorted({min(count, most) for count in NEIGHBOR_COUNTS})
    sums = np.cumsum(labels.values[nearest], axis=1)
    return min(counts, key=lambda count: half_brier(sums[:, count - 1] / count, labels))


@dataclass(frozen=True)
class KernelModel(CandidateModel):
    """Least-squares scores ``exp(-gamma ||x - x_i||^2) @ coef + intercept``.

    Scores of classes are moved to the nearest point of the simplex.
    """

    change: Affine
    rows: Any
    gamma: float
    coef: Floats
    intercept: Floats
    are_shares: bool = True

    def predict(self, X: Any) -> Floats:  # noqa: D102
        distances = squared_distances(self.change.transform(X), self.rows)
        values = np.exp(-self.gamma * distances) @ self.coef + self.intercept
        return np.asarray(nearest_shares(values) if self.are_shares else values)


def squared_distances(X: Any, Z: Any) -> Floats:
    """Return the squared distances between rows of X and of Z."""
    from sklearn.metrics.pairwise import euclidean_distances

    return np.asarray(euclidean_distances(X, Z, squared=True))


def distances_among(X: Any) -> Floats:
    """Return the squared distances between rows."""
    distances = squared_distances(X, X)
    np.fill_diagonal(distances, 0.0)
    return distances


def gammas_of(distances: Floats) -> list[float]:
    """Return the options of gamma, given the squared distances between rows."""
    # Distances of copies are rounding, and with many copies the median would be too.
    pairs = squareform(distances, checks=False)
    positive = pairs[pairs > DISTANCE_ROUNDING * pairs.max(initial=0.0)]
    median = float(np.median(positive)) if len(positive) else 1.0
    return [0.5 / (factor**2 * median) for factor in BANDWIDTHS]


@dataclass(frozen=True)
class DeformedGram:
    """A deformed kernel of the labelled rows.

    Attributes
    ----------
    gamma : float
        Width parameter of the Gaussian kernel.
    strength : float
        The penalty r.
    gram : array of shape (n_labeled, n_labeled)
        Values of the kernel.
    """

    gamma: float
    strength: float
    gram: Floats


@dataclass(frozen=True)
class PreparedKernel(Prepared):
    """The options, the standardised rows of the graph (labelled first), and its Laplacian."""

    change: Affine
    scaled: Any
    laplacian: Any
    options: list[DeformedGram]
    seed: int = 0
    note: str = ""
    _last: dict[tuple[float, float], DeformedKernel] = field(default_factory=dict, repr=False)

    def fit(self, train: Index, labels: Targets) -> KernelModel:  # noqa: D102
        option, _ = self._best(train, labels)
        deformed = self.deformed(option)
        model = fit_kernel_ridge(deformed.gram(train), labels.take(train))[0]
        coef = deformed.expansion(train, model.coef)
        scores = option.gamma, coef, model.intercept, labels.are_shares
        return KernelModel(self.change, self.scaled, *scores)

    def held_out(self, train: Index, test: Index, labels: Targets) -> Floats:  # noqa: D102
        option, model = self._best(train, labels)
        seen = labels.take(train)
        model = model or fit_kernel_ridge(option.gram[np.ix_(train, train)], seen)[0]
        return model.predict(option.gram[np.ix_(test, train)])

    def _best(self, train: Index, labels: Targets) -> tuple[DeformedGram, LinearModel | None]:
        """Return the best option, and its model unless it was chosen on a sample of the rows."""
        grams = [partial(_among, option.gram, train) for option in self.options]
        best, model = choose_kernel(grams, labels.take(train), self.seed)
        return self.options[best], model

    def deformed(self, option: DeformedGram) -> DeformedKernel:
        """Return the deformed kernel of all rows in double precision, also for other rows.

        The last one is cached, because folds often choose the same option.
        """
        key = option.gamma, option.strength
        if key not in self._last:
            self._last.clear()
            kernel = np.exp(-option.gamma * distances_among(self.scaled))
            deformation = deform_kernel(kernel, self.laplacian, overwrite=True)
            self._last[key] = deformation.at(option.strength)
        return self._last[key]


def _among(gram: Floats, train: Index, rows: Index) -> Floats:
    """Return the kernel among some of the training rows."""
    return gram[np.ix_(train[rows], train[rows])]


def labeled_grams(K: Floats, laplacian: Any, n_labeled: int) -> Iterator[Floats]:
    """Yield the deformed kernels of the labelled rows for all strengths; K is overwritten.

    Single precision is enough to choose, unless the penalty is too ill-conditioned for it.
    """
    labeled, plain = np.arange(n_labeled), K[:n_labeled, :n_labeled].copy()
    deformation = deform_kernel(K, laplacian, overwrite=True)
    single = deformation.in_single_precision()
    for strength in STRENGTHS:
        try:
            gram = single.at(strength).gram(labeled) if strength else plain
        except ValueError:
            gram = deformation.at(strength).gram(labeled)
        yield gram.astype(np.float64)


class GraphKernel(Candidate):
    """Kernel ridge regression in the deformed kernel of all rows."""

    name, uses_unlabeled, counterpart = "kernel", True, "kernel (labelled)"
    reduces = True
    most_unlabeled = 1500  # with more, a random sample is used
    most_labeled = MAX_KERNEL_LABELS
    growth = 3.0

    def prepare(self, rows: SharedRows) -> PreparedKernel:  # noqa: D102
        used = rows.with_at_most(self.most_unlabeled)
        change = used.scaling(used.all)
        X = change.transform(used.all)
        laplacian = laplacian_power(neighbor_graph(X, KERNEL_NEIGHBORS), normalized=True)
        distances, options = distances_among(X), []
        for gamma in gammas_of(distances):
            grams = labeled_grams(np.exp(-gamma * distances), laplacian, rows.n_labeled)
            options += [
                DeformedGram(gamma, strength, gram)
                for strength, gram in zip(STRENGTHS, grams, strict=True)
            ]
        note = sampled_note(self.name, rows, used)
        return PreparedKernel(change, X, laplacian, options, rows.seed, note)


def labeled_kernel(X: Any, labels: Targets, seed: int, scaling: Scaling) -> KernelModel:
    """Return kernel ridge regression of the labelled rows."""
    change = scaling(X)
    scaled = change.transform(X)
    distances = distances_among(scaled)
    gammas = gammas_of(distances)

    def gram(gamma: float, rows: Index) -> Floats:
        return np.exp(-gamma * distances[np.ix_(rows, rows)])

    best, model = choose_kernel([partial(gram, gamma) for gamma in gammas], labels, seed)
    model = model or fit_kernel_ridge(np.exp(-gammas[best] * distances), labels)[0]
    scores = gammas[best], model.coef, model.intercept, labels.are_shares
    return KernelModel(change, scaled, *scores)
