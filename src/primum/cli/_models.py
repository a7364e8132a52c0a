"""Models in files that are safe to load: skops, never pickle."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from primum import Certificate, ICLSClassifier, LeastSquaresClassifier, USMClassifier
from primum.cli._output import replacing
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


@dataclass(frozen=True)
class StoredModel:
    """A fitted model, and the column that identified the rows it was fitted to, if any."""

    estimator: Any
    id_column: str | None = None


def save_model(stored: StoredModel, path: Path) -> None:
    """Write a fitted model; the file has its name only once it is complete."""
    from skops.io import dump

    with replacing(path) as unfinished:
        dump({"estimator": stored.estimator, "id_column": stored.id_column}, unfinished)


def load_model(path: Path) -> StoredModel:
    """Read a fitted model, and refuse a file with anything else in it.

    A model that was stored from Python, by ``skops.io.dump``, is read too.
    """
    content = _load(path)
    stored = StoredModel(**content) if _is_stored(content) else StoredModel(content)
    model = stored.estimator
    if not isinstance(model, tuple(METHODS.values())) or not hasattr(model, "coef_"):
        raise click.ClickException(
            f"{path} holds a {type(model).__name__}, not a fitted model of primum."
        )
    if (fault := _fault(model)) is not None:
        raise click.ClickException(f"{path} is refused because {fault}: fit the model again.")
    return stored


def _is_stored(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and content.keys() == {"estimator", "id_column"}
        and isinstance(content["id_column"], str | None)
    )


def _load(path: Path) -> Any:
    from skops.io import get_untrusted_types, load

    try:
        _refuse_inflation(path)
        strange = sorted(set(get_untrusted_types(file=path)) - set(TRUSTED))
        content = None if strange else load(path, trusted=TRUSTED)
    except Exception as problem:  # a file made with bad intent can fail in any way while it is read
        raise click.ClickException(
            f"{path} is not a model written by primum fit, or it is damaged."
        ) from problem
    if strange:
        raise click.ClickException(
            f"{path} is refused because it holds {', '.join(strange[:3])}, and a model written by "
            "primum fit does not."
        )
    return content


def _refuse_inflation(path: Path) -> None:
    """Refuse an archive that is larger once it is unpacked: models are stored uncompressed."""
    if not path.is_file():
        raise ValueError(f"{path} is a device or a pipe.")
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > path.stat().st_size:
        raise ValueError(f"{path} would unpack to {unpacked} bytes.")


def _fault(model: Any) -> str | None:
    """Say what is wrong with the fitted attributes that predictions are made of, if anything."""
    n_features = getattr(model, "n_features_in_", None)
    if type(n_features) is not int or n_features < 1:
        return f"its n_features_in_ is {n_features!r} and not a number of features"
    for name, shape in (("coef_", (1, n_features)), ("intercept_", (1,))):
        value: Any = getattr(model, name, None)
        if not (_is_array(value, "f", shape) and np.isfinite(value).all()):
            return f"its {name} is not an array of {shape} finite real numbers"
    classes: Any = getattr(model, "classes_", None)
    if not _is_array(classes, "biufU", (2,)) or classes[0] == classes[1]:
        return "its classes_ are not two different labels"
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not (_is_array(names, "OU", (n_features,)) and _all_differ(names)):
        return f"its feature_names_in_ are not {n_features} different names"
    return None


def _is_array(value: Any, kinds: str, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.shape == shape


def _all_differ(names: Any) -> bool:
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
