"""Checks of rows that name the place of what is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from primum.rows import first_non_finite, to_numpy


@contextmanager
def locating_bad_values(X: Any, name: str) -> Iterator[None]:
    """Add the place of the first non-finite or non-numeric value to a validation error."""
    try:
        yield
    except ValueError as problem:
        if "could not convert string" in str(problem):
            _refuse_text(X, name, problem)
        place = locate_non_finite(X) if "contains" in str(problem) else None
        if place is None:
            raise
        row, column, value = place
        raise ValueError(
            f"Input {name} contains {'NaN' if np.isnan(value) else 'infinity'} in row {row}, "
            f"column {column}: drop such rows or impute the values, for example with SimpleImputer."
        ) from None


def _refuse_text(X: Any, name: str, problem: ValueError) -> None:
    """Name the first column that cannot be converted to numbers."""
    if hasattr(X, "columns"):
        columns = {column: X[column] for column in X.columns}
    else:
        rows = np.asarray(X)
        columns = dict(enumerate(rows.T)) if rows.ndim == 2 else {}
    for column, values in columns.items():
        try:
            np.asarray(values).astype(np.float64)
        except ValueError:
            raise ValueError(
                f"Input {name} has text in column {column!r} ({problem}): encode it as numbers, "
                "for example with a OneHotEncoder in a ColumnTransformer, or drop the column."
            ) from None
        except TypeError:  # neither text nor numbers: not the cause of the error
            continue


def locate_non_finite(X: Any) -> tuple[int, Any, float] | None:
    """Return the row, the column and the value of the first NaN or infinity, or None."""
    columns = getattr(X, "columns", None)
    as_csr: Any = sparse.csr_array
    try:
        if columns is not None:
            values = X.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = as_csr(X) if sparse.issparse(X) else np.asarray(to_numpy(X), dtype=np.float64)
    except (TypeError, ValueError):  # not numeric: keep the original error
        return None
    found = first_non_finite(values)
    if found is None or columns is None:
        return found
    row, column, value = found
    return row, repr(columns[column]), value


def check_same_columns(estimator: BaseEstimator, X_unlabeled: Any) -> None:
    """Raise an error if further rows do not have the columns of X."""
    names = getattr(estimator, "feature_names_in_", None)
    columns = getattr(X_unlabeled, "columns", None)
    if names is not None and columns is not None and list(columns) != list(names):
        raise ValueError(
            f"X_unlabeled has columns {_brief(columns)} but X has {_brief(names)}: pass the same "
            "columns in the same order, for example X_unlabeled[X.columns]."
        )
    shape: tuple[int, ...] = getattr(X_unlabeled, "shape", ())
    if len(shape) == 2 and shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X_unlabeled has {shape[1]} features but X has {estimator.n_features_in_}: pass the "
            "same columns in the same order."
        )


def _brief(names: Any) -> str:
    names = [str(name) for name in names]
    return "[" + ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") + "]"
