"""What decides about the last digits of a result, and values compared exactly or to 1e-8."""

import difflib
import math
import platform

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

# Of figures, where versions, BLAS or processor are others than those that wrote them.
TOLERANCE = 1e-8


def machine():
    """Return versions, linear algebra and the processor, in one line."""
    blas = sorted(
        f"{found['internal_api']} {found['version']} {found.get('architecture', '')}"
        for found in threadpool_info()
        if found["user_api"] == "blas"
    )
    versions = [f"{kind.__name__} {kind.__version__}" for kind in (np, scipy, sklearn)]
    return ", ".join([*versions, *dict.fromkeys(blas), platform.machine()])


def differences(found, expected, *, exact, path=""):
    """Yield in words where two values of JSON differ.

    Without ``exact``, figures may differ by ``TOLERANCE`` of their size, or of 1 if they are
    smaller. Everything else is equal.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in {**expected, **found}:
            here = f"{path}.{key}" if path else key
            if key not in found or key not in expected:
                yield f"{here} is only in the {'record' if key in expected else 'fit'}"
            else:
                yield from differences(found[key], expected[key], exact=exact, path=here)
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        for number, pair in enumerate(zip(found, expected, strict=True)):
            yield from differences(*pair, exact=exact, path=f"{path}[{number}]")
    elif _are_lines(found) and _are_lines(expected):
        for line in difflib.unified_diff(expected, found, "recorded", "found", n=0, lineterm=""):
            yield f"{path} {line}"
    elif not _equal(found, expected, exact=exact):
        yield f"{path} is {found!r}, was {expected!r}"


def _are_lines(value):
    return isinstance(value, list) and value and all(isinstance(one, str) for one in value)


def _equal(found, expected, *, exact):
    if isinstance(expected, float) and isinstance(found, float) and not exact:
        nearly = math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        return nearly or (math.isnan(found) and math.isnan(expected))
    same = found == expected or (found != found and expected != expected)
    return type(found) is type(expected) and same
