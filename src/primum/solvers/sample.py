"""The problem of a sample of the rows."""

from dataclasses import replace

import numpy as np

from primum.labellings import FormedColumns, LabelProblem, StreamedColumns

SAMPLE = 2**13  # rows, but at least SAMPLE_PER_COLUMN for each of the r dimensions
SAMPLE_PER_COLUMN = 16


def sample_problem(problem: LabelProblem, columns: StreamedColumns) -> LabelProblem:
    """Return the problem of a sample of the rows, weighted to represent all of them."""
    r, n = columns.shape
    rng = np.random.default_rng(0)  # any sample will do, but always the same one
    size = min(max(SAMPLE, SAMPLE_PER_COLUMN * r), n)
    index = np.sort(rng.choice(n, size, replace=False, shuffle=False))
    M, weight = columns.sample(index)
    share = np.full(size, n / size)
    sample = FormedColumns(M, share if weight is None else share * weight)
    prior = problem.prior
    if prior is not None and weight is not None and columns.weight is not None:
        # The sample's weights need not add up to the total.
        factor = float(columns.weight.sum()) / float(weight.sum() * n / size)
        prior = replace(prior, direction=factor * prior.direction)
    return replace(problem, columns=sample, labels=problem.labels.take(index), prior=prior)
