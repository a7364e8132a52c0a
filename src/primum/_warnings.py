"""Warnings that name the line of the caller, however deep in the package they are issued."""

import inspect
import os
import warnings
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).parent) + os.sep
# What the fit in progress has already said, see ``methods.base.fitting``; None outside fits. A fit
# may read columns several times, and says once what is wrong with them.
said: ContextVar[set[str] | None] = ContextVar("said", default=None)


def warn(message: str, category: type[Warning] = UserWarning, *, also_in: str = PACKAGE) -> None:
    """Issue a warning that names the line that called the package; a fit issues it once.

    Nor is the caller a file below the folder ``also_in``, that of a package on top of this one.
    """
    texts = said.get()
    if texts is not None:
        if message in texts:
            return
        texts.add(message)
    frame: FrameType | None = inspect.currentframe()
    caller = frame
    while frame is not None:  # past every call of ours: other packages may be in between
        if frame.f_code.co_filename.startswith((PACKAGE, also_in)):
            caller = frame.f_back or frame
        frame = frame.f_back
    assert caller is not None
    warnings.warn_explicit(
        message,
        category,
        filename=caller.f_code.co_filename,
        lineno=caller.f_lineno,
        module=caller.f_globals.get("__name__"),
        registry=caller.f_globals.setdefault("__warningregistry__", {}),
    )
