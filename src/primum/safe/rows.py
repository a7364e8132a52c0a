"""The rows that all candidates of a fit share: those of positive weight, in memory."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs

from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray
from primum.equations.sampled import read_sample
from primum.reading.data import FitArguments, refuse_overflow, stack_rows
from primum.reading.targets import SomeKnown
from primum.rows import ArrayRows
from primum.safe.candidates import SharedRows
from primum.safe.candidates.base import as_given, standardisation
from primum.safe.candidates.wide import with_reduced

# Standardise features unless they are sparse and have no negative entries in labelled rows.
UNLESS_COUNTS = "auto"


def shared_rows(
    given: FitArguments[SomeKnown],
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


def read_groups(
    given: FitArguments[SomeKnown], groups: Any, n_unlabeled: int
) -> tuple[AnyArray | None, AnyArray | None, int]:
    """Return the groups of labelled and of unlabelled rows of X, and how many could be labelled.

    The last is the number of groups without a label, where each row of X_unlabeled is a group;
    without groups, it is that of the unlabelled rows.
    """
    if groups is None:
        return None, None, n_unlabeled
    labeled = np.asarray(groups)[given.labels.labeled[given.known]]
    unlabeled = np.asarray(groups)[given.labels.unlabeled[given.unknown]]
    n_more = n_unlabeled - len(unlabeled)
    return labeled, unlabeled, len(np.setdiff1d(unlabeled, labeled)) + n_more
