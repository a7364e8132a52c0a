"""What one pass over the rows finds at a dual point and a sigma."""

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from primum._typing import Floats, Index
from primum.equations import View
from primum.rows import joined_weights, stack, to_numpy


@dataclass(frozen=True)
class Band:
    """The rows close to a hyperplane.

    ``pieces`` are (positions, design rows) of the close rows; None if there are more than the
    limit. ``sum`` is the sum of these design rows times their labels.
    """

    sum: Any
    pieces: list[tuple[Any, View]] | None
    count: int
    limit: int

    def __add__(self, other: "Band") -> "Band":
        count = self.count + other.count
        pieces = None
        if self.pieces is not None and other.pieces is not None and count <= self.limit:
            pieces = [*self.pieces, *other.pieces]
        return Band(self.sum + other.sum, pieces, count, self.limit)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the pieces as a few arrays: sending many small ones takes much longer."""
        kinds = groupby(self.pieces or (), lambda piece: _kind(piece[1]))
        packed = None if self.pieces is None else [_packed(list(some)) for _, some in kinds]
        return _unpickled, (self.sum, packed, self.count, self.limit)

    @property
    def positions(self) -> Index:
        """The positions of the close rows."""
        return np.concatenate([to_numpy(positions) for positions, _ in self.pieces or ()])

    def columns(self, B: Floats) -> tuple[Floats, Floats | None]:
        """Return the columns of M of the close rows, and their weights."""
        views = [view for _, view in self.pieces or ()]
        weight = joined_weights([(view.block.n_rows, view.block.weight) for view in views])
        M_t, start = np.empty((self.count, len(B))), 0
        for view in views:
            stop = start + view.block.n_rows
            M_t[start:stop] = to_numpy(view.dot(B.T))
            start = stop
        return M_t.T, weight

    def sum_of(self, q: Floats) -> Floats:
        """Return the sum of the close design rows times other labels."""
        total, start = np.zeros_like(self.sum), 0
        for _, view in self.pieces or ():
            stop = start + view.block.n_rows
            total += to_numpy(view.sum(view.like(q[start:stop])))
            start = stop
        return total


def _kind(view: View) -> tuple[bool, bool]:
    return view.center is None, bool(sparse.issparse(view.X))


def _packed(pieces: list[tuple[Any, View]]) -> tuple[Any, ...]:
    """Return pieces of one kind as one, with rows in single precision if that loses nothing."""
    views = [view for _, view in pieces]
    rows = stack([view.block for view in views])
    with np.errstate(over="ignore"):
        single = rows.X.astype(np.float32)
    if not (single != rows.X).sum():
        rows = replace(rows, X=single)
    positions = np.concatenate([positions for positions, _ in pieces])
    return positions, rows, views[0].frame, views[0].center


def _unpickled(total: Any, packed: list[tuple[Any, ...]] | None, count: int, limit: int) -> Band:
    if packed is None:
        return Band(total, None, count, limit)
    pieces = []
    for positions, rows, frame, center in packed:
        view = View(rows, frame)
        view.center = center
        pieces.append((positions, view))
    return Band(total, pieces, count, limit)


@dataclass(frozen=True)
class Sweep:
    """The result of one pass over the rows for a dual point Xi and a sigma.

    With ``P = M'Xi`` and ``q = project(centre - sigma p)``: the sum of the design rows times q, and
    M Q; the Gram matrix of the undecided rows for each of their directions, and the number of these
    rows; the sum of ``slack(p, q)``, and the sum of ``p.q + (q - centre)^2 / (2 sigma)``; and the
    rows close to the hyperplane, if they were asked for.
    """

    moment: Floats
    Mq: Floats
    grams: dict[int, Floats]
    inside: int
    slack: float
    inner: float
    band: Band | None = None

    @property
    def overflows(self) -> bool:
        """Whether more rows are close to the hyperplane than were to be collected."""
        return self.band is not None and self.band.pieces is None

    @property
    def can_be_solved(self) -> bool:
        """Whether the rows close to the hyperplane were collected: there are some, not many."""
        return self.band is not None and bool(self.band.pieces)


@dataclass(frozen=True)
class BlockSweep:
    """The same of a block of rows, on the device of the rows.

    ``squares`` is the sum of ``(q - centre)^2``. The sum of ``p.q`` follows from the moment.
    """

    moment: Any
    grams: dict[int, Any]
    inside: Any
    slack: Any
    squares: Any
    band: Band | None

    def __add__(self, other: "BlockSweep") -> "BlockSweep":
        grams = dict(self.grams)
        for key, gram in other.grams.items():
            grams[key] = grams[key] + gram if key in grams else gram
        return BlockSweep(
            self.moment + other.moment,
            grams,
            self.inside + other.inside,
            self.slack + other.slack,
            self.squares + other.squares,
            None if self.band is None or other.band is None else self.band + other.band,
        )


def band_of(positions: Any, rows: View, total: Any, limit: int) -> Band:
    """Return the rows of a block that are close to the hyperplane, unless there are too many."""
    count = int(positions.shape[0])
    pieces = [(positions, rows)] if count else []
    return Band(total, pieces if count <= limit else None, count, limit)
