"""Labels that were not drawn at random: SafeClassifier trains on them and never holds them out."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from generate import two_classes
from primum import SafeClassifier
from primum.safe.rows import SharedRows, Targets
from primum.safe.verdict import remarks_on_rows

QUICK = {"candidates": ["spreading"], "baseline": ["ridge"], "cv": 3, "n_repeats": 2}


class Spy(ClassifierMixin, BaseEstimator):
    """A classifier that keeps the rows that it is fitted to."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        self.seen.append([tuple(row) for row in X])
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def quick(**parameters):
    return SafeClassifier(**{**QUICK, "random_state": 0, **parameters})


def partly(n_labeled=40, n_unlabeled=60, seed=0):
    """Return X, y with -1 for unknown labels, and a mask of twelve chosen labels and two others."""
    X, y, more, _ = two_classes(n_labeled, n_unlabeled, 3, seed=seed, separation=2.0)
    chosen = np.zeros(n_labeled + n_unlabeled, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(n_labeled)[:12]] = True
    chosen[-2:] = True  # without a label, they do not matter
    return np.concatenate([X, more]), np.append(y, np.full(n_unlabeled, -1)), chosen


def assert_equal_fits(first, second, X):
    """Check that everything random, fitted or judged is the same."""
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    np.testing.assert_array_equal(first.held_out_rows_, second.held_out_rows_)
    np.testing.assert_array_equal(first.held_out_scores_, second.held_out_scores_)
    assert first.weights_ == second.weights_
    assert first.verdict_.baseline.interval == second.verdict_.baseline.interval


def test_marking_nobody_changes_nothing():
    X, y, _ = partly()
    plain = quick().fit(X, y)
    for nobody in (np.zeros(100, dtype=bool), [], np.arange(100) >= 40):
        marked = quick().fit(X, y, chosen=nobody)
        assert_equal_fits(plain, marked, X)
        assert str(plain.verdict_) == str(marked.verdict_)


@pytest.mark.parametrize("cv", [3, None, StratifiedKFold(4)])
def test_chosen_rows_are_never_held_out_and_all_others_are(cv):
    X, y, chosen = partly()
    clf = quick(cv=cv).fit(X, y, chosen=chosen)
    drawn = np.flatnonzero((y >= 0) & ~chosen)
    np.testing.assert_array_equal(np.unique(clf.held_out_rows_), drawn)
    assert "28 labelled rows, and 12 chosen ones for training only" in clf.verdict_.baseline.reason
    by_index = quick(cv=cv).fit(X, y, chosen=np.flatnonzero(chosen))
    assert_equal_fits(clf, by_index, X)


@pytest.mark.parametrize("weighted", [False, True])
def test_chosen_rows_are_those_that_explicit_splits_always_train_on(weighted):
    X, y, chosen = partly()
    weight = np.where(np.arange(100) % 9 == 0, 0.0, 1.0) if weighted else None
    drawn = np.flatnonzero((y >= 0) & ~chosen)
    parts = list(StratifiedKFold(3).split(X[drawn], y[drawn]))
    own = np.flatnonzero((y >= 0) & chosen)
    pairs = [(np.sort(np.append(own, drawn[train])), drawn[test]) for train, test in parts]
    clf = quick(cv=StratifiedKFold(3)).fit(X, y, chosen=chosen, sample_weight=weight)
    if not weighted:
        assert_equal_fits(clf, quick(cv=pairs).fit(X, y), X)
    assert_equal_fits(clf, quick(cv=pairs).fit(X, y, chosen=chosen, sample_weight=weight), X)


def test_pairs_that_hold_out_chosen_rows_only_lose_them():
    X, y, chosen = partly()
    pairs = [
        (np.arange(20, 100), np.arange(20)),
        (np.append(np.arange(20), [50]), np.arange(20, 40)),
    ]
    clf = quick(cv=pairs).fit(X, y, chosen=chosen)
    np.testing.assert_array_equal(clf.held_out_rows_, np.flatnonzero((y >= 0) & ~chosen))
    with pytest.raises(ValueError, match="Split 0 trains on 39 labelled rows that were not chosen"):
        quick(cv=[(np.arange(1, 40), [0])]).fit(X, y, chosen=[0])


