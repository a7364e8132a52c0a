"""The functions of the package that a call runs: how much one reads to follow it."""

import sys
from pathlib import Path

import primum

PACKAGE = str(Path(primum.__file__).parent)
# Code objects that are written within a function and read with it.
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def functions_of(call):
    """Return the functions of the package that a call runs, in the order of their first calls.

    Lambdas and nested functions are included. The call runs twice, and the second run is counted:
    the first one imports modules. Functions that dataclasses generate have no place in a file, and
    are not counted.
    """
    call()
    found = {}

    def record(frame, event, argument):
        code = frame.f_code
        own = event == "call" and code.co_filename.startswith(PACKAGE)
        if own and code.co_name not in COMPREHENSIONS:
            found.setdefault(code)

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        call()
    finally:
        sys.setprofile(before)
    return [
        f"{Path(c.co_filename).relative_to(PACKAGE)}:{c.co_firstlineno} {c.co_qualname}"
        for c in found
    ]


def files_of(functions):
    """Return the files of functions in order, repeated when they are left and entered again."""
    files = [function.partition(":")[0] for function in functions]
    return [file for before, file in zip([None, *files[:-1]], files, strict=True) if file != before]
