"""The solver for many rows, held to the exact one on as many as a test can afford."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from primum import ICLSClassifier
from primum.labellings import implicit
from primum.solvers import implicit as _implicit


@pytest.fixture(autouse=True)
def always_stream(monkeypatch):
    """Never form M, and sample few rows, so that the whole way is gone."""
    monkeypatch.setattr(implicit, "MAX_FORMED_NUMBERS", 0)
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 1024)


def rows(kind, U=20_000, d=8, L=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(L + U, d))
    y = np.r_[0, 1, rng.integers(0, 2, L + U - 2)]
    if kind == "heavy tails":
        X = rng.standard_t(2.5, size=X.shape)
    elif kind == "outliers":
        X[rng.choice(len(X), len(X) // 100, replace=False)] *= 1e3
    elif kind == "correlated":
        X = X * np.geomspace(1, 1e-6, d) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    elif kind == "copies":
        X = X[rng.integers(0, 100, len(X))]
    X[:, 0] += y * X[:, 0].std()
    return X[:L], y[:L], X[L:]


KINDS = ["plain", "heavy tails", "outliers", "correlated", "copies"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["labeled", "all"])
def test_hard_cases_are_certified_and_agree_with_newton(kind, metric):
    X, y, X_u = rows(kind)
    scale = ICLSClassifier(metric=metric).fit(X, y, X_unlabeled=X_u)
    newton = ICLSClassifier(metric=metric, solver="newton").fit(X, y, X_unlabeled=X_u)
    ours, theirs = scale.certificate_, newton.certificate_
    assert ours.converged
    assert abs(ours.objective - theirs.objective) <= ours.gap + theirs.gap + 1e-11
    if ours.shift > 1e-3:  # otherwise the tolerance cannot tell
        assert ours.moved
        assert theirs.moved


@pytest.mark.parametrize("n_labeled", [200, 2000])
def test_a_feasible_supervised_solution_is_recognised(n_labeled):
    X, y, X_u = rows("plain", L=n_labeled, d=3)
    y = np.random.default_rng(1).integers(0, 2, n_labeled)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    assert clf.certificate_.converged
    assert not clf.certificate_.moved
    np.testing.assert_allclose(clf.coef_, clf.supervised_.coef_, atol=1e-4)


def test_few_passes():
    X, y, X_u = rows("plain", U=100_000, L=20, d=10)
    proof = ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_
    assert proof.converged
    assert proof.moved
    assert proof.passes <= 6


@pytest.mark.parametrize("sample", [512, 4096])
def test_many_dimensions_for_the_number_of_rows(sample, monkeypatch):
    """About as many rows as dimensions stay undecided: more than a few percent of all."""
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", sample)
    X, y, X_u = rows("plain", U=4_000, d=150, L=155)
    proof = ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_
    assert proof.converged
    assert proof.moved
    assert proof.passes <= 40


@pytest.mark.parametrize("seed", [0, 1])
def test_most_rows_lie_just_outside_the_undecided_ones(seed, monkeypatch):
    """Two features are nearly equal among the unlabelled rows, but not among the labelled ones."""
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 2**13)
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12_100, 66)), np.r_[0, 1, rng.integers(0, 2, 98)]
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    X[:100, 0] += y
    proof = ICLSClassifier(solver="scale").fit(X[:100], y, X_unlabeled=X[100:]).certificate_
    assert proof.converged
    assert proof.passes <= 10


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("share", [0.1, 0.2, 0.4])
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_a_point_with_many_copies_that_stays_undecided(share, seed, in_memory, monkeypatch):
    """Too few copies to merge all rows, too many for a band of few rows."""
    monkeypatch.setattr("primum.rows.array.ArrayRows.in_memory", in_memory)
    rng = np.random.default_rng(seed)
    y, X = np.tile([0, 1], 20), rng.normal(size=(40, 3))
    X[:, 0] += 3 * y
    X_u = rng.normal(size=(30_000, 3))
    X_u[:, 0] += 3 * rng.integers(0, 2, len(X_u))
    X_u[rng.random(len(X_u)) < share] = [1.5, 0, 0]
    assert ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_.converged


def test_newton_goes_on_where_the_path_of_all_rows_ends_too_early(monkeypatch):
    monkeypatch.setattr("primum.solvers.scale.MAX_STAGES", 1)
    monkeypatch.setattr("primum.solvers.all_rows.MAX_BAND_SHARE", 0.0)
    monkeypatch.setattr("primum.solvers.all_rows.MIN_BAND_ROWS", 0)
    X, y, X_u = rows("plain")
    assert ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_.converged
    monkeypatch.setattr("primum.rows.array.ArrayRows.in_memory", False)
    with pytest.warns(ConvergenceWarning, match="another solver could continue on rows in memory"):
        proof = ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_
    assert not proof.converged


def test_two_features_and_a_narrow_band():
    X, y, X_u = rows("plain", d=2, L=6, seed=3)
    assert ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_.converged


def test_weights_count_rows():
    X, y, X_u = rows("plain", U=5_000)
    times = np.random.default_rng(0).integers(1, 4, len(X_u))
    stacked, labels = np.vstack([X, X_u]), np.r_[y, np.full(len(X_u), -1)]
    weighted = ICLSClassifier().fit(stacked, labels, sample_weight=np.r_[np.ones(12), times])
    repeated = ICLSClassifier().fit(X, y, X_unlabeled=np.repeat(X_u, times, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_single_precision_rows():
    X, y, X_u = rows("plain")
    X, X_u = X.astype(np.float32), X_u.astype(np.float32)
    single = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    double = ICLSClassifier().fit(X.astype(float), y, X_unlabeled=X_u.astype(float))
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-10)


def test_rows_scattered_in_one_array():
    X, y, X_u = rows("plain")
    order = np.random.default_rng(0).permutation(len(X) + len(X_u))
    mixed = ICLSClassifier().fit(np.vstack([X, X_u])[order], np.r_[y, np.full(len(X_u), -1)][order])
    apart = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    np.testing.assert_allclose(mixed.coef_, apart.coef_, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "correlated, any labels", "two features"])
@pytest.mark.parametrize("seed", range(3))
def test_hard_cases_with_a_million_rows(kind, seed, monkeypatch):
    monkeypatch.undo()
    X, y, X_u = rows(
        kind.partition(",")[0], U=1_000_000, d=2 if kind == "two features" else 20, L=25, seed=seed
    )
    if "any labels" in kind:
        y = np.random.default_rng(seed).permutation(y)
    assert ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_.converged


@pytest.mark.slow
@pytest.mark.parametrize("n_labeled", [30, 40, 50, 60, 80, 100, 1000])
def test_nearly_feasible_supervised_solutions_with_a_million_rows(n_labeled, monkeypatch):
    monkeypatch.undo()
    X, y, X_u = rows("plain", U=1_000_000, d=20, L=n_labeled)
    y = np.random.default_rng(1).permutation(y)
    assert ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_.converged


def test_the_certificate_does_not_rely_on_sums_of_the_solver(monkeypatch):
    X, y, X_u = rows("plain")
    right = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    solve = _implicit.solve_problem

    def wrong_moment(*args, **kwargs):
        solution = solve(*args, **kwargs)
        return replace(solution, moment=1.01 * solution.moment)

    monkeypatch.setattr(_implicit, "solve_problem", wrong_moment)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    np.testing.assert_allclose(clf.coef_, right.coef_, rtol=1e-9)
    assert clf.certificate_.gap <= right.certificate_.gap + 1e-12
    assert clf.certificate_.changed == right.certificate_.changed


def test_a_wrong_sum_costs_one_more_pass(monkeypatch):
    X, y, X_u = rows("plain")
    right, solve = ICLSClassifier().fit(X, y, X_unlabeled=X_u), _implicit.solve_problem

    def presuming_wrongly(problem, *, measure, **settings):
        def measure_another_model(xi, q, moment):
            return measure(xi, q, 1.01 * moment)

        return solve(problem, measure=measure_another_model, **settings)

    monkeypatch.setattr(_implicit, "solve_problem", presuming_wrongly)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    np.testing.assert_allclose(clf.coef_, right.coef_, rtol=1e-9)
    assert clf.certificate_.passes == right.certificate_.passes + 1
    assert clf.certificate_.gap <= right.certificate_.gap + 1e-12
    assert clf.certificate_.changed == right.certificate_.changed


def test_few_passes_if_the_twin_is_feasible():
    X, y, X_u = rows("plain", U=100_000, L=400)
    proof = ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_
    assert proof.converged
    assert proof.moved is False
    assert proof.passes <= 14


def test_no_tolerance_at_all():
    X, y, X_u = rows("plain", L=400)
    with pytest.warns(ConvergenceWarning, match="not within the requested tol=0.0e"):
        proof = ICLSClassifier(tol=0).fit(X, y, X_unlabeled=X_u).certificate_
    assert proof.gap < 1e-9


@pytest.mark.parametrize("kind", ["plain", "copies"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_prior_of_two_classes(kind, fit_intercept):
    X, y, X_u = rows(kind, L=60)
    prior = {0: (0.45, 0.47), 1: (0.53, 0.55)}
    scale, newton = (
        ICLSClassifier(prior=prior, fit_intercept=fit_intercept, solver=solver)
        .fit(X, y, X_unlabeled=X_u)
        .certificate_
        for solver in ("scale", "newton")
    )
    assert scale.converged
    assert abs(scale.objective - newton.objective) <= scale.gap + newton.gap + 1e-11
