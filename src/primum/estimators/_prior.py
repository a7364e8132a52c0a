"""What is known of the share of each class among the unlabelled rows.

A prior is a share per class, an interval per class, or "confidence": intervals that contain the
shares among the unlabelled rows with a given probability, if these and the labelled rows are drawn
from the same population. The number of class k among U rows, given that L labelled ones contain
n_k, is beta-binomial; as in the interval of Clopper and Pearson (1934), the bounds are those of
Beta(n_k, L - n_k + 1) and Beta(n_k + 1, L - n_k), with the error divided by the number of bounds.
"""

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.special import betaln, gammaln

from primum._typing import AnyArray, Floats
from primum.labellings import Interval, LabeledRows, LabelSet, Shares, Simplex

# Shares may miss a sum of 1 by this much; they are then divided by their sum.
SUM_ROUNDING = 1e-6
# Beyond this many rows the distribution of a count is the limit for infinitely many, widened by the
# normal approximation of the binomial.
EXACT_UP_TO = 2**17


def shares_of(
    prior: Any, level: float, classes: AnyArray, labeled: LabeledRows, n_rows: float
) -> Floats:
    """Return the bounds (K, 2) on the shares of the classes among n_rows unlabelled rows."""
    if isinstance(prior, str):
        return _confidence(level, labeled, len(classes), n_rows)
    bounds = _given(prior, classes)
    _refuse_bad_bounds(bounds, classes)
    low, high = bounds.sum(axis=0)
    if (bounds[:, 0] == bounds[:, 1]).all() and abs(low - 1) <= SUM_ROUNDING:
        return bounds / low
    if low > 1 + SUM_ROUNDING or high < 1 - SUM_ROUNDING:
        words = "add up to" if low == high else "allow sums between"
        sums = f"{low:.6g}" if low == high else f"{low:.6g} and {high:.6g}"
        raise ValueError(
            f"The shares of prior {words} {sums}: pass shares, or bounds of shares, of all "
            f"{len(classes)} classes that can add up to 1."
        )
    return bounds


def _given(prior: Any, classes: AnyArray) -> Floats:
    """Return the bounds of a dict or an array."""
    if isinstance(prior, dict):
        return _of_dict(prior, classes)
    values = np.asarray(prior, dtype=np.float64)
    if values.shape not in ((len(classes),), (len(classes), 2)):
        raise ValueError(
            f"prior has shape {values.shape} but there are {len(classes)} classes, "
            f"{classes.tolist()}: pass one share per class, or one pair of bounds per class."
        )
    return np.stack([values, values], axis=1) if values.ndim == 1 else values


def _of_dict(prior: dict[Any, Any], classes: AnyArray) -> Floats:
    names = classes.tolist()
    if unknown := [name for name in prior if name not in names]:
        raise ValueError(
            f"prior names the class {unknown[0]!r}, but the classes are {names}: use their names."
        )
    bounds = np.array([[0.0, 1.0]] * len(names))
    for name, share in prior.items():
        bounds[names.index(name)] = share
    return bounds


def _refuse_bad_bounds(bounds: Floats, classes: AnyArray) -> None:
    for (low, high), name in zip(bounds.tolist(), classes.tolist(), strict=True):
        if not 0 <= low <= high <= 1:
            raise ValueError(
                f"prior bounds the share of class {name!r} by {low:g} and {high:g}: pass a lower "
                "and an upper bound, in this order, between 0 and 1."
            )


def _confidence(level: float, labeled: LabeledRows, n_classes: int, n_rows: float) -> Floats:
    """Return prediction intervals of all shares, which hold jointly with the given probability."""
    y = labeled.y if labeled.y.ndim == 2 else np.stack([1 - labeled.y, labeled.y], axis=1)
    weight = np.ones(len(y)) if labeled.weight is None else labeled.weight
    # Unequal weights count as fewer rows (Kish 1965).
    size = float(weight.sum() ** 2 / (weight @ weight))
    counts = size * (weight @ y) / weight.sum()
    # The shares of two classes are one number.
    error = (1 - level) / (2 * (n_classes if n_classes > 2 else 1))
    rows = max(1, round(n_rows))
    return np.array([_interval(count, size, rows, error) for count in counts.tolist()])


def _interval(count: float, size: float, rows: int, error: float) -> tuple[float, float]:
    low = _quantile(error, rows, count, size - count + 1)
    high = 1 - _quantile(error, rows, size - count, count + 1)
    return low, high


