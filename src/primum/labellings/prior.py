"""A prior: bounds on the share of each class among the unlabelled rows.

    minimise over Q   1/2 || M Q - T ||^2     q_i in S_i,   s = (1/w) sum_i w_i q_i in X     (prior)

where X is the set of shares within the bounds [a, b] that add up to 1, and w is the total weight.
Let u be the vector with ``M'u = 1/w`` for every row, so that ``s = u'M Q``. Such a u exists if the
model has an intercept and M determines it; otherwise M gets a row of ones, and its cost is removed.

**The shares are a linear function of M Q**, so a prior only restricts what is compared with the
target: P becomes ``f(M Q)``, where ``f(z) = 1/2 ||z - T||^2`` if u'z is in X and infinite
otherwise. The solvers need its conjugate. With ``z = Xi + T`` and the multipliers

    nu = (u'z - project(u'z)) / |u|^2,

    f*(Xi)   = 1/2 ||z||^2 - 1/2 ||T||^2 - 1/2 |u|^2 |nu|^2,
    gradient = z - u nu',
    Hessian  = I - u u' / |u|^2 (x) (I - derivative of project).

The proof, for any nu and Xi, with ``p = M'(Xi + u nu')``:

    P(Q) - P(Q*) <= sum_i w_i slack(p_i, q_i) + max over x in X of nu.x - nu.s
                    + 1/2 || M Q - T - Xi ||^2

``Xi = M Q - T`` is the obvious choice, but if P(Q*) is 0 only its rounding is left, and the dual
point of a solver proves more.

With several classes M Q and Xi are taken without their means over the classes, and nu adds up to 0.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._typing import Floats
from primum._words import listed

if TYPE_CHECKING:
    from primum.labellings.problem import ProblemColumns

# A bound yields by this fraction of the distance that M Q would have to move along u to meet it.
# This keeps the Hessian regular where no label can move, and is far below the accuracy of shares.
BOUND_SOFTNESS = 1e-12
# In directions that the bounds hold, Newton's method adds this fraction of the curvature of one row
# whose label can move, and less where that shortens its steps: without it, steps would be far too
# long where few labels can move.
CURVATURE_DAMPING = 1e-2
# Shares this close to a bound count as being at the bound: above what the solver leaves
# (``MET_TOLERANCE``), below the share of one row.
BOUND_TOLERANCE = 1e-9
# Newton's method ends once the bounds are met within the first number, a share. Early on the path,
# the second is enough, a fraction of the smallest share: no class then loses all labels that can
# move.
MET_TOLERANCE, EARLY_SHARE = 1e-10, 0.1
# Rounding of shares, in units of |u| |M Q|: a few sums and products.
SHARE_EPS = 16 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class ShareBounds:
    """Bounds () or (K,) on the mean label; with several classes the shares add up to 1."""

    low: Floats
    high: Floats

    def project(self, v: Floats) -> Floats:
        """Return the nearest shares within the bounds."""
        if self.low.ndim == 0:
            return np.clip(v, self.low, self.high)
        return np.clip(v - self._threshold(v), self.low, self.high)

    def _threshold(self, v: Floats) -> float:
        """Return tau with ``clip(v - tau, low, high)`` adding up to 1.

        The sum is a decreasing, piecewise linear function of tau.
        """
        ends = np.unique(np.concatenate([v - self.high, v - self.low]))
        sums = np.clip(v - ends[:, None], self.low, self.high).sum(axis=1)
        return float(np.interp(-1.0, -sums, ends))

    def derivative(self, v: Floats) -> Floats:
        """Return the derivative of ``project`` at v, along directions that add up to 0."""
        x = self.project(v)
        inside = np.asarray((x > self.low) & (x < self.high), dtype=np.float64)
        if self.low.ndim == 0:
            return inside.reshape(1, 1)
        return np.diag(inside) - np.outer(inside, inside) / max(inside.sum(), 1.0)

    def farthest(self, nu: Floats) -> Floats:
        """Return the shares x within the bounds with the largest ``nu.x``."""
        if self.low.ndim == 0:
            return self.high if nu > 0 else self.low
        x = self.low.copy()
        left = 1.0 - float(self.low.sum())
        for k in np.argsort(-nu):
            step = min(left, float(self.high[k] - self.low[k]))
            x[k], left = x[k] + step, left - step
        return x

    def violation(self, s: Floats) -> float:
        """Return how far the shares are outside their bounds."""
        return float(np.max(np.maximum(self.low - s, s - self.high), initial=0.0))

    def signed(self, nu: Floats, s: Floats) -> Floats:
        """Return the multipliers plus a constant: positive for upper bounds, negative for lower.

        The multipliers of shares between their bounds are 0. If no share is, any constant between
        the multipliers of lower and of upper bounds would do.
        """
        at_low, at_high = s <= self.low + BOUND_TOLERANCE, s >= self.high - BOUND_TOLERANCE
        if self.low.ndim == 0:
            return np.where(at_low | at_high, nu, 0.0)
        between = ~(at_low | at_high)
        if between.any():
            return np.where(between, 0.0, nu - nu[between].mean())
        lower, upper = nu[at_low & ~at_high], nu[at_high & ~at_low]
        ends = [*np.sort(lower)[-1:], *np.sort(upper)[:1]]
        return np.asarray(nu - (np.mean(ends) if ends else 0.0))


@dataclass(frozen=True)
class HeldDirections:
    """The directions of M Q that the bounds of a prior hold fixed at some Xi.

    They are orthonormal columns, each a flattened matrix, contrast by contrast. Newton's method
    assumes this curvature of f* in them, and 1 in others.
    """

    directions: Floats
    curvature: float


@dataclass(frozen=True)
class Prior:
    """Bounds on shares that are a linear function of M Q.

    ``direction`` (r,) is u, ``offset`` () or (K,) are the shares if M Q is 0, and ``total`` is w.
    ``extended`` is M with a row of ones, to which u belongs, if M itself has no u
    (``prior_problem.py``).
    """

    shares: ShareBounds
    direction: Floats
    offset: Floats
    total: float
    extended: "ProblemColumns | None" = None

    @cached_property
    def length(self) -> float:
        """The length of u."""
        return float(np.linalg.norm(self.direction))

    def of(self, z: Floats) -> Floats:
        """Return the shares at ``M Q = z``."""
        return np.asarray(self.offset + self.direction @ z)

    def multipliers(self, z: Floats, change: Floats | None = None) -> Floats:
        """Return nu for ``z = Xi + T``, after a change of the shares there."""
        s = self.of(z) if change is None else self.of(z) + change
        return np.asarray((1.0 - BOUND_SOFTNESS) / self.length**2 * (s - self.shares.project(s)))

    def pull(self, nu: Floats) -> Floats:
        """Return ``u nu'``."""
        return np.asarray(np.multiply.outer(self.direction, nu))

    def reduction(self, z: Floats) -> float:
        """Return how much the prior lowers the conjugate at ``z = Xi + T``."""
        nu = self.multipliers(z)
        return 0.5 * self.length**2 * float(np.vdot(nu, nu)) / (1.0 - BOUND_SOFTNESS)

    def reduction_along(self, z: Floats, direction: Floats, s: float) -> float:
        """Return the derivative of the reduction along a direction, after a step s."""
        change = self.direction @ direction
        return float(np.vdot(self.multipliers(z, s * change), change))

    def held(
        self, z: Floats, contrasts: Floats | None, sigma: float, n_rows: int
    ) -> HeldDirections | None:
        """Return the directions held at ``z = Xi + T``, for Newton's method at some sigma."""
        free = self.shares.derivative(self.of(z))
        if contrasts is not None:
            free = contrasts.T @ free @ contrasts
        values, vectors = np.linalg.eigh(free)
        vectors = vectors[:, values < 0.5]
        if not vectors.size:
            return None
        # Along u, a row has the curvature sigma w_i / (w |u|)^2.
        of_row = sigma / (n_rows * self.total * self.length**2)
        curvature = min(max(CURVATURE_DAMPING * of_row, BOUND_SOFTNESS), 1.0)
        return HeldDirections(np.kron(vectors, self.direction[:, None] / self.length), curvature)

    def along_one(self, g: Floats, curvature: float, turn: int) -> Floats:
        """Return a step against the gradient along u for one of the classes, in turn.

        If shares are so small that hardly any label moves, their multipliers must change one by
        one: no step that changes all of them at once has the right length for each.
        """
        off = self.direction @ g
        only = np.zeros_like(off)
        k = turn % off.size
        only.flat[k] = off.flat[k]
        if only.ndim:
            only -= only.mean()
        return self.pull(only) / (-curvature * self.length**2)

    def gap(self, z: Floats, nu: Floats, xi: Floats) -> float:
        """Return the part of the duality gap that is due to the prior, at ``M Q = z``.

        Shares outside their bounds are not a solution, so the cost of moving them inside is added,
        for the dual point Xi.
        """
        s = self.of(z)
        outside = float(np.linalg.norm(s - self.shares.project(s))) / self.length
        size = float(np.linalg.norm(xi)) + self.length * float(np.linalg.norm(nu))
        slack = float(np.vdot(nu, self.shares.farthest(nu) - s))
        return max(slack, 0.0) + outside * (size + 0.5 * outside)

    def meets(self, z: Floats, within: float = BOUND_TOLERANCE) -> bool:
        """Return whether the shares at ``M Q = z`` are within their bounds."""
        rounding = SHARE_EPS * self.length * float(np.linalg.norm(z))
        return self.shares.violation(self.of(z)) <= within + rounding

    def settled(self, z: Floats, g: Floats, *, early: bool) -> bool:
        """Return whether the shares at ``M Q = z``, with the gradient g, need no further step.

        If the gradient along u is 0, a step would not bring them closer.
        """
        within = MET_TOLERANCE
        if early:  # the smallest share above 0 that is required of a class, or of all others
            required = np.append(self.shares.low, 1.0 - self.shares.high)
            smallest = float(np.min(required[required > 0], initial=1.0))
            within = max(MET_TOLERANCE, EARLY_SHARE * smallest)
        return self.meets(z, within) or float(np.abs(self.direction @ g).max()) <= MET_TOLERANCE

    def without(self, fixed: Floats) -> "Prior":
        """Return the prior for one part of M Q, given the other part, which is fixed."""
        return replace(self, offset=self.of(fixed))


