"""Copies, and rows that belong together although nobody said so, among the labelled rows.

A held-out row with a copy in the training set is easy for models that memorise rows, such as
forests, kernels and nearest neighbors, and says nothing about new rows. Nor does a row of a person,
or of a recording, whose other rows are trained on. Such rows are nearer to each other than chance
allows. But equal rows need not be copies: features with few values are often equal in rows that
were observed independently, and rows of groups are near to each other in every sample. So what is
compared is the labelled rows with random subsets of all rows.

**The test.** Let d_i be the distance of a labelled row to the nearest other labelled row, divided
by the spread of the labelled rows (the root of their total variance), because labelled rows from a
part of the space are nearer to each other without being copies. F is the distribution function of
the d_i, and G that of the same distances in random subsets of all rows, as many as there are
labelled ones. The statistic of Kolmogorov and Smirnov,

    D = max over t of F(t) - G(t),

is the share of the labelled rows that are nearer to another one than chance explains. If labels
were drawn at random, the labelled rows are such a subset, whatever the rows are, so that the share
of subsets with a D at least as large is an exact p-value. Ties, as in discrete tables, need no
treatment. The alarm needs p <= 0.001 and D >= 1/4.

**Exact copies** are also found without unlabelled rows, where there is nothing to compare with. Two
independent rows are equal with at most the probability that they are equal in a given column. If
pairs of different rows are equal there with the frequency c, the expected number of equal pairs
among L rows is at most about c L (L - 1) / 2. Equal rows are copies if there are far more
pairs (p <= 0.001 by the Poisson distribution), and at least three rows have copies: one row that
occurs often, such as one of zeros, may be an ordinary value.
The bound is poor for a single column, and for columns that depend on each other. So nothing is said
where nearly all unlabelled rows equal a labelled one: then the table has few different rows.
"""

from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from primum._sklearn import count_rows, take_rows
from primum._typing import Floats, Index
from primum.judging.words import Alert
from primum.reading.data import stack_rows

# Equal rows are mentioned if they are this share of the labelled ones; fewer change little.
MIN_COPIES_SHARE = 0.05
# The least share of labelled rows that are nearer to another one than chance explains, and that
# have exact copies, if claims are withheld: fewer hardly change a verdict.
MIN_EXCESS, MIN_EXACT_SHARE = 0.25, 0.1
# An alarm in a thousand comparisons whose labels were drawn at random.
COPIES_SIGNIFICANCE = 0.001
# Random subsets: the first part shows nearly always that nothing is remarkable, and all together
# are just enough for the p-value above.
FIRST_SUBSETS, ALL_SUBSETS = 99, 999
# Labelled rows, and unlabelled rows for each of them: more would mostly cost time.
MAX_LABELED, UNLABELED_PER_LABELED = 500, 3
# The nearest neighbours of a row that are kept contain one of a random subset but for this
# probability.
MISSED = 1e-6
# With fewer labelled rows no share is remarkable.
MIN_LABELED = 10
# One row that occurs often may be an ordinary value; as many as this, each with a copy, are not.
MIN_COPIED = 3
# If nearly all unlabelled rows equal a labelled one, the table has few different rows: held-out
# rows that equal a labelled one are then no easier than the rows to predict.
MIN_SEEN_SHARE = 0.9
NONE_BELONG_TOGETHER = "no rows belong together"
SAY_GROUPS = "Say which rows belong together, or that none do, and compare again."


