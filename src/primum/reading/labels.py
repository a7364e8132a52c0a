"""Validation of labels: classes that are known, unknown, or known in part.

Unknown labels are -1 in a y of integers, None, NaN or pd.NA in any other, and the masked entries of
a masked array. Nothing is guessed: an ambiguous y raises an error that says what to do.

Labels can also be measurements, such as prices, rather than classes: ``is_numeric_target`` has the
rule. Numbers that the rule mistakes can be written as text.

Partial labels are the classes that a row may have, or bounds on its label. A row with one possible
class is labelled. A row that may have any class is unlabelled. All other rows are unlabelled too,
each with a label set of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array

from primum._typing import AnyArray, Floats, Index, Mask
from primum.labellings.sets import LabelInterval, LabelSet

# More different whole numbers than this may be measurements; there are seldom that many classes.
MAX_CODES = 20


def is_numeric_target(values: AnyArray, counts: AnyArray) -> bool:
    """Return whether numbers, given as sorted values and their counts, are a numeric target.

    They are if there are more than two different ones and some have a fraction. Whole numbers are
    a numeric target if all of these hold:

    * there are more than MAX_CODES different ones,
    * more than half of the different ones occur only once, so no class can be learnt from them,
    * fewer than half of the whole numbers between the smallest and the largest occur.

    Class codes, years and ratings are not: they are few, or repeat, or have few gaps.
    """
    if values.dtype.kind not in "iuf" or len(values) < 3:
        return False
    if values.dtype.kind == "f" and (values % 1 != 0).any():
        return True
    span = float(values[-1]) - float(values[0]) + 1.0
    many, single = len(values) > MAX_CODES, np.mean(counts == 1) > 0.5
    return bool(many and single and len(values) < span / 2)


# Advice for Python, and for tables, where text of digits is read as numbers.
AS_TEXT, WITH_A_LETTER = "convert them to text, as y.astype(str) does", "put a letter before them"


def refuse_numeric_target(values: Any, where: str, way_round: str) -> None:
    """Raise an error if known labels, all of them numbers, are a numeric target.

    ``where`` begins the sentence, and ``way_round`` says how to turn numbers into classes.
    """
    numbers, counts = np.unique(np.asarray(values), return_counts=True)
    if not is_numeric_target(numbers, counts):
        return
    low, high = (np.format_float_positional(value, trim="-") for value in numbers[[0, -1]])
    raise ValueError(
        f"{where} is a numeric target ({len(numbers)} different numbers from {low} to {high} in "
        f"{counts.sum()} labelled rows), which a classifier cannot learn: predict numbers with "
        "primum.compare, SafeRegressor or another regressor or, if the numbers are codes of "
        "classes, "
        f"{way_round}."
    )


UNKNOWN = "-1 in a y of integers; None, NaN or pd.NA in any other"


class LabelIndices:
    """Which rows of X have a label, and which have none."""

    labeled: Index
    unlabeled: Index

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return len(self.labeled) + len(self.unlabeled)

    def unlabeled_with(self, n_more: int) -> Index:
        """Return the rows without a label, with further ones after all others."""
        return np.append(self.unlabeled, np.arange(self.n_rows, self.n_rows + n_more))

    def unlabeled_without(self, kept: Mask) -> Index:
        """Return the rows without a label if only some of the labelled ones keep theirs."""
        return np.sort(np.append(self.unlabeled, self.labeled[~kept]))


@dataclass(frozen=True)
class KnownLabels(LabelIndices):
    """The content of y: classes, indices of labelled and unlabelled rows, labels as 0, 1, ..."""

    classes: AnyArray
    labeled: Index
    unlabeled: Index
    codes: Index

    @property
    def counts(self) -> Index:
        """The number of labelled rows of every class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def targets(self) -> Floats:
        """The labels as least squares fits them, see ``targets_of``."""
        return targets_of(self.codes, len(self.classes))

    @property
    def values(self) -> AnyArray:
        """The known labels by name."""
        return self.classes[self.codes]

    @property
    def strata(self) -> Index:
        """The class of every labelled row: folds have about the same share of each."""
        return self.codes

    def with_unlabeled(self, n_more: int) -> "KnownLabels":
        """Return these labels, with further unlabelled rows after all others."""
        return KnownLabels(self.classes, self.labeled, self.unlabeled_with(n_more), self.codes)

    def keeping(self, kept: Mask) -> "KnownLabels":
        """Return the labels of some of the labelled rows; the others count as unlabelled."""
        unlabeled = self.unlabeled_without(kept)
        return KnownLabels(self.classes, self.labeled[kept], unlabeled, self.codes[kept])


