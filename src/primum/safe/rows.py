"""What all candidates of a fit share: rows of positive weight in memory, and their targets.

Sparse rows of more than ``MAX_WIDE_COLUMNS`` columns, such as texts, are reduced for the candidates
that use unlabelled rows: to ``SVD_RANK`` components, by a truncated singular value decomposition of
all rows, labelled or not. With fifty components, graphs, kernels and constraints cost no more than
for a table. Their supervised counterparts must not see these components, which are learnt from
unlabelled rows, and receive the columns. So the difference between the two is what the unlabelled
rows contribute, components included.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray, Floats, Index, Mask
from primum.equations.sampled import Sampled, read_sample
from primum.judging.held_out import HeldOut
from primum.judging.pools import Digests, row_digests
from primum.reading.data import TrainingRows, on_this_machine, refuse_overflow, stack_rows
from primum.reading.folds import read_repeated_folds
from primum.reading.known import read_chosen
from primum.reading.targets import TargetScale
from primum.rows import ArrayRows

# Standardise features unless they are sparse and have no negative entries in labelled rows.
UNLESS_COUNTS = "auto"
# Sparse rows with more columns than the first number are reduced, to the second: graphs and kernels
# then cost no more than for a table.
MAX_WIDE_COLUMNS, SVD_RANK = 1000, 50
# With more rows, the components are those of a random sample, which takes seconds to decompose.
MAX_COMPONENT_ROWS = 20_000


@dataclass(frozen=True)
class Affine:
    """New features, ``(X / scale) @ directions - shift``; without directions ``X / scale - shift``.

    Sparse rows stay sparse, unless there are directions or a shift.
    """

    scale: Floats
    shift: Floats
    directions: Floats | None = None

    def transform(self, X: Any) -> Any:
        """Return the new features of rows."""
        inverse = 1.0 / self.scale
        scaled: Any = X * inverse if isinstance(X, np.ndarray) else X @ sparse.diags_array(inverse)
        if self.directions is not None:
            scaled = np.asarray(scaled @ self.directions)
        return scaled - self.shift if np.any(self.shift) else scaled


def standardisation(X: Any) -> Affine:
    """Return the change that standardises features; sparse ones are scaled but not centred."""
    from sklearn.preprocessing import StandardScaler

    centred = not sparse.issparse(X)
    scaler = StandardScaler(with_mean=centred).fit(X)
    shift = scaler.mean_ / scaler.scale_ if centred else np.zeros(X.shape[1])
    return Affine(scaler.scale_, shift)


def as_given(X: Any) -> Affine:
    """Return the change of features whose scales are kept; sparse ones are weighted by rarity.

    A word that occurs in few rows says more than one that occurs in all, but unit variance would
    give it too much weight. The weight is the usual ``1 + log((1 + n) / (1 + n_j))``, where n_j of
    n rows are not 0; it is 1 for a column without zeros.
    """
    n_rows, n_features = X.shape
    is_sparse = sparse.issparse(X)
    counts = np.asarray((X != 0).sum(axis=0)).reshape(-1) if is_sparse else n_rows
    weight = np.broadcast_to(1.0 + np.log((1 + n_rows) / (1 + counts)), n_features)
    return Affine(1.0 / weight, np.zeros(n_features))


# Function of rows that returns the change which makes their features comparable.
Scaling = Callable[[Any], Affine]


@dataclass(frozen=True)
class SharedRows:
    """The rows that all candidates share, in memory.

    Attributes
    ----------
    labeled, unlabeled : array or CSR matrix
        Features of the labelled and of the unlabelled rows.
    unlabeled_weight : array or None
        Weights of the unlabelled rows (None: 1). Those of the labelled rows are in ``Targets``.
    seed : int
        Seed of whatever is random.
    weighted : bool
        Whether any row has a weight other than 1.
    columns : array or None
        Names of the columns, if the rows were given as a pandas DataFrame.
    scaling : callable
        How candidates make features comparable, given the rows they learn from.
    reduced : SharedRows or None
        The same rows with fewer features, if they are too wide; see ``wide``.
    reduction : Affine or None
        The change to these features.
    sampled : Sampled or None
        What ``unlabeled`` is a sample of, unless it has all unlabelled rows.
    """

    labeled: Any
    unlabeled: Any
    unlabeled_weight: Floats | None = None
    seed: int = 0
    weighted: bool = False
    columns: AnyArray | None = None
    scaling: Scaling = standardisation
    reduced: "SharedRows | None" = None
    reduction: Affine | None = None
    sampled: Sampled | None = None

    @cached_property
    def labeled_digests(self) -> Digests:
        """A digest of every labelled row."""
        return row_digests(self.labeled)

    @cached_property
    def unlabeled_digests(self) -> Digests:
        """A digest of every unlabelled row in memory."""
        return row_digests(self.unlabeled)

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabelled rows, in memory or not."""
        return self.sampled.n_rows if self.sampled is not None else int(self.unlabeled.shape[0])

    @property
    def n_labeled(self) -> int:
        """Number of labelled rows."""
        return int(self.labeled.shape[0])

    @property
    def all(self) -> Any:
        """The labelled rows, then the unlabelled ones."""
        return stack_rows([self.labeled, self.unlabeled])

    def standardised(self) -> tuple["SharedRows", Affine]:
        """Return the rows, changed by the ``scaling`` of all of them, and the change."""
        change = self.scaling(self.all)
        labeled, unlabeled = change.transform(self.labeled), change.transform(self.unlabeled)
        return replace(self, labeled=labeled, unlabeled=unlabeled), change

    def with_labeled(self, rows: Index) -> "SharedRows":
        """Return the same with only some of the labelled rows."""
        reduced = None if self.reduced is None else self.reduced.with_labeled(rows)
        return replace(self, labeled=self.labeled[rows], reduced=reduced)

    def with_at_most(self, n_unlabeled: int | None) -> "SharedRows":
        """Return a random sample of at most n_unlabeled unlabelled rows with all labelled ones."""
        n_rows = self.unlabeled.shape[0]
        if n_unlabeled is None or n_rows <= n_unlabeled:
            return self
        rng = np.random.default_rng(self.seed)
        sample = np.sort(rng.choice(n_rows, n_unlabeled, replace=False))
        weight = self.unlabeled_weight
        return replace(
            self,
            unlabeled=self.unlabeled[sample],
            unlabeled_weight=None if weight is None else weight[sample],
            reduced=None if self.reduced is None else self.reduced.with_at_most(n_unlabeled),
        )


