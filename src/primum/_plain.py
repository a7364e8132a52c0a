"""Dataclasses as plain values of JSON, and back."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass."""
    return get_type_hints(kind)


def to_plain(value: Any) -> Any:
    """Return dataclasses as mappings, tuples and arrays as lists; anything else as it is."""
    if is_dataclass(value):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value) if one.init}
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [to_plain(one) for one in value] if isinstance(value, list | tuple) else value


def from_plain(kind: Any, value: Any) -> Any:
    """Return the value of a type that ``to_plain`` wrote.

    Of several dataclasses that a value may be of, it is the one with its fields.
    """
    if value is None or kind is Any:
        return value
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [one for one in inner if one is not NoneType]
        if isinstance(value, dict):
            names = value.keys()
            kinds = [one for one in kinds if names == hints_of(one).keys() & names] or kinds
            kinds.sort(key=lambda one: len(hints_of(one).keys() ^ names))
        return from_plain(kinds[0], value)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = hints_of(kind)
        return kind(**{name: from_plain(hints[name], one) for name, one in value.items()})
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        return tuple(from_plain(one, item) for one, item in zip(kinds, value, strict=True))
    if origin in (list, Sequence):
        return [from_plain(inner[0], item) for item in value]
    if origin is dict:
        return {from_plain(inner[0], key): from_plain(inner[1], one) for key, one in value.items()}
    if origin is np.ndarray:
        return np.array(value, dtype=get_args(inner[1])[0])
    # Keys of mappings are text in JSON; numbers stay as they were written.
    return kind(value) if kind in (int, float) and isinstance(value, str) else value
