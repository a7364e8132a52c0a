"""Regression with targets within bounds, judged by generic solvers, theorems and invariances."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import lsq_linear
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from generate import BOUNDS, FEATURES
from generate import bounded_targets as problem
from primum import ICLSClassifier, ICLSRegressor, LeastSquaresRegressor, UndeterminedModelWarning
from reference_solver import solving

SEEDS = st.integers(0, 2**32 - 1)
METRICS = ["labeled", 0.3, "all", "euclidean"]
PARAMETERS = [
    {},
    {"metric": 0.3},
    {"metric": "all"},
    {"metric": "euclidean"},
    {"alpha": 0.01},
    {"alpha": 0.1, "alpha_labeled": 0.0},
    {"fit_intercept": False},
    {"fit_intercept": False, "metric": "all", "alpha": 0.05},
]
each_fit = pytest.mark.parametrize("parameters", PARAMETERS, ids=str)


class GenericProblem:
    """The problem written out with NumPy, in the units of y: ``||W (B q + c - beta_sup)||^2``."""

    def __init__(
        self, X, y, *, alpha=0.0, alpha_labeled=None, metric="labeled", fit_intercept=True
    ):
        alpha_labeled = alpha if alpha_labeled is None else alpha_labeled
        known, n = ~np.isnan(y), len(y)
        first = int(fit_intercept)
        center = X.mean(axis=0) if fit_intercept else 0.0
        D = np.column_stack([np.ones((n, first)), X - center])
        ridge = np.eye(D.shape[1])[first:]
        L, A = D[known], np.vstack([D, (n * alpha) ** 0.5 * ridge])
        A_l = np.vstack([L, (len(L) * alpha_labeled) ** 0.5 * ridge])
        inverse, y_l = np.linalg.pinv(A), np.r_[y[known], np.zeros(len(ridge))]
        self.B, self.c = inverse[:, :n][:, ~known], inverse[:, :n][:, known] @ y[known]
        self.sup = np.linalg.lstsq(A_l, y_l)[0]
        of_labels, of_all = A_l.T @ A_l / len(L), A.T @ A / n
        self.of_loss = metric in ("labeled", 0)
        self.floor = float(np.sum((A_l @ self.sup - y_l) ** 2)) / len(L) if self.of_loss else 0.0
        share = {"labeled": 0.0, "all": 1.0}.get(metric, metric)
        H = np.eye(D.shape[1]) / len(L) if metric == "euclidean" else None
        H = (1 - share) * of_labels + share * of_all if H is None else H
        self.W = np.linalg.cholesky(H).T
        self.D = D

    def objective(self, q):
        return self.floor + float(np.sum((self.W @ (self.B @ q + self.c - self.sup)) ** 2))

    def solve(self, low, high):
        A, b = self.W @ self.B, self.W @ (self.sup - self.c)
        return lsq_linear(A, b, bounds=(low, high), method="bvls", tol=1e-14, max_iter=5000).x

    def predictions(self, q):
        return self.D @ (self.B @ q + self.c)


@each_fit
@pytest.mark.parametrize("own", [False, True], ids=["common bounds", "bounds of every row"])
def test_a_generic_solver_finds_the_same(parameters, own):
    X, _truth, y, bins = problem()
    if own:
        reg = ICLSRegressor(**parameters).fit(X, y, target_bounds=bins)
        low, high = bins[np.isnan(y)].T
    else:
        reg = ICLSRegressor(**parameters, bounds=BOUNDS).fit(X, y)
        low, high = (np.full(60, end) for end in BOUNDS)
    generic = GenericProblem(X, y, **parameters)
    q = generic.solve(low, high)
    assert reg.certificate_.converged
    assert reg.certificate_.moved
    assert reg.certificate_.objective == pytest.approx(generic.objective(q), rel=1e-7, abs=1e-9)
    assert reg.certificate_.objective == pytest.approx(generic.objective(reg.targets_), abs=1e-9)
    np.testing.assert_allclose(reg.predict(X), generic.predictions(q), atol=1e-5)
    np.testing.assert_allclose(reg.predict(X), generic.predictions(reg.targets_), atol=1e-9)
    assert (reg.targets_ >= low).all()
    assert (reg.targets_ <= high).all()


def test_bins_move_the_model_towards_the_truth():
    X, truth, y, bins = problem(L=6)
    reg = ICLSRegressor().fit(X, y, target_bounds=bins)
    assert reg.certificate_.moved
    assert reg.score(X, truth) > reg.supervised_.score(X, truth)


@pytest.mark.parametrize("metric", METRICS)
def test_a_brute_force_search_finds_nothing_lower(metric):
    X, _truth, y, _ = problem(L=8, U=3, d=2)
    reg = ICLSRegressor(bounds=BOUNDS, metric=metric).fit(X, y)
    generic = GenericProblem(X, y, metric=metric)
    ends = np.linspace(*BOUNDS, 30)
    grid = np.stack(np.meshgrid(ends, ends, ends), axis=-1).reshape(-1, 3)
    lowest = min(generic.objective(q) for q in grid)
    assert lowest >= reg.certificate_.lower_bound - 1e-9
    assert reg.certificate_.objective <= lowest + 1e-9


@pytest.mark.parametrize("metric", METRICS)
@given(seed=SEEDS)
def test_random_targets_respect_the_lower_bound(metric, seed):
    """Recomputed from scratch with NumPy: the certificate's own algebra is not used."""
    rng = np.random.default_rng(seed)
    L, U, d = rng.integers(3, 12), rng.integers(1, 15), rng.integers(1, 3)
    X, _truth, y, bins = problem(L, U, d, seed=seed)
    X *= rng.uniform(0.1, 10, d)
    own = rng.random(L + U) < 0.5
    reg = ICLSRegressor(bounds=BOUNDS, metric=metric, alpha=0.01)
    reg.fit(X, y, target_bounds=np.where(own[:, None], bins, np.nan))
    low, high = np.where(own[:, None], bins, BOUNDS)[L:].T
    generic = GenericProblem(X, y, metric=metric, alpha=0.01)
    for _ in range(5):
        q = rng.uniform(low - 1, high + 1).clip(low, high)
        assert generic.objective(q) >= reg.certificate_.lower_bound * (1 - 1e-9) - 1e-9


