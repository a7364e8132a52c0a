"""What a comparison must not claim: leaking groups, undefined scores, losses that are mixed up."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import primum
from generate import two_classes
from primum import ICLSClassifier, LeastSquaresClassifier, SafeClassifier, SelfLearningClassifier
from primum._sklearn import logistic_regression_cv
from primum.comparison.compare import needs_labels
from primum.comparison.data import read_data
from primum.comparison.plan import Plan, make_folds, plan_fits
from primum.judging.losses import ERROR
from primum.reading.classifiers import Entry

pytestmark = pytest.mark.usefixtures("quick_drift")

BASELINES = [("logistic", LogisticRegression())]
SAFE = SafeClassifier(["spreading"], baseline=["logistic"], cv=4, n_repeats=1)
QUICK = {"baseline": BASELINES, "n_repeats": 1, "curves": False, "verbose": False}


def partly(n_labeled=40, n_unlabeled=60, **options):
    X, y, X_u, _ = two_classes(n_labeled, n_unlabeled, 3, **options)
    return np.vstack([X, X_u]), np.r_[y, np.full(n_unlabeled, -1)]


def copies(n_groups=20, n_copies=8, n_unlabeled=40, seed=0):
    """Return rows in groups of near copies, with classes that do not depend on the features."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_copies)
    X = rng.normal(size=(n_groups, 3))[groups] + 1e-3 * rng.normal(size=(len(groups), 3))
    y = (np.arange(n_groups) % 2)[groups]
    X = np.vstack([X, rng.normal(size=(n_unlabeled, 3))])
    return X, np.r_[y, np.full(n_unlabeled, -1)], np.r_[groups, np.full(n_unlabeled, -1)]


@pytest.mark.parametrize("cv", [4, GroupKFold(4)])
def test_the_safe_stack_is_judged_in_splits_of_groups(cv):
    X, y, groups = copies()
    methods = [("safe", SAFE)]
    leaking = primum.compare(X, y, methods=methods, cv=4, **QUICK)
    assert leaking.methods[-1].verdict.answer == "help"
    found = primum.compare(X, y, methods=methods, cv=cv, groups=groups, **QUICK)
    assert found.methods[-1].verdict.answer != "help"
    assert found.methods[-1].verdict.difference.n_rows == 20


def test_the_safe_stack_is_judged_in_the_splits_of_the_comparison():
    X, y = partly()
    data = read_data(X, y)
    plan = Plan(data, (), [Entry("safe", SAFE)], make_folds(data, TimeSeriesSplit(3), 3, 0))
    (task,) = [task for tasks in plan_fits(plan) for task in tasks if task.cv is not None]
    for (train, test), fold in zip(task.cv, plan.folds[0], strict=True):
        labeled = plan.table.labels.labeled
        assert np.array_equal(task.train[train], labeled[fold.train])
        assert np.array_equal(task.train[test], labeled[fold.test])
        assert train.max() < test.min()
    # The shares of the rows that are ever held out: three quarters of 40.
    found = primum.compare(X, y, methods=[("safe", SAFE)], cv=TimeSeriesSplit(3), **QUICK)
    assert found.methods[-1].verdict.difference.n_rows == 30


def test_groups_stay_together_with_a_number_of_folds():
    X, y, groups = copies()
    one, other = make_folds(read_data(X, y, None, groups), 4, 2, 0)
    for fold in one + other:
        assert not set(groups[:160][fold.train]) & set(groups[:160][fold.test])


def test_the_safe_stack_is_judged_by_the_scoring_of_the_comparison():
    X, y = partly()
    found = primum.compare(X, y, methods=[("safe", SAFE)], scoring="neg_log_loss", **QUICK)
    given = SafeClassifier(**{**SAFE.get_params(), "scoring": "neg_log_loss"})
    same = primum.compare(X, y, methods=[("safe", given)], scoring="neg_log_loss", **QUICK)
    assert found.table.drop(columns="seconds").equals(same.table.drop(columns="seconds"))


def test_twins_are_compared_by_the_chosen_loss():
    X, y = partly()
    methods = [("ICLS", ICLSClassifier(alpha=0.1))]
    found = primum.compare(X, y, methods=methods, scoring="neg_brier_score", cv=4, **QUICK)
    twins = [("twin", LeastSquaresClassifier(alpha=0.1), False), *methods]
    both = primum.compare(
        X, y, methods=twins, scoring="neg_brier_score", cv=4, prepare=None, **QUICK
    )
    plain = primum.compare(
        X, y, methods=methods, scoring="neg_brier_score", cv=4, prepare=None, **QUICK
    )
    losses = {method.name: method.loss for method in both.methods}
    assert plain.methods[-1].twin.difference.mean == pytest.approx(losses["ICLS"] - losses["twin"])
    assert "Brier score" in found.methods[-1].twin.text
    assert found.methods[-1].to_dict()["twin_measure"] == "Brier score"
    harm = found.to_markdown().partition("Could a method do harm?")[2].partition("In words")[0]
    assert harm.count("| Brier score |") == 2


