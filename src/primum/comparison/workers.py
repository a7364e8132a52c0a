"""Random number generators seeded by purpose, independent of the order of calls.

Any subset of an experiment, run anywhere and in any order, then gives the same numbers.

Worker processes that end with their run, even if the run is killed.

A killed process cannot stop its workers, which would stay idle for minutes before they end. So each
worker watches its parent.
"""

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state


def rng_for(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return a generator for a purpose such as ``("cross-validation", "wdbc", 17)``."""
    name = "\x1f".join(str(part) for part in (seed, *purpose))
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def read_seed(random_state: Any) -> int:
    """Return the seed that a random_state of scikit-learn stands for: an integer is its own."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def seeded(estimator: Any, seed: int, *purpose: str | int) -> Any:
    """Return a clone in which every random_state that was left open is a number.

    Without it, a run could not be repeated, and a resumed one would mix two streams of numbers.
    """
    estimator = clone(estimator)
    open_ = [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if value is None and name.split("__")[-1] == "random_state"
    ]
    rng = rng_for(seed, "estimators", *purpose)
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in open_})


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
