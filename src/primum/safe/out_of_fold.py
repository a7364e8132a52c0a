"""Out-of-fold scores of candidates on the labelled rows, within a time budget.

Every candidate is prepared once and then fitted to the training rows of every fold; the tasks
(candidate, fold) are independent and run in parallel. A candidate that fails in its preparation or
in any fold is left out, and every failure is kept with its reason. With a time budget the
candidates come in turn: fits to two small parts of the rows predict whether there is time for the
first fold, the first fold is measured, and the rest is done only if there is time for it. The times
include predictions of held-out rows, because some models do most of their work there. For such
models, the time that the final model takes to predict unlabelled rows is measured too.

A fit that has begun is not interrupted, so its time must be predicted. The time for n rows is
modelled as ``a + b n^g``, where the power g is a property of the candidate (``Candidate.growth``);
two fits give a and b. The prediction is at least that of a time in proportion to the rows.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.exceptions import FitFailedWarning

from primum._progress import FOLDS, tell, with_progress
from primum._threads import one_blas_thread
from primum._typing import Floats, T
from primum._warnings import warn
from primum.reading.folds import Fold
from primum.safe.candidates import Candidate, Prepared
from primum.safe.candidates.base import labeled_sample, prepare
from primum.safe.candidates.own import Team
from primum.safe.rows import SharedRows, Targets

# The shares of the rows in the two parts on which a fit is timed, the larger of which doubles the
# smaller, and the number of rows up to which a fit counts as free.
TRIAL_SHARES = (1 / 12, 1 / 6)
MAX_UNTIMED_ROWS = 300
# A fold holds out about this share of the labelled rows: there are five by default.
HELD_OUT_SHARE = 1 / 5
# Slow predictions are timed on these two numbers of rows, which tell how long all take: a factor
# of four apart, and few enough to take little of the time budget.
TRIAL_PREDICTIONS = (25, 100)


def predicted_seconds(candidate: Candidate, rows: SharedRows, labels: Targets) -> float:
    """Return about how long the preparation of a candidate and one fit take; 0 for few rows.

    A candidate that fails counts as taking no time, because it will fail again and then be listed.
    """
    used = rows.unlabeled.shape[0] if candidate.uses_unlabeled else 0
    if candidate.most_unlabeled is not None:
        used = min(used, candidate.most_unlabeled)
    sample = labeled_sample(candidate, labels, rows.seed)
    if sample is not None:
        rows, labels = rows.with_labeled(sample), labels.take(sample)
    if rows.n_labeled + used <= MAX_UNTIMED_ROWS:
        return 0.0
    try:
        # The first fit is not counted, because it pays once for imports and the like.
        shares = (TRIAL_SHARES[0], *TRIAL_SHARES)
        _, *pairs = (_timed(candidate, rows, labels, share, used) for share in shares)
    except Exception:
        return 0.0
    return extrapolated(pairs, rows.n_labeled + used, candidate.growth)


def extrapolated(pairs: list[tuple[int, float]], n_rows: int, growth: float) -> float:
    """Return the time for n_rows, given the times for two numbers of rows."""
    (few, first), (many, second) = pairs
    slope = max(second - first, 0.0) / (many**growth - few**growth)
    power = second + slope * (n_rows**growth - many**growth)
    return float(max(power, second * n_rows / many))


def _timed(
    candidate: Candidate, rows: SharedRows, labels: Targets, share: float, used: int
) -> tuple[int, float]:
    """Return the number of rows in a part, and the time of a fit to it."""
    labeled = labels.part(share, rows.seed)
    part = rows.with_labeled(labeled).with_at_most(int(share * used))
    start = time.perf_counter()
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        prepared = prepare(candidate, part, labels.take(labeled))
        model = prepared.fit(np.arange(len(labeled)), labels.take(labeled))
        model.predict(part.labeled[: max(1, int(HELD_OUT_SHARE * len(labeled)))])
    return len(labeled) + int(share * used), time.perf_counter() - start


def prediction_seconds(prepared: Prepared, labels: Targets, X: Any) -> float:
    """Return about how long the final model of a candidate takes to predict rows."""
    sizes = TRIAL_PREDICTIONS if X.shape[0] > TRIAL_PREDICTIONS[-1] else (X.shape[0],)
    pairs = []
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        try:
            model = prepared.fit(np.arange(len(labels)), labels)
            for n_rows in sizes:
                start = time.perf_counter()
                model.predict(X[:n_rows])
                pairs.append((n_rows, time.perf_counter() - start))
        except Exception:
            return 0.0  # it fails again, and is then listed
    return extrapolated(pairs, X.shape[0], 1.0) if len(pairs) > 1 else pairs[0][1]


@dataclass(frozen=True)
class Failure:
    """Why a candidate was left out.

    Attributes
    ----------
    candidate : str
        Its name.
    step : str
        What failed: "preparation", "fold 3", or "final fit".
    reason : str
        The type and the message of the exception.
    """

    candidate: str
    step: str
    reason: str

    def __str__(self) -> str:
        return f"{self.candidate}, {self.step}: {self.reason}"


@dataclass
class Scored:
    """What the candidates of a fit have produced so far, by name: it grows while they are scored.

    Attributes
    ----------
    parts : dict of dicts of arrays of shape (n_test, n_outputs)
        Held-out scores by the number of the fold.
    prepared : dict of Prepared
        The prepared candidates.
    seconds : dict of float
        The time that each took in all.
    predicting : dict of float
        How long the final models of candidates with slow predictions will take to predict.
    approximated, warned : dicts of lists of str
        What was approximated, and what the candidates warned of.
    failures : list of Failure
        What failed, in order.
    skipped : list of str
        Names that the time budget left out.
    """

    parts: dict[str, dict[int, Floats]] = field(default_factory=dict)
    prepared: dict[str, Prepared] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    predicting: dict[str, float] = field(default_factory=dict)
    approximated: dict[str, list[str]] = field(default_factory=dict)
    warned: dict[str, list[str]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def scores(self, n_folds: int) -> dict[str, Floats]:
        """Return the scores of candidates that no fold lacks, one fold after the other."""
        return {
            name: np.concatenate([parts[number] for number in range(n_folds)])
            for name, parts in self.parts.items()
            if len(parts) == n_folds
        }

    def alive(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates that have not failed."""
        failed = {failure.candidate for failure in self.failures}
        return [candidate for candidate in candidates if candidate.name not in failed]

    def skip(self, names: Sequence[str]) -> None:
        """Forget candidates for which there is no time."""
        for results in (self.parts, self.prepared, self.approximated, self.warned, self.predicting):
            for name in names:
                results.pop(name, None)
        self.skipped.append(" and ".join(names))

    def notes_with(self, notes: Sequence[str], names: Iterable[str]) -> list[str]:
        """Return notes, and what was approximated for some of the candidates, each once."""
        own = (note for name in names for note in self.approximated.get(name, ()))
        return [*dict.fromkeys([*notes, *own])]

    @property
    def all_warned(self) -> list[str]:
        """What the candidates warned of, each with its name."""
        return [f"{name}: {text}" for name, texts in self.warned.items() for text in texts]


