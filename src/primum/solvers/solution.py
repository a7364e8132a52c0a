"""The result of a solver."""

from dataclasses import dataclass
from typing import Any

from primum._typing import Floats


@dataclass(frozen=True)
class Solution:
    """A labelling in the box and the number of iterations.

    ``labels`` is an array or, if there are too many rows, a function of rows (``RowValues``).

    ``dual`` is a point of the dual problem that may give a better bound than the labelling itself,
    if the solver has one. ``pull`` are the multipliers that prove that the labelling is nearest to
    the twin, if several labellings have the least labelled loss. ``multipliers`` are those of a
    prior. ``moment`` is the sum of the design rows times their labels, if the solver has computed
    it. ``proven`` is whether the solver has computed the gap itself, and it is within the
    tolerance.
    """

    labels: Any
    iterations: int
    dual: Floats | None = None
    pull: Floats | None = None
    multipliers: Floats | None = None
    moment: Floats | None = None
    proven: bool = False
