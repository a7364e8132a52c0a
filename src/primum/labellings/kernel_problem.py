"""The implicit-constraint problem in the feature space of a kernel.

It is the problem of ``implicit.py`` in coordinates that make least squares on all rows diagonal
(``equations.kernel``). There are about as many coordinates as rows, but no metric ``W'W`` has to be
factorised to obtain W: all metrics are

    W'W = diag(e^2) + B'B,      so   W = [diag(e); B],

where the rows of B are those of the labelled rows, times a constant:

    metric       e^2                                        B'B
    labeled, 0   L alpha_labeled penalty                    Z_l'Z_l
    0 < s < 1    (1 - s) n alpha_labeled penalty + s        (1 - s) n/L Z_l'Z_l
    all, 1       1                                          0
    euclidean    1 / (lambda + n alpha), or 1/n             0

Here ``penalty`` is the diagonal of T'T without its entry for the intercept. M has L more rows than
there are coordinates, and L fewer columns than there are rows. If there are fewer coordinates than
labelled rows, W is replaced by its triangular factor. The ridges are positive, so the supervised
solution is unique and is the point to approach, whatever the metric.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from primum._typing import Floats
from primum.equations import KernelCoordinates, KernelFeatures, Linear
from primum.labellings.implicit import LeastSquaresFamily, no_metric, share_of_all, without_level
from primum.labellings.prior import ShareBounds
from primum.labellings.prior_problem import with_prior
from primum.labellings.problem import FormedColumns, LabelProblem
from primum.labellings.sets import LabelSet
from primum.rows import ArrayRows, LabeledRows


@dataclass(frozen=True)
class StackedMetric:
    """``W = [diag(e); B]``; without e, ``W = B``."""

    e: Floats | None
    B: Floats

    def of_rows(self, Z: Floats) -> Floats:
        """Return ``Z W'`` for one or several rows Z in coordinates."""
        product = Z @ self.B.T
        return product if self.e is None else np.hstack([Z * self.e, product])

    def ones(self, coordinates: KernelCoordinates) -> Floats:
        """Return the shortest u with ``M'u = 1``, which needs an intercept."""
        first = np.zeros(len(coordinates.roots))
        first[0] = coordinates.roots[0]
        A = self.B.T @ self.B
        if self.e is not None:
            A.flat[:: len(A) + 1] += self.e**2
        return self.of_rows(cho_solve(cho_factor(A, overwrite_a=True), first))


def kernel_family(features: KernelFeatures, y: Floats, alpha: float) -> LeastSquaresFamily:
    """Return the least-squares fits to rows; y are the labels of the first ones."""
    rows = features.rows
    weight = features.weight
    L = len(y)
    of_labeled, of_others = (None, None) if weight is None else (weight[:L], weight[L:])
    coordinates = features.coordinates(alpha)
    return LeastSquaresFamily(
        coordinates,
        LabeledRows(rows[:L], y, of_labeled),
        coordinates.design(ArrayRows(rows[L:], weight=of_others)),
    )


def kernel_problem(
    family: LeastSquaresFamily,
    *,
    metric: str | float,
    alpha_labeled: float,
    supervised: Linear,
    labels: LabelSet | None = None,
    shares: ShareBounds | None = None,
) -> LabelProblem:
    """Return the problem of a metric, a label set and bounds on the shares of the classes.

    ``supervised`` is the twin's (coefficients, intercept); labels of None mean [0, 1] or the
    simplex.
    """
    coordinates = cast(KernelCoordinates, family.equations)
    labeled = family.labeled
    # W of the metric, see the top of this file.
    share = share_of_all(metric)
    total = labeled.total
    nothing = np.zeros((0, len(coordinates.roots)))
    if metric == "euclidean":
        W = StackedMetric(1.0 / coordinates.roots, nothing)
    elif np.isnan(share):
        raise no_metric(metric)
    elif share == 1:
        W = StackedMetric(np.ones(len(coordinates.roots)), nothing)
    else:
        factor = 1.0 if share == 0 else (1 - share) * coordinates.weight / total
        Z = coordinates.rows(labeled.X) * labeled.root[:, None]
        penalty = coordinates.roots**-2.0
        penalty[: int(coordinates.fit_intercept)] = 0.0
        e = np.sqrt(factor * total * alpha_labeled * penalty + share)
        B = factor**0.5 * Z
        W = StackedMetric(e, B)
        if len(B) >= len(e):  # one row per coordinate suffices
            W = StackedMetric(None, np.asarray(np.linalg.qr(np.vstack([np.diag(e), B]), mode="r")))
    twin = coordinates.encode(*supervised)
    goal = W.of_rows(twin.T).T
    rows = family.unlabeled.rows
    M_t = rows.fill(lambda block: W.of_rows(coordinates.rows(block.X)))
    columns = FormedColumns(M_t.reshape(rows.n_rows, len(goal)).T, rows.weight)
    target = goal - W.of_rows(coordinates.solve(family.labeled_sum).T).T
    unit = 2.0 / total
    floor = 0.0
    scale = 1.0
    if metric == "euclidean":
        scale = 0.5 * unit * float(np.vdot(goal, goal)) or 1.0
    elif share == 0:
        floor = _objective(labeled, supervised, alpha_labeled)
    else:
        unit = 2.0 / coordinates.weight
    problem = LabelProblem(columns, target, family.label_sets(labels), unit, floor, scale)
    problem = without_level(problem, coordinates.fit_intercept)
    if shares is None or rows.n_rows == 0:
        return problem
    ones = W.ones(coordinates) if coordinates.fit_intercept else None
    return with_prior(problem, shares, coordinates.weight - total, ones)


def _objective(labeled: LabeledRows, model: Linear, alpha_labeled: float) -> float:
    """Return the penalised mean loss of a model on the labelled rows."""
    coef, intercept = model
    residual = labeled.root * (labeled.X @ coef + intercept - labeled.y).T
    penalty = alpha_labeled * float(np.vdot(coef, coef))
    return float(np.vdot(residual, residual)) / labeled.total + penalty
