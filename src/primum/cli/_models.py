"""Models in files that are safe to load: skops, never pickle."""

import zipfile
from pathlib import Path
from typing import Any

import click

from primum import Certificate, ICLSClassifier, LeastSquaresClassifier, USMClassifier
from primum.cli._tables import replacing
from primum.problems import HyperplaneLabels, LabelsByValue
from primum.rows import Frame, GivenLabels

METHODS = {
    "icls": ICLSClassifier,
    "usm": USMClassifier,
    "supervised": LeastSquaresClassifier,
}
# All that a model may consist of, beside arrays and numbers.
PARTS = (*METHODS.values(), Certificate, Frame, GivenLabels, HyperplaneLabels, LabelsByValue)
TRUSTED = sorted(f"{part.__module__}.{part.__qualname__}" for part in PARTS)


def save_model(model: Any, path: Path) -> None:
    """Write a fitted model; the file has its name only once it is complete."""
    from skops.io import dump

    with replacing(path) as unfinished:
        dump(model, unfinished)


def load_model(path: Path) -> Any:
    """Read a fitted model, and refuse a file with anything else in it."""
    from skops.io import get_untrusted_types, load

    try:
        strange = sorted(set(get_untrusted_types(file=path)) - set(TRUSTED))
        model = None if strange else load(path, trusted=TRUSTED)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as problem:
        raise click.ClickException(
            f"{path} is not a model written by primum fit, or it is damaged."
        ) from problem
    if strange:
        raise click.ClickException(
            f"{path} is refused because it holds {', '.join(strange[:3])}, and a model written by "
            "primum fit does not."
        )
    if not isinstance(model, tuple(METHODS.values())) or not hasattr(model, "coef_"):
        raise click.ClickException(
            f"{path} holds a {type(model).__name__}, not a fitted model of primum."
        )
    return model
