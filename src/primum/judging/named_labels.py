"""Labels as people give them: by the name of a row, with cells as spreadsheets leave them.

A row has up to three names: its key ("r17", its place in the stored order), its id, and its
position in the table. All names of one set of labels are read in the same way. If two ways are
possible and mean different rows, asked for or not, the labels are refused, because a label on the
wrong row would void the guarantee without anybody noticing.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from primum._words import listed

# The code of a row that nobody can decide, and how people write it.
CANNOT_SAY, CANNOT_SAY_CELL = -1, "?"
# Columns of a sheet: the keys of its rows, and the labels if the target has no name.
KEY_COLUMN, LABEL_COLUMN = "primum_row", "label"
# What keys look like, and ids that may be taken for positions.
KEY, INTEGER = re.compile(r"r\d+"), re.compile(r"\d+")
# How missing values are printed.
MISSING = ("None", "nan", "<NA>", "NaT")
# Known labels by name: positions are numbers, ids are texts.
KnownCodes = Mapping[int | str | None, int]


@dataclass(frozen=True)
class RowNames:
    """The names of the rows to label.

    Attributes
    ----------
    keys : sequence of str
        Keys, by place in the stored order.
    positions : sequence of int
        Positions in the table.
    ids : sequence of str or None
        Ids as written in the table, if it has any.
    id_name : str or None
        The name of the column of ids. Ids without a column come from an index that names the rows
        of the table; then positions are not names.
    """

    keys: Sequence[str]
    positions: Sequence[int]
    ids: Sequence[str] | None = None
    id_name: str | None = None

    @property
    def places(self) -> "dict[str, dict[Any, int]]":
        """The places in the order by name, for every kind of name."""
        kinds: dict[str, Sequence[Any]] = {"keys": self.keys}
        if self.ids is None or self.id_name is not None:
            kinds["positions"] = self.positions
        if self.ids is not None:
            kinds["ids"] = [as_written(name) for name in self.ids]
        return {kind: {name: i for i, name in enumerate(of)} for kind, of in kinds.items()}


def read_named_labels(
    labels: Any,
    names: RowNames,
    classes: Sequence[str],
    *,
    target: str | None = None,
    known: KnownCodes | None = None,
) -> tuple[dict[int, int], list[str]]:
    """Return labels by the places of their rows, and sentences on what does not count.

    Parameters
    ----------
    labels : mapping, Series or DataFrame
        Labels by name of the row, or a table with the keys or ids of its rows in a column and their
        labels in the target's, or with positions in its index. Empty cells are no labels, "?" is a
        row that nobody can decide.
    names : RowNames
        Of the rows that were asked for.
    classes : sequence of str
        The classes as they are written.
    target : str, optional
        The column with the labels; otherwise "label".
    known : mapping of position or id to class code, optional
        The labels of other rows. Repeated, they do not count; different ones are refused.

    Returns
    -------
    labels : dict of int to int
        Class codes, or ``CANNOT_SAY``, by place in the order.
    notes : list of str
        What was not counted, and why.
    """
    column = LABEL_COLUMN if target is None else target
    kinds, cells = _named_cells(labels, names, column)
    filled = [(name, cell) for name, cell in cells if not _is_blank(cell, classes)]
    codes = [(name, read_class(cell, classes, name)) for name, cell in filled]
    kind = _kind_of_names([name for name, _ in codes], names, known or {}, kinds)
    return _placed(codes, kind, names, known or {}, classes)


def _named_cells(
    labels: Any, names: RowNames, column: str
) -> tuple[Sequence[str], list[tuple[Any, Any]]]:
    """Return the kinds of names that there can be, and pairs of a name and a cell."""
    columns = getattr(labels, "columns", None)
    if columns is None:
        if not hasattr(labels, "items"):
            raise TypeError(
                "Pass labels by row, as a mapping, a Series or the DataFrame of rows to label with "
                f"its label column filled, got {type(labels).__name__}."
            )
        return list(names.places), list(labels.items())
    if column not in columns:
        raise ValueError(
            f"The table of labels has no column {column!r}, got {listed(list(columns))}."
        )
    for name, kind in ((KEY_COLUMN, "keys"), (names.id_name, "ids")):
        if name is not None and name in columns and kind in names.places:
            return [kind], list(zip(labels[name], labels[column], strict=True))
    return list(names.places), list(zip(labels.index, labels[column], strict=True))


def _is_blank(cell: Any, classes: Sequence[str]) -> bool:
    """Return whether a cell has no label: empty, missing, or -1 unless that is a class.

    Only a text can be a class "None" or "nan": other cells that are printed so are missing values.
    """
    written = as_written(cell)
    if not written or (written in MISSING and not isinstance(cell, str)):
        return True
    return written in (*MISSING, "-1") and written not in map(str.strip, classes)


def read_class(cell: Any, classes: Sequence[str], name: Any = None) -> int:
    """Return the code of the class in a cell, or ``CANNOT_SAY``.

    Classes are recognised if a program has changed how they are written: spaces around them,
    capitals, 1.0 for 1. A cell that equals a class exactly is this class, so that classes which
    differ only in such ways are told apart.

    Parameters
    ----------
    cell : object
        What is written there.
    classes : sequence of str
        The classes as they were written.
    name : object, optional
        The name of the row, for the error.

    Returns
    -------
    int
        The code.
    """
    written = _text(cell)
    if written in classes:
        return list(classes).index(written)
    if written.strip() == CANNOT_SAY_CELL:
        return CANNOT_SAY
    where = "" if name is None else f" of row {name}"
    for alike in (str.strip, _folded, _as_number):
        meant = [code for code, one in enumerate(classes) if alike(one) == alike(written)]
        if len(meant) == 1 and alike(written) is not None:
            return meant[0]
        if len(meant) > 1 and alike is str.strip:
            several = " or ".join(repr(classes[code]) for code in meant)
            raise ValueError(
                f"The label {written!r}{where} may be the class {several}: write it exactly as one "
                "of them, with the same spaces."
            )
    raise ValueError(
        f"The label {written!r}{where} is not one of the classes {listed(list(classes))}: correct "
        f"it, or write {CANNOT_SAY_CELL!r} if nobody can decide the row."
    )


def as_written(cell: Any) -> str:
    """Return a name as it is written, whole numbers without decimals.

    Names are stored and looked up in this form, so that 1, 1.0 and "1" are the same row.

    Parameters
    ----------
    cell : object
        A name.

    Returns
    -------
    str
        Its text.

    Examples
    --------
    >>> from primum.judging.named_labels import as_written
    >>> as_written(7.0), as_written(0.5), as_written(" c17 ")
    ('7', '0.5', 'c17')
    """
    return _text(cell).strip()


def _text(cell: Any) -> str:
    if isinstance(cell, Real) and not isinstance(cell, Integral) and float(cell).is_integer():
        return str(int(float(cell)))
    return str(cell)


def _folded(written: str) -> str:
    return written.strip().casefold()


def _as_number(written: str) -> float | None:
    try:
        return float(written)
    except ValueError:
        return None


def _place(name: Any, kind: str, places: dict[str, dict[Any, int]]) -> int | None:
    """Return the place of a row by its name, if it was asked for."""
    return places[kind].get(_as_name(name, kind))


def _as_name(name: Any, kind: str) -> int | str | None:
    """Return a name as it is stored; None if it cannot be one of this kind."""
    if kind != "positions":
        return as_written(name)
    text = as_written(name)
    return int(text) if isinstance(name, Real) and text.lstrip("-").isdigit() else None


def _kind_of_names(
    named: Sequence[Any], names: RowNames, known: KnownCodes, kinds: Sequence[str]
) -> str:
    """Return the kind of the names: the only kind possible for all, or else for names asked for."""
    places = names.places
    places_as = {kind: [_place(name, kind, places) for name in named] for kind in kinds}
    asked = [kind for kind in kinds if any(place is not None for place in places_as[kind])]
    looks = {_look(name) for name in (*places.get("ids", ()), *known) if isinstance(name, str)}
    whole = [kind for kind in kinds if all(_may_be(name, kind, places, looks) for name in named)]
    possible = whole or asked or kinds
    if len({tuple(places_as[kind]) for kind in possible}) > 1:
        raise ValueError(
            f"Row names such as {named[0]!r} may be {' or '.join(possible)}, which mean different "
            "rows: pass the table of rows to label with its labels filled, or name rows by the "
            f"keys in its column {KEY_COLUMN!r}."
        )
    return possible[0]


def _may_be(name: Any, kind: str, places: dict[str, dict[Any, int]], looks: set[str]) -> bool:
    """Return whether a name may be of this kind, of a row that was asked for or not.

    The ids of rows that were not asked for are not stored, so they are taken to look like the
    stored ones: if some of those are integers, or look like keys, these may be too.
    """
    read = _as_name(name, kind)
    if kind == "ids":
        return _look(str(read)) in looks
    return read is not None if kind == "positions" else read in places[kind]


def _look(name: str) -> str:
    """Return what a name looks like: a key, an integer or something else."""
    if KEY.fullmatch(name):
        return "key"
    return "integer" if INTEGER.fullmatch(name) else "other"


def _placed(
    codes: Sequence[tuple[Any, int]],
    kind: str,
    names: RowNames,
    known: KnownCodes,
    classes: Sequence[str],
) -> tuple[dict[int, int], list[str]]:
    """Return codes by place; rows not asked for are left out with a sentence."""
    places, labels, others = names.places, dict[int, int](), list[str]()
    twice = Counter(map(as_written, names.ids or ())) if kind == "ids" else Counter[str]()
    for name, code in codes:
        place, stored = _place(name, kind, places), known.get(_as_name(name, kind))
        written = as_written(name)
        if twice[written] > 1:
            raise ValueError(
                f"There are {twice[written]} rows to label with the id {written!r}: name them by "
                f"their keys, in a column {KEY_COLUMN!r}."
            )
        if place is not None:
            _put(labels, place, code, name, classes)
        elif stored is None:
            others.append(written)
        elif stored != code:
            raise ValueError(
                f"Row {name} already has the label {_shown(stored, classes)} in the table, but is "
                f"given {_shown(code, classes)}: leave it out, or correct the table and compare "
                "again."
            )
    return labels, _not_asked(others, len(codes))


def _put(labels: dict[int, int], place: int, code: int, name: Any, classes: Sequence[str]) -> None:
    """Add a label, unless the row has another."""
    if labels.setdefault(place, code) != code:
        raise ValueError(
            f"Row {name} is given twice, with the labels {_shown(labels[place], classes)} and "
            f"{_shown(code, classes)}: keep one of them."
        )


def _not_asked(others: Sequence[str], n_given: int) -> list[str]:
    """Return a sentence on labels of rows that were not asked for."""
    if not others:
        return []
    if len(others) == n_given:
        raise ValueError(
            f"None of these rows was asked for (the first is {others[0]}): name rows by the column "
            f"{KEY_COLUMN!r} of the rows to label, by their id, or by their position in the table."
        )
    single = len(others) == 1
    rows = "row was not asked for and does" if single else "rows were not asked for and do"
    return [
        f"{len(others):,} labelled {rows} not count, because hand-picked rows would void the "
        f"guarantee: {listed(others)}."
    ]


def _shown(code: int, classes: Sequence[str]) -> str:
    return repr(CANNOT_SAY_CELL if code == CANNOT_SAY else classes[code])


def contradictions(
    before: Mapping[int, int], now: Mapping[int, int], names: RowNames, classes: Sequence[str]
) -> Iterator[str]:
    """Yield a sentence for every row whose label is another than before.

    A row that could not be decided before may be decided now.

    Parameters
    ----------
    before, now : mapping of place to class code
        The labels.
    names : RowNames
        Of the rows.
    classes : sequence of str
        The classes as they are written.

    Yields
    ------
    str
        A sentence.
    """
    for place, code in now.items():
        old = before.get(place, CANNOT_SAY)
        if old not in (CANNOT_SAY, code):
            yield (
                f"Row {names.keys[place]} was given the label {_shown(old, classes)} before and "
                f"{_shown(code, classes)} now: keep the first, or pass correct=True if it was "
                "a mistake."
            )
