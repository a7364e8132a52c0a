"""The comparison on a partly labelled table: splits, storage, time budget, statistics."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder

import primum
from generate import several_classes, two_classes
from primum import LeastSquaresClassifier, SafeClassifier, SelfLearningClassifier
from primum.comparison.data import read_data
from primum.comparison.plan import CROSS_FITTED, Plan, make_folds, plan_fits
from primum.comparison.records import named_classes
from primum.comparison.store import ResultsError
from primum.judging.difference import Posterior
from primum.judging.held_out import resampled_difference
from primum.judging.losses import Predictions, read_scoring
from primum.reading.classifiers import Entry

pytestmark = pytest.mark.usefixtures("quick_drift")

pytestmark = pytest.mark.usefixtures("quick_drift")

BASELINES = [("ridge", LeastSquaresClassifier(alpha=0.1)), ("logistic", LogisticRegression())]
METHODS = [
    ("self-learning", SelfLearningClassifier()),
    ("neighbours", KNeighborsClassifier(), False),
]
QUICK = {"baseline": BASELINES, "methods": METHODS, "n_repeats": 1, "verbose": False}
TWICE = {**QUICK, "n_repeats": 2}


def partly(n_labeled=40, n_unlabeled=60, d=3, **options):
    X, y, X_u, _ = two_classes(n_labeled, n_unlabeled, d, **options)
    return np.vstack([X, X_u]), np.r_[y, np.full(n_unlabeled, -1)]


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it is fitted to and asked for."""

    log: list = []  # noqa: RUF012

    def fit(self, X, y):
        y = np.asarray(y)
        Recorder.log.append((X[:, -1].astype(int), y))
        self.classes_ = np.unique(y[y >= 0])
        self.first_ = X[y >= 0][0]
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X):
        return np.tile([1.0, 0.0], (len(X), 1))


class Timid(LogisticRegression):
    """A logistic regression whose probabilities are all next to 1/2."""

    def predict_proba(self, X):
        return 0.5 + 0.02 * (super().predict_proba(X) - 0.5)


def test_scores_that_are_not_calibrated_are_not_taken_for_errors():
    X, y = partly(60, 100)
    plain = [("logistic", LogisticRegression())]
    methods = [("timid", Timid(), False)]
    settings = {"curves": False, "n_repeats": 2, "verbose": False}
    (verdict,) = (
        method.verdict
        for method in primum.compare(X, y, baseline=plain, methods=methods, **settings).methods
        if method.verdict is not None
    )
    assert verdict.difference.mean == 0
    assert verdict.probabilities.harm == pytest.approx(verdict.probabilities.help, abs=2e-3)


def test_held_out_rows_are_not_seen_and_unlabelled_rows_always_are():
    X, y = partly()
    X = np.column_stack([X, np.arange(len(X))])
    Recorder.log.clear()
    primum.compare(
        X,
        y,
        methods=[("semi", Recorder()), ("supervised", Recorder(), False)],
        baseline=BASELINES,
        prepare=None,
        curves=False,
        n_repeats=1,
        verbose=False,
    )
    unlabeled = set(np.flatnonzero(y < 0).tolist())
    held_out = []
    for rows, labels in Recorder.log:
        if (labels < 0).any():
            assert unlabeled <= set(rows.tolist())
            held_out.append(set(range(len(X))) - set(rows.tolist()))
            np.testing.assert_array_equal(labels, y[rows])
        else:
            assert len(rows) == 32
    assert len(held_out) == 5
    assert set().union(*held_out) == set(np.flatnonzero(y >= 0).tolist())
    assert sum(map(len, held_out)) == 40


