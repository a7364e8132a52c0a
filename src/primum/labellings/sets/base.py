"""What a label set has to answer.

Every unlabelled row i has its own small convex set ``S_i`` of possible labels. A problem over
labellings, its solvers and its certificate need to know only this of it:

    centre        c_i, the least committed label
    project(v)    the label nearest to v
    support(p)    the minimum of p.q over the labels q of S_i
    slack(p, q)   p.q - support(p), without cancellation: the row's share of the duality gap
    best(p)       a label at which the minimum is attained
    open(q)       how the label q can still move: the face of S_i that it is inside of
    along(f, v)   the part of v along the face f

The derivative of ``project`` at v is the orthogonal projection on the directions of the face that
``project(v)`` is inside of. Rows with the same directions are treated together (``faces``).

A label is one number, and the labels of n rows an array (n,), or it has K entries, one per class,
and the labels are an array (n, K). In the latter case the entries of a label add up to 1, so that
adding a number to all entries of p changes nothing: ``contrasts`` are the other directions.

A property of rows that is given for the first of them and is the same for all others.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from primum._sklearn import library_of
from primum._typing import AnyArray, Floats, Index, Mask
from primum.equations import View
from primum.rows import to_numpy


@dataclass(frozen=True)
class Face:
    """Rows whose labels can move in the same directions.

    Attributes
    ----------
    rows : array of int
        Indices of the rows.
    directions : array (K, e)
        Orthonormal directions, as columns; K is 1 if a label is one number.
    """

    rows: Index
    directions: Floats

    @property
    def freedom(self) -> int:
        """Number of free parameters of the labels of these rows."""
        return len(self.rows) * self.directions.shape[1]


class LabelSet(Protocol):
    """The label sets of some rows, in order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one label: () for a number, (K,) for K classes."""
        ...

    @property
    def contrasts(self) -> Floats | None:
        """Orthonormal columns (K, K - 1) that add up to 0; None if a label is one number."""
        ...

    @property
    def centre(self) -> Any:
        """The least committed label, of all rows or of each."""
        ...

    def centres(self, n_rows: int) -> Floats:
        """Return the least committed label of each of n rows."""
        ...

    def project(self, v: Any) -> Any:
        """Return the label of each row that is nearest to v."""
        ...

    def support(self, p: Any) -> Any:
        """Return the minimum of ``p.q`` over the labels q of each row."""
        ...

    def slack(self, p: Any, q: Any) -> Any:
        """Return ``p.q - support(p)`` of each row, without cancellation."""
        ...

    def best(self, p: Any) -> Any:
        """Return a label of each row that attains the support."""
        ...

    def undecided(self, p: Any, sigma: float) -> Any:
        """Return the rows that ``project(centre - sigma p)`` does not decide, or only just."""
        ...

    def open(self, q: Any) -> Any:
        """Return the face of each label: True for every entry that can still move."""
        ...

    def along(self, face: Any, v: Any) -> Any:
        """Return the part of v, one vector per row, that is along the directions of its face.

        With the face that ``project`` leads to, this is the derivative of ``project`` times v.
        """
        ...

    def widened(self, face: Mask, p: Floats, rows: Mask) -> Mask:
        """Return the faces, those of some rows widened by the best label for p."""
        ...

    def tied(self, p: Floats, rounding: Any) -> Mask:
        """Return the entries of every label that can move at no cost, up to rounding."""
        ...

    def narrowed(self, index: Index, face: Mask) -> "LabelSet":
        """Return the label sets of the rows at some positions, restricted to the given faces."""
        ...

    def face_centres(self, face: Mask) -> Floats:
        """Return the label of each row that is nearest to its centre, in the span of its face."""
        ...

    def keys(self, face: Any) -> Any:
        """Return an integer per row: equal for equal directions, 0 if there are none."""
        ...

    def directions(self, key: int) -> Floats:
        """Return the directions (K, e) that a key stands for."""
        ...

    @property
    def key_of_all(self) -> int:
        """The key of a row all of whose labels are still possible; -1 if rows differ."""
        ...

    @property
    def uniform(self) -> bool:
        """Whether all rows have the same set."""
        ...

    def at(self, view: View) -> "LabelSet":
        """Return the label sets of a block of rows, on its device."""
        ...

    def take(self, index: Index) -> "LabelSet":
        """Return the label sets of the rows at some positions."""
        ...


def faces_of(labels: LabelSet, face: Mask) -> list[Face]:
    """Return the rows whose labels can still move, grouped by direction."""
    if labels.contrasts is None:
        rows = face.nonzero()[0]
        return [Face(rows, labels.directions(1))] if len(rows) else []
    keys = labels.keys(face)
    return [Face(rows, labels.directions(key)) for key, rows in groups(keys, 0)]


def groups(keys: Any, skipped: int) -> list[tuple[int, Any]]:
    """Return (key, indices of the rows that have it) for every key but one."""
    order, parts = grouped(keys, skipped)
    return [(key, order[start:end]) for key, start, end in parts]


def grouped(keys: Any, skipped: int) -> tuple[Any, list[tuple[int, int, int]]]:
    """Return indices of rows, equal keys together, and (key, start, end) for every key but one."""
    xp = library_of(keys)
    if keys.dtype == xp.bool:
        rows = xp.nonzero(keys if skipped == 0 else ~keys)[0]
        return rows, [(1 - skipped, 0, int(rows.shape[0]))]
    rows = xp.nonzero(keys != skipped)[0]
    order = xp.take(rows, xp.argsort(xp.take(keys, rows, axis=0), stable=True), axis=0)
    values = to_numpy(xp.take(keys, order, axis=0))
    starts = np.flatnonzero(np.diff(values, prepend=skipped))  # no key here is the skipped one
    ends = np.append(starts[1:], len(values)) if len(starts) else starts
    parts = zip(values[starts].tolist(), starts.tolist(), ends.tolist(), strict=True)
    return order, list(parts)


@dataclass(frozen=True)
class PerRow:
    """Values of the first rows, and the value of all rows after them.

    Attributes
    ----------
    first : array (n, ...)
        One value for each of the first rows.
    later : array (...)
        The value of every row after them.
    """

    first: AnyArray
    later: AnyArray

    def take(self, index: Index) -> AnyArray:
        """Return the values of the rows at some positions."""
        index = np.asarray(index)
        values = np.empty((len(index), *self.first.shape[1:]), dtype=self.first.dtype)
        known = index < len(self.first)
        values[known] = self.first[index[known]]
        values[~known] = self.later
        return values

    def at(self, view: View) -> Any:
        """Return the values of a block of rows, on its device."""
        where = view.block.where
        return view.like(self.take(np.arange(where.start, where.stop)))
