"""Least squares with soft labels for the unlabelled rows: a convex function of the coefficients.

The best label in a label set S for a score is the nearest point of S: the score itself, clipped to
[0, 1], for two classes; the nearest point of the simplex to the K scores, for more. With these,

    f(beta) = 1/2 sum_l w |x'beta - y|^2 + 1/2 sum_u w dist(x'beta, S)^2 + n alpha/2 ||coef||^2

is convex, smooth and piecewise quadratic. Write a ridge as further labelled rows with label 0, and
r for the residuals: ``x'beta - y`` of labelled rows, ``x'beta - project(x'beta)`` of unlabelled
ones. The gradient is ``g = X'Wr``. The derivative of r with respect to the score is 1 for labelled
rows and ``M = 1 - C`` for unlabelled ones. C, the derivative of ``project``, is the orthogonal
projection on the directions of the face of S that the label is inside of. The Hessian H is the
normal matrix of all rows with these M, and g is in its range even where H is singular. Newton steps
``beta - t H^+ g`` with the best t are taken until the gap is closed.

The labels of K classes add up to 1, so the sum of the K scores is fitted by plain least squares to
labels that are 1 everywhere. Every fit to labels has this sum, so steps are taken in the other
directions only, K - 1 contrasts.

Gap. By Fenchel's inequality, for any residuals v with ``X'Wv = 0``,

    f(beta) - min f  <=  1/2 sum w |r - v|^2 + sum_u w (max over q in S of v.q - v.c),

where ``c = project(x'beta)``, and every term is non-negative. The residuals after the Newton step
satisfy this: with ``H step + A rest = g`` (A is the normal matrix of all rows),

    v = r - M x'step - x'rest,       X'Wv = g - H step - A rest = 0.

If the step moves no label to another face, and rest = 0, the gap is ``1/2 step'H step``, which is
exactly the decrease of the step.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats
from primum.equations import Design, RowCurvature
from primum.labellings import LeastSquaresFamily
from primum.labellings.sets import LabelSet

# The length of a step is best if the slope there is below this fraction of the initial one; it is
# searched for in at most this many steps.
FLAT, LENGTH_STEPS = 1e-9, 100
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Point:
    """A fit given by its coordinates, and the value of f there with its ingredients.

    ``scores`` and ``labels`` are those of the unlabelled rows, ``errors`` the residuals of the
    labelled ones, with one column, or one per class; ``slope`` is the gradient with respect to the
    coefficients of design rows.
    """

    gamma: Floats
    value: float
    slope: Floats
    scores: Floats
    labels: Floats
    errors: Floats

    @property
    def excess(self) -> Floats:
        """How far the scores of unlabelled rows are outside the label set."""
        return self.scores - self.labels


class SoftLabelProblem:
    """The function f of a family of least-squares fits and a label set."""

    def __init__(self, family: LeastSquaresFamily, label_set: LabelSet) -> None:
        equations = self.equations = family.equations
        self.label_set = label_set
        contrasts = label_set.contrasts
        self.contrasts = np.ones((1, 1)) if contrasts is None else contrasts
        self.labeled, self.unlabeled = equations.design(family.labeled.rows), family.unlabeled
        self.y = _columns(family.labeled.y)
        self.size = float(np.linalg.norm(family.known))  # of the slope at beta = 0
        self.weight, self.weight_u = _weight(self.labeled), _weight(self.unlabeled)

    def _coef(self, beta: Floats) -> Floats:
        return beta[int(self.equations.fit_intercept) :]

    def _squares(self, errors: Floats, excess: Floats, coef: Floats) -> float:
        """Return half the weighted sum of squares over labelled rows, unlabelled ones and ridge."""
        ridge = self.equations.ridge * float(np.vdot(coef, coef))
        of_rows = self.weight @ _dots(errors, errors) + self.weight_u @ _dots(excess, excess)
        return 0.5 * float(of_rows + ridge)

    def _natural(self, labels: Floats) -> Floats:
        """Return labels, or scores, in the shape that the label set has."""
        return labels.reshape(len(labels), *self.label_set.shape)

    def _project(self, scores: Floats) -> Floats:
        return _columns(np.asarray(self.label_set.project(self._natural(scores))))

    def _free(self, labels: Floats, change: Floats) -> Floats:
        """Return how labels change with their scores, for a small change of these."""
        face = self.label_set.open(self._natural(labels))
        return _columns(np.asarray(self.label_set.along(face, self._natural(change))))

    def per_labeled_row(self, value: float) -> float:
        """Return a value of f, or a difference, in units of the labelled rows' mean squared loss.

        The constant scores 1/2, or 1/K, show that min f is below 1 in these units, for any number
        of rows.
        """
        return 2.0 * value / float(self.weight.sum())

    def labels_of(self, point: Point) -> Floats:
        """Return the labels of a point, one per row or one per row and class."""
        return self._natural(point.labels)

    def at(self, gamma: Floats) -> Point:
        """Return the point with the given coordinates: two passes over the rows."""
        beta = _columns(self.equations.expand(gamma))
        scores, errors = self.unlabeled.dot(beta), self.labeled.dot(beta) - self.y
        labels = self._project(scores)
        slope = self.labeled.weighted_sum(errors) + self.unlabeled.weighted_sum(scores - labels)
        self._coef(slope)[:] += self.equations.ridge * self._coef(beta)
        value = self._squares(errors, scores - labels, self._coef(beta))
        return Point(gamma, value, slope, scores, labels, errors)

    def newton(self, point: Point) -> tuple[Point, float]:
        """Return (the lowest point in the Newton direction, a proven gap of the given point)."""
        n_values = self.contrasts.shape[1]
        curvature = self._curvature(point)
        parts = [
            (self.labeled, RowCurvature.full(self.weight, n_values)),
            (self.unlabeled, curvature),
        ]
        step, rest = self.equations.solve_part(point.slope @ self.contrasts, parts, self.size)
        betas = np.hstack([self.equations.expand(step), self.equations.expand(rest)])
        on_labeled, on_unlabeled = self.labeled.dot(betas), self.unlabeled.dot(betas)
        gap = self._gap(point, curvature, betas, on_labeled, on_unlabeled)
        step, beta, change, change_u = (
            V[:, :n_values] @ self.contrasts.T for V in (step, betas, on_labeled, on_unlabeled)
        )
        t = self._best_length(point, beta, change, change_u)
        return self.at(point.gamma - t * step.reshape(point.gamma.shape)), gap

    def _curvature(self, point: Point) -> RowCurvature:
        """Return M of every unlabelled row."""
        keys = self.label_set.keys(self.label_set.open(self._natural(point.labels)))
        distinct = np.unique(keys)
        distinct = distinct[distinct != 0]  # a label with key 0 cannot move: full curvature
        full = np.eye(self.contrasts.shape[1])
        matrices = [full]
        for key in distinct:
            free = self.contrasts.T @ self.label_set.directions(int(key))
            matrices.append(full - free @ free.T)
        kind = np.where(keys == 0, 0, 1 + np.searchsorted(distinct, keys))
        return RowCurvature(self.weight_u, kind, np.stack(matrices))

    def _gap(
        self,
        point: Point,
        curvature: RowCurvature,
        betas: Floats,
        on_labeled: Floats,
        on_unlabeled: Floats,
    ) -> float:
        """Return the proven gap, from a step and a rest: their coefficients and their scores."""
        half = betas.shape[1] // 2
        off = curvature.times(on_unlabeled[:, :half]) + on_unlabeled[:, half:]
        v = self._natural(point.excess - off @ self.contrasts.T)
        slack = self.label_set.slack(-v, self._natural(point.labels))
        both = betas[:, :half] + betas[:, half:]
        squares = self._squares(on_labeled[:, :half] + on_labeled[:, half:], off, self._coef(both))
        return squares + float(self.weight_u @ slack)

    def _best_length(self, point: Point, beta: Floats, change: Floats, change_u: Floats) -> float:
        """Return the t at which f is lowest, where coefficients and scores fall by t times these.

        The slope of f along the step is continuous, increasing and piecewise linear.
        """
        start = -float(np.vdot(point.slope, beta))
        bend = 2.0 * self._squares(change, np.zeros_like(change_u), self._coef(beta))
        if -start <= EPS * point.value:  # whatever the length, f does not change
            return 1.0
        low, high, t = 0.0, np.inf, 1.0
        for n_steps in range(LENGTH_STEPS):
            slope, curvature = self._along_step(point, change_u, t)
            slope, curvature = start + t * bend + slope, bend + curvature
            if abs(slope) <= -FLAT * start:
                return t
            low, high = (t, high) if slope < 0.0 else (low, t)
            newton = t - slope / curvature if curvature > 0.0 else np.inf
            # Newton's method for the slope can alternate between two pieces: bisect now and then.
            if low < newton < high and n_steps % 4 < 3:
                t = newton
            else:
                t = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
        return t

    def _along_step(self, point: Point, change: Floats, t: float) -> tuple[float, float]:
        """Return what unlabelled rows add, at t, to the change of the slope and the curvature."""
        scores = point.scores - t * change
        labels = self._project(scores)
        moved = scores - labels - point.excess
        free = self._free(labels, change)
        curvature = self.weight_u @ (_dots(change, change) - _dots(free, free))
        return -float(self.weight_u @ _dots(change, moved)), float(curvature)


def _columns(values: Floats) -> Floats:
    """Return values as columns: one, or one per class."""
    return values[:, None] if values.ndim == 1 else values


def _dots(V: Floats, W: Floats) -> Floats:
    """Return the products of the rows of V with those of W."""
    return np.asarray(np.einsum("ij,ij->i", V, W))


def _weight(design: Design) -> Floats:
    weight = design.rows.weight
    return np.ones(design.n_rows) if weight is None else weight
