"""Pools of rows to label: in which order their rows come, and which of them have labels already.

**A fresh order.** The bounds of `primum.judging.error_bounds` hold if the order of the rows is
random *given the two fitted models*. An order that depended on a seed and on positions alone would
not be: the labels of a first settlement train the models of a second one, and with the same seed
the same rows would come first again, which the new models have memorised. So the seed of an order
is a digest of everything that the models were fitted to: rows, labels, weights, settings and seed.
Models that have seen other labels have an order that has nothing to do with earlier ones, and the
same fit always has the same order, on every machine.

**Rows that are labelled already.** A row of the pool that is also a labelled row is not unlabelled,
and models have learnt its label. Such a row is found by its cells, if no two rows of the pool are
equal: where some are, as in tables of few categories, many rows equal a labelled one by chance.
(Tables whose rows have an id or a key are searched by these, see `primum.comparison.settle`.)

Rows are compared by digests of 64 bits: the sum, over the columns whose value is not 0, of a mixed
word of column and value (Steele, Lea & Flood 2014). The digests of dense and sparse rows are alike.
Two different rows have the same digest with a probability of about 2^-64.

References
----------
Steele, G. L., Lea, D. & Flood, C. H. (2014). Fast splittable pseudorandom number generators.
OOPSLA.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from primum._typing import Mask
from primum._words import counted
from primum.rows.array import as_dense

Digests = NDArray[np.uint64]

# Constants of SplitMix64.
GOLDEN, FIRST_FACTOR, SECOND_FACTOR = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# Cells that are mixed at a time, which bounds the memory for it.
CELLS_PER_BLOCK = 2**18
# Rows outside memory are searched for equal ones among those with the smallest digests, at most
# this many: equal rows have equal digests, so both are among them, or none.
MAX_DIGESTS_KEPT = 2**16
# Settings of estimators that affect no prediction.
WITHOUT_EFFECT = ("n_jobs", "verbose")


def _mixed(words: Digests) -> Digests:
    """Return words of 64 bits, mixed one to one so that similar ones become dissimilar."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(FIRST_FACTOR)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(SECOND_FACTOR)
    return words ^ (words >> np.uint64(31))


