"""The matrix ``M = B X_u'`` of the box problem: formed when small, never when large.

A solver needs four things of it: ``M'xi``, ``M q``, ``M_J M_J'`` and ``M_J``. Every row of X_u
may stand for several equal ones (its weight); the weight multiplies q and the Gram matrix.
"""

from dataclasses import dataclass, replace
from operator import add
from typing import Protocol

import numpy as np

from primum._typing import Floats, Index
from primum.rows import Design

# Form M up to this many numbers (16 MB).
FORM_UP_TO = 2**21


class Columns(Protocol):
    """What a solver may ask of M; every answer is one pass over the rows."""

    weight: Floats | None

    @property
    def passes(self) -> int:
        """How often the rows were visited."""
        ...

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
        self._passes = 0

    @property
    def passes(self) -> int:  # noqa: D102
        return self._passes

    @property
    def shape(self) -> tuple[int, int]:  # noqa: D102
        return self.matrix.shape[0], self.matrix.shape[1]

    def project(self, xi: Floats) -> Floats:  # noqa: D102
        self._passes += 1
        return xi @ self.matrix

    def accumulate(self, q: Floats) -> Floats:  # noqa: D102
        self._passes += 1
        return self.matrix @ (q if self.weight is None else q * self.weight)

    def gram(self, index: Index) -> Floats:  # noqa: D102
        M = self.take(index)
        if self.weight is not None:
            M = M * np.sqrt(self.weight[index])
        return M @ M.T

    def take(self, index: Index) -> Floats:  # noqa: D102
        self._passes += 1
        return self.matrix[:, index]

    def lengths(self) -> Floats:  # noqa: D102
        self._passes += 1
        return np.linalg.norm(self.matrix, axis=0)


@dataclass(frozen=True)
class Sweep:
    """What one pass over the rows tells about a dual point xi at some sigma.

    With ``p = M'xi`` and ``q = clip(1/2 - sigma p)``: M q, the Gram matrix of the rows strictly
    inside the box and their number, ``sum max(0, -p)`` and ``sum p q + (q - 1/2)^2 / (2 sigma)``.
    """

    Mq: Floats
    gram: Floats
    inside: int
    hinge: float
    inner: float

    def __add__(self, other: "Sweep") -> "Sweep":
        return Sweep(
            self.Mq + other.Mq,
            self.gram + other.gram,
            self.inside + other.inside,
            self.hinge + other.hinge,
            self.inner + other.inner,
        )


class StreamedColumns:
    """M through the rows, one block at a time."""

    def __init__(self, B: Floats, design: Design) -> None:
        self.B = B
        self.design = design
        self.weight = design.weight

    @property
    def passes(self) -> int:
        """How often the rows were visited, for whatever purpose."""
        return self.design.rows.passes

    def sweep(self, xi: Floats, sigma: float) -> Sweep:
        """Compute all that a Newton step needs, in one pass."""
        v, design, weight = xi @ self.B, self.design, self.weight

        def block_sweep(where: slice, X: Floats) -> Sweep:
            Z = design.expand(X)
            p = Z @ v
            free = 0.5 - sigma * p
            q = np.minimum(np.maximum(free, 0.0), 1.0)
            w = np.ones(len(p)) if weight is None else weight[where]
            inside = np.flatnonzero(q == free)
            Z_inside = Z[inside]
            return Sweep(
                (w * q) @ Z,
                (Z_inside.T * w[inside]) @ Z_inside,
                len(inside),
                -float(w @ np.minimum(p, 0.0)),
                float(w @ (p * q + (q - 0.5) ** 2 / (2 * sigma))),
            )

        total = design.rows.map_reduce(block_sweep, add)
        return replace(total, Mq=self.B @ total.Mq, gram=self.B @ total.gram @ self.B.T)

    def hold(self, xi: Floats, width: float) -> tuple[Floats, Floats]:
        """Put every row with ``|p| > width`` on its side, in one pass.

        Return (labels: 0, 1, or 1/2 for the rows left open, M times the labels of the others).
        """
        v, design, weight = xi @ self.B, self.design, self.weight
        labels = np.empty(design.n_rows)

        def block_hold(where: slice, X: Floats) -> Floats:
            Z = design.expand(X)
            p = Z @ v
            side = (p < 0).astype(np.float64)
            open_rows = np.abs(p) <= width
            labels[where] = np.where(open_rows, 0.5, side)
            side[open_rows] = 0.0
            return (side if weight is None else side * weight[where]) @ Z

        return labels, self.B @ design.rows.map_reduce(block_hold, add)

    def hinge(self, xi: Floats) -> float:
        """Return ``sum max(0, -p)``, which the dual objective needs, in one pass."""
        v, design, weight = xi @ self.B, self.design, self.weight

        def block_hinge(where: slice, X: Floats) -> float:
            short = np.minimum(design.expand(X) @ v, 0.0)
            return -float(short.sum() if weight is None else weight[where] @ short)

        return design.rows.map_reduce(block_hinge, add)

    def slopes(self, xi: Floats, direction: Floats, sigma: float, steps: Floats) -> Floats:
        """Return ``(M'direction)'q`` at several steps along a direction, in one pass."""
        V, design, weight = np.stack([xi, direction]) @ self.B, self.design, self.weight

        def block_slopes(where: slice, X: Floats) -> Floats:
            p, along = (design.expand(X) @ V.T).T
            free = 0.5 - sigma * (p + steps[:, None] * along)
            q = np.minimum(np.maximum(free, 0.0), 1.0)
            return q @ (along if weight is None else along * weight[where])

        return design.rows.map_reduce(block_slopes, add)

    @property
    def shape(self) -> tuple[int, int]:  # noqa: D102
        return len(self.B), self.design.n_rows

    def project(self, xi: Floats) -> Floats:  # noqa: D102
        return self.design.dot(xi @ self.B)

    def accumulate(self, q: Floats) -> Floats:  # noqa: D102
        return self.B @ self.design.weighted_sum(q)

    def gram(self, index: Index) -> Floats:  # noqa: D102
        chosen = np.zeros(self.design.n_rows)
        chosen[index] = 1.0 if self.weight is None else self.weight[index]
        return self.B @ self.design.gram(chosen) @ self.B.T

    def take(self, index: Index) -> Floats:  # noqa: D102
        return self.B @ self.design.take(index).T

    def lengths(self) -> Floats:  # noqa: D102
        return self.design.lengths(self.B)
