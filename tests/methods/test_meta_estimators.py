"""scikit-learn's meta-estimators around ours: what docs/scikit-learn.md says about them."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from generate import two_classes
from primum import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    L2SVMClassifier,
    LeastSquaresClassifier,
    ManifoldClassifier,
    ManifoldKernel,
    S4VMClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
    UnlabeledRows,
    USMClassifier,
    WellSVMClassifier,
)

EVERY = [
    EMLeastSquaresClassifier(),
    ICLSClassifier(),
    L2SVMClassifier(),
    LeastSquaresClassifier(),
    S4VMClassifier(),
    SelfLearningClassifier(),
    SelfLearningClassifier(LogisticRegression()),
    TSVMClassifier(),
    USMClassifier(),
    WellSVMClassifier(),
]


@pytest.fixture
def partly():
    """Return rows, labels of two classes, and the same labels, of which most are -1."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 60)
    X = rng.normal(size=(120, 3)) + 3.0 * y[:, None]
    return X, y, np.where(np.arange(120) < 30, y, -1)


class Recorder(ICLSClassifier):
    """Keeps the shapes of X_unlabeled that its fits were given."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, X_unlabeled=None, *, sample_weight=None):
        given = X_unlabeled.rows if isinstance(X_unlabeled, UnlabeledRows) else X_unlabeled
        self.seen.append(given.shape)
        return super().fit(X, y, X_unlabeled, sample_weight=sample_weight)


@pytest.fixture
def seen():
    Recorder.seen.clear()
    return Recorder.seen


@pytest.mark.parametrize("clf", EVERY, ids=str)
def test_wrapped_rows_are_the_rows(clf):
    X, y, X_u, _ = two_classes(20, 30, 3)
    plain = clf.fit(X, y, X_unlabeled=X_u).predict(X_u)
    wrapped = clf.fit(X, y, X_unlabeled=UnlabeledRows(X_u)).predict(X_u)
    np.testing.assert_array_equal(plain, wrapped)


def test_wrapped_files_are_read_and_labelled(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, X_u, _ = two_classes(20, 30, 3)
    names = list("abc")
    pd.DataFrame(X_u, columns=names).to_parquet(tmp_path / "u.parquet")
    rows = UnlabeledRows(tmp_path / "u.parquet")
    clf = ICLSClassifier().fit(pd.DataFrame(X, columns=names), y, X_unlabeled=rows)
    np.testing.assert_array_equal(clf.soft_labels(rows), clf.soft_labels(rows.rows))
    assert repr(UnlabeledRows(X)) == "UnlabeledRows(ndarray)"
    with pytest.raises(ValueError, match="TSVMClassifier needs all rows in memory"):
        TSVMClassifier().fit(pd.DataFrame(X, columns=names), y, X_unlabeled=rows)


def test_scikit_learn_selects_rows_of_an_array_but_not_of_the_wrapper(seen):
    X, y, X_u, _ = two_classes(20, 20, 3)
    cross_val_score(Recorder(), X, y, cv=2, params={"X_unlabeled": X_u})
    assert set(seen) == {(10, 3)}  # the reason why there is a wrapper
    seen.clear()
    cross_val_score(Recorder(), X, y, cv=2, params={"X_unlabeled": UnlabeledRows(X_u)})
    GridSearchCV(Recorder(), {"alpha": [0.1]}, cv=2).fit(X, y, X_unlabeled=UnlabeledRows(X_u))
    cross_val_predict(
        Recorder(), X, y, cv=2, params={"X_unlabeled": UnlabeledRows(X_u)}, method="predict_proba"
    )
    CalibratedClassifierCV(Recorder(), cv=2).fit(X, y, X_unlabeled=UnlabeledRows(X_u))
    assert set(seen) == {(20, 3)}


def test_ensembles_pass_the_wrapper_on(seen):
    X, y, X_u, _ = two_classes(20, 20, 3)
    with config_context(enable_metadata_routing=True):
        clf = Recorder().set_fit_request(X_unlabeled=True)
        VotingClassifier([("a", clf)]).fit(X, y, X_unlabeled=UnlabeledRows(X_u))
        OneVsRestClassifier(clf).fit(X, y, X_unlabeled=UnlabeledRows(X_u))
        bag = BaggingClassifier(clf, n_estimators=2, random_state=0)
        bag.fit(X, y, X_unlabeled=UnlabeledRows(X_u))
    assert seen == [(20, 3)] * 4


def test_a_tuned_threshold_has_all_unlabelled_rows_in_every_fit(seen):
    X, y, X_u, _ = two_classes(20, 20, 3)
    with config_context(enable_metadata_routing=True):
        clf = Recorder(alpha=0.1).set_fit_request(X_unlabeled=True)
        tuned = TunedThresholdClassifierCV(clf, cv=2, scoring="balanced_accuracy")
        tuned.fit(X, y, X_unlabeled=UnlabeledRows(X_u))
    assert seen == [(20, 3)] * 3
    plain = ICLSClassifier(alpha=0.1).fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(tuned.estimator_.coef_, plain.coef_)
    above = plain.predict_proba(X)[:, 1] >= tuned.best_threshold_
    np.testing.assert_array_equal(tuned.predict(X), plain.classes_[above.astype(int)])


def test_a_tuned_threshold_refuses_minus_one(partly):
    X, _, labels = partly
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        TunedThresholdClassifierCV(ICLSClassifier()).fit(X, labels)


def ensemble(kind, clf):
    return kind([("it", clf)]) if kind in (VotingClassifier, StackingClassifier) else kind(clf)


@pytest.mark.parametrize("kind", [VotingClassifier, StackingClassifier, BaggingClassifier])
def test_a_minus_one_that_became_a_class_is_refused_with_its_cause(kind, partly):
    X, _, labels = partly
    advice = r"keep two of them .* or None\. "
    message = "If y marked unknown labels with -1, the meta-estimator that called fit has turned "
    with pytest.raises(ValueError, match=advice + message + "them into class 0, as Voting"):
        ensemble(kind, TSVMClassifier()).fit(X, labels)


def test_cross_val_predict_is_refused_with_its_cause_or_correct(partly):
    X, y, labels = partly
    with pytest.raises(ValueError, match="the meta-estimator that called fit has turned"):
        cross_val_predict(TSVMClassifier(), X, labels, cv=3, method="decision_function")
    predicted = cross_val_predict(ICLSClassifier(), X, labels, cv=3)
    assert np.mean(predicted == y) > 0.95


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2, -1], [1, 2, 3, 3], ["a", "b", "c", "c"], [0.0, 1.0, 2.0, 2.0], [0, 1, 2, 3]],
    ids=str,
)
def test_other_labels_of_several_classes_are_not_blamed_on_scikit_learn(labels):
    """With two classes and a marker there are three, never four."""
    with pytest.raises(ValueError, match=r"found [34] classes in y") as refusal:
        TSVMClassifier().fit(np.eye(4), labels)
    assert "meta-estimator" not in str(refusal.value)


SILENT = [
    OneVsRestClassifier(ICLSClassifier()),
    OneVsOneClassifier(ICLSClassifier()),
    CalibratedClassifierCV(ICLSClassifier(), cv=3),
    VotingClassifier([("it", ICLSClassifier())]),
    StackingClassifier([("it", ICLSClassifier())]),
    BaggingClassifier(ICLSClassifier()),
    VotingClassifier([("it", SelfLearningClassifier(LogisticRegression()))]),
    VotingClassifier([("it", USMClassifier())]),
    make_pipeline(ManifoldKernel(), SVC(kernel="precomputed")),
]


@pytest.mark.parametrize("clf", SILENT, ids=str)
def test_what_the_page_calls_silently_wrong_is(clf, partly):
    X, _, labels = partly
    assert clf.fit(X, labels).classes_.tolist() == [-1, 0, 1]


def test_what_the_page_says_of_machines_in_a_manifold_kernel(partly):
    X, _, labels = partly
    clf = ManifoldClassifier(SVC(kernel="precomputed")).fit(X, labels)
    assert clf.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    "clf",
    [OutputCodeClassifier(ICLSClassifier(), random_state=0), AdaBoostClassifier(ICLSClassifier())],
    ids=str,
)
def test_what_the_page_calls_an_error_is_one(clf, partly):
    X, _, labels = partly
    with pytest.raises(ValueError, match=r"-1 in a y of integers means unknown|worse than random"):
        clf.fit(X, labels)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("kind", ["NaN", "None"])
@pytest.mark.parametrize(
    "clf",
    [
        *SILENT,
        StackingClassifier([("it", ICLSClassifier())]),
        BaggingClassifier(ICLSClassifier()),
        OutputCodeClassifier(ICLSClassifier()),
        AdaBoostClassifier(ICLSClassifier()),
        TunedThresholdClassifierCV(ICLSClassifier()),
    ],
    ids=str,
)
def test_meta_estimators_refuse_nan_and_none(clf, kind, partly):
    X, _, labels = partly
    if kind == "NaN":
        y = np.where(labels < 0, np.nan, labels)
    else:
        y = np.where(labels < 0, None, np.array(["no", "yes"])[labels])
    refused = r"y contains NaN|[Uu]nknown label type|NoneType|worse than random"
    with pytest.raises((ValueError, TypeError), match=refused):
        clf.fit(X, y)
