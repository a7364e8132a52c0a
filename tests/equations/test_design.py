import numpy as np
import pytest
from scipy import sparse

from primum.equations import Frame, View
from primum.rows import Block


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("d", "n_products"), [(3, 1), (3, 12), (30, 1), (30, 12)])
def test_products_by_column_are_those_by_row(rng, kind, d, n_products):
    X, V = rng.normal(size=(50, d)), rng.normal(size=(d + 1, n_products))
    view = View(Block(0, kind(X)), Frame(rng.normal(size=d), True, near=True))
    found = view.dot(V, by_column=True)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, view.dot(V).T, atol=1e-12)
