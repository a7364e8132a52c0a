"""The methods of ``primum compare``, by the names under which they are requested.

A random sample of a table that is too long to be compared on.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from primum._typing import AnyArray, Index
from primum._words import key_of
from primum.methods.registry import commands
from primum.tables.problem import table_labels

if TYPE_CHECKING:
    import pandas as pd


# The methods that are compared by default, by the names that ``primum.compare`` gives them.
DEFAULT = {
    "safe-stack": "safe stack",
    "icls": "ICLS",
    "self-learning": "self-learning",
    "tsvm": "TSVM",
    "forest": "forest",
    "boosting": "boosting",
}
SUPERVISED = ("forest", "boosting")
FURTHER = {key_of(variant.name): variant for variant in commands()}


def read_methods(_context: Any, _parameter: Any, text: str | None) -> str | list[Any]:
    """Return the methods in a comma-separated list, as ``primum.compare`` takes them."""
    names = [] if text is None else [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        return "default"
    if twice := [name for name in names if names.count(name) > 1]:
        raise click.BadParameter(f"{twice[0]!r} is listed twice.")
    return [_find(name) for name in names]


def _find(name: str) -> Any:
    """Return a method: the name of a default one, or (name, classifier, uses_unlabeled)."""
    key = key_of(name)
    if key in DEFAULT:
        return DEFAULT[key]
    if key in FURTHER:
        variant = FURTHER[key]
        return variant.name, variant.estimator(), not variant.supervised
    close = get_close_matches(key, [*DEFAULT, *FURTHER], 1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    raise click.BadParameter(f"unknown method {name!r}{meant}; --list-methods lists them.")


def list_methods(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print the names of all methods, and end."""
    if wanted and not context.resilient_parsing:
        for key in DEFAULT:
            uses = ", supervised" if key in SUPERVISED else ""
            click.echo(f"{key:26}compared by default{uses}")
        for key, variant in FURTHER.items():
            uses = ", supervised" if variant.supervised else ""
            click.echo(f"{key:26}{variant.method}{uses}")
        context.exit()


MAX_ROWS = 10_000
# Labelled rows of every class that a sample has, if there are as many.
LEAST_OF_CLASS = 50


def sampled(
    frame: "pd.DataFrame", target: str, missing: Sequence[str], max_rows: int, seed: int
) -> tuple["pd.DataFrame", str]:
    """Return at most about ``max_rows`` rows, in their order, and a sentence on what was left out.

    Up to half of them are labelled rows, by class in proportion to their number, but at least
    LEAST_OF_CLASS of each.
    """
    if len(frame) <= max_rows or target not in frame.columns:
        return frame, ""
    labels = table_labels(frame[target], target, missing)
    rng = np.random.default_rng(seed)
    labeled = _labeled_sample(labels, max_rows // 2, rng)
    unlabeled = np.flatnonzero([label is None for label in labels])
    n_unlabeled = min(len(unlabeled), max(max_rows - len(labeled), 0))
    chosen = np.concatenate([labeled, rng.choice(unlabeled, n_unlabeled, replace=False)])
    note = (
        f"{len(chosen):,} of {len(frame):,} rows are used, a random sample: {len(labeled):,} of "
        f"{len(frame) - len(unlabeled):,} labelled and {n_unlabeled:,} of {len(unlabeled):,} "
        "unlabelled rows; --max-rows changes that."
    )
    return frame.iloc[np.sort(chosen)].reset_index(drop=True), note


def _labeled_sample(labels: AnyArray, max_rows: int, rng: np.random.Generator) -> Index:
    known = np.flatnonzero([label is not None for label in labels])
    share = min(max_rows / max(len(known), 1), 1.0)
    parts = []
    for name in dict.fromkeys(labels[known].tolist()):
        rows = known[labels[known] == name]
        size = min(len(rows), max(round(share * len(rows)), LEAST_OF_CLASS))
        parts.append(rng.choice(rows, size, replace=False))
    return np.concatenate(parts)
