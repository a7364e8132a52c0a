"""Telling columns that identify the rows from features, by their names and values."""

import re

import numpy as np

from primum._typing import Floats

FEWEST_ROWS = 20  # of fewer, distinct integers may well be a feature
NAMES = {"id", "nr", "no", "number", "index", "idx", "key"}


def looks_like_identifier(name: str, values: Floats) -> bool:
    """Tell whether a feature may be a row number or a key.

    It may if all its values are distinct integers, and if they are also in order or if a word of
    its name, as in ``patient_id`` or ``CustomerID``, says so.
    """
    if len(values) <= FEWEST_ROWS or not np.array_equal(values, np.rint(values)):
        return False
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        return True
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return bool(words & NAMES) and len(np.unique(values)) == len(values)
