"""Labels that are shares of several classes: points of the simplex, or of one of its faces.

    S_i = { q >= 0, sum_k q_k = 1, q_k = 0 for the classes that row i cannot have }

The nearest point to v is ``max(v - tau, 0)`` with the tau at which its entries add up to 1. With
``v_(1) >= v_(2) >= ...`` this is the maximum over k of ``(v_(1) + ... + v_(k) - 1) / k``, because
that average grows with k as long as the next entry exceeds it. At a label with the support s (the
classes with a share above 0) the derivative of the projection is ``diag(s) - s s' / |s|``.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import helmert

from primum._sklearn import library_of
from primum._typing import Floats, Index, Mask
from primum.equations import View
from primum.labellings.sets.base import PerRow

# Entries of classes that a row cannot have: below anything that the projection would keep.
IMPOSSIBLE = 1e300
# A share below this is rounding of a projection to 0.
NO_SHARE = 1e-14
# Faces are encoded as integers, one bit per class.
MOST_CLASSES = 62


@dataclass(frozen=True)
class Simplex:
    """Labels of n_classes shares that add up to 1.

    Attributes
    ----------
    n_classes : int
        Number of classes K.
    possible : array (n, K) or None
        Which classes each row can have; None: all.
    masks : PerRow or None
        From which ``at`` and ``take`` select those of some rows.
    """

    n_classes: int
    possible: Any = None
    masks: PerRow | None = None

    def __post_init__(self) -> None:
        if self.n_classes > MOST_CLASSES:
            raise ValueError(
                f"There are {self.n_classes} classes, but at most {MOST_CLASSES} can be fitted "
                "jointly: merge rare classes."
            )

    @classmethod
    def of_rows(cls, possible: Mask) -> "Simplex":
        """Return the sets of rows with the given possible classes; later rows can have all."""
        n_classes = possible.shape[1]
        return cls(n_classes, possible, PerRow(possible, np.ones(n_classes, dtype=bool)))

    @property
    def shape(self) -> tuple[int, ...]:  # noqa: D102
        return (self.n_classes,)

    @cached_property
    def contrasts(self) -> Floats:  # noqa: D102
        return _contrasts(self.n_classes)

    @cached_property
    def centre(self) -> Any:  # noqa: D102
        if self.possible is None:
            return 1.0 / self.n_classes
        xp = library_of(self.possible)
        can = xp.astype(self.possible, xp.float64)
        return can / xp.sum(can, axis=1, keepdims=True)

    def centres(self, n_rows: int) -> Floats:  # noqa: D102
        if self.masks is not None:
            return np.asarray(self.take(np.arange(n_rows)).centre)
        return np.full((n_rows, self.n_classes), 1.0 / self.n_classes)

    def project(self, v: Any) -> Any:  # noqa: D102
        return nearest_shares(v, self.possible)

    def support(self, p: Any) -> Any:  # noqa: D102
        xp = library_of(p)
        return xp.min(self._costs(p, xp), axis=1)

    def _costs(self, p: Any, xp: Any) -> Any:
        return p if self.possible is None else xp.where(self.possible, p, IMPOSSIBLE)

    def slack(self, p: Any, q: Any) -> Any:  # noqa: D102
        xp = library_of(p)
        return xp.sum((p - self.support(p)[:, None]) * q, axis=1)

    def best(self, p: Any) -> Any:  # noqa: D102
        xp = library_of(p)
        costs = self._costs(p, xp)
        least = costs == xp.min(costs, axis=1, keepdims=True)
        columns = [least[:, 0]]
        earlier = least[:, 0]
        for k in range(1, self.n_classes):  # of several such classes, the first
            columns.append(least[:, k] & ~earlier)
            earlier = earlier | least[:, k]
        return xp.astype(xp.stack(columns), xp.float64).T

    def undecided(self, p: Any, sigma: float) -> Any:  # noqa: D102
        xp = library_of(p)
        costs = self._costs(p, xp)
        # Not sigma times the difference, which would overflow for impossible classes.
        near = costs - xp.min(costs, axis=1, keepdims=True) <= 1.0 / sigma
        return xp.sum(xp.astype(near, xp.int8), axis=1, dtype=xp.int8) > 1

    def open(self, q: Any) -> Any:  # noqa: D102
        return q > NO_SHARE

    def along(self, face: Any, v: Any) -> Any:  # noqa: D102
        xp = library_of(v)
        inside = xp.astype(face, xp.float64)
        mean = xp.sum(inside * v, axis=1) / xp.sum(inside, axis=1)
        return inside * (v - mean[:, None])

    def widened(self, face: Mask, p: Floats, rows: Mask) -> Mask:  # noqa: D102
        return face | (rows[:, None] & (self.best(p) > 0))

    def tied(self, p: Floats, rounding: Any) -> Mask:  # noqa: D102
        limit = self.support(p) + rounding
        return np.asarray(self._costs(p, np) <= limit[:, None])

    def narrowed(self, index: Index, face: Mask) -> "Simplex":  # noqa: D102
        return Simplex.of_rows(face)

    def face_centres(self, face: Mask) -> Floats:  # noqa: D102
        return np.asarray(face / face.sum(axis=1, keepdims=True))

    def keys(self, face: Any) -> Any:  # noqa: D102
        xp = library_of(face)
        # Short integers are sorted faster, too.
        dtype = xp.int16 if self.n_classes < 15 else xp.int64
        bits = xp.asarray(1 << np.arange(self.n_classes), device=getattr(face, "device", None))
        marks = xp.astype(face, dtype) * xp.astype(bits, dtype)[None, :]
        keys = xp.sum(marks, axis=1, dtype=dtype)
        several = (keys & (keys - 1)) != 0
        return keys * xp.astype(several, dtype)

    def directions(self, key: int) -> Floats:  # noqa: D102
        return _directions(self.n_classes, key)

    @property
    def key_of_all(self) -> int:  # noqa: D102
        return (1 << self.n_classes) - 1 if self.masks is None else -1

    @property
    def uniform(self) -> bool:  # noqa: D102
        return self.masks is None

    def at(self, view: View) -> "Simplex":  # noqa: D102
        if self.masks is None:
            return self
        return replace(self, possible=self.masks.at(view), masks=None)

    def take(self, index: Index) -> "Simplex":  # noqa: D102
        return self if self.masks is None else Simplex.of_rows(self.masks.take(index))


def nearest_shares(v: Any, possible: Any = None) -> Any:
    """Return the point of the simplex nearest to each row of v, for any number of classes."""
    xp = library_of(v)
    columns = v.T if xp is not np else np.ascontiguousarray(v.T)
    if possible is not None:
        columns = xp.where(possible.T, columns, -IMPOSSIBLE)
    if columns.shape[0] == 2:
        shares = columns - xp.flip(columns, axis=0)
        shares *= 0.5
        shares += 0.5
        return xp.clip(shares, 0.0, 1.0).T
    # Relative to the largest entry, so that large numbers do not swallow the sum of 1.
    columns = columns - xp.max(columns, axis=0)
    if xp is not np:
        return xp.maximum(columns - _threshold(columns, xp), xp.zeros_like(columns)).T
    # The threshold is at least -1. If no other entry is above it, the largest has the whole share.
    within = columns >= -1.0
    undecided = np.flatnonzero(within.sum(axis=0, dtype=np.int16) > 1)
    if len(undecided) > 0.5 * columns.shape[1]:
        return _above(columns, _threshold_by_columns(columns)).T
    shares, some = within.astype(np.float64), columns[:, undecided]
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
    """Return the same.

    Comparing whole columns is faster than sorting many short rows, and they are sorted only as far
    as a next entry exceeds the threshold so far.
    """
    rest, spare = list(columns.copy()), np.empty(columns.shape[1])
    total = np.zeros_like(spare)
    tau = np.full_like(spare, -np.inf)
    for k in range(1, len(rest) + 1):
        for other in range(len(rest) - 1, 0, -1):  # the largest moves to the front
            one = rest[other - 1]
            np.minimum(one, rest[other], out=spare)
            np.maximum(one, rest[other], out=one)
            rest[other], spare = spare, rest[other]
        largest = rest.pop(0)
        if (largest <= tau).all():
            break
        total += largest
        np.maximum(tau, (total - 1.0) / k, out=tau)
    return tau


@lru_cache(maxsize=64)
def _contrasts(n_classes: int) -> Floats:
    return np.ascontiguousarray(helmert(n_classes).T)


@lru_cache(maxsize=4096)
def _directions(n_classes: int, key: int) -> Floats:
    """Return an orthonormal basis of the directions of a face, whose entries add up to 0."""
    support = np.flatnonzero([key >> k & 1 for k in range(n_classes)])
    basis = np.zeros((n_classes, len(support) - 1))
    basis[support] = _contrasts(len(support))
    return basis
