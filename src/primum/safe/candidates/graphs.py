"""Candidates on the neighbour graph of all rows: label spreading, and a deformed kernel.

Label spreading, with the symmetric graph W of the k nearest neighbours and the one-hot labels Y of
the training rows:

    S = D^-1/2 W D^-1/2,   scores = rows of (I - a S)^-1 Y, divided by their sums

The columns G of the inverse that belong to labelled rows are computed once; a fold's scores are
then ``G[:, train] Y``. scikit-learn's LabelSpreading has the same limit, but would build the graph
and iterate again in every fold. The score of a training row without its own label comes from the
same columns, so that a and k are chosen by leave-one-out. Rows that no training row reaches get the
shares of the classes. A new row has the mean scores of its k nearest neighbours. The counterpart is
nearest neighbours.

Kernel ridge regression in a Gaussian kernel with the penalty r f' Lap f, where Lap is the
normalised Laplacian of the graph (``methods.manifold.deformed_kernel``): features F with ``F F'``
equal to the deformed kernel of the labelled rows are computed once for every bandwidth and strength
r. A fold is then a ridge regression on ``F[train]``, with the option whose leave-one-out error is
least; r = 0 is one of them. The counterpart is the kernel ridge regression of the labelled training
rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from primum._typing import Floats, Index
from primum.labellings.sets import nearest_shares
from primum.methods.manifold.base import laplacian_power, neighbor_graph
from primum.methods.manifold.deformed_kernel import deform_kernel
from primum.safe.candidates.base import (
    Affine,
    Candidate,
    CandidateModel,
    Labels,
    LinearModel,
    Prepared,
    SharedRows,
    sampled_note,
    standardisation,
)
from primum.safe.candidates.linear import fit_ridge

# Of the graph on which labels spread, and how far they spread.
SPREADING_NEIGHBORS = (5, 10, 20)
DAMPINGS = (0.5, 0.8, 0.9, 0.95, 0.99)
# Of nearest labelled rows.
COUNTS = (1, 2, 3, 5, 7, 10, 15, 20, 30)
# Relative size of the residual at which conjugate gradients stop.
ACCURACY = 1e-8
# Of the graph that deforms the kernel.
KERNEL_NEIGHBORS = 10
# In units of the median distance between rows.
BANDWIDTHS = (0.25, 0.5, 1.0)
STRENGTHS = (0.0, 1.0, 10.0, 100.0)
# Eigenvalues of a kernel matrix below this fraction of the largest are rounding.
SMALLEST = 1e-12
# Squared distances below this fraction of the largest are rounding.
ROUNDING = 1e-13


def spread(W: Any, damping: float, columns: Index) -> Floats:
    """Return columns of ``(I - a S)^-1``, which have no negative entries."""
    degree = np.asarray(W.sum(axis=1)).reshape(-1)
    root = sparse.diags_array(1.0 / np.sqrt(np.maximum(degree, np.finfo(float).tiny)))
    unit = np.zeros((W.shape[0], len(columns)))
    unit[columns, np.arange(len(columns))] = 1.0
    return np.maximum(_solve(damping * (root @ W @ root), unit), 0.0)


def _solve(S: Any, B: Floats) -> Floats:
    """Return ``(I - S)^-1 B`` for a symmetric S of norm below 1, by conjugate gradients."""
    x, residual = np.zeros_like(B), B.copy()
    direction, size = B.copy(), np.sum(B**2, axis=0)
    enough = ACCURACY**2 * size
    while (size > enough).any():
        image = direction - S @ direction
        step = size / np.maximum(np.sum(direction * image, axis=0), np.finfo(float).tiny)
        x += step * direction
        residual -= step * image
        before, size = size, np.sum(residual**2, axis=0)
        direction = residual + direction * (size / np.maximum(before, np.finfo(float).tiny))
    return x


def shares_of(mass: Floats, default: Floats) -> Floats:
    """Return the rows of mass divided by their sums; those without mass are the default."""
    total = mass.sum(axis=1, keepdims=True)
    reached = total > 0
    return np.where(reached, mass / np.where(reached, total, 1.0), default)


def half_brier(scores: Floats, labels: Labels) -> float:
    """Return half the Brier score, by which options are chosen."""
    loss = 0.5 * np.sum((scores - labels.one_hot) ** 2, axis=1)
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
    """Number of neighbours, a, and the columns of ``(I - a S)^-1`` of the labelled rows."""

    n_neighbors: int
    damping: float
    columns: Floats

    def scores(self, rows: Index | slice, train: Index, own: Labels) -> Floats:
        """Return the scores of rows, given the labels of the training rows."""
        return shares_of(self.columns[rows][:, train] @ own.weighted, own.shares)

    def left_out_loss(self, train: Index, own: Labels) -> float:
        """Return the loss of every training row without its own label."""
        among = self.columns[np.ix_(train, train)]
        np.fill_diagonal(among, 0.0)
        return half_brier(shares_of(among @ own.weighted, own.shares), own)


@dataclass(frozen=True)
class PreparedSpreading(Prepared):
    """The options, and the rows of the graph, standardised; labelled rows first."""

    change: Affine
    scaled: Any
    options: list[Diffusion]
    note: str = ""

    def fit(self, train: Index, labels: Labels) -> NeighborModel:  # noqa: D102
        own = labels.take(train)
        option = self._best(train, own)
        scores = option.scores(slice(None), train, own)
        k = min(option.n_neighbors, self.scaled.shape[0])
        return NeighborModel(self.change, self.scaled, scores, k)

    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:  # noqa: D102
        own = labels.take(train)
        return self._best(train, own).scores(test, train, own)

    def _best(self, train: Index, own: Labels) -> Diffusion:
        return min(self.options, key=lambda option: option.left_out_loss(train, own))


class Spreading(Candidate):
    """Label spreading on the graph of all rows."""

    name, uses_unlabeled, counterpart = "spreading", True, "neighbours"
    most_unlabeled = 4000  # a larger graph is that of a random sample
    growth = 2.5  # rows times labelled rows, and more iterations

    def prepare(self, rows: SharedRows) -> PreparedSpreading:  # noqa: D102
        used = rows.sampled_for(self)
        change = standardisation(used.all)
        X, labeled = change.transform(used.all), np.arange(rows.n_labeled)
        graphs = ((k, neighbor_graph(X, k)) for k in SPREADING_NEIGHBORS)
        options = [Diffusion(k, a, spread(W, a, labeled)) for k, W in graphs for a in DAMPINGS]
        return PreparedSpreading(change, X, options, sampled_note(self.name, rows, used))


def neighbors(X: Any, labels: Labels, seed: int) -> NeighborModel:
    """Return nearest labelled rows, their number chosen by leave-one-out."""
    change = standardisation(X)
    scaled = change.transform(X)
    return NeighborModel(change, scaled, labels.one_hot, _best_count(scaled, labels))


def _best_count(X: Any, labels: Labels) -> int:
    """Return the number of neighbours with the least leave-one-out loss."""
    from sklearn.neighbors import NearestNeighbors

    most = min(COUNTS[-1], X.shape[0] - 1)
    if most == 0:
        return 1
    nearest = NearestNeighbors(n_neighbors=most).fit(X).kneighbors(return_distance=False)
    counts = sorted({min(count, most) for count in COUNTS})
    sums = np.cumsum(labels.one_hot[nearest], axis=1)
    return min(counts, key=lambda count: half_brier(sums[:, count - 1] / count, labels))


@dataclass(frozen=True)
class KernelModel(CandidateModel):
    """Least-squares scores ``exp(-gamma ||x - x_i||^2) @ coef + intercept``."""

    change: Affine
    rows: Any
    gamma: float
    coef: Floats
    intercept: Floats

    def predict(self, X: Any) -> Floats:  # noqa: D102
        distances = squared_distances(self.change.transform(X), self.rows)
        values = np.exp(-self.gamma * distances) @ self.coef + self.intercept
        return np.asarray(nearest_shares(values))


def squared_distances(X: Any, Z: Any) -> Floats:
    """Return the squared distances between rows of X and of Z."""
    from sklearn.metrics.pairwise import euclidean_distances

    return np.asarray(euclidean_distances(X, Z, squared=True))


def distances_among(X: Any) -> tuple[Floats, list[float]]:
    """Return the squared distances between rows, and the options of gamma."""
    distances = squared_distances(X, X)
    np.fill_diagonal(distances, 0.0)
    # Copies of a row have distances that are rounding: with many, so would be the median.
    positive = distances[distances > ROUNDING * distances.max(initial=0.0)]
    median = float(np.median(positive)) if len(positive) else 1.0
    return distances, [0.5 / (factor**2 * median) for factor in BANDWIDTHS]


def features_of(K: Floats) -> tuple[Floats, Floats]:
    """Return F with ``F F' = K``, and R with ``F = K R``."""
    values, vectors = np.linalg.eigh(K)
    used = values > SMALLEST * values[-1]
    roots = np.sqrt(values[used])
    return vectors[:, used] * roots, vectors[:, used] / roots


