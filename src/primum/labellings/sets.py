"""Label sets: the labels that the unlabelled rows may have.

Every unlabelled row i has its own small convex set ``S_i`` of possible labels. A problem over
labellings, its solvers and its certificate need these members of the sets (``LabelSet``):

    shape          of one label: () for a number, (K,) for the shares of K classes
    centre, reach  c_i, the least committed label, and how far other labels can be from it
    project(v)     the label nearest to v
    best(p)        the label q with the least p.q, and slack(p, q), how much more q costs
    costs(p)       the cost of changing each entry of the best label
    open(q)        how the label q can still move: the face of S_i with q in its interior
    take(rows)     the sets of some of the rows

All else follows from these. There are two kinds: a label is a number in an interval
(``LabelInterval``), or it has a share of each of K classes (``Simplex``). The labels of n rows are
an array (n,) or (n, K). In the latter case the entries of a label add up to 1, so adding the same
number to all entries of p changes nothing: ``contrasts_of`` returns the other directions.

A face is a Boolean array of the shape of the labels: True for every entry that can still move. The
label of a row can then move in the directions E whose other entries are 0 and, for several classes,
whose entries add up to 0. The derivative of ``project`` at v is the orthogonal projection on the
directions of the face with ``project(v)`` in its interior (``along``). Rows with the same
directions are treated together, so every face has a key (``keys_of``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from primum._typing import AnyArray, Floats, Index, Mask
from primum.equations import View
from primum.rows import library_of, to_numpy

# Stands for classes that a row cannot have: minus this is below anything a projection would keep,
# and its sums with costs are still finite.
IMPOSSIBLE_ENTRY = 1e300
# A share below this is rounding of a projection to 0, which adds up a few numbers of order 1.
PROJECTION_ROUNDING = 1e-14
# Intervals shorter than this are points: squares of anything shorter underflow.
MIN_INTERVAL_LENGTH = 1e-150
# Faces are encoded as integers of 64 bits: one bit per class, one for the sign and one to spare.
MAX_CLASSES = 62
# Positions of no rows: ``take`` returns the same object for them if all rows have the same set.
NO_POSITIONS = np.zeros(0, dtype=np.intp)


class LabelSet(ABC):
    """The label sets of some rows, in order.

    One label has the ``shape`` () for a number, (K,) for K classes. ``centre`` is the least
    committed label, one for all rows or one for each. ``project(centre - sigma p)`` is the best
    label for p as soon as changing that costs more than ``reach / sigma``.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102

    @property
    @abstractmethod
    def centre(self) -> Any: ...  # noqa: D102

    @property
    @abstractmethod
    def reach(self) -> Any: ...  # noqa: D102

    @abstractmethod
    def project(self, v: Any) -> Any:
        """Return the label of each row that is nearest to v."""

    @abstractmethod
    def best(self, p: Any) -> Any:
        """Return a label q of each row with the least ``p.q``."""

    @abstractmethod
    def slack(self, p: Any, q: Any) -> Any:
        """Return ``p.q - p.best(p)`` of each row, without cancellation."""

    @abstractmethod
    def costs(self, p: Any) -> Any:
        """Return how much ``p.q`` grows per unit of change in each entry of the best label."""

    @abstractmethod
    def open(self, q: Any) -> Any:
        """Return the face of each label: True for every entry that can still move."""

    @abstractmethod
    def take(self, index: Index, convert: Callable[[AnyArray], Any] = np.asarray) -> Self:
        """Return the sets of the rows at some positions; the same object if all sets are equal.

        ``convert`` converts a NumPy array to the array library of the labels.
        """


@dataclass(frozen=True)
class PerRow:
    """Values (n, ...) of the first rows, and the value (...) of every row after them."""

    first: AnyArray
    later: AnyArray

    def take(self, index: Index) -> AnyArray:
        """Return the values of the rows at some positions."""
        values = np.empty((len(index), *self.first.shape[1:]), dtype=self.first.dtype)
        is_first = index < len(self.first)
        values[is_first] = self.first[index[is_first]]
        values[~is_first] = self.later
        return values


