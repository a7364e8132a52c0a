"""The matrix ``M = B X_u'`` of many rows, never formed but applied by passes over the rows.

A solver for many rows should make few passes, so a pass computes as much as possible (``sweep``):
at a dual point Xi and a sigma, everything that a Newton step needs, and the rows close to the
hyperplane ``p = 0``, whose labels can then be solved for in memory.

Two sums over the columns of M follow from the normal equations, without a pass (``ColumnSums``). In
the coordinates of ``coordinates.py``, the rows z of all data satisfy ``sum w z z' = I``, less the
ridge; subtracting the labelled rows leaves the sum over the unlabelled ones. With an intercept, the
first entry of every z is ``c = n^(-1/2)``, n being the weight of all data, so the first row of
``sum w z z'`` is ``c sum w z'``: the sum of the rows is known, too.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from primum._typing import Floats, Index
from primum.equations import Design, Frame, GivenLabels, View
from primum.labellings.labelling import HyperplaneLabels, Labelling, nearest, scores_of
from primum.labellings.problem import solved
from primum.labellings.sets import (
    LabelSet,
    best_differs,
    grouped,
    is_uniform,
    key_of_all,
    keys_of,
    sets_at,
    undecided_rows,
)
from primum.rows import BLOCK_NUMBERS, Block, joined_weights, library_of, stack, to_numpy

# Values of p that differ by less than this fraction of the largest count as equal: copies of a row
# in two blocks differ by rounding.
EQUAL_P = 1e-11
# Positions, rows, frame and centre of the pieces of a band, as sent between processes.
Packed = tuple[Index, Block, Frame, Floats | None]


@dataclass(frozen=True)
class ColumnSums:
    """The weighted sums ``M 1`` (None if there is no intercept) and ``M M'``."""

    of_columns: Floats | None
    gram: Floats

    def scaled(self, factor: Floats) -> "ColumnSums":
        """Return the sums of the first dimensions of M, each multiplied by its factor."""
        r = len(factor)
        of_columns = None if self.of_columns is None else factor * self.of_columns[:r]
        return ColumnSums(of_columns, np.outer(factor, factor) * self.gram[:r, :r])


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
        """Return the columns of M that belong to the close rows, and their weights."""
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
            total += to_numpy(view.sum(view.convert(q[start:stop])))
            start = stop
        return total


def _kind(view: View) -> tuple[bool, bool]:
    return view.center is None, bool(sparse.issparse(view.X))


def _packed(pieces: list[tuple[Any, View]]) -> Packed:
    """Return pieces of one kind as one, with rows in single precision if nothing is lost."""
    views = [view for _, view in pieces]
    rows = stack([view.block for view in views])
    with np.errstate(over="ignore"):
        single = rows.X.astype(np.float32)
    if not (single != rows.X).sum():
        rows = replace(rows, X=single)
    positions = np.concatenate([positions for positions, _ in pieces])
    return positions, rows, views[0].frame, views[0].center


def _unpickled(total: Any, packed: list[Packed] | None, count: int, limit: int) -> Band:
    if packed is None:
        return Band(total, None, count, limit)
    pieces = []
    for positions, rows, frame, center in packed:
        view = View(rows, frame, as_is=True)
        view.center = center
        pieces.append((positions, view))
    return Band(total, pieces, count, limit)


@dataclass(frozen=True)
class SweptPoint:
    """A dual point Xi and a sigma, and the result of one pass over the rows there.

    With ``P = M'Xi`` and ``q = project(centre - sigma p)``: the sum of the design rows times q, and
    M Q; the Gram matrix of the undecided rows for each of their directions, and the number of these
    rows; the sum of ``slack(p, q)``, and the sum of ``p.q + (q - centre)^2 / (2 sigma)``; and, on
    request, the rows close to the hyperplane, those undecided at ``sigma / width``. ``from_band``
    is True if Xi results from labels solved for in a band, and so is closer to the optimum than the
    path is.
    """

    xi: Floats
    sigma: float
    moment: Floats
    Mq: Floats
    grams: dict[int, Floats]
    inside: int
    slack: float
    inner: float
    band: Band | None = None
    width: float = 1.0
    from_band: bool = False

    @property
    def overflows(self) -> bool:
        """Whether more rows are close to the hyperplane than may be collected."""
        return self.band is not None and self.band.pieces is None

    @property
    def can_be_solved(self) -> bool:
        """Whether rows close to the hyperplane were collected: there are some, but not too many."""
        return self.band is not None and bool(self.band.pieces)


