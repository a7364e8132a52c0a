"""The rows close to a hyperplane are pickled without loss."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from primum.equations import Frame, View
from primum.labellings.streamed import band_of
from primum.rows import Block


def band_from(frame, X, weight=None, size=40, limit=1000):
    """Return the band of every third row, collected in blocks."""
    bands = []
    for start in range(0, X.shape[0], size):
        some = slice(start, start + size)
        block = Block(start, X[some], None if weight is None else weight[some])
        view, chosen = View(block, frame), np.arange(0, block.n_rows, 3)
        rows = view.pick(chosen)
        bands.append(band_of(start + chosen, rows, rows.sum(np.ones(len(chosen))), limit))
    return sum(bands[1:], bands[0])


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("kind", ["single", "double", "huge", "weighted", "sparse"])
def test_a_band_is_pickled_as_one_piece(rng, kind, near):
    X = rng.normal(size=(120, 4)).astype(np.float32).astype(float)
    X *= {"double": 1 / 3, "huge": 1e300}.get(kind, 1.0)
    weight = rng.uniform(size=120) if kind == "weighted" else None
    rows = sparse.csr_array(X * (X > 0)) if kind == "sparse" else X
    band = band_from(Frame(rng.normal(size=4), True, near), rows, weight)
    there = pickle.loads(pickle.dumps(band))
    B, q = rng.normal(size=(3, 5)), rng.uniform(size=band.count)
    assert (len(band.pieces), len(there.pieces)) == (3, 1)
    assert (there.count, there.limit) == (band.count, band.limit)
    np.testing.assert_array_equal(there.positions, band.positions)
    np.testing.assert_array_equal(there.sum, band.sum)
    np.testing.assert_allclose(there.sum_of(q), band.sum_of(q), rtol=1e-12)
    for here, after in zip(band.columns(B), there.columns(B), strict=True):
        if here is not None:
            np.testing.assert_allclose(after, here, rtol=1e-9)
    exact = kind in ("single", "weighted", "sparse") and (near or kind == "sparse")
    assert there.pieces[0][1].X.dtype == (np.float32 if exact else np.float64)


@pytest.mark.parametrize(("limit", "pieces"), [(5, None), (1000, [])])
def test_a_band_without_rows_is_pickled_as_it_is(rng, limit, pieces):
    n = 60 if pieces is None else 0
    band = band_from(
        Frame(np.zeros(2), True, near=True), rng.normal(size=(max(n, 1), 2)), limit=limit
    )
    if pieces == []:
        band = band_of(np.arange(0), band.pieces[0][1].pick(np.arange(0)), band.sum, limit)
    there = pickle.loads(pickle.dumps(band))
    assert there.pieces == band.pieces == pieces
    assert there.count == band.count
