"""A start changes how fast a solution is found, not the solution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from primum.labellings.problem import FormedColumns, LabelProblem, without_mean
from primum.labellings.sets import LabelInterval, Simplex
from primum.solvers import newton
from primum.solvers.newton import solve_from, solve_newton


def random_problem(seed, n_classes, weighted):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(4, 40))
    weight = rng.uniform(0.5, 2.0, 40) if weighted else None
    target = 8 * rng.normal(size=4 if n_classes == 2 else (4, n_classes))
    if n_classes == 2:
        return LabelProblem(FormedColumns(M, weight), target, LabelInterval())
    return LabelProblem(FormedColumns(M, weight), without_mean(target), Simplex(n_classes))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 4),
    weighted=st.booleans(),
    kind=st.sampled_from(["random", "vertex", "solution"]),
)
def test_same_solution_from_any_start(seed, n_classes, weighted, kind):
    problem = random_problem(seed, n_classes, weighted)
    cold = solve_newton(problem, 1e-8, 10000).labels
    v = np.random.default_rng(seed + 1).normal(size=cold.shape)
    labels = problem.labels
    start = {"random": labels.project(v), "vertex": labels.best(v), "solution": cold}[kind]
    warm = solve_from(problem, start, 1e-8, 10000)
    if warm is None:  # then there is no claim, and the path is followed instead
        assert kind != "solution"
        return
    assert warm.proven
    np.testing.assert_allclose(labels.project(warm.labels), warm.labels, atol=1e-12)
    np.testing.assert_allclose(
        problem.residual(warm.labels), problem.residual(cold), rtol=0, atol=1e-6
    )
    assert problem.judge(warm.labels).within(1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_solution_itself_takes_no_iteration(n_classes):
    problem = random_problem(0, n_classes, weighted=False)
    cold = solve_newton(problem, 1e-8, 10000).labels
    assert solve_from(problem, cold, 1e-8, 10000).iterations == 0


def test_no_answer_without_iterations():
    problem = random_problem(0, 2, weighted=False)
    start = problem.labels.best(np.random.default_rng(0).normal(size=40))
    assert solve_from(problem, start, 1e-8, 1) is None


def test_many_free_labels_of_a_similar_problem_are_moved_by_gradients(monkeypatch):
    rng = np.random.default_rng(0)
    M = np.linalg.qr(rng.normal(size=(1000, 700)))[0] * rng.uniform(0.5, 1.0, 700)
    labels, inside = Simplex(3), rng.dirichlet(np.full(3, 3.0), 700)
    target = without_mean(M @ inside + 0.01 * rng.normal(size=(1000, 3)))
    problem = LabelProblem(FormedColumns(M), target, labels, loss_unit=2.0 / 700)
    similar = labels.project(inside + 0.05 * rng.normal(size=inside.shape))
    monkeypatch.setattr(newton, "minimise_psi", None)  # no Newton step is taken
    warm = solve_from(problem, similar, 1e-8, 10000)
    assert warm.proven
    assert problem.judge(warm.labels).within(1e-13)