@dataclass(frozen=True)
class BlockSweep:
    """The result of a pass for one block of rows, on its device.

    ``squares`` is the sum of ``(q - centre)^2``. The sum of ``p.q`` follows from the moment.
    """

    moment: Any
    grams: dict[int, Any]
    inside: Any
    slack: Any
    squares: Any
    band: Band | None

    def __add__(self, other: "BlockSweep") -> "BlockSweep":
        keys = self.grams | other.grams
        grams = {key: self.grams.get(key, 0.0) + other.grams.get(key, 0.0) for key in keys}
        return BlockSweep(
            self.moment + other.moment,
            grams,
            self.inside + other.inside,
            self.slack + other.slack,
            self.squares + other.squares,
            None if self.band is None or other.band is None else self.band + other.band,
        )


@dataclass(frozen=True)
class RowSelection:
    """Which rows a pass collects: those undecided at ``sigma``, and those that changed sides.

    If there are more rows than the limit, none are collected. ``before`` and ``sigma_before`` are
    another dual point: rows that are on another side there are collected, too. ``common`` are keys
    of faces with too many rows: rows whose labels are on them are not collected, unless they were
    on another face before. ``apart`` are sorted values of p, of its first entry for several
    classes: rows with one of these values, up to rounding, are not collected.
    """

    sigma: float
    limit: int
    before: Floats | None = None
    sigma_before: float = 0.0
    common: tuple[int, ...] = ()
    apart: Floats = field(default_factory=lambda: np.zeros(0))

    def rows(self, labels: LabelSet, p: Any, p_before: Any | None, keys: Any) -> Any:
        """Return the indices of the rows of a block to collect; ``keys`` are those of all faces."""
        close = undecided_rows(labels, p, self.sigma)
        if p_before is not None:
            close = close | best_differs(labels, p, p_before)
        for key in self.common:
            close = close & (keys != key)
        if self.common and p_before is not None:
            q_before = labels.project(labels.centre - self.sigma_before * p_before)
            close = close | (keys != keys_of(labels.open(q_before)))
        xp = library_of(p)
        chosen = xp.nonzero(close)[0]
        if not len(self.apart):
            return chosen
        first = to_numpy(xp.take(p if p.ndim == 1 else p[:, 0], chosen, axis=0))
        off = np.abs(self.apart[nearest(self.apart, first)] - first)
        kept = np.flatnonzero(off > EQUAL_P * max(float(np.abs(first).max(initial=0.0)), 1e-300))
        return xp.take(chosen, xp.asarray(kept, device=getattr(p, "device", None)), axis=0)


def band_of(positions: Any, rows: View, total: Any, limit: int) -> Band:
    """Return the rows of a block that are close to the hyperplane, unless there are too many."""
    count = int(positions.shape[0])
    pieces = [(positions, rows)] if count else []
    return Band(total, pieces if count <= limit else None, count, limit)


