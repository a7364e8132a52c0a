"""The point of a convex hull that is nearest to a given one.

    minimise over w >= 0, sum(w) = 1    || F w - f ||^2

With G = F - f 1' the residual is G w, and the problem asks for the point of least norm in the hull
of the columns of G. It is a problem of non-negative least squares: for v = s w,

    || G v ||^2 + (1'v - 1)^2 = s^2 || G w ||^2 + (s - 1)^2,

which, for every s, is least for the same w (Lawson & Hanson 1974, chapter 23).
"""

import numpy as np
from scipy.optimize import nnls

from primum._typing import Floats


def nearest_in_hull(points: Floats, target: Floats) -> tuple[Floats, float]:
    """Return the weights of the columns of points nearest to the target, and their proven gap.

    The gap bounds how much the squared distance exceeds the least one, by convexity.
    """
    residuals = points - target[:, None]
    n_points = residuals.shape[1]
    scale = float(np.abs(residuals).max()) or 1.0
    triangle = np.linalg.qr(residuals / scale, mode="r")
    system = np.vstack([triangle, np.ones(n_points)])
    v = nnls(system, np.concatenate([np.zeros(len(triangle)), [1.0]]))[0]
    weights = v / v.sum()
    gradient = residuals.T @ (residuals @ weights)
    return weights, max(2 * float(gradient @ weights - gradient.min()), 0.0)
