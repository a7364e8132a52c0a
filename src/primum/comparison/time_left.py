"""The time that the remaining fits of a comparison will take.

A fit takes anything from a moment to minutes, so counting fits says little. SafeClassifier takes
longer than all other fits of a comparison together. It reports its folds, which take about the same
time each, and the resulting estimate is appended to a log that other processes can read.
"""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from primum._progress import Display, Listener

# A bar is watched, so the time left is estimated anew every second.
SECONDS_BETWEEN_LOOKS = 1.0
# A fit: its stage and classifier, as in "all/ICLS", and its number.
Unit = tuple[str, int]
# The file to which the processes that fit append their progress.
LOG = "expected.jsonl"
ABOUT, MORE_THAN, AT_MOST = "about", "more than", "at most about"


def logging_to(folder: str, unit: Unit) -> Listener:
    """Return a listener for the folds of a fit that begins now; it logs the expected time."""
    start, log = time.time(), Path(folder) / LOG
    first: list[float] = []

    def write(seconds: float | None, done: int) -> None:
        with log.open("a") as file:  # one short line per write, so that lines do not mix
            file.write(json.dumps([*unit, start, seconds, done]) + "\n")

    def expect(done: int, total: int) -> None:
        now = time.time()
        if done == 0:
            first.append(now)
            return
        # The final fit, to all labelled rows, takes about as long as a fold.
        left = (now - first[0]) / done * (total - done + 1)
        write(now - start + left, done)

    write(None, 0)
    return expect


def begun_fits(folder: str | None) -> dict[Unit, tuple[float, float | None, int]]:
    """Return when each logged fit began, the seconds it should take, and its finished folds.

    The seconds are None until the first fold is finished.
    """
    log = None if folder is None else Path(folder) / LOG
    if log is None or not log.exists():
        return {}
    complete = log.read_text().rpartition("\n")[0].splitlines()
    lines = (json.loads(line) for line in complete)
    return {(name, number): (start, seconds, done) for name, number, start, seconds, done in lines}


class TimeLeft:
    """Estimates how long the remaining fits will take.

    A fit is expected to take as long as finished fits of the same classifier, scaled by its weight,
    or as long as the process that runs it expects.

    Parameters
    ----------
    weights : mapping of (stage/classifier, number) to float
        All fits, with the time of each relative to others of the same classifier.
    n_processes : int
        How many fits run at the same time.
    time_budget : float or None
        Seconds after which no more fits are begun.
    start : float
        When the seconds began to count, by the monotonic clock.
    folder : str or None
        Where running fits log what they expect.
    parts : mapping of (stage/classifier, number) to int, optional
        The number of smaller fits inside a fit, if that is not 1: they are counted one by one, so
        that a long fit does not look like the last of many.
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
        """Number of finished fits, including those inside a running fit."""
        with self._lock:
            pending = list(self.pending)
        folds = {unit: done for unit, (*_, done) in begun_fits(self.folder).items()}
        # The last part ends with the fit itself.
        return self.total - sum(max(self.parts[u] - folds.get(u, 0), 1) for u in pending)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    def finish(self, unit: Unit, seconds: float) -> None:
        """Record a finished fit."""
        with self._lock:
            self.rates[_classifier(unit)].append(seconds / self.pending.pop(unit))

    def estimate(self) -> tuple[float, bool]:
        """Return the seconds left; a lower bound if the second value is False."""
        with self._lock:
            pending, rates = dict(self.pending), {k: list(v) for k, v in self.rates.items() if v}
        begun = {u: known for u, known in begun_fits(self.folder).items() if u in pending}
        for unit, (_, expected, _) in begun.items():
            if expected is not None:
                rates.setdefault(_classifier(unit), [expected / pending[unit]])
        times, now = [], time.time()
        for unit, weight in pending.items():
            if of_fits := rates.get(_classifier(unit)):
                began, expected, _ = begun.get(unit, (now, None, 0))
                usual = weight * sum(of_fits) / len(of_fits)
                times.append(max((usual if expected is None else expected) - (now - began), 0.0))
        # A fit cannot be split among processes.
        left = max(sum(times) / self.n_processes, max(times, default=0.0))
        return left, len(times) == len(pending)

    def _limited(self) -> tuple[float, str]:
        """Return the seconds left within the budget, and the words that qualify them."""
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
    def running(self) -> str:
        """The running fit as text, if it is known: of several, the one that began first."""
        with self._lock:
            pending = set(self.pending)
        begun = [
            (at, unit) for unit, (at, *_) in begun_fits(self.folder).items() if unit in pending
        ]
        if not begun:
            return ""
        start, unit = min(begun)
        return f"; fitting {_classifier(unit)} for {duration(time.time() - start)}"

    @property
    def share(self) -> float:
        """The share of the time that has passed; 0 while this is unknown."""
        left, words = self._limited()
        if words == MORE_THAN or self.elapsed == 0:
            return 0.0
        return self.elapsed / (self.elapsed + left)

    @property
    def fits(self) -> str:
        """The number of finished fits and the elapsed time, as text."""
        minutes, seconds = divmod(int(self.elapsed), 60)
        return f"{self.n_done} of {self.total} fits in {minutes}:{seconds:02d}"


def _classifier(unit: Unit) -> str:
    return unit[0].partition("/")[2]


def duration(seconds: float) -> str:
    """Return a duration as text, rounded up: "8 s", "3 min", "2 h"."""
    for size, name in ((3600, "h"), (60, "min")):
        if seconds > 2 * size:
            return f"{-int(-seconds // size)} {name}"
    return f"{-int(-seconds // 1)} s"


@contextmanager
def showing_time_left(left: TimeLeft, title: str) -> Iterator[None]:
    """Show the time left, inside a ``with`` block that records finished fits."""
    display, over = Display(title), threading.Event()

    def look() -> None:
        while not over.wait(SECONDS_BETWEEN_LOOKS):
            display.show(left.share, f"{left.fits}, {left}{left.running}")

    # A single fit can take minutes, and the estimate changes meanwhile.
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        display.show(1.0 if left.n_done == left.total else left.share, left.fits, now=True)
        display.close()
