"""Running the fits of a comparison: in parallel, resumable, within a time budget.

A fit that raises an exception becomes a record with its message. Held-out predictions are stored
rather than their losses, so that any scoring can be applied afterwards.

If rows belong to groups, classifiers also tune their penalties in folds that keep groups together
(``keep_groups``). Otherwise training and test sets would share similar rows, and the chosen penalty
would be too small for new groups.
"""

import os
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone

from primum._progress import FOLDS, listening
from primum._sklearn import REGRESSOR, count_rows, learner_of, take_rows
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats, Index, Mask, T
from primum.comparison.data import Data
from primum.comparison.decision import is_ruled
from primum.comparison.plan import (
    ALL,
    CROSS_FITTED,
    Plan,
    Task,
    fit_holding_out_none,
    identity_of_fits,
    plan_fits,
    seeded,
)
from primum.comparison.records import CrossFitted, Fit, OwnDifference, Records, stored
from primum.comparison.store import ResultStore, Unit, distributions_of
from primum.comparison.time_left import TimeLeft, logging_to, showing_time_left
from primum.judging.losses import predicted_codes
from primum.judging.words import judges_itself
from primum.methods.icls.classifier import WithPrior
from primum.methods.least_squares.tuning import keep_groups
from primum.methods.svm.base import TransductiveMachine
from primum.reading.classifiers import Entry, class_scores, known_mask, last_step
from primum.reading.known import drawn_confidence, drawn_share


def assume_drawn_shares(
    estimator: Any, y: AnyArray, chosen: Mask | None, weight: Floats | None = None
) -> None:
    """Let a classifier take the class shares only from labels that were drawn at random.

    Parameters
    ----------
    estimator : classifier or pipeline
        Not fitted yet; it is changed in place. This concerns ``prior="confidence"``, and
        transductive SVMs without a prior, which assume the shares of the labelled rows.
    y, chosen : array of shape (n_rows,)
        Labels of the rows that it is fitted to, and which were not drawn at random; None: all were.
    weight : array of shape (n_rows,), default=None
        Weights that give the labelled rows the shares of the unlabelled ones.
    """
    last, labeled = last_step(estimator), np.flatnonzero(known_mask(y))
    codes, n_unlabeled = _codes_of(y[labeled]), len(y) - len(labeled)
    chosen = np.zeros(len(labeled), dtype=bool) if chosen is None else chosen[labeled]
    if isinstance(last, WithPrior) and isinstance(last.prior, str) and chosen.any():
        sizes = int(codes.max()) + 1, n_unlabeled
        last.prior = drawn_confidence(codes, chosen, *sizes, last.prior_level)
    elif isinstance(last, TransductiveMachine) and last.prior is None:
        of_labeled = None if weight is None else weight[labeled]
        last.prior = drawn_share(codes, chosen, n_unlabeled, of_labeled)


# With a time budget, a trial fit uses an eighth of the unlabelled rows, if it is this many: the
# time of fewer does not tell that of all.
TRIAL_PART, MIN_TRIAL_ROWS = 8, 50
# A method that judges itself fits the baselines in about this many splits, whatever its time: two
# repeats of five folds.
MIN_SELF_JUDGED_SPLITS = 10
# Its share of the time that is left when it begins: the other methods need the rest.
SELF_JUDGED_SHARE = 0.6
# Digits of stored scores: enough to find the largest score, and to judge by scores, whose losses
# are shown with three digits.
PROBE_DIGITS, HELD_OUT_DIGITS = 3, 6
# Keys of the stored predictions for unlabelled rows: by the method, and by its supervised stack.
OWN, SUPERVISED = "own", "supervised"


