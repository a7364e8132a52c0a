"""Of all labellings with the least labelled loss, the one whose model is nearest to the twin."""

import numpy as np
import pytest
from scipy.optimize import minimize

from primum.labellings.nearest_twin import NearestTwin
from primum.labellings.problem import FormedColumns
from primum.solvers.implicit import solve
from primum.solvers.nearest_twin import solve_nearest_twin


def tied(twin, goal, seed=0, n_rows=12):
    """Return a tie in which the labelled loss depends on one of three dimensions."""
    M = np.random.default_rng(seed).normal(size=(3, n_rows))
    return NearestTwin(FormedColumns(M), np.array([2.0]), np.array([goal]), twin, float(n_rows))


def solved(tie):
    problem = tie.loss(1.0, 0.0)

    def solve_labels(label_problem, tol, max_iter):
        return solve(label_problem, solver="newton", tol=tol, max_iter=max_iter)

    return problem, solve_nearest_twin(problem, tie, solve_labels, 1e-8, 1000)


def test_a_twin_within_reach_is_reached():
    M = np.random.default_rng(0).normal(size=(3, 12))
    twin = M @ np.random.default_rng(1).uniform(0.3, 0.7, 12)
    tie = tied(twin, twin[0])
    np.testing.assert_allclose(tie.reached(solved(tie)[1].labels), twin, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_the_distance_is_that_of_a_generic_solver(seed):
    """The loss can be 0; subject to that, the distance to the twin is minimised."""
    tie = tied(np.array([0.5, 6.0, -5.0]), 0.5, seed)
    M = tie.columns.matrix
    problem, solution = solved(tie)
    assert problem.judge(solution.labels).objective <= 1e-8
    generic = minimize(
        lambda q: 0.5 * np.sum((M @ q - tie.twin) ** 2),
        np.full(12, 0.5),
        jac=lambda q: M.T @ (M @ q - tie.twin),
        bounds=[(0, 1)] * 12,
        constraints={"type": "eq", "fun": lambda q: M[0] @ q - 0.5, "jac": lambda _: M[0]},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    distance = np.sum((tie.reached(solution.labels) - tie.twin) ** 2) / 12
    assert distance == pytest.approx(2 * generic.fun / 12, abs=1e-5)


def test_the_proof_holds_for_the_solution_and_refuses_another_labelling():
    tie = tied(np.array([0.5, 6.0, -5.0]), 0.5)
    _, solution = solved(tie)
    assert tie.judge(solution.labels, solution.pull, 0.0).gap <= 1e-6
    # Another labelling with the same loss is farther from the twin, and its gap shows by how much.
    M = tie.columns.matrix
    along = np.linalg.svd(M[:1])[2][1:]  # directions that do not change the loss
    step = along.T @ (along @ (0.5 - solution.labels))
    other = solution.labels + 0.5 * step
    assert np.all((other >= 0) & (other <= 1))
    judged, best = (tie.judge(q, solution.pull, 0.0) for q in (other, solution.labels))
    assert judged.objective > best.objective
    assert judged.gap >= judged.objective - best.objective - 1e-9


def test_an_unattainable_loss_leaves_no_choice():
    """Far beyond reach, every label is at the end that the labelled loss prefers."""
    tie = tied(np.array([1000.0, 0.0, 0.0]), 1000.0)
    labels = solved(tie)[1].labels
    np.testing.assert_array_equal(labels, (tie.columns.matrix[0] > 0).astype(float))
