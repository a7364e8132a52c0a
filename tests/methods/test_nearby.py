"""Newton systems solved with the inverse of an earlier one."""

import numpy as np
import pytest

from primum import TSVMClassifier
from primum.methods.svm.nearby import SOLUTION_ERROR, Nearby, nearby
from primum.methods.svm.newton import Dual, Primal


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
    assert energy(X, penalty, h, w - expected) <= (3 * SOLUTION_ERROR * accuracy) ** 2


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


def test_other_systems_stay_as_they_are(rng):
    X = rng.normal(size=(5, 9))
    system = Dual(X, np.ones(9))
    assert nearby(system) is system
    assert isinstance(nearby(Primal(X.T, np.ones(5), [slice(0, 9)])), Nearby)


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
