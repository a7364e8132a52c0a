"""What the safe choices for classes and for numbers share: one stack, two kinds of targets.

No semi-supervised method is better than a tuned supervised one on all data. A combination of both
can be about as good everywhere and better where unlabelled rows help, if its weights come from
out-of-fold scores and are shrunk towards the supervised baseline (``stack``).
"""

import time
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import field
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Generic

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from primum._progress import FOLDS, tell, with_progress
from primum._sklearn import HasMethods, StrOptions
from primum._threads import one_blas_thread, using_threads
from primum._typing import AnyArray, Floats, Index, Mask, T
from primum._warnings import warn
from primum.equations.sampled import read_sample
from primum.judging.disagreements import Disagreements
from primum.judging.held_out import HeldOut
from primum.judging.words import OwnVerdict
from primum.methods.base import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, with_parameters
from primum.reading.data import (
    FitArguments,
    on_this_machine,
    refuse_other_library,
    refuse_overflow,
    stack_rows,
)
from primum.reading.folds import read_repeated_folds
from primum.reading.known import read_chosen
from primum.reading.targets import Known, SomeKnown
from primum.rows import ArrayRows
from primum.safe.candidates import CandidateModel, SharedRows
from primum.safe.candidates.base import Kind, as_given, standardisation
from primum.safe.candidates.entrants import Entrants, Roster, Wrapped, read_entrants
from primum.safe.candidates.wide import with_reduced
from primum.safe.findings import SafeVerdict, notes_on_folds, remarks_on_rows, report_table
from primum.safe.out_of_fold import OutOfFold
from primum.safe.settlement import MAX_COMPARED_ROWS
from primum.safe.stack import Stack, StackMixin

# Standardise features unless they are sparse and have no negative entries in labelled rows.
UNLESS_COUNTS = "auto"
LACK_OF_TIME = "left out, because of the time budget."
# The weights of candidates by name, and the proven gap of their objective.
Weighted = tuple[dict[str, float], float]


