"""Model files that are safe to load: skops, never pickle."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from primum import (
    Certificate,
    ICLSClassifier,
    LeastSquaresClassifier,
    SafeClassifier,
    USMClassifier,
)
from primum.cli._output import replacing
from primum.equations import Frame, GivenLabels
from primum.labellings import HyperplaneLabels, LabelsByValue, LabelsInFrame, PriorProof
from primum.labellings.sets import Interval, Simplex
from primum.labellings.sets.per_row import PerRow
from primum.selection.candidates.forest import ForestModel
from primum.selection.candidates.kernel import KernelModel
from primum.selection.candidates.models import Affine, LinearModel
from primum.selection.candidates.spreading import NeighborModel
from primum.selection.out_of_fold import Failure
from primum.selection.stacked import StackedClassifier
from primum.selection.statistics import Difference, Probabilities
from primum.selection.verdict import SafeVerdict
from primum.selection.wording import Verdict

# Of model files; raised whenever what they contain changes. Format 1 has two classes only.
FORMAT = 2
READABLE = (1, 2)
METHODS = {
    "icls": ICLSClassifier,
    "usm": USMClassifier,
    "supervised": LeastSquaresClassifier,
}
# All types that a model may contain, in addition to arrays and numbers.
LABELS = (GivenLabels, HyperplaneLabels, LabelsByValue, LabelsInFrame, Interval, Simplex, PerRow)
STACKS = (
    *(SafeClassifier, StackedClassifier, Failure),
    *(SafeVerdict, Verdict, Probabilities, Difference),
    *(Affine, LinearModel, NeighborModel, KernelModel, ForestModel),
)
PARTS = (*METHODS.values(), Certificate, PriorProof, Frame, *LABELS, *STACKS)
TRUSTED = sorted(f"{part.__module__}.{part.__qualname__}" for part in PARTS)


@dataclass(frozen=True)
class StoredModel:
    """A fitted model, and the name of the column that identifies rows, if any."""

    estimator: Any
    id_column: str | None = None


def save_model(stored: StoredModel, path: Path) -> None:
    """Write a fitted model; the file appears only once it is complete."""
    from skops.io import dump

    with replacing(path) as unfinished:
        dump({"format": FORMAT, **vars(stored)}, unfinished)


def load_model(path: Path) -> StoredModel:
    """Read a fitted model; raise an error if the file contains anything else.

    Models stored from Python, with ``skops.io.dump``, can be read too.
    """
    content = _load(path)
    if isinstance(content, dict) and content.get("format") not in READABLE:
        raise _other_version(path, f"format {content.get('format')!r}, not {FORMAT}")
    stored = (
        StoredModel(content["estimator"], content["id_column"])
        if _is_stored(content)
        else StoredModel(content)
    )
    model = stored.estimator
    fitted = hasattr(model, "models_" if isinstance(model, SafeClassifier) else "coef_")
    if not isinstance(model, (*METHODS.values(), SafeClassifier)) or not fitted:
        raise click.ClickException(
            f"{path} contains an object of type {type(model).__name__}, not a fitted primum model."
        )
    if (fault := _fault(model)) is not None:
        raise click.ClickException(f"{path} is not a valid model, because {fault}: fit it again.")
    return stored


def _other_version(path: Path, found: str) -> click.ClickException:
    return click.ClickException(
        f"{path} was written by another version of primum ({found}): fit the model again."
    )


def _is_stored(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and content.keys() == {"format", "estimator", "id_column"}
        and isinstance(content["id_column"], str | None)
    )


def _load(path: Path) -> Any:
    from skops.io import get_untrusted_types, load

    try:
        _refuse_inflation(path)
        strange = sorted(set(get_untrusted_types(file=path)) - set(TRUSTED))
        content = None if strange else load(path, trusted=TRUSTED)
    except Exception as problem:  # loading a malicious file can fail in any way
        raise click.ClickException(
            f"{path} is not a model written by primum fit, or it is damaged."
        ) from problem
    if strange and all(name.startswith("primum.") for name in strange):
        raise click.ClickException(
            f"{path} contains {strange[0]}, which primum predict does not read: fit the model with "
            "this version of primum fit, or predict in Python."
        )
    if strange:
        raise click.ClickException(
            f"{path} is not loaded, because it contains {', '.join(strange[:3])}, which models "
            "written by primum fit do not."
        )
    return content


def _refuse_inflation(path: Path) -> None:
    """Raise an error if an archive would grow when unpacked: models are stored uncompressed."""
    if not path.is_file():
        raise ValueError(f"{path} is a device or a pipe.")
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > path.stat().st_size:
        raise ValueError(f"{path} would unpack to {unpacked} bytes.")


def _fault(model: Any) -> str | None:
    """Describe what is wrong with the fitted attributes used for predictions; None if nothing."""
    n_features = getattr(model, "n_features_in_", None)
    if type(n_features) is not int or n_features < 1:
        return f"its n_features_in_ is {n_features!r}, not a number of features"
    classes: Any = getattr(model, "classes_", None)
    n_classes = np.size(classes)
    if not _is_array(classes, "biufU", (n_classes,)) or len(set(classes.tolist())) < n_classes:
        return "its classes_ are not different labels"
    if n_classes < 2:
        return f"its classes_ are {n_classes}, not two or more"
    if isinstance(model, SafeClassifier):
        return _fault_of_stack(model)
    n_scores = 1 if n_classes == 2 else n_classes
    for name, shape in (("coef_", (n_scores, n_features)), ("intercept_", (n_scores,))):
        value: Any = getattr(model, name, None)
        if not (_is_array(value, "f", shape) and np.isfinite(value).all()):
            return (
                f"its {name} is not an array of finite real numbers of shape {shape}, as its "
                f"{n_classes} classes_ and {n_features} features require"
            )
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not (_is_array(names, "OU", (n_features,)) and _all_differ(names)):
        return f"its feature_names_in_ are not {n_features} different names"
    return None


def _fault_of_stack(model: SafeClassifier) -> str | None:
    """Describe what is wrong with the weights or the models of a stack; None if nothing."""
    weights: Any = getattr(model, "weights_", None)
    if not isinstance(weights, dict) or not all(type(w) is float for w in weights.values()):
        return "its weights_ are not numbers by name"
    if min(weights.values(), default=-1.0) < 0 or abs(sum(weights.values()) - 1.0) > 1e-6:
        return "its weights_ are not shares that add up to 1"
    needed = {name for name, weight in weights.items() if weight > 0}
    if not isinstance(model.models_, dict) or not needed <= set(model.models_):
        return "its models_ lack a candidate that has a weight"
    return None


def _is_array(value: Any, kinds: str, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.shape == shape


def _all_differ(names: Any) -> bool:
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