@dataclass(frozen=True)
class DeformedFeatures:
    """A deformed kernel of the labelled rows.

    Attributes
    ----------
    gamma : float
        Of the Gaussian kernel.
    features : array of shape (n_labeled, rank)
        F.
    expansion : array of shape (n_rows, rank)
        The features of a row, as combinations of its Gaussian kernel with all rows.
    """

    gamma: float
    features: Floats
    expansion: Floats


@dataclass(frozen=True)
class PreparedKernel(Prepared):
    """The options, and the rows of the graph, standardised; labelled rows first."""

    change: Affine
    scaled: Any
    options: list[DeformedFeatures]
    note: str = ""

    def fit(self, train: Index, labels: Labels) -> KernelModel:  # noqa: D102
        option, model = self._best(train, labels)
        coef = option.expansion @ model.coef
        return KernelModel(self.change, self.scaled, option.gamma, coef, model.intercept)

    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:  # noqa: D102
        option, model = self._best(train, labels)
        return model.predict(option.features[test])

    def _best(self, train: Index, labels: Labels) -> tuple[DeformedFeatures, LinearModel]:
        own = labels.take(train)
        fits = [fit_ridge(option.features[train], own) for option in self.options]
        best = int(np.argmax([score for _, score in fits]))
        return self.options[best], fits[best][0]


