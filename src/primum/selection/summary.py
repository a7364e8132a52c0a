"""The table of a safe choice: every candidate and every stack, with out-of-fold losses."""

from typing import Any

import numpy as np

from primum._typing import Floats
from primum.selection.candidates.reading import Entrants
from primum.selection.losses import ROW_LOSSES
from primum.selection.out_of_fold import OutOfFold
from primum.selection.verdict import HeldOut


def report_table(
    safe: Any,
    scored: OutOfFold,
    entrants: Entrants,
    held_out: HeldOut,
    stacks: dict[str, Floats],
) -> dict[str, list[Any]]:
    """Return the table as lists by column: candidates that have scores, then the stacks."""
    rows = []
    for candidate in entrants.all:
        if candidate.name not in scored.scores:
            continue
        kind = "semi-supervised" if candidate.uses_unlabeled else "supervised"
        rows.append(
            {
                "model": candidate.name,
                "kind": kind,
                "counterpart": candidate.counterpart,
                "weight": safe.weights_.get(candidate.name),
                "supervised_weight": safe.supervised_.weights_.get(candidate.name),
                **_losses(scored.scores[candidate.name], held_out),
                "seconds": scored.seconds[candidate.name],
            }
        )
    empty = dict.fromkeys(("counterpart", "weight", "supervised_weight"))
    for name, scores in stacks.items():
        losses = _losses(scores, held_out)
        rows.append({"model": name, "kind": "stack", **empty, **losses, "seconds": None})
    return {column: [row[column] for row in rows] for column in rows[0]}


def _losses(scores: Floats, held_out: HeldOut) -> dict[str, float]:
    """Return the error and the Brier score of held-out rows."""
    codes, weight = held_out.codes[held_out.rows], held_out.row_weight
    return {
        column: float(np.average(ROW_LOSSES[scoring].of_rows(scores, codes), weights=weight))
        for column, scoring in (("error", "accuracy"), ("brier", "neg_brier_score"))
    }
