"""Weights of a stack: optimality, a generic solver, two columns, limits of the shrinkage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from primum.safe.stack import stack_weights


def problem(seed, n_rows=40, n_classes=3, n_candidates=6):
    rng = np.random.default_rng(seed)
    one_hot = np.eye(n_classes)[rng.integers(n_classes, size=n_rows)]
    noise = rng.dirichlet(np.ones(n_classes), size=(n_candidates, n_rows))
    trust = rng.random(n_candidates)[:, None, None] * 0.5
    scores = np.moveaxis((1 - trust) * noise + trust * one_hot, 0, 2)
    baseline = np.zeros(n_candidates)
    baseline[:2] = 0.5
    return scores, one_hot, baseline


def objective(w, scores, one_hot, baseline, shrinkage, weight):
    losses = 0.5 * np.sum((scores @ w - one_hot) ** 2, axis=1)
    return np.average(losses, weights=weight) + shrinkage / len(one_hot) * np.sum(
        (w - baseline) ** 2
    )


@pytest.mark.parametrize("seed", range(10))
def test_weights_are_those_of_a_generic_solver(seed):
    scores, one_hot, baseline = problem(seed)
    weight = np.random.default_rng(seed).random(len(one_hot))
    found, _ = stack_weights(
        scores, one_hot, baseline, shrinkage=3.0, n_labeled=len(one_hot), row_weight=weight
    )
    reference = minimize(
        objective,
        baseline,
        (scores, one_hot, baseline, 3.0, weight),
        method="SLSQP",
        bounds=[(0, 1)] * len(baseline),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    np.testing.assert_allclose(found, reference.x, atol=1e-5)
    ours = objective(found, scores, one_hot, baseline, 3.0, weight)
    assert ours <= reference.fun + 1e-13


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_candidates=st.integers(1, 12),
    shrinkage=st.sampled_from([1e-6, 1e-2, 1.0, 3.0, 100.0]),
)
def test_weights_are_optimal(seed, n_candidates, shrinkage):
    """Karush-Kuhn-Tucker: equal derivatives where the weight is positive, none smaller."""
    rng = np.random.default_rng(seed)
    scores, one_hot, _ = problem(seed, n_candidates=n_candidates)
    scores[:, :, rng.integers(n_candidates)] = scores[:, :, 0]  # two equal candidates
    baseline = rng.dirichlet(np.ones(n_candidates))
    w, gap = stack_weights(scores, one_hot, baseline, shrinkage=shrinkage, n_labeled=len(one_hot))
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert w.min() >= 0.0
    derivative = np.einsum("rck,rc->k", scores, scores @ w - one_hot) / len(one_hot)
    derivative += 2 * shrinkage / len(one_hot) * (w - baseline)
    np.testing.assert_allclose(derivative[w > 0], derivative[w > 0].mean(), atol=1e-9)
    assert derivative.min() >= derivative @ w - 1e-9
    assert 0.0 <= gap <= 1e-9


def test_two_classes_are_one_column():
    """The objective of two columns is the squared error of one of them."""
    scores, one_hot, baseline = problem(3, n_classes=2)
    found = stack_weights(scores, one_hot, baseline, shrinkage=3.0, n_labeled=len(one_hot))
    second, y = scores[:, 1:], one_hot[:, 1:]

    # Twice the square of one column, because half of it is counted.
    one_column = stack_weights(
        np.sqrt(2) * second, np.sqrt(2) * y, baseline, shrinkage=3.0, n_labeled=len(y)
    )
    np.testing.assert_allclose(found[0], one_column[0], atol=1e-12)


def test_large_shrinkage_gives_the_baseline_and_none_the_best_combination():
    scores, one_hot, baseline = problem(4)
    scores[:, :, 5] = one_hot
    strong = stack_weights(scores, one_hot, baseline, shrinkage=1e9, n_labeled=len(one_hot))
    np.testing.assert_allclose(strong[0], baseline, atol=1e-8)
    weak = stack_weights(scores, one_hot, baseline, shrinkage=1e-9, n_labeled=len(one_hot))
    np.testing.assert_allclose(weak[0], np.eye(6)[5], atol=1e-6)


def test_rows_may_be_repeated():
    """Repeats average the loss: twice the same scores give the same weights."""
    scores, one_hot, baseline = problem(5)
    once = stack_weights(scores, one_hot, baseline, shrinkage=3.0, n_labeled=40)
    twice = stack_weights(
        np.tile(scores, (2, 1, 1)), np.tile(one_hot, (2, 1)), baseline, shrinkage=3.0, n_labeled=40
    )
    np.testing.assert_allclose(once[0], twice[0], atol=1e-12)


def test_zero_weights_leave_rows_out():
    scores, one_hot, baseline = problem(6)
    weight = np.r_[np.ones(30), np.zeros(10)]
    some = stack_weights(scores, one_hot, baseline, shrinkage=3, n_labeled=30, row_weight=weight)
    few = stack_weights(scores[:30], one_hot[:30], baseline, shrinkage=3, n_labeled=30)
    np.testing.assert_allclose(some[0], few[0], atol=1e-12)
