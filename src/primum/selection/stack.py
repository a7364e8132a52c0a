"""Weights of a stack of candidates, from their out-of-fold scores.

    minimise over w >= 0, sum(w) = 1

        (1 / sum_i v_i) sum_i v_i 1/2 ||O_i w - y_i||^2  +  (shrinkage / L) ||w - w0||^2

O_i is the matrix (classes, candidates) of the scores of row i, y_i its one-hot label and v_i its
weight. The factor 1/2 makes the loss of two classes, written as two columns, equal to the squared
error of the score of one of them. The shrinkage towards the baseline w0 vanishes as 1/L, where L is
the number of labelled rows: with few labels the stack is the baseline, with many it is what the
scores show. Since the problem is strictly convex, its solution is unique, also with equal
candidates. An active-set method solves it exactly, up to rounding.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats, Mask

# Reduced costs above minus this fraction of the gradient's size are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class SimplexQuadratic:
    """The function ``w'Hw / 2 - b'w`` on the simplex."""

    H: Floats
    b: Floats

    def gradient(self, w: Floats) -> Floats:
        """Return the gradient at w."""
        return np.asarray(self.H @ w - self.b)

    def gap(self, w: Floats) -> float:
        """Return an upper bound on how much the value at w exceeds the minimum.

        By convexity this is the largest decrease of the linear approximation over the simplex.
        """
        gradient = self.gradient(w)
        return max(float(gradient @ w - gradient.min()), 0.0)

    def minimum(self, start: Floats) -> Floats:
        """Return the minimiser, by an active-set method that starts at a point of the simplex."""
        w, free, seen = start.copy(), start > 0, set()
        # Every pass ends at the minimum of another face, with a smaller value than before. A face
        # that occurs twice differs from the best one by rounding.
        while True:
            w, free = self._minimum_of_face(w, free)
            gradient = self.gradient(w)
            reduced = np.where(free, np.inf, gradient - gradient @ w)
            entering = int(reduced.argmin())
            rounding = ROUNDING * np.abs(gradient).max()
            if reduced[entering] >= -rounding or free.tobytes() in seen:
                return w
            seen.add(free.tobytes())
            free = free.copy()
            free[entering] = True

    def _minimum_of_face(self, w: Floats, free: Mask) -> tuple[Floats, Mask]:
        """Move from w to the minimum over the face of free weights, or over one of its faces."""
        while True:
            target = self._minimum_of_plane(free)
            shrinking = free & (target < 0)
            if not shrinking.any():
                return target, free
            steps = np.full(len(w), np.inf)
            steps[shrinking] = w[shrinking] / (w - target)[shrinking]
            leaving = int(steps.argmin())
            w = np.maximum(w + steps[leaving] * (target - w), 0.0)
            free = free.copy()
            free[leaving] = False
            w[~free] = 0.0

    def _minimum_of_plane(self, free: Mask) -> Floats:
        """Return the minimum over weights that add up to 1 and are 0 unless they are free."""
        n_free = int(free.sum())
        system = np.zeros((n_free + 1, n_free + 1))
        system[:n_free, :n_free] = self.H[np.ix_(free, free)]
        system[n_free, :n_free] = system[:n_free, n_free] = 1.0
        w = np.zeros(len(free))
        w[free] = np.linalg.solve(system, np.append(self.b[free], 1.0))[:n_free]
        return w


@dataclass(frozen=True)
class StackWeights:
    """Weights of candidates, and a bound on how far their objective is from the minimum."""

    weights: Floats
    gap: float


def stack_weights(
    scores: Floats,
    one_hot: Floats,
    baseline: Floats,
    *,
    shrinkage: float,
    n_labeled: int,
    row_weight: Floats | None = None,
) -> StackWeights:
    """Return the weights of candidates with out-of-fold scores (rows, classes, candidates).

    ``baseline`` is w0 and ``n_labeled`` L. The same row may occur several times, as with repeated
    cross-validation.
    """
    shares = np.full(len(scores), 1.0) if row_weight is None else row_weight
    roots = np.sqrt(0.5 * shares / shares.sum())[:, None]
    design = (roots[..., None] * scores).reshape(-1, scores.shape[2])
    ridge = shrinkage / n_labeled
    H = 2.0 * (design.T @ design + ridge * np.eye(design.shape[1]))
    b = 2.0 * (design.T @ (roots * one_hot).reshape(-1) + ridge * baseline)
    problem = SimplexQuadratic(H, b)
    weights = problem.minimum(baseline)
    return StackWeights(weights, problem.gap(weights))
