"""Newton systems solved with the inverse of an earlier one."""

import numpy as np
import pytest
from scipy import sparse

from primum import TSVMClassifier
from primum.methods.svm.nearby import SOLUTION_ERROR_SHARE, NearbyDual, NearbyPrimal, nearby
from primum.methods.svm.newton import Conjugate, Dual, Machine, Primal


def systems(rng, n=80, d=7, ridge=0.3):
    X = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
    penalty = np.append(np.full(d, ridge), 0.0)
    return X, penalty, nearby(Primal(X, penalty, [slice(0, n)]))


def energy(X, penalty, h, step):
    return float(step @ (penalty * step) + h @ (X @ step) ** 2)


@pytest.mark.parametrize("changed", [0, 1, 10, 80])
def test_solutions_are_as_accurate_as_asked(rng, changed):
    X, penalty, system = systems(rng)
    h, rho, accuracy = rng.uniform(0.5, 1.0, len(X)), rng.normal(size=len(X)), 1e-2
    w, o = system.solve(h, rho, np.zeros(X.shape[1]), np.zeros(len(X)), accuracy)
    h[:changed] *= rng.uniform(0.0, 3.0, changed)
    rho = rho + 0.1 * rng.normal(size=len(X))
    w, o = system.solve(h, rho, w, o, accuracy)
    expected = np.linalg.solve(np.diag(penalty) + (X.T * h) @ X, X.T @ rho)
    np.testing.assert_allclose(o, X @ w, atol=1e-12)
    # The error is measured with an earlier matrix, hence the factor.
    assert energy(X, penalty, h, w - expected) <= (3 * SOLUTION_ERROR_SHARE * accuracy) ** 2


def test_another_matrix_is_inverted_only_if_the_last_one_is_far(rng):
    X, _, system = systems(rng)
    inverted = []
    factorized = system.system.factorized

    def counted(*arguments):
        inverted.append(arguments)
        return factorized(*arguments)

    system.system.factorized = counted
    h, rho, w, o = np.ones(len(X)), rng.normal(size=len(X)), np.zeros(X.shape[1]), np.zeros(len(X))
    for _ in range(5):
        h = h * rng.uniform(0.99, 1.01, len(X))
        w, o = system.solve(h, rho, w, o, 1e-3)
    assert len(inverted) == 1
    system.solve(h * 10.0 ** rng.uniform(-6, 6, len(X)), rho, w, o, 1e-3)
    assert len(inverted) == 2


