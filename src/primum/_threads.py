"""Threads: one for BLAS, several for blocks of rows.

Matrices of a few hundred columns gain nothing from a second BLAS thread and lose much on a busy
machine, where the threads wait for each other. Parallelism belongs to folds, repeats and blocks.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from joblib.parallel import get_active_backend
from threadpoolctl import OpenBLASController, ThreadpoolController

from primum._sklearn import openmp_threads

S = TypeVar("S")
T = TypeVar("T")

# The limit is a setting of the whole process. Fits that overlap in several Python threads share
# it: the first sets it, the last one restores what was there.
_lock = threading.Lock()
_users = 0
_limit: Any = None
_here = threading.local()  # .users: how many of the users are this thread

_n_jobs: ContextVar[int | None] = ContextVar("n_jobs", default=None)


@cache
def _controller() -> ThreadpoolController:
    # Looking for the BLAS libraries takes longer than a small fit, so do it once.
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
                _restore()


def _restore() -> None:
    with _in_control():
        _limit.restore_original_limits()


@contextmanager
def _in_control() -> Iterator[None]:
    """Let this thread set the limit, and any other restore it.

    From threadpoolctl 3.8 on, the first thread to set a limit of OpenBLAS is the only one whose
    calls have an effect.
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
    """Restore BLAS in a child process, where only the thread that forked goes on."""
    global _users
    others, _users = _users, getattr(_here, "users", 0)
    if others and not _users:
        _restore()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork
    )


@contextmanager
def using_threads(n_jobs: int | None) -> Iterator[None]:
    """Set the number of threads for blocks of rows inside a ``with`` block.

    None leaves it as it is.
    """
    before = _n_jobs.set(_n_jobs.get() if n_jobs is None else n_jobs)
    try:
        yield
    finally:
        _n_jobs.reset(before)


def block_threads() -> int:
    """Return how many threads may process blocks of rows.

    That is n_jobs as scikit-learn reads it. If it is None, that of ``joblib.parallel_config``; one
    thread inside a parallel loop of joblib; otherwise as many as scikit-learn gives to OpenMP.
    """
    n_jobs = _n_jobs.get()
    if n_jobs is None:
        backend, n_jobs = get_active_backend()
        if n_jobs is None and backend.nesting_level:
            return 1
    return openmp_threads(n_jobs)


def in_threads(work: Callable[[S], T], items: Iterable[S], threads: int) -> Iterator[T]:
    """Yield ``work(item)`` in order; only a few results wait to be taken, as each may be large."""
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
