"""Statistics of a comparison of two models by repeated cross-validation.

The two models are fitted to the same training sets and scored on the same held-out rows, in splits
j = 1..J. With the differences d_i of their losses in the held-out rows (method minus baseline:
below 0 the method helps), the mean has the standard error

    se^2 = s^2 (1/J + n_test / n_train),    s^2 = variance of the d_i / n_test,

where s^2 is the variance of the mean of one split and the second term corrects for overlapping
training sets (Nadeau & Bengio 2003). The variance is estimated from rows instead of from the means
of the splits, because there are more of them: with few splits the published form has too few
degrees of freedom. It remains for scores that are not means over rows. With f degrees of freedom
(rows, or splits, minus 1), the posterior of the true difference delta is (Corani & Benavoli 2015,
with a prior that is not flat)

    p(delta) ~ t_f((mean - delta) / se) x Cauchy(delta; 0, scale),    |delta| <= bound.

A flat prior would claim too much, because unlabelled rows mostly change little. The prior has much
of its mass near 0 and the tails of a Cauchy distribution, so that clear evidence is hardly shrunk.
``bound`` is the largest possible difference, if that is known: 0 for two models that are the same.
By default ``scale`` is three times the region of practical equivalence.

A difference in error is judged by the rows on which the two models disagree instead, see
``disagreement``.

References
----------
Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52.
Corani, G. & Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms on
multiple data sets. Machine Learning 100.

What the statistics of a comparison count: labelled rows, or groups of them.

A score that is not a mean over rows, such as the area under the ROC curve, may be undefined in a
fold: one that holds out no row of some class. The rows that all folds of a repeat hold out are then
scored together, which gives one score per repeat. Its variance comes from the jackknife: with the
score theta of n rows, and theta_i without row i, the pseudo-values

    p_i = n theta - (n - 1) theta_i

take the place of the losses of rows (``statistics``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import stats

from primum._typing import AnyArray, Floats, Index

if TYPE_CHECKING:
    from primum.judging.disagreement import Disagreement


# One point of error: a smaller difference is of no practical importance.
PRACTICAL_EQUIVALENCE = 0.01
# What is claimed has at least this probability.
LEVEL = 0.95
# Scale of the prior, in regions of practical equivalence.
SCALE_IN_EQUIVALENCES = 3
GRID_POINTS = 2001
# Beyond this many times the present number of labels, no forecast is made.
LARGEST_FORECAST = 100


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
        return {"help": self.help, "no_difference": self.no_difference, "harm": self.harm}


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
                f"standard error {self.standard_error}: leave out the classifier whose scores are "
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


def resampled_difference(
    differences: Sequence[Any],
    n_train: Any,
    *,
    n_rows: int | None = None,
) -> Difference:
    """Estimate the difference of two mean losses from the splits of a cross-validation.

    Parameters
    ----------
    differences : sequence of arrays
        For each split the differences of the two losses (method minus baseline) in its held-out
        rows. If rows belong together (several of one patient), pass the means over the rows of
        each group, and count groups in all numbers.
    n_train : int or sequence of int
        Number of labelled training rows of the splits.
    n_rows : int, optional
        Number of labelled rows, by default the mean number of training and held-out rows.

    Returns
    -------
    Difference
        The estimate with its corrected standard error.

    See Also
    --------
    resampled_difference_of_scores : For scores that are not means over rows.

    Examples
    --------
    >>> from primum.judging.difference import resampled_difference
    >>> wrong = [[0, 0, -1, 0], [0, -1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, -1, 0, 0]]
    >>> difference = resampled_difference(wrong, n_train=16)
    >>> difference.mean, round(difference.standard_error, 3)
    (-0.15, 0.18)
    """
    parts = [np.asarray(part, dtype=float) for part in differences]
    if not parts or min(map(len, parts)) == 0:
        raise ValueError("Every split needs at least one held-out row, and there must be a split.")
    rows = _finite(np.concatenate(parts), "row")
    test = np.array([len(part) for part in parts])
    total = float(np.mean(test + np.asarray(n_train))) if n_rows is None else float(n_rows)
    units = min(total, len(rows))
    # Where hardly any row differs, the observed variance says little: the variance due to one row
    # with the largest difference is added.
    largest = float(np.abs(rows).max()) or 1.0
    variance = rows.var() * units / max(units - 1, 1) + largest**2 / units
    correction = 1 / len(parts) + float(np.mean(test / n_train))
    error = np.sqrt(variance / np.mean(test) * correction)
    return Difference(float(rows.mean()), float(error), max(units - 1, 1), round(total))


def resampled_difference_of_scores(
    differences: Any, n_train: Any, n_test: Any, *, unit: float = PRACTICAL_EQUIVALENCE
) -> Difference:
    """Estimate a difference from one number for each split: the corrected resampled t-test.

    Parameters
    ----------
    differences : array of shape (n_splits,)
        Differences of the two losses (method minus baseline), for example of 1 - AUC.
    n_train, n_test : int or sequence of int
        Numbers of labelled training rows and of held-out rows of the splits.
    unit : float, default=0.01
        Standard deviation over splits that is added as one more degree of freedom, so that equal
        values in a few splits are not taken for certainty.

    Returns
    -------
    Difference
        The estimate with its corrected standard error.
    """
    values = _finite(np.asarray(differences, dtype=float), "split")
    n_splits = len(values)
    if n_splits < 2:
        raise ValueError(
            f"The variance over splits needs at least two splits, got {n_splits}: use more folds."
        )
    variance = (np.sum((values - values.mean()) ** 2) + unit**2) / (n_splits - 1)
    correction = 1 / n_splits + float(np.mean(np.asarray(n_test) / n_train))
    total = round(float(np.mean(np.asarray(n_test) + np.asarray(n_train))))
    error = float(np.sqrt(variance * correction))
    return Difference(float(values.mean()), error, n_splits - 1, total)


def _finite(differences: Floats, what: str) -> Floats:
    """Return differences; raise an error if one is not a number, of which nothing follows."""
    bad = np.flatnonzero(~np.isfinite(differences))
    if len(bad):
        raise ValueError(
            f"The losses of {len(bad)} of {len(differences)} held-out {what}s are not finite (the "
            f"first is {what} {bad[0]}): choose another scoring, or leave the method out."
        )
    return differences


class Posterior:
    """The posterior distribution of a difference, as the module describes it.

    Parameters
    ----------
    difference : Difference
        The estimate.
    equivalence : float, default=0.01
        Region of practical equivalence: differences up to this size count as none.
    prior_scale : float, optional
        Scale of the Cauchy prior; infinity means a flat prior. By default three times
        ``equivalence``.
    bound : float, optional
        Largest possible size of the difference, if known.

    Examples
    --------
    >>> from primum.judging.difference import Difference, Posterior
    >>> posterior = Posterior(Difference(-0.08, 0.02, 99, 100))
    >>> round(posterior.probabilities.help, 2)
    1.0
    """

    def __init__(
        self,
        difference: Difference,
        *,
        equivalence: float = PRACTICAL_EQUIVALENCE,
        prior_scale: float | None = None,
        bound: float | None = None,
    ) -> None:
        self.difference, self.equivalence = difference, float(equivalence)
        self.bound = float("inf") if bound is None else float(bound)
        usual = SCALE_IN_EQUIVALENCES * (self.equivalence or PRACTICAL_EQUIVALENCE)
        self.prior_scale = usual if prior_scale is None else float(prior_scale)
        positive = self.prior_scale > 0 or self.bound == 0
        # Also false if one of them is NaN.
        if not (0 <= self.equivalence < np.inf and self.bound >= 0 and positive):
            raise ValueError(
                "equivalence and bound must not be negative and prior_scale must be above 0, got "
                f"equivalence={equivalence}, bound={bound} and prior_scale={self.prior_scale}."
            )

    @property
    def disagreement(self) -> "Disagreement | None":
        """How often the two models disagree, if that is what the posterior is based on."""
        return None

    @cached_property
    def _grid(self) -> Floats:
        """Differences that resolve the likelihood as well as the prior and the limits."""
        estimate, edge = self.difference, self.equivalence
        share = np.linspace(0, 1, GRID_POINTS + 2)[1:-1]
        # Both tails are resolved to far below the probabilities that matter.
        share = np.concatenate([10.0 ** np.arange(-12, -3), share])
        share = np.unique(np.concatenate([share, 1 - share]))
        points: list[Any] = [
            estimate.mean
            + estimate.standard_error * stats.t.ppf(share, estimate.degrees_of_freedom),
            [-edge, edge],
        ]
        if np.isfinite(self.prior_scale):
            points.append(self.prior_scale * np.tan(np.pi * (share - 0.5)))
        if np.isfinite(self.bound):
            points.append([-self.bound, 0.0, self.bound])
        grid = np.unique(np.concatenate(points))
        return grid[np.abs(grid) <= self.bound]

    @cached_property
    def _distribution(self) -> Floats:
        """The distribution function at the points of the grid, by the trapezoidal rule."""
        estimate, grid = self.difference, self._grid
        z = (grid - estimate.mean) / estimate.standard_error
        log = stats.t.logpdf(z, estimate.degrees_of_freedom)
        log = log - np.log1p((grid / self.prior_scale) ** 2)
        density = np.exp(log - log.max())
        pieces = np.diff(grid) * (density[1:] + density[:-1]) / 2
        cumulated = np.concatenate([[0.0], np.cumsum(pieces)])
        return cumulated / cumulated[-1] if cumulated[-1] > 0 else np.ones(len(grid))

    @cached_property
    def probabilities(self) -> Probabilities:
        """The probabilities of help, no difference and harm."""
        if self.bound <= self.equivalence:
            return Probabilities(0.0, 1.0, 0.0)
        edges = [-self.equivalence, self.equivalence]
        below, inside = np.interp(edges, self._grid, self._distribution)
        return Probabilities(float(below), float(inside - below), float(1 - inside))

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the central credible interval of the difference."""
        if self.bound == 0:
            return 0.0, 0.0
        tails = [(1 - level) / 2, (1 + level) / 2]
        low, high = np.interp(tails, self._distribution, self._grid)
        return float(low), float(high)

    def labels_to_settle(self, level: float = LEVEL) -> int | None:
        """Return about how many labelled rows, in all, would give a clear answer.

        It is assumed that the difference stays as estimated and that its standard error falls with
        the square root of the number of rows. None: more than a hundred times the present number.
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
        return max(self._with_rows(n_rows).probabilities.to_dict().values()) >= level

    def _with_rows(self, n_rows: int) -> "Posterior":
        """Return the posterior as if the same had been observed in n_rows labelled rows."""
        return Posterior(
            self.difference.with_rows(n_rows),
            equivalence=self.equivalence,
            prior_scale=self.prior_scale,
            bound=None if np.isinf(self.bound) else self.bound,
        )


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


def grouped_difference(
    differences: Sequence[Any],
    folds: Sequence[Any],
    groups: Any,
    *,
    n_groups: int,
) -> Difference:
    """Estimate a difference if rows belong together: groups are counted instead of rows.

    The estimate is the mean over all held-out rows, m, however large their groups are. With the
    sum S_g of the differences of a group, its size n_g and the mean size, the groups contribute

        m + (S_g - n_g m) / mean size,

    whose mean is m and whose variance is that of m as a ratio of two sums over groups.

    Parameters
    ----------
    differences : sequence of arrays
        As in ``resampled_difference``.
    folds : sequence of Fold
        The splits, with positions ``train`` and ``test`` among the labelled rows.
    groups : array of shape (n_labeled,)
        Group of each labelled row.
    n_groups : int
        Number of groups of which rows are held out.

    Returns
    -------
    Difference
        The estimate with its corrected standard error.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    sums, sizes = [], []
    for values, fold in zip(differences, folds, strict=True):
        _, own = np.unique(codes[fold.test], return_inverse=True)
        sums.append(np.bincount(own, values))
        sizes.append(np.bincount(own))
    mean = np.concatenate(sums).sum() / np.concatenate(sizes).sum()
    size = np.concatenate(sizes).mean()
    parts = [mean + (s - n * mean) / size for s, n in zip(sums, sizes, strict=True)]
    n_train = [len(np.unique(codes[fold.train])) for fold in folds]
    return resampled_difference(parts, n_train, n_rows=n_groups)


