"""Weight, mean and scatter of rows, computed block by block.

Summing ``X'X`` and subtracting ``n mean mean'`` cancels when means are large, so the scatter of
every block is about its own mean, and blocks are merged with the exact update (Chan, Golub &
LeVeque 1983):

    n = n1 + n2,   mean = mean1 + (n2/n) delta,   scatter = S1 + S2 + (n1 n2 / n) delta delta',

where delta = mean2 - mean1. Inside a block, values are taken relative to its first row, and
``n mean mean'`` is subtracted from their products: a constant column then has exactly its value as
mean and no scatter. Columns whose first value is far from the mean (``MAX_CANCELLATION``), and rows
with weights, are centred instead. If the first rows (``SPREAD_SAMPLE_ROWS``) suggest that all means
are small, values are used as they are, without a copy of the block.

Sparse blocks cannot be centred without densifying them. Their sums and ``X'X`` are added up without
centring, and the mean is removed once, at the end. This costs a column as many digits as its factor
``n mean^2 / scatter`` has, which is at most p / (1 - p) if a fraction p of the column is non-zero.
So only columns that are nearly full can lose more than a digit, and densifying those takes hardly
more memory than their stored values: one more pass recomputes their rows and columns of the scatter
from centred values (``MAX_CANCELLATION``).

This is the first pass over any rows, so non-finite values are found here: they make the moments of
their block non-finite, and the block is then searched for them. Columns that vary, but by so little
that squares underflow, are found here too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy import sparse

from primum._typing import Floats, Index, Mask
from primum._warnings import warn
from primum.rows import Block, Rows, library_of, reduce_parts, refuse_non_finite, to_numpy
from primum.rows.array import BLOCK_NUMBERS

# A scatter is recomputed from centred values if centring lowers the sum of squares of a column by
# more than this factor, and so costs a digit; at least 10 of 11 values of a sparse column are then
# non-zero.
MAX_CANCELLATION = 10.0
# Whether columns are spread about 0 is estimated from this many rows of a block: this is a guess,
# which is checked with the sums and costs one centred pass if it is wrong.
SPREAD_SAMPLE_ROWS = 64
# Sums of squares below this have lost some or all digits to underflow.
FAINT = float(np.finfo(float).tiny / np.finfo(float).eps)
# A matrix with a larger fraction of non-zero values is stored as a dense array: sparse arithmetic
# takes several times as long per value, and stores a position beside each.
MAX_SPARSE_DENSITY = 0.1


@dataclass(frozen=True)
class Moments:
    """Total weight, mean and scatter ``sum w (x - mean)(x - mean)'`` of some rows.

    ``faint`` are the columns that vary by so little that their scatter underflows. ``of_products``
    is True if some rows are sparse: the scatter is then a difference of sums, and the rows must not
    be densified for more accuracy.
    """

    weight: float
    mean: Floats
    scatter: Floats
    faint: Mask
    of_products: bool = False

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both sets of rows together."""
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        delta = other.mean - self.mean
        mean = self.mean + share * delta
        spread = np.outer(delta, delta)
        spread *= self.weight * share
        scatter = self.scatter + other.scatter
        scatter += spread
        differs = (delta != 0) & (spread.diagonal() < FAINT) & (self.weight * share > 0)
        faint = (self.faint | other.faint | differs) & (np.abs(scatter.diagonal()) < FAINT)
        return Moments(weight, mean, scatter, faint, self.of_products or other.of_products)

    def scatter_about(self, center: Floats) -> Floats:
        """Return the scatter about a point other than the mean."""
        delta = self.mean - center
        return self.scatter + self.weight * np.outer(delta, delta)


@dataclass(frozen=True)
class RawMoments:
    """Total weight, sum and ``X'X`` (dense or sparse) of uncentred rows.

    ``faint`` are columns with values whose squares underflow.
    """

    weight: float
    total: Floats
    second: Any
    faint: Mask

    def merge(self, other: "RawMoments") -> "RawMoments":
        """Return the moments of both sets of rows together."""
        second = self.second + other.second
        if getattr(second, "nnz", 0) > MAX_SPARSE_DENSITY * len(self.total) ** 2:
            second = to_numpy(second)
        faint = (self.faint | other.faint) & (second.diagonal() < FAINT)
        return RawMoments(self.weight + other.weight, self.total + other.total, second, faint)

    def centred(self) -> Moments:
        """Return these moments with the mean removed."""
        mean = self.total / self.weight if self.weight > 0 else np.zeros_like(self.total)
        scatter = to_numpy(self.second) - np.outer(self.weight * mean, mean)
        return Moments(self.weight, mean, scatter, self.faint, of_products=True)


