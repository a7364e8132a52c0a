"""How far passes over many rows have come: a bar on a terminal, lines in a log."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from tqdm import tqdm

from primum.rows import watch_passes

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(what: str, *, number: bool = False) -> Iterator[None]:
    """Show on the error stream how far each pass has come, inside a ``with`` block.

    ``number`` is whether passes are numbered, because there are several.
    """
    if not sys.stderr.isatty():
        with watch_passes(_Lines(what, number)):
            yield
        return
    bar = tqdm(unit_scale=True, leave=False, desc=what)
    with bar, watch_passes(_Bar(what, number, bar)):
        yield


class _Passes:
    """Counts passes: a new one begins where fewer rows are done than before."""

    def __init__(self, what: str, number: bool) -> None:
        self.what, self.number, self.passes, self.done = what, number, 0, 0

    def begins(self, done: int) -> bool:
        """Take note of how many rows are done, and tell whether a new pass has begun."""
        new = self.passes == 0 or done <= self.done
        self.passes, self.done = self.passes + new, done
        return new

    @property
    def title(self) -> str:
        """What is being done, and for which time."""
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
        self.bar.refresh()  # parts are few and slow, so every one is worth showing


class _Lines(_Passes):
    """Prints a line at the end of every pass, and now and then during a long one."""

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
