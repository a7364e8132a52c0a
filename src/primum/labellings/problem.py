"""Least squares over labellings.

    minimise over Q   P(Q) = 1/2 || M Q - T ||^2      q_i in S_i          (labels)

Q has one label per row: a number, or one share for each of several classes. ``M Q`` is the
weighted sum of m_i q_i'. The dual, with Xi of the shape of T:

    D(Xi) = -1/2 ||Xi||^2 - <T, Xi> + sum_i w_i p_i.best(p_i),      P = M'Xi.

For any labelling Q and any point Xi of the dual,

    P(Q) - D(Xi) = sum_i w_i slack(p_i, q_i) + 1/2 || M Q - T - Xi ||^2

is an upper bound on the difference between P(Q) and its minimum. No summand is negative. At
``Xi = M Q - T``, all are zero exactly when every label is the best one for its p_i. If several Q
are optimal, the solution is the least committed, closest to the centres of the label sets.

A prior restricts M Q, and changes the first two terms of D (``prior.py``).

The matrix ``M = B X_u'`` is formed when it is small (``FormedColumns``) and never when it is large
(``StreamedColumns`` in ``streamed.py``, with the same methods). Every row of X_u has a weight,
which multiplies q and the Gram matrix. With several classes Xi is (r, K) and Q is (U, K), otherwise
both have one axis.
"""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from primum._typing import Floats, Index
from primum.labellings.labelling import Labelling
from primum.labellings.prior import HeldDirections, Prior
from primum.labellings.sets import LabelInterval, LabelSet, contrasts_of
from primum.rows import library_of

if TYPE_CHECKING:
    from primum.labellings.nearest_twin import NearestTwin
    from primum.labellings.streamed import StreamedColumns

# M, formed or not.
ProblemColumns: TypeAlias = "FormedColumns | StreamedColumns"

# Differences in mean loss below this are rounding, for features of moderate means: losses are of
# order 1, and their sums lose some digits.
LOSS_ROUNDING = 1e-12
# Products of at most this many rows are remembered (8 MB), or of as many as fit into twice the
# memory of M: all rows, if there are at most two for each equation. Fewer multiplications than the
# second number take less time than a lookup.
MIN_REMEMBERED_ROWS, MIN_REMEMBERED_PRODUCTS = 2**10, 2**18
# A vector u solves ``M'u = 1`` if no residual exceeds this: far above rounding, far below 1.
ONES_TOLERANCE = 1e-9


class FormedColumns:
    """M as an array (r, U), with the weight of every row (U,), None: 1.

    ``passes`` is the number of products so far, and ``streamed`` is for an M that is not formed.
    """

    passes = 0
    streamed: None = None

    def __init__(self, matrix: Floats, weight: Floats | None = None) -> None:
        self.matrix, self.weight, self.shape = matrix, weight, matrix.shape
        self._remembered: RowProducts | None = None

    def project(self, xi: Floats) -> Floats:
        """Return ``M'Xi``, one number per row and class."""
        self.passes += 1
        return np.dot(xi.T, self.matrix).T if xi.ndim > 1 else self.matrix.T @ xi

    def accumulate(self, q: Any, moment: Floats | None = None) -> Floats:
        """Return ``M Q``, with rows weighted; X_u'Q, if it is known, is not needed."""
        self.passes += 1
        if self.weight is not None:
            q = np.asarray(q * (self.weight if q.ndim == 1 else self.weight[:, None]))
        return np.dot(q.T, self.matrix.T).T if q.ndim > 1 else self.matrix @ q

    def gaps(self, labels: LabelSet, duals: Floats, q: Any) -> Floats:
        """Return the weighted sum of ``slack(p, q)``, ``P = M'Xi``, for every Xi of duals."""
        self.passes += 1
        slacks, weight = [labels.slack(self.matrix.T @ xi, q) for xi in duals], self.weight
        return np.array([s.sum() if weight is None else s @ weight for s in slacks])

    def take(self, index: Index) -> Floats:
        """Return ``M_J``, not weighted."""
        self.passes += 1
        return self.matrix[:, index]

    def gram(self, index: Index | None = None) -> Floats:
        """Return ``M_J M_J'``, with rows weighted; None: that of all rows."""
        self.passes += 1
        M, weight = self.matrix, self.weight
        if index is None:
            return (M if weight is None else M * weight) @ M.T
        M = M[:, index]
        if weight is not None:
            M = M * np.sqrt(weight[index])
        return M @ M.T

    def products(self, index: Index) -> Floats:
        """Return ``M_J'M_J``, not weighted."""
        if len(index) ** 2 * len(self.matrix) < MIN_REMEMBERED_PRODUCTS:  # faster than a lookup
            M = self.matrix[:, index]
            return M.T @ M
        if self._remembered is None:
            self._remembered = RowProducts(self.matrix)
        return self._remembered.of(index)

    def lengths(self) -> Floats:
        """Return the length of every column."""
        self.passes += 1
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", self.matrix, self.matrix)))

    def scaled(self, factor: Floats) -> "FormedColumns":
        """Return the first dimensions of M, each multiplied by its factor."""
        return FormedColumns(factor[:, None] * self.matrix[: len(factor)], self.weight)

    def ones(self) -> Floats | None:
        """Return u with ``M'u = 1`` for every row, if there is one."""
        self.passes += 1
        return solved(self.matrix.T, np.ones(self.shape[1]))

    def with_ones(self, entry: float) -> "FormedColumns":
        """Return M with a further row of equal entries."""
        self.passes += 1
        row = np.full((1, self.shape[1]), entry)
        return FormedColumns(np.vstack([self.matrix, row]), self.weight)


