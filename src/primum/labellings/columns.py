"""The matrix ``M = B X_u'`` of the box problem: formed when small, never when large.

A solver needs four products: ``M'xi``, ``M q``, ``M_J M_J'`` and ``M_J``. Every row of X_u
has a weight, which multiplies q and the Gram matrix. A proof needs two sums over the rows, which
bound the optimum from both sides.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from operator import add
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from primum._typing import Floats, Index
from primum.equations import Design, GivenLabels, RowValues
from primum.rows import (
    BLOCK_NUMBERS,
    Block,
    joined_weights,
    to_numpy,
)

# Form M up to this many numbers (16 MB) and rows: with more rows, a few passes over all of them are
# faster than many over M. ...
FORM_UP_TO, FORM_ROWS_UP_TO = 2**21, 2**14
# ... And up to this many times as many numbers if there are at most this many rows for each of the
# r dimensions: many of them are then undecided, and solving for few rows at a time does not help.
FORM_FEW_ROWS, FEW_ROWS = 16, 64


class Columns(Protocol):
    """The products with M that solvers need, each one pass over the rows."""

    @property
    def passes(self) -> int:
        """Number of passes over the rows so far."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """(r, U)."""
        ...

    @property
    def weight(self) -> Floats | None:
        """Weight of each row; None: 1."""
        ...

    def project(self, xi: Floats) -> Floats:
        """Return ``M'xi``, one number per row."""
        ...

    def accumulate(self, q: Floats | RowValues, moment: Floats | None = None) -> Floats:
        """Return ``M q``, with rows weighted; ``moment`` is X_u'q, if it is known."""
        ...

    def gram(self, index: Index) -> Floats:
        """Return ``M_J M_J'``, with rows weighted."""
        ...

    def take(self, index: Index) -> Floats:
        """Return ``M_J``, not weighted."""
        ...

    def lengths(self) -> Floats:
        """Return the length of every column."""
        ...

    def gaps(self, duals: Floats, q: Floats | RowValues) -> Floats:
        """Return ``sum max(p q, -p (1 - q))``, ``p = M'xi``, for every row xi of duals.

        The sum is weighted.
        """
        ...

    def hinge(self, xi: Floats) -> float:
        """Return ``sum max(0, -p)``, with rows weighted."""
        ...

    def scaled(self, factor: Floats) -> "Columns":
        """Return M with each of its r dimensions multiplied by a factor."""
        ...

    def first(self, r: int) -> "Columns":
        """Return the first r dimensions of M."""
        ...

    @property
    def gram_of_all(self) -> Floats:
        """``M M'``, with rows weighted."""
        ...


def columns_of(B: Floats, design: Design) -> Columns:
    """Return M in the form that suits its size."""
    r, n = len(B), design.n_rows
    few_rows = n <= FEW_ROWS * r and design.rows.in_memory
    limit = FORM_UP_TO * (FORM_FEW_ROWS if few_rows else 1)
    if r * n <= limit and (n <= FORM_ROWS_UP_TO or few_rows):
        # Rows of M' are read one at a time, so each is contiguous in memory.
        return FormedColumns(design.dot(B.T).T, design.rows.weight)
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

    def accumulate(self, q: Any, moment: Floats | None = None) -> Floats:  # noqa: D102
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

    def gaps(self, duals: Floats, q: Any) -> Floats:  # noqa: D102
        self._passes += 1
        return np.array([duality_gap(xi @ self.matrix, q, self.weight) for xi in duals])

    @cached_property
    def gram_of_all(self) -> Floats:  # noqa: D102
        self._passes += 1
        return (self.matrix if self.weight is None else self.matrix * self.weight) @ self.matrix.T

    def scaled(self, factor: Floats) -> "FormedColumns":  # noqa: D102
        return FormedColumns(factor[:, None] * self.matrix, self.weight)

    def first(self, r: int) -> "FormedColumns":  # noqa: D102
        return FormedColumns(self.matrix[:r], self.weight)

    def hinge(self, xi: Floats) -> float:  # noqa: D102
        short = np.minimum(self.project(xi), 0.0)
        return -float(short.sum() if self.weight is None else self.weight @ short)


