"""Coordinates in which least squares on all rows is a plain sum.

With ``x`` a design row (leading 1, features centred on the mean of all rows) and

    A = sum x x' + n alpha D,      D = diag(0, 1, ..., 1),

a basis T with ``T'A T = I`` turns the least-squares coefficients of any labelling q into

    gamma = sum z q,   z = T'x,   beta = T gamma.

T comes from the Cholesky factor of A with its columns brought to unit length (so the units of
the features do not matter), and is corrected once more from the rows when A is ill-conditioned:
the rounding of A is then undone, as in CholeskyQR2 (Yamamoto et al. 2015). If A is singular or
nearly so, A is not used at all: a QR factorisation of the rows, block by block, followed by an SVD
finds the rank, and beta is the coefficient vector of least norm. Sparse rows are not filled for
that: the rank is then read off the eigenvalues of A, as far as its rounding allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.linalg import lapack, qr, solve_triangular

from primum._typing import Floats, Mask
from primum.rows import Block, Design, Frame, Rows, to_numpy
from primum.statistics import SPARSE_ROUNDING, Moments, gather_moments

# Reciprocal condition numbers of A below which the basis is corrected, and below which A is not
# trusted to tell the rank.
CORRECT_BELOW = 1e-6
SINGULAR_BELOW = 1e-10
# Eigenvalues of sparse rows' moments below this share of the largest are rounding: sums of many
# products of the same sign, added one by one.
SPECTRUM_ROUNDING = 1e-11
# A part of A, in coordinates where A is the identity, is singular if a pivot of its Cholesky factor
# is smaller than this. What is added to its diagonal then is far above the rounding of the sums.
SMALL_PIVOT, TIKHONOV, TIKHONOV_ROUNDS = 1e-5, 1e-9, 4
# A sparse block can have very many rows; their coordinates are dense, so take some at a time.
GRAM_ROWS = 2**12
EPS = float(np.finfo(float).eps)
# Means up to this many standard deviations cost two digits if they are subtracted from products.
NEAR = 100.0


@dataclass(frozen=True)
class Coordinates:
    """The map between features, coefficients and the coordinates gamma.

    Attributes
    ----------
    weight : float
        Number of rows (sum of their weights).
    center : array (d,)
        Mean of the rows, or zero without intercept.
    basis : array (d, k)
        Columns of T that belong to the features.
    inverse : array (k, d)
        ``inverse @ basis`` is the identity.
    fit_intercept : bool
        Whether gamma has a leading entry for the intercept.
    near : bool
        Whether the means are small beside the spread of the features.
    ridge : float
        What is added to the diagonal of A, n alpha.
    solver : {"normal_equations", "row_space"}
        Whether A was factorised, or the rows.
    """

    weight: float
    center: Floats
    basis: Floats
    inverse: Floats
    fit_intercept: bool
    near: bool = False
    ridge: float = 0.0
    solver: str = "normal_equations"

    @cached_property
    def full_basis(self) -> Floats:
        """T with its row and column for the intercept."""
        if not self.fit_intercept:
            return self.basis
        d, k = self.basis.shape
        T = np.zeros((d + 1, k + 1))
        T[0, 0] = self.weight**-0.5
        T[1:, 1:] = self.basis
        return T

    @property
    def frame(self) -> Frame:
        """How rows are seen."""
        return Frame(self.center, self.fit_intercept, self.near)

    def design(self, rows: Rows) -> Design:
        """Return rows as design rows, centred as here."""
        return Design(rows, self.frame)

    def decode(self, gamma: Floats) -> tuple[Floats, float]:
        """Return (coefficients, intercept) for features that are not centred."""
        if not self.fit_intercept:
            return self.basis @ gamma, 0.0
        coef = self.basis @ gamma[1:]
        return coef, float(gamma[0] * self.weight**-0.5 - self.center @ coef)

    def solve(self, sums: Floats, start: Floats | None = None) -> Floats:  # noqa: D102
        return self.full_basis.T @ sums

    def expand(self, gamma: Floats) -> Floats:  # noqa: D102
        return self.full_basis @ gamma

    def length(self, gamma: Floats) -> float:  # noqa: D102
        return float(np.linalg.norm(gamma))

    def solve_part(  # noqa: D102
        self, sums: Floats, parts: Sequence[tuple[Design, Floats]], size: float
    ) -> tuple[Floats, Floats]:
        T, first = self.full_basis, int(self.fit_intercept)
        H = self.ridge * (T[first:].T @ T[first:])
        for design, factor in parts:
            if design.n_rows:
                H += design.gram(T, factor)
        right = T.T @ sums
        step = _solve_semidefinite(H, right)
        return step, right - H @ step

    def encode(self, coef: Floats, intercept: float) -> Floats:
        """Return the gamma of given coefficients: the inverse of decode."""
        gamma = self.inverse @ coef
        if not self.fit_intercept:
            return gamma
        level = (intercept + self.center @ coef) * self.weight**0.5
        return np.concatenate([[level], gamma])


def _solve_semidefinite(H: Floats, right: Floats) -> Floats:
    """Return the shortest solution of ``H v = right``, for H between zero and the identity.

    A singular H is regularised, and what that leaves of the right-hand side is solved for again
    (iterated Tikhonov regularisation).
    """
    factor, info = lapack.dpotrf(H, lower=1)
    if info == 0 and np.diag(factor).min(initial=1.0) > SMALL_PIVOT:
        return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])
    factor, _ = lapack.dpotrf(H + TIKHONOV * np.eye(len(H)), lower=1)
    solution = np.zeros_like(right)
    for _ in range(TIKHONOV_ROUNDS):
        solution += lapack.dpotrs(factor, right - H @ solution, lower=1)[0]
    return solution


def coordinates_of(
    parts: Sequence[Rows], *, alpha: float, fit_intercept: bool, rcond: float | None = None
) -> Coordinates:
    """Return the coordinates of least squares on all given rows.

    With rcond, directions in which A is below rcond times its largest eigenvalue are left out.
    """
    moments = gather_moments(parts)
    center = moments.mean if fit_intercept else np.zeros_like(moments.mean)
    scatter = moments.scatter if fit_intercept else moments.scatter_about(center)
    ridge = moments.weight * alpha
    lengths = np.sqrt(np.maximum(np.diag(scatter), 0.0))
    # How long a column is that holds nothing but the rounding of its values.
    noise = moments.rounding * np.abs(moments.mean) * moments.weight**0.5
    constant = lengths <= (noise if fit_intercept else 0.0)
    scale = np.where(constant, 1.0, np.sqrt(lengths**2 + ridge))
    C = scatter / np.outer(scale, scale)
    C.flat[:: len(C) + 1] += ridge / scale**2
    C[constant], C[:, constant] = 0.0, 0.0
    basis, inverse, accurate = (
        _factor_truncated(scatter, ridge, moments.weight if fit_intercept else 0.0, rcond)
        or _factor_moments(C, scale, constant, _lost_digits(moments, center, scale))
        or _factor_rows(
            parts,
            center,
            np.where(constant, np.inf, scale),
            ridge,
            float(np.where(constant, 0.0, noise / scale).max()),
        )
    )
    spread = np.where(constant, np.inf, lengths) / moments.weight**0.5
    near = bool(np.all(np.abs(center) <= NEAR * spread))
    coordinates = Coordinates(moments.weight, center, basis, inverse, fit_intercept, near, ridge)
    return coordinates if accurate else corrected(coordinates, parts, ridge)


def _factor_truncated(
    scatter: Floats, ridge: float, intercept: float, rcond: float | None
) -> tuple[Floats, Floats, bool] | None:
    """Return what ``_factor`` does without weak directions, or None if there are none to drop.

    ``intercept`` is the eigenvalue of A that belongs to the intercept.
    """
    if rcond is None:
        return None
    A = scatter + ridge * np.eye(len(scatter))
    R, info = lapack.dpotrf(A, lower=0)
    # A cheap bound tells most well-conditioned cases; its estimate is safe within a factor of 10.
    largest = max(float(np.abs(A).sum(axis=0).max()), intercept)
    if info == 0 and lapack.dpocon(R, largest)[0] > 10 * rcond:
        return None
    values, V = np.linalg.eigh(A)
    kept = values > rcond * max(values[-1], intercept)
    V, roots = V[:, kept], np.sqrt(values[kept])
    return V / roots, (V * roots).T, False


def _lost_digits(moments: Moments, center: Floats, scale: Floats) -> float | None:
    """Return by what factor centring enlarged the rounding of sparse rows' moments; dense: None."""
    if moments.rounding < SPARSE_ROUNDING:
        return None
    return max(1.0, float((moments.weight * (center / scale) ** 2).max()))