@st.composite
def bounded_targets(draw, max_features=6, max_rows=40):
    """Draw X, true targets, y with unknown ones, and bounds that contain the targets."""
    n, d = draw(st.integers(3, max_rows)), draw(st.integers(1, max_features))
    rng = np.random.default_rng(draw(SEEDS))
    X = rng.normal(size=(n, d))
    if draw(st.booleans()):
        X = draw(arrays(np.float64, (n, d), elements=FEATURES))
    truth = draw(arrays(np.float64, n, elements=st.floats(-50, 50, allow_subnormal=False)))
    y = np.where(draw(arrays(np.bool_, n)), np.nan, truth)
    y[0] = truth[0]
    margins = rng.exponential(draw(st.sampled_from([0.0, 0.1, 10.0])), size=(2, n))
    return X, truth, y, np.column_stack([truth - margins[0], truth + margins[1]])


@given(bounded_targets(), st.booleans(), st.booleans())
def test_the_projection_is_never_worse_than_supervised(drawn, fit_intercept, own):
    """The theorem: whatever the true targets within their bounds, on all training rows."""
    X, truth, y, bounds = drawn
    reg = ICLSRegressor(bounds=(-50, 50), metric="all", fit_intercept=fit_intercept)
    if own:
        reg.set_params(bounds=None)
    reg.fit(X, y, target_bounds=bounds if own else None)
    loss, twin = (np.mean((model.predict(X) - truth) ** 2) for model in (reg, reg.supervised_))
    assert loss <= twin * (1 + 1e-6) + 1e-6 * 100**2


@each_fit
@pytest.mark.parametrize(("a", "b"), [(1e-3, 0.0), (250.0, -7e3), (-3.0, 40.0), (1e6, 1e8)])
def test_units_of_the_target_do_not_matter(parameters, a, b):
    if not parameters.get("fit_intercept", True):
        b = 0.0
    X, _truth, y, bins = problem()
    bins[::3] = np.nan
    low, high = BOUNDS
    one = ICLSRegressor(**parameters, bounds=(low, high)).fit(X, y, target_bounds=bins)
    ends = sorted([a * low + b, a * high + b])
    other = clone(one).set_params(bounds=ends)
    other.fit(X, a * y + b, target_bounds=np.sort(a * bins + b, axis=1))
    size = abs(a) * (high - low)
    np.testing.assert_allclose(other.predict(X), a * one.predict(X) + b, rtol=0, atol=1e-8 * size)
    before, after = one.certificate_, other.certificate_
    assert after.objective == pytest.approx(a * a * before.objective, rel=1e-6, abs=1e-9 * size**2)
    assert after.shift == pytest.approx(abs(a) * before.shift, rel=1e-6, abs=1e-9 * size)
    assert after.labeled_loss == pytest.approx(a * a * before.labeled_loss, rel=1e-6)
    assert (after.moved, after.converged, after.changed) == (before.moved, True, None)


def test_two_classes_are_targets_between_0_and_1():
    X, truth, _, _ = problem(L=20)
    labels = (truth > np.median(truth)).astype(int)
    labels[20:] = -1
    clf = ICLSClassifier(alpha=0.01).fit(X, labels)
    reg = ICLSRegressor(0.01, bounds=(0, 1)).fit(X, np.where(labels < 0, np.nan, labels))
    np.testing.assert_allclose(reg.coef_, clf.coef_[0], atol=1e-10)
    np.testing.assert_allclose(reg.predict(X), clf.decision_function(X) + 0.5, atol=1e-10)
    np.testing.assert_allclose(reg.targets_, clf.soft_labels_, atol=1e-9)
    assert reg.certificate_.objective == pytest.approx(clf.certificate_.objective)


