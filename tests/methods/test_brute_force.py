"""Tiny problems, where all labels can be tried: answers of methods that no other package has."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import entr, expit, log_expit
from scipy.stats import norm

from primum import (
    ContrastivePessimisticLDAClassifier,
    EntropyLogisticClassifier,
    ICLDAClassifier,
    L2SVMClassifier,
    TSVMClassifier,
    WellSVMClassifier,
)

GRID = np.linspace(0.0, 1.0, 41)
each_seed = pytest.mark.parametrize("seed", range(3))


def rows(seed, n_unlabeled, n_features=1):
    """Return four labelled rows of two classes and a few unlabelled ones."""
    rng = np.random.default_rng(seed)
    y, truth = np.array([0, 0, 1, 1]), np.arange(n_unlabeled) % 2
    X, X_u = (rng.normal(size=(len(k), n_features)) + 2.0 * k[:, None] for k in (y, truth))
    return X, y, X_u


def log_joint(model, X):
    """Return log p(x, k) of every row of one feature and both classes."""
    shares, means, variance = model
    return np.log(shares) + norm.logpdf(X, means, np.sqrt(variance))


def model_of(X, R):
    """Return (shares, means, variance) of largest likelihood for weights R in both classes."""
    totals = R.sum(axis=0)
    means = X[:, 0] @ R / totals
    return totals / R.sum(), means, np.sum(R * (X - means) ** 2) / R.sum()


def weights_of(y, q):
    """Return the weight of every row in both classes: an unlabelled row counts in both."""
    shares = np.concatenate([y, q])
    return np.column_stack([1.0 - shares, shares])


@each_seed
def test_implicitly_constrained_lda_is_the_best_model_of_all_soft_labels(seed):
    X, y, X_u = rows(seed, 2)

    def labelled(q):
        return log_joint(model_of(np.vstack([X, X_u]), weights_of(y, q)), X)[np.arange(4), y].mean()

    best = max(labelled(np.array(q)) for q in product(GRID, GRID))
    clf = ICLDAClassifier().fit(X, y, X_u)
    assert clf.log_likelihood_ >= best - 1e-6
    assert clf.log_likelihood_ == pytest.approx(labelled(clf.soft_labels_), abs=1e-9)


@each_seed
def test_the_contrastive_gain_is_that_of_the_worst_soft_labels(seed):
    X, y, X_u = rows(seed, 2)
    supervised, everywhere = model_of(X, weights_of(y, [])), np.vstack([X, X_u])

    def gain(q):
        R = weights_of(y, q)
        own, theirs = (
            log_joint(model, everywhere) for model in (model_of(everywhere, R), supervised)
        )
        return np.sum(R * (own - theirs)) / 6

    clf = ContrastivePessimisticLDAClassifier().fit(X, y, X_u)
    least = min(gain(np.array(q)) for q in product(GRID, GRID))
    assert clf.gain_ <= least + 1e-9
    assert clf.gain_ + clf.gap_ == pytest.approx(gain(clf.soft_labels_), abs=1e-9)
    assert gain(clf.soft_labels_) <= least + 1e-6


@each_seed
def test_entropy_is_minimised_over_one_coefficient(seed):
    X, y, X_u = rows(seed, 5)
    X, X_u = X - 1.0, X_u - 1.0
    w = np.linspace(-30, 30, 20_001)
    loss = -log_expit(np.where(y == 1, 1, -1) * (w[:, None] * X[:, 0])).mean(axis=1)
    p = expit(w[:, None] * X_u[:, 0])
    objective = loss + 0.5 * (entr(p) + entr(1 - p)).mean(axis=1) + 0.01 * w**2
    clf = EntropyLogisticClassifier(0.5, alpha=0.01, fit_intercept=False).fit(X, y, X_u)
    assert clf.objective_ == pytest.approx(objective.min(), abs=1e-5)
    assert clf.coef_[0, 0] == pytest.approx(w[objective.argmin()], abs=0.01)


def machines(X, y, X_u, n_positive, **parameters):
    """Yield the objectives of the SVMs of all labellings with a given number of positives."""
    U = len(X_u)
    weight = np.concatenate([np.full(len(X), 1 / len(X)), np.full(U, 1 / U)])
    svm = L2SVMClassifier(0.1, costs="sum", **parameters)
    for positive in combinations(range(U), n_positive):
        labels = np.isin(np.arange(U), positive).astype(int)
        svm.fit(np.vstack([X, X_u]), np.concatenate([y, labels]), sample_weight=weight)
        yield svm.objective_, labels


@pytest.mark.parametrize("method", ["switching", "annealing"])
@each_seed
def test_transductive_labels_have_the_objective_of_their_machine(seed, method):
    X, y, X_u = rows(seed, 6, 2)
    clf = TSVMClassifier(method, alpha=0.1, prior=0.5).fit(X, y, X_u)
    objectives = {tuple(labels): value for value, labels in machines(X, y, X_u, 3)}
    assert clf.objective_ == pytest.approx(objectives[tuple(clf.transduction_[4:])], rel=1e-6)
    assert clf.objective_ == pytest.approx(min(objectives.values()), rel=1e-6)


@each_seed
def test_the_relaxed_objective_is_below_that_of_every_labelling(seed):
    X, y, X_u = rows(seed, 6, 2)
    clf = WellSVMClassifier(0.1, prior=0.5, tol=1e-4).fit(X, y, X_u)
    best = min(value for value, _ in machines(X, y, X_u, 3, penalize_intercept=True))
    assert clf.objective_ <= best * (1 + 1e-4)
    assert clf.objective_ >= clf.supervised_.objective_ * (1 - 1e-4)
