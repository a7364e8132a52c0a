"""The paper's encoding, from published columns to numbers, and the two summaries of its Table 1.

Most data sets are used as published. Two are not:

* diabetes: a zero in four columns means missing and becomes the median of the other values in the
  column;
* mammography: BI-RADS is an assessment, not a measurement, and is dropped; missing values become
  the median or, in the two categorical columns, the most frequent level; these are then encoded by
  indicators of every level but the first.

In every data set, constant columns are removed.
"""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from primum._typing import Floats, Index

Columns = tuple[Floats, tuple[str, ...]]

ZERO_IS_MISSING = ("Glucose", "DiastolicBloodPressure", "Skinfold", "BMI")


def code(name: str, values: Floats, columns: Sequence[str]) -> Columns:
    """Apply the paper's encoding of one data set.

    Parameters
    ----------
    name : str
        Name of the data set in the catalogue.
    values : array of shape (n_rows, n_columns)
        Published values, NaN where missing.
    columns : sequence of str
        Names of the published columns.

    Returns
    -------
    X : array of shape (n_rows, n_features)
        Encoded features; no column is constant.
    feature_names : tuple of str
        Their names.
    """
    special = {"diabetes": _code_diabetes, "mammography": _code_mammography}
    X, names = special.get(name, _as_it_stands)(values, tuple(columns))
    varies = np.ptp(X, axis=0) > 0
    kept = tuple(name for name, keep in zip(names, varies, strict=True) if keep)
    return np.ascontiguousarray(X[:, varies]), kept


def _as_it_stands(values: Floats, columns: tuple[str, ...]) -> Columns:
    return values, columns


def _code_diabetes(values: Floats, columns: tuple[str, ...]) -> Columns:
    X = values.copy()
    for column in ZERO_IS_MISSING:
        j = columns.index(column)
        X[:, j] = _fill(np.where(X[:, j] == 0, np.nan, X[:, j]), _median)
    return X, columns


def _code_mammography(values: Floats, columns: tuple[str, ...]) -> Columns:
    raw = dict(zip(columns, values.T, strict=True))
    coded = {name: _fill(raw[name], _median) for name in ("Age", "Density")}
    for name in ("Shape", "Margin"):
        column = _fill(raw[name], _most_frequent)
        for level in np.unique(column)[1:]:
            coded[f"{name}={level:g}"] = (column == level).astype(np.float64)
    return np.column_stack(list(coded.values())), tuple(coded)


def _fill(column: Floats, summary: Callable[[Floats], float]) -> Floats:
    missing = np.isnan(column)
    return np.where(missing, summary(column[~missing]), column)


def _median(column: Floats) -> float:
    return float(np.median(column))


def _most_frequent(column: Floats) -> float:
    levels, counts = np.unique(column, return_counts=True)
    return float(levels[np.argmax(counts)])


def fingerprint(X: Floats, codes: Index) -> str:
    """Return the sha256 of an encoded data set: shape, values by rows, labels as 0 and 1.

    It does not depend on the origin of the data set or the format of its numbers, only on every
    bit of every value and on the order of rows and columns.
    """
    shape = np.asarray(X.shape, dtype="<i8")
    # Adding zero turns -0.0, which some files write as 0, into 0.0.
    values = np.ascontiguousarray(X + 0.0, dtype="<f8")
    return hashlib.sha256(
        shape.tobytes() + values.tobytes() + codes.astype("u1").tobytes()
    ).hexdigest()


def z_score(X: Floats) -> Floats:
    """Return every feature with mean 0 and standard deviation 1 (n - 1 in the denominator).

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Features; no column is constant.

    Returns
    -------
    array of shape (n_rows, n_features)
        Standardised features.

    Examples
    --------
    >>> import numpy as np
    >>> z_score(np.array([[1.0], [2.0], [3.0]])).ravel()
    array([-1.,  0.,  1.])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) < 2:
        raise ValueError(f"X has shape {X.shape}: z-scores need a table of at least two rows.")
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if len(constant):
        raise ValueError(
            f"Column {constant[0]} of X is constant, so it has no z-score: remove it first."
        )
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))


def pca99(X: Floats, share: float = 0.99) -> int:
    """Return the number of principal components of standardised X that retain 99% of the variance.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Features, not yet standardised; no column is constant.
    share : float, default=0.99
        Fraction of the variance to retain.

    Returns
    -------
    int
        The number of components.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(5.0)
    >>> pca99(np.column_stack([x, 3 * x, x**2 % 3]))
    2
    """
    variances = np.linalg.svd(z_score(X), compute_uv=False) ** 2
    kept = np.cumsum(variances) / variances.sum()
    return int(np.searchsorted(kept, share) + 1)