def repeats_of(tests: Sequence[Index], n_rows: int) -> list[list[int]] | None:
    """Return the numbers of the folds of every repeat, or None if folds do not cover the rows.

    ``tests`` are the rows that the folds hold out. The folds of a repeat, which are consecutive,
    hold out each of the n_rows labelled rows once.
    """
    repeats: list[list[int]] = [[]]
    seen = np.zeros(n_rows, dtype=bool)
    for number, test in enumerate(tests):
        if seen.all():
            repeats.append([])
            seen[:] = False
        if seen[test].any():
            return None
        seen[test] = True
        repeats[-1].append(number)
    return repeats if seen.all() else None


def pooled_difference(
    change: Callable[[Index], float], repeats: Sequence[Index], units: AnyArray, n_train: Any
) -> Difference:
    """Estimate a difference from all held-out rows of a repeat together, by the jackknife.

    Parameters
    ----------
    change : callable
        Positions of held-out rows to the difference of the two losses in them.
    repeats : sequence of arrays
        Positions of the rows that each repeat holds out.
    units : array
        What each held-out row belongs to: the number of the labelled row, or its group.
    n_train : sequence of int
        Number of units that the folds train on.

    Returns
    -------
    Difference
        The mean over repeats, with the corrected standard error.
    """
    means, values = [], []
    for rows in repeats:
        of_row, every = units[rows], change(rows)
        kinds = np.unique(of_row)
        without = np.array([change(rows[of_row != unit]) for unit in kinds])
        means.append(every)
        values.append(len(kinds) * every - (len(kinds) - 1) * without)
    pseudo, n_units = np.concatenate(values), len(np.unique(units))
    if not np.isfinite(pseudo).all():
        raise ValueError(
            "The scoring is undefined without one of the labelled rows, probably the only one of "
            "its class: label more rows of that class, or choose another scoring."
        )
    # As for rows: the variance due to one unit with the largest value observed is added.
    largest = float(np.abs(pseudo).max()) or 1.0
    variance = pseudo.var() * n_units / max(n_units - 1, 1) + largest**2 / n_units
    error = np.sqrt(variance * (1 / len(pseudo) + 1 / float(np.mean(n_train))))
    return Difference(float(np.mean(means)), float(error), max(n_units - 1, 1), n_units)
