"""The implicit-constraint problems of several metrics at once.

In the coordinates gamma, a metric s is ``W'W = (1 - s) n/L H + s I`` with ``H = R'R``, the second
moment of the labelled rows and their ridge. With the singular value decomposition ``R = U S V'``,

    W = diag(sqrt((1 - s) n/L S^2 + s)) V'

for every s: the matrices ``M = W Z_u'`` differ only in the scale of their rows, and only one of
them is computed from the unlabelled rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primum._typing import Floats
from primum.equations.coordinates import CORRECT_BELOW, Coordinates
from primum.labellings.columns import Columns, columns_of
from primum.labellings.implicit import (
    ImplicitProblem,
    LeastSquaresFamily,
    _label_problem,
    _label_set,
    _LabeledLoss,
    implicit_problem,
    share_of_all,
)
from primum.labellings.sets import LabelSet

Supervised = tuple[Floats, Any]


def implicit_problems(
    family: LeastSquaresFamily,
    *,
    metrics: Sequence[str | float],
    alpha_labeled: float,
    supervised: Supervised,
    labels: LabelSet | None = None,
) -> list[ImplicitProblem]:
    """Return the problems of several metrics, each as ``implicit_problem`` defines it.

    ``supervised`` is the twin's (coefficients, intercept).
    """
    axes = None
    if isinstance(family.equations, Coordinates) and len(metrics) > 1:
        axes = _MetricAxes(family, alpha_labeled, supervised, _label_set(family, labels))
    problems = []
    for metric in metrics:
        shared = None if axes is None else axes.problem(share_of_all(metric))
        problems.append(
            shared
            or implicit_problem(
                family,
                metric=metric,
                alpha_labeled=alpha_labeled,
                supervised=supervised,
                labels=labels,
            )
        )
    return problems


class _MetricAxes:
    """The directions V in which the labelled metric and that of all rows are both diagonal."""

    def __init__(
        self,
        family: LeastSquaresFamily,
        alpha_labeled: float,
        supervised: Supervised,
        labels: LabelSet,
    ) -> None:
        coordinates = family.equations
        assert isinstance(coordinates, Coordinates)
        self.family, self.labels = family, labels
        self.loss = _LabeledLoss.of(family.labeled, coordinates, alpha_labeled)
        self.S, Vt, self.goal = _axes(self.loss)
        self.columns: Columns = columns_of(Vt @ coordinates.full_basis.T, family.unlabeled)
        self.known = Vt @ coordinates.solve(family.known)
        self.twin = Vt @ coordinates.encode(*supervised)

    def problem(self, share: float) -> ImplicitProblem | None:
        """Return the problem of the metric s, or None if it is tied or another metric."""
        if share > 0:
            rows_per_label = self.family.equations.weight / self.family.labeled.total
            scale = np.sqrt((1 - share) * rows_per_label * self.S**2 + share)
            goal = _scaled(scale, self.twin - self.known)
            return self._problem(scale, goal, 2.0 / self.family.equations.weight, 0.0)
        if share == 0 and self.loss.determined:
            unit = 2.0 / self.family.labeled.total
            goal = self.goal - _scaled(self.S, self.known)
            return self._problem(self.S, goal, unit, 0.5 * unit * self.loss.rest)
        return None

    def _problem(self, scale: Floats, goal: Floats, unit: float, floor: float) -> ImplicitProblem:
        columns = self.columns.scaled(scale)
        problem = _label_problem(self.family, self.labels, columns, goal, unit, floor)
        return ImplicitProblem(problem)


def _axes(loss: _LabeledLoss) -> tuple[Floats, Floats, Floats]:
    """Return (S, V', U' goal) of the labelled metric ``R = U S V'``.

    Where R is well-conditioned, the eigenvectors of R'R are as accurate as its singular vectors,
    and are found in half the time.
    """
    R, goal = loss.W, loss.goal
    if len(R) == R.shape[1] and len(R):
        squares, V = np.linalg.eigh(R.T @ R)
        if squares[0] > CORRECT_BELOW * squares[-1]:
            S = np.sqrt(squares)
            return S, V.T, _scaled(1.0 / S, V.T @ (R.T @ goal))
    U, S, Vt = np.linalg.svd(R)
    return np.concatenate([S, np.zeros(len(Vt) - len(S))]), Vt, U.T @ goal


def _scaled(scale: Floats, values: Floats) -> Floats:
    """Return values, (r,) or (r, K), times a scale (r,)."""
    return np.asarray((scale * values.T).T)
