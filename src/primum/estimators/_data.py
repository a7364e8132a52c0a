"""Validation of the arguments of ``fit``, split into labelled and unlabelled rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_array, validate_data

from primum._sklearn import (
    ARRAY_API,
    check_parameters,
    check_sample_weight,
    get_namespace_and_device,
)
from primum._typing import AnyArray, Floats, Index
from primum.estimators._labels import KnownLabels, check_labels, find_labels
from primum.estimators._partial import read_label_bounds, read_possible, sets_of_masks
from primum.estimators._targets import KnownTargets, read_targets
from primum.estimators.unlabeled_rows import given_rows
from primum.labellings import LabeledRows, LabelSet
from primum.rows import (
    ArrayRows,
    Rows,
    chain,
    first_non_finite,
    is_outside,
    open_rows,
    to_numpy,
)

DTYPES = (np.float64, np.float32)
# Within this and its reciprocal, the product of two weights neither underflows nor overflows.
LEAST_WEIGHT = 1e-150

# What y contains: classes, or numbers.
Known = TypeVar("Known", KnownLabels, KnownTargets)


@dataclass(frozen=True)
class TrainingData(Generic[Known]):
    """Labelled and unlabelled rows; rows of weight zero are left out.

    Labels, known or not, are one number per row for two classes and for a regression, and one per
    class for K > 2. ``known`` is the content of y. There are ``n_unlabeled`` unlabelled rows in the
    user's order, first those of X, then the ``n_more`` of X_unlabeled; ``present`` indexes those of
    X that have weight (None: all). ``home`` is the array library and device of the rows if they are
    not NumPy arrays. ``sets`` are the label sets of the unlabelled rows of X, of weight zero or not
    (None: any label).
    """

    known: Known
    labeled: LabeledRows
    unlabeled: Rows
    present: Index | None
    n_unlabeled: int
    n_more: int
    home: "ArrayBackend | None" = None
    sets: LabelSet | None = None

    @property
    def label_set(self) -> LabelSet | None:
        """The label sets of the unlabelled rows that have weight, in order; None: any label."""
        if self.sets is None or self.present is None:
            return self.sets
        return self.sets.take(self.present)

    @property
    def classes(self: "TrainingData[KnownLabels]") -> AnyArray:
        """The classes."""
        return self.known.classes

    def for_all_rows(self, q: Floats) -> Floats:
        """Return q for all unlabelled rows; those of weight zero have the centre of their set."""
        if self.present is None:
            return q
        if self.sets is None:
            n_classes = 2 if q.ndim == 1 else q.shape[1]
            labels = np.full((self.n_unlabeled, *q.shape[1:]), 1.0 / n_classes)
        else:
            labels = self.sets.centres(self.n_unlabeled)
        labels[self.n_unlabeled - self.n_more :] = to_numpy(q)[len(self.present) :]
        labels[self.present] = to_numpy(q)[: len(self.present)]
        return labels


@dataclass(frozen=True)
class FitArguments(Generic[Known]):
    """The validated arguments of ``fit``: X, its labels and weights (None: 1), and further rows.

    ``home`` is the array library and device of X if it is not a NumPy array. ``sets`` are the label
    sets of the unlabelled rows of X (None: any label).
    """

    X: AnyArray
    labels: Known
    weight: Floats | None
    more: Rows
    home: "ArrayBackend | None"
    sets: LabelSet | None = None

    @property
    def known(self) -> Index:
        """Positions, among the labelled rows, of those that have weight."""
        return _with_weight(self.labels.labeled, self.weight)

    @property
    def unknown(self) -> Index:
        """Positions, among the unlabelled rows of X, of those that have weight."""
        return _with_weight(self.labels.unlabeled, self.weight)

    def weight_of(self, index: Index) -> Floats | None:
        """Return the weights of rows of X; None: 1."""
        return None if self.weight is None else self.weight[index]


def read_arguments(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    X_unlabeled: Any = None,
    sample_weight: Any = None,
    *,
    possible: Any = None,
    label_bounds: Any = None,
) -> FitArguments[KnownLabels]:
    """Validate the arguments of a classifier's ``fit``.

    More than two classes raise an error, unless the estimator has set ``_several_classes``.
    """

    def read(y: Any, n_rows: int) -> tuple[KnownLabels, LabelSet | None]:
        return _read_labels(estimator, y, n_rows, possible, label_bounds)

    given = _read_arguments(estimator, X, y, X_unlabeled, sample_weight, read)
    check_every_class_has_weight(given.labels, given.weight)
    return given


def _read_arguments(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    X_unlabeled: Any,
    sample_weight: Any,
    read: Callable[[Any, int], tuple[Known, LabelSet | None]],
) -> FitArguments[Known]:
    """Validate the arguments of ``fit``.

    ``read`` returns the content of y, given the number of rows, and the label sets of the rows
    without a label.
    """
    check_parameters(estimator)
    home = backend_of(X)
    with locating_bad_values(X, "X"):
        X = validate_data(
            estimator, X, dtype=DTYPES if home is None else home.dtypes, accept_sparse="csr"
        )
    labels, sets = read(on_this_machine(y), X.shape[0])
    weight = read_weight(sample_weight, X)
    more = read_unlabeled_rows(estimator, X_unlabeled, X)
    return FitArguments(X, labels, weight, more, home, sets)


def _read_labels(
    estimator: BaseEstimator, y: Any, n_rows: int, possible: Any, label_bounds: Any
) -> tuple[KnownLabels, LabelSet | None]:
    """Return the labels, and the label sets of the rows without one, given partial labels."""
    labels, sets = find_labels(y, n_rows), None
    if possible is not None:
        labels, mask = read_possible(on_this_machine(possible), labels)
        sets = sets_of_masks(mask[labels.unlabeled])
    several = getattr(estimator, "_several_classes", False)
    check_labels(labels, multi_class=several, method=type(estimator).__name__)
    if label_bounds is not None:
        sets = read_label_bounds(on_this_machine(label_bounds), labels)
    return labels, sets


def read_training_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    X_unlabeled: Any = None,
    sample_weight: Any = None,
    **partial: Any,
) -> TrainingData[KnownLabels]:
    """Validate the arguments of a classifier's ``fit``, partial labels too, and split the rows."""
    return _split(read_arguments(estimator, X, y, X_unlabeled, sample_weight, **partial))


