"""Preparation of the columns of a table for classifiers, made of scikit-learn's transformers.

It takes the table as people wrote it, and can be fitted inside every fold: medians, levels and
scales are learnt from the rows it is fitted to. Its output is dense, unless there is free text, and
has feature names such as ``age``, ``colour=red``, ``joined (days)`` and ``remark: late``. Terms of
text have no weights yet; later steps learn these, see ``steps_after``.

The block of an embedding is centred and divided by one common scale, so that directions which vary
more keep their weight. If columns were scaled one by one, those that are mostly noise would count
as much as the others.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from primum._sklearn import take_rows
from primum._typing import AnyArray, Floats
from primum.reading.classifiers import known_mask
from primum.tables.cells import (
    as_matrix,
    as_pandas,
    is_present,
    numbers_of,
    read_cells,
    readings_of_numbers,
    vectors_of,
)
from primum.tables.columns import MAX_LEVELS, Column, is_indicated
from primum.tables.text import TermWeights, TextFeatures

MISSING_LEVEL, OTHER_LEVELS = "(missing)", "(other)"
MISSING_SUFFIX = " (missing)"
# A block of an embedding weighs at most as much as this many scaled columns, so that a few columns
# beside hundreds of its own still count.
MAX_EMBEDDING_WEIGHT = 50
SUFFIXES = {"date": " (days)", "time": " (hours)"}


class ReadCells(TransformerMixin, BaseEstimator):
    """Read the cells of columns of one kind, whatever their types.

    Parameters
    ----------
    kind : {"number", "date", "time", "boolean", "category", "vector"}
        What the columns contain.
    reading : str, default=""
        How text is read: the decimal mark of numbers, with their unit, or the layout of dates; for
        vectors, their length.
    missing : sequence of str, default=()
        Markers of missing cells, in addition to empty ones.
    indicator : bool, default=False
        Whether to return 1 where a cell is missing and 0 elsewhere, instead of the content.

    Attributes
    ----------
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from primum.tables.preparation import ReadCells
    >>> cells = pd.DataFrame({"price": ["1,5", "n/a", "1.200"]})
    >>> ReadCells("number", ",").fit_transform(cells).ravel().tolist()
    [1.5, nan, 1200.0]
    """

    def __init__(
        self,
        kind: str = "number",
        reading: str = "",
        missing: Sequence[str] = (),
        indicator: bool = False,
    ) -> None:
        self.kind = kind
        self.reading = reading
        self.missing = missing
        self.indicator = indicator

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the names of the columns.

        Parameters
        ----------
        X : DataFrame
            The table.
        y : None
            Ignored.

        Returns
        -------
        self
            The transformer.
        """
        self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, X: Any) -> AnyArray:
        """Return the cells: numbers with NaN where missing, or text for categories.

        Parameters
        ----------
        X : DataFrame
            The table.

        Returns
        -------
        array of shape (n_rows, n_columns)
            The content of the cells; vectors have one column for each number.
        """
        cells = np.column_stack([self._read(X[name]) for name in self.feature_names_in_])
        return np.isnan(cells).astype(float) if self.indicator else cells

    def _read(self, values: Any) -> AnyArray:
        if self.kind == "number":
            return self._numbers(values)
        if self.kind == "vector":
            return as_matrix(vectors_of(values, int(self.reading), self.missing), int(self.reading))
        cells = read_cells(values, self.kind, self.reading, self.missing)
        if self.kind == "category":
            cells[~is_present(cells)] = MISSING_LEVEL
        return cells

    def _numbers(self, values: Any) -> AnyArray:
        """Return numbers, with the other decimal mark or without a unit if that reads more cells.

        A table to predict may have been written on another computer than the table of the fit.
        """
        if hasattr(values.dtype, "kind") and values.dtype.kind in "biuf":
            return numbers_of(values, self.reading, self.missing)
        readings = readings_of_numbers(self.reading)
        readable = (numbers_of(values, reading, self.missing) for reading in readings)
        return min(readable, key=lambda numbers: int(np.isnan(numbers).sum()))

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns, with a suffix for dates, times and missing cells.

        Parameters
        ----------
        input_features : None
            Ignored: the names are those of the table.

        Returns
        -------
        array of str
            The names.
        """
        if self.kind == "vector":
            numbers = range(int(self.reading))
            names = (f"{name}[{number}]" for name in self.feature_names_in_ for number in numbers)
            return np.array(list(names), dtype=object)
        suffix = MISSING_SUFFIX if self.indicator else SUFFIXES.get(self.kind, "")
        return np.array([f"{name}{suffix}" for name in self.feature_names_in_], dtype=object)


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
    >>> from primum.tables.preparation import ScaledTogether
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
        present = ~np.isnan(X)
        counts = np.maximum(present.sum(axis=0), 1)
        self.n_features_in_ = X.shape[1]
        self.mean_ = np.where(present, X, 0.0).sum(axis=0) / counts
        variance = float(np.sum(np.where(present, X - self.mean_, 0.0) ** 2 / counts))
        self.scale_ = float(np.sqrt(variance / min(X.shape[1], MAX_EMBEDDING_WEIGHT))) or 1.0
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


class PreparedColumns(ColumnTransformer):
    """A ColumnTransformer that also takes tables of libraries other than pandas, such as polars."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit all transformers, see ColumnTransformer."""
        super().fit(as_pandas(X), y, **params)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit all transformers and return the features, see ColumnTransformer."""
        return super().fit_transform(as_pandas(X), y, **params)

    def transform(self, X: Any, **params: Any) -> Any:
        """Return the features, see ColumnTransformer."""
        return super().transform(as_pandas(X), **params)


class PreparedByLabeled(PreparedColumns):
    """The same, but medians, levels and scales are learnt from labelled rows only.

    Then a safe stack and the baseline of its comparison, which is fitted to labelled rows, receive
    the same features.
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit all transformers to the rows whose label is known; to all rows without y."""
        if y is not None:
            labeled = np.flatnonzero(known_mask(np.asarray(y)))
            X, y = take_rows(as_pandas(X), labeled), np.asarray(y)[labeled]
        super().fit_transform(X, y, **params)  # a ColumnTransformer's fit does no more
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit all transformers to the same rows, and return the features of all rows."""
        return self.fit(X, y, **params).transform(X)


