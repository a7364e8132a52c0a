"""Whether rows belong together though nobody said so, such as the diary entries of one person.

If some rows of a person are trained on and others held out, models are judged too favourably. Where
rows belong together, labels are mostly given person by person, so that few values of the column
that names the persons occur in both labelled and unlabelled rows. With labels at random, many do.

The test: L of N rows are labelled, and a value that n rows have occurs in both kinds or not. Were
each row labelled with the probability p = L / N, independently, values would occur in both
independently, with the probabilities q = 1 - p**n - (1 - p)**n. Labels of L rows at random are such
labels, given that their number is L. So the probability that at most t values occur in both is at
most that of independent labels (at most the minimum over s >= 0 of e**(s t) times the product of
1 - q + q e**-s, by Chernoff) divided by the probability that their number is L. This is a bound for
every table, without simulation. It is corrected for the number of columns by Bonferroni's method.
Of nested columns whose values never occur in both, such as persons within clinics, the coarsest
has the smallest bound, and this is the one to ask for.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from scipy import optimize, sparse, stats

from primum._typing import AnyArray, Index
from primum._words import counted
from primum.judging.words import Alert

SIGNIFICANCE = 0.001
# With fewer of the values that would occur in both by chance, they are "far fewer".
FEW_SHARE = 0.5
# A column of fewer values among the labelled rows, such as "train" and "test", is no group.
LEAST_VALUES = 3
# With a smaller share of labelled rows that repeat a value, little changes.
VISIBLE_SHARE = 0.1
LARGEST_EXPONENT = 50.0


@dataclass(frozen=True)
class Repeats:
    """How many values of a column occur in both labelled and unlabelled rows.

    Attributes
    ----------
    n_values : int
        Number of values that several rows have.
    n_both : int
        Of these, how many occur in both labelled and unlabelled rows.
    expected : float
        How many would, on average, with labels at random.
    log_p : float
        Logarithm of a bound on the probability of at most ``n_both``.
    repeated_share : float
        Share of the labelled rows whose value an earlier labelled row has.
    n_labeled_values : int
        Number of values among the labelled rows.
    """

    n_values: int
    n_both: int
    expected: float
    log_p: float
    repeated_share: float
    n_labeled_values: int

    def is_remarkable(self, n_tests: int) -> bool:
        """Return whether rows with the same value seem to have been labelled together."""
        return (
            self.log_p + log(n_tests) < log(SIGNIFICANCE)
            and self.n_both <= FEW_SHARE * self.expected
            and self.repeated_share >= VISIBLE_SHARE
            and self.n_labeled_values >= LEAST_VALUES
        )


def repeats_of(cells: AnyArray, labeled: AnyArray) -> Repeats:
    """Count the values that occur in both labelled and unlabelled rows.

    Parameters
    ----------
    cells : array of shape (n_rows,)
        A column, without missing cells.
    labeled : bool array of shape (n_rows,)
        Which rows are labelled.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.tables.repeats import repeats_of
    >>> person, labeled = np.repeat(np.arange(40), 5), np.arange(200) < 50
    >>> found = repeats_of(person, labeled)
    >>> found.n_both, round(found.expected), found.is_remarkable(n_tests=1)
    (0, 30, True)
    """
    codes = np.unique(cells, return_inverse=True)[1]
    sizes = np.bincount(codes)
    labels = np.bincount(codes, weights=labeled).astype(np.intp)  # of the rows with each value
    n_both = int(np.sum((labels > 0) & (labels < sizes)))
    n_labeled, n_values = int(labels.sum()), int(np.sum(labels > 0))
    log_p, expected = _rarity(sizes, n_labeled, n_both)
    share = (n_labeled - n_values) / max(n_labeled, 1)
    return Repeats(int(np.sum(sizes > 1)), n_both, expected, log_p, share, n_values)


def _rarity(sizes: Index, n_labeled: int, n_both: int) -> tuple[float, float]:
    """Return a bound on log P(at most ``n_both`` values in both) and their expected number."""
    n_rows = int(sizes.sum())
    if not 0 < n_labeled < n_rows:
        return 0.0, 0.0
    p = n_labeled / n_rows
    size, count = np.unique(sizes[sizes > 1], return_counts=True)
    log_alone = np.logaddexp(size * np.log(p), size * np.log1p(-p))
    log_both = np.log(-np.expm1(log_alone))
    expected = float(np.exp(log_both) @ count)

    def bound(s: float) -> float:
        return float(s * n_both + np.logaddexp(log_alone, log_both - s) @ count)

    if n_both == 0:
        smallest = float(log_alone @ count)
    else:
        best = optimize.minimize_scalar(bound, bounds=(0, LARGEST_EXPONENT), method="bounded")
        smallest = float(best.fun)
    given = float(stats.binom.logpmf(n_labeled, n_rows, p))
    return min(smallest - given, 0.0), expected


def find_repeats(
    columns: Iterable[tuple[Any, AnyArray]], labeled: AnyArray
) -> tuple[Any, Repeats] | None:
    """Return the column whose values were most clearly labelled together, or None.

    Parameters
    ----------
    columns : iterable of (name, cells)
        What may name groups: text, or whole numbers; other numbers are ignored. None and NaN are
        missing.
    labeled : bool array of shape (n_rows,)
        Which rows are labelled.
    """
    tested = []
    for name, cells in columns:
        given = _naming(cells)
        if given.any():
            names = cells[given].astype(str) if cells.dtype == object else cells[given]
            tested.append((name, repeats_of(names, labeled[given])))
    remarkable = [one for one in tested if one[1].is_remarkable(len(tested))]
    return min(remarkable, key=lambda one: one[1].log_p) if remarkable else None


def _naming(cells: AnyArray) -> AnyArray:
    """Return which cells may name groups: those given, none if some are not whole numbers."""
    if cells.dtype == object:
        return np.array([cell is not None and cell == cell for cell in cells], dtype=bool)
    given = np.isfinite(cells)
    whole = np.array_equal(cells[given], np.rint(cells[given]))
    return given if whole else np.zeros_like(given)


def repeats_alert(what: str, repeats: Repeats, pass_group: str, pass_independent: str) -> Alert:
    """Return the question whether rows with the same value belong together."""
    text = (
        f"Rows may belong together: of {counted(repeats.n_values, 'value')} of {what} that several "
        f"rows have, {repeats.n_both:,} occur in both labelled and unlabelled rows (about "
        f"{repeats.expected:,.0f} would if labels were given at random). If they do, as rows of "
        f"one person do, the errors here are too low: pass {pass_group}. If not, pass "
        f"{pass_independent}. Until then, no help is claimed."
    )
    return Alert("groups", text, withholds=True)


def table_alert(name: str, repeats: Repeats) -> Alert:
    """Return the question for a column of a table, for the command and for Python."""
    group = f"--group {shlex.quote(name)} (in Python, group={name!r})"
    return repeats_alert(repr(name), repeats, group, "--independent-rows (independent_rows=True)")


def array_alert(X: Any, labeled: AnyArray) -> Alert | None:
    """Return the question for rows that are given as numbers or as a DataFrame, or None."""
    if sparse.issparse(X):
        return None
    framed = hasattr(X, "iloc")
    names = list(X.columns) if framed else range(X.shape[1])
    columns = [(name, _cells(X[name] if framed else X[:, name])) for name in names]
    remarkable = find_repeats(columns, labeled)
    if remarkable is None:
        return None
    name, repeats = remarkable
    place = f"X[{name!r}]" if framed else f"X[:, {name}]"
    return repeats_alert(place, repeats, f"groups={place}", "independent_rows=True")


def _cells(column: Any) -> AnyArray:
    """Return a column as numbers, or as objects if it is of another type."""
    cells = np.asarray(column)
    return cells.astype(float) if cells.dtype.kind in "biuf" else cells.astype(object)
