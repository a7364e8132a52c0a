"""Few rows of many columns, as coordinates in the space that they span.

Least squares with a ridge, whatever its labels, depends on the rows X (n, d) through their inner
products: its coefficients are combinations of the rows. With a pivoted Cholesky factorisation

    X X' = R R',      R (n, r) with r <= n,

the rows of R have the same inner products, so that fits to R are fits to X. If R_p are the r rows
at which the pivots are, R_p is triangular, ``X_p = R_p V'`` for an orthonormal basis V of the
rows, and coefficients c for R are the coefficients ``V c = X_p' R_p^-T c`` for X. V, which would be
dense, is never formed, and sparse rows stay sparse.

Inner products lose what is below their rounding. A ridge that is larger makes it irrelevant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats
from primum.equations.design import Linear
from primum.rows import Rows, stack, to_numpy

# The least ridge, as a fraction of the sum of the squares of all values: it is far above the
# rounding of an inner product.
LEAST_RIDGE = 1e-9
# Pivots below this fraction of the longest row's square are rounding.
LEAST_PIVOT = 1e-14


@dataclass(frozen=True)
class Span:
    """The space that some rows span.

    Attributes
    ----------
    rows : array (n, r)
        The rows in coordinates of this space, R.
    pivots : array or sparse array (r, d)
        Rows that span it, X_p.
    triangle : array (r, r)
        Their coordinates, R_p: lower triangular.
    """

    rows: Floats
    pivots: Any
    triangle: Floats

    def model(self, model: Linear) -> Linear:
        """Return a (coefficients, intercept) for all columns, given one for coordinates."""
        coef, intercept = model
        weights = lapack.dtrtrs(self.triangle, _columns(coef), lower=1, trans=1)[0]
        return np.asarray(self.pivots.T @ weights).reshape(-1, *coef.shape[1:]), intercept

    def coordinates(self, model: Linear) -> Linear:
        """Return a (coefficients, intercept) for coordinates, given one with the same scores."""
        coef, intercept = model
        scores = np.asarray(self.pivots @ _columns(coef))
        c = lapack.dtrtrs(self.triangle, scores, lower=1)[0]
        return c.reshape(-1, *coef.shape[1:]), intercept


def span_of(parts: Sequence[Rows], alpha: float) -> Span | None:
    """Return the span of rows in memory; None if a ridge alpha is too small for inner products."""
    if alpha == 0:
        return None
    X = stack([rows.take(np.arange(rows.n_rows)) for rows in parts]).X
    K = to_numpy(X @ X.T)
    squares = K.diagonal()
    if not len(K) * alpha > LEAST_RIDGE * squares.sum():
        return None
    factor, order, rank, _ = lapack.dpstrf(K, tol=LEAST_PIVOT * squares.max(), lower=1)
    order = order - 1
    R = np.empty((len(K), rank))
    R[order] = np.tril(factor)[:, :rank]
    return Span(R, X[order[:rank]], np.asfortranarray(R[order[:rank]]))


def _columns(coef: Floats) -> Floats:
    return coef.reshape(len(coef), -1)
