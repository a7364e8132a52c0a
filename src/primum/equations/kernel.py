"""Least squares in the feature space of a kernel.

Rows enter only through their kernel matrix K. With an intercept, features are centred on their
weighted mean, so K becomes the matrix K_c of the inner products of the centred features. With the
weights D and the eigendecomposition

    D^(1/2) K_c D^(1/2) = V diag(lambda) V',

the rows of ``Phi = D^(-1/2) V diag(lambda)^(1/2)`` have the same inner products as the centred
features, and least squares on them, with a ridge, is the same problem. Its normal matrix is
diagonal:

    A = Phi'D Phi + n alpha I = diag(lambda + n alpha).

Eigenvalues up to the rounding of K are dropped. A model ``w'phi + b`` gives a new row x the score
``k(x)'a + b_0``, where k(x) are its kernel values with the rows, ``a = D Phi diag(lambda)^-1 w``,
and b_0 differs from b by the centring.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, eigvalsh, lapack

from primum._typing import Floats
from primum.equations.coordinates import EPS, NormalEquations
from primum.equations.design import Linear, by_row
from primum.rows import ArrayRows

# Rounding of the entries of a kernel matrix and of their sums, relative to the largest of them: a
# few units of it, for the exponential and the products.
KERNEL_ROUNDING = 8 * EPS
# A kernel matrix with an eigenvalue below minus this fraction of its largest row sum (of absolute
# values) is not positive semi-definite; anything above can be rounding, even of kernel values in
# single precision.
NEGATIVE_EIGENVALUE_TOLERANCE = 1e-7
# Eigenvectors have hardly a correct digit for rows below this fraction of the largest weight: the
# features of such rows are computed from their kernel values instead.
LIGHT_WEIGHT_SHARE = 1e-6


@dataclass(frozen=True)
class KernelCoordinates(NormalEquations):
    """The coordinates in which least squares on the rows of Phi is a plain sum.

    With design rows ``x = [1, phi]`` and the diagonal normal matrix A, ``gamma = A^(-1/2) sum x q``
    for labels q, and the coefficients are ``A^(-1/2) gamma``.

    The centre is zero: the rows are centred already.

    Attributes
    ----------
    roots : array (m,)
        Square roots of the diagonal of A, the first for the intercept if there is one.
    """

    roots: Floats

    near = True
    solver = "kernel"

    def rows(self, X: Floats) -> Floats:
        """Return design rows in coordinates, for an array of rows."""
        return self.frame.expand(X) / self.roots

    def solve(self, sums: Floats, start: Floats | None = None) -> Floats:  # noqa: D102
        return by_row(sums, 1.0 / self.roots)

    def expand(self, gamma: Floats) -> Floats:  # noqa: D102
        return by_row(gamma, 1.0 / self.roots)

    def encode(self, coef: Floats, intercept: Floats | float) -> Floats:  # noqa: D102
        return by_row(self.frame.coefficients(coef, intercept), self.roots)


@dataclass(frozen=True)
class KernelFeatures:
    """Rows whose inner products are those of a kernel's features, centred if with intercept.

    Attributes
    ----------
    rows : array (n, r)
        Phi.
    values : array (r,)
        The eigenvalues lambda, increasing.
    means : array (n,)
        Mean kernel value of each row with all rows; zero without intercept.
    shares : array (n,)
        Share of each row in the total weight.
    total : float
        Number of rows, or the sum of their weights.
    weight : array (n,) or None
        Weight of each row; None: 1.
    fit_intercept : bool
        Whether there is an intercept.
    """

    rows: Floats
    values: Floats
    means: Floats
    shares: Floats
    total: float
    weight: Floats | None
    fit_intercept: bool

    def coordinates(self, alpha: float) -> KernelCoordinates:
        """Return the coordinates for a ridge."""
        diagonal = self.values + self.total * alpha
        if self.fit_intercept:
            diagonal = np.concatenate([[self.total], diagonal])
        center, roots = np.zeros(len(self.values)), np.sqrt(diagonal)
        ridge = self.total * alpha
        return KernelCoordinates(self.total, center, self.fit_intercept, ridge, roots)

    def to_kernel(self, coef: Floats, intercept: Floats | float) -> Linear:
        """Return the same model as (coefficients of the kernel values, intercept)."""
        dual = self.rows @ by_row(coef, 1.0 / self.values)
        if self.weight is not None:
            dual = by_row(dual, self.weight)
        if self.fit_intercept:
            dual = _centred_dual(dual, self.shares)
        return dual, intercept - self.means @ dual

    def from_kernel(self, dual: Floats, intercept: Floats | float) -> Linear:
        """Return a model of the kernel values with the first rows as (coefficients, intercept).

        With an intercept, the coefficients of the kernel values add up to 0.
        """
        n = len(dual)
        return self.rows[:n].T @ dual, intercept + self.means[:n] @ dual


class CentredKernel:
    """A kernel matrix, centred if there is an intercept and scaled by the weights, in place."""

    def __init__(self, K: Floats, weight: Floats | None, fit_intercept: bool) -> None:
        n = len(K)
        self.weight, self.fit_intercept = weight, fit_intercept
        self.total = float(n if weight is None else weight.sum())
        self.shares = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
        # The rounding of each entry is relative to the diagonal before centring.
        largest = float(np.abs(K.diagonal()).max(initial=0.0))
        self.rounding = KERNEL_ROUNDING * self.total * largest
        self.means = np.zeros(n)
        if fit_intercept:
            self.means = K @ self.shares
            K -= self.means[:, None]
            K -= self.means - self.means @ self.shares
        if weight is not None:
            K *= np.sqrt(weight)[:, None]
            K *= np.sqrt(weight)
        self.matrix = K
        # A negative eigenvalue of this size may be due to the computation of K.
        longest = max(float(np.abs(row).sum()) for row in K)
        self.negative = max(NEGATIVE_EIGENVALUE_TOLERANCE * longest, self.rounding)

    def refuse_negative(self, smallest: float) -> None:
        """Raise an error if the matrix is not positive semi-definite."""
        if smallest < -self.negative:
            centred = "centred " if self.fit_intercept else ""
            raise ValueError(
                f"The {centred}kernel matrix is not positive semi-definite: its smallest "
                f"eigenvalue is {smallest:.3g}; use another kernel or other parameters, or "
                "standardise the features, or add a constant to the diagonal of a precomputed "
                "matrix."
            )


def kernel_features(centred: CentredKernel) -> KernelFeatures:
    """Return rows whose inner products are a kernel matrix; its memory is reused."""
    K, weight = centred.matrix, centred.weight
    light = (
        np.zeros(0, np.intp)
        if weight is None
        else np.flatnonzero(weight < LIGHT_WEIGHT_SHARE * weight.max())
    )
    of_light = K[light]
    # This driver overwrites the matrix with its eigenvectors. K is symmetric, and its transpose is
    # in LAPACK's order.
    values, V = eigh(K.T, driver="evd", overwrite_a=True, check_finite=False)
    centred.refuse_negative(float(values.min(initial=0.0)))
    first = int(np.searchsorted(values, max(centred.rounding, np.finfo(float).tiny), side="right"))
    values, rows = values[first:], V[:, first:]
    of_light = (of_light @ rows) / np.sqrt(values)
    rows *= np.sqrt(values)
    rows[light] = of_light
    if weight is not None:
        rows /= np.sqrt(weight)[:, None]
    return KernelFeatures(
        rows, values, centred.means, centred.shares, centred.total, weight, centred.fit_intercept
    )


def kernel_ridge(
    K: Floats, y: Floats, weight: Floats | None, *, alpha: float, fit_intercept: bool
) -> Linear:
    """Return the least-squares model of labelled rows: (coefficients of kernel values, intercept).

    It minimises the mean squared loss plus alpha times the squared norm of the function. This takes
    one linear system with the kernel matrix, whose memory is reused.
    """
    centred = CentredKernel(K, weight, fit_intercept)
    ridge = centred.total * alpha
    if ridge <= centred.negative:  # directions below rounding must be dropped
        features = kernel_features(centred)
        coordinates = features.coordinates(alpha)
        rows = ArrayRows(features.rows, weight=centred.weight)
        gamma = coordinates.solve(coordinates.design(rows).weighted_sum(y))
        return features.to_kernel(*coordinates.decode(gamma))
    # A Cholesky factorisation tells whether there is a negative eigenvalue.
    shifted = K.copy()
    shifted.reshape(-1)[:: len(y) + 1] += centred.negative
    indefinite = lapack.dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)[1] != 0
    del shifted
    if indefinite:
        centred.refuse_negative(float(eigvalsh(K)[0]))
    level = np.average(y, axis=0, weights=weight) if fit_intercept else 0.0
    root = np.ones(len(y)) if weight is None else np.sqrt(weight)
    K.reshape(-1)[:: len(y) + 1] += ridge
    factor, _ = lapack.dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
    solution = lapack.dpotrs(factor, by_row(y - level, root), lower=1)[0]
    dual = by_row(solution, root)
    if fit_intercept:
        dual = _centred_dual(dual, centred.shares)
    return dual, level - centred.means @ dual


def _centred_dual(dual: Floats, shares: Floats) -> Floats:
    """Make coefficients of kernel values add up to 0, as those of centred features do.

    Computed ones do so up to rounding, which matters where they are large: in the directions of the
    smallest eigenvalues, and for a small ridge.
    """
    return dual - np.multiply.outer(shares, dual.sum(axis=0))
