"""Unlabelled rows in files or on a cluster: a sample of them in memory, and the moments of all.

Graphs, kernels and transductive machines use a few thousand unlabelled rows at most, and so do the
test for drift and the comparison of stacks. A uniform random sample of ``MAX_SAMPLED_ROWS`` rows
serves them all. Principal components depend only on the mean and covariance of the rows, so those
of all rows can be computed without storing the rows. One pass collects both.

Which rows are drawn depends on the seed and on the number of rows, not on blocks, row groups or
partitions. If there are no more rows than the sample may have, all are read, and the fit is that of
rows in memory. On a cluster the pass runs on the workers, which import this module.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from primum._typing import AnyArray, Index
from primum.equations.moments import (
    Moments,
    RawMoments,
    block_moments,
    gather_moments,
    merged_moments,
)
from primum.rows import (
    ArrayRows,
    Block,
    Rows,
    chain,
    first_non_finite,
    refuse_non_finite,
    stack,
    within,
)

# If there are more unlabelled rows than this, only a random sample of this size is in memory: the
# most that any use of it needs.
MAX_SAMPLED_ROWS = 20_000
# With more columns than this, the covariance (32 MB at this limit) is not formed.
MAX_COVARIANCE_COLUMNS = 2000


# What some of the rows contribute: their moments, if wanted, and the rows in the sample.
Collected = tuple[Moments | RawMoments | None, tuple[Any, ...]]


@dataclass(frozen=True)
class Sampled:
    """The rows from which a sample of unlabelled rows in memory was drawn.

    Attributes
    ----------
    n_rows : int
        Number of all unlabelled rows.
    positions : array of shape (n_sampled,)
        Sorted positions of the sample among them.
    moments : Moments or None
        Those of all rows, labelled and unlabelled, each with weight 1; None if unknown.
    """

    n_rows: int
    positions: Index
    moments: Moments | None = None

    def take(self, values: AnyArray) -> AnyArray:
        """Return the values of rows in the sample, given those of the first unlabelled rows."""
        return values[self.positions[: np.searchsorted(self.positions, len(values))]]


def read_sample(inside: ArrayRows, more: Rows, labeled: Any, seed: int) -> tuple[Any, Sampled]:
    """Return a random sample of unlabelled rows, in memory, and its origin: one pass.

    Parameters
    ----------
    inside : ArrayRows
        The unlabelled rows of X.
    more : Rows
        Those of X_unlabeled, in files or on a cluster.
    labeled : array or CSR matrix
        The labelled rows.
    seed : int
        Seed of the sample.

    Returns
    -------
    array or CSR matrix
        The sample, in the order of the rows.
    Sampled
        Its positions, and the moments of all rows, unless these are too wide or sparse, or the
        sample has all of them.
    """
    rows = chain([inside, more])
    positions = _drawn(rows.n_rows, seed)
    if not len(positions):
        return labeled[:0], Sampled(0, positions)
    is_dense = not sparse.issparse(labeled) and rows.n_columns <= MAX_COVARIANCE_COLUMNS
    with_moments = is_dense and len(positions) < rows.n_rows

    def collect(block: Block) -> Collected:
        found = block_moments(block) if with_moments else None
        if found is None and first_non_finite(block.X) is not None:
            refuse_non_finite(block)
        here = within(positions, block.start, block.n_rows)
        return found, (block.X[here],) if len(here) else ()

    found, picked = rows.map_reduce(collect, _joined)
    moments = None
    if isinstance(found, Moments) and not found.of_products:
        moments = gather_moments([ArrayRows(labeled)], found)
    X = stack([Block(0, part) for part in picked]).X
    X = X if sparse.issparse(X) else np.ascontiguousarray(X)
    return X, Sampled(rows.n_rows, positions, moments)


def _joined(one: Collected, other: Collected) -> Collected:
    """Return what two parts of the rows contribute together."""
    (first, picked), (second, more) = one, other
    both = None if first is None or second is None else merged_moments(first, second)
    return both, picked + more


def _drawn(n_rows: int, seed: int) -> Index:
    """Return the sorted positions of the rows in the sample."""
    if n_rows <= MAX_SAMPLED_ROWS:
        return np.arange(n_rows)
    # Candidates draw from this sample with another stream of random numbers.
    rng = np.random.default_rng([seed, 1])
    return np.sort(rng.choice(n_rows, MAX_SAMPLED_ROWS, replace=False))
