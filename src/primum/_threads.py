"""One BLAS thread for small dense algebra.

Matrices of a few hundred columns gain nothing from a second BLAS thread and lose much on a busy
machine, where the threads wait for each other. Parallelism belongs to folds, repeats and blocks.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # Looking for the BLAS libraries takes longer than a small fit, so do it once.
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread inside a ``with`` block."""
    return _controller().limit(limits=1, user_api="blas")
