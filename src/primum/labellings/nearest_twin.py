"""The model nearest to the supervised twin, among all with the smallest labelled loss.

With fewer labelled rows than features, many labellings reach the smallest labelled loss, and they
give different models. Let ``W = U S V'`` be the SVD of the labelled metric, and split the rows of
``M = V' Z_u'`` into ``M_1``, which affects the labelled loss, and ``M_2``, which does not:

    labelled loss          1/2 || S (M_1 q - g) ||^2  + constant
    distance to the twin   1/2 || M q - t ||^2

All labellings with the smallest labelled loss share one value m of ``M_1 q``. This leaves

    minimise over q_i in S_i    1/2 || M q - t ||^2    subject to    M_1 q = m,      (nearest)

the limit s -> 0 of the metrics ``(1 - s) labelled + s all``. Its solution is proven like this. Let

    v = [u + c S^2 (M_1 q - g); M_2 q - t_2]      for any u and any c >= 0,      p = M'v.

Let q' be a labelling with no more labelled loss than q and ``e = S (M_1 q' - M_1 q)``. That loss
is quadratic, so ``(M_1 q - g)' S e <= -1/2 ||e||^2``; and both losses are within the proven gap of
the smallest, so ``||e|| <= 2 sqrt(2 gap)``. With ``z = S^-1 (u - (M_1 q - t_1))`` it follows that

    1/2 ||M q - t||^2 - 1/2 ||M q' - t||^2
        <= sum_i w_i slack(p_i, q_i)  +  min(||z||^2 / (2 c), 2 sqrt(2 gap) ||z||).
"""

from dataclasses import dataclass, field

import numpy as np

from primum._typing import Floats
from primum.equations import by_row
from primum.labellings.labelling import Labelling
from primum.labellings.problem import LabelProblem, ProblemColumns, ProvenGap, centred
from primum.labellings.sets import LabelInterval, LabelSet

# Multiples of the gradient of the labelled loss that are tried in a proof, relative to its size:
# the best is unknown, and any within a factor of about three of it is nearly as good.
GRADIENT_MULTIPLES = 10.0 ** np.arange(-2, 13)


@dataclass(frozen=True)
class NearestTwin:
    """The problem (nearest).

    Attributes
    ----------
    columns : ProblemColumns
        M; the first r of its k dimensions are ``M_1``.
    strength : array (r,)
        S, the singular values of the labelled metric that are not zero.
    goal : array (r,) or (r, K)
        g, the value of ``M_1 q`` that would give the smallest labelled loss of any model.
    twin : array (k,) or (k, K)
        t, the value of ``M q`` at the twin.
    total : float
        Number of all rows (sum of their weights), over which distances are means.
    labels : LabelSet
        The label sets of the rows.
    """

    columns: ProblemColumns
    strength: Floats
    goal: Floats
    twin: Floats
    total: float
    labels: LabelSet = field(default_factory=LabelInterval)

    @property
    def rank(self) -> int:
        """Number of dimensions that affect the labelled loss."""
        return len(self.strength)

    def loss(self, unit: float, floor: float) -> LabelProblem:
        """Return the problem of the labelled loss; ``floor`` is the smallest loss of any model."""
        columns = self.columns.scaled(self.strength)
        return LabelProblem(columns, by_row(self.goal, self.strength), self.labels, unit, floor)

    def reached(self, q: Floats | Labelling, moment: Floats | None = None) -> Floats:
        """Return M Q; ``moment`` is the sum of the design rows times q, if known."""
        # The sum over the classes does not depend on the labelling.
        return centred(self.columns.accumulate(q, moment))

    def excess(self, Mq: Floats) -> float:
        """Return how far the labelled loss exceeds the smallest of any model, in units of P."""
        return 0.5 * float(np.sum(by_row(Mq[: self.rank] - self.goal, self.strength) ** 2))

    def gradient(self, Mq: Floats) -> Floats:
        """Return the gradient of the labelled loss, a direction of M."""
        descent = np.zeros_like(self.twin)
        strong = by_row(Mq[: self.rank] - self.goal, self.strength)
        descent[: self.rank] = by_row(strong, self.strength)
        return descent

    def held(self, level: Floats, penalty: float) -> LabelProblem:
        """Return the problem with a penalty that keeps ``M_1 q`` near a level.

        A deviation from it costs ``penalty**2`` times as much as one from the twin.
        """
        factor = np.ones(len(self.twin))
        factor[: self.rank] = penalty
        target = by_row(np.concatenate([level, self.twin[self.rank :]]), factor)
        return LabelProblem(self.columns.scaled(factor), target, self.labels, 2.0 / self.total)

    def multipliers(self, Mq: Floats, pull: Floats) -> Floats:
        """Return z, with u as ``pull``."""
        missing = pull - Mq[: self.rank] + self.twin[: self.rank]
        return np.asarray((missing.T / self.strength).T)

    def judge(
        self, q: Floats | Labelling, pull: Floats, labeled_gap: float, moment: Floats | None = None
    ) -> ProvenGap:
        """Return the squared distance to the twin, and a bound on its decrease at this loss.

        ``pull`` is u. ``labeled_gap``, in units of P, bounds the difference between the labelled
        loss of q and the minimum. ``moment`` is the sum of the design rows times q, if known.
        """
        Mq = self.reached(q, moment)
        base = Mq - self.twin
        gradient = self.gradient(Mq)
        base[: self.rank] = pull
        multiples = np.zeros(1)
        if (size := float(np.linalg.norm(gradient))) > 0:
            multiples = np.append(multiples, GRADIENT_MULTIPLES * (np.linalg.norm(base) / size))
        z = float(np.linalg.norm(self.multipliers(Mq, pull)))
        with np.errstate(divide="ignore", invalid="ignore"):
            price = np.fmin(z**2 / (2 * multiples), 2 * (2 * labeled_gap) ** 0.5 * z)
        duals = np.stack([base + multiple * gradient for multiple in multiples])
        slack = self.columns.gaps(self.labels, duals, q) + price
        distance = float(np.sum((Mq - self.twin) ** 2)) / self.total
        # Nothing is nearer to the twin than the twin itself.
        return ProvenGap(distance, min(2.0 * float(slack.min()) / self.total, distance))