def find_copies(
    X_labeled: Any,
    X_unlabeled: Any,
    *,
    prepare: Any = None,
    remedy: str = "",
    random_state: int = 0,
) -> Alert | None:
    """Return an alert if labelled rows are copies, or nearer to each other than chance allows.

    Parameters
    ----------
    X_labeled, X_unlabeled : array, sparse matrix or DataFrame
        The rows.
    prepare : transformer, default=None
        Turns rows into numbers; None: they are numbers, and are scaled.
    remedy : str, default=""
        How to say which rows belong together, or that none do, in a sentence.
    random_state : int, default=0
        Seed of the random subsets.

    Returns
    -------
    Alert or None
        It withholds claims.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.judging.copies import find_copies
    >>> rng = np.random.default_rng(0)
    >>> labeled, unlabeled = rng.normal(size=(20, 3)), rng.normal(size=(300, 3))
    >>> find_copies(labeled, unlabeled) is None
    True
    >>> copies = np.repeat(labeled, 3, axis=0) + 1e-6 * rng.normal(size=(60, 3))
    >>> find_copies(copies, unlabeled).withholds
    True
    """
    n_labeled = count_rows(X_labeled)
    if n_labeled < MIN_LABELED:
        return None
    found = exact_copies(X_labeled)
    if found and _share_seen(X_labeled, X_unlabeled, random_state) >= MIN_SEEN_SHARE:
        return None
    if not found and count_rows(X_unlabeled):
        excess = excess_of_near_rows(X_labeled, X_unlabeled, prepare, random_state)
        if excess is not None:
            found = (
                f"The labelled rows seem to contain copies or near copies: {excess[0]:.0%} of the "
                f"{n_labeled} are as close to another labelled row as only {excess[1]:.0%} would "
                "be in a random subset of all rows."
            )
    if not found:
        return None
    text = (
        f"{found} If they are copies, or rows of the same few persons or things, the errors here "
        f"are too low{': ' + remedy if remedy else '.'} Until then, nothing is claimed."
    )
    return Alert("copies", text, withholds=True, assumes=NONE_BELONG_TOGETHER, next_step=SAY_GROUPS)


def exact_copies(X: Any) -> str:
    """Return a sentence if more rows are equal than their columns make probable; or nothing."""
    if sparse.issparse(X):  # columns of counts are equal in most rows
        return ""
    n_rows = count_rows(X)
    keys = _keys(X)
    counts = np.array(list(Counter(keys).values()))
    n_copies = n_rows - len(counts)
    if n_copies < MIN_EXACT_SHARE * n_rows or np.sum(counts > 1) < MIN_COPIED:
        return ""
    first_of = {key: row for row, key in reversed(list(enumerate(keys)))}
    distinct = take_rows(X, np.sort(list(first_of.values())))
    n_distinct = len(first_of)
    columns = (
        [distinct.iloc[:, j].to_numpy() for j in range(distinct.shape[1])]
        if hasattr(distinct, "iloc")
        else np.asarray(distinct).T
    )
    pairs = n_distinct * (n_distinct - 1) / 2
    equal = min(_equal_pairs(Counter(map(_key, column)).values()) for column in columns)
    expected = (equal + 1) / (pairs + 1) * n_rows * (n_rows - 1) / 2
    if stats.poisson.sf(_equal_pairs(counts) - 1, expected) > COPIES_SIGNIFICANCE:
        return ""
    return (
        f"{n_copies} of the {n_rows} labelled rows have the same features as another one, more "
        "than chance explains."
    )


def _share_seen(X_labeled: Any, X_unlabeled: Any, random_state: int) -> float:
    """Return the share of unlabelled rows, of which many are sampled, that equal a labelled one."""
    n_rows = count_rows(X_unlabeled)
    n_sampled = min(n_rows, UNLABELED_PER_LABELED * MAX_LABELED)
    if not n_sampled:
        return 0.0
    sampled = np.random.default_rng(random_state).choice(n_rows, n_sampled, replace=False)
    labeled = set(_keys(X_labeled))
    return float(np.mean([key in labeled for key in _keys(take_rows(X_unlabeled, sampled))]))


def _equal_pairs(counts: Any) -> float:
    """Return the number of pairs of equal items, given how often each occurs."""
    return float(sum(count * (count - 1) / 2 for count in counts))


