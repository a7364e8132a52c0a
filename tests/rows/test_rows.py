import numpy as np
import pytest
from scipy import sparse

from primum._threads import using_threads
from primum.equations import Design, Frame
from primum.rows import ArrayRows, chain
from primum.rows.array import BLOCK_NUMBERS


def test_blocks_visit_every_selected_row_once_in_order(rng):
    X = rng.normal(size=(3 * BLOCK_NUMBERS, 2)).astype(np.float32)
    more, index = rng.normal(size=(7, 2)), np.arange(0, len(X), 3)
    weight = rng.uniform(size=len(index))
    rows = chain([ArrayRows(X, index, weight), ArrayRows(more[:0]), ArrayRows(more)])
    blocks = list(rows.map(lambda block: block))
    assert len(blocks) > 2
    assert all(block.X.dtype == np.float64 for block in blocks)
    expected = np.vstack([X[index], more])
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), expected)
    assert rows.n_rows == len(expected) == blocks[-1].where.stop
    chosen = np.array([0, 1, len(index) - 1, len(index), rows.n_rows - 1])
    weights = np.concatenate([weight, np.ones(7)])
    np.testing.assert_array_equal(rows.take(chosen).X, expected[chosen])
    np.testing.assert_array_equal(rows.take(chosen).weight, weights[chosen])
    np.testing.assert_array_equal(rows.weight, weights)


def test_threads_change_nothing(rng):
    X = rng.normal(size=(BLOCK_NUMBERS, 40))
    rows = ArrayRows(X)
    alone, together = [], []
    for n_jobs, sums in ((1, alone), (3, together)):
        with using_threads(n_jobs):
            sums.append(rows.map_reduce(lambda block: block.X.T @ block.X, np.add))
            sums.append(rows.fill(lambda block: block.X[:, 0]))
    np.testing.assert_array_equal(alone[0], together[0])
    np.testing.assert_array_equal(alone[1], together[1])
    np.testing.assert_array_equal(alone[1], X[:, 0])
    assert rows.passes == 4


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_design_products_equal_those_of_the_matrix(rng, kind, intercept):
    X, weight, q = rng.normal(size=(40, 3)), rng.uniform(size=40), rng.uniform(size=40)
    X[rng.uniform(size=X.shape) < 0.5] = 0.0
    center = X.mean(axis=0) if intercept else np.zeros(3)
    design = Design(ArrayRows(kind(X), weight=weight), Frame(center, intercept))
    D = np.column_stack([np.ones(40), X - center])[:, not intercept :]
    v, V = rng.normal(size=D.shape[1]), rng.normal(size=(D.shape[1], 2))
    np.testing.assert_allclose(design.dot(v), D @ v, atol=1e-14)
    np.testing.assert_allclose(design.dot(V), D @ V, atol=1e-14)
    np.testing.assert_allclose(design.weighted_sum(q), D.T @ (weight * q), atol=1e-13)
    np.testing.assert_allclose(design.gram(V, q), V.T @ (D.T * q) @ D @ V, atol=1e-12)


def test_design_without_rows():
    design = Design(ArrayRows(np.zeros((0, 2))), Frame(np.zeros(2), True))
    assert design.rows.n_rows == 0
    np.testing.assert_array_equal(design.weighted_sum(np.zeros(0)), np.zeros(3))
    assert design.dot(np.zeros((3, 4))).shape == (0, 4)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "index",
    [
        [],
        [4],
        [0, 1, 2],
        [3, 4, 5, 6],
        [0, 2],
        [1, 2, 4, 5],
        list(range(9)),
        # As far apart as if they were consecutive.
        [1, 7, 3],
        [2, 4, 3, 5],
        [3, 3, 5],
    ],
)
@pytest.mark.parametrize("selected", [None, [0, 1, 3, 4, 5, 6, 8, 9, 10], list(range(2, 11))])
def test_taken_rows_are_those_at_the_positions(rng, kind, index, selected):
    X, weight = rng.normal(size=(11, 3)), rng.uniform(size=9 if selected else 11)
    chosen = np.arange(11) if selected is None else np.array(selected)
    rows = ArrayRows(kind(X), None if selected is None else chosen, weight)
    taken = rows.take(np.array(index, dtype=np.intp))
    found = taken.X.toarray() if sparse.issparse(taken.X) else taken.X
    np.testing.assert_array_equal(found, X[chosen[index]] if index else np.zeros((0, 3)))
    np.testing.assert_array_equal(taken.weight, weight[index] if index else [])


def test_consecutive_rows_are_taken_without_a_copy(rng):
    X = rng.normal(size=(11, 3))
    assert np.shares_memory(ArrayRows(X).take(np.arange(2, 7)).X, X)
