"""The sheet that people fill in: the rows to label, in their stored order, and their labels.

Its columns are the key of every row (``primum_row``: r1, r2, ...), the target, which is empty, a
mark that these rows were chosen (``primum_chosen``), the id, and the other columns as they are
written in the table.

Cells of a table are data, never formulas. A spreadsheet takes text in a CSV file that begins with
=, +, - or @, or with a full-width form of these, for a formula, so such text gets an apostrophe in
front; in a spreadsheet it is text by type. Text that no spreadsheet can hold is cut.

``read_filled`` finds the rows again, whatever a spreadsheet has done to the sheet. Every row with a
label is looked up among the rows that were asked for: by its key; without a key, by its id; without
either, by its other cells, if only one row has these. Every comparison has the keys r1, r2, ..., so
a key alone proves little: as far as the file has more of the sheet, the row's id must be alike, or
else the mark of the comparison the same, and at least half of its cells alike. Formats of numbers
and dates may have changed: 007 to 7, 100123 to 1.00E+05, 2024-03-01 to 01.03.2024. So two cells are
alike if they are the same text, apart from characters that an encoding lacks, the same number up to
the digits that are shown, or possibly the same day. A row that cannot be found, or could be two, is
refused with its line, because a label on a wrong row would make an answer wrong without anybody
noticing.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._files import replacing, write_file
from primum._typing import PlainRecord
from primum._words import listed
from primum.judging.named_labels import CANNOT_SAY, CANNOT_SAY_CELL, KEY_COLUMN, read_class
from primum.tables.cells import NUMBER, days_of, number_of, plain_text
from primum.tables.columns import LIKE_A_DATE, layouts_of
from primum.tables.files import TableFile, TableFormat, open_table, table_kind, write_spreadsheet
from primum.tables.labels import CHOSEN

if TYPE_CHECKING:
    import pandas as pd


# What the column that marks chosen rows contains.
YES = "yes"
SPREADSHEET = ".xlsx"
# The most characters that a cell of a spreadsheet can have; programs drop the rest.
MAX_CELL_CHARACTERS = 32_767
# Text that a spreadsheet could take for a formula, and such text after an apostrophe. Spreadsheets
# in East Asian languages read full-width signs like the usual ones.
FORMULA = re.compile(r"'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20].", re.DOTALL)
GUARDED = re.compile(r"'+[=+\-@\t\r\uff1d\uff0b\uff0d\uff20].", re.DOTALL)


@dataclass(frozen=True)
class Sheet(PlainRecord):
    """The rows to label.

    Attributes
    ----------
    header : tuple of str
        Names of the columns; the first is ``KEY_COLUMN``.
    rows : tuple of tuple
        Cells, the target empty.
    target : str
        The column to be filled.
    id_name : str or None
        The column with the ids.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    target: str
    id_name: str | None = None

    @property
    def keys(self) -> list[str]:
        """The keys of the rows."""
        return [str(row[0]) for row in self.rows]

    @property
    def texts(self) -> list[list[str]]:
        """The cells as text."""
        return [[cell_text(cell) for cell in row] for row in self.rows]

    @property
    def shown(self) -> list[int]:
        """Places of the columns that help a person to label."""
        added = (KEY_COLUMN, CHOSEN, self.target)
        return [place for place, name in enumerate(self.header) if name not in added]

    def to_dict(self) -> dict[str, Any]:
        """Return the sheet as plain JSON values."""
        return super().to_dict() | {"rows": self.texts}


def sheet_of(
    cells: "pd.DataFrame",
    keys: Sequence[str],
    target: str,
    id_name: str | None = None,
    mark: str = YES,
) -> Sheet:
    """Return the sheet of the rows to label.

    Parameters
    ----------
    cells : DataFrame
        The rows of the table to label, in the stored order.
    keys : sequence of str
        Their keys.
    target : str
        The column with the labels.
    id_name : str, optional
        The column with the ids.
    mark : str, default="yes"
        What the column that marks chosen rows contains, such as "yes 3f2a9c": the digits tell
        sheets of different comparisons apart.

    Returns
    -------
    Sheet
        The sheet.

    Examples
    --------
    >>> import pandas as pd
    >>> from primum.tables.sheets import sheet_of
    >>> rows = pd.DataFrame({"age": [31, 47], "churn": [None, None], "id": ["007", "012"]})
    >>> sheet_of(rows, ["r1", "r2"], "churn", "id").header
    ('primum_row', 'churn', 'primum_chosen', 'id', 'age')
    """
    added = (KEY_COLUMN, target, CHOSEN)
    first = [] if id_name is None or id_name not in cells.columns else [id_name]
    others = [str(name) for name in cells.columns if name not in (*added, *first)]
    columns = cells[[*first, *others]].to_numpy(dtype=object).tolist()
    rows = tuple((key, "", mark, *map(_plain, row)) for key, row in zip(keys, columns, strict=True))
    return Sheet((*added, *first, *others), rows, target, first[0] if first else None)


