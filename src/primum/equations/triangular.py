"""Products with triangular matrices, which take half the operations of others."""

import numpy as np
from scipy.linalg import bandwidth, blas

from primum._typing import Floats

# Smaller triangles save no time.
WIDE = 64


def product(A: Floats, V: Floats) -> Floats:
    """Return A V, whether V is triangular or not."""
    return times_triangle(np.array(A, order="C"), V) if is_wide_triangle(V) else A @ V


def is_wide_triangle(V: Floats) -> bool:
    """Return whether V is upper triangular and so large that this saves time."""
    square = V.ndim == 2 and V.shape[0] == V.shape[1] >= WIDE
    return square and int(bandwidth(V)[0]) == 0


def times_triangle(rows: Floats, V: Floats) -> Floats:
    """Return rows, in C order, times an upper triangular V: in their own memory."""
    # The transposes are in Fortran order, so BLAS needs no copy of the rows.
    return np.asarray(blas.dtrmm(1.0, V.T, rows.T, lower=1, overwrite_b=1).T)
