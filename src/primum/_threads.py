"""One BLAS thread for small dense algebra.

Matrices of a few hundred columns gain nothing from a second BLAS thread and lose much on a busy
machine, where the threads wait for each other. Parallelism belongs to folds, repeats and blocks.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

# The limit is a setting of the whole process. Fits that overlap in several Python threads share
# it: the first sets it, the last one restores what was there.
_lock = threading.Lock()
_users = 0
_limit: Any = None


@cache
def _controller() -> ThreadpoolController:
    # Looking for the BLAS libraries takes longer than a small fit, so do it once.
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside a ``with`` block."""
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
