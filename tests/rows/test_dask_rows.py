"""Rows on Dask: in this process for most tests, on real worker processes where it matters."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from primum import ICLSClassifier, SafeClassifier, USMClassifier
from primum.equations.moments import gather_moments
from primum.rows import RowsChangedError, dask_rows
from primum.rows.dask_rows import DaskRows

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")


# Far beyond what anything here takes on a busy machine: it only ends what hangs.
LIMIT = 600


def within_the_limit(action):
    """Return what action returns; fail if it hangs."""
    outcome = []

    def run():
        try:
            outcome.append((action(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT)
    assert outcome, f"no end after {LIMIT} s"
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


@pytest.fixture
def in_process():
    """Leave a cluster that another test may have started alone."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def always_stream(monkeypatch):
    monkeypatch.setattr("primum.labellings.implicit.MAX_FORMED_NUMBERS", 0)
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 1024)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=LIMIT)
        yield client


def problem(U=20_000, d=6, L=10, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(L + U, d))
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, L + U - n_classes)]
    X[:, 0] += y
    return X[:L], y[:L], X[L:]


def as_frame(X, names, npartitions=4):
    return dd.from_pandas(pd.DataFrame(X, columns=list(names)), npartitions=npartitions)


# What DaskRows does, in this process


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("chunks", [(300, 2), ((0, 500, 0, 499, 1, 0), 3), (1000, 3)])
def test_passes_over_an_array(rng, scheduler, chunks):
    X = rng.normal(size=(1000, 3)).astype(np.float32)
    rows = DaskRows(da.from_array(X, chunks=chunks), None, 3)
    with dask.config.set(scheduler=scheduler):
        check_passes(rows, X)


def test_passes_over_a_frame(rng, in_process):
    X = rng.normal(size=(1000, 3))
    frame = as_frame(X, "abc", 5)
    frame = frame[frame["a"] < 10].repartition(npartitions=5)
    rows = DaskRows(frame, ["c", "b", "a"], 3)
    check_passes(rows, X[:, ::-1])
    with_empty = frame.map_partitions(lambda part: part[part["a"] > 2], meta=frame._meta)
    check_passes(DaskRows(with_empty, None, 3), X[X[:, 0] > 2])


@pytest.mark.parametrize(
    "types",
    [np.float32, np.int16, bool, "Int64", "Float32", {"a": np.float32}, {"a": bool, "b": "Int64"}],
)
def test_columns_of_all_types_are_read_as_numbers(rng, in_process, types):
    X = pd.DataFrame(rng.integers(0, 2, size=(1000, 3)) * 1.0, columns=list("abc")).astype(types)
    check_passes(DaskRows(dd.from_pandas(X, npartitions=4), None, 3), X.to_numpy(dtype=float))


def test_blocks_of_a_frame_are_converted_into_one_memory(rng):
    """Workers return freed memory to the system, which clears it before it is used again."""
    X = rng.normal(size=(1000, 3)).astype(np.float32)
    reader = dask_rows._reader(pd.DataFrame(X))
    places = {reader.read(slice(at, at + 100)).ctypes.data for at in range(0, 1000, 100)}
    assert len(places) == 1
    kept = [reader.read(slice(at, at + 100)) for at in range(0, 1000, 100)]
    np.testing.assert_array_equal(np.vstack(kept), X)


def check_passes(rows, X):
    assert (rows.n_rows, rows.n_columns, rows.in_memory) == (*X.shape, False)
    blocks = list(rows.map(lambda block: block))
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), X)
    assert all(block.X.dtype == np.float64 for block in blocks)
    assert [block.start for block in blocks] == [0, *(b.where.stop for b in blocks)][:-1]
    gram = rows.map_reduce(lambda block: block.X.T @ block.X, np.add)
    np.testing.assert_allclose(gram, X.T.astype(float) @ X, rtol=1e-12)
    np.testing.assert_array_equal(rows.fill(lambda block: block.X[:, 1]), X[:, 1])
    index = np.array([0, 3, len(X) - 1])
    np.testing.assert_array_equal(rows.take(index).X, X[index])
    assert rows.take(index[:0]).X.shape == (0, X.shape[1])
    assert rows.passes == 5


