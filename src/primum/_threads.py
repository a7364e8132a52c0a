"""Threads: one for BLAS, several for blocks of rows.

Matrices of a few hundred columns gain nothing from a second BLAS thread and become much slower on a
busy machine, where the threads wait for each other. Folds, repeats and blocks of rows are
parallelised instead.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

from primum._typing import S, T

# The limit is process-wide. Fits that overlap in several Python threads share it: the first to
# start sets it, the last to finish restores the previous one.
_lock = threading.Lock()
_users = 0
_limit: Any = None
_here = threading.local()  # .users: how many of the users are in this thread

_n_jobs: ContextVar[int | None] = ContextVar("n_jobs", default=None)


@cache
def _controller() -> ThreadpoolController:
    # Finding the BLAS libraries takes longer than a small fit, so do it once, when all are loaded:
    # NumPy and SciPy have one each.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside a ``with`` block."""
    global _limit
    with _lock:
        if _users == 0:
            with _in_control():
                _limit = _controller().limit(limits=1, user_api="blas")
        _count(+1)
    try:
        yield
    finally:
        with _lock:
            _count(-1)
            if _users == 0:
                with _in_control():
                    _limit.restore_original_limits()


@contextmanager
def _in_control() -> Iterator[None]:
    """Let this thread set the limit, and any other thread restore it.

    Since threadpoolctl 3.8, only the first thread that sets a limit for OpenBLAS can change it.
    """
    give_up = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    give_up(force=True)
    try:
        yield
    finally:
        give_up(force=True)


def _count(change: int) -> None:
    global _users
    _users += change
    _here.users = getattr(_here, "users", 0) + change


def _after_fork() -> None:
    """Restore BLAS in a child process, in which only the forking thread continues."""
    global _users
    others, _users = _users, getattr(_here, "users", 0)
    if others and not _users:
        with _in_control():
            _limit.restore_original_limits()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork
    )


@contextmanager
def using_threads(n_jobs: int | None) -> Iterator[None]:
    """Set the number of threads for blocks of rows inside a ``with`` block.

    None leaves it unchanged.
    """
    before = _n_jobs.set(_n_jobs.get() if n_jobs is None else n_jobs)
    try:
        yield
    finally:
        _n_jobs.reset(before)


def block_threads() -> int:
    """Return how many threads may process blocks of rows.

    This is n_jobs as scikit-learn interprets it. If it is None: that of ``joblib.parallel_config``;
    1 inside a parallel joblib loop; otherwise as many threads as scikit-learn uses for OpenMP.
    """
    from joblib.parallel import get_active_backend

    from primum._sklearn import openmp_threads

    n_jobs = _n_jobs.get()
    if n_jobs is None:
        backend, n_jobs = get_active_backend()
        if n_jobs is None and backend.nesting_level:
            return 1
    return openmp_threads(n_jobs)


def in_threads(work: Callable[[S], T], items: Iterable[S], threads: int) -> Iterator[T]:
    """Yield ``work(item)`` in order, buffering only a few results, because each may be large."""
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
