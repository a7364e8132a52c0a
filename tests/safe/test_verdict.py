"""What SafeClassifier says of itself: scores that are undefined, groups, drift, wording."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import LeaveOneOut, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from primum import ICLSClassifier, SafeClassifier, SafeRegressor
from primum.judging.drift import find_drift, one_of_each

pytestmark = pytest.mark.usefixtures("quick_drift")

QUICK = {"candidates": ["spreading"], "n_repeats": 1, "random_state": 0}


def rare_class(n_positive=4, n_negative=60):
    """Return rows of which a few labelled ones are positive."""
    X, truth = make_classification(
        400, 8, n_informative=4, weights=[0.95], flip_y=0, random_state=0
    )
    known = np.r_[np.flatnonzero(truth == 1)[:n_positive], np.flatnonzero(truth == 0)[:n_negative]]
    y = np.full(400, -1)
    y[known] = truth[known]
    return X, y


def moons(n_labeled=40, n_rows=300):
    X, truth = make_moons(n_rows, noise=0.15, random_state=1)
    return X, np.where(np.arange(n_rows) < n_labeled, truth, -1)


@pytest.mark.parametrize(("cv", "n_negative"), [(5, 60), (LeaveOneOut(), 16)], ids=str)
def test_a_score_that_is_undefined_in_some_folds_is_computed_from_all_of_them(cv, n_negative):
    clf = SafeClassifier(**QUICK, scoring="roc_auc", cv=cv).fit(*rare_class(4, n_negative))
    assert clf.verdict_.answer == "cannot_tell"
    assert clf.verdict_.baseline.difference.n_rows == 4 + n_negative
    assert clf.verdict_.baseline.difference.standard_error > 0.01
    assert "roc_auc is undefined in" in clf.notes_[-1]


class NeverFitted(GaussianNB):
    def fit(self, X, y):
        raise AssertionError("fitted before the arguments were checked")


@pytest.mark.parametrize(
    ("options", "n_positive", "message"),
    [
        ({"cv": TimeSeriesSplit(4)}, 4, "'roc_auc' cannot be computed in the 12 rows that split 0"),
        ({"cv": 5}, 1, "'roc_auc' cannot be estimated with one labelled row of class 1"),
    ],
)
def test_scores_that_cannot_be_computed_are_found_before_the_fits(options, n_positive, message):
    X, y = rare_class(n_positive)
    own = [("mine", NeverFitted(), False)]
    clf = SafeClassifier(own, baseline=["mine"], scoring="roc_auc", **options)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, y)


def test_a_scorer_of_two_classes_is_refused_for_three():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"'roc_auc' cannot be computed.*classes \[0, 1, 2\]"):
        SafeClassifier(**QUICK, scoring="roc_auc").fit(X, np.arange(30) % 3)


def copies(seed=0):
    """Return 30 random points with random classes, each four times with a little noise."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(30), 4)
    X = rng.normal(size=(30, 3))[groups] + 0.01 * rng.normal(size=(120, 3))
    more = rng.normal(size=(60, 3))
    y = np.append(rng.integers(0, 2, 30)[groups], np.full(60, -1))
    return np.vstack([X, more]), y, np.append(groups, 30 + np.arange(60))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_copies_of_a_row_are_no_evidence(seed):
    X, y, groups = copies(seed)
    alone = np.arange(len(y))
    assert SafeClassifier(**QUICK).fit(X, y, groups=alone).verdict_.answer == "help"
    clf = SafeClassifier(**QUICK).fit(X, y, groups=groups)
    assert clf.verdict_.answer != "help"
    assert clf.verdict_.baseline.difference.n_rows == 30