class RowProducts:
    """``M_J'M_J`` for slowly changing J, without weights.

    The undecided rows change little between two Newton steps, so most of their products are known
    already, and selecting these takes a fraction of the time of computing them.
    """

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self._place = np.zeros(0, dtype=np.intp)  # of every row among the remembered ones
        self._rows = np.empty(0, dtype=np.intp)
        self._products = np.empty((0, 0))
        self._most_rows = max(MIN_REMEMBERED_ROWS, math.isqrt(2 * matrix.size))

    def of(self, index: Index) -> Floats:
        """Return the inner products of some columns."""
        size = len(index)
        if size > self._most_rows:
            M = self.matrix[:, index]
            return M.T @ M
        if not len(self._place):
            self._place = np.full(self.matrix.shape[1], -1)
        new = index[self._place[index] < 0]
        if len(self._rows) + len(new) > len(self._products):
            # With room to spare for the rows that later steps add.
            room = min(size + 3 * size // 4, self._most_rows, len(self._place))
            self._place[self._rows], self._rows, new = -1, self._rows[:0], index
            if room > len(self._products):
                self._products = np.empty((0, 0))  # freed before more is allocated
                self._products = np.empty((room, room))
        if len(new):
            before = len(self._rows)
            added = self.matrix[:, new]
            where = slice(before, before + len(new))
            if before:
                across = np.dot(added.T, self.matrix[:, self._rows])
                self._products[where, :before], self._products[:before, where] = across, across.T
            np.matmul(added.T, added, out=self._products[where, where])
            self._place[new] = np.arange(where.start, where.stop)
            self._rows = np.concatenate([self._rows, new])
        place = self._place[index]
        return self._products[:, : len(self._rows)][place].take(place, axis=1)


def solved(A: Floats, b: Floats) -> Floats | None:
    """Return the shortest u with ``A u = b``, if there is one."""
    # Each equation has the unit of its feature: scale them, so that all are solved equally well.
    sizes = np.linalg.norm(A, axis=1)
    sizes[sizes == 0] = 1.0
    A, b = A / sizes[:, None], b / sizes
    u = np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])
    return u if np.abs(A @ u - b).max(initial=0.0) <= ONES_TOLERANCE else None


def weighted(values: Floats, weight: Floats | None) -> Floats:
    """Return values, one or more per row, times the weight of their row."""
    if weight is None:
        return values
    return np.asarray(values * (weight if values.ndim == 1 else weight[:, None]))


def total_of(values: Floats, weight: Floats | None) -> float:
    """Return the weighted sum of one value per row."""
    return float(values.sum() if weight is None else values @ weight)


