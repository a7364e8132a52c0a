"""The transductive SVM and the SVM, its counterpart.

The penalty of both is the one with the least squared hinge loss of the SVM in cross-validation of
the labelled training rows. Scores are the sigmoid of ``SLOPE`` times the margin for two classes,
and the softmax of the margins against the rest for more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.estimators import L2SVMClassifier, TSVMClassifier
from primum.selection.candidates.base import (
    Candidate,
    Labels,
    Prepared,
    PreparedRows,
    SharedRows,
    sampled_note,
    stacked,
)
from primum.selection.candidates.linear import inner_folds, log_linear_model
from primum.selection.candidates.models import (
    Affine,
    LinearModel,
    constant_model,
    standardisation,
)

# Of more unlabelled rows, a random sample is used.
MOST_UNLABELED = 1500
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)
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
    return float(np.average(losses.reshape(len(test), -1).sum(axis=1), weights=_some(labels, test)))


def _some(labels: Labels, rows: Index) -> Floats | None:
    return labels.take(rows).weight


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
        machine = TSVMClassifier("annealing", alpha=best_penalty(X, own))
        machine.fit(rows, y, sample_weight=all_weights(train, hidden, labels, self.weight, len(y)))
        return _model(machine, own)


def all_weights(
    train: Index, hidden: Index, labels: Labels, of_unlabeled: Floats | None, n_rows: int
) -> Floats | None:
    """Return the weights of training rows, unlabelled rows and rows without their label."""
    if labels.weight is None and of_unlabeled is None:
        return None
    weight = np.ones(n_rows)
    if labels.weight is not None:
        weight[: len(train)] = labels.weight[train]
        weight[n_rows - len(hidden) :] = labels.weight[hidden]
    if of_unlabeled is not None:
        weight[len(train) : n_rows - len(hidden)] = of_unlabeled
    return weight


class SVM(Candidate):
    """The SVM with squared hinge loss."""

    name = "svm"

    def prepare(self, rows: SharedRows) -> PreparedSVM:  # noqa: D102
        return PreparedSVM(rows)


class TSVM(Candidate):
    """The transductive SVM, by annealing; two classes only."""

    name, uses_unlabeled, counterpart = "tsvm", True, "svm"

    def applies_to(self, n_classes: int) -> bool:  # noqa: D102
        return n_classes == 2

    def prepare(self, rows: SharedRows) -> PreparedTSVM:  # noqa: D102
        used = rows.with_at_most(MOST_UNLABELED)
        change = standardisation(used.all)
        return PreparedTSVM(
            change,
            change.transform(used.labeled),
            change.transform(used.unlabeled),
            used.unlabeled_weight,
            sampled_note(self.name, rows, used),
        )
