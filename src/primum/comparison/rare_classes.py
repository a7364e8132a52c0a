"""Classes with too few labels to be judged: grouped into one class, or left unlabelled.

A comparison holds labelled rows of every class out and learns from the others, which one or two
labels do not allow. Labels of a long tail of classes often include some of these. Either their rows
form one class, "other", or they count as unlabelled and no model predicts them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primum._typing import AnyArray, Index, PlainRecord
from primum._words import listed
from primum.reading.labels import KnownLabels
from primum.tables.cells import object_array

GROUP, DROP = "group", "drop"
# Classes that are named; more are counted only.
MAX_CLASSES_NAMED = 10


@dataclass(frozen=True)
class RareClasses(PlainRecord):
    """The classes that were grouped or dropped.

    Attributes
    ----------
    how : {"group", "drop"}
        What was done.
    classes : dict of str to int
        Their labels that were drawn at random, by name.
    needed : int
        The fewest labels that a class needs.
    n_labeled : int
        All labels that were drawn at random.
    into : str
        The class that stands for them; empty if they were dropped.
    """

    how: str
    classes: dict[str, int]
    needed: int
    n_labeled: int
    into: str = ""
    in_json = ("how", "classes", "needed", "n_labeled", "into", "text")

    @property
    def text(self) -> str:
        """What was done, in a sentence."""
        names = [f"{name!r} ({count})" for name, count in self.classes.items()]
        few = f"with fewer than {self.needed} labelled rows: {listed(names, MAX_CLASSES_NAMED)}"
        if self.how == GROUP:
            return f"The class {self.into!r} stands for {len(names)} classes {few}."
        which = "class" if len(names) == 1 else f"{len(names)} classes"
        n_rows = sum(self.classes.values())
        return (
            f"No model predicts the {which} {few}. Their rows count as unlabelled, and errors do "
            f"not include them: {n_rows} of {self.n_labeled} labelled rows."
        )

    def renamed(self, labels: AnyArray) -> AnyArray:
        """Return labels with the classes that are predicted; None where unknown or dropped."""
        if self.how == DROP:
            return object_array(None if str(one) in self.classes else one for one in labels)
        return object_array(
            None if one is None else self.into if str(one) in self.classes else str(one)
            for one in labels
        )


def check_named(rare: RareClasses, names: Iterable[Any], parameter: str) -> None:
    """Raise an error if an argument names a class that was grouped or dropped."""
    for name in names:
        if str(name) not in rare.classes or str(name) == rare.into:
            continue
        became = "dropped, so no model predicts it: leave it out"
        if rare.how == GROUP:
            became = f"grouped with other rare classes: name {rare.into!r}, which stands for them"
        raise ValueError(
            f"{parameter} names the class {name!r}, which rare_classes={rare.how!r} has {became}."
        )


def without_rare_classes(
    labels: KnownLabels, drawn: Index, how: str, needed: int
) -> tuple[KnownLabels, RareClasses | None]:
    """Return labels in which every class has enough of them, and what was done; None if nothing.

    Parameters
    ----------
    labels : KnownLabels
        All labels.
    drawn : array of shape (n_classes,)
        The number of labels of every class that were drawn at random.
    how : {"group", "drop"}
        Whether rare classes become one, or their rows unlabelled.
    needed : int
        The fewest such labels that a class needs.

    Returns
    -------
    labels : KnownLabels
        The labels of the classes that are predicted. Names become text if some are grouped.
    rare : RareClasses or None
        The classes that were grouped or dropped.
    """
    if how not in (GROUP, DROP):
        raise ValueError(f"rare_classes must be {GROUP!r}, {DROP!r} or None, got {how!r}.")
    is_rare, names = drawn < needed, [str(name) for name in labels.classes.tolist()]
    if not is_rare.any():
        return labels, None
    kept = [name for name, rare in zip(names, is_rare, strict=True) if not rare]
    counts = {names[code]: int(drawn[code]) for code in np.flatnonzero(is_rare)}
    few = listed([f"{name!r} ({count})" for name, count in counts.items()], MAX_CLASSES_NAMED)
    if how == GROUP and sum(counts.values()) < needed:
        raise ValueError(
            f"The classes with fewer than {needed} labelled rows, {few}, have only "
            f"{sum(counts.values())} together, too few for a class: pass rare_classes={DROP!r}, or "
            "label more rows."
        )
    if len(kept) + (how == GROUP) < 2:
        raise ValueError(
            f"Fewer than two classes would be left without those with fewer than {needed} labelled "
            f"rows, {few}: label more rows."
        )
    if how == DROP:
        rest = labels.keeping(~is_rare[labels.codes])
        codes = (np.cumsum(~is_rare) - 1)[rest.codes]
        rare = RareClasses(how, counts, needed, int(drawn.sum()))
        return replace(rest, classes=labels.classes[~is_rare], codes=codes), rare
    rare = RareClasses(how, counts, needed, int(drawn.sum()), _free_name(kept))
    classes, codes = np.unique(rare.renamed(labels.values).astype(str), return_inverse=True)
    return replace(labels, classes=classes, codes=codes), rare


def _free_name(names: list[str]) -> str:
    """Return the name of the class of grouped rows, which no class has in any capitals."""
    taken, name, number = {one.strip().casefold() for one in names}, "other", 1
    while name in taken:
        name = "other (rare)" if number == 1 else f"other (rare {number})"
        number += 1
    return name
