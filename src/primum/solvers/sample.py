"""The problem of a sample of the rows, as close to the problem of all rows as possible.

A label problem depends on its rows through sums over them, and sums over a sample have errors. Two
sums over all rows are known, ``M 1`` and ``M M'`` (``ColumnSums``), so the sample is mapped to have
the same ones:

    m -> mean + A (m - mean_s),      A = (S S_s^-1)^(1/2) = C R^(-1/2) C^-1,

where S and S_s are the scatters of all rows and of the sample, ``C C' = S`` and
``R = C^-1 S_s C^-T``. Then ``A S_s A' = S``. The map depends neither on the choice of C nor on the
coordinates of the columns.

Monte Carlo methods call this moment matching. The function that is summed depends on ``p = m'xi``.
The sum of a quadratic function over the mapped sample is exact, so the error that remains is that
of the difference from a quadratic function.

A sample also shows whether the rows are copies of few distinct ones. Identical rows can have
identical labels, so they are merged into one row with the sum of their weights. Rows are identified
by their projection on a random direction; one pass over the rows finds the distinct ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats, Index
from primum.equations import View
from primum.labellings.labelling import LabelsByValue
from primum.labellings.problem import FormedColumns, LabelProblem
from primum.labellings.sets import LabelSet, is_uniform
from primum.labellings.streamed import StreamedColumns
from primum.rows import to_numpy
from primum.solvers.newton import Stage, follow_path
from primum.solvers.open_labels import n_contrasts

# Rows of the sample, or SAMPLE_PER_DIMENSION for each of the r dimensions, if that is more: enough
# to lead close to the optimum of all rows, and few compared with a pass.
MIN_SAMPLE_ROWS = 2**13
SAMPLE_PER_DIMENSION = 16
# Switch from the sample to all rows when this fraction of the sample, or this many rows per
# dimension, are undecided: at the end about r are, and near its end the path is hard to follow.
UNDECIDED_SHARE = 0.02
UNDECIDED_PER_DIMENSION = 3
# The number of undecided rows has stopped decreasing if this fraction is left, this many times: one
# stage may decide few rows by chance.
STALLED_SHARE, MAX_STALLED_STAGES = 0.9, 3
# Scatters are singular in the direction of the constant, so this fraction of the mean of their
# diagonal is added to it: far above rounding, and far below the accuracy of a sample.
SCATTER_RIDGE = 1e-10
# If the columns are normally distributed, A changes lengths by a fraction of about sqrt(r / n) at
# most. A sample that needs more than this multiple of it lacks outlying rows, and stretching the
# others does not replace them.
MAX_CHANGE = 2.0

# If a smaller fraction of the rows of a sample are distinct, all rows are searched for copies: they
# are then merged, which saves more than the search takes.
MIN_DISTINCT_SHARE = 0.25
# Numbers of the distinct rows that are kept in memory, at most (32 MB).
MAX_DISTINCT_NUMBERS = 2**22
# Projections of identical rows agree to this many digits: sums in another order differ in the last
# two or three.
KEY_DIGITS = 12


def sample_columns(
    columns: StreamedColumns, *, matched: bool = True
) -> tuple[FormedColumns, Index]:
    """Return the columns of a sample of the rows, weighted to represent all, and its positions.

    If ``matched`` is True, they are mapped so that they have the known sums of all rows.
    """
    r, n = columns.shape
    rng = np.random.default_rng(0)  # any sample will do, but always the same one
    size = min(max(MIN_SAMPLE_ROWS, SAMPLE_PER_DIMENSION * r), n)
    index = np.sort(rng.choice(n, size, replace=False, shuffle=False))
    M = columns.take(index)
    of_all = columns.weight
    total = n if of_all is None else float(of_all.sum())
    weight = np.ones(size) if of_all is None else of_all[index]
    weight = weight * (total / max(float(weight.sum()), 1e-300))
    if matched and columns.sums is not None and r > 0 and total > 0:
        # Mapped, so that their sums are the known ones, unless the sample lacks outlying rows.
        of_columns, gram = columns.sums.of_columns, columns.sums.gram
        mean = own_mean = np.zeros(r)
        if of_columns is not None:
            mean, own_mean = of_columns / total, M @ weight / total
        root = M * np.sqrt(weight)
        own_scatter = _scatter(root @ root.T, own_mean, total)
        largest = MAX_CHANGE * (r / size) ** 0.5
        C, info = lapack.dpotrf(_scatter(gram, mean, total), lower=1)
        if info == 0:
            R = lapack.dtrtrs(C, lapack.dtrtrs(C, own_scatter, lower=1)[0].T, lower=1)[0]
            values, V = np.linalg.eigh(R)
            # A changes lengths by a fraction of at most ``largest``.
            if values[0] * (1 + largest) ** 2 >= 1 >= values[-1] * (1 - largest) ** 2:
                inverse = lapack.dtrtrs(C, V, lower=1, trans=1)[0].T  # V' C^-1
                A = np.asarray(C @ (V / np.sqrt(values)) @ inverse)
                M = np.dot(M.T, A.T).T
                M += (mean - A @ own_mean)[:, None]
    return FormedColumns(M, weight), index


def _scatter(gram: Floats, mean: Floats, total: float) -> Floats:
    """Return the scatter about the mean, made regular."""
    scatter = gram - total * np.outer(mean, mean)
    return scatter + SCATTER_RIDGE * np.trace(scatter) / len(scatter) * np.eye(len(scatter))


def sample_stage(sample: LabelProblem, tol: float, max_iter: int) -> Stage:
    """Return the point of a sample's path from which to continue with all rows."""
    r, n = sample.columns.shape
    per_contrast = UNDECIDED_PER_DIMENSION * r * n_contrasts(sample.labels)
    few = max(UNDECIDED_SHARE * n, per_contrast)
    before = n
    stalled = 0
    for stage in follow_path(sample, tol, max_iter):
        # If their number stops decreasing, the supervised solution is feasible for the sample. It
        # need not be for all rows, and a point far along the path is then a bad start.
        stalled += STALLED_SHARE * before < stage.undecided <= 0.5 * n
        if stage.sigma > 0 and (stage.undecided <= few or stalled == MAX_STALLED_STAGES):
            break
        before = stage.undecided
    if stage.sigma == 0:
        return replace(stage, sigma=1.0)
    # If most rows are undecided, labels near 1/2 suffice, and Newton's first step from there is
    # exact up to clipping. The sample's point may be far off if it lacks rare features.
    return replace(stage, xi=0.0 * stage.xi) if stage.undecided > 0.5 * n else stage


