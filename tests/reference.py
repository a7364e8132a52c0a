"""What other people's software answered: see tests/data/README.md."""

import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SHARED = HERE.parent.parent / "shared"


@cache
def reference_problems():
    """Return {name: problem}: two synthetic ones, or all, with all methods, from ../shared."""
    full = SHARED / "reference" / "rssl_golden.json.gz"
    if full.exists():
        problems = json.loads(gzip.decompress(full.read_bytes()))
    else:
        problems = json.loads((HERE / "data" / "rssl_gauss.json").read_text())
    return {problem["name"]: problem for problem in problems}


def arrays(problem):
    """Return X, y, X_u, y_u, X_test of a reference problem."""
    X, X_u, X_test = (np.array(problem[key], dtype=float) for key in ("X", "X_u", "X_test"))
    y, y_u = (np.array(problem[key]).astype(int) for key in ("y", "y_u"))
    return X, y, X_u, y_u, X_test
