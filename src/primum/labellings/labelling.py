"""A compact representation of a labelling of many rows.

The solver for many rows ends with a hyperplane ``p = 0``, or with one for each class. Rows far from
it have the label of their side. Rows in a band close to it get individual labels at the end; until
then, labels change linearly across the band. So a labelling need not store one number per row: it
can be computed for any block of rows, on any machine, whenever it is needed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.equations import Frame, View
from primum.labellings.sets import LabelSet, sets_at
from primum.rows import to_numpy


def scores_of(view: View, V: Floats) -> Any:
    """Return p of some rows: the design rows times V.

    For several classes, the columns of V add up to 0 or are made to: adding the same number to all
    classes changes neither the best label nor its slack. So the scores of the last class follow
    from the others. They are stored class by class, which makes sums and minima over few classes
    many times as fast.
    """
    if V.ndim == 1 or view.xp is not np:
        return view.dot(V)
    V = V - V.mean(axis=1, keepdims=True)
    others = view.dot(V[:, :-1], by_column=True)
    return np.concatenate([others, -others.sum(axis=0, keepdims=True)]).T


class Labelling(ABC):
    """The labels of rows as a function of their design rows.

    Attributes
    ----------
    hyperplane : HyperplaneLabels or None
        This labelling, if its labels follow from the sides of a hyperplane.
    """

    @abstractmethod
    def __call__(self, view: View) -> Any:
        """Return the labels of some rows."""

    @property
    def hyperplane(self) -> "HyperplaneLabels | None":  # noqa: D102
        return None


@dataclass(frozen=True)
class HyperplaneLabels(Labelling):
    """``q = project(centre - sigma p)`` with ``p = x'V``, except for rows with their own labels.

    Attributes
    ----------
    labels : LabelSet
        The label sets of the rows.
    V : array (m,) or (m, K)
        Normal of the hyperplane, for design rows, or one normal for each class.
    sigma : float
        Steepness; if it is infinite, q is the best label for p.
    positions : array of int
        Sorted positions of the rows with their own labels.
    values : array
        The labels of these rows.
    """

    labels: LabelSet
    V: Floats
    sigma: float
    positions: Index = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    values: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def hyperplane(self) -> "HyperplaneLabels":  # noqa: D102
        return self

    def __call__(self, view: View) -> Any:  # noqa: D102
        return self.from_p(view, scores_of(view, self.V))

    def from_p(self, view: View, p: Any) -> Any:
        """Return the labels of some rows whose p is known."""
        here = sets_at(self.labels, view)
        q = here.best(p) if np.isinf(self.sigma) else here.project(here.centre - self.sigma * p)
        where = view.block.where
        low, high = np.searchsorted(self.positions, [where.start, where.stop])
        if high == low:
            return q
        positions = self.positions[low:high] - where.start
        values = self.values[low:high]
        if view.xp is np:
            q[positions] = values
            return q
        # Writing at positions is not in the array API standard.
        xp = view.xp
        changed = view.convert(positions)
        rows = xp.arange(view.block.n_rows, device=view.device)
        which = xp.clip(xp.searchsorted(changed, rows), 0, changed.shape[0] - 1)
        hit = xp.take(changed, which, axis=0) == rows
        chosen = xp.take(view.convert(values), which, axis=0)
        return xp.where(hit if q.ndim == 1 else hit[:, None], chosen, q)


@dataclass(frozen=True)
class LabelsByValue(Labelling):
    """Labels of rows that are copies of few distinct ones, identified by ``x'v``.

    Distinct rows have distinct projections on v (m,); ``keys`` are the sorted ones, each with a
    label.
    """

    v: Floats
    keys: Floats
    labels: Floats

    def __call__(self, view: View) -> Any:  # noqa: D102
        return view.convert(self.labels[nearest(self.keys, to_numpy(view.dot(self.v)))])


@dataclass(frozen=True)
class LabelsInFrame(Labelling):
    """Labels that are a function of design rows of another frame."""

    labels: Labelling
    frame: Frame

    def __call__(self, view: View) -> Any:  # noqa: D102
        return self.labels(View(view.block, self.frame))


def nearest(values: Floats, wanted: Floats) -> Index:
    """Return, for each wanted number, the index of the nearest of some sorted values."""
    right = np.clip(np.searchsorted(values, wanted), 1, max(1, len(values) - 1))
    if len(values) == 1:
        return np.zeros(len(wanted), dtype=np.intp)
    closer_left = wanted - values[right - 1] <= values[right] - wanted
    return right - closer_left.astype(np.intp)
