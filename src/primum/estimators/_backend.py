"""Arrays of libraries other than NumPy, and where they are stored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, is_regressor

from primum._sklearn import ARRAY_API, get_namespace_and_device
from primum.rows import to_numpy


@dataclass(frozen=True)
class ArrayBackend:
    """The array library and device of arrays that are not NumPy arrays."""

    xp: Any
    device: Any

    def __str__(self) -> str:
        return f"{self.xp.__name__.rpartition('.')[2]} on {self.device}"

    @property
    def dtypes(self) -> list[Any]:
        """The accepted dtypes."""
        return [self.xp.float64, self.xp.float32]

    def convert_attributes(self, estimator: Any, names: tuple[str, ...]) -> None:
        """Move attributes of an estimator to this device, in double precision as with NumPy."""
        for name in names:
            if (value := getattr(estimator, name, None)) is not None:
                moved = self.xp.asarray(value, dtype=self.xp.float64, device=self.device)
                setattr(estimator, name, moved)


def backend_of(X: Any) -> ArrayBackend | None:
    """Return the library and device of X, or None for NumPy arrays and anything not an array."""
    if isinstance(X, np.ndarray):
        return None
    xp, dispatched, device = get_namespace_and_device(X)
    if not dispatched:
        return None
    if not ARRAY_API:
        raise ValueError(
            "Arrays of libraries other than NumPy need scikit-learn 1.9 or newer, but "
            f"{sklearn.__version__} is installed: upgrade it, or pass NumPy arrays."
        )
    return ArrayBackend(xp, device)


def on_this_machine(values: Any) -> Any:
    """Return an array of another library as a NumPy array, and anything else unchanged."""
    return values if backend_of(values) is None else to_numpy(values)


def refuse_other_library(estimator: BaseEstimator, home: ArrayBackend | None) -> None:
    """Raise the error of an estimator that computes with NumPy only, unless home is None."""
    if home is not None:
        plain = "ICLSClassifier or LeastSquaresClassifier"
        if is_regressor(estimator):
            plain = "ICLSRegressor or LeastSquaresRegressor"
        raise ValueError(
            f"{type(estimator).__name__} computes with NumPy arrays only, but X is an array of "
            f"{home}: convert it, or use {plain}."
        )
