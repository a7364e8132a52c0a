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
  regression that a row is unlabelled. It weights all rows equally, as does the log loss that
  chooses its penalty: with both kinds weighted equally, that loss would prefer models that overfit.

A few rows with large weights would decide everything, so weights are clipped at their 95% quantile,
which adds a little bias and removes much variance. The effective sample size (Kish 1965) is

    (sum w)^2 / sum w^2,

the number of rows of equal weights that give a mean of the same variance.

**Weights are refused** where they cannot do this, because the rows do not overlap or the assumption
does not hold. The effective size does not show it: where no labelled row is like the unlabelled
ones, all odds are extreme, and clipped they are all alike. So two classifiers are fitted to one
half of the rows, with the weights, and predict the kind of the other half.

* Covariate shift: the weighted labelled rows should be like the unlabelled ones. The share of the
  unlabelled rows that classifiers tell from the weighted labelled ones (2 accuracy - 1, a lower
  bound on the total variation distance) is what the clipped weights leave unrepresented. Weights
  are refused if it is half or more, or if the effective size is below 20.
* Label shift: p_U is a mixture of the p_L(x | y). Let h(x) be 1 where a row is taken for an
  unlabelled one, m_k its mean over the held-out labelled rows of class k, g(x) the scores of the
  baseline and A_jk their class means. The shares that match the mean score are q = A^-T mean_U g,
  so with r = h - g'A^-1 m, whose mean is 0 in every class, the statistic is

      T = mean_U h - q'm = mean_U r,    variance = s_U^2 / n_U + sum_k q_k^2 s_k^2 / n_k,

  with the variances of r, which allows for the estimated shares; singular values of A below 0.2 are
  left out, because then scores do not tell the shares. Variances include one more row with the
  largest residual. T is the share of the unlabelled rows that no mixture explains. Scores can
  saturate far from the labelled rows, so the classifiers see the rows, and a third one the scores.
  Weights are refused if the p-value of T, adjusted by Holm's method, is below 0.01 for a mean T
  of 0.1 or more. They are also refused if so few rows could not reject the mixture: if a classifier
  that takes no labelled row and half of the unlabelled ones for unlabelled has no such p-value in
  either half. Rows of a group are alike, so it is groups that are counted.
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
# The share of the unlabelled rows that covariate weights may leave unrepresented, and that the test
# of a mixture must be able to find.
MAX_UNREPRESENTED = 0.5
# The share of the unlabelled rows that no mixture of the labelled classes explains and that does
# not matter: an accuracy of 55%, as for drift.
MIN_UNEXPLAINED = 0.1
# Singular values of class means of scores below this do not tell the shares of the classes.
MIN_TELLING_VALUE = 0.2
# The largest residual of a class counts as at least this, because few rows may show none.
MIN_RESIDUAL = 0.3
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
DRIFT_INVERSE_PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


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
            _test_half(prepare, _classifiers(random_state), X, kind, *half)
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
    rows, held_out = _as_numbers(prepare, X, kind, train, test)
    with warnings.catch_warnings():
        # A rough classifier is good enough: the test is valid for any.
        warnings.simplefilter("ignore")
        guesses = [clf.fit(rows, kind[train]).predict(held_out) for clf in classifiers]
    return [_fisher_test(guess, kind[test]) for guess in guesses]


