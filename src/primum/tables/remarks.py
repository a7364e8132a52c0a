"""Suspicious things in a table: rows that belong together, labels spelt in two ways, leaks.

Nothing is changed: an alert says what was seen, and the user decides.

A leak is a column that is known only together with the label, and so gives it away. But most
columns that predict well are just good: body measurements tell species apart. So a column is named
only if it is hard to explain otherwise:

* it is empty in every unlabelled row;
* it is the label in other words: its values and the classes correspond one to one;
* it alone predicts nearly all labels, and all other columns together do not.

A column alone predicts the class of most other labelled rows with the same value or, for numbers,
of those with the nearest value. The other columns predict by a forest that is fitted to other
labelled rows.

With a numeric target, a column is named if it is the target in other units, so that its values and
the targets have nearly the same order, or if it alone explains nearly all of the variance and all
others together do not. A column alone then predicts the mean target of the two rows with the next
smaller and the next larger value.

Rows may belong together although nobody said so, such as the diary entries of one person. If some
rows of a person are trained on and others held out, models are judged too favourably. Such rows are
mostly labelled person by person, so few values of the column that names the persons occur in both
labelled and unlabelled rows. With labels at random, many do.

The test: L of N rows are labelled, and a value that n rows share occurs in both kinds or not. If
each row were labelled independently with probability p = L / N, values would occur in both kinds
independently, with the probabilities q = 1 - p**n - (1 - p)**n. Labelling L rows at random is the
same, given that the number of labels is L. So the probability that at most t values occur in both
kinds is at most that with independent labels (at most the minimum over s >= 0 of e**(s t) times the
product of 1 - q + q e**-s, by Chernoff) divided by the probability that their number is L. This
bound holds for every table, and is corrected for the number of columns by Bonferroni's method.
Among nested columns whose values never occur in both kinds, such as persons in clinics, the
coarsest has the smallest bound and is named.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, log2
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize, sparse, stats

from primum._typing import AnyArray, Floats, Index, Mask
from primum._words import counted, listed
from primum.judging.copies import NONE_BELONG_TOGETHER, SAY_GROUPS
from primum.judging.words import Alert
from primum.tables.cells import is_present, names_of, read_cells
from primum.tables.columns import (
    IS_TARGET,
    Column,
    is_running_number,
    looks_like_identifier,
    may_identify_rows,
)
from primum.tables.preparation import preparing

if TYPE_CHECKING:
    import pandas as pd

    from primum.tables.problem import TableProblem


# What has a probability below 2**-20, one in a million, by chance is no accident.
MIN_BITS = 20
# Share of the errors of guessing avoided, or of the variance explained: at least the first by a
# leaking column alone, at most the second by all others together.
MIN_TELLING_SHARE, MAX_OTHERS_SHARE = 0.95, 0.5
# Labelled rows, folds and trees of the forest that judges the other columns: more only cost time.
MAX_FOREST_ROWS, N_FOREST_FOLDS, N_FOREST_TREES = 2000, 3, 25
# Fewer numbers may have the order of the target by chance.
MIN_ORDER_ROWS = 20
# The least rank correlation of two orders that are nearly the same: no model of other columns has
# it, but a rounded copy of the target does.
MIN_RANK_CORRELATION = 0.9995
ADVICE = "not known for the rows that the model is for, exclude it (--exclude, in Python exclude)."


def leak_alerts(problem: "TableProblem") -> list[Alert]:
    """Return alerts on columns that may be known only together with the label."""
    X, labels, missing = problem.X, problem.labels, problem.arguments["missing"]
    labeled, used, empty = _only_labeled(problem)
    codes = np.unique(labels[labeled].astype(str), return_inverse=True)[1]
    alone = [c for c in used if c.kind not in ("text", "vector") and not c.block]
    cells = {c.name: cell_codes(X[c.name].to_numpy()[labeled]) for c in alone}
    same = [n for n in cells if n not in empty and corresponds(cells[n].codes, codes)]
    others = [column for column in used if column.name not in (*empty, *same)]
    fault = "the label in other words (values and classes correspond)"
    X = X[labeled].reset_index(drop=True)
    return _leaks(empty, same, fault, _telling_labels(X, codes, cells, others, missing))


def number_leak_alerts(problem: "TableProblem") -> list[Alert]:
    """Return alerts on columns that may be known only together with a numeric target."""
    labeled, used, empty = _only_labeled(problem)
    X, y = problem.X[labeled].reset_index(drop=True), problem.labels[labeled].astype(float)
    others = [column for column in used if column.name not in empty]
    same = in_other_units(X, y, others)
    others = [column for column in others if column.name not in same]
    fault = "the target in other units (values and targets have the same order)"
    return _leaks(empty, same, fault, _telling_numbers(X, y, others, problem.arguments["missing"]))


def _leaks(
    empty: Sequence[str], same: Sequence[str], fault: str, telling: Iterable[str]
) -> list[Alert]:
    """Return alerts on columns that are empty, equal the label, or predict nearly all of it."""
    by_name = [*_named(empty, "empty in every unlabelled row"), *_named(same, fault)]
    by_itself = (f"{text} If it is {ADVICE}" for text in telling)
    return [Alert("leak", text) for text in (*by_name, *by_itself)]


def _only_labeled(problem: "TableProblem") -> tuple[Mask, list[Column], list[str]]:
    """Return the labelled rows, the features, and the names of those filled in these rows only."""
    labeled = is_present(problem.labels)
    used = [column for column in problem.columns if column.used]
    filled = {column.name: problem.X[column.name].notna().to_numpy() for column in used}
    if labeled.all():
        return labeled, used, []
    only = [n for n, cells in filled.items() if cells[labeled].any() and not cells[~labeled].any()]
    return labeled, used, only


def _named(names: Sequence[str], fault: str) -> Iterator[str]:
    if len(names) == 1:
        yield f"The column {names[0]!r} is {fault}. If it is {ADVICE}"
    elif names:
        which = listed([repr(name) for name in names], 5)
        yield f"The columns {which} are {fault}. If one of them is {ADVICE}"


@dataclass(frozen=True)
class Cells:
    """The cells of a column as codes; ``values`` are the numbers that codes stand for, if any."""

    codes: Index
    values: Floats | None


def cell_codes(cells: AnyArray) -> Cells:
    """Return the cells of a column as codes; missing ones have a code of their own, the last."""
    if cells.dtype == object:
        names = np.array(["" if cell is None else f" {cell}" for cell in cells])
        return Cells(np.unique(names, return_inverse=True)[1], None)
    values, codes = np.unique(cells.astype(float), return_inverse=True)
    return Cells(codes, values)


def corresponds(cells: Index, codes: Index) -> bool:
    """Return whether values and classes correspond one to one, and not by accident.

    The probability of this by chance is that of the classes of all rows but the first of each
    class.
    """
    pairs = len(np.unique(cells * (codes.max() + 1) + codes))
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    bits = float(-(counts - 1) @ np.log2(counts / counts.sum()))
    return pairs == len(np.unique(cells)) == len(counts) and bits >= MIN_BITS


def right_alone(cells: Cells, codes: Index) -> int:
    """Return how many labels a column alone predicts correctly, without the row's own label."""
    votes = np.zeros((cells.codes.max() + 1, codes.max() + 1))
    np.add.at(votes, (cells.codes, codes), 1)
    rows = np.arange(len(codes))
    others = votes[cells.codes]
    others[rows, codes] -= 1
    alone = others.sum(axis=1) == 0
    if cells.values is not None and len(cells.values) > 1:
        others[alone] = _nearest_votes(cells.values, votes)[cells.codes[alone]]
    own_votes = others[rows, codes]
    others[rows, codes] = 0
    return int(np.sum(own_votes > others.max(axis=1)))


