"""Implicitly constrained least squares, tuned as ``ICLSClassifierCV`` does.

Its counterpart is ridge regression, which is a baseline already.

A fit takes, in each of the inner folds and for the chosen point, with n rows, u of which are
unlabelled, d columns, K classes and the rank r = min(n, d):

    a decomposition of the rows          about DECOMPOSITION n d r operations
    for every point of the grid          about STEPS Newton steps of s^2 max(r, u) operations, where
                                         s = min(r, u) (K - 1) is the size of their linear systems

This is little for a table, r (K - 1) being a few hundred. Of texts, with more columns than rows,
the rank is the number of rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.methods import ICLSClassifier
from primum.methods.icls.tuned import ICLSClassifierCV
from primum.safe.candidates.base import (
    Affine,
    Candidate,
    Labels,
    LinearModel,
    Prepared,
    SharedRows,
    constant_model,
    partly_labelled,
    sampled_note,
)
from primum.safe.candidates.linear import inner_folds

# Of more unlabelled rows, a random sample is used.
MOST_UNLABELED = 1000
PENALTIES = (1e-2, 1e-1, 1.0)
METRICS = (0.0,)
FOLDS = 3
# If the penalty cannot be chosen.
DEFAULT_PENALTY = 0.1
# Steps of Newton's method for a point of the grid: 15 are observed for tables of two classes, 29
# for the ten of digits. The multiple of n d r makes both parts take as long as observed: that of a
# singular value decomposition is about 20, and its operations are slower than those of Newton's
# systems.
DECOMPOSITION, STEPS = 50.0, 30.0


@dataclass(frozen=True)
class PreparedImplicit(Prepared):
    """Standardised rows."""

    change: Affine
    rows: SharedRows
    note: str = ""

    def fit(self, train: Index, labels: Labels) -> LinearModel:  # noqa: D102
        return self.change.then(self._fit(train, labels))

    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:  # noqa: D102
        return self._fit(train, labels).predict(self.rows.labeled[test])

    def _fit(self, train: Index, labels: Labels) -> LinearModel:
        own = labels.take(train)
        if len(own.present) == 1:
            return constant_model(own.shares, self.rows.labeled.shape[1])
        folds = inner_folds(own, FOLDS)
        tuned = ICLSClassifierCV(PENALTIES, METRICS, cv=folds)
        classifier: Any = tuned if folds else ICLSClassifier(DEFAULT_PENALTY, metric=METRICS[0])
        rows, codes, weight = partly_labelled(self.rows, train, labels)
        return _model(classifier.fit(rows, codes, sample_weight=weight), own)


def _model(classifier: Any, labels: Labels) -> LinearModel:
    """Return the least-squares scores of all classes; those of absent ones are 0."""
    coef, intercept = classifier.coef_, classifier.intercept_
    if len(coef) == 1:
        coef = np.concatenate([-coef, coef])
        intercept = np.append(0.5 - intercept, 0.5 + intercept)
    # A class that does not occur is as far below the others as a score can be.
    found = np.full(labels.n_classes, -1e6)
    found[labels.present] = intercept
    everywhere = np.zeros((coef.shape[1], labels.n_classes))
    everywhere[:, labels.present] = coef.T
    return LinearModel(everywhere, found, probabilities=False)


class Implicit(Candidate):
    """Implicitly constrained least squares."""

    name, uses_unlabeled, counterpart = "icls", True, "ridge"
    most_unlabeled = MOST_UNLABELED
    growth = 2.0

    def operations(self, rows: SharedRows, n_classes: int) -> float:  # noqa: D102
        u, d = min(rows.unlabeled.shape[0], MOST_UNLABELED), rows.labeled.shape[1]
        n = rows.n_labeled + u
        rank, n_points = min(n, d), len(PENALTIES) * len(METRICS)
        size = min(rank, u) * (n_classes - 1)
        newton = STEPS * float(size) ** 2 * max(rank, u)
        return (FOLDS + 1) * (DECOMPOSITION * n * d * rank + n_points * newton)

    def prepare(self, rows: SharedRows) -> PreparedImplicit:  # noqa: D102
        used, change = rows.with_at_most(MOST_UNLABELED).standardised()
        return PreparedImplicit(change, used, sampled_note(self.name, rows, used))
