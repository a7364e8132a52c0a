"""The arguments of ``fit``: validated, and split into labelled and unlabelled rows.

Errors name the row and the column of a wrong value. Arrays may be of any library and on any device.
Rows of weight zero are treated as if they were absent, and further unlabelled rows may be in
memory, in files or on a cluster.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_array, validate_data

from primum._lazy import needed
from primum._sklearn import (
    ARRAY_API,
    check_parameters,
    check_sample_weight,
    get_namespace_and_device,
)
from primum._typing import AnyArray, Floats, Index
from primum._words import listed
from primum.labellings import LabelSet, Simplex, centres_of
from primum.reading.labels import (
    KnownLabels,
    check_labels,
    find_labels,
    read_label_bounds,
    read_possible,
    refuse_masked,
)
from primum.reading.targets import MAX_SQUARED, Known, KnownTargets, read_targets
from primum.rows import (
    ArrayRows,
    LabeledRows,
    Rows,
    chain,
    first_non_finite,
    is_outside,
    open_rows,
    to_numpy,
)


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
    """Return the library and device of X; None for NumPy arrays and whatever is not an array."""
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
    try:
        values = _as_floats(X)
    except (TypeError, ValueError):  # not numeric: keep the original error
        return None
    return _in_columns_of(X, first_non_finite(values))


def _as_floats(X: Any) -> Any:
    """Return rows as an array, or a CSR array, of numbers."""
    as_csr: Any = sparse.csr_array
    if hasattr(X, "columns"):
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    return as_csr(X) if sparse.issparse(X) else np.asarray(to_numpy(X), dtype=np.float64)


def _in_columns_of(X: Any, place: tuple[int, int, float] | None) -> tuple[int, Any, float] | None:
    """Return (row, column, value) with the name of the column, if the columns of X have names."""
    columns = getattr(X, "columns", None)
    if place is None or columns is None:
        return place
    row, column, value = place
    return row, repr(columns[column]), value


def refuse_overflow(X: Any, name: str) -> None:
    """Raise an error that names the first of finite numbers whose square overflows."""
    rows = _as_floats(X)
    is_sparse = bool(sparse.issparse(rows))
    values = rows.data if is_sparse else rows
    if not values.size or max(values.max(), -values.min()) <= MAX_SQUARED:
        return
    marked = rows.copy()
    (marked.data if is_sparse else marked)[np.abs(values) > MAX_SQUARED] = np.inf
    if (place := _in_columns_of(X, first_non_finite(marked))) is not None:
        row, column, _ = place
        raise ValueError(
            f"Input {name} has a number above {MAX_SQUARED:g} in row {row}, column {column}, whose "
            "square overflows: use other units, or drop the column."
        )


def check_same_columns(estimator: BaseEstimator, X_unlabeled: Any) -> None:
    """Raise an error if further rows do not have the columns of X."""
    names = getattr(estimator, "feature_names_in_", None)
    columns = getattr(X_unlabeled, "columns", None)
    if names is not None and columns is not None and list(columns) != list(names):
        present, expected = list(columns), list(names)
        added = [name for name in present if name not in expected]
        fewer = [name for name in expected if name not in present]
        parts = [f"has {_named(added)}, which X does not have"] if added else []
        parts += [f"lacks {_named(fewer)}, which X has"] if fewer else []
        how = ", and ".join(parts)
        if not parts and len(present) != len(expected):
            twice = [name for name in dict.fromkeys(present) if present.count(name) > 1]
            how = f"has {_named(twice)} more than once"
        elif not parts:
            place = next(i for i, name in enumerate(present) if name != expected[i])
            how = (
                f"has the columns of X in another order: column {place} is {present[place]!r}, but "
                f"{expected[place]!r} in X"
            )
        raise ValueError(
            f"X_unlabeled {how}: pass the same columns in the same order, for example "
            "X_unlabeled[X.columns]."
        )
    shape: tuple[int, ...] = getattr(X_unlabeled, "shape", ())
    if len(shape) == 2 and shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X_unlabeled has {shape[1]} features but X has {estimator.n_features_in_}: pass the "
            "same columns in the same order."
        )


def _named(names: list[Any]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {listed([repr(name) for name in names], 5)}"


class UnlabeledRows:
    """Unlabelled rows that scikit-learn passes to ``fit`` without indexing them.

    Cross-validation, grid searches and ensembles of scikit-learn index every array-like argument
    of ``fit`` that has as many rows as X. If ``X_unlabeled`` happens to have as many, only a part
    of it reaches ``fit``, without a warning. Wrapped, it is not array-like, and every fit gets all
    of it.

    Parameters
    ----------
    rows : array-like or sparse matrix of shape (n_more, n_features), path or Dask collection
        Anything that ``fit`` accepts as ``X_unlabeled``.

    Attributes
    ----------
    rows : object
        The wrapped rows, unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from primum import ICLSClassifier, UnlabeledRows
    >>> X, y = np.array([[0.0], [1.0], [0.5], [9.0], [8.0], [8.5]]), [0, 0, 0, 1, 1, 1]
    >>> more = UnlabeledRows(np.array([[0.2], [0.3], [0.7], [8.2], [8.3], [8.7]]))
    >>> cross_val_score(ICLSClassifier(), X, y, cv=3, params={"X_unlabeled": more})
    array([1., 1., 1.])
    """

    # No __len__, shape or __array__: any of them would make it array-like.
    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        return f"UnlabeledRows({type(self.rows).__name__})"


def given_rows(X_unlabeled: Any) -> Any:
    """Return ``X_unlabeled`` without the wrapper, if it has one."""
    return X_unlabeled.rows if isinstance(X_unlabeled, UnlabeledRows) else X_unlabeled


DTYPES = (np.float64, np.float32)
# Within this and its reciprocal, the product of two weights neither underflows nor overflows.
MIN_WEIGHT = 1e-150


@dataclass(frozen=True)
class TrainingRows:
    """All that ``fit`` was given, validated; rows of weight zero are left out of a fit.

    ``X`` are its rows, ``labels`` the content of y, ``weight`` the weights of X (None: 1), and
    ``more`` the further unlabelled rows, wherever they are. ``home`` is the array library and
    device of X if it is not a NumPy array, and ``sets`` are the label sets of the unlabelled rows
    of X (None: any label).
    """

    X: AnyArray
    labels: Known
    weight: Floats | None
    more: Rows
    home: ArrayBackend | None
    sets: LabelSet | None = None

    @cached_property
    def known(self) -> Index:
        """Positions, among the labelled rows, of those that have weight."""
        index, weight = self.labels.labeled, self.weight
        return np.arange(len(index)) if weight is None else np.flatnonzero(weight[index] > 0)

    @cached_property
    def unknown(self) -> Index:
        """Positions, among the unlabelled rows of X, of those that have weight."""
        index, weight = self.labels.unlabeled, self.weight
        return np.arange(len(index)) if weight is None else np.flatnonzero(weight[index] > 0)

    @cached_property
    def labeled(self) -> LabeledRows:
        """The labelled rows with weight: one label each, or one per class for K > 2 classes."""
        rows = self.labels.labeled[self.known]
        weight = self.weight
        X = ArrayRows(self.X).take(rows).X
        weight = None if weight is None else weight[rows]
        return LabeledRows(X, self.labels.targets[self.known], weight)

    @cached_property
    def unlabeled(self) -> Rows:
        """The unlabelled rows with weight: those of X, then the further ones."""
        rows = self.labels.unlabeled[self.unknown]
        weight = self.weight
        of_X = ArrayRows(self.X, rows, None if weight is None else weight[rows])
        return chain([of_X, self.more])

    @property
    def label_set(self) -> LabelSet | None:
        """The label sets of the unlabelled rows that have weight, in order; None: any label."""
        if self.sets is None or len(self.unknown) == len(self.labels.unlabeled):
            return self.sets
        return self.sets.take(self.unknown)

    def weight_of(self, index: Index) -> Floats | None:
        """Return the weights of rows of X; None: 1."""
        return None if self.weight is None else self.weight[index]

    def for_all_rows(self, q: Floats) -> Floats:
        """Return q for all unlabelled rows; those of weight zero get the centre of their set."""
        n = len(self.labels.unlabeled)
        present = self.unknown
        if len(present) == n:
            return q
        if self.sets is None:
            n_classes = 2 if q.ndim == 1 else q.shape[1]
            labels = np.full((n + self.more.n_rows, *q.shape[1:]), 1.0 / n_classes)
        else:
            labels = centres_of(self.sets, n + self.more.n_rows)
        labels[n:] = to_numpy(q)[len(present) :]
        labels[present] = to_numpy(q)[: len(present)]
        return labels


@dataclass(frozen=True)
class ClassRows(TrainingRows):
    """The rows of a classifier."""

    labels: KnownLabels


@dataclass(frozen=True)
class NumberRows(TrainingRows):
    """The rows of a regressor."""

    labels: KnownTargets


def read_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    X_unlabeled: Any = None,
    sample_weight: Any = None,
    *,
    possible: Any = None,
    label_bounds: Any = None,
    multi_class: bool = True,
) -> ClassRows:
    """Validate the arguments of a classifier's ``fit``.

    More than two classes raise an error, unless ``multi_class``.
    """
    check_parameters(estimator)
    home = backend_of(X)
    with locating_bad_values(X, "X"):
        dtypes: Any = DTYPES if home is None else home.dtypes
        X = validate_data(estimator, X, dtype=dtypes, accept_sparse="csr")

    # The labels, and which labels the rows without one may have.
    labels = find_labels(on_this_machine(y), X.shape[0])
    sets: LabelSet | None = None
    if possible is not None:
        labels, mask = read_possible(on_this_machine(possible), labels)
        mask = mask[labels.unlabeled]
        sets = None if mask.all() else Simplex.of_rows(mask)
    check_labels(labels, multi_class=multi_class, method=type(estimator).__name__)
    if label_bounds is not None:
        sets = read_label_bounds(on_this_machine(label_bounds), labels)

    weight = read_weight(sample_weight, X)
    more = read_unlabeled_rows(estimator, X_unlabeled, X)
    if weight is not None:
        check_every_class_has_weight(labels, weight)
    return ClassRows(X, labels, weight, more, home, sets)


def check_every_class_has_weight(labels: KnownLabels, weight: Floats | None) -> None:
    """Raise an error if all labelled rows of a class have weight zero."""
    if weight is None:
        return
    present = labels.codes[weight[labels.labeled] > 0]
    for code, name in enumerate(labels.classes.tolist()):
        if code not in present:
            raise ValueError(
                f"All labelled rows of class {name!r} have sample_weight 0: give at least one "
                "row of each class a weight above 0."
            )


def read_regression_rows(
    estimator: BaseEstimator, *arguments: Any, target_bounds: Any = None
) -> NumberRows:
    """Validate (X, y, X_unlabeled, sample_weight) and bounds for a regressor's ``fit``."""
    common = getattr(estimator, "bounds", None)
    rows = read_numbers(estimator, *arguments, bounds=common, target_bounds=target_bounds)
    if hasattr(estimator, "bounds"):
        # Unlabelled rows, those of X and further ones, must have bounds.
        targets = rows.labels
        missing = int(np.isnan(targets.bounds).any(axis=1).sum())
        missing += rows.more.n_rows if targets.common is None else 0
        if missing:
            low, high = targets.targets.min(), targets.targets.max()
            raise ValueError(
                f"{missing} unlabelled rows have no bounds: pass bounds=(low, high), a range that "
                "is certain to contain their targets, or target_bounds for every one of them. The "
                f"known targets are between {low:g} and {high:g}, but unknown ones may not be."
            )
    return rows


