"""The matrix ``M = B X_u'`` of the box problem: formed when small, never when large.

A solver needs four things of it: ``M'xi``, ``M q``, ``M_J M_J'`` and ``M_J``. Every row of X_u
may stand for several equal ones (its weight); the weight multiplies q and the Gram matrix.
"""

from typing import Protocol

import numpy as np

from primum._typing import Floats, Index
from primum.rows import Design

# Form M up to this many numbers (16 MB).
FORM_UP_TO = 2**21


class Columns(Protocol):
    """What a solver may ask of M; every answer is one pass over the rows."""

    passes: int
    weight: Floats | None

    @property
    def shape(self) -> tuple[int, int]:
        """(r, U)."""
        ...

    def project(self, xi: Floats) -> Floats:
        """Return ``M'xi``, one number per row."""
        ...

    def accumulate(self, q: Floats) -> Floats:
        """Return ``M q``, rows counted with their weight."""
        ...

    def gram(self, index: Index) -> Floats:
        """Return ``M_J M_J'``, rows counted with their weight."""
        ...

    def take(self, index: Index) -> Floats:
        """Return ``M_J``, not weighted."""
        ...

    def lengths(self) -> Floats:
        """Return the length of every column."""
        ...


def columns_of(B: Floats, design: Design) -> Columns:
    """Return M in the form that suits its size."""
    if len(B) * design.n_rows <= FORM_UP_TO:
        # One row of M' is read at a time, so they are kept together in memory.
        return FormedColumns((design.matrix() @ B.T).T, design.weight)
    return StreamedColumns(B, design)


class FormedColumns:
    """M as an array (r, U)."""

    def __init__(self, matrix: Floats, weight: Floats | None = None) -> None:
        self.matrix = matrix
        self.weight = weight
        self.passes = 0

    @property
    def shape(self) -> tuple[int, int]:  # noqa: D102
        return self.matrix.shape[0], self.matrix.shape[1]

    def project(self, xi: Floats) -> Floats:  # noqa: D102
        self.passes += 1
        return xi @ self.matrix

    def accumulate(self, q: Floats) -> Floats:  # noqa: D102
        self.passes += 1
        return self.matrix @ (q if self.weight is None else q * self.weight)

    def gram(self, index: Index) -> Floats:  # noqa: D102
        M = self.take(index)
        if self.weight is not None:
            M = M * np.sqrt(self.weight[index])
        return M @ M.T

    def take(self, index: Index) -> Floats:  # noqa: D102
        self.passes += 1
        return self.matrix[:, index]

    def lengths(self) -> Floats:  # noqa: D102
        self.passes += 1
        return np.linalg.norm(self.matrix, axis=0)


class StreamedColumns:
    """M through the rows, one block at a time."""

    def __init__(self, B: Floats, design: Design) -> None:
        self.B = B
        self.design = design
        self.weight = design.weight
        self.passes = 0

    @property
    def shape(self) -> tuple[int, int]:  # noqa: D102
        return len(self.B), self.design.n_rows

    def project(self, xi: Floats) -> Floats:  # noqa: D102
        self.passes += 1
        return self.design.dot(xi @ self.B)

    def accumulate(self, q: Floats) -> Floats:  # noqa: D102
        self.passes += 1
        return self.B @ self.design.weighted_sum(q)

    def gram(self, index: Index) -> Floats:  # noqa: D102
        self.passes += 1
        chosen = np.zeros(self.design.n_rows)
        chosen[index] = 1.0 if self.weight is None else self.weight[index]
        return self.B @ self.design.gram(chosen) @ self.B.T

    def take(self, index: Index) -> Floats:  # noqa: D102
        self.passes += 1
        return self.B @ self.design.take(index).T

    def lengths(self) -> Floats:  # noqa: D102
        self.passes += 1
        return self.design.lengths(self.B)
