"""The shares of the classes among the unlabelled rows, with intervals.

What is estimated is the share theta_k of class k among the N unlabelled rows themselves, not in a
larger population. The models of the folds score the labelled rows that they have not seen, and all
unlabelled rows. f are the scores, and y the one-hot labels of the n labelled rows. A mean of scores
over the unlabelled rows also averages over the folds, weighted by their numbers of labelled rows.

**Labels drawn at random** (prediction-powered inference; Angelopoulos, Duchi & Zrnic 2023). With
the residuals e = y - lambda f,

    theta^ = lambda mean_U f + mean_L e,    theta^ - theta = mean_L e - mean_U e:

the difference of two means of one population that was divided at random, with the variance

    S_e^2 (1/n + 1/N),

whatever the scores are. The variance of f does not enter, because the unlabelled rows are the whole
population of interest. So the weight lambda that makes the interval short is the slope of the
regression of y on f, within [0, 1], the same for all classes so that the shares add up to 1; that
of a fold is estimated on the labelled rows of the others. (With N much larger than n it is the
weight of PPI++.) lambda = 0 is the share of the labelled rows.

**Label shift**: the shares of the classes differ, but rows of a class look the same. Any function g
of the scores then has the same mean A_j in class j on either side, and the shares q solve

    mean_U g = sum_j q_j A_j,    A_j = mean of g over the labelled rows of class j.

This is the confusion matrix of soft predictions. It needs no calibrated scores. The function is the
posterior with the shares of maximum likelihood (EM; Saerens, Latinne & Decaestecker 2002),
g_k ~ f_k q_k / pi_k: if the scores are calibrated, the solution is the maximum likelihood estimate.
With b the k-th row of the inverse of (A_1 ... A_K) and s_j^2 the variance of b'g in class j,

    variance of q^_k at shares q  =  sum_j s_j^2 (q_j^2 / n_j + q_j / N).

**Intervals** contain the shares t that a test does not reject, with the variance *at t*: Wilson's
interval with the design effect S_e^2 / (p (1 - p)), and for label shift that of Fieller. So they do
not shrink to a point near 0 and 1, and a class with few labelled rows adds little variance if it is
rare among the unlabelled ones. Variances include one more row (or group) with the largest residual
(for label shift, fractions of rows with that and with the variance of all classes), because a good
model errs on few labelled rows, by chance. Quantiles are Student's. A percentile bootstrap of the
maximum likelihood estimate, over labelled and unlabelled rows, contained the truth in only 82% of
the draws with ten rows of a class, and takes 100 times as long.

References
----------
Angelopoulos, A. N., Duchi, J. C. & Zrnic, T. (2023). PPI++: efficient prediction-powered inference.
Saerens, M., Latinne, P. & Decaestecker, C. (2002). Adjusting the outputs of a classifier to new a
priori probabilities: a simple procedure. Neural Computation 14.
Lipton, Z., Wang, Y.-X. & Smola, A. (2018). Detecting and correcting for label shift with black box
predictors. ICML.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import optimize, special

from primum._typing import AnyArray, Floats, Index
from primum._words import MAX_ITEMS_LISTED, counted
from primum.judging.difference import LEVEL
from primum.reading.data import effective_size

# The least share of a class in posteriors: with 0, the class would have no score, and one that is
# rare among the unlabelled rows could not be found there.
MIN_LIKELY_SHARE = 0.02
# EM ends when no share changes by more than this, or after this many passes over the scores: both
# far beyond the accuracy of the shares.
EM_TOLERANCE, MAX_EM_PASSES = 1e-6, 500
# Fractions of a row that are added to the variance of a class, because a rare class has few rows:
# one with the variance of all classes, one with the largest residual.
POOLED_ROWS, LARGEST_ROWS = 0.25, 0.5
# The largest residual counts as at least that of a row about which a model is undecided (less
# within a class), because a model that was right on all labelled rows is not always right.
MIN_LARGEST_RESIDUAL, MIN_LARGEST_IN_CLASS = 0.5, 0.3
# If a singular value of the confusion matrix, whose entries are shares, is smaller, scores do not
# tell the classes apart: the shares would be errors divided by almost nothing.
MIN_SINGULAR_VALUE = 1e-3
RANDOM, LABEL, COVARIATE = "none", "label", "covariate"
ASSUMPTIONS = {
    RANDOM: "the labelled rows are a random sample of all rows",
    LABEL: (
        "only the shares of the classes differ between labelled and unlabelled rows: within a "
        "class, their rows look alike"
    ),
    COVARIATE: (
        "rows with the same features have the same distribution of labels, whether these are known "
        "or not, and everything that decided what was labelled is among the features"
    ),
}
METHODS = {
    RANDOM: "prediction-powered",
    LABEL: "label shift, by the confusion matrix",
    COVARIATE: "prediction-powered, with weighted labels",
}


@dataclass(frozen=True)
class ClassShare:
    """The share of one class among the unlabelled rows.

    Attributes
    ----------
    name : class
        The class.
    estimate, low, high : float
        The share, and the ends of its interval.
    labeled : float
        The share among the labelled rows, for comparison.
    """

    name: Any
    estimate: float
    low: float
    high: float
    labeled: float

    @property
    def text(self) -> str:
        """The class in words: "'yes' 31.2% (24.0% to 39.4%)"."""
        return f"{self.name!r} {self.estimate:.1%} ({self.low:.1%} to {self.high:.1%})"

    def count(self, n_rows: int) -> str:
        """Return how many of ``n_rows`` rows that is: "109 (77 to 145)"."""
        about, low, high = (round(n_rows * share) for share in (self.estimate, self.low, self.high))
        return f"{about:,} ({low:,} to {high:,})"


@dataclass(frozen=True)
class EstimatedShares:
    """The shares of the classes among the unlabelled rows.

    Attributes
    ----------
    classes : sequence of ClassShare
        One for every class.
    method : str
        How they are estimated.
    assumption : str
        What has to hold for the intervals, as part of a sentence.
    level : float
        The probability that the interval of one class contains its share.
    n_labeled, n_unlabeled : int
        Number of labelled rows (or groups) that were counted, and of unlabelled rows.
    """

    classes: Sequence[ClassShare]
    method: str
    assumption: str
    level: float
    n_labeled: int
    n_unlabeled: int

    @property
    def estimates(self) -> dict[Any, float]:
        """The estimated shares by class."""
        return {one.name: one.estimate for one in self.classes}

    @property
    def prior(self) -> dict[Any, tuple[float, float]]:
        """The intervals by class, as ``prior`` of ICLS takes them."""
        return {one.name: (one.low, one.high) for one in self.classes}

    @property
    def in_words(self) -> str:
        """The shares, and how many rows they are, in a sentence."""
        parts = [f"{one.text}, about {one.count(self.n_unlabeled)} rows" for one in self.classes]
        rest = len(parts) - MAX_ITEMS_LISTED
        shares = "; ".join(parts[:MAX_ITEMS_LISTED]) + (f"; and {rest} more" if rest > 0 else "")
        return (
            f"Shares of the classes among the {counted(self.n_unlabeled, 'unlabelled row')}, with "
            f"{self.level:.0%} intervals: {shares}."
        )

    def __str__(self) -> str:
        return f"{self.in_words} This assumes that {self.assumption}."

    def to_dict(self) -> dict[str, Any]:
        """Return the shares as plain JSON values."""
        classes = [asdict(one) | {"name": str(one.name)} for one in self.classes]
        return asdict(self) | {"classes": classes}


@dataclass(frozen=True)
class CrossFittedScores:
    """What the models of the folds say of rows that they were not trained on.

    Attributes
    ----------
    codes : array of shape (n_labeled,)
        Classes of the labelled rows.
    scores : array of shape (n_labeled, n_classes)
        Their scores, by the model of the fold that holds them out.
    fold_of : array of shape (n_labeled,)
        The number of that fold.
    unlabeled : array of shape (n_folds, n_scored, n_classes)
        Scores of the unlabelled rows, or of a random sample of them, by all models.
    n_unlabeled : int
        Number of unlabelled rows.
    weight : array of shape (n_labeled,) or None
        Weights of the labelled rows.
    groups : array of shape (n_labeled,) or None
        Rows of a group belong together.
    n_unlabeled_groups : int or None
        Number of groups of the unlabelled rows.
    """

    codes: Index
    scores: Floats
    fold_of: Index
    unlabeled: Floats
    n_unlabeled: int
    weight: Floats | None = None
    groups: AnyArray | None = None
    n_unlabeled_groups: int | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.scores.shape[1])

    @property
    def one_hot(self) -> Floats:
        """The labels, one column per class."""
        return np.eye(self.n_classes)[self.codes]

    @property
    def row_weight(self) -> Floats:
        """The weights of the labelled rows; they add up to 1."""
        weight = np.ones(len(self.codes)) if self.weight is None else self.weight
        return np.asarray(weight / weight.sum())

    @property
    def units(self) -> Index:
        """What is counted: the labelled rows, or their groups, as 0, 1, ..."""
        if self.groups is None:
            return np.arange(len(self.codes))
        return np.asarray(np.unique(self.groups, return_inverse=True)[1])

    @property
    def size(self) -> float:
        """How many labelled units there are; those of unequal weights count as fewer."""
        return effective_size(_sums(self.units, self.row_weight))

    @property
    def n_unlabeled_units(self) -> int:
        """How many unlabelled units there are."""
        return self.n_unlabeled if self.n_unlabeled_groups is None else self.n_unlabeled_groups

    def unlabeled_rows(self, scores: Floats) -> Floats:
        """Return a function of ``unlabeled``, averaged over folds, for every unlabelled row."""
        weight = np.bincount(self.fold_of, self.row_weight, len(scores))
        return np.asarray(np.einsum("v,vmk->mk", weight, scores))


def estimate_shares(
    scored: CrossFittedScores, classes: AnyArray, shift: str = RANDOM, *, level: float = LEVEL
) -> EstimatedShares:
    """Estimate the shares of the classes among the unlabelled rows.

    Parameters
    ----------
    scored : CrossFittedScores
        Labels and scores; with ``shift="covariate"``, with importance weights.
    classes : array of shape (n_classes,)
        Names of the classes.
    shift : {"none", "label", "covariate"}, default="none"
        How labelled and unlabelled rows may differ, which determines the estimator beforehand.
    level : float, default=0.95
        The probability that the interval of a class contains its share.

    Returns
    -------
    EstimatedShares
        The shares.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.judging.shares import CrossFittedScores, estimate_shares
    >>> rng = np.random.default_rng(0)
    >>> y, hidden = rng.random(100) < 0.3, rng.random(2000) < 0.3
    >>> right = lambda y: np.clip(0.2 + 0.6 * y + 0.1 * rng.normal(size=len(y)), 0, 1)
    >>> f, g = right(y), right(hidden)
    >>> scores = np.column_stack([1 - f, f]), np.column_stack([1 - g, g])[None]
    >>> fold_of = np.zeros(100, dtype=int)
    >>> scored = CrossFittedScores(y.astype(int), scores[0], fold_of, scores[1], 2000)
    >>> second = estimate_shares(scored, np.array(["no", "yes"])).classes[1]
    >>> bool(second.low < hidden.mean() < second.high)
    True
    """
    estimator = _label_shift if shift == LABEL else _prediction_powered
    estimates, intervals = estimator(scored, level)
    labeled = np.bincount(scored.codes, minlength=scored.n_classes) / len(scored.codes)
    shares = [
        ClassShare(name, float(share), float(low), float(high), float(own))
        for name, share, (low, high), own in zip(
            classes.tolist(), estimates, intervals, labeled, strict=True
        )
    ]
    n_units = len(np.unique(scored.units))
    return EstimatedShares(
        classes=shares,
        method=METHODS[shift],
        assumption=ASSUMPTIONS[shift],
        level=level,
        n_labeled=n_units,
        n_unlabeled=scored.n_unlabeled,
    )


def without_known(
    shares: EstimatedShares, counts: Index, n_unlabeled: int, n_others: int
) -> EstimatedShares:
    """Return the shares among the unlabelled rows, without the rows whose labels were chosen.

    Parameters
    ----------
    shares : EstimatedShares
        Shares among the ``n_others`` rows other than those labelled at random.
    counts : array of shape (n_classes,)
        Number of chosen labels among these rows, by class; they are known, not estimated.
    n_unlabeled : int
        Number of these rows without a label.
    n_others : int
        Number of unlabelled rows and of rows with chosen labels.

    Returns
    -------
    EstimatedShares
        Shares among the rows without a label.
    """
    ends = np.array([[one.estimate, one.low, one.high] for one in shares.classes])
    left = np.clip((ends * n_others - counts[:, None]) / n_unlabeled, 0.0, 1.0)
    left[:, 0] /= left[:, 0].sum()
    classes = [
        ClassShare(one.name, own[0], min(own[0], own[1]), max(own[0], own[2]), one.labeled)
        for one, own in zip(shares.classes, left.tolist(), strict=True)
    ]
    unchanged = (shares.method, shares.assumption, shares.level, shares.n_labeled)
    return EstimatedShares(classes, *unchanged, n_unlabeled)


def maximum_likelihood_shares(unlabeled: Floats, labeled: Floats) -> Floats:
    """Return the shares of maximum likelihood by EM.

    Parameters
    ----------
    unlabeled : array of shape (..., n_classes)
        Probabilities of the classes, by models of rows with the shares ``labeled``.
    labeled : array of shape (n_classes,)
        Shares of the classes among the labelled rows, all above 0.

    Returns
    -------
    array of shape (n_classes,)
        The shares of the unlabelled rows.
    """
    ratios, shares = unlabeled.reshape(-1, len(labeled)) / labeled, labeled
    for _ in range(MAX_EM_PASSES):
        before, posterior = shares, ratios * shares
        shares = np.mean(posterior / posterior.sum(axis=1, keepdims=True), axis=0)
        if np.abs(shares - before).max() < EM_TOLERANCE:
            break
    return np.asarray(shares)


def _prediction_powered(scored: CrossFittedScores, level: float) -> tuple[Floats, Floats]:
    """Return the shares and their intervals (K, 2) for labels drawn at random, or weighted so."""
    y, weight, slopes = scored.one_hot, scored.row_weight, _slopes(scored)
    of_rows = scored.unlabeled_rows(slopes[:, None, None] * scored.unlabeled)
    residual = y - slopes[scored.fold_of, None] * scored.scores
    shares = of_rows.mean(axis=0) + weight @ residual
    size, n_units = scored.size, scored.n_unlabeled_units
    variance = _variance_of_mean(residual, scored) * (1 + size / n_units)
    missed = 1 / len(of_rows) - 1 / scored.n_unlabeled
    variance = variance + of_rows.var(axis=0) * max(missed, 0.0)
    p = (size * (weight @ y) + 1) / (size + 2)
    effect = variance / (p * (1 - p))
    if scored.groups is None:
        # Not more than with the labels alone, that is with the weight 0; yet more for a class whose
        # scores vary by themselves, because all classes have one weight.
        labels_alone = weight @ (residual - weight @ residual) ** 2 / (p * (1 - p))
        effect = np.minimum(effect, np.maximum(labels_alone, 1.0) * (1 / size + 1 / n_units))
    quantile = special.stdtrit(max(size - 1, 1), (1 + level) / 2)
    shares = _on_simplex(shares)
    factors = quantile**2 * effect
    return shares, np.array([_wilson(*one) for one in zip(shares, factors, strict=True)])


def _slopes(scored: CrossFittedScores) -> Floats:
    """Return the weight of the scores of every fold, from the labelled rows of the others.

    If it depended on the rows of the fold, the estimate would be biased: a sample with many rows of
    a rare class has both higher scores and a steeper slope.
    """
    n_folds = len(scored.unlabeled)
    if n_folds == 1:
        return np.array([_slope(scored, np.arange(len(scored.codes)))])
    others = [np.flatnonzero(scored.fold_of != number) for number in range(n_folds)]
    return np.array([_slope(scored, rows) for rows in others])


def _slope(scored: CrossFittedScores, rows: Index) -> float:
    """Return the slope of the regression of labels on scores in some rows, within [0, 1]."""
    weight = scored.row_weight[rows] / scored.row_weight[rows].sum()
    y, f = scored.one_hot[rows], scored.scores[rows]
    y, f = y - weight @ y, f - weight @ f
    spread = float(np.sum(weight @ f**2))
    if spread < np.finfo(float).eps:
        return 0.0
    return float(np.clip(np.sum(weight @ (y * f)) / spread, 0.0, 1.0))


def _variance_of_mean(values: Floats, scored: CrossFittedScores) -> Floats:
    """Return the variance of the weighted mean of each column, over units, with one more unit."""
    weight, units = scored.row_weight, scored.units
    centred = weight[:, None] * (values - weight @ values)
    parts = np.zeros((units.max() + 1, values.shape[1]))
    np.add.at(parts, units, centred)
    correction = len(parts) / max(len(parts) - 1, 1)
    largest = np.maximum(np.abs(parts).max(axis=0), MIN_LARGEST_RESIDUAL / len(parts))
    return np.asarray(correction * np.sum(parts**2, axis=0) + largest**2)


def _wilson(share: float, factor: float) -> tuple[float, float]:
    """Return the shares t with (share - t)^2 <= factor t (1 - t)."""
    middle, root = share + factor / 2, np.sqrt(factor * share * (1 - share) + factor**2 / 4)
    return max((middle - root) / (1 + factor), 0.0), min((middle + root) / (1 + factor), 1.0)


def _on_simplex(shares: Floats) -> Floats:
    """Return shares of at least 0 that add up to 1."""
    shares = np.maximum(shares, 0.0)
    return np.asarray(shares / shares.sum())


def _label_shift(scored: CrossFittedScores, level: float) -> tuple[Floats, Floats]:
    """Return the shares and their intervals (K, 2) if only the shares of the classes differ."""
    weight = scored.row_weight
    labeled = weight @ scored.one_hot
    likely = maximum_likelihood_shares(scored.unlabeled, labeled)
    ratio = np.maximum(likely, MIN_LIKELY_SHARE) / labeled

    def posterior(scores: Floats) -> Floats:
        likely = scores * ratio
        return np.asarray(likely / likely.sum(axis=-1, keepdims=True))

    posteriors = posterior(scored.scores)
    means = (weight[:, None] * scored.one_hot).T @ posteriors / labeled[:, None]
    if np.linalg.svd(means, compute_uv=False)[-1] < MIN_SINGULAR_VALUE:
        return _on_simplex(likely), np.array([[0.0, 1.0]] * scored.n_classes)
    inverse = np.linalg.inv(means.T)
    of_unlabeled = scored.unlabeled_rows(posterior(scored.unlabeled))
    solution = inverse @ of_unlabeled.mean(axis=0)
    shares = _on_simplex(solution)
    residual = (posteriors - means[scored.codes]) @ inverse.T
    spread = (of_unlabeled @ inverse.T).var(axis=0)
    missed = spread * max(1 / len(of_unlabeled) - 1 / scored.n_unlabeled, 0.0)
    intervals = []
    for k in range(scored.n_classes):
        variance_at = _variance_at(residual[:, k], k, scored, shares, missed[k])
        low, high = _not_rejected(solution[k], variance_at, level)
        intervals.append((min(low, shares[k]), max(high, shares[k])))
    return shares, np.array(intervals)


def _variance_at(
    residual: Floats, k: int, scored: CrossFittedScores, shares: Floats, missed: float
) -> Callable[[float], tuple[float, float]]:
    """Return a function from the share of class k to (variance of its estimate, its freedom).

    The other classes keep their proportions.
    """
    sizes, sums, most = _within_classes(residual, scored)
    n_classes = len(sizes)
    pooled = sums.sum() / max(sizes.sum() - n_classes, 1)
    freedom = np.append(sizes, sizes.sum() - n_classes + 1) - 1 + POOLED_ROWS
    variances = (sums + POOLED_ROWS * pooled) / freedom[:-1] + LARGEST_ROWS * most**2 / sizes
    # Shares of 0 have no proportions.
    others = np.delete(np.maximum(shares, 1e-6), k)

    def variance_at(share: float) -> tuple[float, float]:
        q = np.insert(others / others.sum() * (1 - share), k, share)
        of_unlabeled = q @ variances / scored.n_unlabeled_units + missed
        parts = np.append(q**2 * variances / sizes, of_unlabeled)
        return float(parts.sum()), float(parts.sum() ** 2 / np.sum(parts**2 / freedom))

    return variance_at


def _sums(units: Index, weight: Floats) -> Floats:
    """Return the weight of every unit."""
    return np.bincount(units, weight).astype(np.float64)


def _within_classes(residual: Floats, scored: CrossFittedScores) -> tuple[Floats, Floats, Floats]:
    """Return the number of units, sum of squared residuals and largest residual of each class.

    Residuals of units are scaled, so that their mean varies as the weighted mean over rows does.
    """
    sizes, sums, most = [], [], []
    for code in range(scored.n_classes):
        of_class = np.flatnonzero(scored.codes == code)
        weight = scored.row_weight[of_class] / scored.row_weight[of_class].sum()
        units = np.unique(scored.units[of_class], return_inverse=True)[1]
        size = effective_size(_sums(units, weight))
        values = size * np.bincount(units, weight * residual[of_class])
        sizes.append(size)
        sums.append(np.sum(values**2))
        most.append(max(np.max(np.abs(values)), MIN_LARGEST_IN_CLASS))
    return np.array(sizes), np.array(sums), np.array(most)


def _not_rejected(
    solution: float, variance_at: Callable[[float], tuple[float, float]], level: float
) -> tuple[float, float]:
    """Return the lowest and highest share in [0, 1] that a t-test does not reject."""

    def excess(share: float) -> float:
        variance, freedom = variance_at(share)
        quantile = special.stdtrit(max(freedom, 1.0), (1 + level) / 2)
        return float((solution - share) ** 2 - quantile**2 * variance)

    inside = min(max(solution, 0.0), 1.0)
    if excess(inside) >= 0:  # even the nearest possible share is rejected
        return inside, inside
    low = 0.0 if excess(0.0) <= 0 else optimize.brentq(excess, 0.0, inside)
    high = 1.0 if excess(1.0) <= 0 else optimize.brentq(excess, inside, 1.0)
    return float(low), float(high)
