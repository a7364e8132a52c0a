"""What may be claimed from held-out rows: a difference of two losses, and the loss of one model.

**The difference of two losses**

An estimate delta^ of the difference (method minus baseline: below 0 the method helps), with its
standard error se and f degrees of freedom (``held_out`` computes them), has the posterior (Corani
& Benavoli 2015, with a prior that is not flat)

    p(delta) ~ t_f((delta^ - delta) / se) x Cauchy(delta; 0, scale).

A flat prior would claim too much, because unlabelled rows mostly change little. The prior has much
of its mass near 0 and the tails of a Cauchy distribution, so that clear evidence is hardly shrunk.
Its scale is three times the region of practical equivalence: one point of error, or, of numbers,
2% of the loss of the baseline.

A difference in error is judged by the rows on which the two models disagree instead, for only there
can they differ in error:

    delta = -d r,    d = share of rows on which they disagree,
                     r = P(method right | disagree) - P(baseline right | disagree).

The share d needs no labels: it is that of the unlabelled rows, for the fitted models of a
SafeClassifier, and for the mean over the models of the folds in a comparison that has no others.
Which one is right where they disagree needs labels: of the held-out labelled rows on which the two
disagree, the method is right in T, the baseline in F and neither in N (never with two classes),
each labelled row counted once however often it is held out. With Jeffreys' priors,

    d ~ Beta(n_different + 1/2, n_same + 1/2),
    shares of (T, F, N) ~ Dirichlet(T / k + 1/2, F / k + 1/2, N / k + 1/2).

The prior of d is the same however many rows differ: two models that agree on all of n rows need not
agree on others, and fewer than about 140 rows do not show that they do. The prior of r is symmetric
about 0, so that few labels claim nothing. k is a design effect: the counts come from models that
were trained on overlapping sets, and the deployed model is one more. Those models also had fewer
labels than the deployed ones, a share q of them, a gain may grow or shrink with the number of
labels, and models may disagree more on rows that were not there when they were fitted: the change
is multiplied by a factor that is uniform in [q, 1/q], at most 2. Probabilities do not enter,
because a gain in calibration is not a gain in error.

**The loss of one model that was chosen among several**

Every labelled row is held out in one split, or in one split of every repeat, and predicted by a
model that was fitted to the others. The mean loss of these predictions estimates the loss, on new
rows, of the model that is fitted to all labelled rows. Four things make it uncertain.

* There are n labelled rows, whatever the number of repeats: repeats average over training sets, not
  over rows. If rows belong together, a group of equal rows counts once: n is divided by the design
  effect, the variance of the mean that the sums of the groups' residuals show, relative to that of
  independent rows.
* The models were fitted to n_train < n rows each, and these sets overlap. With many repeats, the
  corrected variance of Nadeau and Bengio (see ``held_out``) is that of n_train rows; with few
  repeats it is larger, and for a loss, unlike for a difference of losses, too large. So n_train / n
  of the rows are counted.
* Few errors, or none, are not certainty. A rate p of N counted rows has the interval between
  quantiles of the distribution Beta(p N + 1/2, (1 - p) N + 1/2) (Jeffreys). A balanced error is the
  mean of the rates of K classes; with p_c of n_c rows, half an error and half a success added,

      N = p (1 - p) / sum_c p_c (1 - p_c) / (K^2 n_c).

  Losses that are not rates have the interval of Student's t.
* The model was chosen among m because its loss is low, so that its loss is rather too low. The
  upper end is one of m bounds that all hold together with the probability 1 - tail, whatever the
  rule of the choice. The losses of two methods in the same rows are correlated; with the
  eigenvalues of their correlations, the m methods count as (Galwey 2009)

      m' = (sum_j sqrt(lambda_j))^2 / sum_j lambda_j    (1 if all are equal, m if uncorrelated),

  and each bound has the tail 1 - (1 - tail)^(1 / m') (Sidak). The lower end needs no such
  correction, since the choice is for a low loss.

``benchmarks/model_error.py`` measures how often the intervals contain the truth.

References
----------
Corani, G. & Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms on
multiple data sets. Machine Learning 100.
Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52.
Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Interval estimation for a binomial proportion.
Statistical Science 16.
Korn, E. L. & Graubard, B. I. (1998). Confidence intervals for proportions with small expected
number of positive counts estimated from survey data. Survey Methodology 24.
Galwey, N. W. (2009). A new measure of the effective number of tests. Genetic Epidemiology 33.
"""

