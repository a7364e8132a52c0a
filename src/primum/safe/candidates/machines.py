"""The transductive SVM and implicitly constrained least squares, tuned on the labelled rows.

tsvm    The penalty is the one with the least squared hinge loss of the SVM, its counterpart, in
cross-validation of the labelled training rows. Scores are the sigmoid of ``SCORE_SLOPE``
times the margin for two classes, and the softmax of the margins against the rest for
more.
icls    Tuned as ``ICLSClassifierCV`` does, or ``ICLSRegressorCV`` for numbers within bounds.
Its counterpart is ridge regression.
"""

from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.methods import ICLSClassifier, L2SVMClassifier, TSVMClassifier
from primum.methods.icls.regressor import ICLSRegressor
from primum.methods.icls.tuned import ICLSClassifierCV, ICLSRegressorCV
from primum.reading.known import drawn_share
from primum.safe.candidates.base import (
    LinearModel,
    Transductive,
    constant_model,
    least_squares_model,
    linear_model,
)
from primum.safe.candidates.linear import (
    MAX_NEWTON_AXES,
    inner_folds,
    inner_number_folds,
    log_linear_model,
)
from primum.safe.candidates.paths import SQUARED_HINGE, Principal, margin_path
from primum.safe.rows import Scaling, SharedRows, Targets, partly_labelled

# Used if the penalty cannot be chosen: in the middle of the grids.
DEFAULT_PENALTY = 0.1
# A decade apart, the largest first.
SVM_PENALTIES = (10.0, 1.0, 1e-1, 1e-2, 1e-3)
# A margin of 1 is a score of 0.88: rows beyond it cost nothing, and are still not certain.
SCORE_SLOPE = 2.0
# ICLS is tuned over few penalties, one metric and few folds, because each fit takes long.
ICLS_PENALTIES = (1e-2, 1e-1, 1.0)
ICLS_METRICS = (0.0,)
ICLS_FOLDS = 3
# With more unlabelled rows, a random sample is used, because tuning fits dozens of models.
MAX_ICLS_UNLABELED = 1000


def svm(X: Any, labels: Targets, seed: int, scaling: Scaling) -> LinearModel:
    """Return the SVM with squared hinge loss."""
    if len(labels.present) == 1:
        return constant_model(labels, X.shape[1])
    change = scaling(X)
    rows = Principal.of(change.transform(X), labels.weight)
    w, b, _ = tuned_svm(rows, labels)
    coef, intercept = rows.linear(w, b)
    model = log_linear_model(SCORE_SLOPE * coef.T, SCORE_SLOPE * intercept, labels)
    return model.after(change)


class TSVM(Transductive):
    """The transductive SVM, by annealing; two classes only."""

    name, counterpart, most_unlabeled = "tsvm", "svm", 1500

    def applies_to(self, n_classes: int) -> bool:  # noqa: D102
        return n_classes == 2

    def fit_standardised(self, rows: SharedRows, train: Index, labels: Targets) -> LinearModel:  # noqa: D102
        seen = labels.take(train)
        *_, penalty = tuned_svm(Principal.of(rows.labeled[train], seen.weight), seen)
        machine = TSVMClassifier("annealing", alpha=penalty)
        X, codes, weight = partly_labelled(rows, train, labels)
        if seen.chosen is not None:
            machine.prior = drawn_share(seen.y, seen.chosen, len(codes) - len(train))
        machine.fit(X, codes, sample_weight=weight)
        return log_linear_model(SCORE_SLOPE * machine.coef_, SCORE_SLOPE * machine.intercept_, seen)


