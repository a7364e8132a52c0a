"""What the columns of a table contain, and what is done to each before a classifier sees it.

Kinds are decided from all rows, labelled or not, and never from the labels, so that no label of a
held-out row leaks. A column that identifies the rows, by its name and values, is not a feature.

Embeddings are numbers that only mean something together: a column whose cells are vectors of one
length (lists in Parquet or in a DataFrame, or written as text, ``[0.12, -0.3]``), or consecutive
columns such as ``emb_0`` to ``emb_767``. Either way they form one block of features. Columns of
numbers that are merely called x1 to x9 may have different units and form no block: the columns of
an embedding are named as such, at least MIN_EMBEDDING_COLUMNS in number, and similar in scale.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._typing import AnyArray, Floats
from primum._words import listed
from primum.judging.named_labels import KEY_COLUMN
from primum.judging.words import capitalised
from primum.rows.parquet import MAX_NAMES_LISTED
from primum.safe.rows import MAX_WIDE_COLUMNS, SVD_RANK
from primum.tables.cells import (
    FALSE,
    ISO,
    MOSTLY_SHARE,
    TRUE,
    USUAL_MISSING,
    common_unit,
    days_of,
    decimal_mark_of,
    different_units,
    doubtful_mark,
    hours_of,
    is_present,
    marks_by_preference,
    names_of,
    numbers_of,
    objects_of,
    plain_text,
    read_cells,
    repeated_text,
    usual_type,
    vector_lengths,
    vectors_of,
)
from primum.tables.labels import CHOSEN, MARKS_CHOSEN, NUMBERS_SHEET
from primum.tables.text import MIN_TEXT_WORDS, Vocabulary, find_vocabulary, words_per_cell

if TYPE_CHECKING:
    import pandas as pd

# In at most this many rows, distinct integers may well be a feature, and do not number the rows.
MIN_NUMBERED_ROWS = 20
# A running number has at least this share of the integers between its ends: a few rows may be gone.
MIN_FILLED_SHARE = 0.9
# The expected number of equal pairs from which on none is no chance: e**-7 is one in a thousand.
MIN_EXPECTED_TIES = 7.0
# Measurements seldom have seven digits, all of them whole. Six digits are codes if they are spread
# evenly, which fewer rows cannot tell from prices.
MIN_CODE_DIGITS, MIN_SPREAD_ROWS, MIN_SPREAD_P = 7, 100, 0.05
# Dates written as 20150131, and times as seconds since 1970, are no codes.
DATE_NUMBERS, SECONDS = (19000101, 21001231), (1e9, 2e9)
MAX_EXACT_INTEGER = 2.0**53  # larger whole numbers are not exact
NAMES = {"id", "nr", "no", "number", "index", "idx", "key"}


def no_such_column(names: Sequence[str], columns: Sequence[str], table: str = "The table") -> str:
    """Return the sentence on names that are not columns, with the columns that may be meant."""
    others = {other.lower(): other for other in columns if other not in names}
    absent = [name for name in names if name not in columns]
    said = []
    for name in absent:
        close = get_close_matches(name.lower(), others, 1)
        said.append(f"{name!r} (did you mean {others[close[0]]!r}?)" if close else repr(name))
    lacks = "has no column" if len(absent) == 1 else f"lacks the {len(absent)} columns"
    there = listed([repr(name) for name in columns], MAX_NAMES_LISTED)
    return f"{table} {lacks} {listed(said)}; its columns are {there}."


def looks_like_identifier(name: str, values: Floats) -> bool:
    """Return whether a feature may be a row number or a key.

    It may if all its values are distinct integers and either are sorted, or the name contains a
    word for an identifier, as in ``patient_id`` or ``CustomerID``.
    """
    if len(values) <= MIN_NUMBERED_ROWS or not np.array_equal(values, np.rint(values)):
        return False
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        return True
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return bool(words & NAMES) and len(np.unique(values)) == len(values)


def is_running_number(values: Floats) -> bool:
    """Return whether values are distinct integers without large gaps, in any order."""
    if len(values) <= MIN_NUMBERED_ROWS or not np.array_equal(values, np.rint(values)):
        return False
    span = float(values.max() - values.min()) + 1
    return len(np.unique(values)) == len(values) and span <= len(values) / MIN_FILLED_SHARE


def may_identify_rows(values: Floats) -> bool:
    """Return whether whole numbers are probably names of the rows, not measurements.

    They are all different, and this would hardly be chance: either measurements would have repeated
    (as many pairs are equal as are apart by any other small distance), or they are long codes.
    """
    if len(values) <= MIN_NUMBERED_ROWS or not np.array_equal(values, np.rint(values)):
        return False
    ordered = np.sort(values)
    gaps = np.diff(ordered)
    if not (gaps > 0).all() or ordered[-1] - ordered[0] > MAX_EXACT_INTEGER:
        return False
    if any(first <= ordered[0] <= ordered[-1] <= last for first, last in (DATE_NUMBERS, SECONDS)):
        return False
    step = float(np.gcd.reduce(gaps.astype(np.int64)))  # rounded numbers repeat more often
    return _expected_ties(ordered / step) >= MIN_EXPECTED_TIES or (
        step == 1 and _are_codes(ordered)
    )


def _expected_ties(ordered: Floats) -> float:
    """Return how many pairs of measurements would be equal, given those that are nearly so."""
    low, high = np.quantile(ordered, [0.25, 0.75])
    width = max(np.floor((high - low) / 10), 1.0)
    below = np.searchsorted(ordered, ordered + width, side="right")
    n_near = int((below - np.arange(1, len(ordered) + 1)).sum())
    return n_near / (2 * float(width))


def _are_codes(ordered: Floats) -> bool:
    """Return whether whole numbers in order have as many digits each, and as codes are spread."""
    low, high = float(ordered[0]), float(ordered[-1])
    n_digits = len(str(int(low)))
    if low <= 0 or n_digits != len(str(int(high))):
        return False
    if n_digits >= MIN_CODE_DIGITS:
        return True
    if n_digits < MIN_CODE_DIGITS - 1 or len(ordered) < MIN_SPREAD_ROWS:
        return False
    from scipy import stats

    return bool(stats.kstest(ordered, "uniform", (low, high - low)).pvalue > MIN_SPREAD_P)


# Cells of another kind count as missing if at least this share of a column is of one kind: a tenth
# can be remarks such as "n/a" or "see below".
MAIN_SHARE = 0.9
# With at least this share of missing cells, a further column marks them: it is constant in too many
# training sets with fewer.
MIN_INDICATED_SHARE = 0.05
MAX_LEVELS = 20  # of a column, each of which becomes one; if there are more, rare ones are grouped
# With a larger share of distinct cells, text identifies rows or is free text; it has no levels,
# because most would occur once.
MAX_LEVELS_SHARE = 0.5
MAX_NAME_CHARACTERS = 30  # characters on average: more than a name
# Words on average: with more, which is a sentence, cells are free text even if some are equal.
MIN_SENTENCE_WORDS = 6
NO_TERMS = "No word occurs in two of its cells, so nothing can be learnt from it."
NO_WORDS = "Its values are long but hardly contain words, so nothing is learnt from them."
IDENTIFIES = "All of its values are different, so it seems to identify the rows."
NUMBERS = "It seems to number the rows."
IS_TARGET = "It contains the labels."
# Cells of these types hold several values.
SEVERAL_VALUES = (list, tuple, set, frozenset, dict, complex, np.complexfloating, np.ndarray)
MIXED_DATES = "Its cells look like dates of more than one format"
MOSTLY_NUMBERS = "Most of its cells are numbers: pass"
NOTHING_LEARNT = "Nothing is learnt from its cells of type"
VARIED, MIXED = "Its vectors have different lengths", "Only some of its cells are vectors"
# How people write dates, and times of day after them. Of two layouts that fit equally well, the
# first is taken: the day before the month, unless other columns show the reverse.
DATES = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y"),
    *("%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
TIMES = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# Beginnings of layouts in which day and month may be confused.
DAY_FIRST, MONTH_FIRST = ("%d/%m/", "%d-%m-"), ("%m/%d/", "%m-%d-")
ACTIONS = {
    "number": "scaled",
    "date": "converted to days and scaled",
    "time": "converted to hours and scaled",
    "boolean": "encoded as 0 or 1 and scaled",
}
# Digits, a separator, digits: a cheap test that every layout passes.
LIKE_A_DATE = re.compile(r"\d[-/. ,]+.*\d", re.DOTALL)

# The fewest columns of an embedding: a few columns with one name and numbers are measurements.
MIN_EMBEDDING_COLUMNS = 8
# Names of the columns of embeddings, with the number of the column.
NAMED = re.compile(r"(?P<stem>.*(?:emb|vec|latent|dim).*?)(?P<number>\d+)", re.IGNORECASE)
# The largest standard deviation of its columns, relative to the smallest: those of measurements in
# several units often differ by more.
MAX_SCALE_RATIO = 100.0


# A kind, a reading, and which cells can be read so.
Attempt = tuple[str, str, AnyArray]


def named_blocks(names: Sequence[str]) -> list[list[str]]:
    """Return the runs of columns with names like those of one embedding.

    Parameters
    ----------
    names : sequence of str
        Names of numeric columns.

    Returns
    -------
    list of list of str
        Names with the same stem and consecutive numbers, in the order of the numbers.
    """
    stems: dict[str, dict[int, str]] = {}
    for name in names:
        if (called := NAMED.fullmatch(name)) is not None:
            stems.setdefault(called["stem"], {})[int(called["number"])] = name
    runs = [[numbered[number] for number in sorted(numbered)] for numbered in stems.values()]
    whole = [sorted(numbered) for numbered in stems.values()]
    return [
        run
        for run, numbers in zip(runs, whole, strict=True)
        if len(run) >= MIN_EMBEDDING_COLUMNS and numbers[-1] - numbers[0] == len(numbers) - 1
    ]


def are_alike(columns: Sequence[Floats]) -> bool:
    """Return whether columns may belong to one embedding: fractions, with similar scales."""
    present = [column[~np.isnan(column)] for column in columns]
    if any(len(values) < 2 or np.array_equal(values, np.rint(values)) for values in present):
        return False
    spread = [float(values.std()) for values in present]
    return min(spread) > 0 and max(spread) <= MAX_SCALE_RATIO * min(spread)


@dataclass(frozen=True)
class Column:
    """A column of a table, and what is done to it.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "category", "date", "time", "text", "boolean", "vector"}
        What it contains.
    used : bool
        Whether it is a feature.
    action : str
        What is done to it, in one sentence.
    note : str
        A remark on it, if there is one; otherwise empty.
    missing : float
        Share of its cells that are missing.
    reading : str
        How text is read: the decimal mark of numbers, with their unit, or the layout of dates; for
        vectors, their length.
    block : str
        The columns with which it is scaled together: "emb_0 to emb_767"; otherwise empty.
    vocabulary : Vocabulary or None
        The terms of free text.
    """

    name: str
    kind: str
    used: bool = True
    action: str = ""
    note: str = ""
    missing: float = 0.0
    reading: str = ""
    block: str = ""
    vocabulary: Vocabulary | None = field(default=None, repr=False)

    @property
    def identifies_rows(self) -> bool:
        """Whether it was set aside because every row has a value of its own."""
        return self.note in (IDENTIFIES, NUMBERS) and self.missing == 0

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain JSON values."""
        return asdict(replace(self, vocabulary=None)) | {
            "vocabulary": None if self.vocabulary is None else len(self.vocabulary)
        }