def row_digests(X: Any) -> Digests:
    """Return a digest of every row, which depends on its values alone.

    Parameters
    ----------
    X : array, DataFrame of numbers or sparse matrix of shape (n_rows, n_features)
        The rows.

    Returns
    -------
    array of shape (n_rows,)
        The digests.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from primum.judging.pools import row_digests
    >>> X = [[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]
    >>> first, second, third = row_digests(X)
    >>> bool(first == third != second), bool((row_digests(csr_array(X)) == row_digests(X)).all())
    (True, True)
    """
    dense: Any = X if sparse.issparse(X) else as_dense(X)
    columns = _mixed(np.arange(1, dense.shape[1] + 1, dtype=np.uint64) * np.uint64(GOLDEN))
    if sparse.issparse(X):
        as_csr: Any = sparse.csr_array
        rows = as_csr(X, dtype=np.float64)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        words = _words(rows.data, columns[rows.indices])
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words)])
        return _mixed(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])
    n_rows = len(dense)
    digests = np.empty(n_rows, dtype=np.uint64)
    step = max(1, CELLS_PER_BLOCK // max(dense.shape[1], 1))
    for start in range(0, n_rows, step):
        block = np.ascontiguousarray(dense[start : start + step], dtype=np.float64)
        digests[start : start + step] = _words(block, columns).sum(axis=1, dtype=np.uint64)
    return _mixed(digests)


def _words(values: NDArray[np.float64], columns: Digests) -> Digests:
    """Return a word for every cell; 0 for the value 0, and the same for every missing value."""
    values = np.where(np.isnan(values), np.nan, values)
    words = _mixed(values.view(np.uint64) + columns)
    words[values == 0] = 0
    return words


def also_labeled(pool: Digests, labeled: Digests) -> Mask:
    """Return which rows of a pool are also labelled ones, given the digests of both.

    Parameters
    ----------
    pool : array of shape (n_rows,)
        Digests of the rows of the pool.
    labeled : array of shape (n_labeled,)
        Digests of the labelled rows.

    Returns
    -------
    bool array of shape (n_rows,)
        False for all, if two rows of the pool are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.judging.pools import also_labeled
    >>> labeled = np.array([3, 8], dtype=np.uint64)
    >>> also_labeled(np.array([1, 3, 5], dtype=np.uint64), labeled).tolist()
    [False, True, False]
    >>> also_labeled(np.array([1, 3, 1], dtype=np.uint64), labeled).tolist()
    [False, False, False]
    """
    if len(np.unique(pool)) < len(pool):
        return np.zeros(len(pool), dtype=bool)
    return np.isin(pool, labeled)


@dataclass(frozen=True)
class DistinctRows:
    """Whether some rows, read block by block, are all different.

    Attributes
    ----------
    smallest : array
        The smallest digests, without repetitions.
    repeated : bool
        Whether two rows had the same one of these digests.
    """

    smallest: Digests
    repeated: bool = False

    @classmethod
    def of(cls, digests: Digests, repeated: bool = False) -> Self:
        """Return whether rows are distinct, given their digests."""
        smallest, counts = np.unique(digests, return_counts=True)
        some = slice(MAX_DIGESTS_KEPT)
        return cls(smallest[some], repeated or bool((counts[some] > 1).any()))

    def join(self, other: Self) -> Self:
        """Return whether the rows of two parts together are distinct."""
        both = np.concatenate([self.smallest, other.smallest])
        return self.of(both, self.repeated or other.repeated)


def left_out_in_words(n_labeled: int, n_rows: int, alike: str) -> str:
    """Return how many rows of a pool are left out, in a sentence; empty if none is.

    Parameters
    ----------
    n_labeled : int
        Number of rows of the pool that are also labelled rows.
    n_rows : int
        Number of all rows of the pool.
    alike : str
        What they have in common: "cells", "id".

    Returns
    -------
    str
        The sentence.
    """
    if not n_labeled:
        return ""
    are = "is also a labelled row" if n_labeled == 1 else "are also labelled rows"
    left = "it is left out" if n_labeled == 1 else "they are left out"
    return (
        f"{n_labeled:,} of the {counted(n_rows, 'unlabelled row')} {are} (the same {alike}): "
        f"{left} of the rows to label and of what their labels settle."
    )


def order_seed(*parts: Any) -> int:
    """Return the seed of an order that is fresh for models fitted to these parts.

    Parameters
    ----------
    *parts : array, text, number, None, estimator, or nested list or dictionary of these
        Everything that the models were fitted to. An estimator is known by its class and its
        settings, without those that affect no prediction, such as ``n_jobs``; a function or a class
        by its name, and any other object by the name of its class.

    Returns
    -------
    int
        A digest of 63 bits.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from primum.judging.pools import order_seed
    >>> order_seed([1, None], Ridge(2.0)) == order_seed([1, None], Ridge(2.0))
    True
    >>> order_seed([1, None], Ridge(2.0)) == order_seed([1, None], Ridge(3.0))
    False
    """
    digest = hashlib.blake2b(digest_size=8)
    for text in _texts(parts):
        digest.update(len(text).to_bytes(8, "little") + text)
    return int.from_bytes(digest.digest(), "little") >> 1


def _texts(part: Any) -> Iterator[bytes]:
    """Yield the bytes of a part, which tell it from any other part."""
    name, items = type(part).__qualname__, []
    if isinstance(part, list | tuple):
        items = list(part)
    elif isinstance(part, Mapping):
        items = list(part.items())
    elif isinstance(part, np.ndarray) and part.dtype == object:
        items = part.tolist()
    elif isinstance(part, np.ndarray):
        name = f"array {part.dtype.str} {part.shape} "
        yield np.ascontiguousarray(part).tobytes()
    elif hasattr(part, "get_params") and not isinstance(part, type):
        settings = sorted(part.get_params(deep=False).items())
        items = [(key, value) for key, value in settings if key not in WITHOUT_EFFECT]
    elif isinstance(part, Number | str | bytes | None):
        name += f" {part!r}"
    elif hasattr(part, "__qualname__"):
        name += f" {part.__qualname__}"
    yield f"{name} of {len(items)}".encode()
    for item in items:
        yield from _texts(item)