@each_fit
def test_weights_repeat_rows(parameters):
    X, _truth, y, bins = problem()
    bins[::2] = np.nan
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weight[:12] += 1
    reg = ICLSRegressor(**parameters, bounds=BOUNDS)
    heavy = clone(reg).fit(X, y, sample_weight=weight, target_bounds=bins)
    X_often, y_often, bins_often = (np.repeat(each, weight, axis=0) for each in (X, y, bins))
    often = clone(reg).fit(X_often, y_often, target_bounds=bins_often)
    np.testing.assert_allclose(heavy.predict(X), often.predict(X), atol=1e-7)
    # A row of weight zero could have any of its targets.
    absent = weight[12:] == 0
    middle = np.where(np.isnan(bins), BOUNDS, bins).mean(axis=1)[12:]
    np.testing.assert_allclose(heavy.targets_[absent], middle[absent])
    assert heavy.targets_.shape == (60,)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_unlabelled_rows_it_is_the_twin_and_ridge_regression(fit_intercept):
    X, truth, _, _ = problem()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    reg = ICLSRegressor(0.1, fit_intercept=fit_intercept).fit(X, truth, sample_weight=weight)
    ridge = Ridge(0.1 * weight.sum(), fit_intercept=fit_intercept, tol=1e-12)
    ridge.fit(X, truth, sample_weight=weight)
    for model in (reg, reg.supervised_):
        np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-9)
        assert model.intercept_ == pytest.approx(ridge.intercept_, abs=1e-9)
        assert isinstance(model.intercept_, float)
    assert reg.targets_.shape == (0,)
    assert "There are no unlabelled rows." in str(reg.certificate_)


def test_the_supervised_regressor_ignores_rows_of_unknown_target():
    X, _, y, _ = problem()
    for model in (
        LeastSquaresRegressor().fit(X, y),
        ICLSRegressor(bounds=(0, 40)).fit(X, y).supervised_,
    ):
        expected = Ridge(0.0, solver="svd").fit(X[:12], y[:12])
        np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-9)


@pytest.mark.parametrize("solver", ["newton", "scale", "lbfgsb", "reference"])
def test_all_solvers_agree(solver):
    X, _truth, y, bins = problem()
    bins[::2] = np.nan
    reg = ICLSRegressor(bounds=BOUNDS).fit(X, y, target_bounds=bins)
    with solving(solver) as name:
        other = clone(reg).set_params(solver=name).fit(X, y, target_bounds=bins)
    np.testing.assert_allclose(other.predict(X), reg.predict(X), atol=1e-4)
    assert other.certificate_.objective == pytest.approx(reg.certificate_.objective, rel=1e-6)


class CentredRegressor(ICLSRegressor):
    """Of several models, it takes the one of targets in the middle of their bounds."""

    _tie_break = "half"


def test_fewer_labels_than_features():
    X, _truth, y, bins = problem(L=5, d=12)
    with pytest.warns(UndeterminedModelWarning, match="difference of the predictions is"):
        reg = ICLSRegressor(metric="labeled").fit(X, y, target_bounds=bins)
    assert reg.certificate_.converged
    text = str(reg.certificate_)
    assert "no other has a mean squared difference from the twin" in text
    half = CentredRegressor(metric="labeled").fit(X, y, target_bounds=bins)
    assert "with targets closest to the middle of their bounds was chosen" in str(half.certificate_)


def test_the_certificate_speaks_of_targets():
    X, _truth, y, bins = problem(L=6)
    reg = ICLSRegressor().fit(X, y, target_bounds=bins)
    text, proof = str(reg.certificate_), reg.certificate_
    width = BOUNDS[1] - BOUNDS[0]
    assert proof.scale == pytest.approx(width**2)
    assert f"No possible targets of the {len(y) - 6} unlabelled rows can lower it" in text
    tolerance = 1e-8 * (width**2 + reg.certificate_.objective)
    assert f"(proven; tolerance {tolerance:.1e})" in text
    assert f"an RMS difference of {proof.shift:.2g} over all rows" in text
    assert "score" not in text
    assert proof.changed is None
    moved = reg.predict(X) - reg.supervised_.predict(X)
    assert proof.shift == pytest.approx(np.sqrt(np.mean(moved**2)))
    assert proof.labeled_loss == pytest.approx(np.mean((reg.predict(X[:6]) - y[:6]) ** 2))
    assert proof.distance == pytest.approx(np.mean(moved**2))


