"""Running the fits of a comparison: in parallel, resumable, within a time budget.

A fit that raises an exception becomes a record with its message. Held-out predictions are stored,
not scores, so that any scoring can be applied to them afterwards.

Groups of rows inside a fit: penalties are chosen in folds that keep groups together.

Rows of one group are alike. If some of them were held out and others trained on, a small penalty
would look best, which is too small for new groups.
"""

import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegressionCV

from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import Index
from primum.comparison.identity import distributions_of
from primum.comparison.plan import (
    ALL,
    CROSS_FITTED,
    ComparisonPlan,
    Task,
    classifier_name,
    last_step,
    parts_of,
    turn_of,
    weight_of,
)
from primum.comparison.progress import TimeLeft, reporting, with_time_left
from primum.comparison.store import ResultStore, Unit
from primum.comparison.workers import run_parallel, seeded
from primum.judging.losses import predicted_codes
from primum.judging.words import OwnVerdict, judges_itself
from primum.methods.least_squares.tuning import Tuned
from primum.reading.classifiers import Entry, class_scores
from primum.reading.folds import tuning_folds
from primum.safe.out_of_fold import watch_folds

# What scikit-learn's classifiers mean by cv=None.
USUAL_FOLDS = 5


def keep_groups(estimator: Any, labeled: Index, codes: Index, groups: Index) -> None:
    """Let a classifier that chooses its penalty in a number of folds keep groups together.

    Parameters
    ----------
    estimator : classifier or pipeline
        About to be fitted, and changed. Other classifiers than those whose ``cv`` is known to
        split rows are left alone.
    labeled : array of int
        Positions of the labelled rows among those that it is fitted to.
    codes, groups : array
        Classes and groups of the labelled rows.
    """
    for part in _tuned_parts(last_step(estimator)):
        if part.cv is None or isinstance(part.cv, Integral):
            most = USUAL_FOLDS if part.cv is None else int(part.cv)
            folds = tuning_folds(most, codes, groups)
            if folds:
                part.set_params(cv=[(labeled[fold.train], labeled[fold.test]) for fold in folds])


def _tuned_parts(classifier: Any) -> Iterator[Any]:
    """Yield the classifiers that tune themselves: this one, or those that it averages."""
    if isinstance(classifier, VotingClassifier):
        for _, part in classifier.estimators:
            yield from _tuned_parts(part)
    elif isinstance(classifier, Tuned | LogisticRegressionCV):
        yield classifier


def known_rows(y: Any) -> Index:
    """Return the positions of the labelled rows; -1 and None mark the others."""
    return np.flatnonzero([label is not None and label != -1 for label in y])


PROBE_DIGITS, HELD_OUT_DIGITS = 3, 6
# With a time budget, a fit is tried with an eighth of the unlabelled rows, if these are enough.
TRIAL_PART, TRIAL_ROWS = 8, 50
# A method that judges itself fits the baselines in about this many splits, whatever its limit.
LEAST_SPLITS = 10
# Its share of the time that is left when it begins.
SELF_JUDGED_SHARE = 0.6


