"""The learning problem in a table: which cells are features, labels, identifiers and groups.

A last row that is the total of the others, as in spreadsheets, is left out: it has no label, and
its numbers are the sums of their columns. One sum may be a coincidence, so at least two are needed,
unless the row says that it is a total. All its numbers must be sums, unless it says so or has no
other cells: then half may be something else, such as a mean. Long tables can be sampled.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._typing import AnyArray, Floats, Index, Mask
from primum._words import listed
from primum.judging.named_labels import KEY_COLUMN
from primum.judging.words import Alert
from primum.reading.known import AUTO, CLASSES, NUMBERS, TargetKind, contains_dates
from primum.reading.labels import MAX_CODES
from primum.tables.cells import (
    as_pandas,
    decimal_mark_of,
    is_present,
    names_of,
    numbers_of,
    object_array,
    objects_of,
    read_cells,
    vectors_of,
)
from primum.tables.columns import Column, describe_columns, no_such_column
from primum.tables.labels import CHOSEN, chosen_column, marked_rows, read_target_column
from primum.tables.preparation import PreparedColumns, preparing
from primum.tables.remarks import remarks_on
from primum.tables.text import count_terms

if TYPE_CHECKING:
    import pandas as pd


MIN_ROWS_ABOVE_TOTAL = 3  # fewer rows may have the value of the last one as their sum by chance
# Labelled rows of every class that a sample keeps, if there are enough: a rare class would
# otherwise be lost.
MIN_SAMPLED_OF_CLASS = 50
# Relative tolerance, because rounded cells do not add up exactly: they have six digits or more.
TOTAL_TOLERANCE = 1e-6
WORDS = re.compile(
    r"\b(sub|grand )?(total|sum|summe|gesamt|totaal|totale|som|suma)s?\b", re.IGNORECASE
)


def without_total(
    frame: "pd.DataFrame", target: str | None, missing: Sequence[str]
) -> tuple["pd.DataFrame", str]:
    """Return a table without a last row that is a total, and a sentence on it, else empty."""
    columns = summed_columns(frame, target, missing)
    if not columns:
        return frame, ""
    names = listed([repr(name) for name in columns], 3)
    return frame.iloc[:-1], (
        "The last row of the table is left out, because it seems to be a total: it has no label, "
        f"and its numbers are the sums of {names}."
    )


def summed_columns(frame: "pd.DataFrame", target: str | None, missing: Sequence[str]) -> list[str]:
    """Return the columns whose last cell is their sum, if the last row is a total; else none."""
    if len(frame) <= MIN_ROWS_ABOVE_TOTAL:
        return []
    last = {name: objects_of(frame[name].iloc[-1:], missing)[0] for name in frame.columns}
    if target is not None and last.pop(target, None) is not None:
        return []
    filled = {name: cell for name, cell in last.items() if cell is not None}
    numbers = dict(_numbers(frame[list(filled)], missing))
    sums = [name for name, values in numbers.items() if _ends_in_sum(values)]
    words = [str(cell) for name, cell in filled.items() if name not in numbers]
    said = any(map(WORDS.search, words))
    if len(sums) < 2 and not said:
        return []
    others_too = said or not words
    return sums if (2 * len(sums) if others_too else len(sums)) >= len(numbers) else []


def _numbers(frame: "pd.DataFrame", missing: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield the columns whose last cell is a number other than 0, as numbers.

    In 860, 1.822 and 2.682 the last is the sum of the others only if points separate thousands.
    """
    for name in frame.columns:
        last = frame[name].iloc[-1:]
        marks = [mark for mark in ".," if not np.isnan(numbers_of(last, mark, missing)[0])]
        read = [numbers_of(frame[name], mark, missing) for mark in marks]
        if read and read[0][-1] != 0:
            yield name, next(filter(_ends_in_sum, read), read[0])


