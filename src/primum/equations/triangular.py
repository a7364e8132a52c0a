"""Products with triangular matrices, which take half as many operations as others."""

import numpy as np
from scipy.linalg import bandwidth, blas

from primum._typing import Floats

# Smaller triangles save no time.
WIDE = 64


def product(A: Floats, V: Floats) -> Floats:
    """Return A V, in half the operations if V is a wide triangle."""
    return times_triangle(np.array(A, order="C"), V) if is_wide_triangle(V) else A @ V


def is_wide_triangle(V: Floats) -> bool:
    """Return whether V is upper triangular, and large enough for that to save time."""
    square = V.ndim == 2 and V.shape[0] == V.shape[1] >= WIDE
    return square and int(bandwidth(V)[0]) == 0


def times_triangle(rows: Floats, V: Floats) -> Floats:
    """Return rows, in C order, times an upper triangular V. The rows are overwritten."""
    # BLAS computes V' times the transpose of the rows, which is in Fortran order: without a copy.
    return np.asarray(blas.dtrmm(1.0, V.T, rows.T, lower=1, overwrite_b=1).T)
