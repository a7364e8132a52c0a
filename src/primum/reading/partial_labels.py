"""Validation of partial labels: the classes that a row may have, or bounds on its label.

A row with one possible class is a labelled row. A row with all of them is an unlabelled one. Any
other row is an unlabelled one, too, with a label set of its own.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from primum._typing import AnyArray, Floats, Index, Mask
from primum.labellings.sets import LabelInterval, LabelSet, Simplex
from primum.reading.arrays import refuse_masked
from primum.reading.labels import KnownLabels, is_missing, kind_of, listed


def read_possible(possible: Any, labels: KnownLabels) -> tuple[KnownLabels, Mask]:
    """Return the labels, those of rows with one possible class among them, and the mask (n, K).

    The columns of the mask are in the order of the classes.
    """
    columns = getattr(possible, "columns", None)
    # The columns of a DataFrame name the classes.
    names = labels.classes if columns is None else _as_classes(columns, labels.classes)
    mask = _as_mask(possible, labels)
    if mask.shape[1] != len(names):
        raise ValueError(
            f"possible has {mask.shape[1]} columns but y has {_counted(labels.classes)}: pass one "
            "column for every class, in this order, or a DataFrame whose columns are the names of "
            "all classes."
        )
    order = np.argsort(names)
    classes, mask = names[order], mask[:, order]
    _refuse_impossible_rows(mask)
    return _with_single_classes(labels, classes, mask), mask


def _as_mask(possible: Any, labels: KnownLabels) -> Mask:
    """Return possible as an array (n, any number of columns) of bool."""
    values = _as_array(possible, "possible")
    n_rows = len(labels.labeled) + len(labels.unlabeled)
    if values.ndim != 2 or len(values) != n_rows:
        raise ValueError(
            f"possible has shape {values.shape} but X has {n_rows} rows: pass one row for every "
            "row of X and one column for every class."
        )
    if values.dtype.kind in "biuf":
        wrong = (values != 0) & (values != 1)
    else:
        wrong = ~_each(values, _is_true_or_false)
    repair = "pass True for the classes that a row may have and False for the others"
    _refuse_items(values, wrong, "possible", repair)
    return values.astype(bool)


def _is_true_or_false(item: Any) -> bool:
    return isinstance(item, np.bool_ | Real) and item in (0, 1)


def _is_number_or_missing(item: Any) -> bool:
    return isinstance(item, Real) or is_missing(item)


def _each(values: AnyArray, accepts: Callable[[Any], bool]) -> Mask:
    return np.asarray(np.frompyfunc(accepts, 1, 1)(values.astype(object)), dtype=bool)


def _refuse_items(values: AnyArray, wrong: Mask, name: str, repair: str) -> None:
    """Raise an error that names the first of the wrong items."""
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        item = values.astype(object)[row, column]
        raise ValueError(f"{name} has the value {item!r} in row {row}, column {column}: {repair}.")


def _as_array(values: Any, name: str) -> AnyArray:
    if isinstance(values, list | tuple):  # NumPy would turn numbers beside text into text
        values = np.array(values, dtype=object)
    refuse_masked(values, name)
    try:
        array = check_array(
            values,
            dtype=None,
            ensure_2d=False,
            allow_nd=True,
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name=name,
        )
    except (TypeError, ValueError) as problem:  # sparse or complex
        reason = str(problem).splitlines()[0].rstrip(".")
        raise ValueError(
            f"{name} is not a table of values ({reason}): pass a dense array with one row for "
            "every row of X."
        ) from None
    return np.asarray(array)


def _as_classes(columns: Any, classes: AnyArray) -> AnyArray:
    """Return the names of columns as classes of the type of those in y, which are among them."""
    items = list(columns)
    names = np.array(items)
    if classes.dtype.kind == "i" and names.dtype.kind == "i" and -1 in names:
        raise ValueError(
            "possible has a column -1, which marks unknown labels in a y of integers: drop the "
            "column, or rename the class."
        )
    kinds = {_number_or_text(item) for item in [*items, *classes.tolist()]}
    if len(kinds) == 1 and names.ndim == 1:
        if len(classes) and kinds == {"number"}:
            names = names.astype(classes.dtype)
        if len(np.unique(names)) == len(items) and np.isin(classes, names).all():
            return names
    raise ValueError(
        f"The columns of possible are {listed(names)}, but y has {_counted(classes)}: name one "
        "column after every class, or pass an array whose columns are these classes."
    )


def _number_or_text(item: Any) -> str:
    kind = kind_of(item)
    return "number" if kind in ("int", "float") else kind


def _counted(classes: AnyArray) -> str:
    if len(classes) == 0:
        return "no known label"
    return f"{len(classes)} class{'es' if len(classes) > 1 else ''}, {listed(classes)}"


def _refuse_impossible_rows(mask: Mask) -> None:
    impossible = np.flatnonzero(~mask.any(axis=1))
    if len(impossible):
        others = f" and {len(impossible) - 1} more" if len(impossible) > 1 else ""
        raise ValueError(
            f"possible excludes every class in row {impossible[0]}{others}: give every row at "
            "least one class, and all of them if nothing is known about its label."
        )


def _with_single_classes(labels: KnownLabels, classes: AnyArray, mask: Mask) -> KnownLabels:
    """Return the labels of y and those of the rows with one possible class."""
    codes = np.full(len(mask), -1)
    codes[labels.labeled] = np.searchsorted(classes, labels.classes)[labels.codes]
    excluded = labels.labeled[~mask[labels.labeled, codes[labels.labeled]]]
    if len(excluded):
        name = classes[codes[excluded[0]]].item()
        raise ValueError(
            f"possible excludes class {name!r} in row {excluded[0]}, which is its label in y: "
            "correct one of the two."
        )
    single = mask.sum(axis=1) == 1
    codes[single] = mask[single].argmax(axis=1)
    labeled = np.flatnonzero(codes >= 0)
    _refuse_unlabeled_class(classes, codes[labeled])
    return KnownLabels(classes, labeled, np.flatnonzero(codes < 0), codes[labeled])


def _refuse_unlabeled_class(classes: AnyArray, codes: Index) -> None:
    missing = np.setdiff1d(np.arange(len(classes)), codes)
    if len(missing):
        raise ValueError(
            f"No row is labelled as class {classes[missing[0]].item()!r}, a column of possible: "
            "label at least one row of each class, in y or with this class as its only possible "
            "one, or drop the column."
        )


def sets_of_masks(mask: Mask) -> LabelSet | None:
    """Return the label sets of unlabelled rows; None: any label, as always with two classes."""
    return None if mask.all() else Simplex.of_rows(mask)


def read_label_bounds(label_bounds: Any, labels: KnownLabels) -> LabelSet | None:
    """Return the label sets of the unlabelled rows, given bounds on the share of the second class.

    None: [0, 1] for all of them.
    """
    if len(labels.classes) > 2:
        raise ValueError(
            f"label_bounds are for two classes, but there are {_counted(labels.classes)}: use "
            "possible, which takes the classes that a row may have."
        )
    bounds = _as_array(label_bounds, "label_bounds")
    n_rows = len(labels.labeled) + len(labels.unlabeled)
    if bounds.shape != (n_rows, 2):
        raise ValueError(
            f"label_bounds has shape {bounds.shape} but X has {n_rows} rows: pass a lower and an "
            "upper bound for every row of X, or NaN twice where there is none."
        )
    if bounds.dtype.kind not in "biuf":
        bounds = _as_numbers(bounds)
    missing = np.isnan(bounds)
    one_only = missing[:, 0] != missing[:, 1]
    _refuse_bounds(bounds, one_only, "only one of two bounds", "pass both, or NaN twice")
    bounds = np.where(missing, [0.0, 1.0], bounds)
    outside = (bounds.min(axis=1) < 0) | (bounds.max(axis=1) > 1)
    _refuse_bounds(bounds, outside, "a bound outside [0, 1]", "pass shares of the second class")
    _refuse_bounds(bounds, bounds[:, 0] > bounds[:, 1], "lower > upper", "pass the lower one first")
    _refuse_contradicted_labels(bounds, labels)
    of_unlabeled = bounds[labels.unlabeled]
    return None if (of_unlabeled == [0.0, 1.0]).all() else LabelInterval.of_rows(of_unlabeled)


def _as_numbers(bounds: AnyArray) -> Floats:
    """Return bounds of any type as numbers, missing ones as NaN."""
    wrong = ~_each(bounds, _is_number_or_missing)
    _refuse_items(bounds, wrong, "label_bounds", "pass numbers from 0 to 1, or NaN twice")
    return np.where(_each(bounds, is_missing), np.nan, bounds).astype(np.float64)


def _refuse_bounds(bounds: Floats, wrong: Mask, what: str, repair: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"label_bounds has {what} in row {row}, {bounds[row].tolist()}: {repair}.")


def _refuse_contradicted_labels(bounds: Floats, labels: KnownLabels) -> None:
    low, high = bounds[labels.labeled].T
    excluded = np.flatnonzero((labels.codes < low) | (labels.codes > high))
    if len(excluded):
        row, name = labels.labeled[excluded[0]], labels.classes[labels.codes[excluded[0]]].item()
        raise ValueError(
            f"label_bounds has {bounds[row].tolist()} in row {row}, which excludes its label "
            f"{name!r}: pass NaN for labelled rows, or mark the label as unknown in y."
        )
