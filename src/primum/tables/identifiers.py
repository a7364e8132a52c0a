"""Detection of columns that identify rows, by their names and values."""

import re

import numpy as np

from primum._typing import Floats

FEWEST_ROWS = 20  # with fewer rows, distinct integers may well be a feature
FILLED_SHARE = 0.9  # of the integers between its ends, a running number has at least this share
NAMES = {"id", "nr", "no", "number", "index", "idx", "key"}


def looks_like_identifier(name: str, values: Floats) -> bool:
    """Return whether a feature may be a row number or a key.

    It may if all its values are distinct integers that are sorted, or whose name contains a word
    for an identifier, as in ``patient_id`` or ``CustomerID``.
    """
    if len(values) <= FEWEST_ROWS or not np.array_equal(values, np.rint(values)):
        return False
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        return True
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return bool(words & NAMES) and len(np.unique(values)) == len(values)


def is_running_number(values: Floats) -> bool:
    """Return whether values are distinct integers without large gaps, in any order."""
    if len(values) <= FEWEST_ROWS or not np.array_equal(values, np.rint(values)):
        return False
    span = float(values.max() - values.min()) + 1
    return len(np.unique(values)) == len(values) and span <= len(values) / FILLED_SHARE