def test_the_table_agrees_with_the_definitions():
    X, y = partly(separation=2.0)
    result = primum.compare(X, y, **TWICE, curves=False)
    records = result.records.done
    wrong, base = [], []
    for number in range(10):
        own, *parts = (
            records[f"all/{name}", number] for name in ("neighbours", "ridge", "logistic")
        )
        truth = y[own.test]
        mean = np.mean([part.scores for part in parts], axis=0)
        wrong.append((np.array(own.predicted) != truth).astype(float))
        base.append((mean.argmax(axis=1) != truth).astype(float))
    found = result.table.loc["neighbours"]
    assert found["loss"] == pytest.approx(np.concatenate(wrong).mean())
    assert result.table.loc["baseline", "loss"] == pytest.approx(np.concatenate(base).mean())
    difference = resampled_difference([w - b for w, b in zip(wrong, base, strict=True)], 32)
    disagreement = result.methods[4].verdict.disagreement
    change = np.concatenate(wrong).mean() - np.concatenate(base).mean()
    assert (disagreement.worse - disagreement.better) / 40 == pytest.approx(change)
    posterior = Posterior(difference, disagreement)
    assert found["P(help)"] == pytest.approx(posterior.probabilities.help)
    assert found[["P(help)", "P(no difference)", "P(harm)"]].sum() == pytest.approx(1)
    assert list(result.table.index) == [
        "baseline", "ridge", "logistic", "self-learning", "neighbours",
    ]  # fmt: skip


