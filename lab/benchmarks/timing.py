"""Processor times of functions that take turns, so that a busy moment hits all of them."""

import time

import numpy as np
from joblib import parallel_config
from threadpoolctl import threadpool_limits


def cpu_times(functions, repeats):
    """Return the processor times in seconds, one row per turn and one column per function.

    They are those of one thread: contention between threads would count as work.
    """
    times = np.empty((repeats, len(functions)))
    with threadpool_limits(1), parallel_config(n_jobs=1):
        for turn in times:
            for k, function in enumerate(functions):
                start = time.process_time()
                function()
                turn[k] = time.process_time() - start
    return times


def ratios(functions, repeats):
    """Return the least time of the first function over that of each of the others."""
    first, *others = cpu_times(functions, repeats).min(axis=0)
    return [float(first / other) for other in others]
