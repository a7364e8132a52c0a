"""Progress reports of long passes over rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
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


def watched(sizes: Sequence[int], results: Iterable[T]) -> Iterator[T]:
    """Yield the results of a pass over pieces of given sizes, and report the progress."""
    total = sum(sizes)
    for done, result in zip(accumulate(sizes), results, strict=True):
        yield result
        tell_watcher(done, total)


def tell_watcher(done: int, total: int) -> None:
    """Report the progress of a pass to the watcher, if any."""
    if (watcher := _watcher.get()) is not None:
        watcher(done, total)
