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
    sampled_note,
    stacked,
)
from primum.selection.candidates.linear import inner_folds
from primum.selection.candidates.margins import all_weights
from primum.selection.candidates.models import (
    Affine,
    LinearModel,
    constant_model,
    standardisation,
)
from primum.selection.icls_cv import ICLSClassifierCV

# Of more unlabelled rows, a random sample is used.
MOST_UNLABELED = 10_000
PENALTIES = (1e-2, 1e-1, 1.0)
METRICS = (0.0,)
# If the penalty cannot be chosen.
DEFAULT_PENALTY = 0.1


@dataclass(frozen=True)
class PreparedImplicit(Prepared):
    """Standardised labelled and unlabelled rows."""

    change: Affine
    labeled: Any
    unlabeled: Any
    weight: Floats | None
    note: str = ""

    def fit(self, train: Index, labels: Labels) -> LinearModel:  # noqa: D102
        return self.change.then(self._fit(train, labels))

    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:  # noqa: D102
        return self._fit(train, labels).predict(self.labeled[test])

    def _fit(self, train: Index, labels: Labels) -> LinearModel:
        own, X = labels.take(train), self.labeled[train]
        if len(own.present) == 1:
            return constant_model(own.shares, X.shape[1])
        hidden = np.setdiff1d(np.arange(self.labeled.shape[0]), train)
        rows = stacked([X, self.unlabeled, self.labeled[hidden]])
        y = np.full(rows.shape[0], -1)
        y[: len(train)] = own.codes
        folds = inner_folds(own)
        classifier: Any = (
            ICLSClassifierCV(PENALTIES, METRICS, cv=folds)
            if folds
            else ICLSClassifier(DEFAULT_PENALTY)
        )
        classifier.fit(
            rows, y, sample_weight=all_weights(train, hidden, labels, self.weight, len(y))
        )
        return _model(classifier, own)


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

    def prepare(self, rows: SharedRows) -> PreparedImplicit:  # noqa: D102
        used = rows.with_at_most(MOST_UNLABELED)
        change = standardisation(used.all)
        return PreparedImplicit(
            change,
            change.transform(used.labeled),
            change.transform(used.unlabeled),
            used.unlabeled_weight,
            sampled_note(self.name, rows, used),
        )
