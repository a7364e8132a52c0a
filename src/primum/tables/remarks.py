"""What is suspicious about a table: rows that belong together, labels spelt in two ways, leaks.

Nothing is changed: an alert says what was found, and the user decides.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._alerts import Alert
from primum._typing import AnyArray
from primum._words import listed
from primum.tables.cells import names_of, numbers_of
from primum.tables.columns import IS_TARGET, Column
from primum.tables.leaks import leak_alerts
from primum.tables.repeats import find_repeats, table_alert

if TYPE_CHECKING:
    import pandas as pd

# Kinds of columns whose values may name groups of rows.
NAMING = ("number", "category", "text")


def remarks_on(
    frame: "pd.DataFrame",
    X: "pd.DataFrame",
    labels: AnyArray,
    columns: Sequence[Column],
    missing: Sequence[str],
    *,
    identity: str | None = None,
    independent: bool = False,
) -> list[Alert]:
    """Return alerts on rows, labels and columns that are probably not what they seem.

    Parameters
    ----------
    frame, X : DataFrame
        The table, and its features as they were read.
    labels : array of shape (n_rows,)
        The labels, None where unknown.
    columns : sequence of Column
        What the table contains.
    missing : sequence of str
        Markers of missing cells.
    identity : str, optional
        Column that identifies the rows.
    independent : bool
        Whether it is known which rows belong together: none, or those of a group.
    """
    return [
        *([] if independent else _belonging(frame, labels, columns, missing, identity)),
        *_spellings([label for label in labels if label is not None]),
        *leak_alerts(X, labels, columns, missing),
    ]


def _belonging(
    frame: "pd.DataFrame",
    labels: AnyArray,
    columns: Sequence[Column],
    missing: Sequence[str],
    identity: str | None,
) -> list[Alert]:
    """Return the question which rows belong together, if there is reason to ask."""
    labeled = np.array([label is not None for label in labels], dtype=bool)
    cells = [
        (
            column.name,
            numbers_of(frame[column.name], column.reading, missing)
            if column.kind == "number"
            else names_of(frame[column.name], missing),
        )
        for column in columns
        if column.kind in NAMING and column.note != IS_TARGET
    ]
    found = find_repeats(cells, labeled)
    if found is not None:
        return [table_alert(*found)]
    ids = [] if identity is None else names_of(frame[identity], missing)[labeled].tolist()
    return [*_repeated(identity, ids)]


def _spellings(labels: Sequence[Any]) -> Iterator[Alert]:
    """Yield an alert on labels that differ in upper and lower case only."""
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
    """Yield an alert on labelled rows that are identified as the same."""
    counts = Counter(value for value in ids if value is not None)
    repeated = sum(count for count in counts.values() if count > 1)
    if repeated:
        yield Alert(
            "groups",
            f"{repeated} of the {len(ids)} labelled rows share their value of the id column "
            f"{name!r} with another one: if such rows belong together, name it as the group too, "
            "because models are judged too well if some of them are trained on.",
        )
