"""Label sets: the labels that the unlabelled rows may have.

One file per set; ``base.py`` says what a set has to answer.
"""

from primum._typing import Floats
from primum.labellings.sets.base import Face, LabelSet, faces_of, grouped
from primum.labellings.sets.interval import Interval
from primum.labellings.sets.simplex import Simplex, nearest_shares

__all__ = [
    "Face",
    "Interval",
    "LabelSet",
    "Simplex",
    "any_class",
    "faces_of",
    "grouped",
    "nearest_shares",
]


def any_class(labels: Floats) -> LabelSet:
    """Return the set of a row of any class, for labels (n,) of two classes or (n, K) of more."""
    return Interval() if labels.ndim == 1 else Simplex(labels.shape[1])