def _ends_in_sum(values: Floats) -> bool:
    """Return whether the last of some numbers is the sum of the others, and exceeds all of them."""
    others = values[:-1][~np.isnan(values[:-1])]
    sizes = np.abs(others)
    close = abs(values[-1] - others.sum()) <= TOTAL_TOLERANCE * sizes.sum()
    return bool(close and len(others) >= MIN_ROWS_ABOVE_TOTAL and abs(values[-1]) > sizes.max())


@dataclass(frozen=True)
class TableProblem:
    """A table to learn from.

    Attributes
    ----------
    X : DataFrame
        The features, with cells read according to their kind.
    labels : array of shape (n_rows,)
        Classes (bool, int or str) or numbers (float), None where unknown.
    ids : array of shape (n_rows,) or None
        Identifiers of the rows, as text.
    groups : array of shape (n_rows,) or None
        Groups of rows, as text.
    columns : list of Column
        All columns of the table, and what is done to each.
    transformer : PreparedColumns
        The preparation of the features, not yet fitted; it also accepts the table as it was
        written.
    target : str
        Name of the column with the labels.
    arguments : dict
        The id, group, chosen, exclude, missing, decimal and independent_rows that were given.
    alerts : list of Alert
        What is suspicious about the table.
    frame : DataFrame
        The table as it was written, without a row of totals.
    chosen : bool array of shape (n_rows,) or None
        Which rows are marked: their labels, if any, were not drawn at random.
    kind : TargetKind
        Whether the labels are classes or numbers.
    """

    X: "pd.DataFrame"
    labels: AnyArray
    ids: AnyArray | None
    groups: AnyArray | None
    columns: list[Column]
    transformer: PreparedColumns
    target: str
    arguments: dict[str, Any] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    frame: "pd.DataFrame" = field(kw_only=True, repr=False)
    chosen: Mask | None = field(default=None, kw_only=True)
    kind: TargetKind = field(default=TargetKind(CLASSES), kw_only=True)

    @property
    def id_column(self) -> str | None:
        """The column that identifies the rows: the one that was named, or one that seems to."""
        named: str | None = self.arguments["id"]
        seeming = (column.name for column in self.columns if column.identifies_rows)
        return next(seeming, None) if named is None else named


def table_problem(
    frame: "pd.DataFrame",
    target: str,
    id: str | None = None,
    group: str | None = None,
    exclude: Sequence[str] = (),
    missing: Sequence[str] = (),
    independent_rows: bool = False,
    chosen: str | Mask | None = None,
    target_kind: str = AUTO,
    decimal: str | None = None,
) -> TableProblem:
    """Return the problem of predicting a column of a table from the others.

    Parameters
    ----------
    frame : DataFrame
        The table, labelled and unlabelled rows together.
    target : str
        Column with the labels, empty where unknown.
    id : str, optional
        Column that identifies the rows.
    group : str, optional
        Column with groups of rows that belong together, such as those of one patient.
    exclude : sequence of str
        Columns that are not features.
    missing : sequence of str
        Markers of missing cells and labels, in addition to empty ones.
    independent_rows : bool
        Whether no rows belong together, to the user's knowledge.
    chosen : str or bool array of shape (n_rows,), optional
        Column that marks labels which were not drawn at random, or a mask of their rows; by default
        the column ``primum_chosen``, if there is one.
    target_kind : {"auto", "classes", "numbers"}
        What the labels are; "auto" detects it.
    decimal : {".", ","} or None
        The decimal mark of numbers written as text; None detects it.

    Returns
    -------
    TableProblem
        The problem.

    Examples
    --------
    >>> import pandas as pd
    >>> from primum.tables.problem import table_problem
    >>> table = pd.DataFrame({"size": ["1,5", "2,5", "4,0"], "kind": ["a", "b", None]})
    >>> problem = table_problem(table, "kind")
    >>> problem.labels.tolist()
    ['a', 'b', None]
    >>> problem.transformer.fit(problem.X).get_feature_names_out().tolist()
    ['size']
    """
    frame = as_pandas(frame)
    exclude, missing = _list_of(exclude, "exclude"), tuple(map(str, _list_of(missing, "missing")))
    _check_frame(frame)
    named = chosen if isinstance(chosen, str) else None
    _check_names(frame, target, id, group, exclude, named)
    frame, total = without_total(frame, target, missing)
    marks = chosen_column(list(frame.columns), named)
    roles: dict[str, Any] = {"target": target, "id": id, "group": group, "chosen": marks}
    written: dict[str, Any] = {"exclude": exclude, "missing": missing, "decimal": decimal}
    columns = describe_columns(frame, **roles, **written)
    if target_kind != CLASSES:
        _refuse_dates(next(c for c in columns if c.name == target), frame[target], missing)
    mark = decimal or decimal_mark_of(frame, missing)
    column = read_target_column(frame[target], target, missing, target_kind, mark)
    labels = column.labels
    mask = None if marks is None else marked_rows(frame[marks], missing)
    if isinstance(chosen, np.ndarray):
        mask = chosen[: len(frame)]
    X = _features(frame, columns, missing)
    groups = None if group is None else _groups(frame[group], group, labels, missing)
    transformer = preparing(columns, missing)  # an error if nothing is left to learn from
    settings = {"id": id, "group": group, "chosen": named, "exclude": exclude, "decimal": decimal}
    problem = TableProblem(
        X=X,
        labels=labels,
        ids=None if id is None else names_of(frame[id]),
        groups=groups,
        columns=columns,
        transformer=transformer,
        target=target,
        frame=frame,
        arguments=settings | {"missing": list(missing), "independent_rows": independent_rows},
        chosen=mask,
        kind=column.kind,
    )
    totals = [Alert("total", total)] if total else []
    return replace(problem, alerts=[*totals, *remarks_on(problem)])