def duality_gap(p: Floats, q: Floats, weight: Floats | None = None) -> float:
    """Return ``sum_i w_i max(p_i q_i, -p_i (1 - q_i))``, which is P(q) - D(xi)."""
    slack = np.maximum(p * q, p * q - p)
    return float(slack.sum() if weight is None else slack @ weight)


@dataclass(frozen=True)
class Sweep:
    """The result of one pass over the rows for a dual point xi and a sigma.

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


@dataclass(frozen=True)
class Band:
    """The rows close to a hyperplane, and the sum of all others with the labels of their sides.

    ``pieces`` are (positions, columns of M, weights) of the close rows; None if there are too many.
    """

    fixed_sum: Floats
    pieces: list[tuple[Index, Floats, Floats | None]] | None
    count: int
    limit: int

    def __add__(self, other: "Band") -> "Band":
        count = self.count + other.count
        pieces = None
        if self.pieces is not None and other.pieces is not None and count <= self.limit:
            pieces = [*self.pieces, *other.pieces]
        return Band(self.fixed_sum + other.fixed_sum, pieces, count, self.limit)

    def stacked(self) -> tuple[Index, "FormedColumns"] | None:
        """Return (positions, columns of M) of the close rows, or None if too many or none."""
        if not self.pieces:
            return None
        positions, columns, weights = zip(*self.pieces, strict=True)
        weight = joined_weights([(len(at), w) for at, w in zip(positions, weights, strict=True)])
        return np.concatenate(positions), FormedColumns(np.concatenate(columns).T, weight)


class StreamedColumns:
    """M computed from the rows, one block at a time."""

    def __init__(self, B: Floats, design: Design) -> None:
        self.B = B
        self.design = design

    @property
    def passes(self) -> int:
        """Number of passes over the rows so far, for any purpose."""
        return self.design.rows.passes

    @property
    def weight(self) -> Floats | None:  # noqa: D102
        return self.design.rows.weight

    def sweep(self, xi: Floats, sigma: float, mostly_inside: bool = False) -> Sweep:
        """Compute everything that a Newton step needs, in one pass.

        If most rows are inside the box, it is cheaper to subtract the others from the Gram matrix
        of all rows, which is computed once.
        """
        v, B_t, frame = xi @ self.B, self.B.T, self.design.frame

        def block_sweep(block: Block) -> Sweep:
            view = frame.view(block)
            xp, p = view.xp, view.dot(v)
            free = 0.5 - sigma * p
            q = xp.clip(free, 0.0, 1.0)
            chosen = view.pick(xp.nonzero(q != free if mostly_inside else q == free)[0])
            M_t = chosen.dot(B_t)
            return Sweep(
                view.sum(q),
                to_numpy(chosen.weighted(M_t).T @ M_t),
                chosen.block.n_rows,
                -view.total(xp.clip(p, None, 0.0)),
                view.total(p * q + (q - 0.5) ** 2 / (2 * sigma)),
            )

        total = self.design.rows.map_reduce(block_sweep, add)
        if mostly_inside:
            inside = self.design.n_rows - total.inside
            total = replace(total, gram=self.gram_of_all - total.gram, inside=inside)
        return replace(total, Mq=self.B @ total.Mq)

    @cached_property
    def gram_of_all(self) -> Floats:  # noqa: D102
        B_t, frame = self.B.T, self.design.frame

        def block_gram(block: Block) -> Floats:
            view = frame.view(block)
            M_t = view.dot(B_t)
            return np.asarray(to_numpy(view.weighted(M_t).T @ M_t))

        return self.design.rows.map_reduce(block_gram, add)

    def band(self, xi: Floats, width: float, limit: int) -> Band:
        """Fix every row with ``|p| > width`` on its side and collect the others, in one pass."""
        v, B_t, frame = xi @ self.B, self.B.T, self.design.frame

        def block_band(block: Block) -> Band:
            view = frame.view(block)
            xp, p = view.xp, view.dot(v)
            side = xp.astype(p < -width, xp.float64)
            chosen = xp.nonzero(xp.abs(p) <= width)[0]
            close = view.pick(chosen)
            positions = block.start + to_numpy(chosen)
            piece = (positions, to_numpy(close.dot(B_t)), close.block.weight)
            return Band(view.sum(side), [piece] if len(positions) else [], len(positions), limit)

        total = self.design.rows.map_reduce(block_band, add)
        return replace(total, fixed_sum=self.B @ total.fixed_sum)

    def gaps(self, duals: Floats, q: Floats | RowValues) -> Floats:  # noqa: D102
        V, frame = (duals @ self.B).T, self.design.frame
        labels = GivenLabels(q) if isinstance(q, np.ndarray) else q

        def block_gaps(block: Block) -> Floats:
            view = frame.view(block)
            P, q = view.dot(V), labels(view)[:, None]
            slack = view.xp.maximum(P * q, P * q - P)
            return to_numpy(view.xp.sum(view.weighted(slack), axis=0))

        return self.design.rows.map_reduce(block_gaps, add)

    def scaled(self, factor: Floats) -> "StreamedColumns":  # noqa: D102
        return StreamedColumns(factor[:, None] * self.B, self.design)

    def first(self, r: int) -> "StreamedColumns":  # noqa: D102
        return StreamedColumns(self.B[:r], self.design)

    def hinge(self, xi: Floats) -> float:  # noqa: D102
        v, frame = xi @ self.B, self.design.frame

        def block_hinge(block: Block) -> float:
            view = frame.view(block)
            return -view.total(view.xp.clip(view.dot(v), None, 0.0))

        return self.design.rows.map_reduce(block_hinge, add)

    def slopes(self, xi: Floats, direction: Floats, sigma: float, steps: Floats) -> Floats:
        """Return ``(M'direction)'q`` at several steps along a direction, in one pass."""
        V, frame = (np.stack([xi, direction]) @ self.B).T, self.design.frame

        def block_slopes(block: Block) -> Floats:
            view = frame.view(block)
            P = view.dot(V)
            free = 0.5 - sigma * (P[:, :1] + P[:, 1:] * view.like(steps[None, :]))
            return to_numpy(view.weighted(P[:, 1]) @ view.xp.clip(free, 0.0, 1.0))

        return self.design.rows.map_reduce(block_slopes, add)

    @property
    def shape(self) -> tuple[int, int]:  # noqa: D102
        return len(self.B), self.design.n_rows

    def project(self, xi: Floats) -> Floats:  # noqa: D102
        return self.design.dot(xi @ self.B)

    def accumulate(self, q: Floats | RowValues, moment: Floats | None = None) -> Floats:  # noqa: D102
        return self.B @ (self.design.weighted_sum(q) if moment is None else moment)

    def gram(self, index: Index) -> Floats:  # noqa: D102
        chosen = np.zeros(self.design.n_rows)
        chosen[index] = 1.0 if self.weight is None else self.weight[index]
        return self.design.gram(self.B.T, chosen)

    def take(self, index: Index) -> Floats:  # noqa: D102
        return self.sample(index)[0]

    def sample(self, index: Index) -> tuple[Floats, Floats | None]:
        """Return (columns, weights) of the rows at sorted positions."""
        block = self.design.rows.take(index)
        return np.asarray(self.design.frame.view(block).dot(self.B.T)).T, block.weight

    def lengths(self) -> Floats:  # noqa: D102
        B_t, frame = self.B.T, self.design.frame

        def norms(block: Block) -> Floats:
            view = frame.view(block)
            M_t = view.dot(B_t)
            return np.asarray(to_numpy(view.xp.sqrt(view.xp.sum(M_t * M_t, axis=1))))

        def block_norms(block: Block) -> Floats:
            if not sparse.issparse(block.X):
                return norms(block)
            # The columns of M are dense, so process fewer at a time than a sparse block has rows.
            few = block.split(max(1, BLOCK_NUMBERS // len(self.B)))
            return np.concatenate([norms(part) for part in few])

        return self.design.rows.fill(block_norms)