def describe_columns(
    frame: "pd.DataFrame",
    *,
    target: str | None = None,
    id: str | None = None,
    group: str | None = None,
    chosen: str | None = None,
    exclude: Sequence[str] = (),
    missing: Sequence[str] = (),
    decimal: str | None = None,
) -> list[Column]:
    """Return what every column contains and what will be done to it.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target, id, group : str, optional
        Columns with the labels, the identifiers of rows and the groups of rows; not features.
    chosen : str, optional
        Column that marks chosen labels. Neither it nor the columns that primum writes are features.
    exclude : sequence of str
        Further columns that are not features.
    missing : sequence of str
        Markers of missing cells, in addition to empty ones.
    decimal : {".", ","} or None
        The decimal mark of numbers written as text; None detects it.

    Returns
    -------
    list of Column
        One for each column, in the order of the table.
    """
    roles: dict[str | None, str] = {CHOSEN: MARKS_CHOSEN, KEY_COLUMN: NUMBERS_SHEET}
    roles |= dict.fromkeys(exclude, "You excluded it.")
    roles |= {chosen: MARKS_CHOSEN}
    roles |= {id: "It identifies the rows.", group: "It contains the groups."}
    roles |= {target: IS_TARGET}
    ids = None if id is None else names_of(frame[id], missing)
    mark = decimal or decimal_mark_of(frame, missing)
    kinds = [_kind(frame[name], name, missing, mark) for name in frame.columns]
    if decimal is not None:  # numbers from a file were written with this mark, and may be again
        read = set(frame.select_dtypes("number").columns)
        kinds = [replace(c, reading=decimal) if c.name in read else c for c in kinds]
    kinds = _with_day_or_month_first(kinds, frame, missing)
    columns = [
        _set_aside(column, roles[column.name])
        if column.name in roles
        else _feature(column, frame[column.name], ids, missing)
        for column in kinds
    ]
    return _with_blocks(columns, frame, missing)