@dataclass(frozen=True)
class LabelInterval(LabelSet):
    """Labels in [low, high], with the same bounds for all rows or separate ones for each.

    Two classes are [0, 1]; "at least 70% positive" is [0.7, 1]; a target between 3 and 5 is [3, 5].
    ``bounds`` are pairs of them, for ``take`` to select those of some rows.
    """

    low: Any = 0.0
    high: Any = 1.0
    bounds: PerRow | None = None

    shape = ()

    @classmethod
    def of_rows(cls, bounds: Any, later: ArrayLike = (0.0, 1.0)) -> Self:
        """Return intervals from the first rows' bounds (n, 2) and the bounds of all later rows."""
        return cls(bounds[:, 0], bounds[:, 1], PerRow(bounds, np.asarray(later)))

    @cached_property
    def centre(self) -> Any:  # noqa: D102
        return 0.5 * (self.low + self.high)

    @cached_property
    def reach(self) -> Any:  # noqa: D102
        return 0.5 * (self.high - self.low)

    def project(self, v: Any) -> Any:  # noqa: D102
        if isinstance(v, np.ndarray):  # np.clip, without its overhead for short arrays
            projected = np.maximum(v, self.low)
            return np.minimum(projected, self.high, out=projected)
        return library_of(v).clip(v, self.low, self.high)

    def best(self, p: Any) -> Any:  # noqa: D102
        xp = library_of(p)
        return self.low + (self.high - self.low) * xp.astype(p < 0, xp.float64)

    def slack(self, p: Any, q: Any) -> Any:  # noqa: D102
        return library_of(p).maximum(p * (q - self.low), p * (q - self.high))

    def costs(self, p: Any) -> Any:  # noqa: D102
        return abs(p)

    def open(self, q: Any) -> Any:  # noqa: D102
        return (q > self.low) & (q < self.high)

    def take(self, index: Index, convert: Callable[[AnyArray], Any] = np.asarray) -> Self:  # noqa: D102
        if self.bounds is None:
            return self
        return self.of_rows(convert(self.bounds.take(index)), self.bounds.later)

    def near(self, low: float, high: float) -> "LabelInterval":
        """Return the parts of the intervals in [low, high]; for those outside, the nearest end."""

        def part(pairs: Any) -> Floats:
            lower, upper = np.moveaxis(np.asarray(pairs, dtype=np.float64), -1, 0)
            return np.stack([np.clip(low, lower, upper), np.clip(high, lower, upper)], axis=-1)

        if self.bounds is None:
            return LabelInterval(*part((self.low, self.high)).tolist())
        return LabelInterval.of_rows(part(self.bounds.first), part(self.bounds.later).tolist())


@dataclass(frozen=True)
class Simplex(LabelSet):
    """Labels of K shares that add up to 1, and are 0 for the classes that a row cannot have.

    With s = 1 for the classes that have a share above 0 and 0 for others, the derivative of the
    projection is ``diag(s) - s s' / |s|``, where |s| is the number of these classes.
    ``possible`` (n, K) are the classes that each row can have, None: all, and ``masks`` the same,
    for ``take`` to select those of some rows.
    """

    n_classes: int
    possible: Any = None
    masks: PerRow | None = None

    reach = 1.0

    def __post_init__(self) -> None:
        if self.n_classes > MAX_CLASSES:
            raise ValueError(
                f"There are {self.n_classes} classes, but at most {MAX_CLASSES} can be fitted "
                "jointly: merge rare classes."
            )

    @classmethod
    def of_rows(cls, possible: Any) -> Self:
        """Return the sets of rows with the given possible classes; later rows can have all."""
        n_classes = possible.shape[1]
        return cls(n_classes, possible, PerRow(possible, np.ones(n_classes, dtype=bool)))

    @property
    def shape(self) -> tuple[int, ...]:  # noqa: D102
        return (self.n_classes,)

    @cached_property
    def centre(self) -> Any:  # noqa: D102
        if self.possible is None:
            return 1.0 / self.n_classes
        xp = library_of(self.possible)
        can = xp.astype(self.possible, xp.float64)
        return can / xp.sum(can, axis=1, keepdims=True)

    def project(self, v: Any) -> Any:  # noqa: D102
        return nearest_shares(v, self.possible)

    def _with_minima(self, p: Any) -> tuple[Any, Any]:
        """Return p, with huge entries for impossible classes, and its minima as a column."""
        xp = library_of(p)
        p = p if self.possible is None else xp.where(self.possible, p, IMPOSSIBLE_ENTRY)
        return p, xp.min(p, axis=1, keepdims=True)

    def best(self, p: Any) -> Any:  # noqa: D102
        xp, (p, minima) = library_of(p), self._with_minima(p)
        least = p == minima
        columns = [least[:, 0]]
        earlier = least[:, 0]
        for k in range(1, self.n_classes):  # of several such classes, the first
            columns.append(least[:, k] & ~earlier)
            earlier = earlier | least[:, k]
        return xp.astype(xp.stack(columns), xp.float64).T

    def slack(self, p: Any, q: Any) -> Any:  # noqa: D102
        return library_of(p).sum((p - self._with_minima(p)[1]) * q, axis=1)

    def costs(self, p: Any) -> Any:  # noqa: D102
        p, minima = self._with_minima(p)
        return p - minima

    def open(self, q: Any) -> Any:  # noqa: D102
        return q > PROJECTION_ROUNDING

    def take(self, index: Index, convert: Callable[[AnyArray], Any] = np.asarray) -> Self:  # noqa: D102
        return self if self.masks is None else self.of_rows(convert(self.masks.take(index)))


