"""The matrix ``M = B X_u'`` of a label problem: formed when small, never when large.

A solver needs four products: ``M'Xi``, ``M Q``, ``M_J M_J'`` and ``M_J``. Every row of X_u
has a weight, which multiplies q and the Gram matrix. A proof needs two sums over the rows, which
bound the optimum from both sides. With several classes Xi is (r, K) and Q is (U, K), otherwise both
have one axis.

Sums over the columns of M that follow from the normal equations, without a pass over the rows.

In the coordinates of ``coordinates.py``, the rows z of all data satisfy ``sum w z z' = I``, less
the ridge; subtracting the labelled rows leaves the sum over the unlabelled ones. With an intercept,
the first entry of every z is ``c = n^(-1/2)``, n being the weight of all data, so the first row of
``sum w z z'`` is ``c sum w z'``: the sum of the rows is known, too.

Inner products of the columns of M, remembered from one Newton step to the next.

The undecided rows change little between two steps, so most of ``M_J'M_J`` is known already, and
selecting it takes a fraction of the time of computing it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from primum._sklearn import library_of
from primum._typing import Floats, Index
from primum.equations import Design, GivenLabels, RowValues, View
from primum.labellings.labelling import HyperplaneLabels, duality_gap, scores_of, towards, weighted
from primum.labellings.sets import LabelSet, grouped, key_of_all, keys_of
from primum.labellings.sweep import BlockSweep, Sweep, band_of
from primum.rows import BLOCK_NUMBERS, Block, to_numpy


@dataclass(frozen=True)
class KnownSums:
    """The weighted sums ``M 1`` (None if there is no intercept) and ``M M'``."""

    of_columns: Floats | None
    gram: Floats

    def scaled(self, factor: Floats) -> "KnownSums":
        """Return the sums of M with each of its r dimensions multiplied by a factor."""
        of_columns = None if self.of_columns is None else factor * self.of_columns
        return KnownSums(of_columns, np.outer(factor, factor) * self.gram)

    def first(self, r: int) -> "KnownSums":
        """Return the sums of the first r dimensions of M."""
        of_columns = None if self.of_columns is None else self.of_columns[:r]
        return KnownSums(of_columns, self.gram[:r, :r])


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
        """Return ``M'Xi``, one number per row and class."""
        ...

    def accumulate(self, q: Floats | RowValues, moment: Floats | None = None) -> Floats:
        """Return ``M Q``, with rows weighted; ``moment`` is X_u'Q, if it is known."""
        ...

    def sum_of_all(self) -> Floats:
        """Return ``M 1``, with rows weighted."""
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

    def gaps(self, labels: LabelSet, duals: Floats, q: Floats | RowValues) -> Floats:
        """Return the weighted sum of ``slack(p, q)``, ``P = M'Xi``, for every Xi of duals."""
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


def columns_of(
    B: Floats, design: Design, known: Callable[[], KnownSums | None] | None = None
) -> Columns:
    """Return M in the form that suits its size.

    ``known`` computes sums over all columns without a pass, or returns None if that would lose
    accuracy. It is only called if M is not formed.
    """
    r, n = len(B), design.n_rows
    few_rows = n <= FEW_ROWS * r and design.rows.in_memory
    limit = FORM_UP_TO * (FORM_FEW_ROWS if few_rows else 1)
    if r * n <= limit and (n <= FORM_ROWS_UP_TO or few_rows):
        # Rows of M' are read one at a time, so each is contiguous in memory.
        return FormedColumns(design.dot(B.T).T, design.rows.weight)
    return StreamedColumns(B, design, None if known is None else known())


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
        return np.dot(xi.T, self.matrix).T if xi.ndim > 1 else self.matrix.T @ xi

    def accumulate(self, q: Any, moment: Floats | None = None) -> Floats:  # noqa: D102
        self._passes += 1
        q = weighted(q, self.weight)
        return np.dot(q.T, self.matrix.T).T if q.ndim > 1 else self.matrix @ q

    def sum_of_all(self) -> Floats:  # noqa: D102
        return self.accumulate(np.ones(self.shape[1]))

    def gram(self, index: Index) -> Floats:  # noqa: D102
        M = self.take(index)
        if self.weight is not None:
            M = M * np.sqrt(self.weight[index])
        return M @ M.T

    def take(self, index: Index) -> Floats:  # noqa: D102
        self._passes += 1
        return self.matrix[:, index]

    @cached_property
    def row_products(self) -> RowProducts:
        """Inner products of the columns, not weighted."""
        return RowProducts(self.matrix)

    def lengths(self) -> Floats:  # noqa: D102
        self._passes += 1
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", self.matrix, self.matrix)))

    def gaps(self, labels: LabelSet, duals: Floats, q: Any) -> Floats:  # noqa: D102
        self._passes += 1
        return np.array([duality_gap(labels, self.matrix.T @ xi, q, self.weight) for xi in duals])

    @cached_property
    def gram_of_all(self) -> Floats:  # noqa: D102
        self._passes += 1
        return (self.matrix if self.weight is None else self.matrix * self.weight) @ self.matrix.T

    def scaled(self, factor: Floats) -> "FormedColumns":  # noqa: D102
        return FormedColumns(factor[:, None] * self.matrix, self.weight)

    def first(self, r: int) -> "FormedColumns":  # noqa: D102
        return FormedColumns(self.matrix[:r], self.weight)


