"""A lock that allows one run at a time in a folder.

It is a lock of the operating system on an open file, released when the process that holds it ends,
for whatever reason, so a lock file left behind by a killed run does not block the next one.
"""

import os
import sys
from pathlib import Path
from typing import IO

from primum._files import open_itself


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
