"""Progress reports of long passes over rows."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
# Called with (rows processed in this pass, rows of this pass).
Watcher = Callable[[int, int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watch_passes(watcher: Watcher) -> Iterator[None]:
    """Report the progress of every pass to a watcher, inside a ``with`` block."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


def watched(total: int, results: Iterable[tuple[int, T]]) -> Iterator[T]:
    """Yield the results of a pass, each given with its number of rows; report the progress."""
    done = 0
    for n_rows, result in results:
        yield result
        done += n_rows
        tell_watcher(done, total)


def tell_watcher(done: int, total: int) -> None:
    """Report the progress of a pass to the watcher, if any."""
    if (watcher := _watcher.get()) is not None:
        watcher(done, total)
