"""Rows of Parquet files, read out of core in small batches.

The memory of a pass is determined by the size of a Parquet page (one per column) and of a few
blocks per thread, not by the number of rows or the size of the row groups. Small row groups are
read several at a time, as one block. While threads process blocks, the calling thread reads the
next ones; with more than two threads, it has the threads of pyarrow decode the columns of one row
group at a time.

Files are read, not memory-mapped: mapped pages would count as memory of this process, and a mapped
file that shrinks kills the process instead of raising an error.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from primum._lazy import needed
from primum._progress import told
from primum._threads import block_threads, in_threads
from primum._typing import AnyArray, Floats, Index, T
from primum.rows.array import BLOCK_NUMBERS, MIN_BLOCKS_PER_THREAD
from primum.rows.base import (
    Block,
    BlockMemory,
    Rows,
    RowsChangedError,
    refuse_changed,
    stack_present,
    still_finite,
    within,
)

SUFFIXES = (".parquet", ".parq", ".pq")
# Bytes read ahead per column, few because there may be many columns; with 0, pyarrow would read a
# row group's whole column at once.
READ_AHEAD = 2**13
# With at most this many threads, one thread decodes all columns: this takes about as long as
# processing them. pyarrow's threads, which may outnumber those asked for, need up to a fifth more
# processor time (a tenth in most runs, on two cores).
MAX_THREADS_READ_BY_ONE = 2
# A message names at most this many columns or files: names can be long.
MAX_NAMES_LISTED = 8


class ParquetRows(Rows):
    """Rows of a Parquet file, or of all Parquet files in a folder, as blocks of float64.

    The files of a folder are those whose names end in .parquet, .parq or .pq, including subfolders,
    in the order of their paths; names that begin with "." or "_" are skipped. Partition keys in the
    names of subfolders (``year=2024``) are not columns.

    The files are listed once. Later passes raise an error if a file has changed since.

    Only the columns ``names`` are read, in this order. None means all columns, in the order of the
    (first) file, which must have n_columns of them.
    """

    in_memory = False
    collectable = 2**20  # memory matters more than a pass

    def __init__(
        self, path: str | os.PathLike[str], names: Sequence[str] | None, n_columns: int
    ) -> None:
        if "://" in os.fspath(path):
            raise ValueError(
                f"{path} is a URL, but only local files are read: pass "
                "dask.dataframe.read_parquet(...) of it instead."
            )
        self.path = Path(path)
        places = [self.path]
        if self.path.is_dir():
            places = sorted(
                place
                for place in self.path.rglob("*")
                if place.suffix in SUFFIXES
                and place.is_file()
                and not any(
                    part.startswith((".", "_")) for part in place.relative_to(self.path).parts
                )
            )
        elif not self.path.is_file():
            raise FileNotFoundError(
                f"There is no Parquet file or folder at {path}: check the path."
            )
        if not places:
            raise FileNotFoundError(
                f"The folder {path} has no Parquet file: file names must end in "
                f"{', '.join(SUFFIXES)}."
            )
        self.files = [_open(place) for place in places]
        self.n_columns = n_columns
        if names is None:
            names = list(self.files[0].schema.names)
            if len(names) != n_columns:
                raise ValueError(
                    f"{self.files[0].path} has {len(names)} columns ({_listed(names)}) but X has "
                    f"{n_columns} features without names: fit with a DataFrame, so that columns "
                    "can be selected by name."
                )
        self.names = tuple(map(str, names))
        self.groups: list[_Group] = []
        self.n_rows = 0
        for file in self.files:
            _check_columns(file, self.names)
            first = 0  # position in the file
            for number in range(file.metadata.num_row_groups):
                n_rows = file.metadata.row_group(number).num_rows
                if n_rows:
                    positions = range(number, number + 1)
                    self.groups.append(_Group(file, positions, self.n_rows, first, n_rows))
                first += n_rows
                self.n_rows += n_rows

    def map(self, kernel: Callable[[Block], T]) -> Iterator[T]:  # noqa: D102
        kernel = still_finite(kernel) if self.passes else kernel
        self.passes += 1
        return self._each_piece(self.groups, lambda piece: kernel(piece.block()))

    def take(self, index: Index) -> Block:  # noqa: D102
        wanted = [group for group in self.groups if len(within(index, group.start, group.n_rows))]
        again = self.passes > 0
        self.passes += len(wanted) == len(self.groups)
        pieces = self._each_piece(wanted, lambda piece: piece.pick(index, again))
        return stack_present(pieces, self.n_columns)

    def _each_piece(self, groups: Sequence["_Group"], work: Callable[["_Piece"], T]) -> Iterator[T]:
        """Yield ``work(piece)`` for all pieces of some row groups, in order."""
        for file in self.files:
            file.check_unchanged()
        enough = self.n_rows * self.n_columns // (BLOCK_NUMBERS * MIN_BLOCKS_PER_THREAD)
        threads = max(1, min(block_threads(), enough))
        memory = BlockMemory()
        # Small consecutive row groups are merged: opening a file and starting a kernel on a block
        # take as long as some thousand rows.
        runs: list[_Group] = []
        for group in groups:
            last = runs[-1] if runs else None
            if (
                last is not None
                and last.file is group.file
                and last.start + last.n_rows == group.start
                and last.n_rows + group.n_rows <= self._rows_per_block
            ):
                positions = range(last.positions.start, group.positions.stop)
                runs[-1] = replace(last, positions=positions, n_rows=last.n_rows + group.n_rows)
            else:
                runs.append(group)
        pieces = chain.from_iterable(self._pieces(run, threads, memory) for run in runs)

        def sized(piece: "_Piece") -> tuple[int, T]:
            return piece.batch.num_rows, work(piece)

        results = map(sized, pieces) if threads == 1 else in_threads(sized, pieces, threads)
        try:
            yield from told(sum(group.n_rows for group in groups), results)
        finally:
            # The allocator keeps memory that one thread requested and another freed.
            import_pyarrow()[0].default_memory_pool().release_unused()

    @property
    def _rows_per_block(self) -> int:
        return max(1, BLOCK_NUMBERS // max(1, self.n_columns))

    def _pieces(self, group: "_Group", threads: int, memory: BlockMemory) -> Iterator["_Piece"]:
        """Yield the rows of some row groups, one piece for each thread at a time."""
        size = self._rows_per_block
        done = 0
        file = group.file
        arrow, parquet = import_pyarrow()
        try:
            with parquet.ParquetFile(
                file.path, metadata=file.metadata, pre_buffer=False, buffer_size=READ_AHEAD
            ) as parquet_file:
                for batch in parquet_file.iter_batches(
                    threads * size,
                    row_groups=list(group.positions),
                    columns=list(self.names),
                    use_threads=threads > MAX_THREADS_READ_BY_ONE,
                ):
                    for low in range(0, batch.num_rows, size):
                        yield _Piece(group, done + low, batch.slice(low, size), self.names, memory)
                    done += batch.num_rows
        except (OSError, arrow.ArrowException) as problem:
            file.check_unchanged()
            raise ValueError(
                f"{file.path} is damaged: {_first_line(problem)}; write it again."
            ) from problem
        file.check_unchanged()
        if done != group.n_rows:
            raise RowsChangedError(
                f"{group.source} in {self.path} now has {done} rows but had {group.n_rows} before: "
                "fit again once nothing writes to it."
            )


@dataclass(frozen=True)
class _File:
    """A Parquet file as first read."""

    path: Path
    size: int
    modified: int
    metadata: Any
    schema: Any

    def check_unchanged(self) -> None:
        """Raise an error if the file has changed."""
        try:
            now = self.path.stat()
        except OSError as problem:
            raise RowsChangedError(
                f"{self.path} disappeared while its rows were in use "
                f"({problem.strerror}): restore it and fit again."
            ) from problem
        if (now.st_size, now.st_mtime_ns) != (self.size, self.modified):
            raise RowsChangedError(
                f"{self.path} changed while its rows were in use (it had {self.size} bytes and now "
                f"has {now.st_size}): fit again once nothing writes to it."
            )


@dataclass(frozen=True)
class _Group:
    """Consecutive row groups, with the positions of their rows among all rows and in their file."""

    file: _File
    positions: range
    start: int
    first: int
    n_rows: int

    @property
    def source(self) -> str:
        first, last = self.positions[0], self.positions[-1]
        which = f"group {first}" if first == last else f"groups {first} to {last}"
        return f"row {which} of {self.file.path.name}"


@dataclass(frozen=True)
class _Piece:
    """Consecutive rows of a group, as read; ``offset`` is the first one's position in the group."""

    group: _Group
    offset: int
    batch: Any
    names: Sequence[str]
    memory: BlockMemory

    def block(self) -> Block:
        """Return the rows in double precision."""
        group = self.group
        return Block(
            group.start + self.offset,
            _matrix(self.batch, self.names, self.memory),
            source=group.source,
            first=group.first + self.offset,
            names=self.names,
        )

    def pick(self, index: Index, again: bool) -> Block:
        """Return the rows at some positions; check them if they were read in an earlier pass."""
        here = within(index, self.group.start + self.offset, self.batch.num_rows)
        picked = replace(self, batch=self.batch.take(here)).block()
        if again:
            refuse_changed(picked, self.group.first + self.offset + here)
        return picked


