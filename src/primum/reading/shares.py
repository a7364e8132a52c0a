"""Class shares: prior beliefs, and bounds on the shares among the unlabelled rows.

A prior is a share per class, an interval per class, or "confidence": intervals that contain the
shares among the unlabelled rows with a given probability, if these and the labelled rows are drawn
from the same population. The number of class k among U rows, given that L labelled ones contain
n_k, is beta-binomial; as in the interval of Clopper and Pearson (1934), the bounds are those of
Beta(n_k, L - n_k + 1) and Beta(n_k + 1, L - n_k), with the error divided by the number of bounds.

Methods that model the classes themselves take exact shares, which are read in the same way.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import betaincinv, betaln, gammaln

from primum._typing import AnyArray, Floats
from primum.labellings import LabelInterval, LabelSet, ShareBounds, Simplex
from primum.labellings.sets import PerRow
from primum.reading.data import effective_size
from primum.reading.targets import as_real
from primum.rows import LabeledRows, Rows

# Shares, which people round, may miss a sum of 1 or a bound by this much: six decimals are enough
# for a list of them.
SHARE_ROUNDING = 1e-6
# Beyond this many rows the distribution of a share is approximated: it is smooth then, and a sum
# over all counts would take long.
MAX_EXACT_SHARE_ROWS = 2**17


def share_bounds(
    prior: Any, level: float, classes: AnyArray, labeled: LabeledRows, n_rows: float
) -> Floats:
    """Return the bounds (K, 2) on the shares of the classes among n_rows unlabelled rows."""
    names = classes.tolist()
    if isinstance(prior, str):
        # Prediction intervals that hold jointly with the given probability. The shares of two
        # classes are one number.
        y = labeled.y if labeled.y.ndim == 2 else np.stack([1 - labeled.y, labeled.y], axis=1)
        weight = np.ones(len(y)) if labeled.weight is None else labeled.weight
        size = effective_size(weight)
        counts = size * (weight @ y) / weight.sum()
        error = (1 - level) / (2 * (len(names) if len(names) > 2 else 1))
        rows = max(1, round(n_rows))
        return np.array([_interval(count, size, rows, error) for count in counts.tolist()])

    # The bounds (K, 2) that a dict or an array gives; a dict need not name all classes.
    prior = _by_class(prior, classes)
    if isinstance(prior, dict):
        bounds = np.array([[0.0, 1.0]] * len(names))
        for name, share in prior.items():
            values = _numbers(share, f"prior[{name!r}]")
            if values.shape not in ((), (2,)):
                raise ValueError(
                    f"prior[{name!r}] has shape {values.shape}: pass a share or a pair of bounds."
                )
            bounds[names.index(name)] = values
    else:
        values = _numbers(prior, "prior")
        if values.shape not in ((len(names),), (len(names), 2)):
            raise ValueError(
                f"prior has shape {values.shape} but there are {len(names)} classes, {names}: "
                "pass one share per class, or one pair of bounds per class."
            )
        bounds = np.stack([values, values], axis=1) if values.ndim == 1 else values
    for (low, high), name in zip(bounds.tolist(), names, strict=True):
        if not 0 <= low <= high <= 1:
            raise ValueError(
                f"prior bounds the share of class {name!r} by {low:g} and {high:g}: pass a lower "
                "and an upper bound, in this order, between 0 and 1."
            )
    low, high = bounds.sum(axis=0)
    if low > 1 + SHARE_ROUNDING or high < 1 - SHARE_ROUNDING:
        words = "add up to" if low == high else "allow sums between"
        sums = f"{low:.6g}" if low == high else f"{low:.6g} and {high:.6g}"
        raise ValueError(
            f"The shares of prior {words} {sums}: pass shares, or bounds of shares, of all "
            f"{len(classes)} classes that can add up to 1."
        )
    # If rounding misses a sum of 1, lower bounds are lowered and upper bounds are raised.
    factors = [min(1.0, 1.0 / low) if low > 0 else 1.0, max(1.0, 1.0 / high)]
    fixed = (bounds[:, 0] == bounds[:, 1]).all()
    return np.minimum(bounds / low if fixed else bounds * factors, 1.0)


def prior_on(
    prior: Any,
    level: float,
    classes: AnyArray,
    labeled: LabeledRows,
    unlabeled: Rows,
    labels: LabelSet | None,
) -> tuple[Floats, ShareBounds | None]:
    """Return the bounds (K, 2) of a prior, and those on the mean label of the unlabelled rows.

    Without unlabelled rows there is no mean label.
    """
    n_rows, weight = unlabeled.n_rows, unlabeled.weight
    size = n_rows if weight is None else effective_size(weight)
    bounds = share_bounds(prior, level, classes, labeled, size)
    if n_rows == 0:
        return bounds, None
    shares = ShareBounds(bounds[:, 0], bounds[:, 1])
    if len(classes) == 2:
        least = max(bounds[1, 0], 1 - bounds[0, 1])
        most = min(bounds[1, 1], 1 - bounds[0, 0])
        shares = ShareBounds(np.array(least), np.array(max(least, most)))

    # Partial labels must allow some labelling that meets the bounds.
    if isinstance(labels, LabelInterval) and labels.bounds is not None:
        weights = _Weights.of(labels.bounds, n_rows, weight)
        return bounds, _within_reach(shares, classes, weights.mean(labels.bounds))
    if not isinstance(labels, Simplex) or labels.masks is None:
        return bounds, shares
    # The possible classes of rows that have only one bound each share from below.
    possible = labels.masks
    weights = _Weights.of(possible, n_rows, weight)
    single = [m & (m.sum(axis=-1, keepdims=True) == 1) for m in (possible.first, possible.later)]
    reach = np.stack([weights.mean(PerRow(*single)), weights.mean(possible)])
    shares = _within_reach(shares, classes, reach)
    if (shares.low <= 0).all() and (shares.high >= 1).all():
        return bounds, shares
    # Rows with the same mask are shared out as one, by a linear program with one unknown for every
    # mask and class that it allows: the weight of its rows in that class.
    masks, which = np.unique(possible.first, axis=0, return_inverse=True)
    total = np.append(np.bincount(which.ravel(), weights.first, len(masks)), weights.later)
    of_mask, of_class = np.nonzero(np.vstack([masks, possible.later]))
    ones = np.ones(len(of_mask))
    unknowns = np.arange(len(of_mask))
    per_class: Any = sparse.csr_array((ones, (of_class, unknowns)), (len(classes), len(ones)))
    per_mask: Any = sparse.csr_array((ones, (of_mask, unknowns)), (len(total), len(ones)))
    both_ways: Any = sparse.vstack([per_class, -per_class])
    solution = linprog(
        np.zeros(len(unknowns)),
        A_ub=both_ways,
        b_ub=np.concatenate([shares.high, -shares.low]) + SHARE_ROUNDING / len(classes),
        A_eq=per_mask,
        b_eq=total,
    )
    if not solution.success:
        ranges = ", ".join(
            f"{name!r} {low:.4g} to {high:.4g}"
            for name, low, high in zip(classes.tolist(), *reach.tolist(), strict=True)
        )
        raise ValueError(
            "No labelling that the partial labels allow meets all shares of prior at once: widen "
            f"the prior. Each share alone can be: {ranges}."
        )
    return bounds, shares


def class_shares(prior: Any, classes: AnyArray) -> Floats:
    """Return the shares of all classes, in order; raise an error if one is not above 0."""
    names, values = classes.tolist(), _by_class(prior, classes)
    if isinstance(values, dict):
        if missing := [name for name in names if name not in values]:
            raise ValueError(
                f"prior has no share of class {missing[0]!r}: pass the shares of all classes, "
                f"{names}."
            )
        values = [values[name] for name in names]
    shares = _numbers(values, "prior", "shares, numbers above 0")
    if shares.shape != (len(classes),):
        raise ValueError(
            f"prior is {shares.tolist()}, but there are {len(classes)} classes: pass one share "
            'above 0 per class, in the order of classes_, that add up to 1, or "equal", or None.'
        )
    for share, name in zip(shares.tolist(), names, strict=True):
        if not share > 0:
            raise ValueError(
                f"prior gives class {name!r} a share of {share:g}: pass shares above 0."
            )
    if abs(shares.sum() - 1.0) > SHARE_ROUNDING:
        raise ValueError(
            f"The shares of prior add up to {shares.sum():.6g}: pass shares of all "
            f"{len(classes)} classes that add up to 1."
        )
    return np.asarray(shares / shares.sum())


def _by_class(prior: Any, classes: AnyArray) -> Any:
    """Turn a pandas object indexed by class into a dict, and check the names of the classes."""
    if hasattr(prior, "index") and hasattr(prior, "to_numpy"):
        prior = dict(zip(prior.index, prior.to_numpy(), strict=True))
    names = classes.tolist()
    if isinstance(prior, dict) and (unknown := [name for name in prior if name not in names]):
        raise ValueError(
            f"prior names the class {unknown[0]!r}, but the classes are {names}: use their names."
        )
    return prior


def _numbers(
    values: Any, name: str, wanted: str = "shares, numbers between 0 and 1, or pairs of bounds"
) -> Floats:
    try:
        return as_real(values)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {values!r}: pass {wanted}.") from None


def _interval(count: float, size: float, rows: int, error: float) -> tuple[float, float]:
    low = _quantile(error, rows, count, size - count + 1)
    high = 1 - _quantile(error, rows, size - count, count + 1)
    return low, high


def _quantile(error: float, rows: int, a: float, b: float) -> float:
    """Return the largest share that a beta-binomial count undercuts with at most this error."""
    if a <= 0:
        return 0.0
    if rows > MAX_EXACT_SHARE_ROWS:
        # A beta distribution with the mean and the variance of the share.
        size = (a + b + 1) * rows / (a + b + rows) - 1
        share = float(betaincinv(size * a / (a + b), size * b / (a + b), error))
        return float(np.floor(share * rows)) / rows
    k = np.arange(rows + 1)
    choices = gammaln(rows + 1) - gammaln(k + 1) - gammaln(rows - k + 1)
    below = np.cumsum(np.exp(choices + betaln(k + a, rows - k + b) - betaln(a, b)))
    return float(np.searchsorted(below, error)) / rows


@dataclass(frozen=True)
class _Weights:
    """The weights of the first rows, and the sum of those of all later ones; 1 in total."""

    first: Floats
    later: float

    @classmethod
    def of(cls, values: PerRow, n_rows: int, weight: Floats | None) -> "_Weights":
        n = len(values.first)
        if weight is None:
            return cls(np.full(n, 1.0 / n_rows), (n_rows - n) / n_rows)
        return cls(weight[:n] / weight.sum(), float(weight[n:].sum() / weight.sum()))

    def mean(self, values: PerRow) -> Floats:
        """Return the weighted mean of a property of rows."""
        return np.asarray(self.first @ values.first + self.later * values.later)


def _within_reach(shares: ShareBounds, classes: AnyArray, reach: Floats) -> ShareBounds:
    """Check that each share alone is possible, and move bounds that miss this by rounding."""
    names = classes[-1:] if shares.low.ndim == 0 else classes
    limits = np.broadcast_arrays(shares.low, shares.high, *reach)
    of_classes = zip(names.tolist(), *map(np.atleast_1d, limits), strict=True)
    for name, low, high, least, most in of_classes:
        if low > most + SHARE_ROUNDING or high < least - SHARE_ROUNDING:
            raise ValueError(
                f"prior asks for a share of class {name!r} between {low:.4g} and {high:.4g} "
                "of the unlabelled rows, but with the given partial labels it is between "
                f"{least:.4g} and {most:.4g}: widen the prior or the partial labels."
            )
    return ShareBounds(np.minimum(shares.low, reach[1]), np.maximum(shares.high, reach[0]))
