"""Progress of long work: a bar in a terminal, otherwise a line from time to time."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from primum._optional import is_installed

SECONDS_BETWEEN_LINES = 10.0


def with_progress(work: Iterable[Any], total: int, name: str, unit: str) -> Iterable[Any]:
    """Return the work, an iterable of ``total`` items, such that its progress is shown."""
    show = _with_bar if sys.stderr.isatty() and is_installed("tqdm") else _with_lines
    return show(work, total, name, unit)


def _with_bar(work: Any, total: int, name: str, unit: str) -> Any:
    from tqdm import tqdm

    return tqdm(work, total=total, desc=name, unit=unit, smoothing=0.05)


def _with_lines(work: Iterable[Any], total: int, name: str, unit: str) -> Iterator[Any]:
    """Yield the work, with a line from time to time: a bar would fill a log with its redrawing."""
    shown = time.monotonic()
    for done, item in enumerate(work, start=1):
        if done == total or time.monotonic() - shown > SECONDS_BETWEEN_LINES:
            print(f"{name}: {done} of {total} {unit}s", file=sys.stderr, flush=True)
            shown = time.monotonic()
        yield item
