"""The parameter gamma of kernels, given as a number or computed from the rows of the fit."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primum._typing import Floats

# Kernels of scikit-learn that have a parameter gamma.
TAKES_GAMMA = ("rbf", "laplacian", "poly", "polynomial", "chi2", "sigmoid")


def gamma_of(
    kernel: str | Callable[..., Any],
    gamma: float | str | None,
    rows: Any,
    weight: Floats | None = None,
) -> float | None:
    """Return the value of gamma for a fit to rows; None: the kernel's own default, or no gamma.

    "scale" is 1 / (n_features * variance of all entries), as in scikit-learn's SVC, and 1 for rows
    that do not vary. A row of integer weight counts that many times.
    """
    if callable(kernel) or kernel not in TAKES_GAMMA or gamma is None:
        return None
    if gamma != "scale":
        return float(gamma)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        variance = _variance(rows, weight)
    if not np.isfinite(variance):
        raise ValueError("The variance of the features overflows: standardise the features.")
    return 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0


def _variance(rows: Any, weight: Floats | None) -> float:
    """Return the variance of all entries of rows."""
    share = np.full(rows.shape[0], 1.0) if weight is None else weight
    share = share / (share.sum() * rows.shape[1])
    mean = float((share @ rows).sum())
    if isinstance(rows, np.ndarray):
        return float((share @ (rows - mean) ** 2).sum())
    return float((share @ rows.multiply(rows)).sum()) - mean**2
