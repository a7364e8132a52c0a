"""Learning curves of a comparison, over the number of unlabelled or of labelled rows.

A point is the mean loss over the splits of the first repeat. A method that judges itself has no
splits: its points are those of the baseline, plus the difference that it found.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from primum.comparison.plan import ALL, CROSS_FITTED, N_LABELED, N_UNLABELED
from primum.comparison.records import Records
from primum.comparison.words import BASELINE
from primum.judging.losses import Loss, Predictions


@dataclass(frozen=True)
class CurvePoint:
    """A point of a learning curve.

    Attributes
    ----------
    axis : {"n_unlabeled", "n_labeled"}
        The rows whose number varies.
    n : int
        Their number.
    name : str
        The classifier.
    loss : float
        Its mean loss.
    standard_error : float
        Of that mean or, of a method that judges itself, of the difference from the baseline.
    """

    axis: str
    n: int
    name: str
    loss: float
    standard_error: float

    def to_dict(self) -> dict[str, Any]:
        """Return the point as plain JSON values."""
        return asdict(self)


def learning_curves(records: Records, loss: Loss, baseline_loss: float) -> list[CurvePoint]:
    """Return the points of all curves, those over unlabelled rows first, by their number.

    ``baseline_loss`` is that of the whole comparison.
    """
    plan = records.plan
    ends = {N_UNLABELED: plan.table.n_unlabeled, N_LABELED: len(plan.folds(0)[0].train)}
    stages = {fit.stage for fit in records.done.values()} - {ALL, CROSS_FITTED}
    sizes = [(axis, int(size), f"{axis}={size}") for axis, size in (s.split("=") for s in stages)]
    sizes += [(axis, ends[axis], ALL) for axis in {axis for axis, *_ in sizes}]
    points: list[CurvePoint] = []
    for axis, size, stage in sorted(sizes, key=lambda point: (point[0] != N_UNLABELED, point[1])):
        here = list(_split_points(records, loss, axis, size, stage))
        points += here
        if axis == N_UNLABELED:
            known = {point.name: point.loss for point in here}
            start = known.get(BASELINE, baseline_loss)
            points += _own_points(records, loss, size, stage, start)
    return points


def _split_points(
    records: Records, loss: Loss, axis: str, size: int, stage: str
) -> Iterator[CurvePoint]:
    """Yield the points of all classifiers that have all splits; two of them are the least."""
    plan, first = records.plan, range(records.plan.n_folds)
    names = [entry.name for entry in plan.split_entries if entry in plan.methods]
    own = ALL if axis == N_UNLABELED else stage
    found: dict[str, list[Predictions | None]] = {
        BASELINE: [records.baseline(number, own) for number in first],
        **{name: [records.split(name, number, stage) for number in first] for name in names},
    }
    for name, splits in found.items():
        parts = [split for split in splits if split is not None]
        if len(parts) == len(splits):
            losses = np.array([loss.of_split(part) for part in parts])
            # A loss that is undefined in some split has no mean over splits.
            losses = losses[np.isfinite(losses)]
            if len(losses) > 1:
                error = losses.std(ddof=1) / np.sqrt(len(losses))
                yield CurvePoint(axis, size, name, float(losses.mean()), float(error))


def _own_points(
    records: Records, loss: Loss, size: int, stage: str, baseline_loss: float
) -> Iterator[CurvePoint]:
    """Yield the points of methods that judge themselves, as changes to the baseline's point.

    Without unlabelled rows such a method is its supervised stack.
    """
    for name, whole in records.cross_fitted.items():
        fit = records.get(name, stage=CROSS_FITTED if stage == ALL else stage)
        if size == 0 and "supervised" in whole.verdicts:
            difference = whole.verdicts["baseline"].difference
            change = difference.mean - whole.verdicts["supervised"].difference.mean
        elif fit is None:
            continue
        else:
            difference = fit.verdicts["baseline"].difference
            change = difference.mean
        value = baseline_loss + change
        value = value if loss.of_rows is None else max(value, 0.0)
        yield CurvePoint(N_UNLABELED, size, name, value, difference.standard_error)