def _with_blocks(
    columns: list[Column], frame: "pd.DataFrame", missing: Sequence[str]
) -> list[Column]:
    """Return columns, with the columns of an embedding marked as a block."""
    numbers = {c.name: c for c in columns if c.used and c.kind == "number"}
    blocks: dict[str, str] = {}
    for names in named_blocks(list(numbers)):
        cells = [read_cells(frame[n], "number", numbers[n].reading, missing) for n in names]
        if are_alike(cells):
            blocks |= dict.fromkeys(names, f"{names[0]} to {names[-1]}")
    sizes = Counter(blocks.values())
    return [
        _in_block(c, blocks[c.name], sizes[blocks[c.name]]) if c.name in blocks else c
        for c in columns
    ]


def _in_block(column: Column, block: str, n_columns: int) -> Column:
    return replace(column, block=block, action=_scaled_together(n_columns, column.missing))


def _scaled_together(n_numbers: int, missing: float) -> str:
    filled = f"; {_percent(missing)} missing, filled in with the mean" if missing else ""
    return f"{n_numbers} numbers, scaled together{filled}."


def _set_aside(column: Column, note: str) -> Column:
    return replace(column, used=False, action="Set aside.", note=note)


def _feature(column: Column, values: "pd.Series", ids: Any, missing: Sequence[str]) -> Column:
    """Return a column as a feature, or set aside if it cannot be one."""
    if column.kind == "vector":
        return _vector_feature(column, values, missing)
    cells = read_cells(values, column.kind, column.reading, missing)
    present = _present(cells)
    column = replace(column, missing=(len(cells) - len(present)) / max(len(cells), 1))
    is_id = ids is not None and np.array_equal(names_of(values, missing), ids)
    if reason := _useless(column, present, is_id):
        hint = column.note if column.note.startswith(MOSTLY_NUMBERS) else ""
        return _set_aside(column, f"{reason} {hint}".strip())
    if column.kind == "text":
        vocabulary = find_vocabulary(present.tolist())
        if vocabulary is None:
            return _set_aside(column, NO_TERMS)
        column = replace(column, vocabulary=vocabulary)
    return replace(column, action=_action(column, present))


