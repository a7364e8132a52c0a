"""Columns that are exactly collinear, and many rows of them."""

import numpy as np
import pytest
from sklearn.base import clone

from primum import EMLeastSquaresClassifier, ICLSClassifier, USMClassifier


@pytest.mark.parametrize(
    "clf", [USMClassifier(), EMLeastSquaresClassifier(), ICLSClassifier(tol=1e-12)], ids=str
)
@pytest.mark.parametrize("seed", [0, 10])
def test_collinear_columns_of_many_rows_in_any_order(clf, seed):
    """The difference between a + b and its columns is rounding, however many rows say so."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 100_000)
    a, b = rng.normal(size=(len(truth), 3))[:, :2].T + truth
    X, labeled = np.column_stack([a, b, a + b]), np.arange(len(truth)) < 30
    order = np.concatenate([np.arange(30), 30 + rng.permutation(len(truth) - 30)])
    y = np.where(labeled, truth, -1)
    fits = [clone(clf).fit(X[rows], y) for rows in (slice(None), order)]
    assert np.abs(fits[0].coef_).max() < 1
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-6)
    coef, base = fits[0].coef_[0], clone(clf).fit(X[:, :2], y).coef_[0]
    np.testing.assert_allclose(coef[:2] + coef[2], base, atol=1e-6)