def test_large_partitions_are_cut_into_blocks_and_partitions_combined_in_order(
    in_process, monkeypatch
):
    monkeypatch.setattr(dask_rows, "FAN_IN", 3)
    X = np.arange(400_000.0).reshape(-1, 2)
    rows = DaskRows(da.from_array(X, chunks=(10_000, 2)), None, 2)
    places = rows.map_reduce(lambda block: [(block.start, block.source)], lambda a, b: a + b)
    assert [start for start, _ in places] == list(range(0, 200_000, 10_000))
    assert places[3] == (30_000, "partition 3")
    monkeypatch.setattr("primum.rows.array.BLOCK_NUMBERS", 2**17)
    one = DaskRows(da.from_array(X, chunks=(-1, -1)), None, 2)
    assert len(list(one.map(lambda block: block.start))) > 1


def test_sparse_chunks(rng, in_process):
    X = rng.normal(size=(100, 3)) * (rng.uniform(size=(100, 3)) < 0.3)
    chunks = da.from_array(X, chunks=(40, 3)).map_blocks(sparse.csr_matrix)
    moments = gather_moments([DaskRows(chunks, None, 3)])
    np.testing.assert_allclose(moments.scatter, np.cov(X.T, bias=True) * 100, atol=1e-12)


def test_values_per_row_are_lazy(rng, in_process):
    X = rng.normal(size=(100, 2))
    seen = []

    def watched(block):
        seen.append(len(block))
        return block

    array = da.from_array(X, chunks=((60, 0, 40), 2)).map_blocks(watched, meta=np.zeros((0, 2)))
    frame = as_frame(X, "ab").map_partitions(watched, meta=pd.DataFrame({"a": [0.0], "b": [0.0]}))
    for collection, n_rows in ((array, 100), (frame, np.nan)):
        values = DaskRows(collection, None, 2).apply(
            lambda block: block.X[:, 0] + np.arange(block.start, block.where.stop), np.float32
        )
        assert seen == []
        np.testing.assert_equal(values.shape, (n_rows,))
        assert values.dtype == np.float32
        np.testing.assert_allclose(values.compute(), X[:, 0] + np.arange(100), rtol=1e-6)
        seen.clear()


def test_two_kernels_are_not_mixed_up(in_process):
    rows = DaskRows(da.ones((4, 1), chunks=(2, 1)), None, 1)
    ones, twos = (rows.apply(lambda b, k=k: k * b.X[:, 0], np.float64) for k in (1, 2))
    np.testing.assert_array_equal((10 * ones + twos).compute(), [12.0] * 4)


# Bad input


def test_bad_arrays_are_refused():
    X = da.zeros((10, 3), chunks=(5, 3))
    with pytest.raises(ValueError, match=r"unknown size: call compute_chunk_sizes\(\)"):
        DaskRows(X[X[:, 0] > 0], None, 3)
    with pytest.raises(ValueError, match=r"shape \(10, 3\) but X has 2 features"):
        DaskRows(X, None, 2)
    with pytest.raises(ValueError, match=r"shape \(10,\) but X has 3 features"):
        DaskRows(X[:, 0], None, 3)
    with pytest.raises(ValueError, match="values of type <U3: convert them"):
        DaskRows(X.astype("U3"), None, 3)
    with pytest.raises(ValueError, match="A Dask Delayed cannot be read as rows"):
        DaskRows(dask.delayed(len)([]), None, 3)


def test_columns_of_a_frame(in_process):
    frame = as_frame(np.arange(8.0).reshape(2, 4), "abcd", 1)
    rows = DaskRows(frame, ["d", "b"], 2)  # reordered, and others left out
    np.testing.assert_array_equal(rows.take(np.arange(2)).X, [[3.0, 1.0], [7.0, 5.0]])
    with pytest.raises(ValueError, match=r"no column 'x', which X has \(2 missing; its col"):
        DaskRows(frame, ["a", "x", "y"], 3)
    with pytest.raises(ValueError, match="has 4 columns but X has 3 features"):
        DaskRows(frame, None, 3)
    with pytest.raises(ValueError, match="Column 'c' of the Dask DataFrame has values of type"):
        DaskRows(frame.assign(c=frame["c"].astype(str)), ["a", "c"], 2)


