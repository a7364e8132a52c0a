"""Labels that are one number in an interval: two classes, bounds, or a bounded target.

    S_i = [low_i, high_i]

Two classes are [0, 1]; "at least 70% positive" is [0.7, 1]; a target that is known to lie between
3 and 5 is [3, 5].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from primum._sklearn import library_of
from primum._typing import Floats, Index, Mask
from primum.equations import View
from primum.labellings.sets.base import PerRow

ONE_DIRECTION = np.ones((1, 1))


@dataclass(frozen=True)
class Interval:
    """Labels in [low, high], the same for all rows or with bounds of their own.

    Attributes
    ----------
    low, high : float or array
        The bounds, of all rows or of each.
    bounds : PerRow or None
        Pairs of bounds from which ``at`` and ``take`` select those of some rows.
    """

    low: Any = 0.0
    high: Any = 1.0
    bounds: PerRow | None = None
    contrasts: None = None

    @classmethod
    def of_rows(cls, bounds: Floats, later: Sequence[float] = (0.0, 1.0)) -> "Interval":
        """Return intervals from an array (n, 2) of the first rows' bounds, and those of others."""
        return cls(bounds[:, 0], bounds[:, 1], PerRow(bounds, np.array(later)))

    @property
    def shape(self) -> tuple[int, ...]:  # noqa: D102
        return ()

    @cached_property
    def centre(self) -> Any:  # noqa: D102
        return 0.5 * (self.low + self.high)

    def centres(self, n_rows: int) -> Floats:  # noqa: D102
        rows = self if self.bounds is None else self.take(np.arange(n_rows))
        return np.full(n_rows, rows.centre, dtype=np.float64)

    def project(self, v: Any) -> Any:  # noqa: D102
        if isinstance(v, np.ndarray):  # np.clip, without its overhead for short arrays
            projected = np.maximum(v, self.low)
            return np.minimum(projected, self.high, out=projected)
        return library_of(v).clip(v, self.low, self.high)

    def support(self, p: Any) -> Any:  # noqa: D102
        return library_of(p).minimum(self.low * p, self.high * p)

    def slack(self, p: Any, q: Any) -> Any:  # noqa: D102
        xp = library_of(p)
        return xp.maximum(p * (q - self.low), p * (q - self.high))

    def best(self, p: Any) -> Any:  # noqa: D102
        xp = library_of(p)
        return self.low + (self.high - self.low) * xp.astype(p < 0, xp.float64)

    def undecided(self, p: Any, sigma: float) -> Any:  # noqa: D102
        return sigma * abs(p) <= 0.5 * (self.high - self.low)

    def open(self, q: Any) -> Any:  # noqa: D102
        return (q > self.low) & (q < self.high)

    def along(self, face: Any, v: Any) -> Any:  # noqa: D102
        xp = library_of(v)
        return v * xp.astype(face, xp.float64)

    def widened(self, face: Mask, p: Floats, rows: Mask) -> Mask:  # noqa: D102
        return face | rows

    def tied(self, p: Floats, rounding: Any) -> Mask:  # noqa: D102
        return np.asarray(np.abs(p) <= rounding)

    def narrowed(self, index: Index, face: Mask) -> "Interval":  # noqa: D102
        return self.take(index)

    def face_centres(self, face: Mask) -> Floats:  # noqa: D102
        return self.centres(len(face))

    def keys(self, face: Any) -> Any:  # noqa: D102
        return face

    def directions(self, key: int) -> Floats:  # noqa: D102
        return ONE_DIRECTION

    @property
    def key_of_all(self) -> int:  # noqa: D102
        return 1

    @property
    def uniform(self) -> bool:  # noqa: D102
        return self.bounds is None

    def at(self, view: View) -> "Interval":  # noqa: D102
        if self.bounds is None:
            return self
        pairs = self.bounds.at(view)
        return replace(self, low=pairs[:, 0], high=pairs[:, 1], bounds=None)

    def take(self, index: Index) -> "Interval":  # noqa: D102
        if self.bounds is None:
            return self
        return Interval.of_rows(self.bounds.take(index), self.bounds.later.tolist())

    def near(self, low: float, high: float) -> "Interval":
        """Return the parts of the intervals in [low, high]; of those outside, the nearest end."""

        def part(pairs: Any) -> Floats:
            lower, upper = np.moveaxis(np.asarray(pairs, dtype=np.float64), -1, 0)
            ends = np.clip(low, lower, upper), np.clip(high, lower, upper)
            return np.stack(ends, axis=-1)

        if self.bounds is None:
            return Interval(*part((self.low, self.high)).tolist())
        return Interval.of_rows(part(self.bounds.first), part(self.bounds.later).tolist())