def targets_of(codes: Index, n_classes: int) -> Floats:
    """Return class indices as 0.0 and 1.0 for two classes, and as one-hot rows for more."""
    if n_classes <= 2:
        return codes.astype(np.float64)
    one_hot = np.zeros((len(codes), n_classes))
    one_hot[np.arange(len(codes)), codes] = 1.0
    return one_hot


def read_labels(
    y: Any,
    n_rows: int,
    *,
    multi_class: bool = False,
    one_class: bool = False,
    method: str = "this method",
) -> KnownLabels:
    """Return the content of y for n_rows rows; raise an error if nothing can be learnt from it.

    More than two classes raise an error that names the method, unless ``multi_class``; a single
    class does, unless ``one_class``.
    """
    labels = find_labels(y, n_rows, to_learn=not one_class)
    check_labels(labels, multi_class=multi_class, one_class=one_class, method=method)
    return labels


def find_labels(y: Any, n_rows: int, *, to_learn: bool = True) -> KnownLabels:
    """Return the content of y for n_rows rows, even if it has too few or too many classes.

    Numbers that are not classes raise an error. Without ``to_learn``, whole numbers always count as
    classes: those of a few rows to score may all differ.
    """
    values, unknown = _split_unknown(y)
    if len(values) != n_rows:
        raise ValueError(
            f"X has {n_rows} rows but y has {len(values)} labels: pass one label for every row "
            f"of X, and mark unknown ones ({UNKNOWN})."
        )
    labeled, unlabeled = (~unknown).nonzero()[0], unknown.nonzero()[0]
    if len(labeled) == 0:
        return KnownLabels(values[:0], labeled, unlabeled, labeled)
    labels = values if len(unlabeled) == 0 else values[labeled]
    if labels.dtype.kind in "bui":
        # Most fits have two integer classes. For them scikit-learn's check always passes, but it
        # takes longer than fitting a small linear model, and so does sorting.
        low, high = labels.min(), labels.max()
        second = labels == high
        if low != high and (second | (labels == low)).all():
            classes = np.array([low, high], dtype=labels.dtype)
            return KnownLabels(classes, labeled, unlabeled, second.astype(np.intp))
    if to_learn and labels.dtype.kind in "iuf":
        refuse_numeric_target(labels, "Unknown label type: continuous. y", AS_TEXT)
    if labels.dtype.kind not in "buiU":  # those always pass, though perhaps with a warning
        check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return KnownLabels(classes, labeled, unlabeled, codes)


