"""A results folder that survives a killed run, and holds the results of one configuration only.

``journal.jsonl`` has one line per finished unit of work: a checksum, and the unit's rows with a
checksum of their configuration. Lines are appended by one process, which holds the lock of the
folder, and flushed to disk, so a kill can truncate only the last line; that line is then dropped
and its unit computed again. ``config.json`` records what was run, on which data and with which
versions; a folder is never continued with another configuration. Further data sets may be added,
and are recorded.

A lock that allows one run at a time in a folder.

It is a lock of the operating system on an open file, released when the process that holds it ends,
for whatever reason, so a lock file left behind by a killed run does not block the next one.
"""

import json
import os
import platform
import sys
import zlib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from primum._files import open_itself, write_file
from primum.comparison.identity import checksum, name_differences


class FolderInUseError(Exception):
    """Another run holds the lock of a folder; the message is its process id."""


class FolderLock:
    """The lock of a folder, held from construction to ``release``."""

    def __init__(self, folder: Path) -> None:
        self._file = open_itself(folder / "run.lock", "a+")
        try:
            _lock(self._file)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read().strip()
            self._file.close()
            raise FolderInUseError(holder) from None
        except OSError:
            self._file.close()
            raise
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        """Release the lock; the file is kept, because removing it would race with the next run."""
        self._file.close()


