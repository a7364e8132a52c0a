"""How labelled and unlabelled rows differ: a test of drift, and weights.

If labelled and unlabelled rows differ, what is measured on the former need not hold for the latter.

**Drift.** Two classifiers (logistic regression, a small forest) try to tell them apart, with as
many unlabelled rows as labelled ones. They are fitted to one half of the rows and predict the kind
of the other half, and vice versa. If both kinds come from one distribution, the kinds within a half
are in random order, whatever was learnt from the other half, so that Fisher's exact test gives the
p-value of the predictions. The four p-values are adjusted by Holm's method. (With more folds the
accuracy varies more than the binomial distribution says, by about a third in simulations.)

**Weights** let labelled rows that are not a random sample represent the unlabelled ones. A loss on
the unlabelled rows is a mean over p_U(x, y), and the labelled rows come from p_L(x, y):

    E_U loss = E_L [w loss],    w = p_U(x, y) / p_L(x, y).

The ratio is known only under an assumption, which the user makes.

* Label shift, p_U(x | y) = p_L(x | y): w = q_y / pi_y, the share of the row's class among the
  unlabelled rows (``shares``) over that among the labelled ones.
* Covariate shift, p_U(y | x) = p_L(y | x): w = p_U(x) / p_L(x), the out-of-fold odds of a logistic
  regression that a row is unlabelled, with both kinds weighted equally.

A few rows with large weights would decide everything, so weights are clipped at their 95% quantile,
which adds a little bias and removes much variance. The effective sample size (Kish 1965) is

    (sum w)^2 / sum w^2,

the number of rows of equal weights that give a mean of the same variance. If it is below 20, the
labelled rows cannot represent the unlabelled ones, and covariate weights raise an error.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from primum._sklearn import count_rows, logistic_regression_cv, take_rows
from primum._typing import AnyArray, Floats, Index, PlainRecord
from primum.judging.difference import holm
from primum.judging.shares import ASSUMPTIONS, COVARIATE, LABEL, EstimatedShares
from primum.reading.data import effective_size, stack_rows

# Rows of each kind in the test of drift: more would mostly cost time, and fewer find nothing.
MAX_DRIFT_ROWS, MIN_DRIFT_ROWS = 1000, 10
# Drift is claimed below this p-value: a false alarm in a hundred comparisons.
DRIFT_SIGNIFICANCE = 0.01

# It also needs this accuracy (guessing reaches 0.5): with many rows even a negligible difference
# is significant.
MIN_DRIFT_ACCURACY = 0.55
# Quantile at which weights are clipped: the few largest, which are the least certain, would
# otherwise decide alone.
CLIPPED_AT = 0.95
# The least effective sample size of covariate weights, in labelled rows: with fewer, hardly any
# difference between models could be told from chance.
MIN_EFFECTIVE_ROWS = 20
# The least share of a class in label weights: with the weight 0 its rows would not count at all,
# and estimates of shares below this are mostly chance.
MIN_CLASS_SHARE = 0.005
# More unlabelled rows, relative to the labelled ones or in all, cost time and add little, because
# the labelled rows limit the accuracy of the odds.
MAX_TIMES_LABELED, MAX_UNLABELED_ROWS = 20, 5000
# Folds for the out-of-fold odds, as many as the default cv has, and folds inside them that choose
# the penalty, fewer because they are fitted in each of the former.
DRIFT_FOLDS, DRIFT_INNER_FOLDS = 5, 3
# Inverse penalties C of the logistic regression: from hardly using the features to using them all.
DRIFT_INVERSE_PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True)
class Drift(PlainRecord):
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
            "chance), so what holds for the labelled rows need not hold for the unlabelled ones."
        )


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
        None with fewer than ten rows of one kind.

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
    n_rows = min(count_rows(X_labeled), count_rows(X_unlabeled), MAX_DRIFT_ROWS)
    if n_rows < MIN_DRIFT_ROWS:
        return None
    rng = np.random.default_rng(random_state)
    parts = [
        take_rows(X, np.sort(rng.choice(count_rows(X), n_rows, replace=False)))
        for X in (X_labeled, X_unlabeled)
    ]
    X, kind = stack_rows(parts), np.repeat([0, 1], n_rows)
    halves = StratifiedKFold(2, shuffle=True, random_state=random_state)
    tests = np.array(
        [
            _test_half(_prepared(prepare, X), _classifiers(random_state), X, kind, *half)
            for half in halves.split(X, kind)
        ]
    )  # by half and classifier: the share of right predictions, and the p-value
    p_value = float(holm(tests[..., 1].ravel()).min())
    accuracy = float(tests[..., 0].mean(axis=0).max())
    differ = p_value < DRIFT_SIGNIFICANCE and accuracy >= MIN_DRIFT_ACCURACY
    return Drift(accuracy, p_value, n_rows, differ)


def one_of_each(X: Any, groups: AnyArray | None) -> Any:
    """Return the first row of every group; rows beyond the last group are kept.

    Rows of a group are alike: if both halves had some of them, the classifiers would learn groups.
    """
    if groups is None:
        return X
    first = np.unique(groups, return_index=True)[1]
    further = np.arange(len(groups), count_rows(X))
    return take_rows(X, np.sort(np.concatenate([first, further])))


def _prepared(prepare: Any, X: Any, *steps: Any) -> Any:
    """Return a pipeline of the transformer and further steps; without one, rows are scaled."""
    from sklearn.pipeline import make_pipeline

    scaled = StandardScaler(with_mean=not sparse.issparse(X))
    return make_pipeline(scaled if prepare is None else clone(prepare), *steps)


def _classifiers(random_state: int) -> list[Any]:
    from sklearn.ensemble import RandomForestClassifier

    return [
        LogisticRegression(max_iter=1000),
        # A small forest finds what is not linear, if it is large enough to matter.
        RandomForestClassifier(25, min_samples_leaf=3, random_state=random_state),
    ]


def _test_half(
    prepare: Any, classifiers: Sequence[Any], X: Any, kind: Index, train: Index, test: Index
) -> list[tuple[float, float]]:
    """Return, for each classifier, its share of right predictions on the test half, and p."""
    with warnings.catch_warnings():
        # A rough classifier is good enough: the test is valid for any.
        warnings.simplefilter("ignore")
        rows = prepare.fit_transform(take_rows(X, train), kind[train])
        held_out = prepare.transform(take_rows(X, test))
        guesses = [clf.fit(rows, kind[train]).predict(held_out) for clf in classifiers]
    return [_fisher_test(guess, kind[test]) for guess in guesses]


def _fisher_test(guess: Index, truth: Index) -> tuple[float, float]:
    """Return (share of right predictions, p-value of Fisher's exact test)."""
    both = int(np.sum((guess == 1) & (truth == 1)))
    p_value = stats.hypergeom.sf(both - 1, len(truth), int(truth.sum()), int(guess.sum()))
    return float(np.mean(guess == truth)), float(p_value)


def options_in_words(*, numeric: bool = False) -> str:
    """Return the remedies if labelled and unlabelled rows differ, each with its assumption.

    Parameters
    ----------
    numeric : bool, default=False
        Whether targets are numeric, so that there are no class shares.

    Returns
    -------
    str
        One sentence for each option.
    """
    if numeric:
        return (
            "You can allow for this with shift='covariate' (--shift covariate), if "
            f"{ASSUMPTIONS[COVARIATE]}."
        )
    return (
        f"Two ways to allow for this, if you accept the assumption: shift='label' (--shift "
        f"label), if {ASSUMPTIONS[LABEL]}; shift='covariate' (--shift covariate), if "
        f"{ASSUMPTIONS[COVARIATE]}."
    )


@dataclass(frozen=True)
class ShiftWeights:
    """The weights of labelled rows that are not a random sample.

    Attributes
    ----------
    kind : {"label", "covariate"}
        What is assumed.
    weight : array of shape (n_labeled,)
        Weights of the labelled rows, 1 on average.
    """

    kind: str
    weight: Floats

    @property
    def effective_size(self) -> float:
        """The number of equally weighted rows that would be worth as much."""
        return effective_size(self.weight)

    @property
    def text(self) -> str:
        """What was done, and what it assumes, in two sentences."""
        clipped = f", clipped at their {CLIPPED_AT:.0%} quantile" if self.kind == COVARIATE else ""
        return (
            f"Losses are weighted to estimate those on the unlabelled rows (shift={self.kind!r}), "
            f"and so are the labels that models learn from. This assumes that "
            f"{ASSUMPTIONS[self.kind]}. With these weights{clipped}, the {len(self.weight):,} "
            f"labelled rows are worth {self.effective_size:.0f} of equal weight."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what was done as plain JSON values."""
        return {
            "kind": self.kind,
            "assumption": ASSUMPTIONS[self.kind],
            "effective_size": self.effective_size,
            "n_labeled": len(self.weight),
            "text": self.text,
        }


def label_weights(codes: Index, shares: EstimatedShares) -> ShiftWeights:
    """Return weights that give labelled rows the class shares of the unlabelled ones.

    Parameters
    ----------
    codes : array of shape (n_labeled,)
        Classes of the labelled rows.
    shares : EstimatedShares
        Class shares of the unlabelled rows.

    Returns
    -------
    ShiftWeights
        One for every labelled row.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.judging.shares import ClassShare, EstimatedShares
    >>> from primum.judging.drift import label_weights
    >>> classes = [ClassShare("a", 0.8, 0.7, 0.9, 0.5), ClassShare("b", 0.2, 0.1, 0.3, 0.5)]
    >>> shares = EstimatedShares(classes, "", "", 0.95, 4, 100)
    >>> label_weights(np.array([0, 0, 1, 1]), shares).weight.round(1).tolist()
    [1.6, 1.6, 0.4, 0.4]
    """
    wanted = np.maximum([one.estimate for one in shares.classes], MIN_CLASS_SHARE)
    counts = np.bincount(codes, minlength=len(wanted))
    weight = (wanted / np.maximum(counts, 1))[codes]
    return ShiftWeights(LABEL, weight / weight.mean())


def covariate_weights(
    X_labeled: Any,
    X_unlabeled: Any,
    *,
    prepare: Any = None,
    groups: AnyArray | None = None,
    random_state: int = 0,
) -> ShiftWeights:
    """Return weights that give labelled rows the distribution of features of the unlabelled ones.

    Parameters
    ----------
    X_labeled, X_unlabeled : array, sparse matrix or DataFrame
        The rows.
    prepare : transformer, default=None
        Turns rows into numbers, fitted inside every fold; None: they are numbers, and are scaled.
    groups : array of shape (n_labeled,), default=None
        Labelled rows of one group are held out together.
    random_state : int, default=0
        Seed of the sample and of the folds.

    Returns
    -------
    ShiftWeights
        One for every labelled row.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.judging.drift import covariate_weights
    >>> rng = np.random.default_rng(0)
    >>> labeled, unlabeled = rng.normal(size=(200, 1)), rng.normal(size=(1000, 1)) + 0.5
    >>> found = covariate_weights(labeled, unlabeled)
    >>> bool(abs(np.average(labeled[:, 0], weights=found.weight) - 0.5) < 0.2)
    True
    """
    odds = _odds_of_unlabeled(X_labeled, X_unlabeled, prepare, groups, random_state)
    weight = np.minimum(odds, np.quantile(odds, CLIPPED_AT))
    weights = ShiftWeights(COVARIATE, weight / weight.mean())
    if weights.effective_size < MIN_EFFECTIVE_ROWS:
        raise ValueError(
            f"With shift='covariate' the {len(odds)} labelled rows are worth "
            f"{weights.effective_size:.1f}, fewer than {MIN_EFFECTIVE_ROWS}: they are too few, or "
            "too unlike the unlabelled rows, to represent them, so label more rows, drawn at "
            "random, or leave shift out."
        )
    return weights


def _odds_of_unlabeled(
    X_labeled: Any, X_unlabeled: Any, prepare: Any, groups: AnyArray | None, seed: int
) -> Floats:
    """Return, for each labelled row, the out-of-fold odds that it is unlabelled."""
    n_labeled, rng = count_rows(X_labeled), np.random.default_rng(seed)
    most = min(count_rows(X_unlabeled), MAX_TIMES_LABELED * n_labeled, MAX_UNLABELED_ROWS)
    if min(n_labeled, most) < MIN_EFFECTIVE_ROWS:
        raise ValueError(
            f"shift='covariate' needs at least {MIN_EFFECTIVE_ROWS} labelled and as many "
            f"unlabelled rows, and there are {n_labeled} and {count_rows(X_unlabeled)}: leave it "
            "out."
        )
    sampled = np.sort(rng.choice(count_rows(X_unlabeled), most, replace=False))
    X = stack_rows([X_labeled, take_rows(X_unlabeled, sampled)])
    kind = np.repeat([0, 1], [n_labeled, most])
    logistic = logistic_regression_cv(
        Cs=list(DRIFT_INVERSE_PENALTIES),
        cv=DRIFT_INNER_FOLDS,
        scoring="neg_log_loss",
        class_weight="balanced",
        max_iter=1000,
    )
    splitter: Any = StratifiedKFold(DRIFT_FOLDS, shuffle=True, random_state=seed)
    of_row = None
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        of_row = np.concatenate([codes, codes.max() + 1 + np.arange(most)])
        splitter = StratifiedGroupKFold(DRIFT_FOLDS, shuffle=True, random_state=seed)
    odds = np.empty(n_labeled)
    for train, test in splitter.split(np.zeros(len(kind)), kind, of_row):
        labeled = test[test < n_labeled]
        model = _prepared(prepare, X, logistic).fit(take_rows(X, train), kind[train])
        shares = model.predict_proba(take_rows(X, labeled)) if len(labeled) else np.empty((0, 2))
        odds[labeled] = shares[:, 1] / np.maximum(shares[:, 0], np.finfo(float).tiny)
    return odds