def gather_moments(parts: Sequence[Rows], further: Moments | None = None) -> Moments:
    """Return the moments of several sets of rows together.

    This takes one pass over each, and a second one if sparse rows have columns that are nearly
    full and nearly constant. ``further`` are the moments of further dense rows.
    """
    present = [rows for rows in parts if rows.n_rows]
    total = reduce_parts(present, block_moments, merged_moments)
    total = total if further is None else merged_moments(total, further)
    moments = total.centred() if isinstance(total, RawMoments) else total
    if moments.faint.any():
        refuse_faint(moments.faint, bool((moments.scatter.diagonal() >= FAINT).any()))
    if not moments.of_products:
        return moments
    lost = moments.weight * moments.mean**2 > MAX_CANCELLATION * moments.scatter.diagonal()
    return _recomputed(moments, present, np.flatnonzero(lost)) if lost.any() else moments


def _recomputed(moments: Moments, parts: Sequence[Rows], columns: Index) -> Moments:
    """Return the moments with some columns recomputed from centred values: one pass."""
    center = moments.mean[columns]
    weight = moments.weight
    kernel = partial(_centred_products, columns, center)
    sums = reduce_parts(parts, kernel, np.add)
    shift = sums[:, 0] / weight
    products = sums[:, 1:]
    mean, scatter = moments.mean.copy(), moments.scatter.copy()
    # The centre of the sums still differs from the mean, by the rounding of the first pass.
    mean[columns] = shift
    products -= np.outer(weight * shift, mean)
    scatter[columns], scatter[:, columns] = products, products.T
    mean[columns] = center + shift
    return replace(moments, mean=mean, scatter=scatter)


