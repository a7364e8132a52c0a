"""Worker processes that end with their run, even if the run is killed.

A killed process cannot stop its workers, which would stay idle for minutes before they end. So each
worker watches its parent.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

SECONDS_BETWEEN_LOOKS = 0.2


def run_parallel(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], jobs: int
) -> Iterator[Any]:
    """Yield ``function(*task)`` for every task, in order of completion."""
    from joblib import Parallel, delayed

    workers = Parallel(
        n_jobs=jobs,
        backend="loky",
        return_as="generator_unordered",
        initializer=end_with_parent,
        initargs=(os.getpid(),),
    )
    yield from workers(delayed(function)(*task) for task in tasks)


def end_with_parent(parent: int) -> None:
    """End this process as soon as the process ``parent``, which started it, has ended."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    if sys.platform == "win32":
        import multiprocessing

        if (process := multiprocessing.parent_process()) is not None:
            process.join()
    else:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
