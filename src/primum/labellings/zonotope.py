"""The exact set C_beta of all models that some labelling can produce.

beta(q) is affine in q, so C_beta is a zonotope: a point plus a sum of segments, one per
unlabelled row. In the plane its boundary is found by sorting the segments by direction: following
them in that order, and back, traces the boundary once.
"""

import numpy as np

from primum._typing import Floats


def zonotope_vertices(origin: Floats, segments: Floats) -> Floats:
    """Return the vertices, in order, of ``{origin + segments' q : q in [0, 1]^U}``.

    Parameters
    ----------
    origin : array (k,)
        The point of q = 0; k is 1 or 2.
    segments : array (U, k)
        One segment per row.

    Returns
    -------
    array (n_vertices, k)
        The ends of an interval for k = 1; a closed polygon, anti-clockwise, for k = 2.
    """
    if segments.shape[1] == 1:
        low, high = np.minimum(segments, 0).sum(axis=0), np.maximum(segments, 0).sum(axis=0)
        return origin + np.array([low, high])
    if segments.shape[1] != 2:
        raise ValueError(
            f"C_beta can be drawn for models of one or two parameters, not {segments.shape[1]}."
        )
    # A segment and its opposite give the same zonotope, up to a shift: flip all to point upwards.
    downwards = (segments[:, 1] < 0) | ((segments[:, 1] == 0) & (segments[:, 0] < 0))
    lowest = origin + segments[downwards].sum(axis=0)
    upwards = np.where(downwards[:, None], -segments, segments)
    order = np.argsort(np.arctan2(upwards[:, 1], upwards[:, 0]), kind="stable")
    walk = np.cumsum(upwards[order], axis=0)
    there = np.vstack([lowest, lowest + walk])
    return np.vstack([there, there[0] + there[-1] - there[1:]])
