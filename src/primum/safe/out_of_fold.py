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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from primum._threads import one_blas_thread
from primum._typing import Floats, Index, T
from primum.judging.held_out import HeldOut
from primum.judging.words import Alert
from primum.reading.folds import Fold
from primum.safe.candidates import Candidate, CandidateModel, Prepared, SharedRows
from primum.safe.candidates.base import Kind
from primum.safe.candidates.entrants import Entrants
from primum.safe.candidates.sampled import labeled_sample, prepared_with
from primum.safe.stack import stack_weights, stacked_scores

# The shares of the rows in the two parts on which a fit is timed, the larger of which doubles the
# smaller, and the number of rows up to which a fit counts as free.
TRIAL_SHARES = (1 / 12, 1 / 6)
MAX_UNTIMED_ROWS = 300
# A fold holds out about this share of the labelled rows: there are five by default.
HELD_OUT_SHARE = 1 / 5
# Slow predictions are timed on these two numbers of rows, which tell how long all take: a factor
# of four apart, and few enough to take little of the time budget.
TRIAL_PREDICTIONS = (25, 100)


def predicted_seconds(candidate: Candidate[Kind], rows: SharedRows, labels: Kind) -> float:
    """Return about how long the preparation of a candidate and one fit take; 0 for few rows.

    A candidate that fails counts as taking no time, because it will fail again and then be listed.
    """
    used = rows.unlabeled.shape[0] if candidate.uses_unlabeled else 0
    if candidate.most_unlabeled is not None:
        used = min(used, candidate.most_unlabeled)
    sample = labeled_sample(candidate, rows, labels)
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
    candidate: Candidate[Kind], rows: SharedRows, labels: Kind, share: float, used: int
) -> tuple[int, float]:
    """Return the number of rows in a part, and the time of a fit to it."""
    labeled = labels.part(share, rows.seed)
    part = rows.with_labeled(labeled).with_at_most(int(share * used))
    start = time.perf_counter()
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        prepared = prepared_with(part, candidate, labels.take(labeled))
        model = prepared.fit(np.arange(len(labeled)), labels.take(labeled))
        model.predict(part.labeled[: max(1, int(HELD_OUT_SHARE * len(labeled)))])
    return len(labeled) + int(share * used), time.perf_counter() - start


def prediction_seconds(prepared: Prepared[Kind], labels: Kind, X: Any) -> float:
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


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What a task returned (None: it failed), how long it took, and what it warned of."""

    result: T | None
    seconds: float
    failure: str | None = None
    warned: tuple[str, ...] = ()


class Progress(Protocol):
    """Shows how far work is, and yields it unchanged, given the total number of its items."""

    def __call__(self, work: Iterable[T], total: int, /) -> Iterable[T]: ...  # noqa: D102


def attempt(work: Callable[[], T]) -> Outcome[T]:
    """Return the outcome of a task; an exception is an outcome too."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        result, failure = None, None
        try:
            result = work()
        except Exception as problem:  # whatever a candidate raises is listed in failures_
            failure = f"{type(problem).__name__}: {problem}"
    said = {f"{warning.category.__name__}: {warning.message}" for warning in caught}
    return Outcome(result, time.perf_counter() - start, failure, tuple(sorted(said)))


def _held_out(prepared: Prepared[Kind], fold: Fold, labels: Kind) -> Floats:
    scores = prepared.held_out(fold.train, fold.test, labels)
    return checked_scores(scores, len(fold.test), labels.n_outputs)


def _final(prepared: Prepared[Kind], labels: Kind, probe: Any) -> tuple[CandidateModel, Floats]:
    """Return the model of all labelled rows, and its scores for some rows."""
    model = prepared.fit(np.arange(len(labels)), labels)
    scores = np.zeros((0, labels.n_outputs))
    if probe.shape[0]:
        scores = stacked_scores({"": model}, {"": 1.0}, probe)
    return model, checked_scores(scores, probe.shape[0], labels.n_outputs)


def checked_scores(scores: Floats, n_rows: int, n_outputs: int) -> Floats:
    """Return scores; raise an error if they are not finite or have the wrong shape."""
    if scores.shape != (n_rows, n_outputs):
        raise ValueError(f"scores of shape {scores.shape} instead of {(n_rows, n_outputs)}")
    if not np.isfinite(scores).all():
        raise ValueError(f"{np.count_nonzero(~np.isfinite(scores))} scores are not finite")
    return scores