def _plain(cell: Any) -> Any:
    """Return a cell that every kind of file can hold: missing ones are empty, long ones cut."""
    if cell is None or cell != cell:
        return ""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(cell, datetime):  # a spreadsheet has no time zones
        return cell.replace(tzinfo=None, microsecond=0)
    if isinstance(cell, bool | int | float):
        return cell
    text = cell if isinstance(cell, str) else cell_text(cell)
    # One character is left for the apostrophe of ``guarded``.
    return text if len(text) < MAX_CELL_CHARACTERS else f"{text[: MAX_CELL_CHARACTERS - 2]}…"


def cell_text(cell: Any) -> str:
    """Return a cell as text; a datetime at midnight is written as a date.

    Parameters
    ----------
    cell : object
        The cell.

    Returns
    -------
    str
        The text; empty for a missing cell.
    """
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    return plain_text(cell).strip()


def guarded(text: str) -> str:
    """Return text that no spreadsheet takes for a formula; numbers and single signs are kept.

    Parameters
    ----------
    text : str
        A cell.

    Returns
    -------
    str
        The text, after an apostrophe if it could be a formula.

    Examples
    --------
    >>> from primum.tables.sheets import guarded
    >>> guarded("=1+1"), guarded("-1.5"), guarded("-")
    ("'=1+1", '-1.5', '-')
    """
    number = NUMBER.fullmatch(text.strip().replace(",", "."))
    return f"'{text}" if FORMULA.match(text) and not number else text


def unguarded(text: str) -> str:
    """Return text without the apostrophe that ``guarded`` has added."""
    return text[1:] if GUARDED.match(text) else text


def write_sheet(path: Path, sheet: Sheet, separator: str = ",") -> None:
    """Write a sheet; the file appears only once it is complete.

    Parameters
    ----------
    path : Path
        A CSV file or, by its suffix .xlsx, a spreadsheet.
    sheet : Sheet
        The rows to label.
    separator : str, default=","
        The character between the fields of a CSV file.
    """
    if path.suffix.lower() == SPREADSHEET:
        rows = ([None if cell == "" else cell for cell in row] for row in sheet.rows)
        with replacing(path) as file:
            write_spreadsheet(file, [sheet.header, *rows], "the rows to label")
        return
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\r\n").writerows(_lines(sheet))
    write_file(path, text.getvalue().encode("utf-8-sig"))  # Excel recognises UTF-8 by the mark


def _lines(sheet: Sheet) -> Iterator[list[str]]:
    """Yield the header and the rows as text that is no formula."""
    for row in [list(sheet.header), *sheet.texts]:
        yield [guarded(text) for text in row]


# What ``primum_chosen`` contains, with the digits of a comparison.
MARK = re.compile(r"yes [0-9a-f]{6}", re.IGNORECASE)
KEY = re.compile(r"r\s*0*(\d+)", re.IGNORECASE | re.ASCII)
# What people write where nobody can decide, in lower case.
UNDECIDED_WORDS = (CANNOT_SAY_CELL, "cannot say", "can't say")
# The encoding in which Excel on Windows writes CSV; it has a character for almost every byte.
WINDOWS = "cp1252"
# Characters that count as two in Excel.
BEYOND_16_BITS = re.compile(r"[\U00010000-\U0010ffff]")
# Spreadsheets keep 15 digits of a number.
SPREADSHEET_ROUNDING = 1e-14
COPY_KEY = f"copy its {KEY_COLUMN} (r1, r2, ...) from the sheet as it was written"
SORTED = (
    "if columns were sorted or moved on their own, take the sheet as it was written and fill it in "
    "again"
)
NOT_ASKED = (
    "this row is not the one asked for: the sheet seems to belong to another comparison, or a "
    "column was sorted on its own; take the sheet as it was written"
)


