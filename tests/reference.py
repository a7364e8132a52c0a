"""What other people's software answered: see tests/data/README.md."""

import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SHARED = HERE.parent.parent / "shared"


@cache
def full_problems():
    """Return {name: problem} of the full file, empty if ../shared is not there."""
    full = SHARED / "reference" / "rssl_golden.json.gz"
    if not full.exists():
        return {}
    problems = json.loads(gzip.decompress(full.read_bytes()))
    return {problem["name"]: problem for problem in problems}


@cache
def reference_problems():
    """Return {name: problem}: two synthetic ones, or all, with real ones too, from ../shared."""
    synthetic = json.loads((HERE / "data" / "rssl_gauss.json").read_text())
    return full_problems() or {problem["name"]: problem for problem in synthetic}


def arrays(problem):
    """Return X, y, X_u, y_u, X_test of a reference problem."""
    X, X_u, X_test = (np.array(problem[key], dtype=float) for key in ("X", "X_u", "X_test"))
    y, y_u = (np.array(problem[key]).astype(int) for key in ("y", "y_u"))
    return X, y, X_u, y_u, X_test


def rssl_answer(problem, method):
    """Return RSSL's answer as arrays, None if it failed."""
    answer = problem["methods"].get(method)
    return answer and {key: np.array(value, dtype=float) for key, value in answer.items()}
