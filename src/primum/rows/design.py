"""The design matrix ``[1, X - center]`` of rows that stay where they are."""

from dataclasses import dataclass
from operator import add

import numpy as np

from primum._typing import Floats, Index
from primum.rows.array import ArrayRows


@dataclass(frozen=True)
class Design:
    """Rows as a model sees them: centred, with a leading 1 if there is an intercept.

    ``weight`` counts how often each row stands there (None: once).
    """

    rows: ArrayRows
    center: Floats
    fit_intercept: bool
    weight: Floats | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, however heavy."""
        return self.rows.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns, the constant one included."""
        return self.rows.n_columns + int(self.fit_intercept)

    def expand(self, X: Floats, out: Floats | None = None) -> Floats:
        """Return ``[1, X - center]`` for rows X."""
        expanded = np.empty((len(X), self.n_columns)) if out is None else out
        expanded[:, : int(self.fit_intercept)] = 1.0
        np.subtract(X, self.center, out=expanded[:, int(self.fit_intercept) :])
        return expanded

    def matrix(self) -> Floats:
        """Return the whole design matrix; only for rows that are few."""
        matrix = np.empty((self.n_rows, self.n_columns))
        for _ in self.rows.map(lambda where, X: self.expand(X, out=matrix[where])):
            pass
        return matrix

    def take(self, index: Index) -> Floats:
        """Return the design rows at sorted positions ``index``."""
        return self.expand(self.rows.take(index))

    def dot(self, v: Floats) -> Floats:
        """Return the design matrix times v."""
        return self.rows.fill(lambda X: self.expand(X) @ v)

    def lengths(self, B: Floats) -> Floats:
        """Return ``||B x||`` for every design row x."""
        return self.rows.fill(lambda X: np.linalg.norm(self.expand(X) @ B.T, axis=1))

    def weighted_sum(self, q: Floats) -> Floats:
        """Return the sum of the design rows, each times its weight and its entry of q."""
        if self.n_rows == 0:
            return np.zeros(self.n_columns)
        heavy = q if self.weight is None else q * self.weight
        return self.rows.map_reduce(lambda where, X: heavy[where] @ self.expand(X), add)

    def gram(self, chosen: Floats) -> Floats:
        """Return the sum of outer products of the design rows, each times its entry of chosen."""

        def block_gram(where: slice, X: Floats) -> Floats:
            heavy = chosen[where]
            present = np.flatnonzero(heavy)
            Z = self.expand(X[present])
            return (Z.T * heavy[present]) @ Z

        return self.rows.map_reduce(block_gram, add)