def _refuse_dates(column: Column, values: "pd.Series", missing: Sequence[str]) -> None:
    """Raise an error if a target consists of dates; a few dates as text may be classes."""
    if column.kind != "date":
        return
    labels = {cell for cell in objects_of(values, missing) if cell is not None}
    if len(labels) > MAX_CODES or not all(isinstance(cell, str) for cell in labels):
        raise contains_dates(f"Column {column.name!r}")


def with_unlabeled(frame: Any, unlabeled: Any, target: str) -> Any:
    """Return a table with further rows, whose labels, if any, count as unknown."""
    if unlabeled is None:
        return frame
    import pandas as pd

    frame, unlabeled = as_pandas(frame), as_pandas(unlabeled)
    _check_frame(frame)
    _check_frame(unlabeled)
    needed = [name for name in frame.columns if name not in (target, CHOSEN, KEY_COLUMN)]
    if absent := [name for name in needed if name not in unlabeled.columns]:
        raise ValueError(f"X_unlabeled has no column {absent[0]!r}: pass the columns of X.")
    rows = unlabeled[needed]
    return pd.concat([frame, rows], ignore_index=True)


def _list_of(names: Any, parameter: str) -> list[str]:
    if isinstance(names, str):
        raise ValueError(f"{parameter} must be a list, got the text {names!r}: pass [{names!r}].")
    return list(names)


def _check_frame(frame: Any) -> None:
    if not (hasattr(frame, "iloc") and hasattr(frame, "columns")):
        raise ValueError(
            f"X must be a table if target is given, got {type(frame).__name__}: pass a DataFrame "
            "(pandas, polars or another with the Arrow protocol), or the labels as y."
        )
    names = list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(
                f"Column names must be text, but one of them is {name!r}: rename the columns, for "
                "example by frame.columns = frame.columns.astype(str)."
            )
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ValueError(f"The table has several columns named {twice[0]!r}: rename them.")
    if len(frame) == 0:
        raise ValueError("The table has column names but no rows.")


def _check_names(
    frame: Any,
    target: str,
    id: str | None,
    group: str | None,
    exclude: Sequence[str],
    chosen: str | None = None,
) -> None:
    roles = {"target": target, "id": id, "group": group, "chosen": chosen}
    named = {role: name for role, name in roles.items() if name is not None}
    for name in map(str, [*named.values(), *exclude]):
        if name not in frame.columns:
            raise ValueError(no_such_column([name], list(frame.columns)))
    for role, name in named.items():
        if role != "target" and name == target:
            raise ValueError(f"{role} and target are both {name!r}: choose another column.")
    if target in exclude:
        raise ValueError(f"The target {target!r} is among the excluded columns.")


