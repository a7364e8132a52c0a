"""Wide problems: gradients lead near to the faces of the solution, Newton's method to its end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from primum.labellings.problem import FormedColumns, LabelProblem, without_mean
from primum.labellings.sets import LabelInterval, Simplex
from primum.solvers import gradient, newton
from primum.solvers.gradient import minimise_by_gradients
from primum.solvers.newton import follow_path, solve_newton


def texts(n_classes, seed=0, weighted=False, partial=False, n=90, d=200, alpha=3e-4):
    """Return the problem of the labelled loss of 20 of n sparse rows of d > n columns."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(10.0 / (3 + np.arange(d)), size=(n, d)).astype(float)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    weight = rng.uniform(0.5, 2.0, n - 20) if weighted else None
    root = np.ones(n) if weight is None else np.r_[np.ones(20), np.sqrt(weight)]
    A = (root[:, None] * X).T @ (root[:, None] * X) + n * alpha * np.eye(d)
    Q = X[:20].T @ X[:20] + 20 * alpha * np.eye(d)
    W = np.linalg.cholesky(Q).T
    M = W @ np.linalg.solve(A, X[20:].T)
    y = np.eye(n_classes)[rng.integers(0, n_classes, 20)]
    target = W @ (np.linalg.solve(Q, X[:20].T @ y) - np.linalg.solve(A, X[:20].T @ y))
    if n_classes == 2:
        low = np.where(np.arange(n - 20) % 3, 0.0, 0.2)
        labels = LabelInterval(low, np.ones(n - 20)) if partial else LabelInterval()
        return LabelProblem(FormedColumns(M, weight), target[:, 1], labels, 2.0 / 20)
    possible = rng.uniform(size=(n - 20, n_classes)) < 0.8
    possible[:, 0] = True
    labels = Simplex(n_classes, possible) if partial else Simplex(n_classes)
    return LabelProblem(FormedColumns(M, weight), without_mean(target), labels, 2.0 / 20)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("partial", [False, True])
def test_the_solution_is_that_of_the_path(monkeypatch, n_classes, weighted, partial):
    problem = texts(n_classes, weighted=weighted, partial=partial)
    *_, last = follow_path(problem, 1e-10, 1000)
    monkeypatch.setattr(newton, "MIN_WIDE_SIZE", 1)
    monkeypatch.setattr(newton, "follow_path", None)  # the path is not followed
    solution = solve_newton(problem, 1e-10, 1000)
    assert problem.judge(solution.labels).within(1e-13)
    assert_allclose(problem.residual(solution.labels), problem.residual(last.best.q), atol=1e-9)
    assert_allclose(solution.labels, last.best.q, atol=1e-6)


def test_faces_that_have_settled_are_nearly_those_of_the_solution():
    problem = texts(3)
    *_, last = follow_path(problem, 1e-10, 1000)
    labels, q = problem.labels, minimise_by_gradients(problem, 1e-14).labels
    other = (labels.open(q) != labels.open(last.best.q)).any(axis=1)
    assert other.mean() <= 0.1
    assert minimise_by_gradients(problem, 1e-14).gap > 1e-14  # gradients alone have not arrived


def test_without_an_end_in_sight_the_path_is_followed(monkeypatch):
    problem = texts(3)
    monkeypatch.setattr(newton, "MIN_WIDE_SIZE", 1)
    monkeypatch.setattr(gradient, "MAX_GRADIENT_STEPS", 10)
    assert not minimise_by_gradients(problem, 1e-14).suffices
    assert problem.judge(solve_newton(problem, 1e-10, 1000).labels).within(1e-13)
