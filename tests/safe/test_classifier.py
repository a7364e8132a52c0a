"""SafeClassifier: its weights, its parts, its inputs, and what it says of itself."""

import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from generate import several_classes, two_classes
from primum import ICLSClassifier, SafeClassifier, SAFEWClassifier
from primum.judging.losses import ROW_LOSSES

pytestmark = pytest.mark.usefixtures("quick_drift")

pytestmark = pytest.mark.usefixtures("quick_drift")

# Candidates that take no time, with a supervised counterpart and a baseline.
QUICK = {"candidates": ["spreading"], "baseline": ["ridge"], "cv": 3, "n_repeats": 1}


def partly(n_labeled=30, n_unlabeled=60, d=3, n_classes=2, *, seed=0):
    """Return X, y with -1 for unknown labels, and all labels."""
    if n_classes == 2:
        X, y, more, rest = two_classes(n_labeled, n_unlabeled, d, seed=seed, separation=2.0)
    else:
        X, y, more, rest = several_classes(n_labeled, n_unlabeled, d, n_classes, seed=seed)
    truth = np.concatenate([y, rest])
    return np.concatenate([X, more]), np.append(y, np.full(n_unlabeled, -1)), truth


def quick(**parameters):
    return SafeClassifier(**{**QUICK, "random_state": 0, **parameters})


@parametrize_with_checks(
    [SafeClassifier(**{**QUICK, "cv": 2}, random_state=0)],
    expected_failed_checks=lambda clf: {
        "check_classifiers_classes": "y of integers marks unknown labels with -1",
        "check_sample_weight_equivalence_on_dense_data": "folds and scales count rows",
        "check_sample_weight_equivalence_on_sparse_data": "folds and scales count rows",
    },
)
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_weighted_scores_of_the_models(n_classes):
    X, y, _ = partly(n_classes=n_classes)
    clf = quick().fit(X, y)
    assert sum(clf.weights_.values()) == pytest.approx(1.0)
    assert 0.0 <= clf.gap_ <= 1e-10
    expected = sum(clf.weights_[name] * model.predict(X) for name, model in clf.models_.items())
    np.testing.assert_allclose(clf.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[expected.argmax(axis=1)])


@pytest.mark.parametrize("name", [None, "mine"])
def test_a_classifier_of_the_users_is_the_baseline(name):
    X, y, _ = partly()
    plain = GaussianNB()
    clf = quick(shrinkage=1e9, baseline=plain if name is None else [(name, plain)]).fit(X, y)
    expected = plain.fit(X[y != -1], y[y != -1]).predict_proba(X)
    np.testing.assert_allclose(clf.baseline_.predict_proba(X), expected)
    assert list(clf.baseline_.weights_) == [name or "GaussianNB"]


def test_strong_shrinkage_gives_the_mean_of_the_baselines():
    X, y, _ = partly()
    clf = quick(shrinkage=1e9, baseline=["ridge", "neighbours"]).fit(X, y)
    assert clf.baseline_.weights_ == {"ridge": 0.5, "neighbours": 0.5}
    np.testing.assert_allclose(clf.predict_proba(X), clf.baseline_.predict_proba(X), atol=1e-7)
    # The weights are those of the baseline up to the reciprocal of the shrinkage.
    assert clf.verdict_.baseline.disagreement.n_different == 0
    assert clf.verdict_.baseline.change == pytest.approx(0.0, abs=1e-4)


def test_default_has_all_candidates_and_their_counterparts():
    X, y, _ = partly()
    clf = SafeClassifier(cv=3, n_repeats=1, random_state=0).fit(X, y)
    assert list(clf.weights_) == [
        *("ridge", "logistic", "components", "spreading", "kernel", "tsvm", "forest")
    ]
    assert set(clf.supervised_.weights_) == {
        *("ridge", "logistic", "components (labelled)", "neighbours"),
        *("kernel (labelled)", "svm", "forest"),
    }
    assert set(clf.models_) == {name for name, weight in clf.weights_.items() if weight > 0}
    table = pd.DataFrame(clf.report_).set_index("model")
    assert list(table.index[-3:]) == ["safe stack", "supervised stack", "baseline"]
    assert table.loc["spreading", "counterpart"] == "neighbours"
    assert table["error"].between(0, 1).all()


