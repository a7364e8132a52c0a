"""The candidates that a user asked for, by name or as classifiers or regressors of their own.

A user's classifier is fitted to class codes 0, 1, ..., with -1 for unknown labels if it uses
unlabelled rows, and its scores are read as ``reading.classifiers.class_scores`` does. A user's
regressor is fitted to the numbers as given, with NaN for unknown ones. Every random_state that is
None is set.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from primum._typing import AnyArray, Floats, Index
from primum._words import find_name
from primum.reading.classifiers import Entry, class_scores, read_entries
from primum.reading.data import as_table
from primum.reading.targets import TargetScale
from primum.safe.candidates import (
    CANDIDATES,
    DEFAULT,
    NUMBER_CANDIDATES,
    NUMBER_DEFAULT,
    ImplicitNumbers,
)
from primum.safe.candidates.base import (
    Candidate,
    CandidateModel,
    Kind,
    NumberTargets,
    PreparedAsGiven,
    SharedRows,
    Targets,
    partly_labelled,
    sampled_note,
)
from primum.safe.candidates.packages import NUMBERS_ON_REQUEST, ON_REQUEST, require_installed


@dataclass(frozen=True)
class WrappedModel(CandidateModel):
    """A fitted classifier."""

    classifier: Any
    n_classes: int
    columns: AnyArray | None

    def predict(self, X: Any) -> Floats:  # noqa: D102
        return class_scores(self.classifier, as_table(X, self.columns), self.n_classes)


@dataclass(frozen=True)
class WrappedRegressor(CandidateModel):
    """A fitted regressor, whose predictions are standardised."""

    regressor: Any
    scale: TargetScale
    columns: AnyArray | None

    def predict(self, X: Any) -> Floats:  # noqa: D102
        # A copy, so that a regressor that alters its rows does not alter the caller's.
        predicted = self.regressor.predict(as_table(X, self.columns).copy())
        return self.scale.standardised(np.asarray(predicted, dtype=float)).reshape(X.shape[0], -1)


@dataclass(frozen=True)
class PreparedWrapped(PreparedAsGiven[Targets]):
    """An estimator with its random states set, and the rows."""

    rows: SharedRows
    entry: Entry
    weighted: bool
    note: str = ""

    def fit(self, train: Index, labels: Targets) -> CandidateModel:  # noqa: D102
        seen = labels.take(train)
        X, y, weight = self.rows.labeled[train], seen.y, seen.weight
        if self.entry.uses_unlabeled:
            X, y, weight = partly_labelled(self.rows, train, labels)
        options = {"sample_weight": weight} if self.weighted and weight is not None else {}
        fitted = self.entry.fitted(as_table(X, self.rows.columns), y, **options)
        if isinstance(labels, NumberTargets):
            return WrappedRegressor(fitted, labels.scale, self.rows.columns)
        return WrappedModel(fitted, labels.n_outputs, self.rows.columns)


class Wrapped(Candidate[Targets]):
    """A user's estimator; its time is taken to grow with the square of the number of rows.

    Parameters
    ----------
    entry : Entry
        The estimator, with its name and whether it is fitted to unlabelled rows too.
    counterpart : str or None
        The name of the supervised candidate with which it is compared.
    weighted : bool or None
        Whether ``fit`` receives the weights of rows; None: if it has that parameter.
    """

    growth = 2.0
    slow_prediction = True

    def __init__(
        self, entry: Entry, counterpart: str | None = None, weighted: bool | None = None
    ) -> None:
        self.entry, self.name, self.uses_unlabeled = entry, entry.name, entry.uses_unlabeled
        self.counterpart, self.weighted = counterpart, weighted

    def prepare(self, rows: SharedRows) -> PreparedWrapped:  # noqa: D102
        weighted = self.entry.takes_weights if self.weighted is None else self.weighted
        note = "" if weighted or not rows.weighted else f"{self.name} ignores sample_weight."
        if self.uses_unlabeled:
            note = " ".join(filter(None, [note, sampled_note(self.name, rows, rows)]))
        return PreparedWrapped(rows, self.entry.seeded(rows.seed), weighted, note)


@dataclass(frozen=True)
class Roster(Generic[Kind]):
    """The candidates that can be asked for by name, and what a user's own must be.

    Attributes
    ----------
    candidates : dict of str to Candidate
        Candidates by name.
    on_request : mapping of str to Candidate
        Further ones, which are never used by default, such as those of other packages.
    default : sequence of str
        Names of those that are used by default.
    learner : str
        What a user's own must be: "classifier" or "regressor".
    check : callable
        Function of the name and estimator of a user's own that raises an error if it is unusable.
    """

    candidates: dict[str, Candidate[Kind]]
    on_request: Mapping[str, Candidate[Kind]]
    default: Sequence[str]
    learner: str
    check: Callable[[str, Any], None]

    @property
    def kinds(self) -> str:
        """What an item of candidates may be."""
        pairs = f"(name, {self.learner}), (name, {self.learner}, uses_unlabeled)"
        return f"a name, {pairs} or (name, {self.learner}, True, counterpart)"

    def read_names(self, candidates: Any) -> list[str]:
        """Return the names of candidates, and add the user's own to the known ones."""
        if isinstance(candidates, str):
            if candidates != "default":
                raise ValueError(
                    f"candidates must be 'default' or a list, each item of which is {self.kinds}, "
                    f"got {candidates!r}."
                )
            return list(self.default)
        return [
            self._known_name(item) if isinstance(item, str) else self._add_own(item)
            for item in candidates
        ]

    def _add_own(self, item: Any) -> str:
        """Return the name of a user's own candidate, and add it to the known ones."""
        wrapped = self._wrapped(item)
        for candidate in wrapped:
            if candidate.name in self.candidates:
                raise ValueError(
                    f"Two candidates are called {candidate.name!r}: choose another name for yours."
                )
            self.candidates[candidate.name] = candidate
        return wrapped[0].name

    def _known_name(self, name: str) -> str:
        """Return the name of a known candidate; one on request is added to the known ones."""
        names = list(dict.fromkeys([*self.candidates, *self.on_request]))
        name = find_name(name, names) or name
        if name in self.on_request and name not in self.candidates:
            require_installed(name)
            self.candidates[name] = self.on_request[name]
        if name not in self.candidates:
            raise ValueError(
                f"There is no candidate called {name!r}: choose from {', '.join(names)}, or pass "
                f"(name, {self.learner}) or (name, {self.learner}, uses_unlabeled)."
            )
        return name

    def _wrapped(self, item: Any) -> list[Wrapped]:
        """Return a user's candidate, and its counterpart if there is one."""
        if not isinstance(item, tuple | list) or len(item) not in (2, 3, 4):
            raise ValueError(f"Every item of candidates must be {self.kinds}, got {item!r}.")
        entry = read_entries([item[:3]], "candidates")[0]
        self.check(entry.name, entry.estimator)
        if len(item) < 4 or not entry.uses_unlabeled:
            return [Wrapped(entry)]
        if isinstance(item[3], str):
            self._known_name(item[3])
            return [Wrapped(entry, item[3])]
        name = f"{entry.name} (labelled)"
        self.check(name, item[3])
        return [Wrapped(entry, name), Wrapped(Entry(name, item[3], False))]

    def read_baseline(self, baseline: Any) -> list[str]:
        """Return the names in the baseline, and add the user's own to the known ones."""
        parts = baseline if isinstance(baseline, list | tuple) else [baseline]
        if not parts:
            raise ValueError("baseline is empty: name at least one supervised candidate.")
        names = []
        for part in parts:
            if isinstance(part, str):
                name = self._known_name(part)
            elif isinstance(part, list | tuple):
                name = self._add_own((*part[:2], False))
            else:
                name = self._add_own((type(part).__name__, part, False))
            if self.candidates[name].uses_unlabeled:
                raise ValueError(
                    f"The baseline {name!r} uses unlabelled rows: choose a supervised candidate."
                )
            names.append(name)
        return list(dict.fromkeys(names))


