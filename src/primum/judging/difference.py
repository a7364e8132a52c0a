"""What held-out rows say about the difference of two losses.

An estimate delta^ of the difference (method minus baseline: below 0 the method helps), with its
standard error se and f degrees of freedom (``held_out`` computes them), has the posterior (Corani
& Benavoli 2015, with a prior that is not flat)

    p(delta) ~ t_f((delta^ - delta) / se) x Cauchy(delta; 0, scale).

A flat prior would claim too much, because unlabelled rows mostly change little. The prior has much
of its mass near 0 and the tails of a Cauchy distribution, so that clear evidence is hardly shrunk.
Its scale is three times the region of practical equivalence: one point of error, or, for numbers,
2% of the loss of the baseline.

A difference in error is judged instead by the rows on which the two models disagree, because only
there can they differ in error:

    delta = -d r,    d = share of rows on which they disagree,
                     r = P(method right | disagree) - P(baseline right | disagree).

The share d needs no labels: it is counted on the unlabelled rows, with the fitted models of a
SafeClassifier or, for other methods of a comparison, as the mean over the models of the folds.
Labels tell which model is right where they disagree: on the held-out labelled rows with different
predictions, the method is right on T, the baseline on F and neither on N (0 with two classes), and
a row counts once however often it is held out. With Jeffreys' priors,

    d ~ Beta(n_different + 1/2, n_same + 1/2),
    shares of (T, F, N) ~ Dirichlet(T / k + 1/2, F / k + 1/2, N / k + 1/2).

The prior of d is the same however many rows differ: two models that agree on n rows may disagree on
others, and full agreement on fewer than about 140 rows does not show that the difference is too
small to matter. The prior of r is symmetric about 0, so that few labels claim nothing. k is a
design effect: the counts come from models trained on overlapping sets, and the deployed model is
yet another. Those models also had only a share q of the labels, and a gain may grow or shrink with
the number of labels. So r is multiplied by a factor that is uniform in [q, 1/q] and at most 2. The
product is at most 1 and at least -1: whatever the number of labels, the errors of two models differ
on no more rows than their predictions do, so no change is larger than d. Predicted probabilities
play no part, because better calibration is not a lower error.

References
----------
Corani, G. & Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms on
multiple data sets. Machine Learning 100.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any, Self

import numpy as np
from scipy import special, stats
from scipy.stats import qmc

from primum._typing import Floats, PlainRecord

# One point of error: a smaller difference is of no practical importance.
PRACTICAL_EQUIVALENCE = 0.01
# Numeric targets have no natural unit: a difference of at most this share of the baseline's loss is
# of no practical importance. One point is this share of an error of 50%.
EQUIVALENT_SHARE = 0.02
# Costs have no natural unit either. One point is this share of an error of 20%.
EQUIVALENT_COST = 0.05
# An answer is claimed if it has at least this probability: that of the usual intervals.
LEVEL = 0.95
# Scale of the prior, in regions of practical equivalence: unlabelled rows mostly change little, but
# the tails of the prior, a Cauchy distribution, leave room for more.
SCALE_IN_EQUIVALENCES = 3
# Differences at which the posterior of a loss is computed, for each of its two factors: quantiles
# of each that are evenly spread, and dense enough for the digits that are shown.
GRID_POINTS = 2001
# No forecast is made beyond this many times the present number of labels: what the difference
# would then be is too uncertain.
MAX_FORECAST_FACTOR = 100
# Variance of the counts relative to that of independent rows: the mean square of
# (estimated r - true r) / (its standard error for independent rows) in 192 comparisons with known
# truth (docs/comparing.md). (The correction of Nadeau & Bengio is 1.75 for two times five folds.)
DESIGN_EFFECT = 1.2
# Jeffreys' prior of a share adds half a row to either side.
PRIOR_COUNT = 0.5
# A gain is not taken to be more than this many times that of the folds: on small training sets,
# gains do not tell how much larger those of all rows are.
MAX_GROWTH = 2.0
# The integral over d, the shares and the factor is a mean over this many points: a power of 2, as
# Sobol's sequence needs to be balanced, and large enough for the digits that are shown.
N_SOBOL_POINTS = 2048


@dataclass(frozen=True)
class Probabilities(PlainRecord):
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
        Number of labelled rows, or groups, that it is based on.
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
        predictions differ and the method is right, the baseline is, or neither.
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
        """Return the same disagreement with the labelled rows counted ``factor`` times."""
        counts = (self.better, self.worse, self.neither)
        better, worse, neither = (factor * count for count in counts)
        return replace(self, better=better, worse=worse, neither=neither)

    @property
    def changes(self) -> Floats:
        """Equally probable values of the change in error, in increasing order."""
        n_same = self.n_compared - self.n_different
        d = _quantiles(self.n_different + PRIOR_COUNT, n_same + PRIOR_COUNT, 0)
        better, worse, neither = (
            count / DESIGN_EFFECT + PRIOR_COUNT for count in (self.better, self.worse, self.neither)
        )
        r = 2 * _quantiles(better, worse, 1) - 1
        if self.n_classes > 2:
            r *= _quantiles(better + worse, neither, 2)
        q = self.train_share
        factor = q + (min(1 / q, MAX_GROWTH) - q) * _points()[:, 3]
        return np.sort(-d * np.clip(factor * r, -1.0, 1.0))


@cache
def _points() -> Floats:
    """Return points that fill the four-dimensional unit cube evenly, always the same."""
    return np.asarray(qmc.Sobol(4, seed=0).random(N_SOBOL_POINTS))


@lru_cache(maxsize=64)  # a forecast changes the counts of labels only
def _quantiles(successes: float, failures: float, dimension: int) -> Floats:
    """Return the quantiles of a beta distribution that belong to one coordinate of the points."""
    quantiles = np.asarray(special.betaincinv(successes, failures, _points()[:, dimension]))
    quantiles.setflags(write=False)  # every caller shares them
    return quantiles


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
        low, high = now, MAX_FORECAST_FACTOR * now
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
        equivalence = self.equivalence if self.share is None else self.share
        posterior = Posterior(
            difference, disagreement, equivalence=equivalence, baseline_loss=self.baseline_loss
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
    """Return the variance of values of ``n_units`` units, plus one more with the largest value.

    If hardly any value differs, the observed variance alone says little. The largest value counts
    as at least ``least``, because expensive errors may exist that were not seen; if all are 0, as
    ``size``.
    """
    largest = max(float(np.abs(values).max()), least) or size
    return float(values.var() * n_units / max(n_units - 1, 1) + largest**2 / n_units)
