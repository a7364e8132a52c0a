"""Contrastive pessimistic linear discriminant analysis and nearest mean: the theorem."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from generate import several_classes, two_classes
from likelihoods import log_joint
from primum import ContrastivePessimisticLDAClassifier, LDAClassifier

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(["full", "spherical"])


def gains(clf, X, y, X_u, labellings, alpha=0.0):
    """Return the gains in mean log-likelihood over the twin for soft labels of the other rows."""
    twin, rows = clf.supervised_, np.vstack([X, X_u])
    difference = log_joint(clf, rows) - log_joint(twin, rows)
    known = difference[: len(y)][np.arange(len(y)), y].sum()
    traces = [np.trace(np.linalg.inv(model.covariance_)) for model in (clf, twin)]
    penalty = 0.5 * alpha * (traces[0] - traces[1])
    values = [known + np.sum(Q * difference[len(y) :]) for Q in labellings]
    return np.array(values) / len(rows) - penalty


def worst_labels(clf, X_u):
    """Return the labels for which the gain is the least: it is linear in them."""
    difference = log_joint(clf, X_u) - log_joint(clf.supervised_, X_u)
    return np.eye(difference.shape[1])[difference.argmin(axis=1)]


@given(seeds, kinds, st.sampled_from([0.0, 0.5]), st.sampled_from([None, "equal"]))
def test_never_less_likely_than_the_supervised_model_whatever_the_labels(seed, kind, alpha, prior):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 5))
    X, y, X_u, truth = several_classes(20, 40, 3, K, seed=seed, separation=rng.uniform(0, 3))
    X_u = X_u + rng.normal(size=3)  # the theorem needs no assumption on the rows
    clf = ContrastivePessimisticLDAClassifier(kind, alpha=alpha, prior=prior).fit(X, y, X_u)
    worst = worst_labels(clf, X_u)
    random = rng.dirichlet(np.full(K, 0.3), (20, 40))
    found = gains(clf, X, y, X_u, [worst, np.eye(K)[truth], *random], alpha)
    assert found.min() >= 0
    assert found[0] == found.min()
    assert found[0] == pytest.approx(clf.gain_, abs=1e-8)


@given(seeds, kinds)
def test_no_other_model_has_a_larger_guaranteed_gain(seed, kind):
    rng = np.random.default_rng(seed)
    X, y, X_u, truth = two_classes(20, 40, 2, seed=seed)
    clf = ContrastivePessimisticLDAClassifier(kind).fit(X, y, X_u)
    labels = np.r_[y, truth]
    for _ in range(5):
        other = LDAClassifier(kind).fit(np.vstack([X, X_u]), labels)
        other.supervised_ = clf.supervised_
        worst = gains(other, X, y, X_u, [worst_labels(other, X_u)])
        assert worst[0] <= clf.gain_ + clf.gap_ + 1e-10
        labels = np.r_[y, rng.integers(0, 2, 40)]


@pytest.mark.parametrize("kind", ["full", "spherical"])
def test_without_unlabelled_rows_it_is_the_supervised_model(kind):
    X, y, *_ = several_classes(30, 0, 3, 3)
    expected = LDAClassifier(kind).fit(X, y)
    clf = ContrastivePessimisticLDAClassifier(kind).fit(X, y)
    np.testing.assert_array_equal(clf.coef_, expected.coef_)
    np.testing.assert_array_equal(clf.intercept_, expected.intercept_)
    assert (clf.gain_, clf.gap_) == (0, 0)


def test_weights_count_rows():
    X, y, X_u, _ = two_classes(20, 30, 3)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(30, -1)]
    weight = np.random.default_rng(0).integers(1, 4, 50)
    clf = ContrastivePessimisticLDAClassifier()
    weighted = clf.fit(rows, labels, sample_weight=weight).coef_
    repeated = clf.fit(np.repeat(rows, weight, axis=0), np.repeat(labels, weight)).coef_
    np.testing.assert_allclose(weighted, repeated, atol=1e-3)


def test_a_singular_supervised_model_needs_a_ridge():
    X, y, X_u, _ = two_classes(8, 60, 15)
    with pytest.raises(ValueError, match=r"rank 6, while all rows together span 15.*set alpha"):
        ContrastivePessimisticLDAClassifier().fit(X, y, X_u)
    clf = ContrastivePessimisticLDAClassifier(alpha=0.1).fit(X, y, X_u)
    worst = gains(clf, X, y, X_u, [worst_labels(clf, X_u)], alpha=0.1)
    assert worst[0] == pytest.approx(clf.gain_, abs=1e-8)
    assert clf.gain_ > 0


def test_an_early_stop_warns_and_the_theorem_still_holds():
    X, y, X_u, _ = two_classes(10, 60, 3)
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations.*raise max_iter \(now 1"):
        clf = ContrastivePessimisticLDAClassifier(max_iter=1).fit(X, y, X_u)
    assert gains(clf, X, y, X_u, [worst_labels(clf, X_u)]).min() >= 0