def test_a_twin_without_scores_is_compared_in_error():
    X, y = partly()
    methods = [("self-learning", SelfLearningClassifier(LogisticRegression()))]
    found = primum.compare(X, y, methods=methods, scoring="neg_log_loss", **QUICK)
    assert "log loss" in found.methods[-1].twin.text
    done = {unit: replace(fit, twin_scores=None) for unit, fit in found.records.done.items()}
    again = replace(found, records=replace(found.records, done=done))
    assert "error" in again.methods[-1].twin.text
    assert again.methods[-1].twin_measure == ERROR


class NotANumber(LogisticRegression):
    """Its probabilities are not numbers."""

    def predict_proba(self, X):
        return np.nan * super().predict_proba(X)


def test_scores_that_are_not_numbers_are_failures_and_no_help():
    X, y = partly()
    found = primum.compare(X, y, methods=[("bad", NotANumber(), False)], **QUICK)
    assert found.recommended == "baseline"
    assert "not finite for 8 rows" in found.failures[0].reason
    with pytest.raises(ValueError, match=r"baseline bad failed.*not finite.*nothing to compare"):
        primum.compare(
            X, y, methods=[("safe", SAFE)], **{**QUICK, "baseline": [("bad", NotANumber())]}
        )


def test_undefined_scores_are_refused_before_the_fits():
    X, y = partly()
    first = np.flatnonzero(y == 0)[:3]
    splits = [(np.setdiff1d(np.arange(40), [row]), [row]) for row in first]
    with pytest.raises(ValueError, match="'roc_auc' cannot be computed in the 1 rows that split 0"):
        primum.compare(X, y, methods=[("safe", SAFE)], scoring="roc_auc", cv=splits, **QUICK)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_repeats": 0}, "n_repeats must be an int >= 1, got 0"),
        ({"n_repeats": 1.5}, "n_repeats must be an int >= 1, got 1.5"),
        ({"level": 2}, "level must be between 1/2 and 1, got 2"),
        ({"equivalence": -1}, "equivalence must be a number of at least 0, got -1"),
        (
            {"equivalence": 1},
            "equivalence=1 would count every difference as none: pass .* 0.01 for",
        ),
        ({"equivalence": 1.5, "scoring": "neg_brier_score"}, "equivalence=1.5 would count every"),
        ({"time_budget": -1}, "time_budget must be at least 0, or None, got -1"),
    ],
)
def test_numbers_out_of_range_are_refused(wrong, message):
    X, y = partly()
    with pytest.raises(ValueError, match=message):
        primum.compare(X, y, **{**QUICK, **wrong})


def test_any_random_state():
    X, y = partly(20, 20)
    methods = [("self-learning", SelfLearningClassifier(LogisticRegression()))]
    tables = [
        primum.compare(X, y, methods=methods, random_state=state, **QUICK).table
        for state in (np.random.RandomState(3), np.random.RandomState(3), None)
    ]
    assert tables[0].drop(columns="seconds").equals(tables[1].drop(columns="seconds"))


def test_splits_that_train_on_held_out_rows_are_refused():
    X, y = partly()
    with pytest.raises(ValueError, match="Split 0 of cv trains on 40 of the 40 labelled rows that"):
        primum.compare(X, y, methods=[("safe", SAFE)], cv=[(np.arange(40), np.arange(40))], **QUICK)


def test_the_curve_of_the_safe_stack_is_relative_to_the_curve_of_the_baseline():
    X, y = partly()
    options = {**QUICK, "n_repeats": 2, "curves": True}
    result = primum.compare(X, y, methods=[("safe", SAFE)], **options)
    at_all = {point.name: point.loss for point in result.curves if point.n == 60}
    # Curves are means over the first repeat, the table's losses over both.
    first = [result.loss.of_split(result.records.baseline(number)) for number in range(5)]
    assert at_all["baseline"] == pytest.approx(np.mean(first))
    change = result.methods[-1].observed_change
    assert at_all["safe"] == pytest.approx(max(at_all["baseline"] + change, 0.0))


