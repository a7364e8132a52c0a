"""Weight, mean and scatter of rows, gathered block by block.

Summing ``X'X`` and subtracting ``n mean mean'`` cancels when means are large, so every block is
centred on its own mean and blocks are merged with the exact update (Chan, Golub & LeVeque 1983):

    n = n1 + n2,   mean = mean1 + (n2/n) delta,   scatter = S1 + S2 + (n1 n2 / n) delta delta',

where delta = mean2 - mean1. Inside a block, means are taken relative to its first row: a column
that is constant then has exactly that mean and no scatter, whatever its value.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from primum._typing import Floats
from primum.rows import ArrayRows


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


def gather_moments(parts: list[tuple[ArrayRows, Floats | None]]) -> Moments:
    """Return the moments of several (rows, weight per row or None: one each), in one pass."""
    gathered = [_moments(rows, weight) for rows, weight in parts if rows.n_rows]
    return reduce(Moments.merge, gathered)


def _moments(rows: ArrayRows, weight: Floats | None) -> Moments:
    return rows.map_reduce(lambda where, X: _block_moments(X, weight, where), Moments.merge)


def _block_moments(X: Floats, weight: Floats | None, where: slice) -> Moments:
    first = X[0]
    centred = X - first
    if weight is None:
        shift = centred.mean(axis=0)
        centred -= shift
        return Moments(float(len(X)), first + shift, centred.T @ centred)
    w = weight[where]
    total = float(w.sum())
    shift = w @ centred / total if total > 0 else np.zeros_like(first)
    centred -= shift
    centred *= np.sqrt(w)[:, None]
    return Moments(total, first + shift, centred.T @ centred)