def read_filled(
    path: str | Path, sheet: Sheet, classes: Sequence[str], table_format: TableFormat | None = None
) -> dict[str, str]:
    """Return the labels in a sheet that has been filled in, wholly or partly.

    Parameters
    ----------
    path : path
        The sheet: a CSV file or a spreadsheet.
    sheet : Sheet
        The sheet as it was written.
    classes : sequence of str
        The classes as they are written in the table.
    table_format : TableFormat, optional
        How the file is written; what it leaves open is detected.

    Returns
    -------
    dict of str to str
        Classes as they are written in the table, or "?", by the key of the row.
    """
    path = Path(path)
    if path.exists() and table_kind(path) == "Parquet":
        raise ValueError(f"{path} is not a sheet: pass a CSV file or a spreadsheet.")
    table, rows = _opened(path, table_format or TableFormat())
    columns = _columns(table, sheet)
    unit = "line" if table.is_text else "row"
    finder = _Finder(sheet, columns, [cells for _, cells in rows])
    label_and_line: dict[str, tuple[str, int]] = {}
    for line, cells in rows:
        where = f"{path}, {unit} {line}"
        label = _label(cells[columns[sheet.target]], classes, where)
        if label is None:
            continue
        key = finder.key_of(cells, where)
        other, at = label_and_line.setdefault(key, (label, line))
        if other != label:
            raise ValueError(
                f"{where}, has the label {label!r} for the row {key}, but {unit} {at} has "
                f"{other!r}: keep one of them."
            )
    return {key: label for key, (label, _) in label_and_line.items()}


def _opened(path: Path, table_format: TableFormat) -> tuple[TableFile, list[tuple[int, list[str]]]]:
    """Return a file and its non-empty rows as text."""
    try:
        table = open_table(path, table_format)
        rows = list(table.numbered())
    except ValueError as problem:
        undecodable = isinstance(problem.__cause__, UnicodeError)
        if not undecodable or table_format.encoding != TableFormat().encoding:
            raise
        return _opened(path, replace(table_format, encoding=WINDOWS))
    texts = ((line, [cell_text(cell) for cell in row]) for line, row in rows)
    return table, [(line, cells) for line, cells in texts if any(cells)]


def _columns(table: TableFile, sheet: Sheet) -> dict[str, int]:
    """Return the places of the sheet's columns in a file, by their names in the sheet."""
    exact = {name: place for place, name in enumerate(table.columns)}
    loose: dict[str, list[int]] = {}
    for place, name in enumerate(table.columns):
        loose.setdefault(_folded(name), []).append(place)
    places = {}
    for name in sheet.header:
        alike = loose.get(_folded(name), [])
        if name in exact or len(alike) == 1:
            places[name] = exact.get(name, alike[0])
    if sheet.target not in places:
        raise ValueError(
            f"{table.path} has no column {sheet.target!r} for the labels, only "
            f"{listed([repr(name) for name in table.columns])}: give the column with the labels "
            "this name."
        )
    return places | _renamed_key(table, sheet, places)


def _renamed_key(table: TableFile, sheet: Sheet, places: Mapping[str, int]) -> dict[str, int]:
    """Return the place of the keys if their column was renamed: it contains nothing but keys."""
    if KEY_COLUMN in places:
        return {}
    keys, rows = set(sheet.keys), [list(map(cell_text, row)) for _, row in table.numbered()]
    for place in sorted(set(range(len(table.columns))) - set(places.values())):
        cells = [row[place] for row in rows if row[place]]
        if cells and all(_key(cell) in keys for cell in cells):
            return {KEY_COLUMN: place}
    return {}


def _label(cell: str, classes: Sequence[str], where: str) -> str | None:
    """Return the class in a cell as it is written in the table, "?", or None if it is empty."""
    if cell not in classes:
        cell = unguarded(cell)
    if cell == "":
        return None
    if cell not in classes and cell.casefold() in UNDECIDED_WORDS:
        return CANNOT_SAY_CELL
    if cell not in classes and NUMBER.fullmatch(cell.replace(",", ".")):
        cell = cell.replace(",", ".")
    try:
        code = read_class(cell, classes)
    except ValueError as problem:
        raise ValueError(f"{where}: {problem}") from problem
    return CANNOT_SAY_CELL if code == CANNOT_SAY else classes[code]


