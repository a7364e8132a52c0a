"""Model files that are safe to load: skops, never pickle.

Loading a file builds only objects of the types in ``trusted``, so it runs no code of the file's
author, and checks the fitted attributes before the model is used. The file also says which table
the model was fitted to, for ``primum predict``.
"""

import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from primum._files import replacing, write_file
from primum._lazy import needed

__all__ = ["load", "save"]

# Version of the format, raised whenever the contents change. Formats 1 to 3 were never released,
# and their files name modules that are gone.
MODEL_FORMAT = 4
# Present modules of classes that have moved, by their names in earlier files.
PRESENT_MODULES = {
    ("primum.judging.decisions", "Calibration"): "primum.judging.objectives",
    ("primum.judging.decisions", "DecisionRule"): "primum.judging.objectives",
    ("primum.safe.candidates.base", "Affine"): "primum.safe.rows",
    ("primum.safe.candidates.entrants", "WrappedModel"): "primum.safe.candidates.own",
    ("primum.safe.candidates.entrants", "WrappedRegressor"): "primum.safe.candidates.own",
    ("primum.safe.candidates.wide", "ReducedModel"): "primum.safe.candidates.base",
    ("primum.safe.findings", "SafeVerdict"): "primum.safe.verdict",
    ("primum.tables.vectors", "ScaledTogether"): "primum.tables.preparation",
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
        For a pipeline that prepares the columns of a table, the columns that it needs, with their
        kind and how they are read; None for a model of numbers.
    """

    estimator: Any
    id_column: str | None = None
    target: str | None = None
    columns: dict[str, list[str]] | None = None


def classifier_of(model: Any) -> Any:
    """Return the classifier or regressor at the end of a pipeline, or the model itself."""
    return _steps(model)[-1]


def _steps(model: Any) -> list[Any]:
    """Return the steps of a pipeline, which may be damaged, or the model itself."""
    from sklearn.pipeline import Pipeline

    steps = getattr(model, "steps", None) if isinstance(model, Pipeline) else None
    return [step for _, step in steps] if isinstance(steps, list) and steps else [model]


def save(
    model: Any, path: str | os.PathLike[str], *, id: str | None = None, target: str | None = None
) -> None:
    """Store a fitted model in a file, for ``primum.load`` and the command ``primum predict``.

    Parameters
    ----------
    model : classifier or regressor
        A fitted classifier or regressor of primum or scikit-learn, or a Pipeline that ends in one,
        such as ``fit_recommended`` of a comparison returns.
    path : path
        The file, by convention with the suffix .skops. An existing file is replaced once the new
        one is complete.
    id : str, default=None
        Column that identifies rows: ``primum predict`` copies it to the predictions.
    target : str, default=None
        Column with the labels.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import primum
    >>> clf = primum.ICLSClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", None])
    >>> with TemporaryDirectory() as folder:
    ...     primum.save(clf, f"{folder}/model.skops")
    ...     primum.load(f"{folder}/model.skops").predict([[3.0]]).tolist()
    ['b']
    """
    from primum.models.trusted import fault_of, is_fitted_model

    dumps = _skops().dumps
    if not is_fitted_model(model):
        raise ValueError(
            f"primum.save stores fitted classifiers and regressors, got {type(model).__name__}: "
            "call fit first; a transformer is stored with the pipeline that ends in a model, or "
            "by skops.io.dump."
        )
    if (fault := fault_of(model)) is not None:
        raise ValueError(f"The model is not stored, because {fault}: fit it again.")
    stored = StoredModel(model, id, target, columns_of(model))
    content = dumps({"format": MODEL_FORMAT, **vars(stored)})
    if strange := _untrusted(content):
        raise ValueError(
            f"The model is not stored, because it contains {', '.join(strange[:3])}, which "
            "primum.load would refuse: store classifiers, regressors and transformers of "
            "primum and scikit-learn."
        )
    write_file(Path(path), content)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted model in a file of ``primum.save`` or ``primum compare --save-model``.

    No code in the file is run. A file that contains anything but models of primum and estimators of
    scikit-learn raises an error.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    classifier or regressor
        The fitted model or Pipeline. A model of a table predicts from rows as they were
        written, for example from ``pandas.read_csv``; columns are found by name.

    See Also
    --------
    save : Write such a file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import primum
    >>> clf = primum.LeastSquaresClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> with TemporaryDirectory() as folder:
    ...     primum.save(clf, f"{folder}/model.skops")
    ...     primum.load(f"{folder}/model.skops")
    LeastSquaresClassifier()
    """
    return load_model(Path(path)).estimator


def columns_of(model: Any) -> dict[str, list[str]] | None:
    """Return the columns that a pipeline prepares, with kind and reading; None for other models."""
    from sklearn.compose import ColumnTransformer

    from primum.tables.preparation import columns_read

    first = _steps(model)[0]
    return columns_read(first) if isinstance(first, ColumnTransformer) else None


def save_model(stored: StoredModel, path: Path) -> None:
    """Write a model without checking it; the file appears only once it is complete."""
    dump = _skops().dump
    with replacing(path) as file:
        dump({"format": MODEL_FORMAT, **vars(stored)}, file)


def load_model(path: Path) -> StoredModel:
    """Read a fitted model and its table; raise an error if the file contains anything else.

    Models stored with ``skops.io.dump`` can be read, too.
    """
    from primum.models.trusted import fault_of, is_fitted_model

    content = _load(path)
    if isinstance(content, dict) and content.get("format") != MODEL_FORMAT:
        raise ValueError(
            f"{path} was written by another version of primum (format {content.get('format')!r}, "
            f"not {MODEL_FORMAT}): fit the model again."
        )
    stored = _as_stored(content)
    if not is_fitted_model(stored.estimator):
        raise ValueError(
            f"{path} contains an object of type {type(stored.estimator).__name__}, not a fitted "
            "classifier or regressor."
        )
    if (fault := fault_of(stored.estimator)) is not None:
        raise ValueError(f"{path} is not a valid model, because {fault}: fit it again.")
    return stored


def _as_stored(content: Any) -> StoredModel:
    """Return the content of a file as a stored model; the caller refuses what is not a model."""
    if not isinstance(content, dict):
        return StoredModel(content)
    fields = {name: value for name, value in content.items() if name != "format"}
    if fields.keys() != vars(StoredModel(None)).keys() or not _are_names(**fields):
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
    from primum.models.trusted import TRUSTED

    if not path.exists():
        raise ValueError(f"There is no file {path}.")
    skops = _skops()
    try:
        _refuse_inflation(path)
        stored = _with_present_modules(path.read_bytes())
        strange = _untrusted(stored)
        content = None if strange else skops.loads(stored, trusted=TRUSTED)
    except Exception as problem:  # loading a malicious file can fail in any way
        raise ValueError(f"{path} is not a model written by primum, or it is damaged.") from problem
    if strange and all(name.startswith("primum.") for name in strange):
        raise ValueError(
            f"{path} contains {strange[0]}, which model files do not contain: fit the model with "
            "this version of primum."
        )
    if strange:
        raise ValueError(
            f"{path} is not loaded, because it contains {', '.join(strange[:3])}, which models "
            "written by primum do not."
        )
    return content


def _with_present_modules(content: bytes) -> bytes:
    """Return the content of a file with the present modules of classes that have moved."""
    if not any(module.encode() in content for module, _ in PRESENT_MODULES):
        return content
    renamed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(renamed, "w") as new:
        for name in old.namelist():
            member = old.read(name)
            if name == "schema.json":
                member = json.dumps(json.loads(member, object_hook=_in_present_module)).encode()
            new.writestr(name, member)
    return renamed.getvalue()


def _in_present_module(node: dict[str, Any]) -> dict[str, Any]:
    """Return a node of the schema, with the present module of a class that has moved."""
    former = (node.get("__module__"), node.get("__class__"))
    return node | {"__module__": PRESENT_MODULES[former]} if former in PRESENT_MODULES else node


def _untrusted(content: bytes) -> list[str]:
    """Return the types in the content of a file that are not built when it is loaded."""
    from primum.models.trusted import TRUSTED

    return sorted(set(_skops().get_untrusted_types(data=content)) - set(TRUSTED))


def _skops() -> Any:
    with needed("Model files"):
        import skops.io

    return skops.io


def _refuse_inflation(path: Path) -> None:
    """Raise an error if an archive would grow when unpacked: models are stored uncompressed."""
    if not path.is_file():
        raise ValueError(f"{path} is a device or a pipe.")
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > path.stat().st_size:
        raise ValueError(f"{path} would unpack to {unpacked} bytes.")
