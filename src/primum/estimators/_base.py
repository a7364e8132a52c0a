"""What the linear estimators share: rows of any kind, threads and devices."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from primum._sklearn import ARRAY_API, Interval, check_namespace
from primum._threads import one_blas_thread, using_threads
from primum._typing import Floats
from primum.estimators._backend import ArrayBackend, backend_of
from primum.estimators._checks import refuse_masked
from primum.estimators._data import open_outside
from primum.rows import ArrayRows, Block, Rows, refuse_non_finite, to_numpy

# Valid values of the parameter n_jobs.
N_JOBS = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]


class LinearEstimator(BaseEstimator):
    """A fitted linear map of rows that are in memory, in files, on a cluster or on a device."""

    # Fitted attributes that are stored on the device of the rows.
    _device_attributes: ClassVar[tuple[str, ...]] = ()
    n_jobs: int | None
    coef_: Any
    intercept_: Any

    @contextmanager
    def _computing(self, home: ArrayBackend | None) -> Iterator[None]:
        """Limit the threads during a fit, and move its result to the device of the rows."""
        with one_blas_thread(), using_threads(self.n_jobs):
            yield
        if home is not None:
            home.convert_attributes(self, self._device_attributes)
            if hasattr(self, "supervised_"):
                home.convert_attributes(self.supervised_, self._device_attributes)

    @abstractmethod
    def _linear_map(self, coef: Any, intercept: Any) -> tuple[Any, Any]:
        """Return (coefficients, intercept) by which rows are mapped, given the fitted ones."""

    @abstractmethod
    def _values_in_memory(self, X: Any) -> Any:
        """Return the values of rows in a NumPy array or a sparse matrix."""

    def _values(self, X: Any, method: str, n_values: int | None = None) -> Any:
        """Return ``X @ coef + intercept``, one or n_values numbers per row, for a public method."""
        refuse_masked(X, "X")
        if (rows := open_outside(self, X)) is not None:
            return self._apply(rows, self._block_values(), np.float64, n_values)
        home = backend_of(X)
        return self._values_in_memory(X) if home is None else self._values_there(X, home, method)

    def _values_there(self, X: Any, home: ArrayBackend, method: str) -> Any:
        """Return the values of an array of another library, in double precision."""
        check_namespace(self, X, method)
        rows = ArrayRows(validate_data(self, X, dtype=home.dtypes, reset=False))
        xp, (coef, intercept) = home.xp, self._linear_map(self.coef_, self.intercept_)
        # Single precision is converted block by block: a full copy might not fit on the device.
        blocks = rows.map(lambda block: xp.astype(block.X, xp.float64) @ coef + intercept)
        return xp.concat(list(blocks), axis=0)

    def _block_values(self) -> Callable[[Block], Floats]:
        """Return a function that computes the values of blocks of rows outside memory."""
        coef, intercept = self._linear_map(to_numpy(self.coef_), to_numpy(self.intercept_))

        def values(block: Block) -> Floats:
            found = np.asarray(block.X @ coef + intercept)
            if not np.isfinite(found).all():
                refuse_non_finite(block)
            return found

        return values

    def _apply(
        self, rows: Rows, kernel: Callable[[Block], Any], dtype: Any, n_values: int | None = None
    ) -> Any:
        """Return ``kernel(block)``, one or n_values numbers per row, on the device of the rows."""
        with using_threads(self.n_jobs):
            values = rows.apply(kernel, dtype, n_values)
        home = backend_of(rows.array) if isinstance(rows, ArrayRows) else None
        return values if home is None else home.xp.asarray(values, device=home.device)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = ARRAY_API
        return tags
