"""Every solver, one answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from generate import hard_cases, several_classes, two_classes
from primum import ICLSClassifier
from primum.labellings import implicit
from primum.labellings.problem import FormedColumns, LabelProblem
from primum.labellings.sets import LabelInterval, Simplex
from primum.solvers import SOLVERS, solve
from primum.solvers.newton import follow_path
from primum.solvers.open_labels import ROUGH_RESIDUAL, OpenLabels
from reference_solver import solve_reference, solving

CASES = hard_cases()
# There L-BFGS-B needs ten thousand steps for the labelled loss.
MANY_STEPS = {"L < d", "ridge on all rows only"}


def case_of(name, metric, solver):
    many = name in MANY_STEPS and (metric, solver) == ("labeled", "lbfgsb")
    return pytest.param(name, metric, solver, marks=[pytest.mark.slow] * many)


def fitted(case, **parameters):
    X, y, X_u, more = CASES[case]
    parameters = {"metric": "labeled", **more, **parameters}
    with solving(parameters.pop("solver", "auto")) as solver:
        return ICLSClassifier(solver=solver, **parameters).fit(X, y, X_unlabeled=X_u)


@pytest.mark.parametrize(
    ("case", "metric", "solver"),
    [
        case_of(name, metric, solver)
        for name in CASES
        for metric in ("labeled", "all")
        for solver in ("lbfgsb", "reference")
    ],
)
def test_newton_is_exact_and_all_solvers_agree(case, metric, solver):
    exact = fitted(case, metric=metric)
    proof = exact.certificate_
    assert proof.gap <= 1e-11 * (1 + proof.objective)
    other = fitted(case, metric=metric, solver=solver).certificate_
    assert other.converged
    rounding = 1e-12 * (1 + proof.objective)
    assert abs(other.objective - proof.objective) <= other.gap + proof.gap + rounding
    assert other.moved == proof.moved


# Euclidean distance between coefficients has the features' units, so a factor of 1e12 between
# them is out of reach of double precision there.
@pytest.mark.parametrize("case", [name for name in CASES if "scaled" not in name])
def test_solvers_agree_in_the_euclidean_metric(case):
    exact = fitted(case, metric="euclidean").certificate_
    for solver in ("lbfgsb", "reference"):
        other = fitted(case, metric="euclidean", solver=solver).certificate_
        assert other.converged
        rounding = 1e-14 * exact.objective
        assert abs(other.objective - exact.objective) <= other.gap + exact.gap + rounding


@pytest.mark.parametrize(
    ("case", "metric", "solver"),
    [
        case_of(name, "labeled", solver)
        for name in CASES
        for solver in ("lbfgsb", "reference")
        # There a label of weight 1e-6 decides nothing within the tolerance.
        if (name, solver) != ("outliers", "lbfgsb")
    ],
)
def test_of_several_optima_all_solvers_take_the_one_closest_to_half(case, metric, solver):
    exact = fitted(case, metric=metric).soft_labels_
    if solver == "reference":
        other, within = fitted(case, metric=metric, solver=solver), 1e-5
    else:
        other, within = fitted(case, metric=metric, solver=solver, tol=1e-10), 1e-3
    np.testing.assert_allclose(exact, other.soft_labels_, atol=within)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([1, 3]))
def test_newton_on_random_boxes(seed, weighted, copies):
    """Against bounded-variable least squares, with weights and with equal columns."""
    rng = np.random.default_rng(seed)
    r, U = rng.integers(1, 8), rng.integers(1, 30)
    M = np.repeat(rng.normal(size=(r, U)), copies, axis=1)
    weight = rng.uniform(0.2, 3, M.shape[1]) if weighted else None
    t = rng.normal(size=r) * rng.choice([0.1, 1.0, 10.0])
    problem = LabelProblem(FormedColumns(M, weight), t)
    q = solve(problem, solver="newton", tol=1e-8, max_iter=1000).labels
    expected = solve_reference(problem).labels
    assert problem.judge(q).gap <= 1e-10 * (1 + problem.judge(q).objective)
    np.testing.assert_allclose(q, expected, atol=1e-4)


def test_a_weight_is_a_number_of_copies(rng):
    M, t, times = rng.normal(size=(3, 12)), 2 * rng.normal(size=3), rng.integers(1, 4, 12)
    weighted = LabelProblem(FormedColumns(M, times.astype(float)), t)
    repeated = LabelProblem(FormedColumns(np.repeat(M, times, axis=1)), t)
    q = solve(weighted, solver="newton", tol=1e-10, max_iter=1000).labels
    copies = solve(repeated, solver="newton", tol=1e-10, max_iter=1000).labels
    np.testing.assert_allclose(np.repeat(q, times), copies, atol=1e-9)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize(
    "parameters",
    [
        {"fit_intercept": False, "alpha": 0.1, "alpha_labeled": 0.0},
        {"alpha": 0.1},
        {"metric": "all"},
        {},
    ],
    ids=str,
)
def test_the_closest_optimum_on_one_hot_rows(seed, parameters):
    """Many rows are equal, and many labels change nothing that is measured."""
    rng = np.random.default_rng(seed)
    X, y = np.eye(10)[rng.integers(0, 10, 64)], np.r_[0, 1, rng.integers(0, 2, 2)]
    newton = ICLSClassifier(**parameters).fit(X[:4], y, X_unlabeled=X[4:])
    with solving("reference") as solver:
        reference = ICLSClassifier(solver=solver, **parameters).fit(X[:4], y, X_unlabeled=X[4:])
    np.testing.assert_allclose(newton.soft_labels_, reference.soft_labels_, atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_first_order_steps_survive_outliers(seed):
    X, y, X_u, _ = two_classes(10, 60, 3, seed=seed)
    rows = np.vstack([1e3 * X_u[:3], X_u[3:]])
    assert ICLSClassifier(solver="lbfgsb").fit(X, y, X_unlabeled=rows).certificate_.converged


def test_streamed_rows_give_the_same_answer(monkeypatch):
    X, y, X_u, _ = two_classes(20, 3000, 6)
    formed = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    monkeypatch.setattr(implicit, "MAX_FORMED_NUMBERS", 0)
    streamed = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    assert streamed.certificate_.gap < 1e-11
    np.testing.assert_allclose(streamed.coef_, formed.coef_, atol=1e-9)
    np.testing.assert_allclose(streamed.soft_labels_, formed.soft_labels_, atol=1e-6)


def test_at_most_r_rows_are_undecided():
    X, y, X_u, _ = two_classes(8, 400, 6)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    assert clf.certificate_.moved
    undecided = np.count_nonzero((clf.soft_labels_ > 0) & (clf.soft_labels_ < 1))
    assert 0 < undecided <= 7


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_fit_that_stops_short_says_so(solver):
    X, y, X_u, _ = two_classes(40, 300, 30)
    clf = ICLSClassifier(solver=solver, max_iter=1)
    message = r"stopped after \d+ iterations .* proven to be within .* raise max_iter \(now 1\)"
    with pytest.warns(ConvergenceWarning, match=message):
        clf.fit(X, y, X_unlabeled=X_u)
    assert not clf.certificate_.converged
    best = ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_.objective
    assert clf.certificate_.lower_bound <= best <= clf.certificate_.objective


@pytest.mark.parametrize("n_labeled", [30, 40])
@pytest.mark.parametrize("separation", [0.5, 2.0])
def test_few_steps_suffice_for_several_classes(n_labeled, separation):
    """Faces are recognised although projections leave remainders where a share is 0."""
    X, y, X_u, _ = several_classes(n_labeled, 400, 32, 10, separation=separation)
    clf = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u)
    assert clf.certificate_.converged
    assert clf.n_iter_ <= 100


def test_the_labelling_closest_to_the_centres_is_recognised(rng):
    """Of classes that cost nothing and are not open, but not of those that have a cost."""
    M, t = rng.normal(size=(2, 5)), 0.1 * rng.normal(size=(2, 30))
    problem = LabelProblem(FormedColumns(M), t - t.mean(axis=1, keepdims=True), Simplex(30))
    assert [stage.best.final for stage in follow_path(problem, 1e-8, 1000)][-1]


@pytest.mark.parametrize(("decades", "roughly"), [(0, True), (6, False)])
def test_well_conditioned_directions_are_rough_and_others_exact(rng, decades, roughly):
    M = 0.1 * np.logspace(0, decades, 100)[:, None] * rng.normal(size=(100, 300))
    every_row, g = np.ones(300, dtype=bool), rng.normal(size=100)
    exact = -np.linalg.solve(np.eye(100) + M @ M.T, g)
    open_labels = OpenLabels(FormedColumns(M), LabelInterval(), every_row)
    error = open_labels.newton_direction(1.0, g) - exact
    assert np.linalg.norm(error) <= ROUGH_RESIDUAL * np.linalg.norm(g)
    assert (np.linalg.norm(error) > 1e-6 * np.linalg.norm(exact)) == roughly