def _nearest_votes(values: Floats, votes: Floats) -> Floats:
    """Return, for each value, the votes of the nearest other value, or of two if equally near."""
    gaps = np.diff(values)
    gaps = np.where(np.isnan(gaps), np.inf, gaps)  # a missing cell is not near any number
    below, above = np.append(np.inf, gaps), np.append(gaps, np.inf)
    nothing = np.zeros((1, votes.shape[1]))
    of_below, of_above = np.vstack([nothing, votes[:-1]]), np.vstack([votes[1:], nothing])
    near_below = (below <= above) & np.isfinite(below)
    near_above = (above <= below) & np.isfinite(above)
    return near_below[:, None] * of_below + near_above[:, None] * of_above


def _telling_labels(
    X: "pd.DataFrame",
    codes: Index,
    cells: dict[str, Cells],
    columns: Sequence[Column],
    missing: Sequence[str],
) -> Iterator[str]:
    """Yield a sentence on the column that predicts nearly all labels, if the others do not."""
    from sklearn.ensemble import RandomForestClassifier

    n_rows, guessed = len(codes), int(np.bincount(codes).max())
    if guessed == n_rows or -n_rows * log2(guessed / n_rows) < MIN_BITS:
        return
    right = {name: right_alone(cells[name], codes) for name in cells}
    avoided = {c.name: _avoided(right.get(c.name, 0), guessed, n_rows) for c in columns}
    name, rest = _only_telling(avoided, columns)
    if name is None or not rest:
        return
    truth, guess = _by_forest(RandomForestClassifier, X, codes, rest, missing)
    by_others, n_tried = int(np.sum(guess == truth)), len(truth)
    if _avoided(by_others / n_tried, guessed / n_rows, 1) <= MAX_OTHERS_SHARE:
        yield (
            f"The column {name!r} may give the label away: it alone predicts {right[name]} of "
            f"{n_rows} labels correctly, and all other columns together {by_others} of {n_tried}."
        )


