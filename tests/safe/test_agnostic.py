"""The agnostic choice: nominal rate where nothing helps, the better model where it is clear."""

import joblib
import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from generate import several_classes, two_classes
from primum import AgnosticClassifier, ICLSClassifier, SelfLearningClassifier

MINUS_ONE = {
    "check_classifiers_classes": "it uses -1 as a class, which means unknown here; "
    "test_several_classes_and_names checks the same with other names"
}
QUICK = AgnosticClassifier([("icls", ICLSClassifier(alpha=0.1))], cv=2, n_repeats=1, random_state=0)


@parametrize_with_checks([QUICK], expected_failed_checks=lambda _: MINUS_ONE)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class NearestMeanOf(ClassifierMixin, BaseEstimator):
    """The nearest class mean in one column: fast, and equally good in equally good columns."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        y = np.asarray(y)
        self.classes_ = np.unique(y[y >= 0])
        values = X[:, self.column]
        self.means_ = np.array([values[y == c].mean() for c in self.classes_])
        return self

    def predict(self, X):
        distance = np.abs(X[:, [self.column]] - self.means_)
        return self.classes_[distance.argmin(axis=1)]


def problem(rng, separations, n_labeled=40):
    y = rng.permutation(np.arange(n_labeled) % 2)
    X = rng.normal(size=(n_labeled, len(separations))) + np.outer(y, separations)
    return X, y


@pytest.mark.parametrize("n_candidates", [1, 3])
@pytest.mark.parametrize("n_problems", [80, pytest.param(300, marks=pytest.mark.slow)])
def test_where_nothing_helps_the_supervised_model_is_chosen_at_the_nominal_rate(
    n_candidates, n_problems
):
    rng = np.random.default_rng(n_candidates)
    candidates = [(f"{c}", NearestMeanOf(c)) for c in range(1, n_candidates + 1)]
    chosen = 0
    for repeat in range(n_problems):
        X, y = problem(rng, [1.0] * (n_candidates + 1))
        clf = AgnosticClassifier(candidates, baseline=NearestMeanOf(0), random_state=repeat)
        chosen += clf.fit(X, y).chosen_ != "baseline"
    assert chosen <= stats.binom.ppf(0.999, n_problems, 0.05)


def test_a_clearly_better_candidate_is_chosen():
    rng = np.random.default_rng(0)
    candidates = [("better", NearestMeanOf(1)), ("best", NearestMeanOf(2))]
    chosen = []
    for repeat in range(10):
        X, y = problem(rng, [0.0, 2.0, 6.0], n_labeled=60)
        clf = AgnosticClassifier(candidates, baseline=NearestMeanOf(0), random_state=repeat)
        clf.fit(X, y)
        chosen.append(clf.chosen_)
        assert clf.differences_["best"].mean < -0.2
        np.testing.assert_array_equal(clf.predict(X), clf.estimator_.predict(X))
    assert chosen.count("best") == 10


class Seen(NearestMeanOf):
    """Counts the rows of every fit."""

    rows: list = []  # noqa: RUF012

    def fit(self, X, y):
        Seen.rows.append((len(X), int(np.sum(y < 0))))
        return super().fit(X, y)


def test_held_out_rows_are_left_out_and_unlabelled_rows_are_always_trained_on():
    X, y, X_u, _ = two_classes(40, 100, 3)
    Seen.rows.clear()
    AgnosticClassifier([("seen", Seen())], cv=4, n_repeats=1, level=1.0).fit(X, y, X_u)
    assert Seen.rows == [(130, 100)] * 4


def test_several_classes_and_names():
    X, y, X_u, _ = several_classes(60, 100, 3, 3)
    names = np.array(["a", "b", "c"])
    X, labels = np.vstack([X, X_u]), [*names[y], *[None] * 100]
    candidates = [("icls", ICLSClassifier()), ("self-learning", SelfLearningClassifier())]
    clf = AgnosticClassifier(candidates, random_state=0).fit(X, labels)
    np.testing.assert_array_equal(clf.classes_, names)
    assert set(clf.predict(X_u)) <= set(names)
    probability = clf.predict_proba(X_u)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(names[probability.argmax(1)], clf.predict(X_u))
    assert set(clf.p_values_) == {"icls", "self-learning"}
    assert clf.n_splits_ == 10


def test_groups_and_parallel_fits_change_nothing_else():
    X, y, X_u, _ = two_classes(40, 30, 3)
    X, y = np.vstack([X, X_u]), np.r_[y, np.full(30, -1)]
    groups = np.arange(70) % 8
    # In threads, which start at once; test_classifier.py has processes.
    with joblib.parallel_config("threading"):
        one, two = (
            AgnosticClassifier(QUICK.candidates, cv=GroupKFold(4), n_jobs=n).fit(
                X, y, groups=groups
            )
            for n in (1, 2)
        )
    assert one.differences_ == two.differences_
    assert one.n_splits_ == 4


def test_errors():
    X, y, X_u, _ = two_classes(20, 30, 3)
    with pytest.raises(ValueError, match="A candidate is called 'baseline'"):
        AgnosticClassifier([("baseline", SelfLearningClassifier())]).fit(X, y, X_u)
    few = np.where(np.arange(20) < 4, [0, 1] * 10, -1)
    with pytest.raises(ValueError, match="cv=5 folds need at least 5 labelled rows of every class"):
        AgnosticClassifier().fit(X, few)
    clf = AgnosticClassifier([("a", NearestMeanOf())], baseline=NearestMeanOf()).fit(X, y)
    assert not hasattr(clf, "predict_proba")
    assert hasattr(AgnosticClassifier(baseline=LogisticRegression()), "predict_proba")


def test_weights_of_rows():
    X, y, X_u, _ = two_classes(40, 30, 3)
    given = {"candidates": QUICK.candidates, "random_state": 0, "cv": 4}
    plain = AgnosticClassifier(**given).fit(X, y, X_u)
    ones = AgnosticClassifier(**given).fit(X, y, X_u, sample_weight=np.full(40, 1.0))
    assert ones.differences_["icls"].mean == pytest.approx(plain.differences_["icls"].mean)
    # Rows of weight 0 might as well be missing, in the fit and in the test.
    more = np.vstack([X, X[::-1]]), np.append(y, 1 - y), X_u
    pairs = [(np.arange(20, 80), np.arange(20)), (np.r_[:20, 40:80], np.arange(20, 40))]
    without = [(train[train < 40], test) for train, test in pairs]
    weight = np.repeat([1.0, 0.0], 40)
    found = AgnosticClassifier(**{**given, "cv": pairs}).fit(*more, sample_weight=weight)
    expected = AgnosticClassifier(**{**given, "cv": without}).fit(X, y, X_u)
    assert found.differences_["icls"].mean == pytest.approx(expected.differences_["icls"].mean)
    np.testing.assert_allclose(
        found.predict_proba(X), expected.predict_proba(X), rtol=1e-3, atol=1e-4
    )
    with pytest.raises(ValueError, match=r"'mean' \(NearestMeanOf\) does not support sample w"):
        AgnosticClassifier([("mean", NearestMeanOf())]).fit(X, y, X_u, sample_weight=np.ones(40))
    with pytest.raises(ValueError, match="All labelled rows of class 0 have sample_weight 0"):
        AgnosticClassifier().fit(X, y, X_u, sample_weight=y.astype(float))


@pytest.mark.parametrize("cv", [4, GroupKFold(4)])
def test_copies_in_groups_are_no_evidence(cv):
    # Twenty copies of eight rows: a candidate that is right in all copies of one row more.
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(8), 20)
    y = groups % 2
    X = np.column_stack([rng.normal(size=8)[groups], (y + rng.normal(size=8)[groups])])
    clf = AgnosticClassifier([("a", NearestMeanOf(1))], baseline=NearestMeanOf(0), cv=cv)
    difference = clf.fit(X, y, groups=groups).differences_["a"]
    assert difference.degrees_of_freedom == 7
    assert difference.n_rows == 8


def test_the_default_is_scaled_and_its_parts_predict_classes():
    X, truth = load_breast_cancer(return_X_y=True)
    names = np.array(["malignant", "benign"])
    y = [names[code] if row < 60 else None for row, code in enumerate(truth)]
    clf = AgnosticClassifier(cv=3, n_repeats=1, random_state=0).fit(X, y)
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:60], names[truth[:60]])
    np.testing.assert_array_equal(clf.supervised_.predict(X), plain.predict(X))
    np.testing.assert_array_equal(clf.estimator_.predict(X), clf.predict(X))
    assert clf.score(X[60:], names[truth[60:]]) > plain.score(X[60:], names[truth[60:]]) - 0.02


def test_copies_of_a_row_are_no_evidence():
    """30 random points with random classes, four copies of each."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 4)
    X = rng.normal(size=(30, 3))[groups] + 0.01 * rng.normal(size=(120, 3))
    y = rng.integers(0, 2, 30)[groups]
    clf = AgnosticClassifier([("near", KNeighborsClassifier(1), False)], random_state=0)
    assert clf.fit(X, y).chosen_ == "near"
    assert clf.fit(X, y, groups=groups).chosen_ == "baseline"
    assert clf.differences_["near"].n_rows == 30
