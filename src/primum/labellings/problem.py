"""Least squares over labellings in a box.

    minimise over q   P(q) = 1/2 || M q - t ||^2      q in [0, 1]^U          (box)

The dual, in r variables:

    D(xi) = -1/2 ||xi||^2 - t'xi - sum_i max(0, -p_i),      p = M'xi.

For any q in the box, ``xi = M q - t`` is a point of the dual, and

    P(q) - D(xi) = sum_i max(p_i q_i, -p_i (1 - q_i))

is an upper bound on the difference between P(q) and its minimum. The sum has no cancellation: it is
zero exactly when every row with ``p_i > 0`` has label 0 and every row with ``p_i < 0`` has label 1.
If several q are optimal, the one closest to 1/2, the least committed, is the solution.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats
from primum.equations import RowValues
from primum.labellings.columns import Columns


@dataclass(frozen=True)
class LabelProblem:
    """The problem (box), and the units of its objective.

    Attributes
    ----------
    columns : Columns
        M, with the weight of every row.
    target : array (r,)
        t.
    loss_unit : float
        P times this is in units of the mean loss on the labelled rows (2 / L).
    loss_floor : float
        The part of the mean loss that does not depend on the labelling.
    scale : float
        The objective that counts as 1 when a tolerance is applied: 1 for losses of labels 0 and
        1, a typical value for quantities with units of their own.
    """

    columns: Columns
    target: Floats
    loss_unit: float = 1.0
    loss_floor: float = 0.0
    scale: float = 1.0

    def gap_within(self, tol: float) -> float:
        """Return the gap, in units of P, that a tolerance allows at an objective of 0."""
        return tol * self.scale / self.loss_unit

    @property
    def n_rows(self) -> int:
        """Number of unknown labels."""
        return self.columns.shape[1]

    def judge(
        self,
        q: Floats | RowValues,
        dual: Floats | None = None,
        tol: float = 0.0,
        moment: Floats | None = None,
    ) -> "Judgement":
        """Return the loss of q and a bound on its distance from the optimum: two passes.

        Any point of the dual problem gives a lower bound. ``M q - t`` is one; if it does not prove
        q to be within tol and ``dual`` is given, that one is tried too. If the sum of the design
        rows times q is already known, as ``moment``, a pass is saved.
        """
        xi = self.columns.accumulate(q, moment) - self.target
        primal = 0.5 * float(xi @ xi)
        judged = self._judgement(primal, float(self.columns.gaps(xi[None], q)[0]))
        if dual is None or judged.within(tol):
            return judged
        gap = max(primal - self.dual_value(dual), 0.0)
        return min(judged, self._judgement(primal, gap), key=lambda judgement: judgement.gap)

    def _judgement(self, primal: float, gap: float) -> "Judgement":
        objective = self.loss_floor + self.loss_unit * primal
        return Judgement(objective, self.loss_unit * gap, self.scale)

    def dual_value(self, xi: Floats) -> float:
        """Return D(xi), a lower bound of P: one pass."""
        return -0.5 * float(xi @ xi) - float(self.target @ xi) - self.columns.hinge(xi)


@dataclass(frozen=True)
class Judgement:
    """Objective of a labelling, in mean loss, and a proven bound on how far it can be lowered."""

    objective: float
    gap: float
    scale: float = 1.0

    def within(self, tol: float) -> bool:
        """Return whether the gap is within tol, absolute (in units of scale) plus relative."""
        return bool(np.isfinite(self.gap)) and self.gap <= tol * (self.scale + self.objective)