def _key(cell: str) -> str | None:
    """Return a key as it was written, or None if a cell does not contain one."""
    written = KEY.fullmatch(cell)
    return None if written is None else f"r{written[1]}"


class _Finder:
    """Matches the rows of a file with those of the sheet as it was written."""

    def __init__(
        self, sheet: Sheet, columns: Mapping[str, int], rows: Sequence[Sequence[str]]
    ) -> None:
        self.keys, self.texts = sheet.keys, sheet.texts
        self.places = {key: place for place, key in enumerate(self.keys)}
        self.key = columns.get(KEY_COLUMN)
        added = (KEY_COLUMN, sheet.target, CHOSEN)
        header = {name: place for place, name in enumerate(sheet.header)}
        # Pairs of the place of a column in the sheet and in the file.
        self.common = [
            (header[n], columns[n]) for n in sheet.header if n in columns and n not in added
        ]
        self.mark = (header[CHOSEN], columns[CHOSEN]) if CHOSEN in columns else None
        name = sheet.id_name
        self.id = (header[name], columns[name]) if name is not None and name in columns else None

    def key_of(self, cells: Sequence[str], where: str) -> str:
        """Return the key of a row; raise an error if it cannot be found."""
        if self.key is not None and cells[self.key]:
            return self._by_key(cells, where)
        if self.id is not None and cells[self.id[1]]:
            alike = self._by_id(cells[self.id[1]])
            if len(alike) == 1:
                return self.keys[alike[0]]
        among = self._by_cells(cells)
        if len(among) == 1:
            return self.keys[among[0]]
        raise ValueError(f"{where}, {self._unknown(cells, len(among))}: {COPY_KEY}.")

    def _unknown(self, cells: Sequence[str], n_alike: int) -> str:
        """Return why a row is not found, as part of a sentence."""
        no_id = self.id is None or not cells[self.id[1]]
        names = f"no {KEY_COLUMN}" if no_id else f"no {KEY_COLUMN} and an id that does not help"
        if n_alike == 0:
            return f"has {names}, and its cells are not those of a row that was asked for"
        return f"has {names}, and its cells are those of {n_alike} rows that were asked for"

    def _by_key(self, cells: Sequence[str], where: str) -> str:
        assert self.key is not None
        key = _key(cells[self.key])
        if key not in self.places:
            raise ValueError(
                f"{where}, has the {KEY_COLUMN} {cells[self.key]!r}, which was not asked for: "
                f"{COPY_KEY}, or delete the {where.rpartition(' ')[0].rpartition(', ')[2]}."
            )
        if problem := self._not_asked(self.places[key], cells):
            raise ValueError(f"{where}, has the {KEY_COLUMN} {key}, but {problem}.")
        return key

    def _not_asked(self, place: int, cells: Sequence[str]) -> str | None:
        """Return why a row does not belong to its key, as part of a sentence; None if it does."""
        if not self._id_in(cells) and self._is_marked_otherwise(place, cells):
            return f"the mark of another comparison, so {NOT_ASKED}"
        n_alike = self._n_alike(place, cells)
        if n_alike == len(self.common) and self._has_id_of(place, cells):
            return None
        others = [other for other in self._by_cells(cells) if other != place]
        if others:
            return f"its other cells are those of {self.keys[others[0]]}: {SORTED}"
        if not self._has_id_of(place, cells):
            return f"its id is {self._id_in(cells)!r}, so {NOT_ASKED}"
        return None if n_alike * 2 >= len(self.common) else f"other cells, so {NOT_ASKED}"

    def _is_marked_otherwise(self, place: int, cells: Sequence[str]) -> bool:
        """Return whether a row has the mark of another comparison."""
        if self.mark is None:
            return False
        mark, written = self.texts[place][self.mark[0]], cells[self.mark[1]]
        return MARK.fullmatch(written) is not None and written.casefold() != mark

    def _id_in(self, cells: Sequence[str]) -> str:
        return "" if self.id is None else cells[self.id[1]]

    def _has_id_of(self, place: int, cells: Sequence[str]) -> bool:
        """Return whether cells may have the id of a row: alike, and not equal to another row's."""
        written = self._id_in(cells)
        if self.id is None or not written or not self.texts[place][self.id[0]]:
            return True
        same = self._same_id.get(written)
        return alike(written, self.texts[place][self.id[0]]) if same is None else place in same

    def _n_alike(self, place: int, cells: Sequence[str]) -> int:
        return sum(alike(cells[file], self.texts[place][sheet]) for sheet, file in self.common)

    def _by_id(self, cell: str) -> list[int]:
        """Return the rows with an id: those with the same text, or else all alike."""
        assert self.id is not None
        same = self._same_id.get(cell, [])
        if same:
            return same
        return [i for i, row in enumerate(self.texts) if alike(cell, row[self.id[0]])]

    @cached_property
    def _same_id(self) -> dict[str, list[int]]:
        assert self.id is not None
        places: dict[str, list[int]] = {}
        for place, row in enumerate(self.texts):
            places.setdefault(row[self.id[0]], []).append(place)
        return places

    def _by_cells(self, cells: Sequence[str]) -> list[int]:
        """Return the rows whose cells are all equal, or else all alike; none without cells."""
        possible = self._same_cells.get(tuple(cells[file] for _, file in self.common), [])
        if possible or not self.common:
            return possible
        possible = list(range(len(self.texts)))
        for sheet, file in self.common:
            possible = [i for i in possible if alike(cells[file], self.texts[i][sheet])]
        return possible

    @cached_property
    def _same_cells(self) -> dict[tuple[str, ...], list[int]]:
        places: dict[tuple[str, ...], list[int]] = {}
        if self.common:
            for place, row in enumerate(self.texts):
                places.setdefault(tuple(row[sheet] for sheet, _ in self.common), []).append(place)
        return places


