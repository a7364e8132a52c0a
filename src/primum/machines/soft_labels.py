"""Least squares with soft labels for the unlabelled rows: a convex function of the coefficients.

The best label in [0, 1] for a score is the score itself, clipped. With these labels,

    f(beta) = 1/2 sum_l w (x'beta - y)^2 + 1/2 sum_u w dist(x'beta, [0, 1])^2 + n alpha/2 ||coef||^2

is convex, smooth and piecewise quadratic. Write a ridge as further labelled rows with label 0, and
r for the residuals: ``x'beta - y`` of labelled rows, ``x'beta - clip(x'beta)`` of unlabelled ones.
The gradient is ``g = X'Wr``. An unlabelled row whose score is inside [0, 1] has r = 0 and no
curvature, so the Hessian is the normal matrix H of the others, K, and g is in its range even where
H is singular. Newton steps  ``beta - t H^+ g``  with the best t are taken until the gap is closed.

Gap. By Fenchel's inequality, for any residuals v with ``X'Wv = 0``,

    f(beta) - min f  <=  1/2 sum w (r - v)^2 + sum_u w (max(v, 0) - c v),       c = clip(x'beta),

and every term is non-negative. The residuals after the Newton step satisfy this: with
``H step + A rest = g``  (A is the normal matrix of all rows),

    v = r - 1_K x'step - x'rest,       X'Wv = g - H step - A rest = 0.

If the step moves no row across 0 or 1, and rest = 0, the gap is ``1/2 step'H step``, which is
exactly the decrease of the step.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats
from primum.labellings import LeastSquaresFamily
from primum.machines.svm import bends_of, first_flat


@dataclass(frozen=True)
class Point:
    """A fit given by its coordinates, and the value of f there with its ingredients.

    ``scores`` and ``labels`` are those of the unlabelled rows, ``errors`` the residuals of the
    labelled ones; ``slope`` is the gradient with respect to the coefficients of design rows.
    """

    gamma: Floats
    value: float
    slope: Floats
    scores: Floats
    labels: Floats
    errors: Floats

    @property
    def excess(self) -> Floats:
        """How far the scores of unlabelled rows lie outside [0, 1]."""
        return self.scores - self.labels


class SoftLabelProblem:
    """The function f of a family of least-squares fits."""

    def __init__(self, family: LeastSquaresFamily) -> None:
        equations = self.equations = family.equations
        self.labeled, self.unlabeled = equations.design(family.labeled.rows), family.unlabeled
        self.y = family.labeled.y
        self.size = float(np.linalg.norm(family.known))  # of the slope at beta = 0
        self.weight, self.weight_u = (
            np.ones(design.n_rows) if design.rows.weight is None else design.rows.weight
            for design in (self.labeled, self.unlabeled)
        )

    def _coef(self, beta: Floats) -> Floats:
        return beta[int(self.equations.fit_intercept) :]

    def _squares(self, errors: Floats, excess: Floats, coef: Floats) -> float:
        """Return half the weighted sum of squares over labelled rows, unlabelled ones and ridge."""
        ridge = self.equations.ridge * float(coef @ coef)
        return 0.5 * float(self.weight @ errors**2 + self.weight_u @ excess**2 + ridge)

    def per_labeled_row(self, value: float) -> float:
        """Return a value of f, or a difference, in units of the labelled rows' mean squared loss.

        The constant score 1/2 shows that min f is at most 1/4 in these units, for any number of
        rows.
        """
        return 2.0 * value / float(self.weight.sum())

    def at(self, gamma: Floats) -> Point:
        """Return the point with the given coordinates: two passes over the rows."""
        beta = self.equations.expand(gamma)
        scores, errors = self.unlabeled.dot(beta), self.labeled.dot(beta) - self.y
        labels = np.clip(scores, 0.0, 1.0)
        slope = self.labeled.weighted_sum(errors) + self.unlabeled.weighted_sum(scores - labels)
        self._coef(slope)[:] += self.equations.ridge * self._coef(beta)
        value = self._squares(errors, scores - labels, self._coef(beta))
        return Point(gamma, value, slope, scores, labels, errors)

    def newton(self, point: Point) -> tuple[Point, float]:
        """Return (the lowest point in the Newton direction, a proven gap of the given point)."""
        outside = point.excess != 0.0
        parts = [(self.labeled, self.weight), (self.unlabeled, self.weight_u * outside)]
        step, rest = self.equations.solve_part(point.slope, parts, self.size)
        betas = np.column_stack([self.equations.expand(step), self.equations.expand(rest)])
        on_labeled, on_unlabeled = self.labeled.dot(betas), self.unlabeled.dot(betas)
        off = on_unlabeled[:, 0] * outside + on_unlabeled[:, 1]
        v = point.excess - off
        gap = self._squares(on_labeled.sum(axis=1), off, self._coef(betas.sum(axis=1)))
        gap += float(self.weight_u @ (np.maximum(v, 0.0) - point.labels * v))
        curvature = 2.0 * self._squares(
            on_labeled[:, 0], on_unlabeled[:, 0] * outside, self._coef(betas[:, 0])
        )
        slope = -float(point.slope @ betas[:, 0])
        t = self._best_length(point, on_unlabeled[:, 0], slope, curvature)
        return self.at(point.gamma - t * step), gap

    def _best_length(self, point: Point, change: Floats, slope: float, curvature: float) -> float:
        """Return the t at which f is lowest if scores fall by ``t change``.

        The squared distance to [0, 1] is two squared hinges, one for each end, so f is a quadratic
        whose curvature jumps where a score passes an end.
        """
        slack = np.concatenate([-point.scores, point.scores - 1.0])
        speed = np.concatenate([change, -change])
        crosses = (((speed > 0) != (slack > 0)) & (speed != 0)).nonzero()[0]
        cost = np.concatenate([self.weight_u, self.weight_u])
        return first_flat(slope, curvature, *bends_of(crosses, cost, slack, speed))
