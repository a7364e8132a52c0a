"""The classifier with a decision rule, which is chosen out of fold."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading
from sklearn.utils.estimator_checks import parametrize_with_checks

import primum
from primum import ICLSClassifier, SafeClassifier, TunedDecisionClassifierCV
from primum.judging.objectives import read_objective

FAILING = {
    "check_classifiers_classes": "it uses -1 as a class, which means unknown here",
    "check_classifiers_train": "it wants the class with the largest score to be predicted",
}
QUICK = TunedDecisionClassifierCV(LogisticRegression(), cv=2, random_state=0)


@parametrize_with_checks([QUICK], expected_failed_checks=lambda _: FAILING)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rare(n=300, n_labeled=90, share=0.2, seed=0, separation=1.5):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, 2)) + separation * truth[:, None]
    return X, np.where(np.arange(n) < n_labeled, truth, -1), truth


class Recording(ClassifierMixin, BaseEstimator):
    """A classifier that knows which rows it was fitted to: their number is the last column."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        Recording.seen.append((set(X[:, -1].astype(int)), np.asarray(y)))
        self.classes_ = np.unique(y[y >= 0])
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]

    def predict_proba(self, X):
        second = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack([1 - second, second])


def test_unlabelled_rows_train_always_and_held_out_ones_never():
    X, y, _ = rare(60, 30, 0.4)
    X = np.column_stack([X, np.arange(60)])
    Recording.seen = []
    clf = TunedDecisionClassifierCV(
        Recording(), uses_unlabeled=True, cv=3, cost={(1, 0): 3}, random_state=0
    ).fit(X, y)
    whole, *parts = Recording.seen
    assert whole[0] == set(range(60))
    held_out = [set(range(60)) - rows for rows, _ in parts]
    assert all(out <= set(range(30)) for out in held_out)
    assert set.union(*held_out) == set(range(30))
    assert sorted(clf.held_out_rows_) == list(range(30))
    assert all((codes == -1).sum() == 30 for _, codes in parts)


def test_it_follows_the_costs_and_its_scores_are_those_inside():
    X, y, truth = rare()
    inner = ICLSClassifier(alpha=0.1)
    costs = []
    for cost in (1, 10):
        clf = TunedDecisionClassifierCV(inner, cost={(1, 0): cost}, random_state=0).fit(X, y)
        np.testing.assert_allclose(clf.predict_proba(X), inner.fit(X, y).predict_proba(X))
        np.testing.assert_array_equal(
            clf.predict(X), (clf.predict_proba(X)[:, 1] >= clf.threshold_).astype(int)
        )
        wrong = clf.predict(X[90:]) != truth[90:]
        costs.append(np.mean(np.where(truth[90:] == 1, 10, 1) * wrong))
        assert clf.cost_.tolist() == [[0, 1], [cost, 0]]
        assert clf.supervised_.threshold_ is not None
        assert clf.supervised_.predict(X).shape == (300,)
    assert costs[1] < costs[0]


def test_names_of_classes_groups_and_chosen_rows():
    X, y, _ = rare(200, 80, 0.4)
    names = np.where(y == 1, "yes", "no").astype(object)
    names[y < 0] = None
    clf = TunedDecisionClassifierCV(
        ICLSClassifier(alpha=0.1), scoring="f1", positive="yes", cv=3, random_state=0
    )
    clf.fit(X, names, groups=np.arange(200) // 4, chosen=np.arange(10))
    assert set(clf.predict(X)) == {"yes", "no"}
    assert clf.held_out_rows_.min() == 10
    folds = np.split(clf.held_out_rows_, np.flatnonzero(np.diff(clf.held_out_rows_) < 0) + 1)
    groups = [set(fold // 4) for fold in folds]
    assert len(set.union(*groups)) == sum(map(len, groups))


def test_what_uses_unlabelled_rows_is_recognised():
    X, y, _ = rare(80, 40, 0.4)
    for inner in (LabelSpreading(), LogisticRegression()):
        clf = TunedDecisionClassifierCV(inner, cv=2, random_state=0).fit(X, y)
        assert clf.estimator_.classes_.tolist() == [0, 1]


def test_several_classes_by_least_expected_cost():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 240)
    X = rng.normal(size=(240, 3)) + 1.5 * np.eye(3)[truth]
    frame = pd.DataFrame(X, columns=list("abc"))
    y = np.where(np.arange(240) < 90, truth, -1)
    cost = np.array([[0, 1, 1], [1, 0, 1], [8, 8, 0]])
    clf = TunedDecisionClassifierCV(LogisticRegression(), cost=cost, random_state=0).fit(frame, y)
    plain = TunedDecisionClassifierCV(LogisticRegression(), cost=1 - np.eye(3), random_state=0).fit(
        frame, y
    )
    own, others = (cost[truth[90:], c.predict(frame[90:])].mean() for c in (clf, plain))
    assert clf.threshold_ is None
    assert own < others


def test_where_no_row_can_be_held_out_scores_count_as_probabilities():
    X, y, _ = rare(40, 20, 0.0)
    y[0] = 1
    with pytest.warns(UserWarning, match="not chosen out of fold.*class 1 has 1"):
        clf = TunedDecisionClassifierCV(LogisticRegression(), cost={(1, 0): 4}).fit(X, y)
    assert clf.threshold_ == pytest.approx(0.2)
    assert not clf.rule_.tuned


def test_a_scoring_without_a_rule_is_an_error():
    X, y, _ = rare()
    with pytest.raises(ValueError, match="scoring='accuracy' needs no decision rule: pass cost="):
        TunedDecisionClassifierCV(scoring="accuracy").fit(X, y)


SETTINGS = [
    {"cost": {(1, 0): 6}},
    {"scoring": "recall_at_precision=0.7"},
    {"scoring": read_objective("f1", np.array([0, 1]))},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_stored_model_predicts_by_its_rule(settings, tmp_path):
    X, y, _ = rare(150, 60, 0.3)
    inner = ICLSClassifier(alpha=0.1)
    for clf in (
        TunedDecisionClassifierCV(inner, cv=2, random_state=0, **settings),
        SafeClassifier([], cv=2, n_repeats=1, random_state=0, **settings),
    ):
        clf.fit(X, y)
        assert clf.threshold_ != 0.5
        primum.save(clf, tmp_path / "model.skops")
        read = primum.load(tmp_path / "model.skops")
        np.testing.assert_array_equal(read.predict(X), clf.predict(X))
        assert read.threshold_ == clf.threshold_


def test_the_safe_stack_follows_the_costs():
    X, y, truth = rare(400, 120, 0.15, separation=1.0)
    plain = SafeClassifier([], random_state=0).fit(X, y)
    clf = SafeClassifier([], cost={(1, 0): 10}, random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), plain.predict_proba(X))
    assert plain.rule_ is None
    assert clf.threshold_ < 0.3
    cost = [np.mean(np.where(truth == 1, 10, 1) * (c.predict(X) != truth)) for c in (clf, plain)]
    assert cost[0] < cost[1]
    own = clf.own_verdict()
    np.testing.assert_array_equal(clf.classes_[own.predicted], clf.held_out_predictions_)
    assert "cost per row" in clf.verdict_.text
    assert clf.baseline_.rule_.threshold < 0.3
