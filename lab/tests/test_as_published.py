"""The laboratory's variants of least squares differ from the library's in what they say, only."""

import numpy as np
import pytest
from sklearn.base import clone

from generate import two_classes
from primum import (
    EMLeastSquaresClassifier,
    HealyWestmacottClassifier,
    ICLSClassifier,
    L2SVMClassifier,
    LeastSquaresClassifier,
    USMClassifier,
)
from primum_lab.as_published import (
    PublishedEM,
    PublishedHealyWestmacott,
    PublishedICLS,
    PublishedLeastSquares,
    PublishedUSM,
)
from primum_lab.methods import TwiceConstantSelfLearning

PAIRS = [
    (PublishedLeastSquares, LeastSquaresClassifier()),
    (PublishedUSM, USMClassifier()),
    (PublishedEM, EMLeastSquaresClassifier()),
    (PublishedHealyWestmacott, HealyWestmacottClassifier()),
    (PublishedICLS, ICLSClassifier(metric="labeled")),
]


@pytest.mark.parametrize(("published", "plain"), PAIRS, ids=str)
def test_without_a_threshold_they_are_those_of_the_library(published, plain):
    X, y, X_u, _ = two_classes(30, 60, 4)
    ours = clone(published(rcond=None)).fit(X, y, X_u)
    np.testing.assert_array_equal(ours.coef_, plain.fit(X, y, X_u).coef_)


@pytest.mark.parametrize("published", [published for published, _ in PAIRS], ids=str)
def test_the_threshold_drops_directions_of_the_twin_too(published):
    X, y, X_u, _ = two_classes(30, 60, 4)
    X, X_u = X * [1, 1, 1, 1e-3], X_u * [1, 1, 1, 1e-3]
    fitted = published(rcond=1e-2).fit(X, y, X_u)
    assert abs(fitted.coef_[0, 3]) < 0.1
    if published is not PublishedLeastSquares:
        twin = PublishedLeastSquares(rcond=1e-2).fit(X, y)
        np.testing.assert_array_equal(fitted.supervised_.coef_, twin.coef_)


def test_the_first_svm_of_the_published_self_learning_sees_the_constant_twice():
    X, y, X_u, _ = two_classes(12, 100, 3)
    svm = L2SVMClassifier(costs="sum", penalize_intercept=True)
    clf = TwiceConstantSelfLearning(svm).fit(X, y, X_unlabeled=X_u)
    first = clone(svm).fit(np.column_stack([X, np.ones(12)]), y)
    expected = first.decision_function(np.column_stack([X_u, np.ones(100)]))
    np.testing.assert_allclose(clf.supervised_.decision_function(X_u), expected, atol=1e-12)
    refit = clone(svm).fit(np.vstack([X, X_u]), clf.transduction_)
    np.testing.assert_allclose(clf.estimator_.coef_, refit.coef_, atol=1e-7)
    np.testing.assert_allclose(clf.estimator_.intercept_, refit.intercept_, atol=1e-7)
    np.testing.assert_array_equal(clf.transduction_, np.r_[y, clf.predict(X_u)])