def _only_telling(
    shares: Mapping[str, float], columns: Sequence[Column]
) -> tuple[str | None, list[Column]]:
    """Return the column that alone predicts nearly all, if there is just one, and the others.

    If there are two, the other columns predict nearly all as well, and neither is remarkable.
    """
    telling = [name for name, share in shares.items() if share >= MIN_TELLING_SHARE]
    name = telling[0] if len(telling) == 1 else None
    return name, [column for column in columns if column.name != name]


def _by_forest(
    forest: Any, X: "pd.DataFrame", y: AnyArray, columns: Sequence[Column], missing: Sequence[str]
) -> tuple[AnyArray, AnyArray]:
    """Return labels, or numbers, and what a forest of this class predicts for them."""
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    rows = np.random.default_rng(0).permutation(len(y))[:MAX_FOREST_ROWS]
    model = make_pipeline(preparing(columns, missing), forest(N_FOREST_TREES, random_state=0))
    return y[rows], cross_val_predict(model, X.iloc[rows], y[rows], cv=KFold(N_FOREST_FOLDS))


def _avoided(right: float, guessed: float, n_rows: float) -> float:
    """Return the share of the errors of guessing that are avoided."""
    return (right - guessed) / (n_rows - guessed)


def in_other_units(X: "pd.DataFrame", y: Floats, columns: Sequence[Column]) -> list[str]:
    """Return the names of numeric columns in the same order as the target.

    Parameters
    ----------
    X : DataFrame
        The features of labelled rows, read as their kinds say.
    y : array of shape (n_rows,)
        Their targets.
    columns : sequence of Column
        What the table contains.

    Returns
    -------
    list of str
        Their names.
    """
    if len(y) < MIN_ORDER_ROWS:
        return []
    numbers = {column.name: _varied_numbers(X[column.name]) for column in columns}
    return [
        name
        for name, values in numbers.items()
        if values is not None and abs(float(stats.spearmanr(values, y)[0])) >= MIN_RANK_CORRELATION
    ]


