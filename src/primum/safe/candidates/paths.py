"""Ridge and logistic regression for several penalties at once, in principal coordinates.

Both models have an intercept that is not penalised, so that features may be centred, and a penalty
on the norm of the coefficients, so that they may be rotated. Features X with n rows are therefore
replaced by the r <= min(n, d) coordinates of their principal axes,

    Z = (X - mean) V,    Z'WZ diagonal,

with the row weights W. All penalties, and all folds of a cross-validation, share them.

**Ridge.** With Z scaled by W^(1/2), its unit columns U and their squared lengths s, the fitted
values of W^(1/2) Y are S W^(1/2) Y, where ``S = q q' + U diag(s / (s + a)) U'`` and q is the unit
vector along W^(1/2) 1 (the intercept). Without the rows of a group g, which may be a single one,
the residuals of these are ``(I - S_gg)^-1 r_g`` with the residuals r of all: no other fit is
needed.

**Linear classifiers** of two classes minimise

    1/2 ||w||^2 + C sum_i v_i loss(t_i (z_i w + b)),    t_i = -1 or 1,

with the logistic loss log(1 + exp(-m)) of margins m, or half the squared hinge max(0, 1 - m)^2, by
Newton's method for all folds together, from the smallest C to the largest, each from the solution
before: the rows that a fold holds out have the weight v_i = 0 there. Where a full step does not
lower the objective, it is halved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from primum._typing import Floats, Index

# Axes this much shorter than the longest one, in squared length, are rounding.
SHORTEST = 1e-14
# Steps of Newton's method, and the change of the decision values at which it stops: the next change
# would be about its square.
MOST_STEPS, SMALLEST_STEP = 50, 1e-4
# Added to the curvature along the intercept, which underflows if all rows are classified surely.
LEAST_CURVATURE = 1e-12
MOST_HALVINGS = 20
# An objective that is higher by this share is as low.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Principal:
    """Rows in the coordinates of their principal axes.

    Attributes
    ----------
    Z : array of shape (n_rows, n_axes)
        The coordinates.
    axes : array of shape (n_features, n_axes)
        The axes: coefficients w of the coordinates are coefficients ``axes @ w`` of the features.
    mean : array of shape (n_features,)
        The weighted mean of the features.
    weight : array of shape (n_rows,)
        Weights of the rows.
    """

    Z: Floats
    axes: Floats
    mean: Floats
    weight: Floats

    @classmethod
    def of(cls, X: Any, weight: Floats | None) -> "Principal":
        """Return rows, dense or sparse, in their principal coordinates."""
        own = np.ones(X.shape[0]) if weight is None else weight
        mean = np.asarray((own @ X) / own.sum()).reshape(-1)
        if X.shape[0] <= X.shape[1]:
            return cls._of_wide(X, mean, own)
        centred = (X if isinstance(X, np.ndarray) else X.toarray()) - mean
        squares, axes = np.linalg.eigh((own * centred.T) @ centred)
        axes = axes[:, squares > SHORTEST * squares.max(initial=0.0)]
        return cls(centred @ axes, axes, mean, own)

    @classmethod
    def _of_wide(cls, X: Any, mean: Floats, weight: Floats) -> "Principal":
        """Return rows with at least as many features, from their inner products."""
        gram = X @ X.T
        gram = np.asarray(gram if isinstance(gram, np.ndarray) else gram.toarray())
        share, root = weight / weight.sum(), np.sqrt(weight)
        gram = gram - share @ gram
        gram = gram - (gram @ share)[:, None]
        squares, vectors = np.linalg.eigh(root[:, None] * gram * root)
        used = squares > SHORTEST * max(squares[-1], 0.0)
        lengths = np.sqrt(squares[used])
        # The axes are combinations of the centred rows: X'D with columns of D that add up to 0.
        D = vectors[:, used] * root[:, None] / lengths
        D -= share[:, None] * D.sum(axis=0)
        return cls(vectors[:, used] * lengths / root[:, None], np.asarray(X.T @ D), mean, weight)

    def linear(self, w: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return coefficients and intercepts of the features, given those of the coordinates."""
        coef = self.axes @ w
        return coef, b - self.mean @ coef


