"""Validation of a y in which some labels are unknown.

Unknown labels are -1 in a y of integers, None, NaN or pd.NA in any other, and the masked entries of
a masked array. Nothing is guessed: an ambiguous y raises an error that says what to do.

Labels can also be measurements, such as prices, rather than classes (``primum.reading.kinds`` has
the rule). Numbers that the rule mistakes can be written as text.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from primum._typing import AnyArray, Floats, Index, Mask
from primum.reading.kinds import is_numeric_target

# In Python, and in a table, where text of digits only is read as numbers.
AS_TEXT, WITH_A_LETTER = "convert them to text, as y.astype(str) does", "put a letter before them"


def refuse_numeric_target(values: Any, where: str, way_round: str) -> None:
    """Raise an error if known labels, all of them numbers, are a numeric target.

    ``where`` begins the sentence, and ``way_round`` says how to make classes of numbers.
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


@dataclass(frozen=True)
class KnownLabels:
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
    def strata(self) -> Index:
        """The class of every labelled row: folds have about the same share of each."""
        return self.codes

    def with_unlabeled(self, n_more: int) -> "KnownLabels":
        """Return the same labels, with further rows after the others that have none."""
        n_rows = len(self.labeled) + len(self.unlabeled)
        unlabeled = np.append(self.unlabeled, np.arange(n_rows, n_rows + n_more))
        return KnownLabels(self.classes, self.labeled, unlabeled, self.codes)

    def keeping(self, kept: Mask) -> "KnownLabels":
        """Return the labels of some of the labelled rows; the others count as unlabelled."""
        unlabeled = np.sort(np.append(self.unlabeled, self.labeled[~kept]))
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
    """Return the content of y for n_rows rows; raise an error if it cannot be learnt from.

    More than two classes raise an error, which names the method, unless multi_class; a single one
    does unless one_class.
    """
    labels = find_labels(y, n_rows, to_learn=not one_class)
    check_labels(labels, multi_class=multi_class, one_class=one_class, method=method)
    return labels