def test_helpful_unlabelled_rows_are_used():
    """Two spirals: with few labels, only the graph of all rows separates them."""
    rng = np.random.default_rng(0)
    angle, truth = 6 * np.pi * np.sqrt(rng.random(1000)), np.tile([0, 1], 500)
    X = np.stack([np.cos(angle + np.pi * truth), np.sin(angle + np.pi * truth)], axis=1)
    X *= angle[:, None]
    y = np.where(np.arange(1000) < 60, truth, -1)
    clf = SafeClassifier(["spreading"], random_state=0).fit(X, y)
    assert clf.weights_["spreading"] > 0.5
    assert clf.score(X[60:], truth[60:]) > 0.9
    assert clf.baseline_.score(X[60:], truth[60:]) < 0.7
    assert clf.verdict_.baseline.answer == "help"
    assert clf.verdict_.supervised.answer == "help"
    assert clf.verdict_.answer == "help"
    assert "The unlabelled rows lower its error by about" in str(clf.verdict_)


def test_same_result_whatever_n_jobs_and_each_time():
    X, y, _ = partly(n_classes=3)
    first = quick(candidates=["forest", "spreading"]).fit(X, y)
    second = quick(candidates=["forest", "spreading"], n_jobs=2).fit(X, y)
    assert first.weights_ == second.weights_
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_x_unlabeled_is_the_same_as_rows_of_x():
    X, y, _ = partly()
    known = y >= 0
    one = quick().fit(X, y)
    other = quick().fit(X[known], y[known], X[~known])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12)


def test_data_frames_sparse_rows_and_text_labels():
    X, y, _ = partly()
    names = np.array(["no", "yes"], dtype=object)
    labels = [names[code] if code >= 0 else None for code in y]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = quick().fit(table, labels)
    assert list(clf.feature_names_in_) == ["a", "b", "c"]
    assert set(clf.predict(table)) == {"no", "yes"}
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(table.rename(columns={"a": "z"}))
    thin = quick().fit(sparse.csr_matrix(X), y)
    assert thin.predict_proba(sparse.csr_array(X)).shape == (len(X), 2)


@pytest.mark.parametrize(
    ("store", "sign", "scaled"),
    [(np.array, abs, True), (sparse.csr_matrix, abs, False), (sparse.csr_matrix, np.array, True)],
)
def test_rows_are_standardised_unless_they_are_sparse_and_not_negative(store, sign, scaled):
    X, y, _ = partly()
    rows = store(sign(X * np.array([1.0, 30.0, 0.2])))
    scores = {how: quick(standardize=how).fit(rows, y).predict_proba(rows) for how in (True, False)}
    np.testing.assert_array_equal(quick().fit(rows, y).predict_proba(rows), scores[scaled])
    assert np.abs(scores[True] - scores[False]).max() > 1e-3


def test_no_unlabelled_rows_give_the_supervised_stack():
    X, y, _ = partly()
    clf = quick().fit(X[y >= 0], y[y >= 0])
    assert clf.weights_ == clf.supervised_.weights_
    assert set(clf.weights_) == {"ridge", "neighbours"}
    assert "There are no unlabelled rows" in clf.verdict_.text
    assert clf.verdict_.supervised is None


def test_weights_of_rows():
    X, y, _ = partly()
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    both = {"baseline": ["ridge", "neighbours"]}
    plain = quick(**both).fit(X, y).weights_
    assert quick(**both).fit(X, y, sample_weight=weight).weights_ != plain
    ones = quick(**both).fit(X, y, sample_weight=np.ones(len(y))).weights_
    assert ones == pytest.approx(plain, abs=1e-9)