def excess_of_near_rows(
    X_labeled: Any, X_unlabeled: Any, prepare: Any = None, random_state: int = 0
) -> tuple[float, float] | None:
    """Return F and G where they differ most, if the labelled rows are remarkably near each other.

    The module describes the test; None if nothing is remarkable.
    """
    from sklearn.neighbors import NearestNeighbors

    rng = np.random.default_rng(random_state)
    n_labeled = min(count_rows(X_labeled), MAX_LABELED)
    n_unlabeled = min(count_rows(X_unlabeled), UNLABELED_PER_LABELED * n_labeled)
    if n_labeled < MIN_LABELED or not n_unlabeled:
        return None
    # All rows are scaled together, so that a random subset is what the labelled rows would be.
    sampled = [
        take_rows(X, np.sort(rng.choice(count_rows(X), size, replace=False)))
        for X, size in ((X_labeled, n_labeled), (X_unlabeled, n_unlabeled))
    ]
    stacked = stack_rows(sampled)
    scaler = StandardScaler(with_mean=not sparse.issparse(stacked))
    X: Any = (scaler if prepare is None else clone(prepare)).fit_transform(stacked)
    if not sparse.issparse(X):
        X = np.nan_to_num(np.asarray(X, dtype=float))
    n_rows = count_rows(X)
    squares: Any = X**2 if isinstance(X, np.ndarray) else X.power(2)
    share = n_labeled / n_rows
    n_kept = min(n_rows - 1, int(np.ceil(np.log(MISSED) / np.log1p(-share))))
    distance, neighbor = NearestNeighbors(n_neighbors=n_kept, algorithm="brute").fit(X).kneighbors()

    def nearest(rows: Index) -> Floats:
        """Return the sorted distances of some rows to the nearest other one of them."""
        inside = np.zeros(n_rows, dtype=bool)
        inside[rows] = True
        among = inside[neighbor[rows]]
        # A row without any among its neighbours counts as having the farthest of these.
        first = np.where(among.any(axis=1), among.argmax(axis=1), n_kept - 1)
        mean = np.asarray(X[rows].mean(axis=0)).ravel()
        spread = float(np.sqrt(max(squares[rows].sum() / len(rows) - mean @ mean, 0.0)))
        return np.asarray(np.sort(distance[rows, first] / (spread or 1.0)))

    def subsets(number: int) -> list[Floats]:
        return [nearest(rng.choice(n_rows, n_labeled, replace=False)) for _ in range(number)]

    def excess(own: Floats, every: Floats) -> tuple[float, float]:
        below = np.arange(1, len(own) + 1) / len(own)
        by_chance = np.searchsorted(every, own * (1 + 1e-9), side="right") / len(every)
        most = int(np.argmax(below - by_chance))
        return float(below[most]), float(by_chance[most])

    own = nearest(np.arange(n_labeled))
    drawn = subsets(FIRST_SUBSETS)
    for further in (0, ALL_SUBSETS - FIRST_SUBSETS):
        drawn += subsets(further)
        every = np.sort(np.concatenate([own, *drawn]))
        below, by_chance = excess(own, every)
        others = [np.subtract(*excess(one, every)) for one in drawn]
        n_as_large = int(np.sum(np.array(others) >= below - by_chance - 1e-12))
        if below - by_chance < MIN_EXCESS or (1 + n_as_large) / (1 + ALL_SUBSETS) > (
            COPIES_SIGNIFICANCE
        ):
            return None
    return below, by_chance


def copies_note(labeled: Any, groups: Any) -> str:
    """Return a sentence if labelled rows have the same features; empty if few do.

    With ``groups`` nothing is said, because they keep copies together.
    """
    n_rows = labeled.shape[0]
    n_copies = 0 if groups is not None else n_rows - len(set(_keys(labeled)))
    if n_copies == 0 or n_copies < MIN_COPIES_SHARE * n_rows:
        return ""
    return (
        f"{n_copies} of the {n_rows} labelled rows have the same features as another one: if they "
        "are copies, drop them or pass groups, because models that memorise rows are judged too "
        "favourably."
    )


def _key(cell: Any) -> Any:
    """Return a key that equal cells share; counted words and vectors are arrays."""
    return cell.tobytes() if isinstance(cell, np.ndarray) else str(cell)


def _keys(X: Any) -> list[Any]:
    """Return a key for every row that equal rows share."""
    if sparse.issparse(X):
        as_csr: Any = sparse.csr_array
        rows = as_csr(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return [(rows.indices[i:j].tobytes(), rows.data[i:j].tobytes()) for i, j in ends]
    values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if values.dtype.kind not in "biufc":
        return [tuple(map(_key, row)) for row in values]
    return [row.tobytes() for row in np.ascontiguousarray(values + 0.0)]
