"""Prediction of the next point of the path (``newton.py``).

Between two values of sigma at which a label reaches or leaves the boundary of its set, the path
solves a linear system: that of the faces. If more labels are undecided than there are equations,
the system is large and the faces will change anyway, so the path is extrapolated along its secant;
near its end it is linear in 1/sigma.
"""

from dataclasses import dataclass

from primum._typing import Floats
from primum.labellings import LabelProblem, per_row, weighted
from primum.labellings.sets import Face, faces_of
from primum.solvers.faces import freedom_of, n_contrasts, newton_direction


@dataclass(frozen=True)
class Point:
    """A dual point Xi and ``P = M'Xi``."""

    xi: Floats
    p: Floats


@dataclass(frozen=True)
class OnPath:
    """A point at which the path was reached, with its sigma and its labels."""

    sigma: float
    point: Point
    q: Floats


def predict(problem: LabelProblem, sigma: float, latest: OnPath, previous: OnPath | None) -> Point:
    """Return a start for the next sigma: the latest point, or a predicted one if psi is smaller."""
    labels, point = problem.labels, latest.point
    faces = faces_of(labels, labels.open(latest.q))
    if freedom_of(faces) <= problem.columns.shape[0] * n_contrasts(labels):
        ahead = _with_the_same_faces(problem, sigma, latest, faces)
    elif previous is not None:
        ahead = _along_the_secant(sigma, latest, previous)
    else:
        return point
    return min((ahead, point), key=lambda start: _psi(problem, start, sigma))


def _with_the_same_faces(
    problem: LabelProblem, sigma: float, latest: OnPath, faces: list[Face]
) -> Point:
    """Return where the path would be if every label stayed on its face."""
    columns, labels, point = problem.columns, problem.labels, latest.point
    q = latest.q + (latest.sigma - sigma) * labels.along(labels.open(latest.q), point.p)
    g = problem.gradient(point.xi, problem.residual(q))
    held = problem.held(point.xi, sigma)
    change = newton_direction(columns, labels, faces, sigma, g, held)
    return Point(point.xi + change, point.p + columns.project(change))


def _along_the_secant(sigma: float, latest: OnPath, previous: OnPath) -> Point:
    """Return the linear extrapolation in 1/sigma."""
    point, before = latest.point, previous.point
    ratio = (1 / sigma - 1 / latest.sigma) / (1 / latest.sigma - 1 / previous.sigma)
    return Point(point.xi + ratio * (point.xi - before.xi), point.p + ratio * (point.p - before.p))


def _psi(problem: LabelProblem, point: Point, sigma: float) -> float:
    labels, xi = problem.labels, point.xi
    q = labels.project(labels.centre - sigma * point.p)
    inner = per_row(point.p * q + (q - labels.centre) ** 2 / (2 * sigma))
    total = weighted(inner, problem.columns.weight).sum()
    return problem.conjugate(xi) - float(total)
