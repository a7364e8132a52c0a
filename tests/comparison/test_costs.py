"""Comparisons by costs and by scores of one class: the models follow, and nothing leaks."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import primum
from primum.comparison.card import rare_class_alerts
from primum.comparison.data import read_data, read_loss
from primum.comparison.plan import last_step
from primum.comparison.repeat import code_of
from primum.safe.decision import TunedDecisionClassifierCV

pytestmark = pytest.mark.usefixtures("quick_drift")

LOGISTIC = [("logistic", LogisticRegression())]
METHODS = [("self-learning", primum.SelfLearningClassifier(LogisticRegression()))]
QUICK = {"cv": 3, "n_repeats": 1, "curves": False, "verbose": False}
PLAIN = {**QUICK, "baseline": LOGISTIC, "methods": METHODS}


def rare(n=400, n_labeled=120, share=0.15, seed=0, separation=1.2):
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < share, "yes", "no").astype(object)
    X = rng.normal(size=(n, 3)) + separation * (truth == "yes")[:, None]
    y = truth.copy()
    y[n_labeled:] = None
    return X, y, truth


@pytest.fixture(scope="module")
def by_costs():
    X, y, _ = rare()
    stack = ("safe stack", primum.SafeClassifier([], cv=3, n_repeats=1))
    options = {**QUICK, "baseline": LOGISTIC, "methods": [stack, *METHODS]}
    return primum.compare(X, y, cost={("yes", "no"): 8}, **options)


def test_losses_are_costs_of_rows_that_were_held_out(by_costs):
    held_out = by_costs.records.held_out("baseline").all
    wrong = held_out.predicted != held_out.truth
    cost = np.where(held_out.truth == 1, 8, 1) * wrong
    assert by_costs.methods[0].loss == pytest.approx(cost.mean())
    assert by_costs.loss.measure.name == "cost per row"
    assert by_costs.equivalence == pytest.approx(0.05 * cost.mean(), rel=0.05)
    shares = np.mean(by_costs.plan.table.labels.codes == 1)
    assert by_costs.model_card.guessing == pytest.approx(min(8 * shares, 1 - shares))


def test_every_model_moves_its_threshold_and_the_saved_one_does(by_costs, tmp_path):
    X, _, truth = rare()
    for name in ("baseline", "self-learning", "safe stack"):
        model = by_costs.fit(name)
        assert last_step(model).threshold_ < 0.4
        cost = np.where(truth == "yes", 8, 1) * (model.predict(X) != truth)
        plain = np.where(model.predict_proba(X)[:, 1] >= 0.5, "yes", "no")
        assert cost.mean() < np.mean(np.where(truth == "yes", 8, 1) * (plain != truth))
        path = tmp_path / f"{name}.skops"
        primum.save(model, path)
        read = primum.load(path)
        np.testing.assert_array_equal(read.predict(X), model.predict(X))


def test_the_report_has_costs_threshold_precision_and_recall(by_costs):
    decision = by_costs.decision
    low, high = decision.interval
    assert 0 < low <= decision.threshold <= high < 0.6
    assert decision.positive == "yes"
    recalls = [point.recall[0] for point in decision.points]
    assert recalls == sorted(recalls, reverse=True)
    for point in decision.points:
        for rate in filter(None, (point.recall, point.precision)):
            assert rate[1] <= rate[0] <= rate[2]
    here = next(p for p in decision.points if p.threshold == decision.threshold)
    assert here.recall[2] - here.recall[1] > 0.05  # few rows of the class are no certainty
    page = by_costs.to_html()
    assert "The decision rule" in page
    assert "What errors cost." in by_costs.to_markdown()
    assert json.loads(json.dumps(by_costs.to_dict()))["decision"]["positive"] == "yes"
    assert "cost per row" in by_costs.verdict


def test_the_code_repeats_it(by_costs):
    code = code_of(by_costs.call)
    assert "cost={('yes', 'no'): 8" in code
    assert "positive=" not in code  # as it was not passed
    assert "Objective" not in code
    assert "TunedDecision" not in code


def test_the_mean_of_several_baselines_has_one_rule():
    X, y, _ = rare(200, 60, 0.3)
    baselines = [*LOGISTIC, ("neighbours", KNeighborsClassifier(5))]
    options = {**PLAIN, "baseline": baselines, "scoring": "f1", "positive": "yes"}
    result = primum.compare(X, y, **options)
    assert [entry.name for entry in result.plan.baselines] == ["logistic and neighbours"]
    model = result.fit("baseline")
    assert isinstance(last_step(model), TunedDecisionClassifierCV)
    assert "('neighbours', KNeighborsClassifier())" in code_of(result.call)
    assert result.methods[0].loss < 0
    assert [(one.model, one.of_class) for one in result.coefficients] == [("logistic", "yes")] * 3


@pytest.mark.parametrize(
    "settings",
    [
        {"scoring": "average_precision", "positive": "yes"},
        {"scoring": "recall_at_precision=0.99", "positive": "yes"},
        {"scoring": "balanced_accuracy"},
        {"positive": "yes"},
    ],
)
def test_other_objectives(settings):
    X, y, _ = rare(200, 60, 0.3)
    result = primum.compare(X, y, **PLAIN, **settings)
    tuned = settings.get("scoring", "") not in ("", "average_precision")
    assert hasattr(last_step(result.fit("baseline")), "threshold_") == tuned
    assert (result.decision.interval is not None) == tuned
    low, high = result.model_card.interval
    assert -1 <= low <= result.model_card.loss <= high <= 1
    assert result.to_markdown()


def test_several_classes_with_a_table_of_costs():
    rng = np.random.default_rng(0)
    truth = rng.choice(["a", "b", "c"], 150, p=[0.5, 0.35, 0.15])
    X = rng.normal(size=(150, 2)) + 1.5 * (truth[:, None] == ["b", "c"])
    y = np.where(np.arange(150) < 80, truth, None)
    cost = pd.DataFrame(1 - np.eye(3), list("abc"), list("abc"))
    cost.loc["c"] = [9, 9, 0]
    result = primum.compare(X, y, **PLAIN, cost=cost)
    found = result.fit("baseline").predict(X)
    assert np.mean(found[truth == "c"] == "c") > 0.6
    assert result.decision is None
    assert "class of least expected cost" in result.to_markdown()


def test_few_rows_of_the_rare_class_do_not_crash():
    X, y, _ = rare(150, 50, 0.0)
    y[:3] = "yes"
    result = primum.compare(X, y, cost={("yes", "no"): 5}, **{**QUICK, "methods": ["ICLS"]})
    assert result.failures == []
    assert np.isfinite(result.methods[0].loss)


def test_an_interval_of_a_threshold_needs_held_out_rows_of_both_classes():
    X, y, _ = rare(150, 60, 0.3)
    y[30:60] = "no"
    splits = [(np.arange(30), np.arange(30, 45)), (np.arange(45), np.arange(45, 60))]
    result = primum.compare(X, y, cost={("yes", "no"): 5}, **{**PLAIN, "cv": splits})
    assert result.decision.interval is None
    assert "Too few labelled rows of 'yes' could be held out" in result.to_markdown()


@pytest.mark.parametrize(
    ("counts", "is_rare"),
    [
        ([10] * 11, False),  # of eleven equal classes, each has a share below a tenth
        ([10] * 10 + [1], True),
        ([9, 8, 12, 7, 10, 13, 9, 6, 11, 4], False),  # ten equal classes, drawn at random
        ([55, 5], True),
        ([40, 15, 5], True),
        ([54, 6, 6], True),
        ([4] * 15, False),
    ],
)
def test_a_class_is_rare_among_as_many_as_there_are(counts, is_rare):
    y = np.repeat([f"class {k:02d}" for k in range(len(counts))], counts)
    data = read_data(np.zeros((len(y), 1)), y)
    alerts = rare_class_alerts(data.labels, read_loss(data, "accuracy", None))
    assert [alert.kind for alert in alerts] == ["rare class"] * is_rare


def test_a_rare_class_with_few_labels_is_one_alert():
    X, y, _ = rare(150, 60, 0.0, separation=3.0)
    y[:5] = "yes"
    X[:5] += 3.0
    result = primum.compare(X, y, **PLAIN)
    kinds = [alert.kind for alert in result.alerts]
    assert kinds.count("rare class") + kinds.count("neglected class") == 1
    text = next(alert.text for alert in result.alerts if alert.kind == "rare class")
    assert text.startswith("Only 5 of the 60 labelled rows are of class 'yes': a model that never")
    assert "--cost 'yes:no=5'" in text
    assert "an error of 8.3%" in text
    costs = primum.compare(X, y, cost={("yes", "no"): 5}, **PLAIN)
    assert "rare class" not in [alert.kind for alert in costs.alerts]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cost": {("maybe", "no"): 2}}, "cost names the class 'maybe'"),
        ({"cost": {("yes", "no"): 2}, "scoring": "f1"}, "replace the scoring"),
        ({"cost": "yes:no=5"}, "cost is 'yes:no=5': pass"),
        ({"cost": {("yes", "no"): 1e300}}, r"'no' for 'yes' is 1e\+300, but .* use another unit"),
        ({"cost": {("yes", "no"): 1e-10}}, r"'no' for 'yes' is 1e-10, but .* between 1e-09 and"),
        ({"scoring": "f1"}, "nothing says which of 'no' and 'yes'"),
        ({"positive": "maybe"}, "positive names the class 'maybe'"),
    ],
)
def test_errors_come_before_the_first_fit(settings, message):
    X, y, _ = rare(80, 40, 0.3)
    with pytest.raises(ValueError, match=message):
        primum.compare(X, y, **PLAIN, **settings)


@pytest.mark.parametrize("cost", [1e-9, 1e12])
def test_the_least_and_the_largest_costs_are_judged(cost):
    X, y, _ = rare(80, 40, 0.3)
    result = primum.compare(X, y, cost={("yes", "no"): cost, ("no", "yes"): cost}, **PLAIN)
    once = primum.compare(X, y, cost={("yes", "no"): 1, ("no", "yes"): 1}, **PLAIN)
    both = (found.compared[0].judged.probabilities for found in (result, once))
    assert next(both).help == pytest.approx(next(both).help, rel=1e-3)  # of grids
    assert json.dumps(result.to_dict(), allow_nan=False)


def test_methods_without_scores_are_judged_as_they_are():
    class Classes(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return self.classes_[(X.sum(axis=1) > 0).astype(int)]

    X, y, _ = rare(150, 60, 0.3)
    methods = [("classes", Classes(), False)]
    result = primum.compare(X, y, **{**PLAIN, "methods": methods}, cost={("yes", "no"): 5})
    assert [method.name for method in result.compared] == ["classes"]


@pytest.mark.parametrize("n_draws", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_rules_are_not_chosen_on_rows_that_judge_them(n_draws):
    """On random labels, with costs in inverse proportion to the shares, any rule costs the same."""
    n, n_positive, found = 36, 9, []
    expected = (n - n_positive) / n
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        y = np.full(n + 10, -1)
        y[:n] = rng.permutation(np.arange(n) < n_positive)
        result = primum.compare(
            rng.normal(size=(n + 10, 3)),
            y,
            cost={(1, 0): n / n_positive - 1},
            **{**QUICK, "baseline": LOGISTIC, "random_state": seed},
            methods=[("neighbours", KNeighborsClassifier(3), False)],
        )
        found.append([result.methods[0].loss, result.methods[1].loss])
    error = np.std(found, axis=0) / np.sqrt(n_draws)
    assert (np.mean(found, axis=0) > expected - 3 * error).all()
