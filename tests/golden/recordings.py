"""Recordings of fits: digests of all that a fit leaves behind, and what it predicts with.

A digest is equal only if every bit is. It is compared where NumPy, SciPy, scikit-learn, BLAS and
processor are those that wrote the recording; elsewhere coefficients agree to ``TOLERANCE``,
relative to the largest.
"""

import dataclasses
import hashlib
import json
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from golden.machine import TOLERANCE, machine

# Attributes that predictions are made of: the first that a model has is recorded in numbers.
COEFFICIENTS = ("coef_", "dual_coef_", "expansion_")


def parts_of(name, value):
    """Yield (name, bytes) of a value and of all that it is made of; a name may occur again."""
    if isinstance(value, BaseEstimator):
        yield name, type(value).__name__.encode()
        for key, part in sorted(vars(value).items()):
            if key.endswith("_") and key[0] != "_":
                yield from parts_of(f"{name}.{key}", part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from parts_of(f"{name}.{field.name}", getattr(value, field.name))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield name, str(key).encode()
            yield from parts_of(name, part)
    elif sparse.issparse(value):
        for key in ("data", "indices", "indptr"):
            yield from parts_of(f"{name}.{key}", np.asarray(getattr(value, key)))
    elif isinstance(value, list) and any(isinstance(part, BaseEstimator) for part in value):
        for part in value:
            yield from parts_of(name, part)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        # Adding 0 makes negative zeros positive: they are equal.
        data = np.ascontiguousarray(value + 0 if value.dtype.kind == "f" else value).tobytes()
        yield name, f"{value.dtype.kind} {value.shape}".encode() + data
    else:
        yield name, str(value.tolist() if isinstance(value, np.ndarray) else value).encode()


def recorded(fit):
    """Return the recording of a fit: ``fit`` returns (fitted estimator, rows to predict)."""
    with warnings.catch_warnings(record=True) as issued, threadpool_limits(1):
        warnings.simplefilter("always")
        model, X = fit()
    texts = "\n".join(f"{one.category.__name__}: {one.message}" for one in issued)
    digests = defaultdict(hashlib.sha256)
    for name, part in [*parts_of("model", model), ("warnings", texts.encode())]:
        attribute = ".".join(name.split(".")[1:3]) or name
        digests[attribute].update(name.encode() + part)
    best = getattr(model, "best_estimator_", model)
    best = getattr(best, "estimator_", best)
    values = next((getattr(best, name) for name in COEFFICIENTS if hasattr(best, name)), None)
    answer = {"digests": {name: digest.hexdigest()[:10] for name, digest in digests.items()}}
    if values is not None:
        values = np.asarray(values)
        few = values.ravel()[:: max(1, values.size // 24)]
        answer["scale"] = float(np.abs(values).max(initial=0.0))
        answer["coefficients"] = few.tolist()
    if hasattr(model, "predict"):
        predicted = np.asarray(model.predict(X))
        if predicted.dtype.kind in "biu":
            answer["classes"] = "".join(map(str, predicted.tolist()))
    return answer


def differences(found, expected, *, exact):
    """Return what differs between two recordings of a fit, in words."""
    if exact:
        names = found["digests"].keys() | expected["digests"].keys()
        return [n for n in sorted(names) if found["digests"].get(n) != expected["digests"].get(n)]
    wrong = []
    if found.get("classes") != expected.get("classes"):
        wrong.append("classes")
    if "coefficients" in expected:
        off = np.abs(np.subtract(found["coefficients"], expected["coefficients"])).max(initial=0.0)
        if off > TOLERANCE * expected["scale"]:
            wrong.append(f"coefficients, by {off / expected['scale']:.1e} of their scale")
    return wrong


@cache
def read(path):
    """Return (whether this machine wrote a file of recordings, the recordings)."""
    content = json.loads(Path(path).read_text())
    return content["machine"] == machine(), content["fits"]


def write(path, fits):
    """Record fits, by name, in a file: one line for each."""
    lines = [f"{json.dumps(name)}: {json.dumps(recorded(fit))}" for name, fit in fits.items()]
    text = f'{{"machine": {json.dumps(machine())},\n"fits": {{\n' + ",\n".join(lines) + "\n}}\n"
    Path(path).write_text(text)
