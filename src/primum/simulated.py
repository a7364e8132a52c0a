"""Simulated problems with known solutions.

Every generator returns fully labelled rows ``X, y`` with y in {0, 1}; hide labels as needed.
Each has a companion function that returns the solution in closed form: the Bayes error, which no
classifier can beat, or the optimal parameter. Phi and phi are the distribution function and the
density of the standard normal distribution.

`two_gaussians` is the plain case, `harmful_clusters` a trap for methods that look for clusters,
`one_feature` the setting of the paper's theorem, and `sparse_text` a wide and sparse problem: word
counts of texts on two topics.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import binom
from sklearn.utils import check_random_state

from primum._typing import Floats, Index

__all__ = [
    "OneFeatureAnswer",
    "harmful_clusters",
    "harmful_clusters_bayes_error",
    "one_feature",
    "one_feature_answer",
    "sparse_text",
    "sparse_text_bayes_error",
    "two_gaussians",
    "two_gaussians_bayes_error",
]

Seed = int | np.random.RandomState | None


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _density(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def check_between(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Raise an error if a parameter is outside its range."""
    if not low <= value <= high:
        allowed = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name} is {value!r} but must be {allowed}.")


def two_gaussians(
    n_rows: int,
    n_features: int = 2,
    *,
    distance: float = 2.0,
    prior: float = 0.5,
    random_state: Seed = None,
) -> tuple[Floats, Index]:
    """Draw two spherical Gaussian classes of unit variance.

    The class means differ by ``distance`` along the diagonal of the feature space, so that every
    feature is equally informative and the best boundary is a hyperplane.

    Parameters
    ----------
    n_rows, n_features : int
        Size of X.
    distance : float, default=2.0
        Distance between the class means, in standard deviations.
    prior : float, default=0.5
        Probability of class 1.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : array of shape (n_rows, n_features)
        Rows.
    y : array of shape (n_rows,)
        Their classes, 0 and 1.

    See Also
    --------
    two_gaussians_bayes_error : The smallest possible error.

    Examples
    --------
    >>> from primum.simulated import two_gaussians
    >>> X, y = two_gaussians(100, n_features=3, random_state=0)
    >>> X.shape, y.shape
    ((100, 3), (100,))
    """
    check_between("distance", distance, 0)
    check_between("prior", prior, 0, 1)
    rng = check_random_state(random_state)
    y = (rng.random_sample(n_rows) < prior).astype(np.intp)
    shift = distance / math.sqrt(n_features)
    return rng.standard_normal((n_rows, n_features)) + shift * (y - 0.5)[:, None], y


def two_gaussians_bayes_error(distance: float = 2.0, prior: float = 0.5) -> float:
    """Return the smallest possible error on `two_gaussians`.

    The best threshold is t = log((1 - prior) / prior) / distance from the midpoint of the means:

        error = (1 - prior) Phi(-distance/2 - t) + prior Phi(t - distance/2)

    which is Phi(-distance/2) for equally likely classes.

    Parameters
    ----------
    distance : float, default=2.0
        Distance between the class means, in standard deviations.
    prior : float, default=0.5
        Probability of class 1.

    Returns
    -------
    float
        The error of the best rule.

    Examples
    --------
    >>> round(two_gaussians_bayes_error(2.0), 4)
    0.1587
    """
    check_between("distance", distance, 0)
    check_between("prior", prior, 0, 1)
    if distance == 0 or prior in (0, 1):
        return min(prior, 1 - prior)
    t = math.log((1 - prior) / prior) / distance
    return (1 - prior) * _cdf(-distance / 2 - t) + prior * _cdf(t - distance / 2)


