"""The known labels: classes or numbers, and which of them were chosen.

A y contains classes or numbers to predict. ``primum.reading.labels.is_numeric_target`` decides
whether numbers are a numeric target, such as a price. A few different numbers with fractions that
repeat, such as ratings in steps of a half, may be either: an error asks which. In a numeric target,
-1 is a number, not a marker. If it is the only negative number in a y of whole numbers, an error
asks too, because learning from a marker as a price does more harm than a question.

Chosen labels were not drawn at random: active learning found them, or a disagreement of two models.
Whoever chooses rows to label chooses difficult ones, or those of a rare class. A model may learn
from such labels. But their rows say nothing about the error on other rows, and their classes
nothing about the class shares: with the labels drawn at random d, the chosen ones c and the
unlabelled rows u,

    held out, the drift test, class shares            d
    trained on                                        d + c
    unlabelled when d was drawn                       u + c,

because chosen rows were unlabelled when the others were drawn. With a probability of at least the
level, the numbers N_k of the classes among the rows u + c are in intervals that depend only on d
(``primum.reading.shares``). The classes of c are known, so the shares among u are in

    (N_k - number of class k in c) / number of u.
"""

import reprlib
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats, Index, Mask
from primum._warnings import warn
from primum.reading.labels import (
    MAX_CODES,
    KnownLabels,
    as_one_dimensional,
    is_missing,
    is_numeric_target,
    kind_of,
    read_labels,
    targets_of,
)
from primum.reading.shares import share_bounds
from primum.reading.targets import MIN_SQUARED, UNKNOWN, Known, read_targets
from primum.rows import LabeledRows

AUTO, CLASSES, NUMBERS = "auto", "classes", "numbers"
# A few different numbers with at least this many labels each, on average, may be classes:
# measurements seldom repeat.
MIN_LABELS_PER_NUMBER = 2
# What marks unknown labels, if these are classes.
CLASS_MARKER = -1
SAY_CLASSES, SAY_NUMBERS = f"target_kind={CLASSES!r}", f"target_kind={NUMBERS!r}"


