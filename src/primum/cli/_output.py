"""What the verbs write: complete or not at all, and never over their own input."""

import csv
import gzip
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from primum.cli import DISK_FULL
from primum.cli._tables import is_parquet
from primum.rows.parquet import write_parquet


def write_table(path: Path, parts: Iterable[Mapping[str, Any]]) -> None:
    """Write a table from parts of its columns; it has its name only once it is complete."""
    with replacing(path) as unfinished:
        if is_parquet(path):
            write_parquet(unfinished, parts)
            return
        opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
        with opened(unfinished, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            for number, part in enumerate(parts):
                if number == 0:
                    writer.writerow(part)
                columns = [_as_array(column).to_pylist() for column in part.values()]
                writer.writerows(zip(*columns, strict=True))


def _as_array(column: Any) -> Any:
    return column if isinstance(column, pa.ChunkedArray) else pa.array(column)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a name to write to; what is written gets its own name if nothing went wrong."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        yield unfinished
        unfinished.replace(path)
    except OSError as problem:
        if problem.errno not in DISK_FULL:
            raise
        raise OSError(
            f"{path} was not written, because the disk or the quota is full: free some space and "
            "run the command again."
        ) from problem
    finally:
        unfinished.unlink(missing_ok=True)


def refuse_inputs(out: Path, inputs: Iterable[tuple[str, Path]]) -> None:
    """Refuse to write over something that is read: (what it is called, where it is)."""
    place = out.resolve()
    for name, path in inputs:
        if path.is_dir() and path.resolve() in place.parents:
            raise click.UsageError(
                f"--out {out} lies in the folder {path}, which is read as {name}: write elsewhere."
            )
        if out.exists() and any(out.samefile(file) for file in _files(path)):
            raise click.UsageError(f"--out {out} is {name} itself: give another name.")


def _files(path: Path) -> Iterable[Path]:
    """Return the files that are read from a path; one in a folder may be a link to elsewhere."""
    return (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def check_out(_context: click.Context, _parameter: click.Parameter, out: Path) -> Path:
    """Refuse a place that cannot be written to, before the work and not after it."""
    if not out.parent.is_dir():
        raise click.BadParameter(f"there is no folder {out.parent}.")
    if not os.access(out.parent, os.W_OK):
        raise click.BadParameter(f"the folder {out.parent} cannot be written to.")
    if os.path.lexists(out) and not stat.S_ISREG(out.lstat().st_mode):
        # The new file is renamed to this name, which would replace a device, pipe or link.
        raise click.BadParameter(f"{out} exists and is not a regular file: give another name.")
    return out


def check_table_name(out: Path) -> None:
    """Refuse a name that says neither CSV nor Parquet."""
    try:
        is_parquet(out)
    except ValueError as problem:
        raise click.UsageError(f"--out {problem}") from problem


out_option = click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    callback=check_out,
    help="File to write; an existing one is replaced once the new one is complete.",
)