def sampled_note(name: str, rows: SharedRows, used: SharedRows) -> str:
    """Return a sentence on the unlabelled rows that a candidate uses, if these are not all."""
    n_all, n_used = rows.n_unlabeled, used.unlabeled.shape[0]
    if n_used == n_all:
        return ""
    return f"{name} uses a random sample of {n_used} of the {n_all} unlabelled rows."


@dataclass(frozen=True)
class Targets:
    """The known targets of labelled rows: classes, or numbers.

    Attributes
    ----------
    y : array of shape (n_rows,)
        What an estimator is fitted to: class codes 0, 1, ..., or numbers in their own unit.
    values : array of shape (n_rows, n_outputs)
        What scores are compared with: one-hot labels, or standardised numbers in one column.
    scale : TargetScale or None
        How numbers are standardised, so that scores and penalties do not depend on their unit; None
        for classes.
    weight : array of shape (n_rows,) or None
        Weights of the rows (None: 1).
    groups : array of shape (n_rows,) or None
        Numbers of the groups of rows that belong together (None: every row is one).
    chosen : bool array of shape (n_rows,) or None
        Which targets were not drawn at random (None: none).
    """

    y: AnyArray
    values: Floats
    scale: TargetScale | None = None
    weight: Floats | None = None
    groups: Index | None = None
    chosen: Mask | None = None

    @classmethod
    def of_classes(
        cls,
        codes: Index,
        n_classes: int,
        weight: Floats | None = None,
        groups: Any = None,
        chosen: Mask | None = None,
    ) -> "Targets":
        """Return class codes as targets; groups may have any names."""
        return cls(codes, np.eye(n_classes)[codes], None, weight, _numbered(groups), chosen)

    @classmethod
    def of_numbers(
        cls,
        numbers: Floats,
        weight: Floats | None = None,
        groups: Any = None,
        chosen: Mask | None = None,
    ) -> "Targets":
        """Return numbers as targets, standardised to mean 0 and standard deviation 1."""
        mean = float(np.average(numbers, weights=weight))
        width = float(np.sqrt(np.average((numbers - mean) ** 2, weights=weight)))
        # Equal numbers differ from their mean by rounding.
        scale = TargetScale(mean, width if np.ptp(numbers) > 0 and width > 0 else 1.0)
        values = scale.standardised(numbers)[:, None]
        return cls(numbers, values, scale, weight, _numbered(groups), chosen)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_outputs(self) -> int:
        """Number of scores of a row."""
        return int(self.values.shape[1])

    @property
    def are_shares(self) -> bool:
        """Whether the scores of a row are shares of classes."""
        return self.scale is None

    @property
    def are_equal(self) -> bool:
        """Whether only one class, or number, occurs."""
        return bool(np.ptp(self.y) == 0)

    @property
    def present(self) -> Index:
        """The classes that occur."""
        return np.unique(self.y)

    @property
    def weighted(self) -> Floats:
        """The values, times the weights of the rows."""
        return self.values if self.weight is None else self.values * self.weight[:, None]

    @property
    def mean(self) -> Floats:
        """The scores of a constant model, from the targets drawn at random."""
        drawn = slice(None) if self.chosen is None or self.chosen.all() else ~self.chosen
        weight = None if self.weight is None else self.weight[drawn]
        if self.are_shares:
            counts = np.bincount(self.y[drawn], weight, self.n_outputs)
            return np.asarray(counts / counts.sum())
        return np.asarray(np.average(self.values[drawn], axis=0, weights=weight))

    def unknown(self, n_rows: int) -> AnyArray:
        """Return the targets that mark unlabelled rows for estimators that use them."""
        return np.full(n_rows, -1) if self.are_shares else np.full(n_rows, np.nan)

    def restored(self, scores: Floats) -> Floats:
        """Return scores in the unit of the targets."""
        return scores if self.scale is None else np.asarray(self.scale.restored(scores))

    def take(self, rows: Index) -> "Targets":
        """Return the targets of some rows."""
        columns = {name: getattr(self, name) for name in ("weight", "groups", "chosen")}
        parts = {name: None if part is None else part[rows] for name, part in columns.items()}
        return replace(self, y=self.y[rows], values=self.values[rows], **parts)

    def part(self, share: float, seed: int) -> Index:
        """Return the positions of about this share of the rows, but of enough to fit a model to.

        Of each class that has two rows, there are at least two.
        """
        rng = np.random.default_rng(seed)
        strata = [np.arange(len(self))]
        if self.are_shares:
            strata = [np.flatnonzero(self.y == code) for code in self.present]
        parts = [rng.permutation(rows)[: max(2, int(share * len(rows)))] for rows in strata]
        return np.sort(np.concatenate(parts))


