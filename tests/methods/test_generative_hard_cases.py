"""Generative classifiers on rows that are spoilt in named ways."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from generate import hard_cases
from primum import (
    ContrastivePessimisticLDAClassifier,
    EMLDAClassifier,
    ICLDAClassifier,
    LDAClassifier,
    MomentConstrainedLDAClassifier,
    ScatterLDAClassifier,
    SingularCovarianceWarning,
)

CASES = {name: case[:3] for name, case in hard_cases().items() if not case[3]}
CLASSIFIERS = [
    LDAClassifier(),
    LDAClassifier("spherical"),
    EMLDAClassifier(),
    EMLDAClassifier("spherical"),
    MomentConstrainedLDAClassifier(),
    MomentConstrainedLDAClassifier("spherical"),
    ICLDAClassifier(),
    ICLDAClassifier("spherical"),
    ScatterLDAClassifier(),
    ContrastivePessimisticLDAClassifier(),
    ContrastivePessimisticLDAClassifier("spherical"),
]
each_case = pytest.mark.parametrize("name", CASES)
each_classifier = pytest.mark.parametrize("clf", CLASSIFIERS, ids=str)


def assert_valid(clf, X):
    for value in (clf.coef_, clf.intercept_, clf.means_, clf.covariance_):
        assert np.isfinite(value).all()
    probability = clf.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_allclose(clf.prior_.sum(), 1.0)


@each_case
@each_classifier
def test_a_valid_model_or_a_sentence_that_asks_for_a_ridge(name, clf):
    X, y, X_u = CASES[name]
    clf = clone(clf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularCovarianceWarning)
        try:
            clf.fit(X, y, X_u)
        except ValueError as problem:
            assert "set alpha above 0" in str(problem).lower()  # noqa: PT017
            return
    assert_valid(clf, X)


@each_case
@each_classifier
def test_a_ridge_is_enough(name, clf):
    X, y, X_u = CASES[name]
    alpha = 0.01 * np.vstack([X, X_u]).var(axis=0).max()
    fitted = clone(clf).set_params(alpha=alpha).fit(X, y, X_u)
    assert_valid(fitted, X)
    if not isinstance(clf, ScatterLDAClassifier):
        assert fitted.rank_ == X.shape[1]


@pytest.mark.parametrize("clf", [MomentConstrainedLDAClassifier(), ScatterLDAClassifier()], ids=str)
def test_a_ridge_below_rounding_is_named(clf):
    rng = np.random.default_rng(0)
    X, y = 1e8 * rng.normal(size=(12, 20)), np.r_[[0, 1] * 4, np.full(4, -1)]
    with pytest.raises(ValueError, match=r"alpha=0.01 is lost in the rounding of the covariance"):
        clone(clf).set_params(alpha=0.01).fit(X, y)


@each_classifier
@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (["a", "b"], r"prior is \['a', 'b'\]: pass shares, numbers above 0"),
        ({0: 0.5, 2: 0.5}, r"prior names the class 2, but the classes are \[0, 1\]"),
        ([0.5, 0.6], r"The shares of prior add up to 1.1: pass shares of all 2 classes"),
        ([[0.5, 0.5]], r"prior is \[\[0.5, 0.5\]\], but there are 2 classes"),
    ],
)
def test_bad_priors_are_shown(clf, prior, message):
    X, y = np.arange(8.0).reshape(-1, 2), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match=message):
        clone(clf).set_params(prior=prior).fit(X, y)