def _check_scores(name: str, estimator: Any) -> None:
    if not (hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")):
        raise ValueError(
            f"Candidate {name!r} ({type(estimator).__name__}) has neither predict_proba nor "
            "decision_function, so it has no scores to combine: wrap it in CalibratedClassifierCV, "
            "or leave it out."
        )


def _check_predicts_numbers(name: str, estimator: Any) -> None:
    if is_classifier(estimator) or not hasattr(estimator, "predict"):
        raise ValueError(
            f"Candidate {name!r} ({type(estimator).__name__}) does not predict numbers: pass a "
            "regressor, or use SafeClassifier for classes."
        )


OF_CLASSES = Roster(CANDIDATES, ON_REQUEST, DEFAULT, "classifier", _check_scores)


def of_numbers(bounds: tuple[float, float] | str | None) -> Roster[NumberTargets]:
    """Return the roster for numeric targets; with bounds, icls is one of the candidates.

    ``bounds`` are a pair of numbers, or "labels" for the range of the training targets.
    """
    candidates, default = dict(NUMBER_CANDIDATES), list(NUMBER_DEFAULT)
    if bounds is not None:
        icls = ImplicitNumbers(None if isinstance(bounds, str) else bounds)
        candidates[icls.name] = icls
        default.insert(-1, icls.name)
    return Roster(candidates, NUMBERS_ON_REQUEST, default, "regressor", _check_predicts_numbers)


@dataclass(frozen=True)
class Entrants(Generic[Kind]):
    """The candidates of a stack and of its supervised counterpart.

    Attributes
    ----------
    candidates : list of Candidate
        Candidates of the stack.
    supervised : list of Candidate
        Its supervised candidates, and the supervised counterparts of the others.
    baselines : list of str
        Names of the candidates of the baseline, which are in both lists.
    notes : list of str
        What was left out, and why.
    """

    candidates: list[Candidate[Kind]]
    supervised: list[Candidate[Kind]]
    baselines: list[str]
    notes: list[str]

    @property
    def all(self) -> list[Candidate[Kind]]:
        """All candidates, those of the stack first."""
        return list({c.name: c for c in (*self.candidates, *self.supervised)}.values())

    def members(self, names: Any) -> tuple[list[str], list[str]]:
        """Return the names of the scored candidates of the stack, and of the supervised stack.

        A counterpart whose candidates have all failed leaves the supervised stack too, which
        otherwise would have a kind of model that the stack lacks.
        """
        stack = [c.name for c in self.candidates if c.name in names]
        needed = {*stack, *(c.counterpart for c in self.candidates if c.name in stack)}
        supervised = [c.name for c in self.supervised if c.name in names and c.name in needed]
        return stack, supervised

    def unpaired(self, names: Any) -> list[str]:
        """Return the candidates that use unlabelled rows and have no counterpart with scores."""
        using = [c for c in self.candidates if c.uses_unlabeled and c.name in names]
        return [c.name for c in using if c.counterpart not in names]

    def can_attribute(self, unpaired: list[str]) -> bool:
        """Return whether a candidate that has a counterpart uses unlabelled rows."""
        return any(c.uses_unlabeled and c.name not in unpaired for c in self.candidates)

    @property
    def units(self) -> list[list[Candidate[Kind]]]:
        """What is computed together: the baselines, then each candidate with its counterpart."""
        by_name = {candidate.name: candidate for candidate in self.all}
        units, seen = [[by_name[name] for name in self.baselines]], set(self.baselines)
        for candidate in self.all:
            names = [candidate.name, candidate.counterpart]
            new = [name for name in names if name in by_name and name not in seen]
            seen.update(new)
            if new:
                units.append([by_name[name] for name in new])
        return units


def read_entrants(
    candidates: Any,
    baseline: Any,
    n_classes: int,
    n_unlabeled: int,
    roster: Roster[Kind],
    routed: Any = None,
) -> Entrants[Kind]:
    """Return the candidates of a problem; raise an error if they are not valid.

    ``routed`` is the routing of metadata by the names of the user's own (None: whoever has the
    parameter ``sample_weight`` receives it).
    """
    roster = replace(roster, candidates=dict(roster.candidates))  # the user's own are added
    names, baselines = roster.read_names(candidates), roster.read_baseline(baseline)
    by_name = roster.candidates
    chosen = [by_name[name] for name in dict.fromkeys([*baselines, *names])]
    notes = [
        f"{candidate.name} is for two classes only and is left out."
        for candidate in chosen
        if not candidate.applies_to(n_classes)
    ]
    chosen = [c for c in chosen if c.applies_to(n_classes)]
    twins = [by_name[c.counterpart] if c.counterpart else None for c in chosen if c.uses_unlabeled]
    of_both = [c for c in chosen if not c.uses_unlabeled]
    supervised = list(dict.fromkeys([*of_both, *(twin for twin in twins if twin is not None)]))
    if n_unlabeled == 0:
        chosen = supervised
    team = Entrants(chosen, supervised, baselines, notes)
    for candidate in team.all:
        if routed is not None and isinstance(candidate, Wrapped):
            candidate.weighted = "sample_weight" in routed[candidate.name].fit
    return team


def routed_weights(estimator: BaseEstimator, sample_weight: Any) -> Any:
    """Return which of the user's own candidates receive weights, if metadata are routed."""
    if sample_weight is None or not get_config()["enable_metadata_routing"]:
        return None
    return process_routing(estimator, "fit", sample_weight=sample_weight)


def routing_of(estimator: BaseEstimator, team: Entrants[Kind]) -> MetadataRouter:
    """Return which metadata ``fit`` accepts, and which of them the user's own receive."""
    router = MetadataRouter(owner=estimator).add_self_request(estimator)
    mapping = MethodMapping().add(caller="fit", callee="fit")
    for candidate in team.all:
        if isinstance(candidate, Wrapped):
            router.add(method_mapping=mapping, **{candidate.name: candidate.entry.estimator})
    return router
