"""Identification of data and methods by content, so that results are never mixed up.

Data are identified by a checksum of their values; an estimator by its class and all of its
parameters; a function by its name, its source and the values it captures. Code of installed
packages is identified by name only, because the versions are recorded with the results; the user's
own code also by its source. Global variables that own code reads are not covered.
"""

import functools
import hashlib
import inspect
import json
import math
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from primum._typing import AnyArray, Index

# Longer arrays among the parameters are identified by a checksum instead of their values.
MAX_LISTED_VALUES = 100
MAX_DIFFERENCES_NAMED = 3


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


def describe_data(X: AnyArray, codes: Index) -> str:
    """Return the shape, the number of classes if there are more than two, and a checksum.

    The checksum is that of the features and of the labels, encoded as 0, 1, ...
    """
    n_classes = int(codes.max()) + 1
    digest = hashlib.sha256(str((X.dtype.str, X.shape)).encode())
    digest.update(np.ascontiguousarray(X).data)
    dtype = np.uint8 if n_classes <= 256 else np.uint32
    digest.update(np.ascontiguousarray(codes, dtype=dtype).data)
    classes = f", {n_classes} classes" if n_classes > 2 else ""
    return f"{X.shape[0]} x {X.shape[1]}{classes}, sha256 {digest.hexdigest()}"


def describe(value: Any, what: str) -> Any:
    """Return the identity of a parameter as plain JSON; ``what`` names it in an error."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else repr(float(value))
    if isinstance(value, np.bool | np.integer):
        return value.item()
    if isinstance(value, list | tuple):
        return [describe(item, what) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: describe(item, f"{what}[{key!r}]") for key, item in value.items()}
    if isinstance(value, np.ndarray) and value.size <= MAX_LISTED_VALUES and value.dtype != object:
        return {"array": describe(value.tolist(), what), "dtype": value.dtype.str}
    return _describe_object(value, what)


def _describe_object(value: Any, what: str) -> Any:
    if isinstance(value, type):
        return {"class": _describe_class(value)}
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False).items()
        return {
            "class": _describe_class(type(value)),
            "parameters": {key: describe(item, f"{what}.{key}") for key, item in parameters},
        }
    if isinstance(value, functools.partial):
        return {"function": describe([value.func, value.args, value.keywords], what)}
    if isinstance(value, MethodType):
        return {"function": describe([value.__func__, value.__self__], what)}
    if isinstance(value, FunctionType):
        return {"function": _describe_function(value, what)}
    return {"class": _describe_class(type(value)), "hash": _hash(value, what)}


def _describe_class(cls: type) -> str:
    own = [base for base in cls.__mro__ if not _is_installed(base.__module__)]
    name = f"{cls.__module__}.{cls.__qualname__}"
    return f"{name}, source {_checksum(_source(base) for base in own)}" if own else name


def _describe_function(function: FunctionType, what: str) -> Any:
    name = f"{function.__module__}.{function.__qualname__}"
    if _is_installed(function.__module__) and "<" not in name:
        return name
    captured = dict(
        zip(
            function.__code__.co_freevars,
            (cell.cell_contents for cell in function.__closure__ or ()),
            strict=True,
        )
    )
    return {
        "name": f"{name}, source {_checksum([_source(function)])}",
        "captured": describe(captured, what),
        "defaults": describe([function.__defaults__, function.__kwdefaults__], what),
    }


def _source(code: Any) -> str:
    """Return the source of a function or class, or its bytecode if the source is not available.

    The source of a lambda is the whole line, which two lambdas may share.
    """
    try:
        if "<lambda>" not in code.__qualname__:
            return inspect.getsource(code)
    except (OSError, TypeError):  # typed at a prompt
        pass
    if isinstance(code, FunctionType):
        return _bytecode(code.__code__)
    members = sorted(vars(code).items())
    return "".join(_source(item) for _, item in members if isinstance(item, FunctionType))


def _bytecode(code: CodeType) -> str:
    constants = [_bytecode(c) if isinstance(c, CodeType) else _constant(c) for c in code.co_consts]
    return repr((code.co_code, code.co_names, code.co_varnames, constants))


def _constant(value: Any) -> str:
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _hash(value: Any, what: str) -> str:
    import joblib

    try:
        return str(joblib.hash(value))
    except Exception as problem:  # whatever pickling the object raises
        raise ValueError(
            f"{what} is {value!r}, which cannot be identified by its content ({problem}), so a "
            "resumed run could not distinguish it from another: pass an estimator, a function "
            "defined in a file, or an object that can be pickled."
        ) from problem


def _is_installed(module: str) -> bool:
    top = module.partition(".")[0]
    return top == "primum" or top in sys.stdlib_module_names or top in _distributions()


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def distributions_of(objects: list[Any]) -> list[str]:
    """Return the names of the installed packages that define the classes of some objects."""
    tops = {type(value).__module__.partition(".")[0] for value in objects}
    return sorted({name for top in tops for name in _distributions().get(top, [])})


def _checksum(texts: Any) -> str:
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()[:16]


def checksum(config: Mapping[str, Any]) -> str:
    """Return a checksum of a configuration."""
    return _checksum([json.dumps(config, sort_keys=True)])


def differences(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield a description of every difference between two configurations."""
    old, new = _parts(before), _parts(now)
    if old is not None and new is not None:
        for key in dict.fromkeys([*old, *new]):
            # Parameters of an estimator are not a level of their own for the user.
            inner = path if key == "parameters" else f"{path}.{key}" if path else key
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), inner)
    elif type(before) is not type(now) or before != now:
        yield f"{path} was {_short(before)}, now {_short(now)}"


def _parts(value: Any) -> dict[str, Any] | None:
    """Return the parts of a configuration by name, or None if it is a plain value.

    The steps of a pipeline go by their names; short lists of numbers or texts are plain.
    """
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not any(isinstance(item, dict | list) for item in value):
        return None
    steps = all(isinstance(i, list) and len(i) == 2 and isinstance(i[0], str) for i in value)
    return dict(value) if steps else {str(k): item for k, item in enumerate(value)}


def name_differences(before: Any, now: Any) -> str:
    """Return the first few differences between two configurations, or an empty string."""
    found = list(differences(before, now))
    more = len(found) - MAX_DIFFERENCES_NAMED
    named = "; ".join(found[:MAX_DIFFERENCES_NAMED])
    return f"{named}; and {more} more" if more > 0 else named


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
