"""SafeRegressor: its weights, its parts, its inputs, units, and what it says of itself."""

import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

import primum
from primum import ICLSRegressorCV, SafeClassifier, SafeRegressor
from primum.models.trusted import TRUSTED

pytestmark = pytest.mark.usefixtures("quick_drift")

# Candidates that take no time, with a supervised counterpart.
QUICK = {"candidates": ["components"], "cv": 3, "n_repeats": 1}


def partly(n_labeled=30, n_unlabeled=60, d=4, *, seed=0):
    """Return X, y with NaN for unknown targets, and all targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_labeled + n_unlabeled, d)) * np.arange(1, d + 1)
    truth = X @ rng.normal(size=d) + 0.5 * X[:, 0] ** 2 + rng.normal(size=len(X)) + 20.0
    return X, np.where(np.arange(len(X)) < n_labeled, truth, np.nan), truth


def quick(**parameters):
    return SafeRegressor(**{**QUICK, "random_state": 0, **parameters})


@parametrize_with_checks(
    [SafeRegressor(**{**QUICK, "cv": 2}, random_state=0)],
    expected_failed_checks=lambda reg: {
        "check_sample_weight_equivalence_on_dense_data": "folds and scales count rows",
        "check_sample_weight_equivalence_on_sparse_data": "folds and scales count rows",
    },
)
def test_contract(estimator, check):
    check(estimator)


def test_predictions_are_the_weighted_predictions_of_the_models():
    X, y, _ = partly()
    reg = quick(candidates="default", bounds=(-100, 300)).fit(X, y)
    assert list(reg.weights_) == ["ridge", "components", "kernel", "icls", "forest"]
    assert sum(reg.weights_.values()) == pytest.approx(1.0)
    assert 0.0 <= reg.gap_ <= 1e-10
    scores = sum(reg.weights_[name] * model.predict(X) for name, model in reg.models_.items())
    expected = reg.target_mean_ + reg.target_scale_ * scores[:, 0]
    np.testing.assert_allclose(reg.predict(X), expected)
    assert {"components (labelled)", "kernel (labelled)"} <= set(reg.supervised_.weights_)
    assert reg.report_["model"][-3:] == ["safe stack", "supervised stack", "baseline"]


def test_nothing_depends_on_the_unit_of_the_target():
    X, y, _ = partly()
    options = {"candidates": ["components", "kernel", "forest"]}
    reg = quick(**options).fit(X, y)
    for unit in (2.0**-30, 2.0**30):  # powers of two, which change no digit
        other = quick(**options).fit(X, unit * y)
        assert other.weights_ == pytest.approx(reg.weights_, abs=1e-9)
        np.testing.assert_allclose(other.predict(X), unit * reg.predict(X), rtol=1e-9)
        assert other.verdict_.answer == reg.verdict_.answer
        found, expected = (one.verdict_.baseline.interval for one in (other, reg))
        np.testing.assert_allclose(found, unit * np.array(expected), rtol=1e-9)


def test_the_baseline_is_a_ridge_regression_tuned_by_leave_one_out():
    X, y, _ = partly()
    known = ~np.isnan(y)
    reg = quick(shrinkage=1e9).fit(X, y)
    np.testing.assert_allclose(reg.predict(X), reg.baseline_.predict(X), atol=1e-5)
    Z = (X[known] - X[known].mean(axis=0)) / X[known].std(axis=0)
    ridges = [Ridge(alpha).fit(Z, y[known]) for alpha in np.geomspace(1e-3, 1e4, 15)]
    Z_all = (X - X[known].mean(axis=0)) / X[known].std(axis=0)
    distance = [np.abs(one.predict(Z_all) - reg.baseline_.predict(X)).max() for one in ridges]
    assert min(distance) < 1e-8


def test_helpful_unlabelled_rows_are_used_and_credited():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=700)
    X = np.outer(factor, rng.normal(size=80)) + 2.5 * rng.normal(size=(700, 80))
    y = np.where(np.arange(700) < 60, factor, np.nan)
    reg = SafeRegressor(["components"], random_state=0).fit(X, y)
    losses = [
        np.sqrt(np.mean((model.predict(X[60:]) - factor[60:]) ** 2))
        for model in (reg, reg.supervised_, reg.baseline_)
    ]
    assert losses[0] < 0.97 * losses[1]
    assert reg.verdict_.supervised.probabilities.help > 0.5
    assert "The unlabelled rows lower its RMSE" in reg.verdict_.text or (
        reg.verdict_.supervised.answer == "cannot_tell"
    )


def test_pure_noise_makes_no_difference_or_is_not_clear():
    rng = np.random.default_rng(1)
    X, truth = rng.normal(size=(260, 6)), rng.normal(size=260)
    y = np.where(np.arange(260) < 80, truth, np.nan)
    reg = SafeRegressor(["components", "kernel"], n_repeats=1, random_state=0).fit(X, y)
    assert reg.verdict_.answer in ("no_difference", "cannot_tell")
    assert reg.verdict_.supervised.answer in ("no_difference", "cannot_tell")


@pytest.mark.parametrize("unknown", [np.nan, None, pd.NA])
def test_markers_frames_sparse_rows_and_further_rows(unknown):
    X, y, _ = partly()
    reg = quick().fit(X, y)
    marked = [unknown if np.isnan(target) else float(target) for target in y]
    for rows, targets, more in [
        (X, marked, None),
        (pd.DataFrame(X, columns=list("abcd")), pd.Series(marked, dtype="object"), None),
        (X[:30], y[:30], X[30:]),
    ]:
        other = quick().fit(rows, targets, more)
        np.testing.assert_allclose(other.predict(rows), reg.predict(X[: len(rows)]))
    assert np.isfinite(quick().fit(sparse.csr_array(X), y).predict(sparse.csr_array(X))).all()


def test_minus_one_is_a_target():
    X, y, _ = partly()
    y[0] = -1.0
    assert quick().fit(X, y).held_out_rows_.min() == 0


@pytest.mark.parametrize("cv", [2, GroupKFold(3)])
def test_groups_stay_together_and_are_counted(cv):
    X, y, _ = partly()
    groups = np.arange(len(X)) // 3
    reg = quick(cv=cv).fit(X, y, groups=groups)
    for fold in np.unique(reg.held_out_folds_):
        own = reg.held_out_rows_[reg.held_out_folds_ == fold]
        others = np.setdiff1d(np.arange(30), own)
        assert not np.intersect1d(groups[own], groups[others]).size
    assert reg.verdict_.baseline.difference.n_rows == len(np.unique(groups[reg.held_out_rows_]))


def test_rows_in_the_order_of_time():
    X, y, _ = partly()
    reg = quick(cv=TimeSeriesSplit(3)).fit(X, y)
    assert len(reg.held_out_rows_) == 21
    assert reg.held_out_rows_.min() == 9


def test_chosen_rows_are_never_held_out_and_weights_count():
    X, y, _ = partly()
    weight = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1.0 + np.arange(len(X)) % 3)
    reg = quick().fit(X, y, sample_weight=weight, chosen=[1, 2])
    assert set(reg.held_out_rows_) == {row for row in range(30) if row % 5 and row not in (1, 2)}
    kept = weight > 0
    same = quick().fit(X[kept], y[kept], sample_weight=weight[kept], chosen=[0, 1])
    np.testing.assert_allclose(reg.predict(X), same.predict(X))


@pytest.mark.parametrize("scoring", ["mae", "r2", "neg_median_absolute_error"])
def test_scoring_changes_the_verdict_but_not_the_model(scoring):
    X, y, _ = partly()
    reg, other = quick().fit(X, y), quick(scoring=scoring).fit(X, y)
    assert other.weights_ == reg.weights_
    assert other.verdict_.baseline.change != reg.verdict_.baseline.change


def test_own_regressors_see_the_targets_as_they_are_given():
    class Seen(RegressorMixin, BaseEstimator):
        seen: ClassVar[list] = []

        def fit(self, X, y):
            self.seen.append(y)
            self.n_features_in_, self.mean_ = X.shape[1], float(np.nanmean(y))
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    X, y, _ = partly()
    Seen.seen.clear()
    counterpart = ("mine", Seen(), True, DummyRegressor())
    reg = quick(candidates=[counterpart], baseline=LinearRegression()).fit(X, y)
    assert all(np.nanmin(seen) > 5 and np.isnan(seen).sum() >= 60 for seen in Seen.seen)
    assert list(reg.weights_) == ["LinearRegression", "mine"]
    assert list(reg.supervised_.weights_) == ["LinearRegression", "mine (labelled)"]
    known = ~np.isnan(y)
    expected = LinearRegression().fit(X[known], y[known]).predict(X)
    np.testing.assert_allclose(reg.baseline_.predict(X), expected)


def test_a_failing_candidate_is_listed_and_left_out():
    class Fails(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            raise RuntimeError("no")

        def predict(self, X):
            return X

    X, y, _ = partly()
    with pytest.warns(FitFailedWarning, match="mine"):
        reg = quick(candidates=[("mine", Fails(), False)]).fit(X, y)
    assert reg.failures_[0].reason == "RuntimeError: no"
    assert list(reg.weights_) == ["ridge"]


def test_bounds_of_the_labels_are_those_of_each_training_set():
    X, y, _ = partly()
    reg = quick(candidates=["icls"], bounds="labels").fit(X, y)
    assert not reg.failures_
    assert list(reg.weights_) == ["ridge", "icls"]
    alone = quick(candidates=["icls"], bounds=(y[:30].min(), y[:30].max())).fit(X, y)
    model = alone.models_.get("icls")
    if model is not None:
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        icls = ICLSRegressorCV((1e-2, 1e-1, 1.0), (0.0,), cv=3, bounds=alone.bounds)
        choices = [
            icls.set_params(alphas=(alpha,)).fit(Z, y).predict(Z) for alpha in (0.01, 0.1, 1.0)
        ]
        found = alone.target_mean_ + alone.target_scale_ * model.predict(X)[:, 0]
        assert min(np.abs(found - choice).max() for choice in choices) < 1e-6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"candidates": ["logistic"]}, "There is no candidate called 'logistic'"),
        ({"candidates": ["icls"]}, "There is no candidate called 'icls'"),
        ({"candidates": [("mine", LogisticRegression())]}, "does not predict numbers: pass a regr"),
        ({"baseline": "kernel"}, "The baseline 'kernel' uses unlabelled rows"),
        ({"scoring": "accuracy"}, "is for classes: choose one for numeric targets"),
        ({"bounds": (0, 1)}, "which is outside its bounds"),
        ({"bounds": "guess"}, "bounds"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y, _ = partly()
    with pytest.raises(ValueError, match=message):
        quick(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, *[np.nan] * 9], "only one labelled row"),
        ([np.nan] * 10, "No row is labelled"),
        ([np.inf, 1.0, *[np.nan] * 8], "infinit"),
        (["a", "b", *[None] * 8], "not a number"),
    ],
)
def test_bad_targets(y, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(np.arange(20.0).reshape(10, 2), y)


def test_a_constant_target_is_predicted():
    X, y, _ = partly()
    with pytest.warns(UserWarning, match="All 30 known numbers in y are 7: the model predicts"):
        reg = quick(candidates="default").fit(X, np.where(np.isnan(y), np.nan, 7.0))
    np.testing.assert_allclose(reg.predict(X), 7.0)
    assert reg.verdict_.baseline.difference.mean == 0.0
    assert reg.verdict_.answer in ("no_difference", "cannot_tell")


def test_time_budget_and_no_unlabelled_rows():
    X, y, truth = partly()
    reg = quick(time_budget=0).fit(X, y)
    assert list(reg.weights_) == ["ridge"]
    assert reg.own_verdict().limited
    alone = quick().fit(X, truth)
    assert alone.verdict_.supervised is None
    assert "components (labelled)" in alone.weights_


def test_fitted_models_can_be_stored(tmp_path):
    X, y, _ = partly()
    reg = quick(candidates="default", bounds="labels").fit(X, y)
    for other in (
        pickle.loads(pickle.dumps(reg)),
        skops.io.loads(skops.io.dumps(reg), trusted=TRUSTED),
    ):
        np.testing.assert_array_equal(other.predict(X), reg.predict(X))
        assert str(other.verdict_) == str(reg.verdict_)
    primum.save(reg, tmp_path / "model.skops")
    loaded = primum.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict(X), reg.predict(X))


def test_own_verdict_has_the_held_out_predictions():
    X, y, _ = partly()
    own = (reg := quick().fit(X, y)).own_verdict()
    assert own.scores.shape == (30, 1)
    loss = np.sqrt(np.mean((own.scores[:, 0] - y[own.rows]) ** 2))
    assert reg.report_["rmse"][-3] == pytest.approx(loss)
    observed = reg.report_["rmse"][-3] - reg.report_["rmse"][-1]
    assert own.baseline.difference.mean == pytest.approx(observed)


@pytest.mark.parametrize("target", [np.abs, np.asarray])  # -1 may be one of several negative ones
def test_many_targets_of_minus_one_are_probably_unknown(target):
    X, y, truth = partly()
    marked = np.where(np.isnan(y), -1, target(truth))
    with pytest.warns(UserWarning, match="60 of the 90 known numbers in y are -1: .* write NaN"):
        reg = quick(candidates=["ridge"]).fit(X, marked)
    assert " units of y (90% interval" in reg.verdict_.text


def test_targets_without_a_usable_spread_are_refused():
    X, y, _ = partly()
    for estimate in (quick().fit, primum.compare):
        with pytest.raises(ValueError, match=r"differ by at most .*e-1[56].*, whose square underf"):
            estimate(X, 1e-160 * y)
    low, high = quick().fit(X, 1e-130 * y).verdict_.baseline.interval
    one = quick().fit(X, y).verdict_.baseline.interval
    np.testing.assert_allclose([1e130 * low, 1e130 * high], one, rtol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_features_whose_squares_overflow_are_refused(form):
    X, y, _ = partly()
    X[3, 2] = -1e200
    where = "in row 3, column 2, whose square overflows: use other units"
    for estimate in (quick().fit, primum.compare):
        with pytest.raises(ValueError, match=rf"Input X has a number above 1e\+150 {where}"):
            estimate(form(X), y)
    classes = np.where(np.arange(90) < 30, np.arange(90) % 2, -1)
    with pytest.raises(ValueError, match=rf"Input X has a number above 1e\+150 {where}"):
        SafeClassifier().fit(form(X), classes)
    with pytest.raises(ValueError, match="Input X_unlabeled has a number above"):
        quick().fit(X[50:], y[:40], form(X))


@pytest.mark.parametrize(("n_labeled", "withheld"), [(9, True), (10, False)])
def test_a_verdict_needs_ten_numbers(n_labeled, withheld):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < n_labeled, X[:, 0] + 5, np.nan)
    reg = SafeRegressor(**QUICK, random_state=0)
    found = reg.fit(X, y).verdict_
    assert [alert.kind for alert in found.alerts] == ["few numbers"] * withheld
    assert str(found).startswith("Warning: Nothing can be claimed from 9 known num") == withheld
    if withheld:
        assert (found.answer, found.supervised.answer) == ("cannot_tell", "cannot_tell")
    few = reg.fit(X, y, groups=np.arange(60) // 2).verdict_
    assert few.alerts[0].text.startswith("Nothing can be claimed from 5 known numbers")