@dataclass
class OutOfFold(Generic[Kind]):
    """Scores of all candidates in the rows that the folds hold out, one fold after the other.

    Attributes
    ----------
    rows, labels : SharedRows, Targets
        What the scores are computed from.
    entrants : Entrants
        The candidates and the baselines.
    held_out : HeldOut
        The folds, and what is known of the rows that they hold out.
    n_jobs : int or None
        Number of parallel tasks.
    progress : callable
        Wraps the iterable of outcomes, given the total number of tasks.
    tell : callable
        Called with the number of finished folds and the number of folds.
    scores : dict of arrays of shape (n_held_out, n_outputs)
        Held-out scores of the candidates that did not fail.
    prepared, seconds : dict
        The prepared candidates, and the seconds that each took in all.
    predicting : dict of str to float
        How long the final models of candidates with slow predictions will take to predict.
    failures : list of Failure
        What failed, in order.
    notes : list of str
        What was left out, and remarks on the rows.
    alerts : list of Alert
        Warnings before the verdict, which may withhold claims.
    approximated : dict of str to list of str
        What was approximated, by candidate.
    """

    rows: SharedRows
    labels: Kind
    entrants: Entrants[Kind]
    held_out: HeldOut
    n_jobs: int | None = None
    progress: Progress = lambda work, total: work
    tell: Callable[[int, int], None] = lambda done, total: None
    scores: dict[str, Floats] = field(default_factory=dict)
    prepared: dict[str, Prepared[Kind]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    predicting: dict[str, float] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    approximated: dict[str, list[str]] = field(default_factory=dict)
    _parts: dict[str, dict[int, Floats]] = field(default_factory=dict, repr=False)
    _warned: dict[str, dict[str, None]] = field(default_factory=dict, repr=False)

    @property
    def folds(self) -> Sequence[Fold]:
        """The folds."""
        return self.held_out.folds

    def add(self, candidates: Sequence[Candidate[Kind]]) -> None:
        """Compute the scores of candidates."""
        self._prepare(candidates)
        self.tell(0, len(self.folds))
        self._score(self._alive(candidates), range(len(self.folds)))
        self._finish(candidates)

    def measure_predictions(self, candidates: Sequence[Candidate[Kind]], X: Any) -> None:
        """Measure how long the final models of candidates with slow predictions need for rows."""
        for candidate in self._alive(candidates):
            if candidate.slow_prediction and X.shape[0]:
                prepared = self.prepared[candidate.name]
                self.predicting[candidate.name] = prediction_seconds(prepared, self.labels, X)

    def final_seconds(self, candidates: Sequence[Candidate[Kind]]) -> float:
        """Return about how long the final fits of scored candidates and their predictions take."""
        names = [candidate.name for candidate in self._alive(candidates)]
        fits = sum(self.seconds[name] for name in names) / len(self.folds)
        return fits + sum(self.predicting.get(name, 0.0) for name in names)

    def add_within(self, candidates: Sequence[Candidate[Kind]], seconds: float, X: Any) -> bool:
        """Compute the scores of candidates if they are expected to take at most ``seconds``.

        Preparation and first fold, which are not interrupted, are run only if fits to fewer rows
        predict that there is time for them; they show how long the rest will take. X are the rows
        that the final models will predict.
        """
        start = time.perf_counter()
        needed = 0.0
        for candidate in candidates:
            left = seconds - (time.perf_counter() - start) - needed
            if left <= 0:
                return False
            needed += predicted_seconds(candidate, self.rows, self.labels)
        if time.perf_counter() - start + needed > seconds:
            return False
        self._prepare(candidates)
        if time.perf_counter() - start > seconds:  # e.g. to load a network
            return self._leave_out(candidates)
        before = dict(self.seconds)
        self._score(self._alive(candidates), range(1))
        fits = [self.seconds[c.name] - before[c.name] for c in self._alive(candidates)]
        rounds = -(-len(fits) * (len(self.folds) - 1) // effective_n_jobs(self.n_jobs))
        further = (rounds / max(len(fits), 1) + 1) * sum(fits)
        if time.perf_counter() - start + further > seconds:
            return self._leave_out(candidates)
        self.measure_predictions(candidates, X)
        further += sum(self.predicting.get(candidate.name, 0.0) for candidate in candidates)
        if time.perf_counter() - start + further > seconds:
            return self._leave_out(candidates)
        self._score(self._alive(candidates), range(1, len(self.folds)))
        self._finish(candidates)
        return True

    def _leave_out(self, candidates: Sequence[Candidate[Kind]]) -> bool:
        for candidate in candidates:
            self._forget(candidate.name)
        return False

    def _alive(self, candidates: Sequence[Candidate[Kind]]) -> list[Candidate[Kind]]:
        failed = {failure.candidate for failure in self.failures}
        return [candidate for candidate in candidates if candidate.name not in failed]

    def _prepare(self, candidates: Sequence[Candidate[Kind]]) -> None:
        tasks = [partial(prepared_with, self.rows, one, self.labels) for one in candidates]
        for candidate, outcome in zip(candidates, self._run(tasks), strict=True):
            self.seconds[candidate.name] = 0.0
            if (prepared := self._result(candidate.name, "preparation", outcome)) is not None:
                self.prepared[candidate.name] = prepared
                if prepared.note:
                    self.approximated[candidate.name] = [prepared.note]

    def _score(self, candidates: Sequence[Candidate[Kind]], numbers: range) -> None:
        """Compute the scores of some folds.

        All candidates of a fold come first, so that a finished fold tells how long the others take.
        """
        pairs = [(candidate.name, number) for number in numbers for candidate in candidates]
        tasks = [
            partial(_held_out, self.prepared[name], self.folds[number], self.labels)
            for name, number in pairs
        ]
        for (name, number), outcome in zip(pairs, self._run(tasks), strict=True):
            if (scores := self._result(name, f"fold {number}", outcome)) is not None:
                self._parts.setdefault(name, {})[number] = scores
            if name == candidates[-1].name:
                self.tell(number + 1, len(self.folds))

    def _run(self, tasks: Sequence[Callable[[], T]]) -> Iterable[Outcome[T]]:
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        return self.progress(parallel(delayed(attempt)(task) for task in tasks), len(tasks))

    def _result(self, name: str, step: str, outcome: Outcome[T]) -> T | None:
        """Record the outcome of a task, and return its result; None if it failed."""
        self.seconds[name] += outcome.seconds
        self._warned.setdefault(name, {}).update(dict.fromkeys(outcome.warned))
        if outcome.failure is not None:
            self.failures.append(Failure(name, step, outcome.failure))
        return outcome.result

    def _finish(self, candidates: Sequence[Candidate[Kind]]) -> None:
        """Store the scores of complete candidates."""
        for candidate in self._alive(candidates):
            parts = self._parts.pop(candidate.name)
            self.scores[candidate.name] = np.concatenate([parts[k] for k in sorted(parts)])

    def _forget(self, name: str) -> None:
        by_name = (self.prepared, self._parts, self._warned, self.approximated, self.predicting)
        for results in by_name:
            results.pop(name, None)

    def refit(self, names: Sequence[str], probe: Any) -> dict[str, tuple[CandidateModel, Floats]]:
        """Return the candidates fitted to all labelled rows, with their scores for the rows probe.

        Candidates that fail are left out.
        """
        tasks = [partial(_final, self.prepared[name], self.labels, probe) for name in names]
        outcomes = zip(names, self._run(tasks), strict=True)
        results = {name: self._result(name, "final fit", outcome) for name, outcome in outcomes}
        return {name: result for name, result in results.items() if result is not None}

    def stack_inputs(self, names: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the scores of candidates, and their weights in the baseline."""
        w0 = np.array([float(name in self.entrants.baselines) for name in names])
        return np.stack([self.scores[name] for name in names], axis=2), w0 / w0.sum()

    def weights_of(
        self, names: Sequence[str], shrinkage: float, among: Index | slice = slice(None)
    ) -> tuple[Floats, float]:
        """Return the weights of candidates, fitted to some of the held-out rows, and their gap."""
        (scores, baseline), weight = self.stack_inputs(names), self.held_out.row_weight
        rows = self.held_out.rows[among]
        return stack_weights(
            scores[among],
            self.labels.values[rows],
            baseline,
            shrinkage=shrinkage,
            n_labeled=len(np.unique(rows)),
            row_weight=None if weight is None else weight[among],
        )

    def cross_fitted(self, names: Sequence[str], shrinkage: float) -> Floats:
        """Return the scores of a stack, each row's with weights fitted to the other folds."""
        scores, baseline = self.stack_inputs(names)
        stacked, rows = np.empty(scores.shape[:2]), self.held_out.rows
        for number, fold in enumerate(self.folds):
            others = np.flatnonzero(~np.isin(rows, fold.test))
            in_fold, weights = self.held_out.fold_of == number, baseline
            if len(others):
                weights, _ = self.weights_of(names, shrinkage, others)
            stacked[in_fold] = scores[in_fold] @ weights
        return stacked

    @property
    def all_notes(self) -> list[str]:
        """The notes, and what candidates warned of, each once."""
        warned = [f"{name}: {text}" for name, texts in self._warned.items() for text in texts]
        approximated = [note for notes in self.approximated.values() for note in notes]
        return [*dict.fromkeys([*self.notes, *approximated]), *warned]
