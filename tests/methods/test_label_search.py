"""The search over soft labels, on problems whose solution is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from primum.labellings.sets import nearest_shares
from primum.methods.gaussian import label_search
from primum.methods.gaussian.label_search import label_gap, minimize_over_labels


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_finds_the_nearest_labels(seed, n_classes):
    rng = np.random.default_rng(seed)
    target = rng.normal(size=(30, n_classes))

    def distance(Q):
        return 0.5 * float(np.sum((Q - target) ** 2)), Q - target

    start = rng.dirichlet(np.ones(n_classes), 30)
    found = minimize_over_labels(distance, start, tol=1e-6, max_iter=1000)
    assert found.gap <= 1e-6
    # Half the squared distance to the solution is at most the gap.
    assert 0.5 * np.sum((found.Q - nearest_shares(target)) ** 2) <= found.gap
    np.testing.assert_allclose(found.Q.sum(axis=1), 1.0, atol=1e-12)
    assert found.Q.min() >= 0


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_the_gap_bounds_the_distance_to_the_minimum_of_a_convex_function(seed, n_classes):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(8, 20)), rng.normal(size=(8, n_classes))

    def squares(Q):
        residual = A @ Q - b
        return 0.5 * float(np.sum(residual**2)), A.T @ residual

    start = np.full((20, n_classes), 1.0 / n_classes)
    rough, fine = (
        minimize_over_labels(squares, start, tol=tol, max_iter=5000) for tol in (0.5, 1e-5)
    )
    # Line searches compare values: they prove little more than the root of their rounding.
    assert fine.gap <= 1e-5
    assert fine.value - 1e-12 <= rough.value <= fine.value + rough.gap + 1e-12


def test_vertices_are_reached_from_the_opposite_ones():
    costs = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 5.0]])
    start = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    found = minimize_over_labels(
        lambda Q: (float(np.sum(costs * Q)), costs), start, tol=1e-9, max_iter=100
    )
    np.testing.assert_allclose(found.Q, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], atol=1e-8)
    assert label_gap(costs, start) == pytest.approx(7.0)


def test_a_working_set_of_many_shares_finds_the_nearest_labels(monkeypatch):
    rng = np.random.default_rng(0)
    A, target = rng.normal(size=(60, 40)), rng.normal(size=(60, 30))
    sizes = []

    def squares(Q):
        residual = A @ Q - target
        return 0.5 * float(np.sum(residual**2)), A.T @ residual

    def counted(search, start, tol, max_iter):
        sizes.append(len(search.variables(start)))
        return minimize(search, start, tol, max_iter)

    minimize = label_search._minimize
    start = np.full((40, 30), 1.0 / 30)
    whole = minimize_over_labels(squares, start, tol=1e-5, max_iter=5000)
    monkeypatch.setattr(label_search, "MAX_FREE_SHARES", 200)
    monkeypatch.setattr(label_search, "_minimize", counted)
    part = minimize_over_labels(squares, start, tol=1e-5, max_iter=5000)
    assert sizes[0] == 1200
    assert sizes[-1] < 600
    assert max(whole.gap, part.gap) <= 1e-5  # of all shares
    assert part.value == pytest.approx(whole.value, abs=1e-5)
    np.testing.assert_allclose(part.Q.sum(axis=1), 1.0, atol=1e-12)
