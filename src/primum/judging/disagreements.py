"""The unlabelled rows on which fitted models predict different classes, in random order.

For pairs j of models, D_j are the rows on which the two predict different classes, and D is the
union of all D_j. Row i has a random number that depends on a seed and on i alone: the i-th word of
the counter-based generator Philox (Salmon et al. 2011), which computes it without the others. The
rows of D, sorted by these numbers, are in random order, and the first m of them are a uniform
sample without replacement. So a single pass that keeps the m rows of D with the smallest numbers
draws the sample and shuffles it at once, wherever the rows are stored. Two partial results are
merged by the same rule, in any grouping: neither the size of blocks nor the number of threads or
workers matters, and a second pass gives the same order. The sizes of all D_j and of D are counted
over all rows. Rows that are also labelled ones (`primum.judging.pools`) are no part of D, and do
not count.

References
----------
Salmon, J. K., Moraes, M. A., Dror, R. O. & Shaw, D. E. (2011). Parallel random numbers: as easy as
1, 2, 3. Proceedings of SC11.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Index, Mask
from primum._words import listed
from primum.judging.pools import (
    Digests,
    DistinctRows,
    also_labeled,
    left_out_in_words,
    row_digests,
)
from primum.reading.data import (
    as_table,
    locating_bad_values,
    on_this_machine,
    open_outside,
    stack_rows,
)
from primum.rows import Block, Rows, first_non_finite, refuse_non_finite

# Words of Philox, each of 64 bits, per step of its counter: a property of this generator.
PHILOX_WORDS = 4
# At most this many rows are listed, which is more than anybody labels.
MAX_LISTED = 5000
# Rows are predicted in blocks of at most this many: kernels and neighbours compare every one of
# them with the rows that a model was fitted to.
ROWS_PER_BLOCK = 2**13
# Stands for both classes of a row on which the two models of a pair agree: no code of a class is
# negative.
AGREE = -1

# The class codes (n_rows, n_models) that fitted models predict for rows.
Predict = Callable[[Any], Index]


@dataclass(frozen=True)
class Disagreements:
    """The rows on which pairs of fitted models predict different classes.

    Attributes
    ----------
    n_rows : int
        Number of all rows that have no label.
    n_union : int
        Number of rows on which the models of some pair differ.
    n_different : tuple of int
        For each pair, the number of rows on which its two models differ.
    pairs : tuple of (int, int)
        The pairs, by the positions of their models.
    positions : array of shape (n_listed,)
        Positions of the listed rows among all rows, in random order: all rows on which the models
        of some pair differ, or a uniform sample of them.
    codes : array of shape (n_listed, n_models)
        The class codes that the models predict for the listed rows.
    X : DataFrame, array or CSR array of shape (n_listed, n_features)
        The listed rows, in this order.
    n_labeled : int, default=0
        Number of rows that were left out because they are also labelled rows.
    """

    n_rows: int
    n_union: int
    n_different: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    positions: Index
    codes: Index
    X: Any = field(repr=False)
    n_labeled: int = 0

    @property
    def n_listed(self) -> int:
        """Number of listed rows."""
        return len(self.positions)

    @property
    def left_out(self) -> str:
        """How many rows were left out, in a sentence; empty if none was."""
        n_all = self.n_rows + self.n_labeled
        return left_out_in_words(self.n_labeled, n_all, "cells") if self.n_labeled else ""

    def codes_of(self, pair: int) -> Index:
        """Return the codes of the two models of a pair for the listed rows.

        Parameters
        ----------
        pair : int
            Position of the pair.

        Returns
        -------
        array of shape (n_listed, 2)
            The codes, in the order of the pair; -1 where the two models agree.
        """
        codes = self.codes[:, list(self.pairs[pair])]
        return np.where(codes[:, :1] != codes[:, 1:], codes, AGREE)


def find_disagreements(
    models: Sequence[Any],
    X: Any,
    pairs: Sequence[tuple[int, int]],
    *,
    seed: int,
    most: int = MAX_LISTED,
    predict: Predict | None = None,
    labeled: Digests | None = None,
) -> Disagreements:
    """Return the rows on which pairs of fitted models predict different classes.

    Parameters
    ----------
    models : sequence of classifiers
        Fitted classifiers or pipelines, of the same classes and features.
    X : array-like, sparse matrix, DataFrame, path, Dask collection or Rows
        Unlabelled rows. A Parquet file or folder, or a Dask array or DataFrame, is read once, block
        by block.
    pairs : sequence of (int, int)
        The pairs of models to compare, by their positions.
    seed : int
        Seed of the random order, which depends only on it and on the positions of the rows. A
        settlement needs one that is fresh for these models: ``primum.judging.pools.order_seed``.
    most : int, default=5000
        The largest number of rows to list.
    predict : callable, optional
        Function of rows that returns the class codes (n_rows, n_models) predicted by all models; by
        default each model's ``predict`` is called.
    labeled : array of shape (n_labeled,), optional
        Digests of the labelled rows (``primum.judging.pools.row_digests``). Those found in X are
        left out, unless two rows of X are equal.

    Returns
    -------
    Disagreements
        The counts over all rows, and the listed rows.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import LeastSquaresClassifier
    >>> from primum.judging.disagreements import find_disagreements
    >>> models = [LeastSquaresClassifier().fit([[0.0], [x]], [0, 1]) for x in (2.0, 4.0)]
    >>> found = find_disagreements(models, np.arange(6.0)[:, None] / 2, [(0, 1)], seed=0)
    >>> found.n_rows, found.n_different, sorted(found.positions.tolist())
    (6, (2,), [2, 3])
    """
    outside = X if isinstance(X, Rows) else open_outside(models[0], X)
    predict = predict or _predicted_by(models)
    with one_blas_thread():
        if outside is None:
            X = _sliceable(X)
            codes = _codes_in_memory(predict, X)
            known = None if labeled is None else also_labeled(row_digests(X), labeled)
            return list_disagreements(codes, X, pairs, seed=seed, most=most, labeled=known)
        names = getattr(models[0], "feature_names_in_", None)
        kernel = _BlockSearch(predict, _as_array(pairs), seed, most, names, labeled)
        _require_rows(outside.n_rows)
        found = outside.map_reduce(kernel.of_block, kernel.join)
    # Equal cells tell the same row only if no two rows are equal, which the last block decides.
    part = found.every if found.distinct.repeated else found.unlabeled
    order = part.order
    return part.listed(order, kernel.pairs, as_table(part.X[order], names))


def list_disagreements(
    codes: Index,
    X: Any,
    pairs: Sequence[tuple[int, int]],
    *,
    seed: int,
    most: int = MAX_LISTED,
    labeled: Mask | None = None,
) -> Disagreements:
    """Return the disagreements of models whose predictions are known.

    Parameters
    ----------
    codes : array of shape (n_rows, n_models)
        The class codes that the models predict.
    X : array, CSR array or DataFrame of shape (n_rows, n_features)
        The rows, in memory.
    pairs, seed, most
        As in ``find_disagreements``.
    labeled : bool array of shape (n_rows,), optional
        Rows that are left out, because they have a label.

    Returns
    -------
    Disagreements
        The counts over all rows, and the listed rows.
    """
    part = _part_of(0, codes, _as_array(pairs), seed, labeled=labeled).limited(most)
    order = part.order
    return part.listed(order, _as_array(pairs), take_rows(X, part.positions[order]))


def _as_array(pairs: Sequence[tuple[int, int]]) -> Index:
    return np.asarray(pairs, dtype=np.intp).reshape(-1, 2)


def random_words(seed: int, start: int, n: int) -> NDArray[np.uint64]:
    """Return the random numbers of n consecutive rows, which depend on their positions only."""
    generator = np.random.Philox(key=seed)
    generator.advance(start // PHILOX_WORDS)
    before = start % PHILOX_WORDS
    return np.asarray(generator.random_raw(before + n)[before:], dtype=np.uint64)


@dataclass(frozen=True)
class _ListedPart:
    """What some of the rows contribute: counts, and the rows with the smallest random numbers."""

    n_rows: int
    n_union: int
    n_different: Index
    keys: NDArray[np.uint64]
    positions: Index
    codes: Index
    X: Any
    n_labeled: int

    @property
    def order(self) -> Index:
        """The places of the rows, those with the smallest numbers first."""
        return np.lexsort([self.positions, self.keys])

    def limited(self, most: int) -> "_ListedPart":
        """Return a part that lists at most ``most`` rows, those with the smallest numbers."""
        if len(self.keys) <= most:
            return self
        kept = self.order[:most]
        return replace(
            self,
            keys=self.keys[kept],
            positions=self.positions[kept],
            codes=self.codes[kept],
            X=None if self.X is None else self.X[kept],
        )

    def listed(self, order: Index, pairs: Index, X: Any) -> Disagreements:
        """Return what was found, with the rows X in this order."""
        return Disagreements(
            n_rows=self.n_rows,
            n_union=self.n_union,
            n_different=tuple(self.n_different.tolist()),
            pairs=tuple((first, second) for first, second in pairs.tolist()),
            positions=self.positions[order],
            codes=self.codes[order],
            X=X,
            n_labeled=self.n_labeled,
        )


def _part_of(
    start: int,
    codes: Index,
    pairs: Index,
    seed: int,
    X: Any = None,
    labeled: Mask | None = None,
) -> _ListedPart:
    """Return what consecutive rows contribute, given their codes; X are the rows, if kept."""
    apart = codes[:, pairs[:, 0]] != codes[:, pairs[:, 1]]
    n_labeled = 0
    if labeled is not None:
        apart &= ~labeled[:, None]
        n_labeled = int(labeled.sum())
    chosen = np.flatnonzero(apart.any(axis=1))
    return _ListedPart(
        n_rows=len(codes) - n_labeled,
        n_union=len(chosen),
        n_different=apart.sum(axis=0),
        keys=random_words(seed, start, len(codes))[chosen],
        positions=start + chosen,
        codes=codes[chosen],
        X=None if X is None else X[chosen],
        n_labeled=n_labeled,
    )


@dataclass(frozen=True)
class _FoundInBlocks:
    """What blocks contribute with and without rows that equal a labelled one.

    ``distinct`` tells whether all of their rows are different.
    """

    every: _ListedPart
    unlabeled: _ListedPart
    distinct: DistinctRows


@dataclass(frozen=True)
class _BlockSearch:
    """Finds the rows of a block on which models differ; it runs on the workers of a cluster too.

    ``names`` are the names of the columns, ``labeled`` the digests of labelled rows.
    """

    predict: Predict
    pairs: Index
    seed: int
    most: int
    names: AnyArray | None
    labeled: Digests | None

    def of_block(self, block: Block) -> _FoundInBlocks:
        """Return what a block contributes, and the rows themselves."""
        return reduce(self.join, map(self._of_piece, block.split(ROWS_PER_BLOCK)))

    def _of_piece(self, block: Block) -> _FoundInBlocks:
        try:
            codes = self.predict(as_table(block.X, self.names))
        except ValueError:
            if first_non_finite(block.X) is not None:
                refuse_non_finite(block)
            raise
        rows = block.start, codes, self.pairs, self.seed, block.X
        every = _part_of(*rows).limited(self.most)
        if self.labeled is None:
            return _FoundInBlocks(every, every, DistinctRows.of(np.empty(0, np.uint64)))
        digests = row_digests(block.X)
        same = np.isin(digests, self.labeled)
        unlabeled = every if not same.any() else _part_of(*rows, same).limited(self.most)
        return _FoundInBlocks(every, unlabeled, DistinctRows.of(digests))

    def join(self, first: _FoundInBlocks, second: _FoundInBlocks) -> _FoundInBlocks:
        """Return what two parts contribute together."""
        every = self._join(first.every, second.every)
        same = first.unlabeled is first.every and second.unlabeled is second.every
        unlabeled = every if same else self._join(first.unlabeled, second.unlabeled)
        return _FoundInBlocks(every, unlabeled, first.distinct.join(second.distinct))

    def _join(self, first: _ListedPart, second: _ListedPart) -> _ListedPart:
        both = (first, second)
        return _ListedPart(
            first.n_rows + second.n_rows,
            first.n_union + second.n_union,
            first.n_different + second.n_different,
            np.concatenate([part.keys for part in both]),
            np.concatenate([part.positions for part in both]),
            np.concatenate([part.codes for part in both]),
            stack_rows([part.X for part in both]),
            first.n_labeled + second.n_labeled,
        ).limited(self.most)


def _codes_in_memory(predict: Predict, X: Any) -> Index:
    """Return the class codes predicted for rows in memory, block by block."""
    n_rows = X.shape[0]
    _require_rows(n_rows)
    starts = range(0, n_rows, ROWS_PER_BLOCK)
    with locating_bad_values(X, "X"):
        blocks = (slice(start, min(start + ROWS_PER_BLOCK, n_rows)) for start in starts)
        return np.concatenate([predict(take_rows(X, block)) for block in blocks])


def _require_rows(n_rows: int) -> None:
    """Raise an error if there are no rows."""
    if n_rows == 0:
        raise ValueError("X has no rows, so models cannot differ on them: pass unlabelled rows.")


def _sliceable(X: Any) -> Any:
    """Return rows in memory in a form that can be sliced."""
    as_csr: Any = sparse.csr_array
    if sparse.issparse(X):
        return as_csr(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def _predicted_by(models: Sequence[Any]) -> Predict:
    """Return a function of rows that returns the class codes predicted by all models."""
    classes = models[0].classes_
    for model in models:
        if not np.array_equal(model.classes_, classes):
            raise ValueError(
                f"The models predict different classes, {listed(classes.tolist(), 5)} and "
                f"{listed(model.classes_.tolist(), 5)}: compare models that were fitted to the "
                "same labels."
            )
    order = np.argsort(classes)

    def predict(rows: Any) -> Index:
        predicted = [np.asarray(on_this_machine(model.predict(rows))) for model in models]
        places = [np.searchsorted(classes, values, sorter=order) for values in predicted]
        return np.stack([order[place] for place in places], axis=1)

    return predict
