"""Rows of Parquet files: the same rows as in memory, and one clear sentence when they are not."""

import builtins
import os
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from primum import ICLSClassifier
from primum._progress import PASSES, listening
from primum._threads import using_threads
from primum.equations import gather_moments
from primum.rows import ParquetRows, RowsChangedError
from primum.rows.array import BLOCK_NUMBERS

NAMES = ["a", "b", "c"]


def write(path, X, names=NAMES, group=1000, **more):
    table = pa.table({name: X[:, j] for j, name in enumerate(names)} | more)
    pq.write_table(table, path, row_group_size=group)
    return path


@pytest.fixture(name="X")
def some_rows(rng):
    return rng.normal(size=(2500, 3)).astype(np.float32)


@pytest.fixture
def folder(tmp_path, X):
    """Three files, one of them in a subfolder, one of them without rows, beside other things."""
    (tmp_path / "rows" / "more").mkdir(parents=True)
    (tmp_path / "rows" / "_SUCCESS").touch()
    (tmp_path / "rows" / "_old.parquet").touch()
    (tmp_path / "rows" / "read me.txt").touch()
    write(tmp_path / "rows" / "1.parquet", X[:1200])
    write(tmp_path / "rows" / "0.parquet", X[:0])
    write(tmp_path / "rows" / "more" / "2.parquet", X[1200:], group=700)
    return tmp_path / "rows"


@pytest.fixture
def groups_apart(monkeypatch):
    """Blocks so small that no two row groups of the folder are read as one."""
    monkeypatch.setattr("primum.rows.parquet.BLOCK_NUMBERS", 3 * 1000)


def contents(rows):
    return np.vstack([block.X for block in rows.map(lambda block: block)])


@pytest.mark.usefixtures("groups_apart")
def test_blocks_are_the_rows_in_order(folder, X):
    rows = ParquetRows(folder, NAMES, 3)
    blocks = list(rows.map(lambda block: block))
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), X)
    assert [(b.start, b.source) for b in blocks] == [
        (0, "row group 0 of 1.parquet"),
        (1000, "row group 1 of 1.parquet"),
        (1200, "row group 0 of 2.parquet"),
        (1900, "row group 1 of 2.parquet"),
    ]
    assert all(block.X.dtype == np.float64 for block in blocks)
    assert (rows.n_rows, rows.passes, rows.in_memory) == (2500, 1, False)


def test_a_large_row_group_is_several_blocks(tmp_path, rng):
    X = rng.normal(size=(BLOCK_NUMBERS, 2))
    path = write(tmp_path / "x.parquet", X, ["a", "b"], group=len(X))
    blocks = list(ParquetRows(path, None, 2).map(lambda block: block))
    assert [block.n_rows for block in blocks] == [BLOCK_NUMBERS // 2] * 2
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), X)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_change_nothing(tmp_path, rng, monkeypatch, n_jobs):
    monkeypatch.setattr("primum.rows.parquet.BLOCK_NUMBERS", 60)
    X = rng.normal(size=(5000, 3))
    rows = ParquetRows(write(tmp_path / "x.parquet", X, group=130), NAMES, 3)
    with using_threads(n_jobs):
        total = rows.map_reduce(lambda block: block.X.T @ block.X, np.add)
        np.testing.assert_array_equal(rows.fill(lambda block: block.X[:, 1]), X[:, 1])
    np.testing.assert_allclose(total, X.T @ X)
    assert rows.passes == 2