def _numbered(groups: Any) -> Index | None:
    """Return groups as numbers 0, 1, ..."""
    return None if groups is None else np.unique(groups, return_inverse=True)[1]


def partly_labelled(
    rows: SharedRows, train: Index, targets: Targets
) -> tuple[Any, AnyArray, Floats | None]:
    """Return all rows, their targets and weights (None: 1), with targets of the rows train only.

    The rows train come first; all other rows, labelled or not, have an unknown target.
    """
    hidden = np.setdiff1d(np.arange(rows.n_labeled), train)
    X = stack_rows([rows.labeled[train], rows.unlabeled, rows.labeled[hidden]])
    y = targets.unknown(X.shape[0])
    y[: len(train)] = targets.y[train]
    if not rows.weighted:
        return X, y, None
    n_unlabeled = X.shape[0] - rows.n_labeled
    of_others = np.ones(n_unlabeled) if rows.unlabeled_weight is None else rows.unlabeled_weight
    weight = np.ones(rows.n_labeled) if targets.weight is None else targets.weight
    return X, y, np.concatenate([weight[train], of_others, weight[hidden]])


def shared_rows(
    given: TrainingRows,
    seed: int,
    standardize: bool | str,
    columns: AnyArray | None,
    n_jobs: int | None,
) -> SharedRows:
    """Return the rows of positive weight; a sample of the unlabelled ones if many are outside.

    With unit variance, a word that occurs only twice weighs as much as one that tells topics apart.
    Sparse features with negative entries are neither counts nor shares of words.
    """
    refuse_overflow(given.X, "X")
    if isinstance(given.more, ArrayRows):
        refuse_overflow(given.more.array, "X_unlabeled")
    index = given.labels.unlabeled[given.unknown]
    table, weight = given.X.astype(np.float64, copy=False), given.weight_of(index)
    labeled, more, sampled = table[given.labels.labeled[given.known]], given.more, None
    if isinstance(more, ArrayRows):
        unlabeled = stack_rows([table[index], more.array.astype(np.float64, copy=False)])
    else:
        with one_blas_thread(), using_threads(effective_n_jobs(n_jobs)):
            unlabeled, sample = read_sample(ArrayRows(table, index), more, labeled, seed)
        if sample.n_rows > unlabeled.shape[0]:
            sampled, weight = sample, None if weight is None else sample.take(weight)
    if weight is not None:
        weight = np.append(weight, np.ones(unlabeled.shape[0] - len(weight)))
    if standardize == UNLESS_COUNTS:
        standardize = isinstance(table, np.ndarray) or bool(table.min() < 0)
    rows = SharedRows(
        labeled,
        unlabeled,
        weight,
        seed,
        weighted=given.weight is not None,
        columns=columns,
        scaling=standardisation if standardize else as_given,
        sampled=sampled,
    )
    return with_reduced(rows)


