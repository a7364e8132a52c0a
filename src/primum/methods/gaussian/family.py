"""Gaussian classes with one common covariance: linear discriminant analysis and nearest mean.

    p(x, k) = pi_k N(x; m_k, C),      C a full matrix ("full") or sigma^2 I ("spherical")

Every row has a weight r_ik in every class: its sample weight in its own class if it is labelled,
its sample weight times its soft label otherwise. The parameters of largest likelihood are

    n_k = sum_i r_ik,   n = sum_k n_k,   pi_k = n_k / n,   m_k = 1/n_k sum_i r_ik x_i,
    W = 1/n sum_ik r_ik (x_i - m_k)(x_i - m_k)',     C = W + alpha I   or   (tr W / d + alpha) I.

With a ridge alpha > 0 they maximise the mean log-likelihood minus ``alpha/2 tr(C^-1)``; a given
prior replaces pi_k.

All of this is computed in coordinates z of the rows, ``x = origin + basis z``. For a full
covariance the features are divided by their standard deviations, so that no result depends on
their units, and z are the coordinates in the range of the total covariance, which leaves out
constant and collinear directions. The density of x is that of z divided by the volume of the basis.
If C is singular within that range, its pseudo-inverse and the density on its own range are used.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr
from scipy.special import softmax

from primum._typing import Floats

# A feature is constant if its standard deviation is below this fraction of its largest value: the
# rounding of a sum of squares.
CONSTANT_TOLERANCE = 1e-13
# A direction is left out if its variance is below this fraction of the largest, with all features
# in units of their standard deviations: total variance, and variance within the classes. The second
# is the rounding of eigenvalues, and the first leaves room for two digits above it.
RANGE_TOLERANCE, RANK_TOLERANCE = 1e-11, 1e-13


@dataclass(frozen=True)
class GaussianCoordinates:
    """Coordinates z of rows x: ``x = origin + basis z``, ``z = reader' (x - origin)``.

    ``origin`` (d,) is the mean of the rows from which they were computed; ``basis`` and ``reader``
    are (d, r), with ``reader' basis`` the identity; ``ridge`` (r,) is the diagonal of
    ``reader' alpha I reader``.
    """

    origin: Floats
    basis: Floats
    reader: Floats
    ridge: Floats

    @property
    def dimension(self) -> int:
        """Number of coordinates r."""
        return self.basis.shape[1]

    @cached_property
    def log_volume(self) -> float:
        """Logarithm of the volume of the basis: log p(x) = log p(z) - log_volume."""
        # A row of the basis has the unit of its feature. With the largest rows first, and pivots,
        # QR is exact row by row, while basis' basis loses features of small numbers to rounding.
        largest_first = np.argsort(-np.abs(self.basis).max(axis=1, initial=0.0))
        R, _ = qr(self.basis[largest_first], mode="r", pivoting=True)
        return float(np.log(np.abs(np.diag(R))).sum())

    def read(self, X: Floats) -> Floats:
        """Return the coordinates of rows."""
        return np.asarray((X - self.origin) @ self.reader)


def gaussian_coordinates(
    X: Floats, weight: Floats, *, spherical: bool, alpha: float
) -> GaussianCoordinates:
    """Return the coordinates for models of the given rows.

    With a ridge no direction is left out, and the unit of a spherical covariance is that of the
    features.
    """
    origin = np.average(X, axis=0, weights=weight)
    d = X.shape[1]
    if spherical:
        return GaussianCoordinates(origin, np.eye(d), np.eye(d), np.full(d, alpha))
    scale = np.sqrt(np.average((X - origin) ** 2, axis=0, weights=weight) + alpha)
    if alpha > 0:
        return GaussianCoordinates(origin, np.diag(scale), np.diag(1.0 / scale), alpha / scale**2)
    scale[scale <= CONSTANT_TOLERANCE * np.abs(X).max(axis=0)] = 1.0
    Z = (X - origin) / scale
    variance, directions = np.linalg.eigh((Z.T * (weight / weight.sum())) @ Z)
    kept = directions[:, variance > RANGE_TOLERANCE * max(1.0, variance[-1])]
    basis, reader = scale[:, None] * kept, kept / scale[:, None]
    return GaussianCoordinates(origin, basis, reader, np.zeros(kept.shape[1]))


@dataclass(frozen=True)
class GaussianModel:
    """Classes with means (K, r), one covariance (r, r) and shares of logarithms (K,)."""

    means: Floats
    covariance: Floats
    log_shares: Floats

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        """The eigenvalues of the covariance that are above rounding, and their vectors."""
        values, vectors = np.linalg.eigh(self.covariance)
        kept = values > RANK_TOLERANCE * np.max(values, initial=0.0)
        return values[kept], vectors[:, kept]

    @property
    def rank(self) -> int:
        """Rank of the covariance."""
        return len(self._spectrum[0])

    @cached_property
    def precision(self) -> Floats:
        """The inverse of the covariance, or its pseudo-inverse."""
        values, vectors = self._spectrum
        return np.asarray((vectors / values) @ vectors.T)

    def log_joint(self, Z: Floats) -> Floats:
        """Return ``log p(z, k)`` for every row and class, on the range of the covariance."""
        values, vectors = self._spectrum
        whitening = vectors / np.sqrt(values)
        rows, means = Z @ whitening, self.means @ whitening
        squares = np.stack([((rows - mean) ** 2).sum(axis=1) for mean in means], axis=1)
        constant = self.rank * np.log(2.0 * np.pi) + float(np.log(values).sum())
        return np.asarray(self.log_shares - 0.5 * (squares + constant))

    def posterior(self, Z: Floats) -> Floats:
        """Return the probability of every class given each row."""
        return np.asarray(softmax(self.log_joint(Z), axis=1))

    def scores(self) -> tuple[Floats, Floats]:
        """Return (coefficients (r, K), intercepts (K,)) of log p(z, k), without common terms."""
        coef = self.precision @ self.means.T
        return coef, self.log_shares - 0.5 * np.einsum("kr,rk->k", self.means, coef)


@dataclass(frozen=True)
class GaussianFamily:
    """All models of rows with some coordinates, and the one of largest likelihood.

    ``log_shares`` (K,) are logarithms of given class shares; None means that they are estimated.
    """

    coordinates: GaussianCoordinates
    spherical: bool
    log_shares: Floats | None

    def fit(self, Z: Floats, R: Floats) -> GaussianModel:
        """Return the model of largest (penalised) likelihood for weights R (n, K)."""
        totals = R.sum(axis=0)
        means = (R.T @ Z) / totals[:, None]
        n = float(totals.sum())
        within = scatter(Z, R, means) / n
        ridge = self.coordinates.ridge
        covariance = within + np.diag(ridge)
        if self.spherical:
            variance = np.trace(within) / len(within) + ridge[0]
            covariance = np.asarray(variance * np.eye(len(within)))
        log_shares = np.log(totals / n) if self.log_shares is None else self.log_shares
        return GaussianModel(means, covariance, log_shares)

    def penalty(self, model: GaussianModel) -> float:
        """Return ``alpha/2 tr(C^-1)``, which is subtracted from the mean log-likelihood."""
        return 0.5 * float(self.coordinates.ridge @ np.diag(model.precision))


@dataclass(frozen=True)
class ModelsOfLabels:
    """The models of all rows with coordinates Z (n, r), by soft labels of the unlabelled ones.

    R (L, K) are the weights of the labelled rows, which come first, in the classes, and ``weight``
    (U,) those of the unlabelled rows.
    """

    family: GaussianFamily
    Z: Floats
    R: Floats
    weight: Floats

    def class_weights(self, Q: Floats) -> Floats:
        """Return the weights of all rows in the classes, with labels Q (U, K)."""
        return np.vstack([self.R, self.weight[:, None] * Q])

    def model(self, Q: Floats) -> GaussianModel:
        """Return the model of all rows with labels Q (U, K) of the unlabelled ones."""
        return self.family.fit(self.Z, self.class_weights(Q))


def scatter(Z: Floats, R: Floats, means: Floats) -> Floats:
    """Return ``sum_ik r_ik (z_i - m_k)(z_i - m_k)'``, without cancellation.

    With the weight ``r_i = sum_k r_ik`` and the mean ``c_i = sum_k r_ik m_k / r_i`` of every row,

        sum_i r_i (z_i - c_i)(z_i - c_i)' + sum_{k < l} a_kl (m_k - m_l)(m_k - m_l)',

    with ``a_kl = sum_i r_ik r_il / r_i``, is the same, and no summand is negative.
    """
    totals = R.sum(axis=1)
    shares = R / np.where(totals > 0, totals, 1.0)[:, None]
    centered = Z - shares @ means
    first, second = np.triu_indices(R.shape[1], 1)
    apart = means[first] - means[second]
    total = (centered.T * totals) @ centered + (apart.T * (R.T @ shares)[first, second]) @ apart
    return np.asarray(0.5 * (total + total.T))