if sys.platform == "win32":
    import msvcrt

    # Beyond the text, which other processes may read.
    LOCKED_BYTE = 1 << 20

    def _lock(file: IO[str]) -> None:
        file.seek(LOCKED_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError as problem:
            raise BlockingIOError(*problem.args) from problem

else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


PACKAGES = ("primum", "numpy", "scipy", "scikit-learn")
FORMAT = 2
# Advice in the words of run_experiment; the command line says it in its own.
RESUME = "resume=True"
OTHER_FOLDER = "choose another folder"
Unit = tuple[str, int]


class ResultsError(ValueError):
    """A results folder cannot be used as requested.

    Examples
    --------
    >>> from primum.comparison.store import ResultsError
    >>> issubclass(ResultsError, ValueError)
    True
    """


class ResultStore:
    """Results of one experiment in one folder; locked until ``close``.

    Parameters
    ----------
    folder : path
        Created if missing.
    config : dict
        What must not change between runs into the same folder (seed, design, methods, data).
    resume : bool
        Whether to continue a folder that already contains results.
    packages : sequence of str
        Further packages whose versions are recorded.
    part_of : callable, optional
        The name of a unit to the key of ``config["data"]`` that its rows depend on; by default the
        name itself, that of a data set.

    Attributes
    ----------
    done : dict of (data set, repeat) to rows
        The finished units.
    """

    def __init__(
        self,
        folder: str | Path,
        config: dict[str, Any],
        *,
        resume: bool = False,
        packages: list[str] | None = None,
        part_of: Callable[[str], str] = str,
    ) -> None:
        self.folder = Path(folder)
        self._part_of = part_of
        self.journal = self.folder / "journal.jsonl"
        self.snapshot = self.folder / "config.json"
        self.config = json.loads(_to_json(config))
        self._versions = package_versions(packages or [])
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self.folder)
        except FolderInUseError as problem:
            raise ResultsError(
                f"Another run (process {problem}) is writing to {self.folder}: wait until it "
                f"ends, or {OTHER_FOLDER}."
            ) from None
        except OSError as problem:
            raise self._cannot_write(problem) from problem
        try:
            self._open(resume)
        except OSError as problem:
            self.close()
            raise self._cannot_write(problem) from problem
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()

    def _cannot_write(self, problem: OSError) -> ResultsError:
        return ResultsError(
            f"Cannot write results to {self.folder}: {problem.strerror or problem}; {OTHER_FOLDER}."
        )

    def _open(self, resume: bool) -> None:
        if self.journal.exists() and self.journal.stat().st_size and not resume:
            raise ResultsError(
                f"{self.folder} already contains results: pass {RESUME} to continue them, or "
                f"{OTHER_FOLDER}."
            )
        runs = []
        if resume and self.snapshot.exists():
            before = read_snapshot(self.folder)
            self._refuse_other(before["config"])
            self.config["data"] = {**before["config"]["data"], **self.config["data"]}
            runs = before["versions"]
        self.done = self._read_journal()
        if self._versions not in runs:
            runs = [*runs, self._versions]
        text = json.dumps({"format": FORMAT, "config": self.config, "versions": runs}, indent=2)
        if not self.snapshot.exists() or self.snapshot.read_text() != text:
            write_file(self.snapshot, text)

    def _refuse_other(self, before: dict[str, Any]) -> None:
        """Raise an error for another configuration; data sets in only one of the two may differ."""
        common = before["data"].keys() & self.config["data"].keys()
        old, new = (
            {**config, "data": {name: config["data"][name] for name in sorted(common)}}
            for config in (before, self.config)
        )
        if named := name_differences(old, new):
            raise ResultsError(
                f"{self.folder} contains results of another configuration ({named}): "
                f"{OTHER_FOLDER}."
            )

    def _read_journal(self) -> dict[Unit, list[dict[str, Any]]]:
        """Return the finished units; remove an incomplete last line."""
        if not self.journal.exists():
            return {}
        content = self.journal.read_bytes()
        complete = content.rfind(b"\n") + 1
        done: dict[Unit, list[dict[str, Any]]] = {}
        for unit, rows in self._parse(content[:complete]):
            if unit in done and done[unit] != rows:
                raise ResultsError(
                    f"{self.journal} has two different results for data set {unit[0]!r}, repeat "
                    f"{unit[1]}: delete one of the lines, or {OTHER_FOLDER}."
                )
            done[unit] = rows
        if complete < len(content):
            with open_itself(self.journal, "r+b") as file:
                file.truncate(complete)
        return done

    def _parse(self, content: bytes) -> Iterator[tuple[Unit, list[dict[str, Any]]]]:
        expected = {part: self._checksum_of(part) for part in self.config["data"]}
        for number, line in enumerate(content.split(b"\n")[:-1], start=1):
            crc, _, payload = line.partition(b" ")
            if crc != _crc(payload):
                raise ResultsError(
                    f"Line {number} of {self.journal} is corrupt: delete it and run again with "
                    f"{RESUME} to recompute its results, or {OTHER_FOLDER}."
                )
            record = json.loads(payload)
            name, repeat = record["unit"]
            if "config" not in record:
                raise _of_another_version(self.journal)
            if record["config"] != expected.get(self._part_of(name)):
                raise ResultsError(
                    f"Line {number} of {self.journal} contains results for data set {name!r} with "
                    f"a configuration other than that of {self.snapshot.name} or of this run: "
                    f"{OTHER_FOLDER}."
                )
            yield (name, repeat), record["rows"]

    def _checksum_of(self, part: str) -> str:
        """Return the checksum of everything that results of one part of the data depend on."""
        return checksum({**self.config, "data": {part: self.config["data"][part]}})

    def append(self, unit: Unit, rows: list[dict[str, Any]]) -> None:
        """Write the rows of a finished unit, all or nothing."""
        config = self._checksum_of(self._part_of(unit[0]))
        record = {"config": config, "unit": list(unit), "rows": rows}
        payload = _to_json(record).encode()
        try:
            with open_itself(self.journal, "ab") as file:
                file.write(_crc(payload) + b" " + payload + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise ResultsError(
                f"Cannot write to {self.journal}: {problem.strerror or problem}; its results are "
                f"kept: continue with {RESUME}."
            ) from problem
        self.done[unit] = rows


def read_snapshot(folder: Path) -> dict[str, Any]:
    """Return the ``config`` of the results in a folder, and the ``versions`` of every run."""
    path = folder / "config.json"
    try:
        snapshot = json.loads(path.read_text())
        if snapshot.get("format") != FORMAT:
            raise _of_another_version(path)
        return {"config": dict(snapshot["config"]), "versions": list(snapshot["versions"])}
    except ResultsError:
        raise
    except FileNotFoundError as problem:
        raise ResultsError(f"There are no results in {folder}: it has no {path.name}.") from problem
    except (ValueError, AttributeError, KeyError, TypeError) as problem:
        raise ResultsError(
            f"{path} is corrupt ({type(problem).__name__}: {problem}): restore it, or delete it "
            "and resume the same experiment (every line of the journal has a checksum of its "
            f"configuration), or {OTHER_FOLDER}."
        ) from problem


def _of_another_version(path: Path) -> ResultsError:
    return ResultsError(
        f"{path} was written by another version of primum and does not identify data and methods "
        f"by content: its results can be read but not continued; {OTHER_FOLDER}."
    )


def _to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be stored.")


def _crc(payload: bytes) -> bytes:
    return f"{zlib.crc32(payload):08x}".encode()


def package_versions(packages: list[str]) -> dict[str, str]:
    """Return the versions of Python, of the core packages and of further ones."""
    names = dict.fromkeys([*PACKAGES, *packages])
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