def _open(path: Path) -> _File:
    """Read the metadata of a file."""
    arrow, parquet = import_pyarrow()
    try:
        status = path.stat()
        with parquet.ParquetFile(path) as parquet_file:
            metadata, schema = parquet_file.metadata, parquet_file.schema_arrow
    except arrow.ArrowInvalid as problem:
        raise ValueError(
            f"{path} is not a Parquet file, or is incomplete ({_first_line(problem)}): write it "
            "again, or read other formats with dask.dataframe or pandas and pass the DataFrame."
        ) from problem
    except OSError as problem:
        raise ValueError(f"{path} cannot be read: {_first_line(problem)}") from problem
    return _File(path, status.st_size, status.st_mtime_ns, metadata, schema)


def import_pyarrow() -> tuple[Any, Any]:
    """Return pyarrow and pyarrow.parquet."""
    with needed("Parquet files"):
        import pyarrow
        import pyarrow.parquet

    return pyarrow, pyarrow.parquet


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0].rstrip(".")


def _check_columns(file: _File, names: Sequence[str]) -> None:
    """Raise an error if a file lacks one of the columns, or one is not numeric."""
    missing = [name for name in names if file.schema.get_field_index(name) < 0]
    present = list(file.schema.names)
    if twice := [name for name in missing if name in present]:
        raise ValueError(
            f"{file.path} has several columns named {_listed(map(repr, twice))}: rename them."
        )
    if missing:
        close = {name: get_close_matches(name, present, 1) for name in missing}
        hints = [f"{match[0]!r} for {name!r}" for name, match in close.items() if match]
        meant = f" (did you mean {_listed(hints)}?)" if hints else ""
        raise ValueError(
            f"{file.path} has no column {_listed(map(repr, missing))}{meant}; its columns are "
            f"{_listed(present)}: use the same names as in X."
        )
    types = {name: file.schema.field(name).type for name in names}
    wrong = [f"{name!r} ({kind})" for name, kind in types.items() if not _is_number(kind)]
    if wrong:
        raise ValueError(
            f"{file.path} has columns that are not numbers: {_listed(wrong)}. Convert them to "
            "numbers, or leave them out of the features."
        )


