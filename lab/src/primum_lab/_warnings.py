"""Warnings that name the line of the caller of the laboratory."""

import os
from pathlib import Path

from primum._warnings import warn as warn_of_callers

PACKAGE = str(Path(__file__).parent) + os.sep


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that names the line that called the laboratory."""
    warn_of_callers(message, category, also_in=PACKAGE)