def read_regression_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    X_unlabeled: Any = None,
    sample_weight: Any = None,
    target_bounds: Any = None,
) -> TrainingData[KnownTargets]:
    """Validate the arguments of a regressor's ``fit`` and split the rows."""
    return _split(
        read_regression_arguments(estimator, X, y, X_unlabeled, sample_weight, target_bounds)
    )


def read_regression_arguments(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    X_unlabeled: Any = None,
    sample_weight: Any = None,
    target_bounds: Any = None,
) -> FitArguments[KnownTargets]:
    """Validate the arguments of a regressor's ``fit``."""

    def read(y: Any, n_rows: int) -> tuple[KnownTargets, LabelSet]:
        common = getattr(estimator, "bounds", None)
        targets = read_targets(y, n_rows, common, on_this_machine(target_bounds))
        return targets, targets.sets

    given = _read_arguments(estimator, X, y, X_unlabeled, sample_weight, read)
    if len(given.known) == 0:
        raise ValueError(
            "All labelled rows have sample_weight 0: give at least one of them a weight above 0."
        )
    return given


def _split(given: FitArguments[Known]) -> TrainingData[Known]:
    """Return the labelled and the unlabelled rows that have weight."""
    labels, more, present = given.labels, given.more, given.unknown
    known, unknown = labels.labeled[given.known], labels.unlabeled[present]
    return TrainingData(
        known=labels,
        labeled=LabeledRows(
            ArrayRows(given.X).take(known).X, labels.targets[given.known], given.weight_of(known)
        ),
        unlabeled=chain([ArrayRows(given.X, unknown, given.weight_of(unknown)), more]),
        present=present if len(unknown) < len(labels.unlabeled) else None,
        n_unlabeled=len(labels.unlabeled) + more.n_rows,
        n_more=more.n_rows,
        home=given.home,
        sets=given.sets,
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


def read_unlabeled_rows(estimator: BaseEstimator, X_unlabeled: Any, X: AnyArray) -> Rows:
    """Return further unlabelled rows, wherever they are stored."""
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
        f"{type(estimator).__name__} stores one label per row, but X_unlabeled is not in memory: "
        "load it, or use ICLSClassifier or USMClassifier."
    )


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


