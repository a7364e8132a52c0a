"""Reports of how many folds are done, for whoever shows the progress of a fit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Called with (folds that are done, all folds); first with 0, when what precedes them is done.
Watcher = Callable[[int, int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("folds", default=None)


@contextmanager
def watch_folds(watcher: Watcher) -> Iterator[None]:
    """Report the folds of SafeClassifier to a watcher, inside a ``with`` block."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


def tell_watcher(done: int, total: int) -> None:
    """Report the folds to the watcher, if any."""
    if (watcher := _watcher.get()) is not None:
        watcher(done, total)
