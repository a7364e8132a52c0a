"""Rows that ``primum fit`` learns from.

They are prepared as ``primum compare`` prepares them or, with ``--no-prepare``, used as they are.
Then features must be finite numbers, and further rows in Parquet are read out of core, so that
there can be any number of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from primum._progress import showing_passes
from primum.cli._options import warn
from primum.rows import ParquetRows
from primum.tables.columns import looks_like_identifier
from primum.tables.files import TableFile, TableFormat, open_table, table_kind
from primum.tables.labels import read_labeled_rows, read_labels
from primum.tables.problem import table_problem

# About half a gigabyte of numbers, which the preparation copies.
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


@dataclass(frozen=True)
class TrainingTables:
    """Where rows to learn from are stored.

    Attributes
    ----------
    data : Path
        The table with the labels.
    target : str
        Its column with the labels.
    id_column : str or None
        Its column that identifies the rows.
    unlabeled : sequence of Path
        Tables of further rows, without labels.
    features : list of str
        The columns to learn from; empty: all others.
    drop : list of str
        Columns not to learn from.
    table_format : TableFormat
        How the files are written.
    """

    data: Path
    target: str
    id_column: str | None
    unlabeled: Sequence[Path]
    features: list[str]
    drop: list[str]
    table_format: TableFormat

    @property
    def _roles(self) -> list[str]:
        return [self.target] if self.id_column is None else [self.target, self.id_column]

    def _check(self, table: TableFile, columns: Iterable[str]) -> None:
        """Raise an error for columns that are absent, or both features and something else."""
        others = [*self._roles, *self.drop]
        table.require([*others, *self.features], columns)
        if both := [name for name in self.features if name in others]:
            raise ValueError(f"{both[0]!r} is both a feature and the target, the id or dropped.")

    def prepared(self) -> TrainingRows:
        """Return the rows of all tables, and their preparation."""
        table, frame = self._frame(self.data, self.table_format)
        self._check(table, frame.columns)
        kept = (*self._roles, *self.features)
        exclude = [n for n in frame.columns if n not in kept] if self.features else self.drop
        needed = [name for name in frame.columns if name not in (*self._roles, *exclude)]
        parts = [frame]
        of_others = replace(self.table_format, sheet=None, header_row=None)  # those are DATA's
        for path in self.unlabeled:
            other, more = self._frame(path, of_others)
            other.require(needed, more.columns)
            parts.append(more[needed])
        missing = self.table_format.missing
        if self.unlabeled:  # whether -1 marks unknown labels is to be seen in DATA alone
            frame[self.target] = read_labels(frame[self.target], self.target, missing)
        rows = pd.concat(parts, ignore_index=True) if self.unlabeled else frame
        problem = table_problem(rows, self.target, self.id_column, None, exclude, missing)
        for column in problem.columns:
            if not column.used and column.note:
                warn(f"{column.name!r} of {self.data} is not used. {column.note}")
        for alert in problem.alerts:
            warn(alert.text)
        return TrainingRows(problem.X, pd.Series(problem.labels, dtype=object), problem.transformer)

    def _frame(self, path: Path, table_format: TableFormat) -> tuple[TableFile, pd.DataFrame]:
        """Return a table and its rows; raise an error for Parquet that would fill the memory."""
        if table_kind(path) == "Parquet":
            stored = ParquetRows(path, (), 0)
            if stored.n_rows * len(stored.files[0].schema.names) > MAX_PREPARED_CELLS:
                raise ValueError(
                    f"{path} has {stored.n_rows} rows, too many to be prepared in memory: pass "
                    "--no-prepare, which reads them out of core, if all features are numbers."
                )
        with showing_passes(f"reading {path.name}"):
            table = open_table(path, table_format)
            return table, table.frame(self._roles)

    def numbers(self) -> TrainingRows:
        """Return the rows as they are; one Parquet file or folder is left to be read later."""
        stored = [path for path in self.unlabeled if table_kind(path) == "Parquet"]
        if len(stored) > 1:
            raise click.UsageError(
                "--unlabeled takes one Parquet file or folder: put several files into one folder."
            )
        table = open_table(self.data, self.table_format)
        self._check(table, table.columns)
        names = self.features or self._all_features(table)
        if not names:
            raise ValueError(f"{table.path} has no column left to use as a feature.")
        others = [path for path in self.unlabeled if path not in stored]
        more = [open_table(path, self.table_format) for path in others]
        with showing_passes(f"reading {self.data.name}"):
            X, labels = read_labeled_rows(table, names, self.target, self.table_format.missing)
        if not self.features:
            self._mention_identifiers(X, names)
        blocks = [X]
        for other in more:
            with showing_passes(f"reading {other.path.name}"):
                blocks += [part.X for part in other.parts(names)]
        rows = pd.DataFrame(np.concatenate(blocks), columns=names)
        y = pd.Series([*labels, *[None] * (len(rows) - len(labels))], dtype=object)
        return TrainingRows(rows, y, stored=stored[0] if stored else None)

    def _all_features(self, table: TableFile) -> list[str]:
        """Return all columns except those set aside and those that seem to identify the rows."""
        others = [*self._roles, *self.drop]
        for name in table.row_identifiers:
            if name not in others:
                warn(
                    f"{name!r} of {table.path} seems to identify the rows, so it is not used as a "
                    "feature; to use it, list it in --features."
                )
        return [name for name in table.columns if name not in (*others, *table.row_identifiers)]

    def _mention_identifiers(self, X: Any, names: list[str]) -> None:
        """Warn of features that may identify the rows instead."""
        for name, values in zip(names, X.T, strict=True):
            if looks_like_identifier(name, values):
                warn(
                    f"{name!r} of {self.data} is used as a feature but looks like an identifier, "
                    "because its values are distinct integers: if it identifies the rows, pass "
                    f"--id {name!r} or --drop {name!r}; if it is a feature, list it in --features "
                    "with the others."
                )
