"""Cells of a table as numbers, days, hours, booleans, text or vectors, whatever people wrote.

A cell that cannot be read as asked counts as missing. All functions take a pandas Series of any
dtype, so that a column is read the same way from CSV, Parquet, a spreadsheet or a DataFrame.
Reading their output again does not change it. Tables of libraries other than pandas, such as
polars, become a DataFrame by the protocols that they share.

The decimal mark of numbers is one property of a table. 12.5 shows a point, 12,5 and 1.250.000 show
a comma; 1.234 shows neither, because it may have three decimals or separate thousands. Such cells
are read with the mark that the other columns show. A column shows a mark if most of its cells are
numbers when read with it, and fewer when read with the other one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from primum._lazy import needed
from primum._typing import AnyArray, Floats, Mask
from primum.reading.targets import MAX_SQUARED

if TYPE_CHECKING:
    import pandas as pd


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:([.,' ])\d{3})(?:\1\d{3})*(?:[.,]\d+)?", re.ASCII)
# Digits in groups of three, with a decimal point; 0,125 is not such a number.
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([,' ])\d{3}(?:\1\d{3})*(?:\.\d+)?", re.ASCII)
# What may stand beside a number: signs of percent and of currencies.
AROUND_NUMBERS = " %€$£"
# Letters or signs of a unit; before a number, only currencies: "Shop 12" is a name.
UNIT = r"(?:[^\W\d_]|[°%€$£¥])(?:[^\W\d_]|[°%€$£¥/.]){0,7}"
CURRENCY = (
    "[€$£¥]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|TRY|BRL|MXN|ZAR|KRW"
)
# No leading zeros, because 007 is a name.
AMOUNT = r"[+-]?(?!0\d)(?:\d[\d.,' ]*\d|\d)"
WITH_UNIT = re.compile(rf"({AMOUNT}) ?({UNIT})"), re.compile(rf"({CURRENCY}) ?({AMOUNT})")
NARROW_SPACES = str.maketrans("\u00a0\u202f\u2009", "   ")
# Markers of missing cells among numbers and dates, in lower case; in text they are names.
USUAL_MISSING = (
    *("", "?", "-", "--", ".", "na", "n/a", "#n/a", "n.a.", "nan", "none", "null", "<na>", "nat"),
    *("missing", "unknown", "#value!", "#ref!", "#div/0!", "#name?", "#num!", "#null!"),
)
TRUE, FALSE = ("true", "yes", "y", "t", "on"), ("false", "no", "n", "f", "off")
SECONDS_PER_DAY, HOURS_PER_DAY = 86400.0, 24  # the latter, 24:00, is a time of day
ISO = "ISO8601"
# A time of day: 13:30, 13:30:05, 1:30 pm.
TIME = re.compile(
    r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?:\s*([ap])\.?m\.?)?", re.ASCII | re.IGNORECASE
)
# A vector that is written as text: [0.12, -0.3].
WRITTEN_VECTOR = re.compile(r"\[[-+0-9.eE,;\s]*\]", re.ASCII)
MARKS = ".,"  # decimal marks
# With this share of numbers, a column counts as numbers with exceptions: fewer than four of five
# may as well be codes.
MOSTLY_SHARE = 0.8
# Cells of a column that are searched for a decimal mark: one among them is enough.
MAX_SAMPLED_CELLS = 1000
MIN_DOUBTFUL = 3  # cells like 1.234, which may mean 1234: fewer are not mentioned
MAX_UNITS = 3  # units of a column, at most: more different letters are not units
# The protocols by which libraries exchange tables.
STREAM, INTERCHANGE = "__arrow_c_stream__", "__dataframe__"


def as_pandas(table: Any) -> Any:
    """Return a table as a pandas DataFrame; anything but a table is returned as it is.

    Parameters
    ----------
    table : object
        A pandas DataFrame, or a table with the Arrow PyCapsule protocol or the dataframe
        interchange protocol: polars, pyarrow, DuckDB and others.

    Returns
    -------
    DataFrame or object
        The table, or what was passed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from primum.tables.cells import as_pandas
    >>> as_pandas(pa.table({"age": [30, None]}))["age"].tolist()
    [30.0, nan]
    """
    if hasattr(table, "iloc") or not (hasattr(table, STREAM) or hasattr(table, INTERCHANGE)):
        return table
    with needed("Tables of other libraries than pandas"):
        import pandas  # noqa: F401
        import pyarrow as pa
        from pyarrow.interchange import from_dataframe
    arrow = pa.table(table) if hasattr(table, STREAM) else from_dataframe(table)
    return arrow.to_pandas(ignore_metadata=True)


def usual_type(values: "pd.Series") -> "pd.Series":
    """Return a column in pandas' own dtype, because Arrow dtypes lack some operations."""
    import pandas as pd

    if isinstance(values.dtype, pd.ArrowDtype):
        return cast("pd.Series", values.array.__arrow_array__().to_pandas())
    if isinstance(values.dtype, pd.PeriodDtype):
        return values.dt.to_timestamp()
    return values


