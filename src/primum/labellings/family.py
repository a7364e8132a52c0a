"""Least squares on labelled and unlabelled rows, for all labellings of the latter.

These fits share one set of normal equations: only the sum of the unlabelled rows times their labels
differs. In coordinates gamma that make least squares a plain sum, the loss of a fit on the labelled
rows is

    || W gamma - goal ||^2 + rest,

where W is the L of a QL factorisation of the labelled rows and ``goal`` is ``Q'y``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack
from sklearn.utils.extmath import row_norms

from primum._typing import Floats
from primum.equations import Design, by_row, equations_of
from primum.equations.coordinates import (
    MIN_ACCURATE_RCOND,
    VALUE_ROUNDING,
    Coordinates,
    NormalEquations,
    determined,
    rank_tolerance,
)
from primum.equations.normal import MAX_FORMED_COLUMNS
from primum.labellings.labelling import Labelling
from primum.labellings.problem import FormedColumns, ProblemColumns
from primum.labellings.sets import LabelSet, any_class
from primum.labellings.streamed import ColumnSums, StreamedColumns
from primum.rows import LabeledRows, Rows

# M is formed up to this many numbers (16 MB) and rows: with more rows, a few passes over all are
# faster than many over M. ...
MAX_FORMED_NUMBERS, MAX_FORMED_ROWS = 2**21, 2**14
# ... It may have this many times as many numbers if there are at most this many rows for each of
# the r dimensions: many rows are then undecided, and solving for a few at a time does not help.
FEW_ROWS_FACTOR, FEW_ROWS_PER_DIMENSION = 16, 64
# Directions in which the labelled rows are shorter than this fraction of the longest one change the
# labelled loss by less than its rounding, the square of this: they count as not determined.
DETERMINED_TOLERANCE = 1e-8
# Block size of LAPACK's QR factorisation, which determines the size of its workspace: that of its
# reference implementation.
QR_BLOCK_SIZE = 32


@dataclass(frozen=True)
class LeastSquaresFamily:
    """All least-squares fits that differ only in the labels of the unlabelled rows."""

    equations: NormalEquations
    labeled: LabeledRows
    unlabeled: Design

    @cached_property
    def labeled_sum(self) -> Floats:
        """The part of the sums that comes from the labelled rows, ``X'y``."""
        return self.equations.design(self.labeled.rows).weighted_sum(self.labeled.y)

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates of all rows; raise an error if there are too many columns for them."""
        if not isinstance(self.equations, Coordinates):
            raise ValueError(
                f"With {len(self.equations.center)} features, more than {MAX_FORMED_COLUMNS}, and "
                "so many rows, this fit cannot be computed: reduce the number of features, for "
                "example with TruncatedSVD(200), and use a ridge."
            )
        return self.equations

    def gamma(self, q: Floats | Labelling, start: Floats | None = None) -> Floats:
        """Return the coordinates of the least-squares fit to the labels y and q.

        ``start``, the coordinates of a similar fit, is a warm start.
        """
        return self.gamma_of(self.unlabeled.weighted_sum(q), start)

    def gamma_of(self, moment: Floats, start: Floats | None = None) -> Floats:
        """Return these coordinates from ``sum x q``, the only quantity that depends on q."""
        return self.equations.solve(self.labeled_sum + moment, start)

    def columns(
        self, B: Floats, sums: Callable[[], ColumnSums | None] | None = None
    ) -> ProblemColumns:
        """Return the matrix ``M = B X_u'`` of a label problem in the form that suits its size.

        ``sums`` computes sums over all columns without a pass, or returns None if that would lose
        accuracy. It is only called if M is not formed.
        """
        design = self.unlabeled
        r = len(B)
        n = design.rows.n_rows
        few_rows = n <= FEW_ROWS_PER_DIMENSION * r and design.rows.in_memory
        limit = MAX_FORMED_NUMBERS * (FEW_ROWS_FACTOR if few_rows else 1)
        if r * n <= limit and (n <= MAX_FORMED_ROWS or few_rows):
            # Rows of M' are read one at a time, so each is contiguous in memory.
            return FormedColumns(design.dot(B.T).T, design.rows.weight)
        return StreamedColumns(B, design, None if sums is None else sums())

    def label_sets(self, labels: LabelSet | None) -> LabelSet:
        """Return the label sets of the unlabelled rows, one by one unless there are too many.

        None means [0, 1] or the simplex.
        """
        if labels is None:
            return any_class(self.labeled.y)
        rows = self.unlabeled.rows
        # If M is formed, the solvers need the set of every row.
        few = rows.in_memory or rows.n_rows <= MAX_FORMED_ROWS
        return labels.take(np.arange(rows.n_rows)) if few else labels

    def scores(self, gamma: Floats) -> Floats:
        """Return the scores of the unlabelled rows."""
        return self.unlabeled.dot(self.equations.expand(gamma))


def least_squares_family(
    labeled: LabeledRows,
    unlabeled: Rows,
    *,
    alpha: float,
    fit_intercept: bool,
    rcond: float | None = None,
) -> LeastSquaresFamily:
    """Return the fits to labelled rows and to any labels of the unlabelled ones."""
    parts = [labeled.rows, unlabeled]
    equations = equations_of(parts, alpha=alpha, fit_intercept=fit_intercept, rcond=rcond)
    return LeastSquaresFamily(equations, labeled, equations.design(unlabeled))


class Loss:
    """The labelled loss ``|| W gamma - goal ||^2 + rest``, summed over rows.

    ``rcond`` is a cheap estimate of the reciprocal condition of W, 0 if W has fewer rows than
    columns, and ``well_determined`` whether it shows that the minimum is unique, with a safety
    factor of 100.
    """

    def __init__(self, W: Floats, goal: Floats, rest: float) -> None:
        self.W, self.goal, self.rest = W, goal, rest
        rows, columns = W.shape
        self.rcond = 1.0 if columns == 0 else 0.0
        if 0 < columns <= rows:
            sizes = np.abs(W)
            bound = float(sizes.sum(axis=0).max(initial=0.0) * sizes.sum(axis=1).max(initial=0.0))
            self.rcond = float(lapack.dpocon(W, bound, uplo="L")[0]) ** 0.5
        self.well_determined = self.rcond > 100 * DETERMINED_TOLERANCE

    @cached_property
    def determined(self) -> bool:
        """Whether the gamma with the smallest loss is unique."""
        rows, columns = self.W.shape
        if self.well_determined or rows < columns:
            return self.well_determined
        singular = np.linalg.svd(self.W, compute_uv=False)
        return bool(singular[-1] > DETERMINED_TOLERANCE * singular[0])


def labeled_loss(family: LeastSquaresFamily, alpha_labeled: float) -> Loss:
    """Return the labelled loss of a family's coordinates, by a QR factorisation.

    Rounding would be amplified in directions that the labelled rows leave open and a small ridge
    determines: if e is the rounding of the rows along such a direction and r^2 its ridge, gamma is
    wrong by ``e'(y - Z gamma) / r^2``. So the rows are first reduced to as many as their rank
    (``_reduced``), and these have hardly any residual.
    """
    labeled, coordinates = family.labeled, family.coordinates
    T = coordinates.full_basis
    first = int(coordinates.fit_intercept)
    Z = coordinates.design(labeled.rows).dot(T)
    y = labeled.y
    if labeled.weight is not None:
        Z = Z * labeled.root[:, None]
        y = by_row(y, labeled.root)
    if alpha_labeled == 0:
        return Loss(*_triangular(Z, y))
    ridge = (labeled.total * alpha_labeled) ** 0.5 * T[first:]
    loss = Loss(*_triangular(*_with_ridge(Z, y, ridge)))
    if loss.rcond > MIN_ACCURATE_RCOND**0.5:
        return loss
    # As many rows as the rank of Z, given the rounding of the centred labelled rows in every
    # column, as a length.
    lengths = row_norms(labeled.X.T) + len(labeled.y) ** 0.5 * np.abs(coordinates.center)
    noise = np.asarray(VALUE_ROUNDING * labeled.root.max() * lengths)
    W, goal, rest = _triangular(Z, y)
    U, S, Vt = np.linalg.svd(W, full_matrices=False)
    kept = determined(S, T[first:] @ Vt.T, noise, rank_tolerance(*Z.shape))
    in_reach = U[:, kept].T @ goal
    lost = float(np.vdot(goal, goal) - np.vdot(in_reach, in_reach))
    rows, goal, rest = S[kept, None] * Vt[kept], in_reach, rest + max(lost, 0.0)
    W, goal, further_rest = _triangular(*_with_ridge(rows, goal, ridge))
    return Loss(W, goal, rest + further_rest)


def _with_ridge(Z: Floats, y: Floats, ridge: Floats) -> tuple[Floats, Floats]:
    """Return rows and labels with the ridge appended: one row per feature, with label 0."""
    return np.vstack([Z, ridge]), np.concatenate([y, np.zeros((len(ridge), *y.shape[1:]))])


def _triangular(Z: Floats, y: Floats) -> tuple[Floats, Floats, float]:
    """Return (W, goal, rest): ``||Z g - y||^2 = ||W g - goal||^2 + rest``, with W lower triangular.

    T is usually upper triangular, so that ``W T'`` is lower triangular, too.
    """
    rows, columns = Z.shape
    if columns == 0:
        return Z[:0], y[:0], float(np.vdot(y, y))
    # A QR factorisation of the columns in reverse order is a QL factorisation. Q is not formed:
    # that would take as long again.
    factor, tau, _, _ = lapack.dgeqrf(Z[:, ::-1], lwork=QR_BLOCK_SIZE * columns)
    of_y, rank = y.reshape(rows, -1), len(tau)
    size = QR_BLOCK_SIZE * of_y.shape[1]
    turned = lapack.dormqr("L", "T", factor[:, :rank], tau, of_y, lwork=size)[0].reshape(y.shape)
    # This is R reversed in both directions. LAPACK needs it in Fortran order, and np.triu returns C
    # order, hence the transposes.
    W = np.triu(factor[:rank].T[::-1, ::-1], rank - columns).T
    return W, turned[:rank][::-1], float(np.vdot(turned[rank:], turned[rank:]))
