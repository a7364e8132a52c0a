"""Coordinates for fewer rows than columns.

The coefficients of least squares, with or without a ridge, are combinations of the centred rows
Z. So the d x d matrix A is not needed: with the singular value decomposition ``Z = U S V'`` of
the n rows, ``A = V (S^2 + ridge) V'`` on the span of V, and the rest does not matter. This needs
the rows as a dense array, which has no more elements than the resulting basis.

The n x n matrix ZZ' suffices if it has full rank. If not, a column in small units may be hidden by
one in large units: the rank is then that of the rows with their columns scaled to unit length.

For searches over many labellings of sparse rows, the rows themselves get coordinates (``Span``).
With a pivoted Cholesky factorisation

    X X' = R R',      R (n, r) with r <= n,

the rows of R have the same inner products, so fits to R are fits to X. Let R_p be the r pivot rows
of R, and X_p those of X. Then R_p is triangular, ``X_p = R_p V'`` for an orthonormal basis V of the
rows, and coefficients c for R are the coefficients ``V c = X_p' R_p^-T c`` for X. V, which would be
dense, is never formed. Inner products lose what is below their rounding; a ridge that is larger
makes the loss irrelevant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from primum._typing import Floats
from primum.equations import coordinates
from primum.equations.design import Linear
from primum.equations.moments import FAINT, refuse_faint
from primum.rows import Block, Rows, joined_weights, refuse_non_finite, stack, to_numpy

# The least ridge, as a fraction of the sum of the squares of all values: it is far above the
# rounding of an inner product.
MIN_RIDGE_SHARE = 1e-9
# Pivots below this fraction of the square of a row are rounding of a sum of many products.
PIVOT_TOLERANCE = 1e-14


class RowSpacePath:
    """The coordinates of the same rows for several ridges.

    Singular values that are small because of the units of their columns do not matter if the ridge
    exceeds their square: for all such ridges, the other singular vectors are a basis, up to its
    scale. Mere rounding is left out, because the ridge would amplify it (``coordinates``).
    """

    def __init__(self, parts: Sequence[Rows], fit_intercept: bool) -> None:
        self.parts, self.fit_intercept = parts, fit_intercept

    @cached_property
    def _factors(self) -> tuple[float, Floats, Floats, Floats]:
        """Total weight, centre, singular values and vectors of the centred rows."""
        weight, center, Z = _centred_rows(self.parts, self.fit_intercept)
        lengths, noise = _lengths_and_noise(Z, center, weight)
        _, values, Vt = np.linalg.svd(np.where(lengths > noise, Z, 0.0), full_matrices=False)
        kept = values > coordinates.rank_tolerance(*Z.shape) * values[0]
        return weight, center, values[kept], Vt[kept]

    def at(self, alpha: float) -> coordinates.Coordinates:
        """Return the coordinates for one ridge."""
        weight, center, values, Vt = self._factors
        ridge = weight * alpha
        if ridge <= coordinates.MIN_ACCURATE_RCOND**2 * values.max(initial=0.0) ** 2:
            return row_space_coordinates(self.parts, alpha=alpha, fit_intercept=self.fit_intercept)
        scale = np.sqrt(values**2 + ridge)
        basis, inverse = Vt.T / scale, scale[:, None] * Vt
        return coordinates.Coordinates(
            weight, center, self.fit_intercept, ridge, basis, inverse, solver="row_space"
        )


def row_space_coordinates(
    parts: Sequence[Rows], *, alpha: float, fit_intercept: bool, rcond: float | None = None
) -> coordinates.Coordinates:
    """Return what ``coordinates_of`` returns, by factorising the rows."""
    weight, center, Z = _centred_rows(parts, fit_intercept)
    ridge = weight * alpha
    lengths, noise = _lengths_and_noise(Z, center, weight)
    varying = np.flatnonzero(lengths > noise)
    if len(varying) < len(center):
        Z, lengths, noise = Z[:, varying], lengths[varying], noise[varying]
    if rcond is not None:
        factors = _factor_truncated(Z, ridge, rcond, weight if fit_intercept else 0.0)
    else:
        # From the n x n matrix ZZ', if it shows the rank clearly, in any units of the columns.
        squares, U = np.linalg.eigh(Z @ Z.T)
        rank = _clear_rank(squares, Z)
        if rank is not None and rank < min(len(Z) - int(fit_intercept), Z.shape[1]):
            scaled = Z / lengths
            of_scaled = np.asarray(np.linalg.eigvalsh(scaled @ scaled.T), dtype=np.float64)
            rank = rank if rank == _clear_rank(of_scaled, Z) else None
        if rank is not None:
            squares, U = squares[len(squares) - rank :], U[:, len(squares) - rank :]
            V = (Z.T @ U) / np.sqrt(squares)
            values = np.sqrt(squares + ridge)
            factors = V / values, (V * values).T
        else:  # from the singular values of columns scaled to unit length
            scale = np.sqrt(lengths**2 + ridge)
            _, values, Vt = np.linalg.svd(Z / scale, full_matrices=False)
            tolerance = coordinates.rank_tolerance(*Z.shape)
            kept = coordinates.determined(values, Vt.T, noise / scale, tolerance)
            factors = coordinates.shortest(Vt[kept].T, values[kept], scale, ridge)
    basis, inverse = factors
    if basis.shape[1]:  # corrected from the rows, so that T'A T is the identity
        scores = Z @ basis
        R = np.linalg.cholesky(scores.T @ scores + ridge * basis.T @ basis).T
        factors = solve_triangular(R, basis.T, trans="T").T, R @ inverse
    factors = coordinates.of_all_columns(factors, varying, len(center))
    return coordinates.Coordinates(
        weight, center, fit_intercept, ridge, *factors, solver="row_space"
    )


def _lengths_and_noise(Z: Floats, center: Floats, weight: float) -> coordinates.Factors:
    """Return the lengths of the centred columns, and how much of each may be rounding."""
    lengths = np.linalg.norm(Z, axis=0)
    faint = lengths**2 < FAINT
    faint[faint] = (Z[:, faint] != 0).any(axis=0)
    refuse_faint(faint, bool((lengths**2 >= FAINT).any()))
    lengths[faint] = 0.0
    return lengths, coordinates.VALUE_ROUNDING * np.abs(center) * weight**0.5


def _centred_rows(parts: Sequence[Rows], fit_intercept: bool) -> tuple[float, Floats, Floats]:
    """Return (total weight, centre, centred rows, each times the root of its weight)."""

    def dense(block: Block) -> Floats:
        X: Floats = to_numpy(block.X).astype(np.float64, copy=False)
        with np.errstate(invalid="ignore", over="ignore"):
            finite = np.isfinite(np.einsum("ij,ij", X, X))
        if not finite:
            refuse_non_finite(block)
        return X

    present = [rows for rows in parts if rows.n_rows]
    Z = np.concatenate([rows.fill(dense) for rows in present])
    weights = joined_weights([(rows.n_rows, rows.weight) for rows in present])
    share = np.ones(len(Z)) if weights is None else weights
    center = np.zeros(Z.shape[1])
    if fit_intercept:
        # Relative to the first row, a constant column is exactly zero.
        first = Z[0].copy()
        Z -= first
        shift = share @ Z / share.sum()
        Z -= shift
        center = first + shift
    if weights is not None:
        Z *= np.sqrt(weights)[:, None]
    return float(share.sum()), center, Z


def _clear_rank(squares: Floats, Z: Floats) -> int | None:
    """Return the number of large eigenvalues if all others are mere rounding, else None."""
    large = squares > coordinates.MIN_ACCURATE_RCOND * squares[-1]
    doubtful = ~large & (squares > coordinates.rank_tolerance(*Z.shape) * squares[-1])
    return None if doubtful.any() else int(np.count_nonzero(large))


def _factor_truncated(
    Z: Floats, ridge: float, rcond: float, intercept: float
) -> coordinates.Factors:
    """Return (basis, its inverse) without directions that are weak in the units of the features.

    ``intercept`` is the eigenvalue of A that belongs to the intercept.
    """
    _, singular, Vt = np.linalg.svd(Z, full_matrices=False)
    values = np.sqrt(singular**2 + ridge)
    kept = singular > coordinates.rank_tolerance(*Z.shape) * singular.max(initial=0.0)
    kept &= values**2 > rcond * max(values.max(initial=0.0) ** 2, intercept)
    V = Vt[kept].T
    values = values[kept]
    return V / values, (V * values).T


@dataclass(frozen=True)
class Span:
    """The space that some rows span, and these rows (n, r) in coordinates of it, R.

    ``pivots`` (r, d) are rows that span it, X_p, dense or sparse, and ``triangle`` (r, r) are their
    coordinates, R_p: lower triangular.
    """

    rows: Floats
    pivots: Any
    triangle: Floats

    def model(self, model: Linear) -> Linear:
        """Return the (coefficients, intercept) for all columns of a model for coordinates."""
        coef, intercept = model
        weights = solve_triangular(self.triangle, _columns(coef), trans=1, lower=True)
        return np.asarray(self.pivots.T @ weights).reshape(-1, *coef.shape[1:]), intercept

    def coordinates(self, model: Linear) -> Linear:
        """Return the (coefficients, intercept) for coordinates of a model for all columns."""
        coef, intercept = model
        scores = np.asarray(self.pivots @ _columns(coef))
        c = solve_triangular(self.triangle, scores, lower=True)
        return c.reshape(-1, *coef.shape[1:]), intercept


def span_of(parts: Sequence[Rows], alpha: float) -> Span | None:
    """Return the span of rows in memory; None if the ridge alpha is too small or all rows are 0."""
    if alpha == 0:
        return None
    X = stack([rows.take(np.arange(rows.n_rows)) for rows in parts]).X
    K = to_numpy(X @ X.T)
    squares = K.diagonal()
    if not squares.any() or not len(K) * alpha > MIN_RIDGE_SHARE * squares.sum():
        return None
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    # Rows of unit length, so that short ones are not lost beside one that is far longer.
    K = K / lengths / lengths[:, None]
    factor, order, rank, _ = lapack.dpstrf(K, tol=PIVOT_TOLERANCE, lower=1)
    order = order - 1
    R = np.empty((len(K), rank))
    R[order] = np.tril(factor)[:, :rank]
    R *= lengths[:, None]
    return Span(R, X[order[:rank]], np.asfortranarray(R[order[:rank]]))


def _columns(coef: Floats) -> Floats:
    return coef.reshape(len(coef), -1)