@dataclass
class Records:
    """The finished fits.

    Attributes
    ----------
    done : dict of unit to record
        Held-out rows, predictions, scores, seconds and the note of every fit.
    left_out : list of str
        A sentence for whatever the time budget left out.
    seconds : float
        Time that this run took.
    """

    done: dict[Unit, dict[str, Any]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    seconds: float = 0.0


def run_comparison(
    plan: ComparisonPlan,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    n_jobs: int = 1,
    time_budget: float | None = None,
    progress: bool = True,
    start: float | None = None,
) -> Records:
    """Run the fits of a plan that are not yet stored.

    Parameters
    ----------
    plan : ComparisonPlan
        The fits.
    folder : path, optional
        Where they are stored; an interrupted comparison continues there with ``resume=True``.
    resume : bool, default=False
        Whether to continue a folder that already contains results.
    n_jobs : int, default=1
        Number of processes; -1 means one per core.
    time_budget : float, optional
        Seconds after which no fit is started that is expected to exceed them. A classifier that
        would take too long is left out, repeats and learning curves are shortened.
    progress : bool, default=True
        Whether to show progress.
    start : float, optional
        When the time began, by ``time.monotonic``; default: now.

    Returns
    -------
    Records
        The finished fits and what was left out.
    """
    start = time.monotonic() if start is None else start
    run = _Run(plan, n_jobs, time_budget, progress, start)
    if folder is None:
        return run.all_rounds({}, None)
    packages = distributions_of([entry.estimator for entry in plan.entries])
    with ResultStore(
        folder, plan.config, resume=resume, packages=packages, part_of=classifier_name
    ) as store:
        stored = {unit: rows[0] for unit, rows in store.done.items()}
        return run.all_rounds(stored, store)


@dataclass
class _Run:
    plan: ComparisonPlan
    n_jobs: int
    time_budget: float | None
    progress: bool
    start: float
    dropped: set[str] = field(default_factory=set)
    folder: str | None = None  # where fits leave how long they expect to take

    def all_rounds(self, stored: dict[Unit, dict[str, Any]], store: ResultStore | None) -> Records:
        records = Records()
        rounds = list(self.plan.rounds())
        with self._time_left(rounds, stored) as left:
            work: Iterable[Any] = self._work(rounds, stored, records)
            for unit, record in work if left is None else with_time_left(work, left, "compare"):
                # A fit that was cut short is not the one that another run would ask for.
                if store is not None and not record.get("limited"):
                    store.append(unit, [record])
                records.done[unit] = record
        records.seconds = time.monotonic() - self.start
        return records

    @contextmanager
    def _time_left(
        self, rounds: list[list[Task]], stored: dict[Unit, dict[str, Any]]
    ) -> Iterator[TimeLeft | None]:
        """Yield an estimate of the time that is left; None if it is not shown."""
        weights = {task.unit: weight_of(task) for tasks in rounds for task in tasks}
        if not self.progress or weights.keys() <= stored.keys():
            yield None
            return
        with TemporaryDirectory(prefix="primum-") as self.folder:
            jobs = _n_processes(self.n_jobs)
            parts = {task.unit: parts_of(task) for tasks in rounds for task in tasks}
            left = TimeLeft(weights, jobs, self.time_budget, self.start, self.folder, parts)
            for unit in weights.keys() & stored.keys():
                left.finish(unit, stored[unit]["seconds"])
            yield left

    def _work(
        self,
        rounds: list[list[Task]],
        stored: dict[Unit, dict[str, Any]],
        records: Records,
    ) -> Iterator[Any]:
        """Yield the fits of all rounds that fit into the budget; stored ones are only kept."""
        missing = []
        for tasks in rounds:
            records.done |= {t.unit: stored[t.unit] for t in tasks if t.unit in stored}
            missing.append([task for task in tasks if task.unit not in stored])
        if self.time_budget is None:
            whole = [task for tasks in missing for task in tasks]
            yield from self._run_parallel(sorted(whole, key=turn_of))
            return
        baselines, self_judged, first, *later = missing
        yield from self._run_parallel(baselines)
        yield from self._self_judged(self_judged, records)
        yield from self._first_split(first, records)
        for tasks in later:
            yield from self._run_parallel(self._affordable(tasks, records))

    @property
    def _left(self) -> float:
        """Seconds left."""
        budget = float("inf") if self.time_budget is None else self.time_budget
        return budget - (time.monotonic() - self.start)

    def _self_judged(self, tasks: list[Task], records: Records) -> Iterator[Any]:
        """Yield the fits of methods that judge themselves, each with a part of the time left."""
        names = [entry.name for entry in self.plan.baselines]
        least = LEAST_SPLITS * sum(_seconds_of([], name, records) for name in names)
        for task in tasks:
            if least < self._left:
                yield from self._run_parallel([task], SELF_JUDGED_SHARE * self._left)
            else:
                self._drop(task.entry.name, least, records)

    def _first_split(self, tasks: list[Task], records: Records) -> Iterator[Any]:
        """Yield the fits of the first split that can end in time."""
        for task in tasks:
            needed = self._most_seconds(task) if self._left > 0 else 0.0
            if needed < self._left:
                yield from self._run_parallel([task])
            else:
                self._drop(task.entry.name, needed, records)

    def _most_seconds(self, task: Task) -> float:
        """Return about the longest that a first fit can take, from one with fewer rows.

        Times grow no faster than the number of rows.
        """
        known = self.plan.table.codes[task.train] >= 0
        unknown = np.flatnonzero(~known)
        if len(unknown) < TRIAL_ROWS * TRIAL_PART:
            return 0.0
        some = unknown[::TRIAL_PART]
        rows = task.train[np.sort(np.concatenate([np.flatnonzero(known), some]))]
        ((_, record),) = self._run_parallel([replace(task, train=rows)])
        return float(record["seconds"]) * TRIAL_PART

    def _drop(self, name: str, seconds: float, records: Records) -> None:
        """Leave out a method for good."""
        self.dropped.add(name)
        reason = f" (it needs about {seconds:.0f} more seconds)" if seconds else ""
        records.left_out.append(f"{name} was left out to keep within the time budget{reason}.")

    def _run_parallel(self, tasks: list[Task], seconds: float | None = None) -> Iterator[Any]:
        shared = replace(Shared.of(self.plan), folder=self.folder)
        yield from run_parallel(run_task, ((task, shared, seconds) for task in tasks), self.n_jobs)

    def _affordable(self, tasks: list[Task], records: Records) -> list[Task]:
        """Return the tasks that are expected to end in time, the fastest methods first.

        In the first repeat a method is left out as a whole, later on the round is.
        """
        jobs, left = _n_processes(self.n_jobs), self._left
        tasks = [task for task in tasks if task.entry.name not in self.dropped]
        names = list(dict.fromkeys(task.entry.name for task in tasks))
        cost = {name: _seconds_of(tasks, name, records) / jobs for name in names}
        if not tasks or sum(cost.values()) <= left:
            return tasks
        if tasks[0].stage != ALL or tasks[0].number >= self.plan.n_folds:
            records.left_out.append(_left_out_round(tasks))
            return []
        chosen = []
        for name in sorted(names, key=cost.__getitem__):
            if cost[name] <= left:
                chosen.append(name)
                left -= cost[name]
            else:
                self._drop(name, cost[name], records)
        return [task for task in tasks if task.entry.name in chosen]


def _seconds_of(tasks: list[Task], name: str, records: Records) -> float:
    """Return the expected time of a classifier's tasks, or of one if there are none."""
    done = records.done.items()
    times = [r["seconds"] for unit, r in done if classifier_name(unit[0]) == name]
    count = sum(task.entry.name == name for task in tasks) if tasks else 1
    return count * float(np.mean(times)) if times else 0.0


def _left_out_round(tasks: list[Task]) -> str:
    stage = tasks[0].stage
    what = "a repeat of the cross-validation" if stage == ALL else f"the learning curve at {stage}"
    return f"{what[0].upper()}{what[1:]} was left out to keep within the time budget."


def _n_processes(n_jobs: int) -> int:
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


@dataclass(frozen=True)
class Shared:
    """What all fits of a comparison have in common.

    Attributes
    ----------
    X, codes, groups
        The rows, their classes and their groups.
    n_classes : int
        Number of classes.
    probe, compared : array of int
        Unlabelled rows for which predictions are kept, and of which changed ones are.
    baselines : set of str
        Names of the baselines.
    seed : int
        Seed of everything random.
    folder : str or None
        Where fits leave how long they expect to take, if that is shown.
    """

    X: Any
    codes: Index
    groups: Any
    n_classes: int
    probe: Index
    compared: Index
    baselines: frozenset[str]
    seed: int
    folder: str | None = None

    @classmethod
    def of(cls, plan: ComparisonPlan) -> "Shared":
        """Return what the fits of a plan have in common."""
        names, n_classes = (entry.name for entry in plan.baselines), len(plan.table.labels.classes)
        return cls(
            *(plan.table.X, plan.table.codes, plan.groups, n_classes, plan.probe, plan.compared),
            *(frozenset(names), plan.seed),
        )


def run_task(
    task: Task, shared: Shared, seconds: float | None = None
) -> tuple[Unit, dict[str, Any]]:
    """Return (unit, record) of one fit, limited to some seconds if it can be."""
    entry = task.entry
    estimator = seeded(entry.estimator, shared.seed, entry.name, task.number)
    entry = Entry(entry.name, estimator, entry.uses_unlabeled)
    start = time.perf_counter()
    record: dict[str, Any] = {"test": task.test.tolist()}
    with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if seconds is not None:
                limit_time(estimator, seconds)
            if task.cv is not None:
                last_step(estimator).set_params(cv=task.cv)
            groups = None if shared.groups is None else shared.groups[task.train]
            with _reported(shared.folder, task.unit):
                fitted = fit_entry(
                    entry, take_rows(shared.X, task.train), shared.codes[task.train], groups
                )
            record |= _record(fitted, task, shared)
            note = {f"{warning.category.__name__}: {warning.message}" for warning in caught}
            record["note"] = "; ".join(sorted(note)) or None
            record.setdefault("limited", False)
        except Exception as failure:  # a failing classifier is a result, and the run continues
            record = {
                "test": task.test.tolist(),
                "predicted": None,
                "note": f"{type(failure).__name__}: {failure}",
            }
    return task.unit, {**record, "seconds": time.perf_counter() - start}


def _reported(folder: str | None, unit: Unit) -> AbstractContextManager[None]:
    """Report the folds of a fit, inside a ``with`` block, if its progress is shown."""
    return nullcontext() if folder is None else watch_folds(reporting(folder, unit))


def fit_entry(entry: Entry, X: Any, y: Any, groups: Any = None) -> Any:
    """Return an entry fitted to rows; groups of these stay together in whatever it tunes."""
    if groups is None:
        return entry.fit(X, y)
    if not judges_itself(last_step(entry.estimator)):
        estimator, labeled = clone(entry.estimator), known_rows(y)
        codes = np.unique(y[labeled].astype(str), return_inverse=True)[1]
        at = labeled if entry.uses_unlabeled else np.arange(len(labeled))
        keep_groups(estimator, at, codes, groups[labeled])
        return Entry(entry.name, estimator, entry.uses_unlabeled).fit(X, y)
    steps = getattr(entry.estimator, "steps", None)
    name = "groups" if steps is None else f"{steps[-1][0]}__groups"
    with config_context(enable_metadata_routing=False):  # the groups have one destination
        return entry.fit(X, y, **{name: groups})


def limit_time(estimator: Any, seconds: float) -> None:
    """Limit the time of a classifier that judges itself, unless its own limit is lower."""
    last = last_step(estimator)
    if judges_itself(last):
        own = float("inf") if last.time_budget is None else last.time_budget
        last.set_params(time_budget=min(own, seconds))


def _record(fitted: Any, task: Task, shared: Shared) -> dict[str, Any]:
    """Return what is kept of a fit."""
    if len(task.test) == 0:
        found = last_step(fitted).own_verdict()
        own = {"predicted": [], **_verdicts(found)}
        if task.stage != CROSS_FITTED:
            return own
        return own | {"held_out": _held_out(found, task)} | _assigned(fitted, shared)
    # Rows are prepared once for all predictions: with a table, that takes longer than predicting.
    both = np.concatenate([task.test, shared.probe])
    rows = prepared_rows(fitted, take_rows(shared.X, both))
    classifier, n_test, name = last_step(fitted), len(task.test), task.entry.name
    held_out = take_rows(rows, np.arange(n_test))
    found = _predictions(classifier, held_out, shared.n_classes, name)
    if len(shared.probe):
        probe = take_rows(rows, np.arange(n_test, len(both)))
        found |= _probe(classifier, probe, shared.n_classes, name, name in shared.baselines)
    return found


def _held_out(own: OwnVerdict, task: Task) -> dict[str, Any]:
    """Return the cross-fitted predictions of a classifier, with the rows and folds they are of."""
    return {
        "rows": task.train[own.rows].tolist(),
        "folds": own.folds.tolist(),
        "predicted": predicted_codes(own.scores).tolist(),
        "scores": np.round(own.scores, HELD_OUT_DIGITS).tolist(),
    }


def _assigned(fitted: Any, shared: Shared) -> dict[str, Any]:
    """Return the unlabelled rows in every class, and where the baseline of a classifier differs.

    The latter are (position, class by the baseline, class by the classifier).
    """
    if len(shared.compared) == 0:
        return {"assigned": [0] * shared.n_classes, "changed": []}
    rows = prepared_rows(fitted, take_rows(shared.X, shared.compared))
    last = last_step(fitted)
    own, others = (np.asarray(model.predict(rows)) for model in (last, last.baseline_))
    return {
        "assigned": np.bincount(own, minlength=shared.n_classes).tolist(),
        "changed": [[int(i), int(others[i]), int(own[i])] for i in np.flatnonzero(own != others)],
    }


def prepared_rows(fitted: Any, X: Any) -> Any:
    """Return rows as the last step of a pipeline receives them."""
    return fitted[:-1].transform(X) if hasattr(fitted, "steps") and len(fitted.steps) > 1 else X


def _verdicts(own: OwnVerdict) -> dict[str, Any]:
    """Return the differences from the baseline and from the supervised twin, and the notes."""
    return {
        "verdicts": {
            against: {
                "difference": asdict(verdict.difference),
                "disagreement": verdict.disagreement and asdict(verdict.disagreement),
            }
            for against, verdict in own.verdicts.items()
        },
        "notes": own.notes,
        "limited": own.limited,
    }


def _predictions(fitted: Any, X: Any, n_classes: int, name: str) -> dict[str, Any]:
    """Return the predicted codes and scores of prepared rows, and those of the twin."""
    predicted, scores = _codes_and_scores(fitted, X, n_classes, name)
    twin, of_twin = getattr(fitted, "supervised_", None), (None, None)
    if hasattr(twin, "predict"):
        of_twin = _codes_and_scores(twin, X, n_classes, f"{name}, supervised")
    return {
        "predicted": predicted, "scores": scores, "twin": of_twin[0], "twin_scores": of_twin[1],
    }  # fmt: skip


def _codes_and_scores(fitted: Any, X: Any, n_classes: int, name: str) -> tuple[Any, Any]:
    """Return the predicted codes and, if a classifier has them, the scores of rows."""
    has_scores = hasattr(fitted, "predict_proba") or hasattr(fitted, "decision_function")
    scores = class_scores(fitted, X, n_classes, name).tolist() if has_scores else None
    return np.asarray(fitted.predict(X)).astype(int).tolist(), scores


def _probe(fitted: Any, X: Any, n_classes: int, name: str, keep_scores: bool) -> dict[str, Any]:
    """Return the predictions for some unlabelled rows; of a baseline, its scores."""
    found = _predictions(fitted, X, n_classes, name)
    kept = {"probe": found["predicted"], "twin_probe": found["twin"]}
    if keep_scores:
        kept["probe_scores"] = np.round(
            class_scores(fitted, X, n_classes, name), PROBE_DIGITS
        ).tolist()
    return kept