def test_a_clear_improvement_is_recommended_and_a_clear_harm_is_named():
    """The classes are rings: no line separates them, neighbours do."""
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, 2 * np.pi, 400), rng.integers(0, 2, 400)
    X = (1 + 2 * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.1 * rng.normal(size=X.shape)
    y = np.where(np.arange(400) < 120, y, -1)
    result = primum.compare(X, y, **QUICK, curves=False)
    assert result.recommended == "neighbours"
    better = "is better than the baseline (ridge and logistic)"
    assert result.headline.reason.startswith(f'"neighbours" {better}: its')
    assert result.headline.answer == f"Use neighbours: it {better}."
    assert result.headline.next_step.startswith("This is not due to the unlabelled rows")
    worse = primum.compare(
        X,
        y,
        baseline=[("neighbours", KNeighborsClassifier())],
        methods=[
            ("linear", LogisticRegression(), False),
            ("least squares", LeastSquaresClassifier()),
        ],
        n_repeats=1,
        curves=False,
        verbose=False,
    )
    assert worse.recommended == "baseline"
    assert (
        "neither of the 2 methods has been shown to help, "
        'and "linear", "least squares" would do harm.' in worse.verdict
    )


def test_what_the_unlabelled_rows_contribute_is_compared_with_the_twin():
    X, y = partly(100, 200, separation=2.0)
    result = primum.compare(X, y, **QUICK, curves=False)
    by_name = {method.name: method for method in result.methods}
    assert by_name["self-learning"].twin is not None
    assert by_name["neighbours"].twin is None


def test_everything_is_plain_json_and_in_words():
    X, y = partly()
    result = primum.compare(X, y, **QUICK, curves=True)
    found = json.loads(json.dumps(result.to_dict()))
    assert found["n_labeled"] == 40
    assert {point["axis"] for point in found["curves"]} == {"n_unlabeled"}
    assert [p["n"] for p in found["curves"] if p["name"] == "self-learning"] == [0, 4, 15, 60]
    verdict = json.loads(json.dumps(result.methods[-1].verdict.to_dict()))
    assert found["methods"][-1]["verdict"] == verdict
    assert {"text", "interval_level"} < verdict.keys()
    assert result.verdict.split() == str(result).split()
    assert max(map(len, str(result).splitlines())) <= 80
    assert result.headline.answer in repr(result)
    assert "<table" in result._repr_html_()
    assert "with 40 labelled rows" in result.verdict.lower()


def test_curves_over_labelled_rows_need_enough_of_them():
    X, y = partly(100, 20)
    assert primum.compare(X, y, **QUICK).curves == []  # by default there are none
    result = primum.compare(X, y, **QUICK, curves=True)
    sizes = {p.n for p in result.curves if p.axis == "n_labeled"}
    assert sizes == {20, 40, 80}
    names = {p.name for p in result.curves if p.axis == "n_labeled"}
    assert names == {"baseline", "self-learning", "neighbours"}


@pytest.mark.slow  # test_runner.py and test_run.py start such processes too
def test_runs_and_processes_agree():
    X, y = partly()
    one, two = (primum.compare(X, y, **QUICK, n_jobs=n, curves=False) for n in (1, 2))
    pd.testing.assert_frame_equal(
        one.table.drop(columns="seconds"), two.table.drop(columns="seconds")
    )


def test_the_first_repeats_do_not_depend_on_their_number():
    few, many = (make_folds(read_data(*partly()), None, n, 0) for n in (1, 3))
    for one, other in zip(few[0], many[0], strict=True):
        np.testing.assert_array_equal(one.test, other.test)
    assert not np.array_equal(many[0][0].test, many[1][0].test)


class Counting(LogisticRegression):
    fits = 0

    def fit(self, X, y):
        Counting.fits += 1
        return super().fit(X, y)


def test_a_folder_is_resumed_extended_and_never_mixed(tmp_path):
    X, y = partly()
    options = {**TWICE, "methods": [("counted", Counting(), False)], "curves": False}
    first = primum.compare(X, y, **options, folder=tmp_path)
    assert Counting.fits == 10
    again = primum.compare(X, y, **options, folder=tmp_path, resume=True)
    assert Counting.fits == 10
    pd.testing.assert_frame_equal(first.table, again.table)
    more = {**options, "methods": [*options["methods"], *METHODS], "n_repeats": 3}
    extended = primum.compare(X, y, **more, folder=tmp_path, resume=True)
    assert Counting.fits == 15
    assert extended.table.loc["neighbours", "splits"] == 15
    with pytest.raises(ResultsError, match="already contains results"):
        primum.compare(X, y, **options, folder=tmp_path)


def _more_labels(X, y):
    return {"y": np.where(np.arange(len(y)) == np.flatnonzero(y == -1)[0], 0, y)}


OTHER = {
    "features": (lambda X, y: {"X": X + 1}, r"X was '\d+ x \d+, checksum \w+', now '\d+ x \d+, "),
    "labels": (_more_labels, r"labels was '40 of \d+ known, .*', now '41 of \d+ known, checksum"),
    "seed": (lambda X, y: {"random_state": 1}, r"seed was 0, now 1; cv was '5 folds, "),
    "folds": (lambda X, y: {"cv": 4}, r"cv was '5 folds, checksum \w+', now '4 folds, checksum"),
    "nested": (lambda X, y: {"nested": True}, r"nested was False, now True\)"),
    "method": (
        lambda X, y: {"methods": [("own", LogisticRegression(C=2.0), False)]},
        r"data\.own\.classifier\.steps\.classify\.C was 1\.0, now 2\.0\)",
    ),
    "use": (
        lambda X, y: {"methods": [("own", LogisticRegression())]},
        r"data\.own\.uses_unlabeled was False, now True\)",
    ),
}


@pytest.mark.parametrize(("change", "named"), OTHER.values(), ids=OTHER)
def test_a_folder_of_another_comparison_is_refused_and_the_setting_named(tmp_path, change, named):
    X, y = partly()
    methods = [("own", LogisticRegression(C=1.0), False)]
    given = {"X": X, "y": y, **QUICK, "methods": methods, "curves": False, "folder": tmp_path}
    primum.compare(**given)
    with pytest.raises(ResultsError, match=rf"results of another configuration \({named}"):
        primum.compare(**given | change(X, y), resume=True)


class Failing(LogisticRegression):
    def fit(self, X, y):
        if X[0, 0] > 0:
            raise FloatingPointError("no convergence here")
        return super().fit(X, y)


def test_failures_name_classes():
    reason = "5 rows of every class are needed, but class 1 has 2 (class 7)"
    named = named_classes(reason, np.array(["fraud", "ok"]))
    assert named == "5 rows of every class are needed, but class 'ok' has 2 (class 7)"


def test_failures_are_listed_and_the_method_is_not_judged():
    X, y = partly()
    result = primum.compare(
        X, y, **{**QUICK, "methods": [("failing", Failing(), False), *METHODS]}, curves=False
    )
    assert 0 < len(result.failures) < 10
    assert result.failures[0].reason == "FloatingPointError: no convergence here"
    assert "failing failed in split" in result.left_out[0]
    assert "failing" not in result.table.index
    assert 'Not judged, because fits failed (`failures` says why): "failing".' in result.verdict


class NeverFitted(LogisticRegression):
    def fit(self, X, y):
        raise FloatingPointError("no convergence anywhere")


def test_a_baseline_that_always_fails_is_an_error():
    X, y = partly()
    with pytest.raises(ValueError, match=r"The baseline mine failed in split .*no convergence"):
        primum.compare(X, y, **{**QUICK, "baseline": [("mine", NeverFitted())]})


def test_a_method_that_takes_the_marker_for_a_class_is_a_failure():
    X, y = partly()
    methods = [("wrong", LogisticRegression()), *METHODS]
    result = primum.compare(X, y, **{**QUICK, "methods": methods}, curves=False)
    assert "treats -1, the marker of unlabelled rows, as a class" in result.failures[0].reason


class Slow(KNeighborsClassifier):
    def fit(self, X, y):
        import time

        time.sleep(0.3)
        return super().fit(X, y)


def test_what_exceeds_the_time_budget_is_left_out_and_said():
    X, y = partly()
    methods = [("slow", Slow(), False), *METHODS]
    result = primum.compare(X, y, **{**QUICK, "methods": methods}, time_budget=0.9, curves=False)
    assert "slow" not in result.table.index
    # On a busy machine the time is over before the first fit, whose time is then unknown.
    assert any(
        text.startswith("slow was left out to keep within the time budget")
        for text in result.left_out
    )


def test_the_baseline_is_computed_whatever_the_budget():
    X, y = partly()
    methods = [("safe stack", SafeClassifier(["spreading"])), *METHODS]
    result = primum.compare(X, y, **{**TWICE, "methods": methods}, time_budget=0.0)
    assert list(result.table.index) == ["baseline", "ridge", "logistic"]
    none = "No method could be compared with the baseline (ridge and logistic)."
    assert result.headline.reason == none
    (hurry,) = (alert.text for alert in result.alerts if alert.kind == "time")
    assert hurry.startswith("For lack of time, the comparison is without safe stack and")
    assert "--time-budget" in hurry
    assert any("A repeat of the cross-validation was left out" in t for t in result.left_out)
    report = result.to_markdown()
    assert "The labelled rows were split into 5 folds. Every classifier" in report
    assert "was fitted once" not in report


@pytest.mark.parametrize(
    "scoring", ["neg_brier_score", "neg_log_loss", "roc_auc", "balanced_accuracy"]
)
def test_scorings(scoring):
    X, y = partly(60)
    result = primum.compare(X, y, **QUICK, scoring=scoring, curves=False)
    assert result.table["loss"].between(-1, 2).all()
    assert set(result.table["answer"].dropna()) <= {"cannot_tell", "no_difference", "help", "harm"}


def test_losses_of_rows_and_splits():
    truth, scores = np.array([0, 1, 1]), np.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
    found = Predictions(truth, scores.argmax(axis=1), scores)
    classes = np.array(["no", "yes"])
    np.testing.assert_array_equal(read_scoring("accuracy", classes).of_rows(found), [0, 1, 0])
    brier = read_scoring("neg_brier_score", classes).of_rows(found)
    np.testing.assert_allclose(brier, [0.04, 0.36, 0.01])
    logs = read_scoring("neg_log_loss", classes).of_rows(found)
    np.testing.assert_allclose(logs, -np.log([0.8, 0.4, 0.9]))
    balanced = read_scoring("balanced_accuracy", classes)
    expected = 1 - balanced_accuracy_score(truth, found.predicted)
    assert balanced.of_split(found) == pytest.approx(expected)
    own = read_scoring(make_scorer(accuracy_score), classes)
    assert own.of_split(found) == pytest.approx(-2 / 3)


class NoScores(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_methods_without_scores():
    X, y = partly()
    options = {**QUICK, "methods": [("constant", NoScores(), False), *METHODS], "curves": False}
    assert "constant" in primum.compare(X, y, **options).table.index
    result = primum.compare(X, y, **options, scoring="neg_brier_score")
    assert "constant" not in result.table.index
    assert "constant has neither predict_proba nor decision_function" in result.left_out[0]


def test_groups_stay_together_and_are_counted_instead_of_rows():
    X, y = partly(48, 20)
    groups = np.arange(len(X)) // 4
    result = primum.compare(X, y, **QUICK, cv=GroupKFold(4), groups=groups, curves=False)
    for fold in result.plan.folds[0]:
        assert not set(groups[fold.train]) & set(groups[fold.test])
    assert result.methods[-1].verdict.difference.n_rows == 12
    with pytest.raises(ValueError, match=r"groups has the shape \(3,\), but X has 68 rows"):
        primum.compare(X, y, **QUICK, groups=[1, 2, 3])


def test_groups_of_x_leave_further_unlabelled_rows_alone():
    X, y = partly(48, 20)
    options = {**QUICK, "n_repeats": 1, "curves": False}
    result = primum.compare(X, y, X[48:] + 0.1, groups=np.arange(68) // 4, **options)
    assert result.plan.table.n_unlabeled == 40
    assert result.drift.n_rows == 12  # one of each group


def test_rows_ordered_in_time():
    X, y = partly(60, 20)
    result = primum.compare(X, y, **QUICK, cv=TimeSeriesSplit(3), curves=False)
    assert all(fold.train.max() < fold.test.min() for fold in result.plan.folds[0])
    assert result.table.loc["neighbours", "splits"] == 3


def test_several_classes_by_name():
    X, y, X_u, _ = several_classes(60, 50, 3, 3)
    names = np.array(["apple", "banana", "cherry"])
    result = primum.compare(X, names[y], X_u, **QUICK, curves=False)
    assert result.to_dict()["classes"] == ["apple", "banana", "cherry"]
    assert result.table.loc["neighbours", "loss"] < 0.5


def test_sparse_rows_and_data_frames_with_their_own_preparation():
    X, y = partly()
    dense = primum.compare(X, y, **QUICK, prepare=None, curves=False)
    as_sparse = primum.compare(sparse.csr_array(X), y, **QUICK, prepare=None, curves=False)
    pd.testing.assert_series_equal(dense.table["loss"], as_sparse.table["loss"])
    frame = pd.DataFrame({"kind": np.where(X[:, 0] > 0, "a", "b"), "size": X[:, 1]})
    prepare = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    result = primum.compare(frame, y, **QUICK, prepare=prepare, curves=False)
    assert result.table.loc["baseline", "loss"] < 0.5


def test_drift_is_said():
    X, y = partly(60, 200)
    X[y < 0] += 3
    result = primum.compare(X, y, **QUICK, curves=False)
    assert result.drift.found
    assert "come from visibly different distributions" in result.verdict


def test_no_unlabelled_rows():
    X, y = partly(60, 0)
    result = primum.compare(X, y, **QUICK)
    assert result.drift is None
    assert result.curves == []
    assert "self-learning" in result.table.index
    assert result.verdict.startswith("All rows are labelled, so no unlabelled rows can help.")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"methods": "all"}, "methods must be 'default' or a list of .*, got 'all'"),
        ({"prepare": "rank"}, "prepare must be 'scale', a transformer or None, got 'rank'"),
        ({"methods": [("ridge", LogisticRegression(), False)]}, "but 'ridge' is taken: rename it"),
        ({"methods": [("baseline", LogisticRegression(), False)]}, "but 'baseline' is taken"),
        ({"cv": 50}, "cv=50 folds need at least 50 labelled rows of every class"),
    ],
)
def test_bad_arguments(wrong, message):
    X, y = partly()
    with pytest.raises(ValueError, match=message):
        primum.compare(X, y, **{**QUICK, **wrong})