def _telling_numbers(
    X: "pd.DataFrame", y: Floats, columns: Sequence[Column], missing: Sequence[str]
) -> Iterator[str]:
    """Yield a sentence on the column that explains nearly all of a target, if the others do not."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.metrics import r2_score

    if len(y) < MIN_ORDER_ROWS or len(columns) < 2:
        return
    alone = {column.name: _explained_alone(X[column.name], y) for column in columns}
    name, rest = _only_telling(alone, columns)
    if name is None:
        return
    by_others = float(r2_score(*_by_forest(RandomForestRegressor, X, y, rest, missing)))
    if by_others <= MAX_OTHERS_SHARE:
        yield (
            f"The column {name!r} may give the target away: it alone explains "
            f"{alone[name]:.0%} of the variance, and all other columns together "
            f"{max(by_others, 0.0):.0%}."
        )


def _varied_numbers(values: "pd.Series") -> Floats | None:
    """Return a column as numbers; None if it has other or missing cells, or few different ones."""
    cells: AnyArray = values.to_numpy()
    numbers = np.empty(0) if cells.dtype == object else cells.astype(float)
    varied = not np.isnan(numbers).any() and len(np.unique(numbers)) >= MIN_ORDER_ROWS
    return numbers if varied else None


def _explained_alone(values: "pd.Series", y: Floats) -> float:
    """Return the share of the variance that a column of numbers explains alone; 0 for others."""
    numbers = _varied_numbers(values)
    if numbers is None:
        return 0.0
    ordered = y[np.argsort(numbers, kind="stable")]
    guess = (ordered[:-2] + ordered[2:]) / 2
    return 1 - float(np.mean((ordered[1:-1] - guess) ** 2) / np.var(y))


# Kinds of columns whose values may name groups of rows.
NAMING = ("number", "category", "text")


def remarks_on(problem: "TableProblem") -> list[Alert]:
    """Return alerts on rows, labels and columns that may mislead a comparison."""
    return [
        *_belonging(problem),
        *_identifying(problem),
        *_spellings([label for label in problem.labels if label is not None]),
        *(number_leak_alerts if problem.kind.is_numeric else leak_alerts)(problem),
    ]


def _belonging(problem: "TableProblem") -> list[Alert]:
    """Return the question of which rows belong together, if there is reason to ask.

    There is none if it is known: none do, or those of one group. Rows whose labels were not drawn
    at random count as unlabelled.
    """
    frame, arguments, labeled = problem.frame, problem.arguments, is_present(problem.labels)
    missing, identity = arguments["missing"], arguments["id"]
    if arguments["independent_rows"] or arguments["group"] is not None:
        return []
    if problem.chosen is not None:
        labeled &= ~problem.chosen
    cells = [
        (column.name, read_cells(frame[column.name], column.kind, column.reading, missing))
        for column in problem.columns
        if column.kind in NAMING and column.note != IS_TARGET
    ]
    repeats = find_repeats(cells, labeled)
    if repeats is not None:
        return [table_alert(*repeats)]
    ids = [] if identity is None else names_of(frame[identity], missing)[labeled].tolist()
    return [*_repeated(identity, ids)]


def _identifying(problem: "TableProblem") -> Iterator[Alert]:
    """Yield an alert on every feature whose values may be the names of the rows."""
    numbers = [c for c in problem.columns if c.used and c.kind == "number" and not c.block]
    for name in [column.name for column in numbers if not column.missing]:
        if not may_identify_rows(problem.X[name].to_numpy()):
            continue
        option, argument = f"--exclude {shlex.quote(name)}", f"exclude=[{name!r}]"
        if problem.arguments["id"] is None:
            option, argument = f"--id {shlex.quote(name)}", f"id={name!r}"
        yield _names_rows(f"the column {name!r}", f"pass {option} (in Python, {argument})")


def _names_rows(where: str, remedy: str) -> Alert:
    text = (
        f"The whole numbers in {where} never repeat, as if they identified the rows: if they do, "
        f"{remedy}, so that nothing is learned from them."
    )
    return Alert("identifier", text)


def array_identifiers(X: Any) -> list[Alert]:
    """Return alerts on columns of numbers, given as an array or a DataFrame, that may name rows."""
    if sparse.issparse(X):
        return []
    framed, alerts = hasattr(X, "iloc"), []
    for name in X.columns if framed else range(X.shape[1]):
        cells = _cells(X[name] if framed else X[:, name])
        if cells.dtype == object or not np.isfinite(cells).all():
            continue
        tests = looks_like_identifier("", cells), is_running_number(cells), may_identify_rows(cells)
        if any(tests):
            place = f"X[{name!r}]" if framed else f"X[:, {name}]"
            alerts.append(_names_rows(place, "leave this column out"))
    return alerts


def _spellings(labels: Sequence[Any]) -> Iterator[Alert]:
    """Yield an alert on labels that differ only in upper and lower case."""
    spelt = defaultdict(set)
    for label in labels:
        if isinstance(label, str):
            spelt[" ".join(label.lower().split())].add(label)
    several = [sorted(names) for names in spelt.values() if len(names) > 1]
    if several:
        alike = listed([" and ".join(map(repr, names)) for names in sorted(several)], 3)
        yield Alert(
            "labels",
            f"Labels are spelt in several ways, which count as different classes: {alike}. Correct "
            "them if they mean the same.",
        )


def _repeated(name: str | None, ids: Sequence[str | None]) -> Iterator[Alert]:
    """Yield an alert on labelled rows that share an identifier."""
    counts = Counter(value for value in ids if value is not None)
    repeated = sum(count for count in counts.values() if count > 1)
    if repeated:
        yield Alert(
            "groups",
            f"{repeated} of the {len(ids)} labelled rows share their value of the id column "
            f"{name!r} with another one: if such rows belong together, name it as the group too, "
            "because models are judged too well if some of them are trained on.",
        )


# Below this p-value, over all columns, too few values occur in both kinds of rows: a false alarm in
# a thousand tables.
OVERLAP_SIGNIFICANCE = 0.001
# They must also be at most this share of the number expected by chance: in large tables even a
# small difference is significant.
MAX_OVERLAP_SHARE = 0.5
# A column with fewer values among the labelled rows, such as "train" and "test", is no group.
MIN_GROUP_VALUES = 3
# If a smaller share of the labelled rows repeats a value, groups change little.
MIN_REPEATED_SHARE = 0.1
# Upper limit of the exponent s in Chernoff's bound: e**-50 is negligible.
MAX_CHERNOFF_EXPONENT = 50.0


@dataclass(frozen=True)
class Repeats:
    """How many values of a column occur in both labelled and unlabelled rows.

    Attributes
    ----------
    n_values : int
        Number of values that several rows have.
    n_both : int
        Number of these that occur in both labelled and unlabelled rows.
    expected : float
        Expected number with labels at random.
    log_p : float
        Logarithm of a bound on the probability of at most ``n_both``.
    repeated_share : float
        Share of the labelled rows that repeat the value of an earlier labelled row.
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
            self.log_p + log(n_tests) < log(OVERLAP_SIGNIFICANCE)
            and self.n_both <= MAX_OVERLAP_SHARE * self.expected
            and self.repeated_share >= MIN_REPEATED_SHARE
            and self.n_labeled_values >= MIN_GROUP_VALUES
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
    >>> from primum.tables.remarks import repeats_of
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
        best = optimize.minimize_scalar(bound, bounds=(0, MAX_CHERNOFF_EXPONENT), method="bounded")
        smallest = float(best.fun)
    observed = float(stats.binom.logpmf(n_labeled, n_rows, p))
    return min(smallest - observed, 0.0), expected


