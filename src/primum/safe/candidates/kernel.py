"""Kernel ridge regression in a kernel that is deformed by the graph of all rows.

The kernel is Gaussian, the penalty r f' Lap f with the normalised Laplacian Lap of the neighbour
graph (``methods.manifold.deformed_kernel``). Features F with ``F F'`` equal to the deformed kernel
of the labelled rows are computed once for every bandwidth and strength r. A fold is then a ridge
regression on ``F[train]``, with the option whose leave-one-out error is least; r = 0 is one of
them. The counterpart is the kernel ridge regression of the labelled training rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.labellings.sets import nearest_shares
from primum.methods.manifold.base import laplacian_power, neighbor_graph
from primum.methods.manifold.deformed_kernel import deform_kernel
from primum.safe.candidates.base import (
    Affine,
    Candidate,
    Labels,
    LinearModel,
    Model,
    Prepared,
    PreparedRows,
    SharedRows,
    sampled_note,
    standardisation,
)
from primum.safe.candidates.linear import fit_ridge

# The kernel of more rows is replaced by that of a random sample of the unlabelled ones.
MOST_UNLABELED = 1500
NEIGHBORS = 10
# In units of the median distance between rows.
BANDWIDTHS = (0.25, 0.5, 1.0)
STRENGTHS = (0.0, 1.0, 10.0, 100.0)
# Eigenvalues of a kernel matrix below this fraction of the largest are rounding.
SMALLEST = 1e-12
# Squared distances below this fraction of the largest are rounding.
ROUNDING = 1e-13


@dataclass(frozen=True)
class KernelModel(Model):
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
    # The distances between copies of a row are rounding, of which the median would be as well.
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
class Option:
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

    def fit(self, train: Index, own: Labels) -> tuple[LinearModel, float]:
        """Return a ridge regression on the features, and minus its leave-one-out error."""
        return fit_ridge(self.features[train], own)


@dataclass(frozen=True)
class PreparedKernel(Prepared):
    """The options, and the rows of the graph, standardised; labelled rows first."""

    change: Affine
    scaled: Any
    options: list[Option]
    note: str = ""

    def fit(self, train: Index, labels: Labels) -> KernelModel:  # noqa: D102
        option, model = self._best(train, labels)
        coef = option.expansion @ model.coef
        return KernelModel(self.change, self.scaled, option.gamma, coef, model.intercept)

    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:  # noqa: D102
        option, model = self._best(train, labels)
        return model.predict(option.features[test])

    def _best(self, train: Index, labels: Labels) -> tuple[Option, LinearModel]:
        own = labels.take(train)
        fits = [option.fit(train, own) for option in self.options]
        best = int(np.argmax([score for _, score in fits]))
        return self.options[best], fits[best][0]


class DeformedKernel(Candidate):
    """Kernel ridge regression in the deformed kernel of all rows."""

    name, uses_unlabeled, counterpart = "kernel", True, "kernel (labelled)"
    most_unlabeled = MOST_UNLABELED
    growth = 3.0

    def prepare(self, rows: SharedRows) -> PreparedKernel:  # noqa: D102
        used = rows.with_at_most(MOST_UNLABELED)
        change = standardisation(used.all)
        X, labeled = change.transform(used.all), np.arange(rows.n_labeled)
        laplacian = laplacian_power(neighbor_graph(X, NEIGHBORS), normalized=True)
        distances, gammas = distances_among(X)
        options = []
        for gamma in gammas:
            deformation = deform_kernel(np.exp(-gamma * distances), laplacian)
            for strength in STRENGTHS:
                kernel = deformation.at(strength)
                V = kernel.features(labeled)
                features, R = features_of(V @ V.T)
                options.append(Option(gamma, features, kernel.expansion(labeled, R)))
        return PreparedKernel(change, X, options, sampled_note(self.name, rows, used))


class PreparedLabeledKernel(PreparedRows):
    """Kernel ridge regression of the labelled training rows."""

    def fit(self, train: Index, labels: Labels) -> KernelModel:  # noqa: D102
        X, own = self.rows.labeled[train], labels.take(train)
        change = standardisation(X)
        scaled = change.transform(X)
        distances, gammas = distances_among(scaled)
        maps = [features_of(np.exp(-gamma * distances)) for gamma in gammas]
        fits = [fit_ridge(features, own) for features, _ in maps]
        best = int(np.argmax([score for _, score in fits]))
        model, coef = fits[best][0], maps[best][1] @ fits[best][0].coef
        return KernelModel(change, scaled, gammas[best], coef, model.intercept)


class LabeledKernel(Candidate):
    """Kernel ridge regression of the labelled rows."""

    name = "kernel (labelled)"
    growth = 3.0

    def prepare(self, rows: SharedRows) -> PreparedLabeledKernel:  # noqa: D102
        return PreparedLabeledKernel(rows)
