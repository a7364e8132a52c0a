"""Tables of numbers that are used as they are: ``primum fit --no-prepare``.

Features must be finite numbers. Further rows in Parquet are read out of core, so that there can be
any number of them.
"""

from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import pandas as pd

from primum.cli._prepared import TrainingRows
from primum.cli._progress import progress
from primum.tables.csv import CsvOptions
from primum.tables.frames import is_spreadsheet
from primum.tables.reading import Table, is_parquet, open_table
from primum.tables.training import read_features, read_labeled_table


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
    X, y = _read(table, target, names, more, options.missing, listed=bool(features))
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


def _read(
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
    with progress(f"reading {table.path.name}"):
        data = read_labeled_table(table, names, target, missing)
    blocks = [data.X]
    for other in more:
        with progress(f"reading {other.path.name}"):
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