def harmful_clusters(
    n_rows: int,
    n_features: int = 2,
    *,
    distance: float = 2.0,
    gap: float = 6.0,
    agreement: float = 0.7,
    random_state: Seed = None,
) -> tuple[Floats, Index]:
    """Draw clusters separated by a gap that is the wrong place for a decision boundary.

    The first feature separates the classes, with overlap: it is Gaussian with unit variance
    around ``-distance/2`` and ``distance/2``. The second feature forms two clearly separated
    clusters, uniform on intervals of length 2 around ``-gap/2`` and ``gap/2``; a row is in the
    cluster of its class only with probability ``agreement``. Further features are noise.

    A method that prefers a boundary in a low-density region, such as a transductive support vector
    machine, or that is fitted to its own predictions, such as self-learning, is drawn towards the
    gap, where the error is 1 - agreement. With 10 labelled rows and 300 unlabelled ones, the
    mean error of least squares is 0.20 supervised and 0.25 with self-learning; implicitly
    constrained least squares, which assumes nothing about clusters, stays at 0.20.

    Parameters
    ----------
    n_rows, n_features : int
        Size of X; at least two features.
    distance : float, default=2.0
        Distance between the class means along the first feature.
    gap : float, default=6.0
        Distance between the cluster centres along the second feature; the empty space between
        the clusters is ``gap - 2`` wide.
    agreement : float, default=0.7
        Probability that a row is in the cluster of its class.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : array of shape (n_rows, n_features)
        Rows.
    y : array of shape (n_rows,)
        Their classes, 0 and 1, equally likely.

    See Also
    --------
    harmful_clusters_bayes_error : The smallest possible error.

    Examples
    --------
    >>> from primum.simulated import harmful_clusters
    >>> X, y = harmful_clusters(1000, random_state=0)
    >>> bool(abs(X[:, 1]).min() >= 2)  # an empty space between the clusters
    True
    """
    check_between("n_features", n_features, 2)
    check_between("gap", gap, 2)
    check_between("distance", distance, 0)
    check_between("agreement", agreement, 0.5, 1)
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_rows).astype(np.intp)
    cluster = np.where(rng.random_sample(n_rows) < agreement, y, 1 - y)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 0] += distance * (y - 0.5)
    X[:, 1] = rng.uniform(-1, 1, n_rows) + gap * (cluster - 0.5)
    return X, y


def harmful_clusters_bayes_error(distance: float = 2.0, agreement: float = 0.7) -> float:
    """Return the smallest possible error on `harmful_clusters`.

    The second feature reveals the cluster. Within a cluster, the first feature is a problem of
    `two_gaussians`, where one class has probability ``agreement``.

    Parameters
    ----------
    distance : float, default=2.0
        Distance between the class means along the first feature.
    agreement : float, default=0.7
        Probability that a row is in the cluster of its class.

    Returns
    -------
    float
        The error of the best rule.

    Examples
    --------
    >>> from primum.simulated import harmful_clusters_bayes_error
    >>> round(harmful_clusters_bayes_error(), 2)
    0.14
    """
    return two_gaussians_bayes_error(distance, agreement)


def one_feature(
    n_rows: int,
    *,
    means: tuple[float, float] = (-0.5, 1.0),
    prior: float = 0.5,
    random_state: Seed = None,
) -> tuple[Floats, Index]:
    """Draw rows as in the paper's theorem: one feature, to be used without an intercept.

    Class 0 is normal around ``means[0]``, class 1 around ``means[1]``, both with unit variance.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    means : (float, float), default=(-0.5, 1.0)
        Means of the two classes.
    prior : float, default=0.5
        Probability of class 1.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : array of shape (n_rows, 1)
        Rows.
    y : array of shape (n_rows,)
        Their classes, 0 and 1.

    See Also
    --------
    one_feature_answer : The optimal slope, the constraint interval and the risk.

    Examples
    --------
    >>> from primum.simulated import one_feature
    >>> X, y = one_feature(50, random_state=0)
    >>> X.shape
    (50, 1)
    """
    check_between("prior", prior, 0, 1)
    rng = check_random_state(random_state)
    y = (rng.random_sample(n_rows) < prior).astype(np.intp)
    return (rng.standard_normal(n_rows) + np.asarray(means)[y])[:, None], y


@dataclass(frozen=True)
class OneFeatureAnswer:
    """The solution of `one_feature`: the squared risk of a slope, its minimiser, its constraints.

    Parameters
    ----------
    second_moment : float
        E[x^2].
    cross_moment : float
        E[x y].
    prior : float
        E[y] = E[y^2], the probability of class 1.
    interval : (float, float)
        The slopes that labellings of unlimited unlabelled data can give: the paper's C_beta,
        from E[x; x < 0] / E[x^2] to E[x; x > 0] / E[x^2].

    Examples
    --------
    >>> from primum.simulated import one_feature_answer
    >>> answer = one_feature_answer()
    >>> answer.constrain(5.0) == answer.interval[1]
    True
    """

    second_moment: float
    cross_moment: float
    prior: float
    interval: tuple[float, float]

    @property
    def slope(self) -> float:
        """The slope with the smallest risk, E[x y] / E[x^2]; it lies in the interval."""
        return self.cross_moment / self.second_moment

    def risk(self, slope: float) -> float:
        """Return the expected squared loss E[(slope x - y)^2].

        Parameters
        ----------
        slope : float
            The slope.

        Returns
        -------
        float
            Its risk.
        """
        return slope**2 * self.second_moment - 2 * slope * self.cross_moment + self.prior

    def constrain(self, slope: float) -> float:
        """Return the ICLS slope for unlimited unlabelled data: the nearest point of the interval.

        Parameters
        ----------
        slope : float
            The supervised slope.

        Returns
        -------
        float
            The constrained slope.
        """
        return min(max(slope, self.interval[0]), self.interval[1])