def test_rows_without_weight_are_left_out():
    X, y, _ = partly()
    keep = np.arange(len(y)) % 5 > 0
    some = quick().fit(X, y, sample_weight=keep.astype(float))
    few = quick().fit(X[keep], y[keep], sample_weight=np.ones(keep.sum()))
    assert some.weights_ == pytest.approx(few.weights_, abs=1e-9)
    np.testing.assert_allclose(some.predict_proba(X), few.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("cv", [3, ShuffleSplit(4, random_state=0), TimeSeriesSplit(3)], ids=str)
def test_any_splitter(cv):
    X, y, _ = partly()
    clf = quick(cv=cv).fit(X, y)
    assert sum(clf.weights_.values()) == pytest.approx(1.0)


def test_pairs_of_indices_are_rows_of_x():
    X, y, _ = partly()
    half = [(np.arange(15), np.arange(15, 30)), (np.arange(15, 30), np.arange(15))]
    order = np.roll(np.arange(len(y)), 7)
    clf = quick(cv=half).fit(X, y)
    moved = [tuple((part + 7) % len(y) for part in pair) for pair in half]
    other = quick(cv=moved).fit(X[order], y[order])
    assert clf.weights_ == pytest.approx(other.weights_, abs=1e-6)


def test_groups_are_counted_instead_of_rows():
    X, y, _ = partly()
    groups = np.arange(len(y)) // 3
    clf = quick(cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert "with 30 labelled rows in 10 groups" in clf.verdict_.baseline.text.lower()


@pytest.fixture(scope="module", params=[2, 3])
def scored_by_accuracy(request):
    X, y, _ = partly(n_classes=request.param)
    return X, y, quick(scoring="accuracy").fit(X, y)


@pytest.mark.parametrize(
    "scoring",
    [*ROW_LOSSES, "roc_auc_ovr", "f1_macro", make_scorer(lambda a, b: -np.mean(a != b))],
    ids=str,
)
def test_scoring_changes_the_verdict_but_not_the_model(scoring, scored_by_accuracy):
    X, y, plain = scored_by_accuracy
    clf = quick(scoring=scoring).fit(X, y)
    assert clf.weights_ == plain.weights_
    if scoring != "accuracy":
        assert clf.verdict_.baseline.change != plain.verdict_.baseline.change or (
            plain.verdict_.baseline.change == 0
        )


class Failing(ClassifierMixin, BaseEstimator):
    """A classifier that raises an exception in some of its fits."""

    n_fits = 0

    def __init__(self, which=(2,)):
        self.which = which

    def fit(self, X, y):
        Failing.n_fits += 1
        if Failing.n_fits in self.which:
            raise RuntimeError(f"fit {Failing.n_fits} went wrong")
        self.classes_ = np.unique(y[y >= 0])
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return self.classes_[np.zeros(len(X), int)]


@pytest.mark.parametrize(("which", "step"), [((2,), "fold 1"), ((11,), "final fit")])
def test_a_failing_candidate_is_listed_and_left_out(which, step):
    X, y, _ = partly(n_labeled=40)
    Failing.n_fits = 0
    # Constant scores of 1/2 have weight where the others are too sure; make sure of the refit.
    clf = quick(candidates=[("mine", Failing(which), True)], shrinkage=1e-9, cv=5, n_repeats=2)
    if step == "final fit":
        y = np.where(y >= 0, np.random.default_rng(1).integers(0, 2, len(y)), -1)
    with pytest.warns(FitFailedWarning, match=f"mine.*{step}: RuntimeError: fit {which[0]} went"):
        clf.fit(X, y)
    assert list(clf.weights_) == ["ridge"]
    assert [str(failure) for failure in clf.failures_] == [
        f"mine, {step}: RuntimeError: fit {which[0]} went wrong"
    ]


def test_a_failing_baseline_is_an_error():
    X, y, _ = partly()
    Failing.n_fits = 0
    clf = SafeClassifier([("mine", Failing((1,)), False)], baseline=["mine"])
    with pytest.raises(ValueError, match=r"baseline cannot be fitted \(mine, fold 0: RuntimeError"):
        clf.fit(X, y)
    assert not hasattr(clf, "classes_")


def test_a_candidate_that_takes_the_marker_for_a_class_is_left_out():
    X, y, _ = partly()
    clf = quick(candidates=[("naive", GaussianNB(), True)])
    with pytest.warns(FitFailedWarning, match="treats -1, the marker of unlabelled rows, as a"):
        clf.fit(X, y)


def test_constant_scores_do_no_harm():
    X, y, _ = partly()
    clf = quick(candidates=[("constant", DummyClassifier(), False)]).fit(X, y)
    assert clf.weights_["constant"] < 0.2
    np.testing.assert_array_equal(clf.predict(X), clf.baseline_.predict(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"candidates": ["forrest"]}, "There is no candidate called 'forrest': choose from ridge"),
        ({"candidates": "all"}, "candidates must be 'default' or a list"),
        ({"candidates": [("mine",)]}, "Every item of candidates must be a name"),
        ({"scoring": "rmse"}, "scoring='rmse' is for numeric targets: choose one for classes"),
        ({"scoring": "acuracy"}, "'acuracy' is not a scorer of scikit-learn: did you mean 'accura"),
        ({"scoring": "r2"}, "scoring='r2' is for numeric targets: choose one for classes"),
        ({"cv": GroupKFold(2)}, "keeps groups together: pass the group of each row as groups="),
        ({"candidates": [("ridge", GaussianNB(), False)]}, "Two candidates are called 'ridge'"),
        ({"baseline": []}, "baseline is empty"),
        ({"baseline": ["kernel"]}, "The baseline 'kernel' uses unlabelled rows"),
        ({"cv": []}, "cv has no splits"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y, _ = partly()
    with pytest.raises(ValueError, match=message):
        quick(**parameters).fit(X, y)


def test_a_candidate_without_scores_is_refused():
    class Hard(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.zeros(len(X), int)

    X, y, _ = partly()
    with pytest.raises(ValueError, match=r"'hard' \(Hard\) has neither predict_proba nor"):
        SafeClassifier([("hard", Hard(), False)]).fit(X, y)


def test_one_label_per_class_is_refused():
    X, y, _ = partly(n_classes=3)
    y[3:] = -1
    with pytest.raises(ValueError, match=r"Every class has only one labelled row \(3 in all\)"):
        quick().fit(X, y)


def test_a_class_with_one_label_is_allowed():
    """It is missing in one training set of every repeat."""
    X, y, _ = partly(n_classes=3)
    third = np.flatnonzero(y == 2)
    y[third[1:]] = -1
    with pytest.warns(UserWarning, match="Class 2 has one labelled row"):
        clf = quick(candidates=["logistic", "spreading", "icls"], cv=2).fit(X, y)
    assert not clf.failures_
    assert clf.predict_proba(X).shape == (len(X), 3)


def test_own_classifiers_with_decision_values_data_frames_and_counterparts():
    X, y, _ = partly()
    table = pd.DataFrame(X, columns=["a", "b", "c"])

    class NeedsNames(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            assert list(X.columns) == ["a", "b", "c"]
            return super().fit(X, y, sample_weight)

    own = [
        ("linear", Perceptron(), False),
        ("named", NeedsNames(), False),
        ("implicit", ICLSClassifier(0.1), True, make_pipeline(StandardScaler(), GaussianNB())),
    ]
    clf = quick(candidates=own).fit(table, y)
    assert not clf.failures_
    assert "implicit (labelled)" in clf.supervised_.weights_
    assert "implicit" not in clf.supervised_.weights_
    assert clf.predict_proba(table).shape == (len(X), 2)


class Altering(GaussianNB):
    """A classifier that alters the rows it is given, in place."""

    def fit(self, X, y, sample_weight=None):
        fitted = super().fit(X, y, sample_weight)
        X[:] = 0.0
        return fitted

    def predict_proba(self, X):
        found = super().predict_proba(X)
        if hasattr(X, "iloc"):
            X.iloc[:, :] = np.nan
        else:
            X[:] = np.nan
        return found


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_a_candidate_that_alters_its_rows_does_not_alter_those_of_others(form):
    X, y, _ = partly()
    rows = form(X.copy())
    own = quick(candidates=[("own", Altering(), False)]).fit(rows, y)
    plain = quick(candidates=[("own", GaussianNB(), False)]).fit(rows, y)
    assert not own.failures_
    for clf in (own, SAFEWClassifier([("own", Altering(), False)]).fit(rows, y)):
        assert np.isfinite(clf.predict_proba(rows)).all()
        np.testing.assert_array_equal(np.asarray(rows), X)
    np.testing.assert_allclose(own.predict_proba(rows), plain.predict_proba(rows))


class Weighed(GaussianNB):
    """A classifier that counts the fits to which weights were passed."""

    n_weighted = 0

    def fit(self, X, y, sample_weight=None):
        Weighed.n_weighted += sample_weight is not None
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("requested", [True, False])
def test_metadata_is_routed(requested):
    X, y, _ = partly()
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    Weighed.n_weighted = 0
    with config_context(enable_metadata_routing=True):
        own = Weighed().set_fit_request(sample_weight=requested)
        clf = quick(candidates=[("mine", own, False)])
        clf.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weight)
    assert (Weighed.n_weighted > 0) == requested
    assert ("mine ignores sample_weight." in clf.notes_) != requested


def test_without_routing_weights_go_where_they_are_accepted():
    X, y, _ = partly()
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    own = [("mine", make_pipeline(StandardScaler(), GaussianNB()), False)]
    clf = quick(candidates=own).fit(X, y, sample_weight=weight)
    assert clf.notes_ == ["mine ignores sample_weight."]


def test_a_time_budget_leaves_out_what_does_not_fit():
    X, y, _ = partly()
    clf = quick(candidates=["spreading", "forest"], time_budget=1e-6).fit(X, y)
    assert list(clf.weights_) == ["ridge"]
    assert clf.notes_ == [
        "spreading and neighbours: left out, because of the time budget.",
        "forest: left out, because of the time budget.",
    ]
    assert "left out, because of the time budget" in clf.verdict_.text
    roomy = quick(candidates=["spreading", "forest"], time_budget=1e6).fit(X, y)
    assert roomy.weights_ == quick(candidates=["spreading", "forest"]).fit(X, y).weights_


def test_samples_are_named_in_the_verdict():
    X, y, _ = partly(n_unlabeled=1501)
    clf = quick(candidates=["kernel"]).fit(X, y)
    note = "kernel uses a random sample of 1500 of the 1501 unlabelled rows."
    assert note in clf.notes_
    assert note in clf.verdict_.text


def test_progress_is_shown(capsys):
    X, y, _ = partly()
    quick(verbose=True).fit(X, y)
    last = capsys.readouterr().err.splitlines()[-1]
    n_fits = last.split()[-2]
    assert last == f"SafeClassifier: {n_fits} of {n_fits} fits"


def test_unfitted_and_refitted():
    X, y, _ = partly()
    with pytest.raises(NotFittedError):
        SafeClassifier().predict(X)
    clf = quick().fit(X, y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        clf.predict(np.full((1, 3), np.nan))


def test_fitted_models_can_be_stored():
    X, y, _ = partly()
    clf = SafeClassifier(cv=2, n_repeats=1, random_state=0).fit(X, y)
    expected = clf.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(X), expected)
    stored = skops.io.dumps(clf)
    trusted = skops.io.get_untrusted_types(data=stored)
    assert all(name.startswith(("primum.safe.", "primum.judging.")) for name in trusted)
    again = skops.io.loads(stored, trusted=trusted)
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert str(again.verdict_) == str(clf.verdict_)
