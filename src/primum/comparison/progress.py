"""An estimate of the time that is left, shown while fits are made.

Progress of long work: a bar in a terminal, otherwise a line from time to time.

How long a fit that is being made will take, from the process that makes it.

SafeClassifier takes longer than all other fits of a comparison together. It reports its folds, of
which each takes about as long as the next, and the time that follows from them is left in a file
that other processes can read.
"""

import hashlib
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from primum._lazy import is_installed
from primum.comparison.plan import classifier_name

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


def _file(folder: str, unit: tuple[str, int]) -> Path:
    return Path(folder) / hashlib.sha256(repr(unit).encode()).hexdigest()


def reporting(folder: str, unit: tuple[str, int]) -> Callable[[int, int], None]:
    """Return a watcher of the folds of a fit that begins now, which writes the expected time."""
    start, path = time.time(), _file(folder, unit)
    first: list[float] = []

    def write(done: int, total: int) -> None:
        now = time.time()
        if done == 0:
            first.append(now)
        else:
            # The final fit, to all labelled rows, takes about as long as a fold.
            left = (now - first[0]) / done * (total - done + 1)
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_text(json.dumps([start, now - start + left, done]))
            unfinished.replace(path)

    return write


def expected_seconds(folder: str | None, unit: tuple[str, int]) -> tuple[float, float] | None:
    """Return when a fit began and how long it is expected to take; None if that is unknown."""
    found = _read(folder, unit)
    return None if found is None else (found[0], found[1])


def folds_done(folder: str | None, unit: tuple[str, int]) -> int:
    """Return how many folds of a fit that is being made are done, as far as it has said."""
    found = _read(folder, unit)
    return 0 if found is None else int(found[2])


def _read(folder: str | None, unit: tuple[str, int]) -> list[float] | None:
    if folder is None:
        return None
    try:
        found: list[float] = json.loads(_file(folder, unit).read_text())
    except FileNotFoundError:
        return None
    return found


SECONDS_BETWEEN_LOOKS = 1.0
ABOUT, MORE_THAN, AT_MOST = "about", "more than", "at most about"
Unit = tuple[str, int]


class TimeLeft:
    """Estimates how long fits take that are still to be made.

    A fit takes as long as those of the same classifier did, by its weight, or as long as the
    process that makes it expects.

    Parameters
    ----------
    weights : mapping of (stage/classifier, number) to float
        All fits, with how long each takes relative to the others of the same classifier.
    n_processes : int
        How many fits run at the same time.
    time_budget : float or None
        Seconds after which no more fits are begun.
    start : float
        When they began to count, by the monotonic clock.
    folder : str or None
        Where fits that are being made leave what they expect.
    parts : mapping of (stage/classifier, number) to int, optional
        Of how many smaller fits a fit consists, if that is not 1: these are counted, so that a
        long one does not look like the last of many.
    """

    def __init__(
        self,
        weights: Mapping[Unit, float],
        n_processes: int = 1,
        time_budget: float | None = None,
        start: float = 0.0,
        folder: str | None = None,
        parts: Mapping[Unit, int] | None = None,
    ) -> None:
        self.pending, self.n_processes, self.folder = dict(weights), n_processes, folder
        self.time_budget, self.start = time_budget, start
        self.parts = {**dict.fromkeys(weights, 1), **(parts or {})}
        self.total, self.rates = sum(self.parts.values()), defaultdict[str, list[float]](list)
        self._lock = threading.Lock()  # finished fits and the display come from two threads

    @property
    def n_done(self) -> int:
        """Number of finished fits, those inside a fit that is being made included."""
        with self._lock:
            pending = list(self.pending)
        # The last part ends with the fit itself.
        left = (max(self.parts[u] - folds_done(self.folder, u), 1) for u in pending)
        return self.total - sum(left)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    def finish(self, unit: Unit, seconds: float) -> None:
        """Record a finished fit."""
        with self._lock:
            self.rates[classifier_name(unit[0])].append(seconds / self.pending.pop(unit))

    def estimate(self) -> tuple[float, bool]:
        """Return the seconds that are left; a lower bound if the second value is False."""
        with self._lock:
            pending, rates = dict(self.pending), {k: list(v) for k, v in self.rates.items() if v}
        running = {unit: expected_seconds(self.folder, unit) for unit in pending}
        begun = {unit: found for unit, found in running.items() if found is not None}
        for unit, (_, seconds) in begun.items():
            rates.setdefault(classifier_name(unit[0]), [seconds / pending[unit]])
        mean = {name: sum(found) / len(found) for name, found in rates.items()}
        times = [
            max(sum(begun[unit]) - time.time(), 0.0)
            if unit in begun
            else weight * mean[classifier_name(unit[0])]
            for unit, weight in pending.items()
            if classifier_name(unit[0]) in mean
        ]
        # A fit cannot be shared among processes.
        left = max(sum(times) / self.n_processes, max(times, default=0.0))
        return left, len(times) == len(pending)

    def _limited(self) -> tuple[float, str]:
        """Return the seconds that are left within the budget, and how that is to be understood."""
        left, is_known = self.estimate()
        if self.time_budget is None:
            return left, ABOUT if is_known else MORE_THAN
        most = max(self.time_budget - self.elapsed, 0.0)
        return (min(left, most), ABOUT) if is_known else (most, AT_MOST)

    def __str__(self) -> str:
        left, words = self._limited()
        if words == MORE_THAN and left == 0:
            return "the time left is not known yet"
        return f"{words} {duration(left)} left"

    @property
    def share(self) -> float:
        """The share of the time that is over; 0 while that is unknown."""
        left, words = self._limited()
        if words == MORE_THAN or self.elapsed == 0:
            return 0.0
        return self.elapsed / (self.elapsed + left)


