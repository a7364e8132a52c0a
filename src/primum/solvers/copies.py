"""Rows that are copies of few distinct ones.

Identical rows can have identical labels, so they are merged into one row with the sum of their
weights. Rows are identified by their projection on a random direction; one pass over the rows finds
the distinct ones.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from primum._typing import Floats, Index
from primum.labellings import FormedColumns, LabelProblem, LabelsByValue, StreamedColumns
from primum.rows import Block, to_numpy

FEW_DISTINCT = 0.25  # fraction of distinct rows in a sample below which the search pays off
LARGEST = 2**22  # maximum number of elements of the distinct rows
DIGITS = 12  # to which projections of identical rows agree


def merged(sample: FormedColumns) -> FormedColumns:
    """Return the distinct columns of a sample, with the weights of identical ones added up."""
    direction, scale = _direction(sample)
    keys = np.round(direction @ sample.matrix / scale, DIGITS)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    weight = np.ones(len(keys)) if sample.weight is None else sample.weight
    return FormedColumns(sample.matrix[:, first], _totals(which, weight))


def _direction(sample: FormedColumns) -> tuple[Floats, float]:
    direction = np.random.default_rng(0).normal(size=len(sample.matrix))
    return direction, max(float(np.abs(direction @ sample.matrix).max()), 1e-300)


@dataclass(frozen=True)
class _Distinct:
    """Distinct rows: their sorted projections, their columns of M and their weights.

    If there are too many of them, they are discarded.
    """

    keys: Floats
    columns: Floats
    weight: Floats

    def __add__(self, other: "_Distinct") -> "_Distinct":
        if not (len(self.keys) and len(other.keys)):
            return _NONE
        return _distinct(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.weight, other.weight]),
        )


_NONE = _Distinct(np.zeros(0), np.zeros((0, 0)), np.zeros(0))


def _distinct(keys: Floats, columns: Floats, weight: Floats) -> _Distinct:
    keys, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if columns.shape[1] * len(keys) > LARGEST:
        return _NONE
    return _Distinct(keys, columns[first], _totals(which, weight))


def _totals(which: Index, weight: Floats) -> Floats:
    return np.bincount(which, weight).astype(np.float64, copy=False)


def find_copies(
    problem: LabelProblem, columns: StreamedColumns, sample: FormedColumns
) -> tuple[FormedColumns, Callable[[Floats], LabelsByValue]] | None:
    """Return the distinct columns of M, and a function from their labels to those of all rows.

    None if a sample shows that most rows are distinct, if there are too many distinct ones, or if
    identical rows may have different label sets.
    """
    if not problem.labels.uniform:
        return None
    if merged(sample).shape[1] >= FEW_DISTINCT * sample.shape[1]:
        return None
    direction, scale = _direction(sample)
    v, B_t, frame = direction @ columns.B / scale, columns.B.T, columns.design.frame

    def block_distinct(block: Block) -> _Distinct:
        view = frame.view(block)
        keys = np.round(to_numpy(view.dot(v)), DIGITS)
        weight = np.ones(len(keys)) if block.weight is None else block.weight
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        M_t = to_numpy(view.pick(view.like(first)).dot(B_t))
        return _distinct(keys[first], M_t, _totals(which, weight))

    found = columns.design.rows.map_reduce(block_distinct, _Distinct.__add__)
    if not len(found.keys):
        return None
    few = FormedColumns(found.columns.T, found.weight)
    return few, lambda labels: LabelsByValue(v, found.keys, labels)