def objects_of(values: "pd.Series", missing: Sequence[str] = ()) -> AnyArray:
    """Return cells as Python objects, text without surrounding spaces, None where missing.

    Missing cells are NaN, None, NaT, pd.NA, empty text, and text or numbers among ``missing``.
    """
    values = usual_type(values)
    raw = values.to_numpy(dtype=object)
    cells = object_array(cell.strip() if isinstance(cell, str) else cell for cell in raw)
    absent = np.array(values.isna(), dtype=bool)
    absent |= np.array([isinstance(cell, str) and cell == "" for cell in cells], dtype=bool)
    if missing:
        absent |= np.array([plain_text(cell) in missing for cell in cells], dtype=bool)
    cells[absent] = None
    return cells


def frame_digests(frame: "pd.DataFrame") -> NDArray[np.uint64]:
    """Return a digest (n_rows,) of every row of a table, which depends on its cells alone."""
    from pandas.util import hash_pandas_object

    # Vectors, and words that were counted, are hashed by their numbers.
    several = [name for name in frame.columns if any(map(_is_several, frame[name]))]
    frame = frame.assign(
        **{
            name: [
                np.asarray(one).tobytes().hex() if _is_several(one) else one for one in frame[name]
            ]
            for name in several
        }
    )
    hashed = hash_pandas_object(frame, index=False, categorize=False)
    return np.asarray(hashed, dtype=np.uint64)


def _is_several(cell: Any) -> bool:
    return isinstance(cell, np.ndarray | list | tuple)


def is_present(cells: Iterable[Any]) -> Mask:
    """Return which cells, or labels, are not None."""
    return np.array([cell is not None for cell in cells], dtype=bool)


