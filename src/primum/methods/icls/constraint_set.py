"""The exact set C_beta of all models of two classes that some labelling can produce.

beta(q) is affine in q, so C_beta is a zonotope: a point plus a sum of segments, one per
unlabelled row. In the plane its boundary is found by sorting the segments by direction: following
them in that order, and back, traces the boundary once.
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from primum._typing import Floats
from primum.labellings import least_squares_family
from primum.methods.icls.classifier import ICLSClassifier
from primum.reading.data import read_rows


def zonotope_vertices(origin: Floats, segments: Floats) -> Floats:
    """Return the vertices (n, k), in order, of ``{origin + segments' q : q in [0, 1]^U}``.

    ``origin`` is (k,) and ``segments`` (U, k). For k = 1 the vertices are the ends of an interval,
    for k = 2 a closed polygon, anti-clockwise.
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


def constraint_set(
    clf: ICLSClassifier, X: Any, y: Any, X_unlabeled: Any = None, sample_weight: Any = None
) -> Floats:
    """Return the vertices of C_beta for a model of two classes with one or two parameters.

    Parameters
    ----------
    clf : ICLSClassifier
        Its ``alpha`` and ``fit_intercept`` are used; it need not be fitted.
    X, y, X_unlabeled, sample_weight : array-like
        As passed to ``clf.fit``.

    Returns
    -------
    array of shape (n_vertices, n_parameters)
        The two ends of an interval, or the vertices of a polygon. The parameters are those of the
        score: the intercept first, if there is one, then the coefficients.

    Examples
    --------
    >>> from primum import ICLSClassifier
    >>> from primum.pages import constraint_set
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, -1, -1]
    >>> constraint_set(ICLSClassifier(fit_intercept=False), X, y).ravel().round(3)  # an interval
    array([0.071, 0.429])
    """
    data = read_rows(clone(clf), X, y, X_unlabeled, sample_weight)
    if len(data.labels.classes) > 2:
        raise ValueError(
            "C_beta is computed for two classes, whose model has one score, but y has "
            f"{len(data.labels.classes)}: keep two of them, or merge them into two."
        )
    family = least_squares_family(
        data.labeled, data.unlabeled, alpha=clf.alpha, fit_intercept=clf.fit_intercept
    )
    equations, weight = family.equations, data.unlabeled.weight
    A_inverse = equations.expand(equations.solve(np.eye(family.unlabeled.frame.n_columns)))
    segments = family.unlabeled.dot(A_inverse) * (1.0 if weight is None else weight[:, None])
    origin, center = A_inverse @ family.labeled_sum, equations.center
    if clf.fit_intercept:  # from centred features to the user's
        origin[0] -= origin[1:] @ center
        segments[:, 0] -= segments[:, 1:] @ center
    return zonotope_vertices(origin, segments)
