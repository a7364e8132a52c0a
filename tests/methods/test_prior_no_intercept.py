"""Priors of models without an intercept, whose labels do not add up to anything the model knows."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from primum import ICLSClassifier

# Guesses of the last faces may exceed the number of iterations: they are not interrupted.
LAST_GUESSES = 11


def weak_feature(n_classes, n_labeled, n_unlabeled, seed):
    """Return rows with a feature in small units, their labels, and the shares of the classes."""
    rng = np.random.default_rng(seed)
    n = n_labeled + n_unlabeled
    classes = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    X = rng.normal(size=(n, 3)) + rng.normal(size=(n_classes, 3))[classes]
    X[:, 0] *= 1e-6
    shares = rng.dirichlet(np.ones(n_classes), n_unlabeled).mean(axis=0)
    return X, np.where(np.arange(n) < n_labeled, classes, -1), shares / shares.sum()


def fitted(problem, **parameters):
    X, y, prior = problem
    return ICLSClassifier(1e-6, metric=0.2, fit_intercept=False, prior=prior, **parameters).fit(
        X, y
    )


@pytest.mark.parametrize("seed", range(3))
def test_few_iterations_where_few_rows_connect_the_classes(seed):
    proof = fitted(weak_feature(6, 12, 30, seed)).certificate_
    assert proof.converged
    assert proof.prior.violation < 1e-9
    assert proof.iterations < 300


def test_ten_classes_converge():
    assert fitted(weak_feature(10, 22, 50, 0)).certificate_.converged


@pytest.mark.parametrize("max_iter", [1, 20, 50])
def test_all_rounds_share_max_iter(max_iter):
    problem = weak_feature(6, 12, 30, 0)
    with pytest.warns(ConvergenceWarning, match=rf"raise max_iter \(now {max_iter}\)"):
        clf = fitted(problem, max_iter=max_iter)
    assert clf.n_iter_ <= max_iter + LAST_GUESSES
    assert not clf.certificate_.converged


@pytest.mark.parametrize("prior", [{1: 0.5}, {1: 0.3}, {1: (0.2, 0.6)}, {1: (0.7, 0.9)}])
@pytest.mark.parametrize("metric", ["labeled", "all"])
def test_rows_of_zeros_can_have_any_labels(prior, metric):
    """Their labels do not matter to the model, so a prior changes the labels alone."""
    X = np.array([[1.0, 0], [0, 1], [1, 1], [2, 1], [0, 0], [0, 0]])
    y = [0, 1, 0, 1, -1, -1]
    clf, free = (
        ICLSClassifier(0.1, metric=metric, fit_intercept=False, prior=bounds).fit(X, y)
        for bounds in (prior, None)
    )
    assert clf.certificate_.converged
    assert clf.certificate_.prior.violation < 1e-9
    np.testing.assert_array_equal(clf.coef_, free.coef_)


def test_rows_of_zeros_of_three_classes():
    rng = np.random.default_rng(0)
    X, y = np.vstack([rng.normal(size=(9, 2)), np.zeros((4, 2))]), [0, 1, 2] * 3 + [-1] * 4
    prior = [0.2, 0.3, 0.5]
    clf = ICLSClassifier(0.1, metric="all", fit_intercept=False, prior=prior).fit(X, y)
    assert clf.certificate_.converged
    np.testing.assert_allclose(clf.soft_labels_.mean(axis=0), prior, atol=1e-9)


def test_no_iteration_is_left_for_a_round_within_the_prior():
    """The labelling without the prior is then returned, and said to be outside its bounds."""
    problem = weak_feature(6, 12, 30, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        proof = fitted(problem, max_iter=1).certificate_
    assert proof.prior.violation > 1e-4
