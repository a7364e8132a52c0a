"""Inner products of columns of M, whatever was asked for before."""

import numpy as np
import pytest

from primum.labellings import problem as row_products
from primum.labellings.problem import RowProducts


@pytest.mark.parametrize("limit", [0, 30, 2**10])
def test_products_do_not_depend_on_earlier_ones(monkeypatch, limit):
    monkeypatch.setattr(row_products, "MIN_REMEMBERED_PRODUCTS", 100)
    monkeypatch.setattr(row_products, "MIN_REMEMBERED_ROWS", limit)
    rng = np.random.default_rng(0)
    M = rng.normal(size=(5, 200))
    products = RowProducts(M)
    open_rows = rng.random(200) < 0.2
    for _ in range(40):
        open_rows ^= rng.random(200) < 0.05
        index = np.flatnonzero(open_rows)
        found = products.of(index)
        np.testing.assert_allclose(found, M[:, index].T @ M[:, index], atol=1e-12)
        found += 1.0  # the caller's own


def test_known_products_are_not_computed_again(monkeypatch):
    monkeypatch.setattr(row_products, "MIN_REMEMBERED_PRODUCTS", 0)
    M = np.random.default_rng(0).normal(size=(4, 50))
    products = RowProducts(M)
    products.of(np.arange(20))
    products.matrix = np.full_like(M, np.nan)  # whatever is computed from now on is NaN
    np.testing.assert_allclose(products.of(np.arange(3, 18)), M[:, 3:18].T @ M[:, 3:18], atol=1e-12)
    assert np.isnan(products.of(np.arange(3, 21))).any()
