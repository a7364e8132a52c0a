"""Rows to learn from, read from a table into memory: features as numbers, labels as written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats
from primum.tables.identifiers import looks_like_identifier
from primum.tables.labels import check_classes, labels_of
from primum.tables.reading import Table


@dataclass(frozen=True)
class LabeledTable:
    """Features and labels of a table.

    Attributes
    ----------
    X : array of shape (n_rows, n_features)
        The features.
    labels : list
        One bool, int, float or str per row, or None where the label is unknown.
    """

    X: Floats
    labels: list[Any]

    def identifiers(self, names: Sequence[str]) -> list[str]:
        """Return the names of the features that may identify the rows instead."""
        pairs = zip(names, self.X.T, strict=True)
        return [name for name, values in pairs if looks_like_identifier(name, values)]


def read_labeled_table(
    table: Table, names: Sequence[str], target: str, missing: Sequence[str]
) -> LabeledTable:
    """Read features and labels; raise an error if the labels cannot be classes.

    Parameters
    ----------
    table : Table
        The table.
    names : sequence of str
        The columns that are features.
    target : str
        The column with the labels.
    missing : sequence of str
        Markers of unknown labels, in addition to an empty cell, and to -1 among integers.

    Returns
    -------
    LabeledTable
        The features and the labels.
    """
    parts = list(table.parts(names, [target]))
    cells = [cell for part in parts for cell in part.as_written[target].to_pylist()]
    if not cells:
        raise ValueError(f"{table.path} has column names but no rows.")
    labels = labels_of(table, target, cells, missing)
    check_classes(table, target, labels)
    return LabeledTable(np.concatenate([part.X for part in parts]), labels)


def read_features(table: Table, names: Sequence[str]) -> Floats:
    """Read the features of all rows."""
    return np.concatenate([part.X for part in table.parts(names)])
