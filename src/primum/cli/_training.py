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
from primum._typing import Mask
from primum.cli._options import warn
from primum.judging.named_labels import KEY_COLUMN
from primum.rows import ParquetRows
from primum.tables.columns import looks_like_identifier
from primum.tables.files import TableFile, TableFormat, open_table, table_kind
from primum.tables.labels import (
    CHOSEN,
    MARKS_CHOSEN,
    NUMBERS_SHEET,
    chosen_column,
    marked_rows,
    read_labeled_rows,
    read_labels,
    recognised,
)
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
    chosen : bool array or None
        Which rows in memory are marked: their labels were not drawn at random.
    """

    X: pd.DataFrame
    labels: pd.Series
    transformer: Any = None
    stored: Path | None = None
    chosen: Mask | None = None

    @property
    def n_chosen(self) -> int:
        """Number of labels that were not drawn at random."""
        return 0 if self.chosen is None else int(self.labels[self.chosen].notna().sum())


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
    chosen : str or None
        Its column that marks labels which were not drawn at random; None: primum's own, if any.
    """

    data: Path
    target: str
    id_column: str | None
    unlabeled: Sequence[Path]
    features: list[str]
    drop: list[str]
    table_format: TableFormat
    chosen: str | None = None

    @property
    def _roles(self) -> list[str]:
        roles = (self.target, self.id_column, self.chosen)
        return [name for name in roles if name is not None]

    def _check(self, table: TableFile, columns: Iterable[str]) -> None:
        """Raise an error for columns that are absent, or both features and something else."""
        others = [*self._roles, *self.drop]
        table.require([*others, *self.features], columns)
        if both := [name for name in self.features if name in others]:
            raise ValueError(f"{both[0]!r} is both a feature and the target, the id or dropped.")
        if marked := recognised(list(columns), self.chosen):
            click.echo(marked, err=True)

    def prepared(self) -> TrainingRows:
        """Return the rows of all tables, and their preparation."""
        table, frame = self._frame(self.data, self.table_format)
        self._check(table, frame.columns)
        kept, own = (*self._roles, *self.features), (CHOSEN, KEY_COLUMN)
        exclude = [n for n in frame.columns if n not in kept] if self.features else self.drop
        needed = [n for n in frame.columns if n not in (*self._roles, *exclude, *own)]
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
        roles = self.target, self.id_column, None
        decimal = self.table_format.decimal or table.decimal
        problem = table_problem(
            *(rows, *roles, exclude, missing), chosen=self.chosen, decimal=decimal
        )
        if problem.kind.is_numeric:
            raise ValueError(
                f"Column {self.target!r} of {self.data} is a numeric target, and primum fit fits "
                "classifiers: primum compare --save-model stores a model that predicts numbers; if "
                "they are codes of classes, put a letter before them."
            )
        for column in problem.columns:
            if not column.used and column.note not in ("", MARKS_CHOSEN, NUMBERS_SHEET):
                warn(f"{column.name!r} of {self.data} is not used. {column.note}")
        for alert in problem.alerts:
            warn(alert.text)
        labels = pd.Series(problem.labels, dtype=object)
        return TrainingRows(problem.X, labels, problem.transformer, chosen=problem.chosen)

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
        marked = self._marked(table, len(rows))
        return TrainingRows(rows, y, stored=stored[0] if stored else None, chosen=marked)

    def _marked(self, table: TableFile, n_rows: int) -> Mask | None:
        """Return which rows of DATA, and of others after them, have a mark; None: none can."""
        column = chosen_column(list(table.columns), self.chosen)
        if column is None:
            return None
        parts = table.parts([], [column])
        cells = [cell for part in parts for cell in part.as_written[column].to_pylist()]
        marks = marked_rows(pd.Series(cells, dtype=object), self.table_format.missing)
        return np.append(marks, np.zeros(n_rows - len(marks), dtype=bool))

    def _all_features(self, table: TableFile) -> list[str]:
        """Return all columns except those set aside and those that seem to identify the rows."""
        others = [*self._roles, *self.drop, CHOSEN, KEY_COLUMN]
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