def _factor_moments(
    C: Floats, scale: Floats, constant: Mask, lost: float | None
) -> tuple[Floats, Floats, bool] | None:
    """Return what ``_factor`` does; sparse rows never need more than their moments."""
    if lost is None:
        return _factor(C, scale)
    d, varying = len(C), np.flatnonzero(~constant)
    C, scale = C[np.ix_(varying, varying)], scale[varying]
    found = _factor(C, scale, lost) if len(varying) else None
    part, part_inverse, accurate = found or _factor_spectrum(C, scale, lost)
    basis, inverse = np.zeros((d, part.shape[1])), np.zeros((part.shape[1], d))
    basis[varying], inverse[:, varying] = part, part_inverse
    return basis, inverse, accurate


def _factor(C: Floats, scale: Floats, lost: float = 1.0) -> tuple[Floats, Floats, bool] | None:
    """Return (basis, its inverse, whether they are accurate as they are), or None if singular."""
    R, info = lapack.dpotrf(C, lower=0, clean=1)
    if info != 0:
        return None
    reciprocal_condition, _ = lapack.dpocon(R, np.abs(C).sum(axis=0).max())
    if reciprocal_condition < SINGULAR_BELOW * lost:
        return None
    R_inverse, _ = lapack.dtrtri(R, lower=0)
    return R_inverse / scale[:, None], R * scale, reciprocal_condition > CORRECT_BELOW * lost