def _centred_products(columns: Index, center: Floats, block: Block) -> Floats:
    """Return the sums of some centred columns, and of their products with all columns.

    A sparse block is densified in parts: if a few rows have nearly all the weight, columns can lose
    digits although most of their values are 0.
    """

    def products_of(part: Block) -> Floats:
        X: Any = part.X if sparse.issparse(part.X) else to_numpy(part.X)
        centred = to_numpy(X[:, columns]) - center
        weighted = centred if part.weight is None else centred * part.weight[:, None]
        products = np.asarray(X.T @ weighted).T
        products[:, columns] = weighted.T @ centred
        return np.column_stack([weighted.sum(axis=0), products])

    return reduce(np.add, map(products_of, block.split(max(1, BLOCK_NUMBERS // len(columns)))))


def merged_moments(left: Moments | RawMoments, right: Moments | RawMoments) -> Moments | RawMoments:
    """Return the moments of two sets of rows together."""
    if isinstance(left, RawMoments) and isinstance(right, RawMoments):
        return left.merge(right)
    left = left.centred() if isinstance(left, RawMoments) else left
    return left.merge(right.centred() if isinstance(right, RawMoments) else right)


def block_moments(block: Block) -> Moments | RawMoments:
    """Return the moments of a block; raise an error if it has non-finite values."""
    if sparse.issparse(block.X):
        raw = _sparse_moments(block)
        if not np.isfinite(raw.second.data).all():
            refuse_non_finite(block)
        return raw
    X = block.X
    weight = block.weight
    of_numpy = isinstance(block.X, np.ndarray)
    xp, device = (np, None) if of_numpy else (library_of(X), X.device)
    with np.errstate(invalid="ignore", over="ignore"):
        # Sums about 0, if no column of the first rows has a mean above its standard deviation, and
        # about the first row if not: mean^2 <= mean of squares - mean^2. A constant column must be
        # 0, so that its mean is exact; the only one for which this holds is 0, unless its square
        # underflows.
        about_zero = weight is None and of_numpy
        if about_zero:
            first = X[:SPREAD_SAMPLE_ROWS]
            sums, squares = first.sum(axis=0), np.einsum("ij,ij->j", first, first)
            near = 2 * sums * sums <= len(first) * squares
            about_zero = bool((near & ((squares >= FAINT) | (first[0] == 0))).all())
        origin = np.zeros(X.shape[1]) if about_zero else xp.astype(X[0, :], xp.float64)
        values = X if about_zero else X - origin

        # The mean, relative to the origin, and the scatter about it.
        if weight is None:
            total = float(X.shape[0])
            shift = xp.ones(X.shape[0], dtype=xp.float64, device=device) @ values / total
            mean, about_origin = to_numpy(shift), to_numpy(values.T @ values)
            scatter = np.outer(mean, mean)
            scatter *= total
            np.subtract(about_origin, scatter, out=scatter)
        else:
            w, total = xp.asarray(weight, device=device), float(weight.sum())
            shift = w @ values / total if total > 0 else xp.zeros_like(origin)
            values -= shift
            values *= xp.sqrt(w)[:, None]
            scatter = to_numpy(values.T @ values)

        # The difference loses at most a digit, except in columns whose mean is far from the origin:
        # their products are computed from centred values.
        if weight is None:
            far = np.flatnonzero(~(total * mean**2 <= MAX_CANCELLATION * scatter.diagonal()))
            if len(far):
                index = far if of_numpy else xp.asarray(far, device=device)
                columns = xp.take(values, index, axis=1) - xp.take(shift, index, axis=0)
                lost = np.outer(to_numpy(xp.sum(columns, axis=0)), mean)
                products = to_numpy(columns.T @ values) - lost
                products[:, far] = to_numpy(columns.T @ columns)
                scatter[far], scatter[:, far] = products, products.T

        faint = scatter.diagonal() < FAINT
        if faint.any():
            of_faint = xp.take(values, xp.asarray(np.flatnonzero(faint), device=device), axis=1)
            faint[faint] = to_numpy(xp.any(of_faint != 0, axis=0))
    if not np.isfinite(scatter.diagonal()).all():
        refuse_non_finite(block)
    return Moments(total, to_numpy(origin + shift), scatter, faint)


def _sparse_moments(block: Block) -> RawMoments:
    X = sparse.csr_array(block.X)
    w = np.ones(X.shape[0]) if block.weight is None else block.weight
    weighted = X if block.weight is None else sparse.diags_array(w, format="csr") @ X
    second = X.T @ weighted
    faint = (second.diagonal() < FAINT) & (abs(X).T @ w > 0)
    return RawMoments(float(w.sum()), X.T @ w, second, faint)


def gather_columns(parts: Sequence[Rows]) -> tuple[float, Floats, Floats]:
    """Return the total weight, and the mean and centred sum of squares of every column.

    This serves rows with so many columns that their scatter matrix is not formed.
    """
    weight, total, squares, absolute = reduce_parts(parts, _column_sums, np.add)
    faint = (squares < FAINT) & (absolute > 0)
    refuse_faint(faint, bool((squares >= FAINT).any()))
    mean = total / weight[0] if weight[0] > 0 else total
    return float(weight[0]), mean, np.maximum(squares - weight[0] * mean**2, 0.0)


def _column_sums(block: Block) -> Floats:
    """Return total weight (repeated), sum, sum of squares and of absolute values of columns."""
    filled = not sparse.issparse(block.X)
    X: Any = to_numpy(block.X) if filled else block.X
    w = np.ones(X.shape[0]) if block.weight is None else block.weight
    with np.errstate(invalid="ignore", over="ignore"):
        squares = (X * X if filled else X.multiply(X)).T @ w
    if not np.isfinite(squares).all():
        refuse_non_finite(block)
    return np.stack([np.full(X.shape[1], w.sum()), X.T @ w, squares, abs(X).T @ w])


def refuse_faint(faint: Mask, others_vary: bool) -> None:
    """Raise an error if the squares of all columns underflow; warn if only some do."""
    if not faint.any():
        return
    first = int(np.argmax(faint))
    n_others = int(faint.sum()) - 1
    name = f"Column {first}" + (f" (and {n_others} more)" if n_others else "")
    if not others_vary:
        raise ValueError(
            f"{name} has values so small that their squares underflow, and no other column varies: "
            "multiply the features by a constant."
        )
    warn(
        f"{name} has values so small that their squares underflow, and counts as constant: "
        "multiply it by a constant, or drop it.",
        UserWarning,
    )
