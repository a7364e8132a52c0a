"""Normal equations without their matrix, and moments of sparse rows."""

import numpy as np
import pytest
from scipy import sparse

from primum.equations import Coordinates, gather_columns, gather_moments
from primum.equations.iterative import IterativeEquations, conjugate_gradients, iterative_equations
from primum.equations.normal import equations_of
from primum.rows import ArrayRows


@pytest.mark.parametrize("rank", [5, 12])
def test_conjugate_gradients_find_the_shortest_answers(rng, rank):
    F = rng.normal(size=(12, rank)) * np.geomspace(1, 1e-2, rank)
    A, B = F @ F.T, F @ rng.normal(size=(rank, 3))
    B[:, 2] = 0.0
    given = B.copy()
    solved = conjugate_gradients(lambda V: A @ V, B)
    np.testing.assert_array_equal(B, given)
    assert solved.residual < 1e-10
    np.testing.assert_allclose(solved.X, np.linalg.pinv(A, rcond=1e-12) @ B, rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(solved.X[:, 2], 0.0)


def test_a_good_start_costs_no_step(rng):
    F = rng.normal(size=(20, 8))
    A, B = F.T @ F, rng.normal(size=(8, 2))
    solved = conjugate_gradients(lambda V: A @ V, B, np.diag(A), np.linalg.solve(A, B))
    assert solved.steps == 0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_products_and_lengths(rng, kind, intercept):
    X, weight = np.round(rng.normal(size=(30, 4))), rng.uniform(size=30)
    rows = [
        ArrayRows(kind(X[:10]), weight=weight[:10]),
        ArrayRows(kind(X[10:]), weight=weight[10:]),
    ]
    solved = iterative_equations(rows, alpha=0.1, fit_intercept=intercept)
    Z = X - (weight @ X / weight.sum() if intercept else 0.0)
    A = (Z.T * weight) @ Z + 0.1 * weight.sum() * np.eye(4)
    np.testing.assert_allclose(solved.apply(np.eye(4)), A, atol=1e-12)
    np.testing.assert_allclose(solved.diagonal, np.diag(A))
    coef = rng.normal(size=4)
    gamma = solved.encode(coef, 0.3 * intercept)
    np.testing.assert_allclose(solved.decode(gamma)[0], coef)
    scores = Z @ coef + (gamma[0] if intercept else 0.0)
    expected = weight @ scores**2 + 0.1 * weight.sum() * coef @ coef
    assert solved.length(gamma) ** 2 == pytest.approx(expected)


@pytest.mark.parametrize("gather", [gather_moments, gather_columns])
def test_a_value_that_is_no_number_is_named(rng, gather):
    X = np.round(rng.normal(size=(40, 3)))
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match="Row 7 has nan in column 2"):
        gather([ArrayRows(sparse.csr_array(X))])
    with pytest.raises(ValueError, match="squares overflow"):
        gather([ArrayRows(sparse.csr_array(np.full((3, 2), 1e200)))])


def test_which_equations_are_taken(rng, monkeypatch):
    """A is formed if it is small, or no larger than dense rows in memory."""
    monkeypatch.setattr("primum.equations.normal.MAX_FORMED_COLUMNS", 3)
    monkeypatch.setattr("primum.equations.normal.MAX_FACTORISED_NUMBERS", 0)
    X = rng.normal(size=(8, 5))
    for rows, taken in (
        (ArrayRows(X[:, :3]), Coordinates),
        (ArrayRows(X), Coordinates),
        (ArrayRows(X[:4]), IterativeEquations),
        (ArrayRows(sparse.csr_array(X)), IterativeEquations),
    ):
        assert isinstance(equations_of([rows], alpha=0.1, fit_intercept=True), taken)
