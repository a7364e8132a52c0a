"""Whether what is given to a comparison can be compared, before anything is fitted."""

from typing import Any

import numpy as np

from primum.estimators._checks import locate_non_finite


def check_rows(X: Any, prepare: Any, baselines: Any) -> None:
    """Raise an error if rows have text or missing values that nothing turns into numbers.

    A transformer of the user is expected to do so, and so are baselines of the user: some
    classifiers accept missing values.
    """
    own = prepare is not None and not isinstance(prepare, str)
    if own or not isinstance(baselines, str):
        return
    _refuse_text(X)
    place = locate_non_finite(X)
    if place is not None:
        row, column, value = place
        what = "is missing" if np.isnan(value) else "is infinite"
        raise ValueError(
            f"The value in row {row}, column {column} of X {what}: pass "
            "prepare=make_pipeline(SimpleImputer(), StandardScaler()), which fills such values in "
            "within every training set, or leave out the row."
        )


def _refuse_text(X: Any) -> None:
    """Raise an error for the first column of a DataFrame that is not numeric."""
    if not hasattr(X, "iloc"):
        return
    from pandas.api.types import is_numeric_dtype

    for number, column in enumerate(X.columns):
        values = X.iloc[:, number]
        if not is_numeric_dtype(values) and not _converts(values):
            raise ValueError(
                f"Column {column!r} of X is not numeric (its first value is {values.iloc[0]!r}): "
                "pass a transformer that encodes it as prepare=, for example a ColumnTransformer "
                "with a OneHotEncoder, or pass the whole table with target= instead of y, and its "
                "columns are prepared automatically."
            )


def _converts(values: Any) -> bool:
    """Return whether a column of objects consists of numbers."""
    if values.dtype != object:
        return False
    try:
        values.astype(float)
    except (TypeError, ValueError):
        return False
    return True
