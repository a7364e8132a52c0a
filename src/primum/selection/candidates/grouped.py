"""Ridge regression whose penalty is chosen by leaving out one group of rows at a time.

With row weights W and the centred Gram matrix K of the rows scaled by W^(1/2), the fitted values of
W^(1/2) Y are S W^(1/2) Y, where ``S = q q' + K (K + a I)^-1`` and q is the unit vector along
W^(1/2) 1 (the intercept). Without the rows of a group g, the residuals of these are
``(I - S_gg)^-1 r_g`` with the residuals r of all rows: no model is fitted again.
"""

from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.linear_model import Ridge

from primum._typing import Floats, Index
from primum.selection.candidates.base import Labels
from primum.selection.candidates.models import LinearModel

# Half a decade apart, on the sum of squares of standardised features.
RIDGES = np.geomspace(1e-3, 1e4, 15)


def fit_ridge_to_groups(X: Any, labels: Labels, groups: Index) -> tuple[LinearModel, float]:
    """Return least squares on one-hot labels, and minus its error in groups left out."""
    errors = group_errors(X, labels, groups, RIDGES)
    best = int(errors.argmin())
    ridge = Ridge(RIDGES[best]).fit(X, labels.one_hot, sample_weight=labels.weight)
    model = LinearModel(ridge.coef_.T, ridge.intercept_, probabilities=False)
    return model, -float(errors[best])


def group_errors(X: Any, labels: Labels, groups: Index, penalties: Floats) -> Floats:
    """Return the mean squared error of the groups left out, one number for each penalty."""
    weight = np.ones(len(groups)) if labels.weight is None else labels.weight
    level = np.sqrt(weight / weight.sum())
    Y = np.sqrt(weight)[:, None] * labels.one_hot
    values, vectors = eigh(_centred_gram(X, np.sqrt(weight), level))
    values = np.maximum(values, 0.0)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    errors = []
    for penalty in penalties:
        S = np.outer(level, level) + (vectors * (values / (values + penalty))) @ vectors.T
        left = np.eye(len(groups)) - S
        residuals = left @ Y
        parts = [np.linalg.solve(left[np.ix_(g, g)], residuals[g]) for g in members]
        errors.append(sum(float(np.sum(part**2)) for part in parts))
    return np.array(errors) / (weight.sum() * labels.n_classes)


def _centred_gram(X: Any, root: Floats, level: Floats) -> Floats:
    """Return the Gram matrix of rows scaled by ``root``, without their part along ``level``."""
    gram = X @ X.T
    gram = np.asarray(gram.toarray() if hasattr(gram, "toarray") else gram) * np.outer(root, root)
    gram = gram - np.outer(level, level @ gram)
    return np.asarray(gram - np.outer(gram @ level, level))
