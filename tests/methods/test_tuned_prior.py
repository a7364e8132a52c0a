"""Tuned classifiers with a prior or partial labels: the same as a grid search over plain ones."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from methods import test_tuned
from methods.test_tuned import assert_same_search, partly_labelled
from primum import ICLSClassifierCV

ALPHAS, METRICS = (0.01, 1.0), (0.0, 0.5)


def grid_search(**parameters):
    return test_tuned.grid_search(alphas=ALPHAS, metrics=METRICS, **parameters)


@pytest.mark.parametrize(
    ("n_classes", "prior", "weighted"),
    [
        (2, [0.3, 0.7], False),
        (2, {1: (0.55, 0.6)}, True),
        (3, [0.5, 0.3, 0.2], True),
        (3, {0: (0.4, 0.5)}, False),
        (3, "confidence", True),
    ],
    ids=str,
)
def test_priors(n_classes, prior, weighted):
    X, y = partly_labelled(n_classes=n_classes)
    # Of unlabelled rows only: a grid search scores without weights.
    rng = np.random.default_rng(0)
    weight = np.where(y == -1, rng.uniform(0.5, 2.0, len(y)), 1.0) if weighted else None
    options = {"prior": prior, "prior_level": 0.5}
    tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3, **options).fit(X, y, sample_weight=weight)
    search = grid_search(**options).fit(X, y, sample_weight=weight)
    assert_same_search(tuned, search)
    np.testing.assert_array_equal(tuned.prior_, search.best_estimator_.prior_)
    shares = tuned.certificate_.prior.shares
    np.testing.assert_allclose(shares, search.best_estimator_.certificate_.prior.shares, atol=1e-9)


def test_a_prior_changes_the_scores():
    X, y = partly_labelled()
    free, fixed = (
        ICLSClassifierCV(ALPHAS, METRICS, cv=3, prior=prior).fit(X, y)
        for prior in (None, [0.9, 0.1])
    )
    scores = [clf.cv_results_["mean_test_score"] for clf in (free, fixed)]
    assert np.abs(scores[0] - scores[1]).max() > 1e-3
    assert fixed.soft_labels_.mean() == pytest.approx(0.1, abs=1e-9)
    # The twin does not depend on it.
    np.testing.assert_array_equal(fixed.supervised_.coef_, free.supervised_.coef_)


def test_priors_without_an_intercept_and_with_sparse_rows():
    X, y = partly_labelled(n_classes=3)
    options = {"prior": [0.5, 0.3, 0.2], "fit_intercept": False}
    tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3, **options).fit(sparse.csr_array(X), y)
    assert_same_search(tuned, grid_search(**options).fit(X, y))


def test_a_prior_without_unlabelled_rows_has_no_effect():
    X, y = partly_labelled(n_unlabeled=0)
    plain, other = (
        ICLSClassifierCV(ALPHAS, METRICS, cv=3, prior=prior).fit(X, y)
        for prior in (None, [0.9, 0.1])
    )
    np.testing.assert_array_equal(other.coef_, plain.coef_)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.2], "The shares of prior add up to 0.7"),
        ({7: 0.5}, "prior names the class 7, but the classes are"),
        ("labelled", "'prior' parameter of ICLSClassifierCV must be a str among {'confidence'}"),
    ],
)
def test_bad_priors(prior, message):
    X, y = partly_labelled()
    with pytest.raises(ValueError, match=message):
        ICLSClassifierCV(ALPHAS, METRICS, cv=3, prior=prior).fit(X, y)


def masks(y, n_classes, seed=0):
    """Return masks that exclude one class of about half of the unlabelled rows."""
    rng = np.random.default_rng(seed)
    possible = np.ones((len(y), n_classes), dtype=bool)
    rows = np.flatnonzero((y == -1) & (rng.random(len(y)) < 0.5))
    possible[rows, rng.integers(0, n_classes, len(rows))] = False
    return possible


@pytest.mark.parametrize("prior", [None, [0.4, 0.35, 0.25]])
def test_possible_classes(prior):
    X, y = partly_labelled(n_classes=3)
    possible = masks(y, 3)
    tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3, prior=prior).fit(X, y, possible=possible)
    assert_same_search(tuned, grid_search(prior=prior).fit(X, y, possible=possible))
    assert (tuned.soft_labels_[~possible[y == -1]] == 0).all()


def test_bounds_on_labels():
    X, y = partly_labelled()
    bounds = np.tile([np.nan, np.nan], (len(y), 1))
    bounds[np.flatnonzero(y == -1)[:30]] = [0.7, 1.0]
    tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(X, y, label_bounds=bounds)
    assert_same_search(tuned, grid_search().fit(X, y, label_bounds=bounds))
    assert (tuned.soft_labels_[:30] >= 0.7).all()


@pytest.mark.parametrize("names", [[0, 1, 2], ["ash", "elm", "yew"]])
def test_rows_with_one_possible_class_are_labelled_rows(names):
    X, codes = partly_labelled(n_classes=3)
    known = codes >= 0
    labels = np.array(names, dtype=object)[codes]
    y = pd.Series(np.where(known, labels, None))
    # Some of the labels are given by a mask instead.
    hidden = np.flatnonzero(known)[::4]
    possible = pd.DataFrame(np.ones((len(y), 3), dtype=bool), columns=names)
    possible.loc[hidden] = codes[hidden, None] == np.arange(3)
    fewer = y.copy()
    fewer[hidden] = None
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_mask = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(frame, fewer, possible=possible)
    by_y = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(frame, y)
    assert by_mask.classes_.tolist() == names
    for one, other in ((by_mask, by_y), (by_mask.supervised_, by_y.supervised_)):
        for key in ("mean_test_score", "std_test_score"):
            np.testing.assert_allclose(one.cv_results_[key], other.cv_results_[key], atol=1e-12)
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-12)
