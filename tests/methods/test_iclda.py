"""Implicitly constrained linear discriminant analysis and nearest mean."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from generate import several_classes, two_classes
from likelihoods import mean_log_likelihood
from primum import ICLDAClassifier, LDAClassifier

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(["full", "spherical"])


def model_of(kind, rows, Q, alpha=0.0):
    """Fit Gaussian classes to all rows with soft labels, by the definitions."""
    shares = Q.mean(axis=0)
    means = (Q.T @ rows) / Q.sum(axis=0)[:, None]
    covariance = alpha * np.eye(rows.shape[1])
    for k, mean in enumerate(means):
        within = ((rows - mean).T * Q[:, k]) @ (rows - mean) / len(rows)
        if kind == "spherical":
            within = np.trace(within) / len(within) * np.eye(len(within))
        covariance = covariance + within
    return SimpleNamespace(means_=means, covariance_=covariance, prior_=shares)


@settings(max_examples=20)
@given(seeds, kinds, st.sampled_from([0.0, 0.5]))
def test_labelled_likelihood_is_between_those_of_supervised_labels_and_model(seed, kind, alpha):
    rng = np.random.default_rng(seed)
    K = rng.integers(2, 5)
    X, y, X_u, _ = several_classes(20, 40, 3, K, seed=seed, separation=1.0)
    clf = ICLDAClassifier(kind, alpha=alpha).fit(X, y, X_u)
    rows, known = np.vstack([X, X_u]), np.eye(K)[y]

    def value(model):
        return mean_log_likelihood(model, X, y, alpha=alpha)

    def value_of(Q):
        return value(model_of(kind, rows, np.vstack([known, Q]), alpha))

    own = clf.soft_labels_ if K > 2 else np.column_stack([1 - clf.soft_labels_, clf.soft_labels_])
    assert clf.log_likelihood_ == pytest.approx(value(clf), abs=1e-9)
    assert clf.log_likelihood_ == pytest.approx(value_of(own), abs=1e-9)
    assert clf.log_likelihood_ <= value(clf.supervised_) + 1e-12
    assert clf.log_likelihood_ >= value_of(clf.supervised_.predict_proba(X_u)) - 1e-12
    for _ in range(10):  # a local maximum: no better labels nearby
        other = 0.999 * own + 0.001 * rng.dirichlet(np.ones(K), len(X_u))
        assert value_of(other) <= clf.log_likelihood_ + 1e-6
    assert clf.gap_ <= 1e-6


@pytest.mark.parametrize("kind", ["full", "spherical"])
def test_without_unlabelled_rows_it_is_the_supervised_model(kind):
    X, y, *_ = several_classes(30, 0, 3, 3)
    expected, clf = LDAClassifier(kind).fit(X, y), ICLDAClassifier(kind).fit(X, y)
    np.testing.assert_array_equal(clf.coef_, expected.coef_)
    np.testing.assert_array_equal(clf.intercept_, expected.intercept_)
    assert clf.soft_labels_.shape == (0, 3)


def test_rows_that_can_have_the_labelled_model_do():
    """The unlabelled rows are the labelled ones again: their labels give the supervised model."""
    X, y, *_ = two_classes(30, 0, 3)
    clf = ICLDAClassifier(tol=1e-9).fit(X, y, X)
    np.testing.assert_allclose(clf.coef_, clf.supervised_.coef_, atol=1e-3)
    np.testing.assert_allclose(clf.log_likelihood_, mean_log_likelihood(clf.supervised_, X, y))


def test_weights_count_rows():
    X, y, X_u, _ = two_classes(20, 30, 3)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(30, -1)]
    weight = np.random.default_rng(0).integers(1, 4, 50)
    weighted = ICLDAClassifier(n_init=1).fit(rows, labels, sample_weight=weight)
    repeated = ICLDAClassifier(n_init=1).fit(
        np.repeat(rows, weight, axis=0), np.repeat(labels, weight)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)


def test_optima_are_counted_and_the_best_is_kept():
    X, y, X_u, _ = two_classes(20, 100, 60, separation=2.0)
    one, several = (ICLDAClassifier(n_init=n).fit(X, y, X_u) for n in (1, 4))
    assert one.n_optima_ == 1
    assert several.n_optima_ > 1
    assert several.log_likelihood_ > one.log_likelihood_


def test_an_unbounded_likelihood_is_refused():
    X, y, X_u, _ = two_classes(10, 20, 40, separation=4.0)
    with pytest.raises(ValueError, match=r"ICLDAClassifier has no maximum.*Set alpha above 0"):
        ICLDAClassifier().fit(X, y, X_u)
    assert ICLDAClassifier(alpha=0.1).fit(X, y, X_u).rank_ == 40


def test_an_early_stop_warns():
    X, y, X_u, _ = two_classes(10, 60, 3)
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations.*raise max_iter \(now 1"):
        ICLDAClassifier(max_iter=1).fit(X, y, X_u)
    X, y, X_u, _ = several_classes(20, 40, 3, 4)
    with pytest.warns(ConvergenceWarning, match="rounding limits it, so raise tol or alpha"):
        ICLDAClassifier(tol=0.0).fit(X, y, X_u)
