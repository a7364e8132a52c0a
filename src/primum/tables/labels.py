"""Labels of a table: the classes as written, None where a label is unknown.

Rows to learn from, read from a table into memory: features as numbers, labels as written.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats
from primum.reading.labels import MAX_CODES, WITH_A_LETTER, refuse_numeric_target
from primum.tables.cells import NUMBER, number_of
from primum.tables.columns import looks_like_identifier
from primum.tables.reading import Table

# Integers in canonical form; 007 is a name. pandas writes 7.0 if some are missing.
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
WHOLE_FLOAT = re.compile(r"(0|-?[1-9]\d{0,14})\.0", re.ASCII)
LARGEST = 2**63  # integers from here on are objects to NumPy
# Common markers of unknown labels, in lower case. They may also be names of classes.
DOUBTFUL = ("-1", "?", "na", "n/a", "#n/a", "nan", "none", "null", "<na>", "unknown", "missing")
# Strings for which the estimators raise an error if they are class names.
REFUSED_AS_CLASS = ("-1", "nan", "None", "<NA>")


def labels_of(
    table: "Table", target: str, values: Iterable[Any], missing: Sequence[str]
) -> list[Any]:
    """Return the labels of a column as bool, int, float or str, with None for unknown ones.

    Parameters
    ----------
    table : Table
        The table.
    target : str
        Name of the column.
    values : iterable
        Its cells: text of a CSV file, or the values stored in Parquet.
    missing : sequence of str
        Markers of unknown labels, in addition to an empty cell, and to -1 among integers.

    Returns
    -------
    list
        One label per cell.
    """
    where = f"column {target!r} of {table.path}"
    return typed_labels(values, where, missing, from_text=table.is_text)


def typed_labels(
    values: Iterable[Any], where: str, missing: Sequence[str], *, from_text: bool
) -> list[Any]:
    """Return labels as bool, int, float or str, with None for unknown ones.

    ``where`` names the column in an error; numbers in text become numbers if ``from_text``.
    """
    labels = [None if _is_missing(value, missing) else value for value in values]
    known = [label for label in labels if label is not None]
    _refuse_other_types(known, where)
    if from_text:
        convert = _number_from_text(known)
    else:
        whole = all(isinstance(label, float) and label.is_integer() for label in known)
        convert = int if whole else None  # missing values turn integers into floats
    if convert is not None:
        labels = [None if label is None else convert(label) for label in labels]
    return _without_minus_one(labels)


def check_classes(table: "Table", target: str, labels: Sequence[Any]) -> None:
    """Raise an error if a label more likely marks unknown ones, or if labels are measurements.

    With two labels, one of them "NA", both may be classes: then no error is raised.
    """
    check_labels(labels, f"column {target!r} of {table.path}", "pass --missing {}")


def check_labels(labels: Sequence[Any], where: str, advice: str) -> None:
    """Raise the errors of ``check_classes``; ``advice`` says how to name a marker."""
    classes = set(labels) - {None}
    text = doubtful_label(labels)
    if text is not None and (len(classes) > 2 or text in REFUSED_AS_CLASS):
        raise ValueError(
            f"{text!r} in {where} is one of {len(classes)} different labels: "
            f"{advice.format(repr(text))} if it marks unknown labels; rename it if it is a class."
        )
    if large := [name for name in classes if type(name) is int and abs(name) >= LARGEST]:
        raise ValueError(f"The label {large[0]} in {where} is too large: store the labels as text.")
    numbers = _numbers([label for label in labels if label is not None])
    refuse_numeric_target(numbers, f"{where[0].upper()}{where[1:]}", WITH_A_LETTER)


def _numbers(known: Sequence[Any]) -> Floats:
    """Return labels as numbers; none if one is a name, as 007 is.

    A few texts such as "5 %" are names too, but many are amounts.
    """
    texts = {label for label in known if isinstance(label, str)}
    plain = all(map(NUMBER.fullmatch, texts))
    if any(re.match(r"0\d", text) for text in texts) or not (plain or len(texts) > MAX_CODES):
        return np.empty(0)
    for mark in ".,":
        numbers = np.array([number_of(label, mark) for label in known])
        if not np.isnan(numbers).any():
            return numbers
    return np.empty(0)


def doubtful_label(labels: Sequence[Any]) -> str | None:
    """Return a label that may be a marker of unknown ones, as text."""
    texts = {str(label) for label in labels if isinstance(label, str) or type(label) is int}
    return min((text for text in texts if text.lower() in DOUBTFUL), default=None)


def _is_missing(value: Any, missing: Sequence[str]) -> bool:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return text == "" or text in missing or str(value) in missing


def _refuse_other_types(known: Sequence[Any], where: str) -> None:
    for label in known:
        if not isinstance(label, bool | int | float | str):
            raise ValueError(
                f"{where[0].upper()}{where[1:]} has labels of type {type(label).__name__}: store "
                "them as text or integers."
            )


def _number_from_text(known: Sequence[str]) -> Any:
    """Return a function that converts the labels to integers, or None if they are names."""
    if all(map(WHOLE.fullmatch, known)):
        return int
    if all(map(WHOLE_FLOAT.fullmatch, known)):
        return lambda text: int(text[:-2])
    return None


def _without_minus_one(labels: list[Any]) -> list[Any]:
    """Return None for -1 among integers, unless there are other markers of unknown labels."""
    known = [label for label in labels if label is not None]
    if len(known) < len(labels) or any(type(label) is not int for label in known):
        return labels
    return [None if label == -1 else label for label in labels]


@dataclass(frozen=True)
class LabeledTable:
    """Features and labels of a table.

    Attributes
    ----------
    X : array of shape (n_rows, n_features)
        The features.
    labels : list
        One bool, int, float or str per row, or None where the label is unknown.
    """

    X: Floats
    labels: list[Any]

    def identifiers(self, names: Sequence[str]) -> list[str]:
        """Return the names of the features that may identify the rows instead."""
        pairs = zip(names, self.X.T, strict=True)
        return [name for name, values in pairs if looks_like_identifier(name, values)]


def read_labeled_table(
    table: Table, names: Sequence[str], target: str, missing: Sequence[str]
) -> LabeledTable:
    """Read features and labels; raise an error if the labels cannot be classes.

    Parameters
    ----------
    table : Table
        The table.
    names : sequence of str
        The columns that are features.
    target : str
        The column with the labels.
    missing : sequence of str
        Markers of unknown labels, in addition to an empty cell, and to -1 among integers.

    Returns
    -------
    LabeledTable
        The features and the labels.
    """
    parts = list(table.parts(names, [target]))
    cells = [cell for part in parts for cell in part.as_written[target].to_pylist()]
    if not cells:
        raise ValueError(f"{table.path} has column names but no rows.")
    labels = labels_of(table, target, cells, missing)
    check_classes(table, target, labels)
    return LabeledTable(np.concatenate([part.X for part in parts]), labels)


def read_features(table: Table, names: Sequence[str]) -> Floats:
    """Read the features of all rows."""
    return np.concatenate([part.X for part in table.parts(names)])