def _factor_spectrum(C: Floats, scale: Floats, lost: float) -> tuple[Floats, Floats, bool]:
    """Return what ``_factor`` does without the directions in which C is nothing but rounding."""
    values, V = np.linalg.eigh(C)
    largest = values[-1] if len(values) else 0.0
    kept = values > largest * lost * max(10 * len(C) * EPS, SPECTRUM_ROUNDING)
    basis, inverse = shortest(V[:, kept], np.sqrt(values[kept]), scale)
    return basis, inverse, False


def _factor_rows(
    parts: Sequence[Rows], center: Floats, scale: Floats, ridge: float, noise: float
) -> tuple[Floats, Floats, bool]:
    """Return what ``_factor`` does from the rows themselves; columns of infinite scale are zero."""
    R = np.diag(ridge**0.5 / scale)
    for rows in parts:
        if rows.n_rows:
            R = _stack(R, _triangle(rows, center, scale))
    _, values, Vt = np.linalg.svd(R)
    kept = values > values[0] * max(10 * max(R.shape) * EPS, 10 * noise)
    V, values = Vt[: len(values)][kept].T, values[kept]
    basis, inverse = shortest(V, values, np.where(np.isinf(scale), 1.0, scale))
    return basis, inverse, False


def shortest(V: Floats, values: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return (basis, its inverse) from the singular vectors and values of scaled rows.

    Of all coefficients with the same scores the shortest are taken: projected on the rows' span.
    """
    if V.shape[1] == len(V):
        return V / scale[:, None] / values, (V * values).T * scale
    span, _ = qr(V * scale[:, None], mode="economic")
    basis = span @ (span.T @ (V / scale[:, None])) / values
    return basis, (V * values).T * scale


def _triangle(rows: Rows, center: Floats, scale: Floats) -> Floats:
    def triangle(block: Block) -> Floats:
        Z = (to_numpy(block.X) - center) / scale
        if block.weight is not None:
            Z *= np.sqrt(block.weight)[:, None]
        return np.asarray(np.linalg.qr(Z, mode="r"))

    return rows.map_reduce(triangle, _stack)


def _stack(R: Floats, other: Floats) -> Floats:
    return np.asarray(np.linalg.qr(np.vstack([R, other]), mode="r"))


def corrected(coordinates: Coordinates, parts: Sequence[Rows], ridge: float) -> Coordinates:
    """Return coordinates whose ``T'A T`` was recomputed from the rows and made the identity."""
    basis = coordinates.basis
    G = ridge * basis.T @ basis
    for rows in parts:
        if rows.n_rows:
            G += _gram(rows, coordinates)
    R = np.linalg.cholesky(G).T
    basis = solve_triangular(R, basis.T, trans="T").T
    return replace(coordinates, basis=basis, inverse=R @ coordinates.inverse)


def _gram(rows: Rows, coordinates: Coordinates) -> Floats:
    frame, basis = replace(coordinates.frame, fit_intercept=False), coordinates.basis

    def gram(block: Block) -> Floats:
        total = np.zeros((basis.shape[1], basis.shape[1]))
        for part in block.split(GRAM_ROWS) if sparse.issparse(block.X) else (block,):
            view = frame.view(part)
            Z = view.dot(basis)
            total += to_numpy(view.heavy(Z).T @ Z)
        return total

    return rows.map_reduce(gram, np.add)
