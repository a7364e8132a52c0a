"""Coordinates in which least squares on all rows is a plain sum.

With ``x`` a design row (leading 1, features centred on the mean of all rows) and

    A = sum x x' + n alpha D,      D = diag(0, 1, ..., 1),

a basis T with ``T'A T = I`` turns the least-squares coefficients of any labelling q into

    gamma = sum z q,   z = T'x,   beta = T gamma.

T comes from the Cholesky factor of A with its columns scaled to unit length (so the units of
the features do not matter), and is corrected once more from the rows if A is ill-conditioned:
this undoes the rounding of A, as in CholeskyQR2 (Yamamoto et al. 2015). If the scatter is singular
or nearly so, its Gram matrix in coordinates that suit the rows, computed in one pass wherever they
are, takes its place (``_factor_rows``). With the scaled, centred rows Z, the eigenvectors V of
their scatter Z'Z and roots r of its eigenvalues, which are at least as large as their rounding,

    G = (Z V / r)'(Z V / r)

has eigenvalues near 1 where Z'Z is accurate, and small ones elsewhere, which it shows to as many
digits again. So Z has the singular values of ``G^(1/2) diag(r) V'``. They give the rank, and beta
is the minimum-norm coefficient vector. If some of them are too small for G, too, a second pass
repeats this from there. Its products with the rows have the accuracy of a QR factorisation of the
rows, which no array library computes nearly as fast. Sparse rows are not densified for this: their
rank is read off the eigenvalues of the scatter, as far as its rounding allows.
Constant columns are excluded from the start, so they do not affect the others.

A ridge makes A regular, but says nothing about directions that the rows leave open. If no row
differs from the centre along v, the sums ``v'X'q`` are 0 and so is beta along v; computed sums are
about ``eps |X|``, and A would divide them by the ridge, which can be as small in large units. So
the rank is that of the rows without the ridge, unless the ridge is so large that it amplifies
rounding no more than well-conditioned rows do (``MIN_ACCURATE_RCOND``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack, qr, solve_triangular

from primum._typing import Floats, Index, Mask
from primum.equations.design import Design, Frame, Linear, View
from primum.equations.moments import Moments, gather_moments
from primum.rows import Block, Rows, reduce_parts, to_numpy

# Reciprocal condition numbers of A: below the first the basis is corrected, because rounding has
# left it fewer than ten digits; below the second, which is less than the rounding of many sums, A
# does not show the rank either.
MIN_ACCURATE_RCOND = 1e-6
MIN_RANK_RCOND = 1e-10
# Eigenvalues of the moments of sparse rows below this fraction of the largest are rounding: that of
# sums of 10^5 products of the same sign, added one by one.
SPECTRUM_ROUNDING = 1e-11
# A sparse block can have very many rows; their coordinates are dense, so process this many at a
# time: with the most columns that are factorised they take 128 MB.
SPARSE_ROWS_AT_ONCE = 2**12
# The distance from 1 to the next larger number in double precision: the unit of its rounding.
EPS = float(np.finfo(float).eps)
# A column counts as constant if centring shortens it to less than this fraction of its length: the
# remainder is the rounding of its values and of their mean, a few units of it.
VALUE_ROUNDING = 8 * EPS
# Means up to this many standard deviations cost at most two digits if subtracted from products,
# which leaves more than enough.
MAX_NEAR_MEAN = 100.0
# (basis, its inverse)
Factors = tuple[Floats, Floats]


@dataclass(frozen=True)
class NormalEquations(ABC):
    """The normal equations of least squares on all rows, however they are solved.

    A fit is represented by its coordinates gamma, whose meaning depends on the implementation. The
    fits of several classes are the columns of gamma (r, K), of their sums (m, K) and of their
    coefficients (d, K), and the entries of their intercept (K,).

    Attributes
    ----------
    weight : float
        Number of rows (sum of their weights).
    center : array (d,)
        Mean of the rows, or zero without intercept.
    fit_intercept : bool
        Whether there is an intercept.
    ridge : float
        The term n alpha on the diagonal of A.
    near : bool
        Whether the means are small compared with the standard deviations of the features.
    solver : {"normal_equations", "row_space", "conjugate_gradients", "kernel"}
        How the equations are solved.
    """

    weight: float
    center: Floats
    fit_intercept: bool
    ridge: float

    near, solver = False, "normal_equations"

    @property
    def frame(self) -> Frame:
        """How rows become design rows."""
        return Frame(self.center, self.fit_intercept, self.near)

    def design(self, rows: Rows) -> Design:
        """Return rows as design rows, with this centre."""
        return Design(rows, self.frame)

    @abstractmethod
    def solve(self, sums: Floats, start: Floats | None = None) -> Floats:
        """Return the gamma of ``A^+ sums``; ``start``, that of a similar fit, is a warm start."""

    @abstractmethod
    def expand(self, gamma: Floats) -> Floats:
        """Return the coefficients for design rows."""

    def decode(self, gamma: Floats) -> Linear:
        """Return (coefficients, intercept) for uncentred features."""
        return self.frame.model(self.expand(gamma))

    @abstractmethod
    def encode(self, coef: Floats, intercept: Floats | float) -> Floats:
        """Return the gamma of given coefficients: the inverse of decode."""

    def length(self, gamma: Floats) -> float:
        """Return the root of ``beta'A beta``, the sum of squared scores plus the ridge.

        For several columns of gamma, it is the root of the sum over all of them.
        """
        return float(np.linalg.norm(gamma))


@dataclass(frozen=True)
class Coordinates(NormalEquations):
    """The map between features, coefficients and the coordinates gamma.

    Attributes
    ----------
    basis : array (d, k)
        Columns of T that belong to the features.
    inverse : array (k, d)
        ``inverse @ basis`` is the identity.
    near : bool
        Whether the means are small compared with the standard deviations of the features.
    solver : {"normal_equations", "row_space"}
        Whether A was factorised, or the rows themselves.
    full_basis : array (d + 1, k + 1) or (d, k)
        T with its row and column for the intercept, if there is one.
    """

    basis: Floats
    inverse: Floats
    near: bool = False
    solver: str = "normal_equations"
    full_basis: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.fit_intercept:
            object.__setattr__(self, "full_basis", self.basis)
            return
        d, k = self.basis.shape
        T = np.zeros((d + 1, k + 1))
        T[0, 0] = self.weight**-0.5
        T[1:, 1:] = self.basis
        object.__setattr__(self, "full_basis", T)
        object.__setattr__(self, "basis", T[1:, 1:])  # stored only once

    def decode(self, gamma: Floats) -> Linear:  # noqa: D102
        if not self.fit_intercept:
            return super().decode(gamma)
        coef = self.basis @ gamma[1:]
        return coef, gamma[0] * self.weight**-0.5 - self.center @ coef

    def solve(self, sums: Floats, start: Floats | None = None) -> Floats:  # noqa: D102
        return self.full_basis.T @ sums

    def expand(self, gamma: Floats) -> Floats:  # noqa: D102
        return self.full_basis @ gamma

    def encode(self, coef: Floats, intercept: Floats | float) -> Floats:  # noqa: D102
        gamma = self.inverse @ coef
        if not self.fit_intercept:
            return gamma
        level = (intercept + self.center @ coef) * self.weight**0.5
        return np.concatenate([np.asarray(level)[None], gamma])


def coordinates_of(
    parts: Sequence[Rows],
    *,
    alpha: float,
    fit_intercept: bool,
    rcond: float | None = None,
    moments: Moments | None = None,
) -> Coordinates:
    """Return the coordinates of least squares on all given rows.

    With rcond, directions in which A is below rcond times its largest eigenvalue are dropped.
    ``moments`` are those of all rows, if they are known.
    """
    # The columns that vary, with their ridge.
    moments = gather_moments(parts) if moments is None else moments
    weight, ridge, d = moments.weight, moments.weight * alpha, len(moments.mean)
    center = moments.mean if fit_intercept else np.zeros_like(moments.mean)
    scatter = moments.scatter if fit_intercept else moments.scatter_about(center)
    lengths = np.sqrt(np.where(moments.faint, 0.0, np.maximum(np.diag(scatter), 0.0)))
    noise = VALUE_ROUNDING * np.abs(moments.mean) * weight**0.5
    varying = np.flatnonzero(lengths > (noise if fit_intercept else 0.0))
    length, noise = lengths[varying], noise[varying]
    scale = np.sqrt(length**2 + ridge)
    near = bool(np.all(np.abs(center[varying]) <= MAX_NEAR_MEAN * length / weight**0.5))
    nothing = np.zeros((d, 0))
    plain = Coordinates(weight, center, fit_intercept, ridge, nothing, nothing.T, near)
    if rcond is not None:
        truncated = _factor_truncated(plain, scatter, rcond, parts)
        if truncated is not None:
            return truncated
    if len(varying) == 0:
        return plain

    # Cholesky's factor of A, if the moments are well-conditioned.
    C = scatter if len(varying) == d else scatter[np.ix_(varying, varying)]
    R, condition = _triangle_of(C, scale, ridge)
    accurate, of_rows = condition > MIN_ACCURATE_RCOND, np.inf
    if not accurate and ridge > 0:
        of_rows = _triangle_of(C, length, 0.0)[1]
    if accurate or min(condition, of_rows) >= MIN_RANK_RCOND:
        basis, _ = lapack.dtrtri(R, lower=0)
        basis /= scale[:, None]
        R *= scale
        if len(varying) < d:
            basis, R = of_all_columns((basis, R), varying, d)
        found = Coordinates(weight, center, fit_intercept, ridge, basis, R, near)
        return found if accurate else corrected(found, parts)

    # If not, the rank decides, which the moments of sparse rows show, or else the rows themselves.
    rounding = rank_tolerance(sum(rows.n_rows for rows in parts), len(scale))
    columns = ScaledColumns(plain, varying, scale, noise / scale)
    if moments.of_products:
        by_products = _factor_spectrum(columns, C, rounding, parts)
        if by_products is not None:
            return by_products
    return _factor_rows(columns, C, rounding, parts)


@dataclass(frozen=True)
class ScaledColumns:
    """Columns that vary (v,), their lengths with the ridge, and the fraction that may be rounding.

    ``plain`` are coordinates without any direction, and ``varying`` the indices of the columns.
    """

    plain: Coordinates
    varying: Index
    scale: Floats
    noise: Floats

    def coordinates(self, part: Factors) -> Coordinates:
        """Return (basis, inverse) of the columns as coordinates of all."""
        basis, inverse = of_all_columns(part, self.varying, len(self.plain.center))
        return replace(self.plain, basis=basis, inverse=inverse)


def of_all_columns(part: Factors, varying: Index, n_columns: int) -> Factors:
    """Return the (basis, inverse) of some columns as those of all columns."""
    if len(varying) == n_columns:
        return part
    basis = np.zeros((n_columns, part[0].shape[1]))
    inverse = np.zeros(basis.T.shape)
    basis[varying], inverse[:, varying] = part
    return basis, inverse


def _triangle_of(C: Floats, scale: Floats, ridge: float) -> tuple[Floats, float]:
    """Return Cholesky's factor of C (v, v) with its ridge, scaled, and its reciprocal condition.

    The latter is 0 if there is no factor.
    """
    C = C / scale
    C /= scale[:, None]
    C.flat[:: len(C) + 1] += ridge / scale**2
    norm = np.abs(C).sum(axis=0).max()
    # C is symmetric, so its transpose is C in the order of LAPACK.
    R, info = lapack.dpotrf(C.T, lower=0, clean=1, overwrite_a=1)
    return R, float(lapack.dpocon(R, norm)[0]) if info == 0 else 0.0


def rank_tolerance(n_rows: int, n_columns: int) -> float:
    """Return the fraction of the largest singular value of rows that may be mere rounding.

    Sums and rotations over n rows accumulate sqrt(n) rounding errors, if these are independent.
    """
    return 10 * max(n_columns, n_rows**0.5) * EPS


def determined(values: Floats, V: Floats, noise: Floats, rounding: float) -> Mask:
    """Return which singular values of scaled rows are more than rounding.

    ``noise`` is the rounding of the values in each column; a direction (a column of V) is affected
    only by the noise of the columns it combines.
    """
    of_values = np.linalg.norm(noise[:, None] * V, axis=0)
    return np.asarray(values > np.maximum(rounding * values.max(initial=0.0), of_values))


def _factor_truncated(
    plain: Coordinates, scatter: Floats, rcond: float, parts: Sequence[Rows]
) -> Coordinates | None:
    """Return a factorisation without weak directions, or None if there are none to drop."""
    intercept = plain.weight if plain.fit_intercept else 0.0  # an eigenvalue of A, too
    A = scatter + plain.ridge * np.eye(len(scatter)) if plain.ridge > 0 else scatter
    R, info = lapack.dpotrf(A.T, lower=0, clean=0)
    # A cheap estimate settles most well-conditioned cases; it is safe within a factor of 10.
    largest = max(float(np.abs(A).sum(axis=0).max()), intercept)
    if info == 0 and lapack.dpocon(R, largest)[0] > 10 * rcond:
        return None
    values, V = np.linalg.eigh(A)
    kept = values > rcond * max(values[-1], intercept)
    V, roots = V[:, kept], np.sqrt(values[kept])
    return corrected(replace(plain, basis=V / roots, inverse=(V * roots).T), parts)


def _factor_spectrum(
    columns: ScaledColumns, C: Floats, rounding: float, parts: Sequence[Rows]
) -> Coordinates | None:
    """Return a factorisation of the moments without directions that are mere rounding.

    Squares lose half of the digits, so weak directions are checked against the rows; the result is
    None if one of them is more than rounding. The ridge is added afterwards.
    """
    squares, V = np.linalg.eigh(C / columns.scale / columns.scale[:, None])
    values, plain = np.sqrt(np.maximum(squares, 0.0)), columns.plain
    kept = determined(values, V, columns.noise, max(rounding, SPECTRUM_ROUNDING) ** 0.5)
    weak = np.zeros((len(plain.center), int(np.count_nonzero(~kept))))
    weak[columns.varying] = V[:, ~kept] / columns.scale[:, None]
    gram = _gram_of(Frame(plain.center, False, plain.near), weak)
    lengths = np.sqrt(np.diag(reduce_parts(parts, gram, np.add)))
    of_values = np.linalg.norm(columns.noise[:, None] * V[:, ~kept], axis=0)
    if (lengths > np.maximum(rounding * values.max(initial=0.0), of_values)).any():
        return None
    part = shortest(V[:, kept], values[kept], columns.scale, plain.ridge)
    return corrected(columns.coordinates(part), parts)


def _factor_rows(
    columns: ScaledColumns, C: Floats, rounding: float, parts: Sequence[Rows]
) -> Coordinates:
    """Return a factorisation from one or two Gram matrices of the rows in suitable coordinates.

    C (v, v) is the scatter of the columns. The ridge is added afterwards. With an intercept, rows
    get a leading 1. The first row of the Gram matrix then holds what is left of the mean, which a
    sum over all rows gives only up to rounding. Without the leading 1, the difference of two
    collinear columns would look like a direction.
    """
    plain, scale, first = columns.plain, columns.scale, int(columns.plain.fit_intercept)
    frame = Frame(plain.center, plain.fit_intercept)  # products of near rows would cancel, too
    squares, V = np.linalg.eigh(C / scale / scale[:, None])
    values = np.sqrt(np.maximum(squares, 0.0))
    # Eigenvalues of the scatter are known up to its rounding. The first Gram matrix magnifies the
    # smallest to numbers of about 1 or less, and the second, what is still too small in the first.
    for known in (rounding**0.5, rounding):
        roots = np.maximum(values, known * values.max())
        start = columns.coordinates((V / roots / scale[:, None], (V * roots).T * scale))
        kernel = _gram_of(frame, start.full_basis, densify=True)
        G = reduce_parts(parts, kernel, np.add)
        left = G[0, 1:] if first else np.zeros(len(G))  # of the mean
        G = G[first:, first:] - np.outer(left, left)
        squares, U = np.linalg.eigh(G)
        root = np.sqrt(np.maximum(squares, 0.0))[:, None] * U.T
        _, values, Vt = np.linalg.svd((root * roots) @ V.T)
        V, accurate = Vt.T, squares[0] > MIN_ACCURATE_RCOND * squares[-1]
        if accurate:
            break
    center = plain.center + left @ start.inverse / plain.weight**0.5
    kept = determined(values, V, columns.noise, rounding)
    if accurate and kept.all() and plain.ridge == 0:
        return _orthonormal(replace(start, center=center), G)
    part = shortest(V[:, kept], values[kept], scale, plain.ridge)
    return corrected(replace(columns.coordinates(part), center=center), parts)


def shortest(V: Floats, values: Floats, scale: Floats, ridge: float = 0.0) -> Factors:
    """Return (basis, its inverse) from the singular vectors and values of scaled rows.

    Of all coefficients with the same scores, this takes those of minimum norm: they lie in the span
    of the rows, which is that of ``P = scale V``. With ``P = Q R``, the scores of Q have the Gram
    matrix of ``values R'``. The rows of P are sorted and its columns pivoted, so that small units
    keep their digits (Cox & Higham 1998).
    """
    if V.shape[1] == 0 or (V.shape[1] == len(V) and ridge == 0):
        return V / scale[:, None] / values, (V * values).T * scale
    order = np.argsort(-scale)
    Q, R, pivot = qr((V * scale[:, None])[order], mode="economic", pivoting=True)
    span = np.empty_like(Q)
    span[order] = Q
    lines = np.vstack([values[pivot, None] * R.T, ridge**0.5 * np.eye(len(R))])
    triangle = np.linalg.qr(lines, mode="r")
    return solve_triangular(triangle, span.T, trans="T").T, triangle @ span.T


def corrected(coordinates: Coordinates, parts: Sequence[Rows]) -> Coordinates:
    """Return coordinates with ``T'A T`` recomputed from the rows and made the identity."""
    basis, ridge = coordinates.basis, coordinates.ridge
    if basis.shape[1] == 0:  # no direction to correct; SciPy before 1.14 fails on empty arrays
        return coordinates
    frame = replace(coordinates.frame, fit_intercept=False)
    kernel = _gram_of(frame, basis)
    grams = [rows.map_reduce(kernel, np.add) for rows in parts if rows.n_rows]
    G = reduce(np.add, grams if ridge == 0 else [ridge * (basis.T @ basis), *grams])
    return _orthonormal(coordinates, G)


