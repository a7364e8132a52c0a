"""The design matrix ``[1, X - center]`` of rows, without forming it.

Sparse rows cannot be centred without densifying them, and centring dense ones costs as much as a
product. So the centre enters the products as a rank-one correction, unless means are so large that
this would cancel. Products with triangular matrices take half as many operations as other products.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import add
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import bandwidth, blas

from primum._typing import Floats, T
from primum.rows import Block, Rows, library_of, to_numpy

# A linear model: its coefficients (d,) and intercept, or (d, K) and (K,) for several classes.
Linear = tuple[Floats, Any]

# From this many columns on, LAPACK's product with an upper triangle is faster than one with a full
# matrix: smaller triangles save no time.
MIN_TRIANGLE_SIZE = 64
# Arrays of at most this many bytes are sent to a device once and kept there for all blocks of a
# pass: up to 64 of them, which take 16 MB.
MAX_SENT_ONCE_BYTES = 2**18
# With at least the first number of features, up to the second number of products are faster row by
# row, because each row is then read once and in order.
MIN_ROW_FEATURES, MAX_ROW_PRODUCTS = 16, 8


def product(A: Floats, V: Floats) -> Floats:
    """Return A V, in half the operations if V is a wide triangle."""
    if len(V) < MIN_TRIANGLE_SIZE or not is_wide_triangle(V):
        return A @ V
    return times_triangle(np.array(A, order="C"), V)


def is_wide_triangle(V: Floats) -> bool:
    """Return whether V is upper triangular, and large enough for that to save time."""
    square = V.ndim == 2 and V.shape[0] == V.shape[1] >= MIN_TRIANGLE_SIZE
    return square and int(bandwidth(V)[0]) == 0


def times_triangle(rows: Floats, V: Floats) -> Floats:
    """Return rows, in C order, times an upper triangular V. The rows are overwritten."""
    # BLAS computes V' times the transposed rows, which need no copy as they are in Fortran order.
    return np.asarray(blas.dtrmm(1.0, V.T, rows.T, lower=1, overwrite_b=1).T)


def by_row(values: Floats, factor: Floats) -> Floats:
    """Return the rows of a matrix, or the entries of a vector, each times its factor."""
    return np.asarray((factor * values.T).T)


@dataclass(frozen=True)
class Frame:
    """How rows become design rows: centred, with a leading 1 if there is an intercept.

    Attributes
    ----------
    center : array (d,)
        The point that is subtracted from the features.
    fit_intercept : bool
        Whether there is a leading 1.
    near : bool
        Whether the centre is small compared with the standard deviations of the features: then
        little is lost if it is subtracted from products instead of from the rows.
    """

    center: Floats
    fit_intercept: bool
    near: bool = False

    @property
    def n_columns(self) -> int:
        """Number of columns of the design matrix."""
        return len(self.center) + int(self.fit_intercept)

    def coefficients(self, coef: Floats, intercept: Floats | float) -> Floats:
        """Return the coefficients for design rows that give the scores ``X coef + intercept``.

        Both may have several columns, one per class.
        """
        if not self.fit_intercept:
            return coef
        return np.concatenate([np.asarray(intercept + self.center @ coef)[None], coef])

    def model(self, beta: Floats) -> Linear:
        """Return the (coefficients, intercept) of given coefficients for design rows."""
        if not self.fit_intercept:
            return beta, 0.0 if beta.ndim == 1 else np.zeros(beta.shape[1])
        return beta[1:], beta[0] - self.center @ beta[1:]

    def expand(self, X: Floats) -> Floats:
        """Return ``[1, X - center]`` for rows X."""
        expanded = np.empty((len(X), self.n_columns))
        expanded[:, : int(self.fit_intercept)] = 1.0
        np.subtract(X, self.center, out=expanded[:, int(self.fit_intercept) :])
        return expanded


class View:
    """A block of rows as rows of the design matrix, with the required products.

    The leading 1 is not stored, and ``center`` (None: nothing) is subtracted from the products.
    ``xp`` is the array library of all results. They stay on their device: sums of blocks are added
    there, and only the total of a pass is fetched. If ``rough`` is True, the rows are in single
    precision, and so are the products with them; ``sum`` and ``total`` are in double precision.
    """

    def __init__(
        self, block: Block, frame: Frame, *, rough: bool = False, as_is: bool = False
    ) -> None:
        """Centre the rows, unless products with them are to be corrected instead.

        If ``rough`` is True, rows in single precision on a device are multiplied as they are, which
        is several times as fast, unless large means would cancel. ``as_is`` leaves all rows as they
        are.
        """
        self.block, self.frame = block, frame
        self.X: Any = block.X
        self.center: Floats | None = frame.center
        self.rough = False
        self.xp: Any = np
        self.device: Any = None
        is_sparse = sparse.issparse(block.X)
        if not (isinstance(block.X, np.ndarray) or is_sparse):
            self.xp, self.device = library_of(block.X), block.X.device
        if as_is:
            return
        double = self.xp is np or block.X.dtype == self.xp.float64
        if is_sparse or (frame.near and (double or rough)):
            self.rough = not double
        else:
            center = frame.center if self.xp is np else self.convert(frame.center)
            self.X, self.center = block.X - center, None

    def dot(self, V: Floats, *, by_column: bool = False) -> Any:
        """Return the design rows times V, or its transpose in C order: one row per column of V."""
        # The part of V for the features, and the constant added to each product.
        first, X, plain = int(self.frame.fit_intercept), self.X, self.xp is np
        features: Any = V[first:].astype(np.float32) if self.rough else V[first:]
        constant = V[0] if first else np.zeros(V.shape[1:])
        if self.center is not None:
            constant = constant - self.center @ features
        level = np.asarray(constant, dtype=features.dtype)
        if by_column and not sparse.issparse(X):
            few = features.shape[1] <= MAX_ROW_PRODUCTS if plain else False
            if not plain:
                product = self.convert(features.T) @ X.T
            elif few and X.flags.c_contiguous and X.shape[1] >= MIN_ROW_FEATURES:
                product = np.ascontiguousarray(np.dot(X, features).T)
            else:  # np.dot, not the operator: for one row it calls the matrix-vector product
                product = np.asarray(np.dot(features.T, X.T))
            product += (level if plain else self.convert(level))[:, None]
            return product
        product = X @ (features if plain else self.convert(features))
        if plain:  # new memory would cost as much as the product
            product += level
        else:
            product = product + self.convert(level)
        return np.ascontiguousarray(product.T) if by_column else product

    def sum(self, q: Any) -> Any:
        """Return the sum of the design rows, each times its entry of q and its weight.

        Several entries per row give several sums, the columns of the result.
        """
        weighted, xp = q if self.block.weight is None else self.weighted(q), self.xp
        if q.ndim > 1 and isinstance(self.X, np.ndarray):  # the order that BLAS prefers
            features, total = np.dot(weighted.T, self.X).T, weighted.sum(axis=0)
        else:
            factor = weighted if xp is np else xp.astype(weighted, self.X.dtype, copy=False)
            features = xp.astype(self.X.T @ factor, xp.float64)
            total = xp.sum(weighted, axis=0, dtype=xp.float64)
        if self.center is not None:
            center = self.convert(self.center)
            features = features - (center if q.ndim == 1 else center[:, None]) * total
        return xp.concat([total[None, ...], features]) if self.frame.fit_intercept else features

    def pick(self, chosen: Any) -> "View":
        """Return some of the rows, in double precision."""
        X = self.X[chosen] if self.xp is np else self.xp.take(self.X, chosen, axis=0)
        part = self.block.with_rows(to_numpy(chosen), X)
        if self.rough:
            return View(part, self.frame)
        picked = View(part, self.frame, as_is=True)
        picked.center = self.center
        return picked

    def total(self, values: Any) -> Any:
        """Return the sum of values, one or more per row, each times the weight of its row."""
        return self.xp.sum(self.weighted(values), dtype=self.xp.float64)

    def product(self, values: Any, others: Any) -> Any:
        """Return the sum of the products of values, each times the weight of its row."""
        if values.ndim == 1 and self.xp is np:
            return values @ (others if self.block.weight is None else self.weighted(others))
        return self.total(values * others)

    def weighted(self, values: Any) -> Any:
        """Return values, one or more per row, times the weight of their row."""
        weight = self.block.weight
        if weight is None:
            return values
        weight = self.convert(weight)
        return values * (weight if values.ndim == 1 else weight[:, None])

    def convert(self, values: Any) -> Any:
        """Return a small NumPy array as an array of this block's library."""
        if self.xp is np:
            return values
        values = np.ascontiguousarray(values)
        if values.nbytes > MAX_SENT_ONCE_BYTES:
            return self.xp.asarray(values, device=self.device)
        return _sent(self.xp, self.device, values.tobytes(), values.dtype.str, values.shape)


