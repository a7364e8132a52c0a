"""Progress of passes over many rows: a bar on a terminal, lines in a log."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from tqdm import tqdm

from primum.rows import watch_passes

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(what: str, *, number: bool = False) -> Iterator[None]:
    """Show the progress of each pass on standard error, inside a ``with`` block.

    ``number`` is whether to number the passes, because there are several.
    """
    if not sys.stderr.isatty():
        with watch_passes(_Lines(what, number)):
            yield
        return
    bar = tqdm(unit_scale=True, leave=False, desc=what)
    with bar, watch_passes(_Bar(what, number, bar)):
        yield


class _Passes:
    """Counts passes: a new one begins when fewer rows are done than before."""

    def __init__(self, what: str, number: bool) -> None:
        self.what, self.number, self.passes, self.done = what, number, 0, 0

    def begins(self, done: int) -> bool:
        """Record how many rows are done, and return whether a new pass has begun."""
        new = self.passes == 0 or done <= self.done
        self.passes, self.done = self.passes + new, done
        return new

    @property
    def title(self) -> str:
        """The current task, with the number of the pass."""
        return f"{self.what}, pass {self.passes}" if self.number else self.what


class _Bar(_Passes):
    def __init__(self, what: str, number: bool, bar: tqdm) -> None:
        super().__init__(what, number)
        self.bar = bar

    def __call__(self, done: int, total: int) -> None:
        if self.begins(done):
            self.bar.set_description(self.title, refresh=False)
            self.bar.reset(total)
        self.bar.n = done
        self.bar.refresh()  # blocks are few and slow, so show every one


class _Lines(_Passes):
    """Prints a line at the end of every pass, and at intervals during a long one."""

    def __init__(self, what: str, number: bool) -> None:
        super().__init__(what, number)
        self.printed = monotonic()

    def __call__(self, done: int, total: int) -> None:
        self.begins(done)
        now = monotonic()
        if done >= total or now - self.printed >= SECONDS_BETWEEN_LINES:
            self.printed = now
            share = f"{done / total:.0%}" if total else "100%"
            print(f"{self.title}: {share}", file=sys.stderr, flush=True)
