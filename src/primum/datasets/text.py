"""A wide and sparse simulated problem: texts on two topics, as word counts."""

import math

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import binom
from sklearn.utils import check_random_state

from primum._typing import Index
from primum.datasets.simulated import Seed, check_between


def sparse_text(
    n_rows: int,
    n_columns: int,
    density: float = 0.01,
    *,
    purity: float = 0.7,
    random_state: Seed = None,
) -> tuple[csr_array, Index]:
    """Draw word counts of texts on two topics, as a sparse matrix.

    Every text has ``round(density * n_columns)`` words (at least one). Each word belongs to the
    topic of the text with probability ``purity``: the first half of the columns are the words
    of class 0, the second half those of class 1. In each half, early columns are more common.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of X; the number of columns must be even.
    density : float, default=0.01
        Words per text, as a fraction of the columns. A word that occurs twice is one entry 2, so
        the fraction of non-zero entries is slightly lower.
    purity : float, default=0.7
        Probability that a word belongs to the topic of its text.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : csr_array of shape (n_rows, n_columns)
        Counts, as floats.
    y : array of shape (n_rows,)
        Topics, 0 and 1, equally likely.

    See Also
    --------
    sparse_text_bayes_error : The smallest possible error.

    Examples
    --------
    >>> from primum.datasets import sparse_text
    >>> X, y = sparse_text(20, 1000, random_state=0)
    >>> X.shape, int(X.sum())  # ten words in each text
    ((20, 1000), 200)
    """
    words = _words_per_text(n_columns, density, purity)
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_rows).astype(np.intp)
    half = n_columns // 2
    own = rng.random_sample((n_rows, words)) < purity
    topic = np.where(own, y[:, None], 1 - y[:, None])
    # The square of a uniform number is more often small than large: common and rare words.
    word = (half * rng.random_sample((n_rows, words)) ** 2).astype(np.intp)
    rows = np.repeat(np.arange(n_rows), words)
    columns = (word + half * topic).ravel()
    X = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n_rows, n_columns))
    X.sum_duplicates()
    return X, y


def sparse_text_bayes_error(n_columns: int, density: float = 0.01, *, purity: float = 0.7) -> float:
    """Return the smallest possible error on `sparse_text`.

    Only the topic of a word is informative, so the best rule counts the words of each topic. It
    errs if fewer than half of the words of a text belong to its topic, and half of the time if
    exactly half do: both are binomial probabilities.

    Parameters
    ----------
    n_columns : int
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
    >>> from primum.datasets import sparse_text_bayes_error
    >>> round(sparse_text_bayes_error(100, 0.01), 2)  # texts of one word
    0.3
    """
    words = _words_per_text(n_columns, density, purity)
    fewer = binom.cdf(math.ceil(words / 2) - 1, words, purity)
    tie = binom.pmf(words // 2, words, purity) if words % 2 == 0 else 0.0
    return float(fewer + tie / 2)


def _words_per_text(n_columns: int, density: float, purity: float) -> int:
    check_between("n_columns", n_columns, 2)
    check_between("density", density, 0, 1)
    check_between("purity", purity, 0.5, 1)
    if n_columns % 2:
        raise ValueError(f"n_columns is {n_columns} but must be even: half for each topic.")
    return max(1, round(density * n_columns))
