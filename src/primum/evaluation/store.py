"""A folder of results that survives being killed.

``journal.jsonl`` has one line per finished unit of work: a checksum and the unit's rows. Lines are
appended by one process and flushed to disk, so a kill can only cut the last line, which is then
dropped and done again. ``config.json`` says what the results are results of; a folder is never
continued under another configuration.
"""

import json
import os
import platform
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("primum", "numpy", "scipy", "scikit-learn")


class ResultsError(ValueError):
    """A results folder that cannot be used as asked."""


class ResultStore:
    """Results of one experiment in one folder.

    Parameters
    ----------
    folder : path
        Created if missing.
    config : dict
        What must not change between runs into the same folder (seed, design, methods, data).
    resume : bool
        Whether a folder that already holds results may be continued.
    """

    def __init__(self, folder: str | Path, config: dict[str, Any], *, resume: bool = False) -> None:
        self.folder = Path(folder)
        self.journal = self.folder / "journal.jsonl"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._open(json.loads(json.dumps(config)), resume)
        except OSError as problem:
            raise ResultsError(
                f"Cannot write results to {self.folder}: {problem.strerror or problem}; "
                "choose another folder with --out."
            ) from problem

    def _open(self, config: dict[str, Any], resume: bool) -> None:
        snapshot = self.folder / "config.json"
        if self.journal.exists() and self.journal.stat().st_size and not resume:
            raise ResultsError(
                f"{self.folder} already holds results: pass --resume to continue them, or choose "
                "another folder with --out."
            )
        if snapshot.exists() and resume:
            self._refuse_other(json.loads(snapshot.read_text())["config"], config)
        else:
            _write_atomically(
                snapshot, json.dumps({"config": config, "versions": _versions()}, indent=2)
            )
        self.done = {tuple(unit): rows for unit, rows in self._read()}

    def _refuse_other(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        for key in sorted(before.keys() | now.keys()):
            old, new = before.get(key), now.get(key)
            if key == "data":  # results of other data sets may stand beside each other
                old, new = (
                    {k: v[k] for k in before[key].keys() & now[key].keys()}
                    for v in (before[key], now[key])
                )
            if old != new:
                raise ResultsError(
                    f"{self.folder} holds results of another configuration ({key} was {old!r}, "
                    f"now {new!r}): choose another folder with --out."
                )

    def _read(self) -> Iterator[tuple[list[Any], list[dict[str, Any]]]]:
        """Yield the finished units; cut off a last line that was not written to its end."""
        if not self.journal.exists():
            return
        content = self.journal.read_bytes()
        complete = content.rfind(b"\n") + 1
        if complete < len(content):
            with self.journal.open("r+b") as file:
                file.truncate(complete)
        for number, line in enumerate(content[:complete].splitlines(), start=1):
            yield self._parse(line, number)

    def _parse(self, line: bytes, number: int) -> tuple[list[Any], list[dict[str, Any]]]:
        checksum, _, payload = line.partition(b" ")
        if checksum != _checksum(payload):
            raise ResultsError(
                f"Line {number} of {self.journal} is corrupt: delete that line to have its results "
                "computed again with --resume, or choose another folder with --out."
            )
        record = json.loads(payload)
        return record["unit"], record["rows"]

    def append(self, unit: tuple[str, int], rows: list[dict[str, Any]]) -> None:
        """Write the rows of a finished unit, all or nothing."""
        payload = json.dumps({"unit": list(unit), "rows": rows}, separators=(",", ":")).encode()
        with self.journal.open("ab") as file:
            file.write(_checksum(payload) + b" " + payload + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.done[unit] = rows


def _checksum(payload: bytes) -> bytes:
    return f"{zlib.crc32(payload):08x}".encode()


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def _write_atomically(path: Path, text: str) -> None:
    beside = path.with_suffix(".tmp")
    beside.write_text(text)
    beside.replace(path)
