"""Threads for blocks of rows follow scikit-learn's conventions, BLAS is left as it was found."""

import os
import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from generate import two_classes
from primum import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    LeastSquaresClassifier,
    SelfLearningClassifier,
    USMClassifier,
)
from primum._threads import block_threads, one_blas_thread, using_threads


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_last_thread_to_leave_restores_blas():
    entered, leave, left, end = (threading.Event() for _ in range(4))

    def first_fit():
        with one_blas_thread():
            entered.set()
            leave.wait(600)
        left.set()
        end.wait(600)  # still there when the other one restores the limit

    with threadpool_limits(3, user_api="blas"):
        thread = threading.Thread(target=first_fit)
        thread.start()
        entered.wait(600)
        with one_blas_thread():
            leave.set()
            left.wait(600)
            assert blas_threads() == {1}
        after = blas_threads()
        end.set()
        thread.join()
        assert after == {3}


def in_a_new_process(code, **environment):
    free = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**free, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


FORKED = """
import multiprocessing, threading
import scipy.linalg
from primum._threads import one_blas_thread
from threadpoolctl import threadpool_info, threadpool_limits

def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

def in_child(report):
    found = blas_threads()
    with one_blas_thread():
        inside = blas_threads()
    report.put((found, inside, blas_threads()))

def forked():
    context = multiprocessing.get_context("fork")
    report = context.SimpleQueue()
    child = context.Process(target=in_child, args=(report,))
    child.start()
    child.join(600)
    return report.get()

def hold():
    with one_blas_thread():
        entered.set()
        done.wait(600)

threadpool_limits(3, user_api="blas")
entered, done = threading.Event(), threading.Event()
fit = threading.Thread(target=hold)
fit.start()
entered.wait(600)
assert blas_threads() == {1}
assert forked() == ({3}, {1}, {3}), "forked beside a fit"
done.set()
fit.join()
assert blas_threads() == {3}
with one_blas_thread():
    found, inside, after = forked()
    assert (found, inside, after) == ({1}, {1}, {1}), "forked within a fit, which goes on there"
assert blas_threads() == {3}
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_the_limit_of_blas_does_not_pass_through_fork():
    in_a_new_process(FORKED)


def test_environment_limits_the_threads():
    code = """
import os
from primum._threads import block_threads
print(block_threads())
del os.environ["OMP_NUM_THREADS"]
os.environ["LOKY_MAX_CPU_COUNT"] = "1"
print(block_threads())
"""
    assert in_a_new_process(code, OMP_NUM_THREADS="3") == ["3", "1"]


def test_a_limit_set_at_run_time_holds():
    with threadpool_limits(1):
        assert block_threads() == 1


def test_n_jobs_is_read_as_in_scikit_learn(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")  # whatever this machine has
    with threadpool_limits(4, user_api="openmp"):
        for n_jobs, threads in ((1, 1), (7, 7), (-1, 4), (-2, 3), (-9, 1), (None, 4)):
            with using_threads(n_jobs):
                assert block_threads() == threads
        with using_threads(2), using_threads(None):
            assert block_threads() == 2
        with joblib.parallel_config(n_jobs=3):
            assert block_threads() == 3
            with using_threads(2):
                assert block_threads() == 2


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_inside_a_parallel_loop_there_is_one_thread(backend):
    loop = joblib.Parallel(2, backend=backend)
    assert loop(joblib.delayed(block_threads)() for _ in range(2)) == [1, 1]


EVERY = [
    LeastSquaresClassifier,
    USMClassifier,
    EMLeastSquaresClassifier,
    ICLSClassifier,
]


@pytest.fixture
def counted(monkeypatch):
    """Collect how many threads were used for blocks, whenever it was more than one."""
    import primum.rows.array

    found = []
    in_threads = primum.rows.array.in_threads

    def count(work, items, threads):
        found.append(threads)
        return in_threads(work, items, threads)

    monkeypatch.setattr("primum.rows.array.in_threads", count)
    monkeypatch.setattr("primum.rows.array.BLOCK_NUMBERS", 64)
    return found


@pytest.mark.parametrize("kind", EVERY)
def test_estimators_use_n_jobs_threads_and_get_the_same_result(kind, counted):
    X, y, X_u, _ = two_classes(200, 2_000, 4)
    alone = kind(n_jobs=1).fit(X, y, X_unlabeled=X_u)
    assert counted == []
    together = kind(n_jobs=3).fit(X, y, X_unlabeled=X_u)
    assert set(counted) == {3}
    np.testing.assert_array_equal(alone.coef_, together.coef_)
    np.testing.assert_array_equal(alone.intercept_, together.intercept_)


def test_self_learning_uses_n_jobs_of_its_estimator(counted):
    X, y, X_u, _ = two_classes(200, 2_000, 4)
    SelfLearningClassifier(LeastSquaresClassifier(n_jobs=1)).fit(X, y, X_unlabeled=X_u)
    assert counted == []
    SelfLearningClassifier(LeastSquaresClassifier(n_jobs=2)).fit(X, y, X_unlabeled=X_u)
    assert set(counted) == {2}


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_other_values_of_n_jobs_are_refused(kind, n_jobs):
    with pytest.raises(ValueError, match=f"The 'n_jobs' parameter of {kind.__name__} must be"):
        kind(n_jobs=n_jobs).fit([[0.0], [1.0]], [0, 1])


def test_parquet_files_are_predicted_by_n_jobs_threads(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    found = []
    monkeypatch.setattr("primum.rows.parquet.BLOCK_NUMBERS", 60)
    import primum.rows.parquet

    in_threads = primum.rows.parquet.in_threads

    def count(work, items, threads):
        found.append(threads)
        return in_threads(work, items, threads)

    monkeypatch.setattr("primum.rows.parquet.in_threads", count)
    X, y, X_u, _ = two_classes(20, 2_000, 3)
    names = list("abc")
    pd.DataFrame(X_u, columns=names).to_parquet(tmp_path / "u.parquet", row_group_size=100)
    clf = ICLSClassifier(n_jobs=2).fit(pd.DataFrame(X, columns=names), y)
    predicted = clf.predict(tmp_path / "u.parquet")
    assert found == [2]
    np.testing.assert_array_equal(predicted, clf.predict(pd.DataFrame(X_u, columns=names)))