def test_without_a_cost_or_with_a_singular_matrix_it_solves_as_its_system_does(rng):
    X, penalty, system = systems(rng, ridge=0.0)
    h, rho, w, o = np.zeros(len(X)), rng.normal(size=len(X)), np.ones(X.shape[1]), X.sum(axis=1)
    np.testing.assert_array_equal(system.solve(h, rho, w, o, 1e-3)[0], w)
    h[:3] = 1.0
    direct = Primal(X, penalty, [slice(0, len(X))]).solve(h, rho, w, o, 1e-3)
    for found, expected in zip(system.solve(h, rho, w, o, 1e-3), direct, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def wide_system(rng, *, free=True, rank=9, n=12, d=20, alpha=0.3):
    """Return rows of less than full rank with a constant column, and their system."""
    Z = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    X = np.column_stack([Z, np.ones(n)])
    return X, NearbyDual(Dual(X, np.append(np.full(d, alpha), 0.0 if free else alpha)))


def solve_from(system, h, rho, w, accuracy=1e-6):
    """Return the coefficients of a solution, and the outputs and the point of the system."""
    point, o = system.solve(h, rho, *w, accuracy)
    left = system.left(Machine(point, o, 0.0))
    np.testing.assert_allclose(left.o, o, atol=1e-9)
    return left.w, o, point


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("outside", [0, 4, 11, 12])
def test_few_rows_have_the_solutions_of_the_dual(rng, free, outside):
    X, system = wide_system(rng, free=free)
    n, w = len(X), (np.zeros(len(X) + 1), np.zeros(len(X)))
    for _ in range(4):  # the last inverse is used again
        h, rho = rng.uniform(0.5, 1.0, n), rng.normal(size=n)
        h[:outside] = 0.0
        found, o, point = solve_from(system, h, rho, w)
        expected = system.system.solve(h, rho, np.append(np.zeros(20), w[0][-1]), w[1], 0.0)[0]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        penalty = system.penalty(point, point, o)
        assert penalty == pytest.approx(system.ridge @ found**2, abs=1e-8)
        w = point, o


def test_few_rows_enter_with_the_machine_of_the_labelled_ones(rng):
    X, system = wide_system(rng)
    pull = np.append(rng.normal(size=5), np.zeros(7))
    w = np.append(X[:, :-1].T @ pull / 0.3, 0.7)
    machine = Machine(w, X @ w, 2.0)
    inside = system.entered(machine, pull)
    np.testing.assert_allclose(inside.o, machine.o)
    np.testing.assert_allclose(system.left(inside).w, w)
    assert system.penalty(inside.w, inside.w, inside.o) == pytest.approx(system.ridge @ w**2)


def test_a_gram_matrix_that_is_rounding_is_solved_as_the_dual_does(rng):
    _, system = wide_system(rng)
    system.system.gram = -np.eye(12)  # as if rounding were larger than the rest
    h, rho = np.full(12, 2.0), rng.normal(size=12)
    point, _ = system.solve(h, rho, np.zeros(13), np.zeros(12), 1e-6)
    np.testing.assert_allclose(point, system.system.expansion(h, rho))


@pytest.mark.parametrize("alpha", [1.0, 1e-3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_wide_rows_are_annealed_as_their_coordinates_are(rng, alpha, fit_intercept):
    """A rotation changes no solution, and in the span of the rows the primal systems apply."""
    n, L = 120, 20
    t = np.arange(n) % 2
    X = rng.normal(size=(n, 300)) + 0.5 * t[:, None]
    y = np.where(np.arange(n) < L, t, -1)
    narrow = np.linalg.qr(X.T)[1].T[:, :70]
    padded = np.column_stack([narrow, np.zeros((n, 230))])
    clf = TSVMClassifier("annealing", alpha=alpha, fit_intercept=fit_intercept)
    wide = clf.fit(padded, y)
    assert wide.solver_ == "dual"
    coef, objective = wide.coef_[0, :70].copy(), wide.objective_
    expected = clf.fit(narrow, y)
    assert expected.solver_ == "primal"
    assert objective == pytest.approx(expected.objective_, rel=1e-7)
    np.testing.assert_allclose(coef, expected.coef_[0], atol=1e-5)


def test_systems_without_an_inverse_stay_as_they_are(rng):
    X = rng.normal(size=(5, 9))
    system = Conjugate(sparse.csr_array(X), np.ones(9))
    assert nearby(system) is system
    assert isinstance(nearby(Dual(X, np.ones(9))), NearbyDual)
    assert isinstance(nearby(Primal(X.T, np.ones(5), [slice(0, 9)])), NearbyPrimal)


@pytest.mark.parametrize("seed", [52, 1074, 1086, 1308])
def test_annealing_among_copies_ends_where_factorised_systems_do(seed, monkeypatch):
    """Many labels move together, so an inaccurate solution would lead elsewhere."""
    rng = np.random.default_rng(seed)
    d, n, L = (int(rng.integers(*limits)) for limits in ((1, 40), (60, 400), (6, 30)))
    t = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, 0] += rng.uniform(0, 3) * t
    rng.choice(2)
    X[L:] = X[L:][rng.integers(0, 20, n - L)]
    clf = TSVMClassifier("annealing", alpha=float(10.0 ** rng.uniform(-6, 0)))
    y = np.where(np.arange(n) < L, t, -1)
    found = clf.fit(X, y).objective_
    monkeypatch.setattr("primum.methods.svm.search.nearby", lambda system: system)
    assert found == pytest.approx(clf.fit(X, y).objective_, rel=1e-6)
