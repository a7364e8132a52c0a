"""A bar for passes over many rows, if somebody is looking."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from primum.rows import watch_passes


@contextmanager
def progress_bar(what: str) -> Iterator[None]:
    """Show how far each pass has come on a terminal, inside a ``with`` block."""
    if not sys.stderr.isatty():
        yield
        return
    passes = 0
    with tqdm(unit_scale=True, leave=False, desc=what) as bar:

        def show(done: int, total: int) -> None:
            nonlocal passes
            if passes == 0 or done <= bar.n:
                passes += 1
                bar.set_description(f"{what}, pass {passes}", refresh=False)
                bar.reset(total)
            bar.n = done
            bar.refresh()  # parts are few and slow, so every one is worth showing

        with watch_passes(show):
            yield
