"""Fresh orders, and rows of a pool that are labelled already."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from primum.judging import pools
from primum.judging.disagreements import find_disagreements
from primum.judging.pools import DistinctRows, also_labeled, order_seed, row_digests


def test_digests_depend_on_values_alone(rng, monkeypatch):
    X = rng.normal(size=(200, 7)) * (rng.random((200, 7)) < 0.5)
    X[3] = X[5]
    digests = row_digests(X)
    _, first = np.unique(X, axis=0, return_inverse=True)
    assert len(np.unique(digests)) == len(np.unique(first)) < 200
    assert digests[3] == digests[5]
    monkeypatch.setattr(pools, "CELLS_PER_BLOCK", 10)
    twice = sparse.coo_array(
        (np.r_[X.ravel(), X.ravel()] / 2, np.tile(np.indices(X.shape).reshape(2, -1), 2))
    )
    for form in (X, np.asfortranarray(X), pd.DataFrame(X), sparse.csr_array(X), X + 0.0, twice):
        np.testing.assert_array_equal(row_digests(form), digests)
    np.testing.assert_array_equal(row_digests(np.where(X == 0, -0.0, X)), digests)
    np.testing.assert_array_equal(row_digests(X[::-1]), digests[::-1])
    assert row_digests(X.astype(np.float32))[0] != digests[0]
    first = X[:, 0] != 0
    assert not np.isin(row_digests(X[first, ::-1]), digests).any()  # other columns
    missing = np.array([[np.nan, 1.0], [-np.nan, 1.0], [0.0, 1.0]])
    first, second, third = row_digests(missing)
    assert first == second != third


def test_equal_cells_tell_rows_only_where_all_are_different(rng):
    pool, labeled = rng.integers(2**60, size=(2, 50)).astype(np.uint64)
    labeled[:5] = pool[[3, 8, 9, 20, 41]]
    assert np.flatnonzero(also_labeled(pool, labeled)).tolist() == [3, 8, 9, 20, 41]
    pool[0] = pool[1]
    assert not also_labeled(pool, labeled).any()


@pytest.mark.parametrize("size", [1, 4, 30])
def test_repeated_rows_are_found_in_any_grouping_of_blocks(rng, monkeypatch, size):
    monkeypatch.setattr(pools, "MAX_DIGESTS_KEPT", 10)
    for repeated in (False, True):
        digests = np.arange(30, dtype=np.uint64)
        if repeated:
            digests[29] = 4  # one of the smallest
        rng.shuffle(digests)
        parts = [DistinctRows.of(digests[k : k + size]) for k in range(0, 30, size)]
        found = parts.pop(int(rng.integers(len(parts))))
        while parts:
            found = found.join(parts.pop(int(rng.integers(len(parts)))))
        assert found.repeated == repeated
        assert found.smallest.tolist() == list(range(10))


def test_an_order_depends_on_every_part_of_a_fit(rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    forest = RandomForestClassifier(20, random_state=0)
    scaled = make_pipeline(StandardScaler(), FunctionTransformer(np.log1p), forest)

    def seed(X=X, y=y, weight=None, model=scaled, seed=0):
        return order_seed([row_digests(X), y, weight], model, seed)

    one_label, one_cell = y.copy(), X.copy()
    one_label[7], one_cell[7, 1] = 1 - y[7], 0.0
    others = [
        seed(),
        seed(X=one_cell),
        seed(y=one_label),
        seed(X=X[::-1]),
        seed(weight=np.ones(40)),
        seed(seed=1),
        seed(model=clone(scaled).set_params(randomforestclassifier__max_depth=3)),
        seed(model=clone(scaled).set_params(functiontransformer__func=np.sqrt)),
        seed(model=forest),
        seed(model=LogisticRegression()),
    ]
    assert len(set(others)) == len(others)
    assert all(0 <= one < 2**63 for one in others)
    # What changes no prediction changes no order.
    assert seed(model=clone(scaled).set_params(randomforestclassifier__n_jobs=2)) == seed()


def test_orders_of_one_more_label_are_unrelated(rng):
    """Where the rows that come first are those of an earlier order, bounds lose their guarantee."""
    y, overlap = np.arange(300) % 2, []
    for number in range(40):
        labels = y.copy()
        labels[number] = 2
        tops = []
        for fitted_to in (y, labels):
            models = [_Constant(0), _Constant(1)]
            seed = order_seed(fitted_to, number)
            found = find_disagreements(models, np.zeros((300, 3)), [(0, 1)], seed=seed, most=60)
            tops.append(set(found.positions.tolist()))
        overlap.append(len(tops[0] & tops[1]))
    # Hypergeometric: 12 on average, with a standard deviation of 2.8; the mean of 40 within 4 sd.
    assert abs(np.mean(overlap) - 12) < 4 * 2.8 / np.sqrt(40)


class _Constant:
    """Predicts one of two classes for every row."""

    classes_, n_features_in_ = np.array([0, 1]), 3

    def __init__(self, code):
        self.code = code

    def predict(self, X):
        return np.full(len(X), self.code)


@pytest.mark.parametrize("n_rows", [1, 5, 90])
def test_labelled_rows_are_left_out_in_memory_and_in_files(rng, monkeypatch, tmp_path, n_rows):
    monkeypatch.setattr("primum.judging.disagreements.ROWS_PER_BLOCK", n_rows)
    X, models = rng.normal(size=(90, 3)), [_Constant(0), _Constant(1)]
    known = np.array([4, 17, 18, 60])
    labeled = row_digests(np.r_[X[known], rng.normal(size=(5, 3))])
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X, columns=list("abc")).to_parquet(path, row_group_size=20)
    for rows in (X, path):
        every = find_disagreements(models, rows, [(0, 1)], seed=3)
        found = find_disagreements(models, rows, [(0, 1)], seed=3, labeled=labeled)
        assert (found.n_rows, found.n_different, found.n_labeled) == (86, (86,), 4)
        assert (every.n_rows, every.n_labeled) == (90, 0)
        # The order of the others stays.
        kept = every.positions[~np.isin(every.positions, known)]
        np.testing.assert_array_equal(found.positions, kept)
        np.testing.assert_array_equal(np.asarray(found.X), X[kept])
    X[30] = X[17]  # two equal rows: equal cells no longer tell which row is labelled
    pd.DataFrame(X, columns=list("abc")).to_parquet(path, row_group_size=20)
    for rows in (X, path):
        found = find_disagreements(models, rows, [(0, 1)], seed=3, labeled=labeled)
        assert (found.n_rows, found.n_different, found.n_labeled) == (90, (90,), 0)
