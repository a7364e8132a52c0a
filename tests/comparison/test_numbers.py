"""Comparisons that predict numbers: recognised, judged in units of the target, reported."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import TimeSeriesSplit

import primum
from primum.comparison.model import coefficients_of
from primum.reading.classifiers import last_step
from primum.reading.known import read_known

QUICK = {"n_repeats": 1, "cv": 3, "curves": False, "verbose": False}
LINE = [("line", LinearRegression(), False)]


def houses(n=90, n_labeled=45, seed=0):
    """Return houses whose price is linear in two columns, but for noise of standard deviation 3."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"area": rng.uniform(40, 220, n), "rooms": rng.integers(1, 8, n) * 1.0})
    price = 2 * frame["area"] + 10 * frame["rooms"] + rng.normal(0, 3, n)
    frame["price"] = price.where(np.arange(n) < n_labeled)
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="module")
def result():
    return primum.compare(houses(), target="price", methods=LINE, **QUICK)


def test_the_loss_is_in_units_of_the_target(result):
    """The noise has the standard deviation 3, and guessing that of the known numbers."""
    card, known = result.model_card, houses()["price"].dropna()
    assert 2 < card.loss < 4.5
    assert card.interval[0] < card.loss < card.interval[1]
    np.testing.assert_allclose(card.guessing, known.std(ddof=0))
    assert card.r2 > 0.98
    assert result.loss.measure.name == "RMSE"
    assert "units of price" in result.verdict
    assert result.plan.table.kind.how.startswith("Column 'price' has 45 different numbers")


def test_practical_equivalence_is_a_share_of_the_loss_of_the_baseline(result):
    baseline = result.methods[0].loss
    np.testing.assert_allclose(result.limit, 0.02 * baseline)
    assert "(2% of the baseline's RMSE)" in result.to_markdown()


def test_residuals_are_those_of_held_out_rows(result):
    residuals = result.model_card.residuals
    truth = houses()["price"]
    assert len(residuals) == 45
    assert all(one.truth == truth[one.row] for one in residuals)
    errors = [abs(one.predicted - one.truth) for one in residuals]
    assert errors == sorted(errors, reverse=True)
    np.testing.assert_allclose(np.sqrt(np.mean(np.square(errors))), result.methods[0].loss)


def test_the_model_and_its_coefficients(result):
    model = result.fit_recommended()
    rows = pd.DataFrame({"area": [100.0, 150.0], "rooms": [3.0, 3.0]})
    np.testing.assert_allclose(np.diff(model.predict(rows)), 100, atol=5)
    largest = coefficients_of(model, "ridge", result.plan.table.classes)[0]
    assert (largest.feature, largest.direction) == ("area", "larger")
    assert hasattr(last_step(model), "coef_")


def test_reports_in_every_format(result):
    page, text = result.to_html(), result.to_markdown()
    for part in (
        "Predicted against true numbers",
        "largest errors",
        "Quantiles of the known numbers",
    ):
        assert part in page
    assert "onfusion matrix" not in text
    assert "Predicted against" in page
    values = json.loads(json.dumps(result.to_dict()))
    assert (values["target_kind"], values["classes"]) == ("numbers", None)
    assert "target=" in text
    assert "scoring=" not in text.split("primum.compare(")[1]


def test_labels_cannot_settle_numbers(result):
    with pytest.raises(ValueError, match="no disagreement bound"):
        result.rows_to_label()
    with pytest.raises(ValueError, match="no disagreement bound"):
        result.settle({0: 1.0})


def test_one_or_two_fractions_are_no_numeric_target_by_themselves():
    X, y = np.arange(30.0)[:, None], np.where(np.arange(30) < 20, 2.5, np.nan)
    with pytest.raises(ValueError, match=r"All known labels in y are 2\.5, too few to predict"):
        primum.compare(X, y)
    known, _ = read_known(np.where(np.arange(30) < 9, 1.5, y), 30, "classes")
    assert known.classes.tolist() == ["1.5", "2.5"]


def test_a_stored_comparison_continues(tmp_path):
    options = {"target": "price", "methods": LINE, "folder": tmp_path / "fits", **QUICK}
    first = primum.compare(houses(), **options)
    second = primum.compare(houses(), **options, resume=True)
    stored = [fit.seconds for fit in first.records.done.values()]
    assert second.to_dict()["stored_seconds"] == pytest.approx(sum(stored))
    assert f"{len(stored)} fits of earlier runs, which were stored, took" in second.to_markdown()
    assert "of earlier runs" not in first.to_markdown()
    assert first.table["loss"].tolist() == second.table["loss"].tolist()


@pytest.mark.parametrize("scoring", ["mae", "r2", "rmsle"])
def test_other_losses(scoring):
    frame = houses()
    X, y = frame[["area", "rooms"]].to_numpy(), frame["price"].to_numpy()
    result = primum.compare(X, y, methods=LINE, scoring=scoring, **QUICK)
    assert 0 < result.methods[0].loss < 4.5


def test_groups_time_chosen_labels_and_bounds():
    frame = houses()
    X, y = frame[["area", "rooms"]].to_numpy(), frame["price"].to_numpy()
    chosen = np.flatnonzero(~np.isnan(y))[:5]
    bounds = (0.0, 700.0)
    options = {**QUICK, "methods": ["ICLS"], "bounds": bounds, "chosen": chosen}
    result = primum.compare(X, y, groups=np.arange(90) // 3, **options)
    assert result.table.loc["ICLS", "estimated change to its twin"] is not None
    assert not result.failures
    held_out = [one.row for one in result.model_card.residuals]
    assert not set(held_out) & set(chosen)
    timed = primum.compare(X, y, methods=LINE, **QUICK | {"cv": TimeSeriesSplit(3)})
    assert timed.plan.n_folds == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"methods": [("lr", LogisticRegression(), False)]}, "'lr' is a classifier .*numbers are"),
        ({"scoring": "accuracy"}, "scoring='accuracy' is for classes: choose one for numeric"),
        ({"cost": {("a", "b"): 2}}, "cost is for classes, but numbers are predicted"),
        ({"shift": "label"}, "shift='label' weights classes, but numbers are predicted"),
        ({"bounds": (0, 10)}, "which is outside its bounds"),
    ],
)
def test_what_is_refused(options, sentence):
    options = {"methods": LINE, **QUICK, **options}
    with pytest.raises(ValueError, match=sentence):
        primum.compare(houses(), target="price", **options)


def test_a_regressor_that_cannot_learn_from_unlabelled_rows_is_a_failure():
    methods = [("line", LinearRegression())]
    result = primum.compare(houses(), target="price", methods=methods, **QUICK)
    assert "if it cannot learn from them, pass (name, estimator, False)" in str(result.left_out)


def test_a_comparison_of_numbers_needs_ten_of_them():
    given = {"baseline": [("mean", DummyRegressor())], "methods": LINE, **QUICK}
    few = primum.compare(houses(n_labeled=8), target="price", target_kind="numbers", **given)
    assert few.verdict.startswith("Warning: Nothing can be claimed from 8 known numbers")
    assert (few.claims_withheld, few.recommended) == (True, "baseline")
    assert few.methods[-1].verdict.answer == "cannot_tell"
    more = primum.compare(houses(n_labeled=60), target="price", **given)
    assert (more.claims_withheld, more.recommended) == (False, "line")
