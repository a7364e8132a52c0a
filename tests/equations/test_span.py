"""Rows in coordinates of their span have the same inner products, and the same models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from primum.equations import span_of
from primum.rows import ArrayRows


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
