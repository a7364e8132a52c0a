"""WellSVM: the relaxed objective is a bound, and it only falls."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from generate import two_classes
from primum import L2SVMClassifier, WellSVMClassifier
from primum.methods.svm import wellsvm


@settings(max_examples=30)
@given(
    L=st.integers(3, 20),
    U=st.integers(2, 60),
    d=st.integers(1, 10),
    alpha=st.sampled_from([0.1, 1.0]),
    seed=st.integers(0, 2**16),
)
def test_the_objective_is_not_above_that_of_any_labelling_generated(L, U, d, alpha, seed):
    X, y, X_u, _ = two_classes(L, U, d, seed=seed)
    with patch.object(
        wellsvm._Mixture, "add", autospec=True, side_effect=wellsvm._Mixture.add
    ) as add:
        clf = WellSVMClassifier(alpha).fit(X, y, X_unlabeled=X_u)
    labelings = [call.args[1][L:] for call in add.call_args_list][: len(clf.mixture_)]
    assert np.all(np.diff(clf.history_) <= 1e-9)
    assert clf.mixture_.sum() == pytest.approx(1)
    np.testing.assert_allclose(clf.soft_labels_, clf.mixture_ @ (np.array(labelings) > 0))
    rows, weight = np.vstack([X, X_u]), np.r_[np.full(L, 1 / L), np.full(U, 1 / U)]
    svm = L2SVMClassifier(alpha, costs="sum", penalize_intercept=True)
    for labels in labelings:
        svm.fit(rows, np.r_[y, (labels + 1) // 2].astype(int), sample_weight=weight)
        assert clf.objective_ <= svm.objective_ * (1 + 0.1 * clf.tol)
        assert abs(np.mean(labels > 0) - y.mean()) <= 0.5 / U + 1e-9


def test_one_labelling_is_a_machine():
    X, y, *_ = two_classes(30, 0, 4)
    clf = WellSVMClassifier().fit(X, y)
    svm = L2SVMClassifier(penalize_intercept=True).fit(X, y)
    np.testing.assert_allclose(clf.coef_, svm.coef_, atol=1e-6)
    assert clf.objective_ == pytest.approx(svm.objective_)


def test_stopping_short_is_said():
    X, y, X_u, _ = two_classes(10, 100, 5)
    with pytest.warns(ConvergenceWarning, match="WellSVMClassifier stopped after max_iter=1 label"):
        WellSVMClassifier(0.01, tol=1e-6, max_iter=1).fit(X, y, X_unlabeled=X_u)


def test_sparse_rows():
    X, y, X_u, _ = two_classes(30, 60, 4)
    dense = WellSVMClassifier().fit(X, y, X_unlabeled=X_u)
    thin = WellSVMClassifier().fit(sparse.csr_array(X), y, X_unlabeled=sparse.csr_array(X_u))
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-3)