def check_labels(
    labels: KnownLabels, *, multi_class: bool, one_class: bool = False, method: str
) -> None:
    """Raise an error if nothing can be learnt from labels, as ``read_labels`` does."""
    classes = labels.classes
    n_labeled = len(labels.labeled)
    n_unlabeled = len(labels.unlabeled)
    if n_labeled == 0:
        raise ValueError(
            f"No row is labelled: all {n_unlabeled} labels in y are marked as unknown ({UNKNOWN}). "
            "Label at least one row of each class."
        )
    if len(classes) == 1 and not one_class:
        hint = " (-1 in a y of integers means unknown; rename a class called -1)"
        raise ValueError(
            f"There is only one class among the {n_labeled} labelled rows, {_first_of(classes)}"
            f"{hint if classes.dtype.kind == 'i' and n_unlabeled else ''}: "
            "label at least one row of each class."
        )
    minus_one = classes.dtype.kind == "f" and -1.0 in classes
    if len(classes) > 2 and not multi_class:
        hint = " (in a y of floats an unknown label is NaN, and -1.0 is a class)"
        remark = ""
        # Classes -1, 0 and 1 that a meta-estimator may have re-encoded.
        if n_unlabeled == 0 and classes.dtype.kind in "iu" and classes.tolist() == [0, 1, 2]:
            remark = (
                " If y marked unknown labels with -1, the meta-estimator that called fit has "
                "turned them into class 0, as VotingClassifier, StackingClassifier, "
                "BaggingClassifier and cross_val_predict do: pass it the labelled rows, and the "
                "others as X_unlabeled."
            )
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{method} separates two classes but found {len(classes)} classes in y, "
            f"{_first_of(classes)}{hint if minus_one else ''}; keep two of them or merge them into "
            "two, or use ICLSClassifier, L2SVMClassifier or SelfLearningClassifier for several, "
            f"and mark unknown labels as -1 (integers) or None.{remark}"
        )
    if len(classes) > 2 and n_unlabeled == 0 and not one_class and minus_one:
        raise ValueError(
            f"y has {len(classes)} classes, {_first_of(classes)}: in a y of floats an unknown "
            "label is NaN, and -1.0 is a class. Mark unknown labels with NaN, or, if -1.0 is a "
            "class, convert y to strings."
        )


def _first_of(items: AnyArray, limit: int = 5) -> str:
    """Return the first items, for a message."""
    shown = ", ".join(repr(item) for item in items[:limit].tolist())
    return shown + (", ..." if len(items) > limit else "")


def _split_unknown(y: Any) -> tuple[AnyArray, Mask]:
    """Return (labels, mask of the unknown ones); the labels have one dtype."""
    y = as_one_dimensional(y)
    if y.dtype.kind == "f":
        refuse_infinity(y)
        return y, np.isnan(y)
    if y.dtype.kind == "i":
        return y, y == -1
    if y.dtype.kind == "U":
        _refuse_unknown_as_text(y)
    if y.dtype.kind != "O":
        return y, np.isnat(y) if y.dtype.kind in "mM" else np.zeros(len(y), dtype=bool)
    unknown = np.fromiter((is_missing(item) for item in y), dtype=bool, count=len(y))
    labels = y[~unknown]
    if len(labels) == 0:
        return y.copy(), unknown
    kinds = {kind_of(item) for item in labels}
    if kinds == {"int"} and any(item == -1 for item in labels):
        if unknown.any():
            raise ValueError(
                "y has two markers of unknown labels, -1 and None, NaN or a mask: use only one, so "
                "that a class called -1 cannot be mistaken for an unknown label."
            )
        y = y.astype(np.int64)
        return y, y == -1
    if len(kinds) > 1 and kinds != {"int", "float"}:
        raise ValueError(
            f"y mixes labels of different types, {' and '.join(sorted(kinds))}: convert all known "
            f"labels to one type, and mark unknown ones ({UNKNOWN})."
        )
    if kinds == {"str"}:
        _refuse_unknown_as_text(labels)
    plain = np.array(labels.tolist())
    typed = np.zeros(len(y), dtype=plain.dtype if plain.ndim == 1 else object)
    typed[~unknown] = labels
    refuse_infinity(typed)
    return typed, unknown


def as_one_dimensional(y: Any, name: str = "label", unknown: str = UNKNOWN) -> AnyArray:
    """Return y as an array, without letting NumPy turn None or NaN into strings.

    ``name`` is what y contains, and ``unknown`` how unknown values are marked.
    """
    if y is None:
        raise ValueError(
            f"This estimator requires y to be passed, but the target y is None; pass one {name} "
            f"for every row, and mark unknown ones ({unknown})."
        )
    if getattr(y, "ndim", 1) == 1 and hasattr(y, "isna"):  # pandas, without importing it
        plain = isinstance(y.dtype, np.dtype) and y.dtype.kind in "iufb"
        return np.asarray(y.to_numpy() if plain else y.to_numpy(dtype=object))
    if isinstance(y, np.ma.MaskedArray):  # masked entries are None
        mask, y = np.ma.getmaskarray(y), np.asarray(y)
        if mask.any():
            y = y.astype(object)
            y[mask] = None
    if isinstance(y, (list, tuple)) and not any(np.ndim(item) for item in y[:1]):
        one_dimensional = np.empty(len(y), dtype=object)
        one_dimensional[:] = y
        return one_dimensional
    if isinstance(y, np.ndarray) and y.ndim == 1:
        return y
    return np.asarray(column_or_1d(y, warn=True))