@pytest.mark.parametrize("seed", range(3))
def test_a_model_that_hardly_beats_guessing_is_called_that(seed):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(50) % 5 == 0, np.full(50, -1)].astype(int)  # 10 of 50 are of class 1
    X, methods = rng.normal(size=(100, 2)), [("self-learning", SelfLearningClassifier())]
    noise = primum.compare(X, y, methods=methods, **QUICK)
    error = noise.table.loc["baseline", "loss"]
    how = "is no better than guessing" if error >= 0.2 else "hardly beats guessing"
    assert f"The recommended model {how}: error {100 * error:.1f}% (90% in" in noise.verdict
    X[:50, 0] += 9 * y[:50]
    assert "guessing" not in primum.compare(X, y, methods=methods, **QUICK).verdict


def test_a_baseline_without_features_that_matter_is_no_better_than_guessing():
    X, y = np.ones((100, 1)), np.r_[np.arange(50) % 5 == 0, np.full(50, -1)].astype(int)
    methods = [("self-learning", SelfLearningClassifier())]
    verdict = primum.compare(X, y, methods=methods, prepare=None, **QUICK).verdict
    assert "is no better than guessing: error 20.0%" in verdict
    assert "never predicts '1' (10 labelled)" in verdict


class Spying(primum.LeastSquaresClassifierCV):
    """Remembers the folds in which penalties were chosen."""

    folds = []  # noqa: RUF012

    def fit(self, X, y, **options):
        self.folds.append(([X[test] for _, test in self.cv], [X[train] for train, _ in self.cv]))
        return super().fit(X, y, **options)


class SpyingICLS(primum.ICLSClassifierCV):
    """Remembers the folds in which penalties were chosen."""

    def fit(self, X, y, **options):
        Spying.folds.append(([X[test] for _, test in self.cv], [X[train] for train, _ in self.cv]))
        return super().fit(X, y, **options)


def test_groups_stay_together_where_penalties_are_chosen():
    X, y, groups = copies()
    X[:, 0] = np.where(groups < 0, -1, groups)  # the first feature says which group it is
    Spying.folds.clear()
    tuned = logistic_regression_cv(Cs=[0.1], cv=3, scoring="neg_log_loss", max_iter=1000)
    found = primum.compare(
        *(X, y),
        baseline=[("ridge", Spying([1.0, 10.0], cv=3)), ("logistic", tuned)],
        methods=[("ICLS", SpyingICLS([1.0], [0.0], cv=3))],
        **{name: value for name, value in QUICK.items() if name != "baseline"},
        prepare=None,
        groups=groups,
    )
    found.fit_recommended()
    assert len(Spying.folds) == 2 * 5 + 1
    for tests, trains in Spying.folds:
        assert len(tests) == 3
        for test, train in zip(tests, trains, strict=True):
            assert not set(test[:, 0]) & set(train[:, 0])
    assert found.methods[0].loss == pytest.approx(0.5, abs=0.2)


class GroupsOfFeatures(LogisticRegression):
    """Has groups of its own, as a group lasso does."""

    def __init__(self, groups=(0, 0, 1)):
        super().__init__()
        self.groups = groups

    def fit(self, X, y, sample_weight=None):
        assert self.groups == (0, 0, 1)
        return super().fit(X, y, sample_weight)


def test_groups_of_features_are_not_those_of_rows():
    X, y, groups = copies()
    baseline = [("own", GroupsOfFeatures())]
    result = primum.compare(
        X, y, **(QUICK | {"baseline": baseline}), methods=["icls"], groups=groups
    )
    assert not result.failures


@pytest.mark.parametrize(
    "prepare",
    [
        SelectKBest(k=3),
        make_pipeline(
            StandardScaler(), ColumnTransformer([("few", SelectKBest(k=3), [0, 1, 2, 3])])
        ),
    ],
)
def test_a_preparation_that_learns_from_labels_does_not_see_those_held_out(prepare):
    X, y = np.random.default_rng(0).normal(size=(60, 40)), np.arange(60) % 2
    methods = [("safe", SafeClassifier(["forest"], baseline=["ridge"], cv=3, n_repeats=1))]
    found = primum.compare(X, y, methods=methods, prepare=prepare, cv=3, **QUICK)
    # Cross-fitted scores are those of one fit, whose preparation has seen all labels.
    assert found.methods[-1].n_splits == 3
    assert [len(record.test) for record in found.records.done.values()] == [20] * 6


def test_a_usual_preparation_is_judged_by_cross_fitted_scores():
    X = np.array([[1.0, 2.0], [np.nan, 1.0], [0.0, 3.0]])
    assert not needs_labels(None, X)
    assert not needs_labels(make_pipeline(SimpleImputer(), StandardScaler()), X)