def alike(written: str, original: str) -> bool:
    """Return whether a cell may be another cell after a spreadsheet has reformatted it.

    Parameters
    ----------
    written : str
        The cell as it is now.
    original : str
        The cell as it was.

    Returns
    -------
    bool
        Whether both are the same text, number or day.

    Examples
    --------
    >>> from primum.tables.sheets import alike
    >>> alike("7", "007"), alike("1.00E+05", "100123"), alike("01.03.2024", "2024-03-01")
    (True, True, True)
    >>> alike("8", "007"), alike("A", "B")
    (False, False)
    """
    if written == original or _folded(written) == _folded(original):
        return True
    if not (written and original):
        return False
    if "?" in written and _replaced(written) == _replaced(original):
        return True
    now, before = _numbers(written), _numbers(original)
    if now and before:
        return any(
            abs(a - b) <= max(step, SPREADSHEET_ROUNDING * abs(b))
            for a, step in now
            for b, _ in before
        )
    return bool(_days(written) & _days(original))


def _folded(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split()).lstrip("'").casefold()


def _replaced(text: str) -> str:
    """Return text as a spreadsheet saves it in the encoding of Windows, with "?" for the rest."""
    halves = BEYOND_16_BITS.sub("??", _folded(text))
    return halves.encode(WINDOWS, "replace").decode(WINDOWS)


@lru_cache(maxsize=2**16)
def _numbers(text: str) -> tuple[tuple[float, float], ...]:
    """Return the numbers that a cell may be, by either decimal mark, with half their last digit."""
    numbers = []
    for mark in ".,":
        number = number_of(text, mark)
        if np.isfinite(number):
            mantissa, _, exponent = text.lower().partition("e")
            decimals = len(re.sub(r"\D", "", mantissa.rpartition(mark)[2])) if mark in text else 0
            power = int(exponent) if re.fullmatch(r"[+-]?\d+", exponent) else 0
            numbers.append((number, 0.5 * 10.0 ** (min(power, 300) - decimals)))
    return tuple(numbers)


@lru_cache(maxsize=2**16)
def _days(text: str) -> frozenset[float]:
    """Return the days that a cell may be, by any layout of dates."""
    if not LIKE_A_DATE.search(text):
        return frozenset()
    import pandas as pd

    cell = pd.Series([text], dtype=object)
    days = (float(days_of(cell, layout)[0]) for layout in layouts_of([text]))
    return frozenset(float(np.floor(day)) for day in days if not np.isnan(day))
