"""The set C_beta of the models that labellings can produce: two classes, one or two parameters."""

from typing import Any

import numpy as np
from sklearn.base import clone

from primum._typing import Floats
from primum.estimators._data import read_training_data
from primum.estimators.icls import ICLSClassifier
from primum.labellings import least_squares_family, zonotope_vertices


def constraint_set(
    clf: ICLSClassifier, X: Any, y: Any, X_unlabeled: Any = None, sample_weight: Any = None
) -> Floats:
    """Return the vertices of C_beta for a model of two classes with one or two parameters.

    Parameters
    ----------
    clf : ICLSClassifier
        Its ``alpha``, ``fit_intercept`` and ``rcond`` are used; it need not be fitted.
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
    >>> from primum.report import constraint_set
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, -1, -1]
    >>> constraint_set(ICLSClassifier(fit_intercept=False), X, y).ravel().round(3)  # an interval
    array([0.071, 0.429])
    """
    data = read_training_data(clone(clf), X, y, X_unlabeled, sample_weight)
    if len(data.classes) > 2:
        raise ValueError(
            "C_beta is computed for two classes, whose model has one score, but y has "
            f"{len(data.classes)}: keep two of them, or merge them into two."
        )
    family = least_squares_family(
        data.labeled,
        data.unlabeled,
        alpha=clf.alpha,
        fit_intercept=clf.fit_intercept,
        rcond=clf.rcond,
    )
    equations, weight = family.equations, data.unlabeled.weight
    A_inverse = equations.expand(equations.solve(np.eye(family.unlabeled.n_columns)))
    segments = family.unlabeled.dot(A_inverse) * (1.0 if weight is None else weight[:, None])
    origin, center = A_inverse @ family.known, equations.center
    if clf.fit_intercept:  # from centred features to the user's
        origin[0] -= origin[1:] @ center
        segments[:, 0] -= segments[:, 1:] @ center
    return zonotope_vertices(origin, segments)