def is_uniform(labels: LabelSet) -> bool:
    """Return whether all rows have the same set."""
    return labels.take(NO_POSITIONS) is labels


def sets_at(labels: LabelSet, view: View) -> LabelSet:
    """Return the label sets of a block of rows, on its device."""
    if is_uniform(labels):
        return labels
    where = view.block.where
    return labels.take(np.arange(where.start, where.stop), view.convert)


def on_face(labels: LabelSet, face: Mask) -> LabelSet:
    """Return the sets restricted to faces, one for each row that can move."""
    return Simplex.of_rows(face) if labels.shape else labels


def centres_of(labels: LabelSet, n_rows: int) -> Floats:
    """Return the least committed label of each of n rows."""
    centre = labels.take(np.arange(n_rows)).centre
    return np.full((n_rows, *labels.shape), centre, dtype=np.float64)


def tied_entries(labels: LabelSet, p: Floats, rounding: Any) -> Mask:
    """Return the entries of every label that can move at no cost, up to rounding."""
    rounding = np.reshape(rounding, (-1, 1)) if labels.shape else rounding
    return np.asarray(labels.costs(p) <= rounding)


def undecided_rows(labels: LabelSet, p: Any, sigma: float) -> Any:
    """Return the rows that ``project(centre - sigma p)`` does not decide, or only just."""
    # Not sigma times the costs, which would overflow for impossible classes.
    close = labels.costs(p) <= labels.reach / sigma
    if close.ndim == 1:
        return close
    xp = library_of(p)
    return xp.sum(xp.astype(close, xp.int8), axis=1, dtype=xp.int8) > 1


def margins_of(labels: LabelSet, p: Floats) -> Floats:
    """Return, for each row, the largest ``1 / sigma`` at which it is decided."""
    costs = labels.costs(p)
    if costs.ndim == 1:
        return np.asarray(costs / np.maximum(labels.reach, MIN_INTERVAL_LENGTH))
    return np.asarray(np.partition(costs, 1, axis=1)[:, 1])


def best_differs(labels: LabelSet, p: Any, other: Any) -> Any:
    """Return the rows whose best labels for two p differ."""
    differ = labels.best(p) != labels.best(other)
    return differ if differ.ndim == 1 else library_of(differ).any(differ, axis=1)


def any_class(labels: Floats) -> LabelSet:
    """Return the label set that allows any class, for labels (n,) of two or (n, K) of K classes."""
    return LabelInterval() if labels.ndim == 1 else Simplex(labels.shape[1])


