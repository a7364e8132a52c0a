import numpy as np

from primum.rows import ArrayRows, Design
from primum.rows.array import BLOCK_NUMBERS


def test_blocks_visit_every_selected_row_once_in_order(rng):
    X = rng.normal(size=(3 * BLOCK_NUMBERS, 2)).astype(np.float32)
    more = rng.normal(size=(7, 2))
    index = np.arange(0, len(X), 3)
    rows = ArrayRows([(X, index), (more[:0], None), (more, None)])
    blocks = list(rows.map(lambda where, X: (where, X)))
    assert len(blocks) > 2
    assert all(block.dtype == np.float64 for _, block in blocks)
    expected = np.vstack([X[index], more])
    np.testing.assert_array_equal(np.vstack([block for _, block in blocks]), expected)
    assert rows.n_rows == len(expected) == blocks[-1][0].stop
    chosen = np.array([0, 1, len(index) - 1, len(index), rows.n_rows - 1])
    np.testing.assert_array_equal(rows.take(chosen), expected[chosen])


def test_threads_change_nothing(rng, monkeypatch):
    X = rng.normal(size=(BLOCK_NUMBERS, 40))
    rows = ArrayRows([(X, None)])
    alone, together = [], []
    for cores, sums in ((1, alone), (3, together)):
        monkeypatch.setattr("primum.rows.array._cores", lambda cores=cores: cores)
        sums.append(rows.map_reduce(lambda _, block: block.T @ block, np.add))
        sums.append(rows.fill(lambda block: block[:, 0]))
    np.testing.assert_array_equal(alone[0], together[0])
    np.testing.assert_array_equal(alone[1], together[1])
    np.testing.assert_array_equal(alone[1], X[:, 0])
    assert rows.passes == 4


def test_design_products_equal_those_of_the_matrix(rng):
    X, weight, q = rng.normal(size=(40, 3)), rng.uniform(size=40), rng.uniform(size=40)
    for intercept in (True, False):
        center = X.mean(axis=0) if intercept else np.zeros(3)
        design = Design(ArrayRows([(X, None)]), center, intercept, weight)
        D = np.column_stack([np.ones(40), X - center])[:, not intercept :]
        v = rng.normal(size=D.shape[1])
        np.testing.assert_allclose(design.matrix(), D)
        np.testing.assert_allclose(design.dot(v), D @ v)
        np.testing.assert_allclose(design.weighted_sum(q), D.T @ (weight * q))
        np.testing.assert_allclose(design.gram(q), (D.T * q) @ D)


def test_design_without_rows():
    design = Design(ArrayRows([(np.zeros((0, 2)), None)]), np.zeros(2), True)
    assert design.n_rows == 0
    np.testing.assert_array_equal(design.weighted_sum(np.zeros(0)), np.zeros(3))
