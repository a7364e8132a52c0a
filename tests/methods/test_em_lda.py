"""EM for linear discriminant analysis and nearest mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from generate import several_classes, two_classes
from likelihoods import mean_log_likelihood
from primum import EMLDAClassifier, LDAClassifier

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(["full", "spherical"])


@given(seeds, kinds, st.sampled_from([0.1, 1.0]), st.sampled_from([0.0, 0.5]))
def test_the_likelihood_never_falls(seed, kind, weight, alpha):
    rng = np.random.default_rng(seed)
    X, y, X_u, _ = several_classes(30, 60, 3, rng.integers(2, 5), seed=seed, separation=1.0)
    clf = EMLDAClassifier(kind, unlabeled_weight=weight, alpha=alpha).fit(X, y, X_u)
    path = clf.log_likelihood_path_
    assert np.diff(path).min(initial=0.0) >= -1e-12
    assert clf.n_iter_ == len(path)
    settings = {"unlabeled_weight": weight, "alpha": alpha}
    expected = mean_log_likelihood(clf, X, y, X_u, **settings)
    assert clf.log_likelihood_ == pytest.approx(expected, abs=1e-9)
    assert mean_log_likelihood(clf.supervised_, X, y, X_u, **settings) <= path[0] + 1e-12


@given(seeds, kinds)
def test_converges_to_a_fixed_point(seed, kind):
    X, y, X_u, _ = several_classes(30, 60, 3, 3, seed=seed)
    clf = EMLDAClassifier(kind, tol=1e-14).fit(X, y, X_u)
    rows, Q = np.vstack([X, X_u]), np.vstack([np.eye(3)[y], clf.soft_labels_])
    np.testing.assert_allclose(Q.T @ rows / Q.sum(axis=0)[:, None], clf.means_, atol=1e-4)
    np.testing.assert_allclose(Q.mean(axis=0), clf.prior_, atol=1e-4)


@pytest.mark.parametrize("kind", ["full", "spherical"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_weight_or_unlabelled_rows_it_is_the_supervised_model(kind, n_classes):
    X, y, X_u, _ = several_classes(30, 60, 3, n_classes)
    expected = LDAClassifier(kind).fit(X, y)
    for clf in (
        EMLDAClassifier(kind, unlabeled_weight=0.0).fit(X, y, X_u),
        EMLDAClassifier(kind).fit(X, y),
    ):
        for name in ("means_", "covariance_", "prior_", "coef_", "intercept_"):
            np.testing.assert_array_equal(getattr(clf, name), getattr(expected, name))
    few = EMLDAClassifier(kind, unlabeled_weight=1e-9).fit(X, y, X_u)
    np.testing.assert_allclose(few.coef_, expected.coef_, atol=1e-6)


def test_finds_the_optimum_of_scikit_learns_mixture():
    """With next to no weight on the labels the model is a mixture with tied covariances."""
    X, y, X_u, _ = several_classes(30, 600, 2, 3, separation=3.0)
    clf = EMLDAClassifier(tol=1e-13)
    clf.fit(X, y, X_u, sample_weight=np.full(30, 1e-9))
    mixture = GaussianMixture(
        3, covariance_type="tied", tol=1e-12, reg_covar=0, max_iter=1000, means_init=clf.means_
    ).fit(X_u)
    np.testing.assert_allclose(clf.means_, mixture.means_, atol=1e-4)
    np.testing.assert_allclose(clf.covariance_, mixture.covariances_, atol=1e-4)
    assert clf.log_likelihood_ == pytest.approx(mixture.score(X_u), abs=1e-6)


def test_units_only_shift_the_likelihood_by_their_logarithms():
    X, y, X_u, _ = several_classes(30, 60, 4, 2)
    units = np.array([1e-9, 1e9, 1.0, 1e3])
    plain, scaled = (
        EMLDAClassifier().fit(X, y, X_u),
        EMLDAClassifier().fit(X * units, y, X_u * units),
    )
    expected = plain.log_likelihood_ - np.log(units).sum()
    assert scaled.log_likelihood_ == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-6)


def test_recovers_the_classes_from_few_labels():
    X, y, X_u, truth = several_classes(6, 2000, 4, 3, separation=3.0)
    clf = EMLDAClassifier("spherical").fit(X, y, X_u)
    assert clf.score(X_u, truth) > 0.95
    np.testing.assert_allclose(clf.covariance_, np.eye(4), atol=0.1)


def test_fewer_labels_than_features():
    X, y, X_u, truth = two_classes(10, 400, 15, separation=4.0)
    clf = EMLDAClassifier().fit(X, y, X_u)
    assert (clf.supervised_.rank_, clf.rank_) == (8, 15)
    assert clf.score(X_u, truth) > 0.95


def test_collinear_features_change_nothing():
    X, y, X_u, _ = two_classes(20, 60, 3)
    expected = EMLDAClassifier().fit(X, y, X_u)
    X, X_u = (np.column_stack([rows, rows @ [1.0, 2.0, 3.0]]) for rows in (X, X_u))
    clf = EMLDAClassifier().fit(X, y, X_u)  # warnings are errors
    assert clf.rank_ == 3
    np.testing.assert_allclose(clf.soft_labels_, expected.soft_labels_, atol=1e-6)


def test_an_unbounded_likelihood_is_refused():
    X, y, X_u, _ = two_classes(10, 20, 40, separation=4.0)
    with pytest.raises(ValueError, match=r"EMLDAClassifier has no maximum.*Set alpha above 0"):
        EMLDAClassifier().fit(X, y, X_u)
    assert EMLDAClassifier(alpha=0.1).fit(X, y, X_u).rank_ == 40


def test_an_early_stop_warns():
    X, y, X_u, _ = two_classes(10, 60, 3)
    with pytest.warns(ConvergenceWarning, match=r"after max_iter=2 iterations.*raise max_iter"):
        clf = EMLDAClassifier(max_iter=2).fit(X, y, X_u)
    assert clf.n_iter_ == 2
