from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.semi_supervised import SelfTrainingClassifier

from generate import two_classes
from primum import ICLSClassifier
from primum.reading.folds import SemiSupervisedSplit
from primum_lab import CrossValidation, LearningCurve
from primum_lab.splits import SplitRows, deal_folds, labeled_first, scale_features


def partly_labelled(n_labeled=40, n_unlabeled=200, seed=0):
    X, y, X_u, _ = two_classes(n_labeled, n_unlabeled, 3, seed=seed, separation=4.0)
    order = np.random.default_rng(seed).permutation(n_labeled + n_unlabeled)
    return np.vstack([X, X_u])[order], np.r_[y, np.full(n_unlabeled, -1)][order]


class TestSemiSupervisedSplit:
    @pytest.mark.parametrize("cv", [4, None, ShuffleSplit(3, random_state=0)])
    def test_unlabelled_rows_always_train_and_are_never_scored(self, cv):
        X, y = partly_labelled()
        splitter = SemiSupervisedSplit(cv)
        splits = list(splitter.split(X, y))
        assert len(splits) == splitter.get_n_splits(X, y)
        for train, test in splits:
            assert np.isin(np.flatnonzero(y == -1), train).all()
            assert (y[test] != -1).all()
            assert len(np.intersect1d(train, test)) == 0
        if cv == 4:
            tested = np.sort(np.concatenate([test for _, test in splits]))
            np.testing.assert_array_equal(tested, np.flatnonzero(y != -1))

    def test_makes_scikit_learn_score_what_can_be_scored(self):
        """Plain folds count every unlabelled test row as an error."""
        X, y = partly_labelled()
        clf = SelfTrainingClassifier(GaussianNB())
        plain = cross_val_score(clf, X, y).mean()
        ours = cross_val_score(clf, X, y, cv=SemiSupervisedSplit(5)).mean()
        assert plain < 0.3
        assert ours > 0.9

    def test_plain_folds_score_unlabelled_rows_only_with_the_scorers_of_scikit_learn(self):
        """docs/scikit-learn.md says so."""
        X, y = partly_labelled()
        assert cross_val_score(ICLSClassifier(), X, y, scoring="accuracy").mean() < 0.3
        assert cross_val_score(ICLSClassifier(), X, y).mean() > 0.9

    def test_shuffles_as_stratified_folds_do(self):
        X, y = partly_labelled()
        known = np.flatnonzero(y != -1)
        expected = StratifiedKFold(4, shuffle=True, random_state=3).split(X[known], y[known])
        splitter = SemiSupervisedSplit(4, shuffle=True, random_state=3)
        for (_, test), (_, among_known) in zip(splitter.split(X, y), expected, strict=True):
            np.testing.assert_array_equal(test, known[among_known])
        assert splitter.get_n_splits() == splitter.get_n_splits(X, y) == 4

    @pytest.mark.parametrize(
        "call",
        [
            "SemiSupervisedSplit()",
            "SemiSupervisedSplit(5)",
            "SemiSupervisedSplit(4, shuffle=True, random_state=3)",
        ],
    )
    def test_its_representation_is_the_call(self, call):
        assert repr(eval(call, {"SemiSupervisedSplit": SemiSupervisedSplit})) == call

    def test_shuffling_belongs_to_a_number_of_folds(self):
        with pytest.raises(ValueError, match=r"for a number of folds, but cv is GroupKFold.* pass"):
            SemiSupervisedSplit(GroupKFold(3), shuffle=True)
        with pytest.raises(ValueError, match="random_state has no effect since shuffle is False"):
            SemiSupervisedSplit(5, random_state=0)
        with pytest.raises(TypeError):
            SemiSupervisedSplit(5, True)

    @pytest.mark.parametrize("n_labeled", [3, 6])
    def test_too_few_labelled_rows(self, n_labeled):
        y = np.r_[np.arange(n_labeled) % 2, np.full(50, -1)]
        message = r"cv=5 folds need at least 5 labelled rows of every class, but class \d has "
        with pytest.raises(ValueError, match=message + str(n_labeled // 2)):
            list(SemiSupervisedSplit(5).split(np.zeros((len(y), 1)), y))

    @pytest.mark.parametrize(("smallest", "n_folds"), [(2, 2), (3, 3), (5, 5), (9, 5)])
    def test_by_default_the_smallest_class_is_in_every_fold(self, smallest, n_folds):
        y = np.r_[np.repeat([0, 1, 2], [smallest, 7, 12]), np.full(10, -1)]
        splits = list(SemiSupervisedSplit().split(y, y))
        assert len(splits) == SemiSupervisedSplit().get_n_splits(y, y) == n_folds
        for train, test in splits:
            assert set(y[train]) == {-1, 0, 1, 2}
            assert set(y[test]) == {0, 1, 2}

    def test_by_default_every_class_needs_two_labelled_rows(self):
        y = np.array([0, 1, 1, 1, -1])
        message = "Cross-validation needs at least 2 labelled rows of every class, but class 0 "
        with pytest.raises(ValueError, match=message):
            list(SemiSupervisedSplit().split(y, y))

    def test_three_classes_are_stratified(self):
        y = np.r_[np.repeat(["a", "b", "c"], [12, 8, 4]), np.full(30, None)]
        y = y[np.random.default_rng(0).permutation(len(y))]
        for train, test in SemiSupervisedSplit(4, shuffle=True, random_state=0).split(y, y):
            assert [np.sum(y[test] == name) for name in "abc"] == [3, 2, 1]
            assert [np.sum(y[train] == name) for name in "abc"] == [9, 6, 3]
            assert np.sum(y[train] == None) == 30  # noqa: E711

    def test_a_class_that_no_training_set_can_do_without(self):
        y = np.array(["a"] * 6 + ["b"] * 6 + ["rare", None, None])
        said = (
            "The training set of split 0 has no labelled row of class 'rare', which has 1 labelled "
            "row in all: label more rows of it, leave the class out, or split"
        )
        with pytest.raises(ValueError, match=said):
            list(SemiSupervisedSplit(PredefinedSplit(np.r_[np.arange(12) % 2, 0])).split(y, y))
        y = np.array([0, 1, 2, 2] * 3)
        groups = np.array([0, 0, 1, 1] * 3)
        with pytest.raises(
            ValueError, match=r"split 0 has no .* class 2, which has 6 labelled rows"
        ):
            list(SemiSupervisedSplit(GroupKFold(2)).split(y, y, groups))

    def test_grid_search_with_none_labels(self):
        X, y = partly_labelled()
        labels = np.where(y < 0, None, np.array(["a", "b"])[y])
        search = GridSearchCV(ICLSClassifier(), {"alpha": [0.0, 1.0]}, cv=SemiSupervisedSplit(3))
        search.fit(X, labels)
        assert search.best_score_ > 0.9
        assert len(search.best_estimator_.soft_labels_) == 200

    def test_groups_are_kept_together(self):
        X, y = partly_labelled()
        groups = np.arange(len(y)) % 7
        for train, test in SemiSupervisedSplit(GroupKFold(3)).split(X, y, groups):
            known = train[y[train] != -1]
            assert len(np.intersect1d(groups[known], groups[test])) == 0

    def test_predictions_cannot_cover_unlabelled_rows(self):
        X, y = partly_labelled()
        with pytest.raises(ValueError, match="only works for partitions"):
            cross_val_predict(ICLSClassifier(), X, y, cv=SemiSupervisedSplit(3))


@given(st.integers(20, 200), st.integers(2, 10), st.integers(2, 6), st.integers(0, 1000))
def test_folds_partition_the_rows_and_hold_every_class(n, n_folds, n_classes, seed):
    rng = np.random.default_rng(seed)
    y = np.r_[np.repeat(np.arange(n_classes), n_folds), rng.integers(0, n_classes, n)]
    folds = deal_folds(y, n_folds, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(len(y)))
    assert all(set(y[fold]) == set(range(n_classes)) for fold in folds)
    sizes = [len(fold) for fold in folds]
    assert set(sizes[:-1]) == {len(y) // n_folds}
    assert sizes[-1] == len(y) - (n_folds - 1) * (len(y) // n_folds)


def test_cross_validation_follows_the_paper(rng):
    y = rng.integers(0, 2, 306)
    splits = list(CrossValidation().splits(y, d=3, rng=rng))
    assert [split.at for split in splits] == list(range(10))
    for split in splits:
        assert len(split.labeled) == 20
        assert set(y[split.labeled[:2]]) == {0, 1}
        rows = np.concatenate([split.labeled, split.unlabeled, split.test])
        np.testing.assert_array_equal(np.sort(rows), np.arange(306))


@pytest.mark.parametrize(
    "design", [CrossValidation(n_labeled=4, n_folds=3), LearningCurve(4, sizes=(1, 8))]
)
def test_every_class_is_labelled(rng, design):
    y = np.array(["a", "b", "c", "d"])[np.r_[np.arange(60) % 3, [3, 3, 3]]]
    for split in design.splits(y, 2, rng):
        assert sorted(y[split.labeled]) == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match=r"3 labelled .* at least 4 are needed, one of each class"):
        list(replace(design, n_labeled=3).splits(y, 2, rng))


def test_learning_curve_is_nested(rng):
    y = rng.integers(0, 2, 200)
    splits = list(LearningCurve().splits(y, d=30, rng=rng))
    assert [split.at for split in splits] == [1, 2, 4, 8, 16, 32, 64, 128]
    for small, large in pairwise(splits):
        np.testing.assert_array_equal(small.labeled, large.labeled)
        np.testing.assert_array_equal(small.unlabeled, large.unlabeled[: small.at])
        rows = np.concatenate([large.labeled, large.unlabeled, large.test])
        np.testing.assert_array_equal(np.sort(rows), np.arange(200))
    assert len(splits[0].labeled) == 35


def test_the_leak_free_scaling_does_not_see_the_test_rows(rng):
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    split = next(iter(CrossValidation().splits(y, 3, rng)))
    train = np.concatenate([split.labeled, split.unlabeled])
    spoilt = X.copy()
    spoilt[split.test] *= 100
    free, leaky = (
        [scale_features(rows, split, scaling)[train] for rows in (X, spoilt)]
        for scaling in ("train", "paper")
    )
    np.testing.assert_array_equal(*free)
    assert not np.allclose(*leaky)
    np.testing.assert_allclose(free[0].std(axis=0, ddof=1), 1)


def test_methods_see_their_rows_and_labels(rng):
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 3, 100)
    split = next(iter(CrossValidation().splits(y, 3, rng)))
    rows = SplitRows.of(X, y, split)
    for sees, n_rows, n_known in (("labeled", 20, 20), ("partly", 90, 20), ("all", 90, 90)):
        seen, labels = rows.seen(sees)
        order = np.concatenate([split.labeled, split.unlabeled])[:n_rows]
        np.testing.assert_array_equal(seen, X[order])
        np.testing.assert_array_equal(labels[:n_known], y[order[:n_known]])
        assert (labels[n_known:] == -1).all()
    np.testing.assert_allclose(rows.true_shares(), np.bincount(y[split.unlabeled]) / 70)
    parts = {"labeled": split.labeled, "train": order, "test": split.test}
    for name, part in rows.parts.items():
        np.testing.assert_array_equal(rows.y[part], y[parts[name]])


def test_bad_designs(rng):
    y = rng.integers(0, 2, 30)
    with pytest.raises(ValueError, match="30 labelled rows are requested, but there are 27"):
        list(CrossValidation(n_labeled=30).splits(y, 3, rng))
    with pytest.raises(ValueError, match="10 folds need at least 10 rows of each class, but class"):
        deal_folds(np.r_[np.zeros(50, int), np.ones(3, int)], 10, rng)
    with pytest.raises(ValueError, match="of each class, but class 'rare' has 3: use fewer folds"):
        deal_folds(np.repeat(["a", "b", "rare"], [50, 50, 3]), 10, rng)


def test_one_row_of_each_class_comes_on_top_of_a_random_draw():
    """The small class has one sure row and its share of the others: 1 + 18 * 19 / 178 of 20."""
    y = np.r_[np.zeros(160, int), np.ones(20, int)]
    rng = np.random.default_rng(0)
    drawn = [y[labeled_first(y, np.arange(180), rng)[:20]].sum() for _ in range(3000)]
    expected, spread = 1 + 18 * 19 / 178, np.std(drawn) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - expected) < 4 * spread


def test_no_fold_is_short_of_the_small_class():
    y = np.r_[np.zeros(150, int), np.ones(50, int)]
    rng = np.random.default_rng(0)
    counts = np.array([[y[fold].sum() for fold in deal_folds(y, 10, rng)] for _ in range(2000)])
    spread = counts.std() / np.sqrt(len(counts))
    assert np.abs(counts.mean(axis=0) - 5).max() < 5 * spread
