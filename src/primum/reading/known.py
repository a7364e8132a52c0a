"""Reading a y of classes or of numbers, whichever it contains.

The marker -1 of classes is a number among numbers. A y of whole numbers whose only negative one is
-1 is refused, because learning from -1 as a price does more harm than a question.
"""

from datetime import date
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats
from primum.reading.chosen import Known
from primum.reading.kinds import (
    AUTO,
    CLASSES,
    SAY_CLASSES,
    SAY_NUMBERS,
    TargetKind,
    check_kind,
    is_numeric_target,
    kind_of_numbers,
)
from primum.reading.labels import as_one_dimensional, is_missing, kind_of, read_labels
from primum.reading.targets import UNKNOWN, read_targets


def read_known(
    y: Any, n_rows: int, target_kind: str = AUTO, bounds: Any = None
) -> tuple[Known, TargetKind]:
    """Return the content of y for n_rows rows, and what it consists of.

    Parameters
    ----------
    y : array-like
        Classes or numbers, some of them unknown.
    n_rows : int
        Number of rows of X.
    target_kind : {"auto", "classes", "numbers"}
        What it consists of; "auto" finds out.
    bounds : (float, float) or None
        Between which all numbers are certain to be.

    Returns
    -------
    known : KnownLabels or KnownTargets
        What is known.
    kind : TargetKind
        Of classes or of numbers, and why.
    """
    check_kind(target_kind)
    y = as_one_dimensional(y)
    numbers = _numbers_in(y)
    told = target_kind != AUTO
    kind = TargetKind(target_kind if told else CLASSES, told=told)
    if target_kind == AUTO and numbers is not None:
        _refuse_few_fractions(numbers)
        kind = kind_of_numbers(numbers, "y")
    elif target_kind == AUTO:
        _refuse_dates(y)
    if kind.is_numeric:
        _refuse_marker(y, numbers)
        targets = read_targets(y, n_rows, bounds)
        refuse_constant(targets.targets, "y")
        return targets, kind
    if bounds is not None:
        raise ValueError(
            f"bounds={bounds!r} are for numbers to predict, but y contains classes: leave them "
            f"out, or pass {SAY_NUMBERS}."
        )
    if target_kind == CLASSES and numbers is not None:
        y = _as_names(y, numbers)
    return read_labels(y, n_rows, multi_class=True), kind


def refuse_constant(values: Floats, where: str) -> None:
    """Raise an error if all known numbers are equal; ``where`` is the place that they are in."""
    if values.min() == values.max():
        raise ValueError(
            f"All {len(values)} known numbers in {where} are {values[0]:g}, so that there is "
            "nothing to predict: label rows with other ones too."
        )


def _refuse_few_fractions(numbers: AnyArray) -> None:
    """Raise an error for one or two numbers with fractions: too few to predict, and no classes."""
    different = np.unique(numbers)
    if len(different) < 3 and (different % 1 != 0).any():
        found = " or ".join(f"{value:g}" for value in different)
        raise ValueError(
            f"All known labels in y are {found}, too few to predict numbers: label more rows, or "
            f"pass {SAY_CLASSES} or {SAY_NUMBERS}."
        )


def _numbers_in(y: AnyArray) -> AnyArray | None:
    """Return the finite numbers that are known; None if there are none, or other labels."""
    if y.dtype.kind == "O":
        known = [item for item in y if not is_missing(item)]
        if not {kind_of(item) for item in known} <= {"int", "float"}:
            return None
        y = np.array(known)
    if y.dtype.kind not in "iuf":
        return None
    numbers = y[np.isfinite(y)]
    if _has_marker(numbers):
        numbers = numbers[numbers != -1]
    return numbers if len(numbers) else None


def _as_names(y: AnyArray, numbers: AnyArray) -> AnyArray:
    """Return numbers that would be taken for a numeric target as text, so that they are classes."""
    whole = not (numbers % 1 != 0).any()
    if whole and not is_numeric_target(*np.unique(numbers, return_counts=True)):
        return y
    unknown = [is_missing(item) or (item == -1 and -1 not in numbers) for item in y]
    names = [None if absent else str(item) for item, absent in zip(y, unknown, strict=True)]
    return np.array(names, dtype=object)


def _has_marker(numbers: AnyArray) -> bool:
    """Return whether -1 among whole numbers marks unknown labels, if these are classes."""
    negative = numbers[numbers < 0] if numbers.dtype.kind == "i" else numbers[:0]
    return len(negative) > 0 and bool((negative == -1).all())


def _refuse_marker(y: AnyArray, numbers: AnyArray | None) -> None:
    """Raise an error if -1 may mark unknown labels, or be a number."""
    whole = numbers is not None and numbers.dtype.kind in "iu"
    count = sum(bool(np.equal(item, -1)) for item in y if not is_missing(item)) if whole else 0
    if count and numbers is not None and -1 not in numbers:
        raise ValueError(
            f"y is a numeric target and contains -1 in {count} rows, its only negative number: "
            f"mark unknown targets with {UNKNOWN}, or pass y.astype(float) if -1 is a target."
        )


def _refuse_dates(y: AnyArray) -> None:
    known = [item for item in y if not is_missing(item)] if y.dtype.kind == "O" else []
    if y.dtype.kind in "mM" or any(isinstance(item, date | np.datetime64) for item in known):
        raise contains_dates("y")


def contains_dates(where: str) -> ValueError:
    """Return the error that a target consists of dates; ``where`` begins the sentence."""
    return ValueError(
        f"{where} contains dates, which are neither classes nor numbers: predict a number, such as "
        "the days since a fixed date."
    )
