import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from primum.methods.icls.constraint_set import zonotope_vertices


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_border_is_the_hull_of_all_hard_labellings(seed, U):
    rng = np.random.default_rng(seed)
    origin, segments = rng.normal(size=2), rng.normal(size=(U, 2))
    corners = origin + np.array(list(np.ndindex(*[2] * U))) @ segments
    vertices = zonotope_vertices(origin, segments)
    np.testing.assert_allclose(vertices[0], vertices[-1])
    for direction in rng.normal(size=(5, 2)):
        assert (vertices @ direction).max() == pytest.approx((corners @ direction).max())
    if U > 2:
        x, y = vertices.T
        area = 0.5 * (x[:-1] @ y[1:] - x[1:] @ y[:-1])
        assert area == pytest.approx(ConvexHull(corners).volume)


def test_interval():
    ends = zonotope_vertices(np.array([1.0]), np.array([[2.0], [-3.0]]))
    np.testing.assert_array_equal(ends.ravel(), [-2.0, 3.0])


def test_three_parameters_cannot_be_drawn():
    with pytest.raises(ValueError, match="one or two parameters, not 3"):
        zonotope_vertices(np.zeros(3), np.zeros((4, 3)))