def read_unlabeled(estimator: BaseEstimator, X_unlabeled: Any, X: AnyArray) -> AnyArray:
    """Validate further unlabelled rows against the columns of X; None means no rows."""
    X_unlabeled = given_rows(X_unlabeled)
    if X_unlabeled is None:
        return X[:0, :]
    if is_outside(X_unlabeled):
        raise not_in_memory(estimator)
    home = backend_of(X)
    _check_same_home(home, backend_of(X_unlabeled))
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


def _check_same_home(home: ArrayBackend | None, other: ArrayBackend | None) -> None:
    """Raise an error if further rows are in another library or on another device than X."""
    if home is None and other is None:
        return
    if home is None or other is None or (home.xp, home.device) != (other.xp, other.device):
        raise ValueError(
            f"X is an array of {home or 'NumPy'}, but X_unlabeled is one of {other or 'NumPy'}: "
            "pass both in the same library and on the same device."
        )


@contextmanager
def locating_bad_values(X: Any, name: str) -> Iterator[None]:
    """Add the place of the first non-finite or non-numeric value to a validation error."""
    try:
        yield
    except ValueError as problem:
        if "could not convert string" in str(problem):
            _refuse_text(X, name, problem)
        place = _first_non_finite(X) if "contains" in str(problem) else None
        if place is None:
            raise
        row, column, value = place
        raise ValueError(
            f"Input {name} contains {'NaN' if np.isnan(value) else 'infinity'} in row {row}, "
            f"column {column}: drop such rows or impute the values, for example with SimpleImputer."
        ) from None


def _refuse_text(X: Any, name: str, problem: ValueError) -> None:
    """Name the first column of a DataFrame that cannot be converted to numbers."""
    for column in getattr(X, "columns", ()):
        try:
            np.asarray(X[column]).astype(np.float64)
        except ValueError:
            raise ValueError(
                f"Input {name} has text in column {column!r} ({problem}): encode it as numbers, "
                "for example with a OneHotEncoder in a ColumnTransformer, or drop the column."
            ) from None
        except TypeError:  # neither text nor numbers: not the cause of the error
            continue


def _first_non_finite(X: Any) -> tuple[int, Any, float] | None:
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


def read_weight(sample_weight: Any, X: AnyArray) -> Floats | None:
    """Validate sample_weight; None stays None."""
    if sample_weight is None:
        return None
    sample_weight = on_this_machine(sample_weight)
    if backend_of(X) is not None:  # weights stay in NumPy, whatever the device of the rows
        X = np.zeros((X.shape[0], 1))
    weight = np.asarray(
        check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    )
    extreme = np.flatnonzero((weight > 0) & ((weight < LEAST_WEIGHT) | (weight > 1 / LEAST_WEIGHT)))
    if len(extreme):
        raise ValueError(
            f"sample_weight has the value {weight[extreme[0]]:.1e} in row {extreme[0]}, whose "
            "square underflows or overflows: multiply all weights by a constant, so that those "
            f"above 0 are between {LEAST_WEIGHT:.0e} and {1 / LEAST_WEIGHT:.0e}."
        )
    return weight


def check_every_class_has_weight(labels: KnownLabels, weight: Floats | None) -> None:
    """Raise an error if all labelled rows of a class have weight zero."""
    if weight is None:
        return
    present = labels.codes[_with_weight(labels.labeled, weight)]
    for code, name in enumerate(labels.classes.tolist()):
        if code not in present:
            raise ValueError(
                f"All labelled rows of class {name!r} have sample_weight 0: give at least one "
                "row of each class a weight above 0."
            )


def _with_weight(index: Index, weight: Floats | None) -> Index:
    """Return the positions in index whose rows have a weight above zero."""
    return np.arange(len(index)) if weight is None else np.flatnonzero(weight[index] > 0)