def run(
    scored: Scored, tasks: Sequence[tuple[Any, ...]], n_jobs: int | None, title: str = ""
) -> Iterator[tuple[str, str, Any]]:
    """Run tasks (name, step, function, *arguments) in parallel, and yield (name, step, result).

    Time and warnings are recorded. A task that fails is a failure of its candidate, and its result
    is None. Progress is shown under a title, if there is one.
    """
    outcomes = Parallel(n_jobs, return_as="generator")(delayed(attempt)(*task) for task in tasks)
    if title:
        outcomes = with_progress(outcomes, len(tasks), title, "fit")
    for (name, step, *_), (result, seconds, reason, said) in zip(tasks, outcomes, strict=True):
        scored.seconds[name] = scored.seconds.get(name, 0.0) + seconds
        known = scored.warned.setdefault(name, [])
        known += [text for text in said if text not in known]
        if reason is not None:
            scored.failures.append(Failure(name, step, reason))
        yield name, step, result


def attempt(
    name: str, step: str, work: Callable[..., T], *arguments: Any
) -> tuple[T | None, float, str | None, list[str]]:
    """Return a result, its seconds, why it failed (None: it did not), and warnings, sorted."""
    start = time.perf_counter()
    result, reason = None, None
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        try:
            result = work(*arguments)
        except Exception as problem:  # whatever a candidate raises is listed in failures_
            reason = f"{type(problem).__name__}: {problem}"
    said = {f"{warning.category.__name__}: {warning.message}" for warning in caught}
    return result, time.perf_counter() - start, reason, sorted(said)


def held_out_scores(prepared: Prepared, fold: Fold, targets: Targets) -> Floats:
    """Return the scores (n_test, n_outputs) of the rows that a fold holds out."""
    scores = prepared.held_out(fold.train, fold.test, targets)
    return checked_scores(scores, len(fold.test), targets.n_outputs)


def checked_scores(scores: Floats, n_rows: int, n_outputs: int) -> Floats:
    """Return scores; raise an error if they are not finite or have the wrong shape."""
    if scores.shape != (n_rows, n_outputs):
        raise ValueError(f"scores of shape {scores.shape} instead of {(n_rows, n_outputs)}")
    if not np.isfinite(scores).all():
        raise ValueError(f"{np.count_nonzero(~np.isfinite(scores))} scores are not finite")
    return scores


def prepare_candidates(
    scored: Scored,
    candidates: Sequence[Candidate],
    rows: SharedRows,
    targets: Targets,
    n_jobs: int | None = None,
    title: str = "",
) -> None:
    """Prepare candidates for rows."""
    tasks = [(one.name, "preparation", prepare, one, rows, targets) for one in candidates]
    for name, _, prepared in run(scored, tasks, n_jobs, title):
        if prepared is not None:
            scored.prepared[name] = prepared
            scored.approximated[name] = [prepared.note] if prepared.note else []


