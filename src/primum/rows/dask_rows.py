"""Rows of a Dask array or DataFrame, processed in this process or on a cluster.

A pass runs one task per partition, which processes its blocks and combines their results, and a few
tasks that combine the partitions, always in the same order; one small result is returned. Tasks are
pure: if a worker is lost, Dask repeats its tasks, and the result is the same.

This is the only module that uses Dask. Dask is optional, so it is imported where it is used.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from itertools import accumulate
from typing import Any
from uuid import uuid4

import numpy as np
from scipy import sparse

from primum._lazy import needed
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats, Index, T
from primum.rows.array import BLOCK_NUMBERS, ArrayRows
from primum.rows.base import (
    Block,
    BlockMemory,
    Rows,
    refuse_changed,
    stack_present,
    still_finite,
    within,
)

# Results that one task combines: few enough to be in a worker's memory together, many enough that
# the sums of thousands of partitions are combined in three rounds.
FAN_IN = 16
# Maximum number of rows in a block. Allocators of Dask's workers return arrays of 128 KB or more to
# the system whenever they are freed; arrays with one number per row are smaller than that.
MAX_ROWS_PER_BLOCK = 15_000
# How often a running pass checks the cluster, in seconds: seldom enough to cost the scheduler
# nothing, often enough that a lost worker is noticed at once.
SECONDS_BETWEEN_CHECKS = 2.0
# How long a cluster may be without workers, in seconds: adaptive ones start workers within a minute
# ...
MAX_IDLE_SECONDS = 60.0
# ... and how long all workers may be paused, because they are short of memory, or the scheduler
# may not respond, because it is busy with many tasks: both may end, so this is ten times as long.
MAX_BUSY_SECONDS = 600.0
# How long to wait for an answer of the scheduler before trying again, in seconds: a scheduler that
# is not busy answers in a fraction of one.
MAX_ANSWER_SECONDS = 10.0


class DaskRows(Rows):
    """Rows of a Dask collection, with one task per partition in every pass.

    Passes run on the Dask client if there is one, and otherwise on the scheduler that Dask is
    configured to use. The rows are computed again in every pass unless they are persisted. Of a
    DataFrame the columns ``names`` are selected, in this order (None: all).
    """

    in_memory = False
    collectable = 2**22  # 32 MB: sending them takes less time than a pass

    def __init__(self, collection: Any, names: Sequence[str] | None, n_columns: int) -> None:
        with needed("Dask collections"):
            from dask import delayed
        self.n_columns = n_columns
        # The partitions, and their numbers of rows, as tasks where they are not yet known.
        kind = type(collection).__name__  # a Delayed appears to have every attribute
        if kind == "Array":
            if collection.ndim != 2 or collection.shape[1] != n_columns:
                raise ValueError(
                    f"The Dask array has shape {collection.shape} but X has {n_columns} features: "
                    "pass rows with the same columns in the same order."
                )
            if np.isnan(collection.shape[0]):
                raise ValueError(
                    "The Dask array has chunks of unknown size: call compute_chunk_sizes() on it "
                    "first."
                )
            if collection.dtype.kind not in "buif":
                raise ValueError(
                    f"The Dask array has values of type {collection.dtype}: convert them to "
                    "numbers."
                )
            whole_rows = collection.rechunk({1: -1})
            self._partitions = list(whole_rows.to_delayed()[:, 0])
            self._counts: list[Any] = [int(n) for n in whole_rows.chunks[0]]
        elif kind == "DataFrame":
            columns = list(collection.columns)
            wanted = columns if names is None else list(names)
            _check_columns(columns, wanted, n_columns)
            frame = collection[wanted]
            for name, dtype in frame.dtypes.items():
                if getattr(dtype, "kind", "O") not in "buif":
                    raise ValueError(
                        f"Column {name!r} of the Dask DataFrame has values of type {dtype}: "
                        "convert them to numbers."
                    )
            self._partitions = frame.to_delayed()
            # One column is enough to count rows.
            parts = collection[wanted[:1]].to_delayed()
            self._counts = [delayed(len)(part) for part in parts]
        else:
            raise ValueError(
                f"A Dask {kind} cannot be read as rows: pass a two-dimensional Dask array or a "
                "Dask DataFrame."
            )

    @cached_property
    def lengths(self) -> list[int]:
        """Number of rows of each partition; those of a DataFrame are counted when first needed."""
        if all(isinstance(count, int) for count in self._counts):
            return self._counts
        return next(_results([_task(self._key("count"), list, self._counts)]))

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return sum(self.lengths)

    def map(self, kernel: Callable[[Block], T]) -> Iterator[T]:  # noqa: D102
        kernel = still_finite(kernel) if self.passes else kernel
        self.passes += 1
        for results in _results(self._tasks(_map_partition, kernel)):
            yield from results

    def map_reduce(self, kernel: Callable[[Block], T], combine: Callable[[T, T], T]) -> T:  # noqa: D102
        kernel = still_finite(kernel) if self.passes else kernel
        self.passes += 1
        results = self._tasks(_reduce_partition, (kernel, combine))
        name = self._key("combine")
        level = 0
        while len(results) > 1:
            level += 1
            results = [
                _task(f"{name}-{level}-{at}", reduce, combine, results[at : at + FAN_IN])
                for at in range(0, len(results), FAN_IN)
            ]
        total: T = next(_results(results))
        return total

    def take(self, index: Index) -> Block:  # noqa: D102
        visited = self.passes > 0
        self.passes += 1
        name = self._key("take")
        tasks = []
        for part, number, start, n_rows in self._placed(self.lengths):
            chosen = within(index, start, n_rows)
            if len(chosen):
                arguments = (part, number, n_rows, chosen, start if visited else None)
                tasks.append(_task(f"{name}-{number}", _pick, *arguments))
        return stack_present((Block(0, X) for X in _results(tasks)), self.n_columns)

    def apply(
        self, kernel: Callable[[Block], AnyArray], dtype: Any, n_values: int | None = None
    ) -> Any:
        """Return ``kernel(block)``, one value per row, as a lazy Dask array.

        Its chunks are the partitions; their sizes are unknown for a DataFrame.
        """
        from dask import array

        counts = self.__dict__.get("lengths", self._counts)  # do not count rows just for this
        name, shared = self._key("apply"), self._shared(kernel)
        empty = np.zeros((0,) if n_values is None else (0, n_values), dtype)
        pieces = []
        for where in self._placed(counts):
            values = _task(f"{name}-{where[1]}", _apply_partition, shared, empty, *where)
            shape = (where[3] if isinstance(where[3], int) else np.nan, *empty.shape[1:])
            pieces.append(array.from_delayed(values, shape=shape, dtype=dtype))
        return array.concatenate(pieces, allow_unknown_chunksizes=True)

    def _tasks(self, work: Callable[..., Any], function: Any) -> list[Any]:
        """Return one task per non-empty partition."""
        name, shared = self._key("pass"), self._shared(function)
        return [
            _task(f"{name}-{where[1]}", work, shared, *where)
            for where in self._placed(self.lengths)
            if where[3]
        ]

    def _placed(self, counts: Sequence[Any]) -> Iterator[tuple[Any, int, Any, Any]]:
        """Yield each partition, its number, the position of its first row, and how many it has."""
        starts = list(accumulate(counts[:-1], initial=0))
        return zip(self._partitions, range(len(counts)), starts, counts, strict=True)

    def _shared(self, function: object) -> Any:
        """Return a node that stores a function in the graph once, not once per task."""
        from dask import delayed

        return delayed(function, name=self._key("kernel"), traverse=False)

    def _key(self, purpose: str) -> str:
        """Return a unique name, which Dask's dashboard groups by its purpose."""
        return f"primum-{purpose}-{self.passes}-{uuid4().hex}"