def test_fewer_groups_than_folds():
    X, y, groups = copies()
    clf = SafeClassifier(**QUICK, cv=7).fit(X, y, groups=groups // 10)
    assert "7 folds were reduced to 3" in clf.notes_[-1]
    with pytest.raises(ValueError, match="All labelled rows belong to the group"):
        SafeClassifier(**QUICK).fit(X, y, groups=np.zeros(len(y)))


def test_more_folds_than_labels_are_noted():
    clf = SafeClassifier(**QUICK, cv=50).fit(*moons(30))
    assert any(note.startswith("50 folds were reduced to") for note in clf.notes_)


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_drift_is_noted_and_does_not_affect_the_model(as_rows):
    X, y = moons(60)
    moved = np.where((y < 0)[:, None], X + 2, X)
    clf = SafeClassifier(["logistic"], baseline=["ridge"], n_repeats=1, random_state=0)
    plain = clf.fit(as_rows(X), y)
    weights, text = plain.weights_, plain.verdict_.text
    assert "different distributions" not in text
    found = clf.fit(as_rows(moved), y)
    assert "come from visibly different distributions" in found.verdict_.text
    assert any("different distributions" in note for note in found.notes_)
    # Neither candidate uses the unlabelled rows.
    assert found.weights_ == weights


def test_copies_are_not_taken_for_drift():
    X, _, groups = copies()
    labeled, more = X[:120], X[120:]
    assert find_drift(np.repeat(labeled, 5, axis=0), np.repeat(more, 10, axis=0)).found
    assert not find_drift(one_of_each(labeled, groups[:120]), more).found
    assert len(one_of_each(X, groups[:120])) == 90


def test_only_approximations_of_candidates_with_weight_are_in_the_text():
    X, y = moons(n_rows=1600)
    clf = SafeClassifier(["kernel"], shrinkage=1e9, cv=2, n_repeats=1, random_state=0).fit(X, y)
    assert any("kernel uses a random sample" in note for note in clf.notes_)
    said = "kernel uses a random sample" in clf.verdict_.text
    assert said == (clf.weights_["kernel"] > 0)
    useless = SafeClassifier(
        [("m", GaussianNB(), False), "kernel"], cv=2, n_repeats=1, random_state=0
    )
    assert "for two classes only" not in useless.fit(X, y).verdict_.text


@pytest.fixture(scope="module")
def judged():
    return SafeClassifier(**QUICK).fit(*moons())


def test_the_text_is_short_and_names_what_is_compared(judged):
    text = judged.verdict_.text
    assert text.count(". ") <= 3
    assert "held-out rows, of which" in text
    assert "the baseline (ridge and logistic)" in text
    assert "stack" not in text
    assert judged.verdict_.answer == judged.verdict_.baseline.answer
    assert judged.verdict_.to_dict()["answer"] == judged.verdict_.answer


def test_rows_that_are_never_held_out_are_mentioned():
    clf = SafeClassifier(**QUICK, cv=TimeSeriesSplit(4)).fit(*moons())
    assert "40 labelled rows, of which 32 are held out," in clf.verdict_.text


def test_the_observed_difference_is_that_of_the_report(judged):
    error = dict(zip(judged.report_["model"], judged.report_["error"], strict=True))
    difference = judged.verdict_.baseline.difference
    assert difference.mean == pytest.approx(error["safe stack"] - error["baseline"])


def test_the_verdict_counts_the_rows_on_which_the_models_disagree(judged):
    X, y = moons()
    found = judged.verdict_.baseline.disagreement
    unlabeled = X[y == -1]
    differ = judged.predict(unlabeled) != judged.baseline_.predict(unlabeled)
    assert (found.n_different, found.n_compared) == (differ.sum(), len(unlabeled))
    difference = judged.verdict_.baseline.difference
    assert (found.worse - found.better) / np.sum(y != -1) == pytest.approx(difference.mean)


def test_better_probabilities_are_a_claim_of_their_own(judged):
    brier = dict(zip(judged.report_["model"], judged.report_["brier"], strict=True))
    found = judged.verdict_.brier
    assert found.difference.mean == pytest.approx(brier["safe stack"] - brier["baseline"])
    assert found.disagreement is None
    assert judged.verdict_.to_dict()["brier"]["change"] == found.change
    other = SafeClassifier(**QUICK, scoring="neg_log_loss").fit(*moons())
    assert other.verdict_.brier is None


def test_a_pair_is_a_candidate_that_uses_unlabelled_rows():
    X, y = moons()
    pair, triple = (
        SafeClassifier([item], cv=2, n_repeats=1, random_state=0).fit(X, y)
        for item in (("m", ICLSClassifier(0.1)), ("m", ICLSClassifier(0.1), True))
    )
    assert pair.weights_ == triple.weights_


class UndefinedElsewhere(KNeighborsClassifier):
    """No scores for rows without a label, as label spreading has in parts without one."""

    def predict_proba(self, X):
        scores = super().predict_proba(X)
        return np.where(X[:, [0]] > 50, np.nan, scores)


def test_scores_that_are_not_finite_for_unlabelled_rows_are_a_failure():
    X, y = moons()
    X[-1] = 100.0
    clf = SafeClassifier(
        [("mine", UndefinedElsewhere(), False)], baseline=["ridge"], shrinkage=1e-3, random_state=0
    )
    with pytest.warns(FitFailedWarning, match="mine, final fit.*not finite for 1 rows"):
        clf.fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()


@pytest.mark.parametrize("jitter", [0.0, 1e-6])
@pytest.mark.parametrize("numeric", [False, True])
def test_copies_withhold_the_claim_and_are_warned_of_first(jitter, numeric):
    """Copies of rows with random labels: the nearest neighbor knows the label of a held-out one."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(15, 2)), 4, axis=0)
    X += jitter * rng.normal(size=X.shape)
    more = rng.normal(size=(100, 2))
    if numeric:
        y = np.repeat(rng.normal(size=15), 4)
        model = SafeRegressor([("near", KNeighborsRegressor(1), False)], random_state=0)
    else:
        y = np.repeat(rng.integers(0, 2, 15), 4)
        model = SafeClassifier([("near", KNeighborsClassifier(1), False)], random_state=0)
    found = model.fit(X, y, more).verdict_
    assert (found.answer, found.supervised.answer) == ("cannot_tell", "cannot_tell")
    assert str(found).startswith("Warning: ")
    assert "copies" in str(found).split(". ")[0] or "same features" in str(found).split(". ")[0]
    assert found.baseline.reason.startswith("If no rows belong together:")
    assert found.to_dict()["alerts"][0]["withholds"]
    each = model.fit(X, y, more, groups=np.arange(60)).verdict_  # the user says that none do
    assert (each.answer, each.alerts) == ("help", ())
    grouped = model.fit(X, y, more, groups=np.arange(60) // 4).verdict_
    assert grouped.answer != "help"
