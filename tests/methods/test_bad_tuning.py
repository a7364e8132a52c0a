"""Tuned estimators refuse bad grids, splits, scorers and weights with a sentence."""

import numpy as np
import pytest

from generate import two_classes
from primum import ICLSClassifierCV, LeastSquaresClassifierCV

ALPHAS = (0.003, 0.1, 3.0)


def partly_labelled():
    X, y, X_u, _ = two_classes(30, 60, 4)
    order = np.random.default_rng(0).permutation(90)
    return np.vstack([X, X_u])[order], np.r_[y, np.full(60, -1)][order]


# A split of the rows of ``partly_labelled``.
PAIR = tuple(np.array_split(np.flatnonzero(partly_labelled()[1] >= 0), [20]))
BAD = {
    "alphas is empty: give at least one ridge penalty": {"alphas": []},
    "alphas has the value -1.0 at position 1": {"alphas": [0.1, -1.0]},
    "alphas has the value nan at position 0": {"alphas": [np.nan]},
    "metrics is empty": {"metrics": []},
    "metrics has the value 1.5 at position 1: a metric is a number from 0 to 1": {
        "metrics": [0.0, 1.5]
    },
    "metrics has the value 'nearest'": {"metrics": ["nearest"]},
    "cv=16 folds need at least 16 labelled rows of every class, but class 0 has 11: pass cv=11": {
        "cv": 16
    },
    "cv has no splits": {"cv": []},
    r"alphas is the single value 0.1: pass a list, alphas=\[0.1\]": {"alphas": np.array(0.1)},
    r"metrics is the single value 'all': pass a list": {"metrics": np.array("all")},
    r"cv is array\(3\): pass a number of folds as an int, cv=3": {"cv": np.array(3)},
    r"'cv' parameter of ICLSClassifierCV must be an int in the range \[2, inf\).* Got 1 in": {
        "cv": 1
    },
    r"'cv' parameter of ICLSClassifierCV must be an int in the range \[2, inf\).* Got '5'": {
        "cv": "5"
    },
    "Split 0 of cv is 1: pass pairs .training rows, test rows. of indices of rows": {"cv": [1, 2]},
    r"Split 0 of cv is \(\[0, 1\],\): pass pairs": {"cv": [([0, 1],)]},
    r"Split 1 of cv is \(\[0\], \[1\], \[2\]\)": {"cv": [PAIR, ([0], [1], [2])]},
    "The training set of split 0 is 'a': pass indices of rows of X, integers from 0 to 89, or": {
        "cv": [("a", "b")]
    },
    r"The test set of split 0 is \[0.5\]: pass indices": {"cv": [([0, 1], [0.5])]},
    r"The test set of split 1 is \[\[0\], \[1, 2\]\]": {"cv": [PAIR, (PAIR[0], [[0], [1, 2]])]},
    r"The training set of split 0 is \[True, False\]": {"cv": [([True, False], [0])]},
    "The test set of split 0 has the index 99, but X has 90 rows: pass indices from 0 to 89": {
        "cv": [([0, 1], [99])]
    },
    "scoring returned 'good' for ICLSClassifier: use a scorer that returns one number, the": {
        "scoring": lambda *_: "good"
    },
    r"scoring returned array\(\[1., 1.\]\) for ICLSClassifier": {"scoring": lambda *_: np.ones(2)},
    "ICLSClassifierCV cannot choose between 2 settings, because scoring returned NaN or infinity": {
        "alphas": [0.1, 1.0],
        "metrics": [0.0],
        "scoring": lambda *_: np.nan,
    },
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message):
    X, y = partly_labelled()
    with pytest.raises(ValueError, match=message):
        ICLSClassifierCV().set_params(**BAD[message]).fit(X, y)


@pytest.mark.parametrize("worst", [np.nan, np.inf, -np.inf])
def test_settings_with_scores_that_are_not_finite_are_never_chosen(worst):
    """One fold of the setting that would be the best has no score."""
    X, y = partly_labelled()

    def score(estimator, X, y):
        undefined = estimator.alpha == 3.0 and len(y) == len(PAIR[1])
        return worst if undefined else estimator.alpha

    tuned = ICLSClassifierCV(ALPHAS, [0.0, 1.0], scoring=score, cv=[PAIR, PAIR[::-1]])
    with pytest.warns(UserWarning, match="non-finite") as caught:
        tuned.fit(X, y)
    assert [str(warning.message) for warning in caught] == [
        f"One or more of the test scores are non-finite: {name} does not consider {which} "
        "settings, because scoring returned NaN or infinity in at least one fold."
        for name, which in (
            ("ICLSClassifierCV", "2 of 6"),
            ("LeastSquaresClassifierCV", "1 of 3"),
        )
    ]
    assert tuned.alpha_ == tuned.supervised_.alpha_ == tuned.best_score_ == 0.1
    assert tuned.cv_results_["rank_test_score"].tolist() == [3, 3, 1, 1, 5, 5]
    assert not np.isfinite(tuned.cv_results_["mean_test_score"][4:]).any()


def test_bad_splits():
    X, y = partly_labelled()
    known, unknown = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
    with pytest.raises(ValueError, match="split 0 has 1 unlabelled and 2 labelled rows"):
        LeastSquaresClassifierCV(cv=[(known, [known[0], unknown[0], known[1]])]).fit(X, y)
    with pytest.raises(ValueError, match="training set of split 0 has no labelled row of class 1"):
        LeastSquaresClassifierCV(cv=[(known[y[known] == 0], known[y[known] == 1])]).fit(X, y)
    weight = np.ones(len(y))
    weight[known[:3]] = 0.0
    with pytest.raises(ValueError, match="All rows held out by split 0 have sample_weight 0"):
        LeastSquaresClassifierCV(cv=[(known[3:], known[:3])]).fit(X, y, sample_weight=weight)