@dataclass(frozen=True)
class PriorProof:
    """What a certificate says about a prior, for all classes or the second of two.

    There are the bounds on the shares, the shares of the labelling, and how fast the objective
    falls if an upper bound rises (positive) or a lower bound falls (negative); 0 if the share is
    between its bounds. If none of several shares is, these multipliers are determined only up to a
    common constant. The names of all classes are None if unknown.
    """

    low: Floats
    high: Floats
    shares: Floats
    multipliers: Floats
    classes: tuple[Any, ...] | None = None

    @property
    def violation(self) -> float:
        """How far the shares are outside their bounds."""
        return ShareBounds(self.low, self.high).violation(self.shares)

    def __str__(self) -> str:
        # Every share, with its bounds if they restrict it without fixing it.
        shares = []
        for share, low, high in self._of_all_classes():
            bounds = f" (bounds {low:.3g} to {high:.3g})" if 0 < high - low < 1 else ""
            shares.append(f"{share:.3g}{bounds}")
        if self.classes is not None:
            pairs = zip(self.classes, shares, strict=True)
            shares = [f"{name!r} {share}" for name, share in pairs]
        words = f"The shares of the classes among the unlabelled rows: {listed(shares)}"
        if not np.any(self.multipliers):
            return f"{words}; no bound of the prior is active."
        # The classes whose bounds are active, if there are several classes.
        active = ""
        if self.shares.ndim and self.classes is not None:
            names = [repr(self.classes[k]) for k in np.flatnonzero(self.multipliers).tolist()]
            active = f" (active: {listed(names)})"
        return f"{words}; the prior changed the fit{active}."

    def _of_all_classes(self) -> list[list[float]]:
        """Return (share, lower bound, upper bound) of every class."""
        share, low, high = (values.tolist() for values in (self.shares, self.low, self.high))
        if self.shares.ndim == 0:
            return [[1 - share, 1 - high, 1 - low], [share, low, high]]
        return [list(values) for values in zip(share, low, high, strict=True)]