def find_repeats(
    columns: Iterable[tuple[Any, AnyArray]], labeled: AnyArray
) -> tuple[Any, Repeats] | None:
    """Return the column whose values were most clearly labelled together, with its counts, or None.

    Parameters
    ----------
    columns : iterable of (name, cells)
        Columns that may name groups: text or whole numbers; other numbers are ignored. None and NaN
        are missing.
    labeled : bool array of shape (n_rows,)
        Which rows are labelled.
    """
    tested = []
    for name, cells in columns:
        naming = _naming(cells)
        if naming.any():
            names = cells[naming].astype(str) if cells.dtype == object else cells[naming]
            tested.append((name, repeats_of(names, labeled[naming])))
    remarkable = [one for one in tested if one[1].is_remarkable(len(tested))]
    return min(remarkable, key=lambda one: one[1].log_p) if remarkable else None


def _naming(cells: AnyArray) -> AnyArray:
    """Return which cells may name groups: all given ones, or none if some numbers are not whole."""
    if cells.dtype == object:
        return np.array([cell is not None and cell == cell for cell in cells], dtype=bool)
    finite = np.isfinite(cells)
    whole = np.array_equal(cells[finite], np.rint(cells[finite]))
    return finite if whole else np.zeros_like(finite)


def repeats_alert(name: str, repeats: Repeats, pass_group: str, pass_independent: str) -> Alert:
    """Return the question of whether rows with the same value belong together."""
    text = (
        f"Rows may belong together: of {counted(repeats.n_values, 'value')} of {name} that several "
        f"rows have, {repeats.n_both:,} occur in both labelled and unlabelled rows (about "
        f"{repeats.expected:,.0f} would if labels were given at random). If they do, as rows of "
        f"one person do, the errors here are too low: pass {pass_group}. If not, pass "
        f"{pass_independent}. Until then, nothing is claimed."
    )
    return Alert("groups", text, withholds=True, assumes=NONE_BELONG_TOGETHER, next_step=SAY_GROUPS)


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
