"""Labels of a table: classes as written, or numbers; None where a label is unknown.

Columns that primum writes into a sheet of rows to label are recognised in tables: a number for
every row, and a mark that its label is not from a random sample (``primum.reading.known``). Neither
column is a feature.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._typing import AnyArray, Floats, Mask
from primum.judging.words import capitalised
from primum.reading.known import (
    AUTO,
    CLASSES,
    SAY_NUMBERS,
    TargetKind,
    check_kind,
    kind_of_numbers,
    refuse_constant,
)
from primum.reading.labels import MAX_CODES, WITH_A_LETTER, is_numeric_target, refuse_numeric_target
from primum.tables.cells import (
    FALSE,
    NUMBER,
    common_unit,
    different_units,
    doubtful_mark,
    marks_by_preference,
    names_of,
    number_of,
    object_array,
    objects_of,
    plain_text,
)

if TYPE_CHECKING:
    import pandas as pd

    from primum.tables.files import TableFile


# Integers in canonical form; 007 is a name. pandas writes 7.0 if some labels are missing.
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
WHOLE_FLOAT = re.compile(r"(0|-?[1-9]\d{0,14})\.0", re.ASCII)
INTEGER_LIMIT = 2**63  # NumPy stores larger integers as objects
# Common markers of unknown labels, in lower case. They may also be names of classes.
DOUBTFUL = ("-1", "?", "na", "n/a", "#n/a", "nan", "none", "null", "<na>", "unknown", "missing")
# If at least this share of the labels is numeric, the others are probably errors.
NUMBERS_SHARE = 0.9
# Strings that estimators refuse as class names.
REFUSED_AS_CLASS = ("-1", "nan", "None", "<NA>")


def typed_labels(
    values: Iterable[Any], where: str, missing: Sequence[str], *, from_text: bool
) -> list[Any]:
    """Return labels as bool, int, float or str, with None for unknown ones.

    ``where`` names the column in errors; with ``from_text``, numbers in text become numbers.
    """
    labels = [None if _is_missing(value, missing) else value for value in values]
    present = [label for label in labels if label is not None]
    _refuse_other_types(present, where)
    if from_text:
        convert = _number_from_text(present)
    else:
        whole = all(isinstance(label, float) and label.is_integer() for label in present)
        convert = int if whole else None  # missing values have turned integers into floats
    if convert is not None:
        labels = [None if label is None else convert(label) for label in labels]
    return _without_minus_one(labels)


def check_classes(labels: Sequence[Any], where: str, advice: str) -> None:
    """Raise an error if a label probably marks unknown ones, or if labels are measurements.

    ``advice`` says how to name a marker.
    """
    _check_markers(labels, where, advice)
    refuse_measurements(labels, where)


def _check_markers(labels: Sequence[Any], where: str, advice: str) -> None:
    """Raise an error if a label probably marks unknown ones.

    Of two labels, even "NA" may be a class, so no error is raised. ``advice`` says how to declare a
    marker.
    """
    classes = set(labels) - {None}
    text = doubtful_label(labels)
    if text is not None and (len(classes) > 2 or text in REFUSED_AS_CLASS):
        raise ValueError(
            f"{text!r} in {where} is one of {len(classes)} different labels: "
            f"{advice.format(repr(text))} if it marks unknown labels; rename it if it is a class."
        )
    if large := [name for name in classes if type(name) is int and abs(name) >= INTEGER_LIMIT]:
        raise ValueError(f"The label {large[0]} in {where} is too large: store the labels as text.")


def refuse_measurements(labels: Sequence[Any], where: str) -> None:
    """Raise an error if labels are measurements rather than classes."""
    numbers = _numbers([label for label in labels if label is not None])
    refuse_numeric_target(numbers, capitalised(where), WITH_A_LETTER)


def _numbers(labels: Sequence[Any], decimal: str | None = None) -> Floats:
    """Return labels as numbers; an empty array if one is a name, such as 007.

    A few different texts such as "5 %" are names too; many are amounts.
    """
    texts = {label for label in labels if isinstance(label, str)}
    plain = all(map(NUMBER.fullmatch, texts))
    if any(re.match(r"0\d", text) for text in texts) or not (plain or len(texts) > MAX_CODES):
        return np.empty(0)
    numbers = _best_numbers(labels, decimal)
    return np.empty(0) if np.isnan(numbers).any() else numbers


def doubtful_label(labels: Sequence[Any]) -> str | None:
    """Return a label that may mark unknown ones, as text; None if there is none."""
    texts = {str(label) for label in labels if isinstance(label, str) or type(label) is int}
    return min((text for text in texts if text.lower() in DOUBTFUL), default=None)


def _is_missing(value: Any, missing: Sequence[str]) -> bool:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return text == "" or text in missing or str(value) in missing


def _refuse_other_types(labels: Sequence[Any], where: str) -> None:
    for label in labels:
        if not isinstance(label, bool | int | float | str):
            raise ValueError(
                f"{capitalised(where)} has labels of type {type(label).__name__}: store "
                "them as text or integers."
            )


def _number_from_text(labels: Sequence[str]) -> Any:
    """Return a function that converts the labels to integers, or None if they are names."""
    if all(map(WHOLE.fullmatch, labels)):
        return int
    if all(map(WHOLE_FLOAT.fullmatch, labels)):
        return lambda text: int(text[:-2])
    return None


def _without_minus_one(labels: list[Any]) -> list[Any]:
    """Return None for -1 among integers, unless there are other markers of unknown labels."""
    present = [label for label in labels if label is not None]
    if len(present) < len(labels) or any(type(label) is not int for label in present):
        return labels
    return [None if label == -1 else label for label in labels]


def read_labeled_rows(
    table: "TableFile", names: Sequence[str], target: str, missing: Sequence[str]
) -> tuple[Floats, list[Any]]:
    """Return features and labels; raise an error if the labels cannot be classes.

    Parameters
    ----------
    table : TableFile
        The table.
    names : sequence of str
        The columns that are features.
    target : str
        The column with the labels.
    missing : sequence of str
        Markers of unknown labels, in addition to an empty cell, and to -1 among integers.

    Returns
    -------
    X : array of shape (n_rows, n_features)
        The features.
    labels : list
        One bool, int, float or str per row, or None where the label is unknown.
    """
    parts, where = list(table.parts(names, [target])), f"column {target!r} of {table.path}"
    cells = [cell for part in parts for cell in part.as_written[target].to_pylist()]
    if not cells:
        raise ValueError(f"{table.path} has column names but no rows.")
    labels = typed_labels(cells, where, missing, from_text=table.is_text)
    check_classes(labels, where, "pass --missing {}")
    return np.concatenate([part.X for part in parts]), labels


@dataclass(frozen=True)
class TableLabels:
    """The target column of a table.

    Attributes
    ----------
    labels : array of shape (n_rows,)
        Classes (bool, int or str) or numbers (float); None where unknown.
    kind : TargetKind
        Whether they are classes or numbers, and how that was decided.
    """

    labels: AnyArray
    kind: TargetKind


def read_classes(values: "pd.Series", target: str, missing: Sequence[str]) -> AnyArray:
    """Return the labels in a column of a table in memory; raise an error if they cannot be classes.

    None stands for unknown ones.
    """
    column = read_target_column(values, target, missing)
    if column.kind.is_numeric:
        refuse_measurements(column.labels.tolist(), f"column {target!r}")
    return column.labels


def read_target_column(
    values: "pd.Series",
    target: str,
    missing: Sequence[str],
    target_kind: str = AUTO,
    decimal: str | None = None,
) -> TableLabels:
    """Return the classes or numbers in a column of a table in memory.

    Parameters
    ----------
    values : Series
        The column.
    target : str
        Its name.
    missing : sequence of str
        Markers of unknown labels, in addition to empty cells.
    target_kind : {"auto", "classes", "numbers"}
        What it contains; "auto" detects it.
    decimal : {".", ","} or None
        The decimal mark of the table; None if nothing shows it.

    Returns
    -------
    TableLabels
        The labels, and what they are.
    """
    check_kind(target_kind)
    where = f"column {target!r}"
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in objects_of(values)]
    if len({isinstance(cell, str) for cell in cells if cell is not None}) > 1:
        cells = names_of(values).tolist()
    from_text = all(isinstance(cell, str) for cell in cells if cell is not None)
    labels = typed_labels(cells, where, missing, from_text=from_text)
    present = [label for label in labels if label is not None]
    told = TargetKind(target_kind, told=True)
    kind = _kind(present, where, decimal) if target_kind == AUTO else told
    if kind.is_numeric:
        _check_any(present, len(labels), where)
        kind = replace(kind, how=" ".join(filter(None, [kind.how, *_notes(present, decimal)])))
        return TableLabels(_as_numbers(cells, labels, missing, where, decimal), kind)
    # Many whole numbers may be measurements, so the advice names that option too.
    either = f"pass {SAY_NUMBERS} if they are numbers to predict, or " if kind.how else ""
    _check_markers(labels, where, f"{either}add {{}} to missing")
    _check_known(labels, cells, where)
    if any(isinstance(label, float) for label in labels):  # 0.5 and 1.5, as a CSV file has them
        labels = [None if label is None else str(label) for label in labels]
    if len(set(present)) > MAX_CODES and not kind.told:
        kind = replace(kind, how=kind.how or different_units(present, f"The numbers in {where}"))
    return TableLabels(object_array(labels), kind)


def _notes(labels: Sequence[Any], decimal: str | None) -> Iterator[str]:
    """Yield remarks on numbers written as text: their unit, and points of doubtful meaning."""
    import pandas as pd

    reading = _best_reading(labels, decimal)
    if unit := reading[2:]:
        yield f"Their unit is {unit}."
    if not decimal:
        yield doubtful_mark(pd.Series(labels, dtype=object), reading)


def _kind(labels: Sequence[Any], where: str, decimal: str | None) -> TargetKind:
    """Return what labels are; raise an error for a few texts among many numbers."""
    beginning, numbers = capitalised(where), _numbers(labels, decimal)
    if len(numbers) or not labels:
        return kind_of_numbers(numbers, beginning) if labels else TargetKind(CLASSES)
    read = _best_numbers(labels, decimal)
    strange, rest = np.flatnonzero(np.isnan(read)), read[~np.isnan(read)]
    values, counts = np.unique(rest, return_counts=True)
    mostly = 0 < len(strange) <= (1 - NUMBERS_SHARE) * len(labels) and len(values) > MAX_CODES
    if mostly and is_numeric_target(values, counts):
        text = str(labels[strange[0]])
        raise ValueError(
            f"{beginning} has the label {text[:30]!r} among {len(rest)} numbers: correct it, or "
            f"add {text!r} to missing if it marks unknown ones."
        )
    return TargetKind(CLASSES)


def _best_numbers(labels: Sequence[Any], decimal: str | None) -> Floats:
    """Return labels as numbers, by the reading that fits the most; NaN for the others."""
    reading = _best_reading(labels, decimal)
    return np.array([number_of(label, reading) for label in labels])


def _best_reading(labels: Sequence[Any], decimal: str | None) -> str:
    """Return the decimal mark and the unit with which the most labels are numbers."""
    marks, unit = marks_by_preference(decimal), common_unit(labels)
    readings = [*marks, *(f"{mark} {unit}" for mark in marks if unit)]
    n_unread = {how: sum(math.isnan(number_of(cell, how)) for cell in labels) for how in readings}
    return min(n_unread, key=lambda how: n_unread[how])


def _as_numbers(
    cells: Sequence[Any],
    labels: Sequence[Any],
    missing: Sequence[str],
    where: str,
    decimal: str | None,
) -> AnyArray:
    """Return the labels as numbers; raise an error for one that is not a finite number."""
    cleaned = [None if _is_missing(cell, missing) else cell for cell in cells]
    rows = [row for row, cell in enumerate(cleaned) if cell is not None]
    numbers = _best_numbers([cleaned[row] for row in rows], decimal)
    for row, number in zip(rows, numbers, strict=True):
        if not math.isfinite(number):
            fault = "infinite" if isinstance(cleaned[row], float) else "not a number"
            raise ValueError(
                f"{capitalised(where)} is a numeric target, but {str(cleaned[row])[:30]!r} "
                f"in row {row + 1} is {fault}: correct it, or empty the cell if it is unknown."
            )
    if any(label is None for label in labels) and len(rows) == len(labels):
        raise ValueError(
            f"{capitalised(where)} is a numeric target without empty cells, and -1 is one of its "
            "numbers: add '-1' to missing if it marks unknown ones, otherwise write it as "
            "-1.0."
        )
    column = object_array([None] * len(labels))
    column[rows] = numbers.tolist()
    refuse_constant(numbers, where)
    return column


def _check_any(labels: Sequence[Any], n_rows: int, where: str) -> None:
    if not labels:
        raise ValueError(
            f"No row is labelled: all {n_rows} cells in {where} are empty or mark unknown numbers."
        )


def _check_known(labels: Sequence[Any], cells: Sequence[Any], where: str) -> None:
    present = [label for label in labels if label is not None]
    if not present:
        raise ValueError(
            f"No row is labelled: all {len(labels)} cells in {where} are empty or mark unknown "
            "labels. Label some rows of each class."
        )
    if len(set(present)) == 1:
        unknown = any(plain_text(cell) == "-1" for cell in cells) and present[0] != -1
        because = ", because -1 marks unknown ones" if unknown else ""
        raise ValueError(
            f"All {len(present)} labels in {where} are {present[0]!r}{because}: label some rows of "
            "another class too."
        )


CHOSEN = "primum_chosen"
# Notes on these columns.
MARKS_CHOSEN = "It marks labels that were chosen, which are used for training only."
NUMBERS_SHEET = "It numbers the rows of a sheet to be labelled."


def chosen_column(columns: Sequence[str], named: str | None) -> str | None:
    """Return the column that marks chosen labels: the one the user named, or primum's own."""
    return CHOSEN if named is None and CHOSEN in columns else named


def marked_rows(values: "pd.Series", missing: Sequence[str] = ()) -> Mask:
    """Return which cells mark their row: those that are neither empty, "no", 0 nor false.

    Examples
    --------
    >>> import pandas as pd
    >>> from primum.tables.labels import marked_rows
    >>> marked_rows(pd.Series(["yes", "", None, "No", "0", "x", True, 0.0])).tolist()
    [True, False, False, False, False, True, True, False]
    """
    cells = objects_of(values, missing)
    texts = ["" if cell is None else plain_text(cell).lower() for cell in cells]
    return np.array([text not in ("", "0", *FALSE) for text in texts], dtype=bool)


def recognised(columns: Sequence[str], named: str | None) -> str:
    """Return a sentence if primum's own column is used although none was named; else empty."""
    if named is not None or CHOSEN not in columns:
        return ""
    return (
        f"The column {CHOSEN!r} marks labels that were chosen: models are trained on them, but not "
        "judged by them."
    )
