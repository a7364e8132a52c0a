"""Moment-constrained linear discriminant analysis and nearest mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generate import several_classes, two_classes
from primum import LDAClassifier, MomentConstrainedLDAClassifier, SingularCovarianceWarning

seeds = st.integers(0, 2**32 - 1)


def moments(clf):
    """Return mean and total covariance of a model."""
    mean = clf.prior_ @ clf.means_
    centered = clf.means_ - mean
    return mean, clf.covariance_ + (centered.T * clf.prior_) @ centered


def total(rows, weight=None):
    return np.average(rows, axis=0, weights=weight), np.cov(rows.T, bias=True, aweights=weight)


@given(seeds, st.sampled_from([None, "equal"]), st.booleans())
def test_the_moments_are_those_of_all_rows(seed, prior, weighted):
    rng = np.random.default_rng(seed)
    X, y, X_u, _ = several_classes(30, 60, 3, rng.integers(2, 5), seed=seed)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]
    weight = rng.uniform(0.1, 2, 90) if weighted else None
    clf = MomentConstrainedLDAClassifier(prior=prior).fit(rows, labels, sample_weight=weight)
    mean, covariance = total(rows, weight)
    np.testing.assert_allclose(moments(clf)[0], mean, atol=1e-10)
    np.testing.assert_allclose(moments(clf)[1], covariance, atol=1e-10)
    np.testing.assert_array_equal(clf.prior_, clf.supervised_.prior_)
    nearest = MomentConstrainedLDAClassifier("spherical", prior=prior)
    nearest.fit(rows, labels, sample_weight=weight)
    np.testing.assert_allclose(moments(nearest)[0], mean, atol=1e-10)
    shift = nearest.means_ - nearest.supervised_.means_
    np.testing.assert_allclose(shift, np.tile(shift[0], (len(shift), 1)), atol=1e-12)
    np.testing.assert_array_equal(nearest.covariance_, nearest.supervised_.covariance_)


@given(seeds)
def test_affine_maps_of_the_features_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X, y, X_u, _ = several_classes(30, 60, 3, rng.integers(2, 5), seed=seed)
    rotation, stretch = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.uniform(0.1, 10, 3)
    A, b = (rotation * stretch) @ rng.permutation(rotation), rng.normal(size=3)
    clf = MomentConstrainedLDAClassifier().fit(X, y, X_u)
    mapped = MomentConstrainedLDAClassifier().fit(X @ A + b, y, X_u @ A + b)
    np.testing.assert_allclose(mapped.predict_proba(X_u @ A + b), clf.predict_proba(X_u), atol=1e-8)
    np.testing.assert_allclose(mapped.means_, clf.means_ @ A + b, atol=1e-8)


@pytest.mark.parametrize("kind", ["full", "spherical"])
def test_without_unlabelled_rows_it_is_the_supervised_model(kind):
    X, y, *_ = several_classes(30, 0, 3, 3)
    expected = LDAClassifier(kind).fit(X, y)
    clf = MomentConstrainedLDAClassifier(kind).fit(X, y)
    np.testing.assert_array_equal(clf.coef_, expected.coef_)
    np.testing.assert_array_equal(clf.intercept_, expected.intercept_)
    repeated = MomentConstrainedLDAClassifier(kind).fit(X, y, X)
    np.testing.assert_allclose(repeated.coef_, expected.coef_)


def test_one_feature_by_hand():
    """The labelled rows have mean 0 and variance 2, all rows mean 1 and variance 10."""
    X, y = np.array([[-2.0], [0.0], [0.0], [2.0]]), np.array([0, 0, 1, 1])
    X_u = np.array([[6.0], [-2.0], [6.0], [-2.0]])
    clf = MomentConstrainedLDAClassifier().fit(X, y, X_u)
    np.testing.assert_allclose(clf.means_[:, 0], [1 - np.sqrt(5), 1 + np.sqrt(5)])
    np.testing.assert_allclose(clf.covariance_, 5.0)


def test_singular_labelled_covariance():
    """The constraint holds on the range of the labelled covariance, and the mean everywhere."""
    X, y, X_u, _ = two_classes(8, 400, 15, separation=4.0)
    with pytest.warns(SingularCovarianceWarning, match="rank 6 for 15 features"):
        clf = MomentConstrainedLDAClassifier().fit(X, y, X_u)
    mean, covariance = total(np.vstack([X, X_u]))
    np.testing.assert_allclose(moments(clf)[0], mean, atol=1e-10)
    scale = X.std(axis=0)
    range_of = np.linalg.svd((X - X.mean(axis=0)) / scale, full_matrices=False)[2][:7].T
    reader = range_of / scale[:, None]
    np.testing.assert_allclose(
        reader.T @ moments(clf)[1] @ reader, reader.T @ covariance @ reader, atol=1e-10
    )
    ridge = MomentConstrainedLDAClassifier(alpha=0.5).fit(X, y, X_u)
    np.testing.assert_allclose(moments(ridge)[1], covariance + 0.5 * np.eye(15), atol=1e-9)


@pytest.mark.parametrize("alpha", [1e-4, 1e-6, 1e-8, 1e-10])
def test_a_small_ridge_for_few_labelled_rows(alpha):
    """Rows mapped back, x -> m + T^-1 (x - mu), have the scores of the supervised model.

    T is computed here by square roots of matrices; the errors of both grow as 1 / alpha.
    """
    X, y, X_u, _ = two_classes(8, 60, 12, separation=2.0)
    clf = MomentConstrainedLDAClassifier(alpha=alpha).fit(X, y, X_u)
    rows = np.vstack([X, X_u])
    mean, covariance = total(rows)
    assert clf.rank_ == 12
    np.testing.assert_allclose(moments(clf)[0], mean, atol=1e-12)
    np.testing.assert_allclose(moments(clf)[1], covariance + alpha * np.eye(12), atol=1e-12)
    of_labeled, S = total(X)
    values, V = np.linalg.eigh(S + alpha * np.eye(12))
    root, inverse_root = (V * values**0.5) @ V.T, (V * values**-0.5) @ V.T
    values, V = np.linalg.eigh(inverse_root @ (covariance + alpha * np.eye(12)) @ inverse_root)
    inverse = root @ (V * values**-0.5) @ V.T @ inverse_root
    expected = clf.supervised_.decision_function(of_labeled + (rows - mean) @ inverse.T)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        clf.decision_function(rows) / scale, expected / scale, atol=1e-13 / alpha
    )


def test_an_outlier_beyond_the_precision_of_the_map_is_refused():
    X, y, X_u, _ = two_classes(8, 12, 3)
    X_u[0] = [1e10, -1e10, 2e10]
    with pytest.raises(ValueError, match=r"variance of all rows is .*remove outliers"):
        MomentConstrainedLDAClassifier().fit(X, y, X_u)