def read_numbers(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    X_unlabeled: Any = None,
    sample_weight: Any = None,
    *,
    bounds: Any = None,
    target_bounds: Any = None,
) -> NumberRows:
    """Validate the arguments of a regressor's ``fit``, and bounds, which are optional."""
    check_parameters(estimator)
    home = backend_of(X)
    with locating_bad_values(X, "X"):
        dtypes: Any = DTYPES if home is None else home.dtypes
        X = validate_data(estimator, X, dtype=dtypes, accept_sparse="csr")
    targets = read_targets(on_this_machine(y), X.shape[0], bounds, on_this_machine(target_bounds))
    weight = read_weight(sample_weight, X)
    more = read_unlabeled_rows(estimator, X_unlabeled, X)
    rows = NumberRows(X, targets, weight, more, home, targets.sets)
    if len(rows.known) == 0:
        raise ValueError(
            "All labelled rows have sample_weight 0: give at least one of them a weight above 0."
        )
    return rows


def read_numpy_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Validate the rows of a method that needs NumPy arrays or sparse matrices."""
    refuse_other_library(estimator, backend_of(X))
    with locating_bad_values(X, "X"):
        return validate_data(estimator, X, dtype=DTYPES, accept_sparse="csr", reset=reset)


def read_unlabeled_rows(estimator: BaseEstimator, X_unlabeled: Any, X: AnyArray) -> Rows:
    """Return further unlabelled rows, wherever they are stored."""
    if X_unlabeled is None:
        return ArrayRows(X[:0, :])
    X_unlabeled = given_rows(X_unlabeled)
    outside = open_outside(estimator, X_unlabeled)
    return outside or ArrayRows(read_unlabeled(estimator, X_unlabeled, X))


def open_outside(estimator: BaseEstimator, X: Any) -> Rows | None:
    """Return rows that are in files or on a cluster, or None if X is neither."""
    names = getattr(estimator, "feature_names_in_", None)
    return open_rows(X, None if names is None else list(names), estimator.n_features_in_)


def not_in_memory(estimator: BaseEstimator) -> ValueError:
    """Return the error of an estimator that needs its unlabelled rows in memory."""
    return ValueError(
        f"{type(estimator).__name__} needs all rows in memory, and X_unlabeled is not: load it, "
        "or use ICLSClassifier, USMClassifier or SafeClassifier."
    )


def in_memory(estimator: BaseEstimator, rows: Rows) -> Any:
    """Return further unlabelled rows as one array; raise an error if they are stored elsewhere."""
    if not isinstance(rows, ArrayRows):
        raise not_in_memory(estimator)
    return rows.array


def stack_rows(parts: Sequence[Any], dtype: Any = None) -> Any:
    """Stack parts vertically, in the format of the first: a DataFrame, an array or CSR."""
    parts = [part for part in parts if part.shape[0]] or parts[:1]
    if len(parts) == 1 and dtype is None:
        return parts[0]  # not copied
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr", dtype=dtype)
    if not hasattr(parts[0], "iloc"):
        return np.concatenate([np.asarray(part) for part in parts], dtype=dtype)
    import pandas as pd

    names = parts[0].columns
    frames = [
        p if hasattr(p, "iloc") else pd.DataFrame(np.asarray(p), columns=names) for p in parts
    ]
    return pd.concat(frames, ignore_index=True)


def as_table(X: Any, columns: AnyArray | None) -> Any:
    """Return rows as a DataFrame, if their columns have names and they are not sparse."""
    if columns is None or sparse.issparse(X):
        return X
    with needed("Models with names of columns"):
        import pandas as pd

    return pd.DataFrame(X, columns=columns)


def read_unlabeled(estimator: BaseEstimator, X_unlabeled: Any, X: AnyArray) -> AnyArray:
    """Validate further unlabelled rows against the columns of X; None means no rows."""
    X_unlabeled = given_rows(X_unlabeled)
    if X_unlabeled is None:
        return X[:0, :]
    if is_outside(X_unlabeled):
        raise not_in_memory(estimator)
    home, other = backend_of(X), backend_of(X_unlabeled)
    if (home and (home.xp, home.device)) != (other and (other.xp, other.device)):
        raise ValueError(
            f"X is an array of {home or 'NumPy'}, but X_unlabeled is one of {other or 'NumPy'}: "
            "pass both in the same library and on the same device."
        )
    check_same_columns(estimator, X_unlabeled)
    with locating_bad_values(X_unlabeled, "X_unlabeled"):
        rows = check_array(
            X_unlabeled,
            dtype=DTYPES if home is None else home.dtypes,
            accept_sparse="csr",
            input_name="X_unlabeled",
            estimator=estimator,
            ensure_min_samples=0,
        )
    check_same_columns(estimator, rows)
    return rows


def read_weight(sample_weight: Any, X: AnyArray) -> Floats | None:
    """Validate sample_weight; None stays None."""
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    sample_weight = on_this_machine(sample_weight)
    if backend_of(X) is not None:  # weights stay in NumPy, whatever the device of the rows
        X = np.zeros((X.shape[0], 1))
    weight = np.asarray(
        check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    )
    extreme = np.flatnonzero((weight > 0) & ((weight < MIN_WEIGHT) | (weight > 1 / MIN_WEIGHT)))
    if len(extreme):
        raise ValueError(
            f"sample_weight has the value {weight[extreme[0]]:.1e} in row {extreme[0]}, whose "
            "square underflows or overflows: multiply all weights by a constant, so that those "
            f"above 0 are between {MIN_WEIGHT:.0e} and {1 / MIN_WEIGHT:.0e}."
        )
    return weight


def effective_size(weight: Floats) -> float:
    """Return the effective number of rows, given their weights (Kish 1965)."""
    return float(weight.sum() ** 2 / (weight @ weight)) if len(weight) else 0.0