def per_row(values: Any) -> Any:
    """Return one value per row: if there is one for each class, their sum."""
    return values if values.ndim == 1 else library_of(values).sum(values, axis=1)


@dataclass(frozen=True)
class LabelProblem:
    """The problem (labels), and the units of its objective.

    Attributes
    ----------
    columns : ProblemColumns
        M, with the weight of every row.
    target : array (r,) or (r, K)
        T. With several classes its columns add up to 0.
    labels : LabelSet
        The sets S_i.
    loss_unit : float
        P times this is in units of the mean loss on the labelled rows (2 / L).
    loss_floor : float
        The part of the mean loss that does not depend on the labelling.
    scale : float
        The objective that counts as 1 when a tolerance is applied: 1 for losses of labels 0 and
        1, a typical value for quantities with units of their own.
    prior : Prior or None
        Bounds on the shares of the classes, if there are any.
    tie : NearestTwin or None
        How to choose among several optimal models; None: by the labelling closest to the centres
        of the label sets.
    determined : bool
        Whether the labelled rows, with their ridge, determine the model.
    """

    columns: ProblemColumns
    target: Floats
    labels: LabelSet = field(default_factory=LabelInterval)
    loss_unit: float = 1.0
    loss_floor: float = 0.0
    scale: float = 1.0
    prior: Prior | None = None
    tie: "NearestTwin | None" = None
    determined: bool = True

    @property
    def tie_break(self) -> str | None:
        """Name of the tie-break; None if there is no tie."""
        return None if self.determined else "half" if self.tie is None else "twin"

    def gap_within(self, tol: float) -> float:
        """Return the gap, in units of P, that a tolerance allows at an objective of 0."""
        return tol * self.scale / self.loss_unit

    def residual(self, q: Floats | Labelling, moment: Floats | None = None) -> Floats:
        """Return ``M Q - T``, a point of the dual: one pass, unless X_u'Q is known as moment."""
        xi = self.columns.accumulate(q, moment) - self.target
        return xi if xi.ndim == 1 else np.asarray(xi - xi.mean(axis=1, keepdims=True))

    def conjugate(self, xi: Floats) -> float:
        """Return ``1/2 ||Xi||^2 + <T, Xi>``, which a prior reduces."""
        plain = 0.5 * float(np.vdot(xi, xi)) + float(np.vdot(self.target, xi))
        return plain if self.prior is None else plain - self.prior.reduction(xi + self.target)

    def gradient(self, xi: Floats, residual: Floats) -> Floats:
        """Return the gradient of the conjugate at Xi minus M Q, from ``M Q - T``."""
        g = xi - residual
        return g if self.prior is None else g - self.prior.pull(self.multipliers(xi))

    def multipliers(self, xi: Floats) -> Floats:
        """Return the multipliers of the prior at Xi; none without a prior."""
        if self.prior is None:
            return np.zeros(0)
        return self.prior.multipliers(xi + self.target)

    def dual_point(self, residual: Floats, nu: Floats) -> Floats:
        """Return the dual point of ``M Q - T`` and multipliers of the prior."""
        return residual if self.prior is None else residual + self.prior.pull(nu)

    def prior_gap(self, residual: Floats, nu: Floats) -> float:
        """Return the part of the duality gap of ``M Q - T`` that is due to the prior."""
        if self.prior is None:
            return 0.0
        return self.prior.gap(residual + self.target, nu, self.dual_point(residual, nu))

    def meets_prior(self, residual: Floats) -> bool:
        """Return whether the shares at ``M Q - T`` are within the bounds of the prior."""
        return self.prior is None or self.prior.meets(residual + self.target)

    def gap_of(self, q: Floats, residual: Floats, nu: Floats) -> tuple[Floats, Floats, float, bool]:
        """Return (p, slack of every row, gap, whether the prior is met) of Q, M Q - T and nu."""
        prior, weight = self.prior, self.columns.weight
        dual = residual if prior is None else residual + prior.pull(nu)
        p = self.columns.project(dual)
        slack = self.labels.slack(p, q)
        gap = float(slack.sum() if weight is None else slack @ weight)
        if prior is None:
            return p, slack, gap + 0.0, True
        z = residual + self.target
        return p, slack, gap + prior.gap(z, nu, dual), prior.meets(z)

    def held(self, xi: Floats, sigma: float, damping: float = 1.0) -> HeldDirections | None:
        """Return the directions of M Q that the prior holds at Xi, if there are any."""
        if self.prior is None:
            return None
        z = xi + self.target
        contrasts = contrasts_of(self.labels.shape[0]) if self.labels.shape else None
        return self.prior.held(z, contrasts, damping * sigma, self.columns.shape[1])

    def judge(
        self,
        q: Floats | Labelling,
        dual: Floats | None = None,
        tol: float = 0.0,
        moment: Floats | None = None,
        slack: tuple[Floats, float] | None = None,
    ) -> "ProvenGap":
        """Return the loss of q and a bound on its distance from the optimum: two passes.

        Any point Xi of the dual problem gives a lower bound: ``P(Q) - D(Xi)`` is the sum of the
        slacks at Xi plus ``1/2 || M Q - T - Xi ||^2``. ``M Q - T`` is such a point; if it does not
        prove q to be within tol and ``dual`` is given, the latter is tried too. If known, each of
        these saves a pass: ``moment``, the sum of the design rows times q, and ``slack``, which is
        (Xi, the sum of the slacks at Xi) for an Xi close to ``M Q - T``.
        """
        residual = self.residual(q, moment)
        unit = self.loss_unit
        xi, at_xi = (residual, self.slack(q, residual)) if slack is None else slack
        objective = self.loss_floor + unit * (0.5 * float(np.vdot(residual, residual)))
        off = residual - xi
        gap = unit * (at_xi + 0.5 * float(np.vdot(off, off)))
        judged = ProvenGap(objective, gap, self.scale)
        if dual is None or judged.within(tol):
            return judged
        off = residual - dual
        gap = unit * (self.slack(q, dual) + 0.5 * float(np.vdot(off, off)))
        return replace(judged, gap=min(judged.gap, gap))

    def slack(self, q: Floats | Labelling, dual: Floats) -> float:
        """Return the sum of the slacks of all rows at a dual point: one pass."""
        return float(self.columns.gaps(self.labels, dual[None], q)[0])


