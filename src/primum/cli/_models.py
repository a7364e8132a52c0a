"""Model files that are safe to load: skops, never pickle."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from primum import ICLSClassifier, LeastSquaresClassifier, USMClassifier
from primum._files import replacing
from primum.cli._faults import fault_of, is_fitted_classifier
from primum.cli._trusted import TRUSTED

# Of model files; raised whenever what they contain changes. Format 1 has two classes only, and
# formats 1 and 2 have neither the target nor the columns.
FORMAT = 3
READABLE = (1, 2, 3)
METHODS = {
    "icls": ICLSClassifier,
    "usm": USMClassifier,
    "supervised": LeastSquaresClassifier,
}


@dataclass(frozen=True)
class StoredModel:
    """A fitted model and the table that it was fitted to.

    Attributes
    ----------
    estimator : classifier or pipeline
        The fitted model.
    id_column : str or None
        Name of the column that identifies rows.
    target : str or None
        Name of the column with the labels.
    columns : dict of str to (str, str), or None
        Of a pipeline that prepares the columns of a table: the columns that it needs, with their
        kind and how they are read; None for a model of numbers.
    """

    estimator: Any
    id_column: str | None = None
    target: str | None = None
    columns: dict[str, list[str]] | None = None


def save_model(stored: StoredModel, path: Path) -> None:
    """Write a fitted model; the file appears only once it is complete."""
    from skops.io import dump

    with replacing(path) as file:
        dump({"format": FORMAT, **vars(stored)}, file)


def load_model(path: Path) -> StoredModel:
    """Read a fitted model; raise an error if the file contains anything else.

    Models stored from Python, with ``skops.io.dump``, can be read too.
    """
    content = _load(path)
    if isinstance(content, dict) and content.get("format") not in READABLE:
        raise _other_version(path, f"format {content.get('format')!r}, not {FORMAT}")
    stored = _as_stored(content)
    if not is_fitted_classifier(stored.estimator):
        raise click.ClickException(
            f"{path} contains an object of type {type(stored.estimator).__name__}, not a fitted "
            "primum model."
        )
    if (fault := fault_of(stored.estimator)) is not None:
        raise click.ClickException(f"{path} is not a valid model, because {fault}: fit it again.")
    return stored


def _other_version(path: Path, found: str) -> click.ClickException:
    return click.ClickException(
        f"{path} was written by another version of primum ({found}): fit the model again."
    )


def _as_stored(content: Any) -> StoredModel:
    """Return the model in a file of any format; what is not one is left to be refused."""
    if not isinstance(content, dict):
        return StoredModel(content)
    fields = {name: value for name, value in content.items() if name != "format"}
    names = {"estimator", "id_column"} if content["format"] < 3 else set(vars(StoredModel(None)))
    if fields.keys() != names or not _are_names(**fields):
        return StoredModel(content)
    return StoredModel(**fields)


def _are_names(
    estimator: Any, id_column: Any, target: Any = None, columns: dict[Any, Any] | None = None
) -> bool:
    """Return whether everything but the estimator consists of strings."""
    if not isinstance(columns, dict | None):
        return False
    pairs = list((columns or {}).items())
    if not all(isinstance(pair, list) and len(pair) == 2 for _, pair in pairs):
        return False
    texts = [text for name, pair in pairs for text in (name, *pair)]
    texts += [text for text in (id_column, target) if text is not None]
    return all(isinstance(text, str) for text in texts)


def _load(path: Path) -> Any:
    from skops.io import get_untrusted_types, load

    try:
        _refuse_inflation(path)
        strange = sorted(set(get_untrusted_types(file=path)) - set(TRUSTED))
        content = None if strange else load(path, trusted=TRUSTED)
    except Exception as problem:  # loading a malicious file can fail in any way
        raise click.ClickException(
            f"{path} is not a model written by primum, or it is damaged."
        ) from problem
    if strange and all(name.startswith("primum.") for name in strange):
        raise click.ClickException(
            f"{path} contains {strange[0]}, which primum predict does not read: fit the model with "
            "this version of primum, or predict in Python."
        )
    if strange:
        raise click.ClickException(
            f"{path} is not loaded, because it contains {', '.join(strange[:3])}, which models "
            "written by primum do not."
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
