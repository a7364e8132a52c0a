"""Coordinates of rows that are fewer than their columns.

The coefficients of least squares, with or without a ridge, are combinations of the centred rows
Z. So the d x d matrix A is not needed: with the singular value decomposition ``Z = U S V'`` of
the n rows, ``A = V (S^2 + ridge) V'`` on the span of V, and nothing happens outside of it. The rows
are held as a dense array for this, which has no more numbers than the basis that comes out of it.
"""

from collections.abc import Sequence

import numpy as np

from primum._typing import Floats
from primum.problems.coordinates import EPS, Coordinates, corrected, shortest
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
    # Units decide what counts as zero, unless a ridge or rcond says it in the user's units.
    unscaled = constant if ridge == 0 and rcond is None else True
    scale = np.where(unscaled, 1.0, lengths)
    _, singular, Vt = np.linalg.svd(Z / scale, full_matrices=False)
    values = np.sqrt(singular**2 + ridge)
    kept = singular > 10 * max(Z.shape) * EPS * singular[0]
    if rcond is not None:
        largest = max(values[0] ** 2, weight if fit_intercept else 0.0)
        kept &= values**2 > rcond * largest
    basis, inverse = shortest(Vt[kept].T, values[kept], scale)
    coordinates = Coordinates(weight, center, basis, inverse, fit_intercept)
    return corrected(coordinates, parts, ridge)


def _centred(rows: Rows, center: Floats) -> Floats:
    """Return the centred rows, each times the root of its weight."""
    Z = rows.fill(lambda block: to_numpy(block.X)) - center
    weight = rows.weight
    return Z if weight is None else Z * np.sqrt(weight)[:, None]
