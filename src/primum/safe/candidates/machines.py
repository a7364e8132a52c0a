"""The transductive SVM and implicitly constrained least squares, tuned on the labelled rows.

    tsvm    The penalty is the one with the least squared hinge loss of the SVM, its counterpart, in
            cross-validation of the labelled training rows. Scores are the sigmoid of ``SLOPE``
            times the margin for two classes, and the softmax of the margins against the rest for
            more.
    icls    Tuned as ``ICLSClassifierCV`` does. Its counterpart is ridge regression.

A fit of icls takes, in each of the inner folds and for the chosen point, with n rows, u of them
unlabelled, d columns, K classes and the rank r = min(n, d):

    a decomposition of the rows          about DECOMPOSITION n d r operations
    for every point of the grid          about STEPS Newton steps of s^2 max(r, u) operations, where
                                         s = min(r, u) (K - 1) is the size of their linear systems

This is little for a table, r (K - 1) being a few hundred. Of texts, with more columns than rows,
the rank is the number of rows.
"""

from typing import Any

import numpy as np

from primum._typing import Index
from primum.methods import ICLSClassifier, L2SVMClassifier, TSVMClassifier
from primum.methods.icls.tuned import ICLSClassifierCV
from primum.reading.chosen import drawn_share
from primum.safe.candidates.base import (
    Labels,
    LinearModel,
    SharedRows,
    Transductive,
    constant_model,
    linear_model,
    partly_labelled,
    standardisation,
)
from primum.safe.candidates.linear import inner_folds, log_linear_model

# If the penalty cannot be chosen.
DEFAULT_PENALTY = 0.1
SVM_PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
# A margin of 1 is a score of 0.88.
SLOPE = 2.0
ICLS_PENALTIES = (1e-2, 1e-1, 1.0)
ICLS_METRICS = (0.0,)
ICLS_FOLDS = 3
# Of more unlabelled rows, a random sample is used.
ICLS_UNLABELED = 1000
# Steps of Newton's method for a point of the grid: 15 are observed for tables of two classes, 29
# for the ten of digits. The multiple of n d r makes both parts take as long as observed: that of a
# singular value decomposition is about 20, and its operations are slower than those of Newton's
# systems.
DECOMPOSITION, STEPS = 50.0, 30.0


def svm(X: Any, labels: Labels, seed: int) -> LinearModel:
    """Return the SVM with squared hinge loss."""
    if len(labels.present) == 1:
        return constant_model(labels.shares, X.shape[1])
    change = standardisation(X)
    scaled = change.transform(X)
    machine = _machine(scaled, labels, best_penalty(scaled, labels))
    return change.then(_margin_model(machine, labels))


class TSVM(Transductive):
    """The transductive SVM, by annealing; two classes only."""

    name, counterpart, most_unlabeled = "tsvm", "svm", 1500

    def applies_to(self, n_classes: int) -> bool:  # noqa: D102
        return n_classes == 2

    def fit_standardised(self, rows: SharedRows, train: Index, labels: Labels) -> LinearModel:  # noqa: D102
        own = labels.take(train)
        machine = TSVMClassifier("annealing", alpha=best_penalty(rows.labeled[train], own))
        X, codes, weight = partly_labelled(rows, train, labels)
        if own.chosen is not None:
            machine.prior = drawn_share(own.codes, own.chosen, len(codes) - len(train))
        return _margin_model(machine.fit(X, codes, sample_weight=weight), own)


def best_penalty(X: Any, labels: Labels) -> float:
    """Return the penalty whose SVM has the least squared hinge loss in cross-validation."""
    folds = inner_folds(labels)
    if not folds:
        return DEFAULT_PENALTY
    losses = [sum(_loss(X, labels, alpha, *fold) for fold in folds) for alpha in SVM_PENALTIES]
    return SVM_PENALTIES[int(np.argmin(losses))]


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


def _margin_model(machine: Any, labels: Labels) -> LinearModel:
    return log_linear_model(SLOPE * machine.coef_, SLOPE * machine.intercept_, labels)


class Implicit(Transductive):
    """Implicitly constrained least squares."""

    name, counterpart, most_unlabeled = "icls", "ridge", ICLS_UNLABELED
    growth = 2.0

    def operations(self, rows: SharedRows, n_classes: int) -> float:  # noqa: D102
        u, d = min(rows.unlabeled.shape[0], ICLS_UNLABELED), rows.labeled.shape[1]
        n = rows.n_labeled + u
        rank, n_points = min(n, d), len(ICLS_PENALTIES) * len(ICLS_METRICS)
        size = min(rank, u) * (n_classes - 1)
        newton = STEPS * float(size) ** 2 * max(rank, u)
        return (ICLS_FOLDS + 1) * (DECOMPOSITION * n * d * rank + n_points * newton)

    def fit_standardised(self, rows: SharedRows, train: Index, labels: Labels) -> LinearModel:  # noqa: D102
        own = labels.take(train)
        folds = inner_folds(own, ICLS_FOLDS)
        tuned = ICLSClassifierCV(ICLS_PENALTIES, ICLS_METRICS, cv=folds)
        plain = ICLSClassifier(DEFAULT_PENALTY, metric=ICLS_METRICS[0])
        classifier: Any = tuned if folds else plain
        X, codes, weight = partly_labelled(rows, train, labels)
        classifier.fit(X, codes, sample_weight=weight)
        coef, intercept = classifier.coef_, classifier.intercept_
        if len(coef) == 1:
            coef = np.concatenate([-coef, coef])
            intercept = np.append(0.5 - intercept, 0.5 + intercept)
        return linear_model(coef, intercept, own, probabilities=False)