def _vector_feature(column: Column, values: "pd.Series", missing: Sequence[str]) -> Column:
    """Return a column of vectors as a feature, or set aside if all vectors are equal."""
    cells = vectors_of(values, int(column.reading), missing)
    present = _present(cells)
    column = replace(column, missing=1 - len(present) / len(cells))
    if len({vector.tobytes() for vector in present}) == 1:
        return _set_aside(column, "It has the same value in every row.")
    return replace(column, action=_scaled_together(int(column.reading), column.missing))


def _present(cells: AnyArray) -> AnyArray:
    if cells.dtype == object:
        return cells[is_present(cells)]
    return cells[~np.isnan(cells)]


def _kind(values: "pd.Series", name: str, missing: Sequence[str], decimal: str) -> Column:
    """Return a column with its kind, and a note on cells of another kind."""
    import pandas as pd

    values = usual_type(values)
    types, dtype = pd.api.types, values.dtype
    if types.is_bool_dtype(dtype):
        return Column(name, "boolean")
    if types.is_datetime64_any_dtype(dtype):
        return Column(name, "date", reading=ISO)
    is_real = types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype)
    if is_real or types.is_timedelta64_dtype(dtype):
        return _numeric(Column(name, "number", reading="."), values, missing)
    if isinstance(dtype, pd.CategoricalDtype):
        return Column(name, "category")
    return _kind_of_objects(values, name, missing, decimal)