def _as_numbers(prepare: Any, X: Any, kind: Index, train: Index, test: Index) -> tuple[Any, Any]:
    """Return training and held-out rows as numbers, by a transformer fitted to the former."""
    prepare = _prepared(prepare, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = prepare.fit_transform(take_rows(X, train), kind[train])
        return rows, prepare.transform(take_rows(X, test))


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
    refused : str
        Why the weights were not used, in a sentence; then all are 1. Empty if they were.
    """

    kind: str
    weight: Floats
    refused: str = ""

    @property
    def effective_size(self) -> float:
        """The number of equally weighted rows that would be worth as much."""
        return effective_size(self.weight)

    @property
    def text(self) -> str:
        """What was done, and what it assumes, in two sentences; or why nothing was done."""
        if self.refused:
            return self.refused
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
            "refused": self.refused,
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
    return ShiftWeights(COVARIATE, weight / weight.mean())


def no_overlap(
    X_labeled: Any,
    X_unlabeled: Any,
    weight: Floats,
    *,
    prepare: Any = None,
    random_state: int = 0,
) -> str:
    """Return why weighted labelled rows do not represent the unlabelled ones; empty if they do.

    Rows of a group are alike, so pass one of each, with its weight.
    """
    if (size := effective_size(weight)) < MIN_EFFECTIVE_ROWS:
        return (
            f"with these weights the {len(weight)} labelled rows count as {size:.1f} of equal "
            f"weight, fewer than {MIN_EFFECTIVE_ROWS}, so they cannot represent the unlabelled ones"
        )
    halves = _weighted_halves(
        X_labeled, X_unlabeled, weight, None, prepare=prepare, random_state=random_state
    )
    shares = []
    for half in halves:
        weight = half.weight / half.weight.sum()
        shares.append([of_u.mean() - weight @ of_l for of_l, of_u in half.taken])
    unrepresented = float(np.mean(shares, axis=0).max())
    if unrepresented < MAX_UNREPRESENTED:
        return ""
    return (
        "hardly any labelled rows are like the unlabelled ones (even with weights, a classifier "
        f"tells the two apart with {(1 + unrepresented) / 2:.0%} accuracy, where 50% is chance), "
        "so no weights let the labelled rows represent the unlabelled ones"
    )


def no_mixture(
    X_labeled: Any,
    X_unlabeled: Any,
    codes: Index,
    scores: tuple[Floats, Floats],
    shares: Floats,
    *,
    prepare: Any = None,
    random_state: int = 0,
) -> str:
    """Return why no mixture of the labelled classes explains the unlabelled rows, or nothing.

    ``codes`` (n_labeled,) are the classes, ``scores`` the out-of-fold scores of the labelled
    (n_labeled, n_classes) and of the unlabelled rows, ``shares`` (n_classes,) the estimated ones.
    """
    counts = np.bincount(codes, minlength=len(shares))
    weight = (np.maximum(shares, MIN_CLASS_SHARE) / np.maximum(counts, 1))[codes]
    halves = _weighted_halves(
        X_labeled, X_unlabeled, weight, scores, prepare=prepare, random_state=random_state
    )
    tests, attainable = [], []
    for half in halves:
        of_labeled, of_unlabeled = scores[0][half.labeled], scores[1][half.unlabeled]
        attainable.append(smallest_p_value((of_labeled, of_unlabeled), codes[half.labeled], shares))
        tests.append(
            [
                mixture_test(taken, (of_labeled, of_unlabeled), codes[half.labeled], shares)
                for taken in half.taken
            ]
        )
    found = np.array(tests)  # by half and classifier: T, and its p-value
    if min(attainable) * found[..., 1].size >= DRIFT_SIGNIFICANCE:
        return (
            f"{len(codes)} independent labelled rows (one of each group) are too few to show "
            "whether the unlabelled rows are a mixture of the labelled classes, which it assumes"
        )
    p_value, unexplained = float(holm(found[..., 1].ravel()).min()), found[..., 0].mean(axis=0)
    if p_value >= DRIFT_SIGNIFICANCE or unexplained.max() < MIN_UNEXPLAINED:
        return ""
    return (
        "the unlabelled rows are no mixture of the labelled classes (even with the best shares, a "
        f"classifier tells them apart with {(1 + unexplained.max()) / 2:.0%} accuracy, where 50% "
        "is chance), so more than the shares of the classes differs"
    )


def mixture_test(
    taken: tuple[Floats, Floats], scores: tuple[Floats, Floats], codes: Index, shares: Floats
) -> tuple[float, float]:
    """Return (T, p-value) of a mixture of classes, as the module describes it.

    ``taken`` (n_labeled,), (n_unlabeled,) says which held-out rows are taken for unlabelled ones.
    """
    n_classes = len(shares)
    counts = np.bincount(codes, minlength=n_classes)
    one_hot = np.eye(n_classes)[codes] / np.maximum(counts, 1)[codes][:, None]
    means = one_hot.T @ scores[0]
    coef = np.linalg.pinv(means, rcond=MIN_TELLING_VALUE / np.linalg.norm(means, 2)) @ (
        one_hot.T @ taken[0]
    )
    of_labeled, of_unlabeled = (h - g @ coef for h, g in zip(taken, scores, strict=True))
    of_class = one_hot.T @ of_labeled
    parts = [(of_unlabeled, 1.0)]
    parts += [(of_labeled[codes == k], shares[k]) for k in range(n_classes) if counts[k]]
    variances, freedom = [], []
    for values, share in parts:
        n_rows = len(values)
        largest = max(float(np.abs(values - values.mean()).max()), MIN_RESIDUAL)
        variance = values.var() * n_rows / max(n_rows - 1, 1) + largest**2 / n_rows
        variances.append(share**2 * variance / n_rows)
        freedom.append(max(n_rows - 1, 1))
    variance = np.array(variances)
    statistic = float(of_unlabeled.mean() - shares @ of_class)
    degrees = variance.sum() ** 2 / np.sum(variance**2 / np.array(freedom))
    return statistic, float(stats.t.sf(statistic / np.sqrt(variance.sum()), degrees))


def smallest_p_value(scores: tuple[Floats, Floats], codes: Index, shares: Floats) -> float:
    """Return the p-value if no mixture explained half of the rows, and it were seen without error.

    It is 1 if a visible share of the rows is of a class of which no labelled row is held out.
    """
    counts = np.bincount(codes, minlength=len(shares))
    if shares[counts == 0].sum() >= MIN_UNEXPLAINED:
        return 1.0
    n_unlabeled = len(scores[1])
    of_unlabeled = (np.arange(n_unlabeled) < MAX_UNREPRESENTED * n_unlabeled).astype(np.float64)
    return mixture_test((np.zeros(len(codes)), of_unlabeled), scores, codes, shares)[1]


@dataclass(frozen=True)
class WeightedHalf:
    """Held-out rows of one half, and what classifiers fitted to the other half take them for.

    Attributes
    ----------
    labeled, unlabeled : array of int
        Positions of the rows.
    weight : array of shape (n_labeled,)
        Weights of the labelled ones.
    taken : list of (array, array)
        For each classifier, 1.0 where a labelled, or an unlabelled, row is taken for an unlabelled
        one.
    """

    labeled: Index
    unlabeled: Index
    weight: Floats
    taken: list[tuple[Floats, Floats]]


def _weighted_halves(
    X_labeled: Any,
    X_unlabeled: Any,
    weight: Floats,
    scores: tuple[Floats, Floats] | None,
    *,
    prepare: Any,
    random_state: int,
) -> list[WeightedHalf]:
    """Return what classifiers say of each half of the rows, given the other half with weights.

    With scores, a further classifier sees these instead of the rows.
    """
    rng = np.random.default_rng(random_state)
    at_labeled, at_unlabeled = (
        np.sort(rng.choice(size, min(size, MAX_DRIFT_ROWS), replace=False))
        for size in (count_rows(X_labeled), count_rows(X_unlabeled))
    )
    n_labeled, n_unlabeled = len(at_labeled), len(at_unlabeled)
    X = stack_rows([take_rows(X_labeled, at_labeled), take_rows(X_unlabeled, at_unlabeled)])
    kind = np.repeat([0, 1], [n_labeled, n_unlabeled])
    # Both kinds have the same weight in all, so that guessing is right half of the time.
    own = weight[at_labeled]
    row_weight = np.concatenate([own / own.sum(), np.full(n_unlabeled, 1 / n_unlabeled)])
    row_weight *= len(kind) / 2
    halves = []
    for train, test in StratifiedKFold(2, shuffle=True, random_state=random_state).split(X, kind):
        classifiers = _classifiers(random_state)
        views = [_as_numbers(prepare, X, kind, train, test)] * len(classifiers)
        if scores is not None:
            of_rows = np.concatenate([scores[0][at_labeled], scores[1][at_unlabeled]])
            views.append((of_rows[train], of_rows[test]))
            classifiers.append(_classifiers(random_state)[-1])
        is_labeled, taken = kind[test] == 0, []
        for classifier, (known, held_out) in zip(classifiers, views, strict=True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                classifier.fit(known, kind[train], sample_weight=row_weight[train])
                guess = classifier.predict(held_out).astype(np.float64)
            taken.append((guess[is_labeled], guess[~is_labeled]))
        labeled, unlabeled = test[is_labeled], test[~is_labeled] - n_labeled
        halves.append(
            WeightedHalf(at_labeled[labeled], at_unlabeled[unlabeled], own[labeled], taken)
        )
    return halves


def refused_weights(kind: str, n_rows: int, why: str) -> ShiftWeights:
    """Return weights of 1, with the reason for it."""
    text = (
        f"shift={kind!r} is refused: {why}. Errors and intervals here are those of rows "
        "like the labelled ones, and nothing is claimed for the unlabelled ones."
    )
    return ShiftWeights(kind, np.ones(n_rows), text)


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
