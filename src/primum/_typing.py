"""Array types that all rooms share, and records that can be written as JSON."""

from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
AnyArray = NDArray[Any]
S = TypeVar("S")
T = TypeVar("T")


class PlainRecord:
    """A dataclass that can be written as JSON.

    ``in_json`` names the attributes that are written; by default they are the fields.
    """

    in_json: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON values."""
        names = self.in_json or [one.name for one in fields(self)]  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in names}


def plain(value: Any) -> Any:
    """Return a value as plain JSON: dataclasses as mappings, tuples and arrays as lists."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