def run_fits(
    plan: Plan,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    n_jobs: int = 1,
    time_budget: float | None = None,
    verbose: bool = True,
    start: float | None = None,
    first_answer: Callable[[Records], None] | None = None,
) -> Records:
    """Return the fits of a plan, of which those that are not stored are run.

    Parameters
    ----------
    plan : Plan
        The fits.
    folder : path, optional
        Where they are stored; an interrupted comparison continues there with ``resume=True``.
    resume : bool, default=False
        Whether to continue a folder that already contains results.
    n_jobs : int, default=1
        Number of processes; -1 means one per core.
    time_budget : float, optional
        Seconds. A fit that is expected to end later is not started. A classifier that would take
        too long is left out, and repeats and learning curves are cut short.
    verbose : bool, default=True
        Whether to show progress.
    start : float, optional
        Start of the time budget, by ``time.monotonic``; by default now.
    first_answer : callable, optional
        Called with the finished fits once baselines and safe stacks are fitted, if others follow.

    Returns
    -------
    Records
        The finished fits and what was left out.
    """
    from joblib import effective_n_jobs

    start = time.monotonic() if start is None else start
    rounds = plan_fits(plan)
    records = Records(plan)
    n_processes = int(effective_n_jobs(n_jobs))
    store = log = left = None
    with ExitStack() as stack:
        # Stored fits of an earlier run.
        stored: dict[Unit, Fit] = {}
        if folder is not None:
            store = stack.enter_context(
                ResultStore(
                    folder,
                    identity_of_fits(plan),
                    resume=resume,
                    packages=distributions_of([entry.estimator for entry in plan.entries]),
                    part_of=lambda name: name.partition("/")[2],
                )
            )
            stored = {unit: Fit.read(unit, rows[0]) for unit, rows in store.done.items()}
        missing = []
        for tasks in rounds:
            found = {task.unit: stored[task.unit] for task in tasks if task.unit in stored}
            records.done |= found
            records.n_stored += len(found)
            records.stored_seconds += sum(fit.seconds for fit in found.values())
            missing.append([task for task in tasks if task.unit not in stored])

        # An estimate of the time left, if it is shown.
        every = [task for tasks in rounds for task in tasks]
        if verbose and any(missing):
            log = stack.enter_context(TemporaryDirectory(prefix="primum-"))
            weights = {task.unit: task.weight for task in every}
            parts = {task.unit: task.n_fits for task in every}
            left = TimeLeft(weights, n_processes, time_budget, start, log, parts)
            for unit, fit in records.done.items():
                left.finish(unit, fit.seconds)
            stack.enter_context(showing_time_left(left, "compare"))

        # What all fits share; a table is not needed any more.
        shared = replace(plan.table, problem=None), plan.probe, plan.seed, log

        def run(tasks: Sequence[Task], seconds: float | None = None) -> None:
            """Run fits and keep them; those that were cut short are not stored."""
            calls = ((task, *shared, seconds) for task in tasks)
            for unit, fit in run_parallel(run_task, calls, n_jobs):
                if left is not None:
                    left.finish(unit, fit.seconds)
                if store is not None and not fit.limited:
                    store.append(unit, [fit.to_dict()])
                records.done[unit] = fit

        def answer(rest: Sequence[Task]) -> None:
            """Pass on the fits of baselines and safe stacks, if other fits remain."""
            if rest and plan.first_methods and first_answer is not None:
                first_answer(replace(records))  # a copy, because results are cached

        if time_budget is None:
            # The verdict on safe stacks, if there are any, depends on the fits that come first.
            names = {entry.name for entry in (*plan.baselines, *plan.first_methods)}
            stages = (ALL, CROSS_FITTED) if plan.first_methods else ()
            whole = sorted((task for tasks in missing for task in tasks), key=lambda t: t.turn)
            first = [t for t in whole if t.stage in stages and t.entry.name in names]
            rest = [t for t in whole if not (t.stage in stages and t.entry.name in names)]
            run(first)
            answer(rest)
            run(rest)
        else:

            def attempt(task: Task) -> Fit:
                """Return a fit that is not kept."""
                ((_, fit),) = run_parallel(run_task, [(task, *shared, None)], n_jobs)
                return fit

            deadline = start + time_budget
            _run_in_time(missing, records, run, attempt, answer, deadline, n_processes)
    records.seconds = time.monotonic() - start
    return records