def duration(seconds: float) -> str:
    """Return a time in words, rounded up: "8 s", "3 min", "2 h"."""
    for size, name in ((3600, "h"), (60, "min")):
        if seconds > 2 * size:
            return f"{-int(-seconds // size)} {name}"
    return f"{-int(-seconds // 1)} s"


def with_time_left(work: Iterable[Any], left: TimeLeft, name: str) -> Iterator[Any]:
    """Yield the fits, pairs of ((stage/classifier, number), fit), and show the time left."""
    bar = sys.stderr.isatty() and is_installed("tqdm")
    show = _Bar(left, name) if bar else _Lines(left, name)
    over = threading.Event()
    # A single fit can take minutes, during which the estimate is shown too.
    looking = threading.Thread(target=_look, args=(show, over), daemon=True)
    looking.start()
    try:
        for unit, fit in work:
            left.finish(unit, fit.seconds)
            yield unit, fit
    finally:
        over.set()
        looking.join()
        show.close()


def _look(show: Any, over: threading.Event) -> None:
    while not over.wait(SECONDS_BETWEEN_LOOKS):
        show.refresh()


class _Bar:
    """A bar of the time: fits take from a moment to minutes, so that their number says little."""

    def __init__(self, left: TimeLeft, name: str) -> None:
        from tqdm import tqdm

        self.left, self.bar = left, tqdm(total=1.0, desc=name, bar_format=_layout(left, ""))

    def refresh(self) -> None:
        self.bar.n = self.left.share
        self.bar.bar_format = _layout(self.left, f", {self.left}")
        self.bar.refresh()

    def close(self) -> None:
        self.bar.n = 1.0 if self.left.n_done == self.left.total else self.bar.n
        self.bar.bar_format = _layout(self.left, "")
        self.bar.close()


def _layout(left: TimeLeft, rest: str) -> str:
    return f"{{desc}}: {{percentage:3.0f}}%|{{bar}}| {_fits(left)}{rest}"


class _Lines:
    """Prints a line from time to time: a bar would fill a log with its redrawing."""

    def __init__(self, left: TimeLeft, name: str) -> None:
        self.left, self.name, self.shown = left, name, time.monotonic()

    def refresh(self) -> None:
        if time.monotonic() - self.shown > SECONDS_BETWEEN_LINES:
            self._print(f", {self.left}")

    def close(self) -> None:
        self._print("")

    def _print(self, rest: str) -> None:
        print(f"{self.name}: {_fits(self.left)}{rest}", file=sys.stderr, flush=True)
        self.shown = time.monotonic()


def _fits(left: TimeLeft) -> str:
    minutes, seconds = divmod(int(left.elapsed), 60)
    return f"{left.n_done} of {left.total} fits in {minutes}:{seconds:02d}"