def _numeric(column: Column, values: "pd.Series", missing: Sequence[str]) -> Column:
    lost = int(np.sum(np.isnan(numbers_of(values, ".", missing)) & ~np.asarray(values.isna())))
    markers = sum(plain_text(cell) in missing for cell in values) if missing and lost else 0
    if lost == markers:
        return column
    return replace(column, note=_odd_cells(lost - markers, "infinite or too large"))


def _kind_of_objects(
    values: "pd.Series", name: str, missing: Sequence[str], decimal: str
) -> Column:
    """Return the kind of a column of objects: text, or a mixture of types."""
    import pandas as pd

    present = _present(objects_of(values, missing))
    if lengths := vector_lengths(present):
        return _vectors(name, present, lengths)
    for cell in present:
        if isinstance(cell, SEVERAL_VALUES):
            return Column(name, "text", note=f"{NOTHING_LEARNT} {type(cell).__name__}.")
    words = {str(cell).lower() for cell in present}
    if len(words) == 2 and any({yes, no} == words for yes, no in zip(TRUE, FALSE, strict=True)):
        return Column(name, "boolean")
    usual = np.array([str(cell).lower() in USUAL_MISSING for cell in present], dtype=bool)
    rest = pd.Series(present[~usual], dtype=object)
    for kind, reading, is_readable in _attempts(rest, decimal):
        strange = rest[~is_readable]
        if len(rest) and (
            np.mean(is_readable) >= MAIN_SHARE or _has_one_text(rest, kind, reading, strange)
        ):
            notes = _notes_on_numbers(rest, reading, decimal) if kind == "number" else []
            notes.append(_other_cells(kind, [*strange, *present[usual]]))
            return Column(name, kind, note=" ".join(filter(None, notes)), reading=reading)
    mixed = len({type(cell) is str for cell in present}) > 1
    note = _mostly_numbers(rest, decimal) or different_units(rest) or _mixed_dates(rest)
    if mixed and not note:
        note = "It mixes numbers and text, and is treated as text."
    return Column(name, "text" if _is_text(present) else "category", note=note)


def _has_one_text(rest: "pd.Series", kind: str, reading: str, strange: "pd.Series") -> bool:
    """Return whether a column has many different numbers, and the same text in all other cells."""
    if kind != "number" or not 1 < len(strange) <= (1 - MOSTLY_SHARE) * len(rest):
        return False
    return bool(repeated_text(strange)) and _has_many_numbers(rest, reading)


def _has_many_numbers(rest: "pd.Series", reading: str) -> bool:
    return len(np.unique(_present(numbers_of(rest, reading)))) > MAX_LEVELS


def _notes_on_numbers(rest: "pd.Series", reading: str, decimal: str) -> list[str]:
    """Return notes on the unit of numbers, and on points that may separate thousands."""
    unit = reading[2:]
    return [
        f"Read as numbers; unit {unit}." if unit else "",
        "" if decimal else doubtful_mark(rest, reading),
    ]


def _mostly_numbers(rest: "pd.Series", decimal: str) -> str:
    """Return a note on text that repeats among many different numbers."""
    _, reading, is_readable = next(_attempts(rest, decimal))
    if not len(rest) or np.mean(is_readable) < MOSTLY_SHARE or not _has_many_numbers(rest, reading):
        return ""
    text, count = Counter(map(str, rest[~is_readable])).most_common(1)[0]
    return f"{MOSTLY_NUMBERS} --missing {text[:30]!r} if that marks missing ones." * (count > 1)


def _vectors(name: str, present: AnyArray, lengths: list[int]) -> Column:
    """Return a column of vectors; those of an unusual length count as missing."""
    (length, count), *others = Counter(lengths).most_common()
    if count < MAIN_SHARE * len(present):
        lengths_too = f"{VARIED}, such as {length} and {others[0][0]}" if others else MIXED
        return Column(name, "text", note=f"{lengths_too}, so nothing is learnt from it.")
    fault = f"no vector{'s' * (count < len(present) - 1)} of {length} numbers"
    note = _odd_cells(len(present) - count, fault) if count < len(present) else ""
    return Column(name, "vector", note=note, reading=str(length))