def test_a_chosen_row_of_a_group_that_is_held_out_is_not_trained_on():
    X, y, _ = partly()
    groups, chosen = np.arange(100) // 4, np.arange(0, 40, 8)
    clf = quick(candidates=[("spy", Spy(), False)]).fit(X, y, groups=groups, chosen=chosen)
    assert not np.isin(chosen, clf.held_out_rows_).any()
    seen = [set(rows) for rows in Spy.seen[:6]]
    for number, rows in enumerate(seen):
        test = clf.held_out_rows_[clf.held_out_folds_ == number]
        train = np.flatnonzero([tuple(row) in rows for row in X])
        assert not np.isin(groups[train], groups[test]).any()
        others = chosen[~np.isin(groups[chosen], groups[test])]
        assert len(others) > 0
        assert np.isin(others, train).all()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("yes", "chosen is 'yes': pass indices of rows of X, integers from 0 to 99, or a mask of"),
        (np.ones(40, dtype=bool), "or a mask of 100 rows"),
        ([3, 100], "chosen has the index 100, but X has 100 rows"),
        (
            np.ones(100, dtype=int),
            "chosen names row 1 of X twice: pass every index once, or a mask",
        ),
        ([3, -1], "chosen has the index -1, but X has 100 rows: pass indices from 0 to 99."),
        ("all", "All labelled rows of class 1 (20) were chosen, so none can be held out"),
        ("but one each", "Without the 38 chosen ones, every class has only one labelled row"),
    ],
)
def test_what_cannot_be_chosen(chosen, message):
    X, y, _ = partly()
    one, other = (np.flatnonzero(y == label) for label in (0, 1))
    named = {"all": other, "but one each": np.append(one[1:], other[1:])}
    chosen = named.get(chosen, chosen) if isinstance(chosen, str) else chosen
    if isinstance(chosen, np.ndarray) and message.startswith("All labelled"):
        message = message.replace("(20)", f"({len(other)})")
    with pytest.raises(ValueError) as caught:
        quick().fit(X, y, chosen=chosen)
    assert message in str(caught.value)


def test_chosen_rows_reach_the_classifier_through_a_pipeline():
    X, y, chosen = partly()
    model = make_pipeline(StandardScaler(), quick())
    direct = model.fit(X, y, safeclassifier__chosen=chosen)[-1].held_out_rows_
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), quick().set_fit_request(chosen=True))
        np.testing.assert_array_equal(routed.fit(X, y, chosen=chosen)[-1].held_out_rows_, direct)
    assert not chosen[direct].any()


def test_chosen_rows_count_as_unlabelled_in_the_drift_test():
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[60:] = X[60 + np.argsort(-X[60:, 0])]  # the chosen ones have the largest values of all others
    rows, chosen = SharedRows(X[:140], X[140:]), np.arange(140) >= 60
    assert "different distributions" in remarks_on_rows(rows, None, None)[0][0]
    assert remarks_on_rows(rows, None, None, chosen) == ([], [])
    groups = np.arange(140), 140 + np.arange(260)
    assert remarks_on_rows(rows, *groups, chosen) == ([], [])


def test_scores_of_whole_repeats_need_drawn_rows_only():
    X, y, _ = partly()
    chosen = np.flatnonzero(y == 1)[:-2]  # of the second class two are drawn, fewer than folds
    clf = quick(cv=5, scoring="roc_auc").fit(X, y, chosen=chosen)
    assert any("roc_auc is undefined in" in note for note in clf.notes_)


def test_shares_of_classes_are_those_of_drawn_labels():
    labels = Targets.of_classes(np.array([0, 1, 1, 1]), 2, None, None, np.arange(4) > 1)
    np.testing.assert_array_equal(labels.mean, [0.5, 0.5])
    np.testing.assert_array_equal(labels.take(np.array([0, 2])).mean, [1.0, 0.0])
    np.testing.assert_array_equal(labels.take(np.array([2, 3])).mean, [0.0, 1.0])
