"""Label spreading on a neighbour graph, and nearest neighbours, its counterpart.

    S = D^-1/2 W D^-1/2,   scores = rows of (I - a S)^-1 Y, divided by their sums

W is the symmetric graph of the k nearest neighbours, Y the one-hot labels of the training rows. The
columns G of the inverse that belong to labelled rows are computed once; a fold's scores are then
``G[:, train] Y``. scikit-learn's LabelSpreading has the same limit, but would build the graph and
iterate again in every fold. The score of a training row without its own label comes from the same
columns, so that a and k are chosen by leave-one-out. Rows that no training row reaches get the
shares of the classes. A new row has the mean scores of its k nearest neighbours.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from primum._typing import Floats, Index
from primum.methods.manifold.base import neighbor_graph
from primum.safe.candidates.base import (
    Affine,
    Candidate,
    Labels,
    Model,
    Prepared,
    PreparedRows,
    SharedRows,
    sampled_note,
    standardisation,
)

# A larger graph is replaced by that of a random sample of the unlabelled rows.
MOST_UNLABELED = 4000
NEIGHBORS = (5, 10, 20)
DAMPINGS = (0.5, 0.8, 0.9, 0.95, 0.99)
# Of nearest labelled rows.
COUNTS = (1, 2, 3, 5, 7, 10, 15, 20, 30)
# Relative size of the residual at which conjugate gradients stop.
ACCURACY = 1e-8


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
class NeighborModel(Model):
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
class Option:
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
    options: list[Option]
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

    def _best(self, train: Index, own: Labels) -> Option:
        return min(self.options, key=lambda option: option.left_out_loss(train, own))


class Spreading(Candidate):
    """Label spreading on the graph of all rows."""

    name, uses_unlabeled, counterpart = "spreading", True, "neighbours"
    most_unlabeled = MOST_UNLABELED
    growth = 2.5  # rows times labelled rows, and more iterations

    def prepare(self, rows: SharedRows) -> PreparedSpreading:  # noqa: D102
        used = rows.with_at_most(MOST_UNLABELED)
        change = standardisation(used.all)
        X, labeled = change.transform(used.all), np.arange(rows.n_labeled)
        graphs = ((k, neighbor_graph(X, k)) for k in NEIGHBORS)
        options = [Option(k, a, spread(W, a, labeled)) for k, W in graphs for a in DAMPINGS]
        return PreparedSpreading(change, X, options, sampled_note(self.name, rows, used))


class PreparedNeighbors(PreparedRows):
    """Nearest labelled rows."""

    def fit(self, train: Index, labels: Labels) -> NeighborModel:  # noqa: D102
        X, own = self.rows.labeled[train], labels.take(train)
        change = standardisation(X)
        scaled = change.transform(X)
        return NeighborModel(change, scaled, own.one_hot, _best_count(scaled, own))


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


class Neighbors(Candidate):
    """Nearest labelled rows, their number chosen by leave-one-out."""

    name = "neighbours"

    def prepare(self, rows: SharedRows) -> PreparedNeighbors:  # noqa: D102
        return PreparedNeighbors(rows)
