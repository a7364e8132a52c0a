"""The finished fits of a comparison: their predictions, and the average of the baselines.

A fit keeps predictions rather than their losses, so that any scoring can be applied afterwards. It
is stored as one line of JSON; folders from earlier versions may lack some of its parts.

Learning curves are over the number of unlabelled or of labelled rows. A point is the mean loss over
the splits of the first repeat. A method that judges itself has no splits: its points are those of
the baseline plus the difference that it found.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from primum._typing import AnyArray, Floats, Index, PlainRecord
from primum.comparison.judge import HeldOutModel
from primum.comparison.plan import (
    ALL,
    CROSS_FITTED,
    N_LABELED,
    N_UNLABELED,
    Plan,
    judge_of,
    plan_fits,
)
from primum.comparison.store import Unit
from primum.comparison.words import BASELINE
from primum.judging.difference import (
    EQUIVALENT_COST,
    EQUIVALENT_SHARE,
    PRACTICAL_EQUIVALENCE,
    Difference,
    Disagreement,
)
from primum.judging.losses import Loss, Predictions, joined
from primum.judging.objectives import COST
from primum.reading.classifiers import Entry
from primum.reading.folds import Fold


@dataclass(frozen=True)
class OwnDifference:
    """How a method differs from another model.

    Attributes
    ----------
    difference : Difference
        Difference of their losses.
    disagreement : Disagreement or None
        How often they predict different classes, if they are judged by errors.
    """

    difference: Difference
    disagreement: Disagreement | None = None

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Self:
        """Return the object that ``asdict`` turned into plain values."""
        disagreement = stored.get("disagreement")
        return cls(
            Difference(**stored["difference"]), disagreement and Disagreement(**disagreement)
        )


@dataclass(frozen=True)
class CrossFitted:
    """The cross-fitted predictions of a method that judges itself.

    Attributes
    ----------
    rows, folds : list of int
        Rows of the table, and the number of the fold that held each out.
    predicted : list of int or of float
        Their classes, or numbers.
    scores : list of list of float, or None
        Their scores of every class.
    """

    rows: list[int]
    folds: list[int]
    predicted: list[Any]
    scores: list[list[float]] | None = None


@dataclass(frozen=True)
class Fit:
    """One fit: what it predicted, or why it failed.

    Attributes
    ----------
    stage, name, number
        "all" or the point of a learning curve, the classifier, and the number of the split.
    test : list of int
        Held-out rows of the table.
    seconds : float
        Time of the fit and its predictions.
    note : str or None
        The warnings of the fit; if it failed, the error.
    predicted, scores : list or None
        Classes, or numbers, and scores of the held-out rows. ``predicted`` is None if the fit
        failed, ``scores`` if the model has none.
    twin, twin_scores : list or None
        The same by the supervised twin, if there is one.
    probe, twin_probe, probe_scores : list or None
        Classes of some unlabelled rows by the classifier and its twin, and a baseline's scores.
    verdicts : dict of str to OwnDifference
        For a method that judges itself: how it differs from its own "baseline", which may be
        another model than that of the comparison, and from its "supervised" twin.
    notes : list of str
        Approximations and omissions of such a method.
    limited : bool
        Whether it left out something for lack of time.
    held_out : CrossFitted or None
        Its cross-fitted predictions.
    unlabeled : dict of str to list
        Classes, or numbers, of all unlabelled rows, by such a method ("own") and by its
        "supervised" stack.
    model : classifier or None
        Such a method, fitted to the names of classes. It is not stored.
    """

    stage: str
    name: str
    number: int
    test: list[int]
    seconds: float = 0.0
    note: str | None = None
    predicted: list[Any] | None = None
    scores: list[list[float]] | None = None
    twin: list[Any] | None = None
    twin_scores: list[list[float]] | None = None
    probe: list[Any] | None = None
    twin_probe: list[Any] | None = None
    probe_scores: list[list[float]] | None = None
    verdicts: dict[str, OwnDifference] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    limited: bool = False
    held_out: CrossFitted | None = None
    unlabeled: dict[str, list[Any]] = field(default_factory=dict)
    model: Any = field(default=None, repr=False, compare=False)

    @property
    def unit(self) -> Unit:
        """Its name in a store of results."""
        return f"{self.stage}/{self.name}", self.number

    def to_dict(self) -> dict[str, Any]:
        """Return what is stored under ``unit``, as plain JSON values."""
        where, plain = ("stage", "name", "number"), replace(self, model=None)
        return {k: v for k, v in asdict(plain).items() if k not in where and v is not None}

    @classmethod
    def read(cls, unit: Unit, stored: dict[str, Any]) -> Self:
        """Return the fit that was stored under a unit."""
        stage, _, name = unit[0].partition("/")
        held_out, verdicts = stored.get("held_out"), stored.get("verdicts", {})
        typed = {
            "verdicts": {key: OwnDifference.read(value) for key, value in verdicts.items()},
            "held_out": held_out and CrossFitted(**held_out),
        }
        names = {one.name for one in fields(cls)}
        stored_fields = {key: value for key, value in stored.items() if key in names}
        return cls(stage, name, unit[1], **stored_fields | typed)


@dataclass(frozen=True)
class FailedFit(PlainRecord):
    """A fit that raised an error.

    Attributes
    ----------
    name, stage : str
        The classifier, and "all", "whole" or the point of a learning curve.
    split : int
        Number of the split.
    reason : str
        The error.
    """

    name: str
    stage: str
    split: int
    reason: str
    in_json = ("name", "stage", "split", "reason", "text")

    @property
    def text(self) -> str:
        """Which fit failed, and why: "ridge failed in split 3: ValueError: ..."."""
        where = f"in split {self.split}"
        if self.stage not in (ALL, CROSS_FITTED):
            axis, _, size = self.stage.partition("=")
            rows = "unlabelled" if axis == N_UNLABELED else "labelled"
            where = f"in the learning curve, with {size} {rows} rows {where}"
        return f"{self.name} failed {where}: {self.reason}"


def stored(values: Sequence[Any], *, numeric: bool) -> AnyArray:
    """Return stored predictions, numbers or codes of classes, as an array."""
    return np.array(values, dtype=float if numeric else np.intp)


def named_classes(reason: str, classes: AnyArray | None) -> str:
    """Return the text of an error with codes of classes replaced by their names."""
    if classes is None:
        return reason
    names = classes.tolist()

    def name_of_code(match: re.Match[str]) -> str:
        code = int(match[1])
        return f"class {names[code]!r}" if code < len(names) else match[0]

    return re.sub(r"\bclass (\d+)\b", name_of_code, reason)


@dataclass(frozen=True)
class HeldOutPredictions:
    """The predictions of one method in all of its splits.

    Attributes
    ----------
    folds : sequence of Fold
        The splits.
    splits : sequence of Predictions
        The predictions for the rows that each split holds out.
    """

    folds: Sequence[Fold]
    splits: Sequence[Predictions]

    @property
    def rows(self) -> Index:
        """Positions of the held-out rows among the labelled ones, one split after the other."""
        return np.concatenate([fold.test for fold in self.folds])

    @property
    def all(self) -> Predictions:
        """The predictions of all splits."""
        return joined(self.splits)


@dataclass
class Records:
    """The finished fits of a plan.

    Attributes
    ----------
    plan : Plan
        What is compared.
    done : dict of unit to Fit
        The fits, the failed ones included.
    left_out : list of str
        Sentences on what the time budget left out.
    seconds : float
        Time that this run took.
    n_stored, stored_seconds : int and float
        Number of fits that earlier runs had stored, and their times together.
    models : dict of str to model
        Models that were fitted to all rows afterwards, by name.
    """

    plan: Plan
    done: dict[Unit, Fit] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    seconds: float = 0.0
    n_stored: int = 0
    stored_seconds: float = 0.0
    models: dict[str, Any] = field(default_factory=dict, repr=False)

    def get(self, name: str, number: int = 0, stage: str = ALL) -> Fit | None:
        """Return a fit, or None if it failed or was not made."""
        fit = self.done.get((f"{stage}/{name}", number))
        return None if fit is None or fit.predicted is None else fit

    def every(self, name: str) -> list[Fit]:
        """Return the fits of a classifier in the splits that are part of the result."""
        fits = [self.get(name, number) for number in self.splits]
        return [fit for fit in fits if fit is not None]

    def predictions(self, fit: Fit, twin: bool = False) -> Predictions:
        """Return the predictions of a fit, or of its twin, for the rows held out."""
        predicted, scores = (fit.twin, fit.twin_scores) if twin else (fit.predicted, fit.scores)
        data = self.plan.table
        truth = data.y[np.array(fit.test, dtype=np.intp)]
        shares = None if scores is None else np.array(scores)
        return Predictions(truth, stored(predicted or [], numeric=data.numeric), shares)

    def split(self, name: str, number: int, stage: str = ALL) -> Predictions | None:
        """Return what a classifier predicted in a split; None if it failed or was not fitted."""
        fit = self.get(name, number, stage)
        return None if fit is None else self.predictions(fit)

    def baseline(self, number: int, stage: str = ALL) -> Predictions | None:
        """Return the average of the baselines in a split."""
        fits = [self.split(entry.name, number, stage) for entry in self.plan.baselines]
        parts = [part for part in fits if part is not None]
        if len(parts) < len(fits):
            return None
        if len(parts) == 1:
            return parts[0]
        truth = parts[0].truth
        if self.plan.table.numeric:
            return Predictions(truth, np.mean([part.predicted for part in parts], axis=0), None)
        if any(part.scores is None for part in parts):
            raise ValueError("The baselines must have predict_proba or decision_function.")
        scores = np.mean([part.needed_scores for part in parts], axis=0)
        return Predictions(truth, scores.argmax(axis=1), scores)

    @cached_property
    def splits(self) -> list[int]:
        """Numbers of the splits that are part of the result.

        Those of repeats in which all baselines were fitted, so that every labelled row counts the
        same; without such a repeat, the splits in which all were fitted.
        """
        size, names = self.plan.n_folds, [entry.name for entry in self.plan.baselines]
        fitted = [
            number
            for number in range(self.plan.repeats * size)
            if all(self.get(name, number) is not None for name in names)
        ]
        repeats = [range(size * r, size * (r + 1)) for r in range(self.plan.repeats)]
        whole = [n for repeat in repeats if set(fitted).issuperset(repeat) for n in repeat]
        return whole or fitted

    @property
    def waiting(self) -> list[str]:
        """What is still to be fitted: the names of methods, and the learning curves."""
        units = [task.unit for tasks in plan_fits(self.plan) for task in tasks]
        stages = {unit[0] for unit in units if unit not in self.done}
        compared = [entry.name for entry in self.plan.methods]
        names = [name for name in compared if f"{ALL}/{name}" in stages]
        curves = any(stage.startswith((N_LABELED, N_UNLABELED)) for stage in stages)
        return [*names, "the learning curves"] if curves else names

    @property
    def folds(self) -> list[Fold]:
        """The splits that are part of the result."""
        return [self.plan.split(number) for number in self.splits]

    def equivalence(self, loss: Loss) -> float:
        """Return the default practical equivalence: one point, or a share of costs or of the loss.

        For numbers it is a share of the baseline's loss. The share of costs is rounded to two
        digits.
        """
        if loss.scoring != COST:
            return EQUIVALENT_SHARE if self.plan.table.numeric else PRACTICAL_EQUIVALENCE
        judge = judge_of(self.plan.table, self.folds)
        return float(f"{EQUIVALENT_COST * judge.size(joined(self.baselines), loss):.2g}")

    @property
    def baselines(self) -> list[Predictions]:
        """The baseline in the splits that are part of the result."""
        predictions = [self.baseline(number) for number in self.splits]
        return [one for one in predictions if one is not None]

    @property
    def cross_fitted(self) -> dict[str, Fit]:
        """The fits of the methods that judged themselves, by name."""
        names = [entry.name for entry in self.plan.cross_fitted]
        fits = {name: self.get(name, stage=CROSS_FITTED) for name in names}
        return {name: fit for name, fit in fits.items() if fit is not None}

    def held_out(self, name: str) -> HeldOutPredictions | None:
        """Return the held-out predictions of the baseline or of a method.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        HeldOutPredictions or None
            For a method that judges itself, in the splits in which it is cross-fitted.
        """
        if name in self.cross_fitted:
            cross_fitted = self.cross_fitted[name].held_out
            return None if cross_fitted is None else self._cross_fitted_predictions(cross_fitted)
        if name == BASELINE:
            return HeldOutPredictions(self.folds, self.baselines)
        return HeldOutPredictions(self.folds, [self.predictions(fit) for fit in self.every(name)])

    def _cross_fitted_predictions(self, cross_fitted: CrossFitted) -> HeldOutPredictions:
        """Return the predictions of a method that judged itself, fold by fold."""
        data, numbers = self.plan.table, np.array(cross_fitted.folds)
        rows = np.searchsorted(data.known.labeled, cross_fitted.rows)
        scores = None if cross_fitted.scores is None else np.array(cross_fitted.scores, dtype=float)
        predicted = stored(cross_fitted.predicted, numeric=data.numeric)
        every = Predictions(data.truth[rows], predicted, scores)
        parts = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
        folds = [self.plan.split(number) for number in range(len(parts))]
        return HeldOutPredictions(folds, [every.take(part) for part in parts])

    def beside_baseline(self, fit: Fit) -> tuple[HeldOutPredictions, HeldOutPredictions] | None:
        """Return the predictions of a method that judges itself, and of the baseline, by split.

        In each split both were trained on the same labels, and predict the same rows.

        Parameters
        ----------
        fit : Fit
            Of that method.

        Returns
        -------
        (HeldOutPredictions, HeldOutPredictions) or None
            Both, in the splits in which the baseline was fitted; None if there are none.
        """
        if fit.held_out is None:
            return None
        held_out = self._cross_fitted_predictions(fit.held_out)
        in_both = [
            (fold, mine, other)
            for number, (fold, mine) in enumerate(zip(held_out.folds, held_out.splits, strict=True))
            if (other := self.baseline(number)) is not None
        ]
        if not in_both:
            return None
        folds, mine, others = zip(*in_both, strict=True)
        return HeldOutPredictions(folds, mine), HeldOutPredictions(folds, others)

    def own_difference(self, fit: Fit, loss: Loss) -> Difference | None:
        """Return the difference of such a method's loss from the baseline's; None if unknown."""
        if (both := self.beside_baseline(fit)) is None:
            return None
        mine, others = both
        return judge_of(self.plan.table, mine.folds).difference(mine.all, others.all, loss)

    @property
    def failures(self) -> list[FailedFit]:
        """The fits that raised an error."""
        classes = self.plan.table.classes
        return [
            FailedFit(fit.name, fit.stage, fit.number, named_classes(str(fit.note), classes))
            for fit in self.done.values()
            if fit.predicted is None
        ]

    def changed(self, name: str) -> float:
        """Return how much a method changes the baseline's predictions of unlabelled rows.

        Parameters
        ----------
        name : str
            A method that was fitted in all splits.

        Returns
        -------
        float
            Mean over splits, for the rows ``plan.probe``: the share with different predicted
            classes, or the root mean square of the difference of predicted numbers.
        """
        parts = [self.every(entry.name) for entry in self.plan.baselines]
        scores = [[fit.probe_scores for fit in fits] for fits in parts]
        probes = [[fit.probe for fit in fits] for fits in parts]
        predicted = np.array([fit.probe for fit in self.every(name)])
        if self.plan.table.numeric:
            baseline = np.mean([np.array(one) for one in probes], axis=0)
            return float(np.sqrt(((baseline - predicted) ** 2).mean(axis=1)).mean())
        if len(probes) == 1:
            return float((np.array(probes[0]) != predicted).mean(axis=1).mean())
        mean = np.mean([np.array(one) for one in scores], axis=0)
        return float((mean.argmax(axis=2) != predicted).mean(axis=1).mean())


def held_out_models(
    records: Records, loss: Loss, equivalence: float, n_changed: Callable[[str], tuple[float, int]]
) -> tuple[HeldOutModel, dict[str, HeldOutModel], dict[str, HeldOutModel]]:
    """Return the baseline, its parts if there are several, and the methods that can be judged.

    ``n_changed`` returns for how many unlabelled rows a method changes the class of the baseline,
    and of how many.
    """
    plan, n_splits = records.plan, len(records.splits)
    judge = judge_of(plan.table, records.folds, equivalence)

    def in_splits(entry: Entry) -> HeldOutModel:
        fits = records.every(entry.name)
        predictions = joined([records.predictions(fit) for fit in fits])
        seconds = float(np.mean([fit.seconds for fit in fits]))
        return HeldOutModel(judge, predictions, seconds, n_splits, entry.uses_unlabeled)

    every = {entry.name: in_splits(entry) for entry in plan.baselines}
    seconds = sum(one.seconds for one in every.values())
    baseline = HeldOutModel(judge, joined(records.baselines), seconds, n_splits)
    methods: dict[str, HeldOutModel] = {}
    by_errors = loss.scoring == "accuracy"
    for entry in plan.cross_fitted:
        fit = records.cross_fitted.get(entry.name)
        if fit is None or (both := records.beside_baseline(fit)) is None:
            continue
        mine, others = both
        twin = fit.verdicts.get("supervised")
        methods[entry.name] = HeldOutModel(
            judge_of(plan.table, mine.folds, equivalence),
            mine.all,
            fit.seconds,
            n_splits=1,
            uses_unlabeled=entry.uses_unlabeled,
            n_changed=n_changed(entry.name) if by_errors else (0, 0),
            baseline=others.all,
            twin_difference=None if twin is None else (twin.difference, twin.disagreement),
        )
    for entry in plan.split_entries:
        fits = records.every(entry.name)
        lacks_scores = loss.needs_scores and any(fit.scores is None for fit in fits)
        if entry not in plan.methods or not 0 < n_splits == len(fits) or lacks_scores:
            continue
        found = in_splits(entry)
        if by_errors:
            found = replace(found, n_changed=n_changed(entry.name))
        if entry.uses_unlabeled and all(fit.twin is not None for fit in fits):
            shares = [np.mean(np.array(f.probe) != np.array(f.twin_probe)) for f in fits if f.probe]
            n_rows = len(plan.probe)
            found = replace(
                found,
                twin=joined([records.predictions(fit, twin=True) for fit in fits]),
                n_changed_by_rows=(n_rows * float(np.mean(shares)) if shares else 0, n_rows),
            )
        methods[entry.name] = found
    return baseline, every if len(every) > 1 else {}, methods


@dataclass(frozen=True)
class CurvePoint(PlainRecord):
    """A point of a learning curve.

    Attributes
    ----------
    axis : {"n_unlabeled", "n_labeled"}
        Which number of rows varies.
    n : int
        Their number.
    name : str
        The classifier.
    loss : float
        Its mean loss.
    standard_error : float
        Standard error of the loss or, for a method that judges itself, of the difference.
    """

    axis: str
    n: int
    name: str
    loss: float
    standard_error: float


def learning_curves(records: Records, loss: Loss, baseline_loss: float) -> list[CurvePoint]:
    """Return the points of all curves, those over unlabelled rows first, by their number.

    ``baseline_loss`` is that of the whole comparison.
    """
    plan = records.plan
    ends = {N_UNLABELED: plan.table.n_unlabeled, N_LABELED: len(plan.folds[0][0].train)}
    stages = {fit.stage for fit in records.done.values()} - {ALL, CROSS_FITTED}
    sizes = [(axis, int(size), f"{axis}={size}") for axis, size in (s.split("=") for s in stages)]
    sizes += [(axis, ends[axis], ALL) for axis in {axis for axis, *_ in sizes}]
    points: list[CurvePoint] = []
    for axis, size, stage in sorted(sizes, key=lambda point: (point[0] != N_UNLABELED, point[1])):
        here = list(_split_points(records, loss, axis, size, stage))
        points += here
        if axis == N_UNLABELED:
            start = {point.name: point.loss for point in here}.get(BASELINE, baseline_loss)
            points += _own_points(records, loss, size, stage, start)
    return points


def _split_points(
    records: Records, loss: Loss, axis: str, size: int, stage: str
) -> Iterator[CurvePoint]:
    """Yield the points of all classifiers that finished all splits, at least two."""
    plan, first = records.plan, range(records.plan.n_folds)
    names = [entry.name for entry in plan.split_entries if entry in plan.methods]
    baseline_stage = ALL if axis == N_UNLABELED else stage
    predictions: dict[str, list[Predictions | None]] = {
        BASELINE: [records.baseline(number, baseline_stage) for number in first],
        **{name: [records.split(name, number, stage) for number in first] for name in names},
    }
    for name, splits in predictions.items():
        parts = [split for split in splits if split is not None]
        if len(parts) == len(splits):
            pairs = zip(parts, _weights_of_folds(plan), strict=True)
            losses = np.array([loss.of_split(part, weight) for part, weight in pairs])
            # A loss that is undefined in some split has no mean over splits.
            losses = losses[np.isfinite(losses)]
            if len(losses) > 1:
                error = losses.std(ddof=1) / np.sqrt(len(losses))
                yield CurvePoint(axis, size, name, float(losses.mean()), float(error))


def _weights_of_folds(plan: Plan) -> list[Floats | None]:
    """Return the weights of the rows that the folds of the first repeat hold out (None: 1)."""
    weight = plan.table.labeled_weight
    return [None if weight is None else weight[fold.test] for fold in plan.folds[0]]


def _own_points(
    records: Records, loss: Loss, size: int, stage: str, baseline_loss: float
) -> Iterator[CurvePoint]:
    """Yield the points of methods that judge themselves, as changes from the baseline's point.

    The point without unlabelled rows is that of the supervised stack.
    """
    for name, whole in records.cross_fitted.items():
        fit, less = records.get(name, stage=CROSS_FITTED if stage == ALL else stage), 0.0
        if size == 0 and "supervised" in whole.verdicts:
            fit, less = whole, whole.verdicts["supervised"].difference.mean
        difference = None if fit is None else records.own_difference(fit, loss)
        if difference is None:
            continue
        value = baseline_loss + difference.mean - less
        value = value if loss.of_rows is None else max(value, 0.0)
        yield CurvePoint(N_UNLABELED, size, name, value, difference.standard_error)
