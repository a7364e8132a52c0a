"""Output files: written completely or not at all, and never through a link.

A file is written under a temporary name and then renamed. Other users may be able to write to the
folder too, and a link that they plant must not redirect the output to another file. The temporary
name therefore cannot be guessed, the file is created exclusively, and everything is written through
that open file, never by name. Renaming replaces a link instead of following it.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def unpredictable(path: Path, suffix: str) -> Path:
    """Return a hidden name beside a path that nobody can guess."""
    return path.with_name(f".{path.name}.{secrets.token_hex(16)}.{suffix}")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file to write to, which becomes ``path`` on success and is removed otherwise."""
    unfinished = unpredictable(path, "unfinished")
    try:
        with open(unfinished, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as problem:
        if problem.errno not in DISK_FULL:
            raise
        raise OSError(
            f"{path} was not written, because the disk or the quota is full: free some space and "
            "write it again."
        ) from problem
    finally:
        unfinished.unlink(missing_ok=True)


def write_file(path: Path, content: str | bytes) -> None:
    """Write content to a file; text is encoded as UTF-8."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def open_itself(path: Path, mode: str) -> IO[Any]:
    """Open a file to change it in place; raise an OSError if its name is a link."""
    return open(path, mode, opener=_without_following)


def _without_following(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
