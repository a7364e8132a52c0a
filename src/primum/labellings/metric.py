"""The implicit-constraint problems of several metrics at once.

In the coordinates gamma, a metric s is ``W'W = (1 - s) n/L H + s I`` with ``H = R'R``, the second
moment of the labelled rows and their ridge. With the singular value decomposition ``R = U S V'``,

    W = diag(sqrt((1 - s) n/L S^2 + s)) V'

for every s: the matrices ``M = W Z_u'`` differ only in the scale of their rows, and only one of
them is computed from the unlabelled rows.

The metric that ``metric="auto"`` stands for.

Where the labelled rows have full column rank, with the column of ones for the intercept, they
determine every coefficient, and the labelled loss is a distance between models: ICLS of the paper.
Where they have not, models that differ along a null direction of the labelled rows have the same
labelled loss, so that only the unlabelled rows decide there. A ridge makes such a model unique, but
along these directions it is still the ridge alone that says how far a model is from its twin. The
mixture with s = 0.2 measures them by all rows. Since the theorem holds for every s, it holds for
whichever of the two is chosen, and the choice depends on the labelled rows alone, never on the
labels.

The rank is that of the labelled rows without their ridge. Their columns are scaled before it is
judged (``coordinates.py``), so the units of the features do not matter. A constant column, or one
that repeats others, lowers it too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats
from primum.equations.coordinates import CORRECT_BELOW, Coordinates, coordinates_of
from primum.equations.normal import forms_normal_matrix
from primum.labellings.columns import Columns, columns_of
from primum.labellings.implicit import (
    ImplicitProblem,
    LabeledLoss,
    LabeledRows,
    LeastSquaresFamily,
    implicit_problem,
    label_problem,
    label_set_of,
    share_of_all,
)
from primum.labellings.sets import LabelSet
from primum.rows import ArrayRows

AUTO = "auto"
# On average it gains with half as many labels as features, where the labelled loss does most harm
# (``benchmarks/metric.py``).
SHARE_IF_UNDETERMINED = 0.2


def chosen_metric(
    metric: str | float,
    family: LeastSquaresFamily,
    alpha_labeled: float,
    loss: LabeledLoss | None,
) -> str | float:
    """Return the metric of a linear fit; ``loss`` is its labelled loss, if that is factorised."""
    if metric != AUTO:
        return metric
    equations = family.equations
    if loss is not None and not loss.determined:
        return SHARE_IF_UNDETERMINED
    if isinstance(equations, Coordinates) and equations.ridge == 0 and alpha_labeled == 0:
        n_columns, rank = equations.basis.shape
        if rank == n_columns:  # the loss, in coordinates of all columns, is determined: no ridge
            return "labeled"
    return metric_of_rows(metric, family.labeled, equations.fit_intercept)


def metric_of_rows(metric: str | float, labeled: LabeledRows, fit_intercept: bool) -> str | float:
    """Return the metric of a fit to labelled rows, from these rows alone."""
    if metric != AUTO:
        return metric
    return "labeled" if _has_full_column_rank(labeled, fit_intercept) else SHARE_IF_UNDETERMINED


def _has_full_column_rank(labeled: LabeledRows, fit_intercept: bool) -> bool:
    """Return whether rows of positive weight, with the intercept, determine all coefficients.

    Sparse rows of so many columns that their products are not formed count as if they did not.
    """
    X, n_columns = labeled.X, labeled.X.shape[1]
    if labeled.weight is not None and not (labeled.weight > 0).all():
        X = X[np.flatnonzero(labeled.weight > 0)]
    if X.shape[0] < n_columns + int(fit_intercept):
        return False
    if n_columns == 0:
        return True
    rows = ArrayRows(X)
    if not forms_normal_matrix([rows]):
        return False
    found = coordinates_of([rows], alpha=0.0, fit_intercept=fit_intercept)
    return found.basis.shape[1] == n_columns


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
        axes = _MetricAxes(family, alpha_labeled, supervised, label_set_of(family, labels))
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
        self.loss = loss = _DiagonalLoss.of(family.labeled, coordinates, alpha_labeled)
        self.columns: Columns = columns_of(loss.Vt @ coordinates.full_basis.T, family.unlabeled)
        self.known = loss.Vt @ coordinates.solve(family.known)
        self.twin = loss.Vt @ coordinates.encode(*supervised)

    def problem(self, share: float) -> ImplicitProblem | None:
        """Return the problem of the metric s, or None if it is tied or another metric."""
        loss, weight = self.loss, self.family.equations.weight
        if share > 0:
            scale = np.sqrt((1 - share) * weight / self.family.labeled.total * loss.S**2 + share)
            goal = _scaled(scale, self.twin - self.known)
            return self._problem(scale, goal, 2.0 / weight, 0.0)
        if share == 0 and loss.determined:
            unit = 2.0 / self.family.labeled.total
            goal = loss.goal - _scaled(loss.S, self.known)
            return self._problem(loss.S, goal, unit, 0.5 * unit * loss.rest)
        return None

    def _problem(self, scale: Floats, goal: Floats, unit: float, floor: float) -> ImplicitProblem:
        columns = self.columns if (scale == 1.0).all() else self.columns.scaled(scale)
        problem = label_problem(self.family, self.labels, columns, goal, unit, floor)
        return ImplicitProblem(problem)


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
        S, y = np.sqrt(squares), _scaled(labeled.root, labeled.y)
        goal = _scaled(1.0 / S, V.T @ (Z.T @ y))
        return cls(S, V.T, goal, max(float(np.vdot(y, y) - np.vdot(goal, goal)), 0.0), True)

    @classmethod
    def _of_rows(
        cls, labeled: LabeledRows, coordinates: Coordinates, alpha_labeled: float
    ) -> "_DiagonalLoss":
        loss = LabeledLoss.of(labeled, coordinates, alpha_labeled)
        U, S, Vt = np.linalg.svd(loss.W)
        S = np.concatenate([S, np.zeros(len(Vt) - len(S))])
        return cls(S, Vt, U.T @ loss.goal, loss.rest, loss.determined)


def _scaled(scale: Floats, values: Floats) -> Floats:
    """Return values, (r,) or (r, K), times a scale (r,)."""
    return np.asarray((scale * values.T).T)