def _attempts(rest: "pd.Series", decimal: str) -> Iterator[Attempt]:
    """Yield, for every kind, (kind, best reading, mask of the cells that it can read)."""
    marks = marks_by_preference(decimal)
    yield _best_reading(rest, "number", marks)
    if unit := common_unit(rest):
        yield _best_reading(rest, "number", [f"{mark} {unit}" for mark in marks])
    sample = rest.iloc[:50]
    if not np.isnan(hours_of(sample)).all():
        yield "time", "", ~np.isnan(hours_of(rest))
    if not any(LIKE_A_DATE.search(str(cell)) for cell in sample):
        return
    layouts = layouts_of(map(str, sample))
    if likely := [how for how in layouts if not np.isnan(days_of(sample, how)).all()]:
        yield _best_reading(rest, "date", likely)


def layouts_of(cells: Iterable[str]) -> list[str]:
    """Return the layouts that dates may have: with times of day if cells have a colon, or without.

    Examples
    --------
    >>> from primum.tables.columns import layouts_of
    >>> "%m/%d/%Y %I:%M %p" in layouts_of(["1/2/2015 3:04 PM"])
    True
    """
    with_time = {":" in cell for cell in cells}
    timed = [f"{layout}{time}" for time in TIMES for layout in DATES]
    return [ISO, *(DATES if False in with_time else ()), *(timed if True in with_time else ())]


def _mixed_dates(rest: "pd.Series") -> str:
    """Return a note on text of which nearly all is a date, but in more than one layout."""
    if not any(LIKE_A_DATE.search(str(cell)) for cell in rest.iloc[:50]):
        return ""
    layouts = layouts_of(map(str, rest.iloc[:50]))
    readable = {layout: ~np.isnan(days_of(rest, layout)) for layout in layouts}
    most = max(readable.values(), key=np.sum)
    is_date = np.any(list(readable.values()), axis=0)
    if np.mean(is_date) < MAIN_SHARE:
        return ""
    one, other = rest[most].iloc[0], rest[is_date & ~most].iloc[0]
    return (
        f"{MIXED_DATES}, such as {str(one)[:30]!r} and {str(other)[:30]!r}: write all of them like "
        "2015-01-31, and they are read as dates."
    )


def _best_reading(rest: "pd.Series", kind: str, readings: Sequence[str]) -> Attempt:
    """Return (kind, reading, mask of the cells that it can read) for the best reading."""
    readable = {reading: ~np.isnan(read_cells(rest, kind, reading)) for reading in readings}
    best = max(readable, key=lambda reading: readable[reading].sum())
    return kind, best, readable[best]


def _other_cells(kind: str, strange: list[Any]) -> str:
    """Return a note on cells that are not of the kind of their column; empty if there are none."""
    if not strange:
        return ""
    single = len(strange) == 1
    fault = f"not a {kind}" if single else f"not {kind}s"
    all_same = single or len(set(map(str, strange))) == 1
    example = f"{'' if all_same else 'such as '}{str(strange[0])[:30]!r}"
    return _odd_cells(len(strange), f"{fault} ({example})")


def _with_day_or_month_first(
    columns: list[Column], frame: "pd.DataFrame", missing: Sequence[str]
) -> list[Column]:
    """Return columns with a note on dates in which day and month may be confused.

    Such dates are read like those of the other columns, if these show which comes first, and
    otherwise with the day first.
    """
    doubtful, shown = {}, set()
    for column in columns:
        if column.kind == "date" and (other := _swapped(column.reading)):
            own, swapped = (
                np.isnan(days_of(frame[column.name], how, missing)).sum()
                for how in (column.reading, other)
            )
            if own == swapped:
                doubtful[column.name] = other
            else:
                shown.add(column.reading.startswith(DAY_FIRST))
    return [
        _said_which_first(column, doubtful[column.name], shown)
        if column.name in doubtful
        else column
        for column in columns
    ]


def _said_which_first(column: Column, other: str, shown: set[bool]) -> Column:
    """Return a column of doubtful dates with its reading, in the order that others show, if any."""
    first = len(shown) != 1 or True in shown
    reading = column.reading if column.reading.startswith(DAY_FIRST) == first else other
    order = "day/month/year" if first else "month/day/year"
    like = ", like those of other columns" if len(shown) == 1 else ""
    doubt = "" if like else " (month/day/year would fit too: write 2015-01-31 if that is meant)"
    note = f"{column.note} Dates are read as {order}{like}{doubt}.".strip()
    return replace(column, reading=reading, note=note)