def _run_in_time(
    rounds: list[list[Task]],
    records: Records,
    run: Callable[..., None],
    attempt: Callable[[Task], Fit],
    answer: Callable[[Sequence[Task]], None],
    deadline: float,
    n_processes: int,
) -> None:
    """Run rounds of fits, except those that are expected to end after the deadline."""
    plan, left_out = records.plan, records.left_out
    baselines, self_judged, first, *later = rounds
    too_slow = "{} was left out to keep within the time budget{}."
    needs = " (it needs about {:.0f} more seconds)"
    dropped = set()
    run(baselines)

    # Methods that judge themselves, each with a part of the time left.
    names = [entry.name for entry in plan.baselines]
    least = MIN_SELF_JUDGED_SPLITS * sum(_mean_seconds(records, name) for name in names)
    for task in self_judged:
        left = deadline - time.monotonic()
        if least < left:
            run([task], SELF_JUDGED_SHARE * left)
        else:
            dropped.add(task.entry.name)
            left_out.append(too_slow.format(task.entry.name, needs.format(least) if least else ""))
    answer([*first, *(task for tasks in later for task in tasks)])

    # The first split, if it can end in time. About the longest time that a fit can take follows
    # from a trial with fewer rows: times are taken to grow no faster than the number of unlabelled
    # rows.
    for task in first:
        needed = 0.0
        known = known_mask(plan.table.y[task.train])
        unknown = np.flatnonzero(~known)
        if deadline > time.monotonic() and len(unknown) >= MIN_TRIAL_ROWS * TRIAL_PART:
            some = np.sort(np.concatenate([np.flatnonzero(known), unknown[::TRIAL_PART]]))
            needed = attempt(replace(task, train=task.train[some])).seconds * TRIAL_PART
        if needed < deadline - time.monotonic():
            run([task])
        else:
            dropped.add(task.entry.name)
            why = needs.format(needed) if needed else ""
            left_out.append(too_slow.format(task.entry.name, why))

    # Further rounds, the fastest methods first. In the first repeat a slow method is dropped as a
    # whole; later the whole round is dropped.
    for tasks in later:
        tasks = [task for task in tasks if task.entry.name not in dropped]
        counts = Counter(task.entry.name for task in tasks)
        cost = {
            name: count * _mean_seconds(records, name) / n_processes
            for name, count in counts.items()
        }
        left = deadline - time.monotonic()
        if tasks and sum(cost.values()) > left:
            stage = tasks[0].stage
            if stage != ALL or tasks[0].number >= plan.n_folds:
                part = f"The learning curve at {stage}"
                if stage == ALL:
                    part = "A repeat of the cross-validation"
                left_out.append(f"{part} was left out to keep within the time budget.")
                continue
            for name in sorted(cost, key=cost.__getitem__):
                if cost[name] <= left:
                    left -= cost[name]
                else:
                    dropped.add(name)
                    why = needs.format(cost[name]) if cost[name] else ""
                    left_out.append(too_slow.format(name, why))
        run([task for task in tasks if task.entry.name not in dropped])


def _mean_seconds(records: Records, name: str) -> float:
    """Return the mean time of a classifier's finished fits; 0 if there are none."""
    times = [fit.seconds for fit in records.done.values() if fit.name == name]
    return float(np.mean(times)) if times else 0.0


