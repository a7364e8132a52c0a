"""Embeddings: numbers that only mean something together.

They are a column whose cells are vectors of one length (lists in Parquet or in a DataFrame, or
written as text, ``[0.12, -0.3]``), or consecutive columns such as ``emb_0`` to ``emb_767``. Either
way they are one block of features: centred, and divided by one common scale, so that directions
which vary more keep their weight. Scaled one by one, those that are mostly noise would count as
much as the others.

Columns of numbers that are merely called x1 to x9 may have different units and are no block: an
embedding is called so, has at least LEAST_COLUMNS columns, and scales that are alike.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from primum._typing import AnyArray, Floats
from primum.tables.cells import LARGEST, object_array, objects_of

if TYPE_CHECKING:
    import pandas as pd

LEAST_COLUMNS = 8
# How embeddings are called, before the number of the column.
NAMED = re.compile(r"(?P<stem>.*(?:emb|vec|latent|dim).*?)(?P<number>\d+)", re.IGNORECASE)
# The largest standard deviation of its columns, relative to the smallest.
LARGEST_RATIO = 100.0
WRITTEN = re.compile(r"\[[-+0-9.eE,;\s]*\]", re.ASCII)
# A block weighs as much as this many scaled columns, if it has as many.
MOST_WEIGHT = 50


def vector_of(cell: Any) -> Floats | None:
    """Return a cell as a vector; None if it is not one, or has a number that is not finite."""
    if isinstance(cell, str):
        if not WRITTEN.fullmatch(cell.strip()):
            return None
        cell = re.split(r"[,;\s]+", cell.strip()[1:-1].strip())
    if not isinstance(cell, list | tuple | np.ndarray):
        return None
    try:
        vector = np.asarray(cell, dtype=float)
    except (TypeError, ValueError):
        return None
    is_vector = vector.ndim == 1 and len(vector) > 1 and bool(np.all(np.abs(vector) <= LARGEST))
    return vector if is_vector else None


def vector_lengths(cells: AnyArray) -> list[int]:
    """Return the length of every cell that is a vector."""
    vectors = (vector_of(cell) for cell in cells)
    return [len(vector) for vector in vectors if vector is not None]


def vectors_of(values: "pd.Series", length: int, missing: Sequence[str] = ()) -> AnyArray:
    """Return cells as vectors of a length, None where missing or something else."""
    read = (None if cell is None else vector_of(cell) for cell in objects_of(values, missing))
    return object_array(v if v is not None and len(v) == length else None for v in read)


def as_matrix(vectors: AnyArray, length: int) -> Floats:
    """Return vectors as rows, of NaN where they are missing."""
    absent = np.full(length, np.nan)
    rows = [absent if vector is None else vector for vector in vectors]
    return np.array(rows).reshape(len(rows), length)


def named_blocks(names: Sequence[str]) -> list[list[str]]:
    """Return the runs of columns that are called as those of one embedding.

    Parameters
    ----------
    names : sequence of str
        Names of numeric columns.

    Returns
    -------
    list of list of str
        Names with the same stem and consecutive numbers, in the order of these.
    """
    stems: dict[str, dict[int, str]] = {}
    for name in names:
        if (called := NAMED.fullmatch(name)) is not None:
            stems.setdefault(called["stem"], {})[int(called["number"])] = name
    runs = [[numbered[number] for number in sorted(numbered)] for numbered in stems.values()]
    whole = [sorted(numbered) for numbered in stems.values()]
    return [
        run
        for run, numbers in zip(runs, whole, strict=True)
        if len(run) >= LEAST_COLUMNS and numbers[-1] - numbers[0] == len(numbers) - 1
    ]


def are_alike(columns: Sequence[Floats]) -> bool:
    """Return whether columns may be those of one embedding: fractions, with similar scales."""
    given = [column[~np.isnan(column)] for column in columns]
    if any(len(values) < 2 or np.array_equal(values, np.rint(values)) for values in given):
        return False
    spread = [float(values.std()) for values in given]
    return min(spread) > 0 and max(spread) <= LARGEST_RATIO * min(spread)


class ScaledTogether(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Centre columns, fill in missing numbers with their mean, and divide all by one scale.

    Attributes
    ----------
    mean_ : array of shape (n_features_in_,)
        Mean of every column.
    scale_ : float
        The common scale: the variances of the columns add up to their number afterwards, or to 50
        if there are more, so that a block does not outweigh all other columns.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from primum.tables.vectors import ScaledTogether
    >>> ScaledTogether().fit_transform([[0.0, 0.0], [6.0, 2.0]]).round(2).tolist()
    [[-1.34, -0.45], [1.34, 0.45]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the means and the scale.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows; NaN where missing.
        y : None
            Ignored.

        Returns
        -------
        self
            The transformer.
        """
        X = np.asarray(X, dtype=float)
        given = ~np.isnan(X)
        counts = np.maximum(given.sum(axis=0), 1)
        self.n_features_in_ = X.shape[1]
        self.mean_ = np.where(given, X, 0.0).sum(axis=0) / counts
        variance = float(np.sum(np.where(given, X - self.mean_, 0.0) ** 2 / counts))
        self.scale_ = float(np.sqrt(variance / min(X.shape[1], MOST_WEIGHT))) or 1.0
        return self

    def transform(self, X: Any) -> Floats:
        """Return the scaled columns.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows; NaN where missing.

        Returns
        -------
        array of shape (n_samples, n_features)
            The columns; 0 where missing.
        """
        X = np.asarray(X, dtype=float)
        return np.where(np.isnan(X), 0.0, (X - self.mean_) / self.scale_)