def one_feature_answer(
    means: tuple[float, float] = (-0.5, 1.0), prior: float = 0.5
) -> OneFeatureAnswer:
    """Return the solution of `one_feature` in closed form.

    For x normal around m: E[x^2] = 1 + m^2 and E[x; x > 0] = m Phi(m) + phi(m).

    Parameters
    ----------
    means : (float, float), default=(-0.5, 1.0)
        Means of the two classes.
    prior : float, default=0.5
        Probability of class 1.

    Returns
    -------
    OneFeatureAnswer
        The solution.

    Examples
    --------
    >>> from primum.simulated import one_feature_answer
    >>> round(one_feature_answer().slope, 3)
    0.308
    """
    check_between("prior", prior, 0, 1)
    weights = (1 - prior, prior)
    both = list(zip(weights, means, strict=True))
    second = sum(w * (1 + m * m) for w, m in both)
    above = sum(w * (m * _cdf(m) + _density(m)) for w, m in both)
    below = sum(w * m for w, m in both) - above
    return OneFeatureAnswer(second, prior * means[1], prior, (below / second, above / second))


def sparse_text(
    n_rows: int,
    n_features: int,
    density: float = 0.01,
    *,
    purity: float = 0.7,
    random_state: Seed = None,
) -> tuple[csr_array, Index]:
    """Draw word counts of texts on two topics, as a sparse matrix.

    Every text has ``round(density * n_features)`` words (at least one). Each word belongs to the
    topic of the text with probability ``purity``: the first half of the columns are the words
    of class 0, the second half those of class 1. In each half, early columns are more common.

    Parameters
    ----------
    n_rows, n_features : int
        Size of X; the number of columns must be even.
    density : float, default=0.01
        Words per text, as a fraction of the columns. A word that occurs twice is a single entry
        of 2, so the fraction of non-zero entries is slightly lower.
    purity : float, default=0.7
        Probability that a word belongs to the topic of its text.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : csr_array of shape (n_rows, n_features)
        Counts, as floats.
    y : array of shape (n_rows,)
        Topics, 0 and 1, equally likely.

    See Also
    --------
    sparse_text_bayes_error : The smallest possible error.

    Examples
    --------
    >>> from primum.simulated import sparse_text
    >>> X, y = sparse_text(20, 1000, random_state=0)
    >>> X.shape, int(X.sum())  # ten words in each text
    ((20, 1000), 200)
    """
    words = _words_per_text(n_features, density, purity)
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_rows).astype(np.intp)
    half = n_features // 2
    of_topic = rng.random_sample((n_rows, words)) < purity
    topic = np.where(of_topic, y[:, None], 1 - y[:, None])
    # The square of a uniform number is more often small than large: common and rare words.
    word = (half * rng.random_sample((n_rows, words)) ** 2).astype(np.intp)
    rows = np.repeat(np.arange(n_rows), words)
    columns = (word + half * topic).ravel()
    X = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n_rows, n_features))
    X.sum_duplicates()
    return X, y


def sparse_text_bayes_error(
    n_features: int, density: float = 0.01, *, purity: float = 0.7
) -> float:
    """Return the smallest possible error on `sparse_text`.

    Only the topic of a word is informative, so the best rule counts the words of each topic. It
    errs if fewer than half the words of a text belong to its topic, and half the time if exactly
    half do: both are binomial probabilities.

    Parameters
    ----------
    n_features : int
        Number of words, even.
    density : float, default=0.01
        Words per text, as a fraction of the columns.
    purity : float, default=0.7
        Probability that a word belongs to the topic of its text.

    Returns
    -------
    float
        The error of the best rule.

    Examples
    --------
    >>> from primum.simulated import sparse_text_bayes_error
    >>> round(sparse_text_bayes_error(100, 0.01), 2)  # texts of one word
    0.3
    """
    words = _words_per_text(n_features, density, purity)
    fewer = binom.cdf(math.ceil(words / 2) - 1, words, purity)
    tie = binom.pmf(words // 2, words, purity) if words % 2 == 0 else 0.0
    return float(fewer + tie / 2)


def _words_per_text(n_features: int, density: float, purity: float) -> int:
    check_between("n_features", n_features, 2)
    check_between("density", density, 0, 1)
    check_between("purity", purity, 0.5, 1)
    if n_features % 2:
        raise ValueError(f"n_features is {n_features} but must be even: half for each topic.")
    return max(1, round(density * n_features))
