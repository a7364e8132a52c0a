"""Whether labels are classes or numbers to predict.

Numbers are a numeric target, such as a price, if there are more than two of them and some have a
fraction, or, if all are whole, if all of these hold:

* there are more than MAX_CODES different ones,
* more than half of the different ones occur once, so that there is nothing to learn a class from,
* fewer than half of the whole numbers between the smallest and the largest occur.

Codes of classes, years and ratings are not: they are few, or repeat, or have few gaps. A few
different numbers with fractions that repeat, such as ratings in steps of a half, may be either: who
can use both is asked. Everybody else can say what the labels are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import AnyArray

AUTO, CLASSES, NUMBERS = "auto", "classes", "numbers"
MAX_CODES = 20
# Labels for each different number, from which on a few numbers may be classes.
OFTEN = 2
SAY_CLASSES, SAY_NUMBERS = f"target_kind={CLASSES!r}", f"target_kind={NUMBERS!r}"


def is_numeric_target(values: AnyArray, counts: AnyArray) -> bool:
    """Return whether different numbers, in order, that occur so often are no classes."""
    if values.dtype.kind not in "iuf" or len(values) < 3:
        return False
    if values.dtype.kind == "f" and (values % 1 != 0).any():
        return True
    span = float(values[-1]) - float(values[0]) + 1.0
    many, single = len(values) > MAX_CODES, np.mean(counts == 1) > 0.5
    return bool(many and single and len(values) < span / 2)


@dataclass(frozen=True)
class TargetKind:
    """What a target consists of, and how that was found out.

    Attributes
    ----------
    word : {"classes", "numbers"}
        What.
    how : str
        How it was recognised, in a sentence; empty if there is nothing to say.
    told : bool
        Whether somebody said so.
    """

    word: str
    how: str = ""
    told: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether numbers are predicted."""
        return self.word == NUMBERS


def check_kind(target_kind: Any) -> None:
    """Raise an error for an argument that is no kind of target."""
    if target_kind not in (AUTO, CLASSES, NUMBERS):
        raise ValueError(
            f"target_kind must be {AUTO!r}, {CLASSES!r} or {NUMBERS!r}, got {target_kind!r}."
        )


def kind_of_numbers(labels: Any, where: str) -> TargetKind:
    """Return whether known labels, all of them numbers, are classes or a numeric target.

    Parameters
    ----------
    labels : array-like of numbers
        The known labels.
    where : str
        What they are, as the beginning of a sentence.

    Returns
    -------
    TargetKind
        The kind. It is an error if it cannot be told.

    Examples
    --------
    >>> from primum.reading.kinds import kind_of_numbers
    >>> kind_of_numbers([1.5, 2.25, 7.0, 8.75], "y").how
    "y has 4 different numbers in 4 labels, so numbers are predicted; target_kind='classes' treats \
them as classes."
    >>> kind_of_numbers([0, 1, 1, 0], "y")
    TargetKind(word='classes', how='', told=False)
    """
    labels = np.asarray(labels)
    finite = labels[np.isfinite(labels)] if labels.dtype.kind == "f" else labels
    values, counts = np.unique(finite, return_counts=True)
    found = f"{where} has {len(values)} different numbers in {counts.sum()} labels"
    if not is_numeric_target(values, counts):
        many = values.dtype.kind in "iuf" and len(values) > MAX_CODES
        how = f"{found}, which are predicted as classes; {SAY_NUMBERS} predicts numbers."
        return TargetKind(CLASSES, how if many else "")
    if len(values) <= MAX_CODES and counts.sum() >= OFTEN * len(values):
        raise ValueError(
            f"{found}, which may be classes or numbers to predict: pass {SAY_CLASSES} or "
            f"{SAY_NUMBERS}."
        )
    return TargetKind(
        NUMBERS, f"{found}, so numbers are predicted; {SAY_CLASSES} treats them as classes."
    )
