"""The class shares of the generative classifiers, given as an array or by the names of classes."""

from typing import Any

from primum._typing import AnyArray, Floats
from primum.estimators._checks import as_real

# Shares may miss a sum of 1 by this much.
SUM_ROUNDING = 1e-8


def class_shares(priors: Any, classes: AnyArray) -> Floats:
    """Return the shares of all classes, in their order; refuse any that are not shares."""
    if hasattr(priors, "index") and hasattr(priors, "to_numpy"):
        priors = dict(zip(priors.index, priors.to_numpy(), strict=True))
    values = _in_order(priors, classes) if isinstance(priors, dict) else priors
    shares = _numbers(values)
    if shares.shape != (len(classes),):
        raise ValueError(
            f"priors are {shares.tolist()}, but there are {len(classes)} classes: pass one share "
            'above 0 per class, in the order of classes_, that add up to 1, or "equal", or None.'
        )
    for share, name in zip(shares.tolist(), classes.tolist(), strict=True):
        if not share > 0:
            raise ValueError(
                f"priors gives class {name!r} a share of {share:g}: pass shares above 0."
            )
    if abs(shares.sum() - 1.0) > SUM_ROUNDING:
        raise ValueError(
            f"The shares of priors add up to {shares.sum():.6g}: pass shares of all "
            f"{len(classes)} classes that add up to 1."
        )
    return shares


def _in_order(priors: dict[Any, Any], classes: AnyArray) -> list[Any]:
    names = classes.tolist()
    for name in priors:
        if name not in names:
            raise ValueError(
                f"priors names the class {name!r}, but the classes are {names}: use their names."
            )
    missing = [name for name in names if name not in priors]
    if missing:
        raise ValueError(
            f"priors has no share of class {missing[0]!r}: pass the shares of all classes, {names}."
        )
    return [priors[name] for name in names]


def _numbers(values: Any) -> Floats:
    try:
        return as_real(values)
    except (TypeError, ValueError):
        raise ValueError(f"priors are {values!r}: pass shares, numbers above 0.") from None
