"""Label sets: the labels that the unlabelled rows may have.

One file per set; ``base.py`` says what a set has to answer.
"""

from primum.labellings.sets.base import Face, LabelSet, faces_of, groups
from primum.labellings.sets.interval import Interval
from primum.labellings.sets.simplex import Simplex, nearest_shares

__all__ = ["Face", "Interval", "LabelSet", "Simplex", "faces_of", "groups", "nearest_shares"]
