"""Rows that are copies of few distinct ones.

Equal rows may have equal labels, so they are solved as one row of their weight. Rows are told apart
by their projection on a random direction; a pass over the rows finds the distinct ones.
"""

from dataclasses import dataclass, replace

import numpy as np

from primum._typing import Floats, Index
from primum.problems import BoxProblem, FormedColumns, LabelsByValue, StreamedColumns
from primum.rows import Block, to_numpy
from primum.solvers.newton import solve_newton
from primum.solvers.solution import Solution

FEW_DISTINCT = 0.25  # share of distinct rows in a sample below which it is worth looking
LARGEST = 2**22  # numbers that the distinct rows may have
DIGITS = 12  # to which projections of equal rows agree


def merged(sample: FormedColumns) -> FormedColumns:
    """Return the distinct columns of a sample, with the weights of equal ones added up."""
    direction, scale = _direction(sample)
    prints = np.round(direction @ sample.matrix / scale, DIGITS)
    _, first, which = np.unique(prints, return_index=True, return_inverse=True)
    weight = np.ones(len(prints)) if sample.weight is None else sample.weight
    return FormedColumns(sample.matrix[:, first], _totals(which, weight))


def _direction(sample: FormedColumns) -> tuple[Floats, float]:
    direction = np.random.default_rng(0).normal(size=len(sample.matrix))
    return direction, max(float(np.abs(direction @ sample.matrix).max()), 1e-300)


@dataclass(frozen=True)
class _Distinct:
    """Distinct rows: their prints, sorted, their columns of M and their weights.

    Once there are too many of them, they are no longer kept.
    """

    prints: Floats
    columns: Floats
    weight: Floats

    def __add__(self, other: "_Distinct") -> "_Distinct":
        if not (len(self.prints) and len(other.prints)):
            return _NONE
        return _distinct(
            np.concatenate([self.prints, other.prints]),
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.weight, other.weight]),
        )


_NONE = _Distinct(np.zeros(0), np.zeros((0, 0)), np.zeros(0))


def _distinct(prints: Floats, columns: Floats, weight: Floats) -> _Distinct:
    prints, first, which = np.unique(prints, return_index=True, return_inverse=True)
    if columns.shape[1] * len(prints) > LARGEST:
        return _NONE
    return _Distinct(prints, columns[first], _totals(which, weight))


def _totals(which: Index, weight: Floats) -> Floats:
    return np.bincount(which, weight).astype(np.float64, copy=False)


def solve_distinct(
    problem: BoxProblem, columns: StreamedColumns, sample: FormedColumns, tol: float, max_iter: int
) -> Solution | None:
    """Solve with equal rows as one, or return None if the distinct ones are too many."""
    direction, scale = _direction(sample)
    v, B_t, frame = direction @ columns.B / scale, columns.B.T, columns.design.frame

    def block_distinct(block: Block) -> _Distinct:
        view = frame.view(block)
        prints = np.round(to_numpy(view.dot(v)), DIGITS)
        weight = np.ones(len(prints)) if block.weight is None else block.weight
        _, first, which = np.unique(prints, return_index=True, return_inverse=True)
        M_t = to_numpy(view.pick(view.like(first)).dot(B_t))
        return _distinct(prints[first], M_t, _totals(which, weight))

    found = columns.design.rows.map_reduce(block_distinct, _Distinct.__add__)
    if not len(found.prints):
        return None
    few = replace(problem, columns=FormedColumns(found.columns.T, found.weight))
    solution = solve_newton(few, tol, max_iter)
    labels = LabelsByValue(v, found.prints, solution.labels)
    return Solution(labels, solution.iterations)
