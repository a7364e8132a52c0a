"""SafeClassifier: input that is bad, degenerate or misleading."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit, TimeSeriesSplit

from generate import several_classes, two_classes
from primum import SafeClassifier
from primum.judging.copies import copies_note
from primum.safe import classifier, out_of_fold
from primum.safe.candidates.graphs import BANDWIDTHS, distances_among, gammas_of

pytestmark = pytest.mark.usefixtures("quick_drift")

pytestmark = pytest.mark.usefixtures("quick_drift")


def partly(n_labeled=24, n_unlabeled=40, d=3, n_classes=2):
    """Return X and y with -1 for unknown labels."""
    make = (two_classes, {}) if n_classes == 2 else (several_classes, {"n_classes": n_classes})
    X, y, more, _ = make[0](n_labeled, n_unlabeled, d, seed=0, **make[1])
    return np.concatenate([X, more]), np.append(y, np.full(n_unlabeled, -1))


def quick(candidates=("spreading",), **parameters):
    parameters = {"baseline": ["ridge"], "cv": 3, "n_repeats": 1, "random_state": 0, **parameters}
    return SafeClassifier(list(candidates), **parameters)


class NeverFitted(ClassifierMixin, BaseEstimator):
    """Fails the test if it is fitted."""

    def fit(self, X, y):
        pytest.fail("a candidate was fitted")

    def predict(self, X): ...

    def predict_proba(self, X): ...


@pytest.mark.parametrize(
    ("n_classes", "parameters", "message"),
    [
        (2, {"scoring": "roc_auc", "cv": TimeSeriesSplit(23)}, "'roc_auc' cannot be computed in t"),
        (2, {"scoring": "roc_auc", "cv": ShuffleSplit(1)}, "'roc_auc' .* needs at least two, but"),
        (2, {"scoring": lambda model, X, y: np.nan}, "given score cannot be computed.*it is nan"),
        (
            2,
            {"scoring": lambda model, X, y: 1 / 0},
            "given score cannot.*ZeroDivisionError: div",
        ),
        (3, {"scoring": "roc_auc"}, "'roc_auc' cannot be computed.*multi_class must be in"),
    ],
)
def test_a_score_that_cannot_be_computed_is_refused_before_anything_is_fitted(
    n_classes, parameters, message
):
    X, y = partly(n_classes=n_classes)
    with pytest.raises(ValueError, match=message):
        quick([("never", NeverFitted(), False)], **parameters).fit(X, y)


def test_a_class_with_one_label_is_said_to_be_unknown():
    X, y = partly()
    y[0] = 2
    with pytest.warns(UserWarning, match="Class 2 has one labelled row, which cannot be both"):
        clf = quick().fit(X, y)
    assert clf.classes_.tolist() == [0, 1, 2]
    y[1] = 3
    with pytest.warns(UserWarning, match="Classes 2, 3 have one labelled row each, which cannot"):
        quick().fit(X, y)


class BadScores(LogisticRegression):
    """Returns what ``kind`` says instead of probabilities."""

    def __init__(self, kind="nan"):
        super().__init__()
        self.kind = kind

    def predict_proba(self, X):
        found = super().predict_proba(X)
        return {"nan": found * np.nan, "sum": 100 * found, "wide": found[:, [0, 1, 1]] / 2}.get(
            self.kind, 3 * found - 1
        )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nan", "not finite for 8 rows"),
        ("sum", r"do not add up to 1 \(by 99\)"),
        ("negative", "not probabilities: some are below 0"),
        ("wide", r"scores of the shape \(8, 3\) for 2 classes"),
    ],
)
def test_scores_that_are_not_probabilities_are_a_failure(kind, message):
    X, y = partly()
    with pytest.warns(FitFailedWarning, match=message):
        clf = quick([("mine", BadScores(kind), False)]).fit(X, y)
    assert list(clf.weights_) == ["ridge"]


def test_a_class_instead_of_an_instance_is_refused():
    X, y = partly()
    with pytest.raises(ValueError, match=r"'mine' is the class LogisticRegression: pass an inst"):
        quick([("mine", LogisticRegression, False)]).fit(X, y)


@pytest.mark.parametrize("n_copies", [1, 500])
def test_copies_of_a_row_are_neighbours_of_each_other_and_change_no_scale(n_copies):
    X, y = partly()
    X = np.concatenate([X, np.repeat(X[30:31], n_copies, axis=0)])
    clf = quick(["kernel"]).fit(X, np.append(y, np.full(n_copies, -1)))
    assert clf.failures_ == []


def test_the_median_distance_is_not_that_of_rounding_between_copies():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 3)), np.repeat(rng.normal(size=(1, 3)), 200, axis=0)])
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    median = np.median(distances[distances > 0])
    assert gammas_of(distances_among(X)) == pytest.approx(
        [0.5 / (f**2 * median) for f in BANDWIDTHS]
    )


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("X", [np.zeros((64, 3)), np.ones((64, 3)), np.arange(64.0)[:, None]])
def test_features_without_content(make, X):
    _, y = partly()
    clf = quick(["components", "kernel", "spreading"]).fit(make(X), y)
    assert clf.failures_ == []
    # The last of them has its labels in the first rows, which is drift.
    expected = ("have the same features", "different distributions")
    assert clf.notes_ == [] or any(text in clf.notes_[0] for text in expected)
    assert np.isfinite(clf.predict_proba(make(X))).all()


def test_one_training_row_in_a_fold_is_enough():
    X, _ = partly()
    y = np.full(len(X), -1)
    y[:3] = 0, 1, 0
    with pytest.warns(UserWarning, match="Class 1 has one labelled row"):
        clf = quick(["components", "kernel"]).fit(X, y)
    assert clf.failures_ == []
    assert clf.notes_[0] == (
        "3 folds were reduced to 2: more cannot be stratified with these labels."
    )


class FailsToPredict(LogisticRegression):
    """Fails for rows that were not among the labelled ones."""

    def predict_proba(self, X):
        if len(X) > 30:
            raise RuntimeError("too many rows")
        return super().predict_proba(X)


def test_a_candidate_that_cannot_predict_unlabelled_rows_is_left_out():
    X, y = partly()
    candidates = [("mine", FailsToPredict(C=100), False)]
    with pytest.warns(FitFailedWarning, match="mine, final fit: RuntimeError: too many rows"):
        clf = quick(candidates, shrinkage=1e-6).fit(X, y)
    assert list(clf.weights_) == ["ridge"]


class Knows(ClassifierMixin, BaseEstimator):
    """Knows the classes of all rows: better without any unlabelled row."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.eye(2)[(np.asarray(X)[:, -1] > 0).astype(int)] * 0.8 + 0.1

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def xor(n_labeled=100, n_unlabeled=100):
    """Return rows whose classes are their last column, hidden from linear models by its size."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n_labeled + n_unlabeled)
    X = rng.normal(size=(len(truth), 3))
    X[:, -1] = (2 * truth - 1) * np.exp(-20 * rng.random(len(truth)))
    return X, np.append(truth[:n_labeled], np.full(n_unlabeled, -1))


def test_a_gain_without_counterpart_is_not_credited_to_the_unlabelled_rows():
    X, y = xor()
    alone = quick([("mine", Knows(), True)]).fit(X, y)
    assert alone.verdict_.baseline.answer == "help"
    assert alone.verdict_.supervised is None
    assert "mine has no supervised counterpart" in str(alone.verdict_)
    both = quick(["spreading", ("mine", Knows(), True)]).fit(X, y)
    assert both.weights_["mine"] > 0.5
    assert both.verdict_.supervised.answer != "help"
    fair = quick([("mine", Knows(), True, Knows())]).fit(X, y)
    assert fair.verdict_.baseline.answer == "help"
    assert fair.verdict_.supervised.disagreement.n_different == 0
    assert fair.verdict_.supervised.probabilities.help < 0.1


class NeverFits(Knows):
    """A counterpart or candidate that fails."""

    def fit(self, X, y):
        raise RuntimeError("no")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_failures_leave_a_fair_comparison():
    X, y = xor()
    without = quick(["spreading", ("mine", Knows(), True, NeverFits())]).fit(X, y)
    assert without.weights_["mine"] > 0.5
    assert without.verdict_.supervised.answer != "help"
    left = quick(["spreading", ("mine", NeverFits(), True, Knows())]).fit(X, y)
    assert set(left.supervised_.weights_) == {"ridge", "neighbours"}
    assert left.verdict_.supervised.answer != "harm"


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_copies_among_labelled_rows_are_named(make):
    X, y = partly()
    X[1] = X[0]
    assert not any("same features" in note for note in quick().fit(make(X), y).notes_)
    X[3] = X[2]
    note = "2 of the 24 labelled rows have the same features as another one"
    assert quick().fit(make(X), y).notes_[0].startswith(note)
    assert quick().fit(make(X), y, groups=np.arange(len(y)) // 2).notes_ == []
    assert copies_note(pd.DataFrame({"a": ["x", "x", "y"]}), None).startswith("1 of the 3")


@pytest.mark.parametrize("n_repeats", [1, 2])
def test_groups_stay_together_with_a_number_of_folds(n_repeats):
    X, y = partly()
    groups = np.repeat(np.arange(16), 4)
    clf = quick(n_repeats=n_repeats).fit(X, y, groups=groups)
    assert clf.verdict_.baseline.difference.n_rows == 6
    with pytest.raises(ValueError, match="All labelled rows belong to the group 0"):
        quick().fit(X, y, groups=groups // 8)
    with pytest.raises(ValueError, match=r"groups has the shape \(24,\), but X has 64 rows"):
        quick().fit(X, y, groups=groups[:24])


def test_overlapping_splits_are_refused():
    X, y = partly()
    pairs = [(np.arange(20), np.arange(15, 24))]
    with pytest.raises(ValueError, match="Split 0 of cv trains on 5 of the 9 labelled rows that"):
        quick(cv=pairs).fit(X, y)


class Slow(Knows):
    """Records the number of rows of every fit; a clock says that each takes a second per row."""

    sizes: list = []  # noqa: RUF012

    def fit(self, X, y):
        Slow.sizes.append(len(X))
        return super().fit(X, y)


def test_a_fit_that_would_exceed_the_budget_is_not_begun(monkeypatch):
    X, y = xor(100, 600)
    Slow.sizes.clear()

    class Clock:
        @staticmethod
        def perf_counter():
            return float(sum(Slow.sizes))

    for module in (classifier, out_of_fold):
        monkeypatch.setattr(module, "time", Clock)
    clf = quick([("slow", Slow(), True)], time_budget=400).fit(X, y)
    assert max(Slow.sizes) < 200  # a part of the 700 rows
    assert clf.notes_ == ["slow: left out, because of the time budget."]
    assert sum(Slow.sizes) < 1.2 * 400