@dataclass(frozen=True)
class TargetKind:
    """Whether a target consists of classes or numbers, and how this was recognised.

    ``how`` is a sentence, empty if there is nothing to say. ``told`` is whether the user said so.
    """

    word: str
    how: str = ""
    told: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether numbers are predicted."""
        return self.word == NUMBERS


def check_kind(target_kind: Any) -> None:
    """Raise an error if an argument is not a kind of target."""
    if target_kind not in (AUTO, CLASSES, NUMBERS):
        raise ValueError(
            f"target_kind must be {AUTO!r}, {CLASSES!r} or {NUMBERS!r}, got {target_kind!r}."
        )


def kind_of_numbers(labels: Any, where: str) -> TargetKind:
    """Return whether known labels, all of them numbers, are classes or a numeric target.

    If that is ambiguous, an error is raised. ``where`` contains them, and begins a sentence.

    Examples
    --------
    >>> from primum.reading.known import kind_of_numbers
    >>> kind_of_numbers([1.5, 2.25, 7.0, 8.75], "y").how
    "y has 4 different numbers in 4 labels, so numbers are predicted; target_kind='classes' treats \
them as classes."
    >>> kind_of_numbers([0, 1, 1, 0], "y")
    TargetKind(word='classes', how='', told=False)
    """
    labels = np.asarray(labels)
    finite = labels[np.isfinite(labels)] if labels.dtype.kind == "f" else labels
    values, counts = np.unique(finite, return_counts=True)
    counted = f"{where} has {len(values)} different numbers in {counts.sum()} labels"
    if not is_numeric_target(values, counts):
        many = values.dtype.kind in "iuf" and len(values) > MAX_CODES
        sentence = f"{counted}, which are predicted as classes; {SAY_NUMBERS} predicts numbers."
        return TargetKind(CLASSES, sentence if many else "")
    if len(values) <= MAX_CODES and counts.sum() >= MIN_LABELS_PER_NUMBER * len(values):
        raise ValueError(
            f"{counted}, which may be classes or numbers to predict: pass {SAY_CLASSES} or "
            f"{SAY_NUMBERS}."
        )
    return TargetKind(
        NUMBERS, f"{counted}, so numbers are predicted; {SAY_CLASSES} treats them as classes."
    )


def read_known(
    y: Any, n_rows: int, target_kind: str = AUTO, bounds: Any = None
) -> tuple[Known, TargetKind]:
    """Return the content of y for n_rows rows, and whether it is classes or numbers.

    ``bounds`` are a range that is certain to contain all numbers.
    """
    check_kind(target_kind)
    y = as_one_dimensional(y)

    # The known finite numbers, unless there are none, or other labels. -1 among whole numbers marks
    # unknown labels, if these are classes.
    numbers: AnyArray | None = y
    if y.dtype.kind == "O":
        known = [item for item in y if not is_missing(item)]
        numeric = {kind_of(item) for item in known} <= {"int", "float"}
        numbers = np.array(known) if numeric else None
    if numbers is not None and numbers.dtype.kind in "iuf":
        numbers = numbers[np.isfinite(numbers)]
        if numbers.dtype.kind == "i" and set(numbers[numbers < 0].tolist()) == {-1}:
            numbers = numbers[numbers != -1]
    if numbers is None or numbers.dtype.kind not in "iuf" or len(numbers) == 0:
        numbers = None

    kind = TargetKind(CLASSES if target_kind == AUTO else target_kind, told=target_kind != AUTO)
    if target_kind == AUTO and numbers is not None:
        different = np.unique(numbers)
        if len(different) < 3 and (different % 1 != 0).any():  # too few to predict, and no classes
            written = " or ".join(f"{value:g}" for value in different)
            raise ValueError(
                f"All known labels in y are {written}, too few to predict numbers: label more "
                f"rows, or pass {SAY_CLASSES} or {SAY_NUMBERS}."
            )
        kind = kind_of_numbers(numbers, "y")
    elif target_kind == AUTO:
        _refuse_dates(y)
    if kind.is_numeric:
        # -1 may either mark unknown labels or be a number.
        count = 0
        if numbers is not None and numbers.dtype.kind in "iu" and -1 not in numbers:
            count = sum(bool(np.equal(item, -1)) for item in y if not is_missing(item))
        if count:
            raise ValueError(
                f"y is a numeric target and contains -1 in {count} rows, its only negative number: "
                f"mark unknown targets with {UNKNOWN}, or pass y.astype(float) if -1 is a target."
            )
        targets = read_targets(y, n_rows, bounds)
        refuse_constant(targets.targets, "y")
        warn_of_markers(targets.targets)
        return targets, kind
    if bounds is not None:
        raise ValueError(
            f"bounds={bounds!r} are for numbers to predict, but y contains classes: leave them "
            f"out, or pass {SAY_NUMBERS}."
        )
    if target_kind == CLASSES and numbers is not None:
        # Numbers that would be taken for a numeric target become text, so that they are classes.
        counted = np.unique(numbers, return_counts=True)
        if (numbers % 1 != 0).any() or is_numeric_target(*counted):
            unknown = [is_missing(item) or (item == -1 and -1 not in numbers) for item in y]
            names = [None if no else str(item) for item, no in zip(y, unknown, strict=True)]
            y = np.array(names, dtype=object)
    return read_labels(y, n_rows, multi_class=True), kind


def refuse_constant(values: Floats, where: str) -> None:
    """Raise an error if known numbers are equal or nearly so; ``where`` says what contains them."""
    refuse_underflow(values, where)
    if values.min() == values.max():
        raise ValueError(
            f"All {len(values)} known numbers in {where} are {values[0]:g}, so there is "
            "nothing to predict: label rows with other numbers too."
        )


def refuse_underflow(values: Floats, where: str) -> None:
    """Raise an error if known numbers differ by so little that no loss can be computed."""
    spread = float(values.max() - values.min())
    if 0 < spread < MIN_SQUARED:
        raise ValueError(
            f"The {len(values)} known numbers in {where} differ by at most {spread:.1e}, whose "
            "square underflows: use other units."
        )


def warn_of_markers(values: Floats) -> None:
    """Warn if most known numbers are -1, which marks unknown classes."""
    count = int(np.sum(values == CLASS_MARKER))
    if 2 * count > len(values):
        warn(
            f"{count} of the {len(values)} known numbers in y are -1: if -1 stands for unknown "
            "numbers, write NaN instead (in a table, pass missing=['-1'], --missing -1)."
        )


def _refuse_dates(y: AnyArray) -> None:
    labels = [item for item in y if not is_missing(item)] if y.dtype.kind == "O" else []
    if y.dtype.kind in "mM" or any(isinstance(item, date | np.datetime64) for item in labels):
        raise contains_dates("y")


def contains_dates(where: str) -> ValueError:
    """Return the error that a target consists of dates; ``where`` begins the sentence."""
    return ValueError(
        f"{where} contains dates, which are neither classes nor numbers: predict a number, such as "
        "the days since a fixed date."
    )


def read_chosen(chosen: Any, labels: Known) -> Mask | None:
    """Return which rows of X have a chosen label, a mask (n_samples,); None if none has.

    ``chosen`` is a mask of the rows of X, or indices of some; those without a label do not matter.
    """
    if chosen is None:
        return None
    mask = chosen_mask(chosen, labels.n_rows)
    mask[labels.unlabeled] = False
    if not mask.any():
        return None
    # Of the labels drawn at random, some must be left to hold out.
    drawn = ~mask[labels.labeled]
    if not isinstance(labels, KnownLabels):
        if drawn.sum() < 2:
            raise ValueError(
                f"Of {len(drawn)} labelled rows, {int(mask.sum())} were chosen, so none of the "
                "others can be held out: label more rows, drawn at random."
            )
        return mask
    counts = np.bincount(labels.codes[drawn], minlength=len(labels.classes))
    if (counts == 0).any():
        rarest = int(counts.argmin())
        raise ValueError(
            f"All labelled rows of class {labels.classes.tolist()[rarest]!r} "
            f"({labels.counts[rarest]}) were chosen, so none can be held out: label more rows, "
            "drawn at random, or empty these labels."
        )
    if counts.max() < 2:
        raise ValueError(
            f"Without the {int(mask.sum())} chosen ones, every class has only one labelled row, so "
            "none can be held out: label more rows, drawn at random."
        )
    return mask


def chosen_mask(chosen: Any, n_rows: int) -> Mask:
    """Return which rows of X are meant, given as a mask or by indices, whether labelled or not."""
    mask = np.zeros(n_rows, dtype=bool)
    rows = row_indices(chosen, n_rows, "chosen")
    names, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"chosen names row {names[counts > 1][0]} of X twice: pass every index once, or a mask "
            "of True and False, not of 1 and 0."
        )
    mask[rows] = True
    return mask


def row_indices(rows: Any, n_rows: int, name: str) -> Index:
    """Return indices of rows of X, given as such or as a mask; ``name`` begins an error."""
    try:
        values = np.asarray(rows)
    except ValueError:  # lists of unequal lengths
        values = np.empty((), dtype=object)
    if values.shape == (0,):
        return np.zeros(0, dtype=np.intp)
    is_mask = values.dtype.kind == "b"
    if values.ndim != 1 or values.dtype.kind not in "iub" or (is_mask and len(values) != n_rows):
        raise ValueError(
            f"{name} is {reprlib.repr(rows)}: pass indices of rows of X, integers from 0 to "
            f"{n_rows - 1}, or a mask of {n_rows} rows."
        )
    if not is_mask and ((values < 0) | (values >= n_rows)).any():
        wrong = values[(values < 0) | (values >= n_rows)][0]
        raise ValueError(
            f"{name} has the index {wrong}, but X has {n_rows} rows: pass indices from 0 to "
            f"{n_rows - 1}."
        )
    return np.arange(n_rows)[values]


def drawn_labels(labels: Known, chosen: Mask | None) -> Known:
    """Return the labels drawn at random; rows with a chosen one count as unlabelled."""
    return labels if chosen is None else labels.keeping(~chosen[labels.labeled])


def drawn_share(
    codes: Index, chosen: Mask, n_unlabeled: int, weight: Floats | None = None
) -> float | None:
    """Return the share of the second of two classes that a transductive method may assume.

    It is that of the labels drawn at random; None if there are none, or fewer than two unlabelled
    rows, of which both classes have at least one. The codes 0 and 1, whether they were chosen and
    the weights (None: 1) are (n_labeled,).
    """
    drawn = codes[~chosen]
    if n_unlabeled < 2 or len(drawn) == 0:
        return None
    share = np.average(drawn, weights=None if weight is None else weight[~chosen])
    return float(np.clip(share, 1 / n_unlabeled, 1 - 1 / n_unlabeled))


def drawn_confidence(
    codes: Index, chosen: Mask, n_classes: int, n_unlabeled: int, level: float
) -> Floats:
    """Return intervals (n_classes, 2) for the class shares among the unlabelled rows.

    They contain all shares with probability ``level``, as with ``prior="confidence"``. The codes of
    the labelled rows and whether they were chosen are (n_labeled,).

    Examples
    --------
    >>> import numpy as np
    >>> from primum.reading.known import drawn_confidence
    >>> codes, chosen = np.repeat([0, 1, 1], 20), np.repeat([False, False, True], 20)
    >>> drawn_confidence(codes, chosen, 2, 1000, 0.95).round(2).tolist()
    [[0.34, 0.68], [0.32, 0.66]]
    """
    of_chosen = np.bincount(codes[chosen], minlength=n_classes)
    n_others = n_unlabeled + int(chosen.sum())
    drawn = LabeledRows(np.empty((0, 0)), targets_of(codes[~chosen], n_classes))
    bounds = share_bounds("confidence", level, np.arange(n_classes), drawn, n_others)
    counts = bounds * n_others - of_chosen[:, None]
    return np.clip(counts / max(n_unlabeled, 1), 0.0, 1.0)
