"""The implicit-constraint problems of several metrics at once.

In the coordinates gamma, a metric s is ``W'W = (1 - s) n/L H + s I`` with ``H = R'R``, the second
moment of the labelled rows and their ridge. With the singular value decomposition ``R = U S V'``,

    W = diag(sqrt((1 - s) n/L S^2 + s)) V'

for every s: the matrices ``M = W Z_u'`` differ only in the scale of their rows, and only one of
them is computed from the unlabelled rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from primum._typing import Floats
from primum.equations import Linear, by_row
from primum.equations.coordinates import CORRECT_BELOW, Coordinates
from primum.labellings.family import LabeledLoss, LabeledRows, LeastSquaresFamily
from primum.labellings.implicit import (
    ImplicitProblem,
    implicit_problem,
    share_of_all,
    without_level,
)
from primum.labellings.problem import LabelProblem
from primum.labellings.sets import LabelSet


def implicit_problems(
    family: LeastSquaresFamily,
    *,
    metrics: Sequence[str | float],
    alpha_labeled: float,
    supervised: Linear,
    labels: LabelSet | None = None,
) -> list[ImplicitProblem]:
    """Return the problems of several metrics, each as ``implicit_problem`` defines it.

    ``supervised`` is the twin's (coefficients, intercept).
    """
    axes, coordinates = None, family.equations.coordinates
    if coordinates is not None and len(metrics) > 1:
        axes = _MetricAxes(
            family, coordinates, alpha_labeled, supervised, family.label_sets(labels)
        )
    alone = partial(
        implicit_problem, family, alpha_labeled=alpha_labeled, supervised=supervised, labels=labels
    )
    return [
        (axes and axes.problem(share_of_all(metric))) or alone(metric=metric) for metric in metrics
    ]


class _MetricAxes:
    """The directions V in which the labelled metric and that of all rows are both diagonal."""

    def __init__(
        self,
        family: LeastSquaresFamily,
        coordinates: Coordinates,
        alpha_labeled: float,
        supervised: Linear,
        labels: LabelSet,
    ) -> None:
        self.family, self.labels = family, labels
        self.loss = loss = _DiagonalLoss.of(family.labeled, coordinates, alpha_labeled)
        self.columns = family.columns(loss.Vt @ coordinates.full_basis.T)
        self.known = loss.Vt @ coordinates.solve(family.known)
        self.twin = loss.Vt @ coordinates.encode(*supervised)

    def problem(self, share: float) -> ImplicitProblem | None:
        """Return the problem of the metric s, or None if it is tied or another metric."""
        loss, weight = self.loss, self.family.equations.weight
        if share > 0:
            scale = np.sqrt((1 - share) * weight / self.family.labeled.total * loss.S**2 + share)
            goal = by_row(self.twin - self.known, scale)
            return self._problem(scale, goal, 2.0 / weight, 0.0)
        if share == 0 and loss.determined:
            unit = 2.0 / self.family.labeled.total
            goal = loss.goal - by_row(self.known, loss.S)
            return self._problem(loss.S, goal, unit, 0.5 * unit * loss.rest)
        return None

    def _problem(self, scale: Floats, goal: Floats, unit: float, floor: float) -> ImplicitProblem:
        columns = self.columns if (scale == 1.0).all() else self.columns.scaled(scale)
        problem = LabelProblem(columns, goal, self.labels, unit, floor)
        return ImplicitProblem(without_level(problem, self.family.equations.fit_intercept))


@dataclass(frozen=True)
class _DiagonalLoss:
    """The labelled loss ``|| S V'gamma - goal ||^2 + rest``, summed over rows."""

    S: Floats
    Vt: Floats
    goal: Floats
    rest: float
    determined: bool

    @classmethod
    def of(
        cls, labeled: LabeledRows, coordinates: Coordinates, alpha_labeled: float
    ) -> "_DiagonalLoss":
        """Return the loss, from H if it is well-conditioned: that takes a third of the time."""
        T, first = coordinates.full_basis, int(coordinates.fit_intercept)
        Z = coordinates.design(labeled.rows).dot(T) * labeled.root[:, None]
        H = Z.T @ Z
        if alpha_labeled > 0:
            H += labeled.total * alpha_labeled * (T[first:].T @ T[first:])
        squares, V = np.linalg.eigh(H)
        if len(squares) == 0 or squares[0] <= CORRECT_BELOW * squares[-1]:
            return cls._of_rows(labeled, coordinates, alpha_labeled)
        S, y = np.sqrt(squares), by_row(labeled.y, labeled.root)
        goal = by_row(V.T @ (Z.T @ y), 1.0 / S)
        return cls(S, V.T, goal, max(float(np.vdot(y, y) - np.vdot(goal, goal)), 0.0), True)

    @classmethod
    def _of_rows(
        cls, labeled: LabeledRows, coordinates: Coordinates, alpha_labeled: float
    ) -> "_DiagonalLoss":
        loss = LabeledLoss.of(labeled, coordinates, alpha_labeled)
        U, S, Vt = np.linalg.svd(loss.W)
        S = np.concatenate([S, np.zeros(len(Vt) - len(S))])
        return cls(S, Vt, U.T @ loss.goal, loss.rest, loss.determined)
