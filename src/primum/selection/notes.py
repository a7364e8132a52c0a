"""What a user of the safe choice should know of the rows and the folds, whatever the model."""

from numbers import Integral
from typing import Any

from primum._typing import AnyArray
from primum.selection.candidates import SharedRows
from primum.selection.copies import copies_note
from primum.selection.drift import find_drift, one_of_each
from primum.selection.losses import check_folds, name_of
from primum.selection.verdict import HeldOut

NO_UNLABELED = "There are no unlabelled rows, so the model is supervised."


def notes_on_rows(
    rows: SharedRows, of_labeled: AnyArray | None, of_unlabeled: AnyArray | None
) -> list[str]:
    """Return notes if rows are copies, or unlabelled ones missing or unlike the labelled ones.

    The last two are the groups of the rows; None: every row is a group.
    """
    notes = [note] if (note := copies_note(rows.labeled, of_labeled)) else []
    if rows.unlabeled.shape[0] == 0:
        return [NO_UNLABELED, *notes]
    drift = find_drift(
        one_of_each(rows.labeled, of_labeled),
        one_of_each(rows.unlabeled, of_unlabeled),
        random_state=rows.seed,
    )
    return [f"Warning: {drift.text}", *notes] if drift is not None and drift.found else notes


def notes_on_folds(
    held_out: HeldOut, cv: Any, n_repeats: int, scoring: Any, classes: AnyArray
) -> list[str]:
    """Check that the rows that folds hold out can be scored, and return what is approximated."""
    tests = [fold.test for fold in held_out.folds]
    undefined = check_folds(scoring, classes, tests, held_out.codes, held_out.weight)
    notes, n_folds = [], len(tests) // n_repeats
    if isinstance(cv, Integral) and n_folds < int(cv):
        notes.append(
            f"{cv} folds were reduced to {n_folds}: more cannot be stratified with these labels."
        )
    if undefined:
        notes.append(
            f"{name_of(scoring)} is undefined in {len(undefined)} of {len(tests)} folds, so the "
            "verdict scores the rows that all folds of a repeat hold out together."
        )
    return notes