@pytest.mark.parametrize("kind", ["array", "frame", "nullable", "masked"])
def test_a_missing_value_is_named(kind, in_process):
    X = np.ones((90, 3))
    X[70, 1] = np.nan
    if kind == "array":
        collection = da.from_array(X, chunks=(30, 3))
    elif kind == "masked":
        collection = da.ma.masked_invalid(da.from_array(X, chunks=(30, 3)))
    else:
        collection = as_frame(X, "abc", 3)
        collection = collection.astype("Float64") if kind == "nullable" else collection
    column = "1" if kind in ("array", "masked") else "'b'"
    with pytest.raises(ValueError, match=rf"Row 70 \(partition 2\) has nan in column {column}:"):
        gather_moments([DaskRows(collection, None, 3)])


def test_rows_that_change_between_passes_are_noticed(in_process):
    sizes = iter([10, 10, 9, 9])
    frame = as_frame(np.ones((10, 2)), "ab", 1)
    changing = frame.map_partitions(lambda part: part[: next(sizes)], meta=frame._meta)
    rows = DaskRows(changing, None, 2)
    assert rows.n_rows == 10
    rows.map_reduce(lambda block: 0, max)
    with pytest.raises(ValueError, match="Partition 0 has 9 rows but had 10 before"):
        rows.map_reduce(lambda block: 0, max)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_missing_from_some_pass_on_is_named(in_process, always_stream, kind, value):
    """Whatever the pass is for: a sample, a step of the solver, the certificate."""
    X, y, X_u = problem(U=6000, d=3)

    def fit(passes):
        seen = []

        def changing(part):
            seen.append(len(part))
            if len(seen) > 3 * passes:  # three partitions
                part = part.copy()
                part[5, 1] = value
            return kind(part)

        rows = da.from_array(X_u, chunks=(2000, 3)).map_blocks(changing, meta=np.zeros((0, 0)))
        return ICLSClassifier().fit(X, y, X_unlabeled=rows).certificate_.passes

    needed = fit(np.inf)
    assert needed >= 4
    place = rf"Row (5|2005|4005) \(partition [012]\) has {value} in column 1"
    message = f"{place}, but had a number there in an earlier pass"
    for passes in range(1, needed):
        with pytest.raises(RowsChangedError, match=message):
            fit(passes)


def test_missing_rows_that_are_picked_are_named_by_their_place(in_process):
    X, seen = np.ones((60, 2)), []

    def changing(part, block_info=None):
        seen.append(block_info[0]["chunk-location"][0])
        return np.where((np.arange(30) == 10)[:, None] & (len(seen) > 2), np.nan, part)

    rows = DaskRows(da.from_array(X, chunks=(30, 2)).map_blocks(changing, dtype=float), None, 2)
    seen.clear()
    rows.map_reduce(lambda block: 0, max)
    with pytest.raises(RowsChangedError, match=r"Row 40 \(partition 1\) has nan in column 0, but"):
        rows.take(np.array([3, 39, 40]))


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_predictions_refuse_what_is_no_number(method):
    X, y, X_u = problem()
    clf = ICLSClassifier().fit(X, y)
    X_u[5000, 3] = np.nan
    lazy = getattr(clf, method)(da.from_array(X_u, chunks=(4500, 6)))
    with pytest.raises(ValueError, match=r"Row 5000 \(partition 1\) has nan in column 3"):
        lazy.compute(scheduler="synchronous")


# On worker processes


