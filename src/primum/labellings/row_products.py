"""Inner products of the columns of M, remembered from one Newton step to the next.

The undecided rows change little between two steps, so most of ``M_J'M_J`` is known already, and
selecting it takes a fraction of the time of computing it.
"""

import numpy as np

from primum._typing import Floats, Index

# Products of at most this many rows are remembered (8 MB). Fewer than the second number of
# multiplications take less time than looking them up.
REMEMBER_UP_TO, WORTH_REMEMBERING = 2**10, 2**18


class RowProducts:
    """``M_J'M_J`` for slowly changing J, without weights."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self._place = np.full(matrix.shape[1], -1)  # of every row among those that are remembered
        self._rows = np.empty(0, dtype=np.intp)
        self._products = np.empty((0, 0))

    def of(self, index: Index) -> Floats:
        """Return the inner products of some columns."""
        size = len(index)
        if size > REMEMBER_UP_TO or size**2 * len(self.matrix) < WORTH_REMEMBERING:
            M = self.matrix[:, index]
            return M.T @ M
        new = index[self._place[index] < 0]
        if len(self._rows) + len(new) > len(self._products):
            # With room to spare for the rows that later steps add.
            self._forget(room=min(size + 3 * size // 4, REMEMBER_UP_TO))
            new = index
        if len(new):
            self._remember(new)
        place = self._place[index]
        return self._products[:, : len(self._rows)][place].take(place, axis=1)

    def _forget(self, room: int) -> None:
        self._place[self._rows], self._rows = -1, self._rows[:0]
        if room > len(self._products):
            self._products = np.empty((0, 0))  # freed before more is allocated
            self._products = np.empty((room, room))

    def _remember(self, new: Index) -> None:
        known, added = len(self._rows), self.matrix[:, new]
        where = slice(known, known + len(new))
        if known:
            across = np.dot(added.T, self.matrix[:, self._rows])
            self._products[where, :known], self._products[:known, where] = across, across.T
        np.matmul(added.T, added, out=self._products[where, where])
        self._place[new] = np.arange(where.start, where.stop)
        self._rows = np.concatenate([self._rows, new])
