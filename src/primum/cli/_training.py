"""Tables of numbers that are used as they are: ``primum fit --no-prepare``.

Features must be finite numbers. Further rows in Parquet are read out of core, so that there can be
any number of them.

Tables that ``primum fit`` prepares, by the preparation of ``primum compare``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from primum._progress import showing_passes
from primum.cli._predictions import refuse_missing
from primum.rows import ParquetRows
from primum.rows.parquet import SUFFIXES
from primum.tables.csv import CsvOptions
from primum.tables.frames import read_frame
from primum.tables.labels import read_features, read_labeled_table
from primum.tables.problem import TableProblem, table_labels, table_problem
from primum.tables.reading import Table, is_parquet, open_table
from primum.tables.spreadsheets import is_spreadsheet

# About half a gigabyte of numbers, of which the preparation makes a copy.
MAX_PREPARED_CELLS = 5 * 10**7


@dataclass(frozen=True)
class TrainingRows:
    """Rows to learn from.

    Attributes
    ----------
    X : DataFrame
        The rows in memory.
    labels : Series
        Their labels, None where unknown.
    transformer : ColumnTransformer or None
        The preparation of the columns, not yet fitted; None: they are used as they are.
    stored : Path or None
        Further rows in Parquet, to be read out of core.
    """

    X: pd.DataFrame
    labels: pd.Series
    transformer: Any = None
    stored: Path | None = None


def read_prepared(
    data: Path,
    target: str,
    id_column: str | None,
    unlabeled: Sequence[Path],
    features: list[str],
    drop: list[str],
    options: CsvOptions,
) -> TrainingRows:
    """Return the rows of all tables, and their preparation."""
    as_text = [name for name in (target, id_column) if name is not None]
    frame = _read(data, options, as_text)
    exclude = _excluded(frame, data, target, id_column, features, drop, options)
    needed = [name for name in frame.columns if name not in (*as_text, *exclude)]
    parts = [frame]
    of_others = replace(options, sheet=None, header_row=None)  # those are DATA's
    for path in unlabeled:
        more = _read(path, of_others, as_text)
        refuse_missing(more, needed, path, of_others)
        parts.append(more[needed])
    if unlabeled:  # whether -1 marks unknown labels is to be seen in DATA alone
        frame[target] = table_labels(frame[target], target, options.missing)
    rows = pd.concat(parts, ignore_index=True) if unlabeled else frame
    problem = table_problem(rows, target, id_column, None, exclude, options.missing)
    _mention(problem, data)
    return TrainingRows(problem.X, pd.Series(problem.labels, dtype=object), problem.transformer)


def _read(path: Path, options: CsvOptions, as_text: list[str]) -> pd.DataFrame:
    _refuse_many_cells(path)
    with showing_passes(f"reading {path.name}"):
        return read_frame(path, options, as_text)


def _refuse_many_cells(path: Path) -> None:
    """Raise an error for Parquet that would fill the memory."""
    if not path.is_dir() and not path.name.lower().endswith(SUFFIXES):
        return
    stored = ParquetRows(path, (), 0)
    if stored.n_rows * len(stored.files[0].schema.names) > MAX_PREPARED_CELLS:
        raise ValueError(
            f"{path} has {stored.n_rows} rows, too many to be prepared in memory: pass "
            "--no-prepare, which reads them out of core, if all features are numbers."
        )


def _excluded(
    frame: pd.DataFrame,
    data: Path,
    target: str,
    id_column: str | None,
    features: list[str],
    drop: list[str],
    options: CsvOptions,
) -> list[str]:
    """Return the columns not to learn from, beside the target and the id."""
    others = [target, *([] if id_column is None else [id_column])]
    refuse_missing(frame, [*others, *features, *drop], data, options)
    if both := [name for name in features if name in (*others, *drop)]:
        raise ValueError(f"{both[0]!r} is both a feature and the target, the id or dropped.")
    if not features:
        return drop
    return [name for name in frame.columns if name not in (*others, *features)]


def _mention(problem: TableProblem, data: Path) -> None:
    """Say which columns were set aside, and what is suspicious."""
    aside = [column for column in problem.columns if not column.used and column.note]
    for column in aside:
        click.echo(f"Warning: {column.name!r} of {data} is not used. {column.note}", err=True)
    for remark in (alert.text for alert in problem.alerts):
        click.echo(f"Warning: {remark}", err=True)


def read_numbers(
    data: Path,
    target: str,
    id_column: str | None,
    unlabeled: Sequence[Path],
    features: list[str],
    drop: list[str],
    options: CsvOptions,
) -> TrainingRows:
    """Return the rows to learn from; one Parquet file or folder is left to be read out of core."""
    if options.sheet is not None or is_spreadsheet(data):
        raise ValueError("Spreadsheets are for --prepare: save the numbers as CSV or Parquet.")
    tables, stored = _sort(unlabeled)
    table = open_table(data, options)
    names = _feature_names(table, target, id_column, features, drop)
    more = [open_table(path, options) for path in tables]
    X, y = _read_numbers(table, target, names, more, options.missing, listed=bool(features))
    return TrainingRows(X, y, stored=stored)


def _sort(unlabeled: Sequence[Path]) -> tuple[list[Path], Path | None]:
    """Return (CSV files to load into memory, Parquet to read out of core)."""
    stored = [path for path in unlabeled if is_parquet(path)]
    if len(stored) > 1:
        raise click.UsageError(
            "--unlabeled takes one Parquet file or folder: put several files into one folder."
        )
    return [path for path in unlabeled if path not in stored], stored[0] if stored else None


def _feature_names(
    table: Table, target: str, id_column: str | None, features: list[str], drop: list[str]
) -> list[str]:
    """Return the columns to learn from."""
    others = [target, *drop] if id_column is None else [target, id_column, *drop]
    table.find([*others, *features])
    both = [name for name in features if name in others]
    if both:
        raise ValueError(f"{both[0]!r} is both a feature and the target, the id or dropped.")
    names = features or _all_features(table, others)
    if not names:
        raise ValueError(f"{table.path} has no column left to use as a feature.")
    return names


def _all_features(table: Table, others: list[str]) -> list[str]:
    """Return all columns except ``others`` and those that seem to identify the rows."""
    for name in table.row_identifiers:
        if name not in others:
            click.echo(
                f"Warning: {name!r} of {table.path} seems to identify the rows, so it is not used "
                "as a feature; to use it, list it in --features.",
                err=True,
            )
    return [name for name in table.columns if name not in (*others, *table.row_identifiers)]


def _read_numbers(
    table: Table,
    target: str,
    names: list[str],
    more: list[Table],
    missing: Sequence[str],
    *,
    listed: bool,
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the rows that are loaded into memory and their labels.

    ``listed`` is whether the user listed the features; otherwise some columns may not be features.
    """
    with showing_passes(f"reading {table.path.name}"):
        data = read_labeled_table(table, names, target, missing)
    blocks = [data.X]
    for other in more:
        with showing_passes(f"reading {other.path.name}"):
            blocks.append(read_features(other, names))
    X = np.concatenate(blocks)
    for name in () if listed else data.identifiers(names):
        _mention_identifier(table, name)
    y = pd.Series([*data.labels, *[None] * (len(X) - len(data.labels))], dtype=object)
    return pd.DataFrame(X, columns=names), y


def _mention_identifier(table: Table, name: str) -> None:
    """Warn of a feature that may identify the rows instead."""
    click.echo(
        f"Warning: {name!r} of {table.path} is used as a feature but looks like an "
        "identifier, because its values are distinct integers: if it identifies the rows, "
        f"pass --id {name!r} or --drop {name!r}; if it is a feature, list it in --features "
        "with the others.",
        err=True,
    )