def _orthonormal(coordinates: Coordinates, G: Floats) -> Coordinates:
    """Return coordinates that make G (k, k), the ``T'A T`` of given ones, the identity."""
    L = np.linalg.cholesky(G)
    # L.T is L in Fortran order, so LAPACK and BLAS need no copy of the triangle.
    basis = lapack.dtrtrs(L.T, coordinates.basis.T, lower=0, trans=1)[0].T
    inverse = blas.dtrmm(1.0, L.T, coordinates.inverse, lower=0)
    return replace(coordinates, basis=basis, inverse=inverse)


def _gram_of(frame: Frame, basis: Floats, *, densify: bool = False) -> Callable[[Block], Floats]:
    """Return the kernel of the Gram matrix of the rows' products with a basis (m, k).

    If ``densify`` is True, sparse rows are made dense, a few at a time, to be centred exactly.
    """

    def gram(block: Block) -> Floats:
        total = np.zeros((basis.shape[1], basis.shape[1]))
        is_sparse = sparse.issparse(block.X)
        for part in block.split(SPARSE_ROWS_AT_ONCE) if is_sparse else (block,):
            filled = replace(part, X=to_numpy(part.X)) if densify and is_sparse else part
            view = View(filled, frame)
            Z = view.dot(basis)
            total += to_numpy(view.weighted(Z).T @ Z)
        return total

    return gram
