"""The judge of a comparison, and its learning curves.

The splits that were finished are judged as any held-out predictions are (``judging.held_out``). The
points of the learning curves, over the number of unlabelled or of labelled rows, are means over the
splits of the first repeat.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from primum._typing import AnyArray
from primum.comparison.plan import ALL, CROSS_FITTED, N_LABELED, N_UNLABELED, ComparisonPlan
from primum.comparison.words import BASELINE
from primum.judging.difference import Difference
from primum.judging.held_out import HeldOut
from primum.judging.losses import Loss, Predictions, read_scoring
from primum.reading.folds import Fold


def judge_of(plan: ComparisonPlan, folds: Sequence[Fold], equivalence: float) -> HeldOut:
    """Return what judges the predictions for the rows that some folds of a comparison hold out."""
    labels, groups, n_unlabeled = plan.table.labels, plan.table.groups, plan.table.n_unlabeled
    if groups is not None:
        n_unlabeled = len(np.setdiff1d(groups[labels.unlabeled], groups[labels.labeled]))
        groups = groups[labels.labeled]
    return HeldOut(
        *(folds, labels.codes, labels.classes),
        groups=groups,
        n_unlabeled=n_unlabeled,
        equivalence=equivalence,
    )


def twin_loss(loss: Loss, parts: Sequence[Predictions], classes: AnyArray) -> Loss:
    """Return the loss by which a method is compared with its twin.

    It is that of the comparison, unless that needs scores which one of them does not have: then it
    is the error.
    """
    complete = all(part.scores is not None for part in parts)
    of_classes = loss.of_rows is not None and not loss.needs_scores
    return loss if complete or of_classes else read_scoring("accuracy", classes)


def learning_curves(result: Any) -> list[dict[str, Any]]:
    """Return the points of all curves; those of a curve are means over the first repeat's splits.

    ``result`` is a ComparisonResult.
    """
    first = range(result.plan.n_folds)
    n_train = len(result.plan.folds(0)[0].train)
    ends = {N_UNLABELED: result.plan.table.n_unlabeled, N_LABELED: n_train}
    stages = {unit[0].partition("/")[0] for unit in result.records.done} - {ALL, CROSS_FITTED}
    points = [(*stage.split("="), stage) for stage in stages]
    points += [(axis, str(ends[axis]), ALL) for axis in {axis for axis, *_ in points}]
    rows = []
    for axis, size, stage in sorted(points, key=_order):
        for name, splits in _splits(result, axis, stage, first):
            values = [result.loss.of_split(split) for split in splits]
            # A loss that is undefined in some split has no mean over splits.
            defined = [value for value in values if np.isfinite(value)]
            if len(defined) > 1:
                rows.append(
                    {
                        "axis": axis,
                        "n": int(size),
                        "name": name,
                        "loss": float(np.mean(defined)),
                        "standard_error": float(np.std(defined, ddof=1) / np.sqrt(len(defined))),
                    }
                )
        if axis == N_UNLABELED:
            rows.extend(_own_points(result, axis, int(size), stage, rows))
    return rows


def _own_points(
    result: Any, axis: str, size: int, stage: str, others: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the points of methods that judge themselves, as changes to the baseline's point.

    Without unlabelled rows such a method is its supervised stack.
    """
    losses = {row["name"]: row["loss"] for row in others if (row["axis"], row["n"]) == (axis, size)}
    baseline = losses.get(BASELINE, result._baseline_loss)
    for entry, whole in result._cross_fitted:
        point = CROSS_FITTED if stage == ALL else stage
        record = result.records.done.get((f"{point}/{entry.name}", 0))
        if size == 0 and "supervised" in whole["verdicts"]:
            own = {k: Difference(**v["difference"]) for k, v in whole["verdicts"].items()}
            change = own["baseline"].mean - own["supervised"].mean
            error = own["baseline"].standard_error
        elif record is None or record["predicted"] is None:
            continue
        else:
            difference = Difference(**record["verdicts"]["baseline"]["difference"])
            change, error = difference.mean, difference.standard_error
        loss = baseline + change
        loss = loss if result.loss.of_rows is None else max(loss, 0.0)
        yield {
            "axis": axis, "n": size, "name": entry.name, "loss": loss, "standard_error": error,
        }  # fmt: skip


def _splits(result: Any, axis: str, stage: str, first: Any) -> list[tuple[str, list[Any]]]:
    """Return the predictions of every classifier that has all splits of a point."""
    own = ALL if axis == N_UNLABELED else stage
    found = {BASELINE: [result._baseline(n, own) for n in first]}
    for entry in result.plan.split_entries:
        if entry in result.plan.methods:
            found[entry.name] = [result._split(entry, n, stage) for n in first]
    return [
        (name, splits)
        for name, splits in found.items()
        if all(split is not None for split in splits)
    ]


def _order(point: tuple[str, ...]) -> tuple[bool, int]:
    """Return the place of a point: unlabelled rows first, then by size."""
    axis, size, _ = point
    return axis != N_UNLABELED, int(size)