# Every pair of a kind of rows, an estimator and a number of classes.
@pytest.mark.parametrize(
    ("kind", "estimator", "n_classes"),
    [
        ("array", ICLSClassifier(), 2),
        ("frame", ICLSClassifier(), 4),
        ("array", USMClassifier(), 4),
        ("frame", USMClassifier(), 2),
    ],
)
def test_a_cluster_gives_the_coefficients_of_memory(
    client, always_stream, kind, estimator, n_classes
):
    X, y, X_u = problem(n_classes=n_classes)
    names = list("abcdef")
    if kind == "frame":
        X, rows = pd.DataFrame(X, columns=names), as_frame(X_u[:, ::-1], names[::-1])
        local = pd.DataFrame(X_u, columns=names)
    else:
        rows, local = da.from_array(X_u, chunks=(4500, 4)), X_u
    estimator.fit(X, y, X_unlabeled=local)
    coef, intercept = estimator.coef_, estimator.intercept_
    expected = estimator.predict(local), estimator.decision_function(local)
    chances = estimator.predict_proba(local)
    within_the_limit(lambda: estimator.fit(X, y, X_unlabeled=rows))
    np.testing.assert_allclose(estimator.coef_, coef, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(estimator.intercept_, intercept, rtol=1e-8, atol=1e-8)
    predicted, scores = estimator.predict(rows), estimator.decision_function(rows)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), expected[0])
    np.testing.assert_allclose(scores.compute(), expected[1], atol=1e-7)
    np.testing.assert_allclose(estimator.predict_proba(rows).compute(), chances, atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_soft_labels_of_rows_on_a_cluster(client, always_stream, n_classes):
    X, y, X_u = problem(n_classes=n_classes)
    local = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    rows = da.from_array(X_u, chunks=(4500, 6))
    clf = within_the_limit(lambda: ICLSClassifier().fit(X, y, X_unlabeled=rows))
    assert clf.certificate_.converged
    assert not hasattr(clf, "soft_labels_")
    np.testing.assert_allclose(clf.soft_labels(rows).compute(), local.soft_labels_, atol=1e-4)


def dying(rows, folder, n_calls, times):
    """Return rows whose computation kills its worker, ``times`` times, from a call onwards."""
    folder = str(folder)

    def chunk(block):
        calls = os.path.join(folder, "calls")
        with open(calls, "a") as file:
            file.write(".")
        if os.path.getsize(calls) >= n_calls:
            for death in range(times):
                try:
                    os.close(os.open(os.path.join(folder, str(death)), os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return block

    return rows.map_blocks(chunk, meta=np.zeros((0, 0)))


def test_a_worker_killed_in_the_middle_changes_nothing(client, always_stream, tmp_path):
    X, y, X_u = problem()
    rows = da.from_array(X_u, chunks=(5000, 6))
    quiet = within_the_limit(lambda: ICLSClassifier().fit(X, y, X_unlabeled=rows))
    deadly = dying(rows, tmp_path, 10, 1)
    shaken = within_the_limit(lambda: ICLSClassifier().fit(X, y, X_unlabeled=deadly))
    assert (tmp_path / "0").exists()
    # Not to the last bit: how BLAS sums depends on where in memory a partition arrives.
    np.testing.assert_allclose(shaken.coef_, quiet.coef_, rtol=1e-12)
    assert shaken.certificate_.passes == quiet.certificate_.passes


def test_the_safe_choice_fits_and_predicts_on_workers_one_of_which_is_killed(client, tmp_path):
    X, y, X_u = problem(U=24_000)  # more than a sample
    rows = da.from_array(X_u, chunks=(5000, 6))
    simple = {"candidates": ["components"], "baseline": ["ridge"], "cv": 3, "n_repeats": 1}
    safe = SafeClassifier(**simple, random_state=0)
    quiet = safe.fit(X, y, X_unlabeled=X_u).report_["brier"]
    expected = safe.predict_proba(X_u)
    deadly = dying(rows, tmp_path, 3, 1)
    within_the_limit(lambda: safe.fit(X, y, X_unlabeled=deadly))
    assert (tmp_path / "0").exists()
    np.testing.assert_allclose(safe.report_["brier"], quiet, rtol=1e-8)
    scores = within_the_limit(lambda: safe.predict_proba(rows).compute())
    np.testing.assert_allclose(scores, expected, rtol=1e-8)


def test_an_error_of_a_kernel_arrives_as_it_is(client):
    rows = DaskRows(da.ones((10, 2), chunks=(5, 2)), None, 2)

    def kernel(block):
        raise KeyError(block.source)

    with pytest.raises(KeyError, match="partition"):
        within_the_limit(lambda: rows.map_reduce(kernel, max))
    X = np.ones((10, 2))
    X[9, 1] = np.inf
    with pytest.raises(ValueError, match=r"Row 9 \(partition 1\) has inf in column 1"):
        within_the_limit(lambda: gather_moments([DaskRows(da.from_array(X, (5, 2)), None, 2)]))


def test_rows_that_kill_every_worker_end_in_one_error(client, cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    rows = DaskRows(dying(da.ones((10, 2), chunks=(10, 2)), tmp_path, 1, 1), None, 2)
    with pytest.raises(RuntimeError, match=r"Dask workers died .*attempts: 1.*smaller part"):
        within_the_limit(lambda: rows.map_reduce(lambda block: 0, max))


def test_an_interrupted_pass_leaves_no_tasks_behind(client, monkeypatch):
    def interrupt(watch):
        raise KeyboardInterrupt

    monkeypatch.setattr(dask_rows, "SECONDS_BETWEEN_CHECKS", 0.1)
    monkeypatch.setattr(dask_rows._Watch, "look", interrupt)
    rows = DaskRows(da.ones((40, 2), chunks=(1, 2)), None, 2)
    with pytest.raises(KeyboardInterrupt):
        within_the_limit(lambda: rows.map_reduce(lambda block: time.sleep(0.3), max))
    deadline = time.monotonic() + LIMIT
    while within_the_limit(lambda: tasks_left(client)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def tasks_left(client):
    return client.run_on_scheduler(
        lambda dask_scheduler: [key for key in dask_scheduler.tasks if "primum" in str(key)]
    )


class Fragile:
    """A scheduler and a worker that nobody restarts, but for the next test that needs them."""

    def __init__(self, folder):
        self.folder, self.address = folder, folder / "scheduler.json"
        self.processes = {}

    def start(self):
        """Start what does not run, or not any more."""
        if not self.is_running("scheduler"):
            self.stop()  # a worker is of no use without its scheduler
            self._run("scheduler", "--port", "0", "--host", "127.0.0.1")
        if not self.is_running("worker"):
            self._run("worker", "--no-nanny", "--nthreads", "1")

    def is_running(self, name):
        return name in self.processes and self.processes[name].poll() is None

    def _run(self, name, *options):
        options += ("--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(self.address))
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", "dask", name, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
        )

    def stop(self):
        for process in self.processes.values():
            process.kill()
            process.wait(LIMIT)
        self.address.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def fragile_cluster(tmp_path_factory):
    fragile = Fragile(tmp_path_factory.mktemp("fragile"))
    yield fragile
    fragile.stop()


@pytest.fixture
def fragile(fragile_cluster):
    """The two processes, and a client of them that Dask uses."""
    fragile_cluster.start()
    with distributed.Client(scheduler_file=str(fragile_cluster.address), timeout=LIMIT) as client:
        client.wait_for_workers(1, timeout=LIMIT)
        yield fragile_cluster.processes


def test_a_scheduler_that_does_not_answer_ends_in_one_error(fragile, monkeypatch):
    rows = DaskRows(da.ones((30, 2), chunks=(1, 2)), None, 2)
    within_the_limit(lambda: rows.map_reduce(lambda block: 0, max))
    monkeypatch.setattr(dask_rows, "SECONDS_BETWEEN_CHECKS", 0.2)
    monkeypatch.setattr(dask_rows, "MAX_BUSY_SECONDS", 1.0)
    fragile["scheduler"].send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(RuntimeError, match="has not responded for 1 s, so a pass"):
            within_the_limit(lambda: rows.map_reduce(lambda block: 0, max))
    finally:
        fragile["scheduler"].send_signal(signal.SIGCONT)


LOST = {
    "worker": r"The Dask cluster has had no worker for \d+ s.*fit again",
    "scheduler": r"The Dask cluster cancelled a pass.*scheduler-connection-lost.*fit again",
}


@pytest.mark.parametrize("victim", LOST)
def test_a_cluster_that_is_gone_ends_in_one_error(fragile, victim, tmp_path, monkeypatch):
    begun = str(tmp_path / "begun")

    def kernel(block):
        Path(begun).touch()
        time.sleep(LIMIT)  # until the worker is killed

    def kill():
        while not os.path.exists(begun):
            time.sleep(0.05)
        fragile[victim].kill()
        fragile[victim].wait(LIMIT)

    rows = DaskRows(da.ones((30, 2), chunks=(1, 2)), None, 2)
    within_the_limit(lambda: rows.map_reduce(lambda block: 0, max))  # which takes its time at first
    monkeypatch.setattr(dask_rows, "SECONDS_BETWEEN_CHECKS", 0.2)
    # Without its scheduler a cluster shows no worker either: that must not be what ends the pass.
    monkeypatch.setattr(dask_rows, "MAX_IDLE_SECONDS", 1.0 if victim == "worker" else LIMIT)
    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    with pytest.raises(RuntimeError, match=LOST[victim]):
        within_the_limit(lambda: rows.map_reduce(kernel, max))
    killing.join(LIMIT)