@with_parameters
class SafeStack(StackMixin, BaseEstimator, Generic[Stack, SomeKnown, Kind]):
    """Candidates with and without unlabelled rows, stacked and shrunk towards a baseline."""

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "candidates": [str, list, tuple],
        "baseline": [str, list, tuple, HasMethods("fit")],
        "shrinkage": POSITIVE,
        "n_repeats": AT_LEAST_ONE,
        "scoring": [str, callable],
        "time_budget": [*NOT_NEGATIVE, None],
        "standardize": ["boolean", StrOptions({UNLESS_COUNTS})],
        "verbose": ["verbose"],
    }
    candidates: Any = field(default="default", kw_only=False)
    baseline: Any = "ridge"
    shrinkage: float = 3.0
    cv: Any = 5
    n_repeats: int = 2
    scoring: Any = None
    time_budget: float | None = None
    random_state: Any = None
    standardize: bool | str = UNLESS_COUNTS
    n_jobs: int | None = None
    verbose: bool = False

    @property
    @abstractmethod
    def _roster(self) -> Roster[Kind]:
        """The candidates that can be asked for by name."""

    @abstractmethod
    def _read(
        self, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any
    ) -> FitArguments[SomeKnown]:
        """Validate the arguments of ``fit`` and the scoring."""

    @abstractmethod
    def _targets(
        self, given: FitArguments[SomeKnown], groups: Index | None, chosen: Mask | None
    ) -> Kind:
        """Return the targets of the labelled rows of positive weight."""

    @abstractmethod
    def _stack(self, weights: dict[str, float], models: dict[str, CandidateModel]) -> Stack:
        """Return a fitted stack of some of the models."""

    @abstractmethod
    def _judge(
        self, scored: OutOfFold[Kind], probe: dict[str, Floats]
    ) -> tuple[tuple[SafeVerdict, dict[str, Floats]], Disagreements | None]:
        """Return the verdict, and the unlabelled rows on which stacks differ, if this is known.

        ``probe`` are the scores of all models for some unlabelled rows.
        """

    @abstractmethod
    def _keep_held_out(self, held_out: HeldOut, judged: dict[str, Floats]) -> None:
        """Store the cross-fitted scores and predictions of the stacks for held-out rows."""

    def _fit_stack(
        self, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any, groups: Any, chosen: Any
    ) -> tuple[FitArguments[SomeKnown], Disagreements | None]:
        """Fit the candidates and their weights, and return what was read and found."""
        start = time.perf_counter()
        given = self._read(X, y, X_unlabeled, sample_weight)
        refuse_other_library(self, given.home)
        refuse_overflow(given.X, "X")
        if isinstance(given.more, ArrayRows):
            refuse_overflow(given.more.array, "X_unlabeled")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = self._rows(given, X, seed)
        mask = read_chosen(on_this_machine(chosen), given.labels)
        folds = read_repeated_folds(self.cv, self.n_repeats, given, groups, seed, mask)
        of_labeled, of_unlabeled = _groups(given, groups)
        numbers = None if of_labeled is None else np.unique(of_labeled, return_inverse=True)[1]
        targets = self._targets(given, numbers, None if mask is None else mask[labeled_of(given)])
        entrants = self._entrants(rows, targets.n_outputs, sample_weight)
        held_out = HeldOut(
            *(folds, targets.y, getattr(self, "classes_", None), targets.weight, of_labeled),
            _n_to_label(of_labeled, of_unlabeled, rows.n_unlabeled),
            chosen=targets.chosen,
        )
        of_folds = notes_on_folds(self, held_out)
        scored = OutOfFold(rows, targets, entrants, held_out, self.n_jobs, self._progress)
        if self.time_budget is None:  # otherwise the candidates come one after the other
            scored.tell = partial(tell, FOLDS)
        with one_blas_thread():
            if rows.sampled is not None and of_unlabeled is not None:
                of_unlabeled = rows.sampled.take(of_unlabeled)
            of_rows = of_labeled, of_unlabeled
            notes, alerts = remarks_on_rows(rows, *of_rows, targets.chosen)
            scored.notes.extend(notes)
            scored.alerts.extend(alerts)
            self._compute(scored, start)
            differing = self._combine(scored)
        self.held_out_rows_ = labeled_of(given)[held_out.rows]
        self.held_out_folds_ = held_out.fold_of
        self.notes_.extend([*entrants.notes, *of_folds])
        return given, differing

    def _rows(self, given: FitArguments[SomeKnown], X: Any, seed: int) -> SharedRows:
        """Return the rows of positive weight; a sample if many are outside memory."""
        index = given.labels.unlabeled[given.unknown]
        table, weight = given.X.astype(np.float64, copy=False), given.weight_of(index)
        labeled, more, sampled = table[labeled_of(given)], given.more, None
        if isinstance(more, ArrayRows):
            unlabeled = stack_rows([table[index], more.array.astype(np.float64, copy=False)])
        else:
            with one_blas_thread(), using_threads(effective_n_jobs(self.n_jobs)):
                unlabeled, sample = read_sample(ArrayRows(table, index), more, labeled, seed)
            if sample.n_rows > unlabeled.shape[0]:
                sampled, weight = sample, None if weight is None else sample.take(weight)
        if weight is not None:
            weight = np.append(weight, np.ones(unlabeled.shape[0] - len(weight)))
        rows = SharedRows(
            *(labeled, unlabeled, weight, seed),
            weighted=given.weight is not None,
            columns=getattr(self, "feature_names_in_", None) if hasattr(X, "iloc") else None,
            scaling=standardisation if self._standardizes(table) else as_given,
            sampled=sampled,
        )
        return with_reduced(rows)

    def _standardizes(self, table: Any) -> bool:
        """Return whether candidates scale features to unit variance.

        With unit variance, a word that occurs only twice weighs as much as one that tells topics
        apart. Sparse features with negative entries are neither counts nor shares of words.
        """
        if self.standardize != UNLESS_COUNTS:
            return bool(self.standardize)
        return isinstance(table, np.ndarray) or bool(table.min() < 0)

    def _entrants(self, rows: SharedRows, n_outputs: int, sample_weight: Any) -> Entrants[Kind]:
        """Return the candidates; the user's own receive the metadata that they request."""
        problem = n_outputs, rows.unlabeled.shape[0], self._roster
        entrants = read_entrants(self.candidates, self.baseline, *problem)
        if sample_weight is not None and get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight)
            for candidate in entrants.all:
                if isinstance(candidate, Wrapped):
                    candidate.weighted = "sample_weight" in routed[candidate.name].fit
        return entrants

    def _progress(self, work: Iterable[T], total: int) -> Iterable[T]:
        if not self.verbose:
            return work
        return with_progress(work, total, type(self).__name__, "fit")

    def _compute(self, scored: OutOfFold[Kind], start: float) -> None:
        """Compute out-of-fold scores of as many candidates as the time allows."""
        if self.time_budget is None:
            scored.add(scored.entrants.all)
        else:
            baselines, *others = scored.entrants.units
            probe = scored.rows.with_at_most(MAX_COMPARED_ROWS).unlabeled
            scored.add(baselines)
            scored.measure_predictions(baselines, probe)
            reserve = scored.final_seconds(baselines)
            for unit in others:
                left = self.time_budget - (time.perf_counter() - start) - reserve
                if scored.add_within(unit, left, probe):
                    reserve += scored.final_seconds(unit)
                else:
                    names = " and ".join(candidate.name for candidate in unit)
                    scored.notes.append(f"{names}: {LACK_OF_TIME}")
        _require_baselines(scored)

    def _combine(self, scored: OutOfFold[Kind]) -> Disagreements | None:
        """Find the weights, fit the candidates that have one, and judge the result.

        Returns the unlabelled rows on which the stacks differ, if all were compared.
        """
        stacks, fitted = self._fit_weighted(scored)
        models = {name: model for name, (model, _) in fitted.items()}
        (self.weights_, self.gap_), (supervised, _), (baseline, _) = stacks
        self.models_ = {name: models[name] for name, weight in self.weights_.items() if weight > 0}
        self.supervised_ = self._stack(supervised, models)
        self.baseline_ = self._stack(baseline, models)
        probe = {name: scores for name, (_, scores) in fitted.items()}
        (self.verdict_, judged), differing = self._judge(scored, probe)
        self._keep_held_out(scored.held_out, judged)
        self.report_ = report_table(self, scored, judged)
        self.failures_, self.notes_ = scored.failures, scored.all_notes
        self._warn_of_failures()
        return differing

    @property
    def judged_by(self) -> Any:
        """The scoring of the verdict."""
        return self.scoring

    def _fit_weighted(
        self, scored: OutOfFold[Kind]
    ) -> tuple[list[Weighted], dict[str, tuple[CandidateModel, Floats]]]:
        """Return the weights of the stacks, and the candidates that have one, fitted to all rows.

        A candidate that fails only now is left out, and the weights are found again without it.
        """
        while True:
            stacks = self._weigh(scored)
            needed = {name for weights, _ in stacks for name, w in weights.items() if w > 0}
            wanted = [name for name in scored.scores if name in needed]
            fitted = scored.refit(wanted, scored.rows.with_at_most(MAX_COMPARED_ROWS).unlabeled)
            if len(fitted) == len(wanted):
                return stacks, fitted
            _require_baselines(scored)
            for name in set(wanted) - set(fitted):
                del scored.scores[name]

    def _weigh(self, scored: OutOfFold[Kind]) -> list[Weighted]:
        """Return the weights of the stack, of the supervised stack and of the baseline."""
        stacks, baselines = [], scored.entrants.baselines
        for names in scored.entrants.members(scored.scores):
            weights, gap = scored.weights_of(names, self.shrinkage)
            stacks.append((dict(zip(names, weights.tolist(), strict=True)), gap))
        return [*stacks, (dict.fromkeys(baselines, 1.0 / len(baselines)), 0.0)]

    def _warn_of_failures(self) -> None:
        if self.failures_:
            names = ", ".join(dict.fromkeys(failure.candidate for failure in self.failures_))
            warn(
                f"Candidates that raised an exception are left out: {names}. The first failure "
                f"is {self.failures_[0]}; failures_ lists them all.",
                FitFailedWarning,
            )

    def count_fits(self) -> int:
        """Return how many fits of the candidates a fit makes: one per fold, and the final one.

        Returns
        -------
        int
            Their number; 1 if it depends on the rows.
        """
        return self.n_repeats * int(self.cv) + 1 if isinstance(self.cv, Integral) else 1

    def own_verdict(self) -> OwnVerdict:
        """Return the verdicts of the fit on the model, in the form that ``primum.compare`` uses.

        Returns
        -------
        OwnVerdict
            The verdicts, and the cross-fitted scores that they are based on.
        """
        check_is_fitted(self, "verdict_")
        scores, predicted = self._held_out_scores
        return OwnVerdict(
            self.verdict_.baseline,
            self.verdict_.supervised,
            *(self.held_out_rows_, self.held_out_folds_, scores),
            notes=list(self.notes_),
            limited=any(note.endswith(LACK_OF_TIME) for note in self.notes_),
            predicted=predicted,
        )

    @property
    @abstractmethod
    def _held_out_scores(self) -> tuple[Floats, AnyArray | None]:
        """What ``_keep_held_out`` stored: a column per class, or one of numbers, and classes."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata ``fit`` accepts, and which of them your own candidates receive.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for candidate in read_entrants(
            self.candidates, self.baseline, 2, 1, roster=self._roster
        ).all:
            if isinstance(candidate, Wrapped):
                router.add(method_mapping=mapping, **{candidate.name: candidate.entry.estimator})
        return router


def _require_baselines(scored: OutOfFold[Kind]) -> None:
    """Raise an error if a baseline failed."""
    for failure in scored.failures:
        if failure.candidate in scored.entrants.baselines:
            raise ValueError(
                f"The baseline cannot be fitted ({failure}): correct it, or choose another one "
                "with baseline=."
            )


def labeled_of(given: FitArguments[Known]) -> AnyArray:
    """Return the indices of the labelled rows of positive weight."""
    return given.labels.labeled[given.known]


def _groups(given: FitArguments[Known], groups: Any) -> list[AnyArray | None]:
    """Return the groups of the labelled and of the unlabelled rows of X."""
    if groups is None:
        return [None, None]
    index = (labeled_of(given), given.labels.unlabeled[given.unknown])
    return [np.asarray(groups)[rows] for rows in index]


def _n_to_label(labeled: AnyArray | None, unlabeled: AnyArray | None, n_unlabeled: int) -> int:
    """Return how many rows, or groups, have no label; each row of X_unlabeled is a group."""
    if labeled is None or unlabeled is None:
        return n_unlabeled
    return len(np.setdiff1d(unlabeled, labeled)) + n_unlabeled - len(unlabeled)