def _listed(items: Iterable[str]) -> str:
    items = list(items)
    ending = f", ... ({len(items)})" if len(items) > MAX_NAMES_LISTED else ""
    return ", ".join(items[:MAX_NAMES_LISTED]) + ending


def _is_number(kind: Any) -> bool:
    types = import_pyarrow()[0].types
    return _is_plain(kind) or types.is_decimal(kind) or types.is_boolean(kind)


def _matrix(batch: Any, names: Sequence[str], memory: BlockMemory) -> Floats:
    """Return columns of a record batch as a matrix, stored by column; nulls become NaN."""
    X = memory.empty(len(names), batch.num_rows)
    for values, column in zip(X, batch.select(list(names)).columns, strict=True):
        if not _is_plain(column.type):
            column = column.cast(import_pyarrow()[0].float64())
        values[:] = column.to_numpy(zero_copy_only=False)
    return X.T


@cache
def _is_plain(kind: Any) -> bool:
    """Return whether columns of this type become NumPy arrays without a cast, nulls included."""
    types = import_pyarrow()[0].types
    return bool(types.is_integer(kind) or types.is_floating(kind))


def write_parquet(file: BinaryIO, parts: Iterable[Mapping[str, AnyArray]]) -> None:
    """Write parts, mappings of column names to values, to a file; each becomes a row group."""
    arrow, parquet = import_pyarrow()
    tables = (arrow.table(dict(part)) for part in parts)
    if (first := next(tables, None)) is None:
        return
    with parquet.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