def plain_text(cell: Any) -> str:
    """Return a cell as text; a whole number without decimals, because missing cells make 7 7.0."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def read_cells(
    values: "pd.Series", kind: str, reading: str = "", missing: Sequence[str] = ()
) -> AnyArray:
    """Return cells read as a kind, with NaN or, in text, None where missing.

    Parameters
    ----------
    values : Series
        The cells.
    kind : {"number", "date", "time", "boolean", "category", "text"}
        What they are.
    reading : str
        The decimal mark of numbers, with a unit if there is one (", km"), or the layout of dates.
    missing : sequence of str
        Markers of missing cells.

    Returns
    -------
    array of shape (n_cells,)
        Numbers, days, hours, 0 and 1, or text.
    """
    if kind in ("number", "date"):
        return (numbers_of if kind == "number" else days_of)(values, reading, missing)
    return {"time": hours_of, "boolean": booleans_of}.get(kind, names_of)(values, missing)


def numbers_of(values: "pd.Series", reading: str = ".", missing: Sequence[str] = ()) -> Floats:
    """Return cells as numbers; NaN where missing, not a number, infinite or too large.

    Parameters
    ----------
    values : Series
        The cells.
    reading : str
        The decimal mark of numbers written as text; the other mark separates thousands. If a unit
        follows, as in ", km", cells without it are not numbers.
    missing : sequence of str
        Markers of missing cells.

    Returns
    -------
    array of shape (n_cells,)
        The numbers.
    """
    import pandas as pd

    values = usual_type(values)
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        numbers = values.dt.total_seconds().to_numpy(dtype=float) / SECONDS_PER_DAY
    elif pd.api.types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        if markers := [float(text) for text in missing if NUMBER.fullmatch(text)]:
            numbers = np.where(np.isin(numbers, markers), np.nan, numbers)
    else:
        numbers = _each(objects_of(values, missing), lambda cell: number_of(cell, reading))
    return np.where(np.abs(numbers) <= MAX_SQUARED, numbers, np.nan)


def number_of(cell: Any, reading: str) -> float:
    """Return a cell as a number; NaN if it is not one."""
    if isinstance(cell, str):
        return _number_in(cell, reading)
    if isinstance(cell, bool | np.bool_ | int | float | np.number | Decimal):
        return float(cell)
    return np.nan


def _number_in(text: str, reading: str) -> float:
    mark, _, unit = reading.partition(" ")
    text, own_unit = split_unit(text) if unit else (text.translate(NARROW_SPACES), "")
    if same_unit(own_unit) != unit:
        return np.nan
    text = text.strip(AROUND_NUMBERS)
    if mark == ",":  # from here on, the decimal mark is a point
        text = text.translate(str.maketrans(",.", ".,"))
    if GROUPED.fullmatch(text):
        text = re.sub("[,' ]", "", text)
    return float(text) if NUMBER.fullmatch(text) else np.nan


def split_unit(text: str) -> tuple[str, str]:
    """Return a number, as it is written, and its unit, empty if there is none.

    Examples
    --------
    >>> from primum.tables.cells import split_unit
    >>> split_unit("15,9 km"), split_unit("EUR 300"), split_unit("Shop 12")
    (('15,9', 'km'), ('300', 'EUR'), ('Shop 12', ''))
    """
    text = text.translate(NARROW_SPACES).strip()
    after, before = (pattern.fullmatch(text) for pattern in WITH_UNIT)
    if after is not None:
        return after[1], after[2]
    return (text, "") if before is None else (before[2], before[1])


def same_unit(unit: str) -> str:
    """Return a unit in the form that is compared: "days" and "days." become "day"."""
    unit = unit.rstrip(".")
    return unit.removesuffix("s") if len(unit) > 3 else unit


def other_mark(reading: str) -> str:
    """Return the reading of numbers with the other decimal mark, in the same unit."""
    return f"{'.' if reading.startswith(',') else ','}{reading[1:]}"


def readings_of_numbers(reading: str) -> list[str]:
    """Return the readings of numbers to try: with either decimal mark, with and without a unit."""
    return list(dict.fromkeys([reading, other_mark(reading), reading[:1], other_mark(reading)[:1]]))


def days_of(values: "pd.Series", layout: str = ISO, missing: Sequence[str] = ()) -> Floats:
    """Return dates as days since 1970, with fractions; NaN where missing or not a date.

    Parameters
    ----------
    values : Series
        The cells: dates, or text.
    layout : str
        How text is written, as in ``pandas.to_datetime``.
    missing : sequence of str
        Markers of missing cells.

    Returns
    -------
    array of shape (n_cells,)
        The days.
    """
    import pandas as pd

    values = usual_type(values)
    if pd.api.types.is_numeric_dtype(values.dtype):  # read before
        return values.to_numpy(dtype=float, na_value=np.nan)
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return _days(values)
    cells = objects_of(values, missing)
    days = np.full(len(cells), np.nan)
    for kind, style in ((str, layout), (date, ISO)):
        of_kind = np.array([isinstance(cell, kind) for cell in cells], dtype=bool)
        text = pd.Series([str(cell) for cell in cells[of_kind]], dtype=object)
        days[of_kind] = _days(pd.to_datetime(text, format=style, errors="coerce", utc=True))
    return days


def _days(dates: "pd.Series") -> Floats:
    """Return days since 1970; in microseconds, because nanoseconds end in the year 2262."""
    moments = dates.to_numpy(dtype="datetime64[us]")
    days = moments.astype(np.int64) / (1e6 * SECONDS_PER_DAY)
    return np.where(np.isnat(moments), np.nan, days)


def hours_of(values: "pd.Series", missing: Sequence[str] = ()) -> Floats:
    """Return times of day as hours since midnight; NaN where missing or not a time."""
    import pandas as pd

    values = usual_type(values)
    if pd.api.types.is_numeric_dtype(values.dtype):  # was read already
        return values.to_numpy(dtype=float, na_value=np.nan)
    return _each(objects_of(values, missing), _hours)


def _hours(cell: Any) -> float:
    if isinstance(cell, time):
        return cell.hour + cell.minute / 60 + (cell.second + cell.microsecond / 1e6) / 3600
    text = cell.translate(NARROW_SPACES) if isinstance(cell, str) else ""
    written = TIME.fullmatch(text)
    if written is None:
        return np.nan
    hour, minute, second, half = written.groups()
    hours = int(hour) + int(minute) / 60 + float(second or 0) / 3600
    if half is None:
        return hours if hours <= HOURS_PER_DAY else np.nan
    return hours % 12 + 12 * (half.lower() == "p") if 1 <= hours < 13 else np.nan


def booleans_of(values: "pd.Series", missing: Sequence[str] = ()) -> Floats:
    """Return booleans as 1 and 0; NaN where missing or neither."""
    return _each(objects_of(values, missing), _boolean)


def _boolean(cell: Any) -> float:
    if isinstance(cell, bool | np.bool_ | int | float | np.number):
        return float(cell) if cell in (0, 1) else np.nan
    word = cell.lower() if isinstance(cell, str) else ""
    return 1.0 if word in TRUE else 0.0 if word in FALSE else np.nan


def names_of(values: "pd.Series", missing: Sequence[str] = ()) -> AnyArray:
    """Return cells as text, None where missing."""
    return _each(objects_of(values, missing), plain_text, dtype=object)


def _each(cells: AnyArray, read: Callable[[Any], Any], dtype: Any = float) -> AnyArray:
    """Return what a function reads in every cell; missing cells stay missing."""
    absent = None if dtype is object else np.nan
    return np.fromiter((absent if cell is None else read(cell) for cell in cells), dtype)


def vector_of(cell: Any) -> Floats | None:
    """Return a cell as a vector; None if it is not one, or has a number that is not finite."""
    if isinstance(cell, str):
        if not WRITTEN_VECTOR.fullmatch(cell.strip()):
            return None
        cell = re.split(r"[,;\s]+", cell.strip()[1:-1].strip())
    if not isinstance(cell, list | tuple | np.ndarray):
        return None
    try:
        vector = np.asarray(cell, dtype=float)
    except (TypeError, ValueError):
        return None
    is_vector = vector.ndim == 1 and len(vector) > 1 and bool(np.all(np.abs(vector) <= MAX_SQUARED))
    return vector if is_vector else None


def vector_lengths(cells: AnyArray) -> list[int]:
    """Return the length of every cell that is a vector."""
    vectors = (vector_of(cell) for cell in cells)
    return [len(vector) for vector in vectors if vector is not None]


def vectors_of(values: "pd.Series", length: int, missing: Sequence[str] = ()) -> AnyArray:
    """Return cells as vectors of a given length, None where missing or something else."""
    read = (None if cell is None else vector_of(cell) for cell in objects_of(values, missing))
    return object_array(v if v is not None and len(v) == length else None for v in read)


def as_matrix(vectors: AnyArray, length: int) -> Floats:
    """Return vectors as the rows of a matrix, filled with NaN where missing."""
    absent = np.full(length, np.nan)
    rows = [absent if vector is None else vector for vector in vectors]
    return np.array(rows).reshape(len(rows), length)


def object_array(cells: Iterable[Any]) -> AnyArray:
    """Return cells as an array of objects, even if they are sequences."""
    return np.fromiter(cells, dtype=object)


def marks_by_preference(decimal: str | None) -> str:
    """Return both decimal marks, the table's first, by default the point."""
    return ",." if decimal == "," else MARKS