from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from scipy import special, stats
from scipy.stats import qmc

from primum._typing import AnyArray, Floats, Index

# One point of error: a smaller difference is of no practical importance.
PRACTICAL_EQUIVALENCE = 0.01
# Numbers have no natural unit: a difference of at most this share of the loss of the baseline is of
# no practical importance.
EQUIVALENT_SHARE = 0.02
# And so have costs: one point of an error of 20% is as large a share of it.
EQUIVALENT_COST = 0.05
# What is claimed has at least this probability.
LEVEL = 0.95
# Scale of the prior, in regions of practical equivalence.
SCALE_IN_EQUIVALENCES = 3
# Differences at which the posterior of a loss is computed, for each of its two factors.
GRID_POINTS = 2001
# Beyond this many times the present number of labels, no forecast is made.
LARGEST_FORECAST = 100
# Variance of the counts relative to that of independent rows: the mean square of
# (estimated r - true r) / (its standard error for independent rows) in the first 192 comparisons of
# ``benchmarks/known_truth.py``. (The correction of Nadeau & Bengio is 1.75 in twice five folds.)
DESIGN_EFFECT = 1.2
# Jeffreys' prior of a share adds half a row to either side.
PRIOR_COUNT = 0.5
# A gain is not taken to be more than this many times that of the folds.
MOST_GROWTH = 2.0
# The integral over d, the shares and the factor is a mean over this many points.
N_POINTS = 2048


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of the three possible answers; they add up to 1.

    Attributes
    ----------
    help : float
        That the loss is lower than the baseline's by more than the region of practical equivalence.
    no_difference : float
        That the two differ by no more than that.
    harm : float
        That the loss is higher by more than that.
    """

    help: float
    no_difference: float
    harm: float

    def to_dict(self) -> dict[str, float]:
        """Return the three probabilities by name."""
        return asdict(self)


@dataclass(frozen=True)
class Difference:
    """An estimated difference of two mean losses, method minus baseline.

    Attributes
    ----------
    mean : float
        The observed difference of the mean losses; below 0 the method is better.
    standard_error : float
        Its corrected standard error.
    degrees_of_freedom : float
        Of the estimate of the standard error.
    n_rows : int
        Number of labelled rows, or groups, it is based on.
    """

    mean: float
    standard_error: float
    degrees_of_freedom: float
    n_rows: int

    def __post_init__(self) -> None:
        values = (self.mean, self.standard_error, self.degrees_of_freedom)
        if not np.isfinite(values).all():
            raise ValueError(
                f"A difference of losses must be finite, got the mean {self.mean} with the "
                f"standard error {self.standard_error}: leave out the model whose scores are "
                "not finite, or use fewer folds if the scoring is undefined in some of them."
            )

    @property
    def t(self) -> float:
        """The corrected resampled t statistic."""
        return self.mean / self.standard_error

    @property
    def p_value(self) -> float:
        """The two-sided p-value of no difference."""
        return float(2 * stats.t.sf(abs(self.t), self.degrees_of_freedom))

    @property
    def p_better(self) -> float:
        """The one-sided p-value of the method not being better than the baseline."""
        return float(stats.t.cdf(self.t, self.degrees_of_freedom))

    def with_rows(self, n_rows: int) -> Self:
        """Return the same difference as if it had been estimated from n_rows labelled rows."""
        error = self.standard_error * np.sqrt(self.n_rows / n_rows)
        return replace(self, standard_error=error, n_rows=int(n_rows))


@dataclass(frozen=True)
class Disagreement:
    """How often two models predict different classes, and which one is right there.

    Attributes
    ----------
    better, worse, neither : float
        Number of labelled rows (or groups, if rows belong together) on which the held-out
        predictions differ and the method is right, the baseline is, or none of them.
    n_different, n_compared : float
        Number of rows on which the fitted models differ, and of all rows compared.
    train_share : float
        Share of the labels that the models of the folds were trained on.
    n_classes : int
        Number of classes.
    """

    better: float
    worse: float
    neither: float
    n_different: float
    n_compared: float
    train_share: float
    n_classes: int

    @property
    def share(self) -> float:
        """The share of rows on which the two models differ."""
        return self.n_different / self.n_compared

    def scaled(self, factor: float) -> Self:
        """Return the same disagreement as if there were so many times as many labels."""
        counts = (self.better, self.worse, self.neither)
        better, worse, neither = (factor * count for count in counts)
        return replace(self, better=better, worse=worse, neither=neither)

    @property
    def changes(self) -> Floats:
        """Equally probable changes of the error, in increasing order."""
        u = _points()
        d = special.betaincinv(
            self.n_different + PRIOR_COUNT,
            self.n_compared - self.n_different + PRIOR_COUNT,
            u[:, 0],
        )
        better, worse, neither = (
            count / DESIGN_EFFECT + PRIOR_COUNT for count in (self.better, self.worse, self.neither)
        )
        r = 2 * special.betaincinv(better, worse, u[:, 1]) - 1
        if self.n_classes > 2:
            r *= special.betaincinv(better + worse, neither, u[:, 2])
        q = self.train_share
        factor = q + (min(1 / q, MOST_GROWTH) - q) * u[:, 3]
        return np.sort(-np.minimum(d * factor, 1.0) * r)


@cache
def _points() -> Floats:
    """Return points that fill the unit cube of four dimensions evenly; the same every time."""
    return np.asarray(qmc.Sobol(4, seed=0).random(N_POINTS))


class Posterior:
    """The posterior distribution of a difference, as the module describes it.

    Parameters
    ----------
    difference : Difference
        The estimate.
    disagreement : Disagreement, optional
        Where the two models disagree, if errors are compared.
    equivalence : float, default=0.01
        Region of practical equivalence: differences up to this size count as none.
    baseline_loss : float, optional
        The loss of the baseline, if ``equivalence`` is a share of it. Then the attribute ``share``
        is that share, and ``equivalence`` is their product.

    Examples
    --------
    >>> from primum.judging.difference import Difference, Disagreement, Posterior
    >>> posterior = Posterior(Difference(-0.08, 0.02, 99, 100))
    >>> round(posterior.probabilities.help, 2)
    1.0
    >>> disagreement = Disagreement(12, 2, 0, 80, 1000, 0.8, 2)
    >>> posterior = Posterior(Difference(-0.1, 0.04, 99, 100), disagreement)
    >>> round(posterior.probabilities.help, 2)
    0.98
    """

    def __init__(
        self,
        difference: Difference,
        disagreement: Disagreement | None = None,
        *,
        equivalence: float = PRACTICAL_EQUIVALENCE,
        baseline_loss: float | None = None,
    ) -> None:
        if not 0 <= equivalence < np.inf:  # also true if it is NaN
            raise ValueError(f"equivalence must not be negative, got {equivalence}.")
        self.difference, self.disagreement = difference, disagreement
        self.baseline_loss = baseline_loss
        self.share = None if baseline_loss is None else float(equivalence)
        self.equivalence = float(equivalence) * (1.0 if baseline_loss is None else baseline_loss)

    @property
    def _prior_scale(self) -> float:
        usual = PRACTICAL_EQUIVALENCE
        if self.baseline_loss is not None:
            usual = EQUIVALENT_SHARE * self.baseline_loss
        return SCALE_IN_EQUIVALENCES * (self.equivalence or usual)

    @cached_property
    def _distribution(self) -> tuple[Floats, Floats]:
        """Differences in increasing order, and the distribution function there."""
        if self.disagreement is None:
            return self._of_estimate
        changes = self.disagreement.changes
        return changes, (np.arange(len(changes)) + 0.5) / len(changes)

    @property
    def _of_estimate(self) -> tuple[Floats, Floats]:
        """The likelihood of the estimate times the prior, by the trapezoidal rule.

        The grid resolves both, and their tails to far below the probabilities that matter.
        """
        estimate, edge, scale = self.difference, self.equivalence, self._prior_scale
        share = np.linspace(0, 1, GRID_POINTS + 2)[1:-1]
        share = np.concatenate([10.0 ** np.arange(-12, -3), share])
        share = np.unique(np.concatenate([share, 1 - share]))
        likely = stats.t.ppf(share, estimate.degrees_of_freedom) * estimate.standard_error
        prior = scale * np.tan(np.pi * (share - 0.5))
        grid = np.unique(np.concatenate([estimate.mean + likely, [-edge, edge], prior]))
        z = (grid - estimate.mean) / estimate.standard_error
        log = stats.t.logpdf(z, estimate.degrees_of_freedom) - np.log1p((grid / scale) ** 2)
        density = np.exp(log - log.max())
        pieces = np.diff(grid) * (density[1:] + density[:-1]) / 2
        cumulated = np.concatenate([[0.0], np.cumsum(pieces)])
        return grid, cumulated / cumulated[-1]

    @cached_property
    def probabilities(self) -> Probabilities:
        """The probabilities of help, no difference and harm."""
        edges = [-self.equivalence, self.equivalence]
        below, inside = np.interp(edges, *self._distribution)
        return Probabilities(float(below), float(inside - below), float(1 - inside))

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the central credible interval of the difference."""
        tails = [(1 - level) / 2, (1 + level) / 2]
        low, high = np.interp(tails, *self._distribution[::-1])
        return float(low), float(high)

    def labels_to_settle(self, level: float = LEVEL) -> int | None:
        """Return about how many labelled rows, in all, would give a clear answer.

        The forecast is that the difference stays as estimated and that its standard error falls
        with the square root of the number of rows. None: more than a hundred times the present
        number.
        """
        now = self.difference.n_rows
        low, high = now, LARGEST_FORECAST * now
        if not self._is_clear_with(high, level):
            return None
        while high - low > max(1, low // 100):
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_clear_with(middle, level) else (middle, high)
        return low if self._is_clear_with(low, level) else high

    def _is_clear_with(self, n_rows: int, level: float) -> bool:
        """Return whether an answer is clear if the same is observed in n_rows labelled rows."""
        difference, disagreement = self.difference.with_rows(n_rows), self.disagreement
        if disagreement is not None:
            disagreement = disagreement.scaled(n_rows / self.difference.n_rows)
        given = self.equivalence if self.share is None else self.share
        posterior = Posterior(
            difference, disagreement, equivalence=given, baseline_loss=self.baseline_loss
        )
        return max(posterior.probabilities.to_dict().values()) >= level


def holm(p_values: Any) -> Floats:
    """Return p-values adjusted for several tests by Holm's method.

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        One p-value for each test.

    Returns
    -------
    array of shape (n_tests,)
        Adjusted p-values: rejecting those up to 0.05 keeps the probability of any false rejection
        at or below 0.05.

    Examples
    --------
    >>> from primum.judging.difference import holm
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    result = np.empty(len(p))
    result[order] = np.minimum(adjusted, 1.0)
    return result


def cautious_variance(
    values: Floats, n_units: float, size: float = 1.0, least: float = 0.0
) -> float:
    """Return the variance of values of so many units, and that of one more with the largest value.

    Where hardly any value differs, the observed variance alone says little. If all are 0, the
    largest is taken to be ``size``. It is at least ``least``: that no error of a dear kind was seen
    does not mean that there is none.
    """
    largest = max(float(np.abs(values).max()), least) or size
    return float(values.var() * n_units / max(n_units - 1, 1) + largest**2 / n_units)


def tails_of(level: float, n_methods: float = 1.0) -> tuple[float, float]:
    """Return what an interval leaves out below and above.

    Parameters
    ----------
    level : float
        What it contains.
    n_methods : float, default=1
        Number of independent methods among which the best was chosen, see ``n_independent``.

    Returns
    -------
    (float, float)
        The lower tail, and the upper one, which is smaller because of the choice.
    """
    tail = (1 - level) / 2
    return tail, float(-np.expm1(np.log1p(-tail) / n_methods))


def n_independent(losses: Floats) -> float:
    """Return as how many uncorrelated methods several count.

    Parameters
    ----------
    losses : array of shape (n_rows, n_methods)
        Losses of the methods in the same rows.

    Returns
    -------
    float
        Between 1 and the number of methods. One without any variance counts as uncorrelated.
    """
    spread = losses.std(axis=0)
    varying = losses[:, spread > 0]
    correlations = np.eye(losses.shape[1])
    if varying.shape[1] > 1:
        correlations[np.ix_(spread > 0, spread > 0)] = np.corrcoef(varying, rowvar=False)
    eigenvalues = np.clip(np.linalg.eigvalsh(correlations), 0, None)
    return float(np.sqrt(eigenvalues).sum() ** 2 / eigenvalues.sum())


def rate_interval(rate: float, n_counted: float, tails: tuple[float, float]) -> tuple[float, float]:
    """Return the interval of a rate that was observed in rows.

    Parameters
    ----------
    rate : float
        The observed rate.
    n_counted : float
        Number of independent rows that it is worth, see ``n_counted``.
    tails : (float, float)
        What the interval leaves out below and above.

    Returns
    -------
    (float, float)
        Its ends. That of no errors begins at 0, and that of errors only ends at 1.

    Examples
    --------
    >>> from primum.judging.difference import rate_interval
    >>> low, high = rate_interval(0.0, 40, (0.05, 0.05))
    >>> low, round(high, 3)
    (0.0, 0.047)
    """
    counts = (rate * n_counted + 0.5, (1 - rate) * n_counted + 0.5)
    low = 0.0 if rate <= 0 else float(stats.beta.ppf(tails[0], *counts))
    high = 1.0 if rate >= 1 else float(stats.beta.isf(tails[1], *counts))
    return low, high


def mean_interval(
    mean: float,
    values: Floats,
    n_rows: float,
    tails: tuple[float, float],
    n_units: int,
    least: float = 0.0,
) -> tuple[float, float]:
    """Return the interval of a mean of values that are not zeros and ones.

    Parameters
    ----------
    mean : float
        The mean.
    values : array of shape (n_rows,)
        The values that it is of. The variance due to one more row, with the largest of them, is
        added: equal values are not certainty.
    n_rows : float
        Number of independent rows that it is worth.
    tails : (float, float)
        What the interval leaves out below and above.
    n_units : int
        Number of rows, or groups, that the variance is estimated from.
    least : float, default=0
        The value of that one more row, at least.

    Returns
    -------
    (float, float)
        Its ends.
    """
    error = float(np.sqrt(cautious_variance(values, n_units, least=least) / n_rows))
    return around(mean, error, max(n_units - 1, 1), tails)


def around(
    mean: float, standard_error: float, degrees_of_freedom: float, tails: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval of Student's t around a mean, given what it leaves out at either end."""
    below, above = (float(stats.t.isf(tail, degrees_of_freedom)) for tail in tails)
    return mean - below * standard_error, mean + above * standard_error


def n_counted(losses: Floats, strata: Index, groups: AnyArray | None, share: float) -> float:
    """Return the number of independent rows that a rate is worth.

    Parameters
    ----------
    losses : array of shape (n_rows,)
        Losses of rows between 0 and 1: over repeats, the share of wrong predictions.
    strata : array of shape (n_rows,)
        The rate is the mean of the rates of these; all 0 if it is a plain one.
    groups : array of shape (n_rows,) or None
        Rows of a group belong together.
    share : float
        Share of the rows that each model was fitted to.

    Returns
    -------
    float
        The number.
    """
    counts = np.bincount(strata)
    counts, errors = counts[counts > 0], np.bincount(strata, losses)[counts > 0]
    rates = (errors + 0.5) / (counts + 1)
    rate, variance = rates.mean(), np.mean(rates * (1 - rates) / counts) / len(counts)
    rows = rate * (1 - rate) / variance * share
    return float(rows / design_effect(losses - _means(losses, strata), groups))


def _means(values: Floats, strata: Index) -> Floats:
    """Return the mean of the stratum of every row."""
    codes = np.unique(strata, return_inverse=True)[1]
    return np.asarray((np.bincount(codes, values) / np.bincount(codes))[codes])


def design_effect(residuals: Floats, groups: AnyArray | None) -> float:
    """Return how much larger the variance of a mean is because rows belong together.

    Parameters
    ----------
    residuals : array of shape (n_rows,)
        Losses minus their mean.
    groups : array of shape (n_rows,) or None
        Rows of a group belong together.

    Returns
    -------
    float
        At least 1. Where nothing varies, all rows of a group count as equal. With few groups it is
        increased by the ratio of the quantiles of Student's and the normal distribution, squared.
    """
    if groups is None:
        return 1.0
    codes = np.unique(groups, return_inverse=True)[1]
    varies = residuals if np.any(residuals) else np.ones(len(residuals))
    effect = np.sum(np.bincount(codes, varies) ** 2) / np.sum(varies**2)
    few = stats.t.isf(0.05, max(codes.max(), 1)) / stats.norm.isf(0.05)
    return float(max(effect, 1.0) * few**2)


def row_means(rows: Index, values: Any) -> tuple[Index, Floats]:
    """Return the rows that are held out, and the mean over repeats of a value in each."""
    kept, at = np.unique(rows, return_inverse=True)
    return kept, np.bincount(at, np.asarray(values, dtype=float)) / np.bincount(at)
