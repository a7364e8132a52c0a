"""Labels that were not drawn at random: found by active learning, or where two models disagree.

Whoever chooses which rows to label chooses difficult ones, or those of a rare class. A model may
learn from such labels. But their rows say nothing about the error on other rows, and their classes
nothing about the shares of the classes: with the labels drawn at random d, the chosen ones c and
the unlabelled rows u,

    held out, the drift test, shares of classes       d
    trained on                                        d + c
    what the rows without a label once were           u + c,

because chosen rows were unlabelled when the others were drawn. With a probability of at least the
level, the numbers N_k of the classes among the rows u + c are in intervals that depend on d only
(``primum.reading.shares``). The classes of c are known, so that the shares among u are in

    (N_k - number of class k in c) / number of u.
"""

import reprlib
from typing import Any, TypeVar

import numpy as np

from primum._typing import Floats, Index, Mask
from primum.labellings import LabeledRows
from primum.reading.labels import KnownLabels, targets_of
from primum.reading.shares import shares_of
from primum.reading.targets import KnownTargets

# What is known about the labels of rows: classes or numbers.
Known = KnownLabels | KnownTargets
SomeKnown = TypeVar("SomeKnown", KnownLabels, KnownTargets)


def read_chosen(chosen: Any, labels: Known) -> Mask | None:
    """Return which rows of X have a chosen label; None if none has.

    Parameters
    ----------
    chosen : array-like or None
        A mask of the rows of X, or indices of some; those without a label do not matter.
    labels : KnownLabels or KnownTargets
        The content of y.

    Returns
    -------
    bool array of shape (n_samples,) or None
        True where a label is known and was chosen.
    """
    if chosen is None:
        return None
    mask = chosen_mask(chosen, len(labels.labeled) + len(labels.unlabeled))
    mask[labels.unlabeled] = False
    if not mask.any():
        return None
    drawn = ~mask[labels.labeled]
    if isinstance(labels, KnownLabels):
        _refuse_too_few(labels, labels.codes[drawn])
    elif drawn.sum() < 2:
        raise ValueError(
            f"Without the {int(mask.sum())} chosen ones, {int(drawn.sum())} of the labelled rows "
            "are left, so none can be held out: label more rows, drawn at random."
        )
    return mask


def chosen_mask(chosen: Any, n_rows: int) -> Mask:
    """Return which rows of X are meant, given as a mask or by indices, whether labelled or not."""
    mask = np.zeros(n_rows, dtype=bool)
    rows = row_indices(chosen, n_rows, "chosen")
    if len(np.unique(rows)) < len(rows):
        raise ValueError(
            f"chosen names row {_first_twice(rows)} of X twice: pass every index once, or a mask "
            "of True and False, not of 1 and 0."
        )
    mask[rows] = True
    return mask


def _first_twice(rows: Index) -> int:
    values, counts = np.unique(rows, return_counts=True)
    return int(values[counts > 1][0])


def _refuse_too_few(labels: KnownLabels, drawn: Index) -> None:
    """Raise an error if too few labels were drawn at random: none of a class, or one of each."""
    counts = np.bincount(drawn, minlength=len(labels.classes))
    if (counts == 0).any():
        rarest = int(counts.argmin())
        raise ValueError(
            f"All labelled rows of class {labels.classes.tolist()[rarest]!r} "
            f"({labels.counts[rarest]}) were chosen, so none can be held out: label more rows, "
            "drawn at random, or empty these labels."
        )
    if counts.max() < 2:
        raise ValueError(
            f"Without the {len(labels.labeled) - len(drawn)} chosen ones, every class has only one "
            "labelled row, so none can be held out: label more rows, drawn at random."
        )


def row_indices(rows: Any, n_rows: int, name: str) -> Index:
    """Return indices of rows of X, given as such or as a mask; ``name`` begins an error."""
    try:
        given = np.asarray(rows)
    except ValueError:  # lists of unequal lengths
        given = np.empty((), dtype=object)
    if given.shape == (0,):
        return np.zeros(0, dtype=np.intp)
    is_mask = given.dtype.kind == "b"
    if given.ndim != 1 or given.dtype.kind not in "iub" or (is_mask and len(given) != n_rows):
        raise ValueError(
            f"{name} is {reprlib.repr(rows)}: pass indices of rows of X, integers from 0 to "
            f"{n_rows - 1}, or a mask of {n_rows} rows."
        )
    if not is_mask and ((given < -n_rows) | (given >= n_rows)).any():
        wrong = given[(given < -n_rows) | (given >= n_rows)][0]
        raise ValueError(
            f"{name} has the index {wrong}, but X has {n_rows} rows: pass indices from 0 to "
            f"{n_rows - 1}."
        )
    return np.arange(n_rows)[given]


def drawn_labels(labels: SomeKnown, chosen: Mask | None) -> SomeKnown:
    """Return the labels drawn at random; rows with a chosen one count as unlabelled."""
    return labels if chosen is None else labels.keeping(~chosen[labels.labeled])


def drawn_share(
    codes: Index, chosen: Mask, n_unlabeled: int, weight: Floats | None = None
) -> float | None:
    """Return the share of the second of two classes that a transductive method may assume.

    Parameters
    ----------
    codes : array of shape (n_labeled,)
        Classes 0 and 1 of the labelled rows.
    chosen : bool array of shape (n_labeled,)
        Which of them were chosen.
    n_unlabeled : int
        Number of unlabelled rows: both classes have at least one of them.
    weight : array of shape (n_labeled,), default=None
        Weights of the labelled rows; None: 1.

    Returns
    -------
    float or None
        That of the labels drawn at random; None if there are no two unlabelled rows.
    """
    drawn = codes[~chosen]
    if n_unlabeled < 2 or len(drawn) == 0:
        return None
    share = np.average(drawn, weights=None if weight is None else weight[~chosen])
    return float(np.clip(share, 1 / n_unlabeled, 1 - 1 / n_unlabeled))


def drawn_confidence(
    codes: Index, chosen: Mask, n_classes: int, n_unlabeled: int, level: float
) -> Floats:
    """Return intervals of the shares of the classes among the unlabelled rows.

    Parameters
    ----------
    codes : array of shape (n_labeled,)
        Classes 0, 1, ... of the labelled rows.
    chosen : bool array of shape (n_labeled,)
        Which of them were chosen.
    n_classes, n_unlabeled : int
        Numbers of classes and of unlabelled rows.
    level : float
        The probability with which they contain all shares, as with ``prior="confidence"``.

    Returns
    -------
    array of shape (n_classes, 2)
        The intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.reading.chosen import drawn_confidence
    >>> codes, chosen = np.repeat([0, 1, 1], 20), np.repeat([False, False, True], 20)
    >>> drawn_confidence(codes, chosen, 2, 1000, 0.95).round(2).tolist()
    [[0.34, 0.68], [0.32, 0.66]]
    """
    of_chosen = np.bincount(codes[chosen], minlength=n_classes)
    n_others = n_unlabeled + int(chosen.sum())
    drawn = LabeledRows(np.empty((0, 0)), targets_of(codes[~chosen], n_classes))
    bounds = shares_of("confidence", level, np.arange(n_classes), drawn, n_others)
    counts = bounds * n_others - of_chosen[:, None]
    return np.clip(counts / max(n_unlabeled, 1), 0.0, 1.0)