def test_an_error_in_a_thread_ends_the_pass(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("primum.rows.parquet.BLOCK_NUMBERS", 60)
    X = rng.normal(size=(5000, 3))
    X[4321, 2] = np.nan
    rows = ParquetRows(write(tmp_path / "x.parquet", X, group=130), NAMES, 3)
    message = r"Row 4321 \(row group 33 of x.parquet\) has nan in .*'c'"
    with using_threads(3), pytest.raises(ValueError, match=message):
        gather_moments([rows])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_small_row_groups_are_one_block(tmp_path, X, monkeypatch, n_jobs):
    """Of at most as many rows as any block, and of one file."""
    monkeypatch.setattr("primum.rows.parquet.BLOCK_NUMBERS", 3 * 600)
    write(tmp_path / "1.parquet", X[:1050], group=100)
    write(tmp_path / "2.parquet", X[1050:], group=250)
    rows = ParquetRows(tmp_path, NAMES, 3)
    with using_threads(n_jobs):
        blocks = list(rows.map(lambda block: (block.start, block.source, block.X.copy())))
        picked = rows.take(np.arange(7, 2500, 190)).X
    assert [(start, source) for start, source, _ in blocks] == [
        (0, "row groups 0 to 5 of 1.parquet"),
        (600, "row groups 6 to 10 of 1.parquet"),
        (1050, "row groups 0 to 1 of 2.parquet"),
        (1550, "row groups 2 to 3 of 2.parquet"),
        (2050, "row groups 4 to 5 of 2.parquet"),
    ]
    np.testing.assert_array_equal(np.vstack([part for *_, part in blocks]), X)
    np.testing.assert_array_equal(picked, X[7:2500:190])


@pytest.mark.usefixtures("groups_apart")
def test_take_reads_only_the_row_groups_it_needs(folder, X):
    rows = ParquetRows(folder, NAMES, 3)
    read = []
    rows._pieces = lambda *given: read.append(given) or ParquetRows._pieces(rows, *given)
    for index in ([], [3], [0, 999, 1900, 2499], [5, 1100, 1300, 2000]):
        np.testing.assert_array_equal(rows.take(np.array(index, dtype=int)).X, X[index])
    assert len(read) == 0 + 1 + 2 + 4
    assert rows.passes == 1


def test_columns_are_found_by_name(tmp_path, X):
    words = ["word"] * len(X)
    path = write(tmp_path / "x.parquet", X, ["c", "a", "b"], id=words)
    rows = ParquetRows(path, NAMES, 3)
    np.testing.assert_array_equal(contents(rows), X[:, [1, 2, 0]])


def test_files_of_a_folder_may_order_their_columns_differently(tmp_path, X):
    write(tmp_path / "0.parquet", X[:10])
    write(tmp_path / "1.parquet", X[10:, ::-1], NAMES[::-1])
    np.testing.assert_array_equal(contents(ParquetRows(tmp_path, None, 3)), X)


def test_a_name_with_a_dot_is_no_nested_column(tmp_path, X):
    path = write(tmp_path / "x.parquet", X, ["a", "a.b", "c"])
    np.testing.assert_array_equal(contents(ParquetRows(path, ["a", "c"], 2)), X[:, [0, 2]])


def test_all_kinds_of_numbers(tmp_path):
    columns = {
        "small": pa.array([1, 2, 3], pa.int8()),
        "large": pa.array([1, 2, 2**63], pa.uint64()),
        "half": pa.array(np.array([0.5, 1.5, 2.5], dtype=np.float16)),
        "truth": pa.array([True, False, True]),
        "price": pa.array([Decimal("1.5"), Decimal("2.5"), Decimal("3.5")]),
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    X = contents(ParquetRows(tmp_path / "x.parquet", list(columns), 5))
    expected = [[1, 1, 0.5, 1, 1.5], [2, 2, 1.5, 0, 2.5], [3, 2.0**63, 2.5, 1, 3.5]]
    np.testing.assert_array_equal(X, expected)


@pytest.mark.parametrize(
    ("kind", "values"),
    [(pa.int32(), [1, 2, None]), (pa.bool_(), [True, False, None]), (pa.float32(), [1, 2, None])],
)
def test_null_is_named_with_its_row_group_and_column(tmp_path, kind, values):
    table = pa.table({"a": [0.0, 1.0, 2.0], "b": pa.array(values, kind)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    rows = ParquetRows(tmp_path / "x.parquet", None, 2)
    with pytest.raises(
        ValueError, match=r"Row 2 \(row groups 0 to 1 of x.parquet\) has nan in .* 'b'"
    ):
        gather_moments([rows])


class TestColumnsThatDoNotFit:
    def refused(self, path, names, n_columns, *words):
        with pytest.raises(ValueError) as caught:
            ParquetRows(path, names, n_columns)
        for word in (str(path), *words):
            assert word in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_missing_and_renamed(self, tmp_path, X):
        path = write(tmp_path / "x.parquet", X, ["weight_kg", "a", "b"])
        self.refused(
            path,
            ["a", "weight", "age"],
            3,
            "has no column 'weight', 'age'",
            "did you mean 'weight_kg' for 'weight'?",
            "its columns are weight_kg, a, b",
        )

    def test_in_one_file_of_a_folder(self, folder, X):
        write(folder / "more" / "3.parquet", X[:, :2], ["a", "b"])
        with pytest.raises(ValueError, match=r"3\.parquet has no column 'c'"):
            ParquetRows(folder, None, 3)

    def test_not_numbers(self, tmp_path, X):
        times = pa.array([0] * len(X), pa.timestamp("ms"))
        path = write(tmp_path / "x.parquet", X, when=times, word=["x"] * len(X))
        names = ["a", "when", "word"]
        self.refused(path, names, 3, "'when' (timestamp[ms])", "'word' (string)", "not numbers")

    def test_wrong_number_without_names(self, tmp_path, X):
        path = write(tmp_path / "x.parquet", X)
        self.refused(path, None, 2, "has 3 columns (a, b, c) but X has 2", "DataFrame")

    def test_not_numbers_without_names(self, tmp_path, X):
        path = write(tmp_path / "x.parquet", X[:, :2], ["a", "b"], id=["word"] * len(X))
        self.refused(path, None, 3, "'id' (string)")

    def test_the_same_name_twice(self, tmp_path, X):
        path = tmp_path / "x.parquet"
        pq.write_table(pa.table([X[:, 0], X[:, 1]], names=["a", "a"]), path)
        self.refused(path, ["a"], 1, "several columns named 'a'")


class TestNoParquet:
    def test_nothing_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no Parquet file or folder at .*nowhere"):
            ParquetRows(tmp_path / "nowhere", None, 3)

    def test_folder_without_files(self, tmp_path):
        (tmp_path / "rows.csv").write_text("a,b\n")
        with pytest.raises(FileNotFoundError, match=r"has no Parquet file.*\.parquet"):
            ParquetRows(tmp_path, None, 3)

    @pytest.mark.parametrize("content", [b"", b"a,b,c\n1,2,3\n" * 10])
    def test_something_else(self, tmp_path, content):
        (tmp_path / "x.parquet").write_bytes(content)
        message = r"x\.parquet is not a Parquet file.*: write it again, or read other formats with"
        with pytest.raises(ValueError, match=message):
            ParquetRows(tmp_path / "x.parquet", None, 3)

    def test_an_address(self):
        message = r"s3://rows/x\.parquet is a URL.*: pass dask\.dataframe\.read_parquet"
        with pytest.raises(ValueError, match=message):
            ParquetRows("s3://rows/x.parquet", None, 3)

    def test_cut_off(self, tmp_path, X):
        path = write(tmp_path / "x.parquet", X)
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(ValueError, match="or is incomplete"):
            ParquetRows(path, None, 3)

    def test_without_pyarrow(self, tmp_path, X, monkeypatch):
        path, real = write(tmp_path / "x.parquet", X), builtins.__import__

        def without(name, *rest):
            if name.startswith("pyarrow"):
                raise ModuleNotFoundError(name=name)
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ImportError, match=r"need pyarrow: pip install 'primum\[tables\]'"):
            ParquetRows(path, None, 3)


class TestFilesThatChange:
    """Between passes, and during one."""

    @pytest.fixture
    def rows(self, folder):
        rows = ParquetRows(folder, NAMES, 3)
        contents(rows)
        return rows

    @pytest.fixture
    def file(self, folder):
        return folder / "more" / "2.parquet"

    def refused(self, rows, match):
        for visit in (contents, lambda rows: rows.take(np.array([1]))):
            with pytest.raises(RowsChangedError, match=match):
                visit(rows)

    def test_disappeared(self, rows, file):
        file.unlink()
        self.refused(rows, r"2\.parquet disappeared")

    def test_truncated(self, rows, file):
        os.truncate(file, 1000)
        self.refused(rows, r"2\.parquet changed .* and now has 1000")

    def test_written_again_with_other_rows(self, rows, file, X):
        write(file, X[:1300] + 1, group=700)
        os.utime(file, ns=(0, 0))
        self.refused(rows, r"2\.parquet changed")

    def test_written_again_with_missing_values_and_everything_else_equal(self, rows, file):
        """A file system whose clock ticks slowly, or a writer that restores the time."""
        before, table = file.stat(), pq.read_table(file)
        column = table.column("b").to_numpy().copy()
        column[50] = np.nan
        parts = {"a": table["a"], "b": pa.array(column), "c": table["c"]}
        pq.write_table(pa.table(parts), file, row_group_size=700)
        os.truncate(file, before.st_size)  # the footer alone differs, and it was read before
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        words = (
            r"\(row groups 0 to 1 of 2\.parquet\) has nan in column 'b', but had a number there in"
        )
        with pytest.raises(RowsChangedError, match=f"Row 50 {words}"):
            contents(rows)
        with pytest.raises(RowsChangedError, match=words):
            rows.take(np.arange(0, 2500, 5))

    @pytest.mark.parametrize("change", [os.unlink, lambda path: os.truncate(path, 500)])
    def test_during_a_pass(self, rows, file, change):
        def kernel(block):
            if block.start == 0:
                change(file)

        with pytest.raises(RowsChangedError, match=r"2\.parquet"):
            list(rows.map(kernel))

    def test_damaged_from_the_start(self, tmp_path, X):
        path = write(tmp_path / "x.parquet", X)
        content = bytearray(path.read_bytes())
        content[4:2000] = b"\xff" * 1996
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"x\.parquet is damaged"):
            contents(ParquetRows(path, None, 3))


@pytest.mark.usefixtures("groups_apart")
def test_a_watcher_is_told_how_far_each_pass_is(folder):
    rows, told = ParquetRows(folder, NAMES, 3), []
    with listening(PASSES, lambda *progress: told.append(progress)):
        contents(rows)
    contents(rows)
    assert told == [(1000, 2500), (1200, 2500), (1900, 2500), (2500, 2500)]


def test_a_pass_over_one_block_ends_as_any_other(tmp_path, rng):
    X = rng.normal(size=(50, 3))
    path = write(tmp_path / "x.parquet", X)
    rows, told = ParquetRows(path, None, 3), []
    with listening(PASSES, lambda *progress: told.append(progress)):
        found = rows.fill(lambda block: block.X[:, 0])
    np.testing.assert_array_equal(found, X[:, 0])
    assert told == [(50, 50)]


class TestFits:
    """A fit to files is the fit to the same rows in memory."""

    @pytest.fixture
    def labeled(self, rng):
        return rng.normal(size=(8, 3)), np.tile([0, 1], 4)

    @pytest.fixture
    def of_four_classes(self, rng):
        return rng.normal(size=(12, 3)), np.tile([0, 1, 2, 3], 3)

    @pytest.fixture(params=["formed", "streamed"])
    def way(self, request, monkeypatch):
        if request.param == "streamed":
            monkeypatch.setattr("primum.labellings.implicit.MAX_FORMED_NUMBERS", 0)
            monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 512)

    @pytest.mark.usefixtures("way")
    @pytest.mark.parametrize("known", ["labeled", "of_four_classes"])
    def test_equal_the_one_in_memory(self, folder, X, known, request):
        labeled = request.getfixturevalue(known)
        here = ICLSClassifier().fit(*labeled, X_unlabeled=X)
        there = ICLSClassifier().fit(*labeled, X_unlabeled=folder)
        assert there.certificate_.converged
        assert there.certificate_.moved
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)
        np.testing.assert_allclose(there.soft_labels(folder), here.soft_labels_, atol=1e-8)
        assert not hasattr(there, "soft_labels_")

    def test_predictions(self, folder, X, labeled):
        clf = ICLSClassifier().fit(*labeled, X_unlabeled=str(folder))
        X = X.astype(float)
        np.testing.assert_allclose(clf.decision_function(folder), clf.decision_function(X))
        np.testing.assert_array_equal(clf.predict(str(folder)), clf.predict(X))
        np.testing.assert_allclose(clf.predict_proba(folder), clf.predict_proba(X))

    def test_columns_of_a_frame_are_found_by_name(self, tmp_path, X, labeled):
        path = write(tmp_path / "x.parquet", X, ["c", "a", "b"], id=["word"] * len(X))
        frame = pd.DataFrame(labeled[0], columns=NAMES)
        by_name = ICLSClassifier().fit(frame, labeled[1], X_unlabeled=path)
        by_place = ICLSClassifier().fit(*labeled, X_unlabeled=X[:, [1, 2, 0]])
        np.testing.assert_allclose(by_name.coef_, by_place.coef_, atol=1e-8)

    @pytest.mark.usefixtures("way")
    def test_what_is_no_number_is_named_before_any_result(self, tmp_path, X, labeled):
        X[2345, 1] = np.inf
        path = write(tmp_path / "x.parquet", X)
        with pytest.raises(
            ValueError, match=r"Row 2345 \(row groups 0 to 2 of x.parquet\) has inf .*'b'"
        ):
            ICLSClassifier().fit(*labeled, X_unlabeled=path)