def find_labels(y: Any, n_rows: int, *, to_learn: bool = True) -> KnownLabels:
    """Return the content of y for n_rows rows, even if it has too few or too many classes.

    Numbers that are not classes raise an error. Whether whole ones are is judged only if classes
    are learnt from them: those of a few rows to score may all differ.
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
    known = values if len(unlabeled) == 0 else values[labeled]
    classes, codes = _classes_and_codes(known, to_learn=to_learn)
    return KnownLabels(classes, labeled, unlabeled, codes)


def check_labels(
    labels: KnownLabels, *, multi_class: bool, one_class: bool = False, method: str
) -> None:
    """Raise an error if labels cannot be learnt from, as ``read_labels`` does."""
    classes, n_labeled, n_unlabeled = labels.classes, len(labels.labeled), len(labels.unlabeled)
    if n_labeled == 0:
        raise ValueError(
            f"No row is labelled: all {n_unlabeled} labels in y are marked as unknown ({UNKNOWN}). "
            "Label at least one row of each class."
        )
    if len(classes) == 1 and not one_class:
        _refuse_one_class(classes, n_labeled, n_unlabeled)
    if len(classes) > 2 and not multi_class:
        _refuse_many_classes(classes, n_unlabeled, method)
    if len(classes) > 2 and n_unlabeled == 0 and not one_class:
        _refuse_minus_one_as_float(classes)


def _classes_and_codes(known: AnyArray, *, to_learn: bool) -> tuple[AnyArray, Index]:
    """Return (classes, class index of each label); raise an error if they are not classes."""
    if known.dtype.kind in "bui":
        # Most fits have two integer classes. For them scikit-learn's check always passes, but it
        # takes longer than fitting a small linear model, and so does sorting.
        low, high = known.min(), known.max()
        second = known == high
        if low != high and (second | (known == low)).all():
            return np.array([low, high], dtype=known.dtype), second.astype(np.intp)
    if to_learn and known.dtype.kind in "iuf":
        refuse_numeric_target(known, "Unknown label type: continuous. y", AS_TEXT)
    if known.dtype.kind not in "buiU":  # these always pass, or get a warning that they may not
        check_classification_targets(known)
    classes, codes = np.unique(known, return_inverse=True)
    return classes, codes


def _refuse_one_class(classes: AnyArray, n_labeled: int, n_unlabeled: int) -> None:
    hint = " (-1 in a y of integers means unknown; rename a class called -1)"
    raise ValueError(
        f"There is only one class among the {n_labeled} labelled rows, {listed(classes)}"
        f"{hint if classes.dtype.kind == 'i' and n_unlabeled else ''}: "
        "label at least one row of each class."
    )


def _refuse_many_classes(classes: AnyArray, n_unlabeled: int, method: str) -> None:
    hint = ""
    if classes.dtype.kind == "f" and -1.0 in classes:
        hint = " (in a y of floats an unknown label is NaN, and -1.0 is a class)"
    raise ValueError(
        "Only binary classification is supported. The type of the target is multiclass: "
        f"{method} separates two classes but found {len(classes)} classes in y, "
        f"{listed(classes)}{hint}; keep two of them or merge them into two, or use "
        "ICLSClassifier, L2SVMClassifier or SelfLearningClassifier for several, and mark unknown "
        f"labels as -1 (integers) or None.{'' if n_unlabeled else _recoding_remark(classes)}"
    )


def _refuse_minus_one_as_float(classes: AnyArray) -> None:
    """Raise an error if -1.0 is one of several classes, and nothing marks unknown labels."""
    if classes.dtype.kind == "f" and -1.0 in classes:
        raise ValueError(
            f"y has {len(classes)} classes, {listed(classes)}: in a y of floats an unknown label "
            "is NaN, and -1.0 is a class. Mark unknown labels with NaN, or, if -1.0 is a class, "
            "convert y to strings."
        )


def _recoding_remark(classes: AnyArray) -> str:
    """Return a remark on classes -1, 0 and 1 that a meta-estimator may have re-encoded."""
    if classes.dtype.kind not in "iu" or classes.tolist() != [0, 1, 2]:
        return ""
    return (
        " If y marked unknown labels with -1, the meta-estimator that called fit has turned them "
        "into class 0, as VotingClassifier, StackingClassifier, BaggingClassifier and "
        "cross_val_predict do: pass it the labelled rows, and the others as X_unlabeled."
    )


def listed(items: AnyArray, limit: int = 5) -> str:
    """Return the first items in words, for a message."""
    shown = ", ".join(repr(item) for item in items[:limit].tolist())
    return shown + (", ..." if len(items) > limit else "")


def _split_unknown(y: Any) -> tuple[AnyArray, Mask]:
    """Return (labels, mask of the unknown ones); the labels have one dtype."""
    y = as_one_dimensional(y)
    if y.dtype.kind == "O":
        y, unknown = _split_objects(y)
        refuse_infinity(y)
        return y, unknown
    if y.dtype.kind == "f":
        refuse_infinity(y)
        return y, np.isnan(y)
    if y.dtype.kind == "i":
        return y, y == -1
    if y.dtype.kind == "U":
        _refuse_unknown_as_text(y)
    return y, np.isnat(y) if y.dtype.kind in "mM" else np.zeros(len(y), dtype=bool)


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
    if isinstance(y, np.ma.MaskedArray):
        y = _without_mask(y)
    if isinstance(y, (list, tuple)) and not any(np.ndim(item) for item in y[:1]):
        one_dimensional = np.empty(len(y), dtype=object)
        one_dimensional[:] = y
        return one_dimensional
    if isinstance(y, np.ndarray) and y.ndim == 1:
        return y
    return np.asarray(column_or_1d(y, warn=True))


def _without_mask(y: Any) -> AnyArray:
    """Return a masked array as a plain one, with None in place of masked entries."""
    mask = np.ma.getmaskarray(y)
    if not mask.any():
        return np.asarray(y)
    values = np.asarray(y).astype(object)
    values[mask] = None
    return values


def _split_objects(y: AnyArray) -> tuple[AnyArray, Mask]:
    unknown = np.fromiter((is_missing(item) for item in y), dtype=bool, count=len(y))
    values = y.copy()
    known = y[~unknown]
    if len(known) == 0:
        return values, unknown
    kinds = {kind_of(item) for item in known}
    if kinds == {"int"} and any(item == -1 for item in known):
        if unknown.any():
            raise ValueError(
                "y has two markers of unknown labels, -1 and None, NaN or a mask: use only one, so "
                "that a class called -1 cannot be mistaken for an unknown label."
            )
        return values.astype(np.int64), values == -1
    if len(kinds) > 1 and kinds != {"int", "float"}:
        raise ValueError(
            f"y mixes labels of different types, {' and '.join(sorted(kinds))}: convert all known "
            f"labels to one type, and mark unknown ones ({UNKNOWN})."
        )
    if kinds == {"str"}:
        _refuse_unknown_as_text(known)
    plain = np.array(known.tolist())
    typed = np.zeros(len(y), dtype=plain.dtype if plain.ndim == 1 else object)
    typed[~unknown] = known
    return typed, unknown


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