def decimal_mark_of(frame: "pd.DataFrame", missing: Sequence[str] = ()) -> str:
    """Return the decimal mark that the text of a table shows; empty if none, or both.

    Parameters
    ----------
    frame : DataFrame
        The table.
    missing : sequence of str
        Markers of missing cells.

    Returns
    -------
    {".", ",", ""}
        The mark.

    Examples
    --------
    >>> import pandas as pd
    >>> from primum.tables.cells import decimal_mark_of
    >>> decimal_mark_of(pd.DataFrame({"area": ["119,6", "80,5"], "price": ["277.500", "90.000"]}))
    ','
    """
    columns = (usual_type(frame[name]) for name in frame.columns)
    texts = (column for column in columns if getattr(column.dtype, "kind", "O") == "O")
    return only_mark(mark_shown(objects_of(sampled_cells(text), missing)) for text in texts)


def sampled_cells(values: Any) -> Any:
    """Return evenly spaced cells of a column."""
    return values[:: max(1, len(values) // MAX_SAMPLED_CELLS)]


def only_mark(marks: Iterable[str], if_both: str = "") -> str:
    """Return the decimal mark that columns show, if any; ``if_both`` if they differ."""
    shown = set(marks) - {""}
    return if_both if len(shown) > 1 else "".join(shown)


def mark_shown(cells: Iterable[Any]) -> str:
    """Return the decimal mark that the cells of a column show; empty if none."""
    texts = [c for c in cells if isinstance(c, str) and c.lower() not in USUAL_MISSING]
    if not any(mark in text for text in texts for mark in MARKS):
        return ""
    bare = [split_unit(text)[0] for text in texts]
    counts = {m: int(np.sum([not np.isnan(number_of(t, m)) for t in bare])) for m in MARKS}
    best = max(counts, key=lambda mark: counts[mark])
    shows = counts[best] >= MOSTLY_SHARE * len(texts) and counts["."] != counts[","]
    return best if shows else ""


def doubtful_mark(cells: "pd.Series", reading: str) -> str:
    """Return a sentence on cells such as 1.234, if nothing shows what their points mean."""
    if reading.startswith(","):
        return ""
    read, other = (numbers_of(cells, how) for how in (reading, other_mark(reading)))
    doubtful = np.flatnonzero(np.abs(read) < np.abs(other))
    if len(doubtful) < MIN_DOUBTFUL or np.isnan(read).sum() < np.isnan(other).sum():
        return ""
    first = doubtful[0]
    return (
        f"Cells such as {str(cells.iloc[first])[:30]!r} are read as {read[first]:g}: if the point "
        "separates thousands, pass --decimal ',' (decimal=',')."
    )


def common_unit(cells: Iterable[Any]) -> str:
    """Return the unit that at least 80% of the cells have; empty if none does."""
    units, n_cells = _units(cells)
    unit, count = units.most_common(1)[0] if units else ("", 0)
    return unit if count >= MOSTLY_SHARE * n_cells else ""


def different_units(cells: Iterable[Any], noun: str = "Its numbers") -> str:
    """Return a sentence on numbers with several units; empty if there is only one."""
    units, n_cells = _units(cells)
    if not 1 < len(units) <= MAX_UNITS or units.total() < MOSTLY_SHARE * n_cells:
        return ""
    examples = " and ".join(repr(unit) for unit, _ in units.most_common(2))
    return (
        f"{noun} have different units, such as {examples}, and are treated as text: write them in "
        "one unit."
    )


def _units(cells: Iterable[Any]) -> tuple[Counter[str], int]:
    """Return how often every unit occurs, and the number of cells.

    Signs such as % and € are left out, because numbers are always read with them.
    """
    texts = list(cells)
    if not any(_unit(text) for text in texts[:50]):
        return Counter(), len(texts)
    return Counter(unit for unit in map(_unit, texts) if unit), len(texts)


def _unit(cell: Any) -> str:
    unit = split_unit(cell)[1] if isinstance(cell, str) else ""
    return same_unit(unit).strip(AROUND_NUMBERS)


def repeated_text(strange: Iterable[Any]) -> str:
    """Return the text that all given cells share, if it has no digit; otherwise empty."""
    texts = {str(cell) for cell in strange}
    text = texts.pop() if len(texts) == 1 else ""
    return "" if any(map(str.isdigit, text)) else text
