"""A compact representation of a labelling of many rows.

The solver for many rows ends with a hyperplane ``p = 0``. Rows far from it have the label of
their side, and a band of rows close to it have individual labels; before that, labels decrease
linearly across the band. So a labelling need not store one number per row: it can be computed for
any block of rows, on any machine, whenever it is needed.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.equations import View
from primum.rows import to_numpy


@dataclass(frozen=True)
class HyperplaneLabels:
    """``q = clip(1/2 - sigma p, 0, 1)`` with ``p = x'v``, except for the rows of a band.

    Attributes
    ----------
    v : array (m,)
        Normal of the hyperplane, for design rows.
    sigma : float
        Steepness; infinite: label 1 where p < 0 and label 0 elsewhere.
    positions : array of int
        Sorted positions of the rows with individual labels.
    values : array
        Those labels.
    """

    v: Floats
    sigma: float
    positions: Index = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    values: Floats = field(default_factory=lambda: np.zeros(0))

    def __call__(self, view: View) -> Any:
        """Return the labels of some rows."""
        p, xp = view.dot(self.v), view.xp
        if np.isinf(self.sigma):
            q = xp.astype(p < 0, xp.float64)
        else:
            q = xp.clip(0.5 - self.sigma * p, 0.0, 1.0)
        where = view.block.where
        low, high = np.searchsorted(self.positions, [where.start, where.stop])
        if high == low:
            return q
        positions, values = self.positions[low:high] - where.start, self.values[low:high]
        if xp is not np:
            return _set(view, q, positions, values)
        q[positions] = values
        return q


def _set(view: View, q: Any, positions: Index, values: Floats) -> Any:
    """Return q with some values set; writing at positions is not in the array API standard."""
    xp, positions = view.xp, view.like(positions)
    here = xp.arange(view.block.n_rows, device=view.device)
    which = xp.clip(xp.searchsorted(positions, here), 0, positions.shape[0] - 1)
    hit = xp.take(positions, which, axis=0) == here
    return xp.where(hit, xp.take(view.like(values), which, axis=0), q)


@dataclass(frozen=True)
class LabelsByValue:
    """Labels of rows that are copies of few distinct ones, identified by ``x'v``.

    Attributes
    ----------
    v : array (m,)
        A direction on which distinct rows have distinct projections.
    keys : array
        The sorted values of ``x'v``.
    labels : array
        The label of each.
    """

    v: Floats
    keys: Floats
    labels: Floats

    def __call__(self, view: View) -> Any:
        """Return the labels of some rows."""
        return view.like(self.labels[nearest(self.keys, to_numpy(view.dot(self.v)))])


def nearest(values: Floats, wanted: Floats) -> Index:
    """Return for each wanted number the index of the nearest of some sorted values."""
    right = np.clip(np.searchsorted(values, wanted), 1, max(1, len(values) - 1))
    if len(values) == 1:
        return np.zeros(len(wanted), dtype=np.intp)
    closer_left = wanted - values[right - 1] <= values[right] - wanted
    return right - closer_left.astype(np.intp)