def level_name(column: str, level: Any) -> str:
    """Return the name of the feature of a level: "colour=red"."""
    return f"{column}={OTHER_LEVELS if level == 'infrequent_sklearn' else level}"


def preparing(columns: Sequence[Column], missing: Sequence[str] = ()) -> PreparedColumns:
    """Return the transformer that prepares a table's columns.

    Parameters
    ----------
    columns : sequence of Column
        What the table contains, see ``describe_columns``.
    missing : sequence of str
        Markers of missing cells, in addition to empty ones.

    Returns
    -------
    PreparedColumns
        The transformer, not yet fitted. It needs the columns that are features; others are ignored.
    """
    used = [column for column in columns if column.used]
    if not used:
        raise ValueError(
            "No column is left to learn from: the table has no columns other than those set aside "
            f"({_set_aside(columns)})."
        )
    has_text = any(column.kind == "text" for column in used)
    return PreparedColumns(
        list(_parts(used, list(missing))),
        sparse_threshold=1.0 if has_text else 0.0,
        verbose_feature_names_out=_ambiguous(used),
    )


def columns_read(transformer: ColumnTransformer) -> dict[str, list[str]] | None:
    """Return the columns that a fitted transformer reads, with kind and reading.

    None if the transformer does not come from ``preparing``.
    """
    columns: dict[str, list[str]] = {}
    for _, part, names in transformer.transformers_:
        reader = part.steps[0][1] if isinstance(part, Pipeline) else part
        if isinstance(reader, TextFeatures):
            columns |= {str(name): ["text", ""] for name in names}
        elif isinstance(reader, ReadCells):
            columns |= {str(name): [reader.kind, reader.reading] for name in names}
        elif part != "drop":
            return None
    return columns


def _set_aside(columns: Sequence[Column]) -> str:
    return ", ".join(f"{column.name!r}: {column.note.rstrip('.')}" for column in columns[:8])


def _parts(used: Sequence[Column], missing: list[str]) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield (name, transformer, columns) for columns that are treated in the same way."""
    for kind, reading, block in dict.fromkeys(map(_treatment, used)):
        same = [column for column in used if _treatment(column) == (kind, reading, block)]
        name = f"{kind} {reading} {block}".strip().replace("__", "_")
        names = [column.name for column in same]
        if kind == "text":
            yield name, TextFeatures(same[0].vocabulary, missing), names  # type: ignore[arg-type]
            continue
        steps = [ScaledTogether()] if block else _steps(kind)
        yield name, make_pipeline(ReadCells(kind, reading, missing), *steps), names
        if absent := [column.name for column in same if is_indicated(column)]:
            yield f"{name} missing", ReadCells(kind, reading, missing, indicator=True), absent


def _treatment(column: Column) -> tuple[str, str, str]:
    """Return the key that columns must share to be treated together."""
    block = column.name if column.kind in ("text", "vector") else column.block
    return column.kind, column.reading, block


def sets_scales(transformer: Any) -> bool:
    """Return whether a preparation has features whose scales must not be changed afterwards.

    These are text, embeddings, and the zeros and ones of categories and missing cells: if they were
    standardised, a category with few rows would get many times its weight.
    """
    parts = transformer.transformers if isinstance(transformer, PreparedColumns) else ()
    last = [part[-1] if isinstance(part, Pipeline) else part for _, part, _ in parts]
    kept = TextFeatures | ScaledTogether | OneHotEncoder | ReadCells
    return any(isinstance(part, kept) for part in last)


def steps_after(transformer: Any, *, uses_unlabeled: bool) -> list[Any]:
    """Return the steps that must follow a preparation, unless a method includes them itself.

    Terms of text get weights that are learnt from the rows that a method is fitted to. For a method
    that uses unlabelled rows, they are reduced to components of all these rows.
    """
    parts = transformer.transformers if isinstance(transformer, PreparedColumns) else ()
    has_text = any(isinstance(part, TextFeatures) for _, part, _ in parts)
    return [TermWeights(reduce=uses_unlabeled)] if has_text else []


def _steps(kind: str) -> list[Any]:
    if kind == "category":
        levels = OneHotEncoder(
            min_frequency=2,
            max_categories=MAX_LEVELS,
            handle_unknown="infrequent_if_exist",
            sparse_output=False,
            feature_name_combiner=level_name,
        )
        return [levels]
    strategy = "most_frequent" if kind == "boolean" else "median"
    # A column may be empty in the rows of one fold.
    return [SimpleImputer(strategy=strategy, keep_empty_features=True), StandardScaler()]


def _ambiguous(used: Sequence[Column]) -> bool:
    """Return whether two features could have the same name."""
    made = [f"{column.name}=" for column in used if column.kind == "category"]
    names = {column.name for column in used}
    suffixes = (*SUFFIXES.values(), MISSING_SUFFIX)
    derived = {f"{column.name}{suffix}" for column in used for suffix in suffixes}
    return bool(names & derived) or any(name.startswith(tuple(made)) for name in names if made)
