"""What a solver returns."""

from dataclasses import dataclass
from typing import Any

from primum._typing import Floats


@dataclass(frozen=True)
class Solution:
    """A labelling in the box and the iterations it took.

    ``labels`` is an array, or a function of rows where there are too many of them (``Labels``).

    ``dual`` is a point of the dual problem that proves more about the labelling than the
    labelling does by itself, if the solver has one. ``pull`` holds the multipliers that prove it to
    be nearest to the twin, where several labellings have the least labelled loss.
    """

    labels: Any
    iterations: int
    dual: Floats | None = None
    pull: Floats | None = None
