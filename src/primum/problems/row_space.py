"""Coordinates of rows that are fewer than their columns.

The coefficients of least squares, with or without a ridge, are combinations of the centred rows
Z. So the d x d matrix A is not needed: with the singular value decomposition ``Z = U S V'`` of
the n rows, ``A = V (S^2 + ridge) V'`` on the span of V, and nothing happens outside of it. The rows
are held as a dense array for this, which has no more numbers than the basis that comes out of it.
"""

from collections.abc import Sequence

import numpy as np

from primum._typing import Floats
from primum.problems.coordinates import CORRECT_BELOW, EPS, Coordinates, corrected, shortest
from primum.rows import Rows, to_numpy
from primum.statistics import gather_columns


def row_space_coordinates(
    parts: Sequence[Rows], *, alpha: float, fit_intercept: bool, rcond: float | None = None
) -> Coordinates:
    """Return what ``coordinates_of`` does, by a factorisation of the rows."""
    weight, mean, _ = gather_columns(parts)
    center = mean if fit_intercept else np.zeros_like(mean)
    ridge = weight * alpha
    Z = np.concatenate([_centred(rows, center) for rows in parts if rows.n_rows])
    lengths = np.linalg.norm(Z, axis=0)
    constant = lengths <= 8 * EPS * np.abs(center) * weight**0.5
    Z[:, constant] = 0.0
    basis, inverse = (
        None if rcond is not None else _factor_gram(Z, ridge)
    ) or _factor_singular_values(
        # Units decide what counts as zero, unless a ridge or rcond says it in the user's units.
        Z,
        np.where(constant if ridge == 0 and rcond is None else True, 1.0, lengths),
        ridge,
        0.0 if rcond is None else rcond,
        weight if fit_intercept else 0.0,
    )
    coordinates = Coordinates(
        weight, center, basis, inverse, fit_intercept, ridge=ridge, solver="row_space"
    )
    return corrected(coordinates, parts, ridge)


def _factor_gram(Z: Floats, ridge: float) -> tuple[Floats, Floats] | None:
    """Return (basis, its inverse) from the n x n matrix ZZ', or None if that cannot tell the rank.

    It can if its eigenvalues are either large or nothing but rounding.
    """
    squares, U = np.linalg.eigh(Z @ Z.T)
    small = 10 * len(Z) * EPS * squares[-1]
    if ((squares > small) & (squares < CORRECT_BELOW * squares[-1])).any() or squares[-1] <= 0:
        return None
    kept = squares > small
    V, values = (Z.T @ U[:, kept]) / np.sqrt(squares[kept]), np.sqrt(squares[kept] + ridge)
    return V / values, (V * values).T


def _factor_singular_values(
    Z: Floats, scale: Floats, ridge: float, rcond: float, intercept: float
) -> tuple[Floats, Floats]:
    """Return (basis, its inverse) from the singular values of the scaled rows.

    ``intercept`` is the eigenvalue of A that belongs to the intercept.
    """
    _, singular, Vt = np.linalg.svd(Z / scale, full_matrices=False)
    values = np.sqrt(singular**2 + ridge)
    kept = singular > 10 * max(Z.shape) * EPS * singular[0]
    kept &= values**2 > rcond * max(values[0] ** 2, intercept)
    return shortest(Vt[kept].T, values[kept], scale)


def _centred(rows: Rows, center: Floats) -> Floats:
    """Return the centred rows, each times the root of its weight."""
    Z = rows.fill(lambda block: to_numpy(block.X)) - center
    weight = rows.weight
    return Z if weight is None else Z * np.sqrt(weight)[:, None]
