"""The design matrix ``[1, X - center]`` of rows that stay where they are.

A sparse block is never centred: the centre enters its products as a correction of rank one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._array_api import get_namespace, get_namespace_and_device

from primum._typing import AnyArray, Floats, Index
from primum.rows.base import Block, Rows, to_numpy


@dataclass(frozen=True)
class Frame:
    """How a model sees rows: centred, with a leading 1 if there is an intercept."""

    center: Floats
    fit_intercept: bool

    @property
    def n_columns(self) -> int:
        """Number of columns of the design matrix."""
        return len(self.center) + int(self.fit_intercept)

    def view(self, block: Block) -> "View":
        """Return a block of rows as rows of the design matrix."""
        if sparse.issparse(block.X):
            return SparseView(block, self)
        if isinstance(block.X, np.ndarray):
            return DenseView(block, self.expand(block.X))
        return DeviceView(block, self)

    def expand(self, X: Floats) -> Floats:
        """Return ``[1, X - center]`` for rows X."""
        expanded = np.empty((len(X), self.n_columns))
        expanded[:, : int(self.fit_intercept)] = 1.0
        np.subtract(X, self.center, out=expanded[:, int(self.fit_intercept) :])
        return expanded


class View:
    """A block of rows as rows of the design matrix, and the products that are needed of it.

    ``xp`` is the array library in which ``dot`` answers; everything else answers with NumPy.
    """

    xp: Any = np
    device: Any = None
    block: Block

    def dot(self, V: Floats) -> Any:
        """Return the design rows times V."""
        raise NotImplementedError

    def sum(self, q: Any) -> Floats:
        """Return the sum of the design rows, each times its entry of q and its weight.

        With several entries per row, there are as many sums, side by side.
        """
        raise NotImplementedError

    def pick(self, chosen: Any) -> "View":
        """Return some of the rows."""
        raise NotImplementedError

    def total(self, values: Any) -> float:
        """Return the sum of values, each times the weight of its row."""
        return float(self.xp.sum(self.heavy(values)))

    def heavy(self, values: Any) -> Any:
        """Return values, one or more per row, times the weight of their row."""
        weight = self.block.weight
        if weight is None:
            return values
        weight = self.like(weight)
        return values * (weight if values.ndim == 1 else weight[:, None])

    def like(self, values: AnyArray) -> Any:
        """Return a small NumPy array as an array of this block's library."""
        return values


class DenseView(View):
    """Rows in a NumPy array."""

    def __init__(self, block: Block, Z: Floats) -> None:
        self.block, self.Z = block, Z

    def dot(self, V: Floats) -> Floats:  # noqa: D102
        return self.Z @ V

    def sum(self, q: Floats) -> Floats:  # noqa: D102
        return self.Z.T @ self.heavy(q)

    def pick(self, chosen: Index) -> "DenseView":  # noqa: D102
        Z = self.Z[chosen]
        return DenseView(_part(self.block, chosen, Z), Z)


class DeviceView(View):
    """Rows in an array of another library."""

    def __init__(self, block: Block, frame: Frame, Z: Any = None) -> None:
        self.block, self.frame = block, frame
        self.xp, _, self.device = get_namespace_and_device(block.X)
        self.Z = block.X - self.like(frame.center) if Z is None else Z

    def like(self, values: AnyArray) -> Any:  # noqa: D102
        return self.xp.asarray(np.ascontiguousarray(values), device=self.device)

    def dot(self, V: Floats) -> Any:  # noqa: D102
        first = int(self.frame.fit_intercept)
        product = self.Z @ self.like(V[first:])
        return product + self.like(V[0]) if first else product

    def sum(self, q: Any) -> Floats:  # noqa: D102
        heavy = self.heavy(q)
        features = to_numpy(self.Z.T @ heavy)
        if not self.frame.fit_intercept:
            return features
        return np.concatenate([to_numpy(self.xp.sum(heavy, axis=0))[None], features])

    def pick(self, chosen: Any) -> "DeviceView":  # noqa: D102
        Z = self.xp.take(self.Z, chosen, axis=0)
        return DeviceView(_part(self.block, chosen, Z), self.frame, Z)


class SparseView(View):
    """Rows in a CSR array."""

    def __init__(self, block: Block, frame: Frame) -> None:
        self.block, self.frame = block, frame

    def dot(self, V: Floats) -> Floats:  # noqa: D102
        first = int(self.frame.fit_intercept)
        level = -self.frame.center @ V[first:]
        return np.asarray(self.block.X @ V[first:]) + (level + V[0] if first else level)

    def sum(self, q: Floats) -> Floats:  # noqa: D102
        heavy = self.heavy(q)
        total = heavy.sum(axis=0)
        features = self.block.X.T @ heavy - np.multiply.outer(self.frame.center, total)
        return np.concatenate([total[None], features]) if self.frame.fit_intercept else features

    def pick(self, chosen: Index) -> "SparseView":  # noqa: D102
        return SparseView(_part(self.block, chosen, self.block.X[chosen]), self.frame)


def _part(block: Block, chosen: Any, X: Any) -> Block:
    weight = None if block.weight is None else block.weight[to_numpy(chosen)]
    return replace(block, X=X, weight=weight)


Labels = Callable[[View], Any]


@dataclass(frozen=True)
class GivenLabels:
    """Labels, or any numbers, that are written down: one per row."""

    q: Floats

    def __call__(self, view: View) -> Any:
        """Return the labels of some rows."""
        return view.like(self.q[view.block.where])


@dataclass(frozen=True)
class Design:
    """Rows as a model sees them."""

    rows: Rows
    frame: Frame

    @property
    def n_rows(self) -> int:
        """Number of rows, however heavy."""
        return self.rows.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns, the constant one included."""
        return self.frame.n_columns

    def dot(self, V: Floats) -> Floats:
        """Return the design matrix times V, for all rows."""
        frame = self.frame
        if self.n_rows == 0:
            return np.zeros((0, *V.shape[1:]))
        return self.rows.fill(lambda block: to_numpy(frame.view(block).dot(V)))

    def weighted_sum(self, q: Floats | Labels) -> Floats:
        """Return the sum of the design rows, each times its weight and its label."""
        if self.n_rows == 0:
            return np.zeros(self.n_columns)
        labels, frame = GivenLabels(q) if isinstance(q, np.ndarray) else q, self.frame

        def block_sum(block: Block) -> Floats:
            view = frame.view(block)
            return view.sum(labels(view))

        return self.rows.map_reduce(block_sum, add)

    def gram(self, V: Floats, chosen: Floats) -> Floats:
        """Return ``V'(sum of x x')V`` over the design rows x, each times its entry of chosen."""
        frame = self.frame

        def block_gram(block: Block) -> Floats:
            factor = chosen[block.where]
            present = np.flatnonzero(factor)
            view = frame.view(block)
            P = to_numpy(view.pick(view.like(present)).dot(V))
            return (P.T * factor[present]) @ P

        return self.rows.map_reduce(block_gram, add)

    def write_down(self, labels: Labels) -> Any:
        """Return the label of every row, where the rows live."""
        frame = self.frame
        parts = list(self.rows.map(lambda block: labels(frame.view(block))))
        xp, _ = get_namespace(*parts)
        return xp.concat(parts)