def half_square(values: Floats) -> float:
    """Return half the sum of the squares."""
    return 0.5 * float(np.vdot(values, values))


def centred(values: Floats) -> Floats:
    """Return M Q, or M Q plus a constant, without its mean over several classes."""
    return values if values.ndim == 1 else without_mean(values)


def without_mean(values: Floats) -> Floats:
    """Return values of several classes, (n, K), without their mean over the classes."""
    return np.asarray(values - values.mean(axis=1, keepdims=True))


@dataclass(frozen=True)
class ProvenGap:
    """Objective of a labelling, in mean loss, and a proven bound on how far it can be lowered."""

    objective: float
    gap: float
    scale: float = 1.0

    def within(self, tol: float) -> bool:
        """Return whether the gap is within tol, absolute (in units of scale) plus relative."""
        return bool(np.isfinite(self.gap)) and self.gap <= tol * (self.scale + self.objective)


@dataclass(frozen=True)
class Solution:
    """A feasible labelling and the number of iterations.

    ``labels`` is an array or, if there are too many rows, a ``Labelling``.

    ``dual`` is a point of the dual problem that may give a better bound than the labelling itself,
    if the solver has one. ``pull`` are the multipliers that prove that the labelling is nearest to
    the twin, if several labellings have the smallest labelled loss. ``multipliers`` are those of
    the prior; empty without one. If already computed, ``moment`` is the sum of the design rows
    times their labels, and ``slack`` is (a dual point, the sum of the slacks of all rows at it).
    ``proven`` is whether the solver itself found the gap to be within the tolerance. A certificate
    verifies all of this except ``moment`` and ``slack``.
    """

    labels: Floats | Labelling
    iterations: int
    dual: Floats | None = None
    pull: Floats | None = None
    multipliers: Floats = field(default_factory=lambda: np.zeros(0))
    moment: Floats | None = None
    slack: tuple[Floats, float] | None = None
    proven: bool = False

    @property
    def array(self) -> Floats:
        """The labels, if the solver returns them as an array."""
        assert isinstance(self.labels, np.ndarray)
        return self.labels
