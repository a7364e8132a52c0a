"""Validation of numeric targets, some of them unknown, and of bounds on the unknown ones.

Unknown targets are NaN, None, pd.NA or masked. Every number, including -1, is a target.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats, Index, Mask
from primum.labellings import LabelInterval
from primum.reading.labels import (
    KnownLabels,
    LabelIndices,
    as_one_dimensional,
    is_missing,
    refuse_infinity,
    refuse_masked,
)
from primum.rows import to_numpy

UNKNOWN = "NaN, None or pd.NA"
# Bounds widen the range of the targets within this many times the range of the known ones. That
# range is the unit of tolerances: with bounds far away, no digit of the known ones would be left.
MAX_BOUND_DISTANCE = 10.0
# Losses are squares, and those of larger numbers, or sums of them, overflow; those of the
# differences of numbers that differ by less underflow.
MAX_SQUARED, MIN_SQUARED = 1e150, 1e-140


@dataclass(frozen=True)
class KnownTargets(LabelIndices):
    """The rows with a known target and the others, and bounds on unknown targets.

    ``bounds`` (n_unlabeled, 2) are the lowest and the highest possible target of each unlabelled
    row, NaN where not given, and ``common`` (2,) those of all rows without bounds of their own.
    """

    labeled: Index
    unlabeled: Index
    targets: Floats
    bounds: Floats
    common: Floats | None

    @property
    def values(self) -> Floats:
        """The known targets, under the name that they have in ``KnownLabels``."""
        return self.targets

    @property
    def strata(self) -> Index:
        """One stratum for all labelled rows: folds of numbers are not stratified."""
        return np.zeros(len(self.labeled), dtype=np.intp)

    @property
    def limits(self) -> tuple[float, float] | None:
        """The bounds of all rows without bounds of their own; None if there are none."""
        return None if self.common is None else (float(self.common[0]), float(self.common[1]))

    def with_unlabeled(self, n_more: int) -> "KnownTargets":
        """Return these targets, with further unlabelled rows after all others."""
        unlabeled = self.unlabeled_with(n_more)
        further = np.full((n_more, 2), np.nan if self.common is None else self.common)
        bounds = np.concatenate([self.bounds, further])
        return KnownTargets(self.labeled, unlabeled, self.targets, bounds, self.common)

    def keeping(self, kept: Mask) -> "KnownTargets":
        """Return the targets of some of the labelled rows; the others count as unlabelled.

        The latter have only the common bounds.
        """
        bounds = np.full((self.n_rows, 2), np.nan if self.common is None else self.common)
        bounds[self.unlabeled] = self.bounds
        unlabeled = self.unlabeled_without(kept)
        targets = self.targets[kept]
        return KnownTargets(self.labeled[kept], unlabeled, targets, bounds[unlabeled], self.common)

    @property
    def common_set(self) -> LabelInterval:
        """The possible targets of rows without bounds of their own; [0, 1] if there are none."""
        return LabelInterval() if self.common is None else LabelInterval(*self.common.tolist())

    @property
    def sets(self) -> LabelInterval:
        """The possible targets of the unlabelled rows of X; further rows have the common bounds."""
        others = self.common_set
        pair = (others.low, others.high)
        if (self.bounds == pair).all():
            return others
        return LabelInterval.of_rows(self.bounds, pair)

    def scale(self, shifted: bool) -> "TargetScale":
        """Return the scale that gives all targets, known and possible, a range of 1.

        Bounds far from all known targets are left out: tolerances are in units of the range, and
        must not grow with bounds that hardly matter. ``shifted`` lets the scale begin at 0, which
        needs an intercept.
        """
        common = np.zeros((0, 2)) if self.common is None else self.common[None]
        lower, upper = np.concatenate([self.bounds, common]).T
        lowest, highest = self.targets.min(), self.targets.max()
        low, high = (np.nanmin(np.append(lower, lowest)), np.nanmax(np.append(upper, highest)))
        size = highest - lowest or np.abs(highest)
        if size > 0:
            # At least one end of every interval counts: the one nearest to the known targets.
            near = np.nanmin(np.append(upper, (lowest + highest - MAX_BOUND_DISTANCE * size) / 2))
            low = max(low, near)
            near = np.nanmax(np.append(lower, (lowest + highest + MAX_BOUND_DISTANCE * size) / 2))
            high = min(high, near)
        return TargetScale(float(low) if shifted else 0.0, float(high - low) or 1.0)


# The known labels: classes or numbers.
Known = KnownLabels | KnownTargets


@dataclass(frozen=True)
class TargetScale:
    """The scale ``(y - shift) / width``, which makes a fit independent of the units of y."""

    shift: float
    width: float

    def standardised(self, y: Floats) -> Floats:
        """Return targets on this scale."""
        return np.asarray((y - self.shift) / self.width)

    def possible(self, sets: LabelInterval) -> LabelInterval:
        """Return possible targets on this scale."""
        if sets.bounds is None:
            return LabelInterval(*self.standardised(np.array([sets.low, sets.high])).tolist())
        first, later = (self.standardised(part) for part in (sets.bounds.first, sets.bounds.later))
        return LabelInterval.of_rows(first, later.tolist())

    def restored(self, values: Any) -> Any:
        """Return values on this scale as targets."""
        return self.shift + self.width * values

    def restored_fit(self, coef: Floats, intercept: float) -> tuple[Floats, float]:
        """Return the (coefficients, intercept) for targets of a model fitted on this scale."""
        return self.width * coef, self.shift + self.width * float(intercept)


def read_targets(
    y: Any, n_rows: int, bounds: Any = None, target_bounds: Any = None
) -> KnownTargets:
    """Return the content of y for n_rows rows; raise an error if nothing can be learnt from it."""
    values, unknown = _split_unknown(y)
    if len(values) != n_rows:
        raise ValueError(
            f"X has {n_rows} rows but y has {len(values)} targets: pass one target for every row "
            f"of X, and mark unknown ones ({UNKNOWN})."
        )
    # The bounds of every row, and those of all others; NaN stands for the latter.
    common = None
    if bounds is not None:
        try:
            common = as_real(bounds)
        except (TypeError, ValueError):
            common = np.zeros(0)
        if common.shape != (2,) or not np.isfinite(common).all() or common[0] >= common[1]:
            raise ValueError(
                f"bounds={bounds!r} is not a range: pass two finite numbers, the lower one first, "
                "between which all unknown targets are certain to be."
            )
        _check_size(common, "bounds")
    pairs = np.full((n_rows, 2), np.nan)
    if target_bounds is not None:
        refuse_masked(target_bounds, "target_bounds")
        as_floats = getattr(target_bounds, "to_numpy", None)  # pandas, without importing it
        try:
            if as_floats is not None:
                target_bounds = as_floats(dtype=np.float64, na_value=np.nan)
            pairs = as_real(target_bounds)
        except (TypeError, ValueError) as problem:
            raise ValueError(
                f"target_bounds has values that are not numbers ({problem}): pass one pair "
                "(low, high) for every row of X, and NaN for a common bound."
            ) from None
        if pairs.shape != (n_rows, 2):
            raise ValueError(
                f"target_bounds has shape {pairs.shape}, but X has {n_rows} rows: pass one pair "
                f"(low, high) for every row of X, an array of shape ({n_rows}, 2)."
            )
        infinite = np.flatnonzero(np.isinf(pairs).any(axis=1))
        if len(infinite):
            row = infinite[0]
            raise ValueError(
                f"target_bounds is {_pair(pairs[row])} in row {row}, but both bounds must be "
                "finite: for a censored target, pass NaN for the open end, which then takes that "
                "of bounds, or the most extreme value that the target can have."
            )
        _check_size(pairs, "target_bounds")
    if common is not None:
        pairs = np.where(np.isnan(pairs), common, pairs)
    wrong = np.flatnonzero(pairs[:, 0] > pairs[:, 1])
    if len(wrong):
        raise ValueError(
            f"The bounds of row {wrong[0]} are {_pair(pairs[wrong[0]])}, but the lower one must "
            "come first: swap them, or correct the bound that target_bounds or bounds gives."
        )
    _check_inside(values, pairs, of_row=target_bounds is not None)
    if unknown.all():
        raise ValueError(
            f"No row is labelled: all {n_rows} targets in y are unknown ({UNKNOWN}). Give at least "
            "one row a target."
        )
    labeled, unlabeled = np.flatnonzero(~unknown), np.flatnonzero(unknown)
    return KnownTargets(labeled, unlabeled, values[labeled], pairs[unlabeled], common)


def _split_unknown(y: Any) -> tuple[Floats, Mask]:
    """Return (targets, mask of the unknown ones, which are NaN)."""
    y = as_one_dimensional(y, "target", UNKNOWN)
    if y.dtype.kind == "O":
        y = np.array([np.nan if is_missing(item) else item for item in y], dtype=object)
    if y.dtype.kind not in "biufO":
        _refuse_other_than_numbers(y)
    try:
        values = y.astype(np.float64)
    except (TypeError, ValueError):
        _refuse_other_than_numbers(y)
        raise
    if y.dtype.kind == "O" and any(isinstance(item, str) for item in y):
        _refuse_other_than_numbers(y)
    refuse_infinity(values, "target")
    _check_size(values, "y")
    return values, np.isnan(values)


def _refuse_other_than_numbers(y: AnyArray) -> None:
    """Raise an error that names the first item of y that is not a number."""
    for row, item in enumerate(y.tolist() if y.dtype.kind in "OU" else y):
        if isinstance(item, bool | int | float | np.number) and not np.iscomplexobj(item):
            continue
        raise ValueError(
            f"y contains {item!r} in row {row}, which is not a number: convert all targets to "
            f"numbers, and mark unknown ones ({UNKNOWN}); for classes, use a classifier."
        )


def _check_size(values: Floats, name: str) -> None:
    large = np.abs(values) > MAX_SQUARED
    if large.any():
        raise ValueError(
            f"{name} contains {values[large][0]:.1e}, whose square overflows: use other units."
        )


def _check_inside(values: Floats, pairs: Floats, of_row: bool) -> None:
    """Raise an error if a known target is not within its bounds."""
    outside = np.flatnonzero((values < pairs[:, 0]) | (values > pairs[:, 1]))
    if len(outside):
        row = outside[0]
        where = "target_bounds or bounds" if of_row else "bounds"
        # Classifiers take -1 for an unknown label.
        hint = f" Unknown targets are {UNKNOWN}, not -1." if values[row] == -1 else ""
        raise ValueError(
            f"The target of row {row} is {values[row]:g}, which is outside its bounds "
            f"{_pair(pairs[row])}: correct it, or widen {where}, which must contain all targets, "
            f"known or not.{hint}"
        )


def as_real(values: Any) -> Floats:
    """Return numbers in double precision; raise a TypeError if complex, which NumPy would cast."""
    array = np.asarray(to_numpy(values))
    if array.dtype.kind == "c":
        raise TypeError("complex numbers")
    return array.astype(np.float64)


def _pair(pair: Floats) -> str:
    return f"({pair[0]:g}, {pair[1]:g})"