def _quantile(error: float, rows: int, a: float, b: float) -> float:
    """Return the largest share that a beta-binomial count is below with at most this error."""
    if a <= 0:
        return 0.0
    if rows > EXACT_UP_TO:
        from scipy.stats import beta, norm  # slow to import

        share = float(beta.ppf(error / 2, a, b))
        wide = float(norm.isf(error / 2)) * (share * (1 - share) / rows) ** 0.5
        return max(0.0, share - wide)
    k = np.arange(rows + 1)
    choices = gammaln(rows + 1) - gammaln(k + 1) - gammaln(rows - k + 1)
    below = np.cumsum(np.exp(choices + betaln(k + a, rows - k + b) - betaln(a, b)))
    return float(np.searchsorted(below, error)) / rows


def bounds_on_labels(
    bounds: Floats, classes: AnyArray, labels: LabelSet | None, weight: Floats | None
) -> Shares:
    """Return the bounds on the mean label; refuse those that no possible labelling attains.

    ``weight`` are the weights of the unlabelled rows; None: 1.
    """
    if len(classes) == 2:
        low, high = max(bounds[1, 0], 1 - bounds[0, 1]), min(bounds[1, 1], 1 - bounds[0, 0])
        shares = Shares(np.array(low), np.array(high))
    else:
        shares = Shares(bounds[:, 0], bounds[:, 1])
    if isinstance(labels, Interval) and not labels.uniform:
        _refuse_out_of_reach(shares, classes, _reach_of_bounds(labels, weight))
    if isinstance(labels, Simplex) and not labels.uniform:
        _refuse_out_of_reach(shares, classes, _reach_of_masks(labels, weight))
        _refuse_infeasible(shares, classes, labels, weight)
    return shares


def _reach_of_bounds(labels: Interval, weight: Floats | None) -> Floats:
    return np.array(
        [[np.average(labels.low, weights=weight)], [np.average(labels.high, weights=weight)]]
    )


def _reach_of_masks(labels: Simplex, weight: Floats | None) -> Floats:
    possible = np.asarray(labels.possible, dtype=np.float64)
    alone = possible * (possible.sum(axis=1, keepdims=True) == 1)
    return np.stack([np.average(part, axis=0, weights=weight) for part in (alone, possible)])


def _refuse_out_of_reach(shares: Shares, classes: AnyArray, reach: Floats) -> None:
    names = classes[-1:] if shares.low.ndim == 0 else classes
    low, high = np.atleast_1d(shares.low), np.atleast_1d(shares.high)
    for k, name in enumerate(names.tolist()):
        if low[k] > reach[1, k] + SUM_ROUNDING or high[k] < reach[0, k] - SUM_ROUNDING:
            raise ValueError(
                f"prior asks for a share of class {name!r} between {low[k]:.4g} and {high[k]:.4g} "
                "of the unlabelled rows, but with the given partial labels it is between "
                f"{reach[0, k]:.4g} and {reach[1, k]:.4g}: widen the prior or the partial labels."
            )


def _refuse_infeasible(
    shares: Shares, classes: AnyArray, labels: Simplex, weight: Floats | None
) -> None:
    """Refuse bounds that cannot all be met: rows of the same mask are shared out as one."""
    masks, which = np.unique(np.asarray(labels.possible), axis=0, return_inverse=True)
    total = np.bincount(which.ravel(), weight)
    n_masks, n_classes = masks.shape
    per_class = np.tile(np.eye(n_classes), n_masks)
    found = linprog(
        np.zeros(n_masks * n_classes),
        A_ub=np.vstack([per_class, -per_class]),
        b_ub=np.concatenate([shares.high, -shares.low]) + SUM_ROUNDING / n_classes,
        A_eq=np.kron(np.eye(n_masks), np.ones(n_classes)),
        b_eq=total / total.sum(),
        bounds=[(0, 1 if can else 0) for can in masks.ravel()],
    )
    if not found.success:
        reach = _reach_of_masks(labels, weight)
        ranges = ", ".join(
            f"{name!r} {low:.4g} to {high:.4g}"
            for name, low, high in zip(classes.tolist(), *reach.tolist(), strict=True)
        )
        raise ValueError(
            "No labelling that the partial labels allow meets all shares of prior at once: widen "
            f"the prior; each share alone can be: {ranges}."
        )