def test_a_fit_that_stops_early_says_so_in_units_of_the_range():
    X, _, y, bins = problem(U=200, d=8)
    with pytest.warns(ConvergenceWarning, match="of the squared range of the targets of the opt"):
        reg = ICLSRegressor(max_iter=1, tol=1e-14).fit(X, y, target_bounds=bins)
    proof = reg.certificate_
    assert not proof.converged
    assert proof.moved is (None if proof.supervised_feasible else True)


@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("metric", ["labeled", "all"])
def test_the_gap_of_an_unfinished_fit_is_a_bound_in_the_units_of_the_target(metric, unit):
    X, _, y, bins = problem(U=200, d=8)
    y, bins = unit * y, unit * bins
    early = ICLSRegressor(metric=metric, max_iter=1, solver="lbfgsb", tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        early.fit(X, y, target_bounds=bins)
    generic = GenericProblem(X, y, metric=metric)
    least = generic.objective(generic.solve(*bins[np.isnan(y)].T))
    proof = early.certificate_
    assert proof.objective > least + 1e-6 * unit**2
    assert proof.lower_bound <= least + 1e-9 * unit**2
    # The bound from the residual: the sum of p (q - best q), with p the gradient of the objective.
    H = generic.W.T @ generic.W
    p = 2 * generic.B.T @ (H @ (generic.B @ early.targets_ + generic.c - generic.sup))
    low, high = bins[np.isnan(y)].T
    slack = np.maximum(p * (early.targets_ - low), p * (early.targets_ - high))
    assert proof.gap == pytest.approx(slack.sum(), rel=1e-6)


def test_further_rows_have_the_common_bounds_when_others_have_their_own():
    X, _, y, bins = problem()
    y[12:40], own = np.nan, np.where(np.arange(72)[:, None] < 40, bins, np.nan)
    reg = ICLSRegressor(bounds=BOUNDS)
    apart = clone(reg).fit(X[:40], y[:40], X_unlabeled=X[40:], target_bounds=own[:40])
    together = clone(reg).fit(X, y, target_bounds=own)
    np.testing.assert_allclose(apart.predict(X), together.predict(X), atol=1e-9)
    low, high = np.where(np.isnan(own), BOUNDS, own)[12:].T
    generic = GenericProblem(X, y)
    expected = generic.predictions(generic.solve(low, high))
    np.testing.assert_allclose(apart.predict(X), expected, atol=1e-5)


def test_targets_do_not_exceed_their_bounds_by_rounding(tmp_path):
    low, high = -5.0, -0.6
    assert low + (high - low) > high
    X, _, y, _ = problem()
    y = np.where(y > 20.0, high, low) + 0.0 * y
    reg = ICLSRegressor(bounds=(low, high)).fit(X, y)
    assert reg.targets_.min() == low
    assert reg.targets_.max() == high
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X[12:], columns=list("abcd")).to_parquet(path)
    from_file = clone(reg).fit(X[:12], y[:12], X_unlabeled=path).targets(path)
    assert from_file.min() == low
    assert from_file.max() == high


@pytest.mark.parametrize("solver", ["newton", "lbfgsb", "reference"])
def test_equal_bounds_fix_a_target_without_making_the_row_a_labelled_one(solver):
    X, truth, y, _ = problem()
    fixed = np.column_stack([truth, truth])
    with solving(solver) as name:
        reg = ICLSRegressor(solver=name).fit(X, y, target_bounds=fixed)
    oracle = LeastSquaresRegressor().fit(X, truth)
    np.testing.assert_allclose(reg.predict(X), oracle.predict(X), atol=1e-9)
    np.testing.assert_allclose(reg.targets_, truth[12:])
    twin = LeastSquaresRegressor().fit(X[:12], y[:12])
    np.testing.assert_allclose(reg.supervised_.coef_, twin.coef_)


def test_a_censored_target_takes_its_open_end_from_the_common_bounds():
    X, truth, y, _ = problem()
    low, high = BOUNDS
    censored = np.column_stack([truth - 1.0, np.full(len(y), np.nan)])
    explicit = np.column_stack([truth - 1.0, np.full(len(y), high)])
    reg = ICLSRegressor(bounds=(low, high))
    expected = clone(reg).fit(X, y, target_bounds=explicit).predict(X)
    np.testing.assert_array_equal(clone(reg).fit(X, y, target_bounds=censored).predict(X), expected)


def test_targets_far_from_zero_lose_no_accuracy():
    X, _truth, y, _ = problem()
    low, high = BOUNDS
    near = ICLSRegressor(bounds=(low, high)).fit(X, y)
    far = ICLSRegressor(bounds=(low + 1e6, high + 1e6)).fit(X, y + 1e6)
    np.testing.assert_allclose(far.predict(X) - 1e6, near.predict(X), atol=1e-6)
    assert far.certificate_.moved == near.certificate_.moved
