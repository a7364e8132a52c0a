"""The interval of the loss of one model, which may have been chosen among several.

Every labelled row is held out in one split, or in one split of every repeat, and predicted by a
model that was fitted to the others. The mean loss of these predictions estimates the loss, on new
rows, of the model that is fitted to all labelled rows. Four things make it uncertain.

* There are n labelled rows, whatever the number of repeats: repeats average over training sets, not
  over rows. If rows belong together, a group of equal rows counts once: n is divided by the design
  effect, the variance of the mean, estimated from sums of residuals over groups, relative to that
  of independent rows.
* The models were fitted to n_train < n rows each, and these sets overlap. With many repeats, the
  corrected variance of Nadeau and Bengio (see ``held_out``) is that of n_train rows; with few
  repeats it is larger, and too large for a loss, unlike for a difference of losses. So only the
  share n_train / n of the rows is counted.
* Few errors, or none, prove little. A rate p of N counted rows has the interval between quantiles
  of the distribution Beta(p N + 1/2, (1 - p) N + 1/2) (Jeffreys). A balanced error is the mean of
  the rates of K classes; with p_c of n_c rows, half an error and half a success added,

      N = p (1 - p) / sum_c p_c (1 - p_c) / (K^2 n_c).

  Losses that are not rates get the interval of Student's t.
* The model was chosen among m because its loss is low, so its loss is an optimistic estimate. The
  upper end is one of m bounds that all hold together with the probability 1 - tail, however the
  method was chosen. The losses of two methods in the same rows are correlated; with the eigenvalues
  lambda of their correlation matrix, the m methods count as (Galwey 2009)

      m' = (sum_j sqrt(lambda_j))^2 / sum_j lambda_j    (1 if all are equal, m if uncorrelated),

  and each bound has the tail 1 - (1 - tail)^(1 / m') (Sidak). The lower end needs no such
  correction, since the choice is for a low loss.

The page ``docs/comparing.md`` shows how often the intervals contain the truth.

References
----------
Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52.
Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Interval estimation for a binomial proportion.
Statistical Science 16.
Korn, E. L. & Graubard, B. I. (1998). Confidence intervals for proportions with small expected
number of positive counts estimated from survey data. Survey Methodology 24.
Galwey, N. W. (2009). A new measure of the effective number of tests. Genetic Epidemiology 33.
"""

from typing import Any

import numpy as np
from scipy import stats

from primum._typing import AnyArray, Floats, Index
from primum.judging.difference import cautious_variance


def tails_of(level: float, n_methods: float = 1.0) -> tuple[float, float]:
    """Return the tail probabilities that an interval leaves out below and above.

    Parameters
    ----------
    level : float
        Probability of the interval.
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
    """Return how many uncorrelated methods several correlated ones count as.

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
        Its ends. Without errors it begins at 0, and if all rows are errors it ends at 1.

    Examples
    --------
    >>> from primum.judging.intervals import rate_interval
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
        The values that are averaged. The variance due to one more row with the largest of them is
        added, because equal values prove little.
    n_rows : float
        Number of independent rows that it is worth.
    tails : (float, float)
        What the interval leaves out below and above.
    n_units : int
        Number of rows, or groups, that the variance is estimated from.
    least : float, default=0
        Lower bound of the value of that further row.

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
        The rate is the mean of the rates of these strata; all 0 for a plain rate.
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
    # Quantiles of intervals of 90%; those of other levels have nearly the same ratio.
    few = stats.t.isf(0.05, max(codes.max(), 1)) / stats.norm.isf(0.05)
    return float(max(effect, 1.0) * few**2)


def row_means(rows: Index, values: Any) -> tuple[Index, Floats]:
    """Return the rows that are held out, and the mean over repeats of a value of each."""
    kept, at = np.unique(rows, return_inverse=True)
    return kept, np.bincount(at, np.asarray(values, dtype=float)) / np.bincount(at)
