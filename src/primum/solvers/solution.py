"""What a solver returns."""

from dataclasses import dataclass

from primum._typing import Floats


@dataclass(frozen=True)
class Solution:
    """A labelling in the box and the iterations it took.

    ``dual`` is a point of the dual problem that proves more about the labelling than the
    labelling does by itself, if the solver has one.
    """

    labels: Floats
    iterations: int
    dual: Floats | None = None
