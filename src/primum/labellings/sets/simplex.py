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

from primum._typing import AnyArray, Floats, Index, Mask
from primum.equations import View
from primum.labellings.sets.base import array_library
from primum.labellings.sets.per_row import PerRow

# Up to this many classes, entries are sorted by comparing whole columns, which is faster than
# sorting many short rows.
NETWORK_UP_TO = 12
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
                f"There are {self.n_classes} classes, but a joint problem knows at most "
                f"{MOST_CLASSES}: merge rare classes."
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
        xp = array_library(self.possible)
        can = xp.astype(self.possible, xp.float64)
        return can / xp.sum(can, axis=1, keepdims=True)

    def centres(self, n_rows: int) -> Floats:  # noqa: D102
        if self.masks is not None:
            return np.asarray(self.take(np.arange(n_rows)).centre)
        return np.full((n_rows, self.n_classes), 1.0 / self.n_classes)

    def project(self, v: Any) -> Any:  # noqa: D102
        return nearest_shares(v, self.possible)

    def support(self, p: Any) -> Any:  # noqa: D102
        xp = array_library(p)
        return xp.min(self._costs(p, xp), axis=1)

    def _costs(self, p: Any, xp: Any) -> Any:
        return p if self.possible is None else xp.where(self.possible, p, IMPOSSIBLE)

    def slack(self, p: Any, q: Any) -> Any:  # noqa: D102
        xp = array_library(p)
        return xp.sum((p - self.support(p)[:, None]) * q, axis=1)

    def best(self, p: Any) -> Any:  # noqa: D102
        xp = array_library(p)
        first = xp.argmin(self._costs(p, xp), axis=1)
        classes = xp.arange(self.n_classes, device=getattr(p, "device", None))
        return xp.astype(first[:, None] == classes[None, :], xp.float64)

    def undecided(self, p: Any, sigma: float) -> Any:  # noqa: D102
        xp = array_library(p)
        costs = self._costs(p, xp)
        # Not sigma times the difference, which would overflow for impossible classes.
        near = costs - xp.min(costs, axis=1, keepdims=True) <= 1.0 / sigma
        return xp.sum(xp.astype(near, xp.int64), axis=1) > 1

    def open(self, q: Any) -> Any:  # noqa: D102
        return q > NO_SHARE

    def along(self, face: Any, v: Any) -> Any:  # noqa: D102
        xp = array_library(v)
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
        xp = array_library(face)
        bits = xp.asarray(1 << np.arange(self.n_classes), device=getattr(face, "device", None))
        keys = xp.sum(xp.astype(face, xp.int64) * bits[None, :], axis=1)
        alone = (keys & (keys - 1)) == 0
        return xp.where(alone, xp.zeros_like(keys), keys)

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
    xp = array_library(v)
    columns = v.T if xp is not np else np.ascontiguousarray(v.T)
    if possible is not None:
        columns = xp.where(possible.T, columns, -IMPOSSIBLE)
    # Relative to the largest entry, next to which 1 would be lost if entries were large.
    columns = columns - xp.max(columns, axis=0)
    return xp.maximum(columns - _threshold(columns, xp), xp.zeros_like(columns)).T


def _threshold(columns: Any, xp: Any) -> Any:
    """Return tau of every label, from the entries of each class in turn."""
    n_classes = columns.shape[0]
    if n_classes > NETWORK_UP_TO:
        columns = xp.flip(xp.sort(columns, axis=0), axis=0)
    ordered = [columns[k, :] for k in range(n_classes)]
    if n_classes <= NETWORK_UP_TO:
        ordered = _sorted(ordered, xp)
    total = ordered[0] - 1.0
    tau = total
    for k in range(1, n_classes):
        total = total + ordered[k]
        tau = xp.maximum(tau, total / (k + 1))
    return tau


def _sorted(columns: list[AnyArray], xp: Any) -> list[AnyArray]:
    """Return columns with the largest entries of every row in the first, and so on."""
    for end in range(len(columns) - 1, 0, -1):
        for k in range(end):
            one, other = columns[k], columns[k + 1]
            columns[k], columns[k + 1] = xp.maximum(one, other), xp.minimum(one, other)
    return columns


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
