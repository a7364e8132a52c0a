"""The multipliers of a prior (``labellings.shares``).

For multipliers nu, let Q(nu) solve the label problem whose target they have moved, and s(nu) be its
shares. The dual function

    d(nu) = min over Q [ P(Q) + nu.s ] - sum_k max(nu_k a_k, nu_k b_k)

is concave. Where no nu_k changes its sign it is smooth, with gradient ``s - b`` (nu_k > 0) or
``s - a`` (nu_k < 0), and its second derivative follows from the faces of the labels: a change of
the target moves M Q by its projection on the directions in which M Q can move (``faces.py``). It is
maximised by Newton's method with a line search, within the orthant of the current signs; a
multiplier that would change its sign stops at 0. As s is piecewise linear, the last step is exact.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primum._typing import Floats, Mask
from primum.labellings import Columns, HyperplaneLabels, LabelSet, PriorProblem
from primum.labellings.sets import faces_of
from primum.solvers.faces import stacked
from primum.solvers.nearest_twin import SolveLabels
from primum.solvers.newton import AIM
from primum.solvers.solution import Solution

STEPS = 100
# The shares are within their bounds, and the multipliers right, to this accuracy.
ACCURACY = 1e-11
# A step is accepted if it gains this fraction of what the slope promises. At the end, gains are
# smaller than the rounding of d, and a step is accepted if it leaves no more than this fraction of
# the gradient.
GAIN, ROUNDING, LEFT = 1e-4, 1e-11, 0.5
# What is added to the second derivative, as a fraction of its size: no more than this, and no more
# than the largest deviation of the shares.
DAMPING = 1e-3
HALVINGS = 30
# Rounds in which the cost of an added row of ones is removed.
REMOVALS = 10
# Directions shorter than this fraction of the longest are rounding.
RANK = 1e-9


@dataclass(frozen=True)
class _Point:
    """Multipliers, the solution for them, its shares, and the value of the dual function."""

    nu: Floats
    solution: Solution
    s: Floats
    value: float


def solve_prior(prior: PriorProblem, solve_labels: SolveLabels, tol: float) -> Solution:
    """Return the optimal labelling with shares within the bounds of a prior."""
    free = solve_labels(prior.problem, tol)
    s = prior.of(free.labels)
    if prior.shares.violation(s) <= ACCURACY:
        return replace(free, multipliers=np.zeros_like(s))
    nu, iterations = np.zeros_like(s), free.iterations
    for _ in range(REMOVALS):
        anchor = prior.shares.project(s)
        found, steps = _maximise(_Dual(prior, solve_labels, tol, anchor), nu)
        nu, s, iterations = found.nu, found.s, iterations + steps
        enough = AIM * prior.problem.gap_within(tol)
        if not prior.has_row_of_ones or prior.penalty(s, anchor) <= enough:
            break
    return replace(found.solution, iterations=iterations, multipliers=nu)


@dataclass(frozen=True)
class _Dual:
    """The dual function, and its derivatives within an orthant."""

    prior: PriorProblem
    solve_labels: SolveLabels
    tol: float
    anchor: Floats

    def at(self, nu: Floats) -> _Point:
        moved = self.prior.moved(nu, self.anchor)
        solution = self.solve_labels(moved, self.tol)
        s = self.prior.of(solution.labels)
        xi = moved.residual(solution.labels)
        # The square of the distance to the moved target, and what moving it has left out.
        t = self.prior.moved(np.zeros_like(nu), self.anchor).target
        squares = np.vdot(xi, xi) + np.vdot(t, t) - np.vdot(moved.target, moved.target)
        least = 0.5 * float(squares) + (float(nu.mean()) if nu.ndim else 0.0)
        value = least - float(np.sum(np.maximum(nu * self.low, nu * self.high)))
        return _Point(nu, solution, s, value)

    @property
    def low(self) -> Floats:
        return self.prior.shares.low

    @property
    def high(self) -> Floats:
        return self.prior.shares.high

    def signs(self, point: _Point) -> Floats:
        """Return the orthant: the sign of each multiplier, or that which it would take."""
        wanted = np.where(point.s > self.high, 1.0, np.where(point.s < self.low, -1.0, 0.0))
        return np.where(point.nu == 0, wanted, np.sign(point.nu))

    def gradient(self, point: _Point, signs: Floats) -> Floats:
        ends = np.where(signs > 0, self.high, self.low)
        return np.where(signs == 0, 0.0, point.s - ends)

    def direction(self, point: _Point, gradient: Floats, free: Mask) -> Floats:
        """Return the Newton direction in the free multipliers."""
        J = _derivative(self.prior, point.solution.labels)
        scale = max(float(np.linalg.norm(J, 2)), RANK * self.prior.steepness)
        damping = max(min(DAMPING, float(np.abs(gradient).max())), RANK) * scale
        index = np.flatnonzero(free)
        step = np.zeros(free.shape)
        part = J[np.ix_(index, index)] + damping * np.eye(len(index))
        step.flat[index] = np.linalg.solve(part, gradient.flat[index])
        return step

    def stepped(self, point: _Point, direction: Floats, signs: Floats, length: float) -> Floats:
        """Return the multipliers after a step; none leaves its orthant, unless it has no kink."""
        nu = point.nu + length * direction
        return np.where((nu * signs < 0) & (self.low < self.high), 0.0, nu)


def _maximise(dual: _Dual, nu: Floats) -> tuple[_Point, int]:
    """Return (the point at the maximum, iterations of all solutions)."""
    here = dual.at(nu)
    iterations = here.solution.iterations
    for _ in range(STEPS):
        signs = dual.signs(here)
        gradient = dual.gradient(here, signs)
        size = np.abs(gradient).max()
        if size <= ACCURACY:
            break
        direction = dual.direction(here, gradient, signs != 0)
        length = 1.0
        for _ in range(HALVINGS):
            there = dual.at(dual.stepped(here, direction, signs, length))
            iterations += there.solution.iterations
            gain = there.value - here.value
            left = np.abs(dual.gradient(there, dual.signs(there))).max()
            close = gain >= -ROUNDING * abs(here.value) and left <= LEFT * size
            if close or gain >= GAIN * float(np.vdot(gradient, there.nu - here.nu)):
                break
            length *= 0.5
        if np.array_equal(there.nu, here.nu):
            break
        here = there
    return here, iterations


def _derivative(prior: PriorProblem, labels: Any) -> Floats:
    """Return minus the derivative of the shares with respect to the multipliers."""
    sets, u = prior.problem.labels, prior.direction
    reach = _reach(prior.columns, sets, labels, u)
    inner = prior.steepness * np.eye(_size(sets)) if reach is None else reach.T @ reach
    if sets.contrasts is None:
        return np.asarray(inner)
    return np.asarray(sets.contrasts @ inner @ sets.contrasts.T)


def _size(sets: LabelSet) -> int:
    return 1 if sets.contrasts is None else sets.contrasts.shape[1]


def _reach(columns: Columns, sets: LabelSet, labels: Any, u: Floats) -> Floats | None:
    """Return u, for each contrast, in a basis of the directions in which M Q can move.

    None if these are not known, because no row has a label of its own.
    """
    if isinstance(labels, HyperplaneLabels) and np.isinf(labels.sigma):
        values, where = labels.values, labels.positions
    elif isinstance(labels, np.ndarray):
        values, where = labels, None
    else:
        return None
    faces = faces_of(sets, (sets if where is None else sets.take(where)).open(values))
    if where is not None:
        faces = [replace(face, rows=where[face.rows]) for face in faces]
    if not faces:
        return np.zeros((0, _size(sets)))
    A = stacked(columns, sets, faces)
    U, S, _ = np.linalg.svd(A, full_matrices=False)
    return np.asarray(U[:, RANK * S[0] < S].T @ np.kron(np.eye(_size(sets)), u[:, None]))
