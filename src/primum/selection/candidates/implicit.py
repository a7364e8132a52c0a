"""Implicitly constrained least squares, tuned as ``ICLSClassifierCV`` does.

Its counterpart is ridge regression, which is a baseline already.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.estimators import ICLSClassifier
from primum.selection.candidates.base import (
    Candidate,
    Labels,
    Prepared,
    SharedRows,
    partly_labelled,
    sampled_note,
)
from primum.selection.candidates.linear import inner_folds
from primum.selection.candidates.models import (
    Affine,
    LinearModel,
    constant_model,
)
from primum.selection.icls_cv import ICLSClassifierCV

# Of more unlabelled rows, a random sample is used.
MOST_UNLABELED = 1000
PENALTIES = (1e-2, 1e-1, 1.0)
METRICS = (0.0,)
FOLDS = 3
# If the penalty cannot be chosen.
DEFAULT_PENALTY = 0.1


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

    def prepare(self, rows: SharedRows) -> PreparedImplicit:  # noqa: D102
        used, change = rows.with_at_most(MOST_UNLABELED).standardised()
        return PreparedImplicit(change, used, sampled_note(self.name, rows, used))
