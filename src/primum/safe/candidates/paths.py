"""Ridge and logistic regression for several penalties at once, in principal coordinates.

Both models have an intercept that is not penalised, so that features may be centred, and a penalty
on the norm of the coefficients, so that they may be rotated. So the features X of n rows are
replaced by their r <= min(n, d) coordinates along the principal axes,

    Z = (X - mean) V,    Z'WZ diagonal,

with the row weights W. All penalties, and all folds of a cross-validation, share them.

**Ridge.** With Z scaled by W^(1/2), its unit columns U and their squared lengths s, the fitted
values of W^(1/2) Y are S W^(1/2) Y, where ``S = q q' + U diag(s / (s + a)) U'`` and q is the unit
vector along W^(1/2) 1 (the intercept). If a group g, which may be a single row, is left out, its
residuals are ``(I - S_gg)^-1 r_g``, where r are the residuals of the fit to all rows. So no other
fit is needed.

**Linear classifiers** of two classes minimise

    1/2 ||w||^2 + C sum_i v_i loss(t_i (z_i w + b)),    t_i = -1 or 1,

with the logistic loss log(1 + exp(-m)) of margins m, or half the squared hinge max(0, 1 - m)^2, by
Newton's method for all folds together, from the smallest C to the largest, each with a warm start
from the solution before. The rows that a fold holds out have the weight v_i = 0 in it. A step that
does not lower the objective is halved.

**Multinomial logistic regression** of K classes has the loss ``logsumexp_k(z_i w_k + b_k)`` minus
the value of the row's own class, and the penalty 1/2 sum_k ||w_k||^2. (With two classes only the
difference of the w_k matters; the penalty is doubled, so that it is 1/2 ||w_1 - w_0||^2.) Systems
of K r equations are too large for Newton's method. So L-BFGS minimises the sum over all folds,
which share only the calls. Since Z'WZ is diagonal, so is the Hessian at 0, up to a K x K factor.
With coordinates divided by the roots of its diagonal at the solution for the previous C, few steps
are enough, however unequal the axes are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from primum._typing import Floats, Index
from primum.rows import as_dense

# Axes this much shorter than the longest one, in squared length, are rounding of their
# decomposition.
MIN_AXIS_SQUARE = 1e-14
# Newton's method stops after this many steps, or at this change of the decision values: the next
# change would be about its square.
MAX_NEWTON_STEPS, MIN_NEWTON_STEP = 50, 1e-4
# Added to the curvature along the intercept, relative to the largest weight: without it, the
# curvature underflows if all margins are large.
MIN_CURVATURE = 1e-12
# A step that must be halved more often than this, to less than a millionth, changes nothing.
MAX_HALVINGS = 20
# L-BFGS: the largest element of the gradient of the mean loss at which it stops, a fifth of
# scikit-learn's, which was found to change chosen penalties; the number of steps that it remembers,
# few, because it starts at the solution for the previous penalty; and the most steps, far more than
# usual.
MAX_SLOPE, LBFGS_STORED_STEPS, MAX_LBFGS_STEPS = 2e-5, 5, 1000
# Exponentials of up to this number, and their inverses, do not overflow.
MAX_EXPONENT = 300.0
# Objectives whose relative difference is at most this are equal up to rounding.
VALUE_TOLERANCE = 1e-14


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
        weights = np.ones(X.shape[0]) if weight is None else weight
        mean = np.asarray((weights @ X) / weights.sum()).reshape(-1)
        if X.shape[0] <= X.shape[1]:
            return cls._of_wide(X, mean, weights)
        centred = as_dense(X) - mean
        squares, axes = np.linalg.eigh((weights * centred.T) @ centred)
        axes = axes[:, squares > MIN_AXIS_SQUARE * squares.max(initial=0.0)]
        return cls(centred @ axes, axes, mean, weights)

    @classmethod
    def _of_wide(cls, X: Any, mean: Floats, weight: Floats) -> "Principal":
        """Return rows with at least as many features as rows, from their inner products."""
        rows = cls.of_gram(as_dense(X @ X.T), weight)
        return replace(rows, axes=np.asarray(X.T @ rows.axes), mean=mean)

    @classmethod
    def of_gram(cls, gram: Floats, weight: Floats | None) -> "Principal":
        """Return rows in principal coordinates, with inner products in place of features.

        Coefficients then apply to the inner products with the rows.
        """
        weights = np.ones(len(gram)) if weight is None else weight
        share, root = weights / weights.sum(), np.sqrt(weights)
        mean = share @ gram
        centred = gram - mean
        centred -= (centred @ share)[:, None]
        squares, vectors = np.linalg.eigh(root[:, None] * centred * root)
        used = squares > MIN_AXIS_SQUARE * max(squares[-1], 0.0)
        lengths = np.sqrt(squares[used])
        # The axes combine the centred rows: they combine the rows, with weights that sum to 0.
        axes = vectors[:, used] * root[:, None] / lengths
        axes -= share[:, None] * axes.sum(axis=0)
        return cls(vectors[:, used] * lengths / root[:, None], axes, mean, weights)

    def linear(self, w: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return coefficients and intercepts of the features, given those of the coordinates."""
        coef = self.axes @ w
        return coef, b - self.mean @ coef


