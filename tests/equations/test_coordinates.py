"""In the right coordinates, A is the identity; with too few rows, beta is the shortest."""

import numpy as np
import pytest

from primum.equations import coordinates_of
from primum.rows import ArrayRows


def coordinates(X, alpha=0.0, fit_intercept=True, weight=None):
    return coordinates_of([ArrayRows(X, weight=weight)], alpha=alpha, fit_intercept=fit_intercept)


def second_moment(X, c, alpha):
    D = np.column_stack([np.ones(len(X)), X - c.center])[:, not c.fit_intercept :]
    ridge = np.diag(np.r_[[0.0] * c.fit_intercept, np.full(X.shape[1], len(X) * alpha)])
    Z, R = D @ c.full_basis, np.sqrt(ridge) @ c.full_basis
    return Z.T @ Z + R.T @ R


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("condition", [1.0, 1e4, 1e5])
def test_second_moment_becomes_the_identity(rng, fit_intercept, alpha, condition):
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = rng.normal(size=(80, 6)) * np.geomspace(1, condition, 6) @ rotation + 3.0
    c = coordinates(X, alpha, fit_intercept)
    G = second_moment(X, c, alpha)
    np.testing.assert_allclose(G, np.eye(len(G)), atol=1e-9)


def test_units_of_the_features_do_not_matter(rng):
    X, units = rng.normal(size=(40, 3)), np.array([1e-6, 1.0, 1e6])
    y = rng.normal(size=40)
    plain, scaled = coordinates(X), coordinates(X * units)
    for c, rows in ((plain, X), (scaled, X * units)):
        design = c.design(ArrayRows(rows))
        coef, intercept = c.decode(design.weighted_sum(y) @ c.full_basis)
        expected = np.linalg.lstsq(np.column_stack([np.ones(40), X]), y)[0]
        np.testing.assert_allclose(coef * (units if c is scaled else 1), expected[1:], rtol=1e-9)
        assert intercept == pytest.approx(expected[0], rel=1e-9)


@pytest.mark.parametrize("shape", [(5, 12), (40, 12)])
def test_shortest_coefficients_when_many_fit(rng, shape):
    X = rng.normal(size=shape)
    X[:, 3] = 250 * X[:, 2]
    X[:, 4] = 7.0
    X[:, 5] = X[:, 6]
    y = rng.normal(size=len(X))
    c = coordinates(X)
    coef, intercept = c.decode(c.design(ArrayRows(X)).weighted_sum(y) @ c.full_basis)
    expected = np.linalg.pinv(X - X.mean(axis=0), rcond=1e-10) @ (y - y.mean())
    np.testing.assert_allclose(coef, expected, atol=1e-9)
    assert intercept == pytest.approx(y.mean() - X.mean(axis=0) @ expected, abs=1e-9)


def test_encode_is_the_inverse_of_decode(rng):
    for X in (rng.normal(size=(30, 4)), rng.normal(size=(3, 4))):
        c = coordinates(X)
        gamma = rng.normal(size=c.full_basis.shape[1])
        np.testing.assert_allclose(c.encode(*c.decode(gamma)), gamma, atol=1e-10)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("smallest", [1e-6, 1e-3])
def test_weak_directions_are_left_out_as_a_pseudo_inverse_does(rng, fit_intercept, smallest):
    """Eigenvalues of A, the square of singular values, are compared with rcond."""
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    X = rng.normal(size=(60, 5)) * np.r_[1, 1, 1, 1, smallest] @ rotation + 0.3 * fit_intercept
    y = rng.normal(size=60)
    c = coordinates_of([ArrayRows(X)], alpha=0.0, fit_intercept=fit_intercept, rcond=1.5e-8)
    design = c.design(ArrayRows(X))
    coef, _ = c.decode(design.weighted_sum(y) @ c.full_basis)
    D = design.dot(np.eye(len(c.full_basis)))
    expected = np.linalg.pinv(D.T @ D, rcond=1.5e-8) @ (D.T @ y)
    np.testing.assert_allclose(coef, expected[int(fit_intercept) :], atol=1e-8)
    assert c.basis.shape[1] == (4 if smallest == 1e-6 else 5)