def _swapped(reading: str) -> str:
    """Return a layout of dates with day and month exchanged; empty if they cannot be confused."""
    for one, other in zip((*DAY_FIRST, *MONTH_FIRST), (*MONTH_FIRST, *DAY_FIRST), strict=True):
        if reading.startswith(one):
            return reading.replace(one, other, 1)
    return ""


def _odd_cells(count: int, fault: str) -> str:
    if count == 1:
        return f"One cell is {fault} and counts as missing."
    return f"{count} cells are {fault} and count as missing."


def _is_text(present: AnyArray) -> bool:
    if len(present) <= MIN_NUMBERED_ROWS:
        return False
    n_distinct = len(set(present.tolist()))
    if n_distinct > MAX_LEVELS_SHARE * len(present):
        return True
    texts = [cell for cell in present if isinstance(cell, str)]
    return n_distinct > MAX_LEVELS and words_per_cell(texts) >= MIN_SENTENCE_WORDS


def _useless(column: Column, present: AnyArray, is_id: bool) -> str:
    """Return why a column cannot be a feature; empty if it can."""
    if len(present) == 0:
        return "It is empty."
    n_distinct = len(set(present.tolist()))
    if n_distinct == 1 and (column.missing == 0 or column.kind != "category"):
        return "It has the same value in every row."
    if is_id:
        return "It equals the column that identifies the rows."
    if column.kind == "text":
        if column.note.startswith((NOTHING_LEARNT, VARIED, MIXED)):
            return column.note
        why = _why_text(present, n_distinct)
        return column.note if why and column.note.startswith(MIXED_DATES) else why
    if column.kind == "number" and (
        looks_like_identifier(column.name, present) or is_running_number(present)
    ):
        return NUMBERS
    return ""


def _why_text(present: AnyArray, n_distinct: int) -> str:
    if words_per_cell(present.tolist()) >= MIN_TEXT_WORDS:
        return ""
    if np.mean([len(text) for text in present]) > MAX_NAME_CHARACTERS:
        return NO_WORDS
    if n_distinct == len(present):
        return IDENTIFIES
    return "Nearly all of its values are different, so nothing can be learnt from it."


def _action(column: Column, present: AnyArray) -> str:
    """Return what is done to a feature, in one sentence."""
    if column.kind == "category":
        return _levels(len(set(present.tolist())), column.missing)
    if column.kind == "text":
        return _terms(column)
    filling = "most frequent value" if column.kind == "boolean" else "median"
    filled = f"{_percent(column.missing)} missing, filled in with the {filling}"
    parts = [filled] if column.missing else []
    if is_indicated(column):
        parts.append("a further column marks these cells")
    sentence = "; ".join([*parts, ACTIONS[column.kind]])
    return f"{capitalised(sentence)}."


def _levels(n_levels: int, missing: float) -> str:
    absent = f" {_percent(missing)} missing, which is a level of its own." if missing else ""
    if n_levels <= MAX_LEVELS:
        return f"One column for each of {n_levels} levels; levels seen once are grouped.{absent}"
    return (
        f"One column for each of the {MAX_LEVELS - 1} most frequent of {n_levels} levels and one "
        f"for all others.{absent}"
    )


def _terms(column: Column) -> str:
    assert column.vocabulary is not None
    words, groups = (f"{len(terms):,}" for terms in column.vocabulary.terms)
    absent = f"; {_percent(column.missing)} missing, which have no words" if column.missing else ""
    reduced = ""
    if len(column.vocabulary) > MAX_WIDE_COLUMNS:
        reduced = f" Methods that use unlabelled rows receive {SVD_RANK} components of all rows."
    return (
        f"One column for each of {words} words and {groups} groups of 2 or 3 characters, weighted "
        f"by how rare they are{absent}.{reduced}"
    )


def is_indicated(column: Column) -> bool:
    """Return whether a further column marks the missing cells of a feature."""
    alone = column.kind not in ("category", "text", "vector") and not column.block
    return alone and column.missing >= MIN_INDICATED_SHARE


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.01 else "under 1%"