def run_task(
    task: Task,
    data: Data,
    probe: Index,
    seed: int,
    log: str | None = None,
    seconds: float | None = None,
) -> tuple[Unit, Fit]:
    """Return (unit, fit); a fit that judges itself can be limited to some seconds.

    Predictions are kept for the rows ``probe``; the folder ``log`` gets the progress of the fit.
    """
    start = time.perf_counter()
    fit, note = Fit(task.stage, task.entry.name, task.number, task.test.tolist()), None
    with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted = _fitted(task, data, seed, log, seconds)
            fit = _predicted(fitted, task, data, probe, fit)
            texts = {f"{warning.category.__name__}: {warning.message}" for warning in caught}
            note = "; ".join(sorted(texts)) or None
        except Exception as failure:  # a failure is a result too, and the run continues
            note = f"{type(failure).__name__}: {failure}"
    return task.unit, replace(fit, note=note, seconds=time.perf_counter() - start)


def _fitted(
    task: Task, data: Data, seed: int, log: str | None = None, seconds: float | None = None
) -> Any:
    """Return the fitted classifier of a task."""
    entry = task.entry
    estimator = seeded(entry.estimator, seed, entry.name, task.number)
    if seconds is not None:
        limit_time(estimator, seconds)
    if task.cv is not None:
        last_step(estimator).set_params(cv=task.cv)
    X = take_rows(data.X, task.train)
    y = (data.names if is_kept(task) else data.y)[task.train]
    with nullcontext() if log is None else listening(FOLDS, logging_to(log, task.unit)):
        fit_arguments = data.fit_arguments(task.train)
        fitted = fit_entry(replace(entry, estimator=estimator), X, y, *fit_arguments)
    if task.cv is not None:  # positions refer to the rows of this task
        last_step(fitted).set_params(cv=last_step(entry.estimator).cv)
    return fitted


def is_kept(task: Task) -> bool:
    """Return whether the model of a fit is kept: it judges itself, on all rows with class names."""
    return task.stage == CROSS_FITTED and task.entry.is_of_primum


def fit_whole(plan: Plan, entry: Entry) -> Any:
    """Return a method that judges itself, fitted to all rows as in a comparison.

    Parameters
    ----------
    plan : Plan
        The comparison.
    entry : Entry
        The method.

    Returns
    -------
    classifier
        The method, fitted to the names of classes.
    """
    with one_blas_thread():
        task = fit_holding_out_none(plan, CROSS_FITTED, entry, plan.table.known.unlabeled)
        return _fitted(task, plan.table, plan.seed)


def fit_entry(
    entry: Entry,
    X: Any,
    y: Any,
    groups: Any = None,
    chosen: Mask | None = None,
    weight: Floats | None = None,
) -> Any:
    """Return an entry fitted to rows; whatever it tunes, groups of rows stay together.

    ``chosen`` marks rows whose labels were not drawn at random: a classifier that judges itself
    never holds them out, and other classifiers do not use their class shares. ``weight`` are the
    weights of the rows.
    """
    last, steps = last_step(entry.estimator), getattr(entry.estimator, "steps", None)
    if not (judges_itself(last) or is_ruled(last)):
        return _fit_keeping(entry, X, y, groups, chosen, weight)
    if is_ruled(last) and chosen is not None and last.uses_unlabeled:
        estimator = clone(entry.estimator)
        assume_drawn_shares(last_step(estimator).estimator, y, chosen)
        entry = replace(entry, estimator=estimator)
    options = {"groups": groups, "chosen": chosen}
    prefix = "" if steps is None else f"{steps[-1][0]}__"
    passed = {f"{prefix}{name}": value for name, value in options.items() if value is not None}
    return entry.fit(X, y, weight, **passed)


def _fit_keeping(
    entry: Entry, X: Any, y: Any, groups: Any, chosen: Mask | None, weight: Floats | None
) -> Any:
    """Return an entry fitted to rows, tuned in folds that keep groups together."""
    if groups is None and chosen is None and weight is None:
        return entry.fit(X, y)
    estimator, labeled = clone(entry.estimator), np.flatnonzero(known_mask(y))
    if groups is not None:
        at = labeled if entry.uses_unlabeled else np.arange(len(labeled))
        keep_groups(estimator, at, _strata(estimator, y[labeled]), groups[labeled])
    assumes = entry.uses_unlabeled and learner_of(estimator) != REGRESSOR
    if assumes and not (chosen is None and weight is None):
        assume_drawn_shares(estimator, y, chosen, weight)
    return replace(entry, estimator=estimator).fit(X, y, weight)