class StreamedColumns:
    """M computed from the rows, one block at a time. ``known`` are sums over its columns."""

    def __init__(self, B: Floats, design: Design, known: KnownSums | None = None) -> None:
        self.B = B
        self.design = design
        self.known = known
        self._sum_of_all: Floats | None = None

    @property
    def passes(self) -> int:
        """Number of passes over the rows so far, for any purpose."""
        return self.design.rows.passes

    @property
    def weight(self) -> Floats | None:  # noqa: D102
        return self.design.rows.weight

    def sweep(
        self,
        labels: LabelSet,
        xi: Floats,
        sigma: float,
        mostly_inside: bool = False,
        close: tuple[float, int] | None = None,
        rough: bool = False,
    ) -> Sweep:
        """Compute everything that a Newton step needs, in one pass.

        If the labels of most rows can move in all directions, it is cheaper to subtract the others
        from the Gram matrix of all rows, which is computed once. ``close`` are (sigma, limit): the
        rows that this sigma does not decide are collected, unless there are more than the limit.
        If ``rough`` is True, products with rows in single precision are in single precision.
        """
        V, frame, main = self.B.T @ xi, self.design.frame, key_of_all(labels)
        skipped = main if mostly_inside and main > 0 else 0
        all_but_last = xi.ndim > 1 and self._sum_of_all is not None

        def block_sweep(block: Block) -> BlockSweep:
            view = frame.view(block, rough=rough)
            here, p = labels.at(view), scores_of(view, V)
            q = here.project(towards(here, -sigma, p))
            rows, chosen, band = view, None, None
            if close is not None:
                # Rows outside the band cannot move and have no slack.
                chosen = view.xp.nonzero(here.undecided(p, close[0]))[0]
                rows, q_of_rows = view.pick(chosen), view.xp.take(q, chosen, axis=0)
                band = band_of(block.start + chosen, rows, rows.sum(q_of_rows), close[1])
            face, slack = _faces_and_slacks(here, p, q, chosen, alike=labels.uniform)
            keys, off = keys_of(face), q - here.centre
            return BlockSweep(
                view.sum(q[:, :-1] if all_but_last else q),
                self._grams(rows, keys, skipped),
                view.xp.count_nonzero(keys),
                rows.total(slack),
                view.product(off, off),
                band,
            )

        total = self.design.rows.map_reduce(block_sweep, add)
        moment = self._of_all_classes(to_numpy(total.moment), xi.ndim, rough)
        return Sweep(
            moment,
            self.B @ moment,
            self._moving(total.grams, skipped),
            int(total.inside),
            float(total.slack),
            float(np.vdot(V, moment)) + float(total.squares) / (2 * sigma),
            total.band and replace(total.band, sum=to_numpy(total.band.sum)),
        )

    def _moving(self, grams: dict[int, Any], skipped: int) -> dict[int, Floats]:
        """Return the Gram matrices of the rows that can move, the skipped one by subtraction."""
        found = {key: to_numpy(gram) for key, gram in grams.items()}
        if skipped:
            rest = sum(found.values(), np.zeros_like(self.gram_of_all))
            found[skipped] = self.gram_of_all - rest
        return {key: gram for key, gram in found.items() if key}

    def _of_all_classes(self, moment: Floats, ndim: int, rough: bool) -> Floats:
        """Return the sums of all classes; they add up to X'1, so the last follows from others."""
        if ndim == 1:
            return moment
        if self._sum_of_all is None:
            # Sums in single precision are no basis for later ones in double precision.
            self._sum_of_all = None if rough else moment.sum(axis=1)
            return moment
        return np.column_stack([moment, self._sum_of_all - moment.sum(axis=1)])

    def _grams(self, view: View, keys: Any, skipped: int) -> dict[int, Any]:
        """Return the Gram matrix of the rows of every key but one."""
        order, parts = grouped(keys, skipped)
        chosen = view.pick(order)
        M_t = chosen.dot(self.B.T)
        weighted = chosen.weighted(M_t)
        return {
            key: weighted[start:end, :].T @ M_t[start:end, :]
            for key, start, end in parts
            if end > start
        }

    @cached_property
    def gram_of_all(self) -> Floats:  # noqa: D102
        if self.known is not None:
            return self.known.gram
        B_t, frame = self.B.T, self.design.frame

        def block_gram(block: Block) -> Any:
            view = frame.view(block)
            M_t = view.dot(B_t)
            return view.weighted(M_t).T @ M_t

        return np.asarray(to_numpy(self.design.rows.map_reduce(block_gram, add)))

    def measure(self, labels: LabelSet, xi: Floats, q: HyperplaneLabels) -> tuple[Floats, float]:
        """Return the sum of the design rows times q, and the sum of the slacks at Xi: one pass."""
        normal, frame, n_entries = self.B.T @ xi, self.design.frame, int(np.prod(labels.shape))
        V = np.concatenate([part.reshape(-1, n_entries) for part in (normal, q.V)], axis=1)

        def block_sums(block: Block) -> Any:
            view = frame.view(block)
            xp, P = view.xp, view.dot_by_column(V)
            p, on_plane = P[:n_entries, :].T, P[n_entries:, :].T
            if not labels.shape:
                p, on_plane = p[:, 0], on_plane[:, 0]
            of_rows = q.given(view, on_plane)
            slack = view.total(labels.at(view).slack(p, of_rows))
            return xp.concat([xp.reshape(view.sum(of_rows), (-1,)), slack[None]])

        sums = to_numpy(self.design.rows.map_reduce(block_sums, add))
        return sums[:-1].reshape(normal.shape), float(sums[-1])

    def gaps(self, labels: LabelSet, duals: Floats, q: Floats | RowValues) -> Floats:  # noqa: D102
        # All duals side by side, so that one product with the rows serves all of them.
        V = np.concatenate([(self.B.T @ xi).reshape(self.B.shape[1], -1) for xi in duals], axis=1)
        frame, n_entries = self.design.frame, int(np.prod(labels.shape))
        of_rows = GivenLabels(q) if isinstance(q, np.ndarray) else q

        def block_gaps(block: Block) -> Any:
            view = frame.view(block)
            here, q, P = labels.at(view), of_rows(view), view.dot_by_column(V)
            parts = (P[k : k + n_entries, :].T for k in range(0, P.shape[0], n_entries))
            return view.xp.stack(
                [view.total(here.slack(p if labels.shape else p[:, 0], q)) for p in parts]
            )

        return np.asarray(to_numpy(self.design.rows.map_reduce(block_gaps, add)))

    def scaled(self, factor: Floats) -> "StreamedColumns":  # noqa: D102
        known = None if self.known is None else self.known.scaled(factor)
        return StreamedColumns(factor[:, None] * self.B, self.design, known)

    def first(self, r: int) -> "StreamedColumns":  # noqa: D102
        known = None if self.known is None else self.known.first(r)
        return StreamedColumns(self.B[:r], self.design, known)

    def slopes(
        self, labels: LabelSet, xi: Floats, direction: Floats, sigma: float, steps: Floats
    ) -> Floats:
        """Return ``<direction, M Q>`` at ``Xi + step direction`` for several steps, in one pass."""
        V, along, frame = self.B.T @ xi, self.B.T @ direction, self.design.frame

        def block_slopes(block: Block) -> Any:
            view = frame.view(block)
            here, p, change = labels.at(view), scores_of(view, V), scores_of(view, along)
            slopes = []
            for step in steps.tolist():
                q = here.project(here.centre - sigma * (p + step * change))
                slopes.append(view.total(change * q))
            return view.xp.stack(slopes)

        return np.asarray(to_numpy(self.design.rows.map_reduce(block_slopes, add)))

    @property
    def shape(self) -> tuple[int, int]:  # noqa: D102
        return len(self.B), self.design.n_rows

    def project(self, xi: Floats) -> Floats:  # noqa: D102
        return self.design.dot(self.B.T @ xi)

    def accumulate(self, q: Floats | RowValues, moment: Floats | None = None) -> Floats:  # noqa: D102
        return self.B @ (self.design.weighted_sum(q) if moment is None else moment)

    def sum_of_all(self) -> Floats:  # noqa: D102
        return self.accumulate(lambda view: view.like(np.ones(view.block.n_rows)))

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


def _faces_and_slacks(
    labels: LabelSet, p: Any, q: Any, chosen: Any, *, alike: bool
) -> tuple[Any, Any]:
    """Return the faces and the slacks of chosen rows (None: of all rows).

    If all rows have the same label set (``alike``), nothing is computed for the other rows.
    """
    if chosen is None:
        return labels.open(q), labels.slack(p, q)
    take = library_of(q).take
    if alike:
        p, q = take(p, chosen, axis=0), take(q, chosen, axis=0)
        return labels.open(q), labels.slack(p, q)
    return take(labels.open(q), chosen, axis=0), take(labels.slack(p, q), chosen, axis=0)
