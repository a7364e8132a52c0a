"""Gaussian classes in coordinates: densities on a range, and derivatives in the labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from generate import several_classes
from primum.methods.gaussian.contrastive_pessimistic_lda import ContrastiveLikelihood
from primum.methods.gaussian.family import GaussianFamily, gaussian_coordinates, scatter
from primum.methods.gaussian.iclda import LabeledLikelihood

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 4), st.booleans())
def test_density_on_the_range_of_a_singular_covariance(seed, n_extra, few):
    """Collinear features, or fewer rows than features: SciPy's density on the range."""
    rng = np.random.default_rng(seed)
    X, y, *_ = several_classes(6 if few else 30, 0, 3 if not few else 9, 2, seed=seed)
    X = np.column_stack([X, X @ rng.normal(size=(X.shape[1], n_extra)), np.full(len(X), 2.0)])
    X *= rng.uniform(0.5, 2, X.shape[1])
    R = np.eye(2)[y]
    space = gaussian_coordinates(X, np.ones(len(X)), spherical=False, alpha=0.0)
    assert space.dimension == (5 if few else 3)
    np.testing.assert_allclose(space.origin + space.read(X) @ space.basis.T, X, atol=1e-8)
    np.testing.assert_allclose(space.reader.T @ space.basis, np.eye(space.dimension), atol=1e-10)
    model = GaussianFamily(space, False, None).fit(space.read(X), R)
    if few:  # within the classes there is one dimension less, and the pseudo-inverse is used
        assert model.rank == space.dimension - 1
        return
    covariance = space.basis @ model.covariance @ space.basis.T
    for k, mean in enumerate(space.origin + model.means @ space.basis.T):
        expected = multivariate_normal(mean, covariance, allow_singular=True).logpdf(X)
        found = model.log_joint(space.read(X))[:, k] - model.log_shares[k] - space.log_volume
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@given(seeds, st.booleans(), st.sampled_from([0.0, 0.3]), st.booleans())
@pytest.mark.parametrize("kind", [LabeledLikelihood, ContrastiveLikelihood])
def test_derivatives_in_the_labels(kind, seed, spherical, alpha, equal):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 5))
    X, y, X_u, _ = several_classes(20, 15, 3, K, seed=seed)
    rows, weight = np.vstack([X, X_u]), rng.uniform(0.5, 2, 35)
    space = gaussian_coordinates(rows, weight, spherical=spherical, alpha=alpha)
    family = GaussianFamily(space, spherical, np.full(K, -np.log(K)) if equal else None)
    Z, R = space.read(rows), np.eye(K)[y] * weight[:20, None]
    further = () if kind is LabeledLikelihood else (family.fit(Z[:20], R),)
    objective = kind(family, Z, R, weight[20:], *further)
    Q = 0.5 / K + 0.5 * rng.dirichlet(np.ones(K), 15)
    step = 1e-5 * (rng.dirichlet(np.ones(K), 15) - Q)
    slope = (objective(Q + step)[0] - objective(Q - step)[0]) / 2e-5
    assert slope == pytest.approx(np.sum(objective(Q)[1] * step) / 1e-5, abs=1e-7)


@given(seeds)
def test_the_contrastive_likelihood_is_convex_and_not_negative(seed):
    rng = np.random.default_rng(seed)
    X, y, X_u, _ = several_classes(20, 15, 3, 3, seed=seed)
    rows = np.vstack([X, X_u + rng.normal(size=3)])
    space = gaussian_coordinates(rows, np.ones(35), spherical=False, alpha=0.0)
    family, Z, R = GaussianFamily(space, False, None), space.read(rows), np.eye(3)[y]
    f = ContrastiveLikelihood(family, Z, R, np.ones(15), family.fit(Z[:20], R))
    one, other = rng.dirichlet(np.full(3, 0.3), (2, 15))
    share = rng.uniform()
    chord = share * f(one)[0] + (1 - share) * f(other)[0]
    assert 0 <= f(share * one + (1 - share) * other)[0] <= chord + 1e-12


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_scatter_is_the_sum_over_rows_and_classes_without_cancellation(n_classes):
    rng = np.random.default_rng(n_classes)
    Z, R = 1e8 + rng.normal(size=(40, 3)), rng.dirichlet(np.ones(n_classes), 40)
    R[:10] = np.eye(n_classes)[rng.integers(0, n_classes, 10)]
    R[0] = 0.0  # a row without weight
    means = (R.T @ (Z - 1e8)) / R.sum(axis=0)[:, None]
    off = (Z - 1e8)[:, None, :] - means
    expected = np.einsum("ik,ikd,ike->de", R, off, off)
    np.testing.assert_allclose(scatter(Z, R, 1e8 + means), expected, rtol=1e-6)
