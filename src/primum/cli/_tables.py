"""Tables of the user: CSV or Parquet, told apart by how their names end."""

import gzip
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

import click
import numpy as np
import pandas as pd

from primum._typing import AnyArray, Floats
from primum.rows import Block
from primum.rows.parquet import SUFFIXES, write_parquet
from primum.rows.watching import tell_watcher
from primum.statistics import refuse_non_finite

CSV_SUFFIXES = (".csv", ".csv.gz")
CHUNK = 2**14  # rows of a CSV that are read at a time


def is_parquet(path: Path) -> bool:
    """Tell whether a path is Parquet (a folder is), and refuse what is neither that nor CSV."""
    if path.is_dir() or path.name.endswith(SUFFIXES):
        return True
    if path.name.endswith(CSV_SUFFIXES):
        return False
    raise click.UsageError(
        f"{path} is neither CSV nor Parquet by its name: it must end in "
        f"{', '.join((*CSV_SUFFIXES, *SUFFIXES))}."
    )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show what was wrong with the data as one sentence, without a traceback."""
    try:
        yield
    except (ValueError, RuntimeError, OSError, ImportError) as problem:
        raise click.ClickException(_sentence(problem)) from problem


def _sentence(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


def read_table(path: Path, target: str | None = None) -> pd.DataFrame:
    """Return a whole table; of the target, only an empty cell of a CSV is a missing value."""
    if is_parquet(path):
        return pd.read_parquet(path)
    frame = pd.read_csv(path, low_memory=False)
    if target is not None and target in frame:
        frame[target] = _labels_as_written(path, target)
    return frame


def _labels_as_written(path: Path, target: str) -> pd.Series:
    """Return numbers if all labels are, else text: a class may be named "NA" or "null"."""
    text = pd.read_csv(path, usecols=[target], dtype=str, keep_default_na=False)[target]
    text = text.str.strip().astype(object)
    text = text.where(text != "", None)
    numbers = pd.to_numeric(text, errors="coerce")
    return numbers if numbers.notna().equals(text.notna()) else text


def find_columns(frame: pd.DataFrame, names: Iterable[str], path: Path) -> None:
    """Refuse a table without some columns."""
    for name in names:
        if name not in frame.columns:
            close = get_close_matches(name, map(str, frame.columns), 1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            raise ValueError(
                f"{path} has no column {name!r}{meant}; its columns are "
                f"{', '.join(map(str, frame.columns[:8]))}{', ...' * (len(frame.columns) > 8)}."
            )


def to_matrix(frame: pd.DataFrame, names: Sequence[str], path: Path, start: int = 0) -> Floats:
    """Return columns of a table as numbers, all of them finite."""
    find_columns(frame, names, path)
    wrong = [
        f"{name!r} ({frame[name].dtype})"
        for name in names
        if len(frame) and not pd.api.types.is_numeric_dtype(frame[name].dtype)
    ]
    if wrong:
        raise ValueError(
            f"{path} has columns that are not numbers: {', '.join(wrong)}; turn them into numbers "
            "or leave them out of the features."
        )
    X = frame[list(names)].to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(X).all():
        refuse_non_finite(Block(start, X, source=path.name, names=names))
    return X


def csv_blocks(path: Path, names: Sequence[str] | None, n_columns: int) -> Iterator[Block]:
    """Yield the rows of a CSV file, a part at a time."""
    start, size = 0, path.stat().st_size
    compression = "gzip" if path.suffix == ".gz" else None
    with path.open("rb") as file:
        for frame in pd.read_csv(
            file,
            chunksize=CHUNK,
            compression=compression,
            low_memory=False,
        ):
            chosen = _by_place(frame, n_columns, path) if names is None else names
            yield Block(start, to_matrix(frame, chosen, path, start), source=path.name)
            start += len(frame)
            tell_watcher(file.tell(), size)


def _by_place(frame: pd.DataFrame, n_columns: int, path: Path) -> list[str]:
    if len(frame.columns) != n_columns:
        raise ValueError(
            f"{path} has {len(frame.columns)} columns but the model has {n_columns} features "
            "without names: leave the other columns out."
        )
    return list(frame.columns)


def write_table(path: Path, parts: Iterable[Mapping[str, AnyArray]]) -> None:
    """Write a table from parts of its columns; it has its name only once it is complete."""
    with replacing(path) as unfinished:
        if is_parquet(path):
            write_parquet(unfinished, parts)
            return
        with gzip.open(unfinished, "wt") if path.suffix == ".gz" else unfinished.open("w") as file:
            for number, part in enumerate(parts):
                pd.DataFrame(part).to_csv(file, index=False, header=number == 0)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a name to write to; what is written gets its own name if nothing went wrong."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def check_out(_context: click.Context, _parameter: click.Parameter, out: Path) -> Path:
    """Refuse a place that cannot be written to, before the work and not after it."""
    if not out.parent.is_dir():
        raise click.BadParameter(f"there is no folder {out.parent}.")
    if not os.access(out.parent, os.W_OK):
        raise click.BadParameter(f"the folder {out.parent} cannot be written to.")
    return out


out_option = click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    callback=check_out,
    help="File to write; an existing one is replaced once the new one is complete.",
)
