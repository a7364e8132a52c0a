"""Weights of a stack of candidates, from their out-of-fold scores.

    minimise over w >= 0, sum(w) = 1

        sum_i v_i 1/2 ||O_i w - y_i||^2 / sum_i v_i  +  (shrinkage / L) ||w - w0||^2

O_i is the matrix (classes, candidates) of the scores of row i, y_i its one-hot label and v_i its
weight. The factor 1/2 makes the loss of two classes, written as two columns, equal to the squared
error of the score of one of them. The shrinkage towards the baseline w0 vanishes as 1/L, where L is
the number of labelled rows: with few labels the stack is the baseline, with many it is what the
scores show. With the shrinkage as further rows, the solution is the point of a convex hull nearest
to the labels; it is unique, even if candidates are equal.
"""

import numpy as np

from primum._typing import Floats
from primum.selection.hull import nearest_in_hull


def stack_weights(
    scores: Floats,
    one_hot: Floats,
    baseline: Floats,
    *,
    shrinkage: float,
    n_labeled: int,
    row_weight: Floats | None = None,
) -> tuple[Floats, float]:
    """Return the weights of candidates, and a bound on how far their objective is from the minimum.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes, n_candidates)
        Out-of-fold scores. The same labelled row may occur several times, as in repeated
        cross-validation.
    one_hot : array of shape (n_rows, n_classes)
        Labels.
    baseline : array of shape (n_candidates,)
        The weights w0.
    shrinkage : float
        Strength of the shrinkage.
    n_labeled : int
        L.
    row_weight : array of shape (n_rows,), optional
        Weights of the rows; by default 1.

    Returns
    -------
    weights : array of shape (n_candidates,)
        The weights, which are at least 0 and add up to 1.
    gap : float
        Bound on how much their objective exceeds the minimum.
    """
    weight = np.ones(len(scores)) if row_weight is None else row_weight
    root = np.sqrt(0.5 * weight / weight.sum())[:, None]
    pull = np.sqrt(shrinkage / n_labeled)
    points = (root[:, :, None] * scores).reshape(-1, len(baseline))
    target = (root * one_hot).reshape(-1)
    return nearest_in_hull(
        np.concatenate([points, pull * np.eye(len(baseline))]),
        np.concatenate([target, pull * baseline]),
    )
