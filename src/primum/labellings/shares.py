"""A prior: bounds on the share of each class among the unlabelled rows.

    minimise over Q   1/2 || M Q - T ||^2     q_i in S_i,   s = (1/w) sum_i w_i q_i in X     (prior)

where X are the shares within the bounds [a, b] that add up to 1, and w is the total weight. Let u
be the vector with ``M'u = 1/w`` for every row, so that ``s = u'M Q``. Such a u exists if the model
has an intercept and M determines it; otherwise M gets a row of ones, whose cost is then removed.
With a multiplier nu for each class,

    1/2 ||M Q - T||^2 + nu.s  =  1/2 ||M Q - (T - u nu')||^2 + constant:

**a prior moves the target along one direction**, and the problem stays a label problem. As M Q is a
projection of the target, s is a continuous function of nu, and the right nu is the one for which s
is the point of X with the largest ``nu.x``. The proof, with ``Xi = M Q - T + u nu'`` and p = M'Xi:

    P(Q) - P(Q*) <= sum_i w_i slack(p_i, q_i) + max over x in X of nu.x - nu.s
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from primum._typing import Floats, Mask
from primum.equations import Design, Frame, RowValues
from primum.labellings.columns import Columns, FormedColumns, StreamedColumns
from primum.labellings.problem import Judgement, LabelProblem, without_mean

# A vector u solves ``M'u = 1`` if it leaves no more than this.
EXACT = 1e-9
# The row of ones, where M lacks it, has this fraction of the size of M: the smaller it is, the
# fewer rounds remove its cost, and the worse conditioned is the problem.
FAINT = 1e-3


@dataclass(frozen=True)
class Shares:
    """Bounds on the mean label: one pair, or one for each class.

    Attributes
    ----------
    low, high : array () or (K,)
        The bounds. With several classes the shares add up to 1.
    """

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

    def inside(self, v: Floats) -> Mask:
        """Return which of the projected shares are not at a bound."""
        x = self.project(v)
        return np.asarray((x > self.low) & (x < self.high))

    def largest(self, nu: Floats) -> float:
        """Return the maximum of ``nu.x`` over all shares x within the bounds."""
        if self.low.ndim == 0:
            return float(max(nu * self.low, nu * self.high))
        x, left = self.low.copy(), 1.0 - float(self.low.sum())
        for k in np.argsort(-nu):
            step = min(left, float(self.high[k] - self.low[k]))
            x[k], left = x[k] + step, left - step
        return float(nu @ x)

    def violation(self, s: Floats) -> float:
        """Return by how much the shares are outside their bounds."""
        return float(np.max(np.maximum(self.low - s, s - self.high), initial=0.0))


@dataclass(frozen=True)
class PriorProof:
    """What a certificate says of a prior.

    Attributes
    ----------
    low, high : array () or (K,)
        The bounds on the shares; for two classes, of the second one.
    shares : array () or (K,)
        The shares of the labelling.
    multipliers : array () or (K,)
        How fast the objective falls if an upper bound rises (positive) or a lower bound falls
        (negative); 0 if neither bound is active. With several classes and fixed shares they are
        determined up to a common constant.
    """

    low: Floats
    high: Floats
    shares: Floats
    multipliers: Floats


@dataclass(frozen=True)
class PriorProblem:
    """The problem (prior).

    Attributes
    ----------
    problem : LabelProblem
        The problem without the prior.
    shares : Shares
        The bounds.
    columns : Columns
        M, with a row of ones if it lacks one.
    direction : array (r,)
        u, for these columns.
    """

    problem: LabelProblem
    shares: Shares
    columns: Columns
    direction: Floats

    @property
    def has_row_of_ones(self) -> bool:
        """Whether a row of ones was added to M."""
        return self.columns.shape[0] > self.problem.columns.shape[0]

    @cached_property
    def steepness(self) -> float:
        """Bound on the change of the shares with their multipliers."""
        return float(self.direction @ self.direction)

    def penalty(self, s: Floats, anchor: Floats) -> float:
        """Return the cost of the added row of ones, in units of P."""
        return 0.5 * float(np.sum(((s - anchor) / self.direction[-1]) ** 2))

    def moved(self, nu: Floats, anchor: Floats) -> LabelProblem:
        """Return the label problem for multipliers nu.

        If a row of ones was added to M, ``anchor`` are the shares from which a deviation is
        penalised; at the solution they are its own shares, and the penalty is zero.
        """
        target = self.problem.target
        if self.has_row_of_ones:
            row = np.asarray(anchor / self.direction[-1])[None]
            target = np.concatenate([target, row if target.ndim == 1 else without_mean(row)])
        # Adding a number to all multipliers adds the same number to the objective.
        target = target - np.multiply.outer(self.direction, nu - nu.mean() if nu.ndim else nu)
        return replace(self.problem, columns=self.columns, target=target)

    def of(self, q: Floats | RowValues, moment: Floats | None = None) -> Floats:
        """Return the shares of a labelling."""
        if self.has_row_of_ones:
            return np.asarray(self.direction @ self.columns.accumulate(q))
        return np.asarray(self.direction @ self.columns.accumulate(q, moment))

    def judge(
        self, q: Floats | RowValues, nu: Floats, moment: Floats | None = None
    ) -> tuple[Judgement, Floats]:
        """Return the objective of q and its gap, and the shares of q."""
        s = self.of(q, moment)
        xi = self.problem.residual(q, moment)
        primal = 0.5 * float(np.vdot(xi, xi))
        dual = xi
        if self.has_row_of_ones:
            dual = np.concatenate([xi, np.zeros_like(xi[:1])])
        dual = dual + np.multiply.outer(self.direction, nu)
        slack = float(self.columns.gaps(self.problem.labels, dual[None], q)[0])
        unit = self.problem.loss_unit
        gap = slack + max(self.shares.largest(nu) - float(np.vdot(nu, s)), 0.0)
        objective = self.problem.loss_floor + unit * primal
        return Judgement(objective, unit * gap, self.problem.scale), s


def prior_problem(problem: LabelProblem, shares: Shares, total: float) -> PriorProblem:
    """Return the problem with a prior; ``total`` is the weight of all unlabelled rows."""
    columns = problem.columns
    if (direction := _ones_of(columns)) is not None:
        return PriorProblem(problem, shares, columns, direction / total)
    columns, entry = _with_ones(columns, total)
    direction = np.zeros(columns.shape[0])
    direction[-1] = 1.0 / (entry * total)
    return PriorProblem(problem, shares, columns, direction)


def _ones_of(columns: Columns) -> Floats | None:
    """Return u with ``M'u = 1`` for every row, if there is one."""
    if isinstance(columns, StreamedColumns):
        wanted = np.zeros(columns.B.shape[1])
        if not columns.design.frame.fit_intercept:
            return None
        wanted[0], A = 1.0, columns.B.T
    else:
        A = columns.take(np.arange(columns.shape[1])).T
        wanted = np.ones(len(A))
    u = np.asarray(np.linalg.lstsq(A, wanted, rcond=None)[0])
    return u if np.abs(A @ u - wanted).max(initial=0.0) <= EXACT else None


def _with_ones(columns: Columns, total: float) -> tuple[Columns, float]:
    """Return (M with a row of equal entries, its entry)."""
    if isinstance(columns, StreamedColumns):
        size = float(np.sqrt(np.trace(columns.gram_of_all)))
        entry = FAINT * size / total**0.5
        frame = columns.design.frame
        design = Design(columns.design.rows, Frame(frame.center, True, frame.near))
        first = np.zeros((len(columns.B), int(not frame.fit_intercept)))
        B = np.hstack([first, columns.B])
        row = np.zeros((1, B.shape[1]))
        row[0, 0] = entry
        return StreamedColumns(np.vstack([B, row]), design), entry
    M = columns.take(np.arange(columns.shape[1]))
    entry = FAINT * float(np.sqrt(np.trace(columns.gram_of_all))) / total**0.5
    return FormedColumns(np.vstack([M, np.full((1, M.shape[1]), entry)]), columns.weight), entry
