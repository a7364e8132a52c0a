"""Weight, mean and scatter of rows, gathered block by block.

Summing ``X'X`` and subtracting ``n mean mean'`` cancels when means are large, so every block is
centred on its own mean and blocks are merged with the exact update (Chan, Golub & LeVeque 1983):

    n = n1 + n2,   mean = mean1 + (n2/n) delta,   scatter = S1 + S2 + (n1 n2 / n) delta delta',

where delta = mean2 - mean1. Inside a block, means are taken relative to its first row: a column
that is constant then has exactly that mean and no scatter, whatever its value. Sparse blocks
cannot be centred without filling them; most of their values are 0, so that little cancels.

This is the first pass over any rows, so it is here that a value which is no number is found: it
spoils the moments of its block, and the block is then searched for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._array_api import get_namespace_and_device

from primum._typing import Floats
from primum.rows import Block, Rows, to_numpy


@dataclass(frozen=True)
class Moments:
    """Total weight, mean and scatter ``sum w (x - mean)(x - mean)'`` of some rows."""

    weight: float
    mean: Floats
    scatter: Floats

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both sets of rows together."""
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        delta = other.mean - self.mean
        mean = self.mean + share * delta
        spread = (self.weight * share) * np.outer(delta, delta)
        return Moments(weight, mean, self.scatter + other.scatter + spread)

    def scatter_about(self, center: Floats) -> Floats:
        """Return the scatter about another point than the mean."""
        delta = self.mean - center
        return self.scatter + self.weight * np.outer(delta, delta)


def gather_moments(parts: Sequence[Rows]) -> Moments:
    """Return the moments of several sets of rows together, in one pass over each."""
    gathered = [rows.map_reduce(block_moments, Moments.merge) for rows in parts if rows.n_rows]
    return reduce(Moments.merge, gathered)


def block_moments(block: Block) -> Moments:
    """Return the moments of a block; refuse one with values that are not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        moments = _sparse_moments(block) if sparse.issparse(block.X) else _dense_moments(block)
    if not np.isfinite(moments.scatter.diagonal()).all():
        refuse_non_finite(block)
    return moments


def _dense_moments(block: Block) -> Moments:
    X = block.X
    xp, _, device = get_namespace_and_device(X)
    first = xp.astype(X[0, :], xp.float64)
    centred = X - first
    if block.weight is None:
        total = float(X.shape[0])
        shift = xp.mean(centred, axis=0)
        centred -= shift
    else:
        w = xp.asarray(block.weight, device=device)
        total = float(block.weight.sum())
        shift = w @ centred / total if total > 0 else xp.zeros_like(first)
        centred -= shift
        centred *= xp.sqrt(w)[:, None]
    return Moments(total, to_numpy(first + shift), to_numpy(centred.T @ centred))


def _sparse_moments(block: Block) -> Moments:
    X = block.X
    w = np.ones(X.shape[0]) if block.weight is None else block.weight
    total = float(w.sum())
    mean = X.T @ w / total if total > 0 else np.zeros(X.shape[1])
    second = (X.T @ X.multiply(w[:, None]).tocsr()).toarray()
    return Moments(total, mean, second - total * np.outer(mean, mean))


def refuse_non_finite(block: Block) -> None:
    """Raise an error that names the first value of a block that is not finite."""
    row, column, value = _first_non_finite(block.X)
    place = f" ({block.source})" if block.source else ""
    if row is None:
        raise ValueError(
            f"Rows {block.start} to {block.start + block.n_rows - 1}{place} have values so large "
            "that their squares overflow: scale the features."
        )
    name = column if block.names is None else repr(block.names[column])
    raise ValueError(
        f"Row {block.start + row}{place} has {value} in column {name}: drop such rows or fill "
        "in a number."
    )


def _first_non_finite(X: Any) -> tuple[int | None, int, float]:
    """Return (row, column, value) of the first value that is not finite; no row: none is."""
    is_sparse = bool(sparse.issparse(X))
    values = X.data if is_sparse else to_numpy(X).ravel()
    bad = np.flatnonzero(~np.isfinite(values))
    if not len(bad):
        return None, 0, 0.0
    at = int(bad[0])
    if is_sparse:
        return int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at]), values[at]
    return at // X.shape[1], at % X.shape[1], values[at]