def held_out_rows(
    given: TrainingRows,
    y: AnyArray,
    classes: AnyArray | None,
    groups: Any,
    chosen: Any,
    cv: Any,
    n_repeats: int,
    n_unlabeled: int,
    seed: int,
) -> HeldOut:
    """Return the rows that folds of the labelled rows of positive weight hold out.

    ``y`` has the class codes of the labelled rows (``classes`` names them), or their numbers. What
    could be labelled are the unlabelled rows or, with groups, the groups without a label, where
    each row of X_unlabeled is a group.
    """
    known = given.labels.labeled[given.known]
    unknown = given.labels.unlabeled[given.unknown]
    mask = read_chosen(on_this_machine(chosen), given.labels)
    asked = None if mask is None else mask[known]
    folds = read_repeated_folds(cv, n_repeats, given, groups, seed, mask)
    weight = given.weight_of(known)
    if groups is None:
        return HeldOut(folds, y, classes, weight, None, n_unlabeled, chosen=asked)
    labeled = np.asarray(groups)[known]
    n_more = n_unlabeled - len(unknown)
    n_groups = len(np.setdiff1d(np.asarray(groups)[unknown], labeled)) + n_more
    return HeldOut(folds, y, classes, weight, labeled, n_groups, chosen=asked)


def with_reduced(rows: SharedRows) -> SharedRows:
    """Return rows with their components, if they are sparse and too wide."""
    too_wide = rows.labeled.shape[1] > MAX_WIDE_COLUMNS and sparse.issparse(rows.labeled)
    if not too_wide or rows.unlabeled.shape[0] == 0:
        return rows
    sample = rows.with_at_most(max(MAX_COMPONENT_ROWS - rows.n_labeled, 0))
    change = find_reduction(sample.all, rows.seed, rows.scaling)
    labeled, unlabeled = change.transform(rows.labeled), change.transform(rows.unlabeled)
    reduced = replace(rows, labeled=labeled, unlabeled=unlabeled, columns=None, scaling=as_given)
    return replace(rows, reduced=reduced, reduction=change)


def find_reduction(X: Any, seed: int, scaling: Scaling = as_given) -> Affine:
    """Return the first components of sparse rows, without whitening."""
    from sklearn.decomposition import TruncatedSVD

    change = scaling(X)
    n_components = min(SVD_RANK, X.shape[0], X.shape[1] - 1)
    with np.errstate(invalid="ignore"):  # shares of the variance of equal rows, which is 0
        svd = TruncatedSVD(n_components, random_state=seed).fit(change.transform(X))
    return Affine(change.scale, np.zeros(n_components), svd.components_.T)
