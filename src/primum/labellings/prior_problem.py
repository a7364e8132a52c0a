"""The label problem with a prior, for any M.

If M has no u with ``M'u = 1/w``, because there is no intercept or the labelled rows do not
determine it, M gets a row of ones. This row penalises the distance of the shares from an *anchor*.
The penalty is zero if the anchor equals the shares: a proximal point method finds that anchor.
"""

from dataclasses import dataclass, replace

import numpy as np

from primum._typing import Floats
from primum.labellings.labelling import Labelling
from primum.labellings.prior import Prior, ShareBounds
from primum.labellings.problem import LabelProblem, ProblemColumns, ProvenGap, centred, weighted

# The row of ones has this fraction of the size of M: the smaller it is, the fewer anchors are
# needed, but the more ill-conditioned the problem becomes. Two digits cost little.
ONES_ROW_SIZE = 1e-2


@dataclass(frozen=True)
class PriorProblem:
    """The problem (prior).

    Attributes
    ----------
    problem : LabelProblem
        The problem without the prior.
    prior : Prior
        The prior, for the columns below.
    columns : ProblemColumns
        M, with a row of ones if it lacks one.
    """

    problem: LabelProblem
    prior: Prior
    columns: ProblemColumns

    @property
    def has_row_of_ones(self) -> bool:
        """Whether a row of ones was added to M."""
        return self.columns.shape[0] > self.problem.columns.shape[0]

    def penalty(self, s: Floats, anchor: Floats) -> float:
        """Return the cost of the added row of ones, in units of P."""
        return 0.5 * float(np.sum(((s - anchor) / self.prior.direction[-1]) ** 2))

    def at(self, anchor: Floats) -> LabelProblem:
        """Return the label problem with the prior; the anchor matters if M got a row of ones."""
        target = self.problem.target
        if self.has_row_of_ones:
            row = (anchor - self.prior.offset) / self.prior.direction[-1]
            target = np.concatenate([target, row[None]])
        return replace(self.problem, columns=self.columns, target=target, prior=self.prior)

    def of(self, q: Floats | Labelling) -> Floats:
        """Return the shares of a labelling."""
        return self._shares(self.columns.accumulate(q))

    def _shares(self, Mq: Floats) -> Floats:
        return np.asarray(self.prior.direction @ Mq)

    def _counted(self, q: Floats | Labelling, moment: Floats | None, Mq: Floats) -> Floats:
        """Return the shares from the labels themselves, for a proof that does not rely on u."""
        columns, total = self.columns, self.prior.total
        if isinstance(q, np.ndarray):
            return np.asarray(weighted(q, columns.weight).sum(axis=0) / total)
        if moment is None or self.has_row_of_ones:
            return self._shares(Mq)
        return np.asarray(moment[0] / total)  # there is an intercept: design rows start with 1

    def judge(
        self,
        q: Floats | Labelling,
        nu: Floats,
        moment: Floats | None = None,
        dual: Floats | None = None,
        tol: float = 0.0,
    ) -> tuple[ProvenGap, Floats]:
        """Return the objective of q and its gap, and the shares of q.

        If ``M Q - T`` does not prove q to be within tol and a solver's dual point is given, the
        latter is tried too.
        """
        if self.has_row_of_ones:
            moment = None  # it lacks the sum of the labels
        Mq = self.columns.accumulate(q, moment)
        target, s = self.problem.target, self._counted(q, moment, Mq)
        residual = centred(Mq[: len(target)] - target)
        judged = self.problem.judgement(residual, self._gap(q, nu, s, residual))
        if dual is None or judged.within(tol):
            return judged, s
        xi = centred((dual - self.prior.pull(nu)[: len(dual)])[: len(target)])
        gap = self._gap(q, nu, s, xi) + 0.5 * float(np.sum((residual - xi) ** 2))
        return replace(judged, gap=min(judged.gap, self.problem.loss_unit * gap)), s

    def _gap(self, q: Floats | Labelling, nu: Floats, s: Floats, xi: Floats) -> float:
        """Return the gap of q and Xi + u nu', without the term 1/2 || M Q - T - Xi ||^2."""
        added = np.zeros((self.columns.shape[0] - len(xi), *xi.shape[1:]))
        dual = np.concatenate([xi, added]) + self.prior.pull(nu)
        slack = float(self.columns.gaps(self.problem.labels, dual[None], q)[0])
        return slack + max(float(np.vdot(nu, self.prior.shares.farthest(nu) - s)), 0.0)


def prior_problem(
    problem: LabelProblem, shares: ShareBounds, total: float, ones: Floats | None = None
) -> PriorProblem:
    """Return the problem with a prior; ``total`` is the weight of all unlabelled rows.

    ``ones`` is u with ``M'u = 1``, if it is known.
    """
    columns, n_classes = problem.columns, max(shares.low.size, 1)
    direction = columns.ones() if ones is None else ones
    if direction is None:
        # If all rows are 0, so is M, and the entry can have any size.
        entry = ONES_ROW_SIZE * float(np.sqrt(np.trace(columns.gram()) / total)) or 1.0
        columns = columns.with_ones(entry)
        direction = np.zeros(columns.shape[0])
        direction[-1] = 1.0 / entry
    # Labels of several classes are taken without their mean.
    offset = np.full(shares.low.shape, 1.0 / n_classes if shares.low.ndim else 0.0)
    return PriorProblem(problem, Prior(shares, direction / total, offset, total), columns)
