"""Newton's method: optimality conditions, known answers, and a path towards the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from primum.labellings.prior import ShareBounds
from primum.labellings.prior_problem import anchored, with_prior
from primum.labellings.problem import FormedColumns, LabelProblem, total_of, without_mean
from primum.labellings.sets import LabelInterval, Simplex, centres_of
from primum.solvers.newton import (
    follow_path,
    minimise_psi,
    rounding_thresholds,
    solve_newton,
)


def random_problem(seed, n_classes=2, weighted=False, size=4.0):
    rng = np.random.default_rng(seed)
    M, weight = rng.normal(size=(4, 30)), rng.uniform(0.5, 2.0, 30) if weighted else None
    target = size * rng.normal(size=4 if n_classes == 2 else (4, n_classes))
    labels = LabelInterval() if n_classes == 2 else Simplex(n_classes)
    return LabelProblem(
        FormedColumns(M, weight), target if n_classes == 2 else without_mean(target), labels
    )


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 4), weighted=st.booleans())
def test_the_solution_meets_the_optimality_conditions(seed, n_classes, weighted):
    """Every row has a best label for its gradient p: decided rows are on their side."""
    problem = random_problem(seed, n_classes, weighted)
    q = solve_newton(problem, 1e-10, 1000).labels
    p = problem.columns.project(problem.residual(q))
    np.testing.assert_allclose(problem.labels.project(q), q, atol=1e-12)
    np.testing.assert_allclose(problem.labels.slack(p, q), 0.0, atol=1e-8)


def test_one_equation_is_solved_by_hand():
    """The sum of three labels is to be 1, 5 or -1: 1/3 each, all 1, all 0."""
    for target, label in ((1.0, 1 / 3), (5.0, 1.0), (-1.0, 0.0)):
        problem = LabelProblem(FormedColumns(np.ones((1, 3))), np.array([target]))
        np.testing.assert_allclose(solve_newton(problem, 1e-10, 100).labels, label, atol=1e-12)


def test_an_attainable_target_is_attained_by_the_shortest_step_from_the_centres():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(3, 20))
    q = 0.5 + M.T @ (0.01 * rng.normal(size=3))  # all labels are inside
    found = solve_newton(LabelProblem(FormedColumns(M), M @ q), 1e-10, 100).labels
    np.testing.assert_allclose(found, q, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_path_lowers_the_gap_to_nothing(n_classes):
    problem = random_problem(1, n_classes)
    stages = list(follow_path(problem, 1e-10, 1000))
    assert np.all(np.diff([stage.sigma for stage in stages]) > 0)
    assert np.all(np.diff([stage.iterations for stage in stages]) >= 0)
    assert stages[-1].best.final
    assert stages[-1].best.gap <= 1e-10


def weights_over_orders(seed, orders=12, K=6, L=30, U=40, d=10):
    """Return rows whose weights are spread over orders of magnitude; M has the size of a fit's."""
    rng = np.random.default_rng(seed)
    weight = 10.0 ** rng.uniform(-orders / 2, orders / 2, U)
    X, X_u = rng.normal(size=(L, d)), rng.normal(size=(U, d))
    Y = without_mean(np.eye(K)[rng.integers(0, K, L)])
    B = X @ np.linalg.inv(X.T @ X + (X_u.T * weight) @ X_u)
    columns = FormedColumns(B @ X_u.T, weight)
    return LabelProblem(columns, Y - B @ (X.T @ Y), Simplex(K), loss_unit=2.0 / L)


@given(seed=st.integers(0, 2**32 - 1), orders=st.sampled_from([3, 12, 16]))
@example(seed=0, orders=12)
@settings(max_examples=15)
def test_weights_over_orders_of_magnitude_do_not_keep_newton_from_the_optimum(seed, orders):
    """Kinks of the path crowd: with strides of one length a sixth of these ended far from it."""
    problem = weights_over_orders(seed, orders)
    solution = solve_newton(problem, 1e-8, 10_000)
    assert problem.judge(solution.labels).within(1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_a_weight_counts_as_copies_do_and_next_to_none_as_no_row(seed):
    problem = weights_over_orders(seed)
    M, weight = problem.columns.matrix, problem.columns.weight
    twice = FormedColumns(np.hstack([M, M]), np.concatenate([0.3 * weight, 0.7 * weight]))
    heavy = weight > 1e-12 * weight.max()
    without = FormedColumns(M[:, heavy], weight[heavy])

    def least(columns):
        same = replace(problem, columns=columns)
        return same.judge(solve_newton(same, 1e-8, 10_000).labels).objective

    assert least(twice) == pytest.approx(least(problem.columns), abs=2e-8)
    assert least(without) == pytest.approx(least(problem.columns), abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_minimum_of_psi_is_that_of_the_strictly_convex_problem(n_classes):
    """Its gap is that of (path): the labels minimise P plus their distance to the centres."""
    problem, sigma = random_problem(2, n_classes), 0.3
    xi = problem.residual(centres_of(problem.labels, 30))
    p = problem.columns.project(xi)
    point, residual, _ = minimise_psi(problem, sigma, xi, p, 50)
    q = point.q
    g = point.xi - residual
    cost = total_of(problem.labels.slack(point.p, q), None)
    assert 0.5 * np.vdot(g, g) <= cost
    np.testing.assert_allclose(
        q, problem.labels.project(problem.labels.centre - sigma * point.p), atol=1e-12
    )
    assert rounding_thresholds(problem, xi, p).gap < 1e-11


def test_the_bounds_of_a_prior_are_met_and_nothing_else_changes():
    problem = random_problem(3)
    free = solve_newton(problem, 1e-10, 1000).labels
    share = free.mean()
    for low, high in ((0.0, 1.0), (share + 0.1, 1.0), (0.0, share - 0.1)):
        bounded = with_prior(problem, ShareBounds(np.array(low), np.array(high)), 30.0)
        at_anchor = anchored(bounded, np.array(np.clip(share, low, high)))
        q = solve_newton(at_anchor, 1e-10, 1000).labels
        assert low - 1e-8 <= q.mean() <= high + 1e-8
        assert problem.judge(q).objective >= problem.judge(free).objective - 1e-9
