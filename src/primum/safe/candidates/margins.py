"""The transductive SVM and the SVM, its counterpart.

The penalty of both is the one with the least squared hinge loss of the SVM in cross-validation of
the labelled training rows. Scores are the sigmoid of ``SLOPE`` times the margin for two classes,
and the softmax of the margins against the rest for more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.methods import L2SVMClassifier, TSVMClassifier
from primum.safe.candidates.base import (
    Affine,
    Candidate,
    Labels,
    LinearModel,
    Prepared,
    PreparedRows,
    SharedRows,
    constant_model,
    partly_labelled,
    sampled_note,
    standardisation,
)
from primum.safe.candidates.linear import inner_folds, log_linear_model

# Of more unlabelled rows, a random sample is used.
MOST_UNLABELED = 1500
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
# If the penalty cannot be chosen.
DEFAULT_PENALTY = 0.1
# A margin of 1 is a score of 0.88.
SLOPE = 2.0


def best_penalty(X: Any, labels: Labels) -> float:
    """Return the penalty whose SVM has the least squared hinge loss in cross-validation."""
    folds = inner_folds(labels)
    if not folds:
        return DEFAULT_PENALTY
    losses = [sum(_loss(X, labels, alpha, *fold) for fold in folds) for alpha in PENALTIES]
    return PENALTIES[int(np.argmin(losses))]


def _loss(X: Any, labels: Labels, alpha: float, train: Index, test: Index) -> float:
    """Return the squared hinge loss of the rows test."""
    margins = _machine(X[train], labels.take(train), alpha).decision_function(X[test])
    signs = 2.0 * labels.one_hot[test][:, labels.present] - 1.0
    if margins.ndim == 1:
        signs = signs[:, 1]
    losses = np.maximum(0.0, 1.0 - signs * margins) ** 2
    losses = losses.reshape(len(test), -1).sum(axis=1)
    return float(np.average(losses, weights=labels.take(test).weight))


def _machine(X: Any, labels: Labels, alpha: float) -> L2SVMClassifier:
    return L2SVMClassifier(alpha).fit(X, labels.codes, sample_weight=labels.weight)


def _model(machine: Any, labels: Labels) -> LinearModel:
    return log_linear_model(SLOPE * machine.coef_, SLOPE * machine.intercept_, labels)


class PreparedSVM(PreparedRows):
    """The SVM of the labelled rows."""

    def fit(self, train: Index, labels: Labels) -> LinearModel:  # noqa: D102
        X, own = self.rows.labeled[train], labels.take(train)
        if len(own.present) == 1:
            return constant_model(own.shares, X.shape[1])
        change = standardisation(X)
        scaled = change.transform(X)
        return change.then(_model(_machine(scaled, own, best_penalty(scaled, own)), own))


@dataclass(frozen=True)
class PreparedTSVM(Prepared):
    """Standardised rows."""

    change: Affine
    rows: SharedRows
    note: str = ""

    def fit(self, train: Index, labels: Labels) -> LinearModel:  # noqa: D102
        return self.change.then(self._fit(train, labels))

    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:  # noqa: D102
        return self._fit(train, labels).predict(self.rows.labeled[test])

    def _fit(self, train: Index, labels: Labels) -> LinearModel:
        own, X = labels.take(train), self.rows.labeled[train]
        if len(own.present) == 1:
            return constant_model(own.shares, X.shape[1])
        machine = TSVMClassifier("annealing", alpha=best_penalty(X, own))
        rows, codes, weight = partly_labelled(self.rows, train, labels)
        return _model(machine.fit(rows, codes, sample_weight=weight), own)


class SVM(Candidate):
    """The SVM with squared hinge loss."""

    name = "svm"

    def prepare(self, rows: SharedRows) -> PreparedSVM:  # noqa: D102
        return PreparedSVM(rows)


class TSVM(Candidate):
    """The transductive SVM, by annealing; two classes only."""

    name, uses_unlabeled, counterpart = "tsvm", True, "svm"
    most_unlabeled = MOST_UNLABELED

    def applies_to(self, n_classes: int) -> bool:  # noqa: D102
        return n_classes == 2

    def prepare(self, rows: SharedRows) -> PreparedTSVM:  # noqa: D102
        used, change = rows.with_at_most(MOST_UNLABELED).standardised()
        return PreparedTSVM(change, used, sampled_note(self.name, rows, used))
