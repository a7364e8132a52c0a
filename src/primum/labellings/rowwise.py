"""Quantities of single rows: scores, labels on the path and their costs, slacks.

Arrays have one entry per row or, with several classes, one per row and class.
"""

from typing import Any

import numpy as np

from primum._sklearn import library_of
from primum._typing import Floats
from primum.equations import View
from primum.labellings.sets import LabelSet


def scores_of(view: View, V: Floats) -> Any:
    """Return the design rows times V, p of some rows.

    For several classes, the columns of V add up to 0 or are made to: adding the same number to all
    classes changes neither the best label nor its slack. So the scores of the last class follow
    from the others. They are stored class by class, because sums and minima over few classes are
    many times as fast then.
    """
    if V.ndim == 1 or view.xp is not np:
        return view.dot(V)
    V = V - V.mean(axis=1, keepdims=True)
    others = view.dot_by_column(V[:, :-1])
    return np.concatenate([others, -others.sum(axis=0, keepdims=True)]).T


def towards(labels: LabelSet, step: float, p: Any) -> Any:
    """Return ``centre + step p``, with as few temporary arrays as possible."""
    v = step * p
    v += labels.centre
    return v


def weighted(values: Floats, weight: Floats | None) -> Floats:
    """Return values, one or more per row, times the weight of their row."""
    if weight is None:
        return values
    return np.asarray(values * (weight if values.ndim == 1 else weight[:, None]))


def duality_gap(labels: LabelSet, p: Floats, q: Floats, weight: Floats | None = None) -> float:
    """Return the weighted sum of ``slack(p, q)``, which is P(Q) - D(Xi)."""
    slack = labels.slack(p, q)
    return float(slack.sum() if weight is None else slack @ weight)


def per_row(values: Any) -> Any:
    """Return the sum over the classes of values that are one or more per row."""
    return values if values.ndim == 1 else library_of(values).sum(values, axis=1)