class StreamedColumns:
    """M computed from the rows, one block at a time. ``sums`` are sums over its columns."""

    def __init__(self, B: Floats, design: Design, sums: ColumnSums | None = None) -> None:
        self.B, self.design, self.sums = B, design, sums
        self.shape, self.weight = (len(B), design.rows.n_rows), design.rows.weight
        self._sum_of_all: Floats | None = None

    @property
    def streamed(self) -> "StreamedColumns":
        """The matrix itself, for solvers that need few passes."""
        return self

    @property
    def passes(self) -> int:
        """Number of passes over the rows so far, for any purpose."""
        return self.design.rows.passes

    def project(self, xi: Floats) -> Floats:
        """Return ``M'Xi``, one number per row and class: one pass."""
        return self.design.dot(self.B.T @ xi)

    def accumulate(self, q: Floats | Labelling, moment: Floats | None = None) -> Floats:
        """Return ``M Q``, with rows weighted: one pass, unless X_u'Q is known as moment."""
        return self.B @ (self.design.weighted_sum(q) if moment is None else moment)

    def gaps(self, labels: LabelSet, duals: Floats, q: Floats | Labelling) -> Floats:
        """Return the weighted sum of ``slack(p, q)``, ``P = M'Xi``, for every Xi: one pass."""
        # All duals are side by side, so that one product with the rows serves all of them.
        V = np.concatenate([(self.B.T @ xi).reshape(self.B.shape[1], -1) for xi in duals], axis=1)
        n_entries = int(np.prod(labels.shape))
        of_rows = GivenLabels(q) if isinstance(q, np.ndarray) else q

        def gaps_of(view: View) -> Any:
            here, q, P = sets_at(labels, view), of_rows(view), view.dot(V, by_column=True)
            parts = (P[k : k + n_entries, :].T for k in range(0, P.shape[0], n_entries))
            return view.xp.stack(
                [view.total(here.slack(p if labels.shape else p[:, 0], q)) for p in parts]
            )

        return np.asarray(to_numpy(self.design.add_up(gaps_of)))

    def take(self, index: Index) -> Floats:
        """Return ``M_J``, not weighted."""
        view = View(self.design.rows.take(index), self.design.frame)
        return np.asarray(view.dot(self.B.T)).T

    def products(self, index: Index) -> Floats:
        """Return ``M_J'M_J``, not weighted."""
        M = self.take(index)
        return M.T @ M

    def gram(self, index: Index | None = None) -> Floats:
        """Return ``M_J M_J'``, with rows weighted; None: that of all rows."""
        if index is None:
            return self._gram_of_all
        chosen = np.zeros(self.design.rows.n_rows)
        chosen[index] = 1.0 if self.weight is None else self.weight[index]
        return self.design.gram(self.B.T, chosen)

    @cached_property
    def _gram_of_all(self) -> Floats:
        if self.sums is not None:
            return self.sums.gram
        B_t = self.B.T

        def gram_of(view: View) -> Any:
            M_t = view.dot(B_t)
            return view.weighted(M_t).T @ M_t

        return np.asarray(to_numpy(self.design.add_up(gram_of)))

    def lengths(self) -> Floats:
        """Return the length of every column: one pass."""
        B_t, frame = self.B.T, self.design.frame

        def lengths_of(block: Block) -> Floats:
            view = View(block, frame)
            M_t = view.dot(B_t)
            return np.asarray(to_numpy(view.xp.sqrt(view.xp.sum(M_t * M_t, axis=1))))

        def in_parts(block: Block) -> Floats:
            if not sparse.issparse(block.X):
                return lengths_of(block)
            # The columns of M are dense, so process fewer at a time than a sparse block has rows.
            few = block.split(max(1, BLOCK_NUMBERS // B_t.shape[1]))
            return np.concatenate([lengths_of(part) for part in few])

        return self.design.rows.fill(in_parts)

    def scaled(self, factor: Floats) -> "StreamedColumns":
        """Return the first dimensions of M, each multiplied by its factor."""
        sums = None if self.sums is None else self.sums.scaled(factor)
        return StreamedColumns(factor[:, None] * self.B[: len(factor)], self.design, sums)

    def ones(self) -> Floats | None:
        """Return u with ``M'u = 1`` for every row, if there is one."""
        if not self.design.frame.fit_intercept:
            return None
        first = np.zeros(self.B.shape[1])
        first[0] = 1.0
        return solved(self.B.T, first)

    def with_ones(self, entry: float) -> "StreamedColumns":
        """Return M with a further row of equal entries."""
        frame = self.design.frame
        design = Design(self.design.rows, Frame(frame.center, True, frame.near))
        B = np.hstack([np.zeros((len(self.B), int(not frame.fit_intercept))), self.B])
        row = np.zeros((1, B.shape[1]))
        row[0, 0] = entry
        return StreamedColumns(np.vstack([B, row]), design)

    def measure(self, labels: LabelSet, xi: Floats, q: HyperplaneLabels) -> tuple[Floats, float]:
        """Return the sum of the design rows times q, and the sum of the slacks at Xi: one pass."""
        normal, n_entries = self.B.T @ xi, int(np.prod(labels.shape))
        V = np.concatenate([part.reshape(-1, n_entries) for part in (normal, q.V)], axis=1)

        def sums_of(view: View) -> Any:
            xp, P = view.xp, view.dot(V, by_column=True)
            p, on_plane = P[:n_entries, :].T, P[n_entries:, :].T
            if not labels.shape:
                p, on_plane = p[:, 0], on_plane[:, 0]
            of_rows = q.from_p(view, on_plane)
            slack = view.total(sets_at(labels, view).slack(p, of_rows))
            return xp.concat([xp.reshape(view.sum(of_rows), (-1,)), slack[None]])

        sums = to_numpy(self.design.add_up(sums_of))
        return sums[:-1].reshape(normal.shape), float(sums[-1])

    def slopes(
        self, labels: LabelSet, xi: Floats, direction: Floats, sigma: float, steps: Floats
    ) -> Floats:
        """Return ``<direction, M Q>`` at ``Xi + step direction`` for several steps, in one pass."""
        V, along = self.B.T @ xi, self.B.T @ direction

        def slopes_of(view: View) -> Any:
            here, p, change = sets_at(labels, view), scores_of(view, V), scores_of(view, along)
            slopes = []
            for step in steps.tolist():
                q = here.project(here.centre - sigma * (p + step * change))
                slopes.append(view.total(change * q))
            return view.xp.stack(slopes)

        return np.asarray(to_numpy(self.design.add_up(slopes_of)))

    def sweep(
        self,
        labels: LabelSet,
        xi: Floats,
        sigma: float,
        mostly_inside: bool = False,
        close: tuple[float, int] | None = None,
        rough: bool = False,
    ) -> SweptPoint:
        """Compute everything that a Newton step needs, in one pass.

        If the labels of most rows can move in all directions, it is cheaper to subtract the others
        from the Gram matrix of all rows, which is computed once. ``close`` are (sigma, limit): the
        rows that this sigma does not decide are collected, unless there are more than the limit.
        If ``rough`` is True, products with rows in single precision are in single precision.
        """
        V, B_t, main = self.B.T @ xi, self.B.T, key_of_all(labels)
        skipped = main if mostly_inside and main > 0 else 0
        all_but_last = xi.ndim > 1 and self._sum_of_all is not None
        alike = is_uniform(labels)

        def sweep_of(view: View) -> BlockSweep:
            here, p = sets_at(labels, view), scores_of(view, V)
            v = -sigma * p
            v += here.centre  # with as few temporary arrays as possible
            q = here.project(v)
            off = q - here.centre
            moment = view.sum(q[:, :-1] if all_but_last else q)
            squares = view.product(off, off)
            rows, band, take = view, None, view.xp.take
            if close is None:
                face, slack = here.open(q), here.slack(p, q)
            else:
                # Rows outside the band cannot move and have no slack: if all rows have the same
                # label set, nothing is computed for them.
                chosen = view.xp.nonzero(undecided_rows(here, p, close[0]))[0]
                rows, q_of_rows = view.pick(chosen), take(q, chosen, axis=0)
                band = band_of(view.block.start + chosen, rows, rows.sum(q_of_rows), close[1])
                if alike:
                    face = here.open(q_of_rows)
                    slack = here.slack(take(p, chosen, axis=0), q_of_rows)
                else:
                    face = take(here.open(q), chosen, axis=0)
                    slack = take(here.slack(p, q), chosen, axis=0)
            # The Gram matrix of the rows of every key but one.
            keys = keys_of(face)
            order, parts = grouped(keys, skipped)
            in_order = rows.pick(order)
            M_t = in_order.dot(B_t)
            weighted = in_order.weighted(M_t)
            grams = {
                key: weighted[start:end, :].T @ M_t[start:end, :]
                for key, start, end in parts
                if end > start
            }
            inside = view.xp.count_nonzero(keys)
            return BlockSweep(moment, grams, inside, rows.total(slack), squares, band)

        total = self.design.add_up(sweep_of, rough=rough)
        moment = to_numpy(total.moment)
        if xi.ndim > 1 and self._sum_of_all is None:
            # Sums in single precision are no basis for later ones in double precision.
            self._sum_of_all = None if rough else moment.sum(axis=1)
        elif xi.ndim > 1:  # the sums of all classes add up to X'1: the last follows from the rest
            moment = np.column_stack([moment, self._sum_of_all - moment.sum(axis=1)])
        # Of the rows that can move; the Gram matrix that was skipped follows by subtraction.
        grams = {key: to_numpy(gram) for key, gram in total.grams.items()}
        if skipped:
            grams[skipped] = self.gram() - sum(grams.values(), np.zeros_like(self.gram()))
        grams = {key: gram for key, gram in grams.items() if key}
        return self._swept(xi, sigma, total, moment, grams)

    def look(self, labels: LabelSet, xi: Floats, sigma: float, close: RowSelection) -> SweptPoint:
        """Compute what ``sweep`` does except the Gram matrices, and collect rows: one pass."""
        V = self.B.T @ xi
        V_before = None if close.before is None else self.B.T @ close.before

        def look_at(view: View) -> BlockSweep:
            here, p = sets_at(labels, view), scores_of(view, V)
            q = here.project(here.centre - sigma * p)
            p_before = None if V_before is None else scores_of(view, V_before)
            keys = keys_of(here.open(q))
            chosen = close.rows(here, p, p_before, keys)
            rows, off = view.pick(chosen), q - here.centre
            total = rows.sum(view.xp.take(q, chosen, axis=0))
            return BlockSweep(
                view.sum(q),
                {},
                view.xp.count_nonzero(keys),
                view.total(here.slack(p, q)),
                view.product(off, off),
                band_of(view.block.start + chosen, rows, total, close.limit),
            )

        total = self.design.add_up(look_at)
        return self._swept(xi, sigma, total, to_numpy(total.moment), {})

    def _swept(
        self, xi: Floats, sigma: float, total: BlockSweep, moment: Floats, grams: dict[int, Floats]
    ) -> SweptPoint:
        """Return the result of a pass, given the sum of the results of all blocks."""
        return SweptPoint(
            xi,
            sigma,
            moment,
            self.B @ moment,
            grams,
            int(total.inside),
            float(total.slack),
            float(np.vdot(self.B.T @ xi, moment)) + float(total.squares) / (2 * sigma),
            total.band and replace(total.band, sum=to_numpy(total.band.sum)),
        )
