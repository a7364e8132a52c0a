"""The difference in error of two models, judged by the rows on which they disagree.

Two fitted classifiers can differ in error only on rows for which they predict different classes:

    change of the error = -d r,    d = share of rows on which they disagree,
                                   r = P(method right | disagree) - P(baseline right | disagree).

The share d needs no labels: it is that of the unlabelled rows, for the fitted models of a
SafeClassifier, and for the mean over the models of the folds in a comparison that has no others.
Which one is right where they disagree needs labels: of the held-out labelled rows on which the two
disagree, the method is right in T, the baseline in F and neither in N (never with two classes),
each labelled row counted once however often it is held out. With Jeffreys' priors,

    d ~ Beta(n_different + 1/2, n_same + 1/2),
    shares of (T, F, N) ~ Dirichlet(T / k + 1/2, F / k + 1/2, N / k + 1/2).

The prior of r is symmetric about 0, so that few labels claim nothing. k is a design effect: the
counts come from models that were trained on overlapping sets, and the deployed model is one more.
Those models also had fewer labels than the deployed ones, a share q of them, a gain may grow or
shrink with the number of labels, and models may disagree more on rows that were not there when they
were fitted: the change is multiplied by a factor that is uniform in [q, 1/q], at most 2.

Everything rests on errors alone. Probabilities do not enter, because a gain in calibration is not a
gain in error.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Self

import numpy as np
from scipy import special
from scipy.stats import qmc

from primum._typing import Floats, Index
from primum.judging.difference import PRACTICAL_EQUIVALENCE, Difference, Posterior

# Variance of the counts relative to that of independent rows: the mean square of
# (estimated r - true r) / (its standard error for independent rows) in the first 192 comparisons of
# ``benchmarks/known_truth.py``. (The correction of Nadeau & Bengio is 1.75 in twice five folds.)
DESIGN_EFFECT = 1.2
PRIOR_COUNT = 0.5
# A gain is not taken to be more than this many times that of the folds.
MOST_GROWTH = 2.0
# The integral over d, the shares and the factor is a mean over this many points.
N_POINTS = 2048


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


class DisagreementPosterior(Posterior):
    """The posterior distribution of a difference in error, as the module describes it.

    Parameters
    ----------
    difference : Difference
        The observed difference.
    disagreement : Disagreement
        What the posterior is based on.
    equivalence : float, default=0.01
        Region of practical equivalence: differences up to this size count as none.

    Examples
    --------
    >>> from primum.judging.disagreement import Disagreement, DisagreementPosterior
    >>> from primum.judging.difference import Difference
    >>> disagreement = Disagreement(12, 2, 0, 80, 1000, 0.8, 2)
    >>> posterior = DisagreementPosterior(Difference(-0.1, 0.04, 99, 100), disagreement)
    >>> round(posterior.probabilities.help, 2)
    0.98
    """

    def __init__(
        self,
        difference: Difference,
        disagreement: Disagreement,
        *,
        equivalence: float = PRACTICAL_EQUIVALENCE,
    ) -> None:
        super().__init__(difference, equivalence=equivalence, prior_scale=1.0)  # not used
        self._disagreement = disagreement

    @property
    def disagreement(self) -> Disagreement:
        """How often the two models disagree, and which is right there."""
        return self._disagreement

    @cached_property
    def _grid(self) -> Floats:
        return self._disagreement.changes

    @cached_property
    def _distribution(self) -> Floats:
        return (np.arange(N_POINTS) + 0.5) / N_POINTS

    def _with_rows(self, n_rows: int) -> Posterior:
        return DisagreementPosterior(
            self.difference.with_rows(n_rows),
            self._disagreement.scaled(n_rows / self.difference.n_rows),
            equivalence=self.equivalence,
        )


def posterior_of(
    difference: Difference,
    disagreement: Disagreement | None = None,
    *,
    equivalence: float = PRACTICAL_EQUIVALENCE,
) -> Posterior:
    """Return the posterior of a difference: of errors by disagreement, else by its own spread."""
    if disagreement is None:
        return Posterior(difference, equivalence=equivalence)
    return DisagreementPosterior(difference, disagreement, equivalence=equivalence)


def counted(own: Index, others: Index, truth: Index, weight: Floats) -> tuple[float, float, float]:
    """Return the weights of the rows on which two predictions differ, by which of them is right.

    The order is that of ``Disagreement``: the first, the second, neither.
    """
    differ, right, other_right = own != others, own == truth, others == truth
    parts = (differ & right, differ & other_right, differ & ~right & ~other_right)
    better, worse, neither = (float(weight[part].sum()) for part in parts)
    return better, worse, neither


def all_compared(
    counts: tuple[float, float, float], n_labeled: float, n_different: float, n_compared: float
) -> tuple[float, float]:
    """Return on how many rows two models differ, and of how many rows that is.

    The last two are numbers of unlabelled rows, for which the fitted models predict. Where these
    are fewer than the labelled rows, or none, the held-out predictions count too.
    """
    if n_compared >= n_labeled:
        return float(n_different), float(n_compared)
    return n_different + sum(counts), n_compared + n_labeled
