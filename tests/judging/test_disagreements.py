"""The rows on which fitted models differ: counted over all rows, listed in a random order."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from primum import LeastSquaresClassifier
from primum._threads import using_threads
from primum.judging import disagreements
from primum.judging.disagreements import find_disagreements, random_words
from primum.rows import array, parquet
from primum.rows.base import Rows

PAIRS = ((1, 0), (2, 0), (1, 2))
CLASSES = np.array(["b", "a", "c"])  # in no order


class Column(ClassifierMixin, BaseEstimator):
    """Predicts the class whose code is in a column."""

    def __init__(self, column=0):
        self.column = column
        self.classes_, self.n_features_in_ = CLASSES, 3

    def fit(self, X, y):
        return self

    def predict(self, X):
        rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return self.classes_[rows[:, self.column].astype(int)]


MODELS = [Column(column) for column in range(3)]


def codes(rng, n, n_classes=3):
    return rng.integers(n_classes, size=(n, 3)).astype(float)


def in_blocks(monkeypatch, n):
    monkeypatch.setattr(disagreements, "ROWS_PER_BLOCK", n)


def same(found, expected):
    assert (found.n_rows, found.n_union) == (expected.n_rows, expected.n_union)
    assert found.n_different == expected.n_different
    np.testing.assert_array_equal(found.positions, expected.positions)
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(dense(found.X), dense(expected.X))


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@given(seed=st.integers(0, 2**31), n=st.integers(1, 60), most=st.integers(0, 40))
def test_counts_are_those_of_all_rows_and_lists_are_part_of_them(seed, n, most):
    X = codes(np.random.default_rng(seed), n)
    found = find_disagreements(MODELS, X, PAIRS, seed=seed, most=most)
    apart = np.array([X[:, i] != X[:, j] for i, j in PAIRS])
    assert found.n_rows == n
    assert found.n_different == tuple(apart.sum(axis=1))
    assert found.n_union == apart.any(axis=0).sum()
    assert found.n_listed == min(found.n_union, most) == len(set(found.positions))
    assert apart.any(axis=0)[found.positions].all()
    np.testing.assert_array_equal(found.X, X[found.positions])
    np.testing.assert_array_equal(found.codes, found.X)


def test_codes_of_a_pair_are_those_of_its_models_where_they_differ(rng):
    found = find_disagreements(MODELS, codes(rng, 50), PAIRS, seed=3)
    for at, pair in enumerate(PAIRS):
        of_pair, both = found.codes_of(at), found.codes[:, list(pair)]
        apart = both[:, 0] != both[:, 1]
        np.testing.assert_array_equal(of_pair[apart], both[apart])
        assert (of_pair[~apart] == -1).all()
        assert apart.sum() == found.n_different[at]


@given(
    st.integers(0, 2**64),
    st.integers(0, 10**12),
    st.lists(st.integers(0, 9), min_size=1, max_size=9),
)
def test_the_random_number_of_a_row_depends_on_its_position_only(seed, start, sizes):
    starts = start + np.cumsum([0, *sizes])
    parts = [random_words(seed, int(at), n) for at, n in zip(starts, sizes, strict=False)]
    np.testing.assert_array_equal(np.concatenate(parts), random_words(seed, start, sum(sizes)))


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_neither_blocks_nor_formats_matter(rng, monkeypatch, size):
    X = codes(rng, 300)
    expected = find_disagreements(MODELS, X, PAIRS, seed=1, most=20)
    in_blocks(monkeypatch, size)
    for rows in (X, X.tolist(), sparse.csr_array(X), sparse.coo_array(X), pd.DataFrame(X)):
        same(find_disagreements(MODELS, rows, PAIRS, seed=1, most=20), expected)


@pytest.mark.parametrize(("size", "threads"), [(10, 1), (64, 3), (5000, 2)])
def test_rows_of_a_parquet_folder_are_those_in_memory(rng, monkeypatch, tmp_path, size, threads):
    X = codes(rng, 700)
    for part in range(3):
        frame = pd.DataFrame(X[part::3], columns=["p", "q", "r"])
        frame.to_parquet(tmp_path / f"{part}.parquet", row_group_size=100)
    expected = find_disagreements(
        MODELS, np.concatenate([X[part::3] for part in range(3)]), PAIRS, seed=5, most=30
    )
    monkeypatch.setattr(parquet, "BLOCK_NUMBERS", 3 * size)
    in_blocks(monkeypatch, 40)
    with using_threads(threads):
        same(find_disagreements(MODELS, tmp_path, PAIRS, seed=5, most=30), expected)


@pytest.mark.parametrize("chunks", [(40, 3), (1000, 1)])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_rows_of_a_dask_array_are_those_in_memory(rng, monkeypatch, chunks, as_sparse):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X = codes(rng, 333)
    rows = da.from_array(X, chunks=chunks)
    rows = rows.rechunk((50, 3)).map_blocks(sparse.csr_array) if as_sparse else rows
    expected = find_disagreements(MODELS, X, PAIRS, seed=9, most=25)
    monkeypatch.setattr(array, "BLOCK_NUMBERS", 60)
    with dask.config.set(scheduler="synchronous"):
        same(find_disagreements(MODELS, rows, PAIRS, seed=9, most=25), expected)


def test_columns_outside_memory_are_found_by_name(rng, tmp_path):
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["p", "q", "r"])
    y = (frame["p"] > 0).to_numpy()
    models = [LeastSquaresClassifier().fit(frame[:n], y[:n]) for n in (10, 40)]
    expected = find_disagreements(models, frame, [(0, 1)], seed=0)
    assert 0 < expected.n_union < 200
    assert expected.X.index.tolist() == expected.positions.tolist()
    other = frame[["r", "p", "q"]].assign(name="x")
    other.to_parquet(tmp_path / "rows.parquet")
    with dask.config.set(scheduler="synchronous"):
        for rows in (tmp_path / "rows.parquet", dd.from_pandas(other, npartitions=3)):
            found = find_disagreements(models, rows, [(0, 1)], seed=0)
            same(found, expected)
            assert found.X.columns.tolist() == ["p", "q", "r"]


def test_pipelines_are_given_tables_as_they_are(monkeypatch):
    frame = pd.DataFrame({"town": list("abcabc"), "size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    frame.index = list("uvwxyz")
    of_town = make_column_transformer((OneHotEncoder(), ["town"]))
    models = [
        make_pipeline(of_town, LeastSquaresClassifier()).fit(frame, ["no", "no", "yes"] * 2),
        make_pipeline(of_town, LeastSquaresClassifier()).fit(frame, ["no", "yes", "yes"] * 2),
    ]
    in_blocks(monkeypatch, 2)
    found = find_disagreements(models, frame, [(0, 1)], seed=0)
    assert sorted(found.X.index) == ["v", "y"]
    assert found.X["town"].tolist() == ["b", "b"]
    assert found.codes.tolist() == [[0, 1], [0, 1]]


def test_every_order_of_every_part_is_equally_likely():
    # Rows 1, 2, 4, 5 differ; two of them are listed, in one of 12 orders.
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [0, 2]], dtype=float)
    X = np.column_stack([X, X[:, 0]])
    orders = dict.fromkeys(permutations([1, 2, 4, 5], 2), 0)
    for seed in range(2400):
        found = find_disagreements(MODELS, X, [(0, 1)], seed=seed, most=2)
        orders[tuple(found.positions.tolist())] += 1
    assert stats.chisquare(list(orders.values())).pvalue > 0.01


def test_a_shorter_list_is_the_beginning_of_a_longer_one(rng):
    X = codes(rng, 400)
    short, long = (find_disagreements(MODELS, X, PAIRS, seed=2, most=most) for most in (9, 90))
    np.testing.assert_array_equal(short.positions, long.positions[:9])
    other = find_disagreements(MODELS, X, PAIRS, seed=3, most=90)
    assert (other.positions != long.positions).any()


def test_few_blocks_of_a_file_are_held_at_a_time(rng, monkeypatch, tmp_path):
    """What is held is the listed rows and a few blocks per thread, however many rows there are."""
    pd.DataFrame(codes(rng, 20_000), columns=list("pqr")).to_parquet(
        tmp_path / "rows.parquet", row_group_size=500
    )
    monkeypatch.setattr(parquet, "BLOCK_NUMBERS", 3 * 100)
    in_blocks(monkeypatch, 100)
    alive, most_alive = 0, 0
    reduce_parts = Rows.map_reduce

    def counting(self, kernel, combine):
        def counted(block):
            nonlocal alive, most_alive
            part = kernel(block)
            alive += 1
            most_alive = max(most_alive, alive)
            assert len(part.every.keys) == len(part.every.X) <= 50
            assert part.every.X.base is None  # no view that keeps the block
            return part

        def combined(first, second):
            nonlocal alive
            alive -= 1
            joined = combine(first, second)
            assert len(joined.every.keys) <= 50
            return joined

        return reduce_parts(self, counted, combined)

    monkeypatch.setattr(Rows, "map_reduce", counting)
    with using_threads(2):
        found = find_disagreements(MODELS, tmp_path / "rows.parquet", PAIRS, seed=0, most=50)
    assert found.n_rows == 20_000
    assert found.n_listed == 50
    assert most_alive <= 8


def test_what_is_wrong_with_rows_is_said(rng, monkeypatch, tmp_path):
    in_blocks(monkeypatch, 10)
    X = rng.normal(size=(40, 3))
    models = [LeastSquaresClassifier().fit(X[:n], np.arange(n) % 2) for n in (20, 30)]
    X[33, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN in row 33, column 1: drop"):
        find_disagreements(models, X, [(0, 1)], seed=0)
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X, columns=list("pqr")).to_parquet(path)
    with pytest.raises(ValueError, match=r"Row 33 \(row group 0 of rows.parquet\) has nan in col"):
        find_disagreements(models, path, [(0, 1)], seed=0)
    for empty in (X[:0], path):
        pd.DataFrame(X[:0], columns=list("pqr")).to_parquet(path)
        with pytest.raises(ValueError, match="X has no rows, so models cannot differ on them"):
            find_disagreements(models, empty, [(0, 1)], seed=0)
    other = LeastSquaresClassifier().fit(X[:9], ["a", "b", "b"] * 3)
    with pytest.raises(ValueError, match="predict different classes, 0, 1 and a, b: compare"):
        find_disagreements([models[0], other], X, [(0, 1)], seed=0)
