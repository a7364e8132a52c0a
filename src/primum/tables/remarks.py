"""What is suspicious about a table: labels spelt in two ways, columns that give the label away.

Nothing is changed: a sentence says what was found, and the user decides.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._typing import AnyArray
from primum._words import listed
from primum.tables.cells import names_of
from primum.tables.columns import Column

if TYPE_CHECKING:
    import pandas as pd

# A column that determines all labels by chance would do so with the probability 2**-20.
LEAST_BITS = 20


def remarks_on(
    frame: "pd.DataFrame",
    labels: AnyArray,
    columns: Sequence[Column],
    missing: Sequence[str],
    identity: str | None = None,
) -> list[str]:
    """Return sentences on labels and columns that are probably not what they seem.

    Parameters
    ----------
    frame : DataFrame
        The table.
    labels : array of shape (n_rows,)
        The labels, None where unknown.
    columns : sequence of Column
        What the table contains.
    missing : sequence of str
        Markers of missing cells.
    identity : str, optional
        Column that identifies the rows, if these have no groups.
    """
    labeled = np.array([label is not None for label in labels], dtype=bool)
    telling, alone = [], []
    for column in columns:
        if not column.used:
            continue
        cells = names_of(frame[column.name], missing)
        known = np.array([cell is not None for cell in cells], dtype=bool)
        only_there = known[labeled].any() and not known[~labeled].any() and not labeled.all()
        bits = determined_bits(cells[labeled].tolist(), labels[labeled].tolist())
        if bits >= LEAST_BITS or (only_there and bits > 0):
            telling.append(column.name)
        elif only_there:
            alone.append(column.name)
    ids = [] if identity is None else names_of(frame[identity], missing)[labeled].tolist()
    return [
        *_spellings(labels[labeled].tolist()),
        *_on_columns(telling, alone),
        *_repeated(identity, ids),
    ]


def determined_bits(cells: Sequence[Any], labels: Sequence[Any]) -> float:
    """Return how unlikely it is, in bits, that rows with the same cell have the same label.

    It is 0 if they do not; the first row with a cell counts nothing.
    """
    found = defaultdict(set)
    for cell, label in zip(cells, labels, strict=True):
        found[cell].add(label)
    if any(len(classes) > 1 for classes in found.values()):
        return 0.0
    counts = Counter(labels)
    bits = {label: -log2(count / len(labels)) for label, count in counts.items()}
    return sum(map(bits.__getitem__, labels)) - sum(bits[label] for (label,) in found.values())


def _spellings(labels: Sequence[Any]) -> Iterator[str]:
    """Yield a sentence on labels that differ in upper and lower case only."""
    spelt = defaultdict(set)
    for label in labels:
        if isinstance(label, str):
            spelt[" ".join(label.lower().split())].add(label)
    several = [sorted(names) for names in spelt.values() if len(names) > 1]
    if several:
        alike = listed([" and ".join(map(repr, names)) for names in sorted(several)], 3)
        yield (
            f"Labels are spelt in several ways, which count as different classes: {alike}. Correct "
            "them if they mean the same."
        )


def _repeated(name: str | None, ids: Sequence[str | None]) -> Iterator[str]:
    """Yield a sentence on labelled rows that are identified as the same."""
    counts = Counter(value for value in ids if value is not None)
    repeated = sum(count for count in counts.values() if count > 1)
    if repeated:
        yield (
            f"{repeated} of the {len(ids)} labelled rows share their value of the id column "
            f"{name!r} with another one: if such rows belong together, name it as the group too, "
            "because models are judged too well if some of them are trained on."
        )


def _on_columns(telling: Sequence[str], alone: Sequence[str]) -> Iterator[str]:
    for names, what in (
        (telling, "determines the label of every labelled row"),
        (alone, "is empty in every unlabelled row"),
    ):
        if names:
            which = f"The column {names[0]!r}"
            if len(names) > 1:
                which = f"Each of the columns {listed([repr(name) for name in names], 5)}"
            yield (
                f"{which} {what}: if it is known only together with the label, exclude it, because "
                "new rows will not have it."
            )
