"""Progress of long work: a bar in a terminal, otherwise a line from time to time."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

SECONDS_BETWEEN_LINES = 10.0


def with_progress(work: Iterable[Any], total: int, name: str, unit: str) -> Iterable[Any]:
    """Return the work, an iterable of ``total`` items, such that its progress is shown."""
    show = _with_bar if sys.stderr.isatty() else _with_lines
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


class TimeLeft:
    """Estimates how long fits take that are still to be made, from those of the same classifier.

    Parameters
    ----------
    names : sequence of str
        The classifier of every fit to be made.
    n_processes : int
        How many fits run at the same time.
    time_budget : float or None
        Seconds after which no more fits are begun.
    start : float
        When they began to count, by the monotonic clock.
    """

    def __init__(
        self,
        names: Sequence[str],
        n_processes: int = 1,
        time_budget: float | None = None,
        start: float = 0.0,
    ) -> None:
        self.pending, self.n_processes = Counter(names), n_processes
        self.time_budget, self.start = time_budget, start
        self.total, self.seconds = len(names), defaultdict[str, list[float]](list)

    @property
    def n_done(self) -> int:
        """Number of finished fits."""
        return sum(map(len, self.seconds.values()))

    def finish(self, name: str, seconds: float) -> None:
        """Record a finished fit of a classifier."""
        self.seconds[name].append(seconds)
        self.pending[name] -= 1

    def __str__(self) -> str:
        """Return the estimate in words; a lower bound while some classifier has not been timed."""
        waiting = {name: count for name, count in self.pending.items() if count > 0}
        timed = {name: count for name, count in waiting.items() if self.seconds[name]}
        left = sum(
            count * sum(self.seconds[name]) / len(self.seconds[name])
            for name, count in timed.items()
        )
        left /= self.n_processes
        if self.time_budget is not None:
            left = min(left, max(self.time_budget - (time.monotonic() - self.start), 0.0))
        return f"{'about' if len(timed) == len(waiting) else 'more than'} {duration(left)} left"


def duration(seconds: float) -> str:
    """Return a time in words, rounded up: "8 s", "3 min", "2 h"."""
    for size, name in ((3600, "h"), (60, "min")):
        if seconds > 2 * size:
            return f"{-int(-seconds // size)} {name}"
    return f"{-int(-seconds // 1)} s"


def with_time_left(work: Iterable[Any], left: TimeLeft, name: str) -> Iterator[Any]:
    """Yield the fits, pairs of ((stage/classifier, number), record), and show the time left."""
    show = _TimeLeftBar(left, name) if sys.stderr.isatty() else _TimeLeftLines(left, name)
    for unit, record in work:
        left.finish(unit[0].partition("/")[2], record["seconds"])
        show()
        yield unit, record
    show.close()


class _TimeLeftBar:
    def __init__(self, left: TimeLeft, name: str) -> None:
        from tqdm import tqdm

        layout = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} fits{postfix}"
        self.left, self.bar = left, tqdm(total=left.total, desc=name, bar_format=layout)

    def __call__(self) -> None:
        self.bar.set_postfix_str(str(self.left), refresh=False)
        self.bar.update()

    def close(self) -> None:
        self.bar.set_postfix_str("", refresh=False)
        self.bar.close()


class _TimeLeftLines:
    """Prints a line from time to time: a bar would fill a log with its redrawing."""

    def __init__(self, left: TimeLeft, name: str) -> None:
        self.left, self.name, self.shown = left, name, time.monotonic()

    def __call__(self) -> None:
        late = time.monotonic() - self.shown > SECONDS_BETWEEN_LINES
        if late and self.left.n_done < self.left.total:
            self._print(f", {self.left}")

    def close(self) -> None:
        self._print("")

    def _print(self, rest: str) -> None:
        done, total = self.left.n_done, self.left.total
        print(f"{self.name}: {done} of {total} fits{rest}", file=sys.stderr, flush=True)
        self.shown = time.monotonic()