def ridge_path(
    rows: Principal, Y: Floats, penalties: Floats, groups: Index | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return coefficients and intercepts for the best penalty, and the errors of all.

    An error is a weighted mean over rows, left out one by one or by ``groups``, and columns of Y.
    """
    root = np.sqrt(rows.weight)
    level = root / np.linalg.norm(root)
    scaled = root[:, None] * rows.Z
    squares = np.sum(scaled**2, axis=0)
    U, target = scaled / np.sqrt(squares), root[:, None] * Y
    inner, centred = U.T @ target, target - np.outer(level, level @ target)
    shrunk = squares / (squares + np.asarray(penalties)[:, None])
    if groups is None:
        leverage = (level**2)[:, None] + U**2 @ shrunk.T
        shape = len(shrunk), inner.shape[1]
        fitted = U @ (shrunk.T[:, :, None] * inner[:, None]).reshape(len(inner), np.prod(shape))
        residuals = centred[:, None] - fitted.reshape(len(U), *shape)
        errors = np.einsum("ijk,ijk,ij->j", residuals, residuals, 1.0 / (1.0 - leverage) ** 2)
    else:
        errors = np.array(
            [
                _left_out_group_error(centred - U @ (own[:, None] * inner), level, U, own, groups)
                for own in shrunk
            ]
        )
    best = penalties[int(np.argmin(errors))]
    w = inner * (np.sqrt(squares) / (squares + best))[:, None]
    b = np.average(Y, axis=0, weights=rows.weight)
    return *rows.linear(w, b), errors / (rows.weight.sum() * Y.shape[1])


def _left_out_group_error(
    residuals: Floats, level: Floats, U: Floats, shrunk: Floats, groups: Index
) -> float:
    """Return the sum of squared errors of the groups of rows left out."""
    total = 0.0
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        S = np.outer(level[members], level[members]) + (U[members] * shrunk) @ U[members].T
        total += float(np.sum(np.linalg.solve(np.eye(len(members)) - S, residuals[members]) ** 2))
    return total


@dataclass(frozen=True)
class MarginLoss:
    """A convex loss of margins, with its first and second derivatives."""

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    curvature: Callable[[Floats], Floats]


# The losses of logistic regression and of the SVM, as functions of the margin.
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
    """Return coefficients and intercept of the coordinates for the C of least held-out loss.

    ``codes`` are 0 or 1. The loss of a fold is the weighted mean over its rows, and all folds count
    the same. With ``mean``, C multiplies the mean loss instead of the sum. Coefficients and
    intercept have one column; the last value is the position of C.
    """
    weight = _training_weights(rows, folds)
    if mean:
        weight /= weight.sum(axis=1, keepdims=True)
    signs, of_all, losses = np.where(codes == 1, 1.0, -1.0), [], []
    x = np.zeros((len(weight), rows.Z.shape[1] + 1))
    for C in inverse_penalties:
        x = _newton(rows.Z, signs, C * weight, x, loss)
        of_all.append(x[-1])
        losses.append(_held_out_loss(rows, folds, loss.value(signs * _decisions(rows.Z, x))))
    best = int(np.argmin(losses))
    return of_all[best][:-1, None], of_all[best][-1:], best


def _training_weights(rows: Principal, folds: Sequence[tuple[Index, Index]]) -> Floats:
    """Return the weights of the rows in the training set of each fold, and last in all rows."""
    weight = np.zeros((len(folds) + 1, len(rows.Z)))
    for number, (train, _) in enumerate(folds):
        weight[number, train] = rows.weight[train]
    weight[-1] = rows.weight
    return weight


def _held_out_loss(
    rows: Principal, folds: Sequence[tuple[Index, Index]], losses: Floats
) -> np.floating[Any]:
    """Return the mean over folds of the weighted mean loss of their rows."""
    means = [
        np.average(losses[k, test], weights=rows.weight[test]) for k, (_, test) in enumerate(folds)
    ]
    return np.mean(means)


def _decisions(Z: Floats, x: Floats) -> Floats:
    """Return the decision values (n_problems, n_rows) of coefficients followed by an intercept."""
    return x[:, :-1] @ Z.T + x[:, -1:]


def _newton(Z: Floats, signs: Floats, weight: Floats, start: Floats, loss: MarginLoss) -> Floats:
    """Return the minima of several problems, given the weights of the rows in each."""
    augmented = np.column_stack([Z, np.ones(len(Z))])
    penalty = np.append(np.ones(Z.shape[1]), 0.0)
    curved = np.append(np.ones(Z.shape[1]), MIN_CURVATURE * weight.max())

    def objective(x: Floats) -> Floats:
        losses = loss.value(signs * _decisions(Z, x))
        return np.asarray(np.sum(weight * losses, axis=1) + 0.5 * np.sum(penalty * x**2, axis=1))

    x, value = start, objective(start)
    for _ in range(MAX_NEWTON_STEPS):
        margins = signs * _decisions(Z, x)
        gradient = (weight * signs * loss.slope(margins)) @ augmented + penalty * x
        curvature = weight * loss.curvature(margins)
        hessian = (augmented.T * curvature[:, None, :]) @ augmented + np.diag(curved)
        full = -np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        step = np.asarray(full, dtype=np.float64)
        # Steps that do not lower their objective are halved.
        after = objective(x + step)
        for _ in range(MAX_HALVINGS):
            higher = after > value + VALUE_TOLERANCE * np.abs(value)
            if not higher.any():
                break
            step = np.where(higher[:, None], 0.5 * step, step)
            after = objective(x + step)
        value = after
        x = x + step
        if np.abs(_decisions(Z, step)).max() < MIN_NEWTON_STEP:
            break
    return x


def multinomial_path(
    rows: Principal,
    codes: Index,
    folds: Sequence[tuple[Index, Index]],
    inverse_penalties: Sequence[float] | Floats,
) -> tuple[Floats, Floats]:
    """Return coefficients and intercepts, one column per class, for the C of the least log loss.

    ``codes`` are 0, ..., K - 1, and all of them occur.
    """
    weight, one_hot = _training_weights(rows, folds), np.eye(int(codes.max()) + 1)[codes]
    share = weight / weight.sum(axis=1, keepdims=True)
    problem = MultinomialFolds(np.column_stack([rows.Z, np.ones(len(codes))]), one_hot, share.T)
    double = 2.0 if one_hot.shape[1] == 2 else 1.0
    x = np.zeros((rows.Z.shape[1] + 1, len(weight), one_hot.shape[1]))
    of_all, losses = [], []
    for C in inverse_penalties:
        x = problem.minimum(double / (C * weight.sum(axis=1)), x)
        of_all.append(x[:, -1])
        losses.append(_held_out_loss(rows, folds, problem.log_losses(x).T))
    best = of_all[int(np.argmin(losses))]
    return best[:-1], best[-1]


@dataclass(frozen=True)
class MultinomialFolds:
    """Several multinomial regressions of the same rows, which differ in the row weights.

    Attributes
    ----------
    Z : array of shape (n_rows, n_axes + 1)
        The coordinates, and a column of ones.
    one_hot : array of shape (n_rows, n_classes)
        The classes.
    share : array of shape (n_rows, n_problems)
        Weights of the rows; those of a problem add up to 1.
    """

    Z: Floats
    one_hot: Floats
    share: Floats

    def values(self, x: Floats) -> Floats:
        """Return the decision values (n_rows, n_problems, n_classes) of (n_axes + 1, ...)."""
        return (self.Z @ x.reshape(len(x), -1)).reshape(len(self.Z), *x.shape[1:])

    def log_losses(self, x: Floats) -> Floats:
        """Return the losses (n_rows, n_problems)."""
        values = self.values(x)
        of_class = np.sum(values * self.one_hot[:, None], axis=2)
        return np.asarray(logsumexp(values, axis=2) - of_class)

    def minimum(self, penalties: Floats, start: Floats) -> Floats:
        """Return the minima of the mean losses plus half the penalties times the squared norms."""
        ridge = np.repeat(penalties[None], len(start), axis=0)
        ridge[-1] = 0.0
        unit = 1.0 / np.sqrt(self._curvature(start) + ridge[:, -1])[:, None, None]
        scaled, shape = replace(self, Z=self.Z * unit[:, 0, 0]), start.shape
        penalty = ridge[:, :, None] * unit**2

        def objective(flat: Floats) -> tuple[float, Floats]:
            u = flat.reshape(shape)
            loss, gradient = scaled.mean_losses(u)
            shrunk = penalty * u
            return loss + 0.5 * float(np.vdot(u, shrunk)), (gradient + shrunk).reshape(-1)

        options: Any = {"gtol": MAX_SLOPE, "maxcor": LBFGS_STORED_STEPS, "maxiter": MAX_LBFGS_STEPS}
        first = (start / unit).reshape(-1)
        solution: Any = minimize(objective, first, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(unit * solution.x.reshape(shape))

    def mean_losses(self, x: Floats) -> tuple[float, Floats]:
        """Return the sum over problems of the mean losses, and its gradient."""
        values = self.values(x)
        if max(values.max(), -values.min()) > MAX_EXPONENT:
            values -= values.max(axis=2, keepdims=True)
        of_class = np.einsum("ijk,ik->ij", values, self.one_hot)
        np.exp(values, out=values)
        total = values @ np.ones(values.shape[2])  # faster than a sum of few
        loss = float(np.vdot(self.share, np.log(total) - of_class))
        values *= (self.share / total)[:, :, None]
        values -= self.share[:, :, None] * self.one_hot[:, None]
        return loss, (self.Z.T @ values.reshape(len(values), -1)).reshape(x.shape)

    def _curvature(self, x: Floats) -> Floats:
        """Return the diagonal of the Hessian of the last problem, in the mean over classes."""
        p = softmax(self.values(x)[:, -1], axis=1)
        weight = self.share[:, -1] * np.mean(p * (1.0 - p), axis=1)
        return np.asarray(weight @ self.Z**2) + MIN_CURVATURE
