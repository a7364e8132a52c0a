"""The implicit-constraint problem of Krijthe & Loog (2017).

Every labelling q of the unlabelled rows gives, by least squares on all rows, a coefficient
vector beta(q). Over q in [0, 1]^U these fill a zonotope C_beta. The method asks for the point of
C_beta nearest to the supervised solution. In the coordinates of ``coordinates.py``,

    gamma(q) = Z_l'y + Z_u'q,        || W (gamma(q) - gamma_sup) ||   is minimised,

where W states in which metric distance is measured:

    metric       W'W                            meaning
    labeled      Z_l'Z_l (+ L alpha_labeled D)  least labelled loss: ICLS, the paper
    all          identity                       the projected estimator (Krijthe & Loog 2016)
    euclidean    T'T                            distance between coefficients

With ``M = W Z_u'`` and ``t = W (gamma_sup - Z_l'y)`` this is the box problem. For ``labeled``,
W is the R of a QR factorisation of the labelled rows and ``W gamma_sup`` is ``Q'y``, so the
supervised solution, unique or not, is never needed.

If there are so many columns that A is not factorised, ``labeled`` without a ridge is still at hand:
``B = X A^+`` has as many rows as there are labelled ones, and each is one solution of the normal
equations. The labelled loss is then ``||B X_u'q - (y - B X'y)||^2``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from primum._typing import Floats
from primum.problems.box import BoxProblem
from primum.problems.columns import columns_of
from primum.problems.coordinates import Coordinates
from primum.problems.equations import FORM_A_UP_TO, NormalEquations, equations_of
from primum.rows import ArrayRows, Design, Labels, Rows, to_numpy

METRICS = ("labeled", "all", "euclidean")


@dataclass(frozen=True)
class LabeledRows:
    """Rows, dense or CSR, with a known label in {0, 1} and a weight (None: one each)."""

    X: Any
    y: Floats
    weight: Floats | None = None

    @property
    def rows(self) -> ArrayRows:
        """The features as rows."""
        return ArrayRows(self.X, weight=self.weight)

    @property
    def total(self) -> float:
        """Number of rows, counted with their weight."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def root(self) -> Floats:
        """The root of every row's weight."""
        return np.ones(len(self.y)) if self.weight is None else np.sqrt(self.weight)


@dataclass(frozen=True)
class LeastSquaresFamily:
    """All least-squares fits that share labelled rows and differ in the other rows' labels."""

    equations: NormalEquations
    labeled: LabeledRows
    unlabeled: Design

    @cached_property
    def known(self) -> Floats:
        """The labelled rows' part of the sums, ``X'y``."""
        return self.equations.design(self.labeled.rows).weighted_sum(self.labeled.y)

    def gamma(self, q: Floats | Labels, start: Floats | None = None) -> Floats:
        """Return the coordinates of the least-squares fit to the labels y and q.

        Those of a similar fit may help as a start.
        """
        return self.gamma_of(self.unlabeled.weighted_sum(q), start)

    def gamma_of(self, moment: Floats, start: Floats | None = None) -> Floats:
        """Return the same from ``sum x q``, the only thing about q that matters."""
        return self.equations.solve(self.known + moment, start)

    def scores(self, gamma: Floats) -> Floats:
        """Return the scores that a fit gives to the unlabelled rows."""
        return self.unlabeled.dot(self.equations.expand(gamma))


def least_squares_family(
    labeled: LabeledRows,
    unlabeled: Rows,
    *,
    alpha: float,
    fit_intercept: bool,
    rcond: float | None = None,
) -> LeastSquaresFamily:
    """Return the least-squares fits on labelled and unlabelled rows together."""
    equations = equations_of(
        [labeled.rows, unlabeled], alpha=alpha, fit_intercept=fit_intercept, rcond=rcond
    )
    return LeastSquaresFamily(equations, labeled, equations.design(unlabeled))


def implicit_problem(
    family: LeastSquaresFamily,
    *,
    metric: str,
    alpha_labeled: float,
    supervised: tuple[Floats, float],
) -> BoxProblem:
    """Return the box problem of a metric; ``supervised`` is its (coefficients, intercept)."""
    labeled, coordinates = family.labeled, family.equations
    if not isinstance(coordinates, Coordinates):
        return _unfactorised_problem(family, metric, alpha_labeled)
    T = coordinates.full_basis
    floor, scale = 0.0, 1.0
    if metric == "labeled":
        W, goal, rest = _labeled_metric(labeled, coordinates, alpha_labeled)
        floor = rest / labeled.total
    else:
        W = np.eye(T.shape[1]) if metric == "all" else np.linalg.qr(T)[1]
        goal = W @ coordinates.encode(*supervised)
    if metric == "euclidean":  # coefficients have units: measure in those of the answer
        scale = float(goal @ goal) / labeled.total or 1.0
    columns = columns_of(W @ T.T, family.unlabeled)
    target = goal - W @ coordinates.solve(family.known)
    return BoxProblem(columns, target, 2.0 / labeled.total, floor, scale)


def _unfactorised_problem(
    family: LeastSquaresFamily, metric: str, alpha_labeled: float
) -> BoxProblem:
    """Return the box problem of the labelled loss from as many solutions as it has rows."""
    labeled, equations = family.labeled, family.equations
    if metric != "labeled" or alpha_labeled > 0:
        raise ValueError(
            f"With {len(equations.center)} features, more than {FORM_A_UP_TO}, and so many rows, "
            f"only metric='labeled' with alpha_labeled=0 can be solved, but metric={metric!r} and "
            f"alpha_labeled={alpha_labeled:g} were asked for: pass alpha_labeled=0 (alpha may stay "
            "as it is), or reduce the number of features."
        )
    X_t = equations.frame.expand(to_numpy(labeled.X)).T
    B = equations.solve(X_t).T * labeled.root[:, None]
    target = labeled.root * labeled.y - B @ family.known
    return BoxProblem(columns_of(B, family.unlabeled), target, 2.0 / labeled.total)


def _labeled_metric(
    labeled: LabeledRows, coordinates: Coordinates, alpha_labeled: float
) -> tuple[Floats, Floats, float]:
    """Return (W, W gamma_sup, least labelled loss summed over rows) of the metric ``labeled``."""
    T, first = coordinates.full_basis, int(coordinates.fit_intercept)
    Z = coordinates.design(labeled.rows).dot(T) * labeled.root[:, None]
    y = labeled.y * labeled.root
    if alpha_labeled > 0:
        # The ridge is d more rows, with label 0.
        Z = np.vstack([Z, (labeled.total * alpha_labeled) ** 0.5 * T[first:]])
        y = np.concatenate([y, np.zeros(len(T) - first)])
    Q, W = np.linalg.qr(Z)
    goal = y @ Q
    residual = y - Q @ goal
    return W, goal, float(residual @ residual)