def merge_copies(sample: FormedColumns) -> FormedColumns:
    """Return the distinct columns of a sample, with the weights of identical ones added up."""
    first, which = copies_in(sample)
    weight = np.ones(len(which)) if sample.weight is None else sample.weight
    return FormedColumns(sample.matrix[:, first], _totals(which, weight))


def copies_in(sample: FormedColumns) -> tuple[Index, Index]:
    """Return the first of every group of identical columns, and the group of every column."""
    direction, scale = _direction(sample)
    keys = np.round(direction @ sample.matrix / scale, KEY_DIGITS)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which


def _direction(sample: FormedColumns) -> tuple[Floats, float]:
    direction = np.random.default_rng(0).normal(size=len(sample.matrix))
    return direction, max(float(np.abs(direction @ sample.matrix).max()), 1e-300)


@dataclass(frozen=True)
class _Distinct:
    """Distinct rows: their sorted projections, their columns of M and their weights.

    If there are too many of them, they are discarded.
    """

    keys: Floats
    columns: Floats
    weight: Floats

    def __add__(self, other: "_Distinct") -> "_Distinct":
        if not (len(self.keys) and len(other.keys)):
            return _NONE
        return _distinct(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.weight, other.weight]),
        )


# Stands for more distinct rows than are kept.
_NONE = _Distinct(np.zeros(0), np.zeros((0, 0)), np.zeros(0))


def _distinct(keys: Floats, columns: Floats, weight: Floats) -> _Distinct:
    keys, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if columns.shape[1] * len(keys) > MAX_DISTINCT_NUMBERS:
        return _NONE
    return _Distinct(keys, columns[first], _totals(which, weight))


def _totals(which: Index, weight: Floats) -> Floats:
    return np.bincount(which, weight).astype(np.float64, copy=False)


def find_copies(
    labels: LabelSet, columns: StreamedColumns, sample: FormedColumns
) -> tuple[FormedColumns, Callable[[Floats], LabelsByValue]] | None:
    """Return the distinct columns of M, and a function from their labels to those of all rows.

    Return None if a sample shows that most rows are distinct, if there are too many distinct ones,
    or if identical rows may have different label sets.
    """
    if (
        not is_uniform(labels)
        or merge_copies(sample).shape[1] >= MIN_DISTINCT_SHARE * sample.shape[1]
    ):
        return None
    direction, scale = _direction(sample)
    v = direction @ columns.B / scale
    B_t = columns.B.T

    def distinct_rows_of(view: View) -> _Distinct:
        keys = np.round(to_numpy(view.dot(v)), KEY_DIGITS)
        weight = np.ones(len(keys)) if view.block.weight is None else view.block.weight
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        M_t = to_numpy(view.pick(view.convert(first)).dot(B_t))
        return _distinct(keys[first], M_t, _totals(which, weight))

    distinct = columns.design.add_up(distinct_rows_of)
    if not len(distinct.keys):
        return None
    few = FormedColumns(distinct.columns.T, distinct.weight)
    return few, lambda labels: LabelsByValue(v, distinct.keys, labels)