def score(
    scored: Scored,
    candidates: Sequence[Candidate],
    targets: Targets,
    folds: Sequence[Fold],
    numbers: Sequence[int],
    n_jobs: int | None = None,
    title: str = "",
) -> Iterator[int]:
    """Score the rows that some folds hold out, and yield the number of every finished fold.

    All candidates of a fold come first, so that a finished fold tells how long the others take.
    """
    names = [candidate.name for candidate in scored.alive(candidates)]
    tasks = [
        (name, f"fold {number}", held_out_scores, scored.prepared[name], folds[number], targets)
        for number in numbers
        for name in names
    ]
    of_tasks = [number for number in numbers for _ in names]
    results = run(scored, tasks, n_jobs, title)
    for number, (name, _, scores) in zip(of_tasks, results, strict=True):
        if scores is not None:
            scored.parts.setdefault(name, {})[number] = scores
        if name == names[-1]:
            yield number


def score_candidates(
    team: Team,
    rows: SharedRows,
    targets: Targets,
    folds: Sequence[Fold],
    probe: Any = None,
    *,
    deadline: float | None = None,
    n_jobs: int | None = None,
    title: str = "",
) -> Scored:
    """Return the out-of-fold scores of all candidates of a team, or of those with time for them.

    Each is prepared once, and fitted to the training rows of every fold. Folds that are finished
    are reported to whoever listens, unless there is a deadline.
    """
    if deadline is not None:
        how: Any = {"n_jobs": n_jobs, "title": title}
        return score_in_time(team, rows, targets, folds, probe, deadline, **how)
    scored, n_folds = Scored(), len(folds)
    prepare_candidates(scored, team.all, rows, targets, n_jobs, title)
    tell(FOLDS, 0, n_folds)
    for number in score(scored, team.all, targets, folds, range(n_folds), n_jobs, title):
        tell(FOLDS, number + 1, n_folds)
    return scored


def score_in_time(
    team: Team,
    rows: SharedRows,
    targets: Targets,
    folds: Sequence[Fold],
    probe: Any,
    deadline: float,
    *,
    n_jobs: int | None = None,
    title: str = "",
) -> Scored:
    """Return the out-of-fold scores of the baselines, and of as many candidates as time allows.

    A candidate comes together with its supervised counterpart. Its preparation and its first fold,
    which are not interrupted, are run only if fits to fewer rows predict that there is time for
    them; they show how long the rest will take. ``probe`` are the rows that the final models will
    predict, and ``deadline`` is a time of ``time.perf_counter``, by which they have predicted them.
    """
    scored, n_folds = Scored(), len(folds)

    def run_folds(unit: Sequence[Candidate], numbers: Sequence[int]) -> None:
        for _ in score(scored, unit, targets, folds, numbers, n_jobs, title):
            pass

    def time_predictions(unit: Sequence[Candidate]) -> None:
        for candidate in scored.alive(unit):
            if candidate.slow_prediction and probe.shape[0]:
                prepared = scored.prepared[candidate.name]
                scored.predicting[candidate.name] = prediction_seconds(prepared, targets, probe)

    def final_seconds(unit: Sequence[Candidate]) -> float:
        names = [candidate.name for candidate in scored.alive(unit)]
        fits = sum(scored.seconds[name] for name in names) / n_folds
        return fits + sum(scored.predicting.get(name, 0.0) for name in names)

    baselines, *others = team.units
    prepare_candidates(scored, baselines, rows, targets, n_jobs, title)
    run_folds(baselines, range(n_folds))
    time_predictions(baselines)
    reserve = final_seconds(baselines)
    for unit in others:
        end = deadline - reserve

        # The trial fits, unless no time is left for them.
        needed = 0.0
        for candidate in unit:
            if time.perf_counter() + needed < end:
                needed += predicted_seconds(candidate, rows, targets)
            else:
                needed = np.inf
        in_time = time.perf_counter() + needed <= end

        # The first fold, unless the preparation took all the time, for example to load a network.
        if in_time:
            prepare_candidates(scored, unit, rows, targets, n_jobs, title)
            in_time = time.perf_counter() <= end
        if in_time:
            before = dict(scored.seconds)
            run_folds(unit, range(1))
            fits = [scored.seconds[c.name] - before[c.name] for c in scored.alive(unit)]
            rounds = -(-len(fits) * (n_folds - 1) // effective_n_jobs(n_jobs))
            further = (rounds / max(len(fits), 1) + 1) * sum(fits)
            in_time = time.perf_counter() + further <= end

        # The other folds, unless they or the predictions of the final models would take too long.
        if in_time:
            time_predictions(unit)
            further += sum(scored.predicting.get(candidate.name, 0.0) for candidate in unit)
            in_time = time.perf_counter() + further <= end
        if in_time:
            run_folds(unit, range(1, n_folds))
            reserve += final_seconds(unit)
        else:
            scored.skip([candidate.name for candidate in unit])
    return scored


def warn_of_failures(failures: Sequence[Failure]) -> None:
    """Warn that candidates are left out."""
    if failures:
        names = ", ".join(dict.fromkeys(failure.candidate for failure in failures))
        warn(
            f"Candidates that raised an exception are left out: {names}. The first failure "
            f"is {failures[0]}; failures_ lists them all.",
            FitFailedWarning,
        )
