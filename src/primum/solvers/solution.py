"""What a solver returns."""

from dataclasses import dataclass

from primum._typing import Floats


@dataclass(frozen=True)
class Solution:
    """A labelling in the box and the iterations it took."""

    labels: Floats
    iterations: int
