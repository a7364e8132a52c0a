"""Fewer rows than columns: the rows are factorised, and units do not matter."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from primum.equations import equations_of, span_of
from primum.equations.row_space import row_space_coordinates
from primum.rows import ArrayRows

KINDS = {"dense": np.asarray, "sparse": sparse.csr_array}


def least_squares(c, X, y, weight=None):
    """Return the scores, coefficients and intercept of labels."""
    rows = ArrayRows(X, weight=weight)
    coef, intercept = c.decode(c.solve(c.design(rows).weighted_sum(y)))
    return X @ coef + intercept, coef, intercept


def shortest_fit(X, y, alpha, fit_intercept, weight):
    """Return the shortest coefficients, by a singular value decomposition of centred rows."""
    w = np.ones(len(X)) if weight is None else weight
    level, center = (w @ y / w.sum(), w @ X / w.sum()) if fit_intercept else (0.0, 0.0)
    rows, goal = (X - center) * np.sqrt(w)[:, None], (y - level) * np.sqrt(w)
    U, s, Vt = np.linalg.svd(rows, full_matrices=False)
    shrunk = np.where(s > 1e-12 * s[0], s / (s**2 + w.sum() * alpha + (s == 0)), 0.0)
    coef = Vt.T @ (shrunk * (goal @ U))
    return coef, level - np.sum(center * coef)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1e-12, 0.1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_shortest_coefficients(rng, kind, alpha, fit_intercept, weighted):
    X, y = rng.normal(size=(12, 30)) + 2.0, rng.normal(size=12)
    X[:, 4], X[:, 5], X[:, 6] = 0.3, 0.0, 250 * X[:, 7]
    X[3] = X[2]
    weight = rng.uniform(0.5, 2, 12) if weighted else None
    rows = [ArrayRows(KINDS[kind](X), weight=weight)]
    c = row_space_coordinates(rows, alpha=alpha, fit_intercept=fit_intercept)
    _, coef, intercept = least_squares(c, X, y, weight)
    expected = shortest_fit(X, y, alpha, fit_intercept, weight)
    np.testing.assert_allclose(coef, expected[0], atol=1e-11)
    assert intercept == pytest.approx(expected[1], abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("empty", [0, 50, 5000])
@pytest.mark.parametrize("alpha", [0.0, 1e-14])
def test_small_units_beside_large_ones_and_empty_columns(rng, kind, empty, alpha):
    """The same columns with others that are empty: the same coefficients, whatever the units."""
    X, y = rng.normal(size=(40, 2)) * [1e4, 1e-4], rng.normal(size=40)
    wide = np.hstack([X, np.zeros((40, empty))])
    c = equations_of([ArrayRows(KINDS[kind](wide))], alpha=alpha, fit_intercept=True)
    _, coef, intercept = least_squares(c, wide, y)
    D, ridge = np.column_stack([np.ones(40), X]), np.diag([0, 40 * alpha, 40 * alpha])
    expected = np.linalg.solve(D.T @ D + ridge, D.T @ y)
    np.testing.assert_allclose(coef[:2], expected[1:], rtol=1e-8)
    assert intercept == pytest.approx(expected[0], abs=1e-8)
    assert not coef[2:].any()


@pytest.mark.parametrize("alpha", [0.0, 1e-10])
def test_units_in_the_span_of_many_columns(rng, alpha):
    """Least norm is meant in the units given; scores are those of any units without a ridge."""
    units = np.geomspace(1e-5, 1e5, 60)
    X, y = rng.normal(size=(25, 60)) * units, rng.normal(size=25)
    c = row_space_coordinates([ArrayRows(X)], alpha=alpha, fit_intercept=False)
    assert c.basis.shape[1] == 25
    scores, coef, _ = least_squares(c, X, y)
    expected, _ = shortest_fit(X, y, alpha, False, None)
    np.testing.assert_allclose(coef, expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(c.inverse @ c.basis, np.eye(25), atol=1e-9)
    if alpha == 0:
        np.testing.assert_allclose(scores, y, atol=1e-9)


def test_equal_rows_and_collinear_columns_lower_the_rank(rng):
    X = np.repeat(rng.normal(size=(6, 50)), 3, axis=0)
    X[:, 10:] = X[:, :40] * np.geomspace(1e-6, 1e6, 40)
    assert row_space_coordinates([ArrayRows(X)], alpha=0, fit_intercept=True).basis.shape[1] == 5


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 + 0.1])
def test_constant_columns_are_nothing_but_constant(rng, value):
    X = np.column_stack([rng.normal(size=(300, 3)), np.full((300, 400), value)])
    for kind in KINDS.values():
        c = row_space_coordinates([ArrayRows(kind(X))], alpha=0.0, fit_intercept=True)
        assert c.basis.shape[1] == 3
        assert not c.basis[3:].any()


def test_rows_without_any_difference(rng):
    c = row_space_coordinates([ArrayRows(np.full((4, 9), 0.1))], alpha=0.0, fit_intercept=True)
    coef, intercept = c.decode(c.solve(np.r_[2.0, np.zeros(9)]))
    assert not coef.any()
    assert intercept == 0.5


def test_values_that_are_no_numbers_are_named():
    X = np.ones((3, 5))
    X[1, 4] = np.inf
    with pytest.raises(ValueError, match="Row 1 has inf in column 4"):
        equations_of([ArrayRows(X)], alpha=0.0, fit_intercept=True)
    with pytest.raises(ValueError, match="Rows 0 to 2 have values so large that their squares"):
        equations_of([ArrayRows(np.full((3, 5), 1e200))], alpha=0.0, fit_intercept=True)


@pytest.mark.parametrize("columns", [1000, 2000, 4096, 4097])
def test_fewer_rows_than_columns_never_form_their_second_moment(rng, monkeypatch, columns):
    def refuse(*_, **__):
        raise AssertionError("A was formed")

    monkeypatch.setattr("primum.equations.normal.coordinates_of", refuse)
    X, y = rng.normal(size=(20, columns)), rng.normal(size=20)
    c = equations_of([ArrayRows(X)], alpha=0.0, fit_intercept=True)
    np.testing.assert_allclose(least_squares(c, X, y)[0], y, atol=1e-10)


def wide_rows(rng, kind, n=12, d=40):
    X = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.3)
    X[-1] = X[0]  # not of full rank
    return sparse.csr_array(X) if kind == "sparse" else X


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_inner_products_are_those_of_the_rows(rng, kind):
    X = wide_rows(rng, kind)
    span = span_of([ArrayRows(X[:5]), ArrayRows(X[5:])], 0.1)
    assert span.rows.shape == (12, 11)
    assert_allclose(span.rows @ span.rows.T, dense(X) @ dense(X).T, atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_have_the_same_scores_and_lengths(rng, kind, n_classes):
    X = wide_rows(rng, kind)
    span = span_of([ArrayRows(X)], 0.1)
    shape = (11,) if n_classes == 2 else (11, n_classes)
    small = rng.normal(size=shape), rng.normal(size=shape[1:])
    coef, intercept = span.model(small)
    assert coef.shape == (40, *shape[1:])
    assert_allclose(X @ coef, span.rows @ small[0], atol=1e-10)
    assert_allclose(np.sum(coef**2), np.sum(small[0] ** 2))
    assert intercept is small[1]
    assert_allclose(span.coordinates((coef, intercept))[0], small[0], atol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 1e-12])
def test_a_ridge_near_the_rounding_of_inner_products_needs_the_rows(rng, alpha):
    assert span_of([ArrayRows(wide_rows(rng, "dense"))], alpha) is None


def test_single_precision_is_copied(rng):
    X = wide_rows(rng, "dense").astype(np.float32)
    span = span_of([ArrayRows(X[:6]), ArrayRows(X[6:])], 0.1)
    assert_allclose(span.rows @ span.rows.T, X.astype(float) @ X.T.astype(float), atol=1e-12)


@pytest.mark.parametrize("length", [1e-9, 1e9])
def test_short_rows_are_not_lost_beside_one_that_is_far_longer(rng, length):
    X = rng.normal(size=(12, 40))
    X[0] *= length
    R = span_of([ArrayRows(X)], 1e9 * max(length, 1.0) ** 2).rows
    sizes = np.linalg.norm(X, axis=1)
    cosines = X @ X.T / sizes / sizes[:, None]
    assert_allclose(R @ R.T / sizes / sizes[:, None], cosines, atol=1e-12)


def test_rows_of_zeros_have_no_span():
    assert span_of([ArrayRows(np.zeros((5, 9)))], 1.0) is None
