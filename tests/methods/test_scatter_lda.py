"""Linear discriminant analysis with the total scatter of all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generate import several_classes, two_classes
from primum import LDAClassifier, ScatterLDAClassifier, SingularCovarianceWarning

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.sampled_from([None, "equal"]))
def test_equals_lda_without_unlabelled_rows(seed, prior):
    """Also computed by projection: the rows again, without labels, do not change S_t."""
    rng = np.random.default_rng(seed)
    X, y, X_u, _ = several_classes(30, 20, 4, rng.integers(2, 5), seed=seed)
    lda = LDAClassifier(prior=prior).fit(X, y)
    alone = ScatterLDAClassifier(prior=prior).fit(X, y)
    again = ScatterLDAClassifier(prior=prior).fit(X, y, X)
    np.testing.assert_array_equal(alone.coef_, lda.coef_)
    np.testing.assert_allclose(alone.predict_proba(X_u), lda.predict_proba(X_u), atol=1e-10)
    np.testing.assert_allclose(again.predict_proba(X_u), lda.predict_proba(X_u), atol=1e-7)
    np.testing.assert_allclose(again.covariance_, lda.covariance_, atol=1e-8)


@given(seeds)
def test_two_classes_by_the_definition(seed):
    X, y, X_u, _ = two_classes(20, 60, 4, seed=seed)
    clf = ScatterLDAClassifier().fit(X, y, X_u)
    means = np.stack([X[y == k].mean(axis=0) for k in (0, 1)])
    total = np.cov(np.vstack([X, X_u]).T, bias=True)
    w = np.linalg.solve(total, means[1] - means[0])
    cosine = w @ clf.coef_[0] / np.linalg.norm(w) / np.linalg.norm(clf.coef_[0])
    assert cosine == pytest.approx(1.0)
    middle = means.mean(axis=0)
    log_ratio = np.log(np.mean(y == 1) / np.mean(y == 0))
    np.testing.assert_allclose(clf.decision_function([middle]), log_ratio, atol=1e-8)
    # Its slope is that of linear discriminant analysis of the projected labelled rows.
    one = LDAClassifier().fit((X @ w)[:, None], y)
    np.testing.assert_allclose(
        clf.decision_function(X_u), one.decision_function((X_u @ w)[:, None]), atol=1e-7
    )


@given(seeds)
def test_several_classes_are_lda_of_the_projected_rows(seed):
    X, y, X_u, _ = several_classes(30, 60, 5, 4, seed=seed)
    clf = ScatterLDAClassifier().fit(X, y, X_u)
    V = clf.directions_
    assert V.shape == (5, 3)
    total = np.cov(np.vstack([X, X_u]).T, bias=True)
    np.testing.assert_allclose(V.T @ total @ V, np.eye(3), atol=1e-8)
    projected = LDAClassifier().fit(X @ V, y)
    np.testing.assert_allclose(clf.predict_proba(X_u), projected.predict_proba(X_u @ V), atol=1e-7)


@given(seeds)
def test_affine_maps_of_the_features_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X, y, X_u, _ = several_classes(30, 60, 3, 3, seed=seed)
    rotation, stretch = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.uniform(0.1, 10, 3)
    A, b = rotation * stretch, rng.normal(size=3)
    clf = ScatterLDAClassifier().fit(X, y, X_u)
    mapped = ScatterLDAClassifier().fit(X @ A + b, y, X_u @ A + b)
    np.testing.assert_allclose(mapped.predict_proba(X_u @ A + b), clf.predict_proba(X_u), atol=1e-7)


def test_fewer_labels_than_features():
    X, y, X_u, _ = two_classes(10, 200, 30, separation=4.0)
    assert ScatterLDAClassifier().fit(X, y, X_u).rank_ == 1
    with pytest.warns(SingularCovarianceWarning, match="rank 8 for 30 features"):
        assert ScatterLDAClassifier().fit(X, y).rank_ == 8


def test_collinear_features_change_nothing():
    X, y, X_u, _ = several_classes(20, 60, 3, 3)
    expected = ScatterLDAClassifier().fit(X, y, X_u).predict_proba(X_u)
    X, X_u = (np.column_stack([rows, rows @ [1.0, 2.0, 3.0]]) for rows in (X, X_u))
    clf = ScatterLDAClassifier().fit(X, y, X_u)
    np.testing.assert_allclose(clf.predict_proba(X_u), expected, atol=1e-7)


def test_too_few_rows_are_refused():
    X, y, X_u, _ = two_classes(6, 5, 20)
    with pytest.raises(ValueError, match=r"6 labelled rows.*has rank 0 and not 1: label"):
        ScatterLDAClassifier().fit(X, y, X_u)
    assert ScatterLDAClassifier(alpha=0.1).fit(X, y, X_u).rank_ == 1
