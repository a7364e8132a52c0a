"""How long a fit that is being made will take, from the process that makes it.

SafeClassifier takes longer than all other fits of a comparison together. It reports its folds, of
which each takes about as long as the next, and the time that follows from them is left in a file
that other processes can read.
"""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path


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
