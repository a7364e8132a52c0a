"""Whether labels are measurements, such as prices, rather than classes: the one rule for both.

Numbers are a numeric target if there are more than two of them and some have a fraction, or, if all
are whole, if all of these hold:

* there are more than MAX_CODES different ones,
* more than half of the different ones occur once, so that there is nothing to learn a class from,
* fewer than half of the whole numbers between the smallest and the largest occur.

Codes of classes, years and ratings are not: they are few, or repeat, or have few gaps. Numbers that
the rule mistakes can be written as text.
"""

from typing import Any

import numpy as np

from primum._typing import AnyArray

MAX_CODES = 20
# In Python, and in a table, where text of digits only is read as numbers.
AS_TEXT, WITH_A_LETTER = "convert them to text, as y.astype(str) does", "put a letter before them"


def is_numeric_target(values: AnyArray, counts: AnyArray) -> bool:
    """Return whether different numbers, in order, that occur so often are no classes."""
    if values.dtype.kind not in "iuf" or len(values) < 3:
        return False
    if values.dtype.kind == "f" and (values % 1 != 0).any():
        return True
    span = float(values[-1]) - float(values[0]) + 1.0
    many, single = len(values) > MAX_CODES, np.mean(counts == 1) > 0.5
    return bool(many and single and len(values) < span / 2)


def refuse_numeric_target(values: Any, where: str, way_round: str) -> None:
    """Raise an error if known labels, all of them numbers, are a numeric target.

    ``where`` begins the sentence, and ``way_round`` says how to make classes of numbers.
    """
    found, counts = np.unique(np.asarray(values), return_counts=True)
    if not is_numeric_target(found, counts):
        return
    low, high = (np.format_float_positional(value, trim="-") for value in found[[0, -1]])
    raise ValueError(
        f"{where} is a numeric target ({len(found)} different numbers from {low} to {high} in "
        f"{counts.sum()} labelled rows), which is not supported yet: choose a target of classes "
        f"or, if the numbers are codes of classes, {way_round}. ICLSRegressor fits numbers whose "
        "unknown values have bounds."
    )
