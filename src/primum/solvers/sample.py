"""The problem of a sample of the rows, which resembles that of all rows as closely as possible.

The sample's errors are those of its sums. Two sums over all rows are known: ``M 1`` and ``M M'``
(``known_sums.py``). The sample is mapped affinely such that its own sums are the same:

    m -> mean + C R^-1/2 C^-1 (m - mean_s),    C C' = S,   R = C^-1 S_s C^-T,

where S and S_s are the scatters of all rows and of the sample. The map does not depend on the
choice of C or on the coordinates of the columns.

This is moment matching, a control variate of Monte Carlo methods. A function of ``p = m'xi`` that
is well approximated by a quadratic one then has nearly the same sum over the sample as over all
rows, and the sum over labels that a label problem needs is such a function.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from primum._typing import Floats
from primum.labellings import FormedColumns, KnownSums, LabelProblem, StreamedColumns
from primum.solvers.faces import n_contrasts
from primum.solvers.newton import Stage, follow_path

SAMPLE = 2**13  # rows, but at least SAMPLE_PER_COLUMN for each of the r dimensions
SAMPLE_PER_COLUMN = 16
# Switch from the sample to all rows when this fraction of the sample, or this many rows per
# dimension, are undecided: at the end about r are, and near its end the path is hard to follow.
UNDECIDED = 0.02
UNDECIDED_PER_COLUMN = 3
# The number of undecided rows has stopped decreasing if this fraction is left, this many times.
STALLED_SHARE, MAX_STALLED_STAGES = 0.9, 3
# Scatters are singular in the direction of the constant. This fraction of their trace is added.
SINGULAR = 1e-10
# Columns of a normal distribution change by the fraction sqrt(r / n). A sample that must be changed
# by more than this multiple lacks outlying rows, and stretching the others does not replace them.
LARGEST_CHANGE = 2.0


def sample_problem(problem: LabelProblem, columns: StreamedColumns) -> LabelProblem:
    """Return the problem of a sample of the rows, weighted to represent all of them."""
    r, n = columns.shape
    rng = np.random.default_rng(0)  # any sample will do, but always the same one
    size = min(max(SAMPLE, SAMPLE_PER_COLUMN * r), n)
    index = np.sort(rng.choice(n, size, replace=False, shuffle=False))
    M, own_weight = columns.sample(index)
    total = n if columns.weight is None else float(columns.weight.sum())
    weight = np.ones(size) if own_weight is None else own_weight
    weight = weight * (total / max(float(weight.sum()), 1e-300))
    if columns.known is not None and r > 0 and total > 0:
        M = _matched(M, weight, own_weight is None, total, columns.known)
    return replace(problem, columns=FormedColumns(M, weight), labels=problem.labels.take(index))


def _matched(M: Floats, weight: Floats, alike: bool, total: float, known: KnownSums) -> Floats:
    """Return the columns of a sample, mapped such that their sums are the known ones.

    ``alike`` is whether all weights are the same.
    """
    gram = weight[0] * (M @ M.T) if alike else (M * weight) @ M.T
    mean = own = np.zeros(len(M))
    if known.of_columns is not None:
        mean, own = known.of_columns / total, M @ weight / total
    scatter, of_sample = (
        _regular(gram - total * np.outer(center, center))
        for gram, center in ((known.gram, mean), (gram, own))
    )
    C, info = lapack.dpotrf(scatter, lower=1)
    if info != 0:
        return M
    R = lapack.dtrtrs(C, lapack.dtrtrs(C, of_sample, lower=1)[0].T, lower=1)[0]
    values, V = np.linalg.eigh(R)
    largest = LARGEST_CHANGE * (len(M) / len(weight)) ** 0.5
    if values[0] * (1 + largest) ** 2 < 1 or values[-1] * (1 - largest) ** 2 > 1:
        return M
    A = C @ (V / np.sqrt(values)) @ lapack.dtrtrs(C, V, lower=1, trans=1)[0].T
    matched = np.dot(M.T, A.T).T
    matched += (mean - A @ own)[:, None]
    return matched


def _regular(scatter: Floats) -> Floats:
    return scatter + SINGULAR * np.trace(scatter) / len(scatter) * np.eye(len(scatter))


def sample_stage(sample: LabelProblem, tol: float, max_iter: int) -> Stage:
    """Return the point of a sample's path from which to continue with all rows."""
    r, n = sample.columns.shape
    per_contrast = UNDECIDED_PER_COLUMN * r * n_contrasts(sample.labels)
    few, before, stalled = max(UNDECIDED * n, per_contrast), n, 0
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
