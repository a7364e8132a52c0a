"""Safe stacks and the baseline are judged by what they predict in the same splits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import make_pipeline

import primum
from primum import LeastSquaresClassifier, LeastSquaresRegressor, SafeClassifier, SafeRegressor
from primum.comparison.plan import CROSS_FITTED
from primum.comparison.store import _crc

pytestmark = pytest.mark.usefixtures("quick_drift")

BASELINES = [("ridge", LeastSquaresClassifier(alpha=0.1)), ("logistic", LogisticRegression())]
STACK = ("stack", SafeClassifier(["spreading"], random_state=0))
QUICK = {"methods": [STACK], "n_repeats": 2, "verbose": False}


def visitors(n_rows=160, n_labeled=40):
    """Return a table with rare categories, of which training sets see different ones."""
    import pandas as pd

    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, n_rows)
    town = np.minimum(rng.geometric(0.15, n_rows), 25)
    table = {
        "town": [f"t{number}" for number in town],
        "plan": np.where(rng.random(n_rows) < 0.3 + 0.4 * truth, "pro", "basic"),
        "age": 40 + 10 * truth + 10 * rng.normal(size=n_rows),
        "stays": [f"class {c}" if i < n_labeled else None for i, c in enumerate(truth)],
    }
    return pd.DataFrame(table), truth


def judged(result):
    (found,) = [method for method in result.methods if method.name == "stack"]
    return found.verdict


@pytest.mark.parametrize("own", [{}, {"cv": 3, "baseline": "ridge"}])
def test_the_verdict_counts_what_models_of_the_same_folds_predict(own):
    table, truth = visitors()
    methods = [("stack", clone(STACK[1]).set_params(**own))]
    options = {**QUICK, "methods": methods, "curves": False}
    result = primum.compare(table, target="stays", baseline=BASELINES, **options)
    plan, features, labels = result.plan, table.drop(columns="stays"), table["stays"][:40]
    own_scores = result.records.held_out("stack")
    better = worse = change = 0
    for number, (fold, split) in enumerate(zip(own_scores.folds, own_scores.splits, strict=True)):
        np.testing.assert_array_equal(fold.test, plan.split(number).test)
        average = make_pipeline(clone(result.prepare), VotingClassifier(BASELINES, voting="soft"))
        average.fit(features.iloc[fold.train], labels.iloc[fold.train])
        theirs = average.predict(features.iloc[fold.test]) == labels.iloc[fold.test]
        ours = split.predicted == truth[fold.test]
        better, worse = better + np.sum(ours & ~theirs), worse + np.sum(theirs & ~ours)
        change += np.sum(theirs.astype(int) - ours)
    assert better + worse > 0
    verdict = judged(result)
    assert (len(own_scores.folds), len(own_scores.rows)) == (10, 80)
    assert verdict.difference.mean == pytest.approx(change / 80)
    assert (verdict.disagreement.better, verdict.disagreement.worse) == (better / 2, worse / 2)
    assert f"{better / 2:g} right, and the baseline (ridge and logistic) {worse / 2:g}." in (
        verdict.reason
    )
    # What is deployed is what the share of rows with different predictions is about.
    deployed = [result.fit(name).predict(features[40:]) for name in ("stack", "baseline")]
    assert verdict.disagreement.n_different == np.sum(deployed[0] != deployed[1])
    assert verdict.disagreement.n_compared == 120


def test_a_stack_with_the_very_baseline_of_the_comparison_agrees_with_its_own_verdict():
    X, y = make_moons(120, noise=0.1, random_state=0)
    baseline = [("mine", LogisticRegression(C=0.1))]
    options = {**QUICK, "prepare": None, "baseline": baseline, "curves": False}
    result = primum.compare(X, np.where(np.arange(120) < 40, y, -1), **options)
    own, found = result.fit("stack").verdict_.baseline, judged(result)
    assert own.disagreement.better + own.disagreement.worse > 0
    assert found.disagreement == own.disagreement
    assert found.difference == own.difference


def test_a_stack_of_the_comparison_can_be_fitted_to_other_rows():
    table, _ = visitors()
    result = primum.compare(table, target="stays", baseline=BASELINES, curves=False, **QUICK)
    model, features = result.fit("stack"), table.drop(columns="stays")
    again = clone(model).fit(features[:30], table["stays"][:30])
    assert len(again.predict(features[40:])) == 120


def test_numbers_are_judged_in_the_same_splits():
    table, truth = visitors()
    table["stays"] = np.where(np.arange(160) < 40, table["age"] / 10 + truth + 0.25, np.nan)
    methods = [("stack", SafeRegressor(["components"], random_state=0))]
    baseline = [("ridge", LeastSquaresRegressor(alpha=0.1))]
    options = {**QUICK, "methods": methods, "baseline": baseline, "curves": False, "scoring": "mae"}
    result = primum.compare(table, target="stays", target_kind="numbers", **options)
    found, features = result.records.held_out("stack"), table.drop(columns="stays")
    change = []
    for fold, split in zip(found.folds, found.splits, strict=True):
        ridge = make_pipeline(clone(result.prepare), LeastSquaresRegressor(alpha=0.1))
        ridge.fit(features.iloc[fold.train], table["stays"].iloc[fold.train])
        theirs = ridge.predict(features.iloc[fold.test])
        change.extend(np.abs(split.predicted - split.truth) - np.abs(theirs - split.truth))
    assert len(change) == 80
    assert judged(result).difference.mean == pytest.approx(np.mean(change))


def test_splits_without_the_baseline_do_not_count():
    table, _ = visitors()
    result = primum.compare(table, target="stays", baseline=BASELINES, curves=False, **QUICK)
    fit = result.records.get("stack", stage=CROSS_FITTED)
    for number in range(3, 10):
        del result.records.done["all/ridge", number]
    own, others = result.records.beside_baseline(fit)
    assert len(own.folds) == len(own.splits) == len(others.splits) == 3
    for number in range(3):
        del result.records.done["all/ridge", number]
    assert result.records.beside_baseline(fit) is None


def test_the_curve_of_a_stack_ends_at_its_verdict():
    table, _ = visitors()
    result = primum.compare(table, target="stays", baseline=BASELINES, curves=True, **QUICK)
    loss = {(point.name, point.n): point.loss for point in result.curves}
    change = loss["stack", 120] - loss["baseline", 120]
    assert change == pytest.approx(judged(result).difference.mean)
    assert ("stack", 30) in loss


def test_ordered_rows_are_judged_in_that_order():
    table, _ = visitors()
    options = {**QUICK, "cv": TimeSeriesSplit(4), "curves": False}
    result = primum.compare(table, target="stays", baseline=BASELINES, **options)
    assert len(result.records.held_out("stack").folds) == 4
    assert judged(result).difference.n_rows == 32


def test_a_folder_of_an_earlier_version_has_the_stack_fitted_again(tmp_path):
    table, _ = visitors()
    options = {**QUICK, "baseline": BASELINES, "curves": False, "folder": tmp_path}
    result = primum.compare(table, target="stays", **options)
    journal = tmp_path / "journal.jsonl"
    lines = [line.partition(b" ")[2] for line in journal.read_bytes().splitlines()]
    earlier = [line.replace(b"whole/stack", b"cross-fitted/stack") for line in lines]
    assert earlier != lines
    journal.write_bytes(b"".join(b"%s %s\n" % (_crc(line), line) for line in earlier))
    again = primum.compare(table, target="stays", resume=True, **options)
    assert judged(again) == judged(result)
    assert b"whole/stack" in journal.read_bytes()


def with_gaps(table, seed=5):
    rng = np.random.default_rng(seed)
    for name in ("town", "age"):
        table.loc[rng.random(len(table)) < 0.1, name] = None
    return table


@pytest.mark.parametrize("given", [{}, {"group": "house"}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_baseline_of_the_stack_is_the_one_of_the_comparison(n_classes, given):
    table, _ = visitors()
    table = with_gaps(table).assign(house=np.arange(160) % 60)
    if n_classes == 3:
        table.loc[:39:3, "stays"] = "class 2"
    methods = [("stack", SafeClassifier([], random_state=0))]
    options = {"methods": methods, "n_repeats": 1, "curves": False, "verbose": False}
    result = primum.compare(table, target="stays", **options, **given)
    stack, baseline, rows = result.fit("stack"), result.fit("baseline"), table.drop(columns="stays")
    own = stack[-1].baseline_.predict_proba(stack[:-1].transform(rows))
    np.testing.assert_allclose(own, baseline.predict_proba(rows), rtol=1e-9, atol=1e-12)


def test_the_same_holds_for_numbers_and_for_arrays():
    table, truth = visitors()
    table = with_gaps(table.assign(stays=np.where(np.arange(160) < 40, truth + 0.25, np.nan)))
    table.loc[:39, "stays"] += np.linspace(0, 1, 40)
    options = {"n_repeats": 1, "curves": False, "verbose": False}
    methods = [("stack", SafeRegressor([], random_state=0))]
    given = {"target": "stays", "target_kind": "numbers"}
    result = primum.compare(table, methods=methods, **given, **options)
    stack, rows = result.fit("stack"), table.drop(columns="stays")
    own = stack[-1].baseline_.predict(stack[:-1].transform(rows))
    np.testing.assert_allclose(own, result.fit("baseline").predict(rows), rtol=1e-9)
    X, y = make_moons(120, noise=0.2, random_state=0)
    X = X * [1, 50] + [0, 1000]
    methods = [("stack", SafeClassifier([], random_state=0))]
    result = primum.compare(X, np.where(np.arange(120) < 40, y, -1), methods=methods, **options)
    stack = result.fit("stack")
    own = stack[-1].baseline_.predict_proba(stack[:-1].transform(X))
    np.testing.assert_allclose(own, result.fit("baseline").predict_proba(X), rtol=1e-9)
