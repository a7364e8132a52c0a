"""The label problem with a prior, for any M.

If M has no u with ``M'u = 1/w``, because there is no intercept or the labelled rows do not
determine it, M gets a row of ones. This row penalises the distance of the shares from an *anchor*.
The penalty is zero if the anchor equals the shares: a proximal point method finds that anchor.
"""

from dataclasses import replace

import numpy as np

from primum._typing import Floats
from primum.labellings.labelling import Labelling
from primum.labellings.prior import Prior, ShareBounds
from primum.labellings.problem import LabelProblem, ProvenGap, weighted, without_mean

# The row of ones has this fraction of the size of M: the smaller it is, the fewer anchors are
# needed, but the more ill-conditioned the problem becomes. Two digits cost little.
ONES_ROW_SIZE = 1e-2


def with_prior(
    problem: LabelProblem, shares: ShareBounds, total: float, ones: Floats | None = None
) -> LabelProblem:
    """Return a problem with a prior; ``total`` is the weight of all unlabelled rows.

    ``ones`` is u with ``M'u = 1``, if it is known.
    """
    columns = problem.columns
    n_classes = max(shares.low.size, 1)
    extended = None
    direction = columns.ones() if ones is None else ones
    if direction is None:
        # If all rows are 0, so is M, and the entry can have any size.
        entry = ONES_ROW_SIZE * float(np.sqrt(np.trace(columns.gram()) / total)) or 1.0
        extended = columns.with_ones(entry)
        direction = np.zeros(extended.shape[0])
        direction[-1] = 1.0 / entry
    # Labels of several classes are taken without their mean.
    offset = np.full(shares.low.shape, 1.0 / n_classes if shares.low.ndim else 0.0)
    return replace(problem, prior=Prior(shares, direction / total, offset, total, extended))


def anchored(problem: LabelProblem, anchor: Floats) -> LabelProblem:
    """Return a problem with a row of ones in M, whose target is that of shares at an anchor."""
    prior = problem.prior
    assert prior is not None
    assert prior.extended is not None
    row = (anchor - prior.offset) / prior.direction[-1]
    target = np.concatenate([problem.target, row[None]])
    return replace(problem, columns=prior.extended, target=target)


def judge_with_prior(
    problem: LabelProblem,
    q: Floats | Labelling,
    nu: Floats,
    moment: Floats | None = None,
    dual: Floats | None = None,
    tol: float = 0.0,
) -> tuple[ProvenGap, Floats]:
    """Return the objective of q and its gap, and the shares of q.

    If ``M Q - T`` does not prove q to be within tol and a solver's dual point is given, the latter
    is tried too.
    """
    prior, target, unit = problem.prior, problem.target, problem.loss_unit
    assert prior is not None
    columns = problem.columns if prior.extended is None else prior.extended
    # The shares, from the labels themselves: a proof that does not rely on u. With a row of ones,
    # the moment lacks the sum of the labels.
    moment = moment if prior.extended is None else None
    Mq = columns.accumulate(q, moment)
    if isinstance(q, np.ndarray):
        labels = q if columns.weight is None else weighted(q, columns.weight)
        s = np.asarray(labels.sum(axis=0) / prior.total)
    elif moment is None:
        s = np.asarray(prior.direction @ Mq)
    else:  # there is an intercept: design rows start with 1
        s = np.asarray(moment[0] / prior.total)
    residual = Mq[: len(target)] - target
    if residual.ndim == 2:
        residual = without_mean(residual)

    def gap_at(xi: Floats) -> float:
        """Return the gap of q and Xi + u nu', without the term 1/2 || M Q - T - Xi ||^2."""
        added = np.zeros((columns.shape[0] - len(xi), *xi.shape[1:]))
        point = np.concatenate([xi, added]) + prior.pull(nu)
        slack = float(columns.gaps(problem.labels, point[None], q)[0])
        return slack + max(float(np.vdot(nu, prior.shares.farthest(nu) - s)), 0.0)

    objective = problem.loss_floor + unit * (0.5 * float(np.vdot(residual, residual)))
    judged = ProvenGap(objective, unit * gap_at(residual), problem.scale)
    if dual is None or judged.within(tol):
        return judged, s
    xi = (dual - prior.pull(nu)[: len(dual)])[: len(target)]
    xi = xi if xi.ndim == 1 else without_mean(xi)
    gap = gap_at(xi) + 0.5 * float(np.sum((residual - xi) ** 2))
    return replace(judged, gap=min(judged.gap, unit * gap)), s
