"""Least squares over labellings.

    minimise over Q   P(Q) = 1/2 || M Q - T ||^2      q_i in S_i          (labels)

Q has one label per row: a number, or one share for each of several classes. ``M Q`` is the
weighted sum of m_i q_i'. The dual, with Xi of the shape of T:

    D(Xi) = -1/2 ||Xi||^2 - <T, Xi> + sum_i w_i support(p_i),      P = M'Xi.

For any labelling Q, ``Xi = M Q - T`` is a point of the dual, and

    P(Q) - D(Xi) = sum_i w_i (p_i.q_i - support(p_i))

is an upper bound on the difference between P(Q) and its minimum. No summand is negative, and all
are zero exactly when every label is the best one for its p_i. If several Q are optimal, the one
closest to the centres of the label sets, the least committed, is the solution.

A prior restricts M Q, and changes the first two terms of D (``shares.py``).

The result of a solver.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primum._typing import Floats
from primum.equations import RowValues
from primum.labellings.columns import Columns
from primum.labellings.prior import Held, Prior
from primum.labellings.sets import Interval, LabelSet


@dataclass(frozen=True)
class LabelProblem:
    """The problem (labels), and the units of its objective.

    Attributes
    ----------
    columns : Columns
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
    """

    columns: Columns
    target: Floats
    labels: LabelSet = field(default_factory=Interval)
    loss_unit: float = 1.0
    loss_floor: float = 0.0
    scale: float = 1.0
    prior: Prior | None = None

    def gap_within(self, tol: float) -> float:
        """Return the gap, in units of P, that a tolerance allows at an objective of 0."""
        return tol * self.scale / self.loss_unit

    @property
    def n_rows(self) -> int:
        """Number of unknown labels."""
        return self.columns.shape[1]

    def residual(self, q: Floats | RowValues, moment: Floats | None = None) -> Floats:
        """Return ``M Q - T``, a point of the dual: one pass, unless X_u'Q is known as moment."""
        return centred(self.columns.accumulate(q, moment) - self.target)

    def conjugate(self, xi: Floats) -> float:
        """Return ``1/2 ||Xi||^2 + <T, Xi>``, or what a prior leaves of it."""
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

    def held(self, xi: Floats, sigma: float, damping: float = 1.0) -> Held | None:
        """Return the directions of M Q that the prior holds at Xi, if there are any."""
        if self.prior is None:
            return None
        z, contrasts = xi + self.target, self.labels.contrasts
        return self.prior.held(z, contrasts, damping * sigma, self.n_rows)

    def judge(
        self,
        q: Floats | RowValues,
        dual: Floats | None = None,
        tol: float = 0.0,
        moment: Floats | None = None,
        slack: tuple[Floats, float] | None = None,
    ) -> "Judgement":
        """Return the loss of q and a bound on its distance from the optimum: two passes.

        Any point Xi of the dual problem gives a lower bound: ``P(Q) - D(Xi)`` is the sum of the
        slacks at Xi plus ``1/2 || M Q - T - Xi ||^2``. ``M Q - T`` is such a point; if it does not
        prove q to be within tol and ``dual`` is given, that one is tried too. A pass each is saved
        if the sum of the design rows times q is known, as ``moment``, and if (Xi, the sum of the
        slacks at Xi) is known, as ``slack``, for an Xi close to ``M Q - T``.
        """
        residual = self.residual(q, moment)
        primal = 0.5 * float(np.vdot(residual, residual))
        if slack is None:
            slack = residual, float(self.columns.gaps(self.labels, residual[None], q)[0])
        off = residual - slack[0]
        judged = self._judgement(primal, slack[1] + 0.5 * float(np.vdot(off, off)))
        if dual is None or judged.within(tol):
            return judged
        off = residual - dual
        gap = float(self.columns.gaps(self.labels, dual[None], q)[0]) + 0.5 * float(
            np.vdot(off, off)
        )
        return min(judged, self._judgement(primal, gap), key=lambda judgement: judgement.gap)

    def _judgement(self, primal: float, gap: float) -> "Judgement":
        objective = self.loss_floor + self.loss_unit * primal
        return Judgement(objective, self.loss_unit * gap, self.scale)


def centred(values: Floats) -> Floats:
    """Return M Q, or what differs from it by a constant, without its mean over several classes."""
    return values if values.ndim == 1 else without_mean(values)


def without_mean(values: Floats) -> Floats:
    """Return values of several classes, (n, K), without their mean over the classes."""
    return np.asarray(values - values.mean(axis=1, keepdims=True))


@dataclass(frozen=True)
class Judgement:
    """Objective of a labelling, in mean loss, and a proven bound on how far it can be lowered."""

    objective: float
    gap: float
    scale: float = 1.0

    def within(self, tol: float) -> bool:
        """Return whether the gap is within tol, absolute (in units of scale) plus relative."""
        return bool(np.isfinite(self.gap)) and self.gap <= tol * (self.scale + self.objective)


@dataclass(frozen=True)
class Solution:
    """A labelling in the box and the number of iterations.

    ``labels`` is an array or, if there are too many rows, a function of rows (``RowValues``).

    ``dual`` is a point of the dual problem that may give a better bound than the labelling itself,
    if the solver has one. ``pull`` are the multipliers that prove that the labelling is nearest to
    the twin, if several labellings have the least labelled loss. ``multipliers`` are those of a
    prior. ``moment`` is the sum of the design rows times their labels, if the solver has computed
    it. ``proven`` is whether the solver has computed the gap itself, and it is within the
    tolerance.
    """

    labels: Any
    iterations: int
    dual: Floats | None = None
    pull: Floats | None = None
    multipliers: Floats | None = None
    moment: Floats | None = None
    proven: bool = False