def ridge_path(
    rows: Principal, Y: Floats, penalties: Floats, groups: Index | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return coefficients and intercepts for the best penalty, and the errors of all.

    An error is the weighted mean over rows, left out one by one or by ``groups``, and columns of Y.
    """
    root = np.sqrt(rows.weight)
    level = root / np.linalg.norm(root)
    scaled = root[:, None] * rows.Z
    squares = np.sum(scaled**2, axis=0)
    U, target = scaled / np.sqrt(squares), root[:, None] * Y
    inner, centred = U.T @ target, target - np.outer(level, level @ target)
    errors = []
    for penalty in penalties:
        shrunk = squares / (squares + penalty)
        residuals = centred - U @ (shrunk[:, None] * inner)
        errors.append(_left_out_error(residuals, level, U, shrunk, groups))
    best = penalties[int(np.argmin(errors))]
    w = inner * (np.sqrt(squares) / (squares + best))[:, None]
    b = np.average(Y, axis=0, weights=rows.weight)
    return *rows.linear(w, b), np.array(errors) / (rows.weight.sum() * Y.shape[1])


def _left_out_error(
    residuals: Floats, level: Floats, U: Floats, shrunk: Floats, groups: Index | None
) -> float:
    """Return the sum of squared errors of the rows, or groups of rows, left out."""
    if groups is None:
        leverage = level**2 + U**2 @ shrunk
        return float(np.sum((residuals / (1.0 - leverage)[:, None]) ** 2))
    total = 0.0
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        S = np.outer(level[own], level[own]) + (U[own] * shrunk) @ U[own].T
        total += float(np.sum(np.linalg.solve(np.eye(len(own)) - S, residuals[own]) ** 2))
    return total


@dataclass(frozen=True)
class MarginLoss:
    """A convex loss of margins, with its first and second derivatives."""

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    curvature: Callable[[Floats], Floats]


LOGISTIC = MarginLoss(
    lambda m: np.logaddexp(0.0, -m), lambda m: -expit(-m), lambda m: expit(m) * expit(-m)
)
SQUARED_HINGE = MarginLoss(
    lambda m: 0.5 * np.maximum(0.0, 1.0 - m) ** 2,
    lambda m: -np.maximum(0.0, 1.0 - m),
    lambda m: (m < 1.0).astype(np.float64),
)


def margin_path(
    rows: Principal,
    codes: Index,
    folds: Sequence[tuple[Index, Index]],
    inverse_penalties: Sequence[float] | Floats,
    loss: MarginLoss,
    *,
    mean: bool = False,
) -> tuple[Floats, Floats, int]:
    """Return coefficients and intercept of the coordinates, for the C with the least held-out loss.

    ``codes`` are 0 or 1. The losses of the folds are weighted means over their rows, and count the
    same. With ``mean``, C is that of the mean loss instead of the sum. Coefficients and intercept
    have one column; the last value is the position of C.
    """
    weight = np.zeros((len(folds) + 1, len(codes)))  # the last problem is that of all rows
    for number, (train, _) in enumerate(folds):
        weight[number, train] = rows.weight[train]
    weight[-1] = rows.weight
    if mean:
        weight /= weight.sum(axis=1, keepdims=True)
    signs, of_all, losses = np.where(codes == 1, 1.0, -1.0), [], []
    x = np.zeros((len(weight), rows.Z.shape[1] + 1))
    for C in inverse_penalties:
        x = _newton(rows.Z, signs, C * weight, x, loss)
        held_out = loss.value(signs * _decisions(rows.Z, x))
        means = [
            np.average(held_out[k, test], weights=rows.weight[test])
            for k, (_, test) in enumerate(folds)
        ]
        of_all.append(x[-1])
        losses.append(np.mean(means))
    best = int(np.argmin(losses))
    return of_all[best][:-1, None], of_all[best][-1:], best


def _decisions(Z: Floats, x: Floats) -> Floats:
    """Return the decision values (n_problems, n_rows) of coefficients followed by an intercept."""
    return x[:, :-1] @ Z.T + x[:, -1:]


def _newton(Z: Floats, signs: Floats, weight: Floats, start: Floats, loss: MarginLoss) -> Floats:
    """Return the minima of several problems, given the weights of the rows in each."""
    augmented = np.column_stack([Z, np.ones(len(Z))])
    penalty = np.append(np.ones(Z.shape[1]), 0.0)
    curved = np.append(np.ones(Z.shape[1]), LEAST_CURVATURE * weight.max())

    def objective(x: Floats) -> Floats:
        losses = loss.value(signs * _decisions(Z, x))
        return np.asarray(np.sum(weight * losses, axis=1) + 0.5 * np.sum(penalty * x**2, axis=1))

    x, value = start, objective(start)
    for _ in range(MOST_STEPS):
        margins = signs * _decisions(Z, x)
        gradient = (weight * signs * loss.slope(margins)) @ augmented + penalty * x
        curvature = weight * loss.curvature(margins)
        hessian = (augmented.T * curvature[:, None, :]) @ augmented + np.diag(curved)
        full = -np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        step, value = _shortened(objective, x, value, np.asarray(full, dtype=np.float64))
        x = x + step
        if np.abs(_decisions(Z, step)).max() < SMALLEST_STEP:
            break
    return x


def _shortened(
    objective: Callable[[Floats], Floats], x: Floats, value: Floats, step: Floats
) -> tuple[Floats, Floats]:
    """Return steps that lower the objectives, halved until they do, and the objectives there."""
    after = objective(x + step)
    for _ in range(MOST_HALVINGS):
        higher = after > value + ROUNDING * np.abs(value)
        if not higher.any():
            break
        step = np.where(higher[:, None], 0.5 * step, step)
        after = objective(x + step)
    return step, after
