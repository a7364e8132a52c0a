"""Arrays of rows: of which library and on which device they are, and where one has a bad value."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor

from primum._sklearn import ARRAY_API, get_namespace_and_device
from primum._typing import Floats
from primum._words import listed
from primum.rows import first_non_finite, to_numpy


@dataclass(frozen=True)
class ArrayBackend:
    """The array library and device of arrays that are not NumPy arrays."""

    xp: Any
    device: Any

    def __str__(self) -> str:
        return f"{self.xp.__name__.rpartition('.')[2]} on {self.device}"

    @property
    def dtypes(self) -> list[Any]:
        """The accepted dtypes."""
        return [self.xp.float64, self.xp.float32]

    def convert_attributes(self, estimator: Any, names: tuple[str, ...]) -> None:
        """Move attributes of an estimator to this device, in double precision as with NumPy."""
        for name in names:
            if (value := getattr(estimator, name, None)) is not None:
                moved = self.xp.asarray(value, dtype=self.xp.float64, device=self.device)
                setattr(estimator, name, moved)


def backend_of(X: Any) -> ArrayBackend | None:
    """Return the library and device of X, or None for NumPy arrays and anything not an array."""
    if isinstance(X, np.ndarray):
        return None
    xp, dispatched, device = get_namespace_and_device(X)
    if not dispatched:
        return None
    if not ARRAY_API:
        raise ValueError(
            "Arrays of libraries other than NumPy need scikit-learn 1.9 or newer, but "
            f"{sklearn.__version__} is installed: upgrade it, or pass NumPy arrays."
        )
    return ArrayBackend(xp, device)


def on_this_machine(values: Any) -> Any:
    """Return an array of another library as a NumPy array, and anything else unchanged."""
    return values if backend_of(values) is None else to_numpy(values)


def refuse_other_library(estimator: BaseEstimator, home: ArrayBackend | None) -> None:
    """Raise the error of an estimator that computes with NumPy only, unless home is None."""
    if home is not None:
        plain = "ICLSClassifier or LeastSquaresClassifier"
        if is_regressor(estimator):
            plain = "ICLSRegressor or LeastSquaresRegressor"
        raise ValueError(
            f"{type(estimator).__name__} computes with NumPy arrays only, but X is an array of "
            f"{home}: convert it, or use {plain}."
        )


@contextmanager
def locating_bad_values(X: Any, name: str) -> Iterator[None]:
    """Add the place of the first non-finite or non-numeric value to a validation error."""
    refuse_masked(X, name)
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


def refuse_masked(values: Any, name: str) -> None:
    """Raise an error if an array has masked entries: NumPy would read the values below the mask."""
    if isinstance(values, np.ma.MaskedArray) and (mask := np.ma.getmaskarray(values)).any():
        place = np.argwhere(mask)[0].tolist()
        where = "".join(f"{what} {i}" for what, i in zip((" row", ", column"), place, strict=False))
        raise ValueError(
            f"{name} has {mask.sum()} masked entries, first in{where}: a mask marks unknown labels "
            "in y and is not read elsewhere. Impute the values, or drop these rows."
        )


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
    place = first_non_finite(values)
    if place is None or columns is None:
        return place
    row, column, value = place
    return row, repr(columns[column]), value


def check_same_columns(estimator: BaseEstimator, X_unlabeled: Any) -> None:
    """Raise an error if further rows do not have the columns of X."""
    names = getattr(estimator, "feature_names_in_", None)
    columns = getattr(X_unlabeled, "columns", None)
    if names is not None and columns is not None and list(columns) != list(names):
        raise ValueError(
            f"X_unlabeled {_how_columns_differ(list(columns), list(names))}: pass the same columns "
            "in the same order, for example X_unlabeled[X.columns]."
        )
    shape: tuple[int, ...] = getattr(X_unlabeled, "shape", ())
    if len(shape) == 2 and shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X_unlabeled has {shape[1]} features but X has {estimator.n_features_in_}: pass the "
            "same columns in the same order."
        )


def _how_columns_differ(given: list[Any], expected: list[Any]) -> str:
    """Return which columns other rows have in addition to those of X, lack or have elsewhere."""
    more = [name for name in given if name not in expected]
    fewer = [name for name in expected if name not in given]
    parts = [f"has {_named(more)}, which X has not"] if more else []
    parts += [f"lacks {_named(fewer)}, which X has"] if fewer else []
    if parts:
        return " and ".join(parts)
    if len(given) != len(expected):
        twice = [name for name in dict.fromkeys(given) if given.count(name) > 1]
        return f"has {_named(twice)} more than once"
    place = next(i for i, name in enumerate(given) if name != expected[i])
    return (
        f"has the columns of X in another order: column {place} is {given[place]!r}, and "
        f"{expected[place]!r} in X"
    )


def _named(names: list[Any]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {listed([repr(name) for name in names], 5)}"


def as_real(values: Any) -> Floats:
    """Return numbers in double precision; a TypeError if they are complex, which NumPy casts."""
    array = np.asarray(to_numpy(values))
    if array.dtype.kind == "c":
        raise TypeError("complex numbers")
    return array.astype(np.float64)