def tuned_svm(rows: Principal, labels: Targets) -> tuple[Floats, Floats, float]:
    """Return coefficients and intercepts of the SVM, and its penalty.

    The penalty minimises the squared hinge loss in cross-validation.
    """
    folds = inner_folds(labels)
    if folds and len(labels.present) == 2 and rows.Z.shape[1] <= MAX_NEWTON_AXES:
        codes, inverse = np.searchsorted(labels.present, labels.y), 1 / np.array(SVM_PENALTIES)
        w, b, best = margin_path(rows, codes, folds, inverse, SQUARED_HINGE, mean=True)
        return w, b, SVM_PENALTIES[best]
    penalty = DEFAULT_PENALTY
    if folds:
        losses = [
            sum(_loss(rows.Z, labels, alpha, *fold) for fold in folds) for alpha in SVM_PENALTIES
        ]
        penalty = SVM_PENALTIES[int(np.argmin(losses))]
    machine = _machine(rows.Z, labels, penalty)
    return machine.coef_.T, machine.intercept_, penalty


def _loss(X: Any, labels: Targets, alpha: float, train: Index, test: Index) -> float:
    """Return the squared hinge loss of the rows test."""
    margins = _machine(X[train], labels.take(train), alpha).decision_function(X[test])
    signs = 2.0 * labels.values[test][:, labels.present] - 1.0
    if margins.ndim == 1:
        signs = signs[:, 1]
    losses = np.maximum(0.0, 1.0 - signs * margins) ** 2
    losses = losses.reshape(len(test), -1).sum(axis=1)
    return float(np.average(losses, weights=labels.take(test).weight))


def _machine(X: Any, labels: Targets, alpha: float) -> L2SVMClassifier:
    return L2SVMClassifier(alpha).fit(X, labels.y, sample_weight=labels.weight)


class Implicit(Transductive):
    """Implicitly constrained least squares."""

    name, counterpart, most_unlabeled = "icls", "ridge", MAX_ICLS_UNLABELED
    growth = 2.0

    def fit_standardised(self, rows: SharedRows, train: Index, labels: Targets) -> LinearModel:  # noqa: D102
        seen = labels.take(train)
        folds = inner_folds(seen, ICLS_FOLDS)
        tuned = ICLSClassifierCV(ICLS_PENALTIES, ICLS_METRICS, cv=folds)
        plain = ICLSClassifier(DEFAULT_PENALTY, metric=ICLS_METRICS[0])
        classifier = tuned if folds else plain
        X, codes, weight = partly_labelled(rows, train, labels)
        classifier.fit(X, codes, sample_weight=weight)
        coef, intercept = classifier.coef_, classifier.intercept_
        if len(coef) == 1:
            coef = np.concatenate([-coef, coef])
            intercept = np.append(0.5 - intercept, 0.5 + intercept)
        return linear_model(coef, intercept, seen, probabilities=False)


class ImplicitNumbers(Transductive):
    """Implicitly constrained least squares of numbers within bounds.

    Parameters
    ----------
    bounds : pair of float or None
        The range of all targets; None: that of the training targets.
    """

    name, counterpart, most_unlabeled = "icls", "ridge", MAX_ICLS_UNLABELED
    growth = 2.0

    def __init__(self, bounds: tuple[float, float] | None) -> None:
        self.bounds = bounds

    def fit_standardised(  # noqa: D102
        self, rows: SharedRows, train: Index, labels: Targets
    ) -> LinearModel:
        seen = labels.take(train)
        bounds = self.bounds or (float(seen.y.min()), float(seen.y.max()))
        folds = inner_number_folds(seen, ICLS_FOLDS, rows.seed)
        tuned = ICLSRegressorCV(ICLS_PENALTIES, ICLS_METRICS, cv=folds, bounds=bounds)
        plain = ICLSRegressor(DEFAULT_PENALTY, metric=ICLS_METRICS[0], bounds=bounds)
        regressor = tuned if folds else plain
        X, y, weight = partly_labelled(rows, train, labels)
        regressor.fit(X, y, sample_weight=weight)
        assert labels.scale is not None, "the targets are numbers"
        intercept = labels.scale.standardised(np.array([regressor.intercept_]))
        return least_squares_model(regressor.coef_[:, None] / labels.scale.width, intercept, labels)
