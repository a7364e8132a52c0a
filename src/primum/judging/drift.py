"""Whether the labelled rows say anything about others: drift, and copies of rows.

Nothing that is measured on the labelled rows need hold for the unlabelled ones if the two differ.
Two classifiers (logistic regression, a small forest) try to tell them apart, with as many
unlabelled rows as labelled ones. They are fitted to one half of the rows and predict the kind of
the other half, and the other way round. If both kinds come from one distribution, the kinds of a
half are in random order, whatever was learnt from the other half: Fisher's exact test gives the
p-value of its predictions. The four p-values are adjusted by Holm's method. (With more folds the
accuracy varies more than the binomial distribution says, by about a third in simulations.)

A held-out row with a copy in the training set is easy for models that memorise rows, such as
forests, kernels and nearest neighbours, and says nothing about new rows. Equal rows need not be
copies: features with few values are often equal in rows that were observed independently. So equal
rows are reported, and the user decides.
"""

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from primum._sklearn import count_rows, take_rows
from primum._typing import AnyArray, Index
from primum.judging.difference import holm
from primum.reading.data import stack_rows

# More rows of each kind add little but time.
MAX_ROWS = 1000
MIN_ROWS = 10
SIGNIFICANCE = 0.01
# With many rows even a difference that does not matter is significant.
VISIBLE_ACCURACY = 0.55


@dataclass(frozen=True)
class Drift:
    """The result of the test.

    Attributes
    ----------
    accuracy : float
        Share of rows that the better classifier assigns correctly to the labelled or to the
        unlabelled ones; 1/2 is chance.
    p_value : float
        Adjusted for the two classifiers and the two halves.
    n_rows : int
        Number of rows of each kind that were used.
    found : bool
        Whether the two differ significantly and visibly.
    """

    accuracy: float
    p_value: float
    n_rows: int
    found: bool

    @property
    def text(self) -> str:
        """An alert in one sentence; empty if no difference was found."""
        if not self.found:
            return ""
        return (
            "Labelled and unlabelled rows come from visibly different distributions (a "
            f"classifier tells them apart with {100 * self.accuracy:.0f}% accuracy, where 50% is "
            "chance), so what holds for the labelled rows need not hold for the others."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return asdict(self)


def find_drift(
    X_labeled: Any, X_unlabeled: Any, *, prepare: Any = None, random_state: int = 0
) -> Drift | None:
    """Test whether labelled and unlabelled rows differ.

    Parameters
    ----------
    X_labeled, X_unlabeled : array, sparse matrix or DataFrame
        The rows.
    prepare : transformer, default=None
        Turns rows into numbers, fitted inside every fold; None: they are numbers, and are scaled.
    random_state : int, default=0
        Seed of the sample, of the folds and of the forest.

    Returns
    -------
    Drift or None
        None if there are too few rows of one kind: fewer than ten.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.judging.drift import find_drift
    >>> rng = np.random.default_rng(0)
    >>> find_drift(rng.normal(size=(60, 3)), rng.normal(size=(400, 3))).found
    False
    >>> find_drift(rng.normal(size=(60, 3)), rng.normal(size=(400, 3)) + 2).found
    True
    """
    from sklearn.pipeline import make_pipeline

    n_rows = min(count_rows(X_labeled), count_rows(X_unlabeled), MAX_ROWS)
    if n_rows < MIN_ROWS:
        return None
    rng = np.random.default_rng(random_state)
    parts = [
        take_rows(X, np.sort(rng.choice(count_rows(X), n_rows, replace=False)))
        for X in (X_labeled, X_unlabeled)
    ]
    X, kind = stack_rows(parts), np.repeat([0, 1], n_rows)
    if prepare is None:
        prepare = StandardScaler(with_mean=not sparse.issparse(X))
    halves = StratifiedKFold(2, shuffle=True, random_state=random_state)
    tests = [
        [
            _test_half(make_pipeline(clone(prepare), clf), X, kind, *half)
            for half in halves.split(X, kind)
        ]
        for clf in _classifiers(random_state)
    ]
    p_value = float(holm([p for both in tests for _, p in both]).min())
    accuracy = max(float(np.mean([share for share, _ in both])) for both in tests)
    differ = p_value < SIGNIFICANCE and accuracy >= VISIBLE_ACCURACY
    return Drift(accuracy, p_value, n_rows, differ)


def one_of_each(X: Any, groups: AnyArray | None) -> Any:
    """Return the first row of every group; rows beyond the last group are kept.

    Rows of a group are alike: with some of them in either half, even the groups would be learnt.
    """
    if groups is None:
        return X
    first = np.unique(groups, return_index=True)[1]
    further = np.arange(len(groups), count_rows(X))
    return take_rows(X, np.sort(np.concatenate([first, further])))


def _classifiers(random_state: int) -> list[Any]:
    from sklearn.ensemble import RandomForestClassifier

    return [
        LogisticRegression(max_iter=1000),
        RandomForestClassifier(25, min_samples_leaf=3, random_state=random_state),
    ]


def _test_half(clf: Any, X: Any, kind: Index, train: Index, test: Index) -> tuple[float, float]:
    """Return (share of right predictions for the test half, p-value of Fisher's exact test)."""
    with warnings.catch_warnings():
        # A rough classifier is good enough: the test is valid for any.
        warnings.simplefilter("ignore")
        guess = clf.fit(take_rows(X, train), kind[train]).predict(take_rows(X, test))
    truth = kind[test]
    both = int(np.sum((guess == 1) & (truth == 1)))
    p_value = stats.hypergeom.sf(both - 1, len(test), int(truth.sum()), int(guess.sum()))
    return float(np.mean(guess == truth)), float(p_value)


# A smaller share of equal rows changes little.
VISIBLE_SHARE = 0.05


def copies_note(labeled: Any, groups: Any) -> str:
    """Return a sentence if labelled rows have the same features; empty if few do.

    ``groups`` of rows, if any, keep copies together: then nothing is said.
    """
    n_rows = labeled.shape[0]
    n_copies = 0 if groups is not None else n_rows - _n_distinct(labeled)
    if n_copies == 0 or n_copies < VISIBLE_SHARE * n_rows:
        return ""
    return (
        f"{n_copies} of the {n_rows} labelled rows have the same features as another one: if they "
        "are copies, drop them or pass groups, because models that memorise rows are judged too "
        "favourably."
    )


def _key(cell: Any) -> Any:
    """Return what two equal cells have in common; counted words and vectors are arrays."""
    return cell.tobytes() if isinstance(cell, np.ndarray) else str(cell)


def _n_distinct(X: Any) -> int:
    """Return the number of distinct rows."""
    if sparse.issparse(X):
        as_csr: Any = sparse.csr_array
        rows = as_csr(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return len({(rows.indices[i:j].tobytes(), rows.data[i:j].tobytes()) for i, j in ends})
    values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if values.dtype.kind not in "biufc":
        return len({tuple(map(_key, row)) for row in values})
    return len({row.tobytes() for row in np.ascontiguousarray(values + 0.0)})
