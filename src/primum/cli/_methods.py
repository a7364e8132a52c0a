"""The methods of ``primum compare``, by the names under which they are requested."""

from difflib import get_close_matches
from typing import Any

import click

from primum.evaluation.methods import GENERATIVE, ON_REQUEST, key_of

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
FURTHER = {key_of(method.name): method for method in (*ON_REQUEST, *GENERATIVE)}


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
        method = FURTHER[key]
        return method.name, method.estimator, method.sees != "labeled"
    close = get_close_matches(key, [*DEFAULT, *FURTHER], 1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    raise click.BadParameter(f"unknown method {name!r}{meant}; --list-methods lists them.")


def list_methods(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print the names of all methods, and end."""
    if wanted and not context.resilient_parsing:
        for key in DEFAULT:
            uses = ", supervised" if key in SUPERVISED else ""
            click.echo(f"{key:26}compared by default{uses}")
        for key, method in FURTHER.items():
            uses = "" if method.sees != "labeled" else ", supervised"
            click.echo(f"{key:26}{type(method.estimator).__name__}{uses}")
        context.exit()