class DeformedKernel(Candidate):
    """Kernel ridge regression in the deformed kernel of all rows."""

    name, uses_unlabeled, counterpart = "kernel", True, "kernel (labelled)"
    most_unlabeled = 1500  # a larger kernel is that of a random sample
    growth = 3.0

    def prepare(self, rows: SharedRows) -> PreparedKernel:  # noqa: D102
        used = rows.sampled_for(self)
        change = standardisation(used.all)
        X, labeled = change.transform(used.all), np.arange(rows.n_labeled)
        laplacian = laplacian_power(neighbor_graph(X, KERNEL_NEIGHBORS), normalized=True)
        distances, gammas = distances_among(X)
        options = []
        for gamma in gammas:
            deformation = deform_kernel(np.exp(-gamma * distances), laplacian)
            for strength in STRENGTHS:
                kernel = deformation.at(strength)
                V = kernel.features(labeled)
                features, R = features_of(V @ V.T)
                options.append(DeformedFeatures(gamma, features, kernel.expansion(labeled, R)))
        return PreparedKernel(change, X, options, sampled_note(self.name, rows, used))


def labeled_kernel(X: Any, labels: Labels, seed: int) -> KernelModel:
    """Return kernel ridge regression of the labelled rows."""
    change = standardisation(X)
    scaled = change.transform(X)
    distances, gammas = distances_among(scaled)
    maps = [features_of(np.exp(-gamma * distances)) for gamma in gammas]
    fits = [fit_ridge(features, labels) for features, _ in maps]
    best = int(np.argmax([score for _, score in fits]))
    model, coef = fits[best][0], maps[best][1] @ fits[best][0].coef
    return KernelModel(change, scaled, gammas[best], coef, model.intercept)
