"""Progress of long computations: a bar in a terminal, an occasional line in a log.

Long computations report how far they are (``tell``) to whoever listens (``listening``). A
``Display`` shows a share and a text; ``with_progress`` shows progress through an iterable, and
``showing_passes`` progress through passes over rows.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from primum._lazy import is_installed
from primum._typing import T

# Called with (number done, total number).
Listener = Callable[[int, int], None]
# What is counted: the rows of a pass, or the folds of a fit.
PASSES, FOLDS = "passes", "folds"
# A log is read later, so a line every ten seconds is enough.
SECONDS_BETWEEN_LINES = 10.0

_listeners: ContextVar[dict[str, Listener] | None] = ContextVar("listeners", default=None)


@contextmanager
def listening(topic: str, listener: Listener) -> Iterator[None]:
    """Report passes or folds to a listener, inside a ``with`` block."""
    before = _listeners.set({**(_listeners.get() or {}), topic: listener})
    try:
        yield
    finally:
        _listeners.reset(before)


def tell(topic: str, done: int, total: int) -> None:
    """Report progress to the listener, if any."""
    listener = (_listeners.get() or {}).get(topic)
    if listener is not None:
        listener(done, total)


def told(total: int, results: Iterable[tuple[int, T]]) -> Iterator[T]:
    """Yield the results of (number of rows, result) pairs, and report the progress of the pass."""
    done = 0
    for n_rows, result in results:
        yield result
        done += n_rows
        tell(PASSES, done, total)


class Display:
    """Show a title, a share and a text: as a bar in a terminal with tqdm, otherwise as lines.

    Parameters
    ----------
    title : str
        Name of the work.
    leave : bool, default=True
        Whether the bar stays on the screen after it is closed.
    """

    def __init__(self, title: str, *, leave: bool = True) -> None:
        self.title, self.shown, self.bar = title, time.monotonic(), None
        if sys.stderr.isatty() and is_installed("tqdm"):
            from tqdm import tqdm

            self.bar = tqdm(total=1.0, desc=title, leave=leave, bar_format=_layout(""))

    def show(self, share: float, text: str, *, now: bool = False) -> None:
        """Show how far the work is; a log gets only occasional lines, unless ``now``."""
        if self.bar is not None:
            self.bar.n, self.bar.bar_format = share, _layout(text)
            self.bar.set_description_str(self.title, refresh=False)
            self.bar.refresh()
        elif now or time.monotonic() - self.shown > SECONDS_BETWEEN_LINES:
            print(f"{self.title}: {text}", file=sys.stderr, flush=True)
            self.shown = time.monotonic()

    def close(self) -> None:
        """Close the bar, if there is one."""
        if self.bar is not None:
            self.bar.close()


def say(text: str) -> None:
    """Print text to stderr, above any bar that is shown there."""
    if sys.stderr.isatty() and is_installed("tqdm"):
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)
    else:
        print(text, file=sys.stderr, flush=True)


def _layout(text: str) -> str:
    return "{desc}: {percentage:3.0f}%|{bar}| " + text


def with_progress(work: Iterable[T], total: int, title: str, unit: str) -> Iterator[T]:
    """Yield the ``total`` items of an iterable, and show the progress."""
    display, done = Display(title), 0
    display.show(0.0, f"0 of {total} {unit}s")
    try:
        for done, item in enumerate(work, start=1):
            display.show(done / total, f"{done} of {total} {unit}s", now=done == total)
            yield item
    finally:
        display.close()


@contextmanager
def showing_passes(title: str, *, number: bool = False) -> Iterator[None]:
    """Show the progress of each pass over rows, inside a ``with`` block.

    If ``number`` is True, the passes are numbered, because there are several.
    """
    display, passes, before = Display(title, leave=False), 0, 0

    def listener(done: int, total: int) -> None:
        nonlocal passes, before
        # The number of finished rows increases until the next pass begins.
        passes, before = passes + (passes == 0 or done <= before), done
        display.title = f"{title}, pass {passes}" if number else title
        share = done / total if total else 1.0
        display.show(share, f"{share:.0%}" if display.bar is None else "", now=done >= total)

    with listening(PASSES, listener):
        try:
            yield
        finally:
            display.close()
