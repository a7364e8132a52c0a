"""Linear discriminant analysis and nearest mean, and what all generative classifiers share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid

from generate import several_classes, two_classes
from primum import (
    ContrastivePessimisticLDAClassifier,
    EMLDAClassifier,
    ICLDAClassifier,
    LDAClassifier,
    MomentConstrainedLDAClassifier,
    ScatterLDAClassifier,
    SingularCovarianceWarning,
)

seeds = st.integers(0, 2**32 - 1)


def problem(seed, n_classes=None, *, d=None):
    """Return rows of random scales and offsets, and their labels."""
    rng = np.random.default_rng(seed)
    K, d = n_classes or rng.integers(2, 5), d or rng.integers(1, 5)
    X, y, X_u, y_u = several_classes(40, 30, d, K, seed=seed)
    scale, shift = 10.0 ** rng.uniform(-1, 1, d), 10 * rng.normal(size=d)
    return X * scale + shift, y, X_u * scale + shift, y_u


@given(seeds)
def test_equals_scikit_learn(seed):
    X, y, X_u, _ = problem(seed)
    ours = LDAClassifier().fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X_u), theirs.predict_proba(X_u), atol=1e-6)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-10)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-8)
    np.testing.assert_allclose(ours.prior_, theirs.priors_)


@given(seeds)
def test_posterior_is_that_of_the_fitted_densities(seed):
    X, y, X_u, _ = problem(seed)
    for parameters in ({"prior": "equal"}, {"covariance": "spherical"}, {"alpha": 2.0}):
        clf = LDAClassifier(**parameters).fit(X, y)
        density = np.stack(
            [
                np.log(share) + multivariate_normal(mean, clf.covariance_).logpdf(X_u)
                for share, mean in zip(clf.prior_, clf.means_, strict=True)
            ],
            axis=1,
        )
        expected = density - np.logaddexp.reduce(density, axis=1, keepdims=True)
        np.testing.assert_allclose(clf.predict_log_proba(X_u), expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(np.exp(expected), clf.predict_proba(X_u), atol=1e-6)


@given(seeds)
def test_equal_priors_and_a_spherical_covariance_predict_the_nearest_mean(seed):
    X, y, X_u, _ = problem(seed)
    clf = LDAClassifier("spherical", prior="equal").fit(X, y)
    nearest = NearestCentroid().fit(X, y)
    np.testing.assert_array_equal(clf.predict(X_u), nearest.predict(X_u))


@given(seeds)
def test_nearest_mean_is_lda_of_rows_with_a_spherical_covariance(seed):
    """Whiten the rows within the classes: then the full covariance is the identity."""
    X, y, X_u, _ = problem(seed)
    root = np.linalg.cholesky(np.linalg.inv(LDAClassifier().fit(X, y).covariance_))
    full, spherical = (LDAClassifier(kind).fit(X @ root, y) for kind in ("full", "spherical"))
    np.testing.assert_allclose(full.covariance_, np.eye(X.shape[1]), atol=1e-8)
    expected = full.decision_function(X_u @ root)
    np.testing.assert_allclose(spherical.decision_function(X_u @ root), expected, atol=1e-6)


@given(seeds, st.sampled_from(["full", "spherical"]), st.sampled_from([0.0, 0.5]))
def test_parameters_maximise_the_penalised_likelihood(seed, kind, alpha):
    X, y, *_ = several_classes(40, 0, 3, 3, seed=seed)
    clf = LDAClassifier(kind, alpha=alpha).fit(X, y)
    rng = np.random.default_rng(seed)

    def objective(means, covariance, prior):
        residuals, precision = X - means[y], np.linalg.inv(covariance)
        squares = np.einsum("ij,jk,ik->i", residuals, precision, residuals)
        value = np.log(prior[y]).mean() - 0.5 * squares.mean()
        penalty = 0.5 * alpha * np.trace(precision)
        return value - 0.5 * np.linalg.slogdet(covariance)[1] - penalty

    best = objective(clf.means_, clf.covariance_, clf.prior_)
    for _ in range(10):
        step = 0.1 * rng.normal(size=(3, 3))
        factor = np.eye(3) + step if kind == "full" else np.exp(step[0, 0]) * np.eye(3)
        others = [
            (clf.means_ + step, clf.covariance_, clf.prior_),
            (clf.means_, factor @ clf.covariance_ @ factor.T, clf.prior_),
            (clf.means_, clf.covariance_, rng.dirichlet(100 * clf.prior_)),
        ]
        assert all(objective(*other) < best for other in others)


@pytest.mark.parametrize("kind", ["full", "spherical"])
def test_weights_count_rows(kind):
    X, y, *_ = several_classes(20, 0, 3, 3)
    weight = np.random.default_rng(0).integers(0, 4, 20)
    weight[:6] += 1
    weighted = LDAClassifier(kind).fit(X, y, sample_weight=weight)
    repeated = LDAClassifier(kind).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_)


def collinear(X):
    return np.column_stack([X, 250 * X[:, 0] - X[:, 1], np.full(len(X), 0.1), X[:, 1]])


def test_collinear_and_constant_features_change_nothing():
    X, y, X_u, _ = several_classes(40, 30, 3, 3)
    expected = LDAClassifier().fit(X, y)
    clf = LDAClassifier().fit(collinear(X), y)  # warnings are errors
    assert clf.rank_ == 3
    assert np.linalg.matrix_rank(clf.covariance_) == 3
    np.testing.assert_allclose(
        clf.predict_proba(collinear(X_u)), expected.predict_proba(X_u), atol=1e-8
    )


SEMI_SUPERVISED = [
    EMLDAClassifier,
    ICLDAClassifier,
    ScatterLDAClassifier,
    MomentConstrainedLDAClassifier,
    ContrastivePessimisticLDAClassifier,
]


@pytest.mark.parametrize("estimator", [LDAClassifier, *SEMI_SUPERVISED])
@pytest.mark.parametrize("unlabeled", [False, True])
def test_one_hot_columns_do_not_warn(estimator, unlabeled):
    """They add up to 1, so that one of them is redundant."""
    X, y, X_u, _ = two_classes(40, 60, 2)
    rng = np.random.default_rng(0)
    X, X_u = (np.column_stack([A, np.eye(3)[rng.integers(0, 3, len(A))]]) for A in (X, X_u))
    X_u = X_u if unlabeled else None
    clf = estimator().fit(X, y, X_u)  # warnings are errors
    without = estimator().fit(X[:, :-1], y, None if X_u is None else X_u[:, :-1])
    expected = without.decision_function(X[:, :-1])
    np.testing.assert_allclose(clf.decision_function(X), expected, atol=1e-5)


def test_a_direction_that_varies_only_between_the_classes_warns():
    X, y, *_ = two_classes(40, 0, 2)
    with pytest.warns(SingularCovarianceWarning, match="rank 2 for 3 features, but .* 3 direc"):
        LDAClassifier().fit(np.column_stack([X, y]), y)


def test_a_category_that_has_no_label_warns_if_the_rows_determine_the_model():
    X, y, X_u, _ = two_classes(40, 60, 2)
    X, X_u = np.column_stack([X, np.zeros(40)]), np.column_stack([X_u, np.arange(60) % 2])
    LDAClassifier().fit(X, y, X_u)  # ignores unlabelled rows; warnings are errors
    with pytest.warns(SingularCovarianceWarning, match="rank 2 for 3 features, but .* 3 direc"):
        MomentConstrainedLDAClassifier().fit(X, y, X_u)


def test_fewer_rows_than_features_do_not_depend_on_units():
    X, y, X_u, _ = two_classes(10, 30, 20, separation=3.0)
    scale = 10.0 ** np.random.default_rng(0).uniform(-6, 6, 20)
    message = r"rank 8 for 20 features, but the rows vary in 9 directions: .*set alpha above 0"
    with pytest.warns(SingularCovarianceWarning, match=message):
        clf = LDAClassifier().fit(X, y)
    with pytest.warns(SingularCovarianceWarning, match="rank 8 for 20 features"):
        scaled = LDAClassifier().fit(X * scale, y)
    np.testing.assert_allclose(
        scaled.decision_function(X_u * scale), clf.decision_function(X_u), rtol=1e-6
    )
    assert LDAClassifier(alpha=0.1).fit(X, y).rank_ == 20


def test_one_labelled_row_of_a_class():
    X, *_ = two_classes(12, 0, 3)
    y = np.r_[1, np.zeros(11, dtype=int)]
    clf = LDAClassifier().fit(X, y)
    np.testing.assert_allclose(clf.means_[1], X[0])
    np.testing.assert_allclose(clf.covariance_, 11 / 12 * np.cov(X[1:].T, bias=True))
    with pytest.raises(ValueError, match=r"2 labelled rows do not vary within .*alpha"):
        LDAClassifier().fit(X[:2], [0, 1])
    assert LDAClassifier(alpha=0.1).fit(X[:2], [0, 1]).score(X[:2], [0, 1]) == 1


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.2, 0.3, 0.5], r"prior is \[.*\], but there are 2 classes: pass one share"),
        ([[0.5, 0.5]], r"prior is \[.*\], but there are 2 classes: pass one share"),
        ([0.5, 0.4], r"The shares of prior add up to 0.9: pass shares of all 2 classes that"),
        ({"a": 0.5, "b": 0.6}, r"The shares of prior add up to 1.1: pass shares of all 2 classes"),
        ([1.0, 0.0], "prior gives class 'b' a share of 0: pass shares above 0"),
        ([np.nan, 1.0], "prior gives class 'a' a share of nan"),
        ({"a": 0.3}, r"prior has no share of class 'b': .* of all classes, \['a', 'b'\]"),
        ({"a": 0.3, "c": 0.7}, r"prior names the class 'c', but the classes are \['a', 'b'\]"),
        ({"a": "many", "b": 0.7}, r"prior is \['many', 0.7\]: pass shares, numbers above 0"),
    ],
)
def test_bad_priors(prior, message):
    X, y, *_ = two_classes(12, 0, 3)
    with pytest.raises(ValueError, match=message):
        LDAClassifier(prior=prior).fit(X, np.array(["a", "b"])[y])


@pytest.mark.parametrize(
    "estimator",
    [LDAClassifier, *SEMI_SUPERVISED],
)
def test_priors_by_the_names_of_classes(estimator):
    pd = pytest.importorskip("pandas")
    X, y, X_u, _ = two_classes(30, 40, 3)
    y = np.array(["a", "b"], dtype=object)[y]
    expected = estimator(prior=[0.3, 0.7]).fit(X, y, X_u)
    named = {"b": 0.7, "a": 0.3}
    for prior in (named, pd.Series(named)):
        clf = clone(estimator(prior=prior)).fit(X, y, X_u)
        np.testing.assert_array_equal(clf.predict_proba(X_u), expected.predict_proba(X_u))
        np.testing.assert_allclose(clf.prior_, [0.3, 0.7])


def test_given_priors_move_the_threshold_only():
    X, y, *_ = two_classes(30, 0, 3)
    plain, given_priors = LDAClassifier().fit(X, y), LDAClassifier(prior=[0.9, 0.1]).fit(X, y)
    np.testing.assert_allclose(given_priors.coef_, plain.coef_)
    moved = np.log(0.1 / 0.9) - np.log(plain.prior_[1] / plain.prior_[0])
    np.testing.assert_allclose(given_priors.intercept_ - plain.intercept_, moved)


def test_sparse_rows_are_refused():
    X, y, X_u, _ = two_classes(12, 30, 3)
    for rows in ((sparse.csr_array(X), y), (X, y, sparse.csr_array(X_u))):
        with pytest.raises(TypeError, match=r"needs dense rows.*is sparse.*X.toarray\(\)"):
            LDAClassifier().fit(*rows)