def _strata(estimator: Any, y: AnyArray) -> Index:
    """Return known labels as class codes; all numbers are one class."""
    if learner_of(estimator) == REGRESSOR:
        return np.zeros(len(y), dtype=np.intp)
    return np.asarray(np.unique(y.astype(str), return_inverse=True)[1])


def _codes_of(y: Any) -> Index:
    """Return labels as codes, in the order of the classes, as a prior has them.

    Numbers written as text would be in another order.
    """
    return np.asarray(np.unique(np.array(y.tolist()), return_inverse=True)[1])


def limit_time(estimator: Any, seconds: float) -> None:
    """Limit the time of a classifier that judges itself, unless its own limit is lower."""
    last = last_step(estimator)
    if judges_itself(last):
        limit = float("inf") if last.time_budget is None else last.time_budget
        last.set_params(time_budget=min(limit, seconds))


def _predicted(fitted: Any, task: Task, data: Data, probe: Index, fit: Fit) -> Fit:
    """Return a fit with the results that are kept of the fitted classifier."""
    if len(task.test) == 0:
        return _own_findings(fitted, task, data, fit)
    # Rows are prepared once for all predictions, because preparing a table takes longer.
    both = np.concatenate([task.test, probe])
    rows = prepared_rows(fitted, take_rows(data.X, both))
    classifier, n_test, name = last_step(fitted), len(task.test), task.entry.name
    held_out = take_rows(rows, np.arange(n_test))
    predicted, scores, twin, twin_scores = _predictions(classifier, held_out, data, name)
    fit = replace(fit, predicted=predicted, scores=scores, twin=twin, twin_scores=twin_scores)
    if len(probe):
        others = take_rows(rows, np.arange(n_test, len(both)))
        predicted, _, twin, _ = _predictions(classifier, others, data, name)
        probe_scores = None
        if task.of_baseline and data.classes is not None:
            scores = class_scores(classifier, others, len(data.classes), name)
            probe_scores = np.round(scores, PROBE_DIGITS).tolist()
        fit = replace(fit, probe=predicted, twin_probe=twin, probe_scores=probe_scores)
    # A twin that receives components of all rows has seen unlabelled rows too, so it is dropped.
    reduced = any(getattr(step, "reduce", False) for _, step in getattr(fitted, "steps", ()))
    return replace(fit, twin=None, twin_scores=None, twin_probe=None) if reduced else fit


def _own_findings(fitted: Any, task: Task, data: Data, fit: Fit) -> Fit:
    """Return a fit with the verdicts and predictions of a classifier that judges itself."""
    judged = last_step(fitted).own_verdict()
    verdicts = {
        against: OwnDifference(verdict.difference, verdict.disagreement)
        for against, verdict in judged.verdicts.items()
    }
    fit = replace(fit, predicted=[], verdicts=verdicts, notes=judged.notes, limited=judged.limited)
    rows, folds = task.train[judged.rows].tolist(), judged.folds.tolist()
    if data.numeric:
        held_out = CrossFitted(rows, folds, np.ravel(judged.scores).tolist(), None)
    else:
        codes = predicted_codes(judged.scores) if judged.predicted is None else judged.predicted
        scores = np.round(judged.scores, HELD_OUT_DIGITS).tolist()
        held_out = CrossFitted(rows, folds, codes.tolist(), scores)
    fit = replace(fit, held_out=held_out)
    if task.stage != CROSS_FITTED:
        return fit
    X = take_rows(data.X, data.known.unlabeled)
    unlabeled = unlabeled_predictions(fitted, X, numeric=data.numeric)
    return replace(
        fit,
        unlabeled={which: found.tolist() for which, found in unlabeled.items()},
        model=fitted if is_kept(task) else None,
    )


