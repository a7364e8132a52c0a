"""``--prior``: the shares of the classes among the unlabelled rows, on the command line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import click

CONFIDENCE = "confidence"
SHOWN = 12  # classes


@dataclass(frozen=True)
class ClassShare:
    """The share of one class, or bounds on it; the class as it was written."""

    name: str
    low: float
    high: float


class PriorType(click.ParamType):
    """A class and its share, a class and bounds on its share, or the word ``confidence``."""

    name = "class=share"

    def convert(self, value: Any, param: Any, ctx: Any) -> ClassShare | str:
        """Return the share; names of classes may contain "="."""
        if value == CONFIDENCE or isinstance(value, ClassShare):
            return value
        name, _, share = str(value).rpartition("=")
        low, colon, high = share.partition(":")
        try:
            bounds = float(low), float(high if colon else low)
        except ValueError:
            bounds = None
        if not name or bounds is None:
            self.fail(
                f"{value!r} is not a class and its share: write for example yes=0.3, bounds as "
                f"yes=0.2:0.4, or {CONFIDENCE}.",
                param,
                ctx,
            )
        if not 0 <= bounds[0] <= bounds[1] <= 1:
            self.fail(
                f"{value!r} has a share outside [0, 1], or a lower bound above the upper one: "
                "shares are numbers from 0 to 1.",
                param,
                ctx,
            )
        return ClassShare(name, *bounds)


Prior = tuple[ClassShare, ...] | str | None


def _one_prior(_context: Any, _parameter: Any, parts: Sequence[ClassShare | str]) -> Prior:
    """Return the parts of a prior as one; None if there are none."""
    shares = tuple(part for part in parts if isinstance(part, ClassShare))
    if len(shares) < len(parts):
        if len(parts) > 1:
            raise click.BadParameter(
                f"{CONFIDENCE!r} bounds the shares of all classes: pass it alone."
            )
        return CONFIDENCE
    names = [share.name for share in shares]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise click.BadParameter(
            f"the class {twice[0]!r} is named twice: bounds are written as {twice[0]}=0.2:0.4."
        )
    return shares or None


def _level(context: click.Context, _parameter: Any, level: float | None) -> float | None:
    """Return the level; raise an error where it would have no effect."""
    if level is None:
        return None
    if not 0 < level < 1:
        raise click.BadParameter(f"must be above 0 and below 1, got {level:g}.")
    if context.params.get("prior") != CONFIDENCE:
        raise click.BadParameter(f"has an effect only with --prior {CONFIDENCE}.")
    return level


def prior_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--prior`` and ``--prior-level`` to a command."""
    prior = click.option(
        "--prior",
        multiple=True,
        type=PriorType(),
        callback=_one_prior,
        is_eager=True,  # its value is known when that of the level is checked
        help="For icls: share of a class among the unlabelled rows, as yes=0.3, or bounds, as "
        "yes=0.2:0.4; repeat it for further classes, classes not named are unrestricted. "
        f"{CONFIDENCE}: bounds computed from the labelled rows.",
    )
    level = click.option(
        "--prior-level",
        type=float,
        callback=_level,
        help=f"For --prior {CONFIDENCE}: the probability that the bounds hold; default: 0.95.",
    )
    return prior(level(command))


def prior_of(prior: Prior, classes: Sequence[Any]) -> dict[Any, Any] | str | None:
    """Return the prior as a parameter of the estimator, given the classes of the table.

    A class is written as in the table; text that is not a class raises an error.
    """
    if prior is None or isinstance(prior, str):
        return prior
    by_text = {str(name): name for name in classes}
    for share in prior:
        if share.name not in by_text:
            close = get_close_matches(share.name, by_text, 1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            shown = ", ".join(map(repr, list(by_text)[:SHOWN]))
            more = ", ..." if len(by_text) > SHOWN else ""
            raise ValueError(
                f"--prior names the class {share.name!r}, which no label has{meant}; the classes "
                f"are {shown}{more}."
            )
    return {
        by_text[share.name]: share.low if share.low == share.high else (share.low, share.high)
        for share in prior
    }


def prior_in_words(model: Any, *, has_unlabeled: bool) -> list[str]:
    """Describe the bounds of a fitted model's prior, in one line; no line without a prior."""
    if getattr(model, "prior", None) is None:
        return []
    pairs = zip(model.classes_.tolist(), model.prior_.tolist(), strict=True)
    bounded = [(name, low, high) for name, (low, high) in pairs if low > 0 or high < 1]
    parts = [f"{name!r} {_bounds_in_words(low, high)}" for name, low, high in bounded[:SHOWN]]
    more = f" and {len(bounded) - SHOWN} more" if len(bounded) > SHOWN else ""
    where = ", computed from the labelled rows" if model.prior == CONFIDENCE else ""
    effect = "" if has_unlabeled else " It has no effect without unlabelled rows."
    shares = (", ".join(parts) + more) or "no bounds"
    return [f"Its prior on the shares of the classes{where}: {shares}.{effect}"]


def _bounds_in_words(low: float, high: float) -> str:
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
