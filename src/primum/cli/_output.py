"""Output files of the commands: checked before the work starts, and never over an input.

Tables are written as CSV, Parquet or a spreadsheet, where text stays text even if it looks like a
formula.
"""

import csv
import gzip
import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from primum._files import replacing
from primum.rows.parquet import SUFFIXES, write_parquet
from primum.tables.files import not_a_table, table_kind
from primum.tables.spreadsheets import write_spreadsheet

TEXT, SPREADSHEET = (".csv", ".csv.gz"), ".xlsx"


def _rows(parts: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    """Yield the names of the columns, and every row, of a table in blocks of its columns."""
    for number, part in enumerate(parts):
        if number == 0:
            yield list(part)
        arrays = (c if isinstance(c, pa.ChunkedArray) else pa.array(c) for c in part.values())
        yield from zip(*(array.to_pylist() for array in arrays), strict=True)


LONGEST_NAME = 200  # bytes: file systems allow 255, and an unfinished file has a longer name


def write_table(path: Path, parts: Iterable[Mapping[str, Any]]) -> None:
    """Write a table from blocks of its columns; the file appears only once it is complete."""
    with replacing(path) as file:
        if path.suffix.lower() == SPREADSHEET:
            write_spreadsheet(file, _rows(parts), "the predictions")
        elif table_kind(path) == "Parquet":
            write_parquet(file, parts)
        elif path.suffix.lower() == ".gz":
            with gzip.GzipFile("", "wb", fileobj=file) as packed:
                _write_csv(packed, _rows(parts))
        else:
            _write_csv(file, _rows(parts))


def _write_csv(file: Any, rows: Iterable[Sequence[Any]]) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    text.detach()  # which writes the rest, and leaves the file open


def refuse_inputs(out: Path, inputs: Iterable[tuple[str, Path]]) -> None:
    """Raise an error if the output would overwrite an input; inputs are (name, path)."""
    place = out.resolve()
    for name, path in inputs:
        if path.is_dir() and path.resolve() in place.parents:
            raise click.UsageError(
                f"--out {out} is inside the folder {path}, which is read as {name}: choose another "
                "folder."
            )
        if out.exists() and any(out.samefile(file) for file in _files(path)):
            raise click.UsageError(f"--out {out} is {name} itself: choose another name.")


def _files(path: Path) -> Iterable[Path]:
    """Return the files that are read from a path; those in a folder may be links to elsewhere."""
    return (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def check_out(_context: click.Context, _parameter: click.Parameter, out: Path) -> Path:
    """Raise an error for an output that cannot be written, before the work starts."""
    check_length(out)
    if not out.parent.is_dir():
        raise click.BadParameter(f"there is no folder {out.parent}.")
    if not os.access(out.parent, os.W_OK):
        raise click.BadParameter(f"the folder {out.parent} cannot be written to.")
    if os.path.lexists(out) and not stat.S_ISREG(out.lstat().st_mode):
        # The new file is renamed to this name, which would replace a device, pipe or link.
        raise click.BadParameter(f"{out} exists and is not a regular file: choose another name.")
    return out


def check_length(out: Path) -> None:
    """Raise an error for a name that a file system would not accept."""
    for part in out.parts:
        if len(os.fsencode(part)) > LONGEST_NAME:
            raise click.BadParameter(
                f"the name {part[:20]}... has {len(part)} characters: choose a shorter one."
            )


def check_table_name(out: Path) -> None:
    """Raise an error for a file name that is neither CSV, Parquet nor a spreadsheet."""
    if not out.name.lower().endswith((*TEXT, *SUFFIXES, SPREADSHEET)):
        raise click.UsageError(f"--out {not_a_table(out, TEXT, [SPREADSHEET])}")


out_option = click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    callback=check_out,
    help="File to write; an existing file is replaced once the new one is complete.",
)
