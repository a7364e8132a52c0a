"""A comparison with few rows of a class: what can be fitted is judged, and what cannot is said."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import primum
from primum.comparison.data import read_data
from primum.comparison.plan import Plan, inner_folds, make_folds, missing_points, plan_fits
from primum.reading.classifiers import Entry
from primum.reading.folds import Fold

pytestmark = pytest.mark.usefixtures("quick_drift")

pytestmark = pytest.mark.usefixtures("quick_drift")

METHODS = [("neighbours", KNeighborsClassifier(), False)]
QUICK = {"methods": METHODS, "verbose": False}


def tumours(n_malignant, n_benign):
    """Return all tumours, of which so many have a label."""
    X, y = load_breast_cancer(return_X_y=True)
    shown = np.concatenate(
        [np.flatnonzero(y == code)[:n] for code, n in ((0, n_malignant), (1, n_benign))]
    )
    labels = np.full(len(y), -1)
    labels[shown] = y[shown]
    return X, labels


def test_a_rare_class_with_curves_is_judged():
    X, y = tumours(7, 93)
    methods = [("self-learning", primum.SelfLearningClassifier(LogisticRegression()))]
    result = primum.compare(X, y, methods=methods, n_repeats=1, curves=True, verbose=False)
    assert result.failures == []
    assert {point.axis for point in result.curves} == {"n_unlabeled"}
    assert result.left_out == [
        "The learning curve over labelled rows is not drawn at 25% and 50% of them: training sets "
        "have as few as 5 rows of class 0, and 25% and 50% of these are fewer than 3."
    ]
    assert result.left_out[0] in result.to_markdown()


@pytest.mark.parametrize(
    ("numbers", "drawn", "said"),
    [
        ((7, 93), [], "25% and 50%"),
        ((9, 91), ["n_labeled=40"], "at 25% of them"),
        ((15, 85), ["n_labeled=20", "n_labeled=40"], None),
        ((30, 49), [], "needs 80 of them, and there are 79"),
    ],
)
def test_points_of_the_curve_have_three_rows_of_every_class(numbers, drawn, said):
    table = read_data(*tumours(*numbers))
    folds, entry = make_folds(table, None, 3, 0), Entry("near", KNeighborsClassifier(), False)
    plan = Plan(table, (), (entry,), folds, curves=True)
    stages = {task.stage: task for tasks in plan_fits(plan) for task in tasks}
    assert sorted(stage for stage in stages if stage.startswith("n_labeled")) == drawn
    for stage in drawn:
        assert np.bincount(table.y[stages[stage].train]).min() >= 3
    assert [said in text for text in missing_points(plan)] == ([] if said is None else [True])
    assert missing_points(Plan(table, (), (), folds)) == []


class NeedsRows(LogisticRegression):
    """A logistic regression that needs some of the rows, which have their number as last value."""

    def __init__(self, needed=(), at_least=1, fewest=0):
        super().__init__()
        self.needed, self.at_least, self.fewest = needed, at_least, fewest

    def fit(self, X, y):
        if np.isin(self.needed, X[:, -1]).sum() < self.at_least or len(X) < self.fewest:
            raise ValueError("too few rows.")
        return super().fit(X, y)


def numbered(n_labeled=40, n_unlabeled=20):
    rng = np.random.default_rng(0)
    truth = np.arange(n_labeled + n_unlabeled) % 2
    X = np.column_stack([rng.normal(size=len(truth)) + truth, np.arange(len(truth))])
    return X, np.where(np.arange(len(truth)) < n_labeled, truth, -1)


def compare_with(baseline, n_labeled=40, **options):
    baselines = [("usual", LogisticRegression()), ("choosy", baseline)]
    settings = {**QUICK, "prepare": None, "baseline": baselines, "curves": False, **options}
    return primum.compare(*numbered(n_labeled), **settings)


def test_splits_without_a_baseline_are_no_part_of_the_result():
    """A row is held out once in every repeat: no repeat is complete, and four fifths are left."""
    result = compare_with(NeedsRows([3.0]), n_repeats=2)
    assert len(result.records.splits) == 8
    assert {method.n_splits for method in result.methods} == {8}
    assert result.left_out[0] == (
        "A baseline failed in 2 of the 10 splits: the result is that of 8 splits, in which all "
        "were fitted."
    )
    assert "choosy failed in split" in result.left_out[1]
    assert "Not judged" not in result.verdict
    held_out = [result.records.done["all/usual", n].test for n in result.records.splits]
    assert 3 not in np.concatenate(held_out)
    assert result.to_dict()["recommended"] == result.recommended


def test_complete_repeats_are_preferred():
    """Two rows of a class are held out together in some repeats only."""
    result = compare_with(NeedsRows([3.0, 5.0]), n_repeats=4)
    failed = {failure.split // 5 for failure in result.failures}
    assert 0 < len(failed) < 4
    assert result.records.splits == [n for n in range(20) if n // 5 not in failed]
    tests = np.concatenate(
        [result.records.done["all/usual", n].test for n in result.records.splits]
    )
    assert set(np.bincount(tests)) == {4 - len(failed)}


def test_scores_of_whole_repeats_with_a_failed_baseline():
    result = compare_with(NeedsRows([3.0, 5.0]), n_repeats=3, scoring="roc_auc")
    assert result.failures
    assert result.methods[0].loss < 0


@pytest.mark.parametrize("at_least", [2, 9])
def test_a_baseline_that_leaves_fewer_than_two_splits_is_an_error(at_least):
    folds = [(np.arange(40) % 4 != k, np.arange(40) % 4 == k) for k in range(2)]
    cv = [tuple(np.flatnonzero(part) for part in fold) for fold in folds]
    with pytest.raises(ValueError, match=r"The baseline choosy failed .*few rows: there is noth"):
        compare_with(NeedsRows([4.0, 8.0], at_least), cv=cv)


def test_a_baseline_that_fails_in_a_curve_is_missing_there_only():
    result = compare_with(NeedsRows([3.0, 5.0], 0, fewest=30), 80, curves=True, n_repeats=1)
    assert len(result.records.splits) == 5
    assert {failure.stage for failure in result.failures} == {"n_labeled=16"}
    text = "choosy failed in the learning curve, with 16 labelled rows in split 0: ValueError"
    assert any(sentence.startswith(text) for sentence in result.left_out)
    names = {n: {p.name for p in result.curves if p.n == n} for n in (16, 32)}
    assert names == {16: {"neighbours"}, 32: {"baseline", "neighbours"}}
    assert "choosy" in result.table.index


@pytest.mark.parametrize(("of_class", "n_folds"), [((4, 5), 3), ((4, 2), 2), ((4, 1), 3)])
def test_folds_of_tuning_suit_the_training_sets_of_all_repeats(of_class, n_folds):
    """Groups are distributed differently in every repeat, and so are the rows of a class."""
    X, y = numbered()
    repeats = [
        [Fold(np.r_[np.arange(0, 20, 2), np.arange(1, 2 * count, 2)], np.arange(20, 40))]
        for count in of_class
    ]
    assert inner_folds(read_data(X, y), repeats) == n_folds


def test_a_class_with_one_row_in_a_training_set_is_an_error():
    X, y = numbered()
    folds = [[Fold(np.r_[np.arange(0, 20, 2), 1], np.arange(20, 40))]]
    with pytest.raises(ValueError, match=r"one labelled row of class 1.*empty its labels"):
        inner_folds(read_data(X, y), folds)