def unlabeled_predictions(fitted: Any, X: Any, *, numeric: bool) -> dict[str, AnyArray]:
    """Return the predictions of a method that judges itself, and of its supervised stack.

    Parameters
    ----------
    fitted : model or pipeline
        The method.
    X : array, CSR matrix or DataFrame
        Rows.
    numeric : bool
        Whether numbers are predicted.

    Returns
    -------
    dict of str to array
        Codes of classes, or numbers, by "own" and "supervised".
    """
    last = last_step(fitted)
    models = {OWN: last, SUPERVISED: getattr(last, "supervised_", None)}
    models = {which: model for which, model in models.items() if model is not None}
    if count_rows(X) == 0:
        return {which: stored([], numeric=numeric) for which in models}
    rows = prepared_rows(fitted, X)
    return {which: predict(model, rows, numeric=numeric) for which, model in models.items()}


def predict(model: Any, X: Any, *, numeric: bool) -> AnyArray:
    """Return the predicted numbers, or classes as codes in the order of the model's classes."""
    if numeric:
        return np.asarray(model.predict(X), dtype=float)
    return np.searchsorted(model.classes_, model.predict(X))


def prepared_rows(fitted: Any, X: Any) -> Any:
    """Return rows as the last step of a pipeline receives them."""
    return fitted[:-1].transform(X) if hasattr(fitted, "steps") and len(fitted.steps) > 1 else X


def _predictions(fitted: Any, X: Any, data: Data, name: str) -> tuple[Any, Any, Any, Any]:
    """Return the predictions and scores of a classifier and of its twin for prepared rows."""
    predictions = _predicted_codes_or_numbers(fitted, X, data, name)
    twin = getattr(fitted, "supervised_", None)
    if not hasattr(twin, "predict"):
        return *predictions, None, None
    return *predictions, *_predicted_codes_or_numbers(twin, X, data, f"{name}, supervised")


def _predicted_codes_or_numbers(
    fitted: Any, X: Any, data: Data, name: str
) -> tuple[list[Any], list[list[float]] | None]:
    """Return predicted codes with the scores of a classifier, if it has any; or numbers."""
    if data.classes is not None:
        scores = None
        if hasattr(fitted, "predict_proba") or hasattr(fitted, "decision_function"):
            scores = class_scores(fitted, X, len(data.classes), name).tolist()
        return np.asarray(fitted.predict(X)).astype(int).tolist(), scores
    numbers = np.asarray(fitted.predict(X.copy()), dtype=float)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.shape != (X.shape[0],):
        raise ValueError(
            f"{name!r} returned predictions of the shape {numbers.shape} for {X.shape[0]} rows"
        )
    if bad := np.count_nonzero(~np.isfinite(numbers)):
        raise ValueError(f"{name!r} returned predictions that are not finite for {bad} rows")
    return numbers.tolist(), None


# How often the files of the workers are read, in seconds: shorter than people notice.
SECONDS_BETWEEN_POLLS = 0.2


def run_parallel(
    function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], n_jobs: int
) -> Iterator[T]:
    """Yield ``function(*task)`` for every task, in order of completion."""
    from joblib import Parallel, delayed

    workers = Parallel(
        n_jobs=n_jobs,
        backend="loky",
        return_as="generator_unordered",
        initializer=end_with_parent,
        initargs=(os.getpid(),),
    )
    yield from workers(delayed(function)(*task) for task in tasks)


def end_with_parent(parent: int) -> None:
    """End this process as soon as the process ``parent``, which started it, has ended."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    if sys.platform == "win32":
        import multiprocessing

        if (process := multiprocessing.parent_process()) is not None:
            process.join()
    else:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_POLLS)
    os._exit(1)