def _groups(values: "pd.Series", name: str, labels: AnyArray, missing: Sequence[str]) -> AnyArray:
    """Return the groups; raise an error if a labelled row has none."""
    groups = names_of(values, missing)
    absent = ~is_present(groups)
    lost = absent & is_present(labels)
    if lost.any():
        raise ValueError(
            f"{int(lost.sum())} labelled rows have no group in column {name!r}, the first is row "
            f"{int(lost.argmax()) + 1}: every labelled row needs one."
        )
    groups[absent] = ""
    return np.array(groups.tolist())


def features_like(problem: TableProblem, frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the features of other rows, read as in a problem.

    Parameters
    ----------
    problem : TableProblem
        The problem.
    frame : DataFrame
        Rows of the same table.

    Returns
    -------
    DataFrame
        The features, in the order of ``problem.X``.
    """
    return _features(frame, problem.columns, problem.arguments["missing"])


def _features(
    frame: "pd.DataFrame", columns: Sequence[Column], missing: Sequence[str]
) -> "pd.DataFrame":
    """Return the features, read once, because folds read them many times."""
    import pandas as pd

    return pd.DataFrame(
        {
            column.name: _cells(frame[column.name], column, missing)
            for column in columns
            if column.used
        }
    )


def _cells(values: "pd.Series", column: Column, missing: Sequence[str]) -> AnyArray:
    if column.kind == "vector":
        return vectors_of(values, int(column.reading), missing)
    cells = read_cells(values, column.kind, column.reading, missing)
    return cells if column.vocabulary is None else count_terms(cells, column.vocabulary)


def sampled(
    frame: "pd.DataFrame",
    target: str,
    missing: Sequence[str],
    max_rows: int,
    seed: int,
    target_kind: str = AUTO,
    decimal: str | None = None,
) -> tuple["pd.DataFrame", str]:
    """Return at most about ``max_rows`` rows, in their order, and a sentence on what was left out.

    Up to half of them are labelled rows, by class in proportion to their number, but at least
    MIN_SAMPLED_OF_CLASS of each.
    """
    if len(frame) <= max_rows or target not in frame.columns:
        return frame, ""
    column = read_target_column(frame[target], target, missing, target_kind, decimal)
    labels = column.labels
    if column.kind.is_numeric:  # treated as one class
        labels = object_array(None if label is None else NUMBERS for label in labels)
    rng = np.random.default_rng(seed)
    labeled = _labeled_sample(labels, max_rows // 2, rng)
    unlabeled = np.flatnonzero(~is_present(labels))
    n_unlabeled = min(len(unlabeled), max(max_rows - len(labeled), 0))
    chosen = np.concatenate([labeled, rng.choice(unlabeled, n_unlabeled, replace=False)])
    note = (
        f"{len(chosen):,} of {len(frame):,} rows are used, a random sample: {len(labeled):,} of "
        f"{len(frame) - len(unlabeled):,} labelled and {n_unlabeled:,} of {len(unlabeled):,} "
        "unlabelled rows; --max-rows changes that."
    )
    return frame.iloc[np.sort(chosen)].reset_index(drop=True), note


def _labeled_sample(labels: AnyArray, max_rows: int, rng: np.random.Generator) -> Index:
    """Return labelled rows of all classes, at most about ``max_rows``."""
    labeled = np.flatnonzero(is_present(labels))
    share = min(max_rows / max(len(labeled), 1), 1.0)
    parts = []
    for name in dict.fromkeys(labels[labeled].tolist()):
        rows = labeled[labels[labeled] == name]
        size = min(len(rows), max(round(share * len(rows)), MIN_SAMPLED_OF_CLASS))
        parts.append(rng.choice(rows, size, replace=False))
    return np.concatenate(parts)