def test_a_missing_value_is_named_by_its_place_in_its_file(tmp_path, X):
    """Whatever stands before that file: other files, or unlabelled rows in memory."""
    (tmp_path / "rows").mkdir()
    write(tmp_path / "rows" / "0.parquet", X)
    X[1234, 2] = np.nan
    write(tmp_path / "rows" / "1.parquet", X)
    labeled = pd.DataFrame(X[:40], columns=NAMES)
    y = np.r_[np.tile([0, 1], 10), np.full(20, -1)]
    message = r"Row 1234 \(row groups 0 to 2 of 1.parquet\) has nan in column 'c'"
    with pytest.raises(ValueError, match=message):
        ICLSClassifier().fit(labeled, y, X_unlabeled=tmp_path / "rows")


def test_scores_and_chances_of_files(tmp_path, X):
    y = np.tile([0, 1], 1250)
    clf = ICLSClassifier().fit(pd.DataFrame(X[:40], columns=NAMES), y[:40])
    path = write(tmp_path / "x.parquet", X)
    assert clf.score(path, y) == clf.score(pd.DataFrame(X, columns=NAMES), y)
    empty = write(tmp_path / "empty.parquet", X[:0])
    assert clf.predict_proba(empty).shape == (0, 2)
    assert clf.predict(empty).shape == (0,)