def is_missing(item: Any) -> bool:
    """Return whether an item of y marks an unknown value, as None, NaN and pd.NA do."""
    if item is None or item is np.ma.masked or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, (float, np.floating)) and bool(np.isnan(item))


def kind_of(item: Any) -> str:
    """Return the type of a label, the same for Python's and NumPy's."""
    for kind, types in {
        "bool": (bool, np.bool_),
        "int": (int, np.integer),
        "float": (float, np.floating),
        "str": (str,),
    }.items():
        if isinstance(item, types):
            return kind
    return type(item).__name__


def refuse_infinity(y: AnyArray, name: str = "label") -> None:
    """Raise an error if y contains infinity."""
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError(
            "Input y contains infinity or a value too large for dtype('float64'); "
            f"use NaN for an unknown {name}."
        )


def _refuse_unknown_as_text(y: AnyArray) -> None:
    """Raise an error for text that most likely marks an unknown label."""
    for text in ("", "-1", "nan", "None", "<NA>"):
        if text in y:
            raise ValueError(
                f'y contains strings, and "{text}" is one of them: in a y of strings, mark unknown '
                f'labels with None or NaN (for example y = [None if label == "{text}" else label '
                f'for label in y]); if "{text}" is a class, rename it.'
            )


def read_possible(possible: Any, labels: KnownLabels) -> tuple[KnownLabels, Mask]:
    """Return the labels, including those of rows with one possible class, and the mask (n, K).

    The columns of the mask are in the order of the classes.
    """
    # The columns of a DataFrame name the classes, which include those of y and have their type.
    columns = getattr(possible, "columns", None)
    names = labels.classes
    if columns is not None:
        items = list(columns)
        names = np.array(items)
        if labels.classes.dtype.kind == "i" and names.dtype.kind == "i" and -1 in names:
            raise ValueError(
                "possible has a column -1, which marks unknown labels in a y of integers: drop the "
                "column, or rename the class."
            )
        kinds = {kind_of(item) for item in [*items, *labels.classes.tolist()]}
        kinds = {"number" if kind in ("int", "float") else kind for kind in kinds}
        fits = len(kinds) == 1 and names.ndim == 1
        if fits and len(labels.classes) and kinds == {"number"}:
            names = names.astype(labels.classes.dtype)
        if not (
            fits and len(np.unique(names)) == len(items) and np.isin(labels.classes, names).all()
        ):
            raise ValueError(
                f"The columns of possible are {_first_of(names)}, but y has "
                f"{_counted(labels.classes)}: name one column after every class, or pass an array "
                "whose columns are these classes."
            )

    # The mask: True and False, or 1 and 0, for every row and class.
    values = _as_array(possible, "possible")
    if values.ndim != 2 or len(values) != labels.n_rows:
        raise ValueError(
            f"possible has shape {values.shape} but X has {labels.n_rows} rows: pass one row for "
            "every row of X and one column for every class."
        )
    if values.dtype.kind in "biuf":
        wrong = (values != 0) & (values != 1)
    else:
        wrong = ~_each(values, lambda item: isinstance(item, np.bool_ | Real) and item in (0, 1))
    repair = "pass True for the classes that a row may have and False for the others"
    _refuse_items(values, wrong, "possible", repair)
    if values.shape[1] != len(names):
        raise ValueError(
            f"possible has {values.shape[1]} columns but y has {_counted(labels.classes)}: pass "
            "one column for every class, in this order, or a DataFrame whose columns are the names "
            "of all classes."
        )
    order = np.argsort(names)
    classes, mask = names[order], values.astype(bool)[:, order]
    impossible = np.flatnonzero(~mask.any(axis=1))
    if len(impossible):
        others = f" and {len(impossible) - 1} more" if len(impossible) > 1 else ""
        raise ValueError(
            f"possible excludes every class in row {impossible[0]}{others}: give every row at "
            "least one class, and all of them if nothing is known about its label."
        )

    # The labels of y, and those of the rows with one possible class.
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
    missing = np.setdiff1d(np.arange(len(classes)), codes[labeled])
    if len(missing):
        raise ValueError(
            f"No row is labelled as class {classes[missing[0]].item()!r}, a column of possible: "
            "label at least one row of each class, in y or with this class as its only possible "
            "one, or drop the column."
        )
    return KnownLabels(classes, labeled, np.flatnonzero(codes < 0), codes[labeled]), mask


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