def test_too_few_labels_of_a_class():
    X, y = partly()
    y[np.flatnonzero(y == 1)[2:]] = -1
    with pytest.raises(ValueError, match="only one labelled row of class 1"):
        primum.compare(X, y, cv=2, verbose=False)


def test_the_default_methods():
    X, y = partly(30, 30)
    result = primum.compare(X, y, cv=3, n_repeats=1, curves=False, verbose=False)
    assert list(result.table.index) == [
        "baseline", "ridge", "logistic", "safe stack", "ICLS", "self-learning", "TSVM",
        "forest", "boosting",
    ]  # fmt: skip
    assert result.failures == []


def test_the_safe_stack_is_judged_by_its_cross_fitted_scores_unless_nested():
    X, y = partly(40, 60)
    safe = SafeClassifier(["spreading"], n_repeats=1, random_state=0)
    options = {**QUICK, "methods": [("safe", safe), *METHODS], "prepare": None, "n_repeats": 1}
    result = primum.compare(X, y, **options, curves=True)
    own = result.fit("safe").verdict_
    found = {method.name: method for method in result.methods}
    assert found["safe"].twin.difference == own.supervised.difference
    assert found["safe"].loss == pytest.approx(
        found["baseline"].loss + found["safe"].verdict.difference.mean
    )
    assert [p.n for p in result.curves if p.name == "safe"] == [0, 15, 60]
    nested = primum.compare(X, y, **options, nested=True)
    assert nested.table.loc["safe", "splits"] == 5
    assert ("all/safe", 4) in nested.records.done


