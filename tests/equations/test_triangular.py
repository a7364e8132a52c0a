"""Products with triangular matrices are those with any other matrix."""

import numpy as np
import pytest
from scipy import sparse

from primum.equations import Design, Frame
from primum.equations.design import MIN_TRIANGLE_SIZE, is_wide_triangle, product
from primum.rows import ArrayRows


def matrices(rng, size):
    """Return a matrix, its upper triangle and its lower triangle."""
    V = rng.normal(size=(size, size))
    return V, np.triu(V), np.tril(V)


@pytest.mark.parametrize(
    "size", [1, MIN_TRIANGLE_SIZE - 1, MIN_TRIANGLE_SIZE, MIN_TRIANGLE_SIZE + 30]
)
def test_only_wide_upper_triangles_are_recognised(rng, size):
    V, upper, lower = matrices(rng, size)
    wide = size >= MIN_TRIANGLE_SIZE
    assert is_wide_triangle(upper) == wide
    assert is_wide_triangle(np.asfortranarray(upper)) == wide
    assert not (wide and (is_wide_triangle(V) or is_wide_triangle(lower)))
    assert not is_wide_triangle(upper[:-1])
    assert not is_wide_triangle(upper[0])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [MIN_TRIANGLE_SIZE - 1, MIN_TRIANGLE_SIZE + 30])
def test_product_is_the_matrix_product(rng, size, order):
    A = np.asarray(rng.normal(size=(40, size)), order=order)
    before = A.copy()
    for V in matrices(rng, size):
        V = np.asarray(V, order=order)
        np.testing.assert_allclose(product(A, V), before @ V, atol=1e-11)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("near", [True, False])
def test_design_rows_times_a_triangle(rng, kind, fit_intercept, near):
    d = MIN_TRIANGLE_SIZE + 10
    X, center = rng.normal(size=(90, d)), rng.normal(size=d)
    design = Design(ArrayRows(kind(X)), Frame(center, fit_intercept, near))
    rows, before = design.frame.expand(X), X.copy()
    for V in matrices(rng, d + int(fit_intercept)):
        np.testing.assert_allclose(design.dot(V), rows @ V, atol=1e-11)
    np.testing.assert_array_equal(X, before)