def nearest_shares(v: Any, possible: Any = None) -> Any:
    """Return the point of the simplex nearest to each row of v, for any number of classes.

    It is ``max(v - tau, 0)`` with the tau at which its entries add up to 1. With
    ``v_(1) >= v_(2) >= ...`` this is the maximum over k of ``(v_(1) + ... + v_(k) - 1) / k``,
    because that average grows with k as long as the next entry exceeds it.
    """
    xp = library_of(v)
    columns = v.T if xp is not np else np.ascontiguousarray(v.T)
    if possible is not None:
        columns = xp.where(possible.T, columns, -IMPOSSIBLE_ENTRY)
    if columns.shape[0] == 2:
        shares = columns - xp.flip(columns, axis=0)
        shares *= 0.5
        shares += 0.5
        return xp.clip(shares, 0.0, 1.0).T
    # Taken relative to the largest entry, so that large numbers do not swallow the sum of 1.
    columns = columns - xp.max(columns, axis=0)
    if xp is not np:
        return xp.maximum(columns - _threshold(columns, xp), xp.zeros_like(columns)).T
    # The threshold is at least -1. If no other entry is above it, the largest has the whole share.
    within = columns >= -1.0
    undecided = np.flatnonzero(within.sum(axis=0, dtype=np.int16) > 1)
    if len(undecided) > 0.5 * columns.shape[1]:
        return _above(columns, _threshold_by_columns(columns)).T
    shares = within.astype(np.float64)
    some = columns[:, undecided]
    shares[:, undecided] = _above(some, _threshold_by_columns(some))
    return shares.T


def _above(columns: Floats, tau: Floats) -> Floats:
    """Return the positive part of columns above tau, in their place."""
    columns -= tau
    return np.maximum(columns, 0.0, out=columns)


def _threshold(columns: Any, xp: Any) -> Any:
    """Return tau of every label, from the entries of each class."""
    ordered = xp.cumulative_sum(xp.sort(columns, axis=0, descending=True), axis=0)
    counts = xp.arange(1, columns.shape[0] + 1, dtype=columns.dtype, device=columns.device)
    return xp.max((ordered - 1.0) / counts[:, None], axis=0)


def _threshold_by_columns(columns: Floats) -> Floats:
    """Return the same as ``_threshold``, but faster in NumPy.

    Comparing whole columns is faster than sorting many short rows, and sorting stops once no next
    entry exceeds the threshold so far.
    """
    rest, spare = list(columns.copy()), np.empty(columns.shape[1])
    total = np.zeros_like(spare)
    tau = np.full_like(spare, -np.inf)
    for k in range(1, len(rest) + 1):
        for other in range(len(rest) - 1, 0, -1):  # the largest moves to the front
            larger = rest[other - 1]
            np.minimum(larger, rest[other], out=spare)
            np.maximum(larger, rest[other], out=larger)
            rest[other], spare = spare, rest[other]
        largest = rest.pop(0)
        if (largest <= tau).all():
            break
        total += largest
        np.maximum(tau, (total - 1.0) / k, out=tau)
    return tau


def along(face: Any, v: Any) -> Any:
    """Return the part of v, one vector per row, along the directions of its face."""
    xp = library_of(v)
    inside = xp.astype(face, xp.float64)
    if v.ndim == 1:
        return v * inside
    mean = xp.sum(inside * v, axis=1) / xp.sum(inside, axis=1)
    return inside * (v - mean[:, None])


def keys_of(face: Any) -> Any:
    """Return an integer (or Boolean) per row: equal for equal directions, 0 if there are none."""
    if face.ndim == 1:
        return face
    xp = library_of(face)
    n_classes = face.shape[1]
    # Short integers, which have 15 bits and a sign, are sorted faster, too.
    dtype = xp.int16 if n_classes < 15 else xp.int64
    bits = xp.asarray(1 << np.arange(n_classes), device=getattr(face, "device", None))
    marks = xp.astype(face, dtype) * xp.astype(bits, dtype)[None, :]
    keys = xp.sum(marks, axis=1, dtype=dtype)
    several = (keys & (keys - 1)) != 0
    return keys * xp.astype(several, dtype)


def key_of_all(labels: LabelSet) -> int:
    """Return the key of rows that can move in all directions; -1 if not all rows could."""
    if not labels.shape:
        return 1
    return (1 << labels.shape[0]) - 1 if is_uniform(labels) else -1


@lru_cache(maxsize=4096)
def directions_of(shape: tuple[int, ...], key: int) -> Floats:
    """Return the orthonormal directions (K, e) of the face with the given key."""
    if not shape:
        return np.ones((1, 1))
    classes = np.flatnonzero([key >> k & 1 for k in range(shape[0])])
    basis = np.zeros((shape[0], len(classes) - 1))
    basis[classes] = contrasts_of(len(classes))
    return basis


@lru_cache(maxsize=64)
def contrasts_of(n_classes: int) -> Floats:
    """Return orthonormal columns (K, K - 1) that add up to 0."""
    return np.ascontiguousarray(helmert(n_classes).T)


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