@pytest.fixture(scope="module", name="ring")
def ring_result():
    """Classes that no line separates, but trees do."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(160, 2))
    y = np.where(np.arange(160) < 120, (np.abs(X).max(axis=1) > 0.7).astype(int), -1)
    settings = {"n_repeats": 1, "curves": False, "verbose": False}
    return X, primum.compare(
        X, y, methods=["forest", "boosting", *METHODS], baseline=BASELINES, **settings
    )


def test_a_supervised_alternative_is_recommended_and_not_credited_to_unlabelled_rows(ring):
    _, result = ring
    assert result.recommended in ("forest", "boosting")
    best = next(m for m in result.methods if m.name == result.recommended)
    # Adjusted for the four rows that are compared with the baseline.
    assert best.verdict.level == pytest.approx(1 - 0.05 / 4)
    assert best.verdict.probabilities.help >= best.verdict.level
    assert best.twin is None
    assert not best.uses_unlabeled
    assert "This is not due to the unlabelled rows" in result.verdict


def test_every_row_of_the_table_can_be_fitted_by_name(ring):
    X, result = ring
    for name in result.table.index:
        assert result.fit(name).predict(X).shape == (160,)
    assert result.fit("Self learning") is result.fit("self-learning")
    assert result.fit_recommended() is result.fit(result.recommended)
    names = "baseline, ridge, logistic, forest, boosting, self-learning, neighbours"
    with pytest.raises(ValueError, match=f"There is no model 'trees': choose from {names}."):
        result.fit("trees")


def test_a_fit_of_the_safe_stack_counts_as_its_folds():
    X, y = partly()
    table = read_data(X, y)
    entries = [Entry("safe", SafeClassifier(n_repeats=3)), Entry("other", Recorder())]
    plan = Plan(table, (), entries, make_folds(table, 4, 3, 0))
    parts = {task.entry.name: task.n_fits for tasks in plan_fits(plan) for task in tasks}
    assert parts == {"safe": 13, "other": 1}
    plan = Plan(table, (), entries[:1], make_folds(table, TimeSeriesSplit(3), 3, 0))
    (task,) = [task for tasks in plan_fits(plan) for task in tasks if task.stage == CROSS_FITTED]
    assert task.n_fits == 4
