"""Lists in messages."""

from collections.abc import Sequence
from typing import Any

SHOWN = 12


def listed(items: Sequence[Any], shown: int = SHOWN) -> str:
    """Return the first items, separated by commas, and the number of the others."""
    more = len(items) - shown
    return ", ".join(map(str, items[:shown])) + (f" and {more} more" if more > 0 else "")