# Reading collections


def _check_columns(columns: list[Any], wanted: list[Any], n_columns: int) -> None:
    missing = [name for name in wanted if name not in columns]
    if missing:
        brief = ", ".join(map(str, columns[:5])) + (", ..." if len(columns) > 5 else "")
        raise ValueError(
            f"The Dask DataFrame has no column {missing[0]!r}, which X has ({len(missing)} "
            f"missing; its columns are [{brief}]): use the same names as in X."
        )
    n_wanted = sum(name in set(wanted) for name in columns)
    if n_wanted != n_columns:
        raise ValueError(
            f"The Dask DataFrame has {n_wanted} columns but X has {n_columns} features: pass each "
            "feature exactly once."
        )


# Tasks that run on the workers


def _task(key: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``work(*arguments)`` as a task with this name."""
    from dask import delayed

    return delayed(work)(*arguments, dask_key_name=key)


def _map_partition(kernel: Callable[[Block], T], *where: Any) -> list[T]:
    with one_blas_thread():
        # Not a comprehension: its variable would refer to a block while the next one is read.
        return list(map(kernel, _blocks(*where)))


def _reduce_partition(
    functions: tuple[Callable[[Block], T], Callable[[T, T], T]], *where: Any
) -> T:
    kernel, combine = functions
    with one_blas_thread():
        return reduce(combine, map(kernel, _blocks(*where)))


def _apply_partition(kernel: Callable[[Block], AnyArray], empty: AnyArray, *where: Any) -> AnyArray:
    results = _map_partition(kernel, *where)
    return np.concatenate(results).astype(empty.dtype, copy=False) if results else empty


def _pick(part: Any, number: int, n_rows: int, chosen: Index, visited_at: int | None) -> Any:
    """Return some rows of a partition; ``visited_at`` is its start if an earlier pass read it."""
    part = _checked(part, number, n_rows)
    X = _reader(part).read(chosen)
    if visited_at is not None:
        block = Block(visited_at, X, source=f"partition {number}", names=_names(part))
        refuse_changed(block, visited_at + chosen)
    return X


def _blocks(part: Any, number: int, start: int, n_rows: int) -> Iterator[Block]:
    part = _checked(part, number, n_rows)
    reader = _reader(part)
    source = f"partition {number}"
    names = _names(part)
    size = min(reader.rows_per_block, MAX_ROWS_PER_BLOCK)
    for first in range(0, n_rows, size):
        chosen = slice(first, min(first + size, n_rows))
        yield Block(start + first, reader.read(chosen), source=source, names=names)


def _names(part: Any) -> list[str] | None:
    """Return the names of the columns of a DataFrame."""
    return list(part.columns) if hasattr(part, "columns") else None


def _checked(part: Any, number: int, n_rows: int) -> Any:
    """Return a partition in a form that can be read; raise an error if its size has changed."""
    if part.shape[0] != n_rows:
        raise ValueError(
            f"Partition {number} has {part.shape[0]} rows but had {n_rows} before: rows must not "
            "change between passes; persist the collection or read it from unchanging data."
        )
    if isinstance(part, np.ma.MaskedArray):  # masked values are missing
        return np.ma.filled(part.astype(np.float64), np.nan)
    as_csr: Any = sparse.csr_array
    return as_csr(part) if sparse.issparse(part) else part


def _reader(part: Any) -> "_ArrayReader | _ConvertingReader":
    """Return an object that reads rows of a partition in double precision."""
    frame = hasattr(part, "iloc")
    if frame or (isinstance(part, np.ndarray) and part.dtype != np.float64):
        return _ConvertingReader(part, frame=frame)
    return _ArrayReader(part)


class _ArrayReader:
    """Reads rows of an array, dense in double precision or sparse."""

    def __init__(self, part: Any) -> None:
        self.rows = ArrayRows(part)
        self.rows_per_block = self.rows.rows_per_block

    def read(self, chosen: slice | Index) -> Any:
        return self.rows.block(0, chosen).X


class _ConvertingReader:
    """Reads rows of another dtype, reusing memory.

    Of a DataFrame, memory is reused if all columns share a NumPy dtype: pandas itself converts
    extension dtypes and mixed ones to double precision.
    """

    def __init__(self, part: Any, *, frame: bool) -> None:
        self.part, self.frame = part, frame
        self.rows_per_block = max(1, BLOCK_NUMBERS // max(1, part.shape[1]))
        self._memory = BlockMemory()
        kinds = set(part.dtypes) if frame else set()
        of_numpy = len(kinds) == 1 and isinstance(kinds.pop(), np.dtype)
        self._options = {} if of_numpy else {"dtype": np.float64, "na_value": np.nan}

    def read(self, chosen: slice | Index) -> Floats:
        if not self.frame:
            rows = self.part[chosen]
            X = self._memory.empty(*rows.shape)
            X[:] = rows
            return X
        values = self.part.iloc[chosen].to_numpy(**self._options)
        if values.dtype == np.float64:
            return np.asarray(values)
        X = self._memory.empty(*values.T.shape).T  # stored by column, as in pandas
        X[:] = values
        return X


# Waiting for the results


def _results(tasks: list[Any]) -> Iterator[Any]:
    """Compute tasks and yield their results in order."""
    from dask import compute
    from dask.base import get_scheduler

    # The client that Dask would use now, unless it would compute in this process.
    client: Any = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "scheduler_info"):
        yield from compute(*tasks, traverse=False)
        return
    futures: list[Any] = []
    try:
        futures += _on_cluster(client.compute, tasks)
        for future in futures:
            yield _on_cluster(_result, client, future)
    finally:  # also after Ctrl-C: release tasks whose results are no longer needed
        for future in futures:
            future.release()


def _result(client: Any, future: Any) -> Any:
    """Wait for a result, and check the cluster meanwhile."""
    from distributed import TimeoutError, wait

    watch = _Watch(client)
    time_to_fetch = SECONDS_BETWEEN_CHECKS
    while True:
        try:
            wait(future, timeout=SECONDS_BETWEEN_CHECKS)
            return future.result(timeout=time_to_fetch)
        except TimeoutError:
            if future.status == "error":  # the task itself raised the error
                raise
            if future.status == "finished":  # a large result on a slow connection
                time_to_fetch *= 2
            watch.look()


def _on_cluster(action: Callable[..., T], *arguments: Any) -> T:
    """Run an action on a cluster; turn failures of the cluster into one-sentence errors."""
    from distributed import CancelledError, KilledWorker
    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError
    from distributed.scheduler import NoValidWorkerError, NoWorkerError

    try:
        return action(*arguments)
    except KilledWorker as error:
        raise RuntimeError(
            f"Dask workers died while running the task {error.task!r} (attempts: "
            f"{error.allowed_failures + 1}), probably for lack of memory: use smaller partitions "
            "or give the workers more memory, and fit again."
        ) from error
    except (NoWorkerError, NoValidWorkerError) as error:
        raise RuntimeError(f"{error} Start such workers and fit again.") from error
    except (CancelledError, CommClosedError, ClosedClientError) as error:
        raise RuntimeError(
            "The Dask cluster cancelled a pass over the rows, because its scheduler was lost, the "
            f"client was closed or the only worker with the rows was lost ({_first_line(error)}): "
            "check the cluster and fit again."
        ) from error


def _first_line(error: Any) -> str:
    groups = getattr(error, "error_groups", None)  # of futures that were cancelled together
    error = groups[0].errors[0] if groups else error
    return (str(error) or type(error).__name__).splitlines()[0]


class _Watch:
    """Ends a pass that waits too long for workers."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.idle_since: float | None = None
        self.silent_since: float | None = None

    def look(self) -> None:
        """Check the workers; raise an error once all have been gone or paused for too long."""
        running = self._ask("ncores_running")
        if running is None:  # no answer yet
            return
        if running:
            self.idle_since = None
            return
        now = time.monotonic()
        self.idle_since = now if self.idle_since is None else self.idle_since
        paused = bool(self._ask("ncores"))
        if now - self.idle_since > (MAX_BUSY_SECONDS if paused else MAX_IDLE_SECONDS):
            state = "all workers paused for lack of memory" if paused else "no worker"
            raise _stuck(f"has had {state} for {now - self.idle_since:.0f} s")

    def _ask(self, question: str) -> Any:
        """Query the scheduler about its workers; None if it has not answered.

        The wait is short, so that a pass cancelled in the meantime ends.
        """
        from distributed import TimeoutError

        asked = time.monotonic()
        wait = min(MAX_ANSWER_SECONDS, MAX_BUSY_SECONDS)
        try:
            answer = self.client.sync(
                getattr(self.client.scheduler, question), callback_timeout=wait
            )
        except TimeoutError as error:
            self.silent_since = asked if self.silent_since is None else self.silent_since
            if time.monotonic() - self.silent_since >= MAX_BUSY_SECONDS:
                raise _stuck(f"has not responded for {MAX_BUSY_SECONDS:.0f} s") from error
            return None
        except OSError:  # the client notices the lost connection and cancels the pass
            answer = {}
        self.silent_since = None
        return answer


def _stuck(state: str) -> RuntimeError:
    return RuntimeError(
        f"The Dask cluster {state}, so a pass over the rows cannot finish: check its workers and "
        "fit again."
    )
