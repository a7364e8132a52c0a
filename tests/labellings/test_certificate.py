"""A certificate proves what is right, and refuses what is wrong."""

import numpy as np
import pytest

from generate import two_classes
from primum import ICLSClassifier
from primum.labellings.certificate import certify, is_proven, judge
from primum.labellings.problem import FormedColumns, LabelProblem, Solution
from primum.solvers import solve


@pytest.fixture
def problem(rng):
    return LabelProblem(FormedColumns(rng.normal(size=(3, 20))), np.full(3, 9.0))


def summary(**changes):
    values = {
        "labeled_loss": 1.0,
        "supervised_loss": 0.0,
        "supervised_objective": 0.0,
        "shift": 0.1,
        "changed": 1,
        "distance": 0.01,
        "score_rounding": 1e-15,
        "objective": None,
    }
    return values | changes


def certified(problem, q, summary_of_fit, tol=1e-8):
    return certify(problem, Solution(q, 1), **summary_of_fit, metric="labeled", tol=tol)


def optimum(problem):
    return solve(problem, solver="newton", tol=1e-10, max_iter=1000).labels


def test_an_optimal_labelling_is_certified(problem):
    proof = certified(problem, optimum(problem), summary())
    assert proof.converged
    assert proof.gap <= 1e-9
    assert proof.moved
    assert is_proven(*judge(problem, Solution(optimum(problem), 1), 1e-8), 1e-8)


def test_any_other_labelling_is_refused(problem, rng):
    best = problem.judge(optimum(problem)).objective
    for q in (np.full(20, 0.5), rng.uniform(size=20), 1.0 - optimum(problem)):
        proof = certified(problem, q, summary())
        assert not proof.converged
        assert proof.objective - proof.gap <= best
        assert not is_proven(*judge(problem, Solution(q, 1), 1e-8), 1e-8)
        assert "did not reach its tolerance" in str(proof)


def test_no_witness_can_make_a_wrong_labelling_look_right(problem, rng):
    """A solver's dual point may only raise the lower bound, and never above the optimum."""
    q, best = rng.uniform(size=20), problem.judge(optimum(problem)).objective
    for size in (0.0, 0.1, 1.0, 100.0):
        judged = problem.judge(q, size * rng.normal(size=3))
        assert judged.objective - judged.gap <= best + 1e-9


def test_coefficients_that_do_not_fit_the_labelling_widen_the_gap(problem):
    q = optimum(problem)
    exact = certified(problem, q, summary())
    off = certified(problem, q, summary(objective=exact.objective + 1e-3))
    assert off.gap == pytest.approx(exact.gap + 1e-3)
    assert not off.converged


def test_a_twin_that_no_labelling_attains_has_moved_the_model(problem):
    below = certified(problem, optimum(problem), summary(supervised_objective=-1.0, shift=0.0))
    assert not below.supervised_feasible
    assert below.moved
    within = certified(problem, optimum(problem), summary(supervised_objective=1e6, shift=0.0))
    assert within.supervised_feasible
    assert not within.moved


def test_units_and_classes_change_nothing_that_is_proven():
    X, y, X_u, _ = two_classes(10, 40, 3)
    proof = ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_
    scaled = proof.in_units(10.0)
    assert (scaled.objective, scaled.gap, scaled.shift) == pytest.approx(
        (100 * proof.objective, 100 * proof.gap, 10 * proof.shift)
    )
    assert scaled.changed is None
    assert proof.with_classes(["a", "b"]) is proof