COLLINEAR = {
    "a multiple": lambda base, rng: np.c_[base[:, 0], 0.7 * base[:, 0]],
    "a sum": lambda base, rng: np.c_[base[:, :2], base[:, 0] + base[:, 1]],
    "rank 1 of 2": lambda base, rng: base[:, :1] @ rng.normal(size=(1, 2)),
    "rank 3 of 6": lambda base, rng: base @ rng.normal(size=(3, 6)),
}
RANK = {"a multiple": 1, "a sum": 2, "rank 1 of 2": 1, "rank 3 of 6": 3}


@pytest.mark.parametrize("kind", COLLINEAR)
@pytest.mark.parametrize(
    "n", [2_000, 16_000, 100_000, pytest.param(500_000, marks=pytest.mark.slow)]
)
def test_the_rank_of_collinear_columns_does_not_depend_on_the_number_of_rows(n, kind):
    for seed in range(6 if n < 100_000 else 4):
        rng = np.random.default_rng(seed)
        base = rng.normal(size=(n, 3)) + rng.integers(0, 2, n)[:, None]
        X = COLLINEAR[kind](base, rng)
        for mean in (0.0, 1e3):
            for rows in (X + mean, rng.permutation(X + mean)):
                assert coordinates(rows).basis.shape[1] == RANK[kind]


def test_sorted_rows_have_the_same_rank(rng):
    """Partial sums grow as they can: the mean is known less well than a random order lets it."""
    x = np.sort(rng.exponential(size=200_000))
    for rows in (x, x[::-1], rng.permutation(x)):
        assert coordinates(np.c_[rows, 0.7 * rows, 3 * rows + 2]).basis.shape[1] == 1


@pytest.mark.parametrize("strength", [1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("n", [2_000, 200_000])
def test_weak_directions_are_kept_and_known(rng, n, strength):
    """The difference of two columns is small but far above the rounding of their values."""
    x, z = rng.normal(size=(2, n))
    X = np.column_stack([x, x + strength * z])
    c = coordinates(X)
    assert c.basis.shape[1] == 2
    # Labels that only the weak direction explains, as exactly as it was stored.
    y = (X[:, 1] - X[:, 0]) / strength
    gamma = c.design(ArrayRows(X)).weighted_sum(y) @ c.full_basis
    coef, intercept = c.decode(gamma)
    np.testing.assert_allclose(X @ coef + intercept, y, atol=1e-13 / strength)


def test_a_nearly_constant_column_does_not_hide_weak_directions_of_others(rng):
    """Nor is it hidden by them: its values differ by eight times their rounding and more."""
    x, z, other = rng.normal(size=(3, 5000))
    X = np.column_stack([x, x + 1e-7 * z, other, 1e15 + rng.integers(0, 30, 5000)])
    assert coordinates(X[:, :3]).basis.shape[1] == 3
    assert coordinates(X).basis.shape[1] == 4
    assert coordinates(np.c_[X, x + other]).basis.shape[1] == 4


@pytest.mark.parametrize("weight", [None, "over six orders"])
@pytest.mark.parametrize("mean", [0.0, 1e5])
@pytest.mark.parametrize("strength", [1e-6, 1e-7, 1e-9])
def test_nearly_collinear_rows_are_orthonormal_in_extended_precision(rng, strength, mean, weight):
    """Up to the rounding of values and of the mean, which the condition of the rows amplifies."""
    X = rng.normal(size=(10_000, 8)) + mean
    X[:, 1] = 3.0 - X[:, 0] + strength * rng.normal(size=len(X))
    X *= np.geomspace(1e-3, 1e3, 8)
    weight = weight and 10.0 ** rng.uniform(-3, 3, len(X))
    c = coordinates(X, weight=weight)
    w = np.ones(len(X)) if weight is None else weight
    rows = np.column_stack([np.ones(len(X)), X - c.center.astype(np.longdouble)])
    Z = rows @ c.full_basis.astype(np.longdouble)
    off = np.asarray(Z.T @ (w[:, None] * Z) - np.eye(9), dtype=float)
    assert np.abs(off).max() < np.finfo(float).eps * (10 + mean) / strength


@pytest.mark.parametrize(("strength", "passes"), [(1e-6, 2), (1e-13, 4), (0.0, 4)])
def test_collinear_rows_are_read_few_times(rng, strength, passes):
    """Their moments and a Gram matrix; if directions may be missing, two more."""
    x, z, other = rng.normal(size=(3, 20_000))
    rows = ArrayRows(np.column_stack([x, x + strength * z, other]))
    c = coordinates_of([rows], alpha=0.0, fit_intercept=True)
    assert c.basis.shape[1] == (3 if strength == 1e-6 else 2)
    assert rows.passes == passes
