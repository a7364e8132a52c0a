"""Self-learning and EM: where they stop, and what they say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from generate import several_classes, two_classes
from primum import (
    EMLeastSquaresClassifier,
    L2SVMClassifier,
    LeastSquaresClassifier,
    SelfLearningClassifier,
)


class FromScratch(ClassifierMixin, BaseEstimator):
    """A classifier that hides that another one can be refitted cheaply."""

    def __init__(self, base):
        self.base = base

    def fit(self, X, y, sample_weight=None):
        self.fitted_ = clone(self.base).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.fitted_.classes_
        return self

    def predict(self, X):
        return self.fitted_.predict(X)

    def decision_function(self, X):
        return self.fitted_.decision_function(X)


def test_self_learning_ends_where_its_labels_confirm_themselves():
    X, y, X_u, _ = two_classes(12, 100, 3)
    clf = SelfLearningClassifier().fit(X, y, X_unlabeled=X_u)
    assert clf.termination_condition_ == "no_change"
    np.testing.assert_array_equal(clf.transduction_, np.r_[y, clf.predict(X_u)])
    refit = LeastSquaresClassifier().fit(np.vstack([X, X_u]), clf.transduction_)
    np.testing.assert_allclose(clf.estimator_.coef_, refit.coef_, atol=1e-10)
    twin = LeastSquaresClassifier().fit(X, y)
    np.testing.assert_allclose(clf.supervised_.coef_, twin.coef_, atol=1e-12)


def test_self_learning_is_hard_em():
    X, y, X_u, _ = two_classes(12, 100, 3)
    self_learning = SelfLearningClassifier().fit(X, y, X_unlabeled=X_u)
    em = EMLeastSquaresClassifier("hard").fit(X, y, X_unlabeled=X_u)
    np.testing.assert_allclose(self_learning.estimator_.coef_, em.coef_, atol=1e-10)
    np.testing.assert_array_equal(self_learning.transduction_[12:], em.soft_labels_)


def test_self_learning_around_any_classifier():
    X, y, X_u, _ = two_classes(30, 60, 3)
    names = np.array(["no", "yes"])
    y = names[y]
    for base in (LogisticRegression(), GaussianNB(), RidgeClassifier()):
        clf = SelfLearningClassifier(base).fit(X, y, X_unlabeled=X_u)
        assert set(clf.transduction_) == {"no", "yes"}
        assert hasattr(clf, "predict_proba") == hasattr(base, "predict_proba")
        assert hasattr(clf, "decision_function") == hasattr(base, "decision_function")


def test_self_learning_leaves_the_rows_to_its_classifier():
    """DataFrames with text, missing values and sparse rows go through as they are."""
    X, y, X_u, _ = two_classes(40, 30, 2)
    frame = pd.DataFrame(np.vstack([X, X_u]), columns=["a", "b"])
    frame["colour"] = np.where(frame["a"] > 0, "red", "blue")
    labels = np.r_[y, np.full(30, -1)]
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    columns = make_pipeline(encode, LogisticRegression())
    by_name = SelfLearningClassifier(columns).fit(frame, labels)
    assert by_name.score(frame, labels) > 0.5
    more = SelfLearningClassifier(columns).fit(frame[:40], y, X_unlabeled=frame[40:])
    np.testing.assert_array_equal(by_name.transduction_, more.transduction_)
    gaps = frame[["a", "b"]].mask(frame[["a", "b"]] > 2)
    assert SelfLearningClassifier(HistGradientBoostingClassifier()).fit(gaps, labels).n_iter_ >= 1
    rows = sparse.csr_array(np.vstack([X, X_u]))
    sparse_fit = SelfLearningClassifier(LogisticRegression()).fit(
        rows[:40], y, X_unlabeled=rows[40:]
    )
    dense_fit = SelfLearningClassifier(LogisticRegression()).fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(sparse_fit.transduction_, dense_fit.transduction_)


def test_self_learning_refuses_regressors():
    X, y, *_ = two_classes(20, 0, 2)
    with pytest.raises(ValueError, match="must be a classifier, got Ridge"):
        SelfLearningClassifier(Ridge()).fit(X, y)


def test_self_learning_with_three_classes():
    X, y, X_u, _ = two_classes(30, 60, 3)
    y = np.where(X[:, 1] > 0.5, 2, y)
    clf = SelfLearningClassifier(GaussianNB()).fit(X, y, X_unlabeled=X_u)
    assert clf.classes_.tolist() == [0, 1, 2]
    clf = SelfLearningClassifier().fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(clf.transduction_, np.r_[y, clf.predict(X_u)])
    refit = LeastSquaresClassifier().fit(np.vstack([X, X_u]), clf.transduction_)
    np.testing.assert_allclose(clf.estimator_.coef_, refit.coef_, atol=1e-10)


@given(
    base=st.sampled_from([LeastSquaresClassifier(0.1), L2SVMClassifier(0.1, tol=1e-14)]),
    K=st.integers(2, 5),
    in_sparse=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_cheap_refits_give_what_refits_from_scratch_give(base, K, in_sparse, weighted, seed):
    X, y, X_u, _ = several_classes(15, 60, 3, K, seed=seed)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, 75) if weighted else None
    cheap = SelfLearningClassifier(base, max_iter=500)
    cheap.fit(sparse.csr_array(rows) if in_sparse else rows, labels, sample_weight=weight)
    scratch = SelfLearningClassifier(FromScratch(base), max_iter=500)
    scratch.fit(rows, labels, sample_weight=weight)
    assert cheap.classes_.tolist() == list(range(K))
    np.testing.assert_array_equal(cheap.transduction_, scratch.transduction_)
    assert cheap.n_iter_ == scratch.n_iter_
    expected = scratch.decision_function(X_u)
    assert expected.shape == ((60,) if K == 2 else (60, K))
    np.testing.assert_allclose(cheap.decision_function(X_u), expected, atol=1e-6)


def test_stopping_short_is_said():
    X, y, X_u, _ = two_classes(40, 300, 30)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 rounds with \d+ labels still"):
        clf = SelfLearningClassifier(max_iter=1).fit(X, y, X_unlabeled=X_u)
    assert clf.termination_condition_ == "max_iter"


def test_further_rows_of_a_frame_may_be_an_array(rng):
    X, X_u = rng.normal(size=(10, 2)), rng.normal(size=(20, 2))
    frame, y = pd.DataFrame(X, columns=["a", "b"]), np.tile([0, 1], 5)
    clf = SelfLearningClassifier(LogisticRegression())
    labels = clf.fit(frame, y, X_unlabeled=X_u).transduction_
    more = pd.DataFrame(X_u, columns=["a", "b"])
    np.testing.assert_array_equal(labels, clf.fit(frame, y, X_unlabeled=more).transduction_)
