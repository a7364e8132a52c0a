"""S4VM: the guarantee over its separators, and the linear program behind it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from generate import two_classes
from primum import S4VMClassifier
from primum.methods.svm.s4vm import best_of_clusters, gains, safest_labels


@given(
    L=st.integers(3, 30),
    U=st.integers(1, 60),
    d=st.integers(1, 10),
    risk=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    seed=st.integers(0, 2**16),
)
def test_never_worse_than_supervised_whichever_separator_is_right(L, U, d, risk, seed):
    X, y, X_u, _ = two_classes(L, U, d, seed=seed)
    clf = S4VMClassifier(alpha=0.1, risk=risk, n_init=8).fit(X, y, X_unlabeled=X_u)
    supervised = 2 * clf.supervised_.predict(X_u) - 1
    chosen = 2 * clf.transduction_[L:] - 1
    assert clf.gains_.min() >= 0
    np.testing.assert_array_equal(gains(chosen, clf.separators_, supervised, risk), clf.gains_)
    if risk >= 1:
        for truth in clf.separators_:
            assert np.mean(chosen == truth) >= np.mean(supervised == truth)


@given(T=st.integers(1, 4), n=st.integers(1, 7), seed=st.integers(0, 2**16))
def test_the_linear_program_is_close_to_the_best_of_all_labellings(T, n, seed):
    rng = np.random.default_rng(seed)
    separators, supervised = rng.choice([-1.0, 1.0], (T, n)), rng.choice([-1.0, 1.0], n)
    _, gained = safest_labels(separators, supervised, 2.0)
    best = max(
        gains(np.array(v), separators, supervised, 2.0).min()
        for v in itertools.product([-1.0, 1.0], repeat=n)
    )
    # Rounding moves at most T labels, each by at most max(1, risk).
    assert 0 <= gained.min() <= best
    assert gained.min() >= best - 2.0 * T


def test_the_supervised_machine_is_kept_where_nothing_is_gained():
    X, y, X_u, _ = two_classes(30, 40, 3)
    clf = S4VMClassifier(risk=1e6).fit(X, y, X_unlabeled=X_u)
    assert len(clf.separators_) > 1
    np.testing.assert_array_equal(clf.gains_, 0)
    np.testing.assert_array_equal(clf.transduction_[30:], clf.supervised_.predict(X_u))
    np.testing.assert_array_equal(clf.coef_, clf.supervised_.coef_)


def test_another_machine_is_fitted_where_something_is_gained():
    X, y, X_u, _ = two_classes(30, 40, 3)
    clf = S4VMClassifier(n_separators=1).fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(2 * clf.transduction_[30:] - 1, clf.separators_[0])
    assert clf.gains_[0] > 0
    assert not np.array_equal(clf.coef_, clf.supervised_.coef_)


def test_best_of_each_cluster():
    candidates = np.array([[1, 1, 1, 1], [1, 1, 1, -1], [-1, -1, -1, -1], [-1, -1, -1, 1.0]])
    kept = best_of_clusters(np.array([3.0, 2.0, 0.0, 1.0]), candidates, 2)
    np.testing.assert_array_equal(kept, candidates[[2, 1]])


def test_predicts_new_rows_after_2000_unlabelled():
    X, y, X_u, _ = two_classes(60, 2000, 30, separation=2.0)
    clf = S4VMClassifier().fit(X, y, X_unlabeled=X_u)
    X_new, y_new, *_ = two_classes(200, 0, 30, separation=2.0, seed=1)
    assert np.mean(clf.predict(X_new) == y_new) > 0.7


def test_sparse_rows():
    X, y, X_u, _ = two_classes(30, 60, 4)
    dense = S4VMClassifier().fit(X, y, X_unlabeled=X_u)
    thin = S4VMClassifier().fit(sparse.csr_array(X), y, X_unlabeled=sparse.csr_array(X_u))
    assert thin.decision_function(X_u) == pytest.approx(dense.decision_function(X_u), abs=1e-3)