def _counted(classes: AnyArray) -> str:
    if len(classes) == 0:
        return "no known label"
    return f"{len(classes)} class{'es' if len(classes) > 1 else ''}, {_first_of(classes)}"


def read_label_bounds(label_bounds: Any, labels: KnownLabels) -> LabelSet | None:
    """Return the label sets of the unlabelled rows, given bounds on the share of the second class.

    None means [0, 1] for all of them.
    """
    if len(labels.classes) > 2:
        raise ValueError(
            f"label_bounds are for two classes, but there are {_counted(labels.classes)}: use "
            "possible, which takes the classes that a row may have."
        )
    bounds = _as_array(label_bounds, "label_bounds")
    if bounds.shape != (labels.n_rows, 2):
        raise ValueError(
            f"label_bounds has shape {bounds.shape} but X has {labels.n_rows} rows: pass a lower "
            "and an upper bound for every row of X, or NaN twice where there is none."
        )
    if bounds.dtype.kind not in "biuf":  # numbers, missing ones as NaN
        wrong = ~_each(bounds, lambda item: isinstance(item, Real) or is_missing(item))
        _refuse_items(bounds, wrong, "label_bounds", "pass numbers from 0 to 1, or NaN twice")
        bounds = np.where(_each(bounds, is_missing), np.nan, bounds).astype(np.float64)
    missing = np.isnan(bounds)
    one_only = missing[:, 0] != missing[:, 1]
    _refuse_bounds(bounds, one_only, "only one of two bounds", "pass both, or NaN twice")
    bounds = np.where(missing, [0.0, 1.0], bounds)
    outside = (bounds.min(axis=1) < 0) | (bounds.max(axis=1) > 1)
    _refuse_bounds(bounds, outside, "a bound outside [0, 1]", "pass shares of the second class")
    _refuse_bounds(bounds, bounds[:, 0] > bounds[:, 1], "lower > upper", "pass the lower one first")
    low, high = bounds[labels.labeled].T
    excluded = np.flatnonzero((labels.codes < low) | (labels.codes > high))
    if len(excluded):
        row = labels.labeled[excluded[0]]
        name = labels.classes[labels.codes[excluded[0]]].item()
        raise ValueError(
            f"label_bounds has {bounds[row].tolist()} in row {row}, which excludes its label "
            f"{name!r}: pass NaN for labelled rows, or mark the label as unknown in y."
        )
    of_unlabeled = bounds[labels.unlabeled]
    return None if (of_unlabeled == [0.0, 1.0]).all() else LabelInterval.of_rows(of_unlabeled)


def _refuse_bounds(bounds: Floats, wrong: Mask, flaw: str, repair: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"label_bounds has {flaw} in row {row}, {bounds[row].tolist()}: {repair}.")


def refuse_masked(values: Any, name: str) -> None:
    """Raise an error if an array has masked entries: NumPy would read the values under the mask."""
    if isinstance(values, np.ma.MaskedArray) and (mask := np.ma.getmaskarray(values)).any():
        place = np.argwhere(mask)[0].tolist()
        where = "".join(f"{what} {i}" for what, i in zip((" row", ", column"), place, strict=False))
        raise ValueError(
            f"{name} has {mask.sum()} masked entries, first in{where}: a mask marks unknown labels "
            "in y and is not read elsewhere. Impute the values, or drop these rows."
        )