@lru_cache(maxsize=64)
def _sent(xp: Any, device: Any, content: bytes, dtype: str, shape: tuple[int, ...]) -> Any:
    """Return an array on a device: the same one for all blocks of a pass.

    Every transfer waits for all work already queued on the device.
    """
    values = np.frombuffer(content, dtype=dtype).reshape(shape)
    return xp.asarray(values.copy(), device=device)


@dataclass(frozen=True)
class GivenLabels:
    """Labels, or any numbers, stored explicitly: one, or one per class, for every row."""

    q: Floats

    def __call__(self, view: View) -> Any:
        """Return the labels of some rows."""
        return view.convert(self.q[view.block.where])


@dataclass(frozen=True)
class Design:
    """Rows as rows of the design matrix."""

    rows: Rows
    frame: Frame

    def dot(self, V: Floats) -> Floats:
        """Return the design matrix times V, for all rows."""
        frame = self.frame
        if self.rows.n_rows == 0:
            return np.zeros((0, *V.shape[1:]))
        triangular = len(V) >= MIN_TRIANGLE_SIZE and is_wide_triangle(V)

        def product(block: Block) -> Floats:
            if triangular and isinstance(block.X, np.ndarray):
                return times_triangle(frame.expand(block.X), V)
            return to_numpy(View(block, frame).dot(V))

        return self.rows.fill(product)

    def add_up(self, kernel: Callable[[View], T], *, rough: bool = False) -> T:
        """Return the sum of ``kernel(view)`` over all blocks of rows: one pass."""
        frame = self.frame
        return self.rows.map_reduce(lambda block: kernel(View(block, frame, rough=rough)), add)

    def weighted_sum(self, q: Floats | Callable[[View], Any]) -> Floats:
        """Return the sum of the design rows, each times its weight and its label.

        Several labels per row, one per class, give several sums, the columns of the result. ``q``
        is an array of labels, or a function that computes them from the rows.
        """
        if self.rows.n_rows == 0:
            return np.zeros((self.frame.n_columns, *getattr(q, "shape", ())[1:]))

        def sum_of(view: View) -> Any:
            if not isinstance(q, np.ndarray):
                return view.sum(q(view))
            labels = q[view.block.where]
            return view.sum(labels if view.xp is np else view.convert(labels))

        return np.asarray(to_numpy(self.add_up(sum_of)))

    def gram(self, V: Floats, chosen: Floats) -> Floats:
        """Return ``V'(sum of x x')V`` over the design rows x, each times its entry of chosen."""

        def gram_of(view: View) -> Floats:
            factor = chosen[view.block.where]
            present = np.flatnonzero(factor)
            P = to_numpy(view.pick(view.convert(present)).dot(V))
            return (P.T * factor[present]) @ P

        return self.add_up(gram_of)
