"""The candidates that a user asked for, by name or as classifiers or regressors of their own.

A user's classifier is fitted to class codes 0, 1, ..., with -1 for unknown labels if it uses
unlabelled rows, and its scores are read as ``reading.classifiers.class_scores`` does. A user's
regressor is fitted to the numbers as given, with NaN for unknown ones. Every random_state that is
None is set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

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
from primum.safe.candidates.base import Candidate, CandidateModel, PreparedRows
from primum.safe.candidates.packages import NUMBERS_ON_REQUEST, ON_REQUEST, require_installed
from primum.safe.rows import SharedRows, Targets, partly_labelled, sampled_note


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


class Wrapped(Candidate):
    """A user's estimator; its time is taken to grow with the square of the number of rows.

    Parameters
    ----------
    entry : Entry
        The estimator, with its name and whether it is fitted to unlabelled rows too.
    counterpart : str or None
        The name of the supervised candidate with which it is compared.
    weighted : bool
        Whether ``fit`` receives the weights of rows.
    """

    growth = 2.0
    slow_prediction = True

    def __init__(self, entry: Entry, counterpart: str | None, *, weighted: bool) -> None:
        self.entry = entry
        self.name = entry.name
        self.uses_unlabeled = entry.uses_unlabeled
        self.counterpart = counterpart
        self.weighted = weighted

    def prepare(self, rows: SharedRows) -> PreparedRows:  # noqa: D102
        notes = []
        if rows.weighted and not self.weighted:
            notes.append(f"{self.name} ignores sample_weight.")
        if self.uses_unlabeled and (note := sampled_note(self.name, rows, rows)):
            notes.append(note)
        fit = partial(_fit_own, rows, self.entry.seeded(rows.seed), self.weighted)
        return PreparedRows(rows.labeled, fit, " ".join(notes))


def _fit_own(
    rows: SharedRows, entry: Entry, weighted: bool, train: Index, targets: Targets
) -> CandidateModel:
    """Return a user's estimator fitted to the labelled rows of train, or to all rows."""
    seen = targets.take(train)
    X, y, weight = rows.labeled[train], seen.y, seen.weight
    if entry.uses_unlabeled:
        X, y, weight = partly_labelled(rows, train, targets)
    options = {"sample_weight": weight} if weighted and weight is not None else {}
    fitted = entry.fitted(as_table(X, rows.columns), y, **options)
    if targets.scale is None:
        return WrappedModel(fitted, targets.n_outputs, rows.columns)
    return WrappedRegressor(fitted, targets.scale, rows.columns)


@dataclass(frozen=True)
class Team:
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
    n_unlabeled : int
        The number of unlabelled rows in memory.
    """

    candidates: list[Candidate]
    supervised: list[Candidate]
    baselines: list[str]
    notes: list[str]
    n_unlabeled: int = 0

    @property
    def all(self) -> list[Candidate]:
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

    def can_attribute(self, unpaired: Sequence[str]) -> bool:
        """Return whether a candidate that has a counterpart uses unlabelled rows."""
        return any(c.uses_unlabeled and c.name not in unpaired for c in self.candidates)

    @property
    def units(self) -> list[list[Candidate]]:
        """What is computed together: the baselines, then each candidate with its counterpart."""
        by_name = {candidate.name: candidate for candidate in self.all}
        units = [[by_name[name] for name in self.baselines]]
        seen = set(self.baselines)
        for candidate in self.all:
            names = [candidate.name, candidate.counterpart]
            new = [name for name in names if name in by_name and name not in seen]
            seen.update(new)
            if new:
                units.append([by_name[name] for name in new])
        return units


def choose_candidates(
    candidates: Any,
    baseline: Any,
    n_classes: int | None,
    n_unlabeled: int,
    bounds: Any = None,
    routed: Any = None,
) -> Team:
    """Return the candidates of a fit; raise an error if they are not valid.

    Without ``n_classes`` they predict numbers: within ``bounds`` (None: icls is not a candidate),
    which are a pair of numbers, or "labels" for the range of the training targets. ``routed`` is
    the routing of metadata by the names of the user's own (None: whoever has the parameter
    ``sample_weight`` receives it).
    """
    of_classes = n_classes is not None
    learner = "classifier" if of_classes else "regressor"
    known = dict(CANDIDATES if of_classes else NUMBER_CANDIDATES)  # the user's own are added
    on_request = ON_REQUEST if of_classes else NUMBERS_ON_REQUEST
    default = list(DEFAULT if of_classes else NUMBER_DEFAULT)
    if bounds is not None:
        known["icls"] = ImplicitNumbers(None if isinstance(bounds, str) else bounds)
        default.insert(-1, "icls")
    kinds = (
        f"a name, (name, {learner}), (name, {learner}, uses_unlabeled) or (name, {learner}, True, "
        "counterpart)"
    )

    def named(name: str) -> str:
        names = list(dict.fromkeys([*known, *on_request]))
        name = find_name(name, names) or name
        if name in on_request and name not in known:
            require_installed(name)
            known[name] = on_request[name]
        if name not in known:
            raise ValueError(
                f"There is no candidate called {name!r}: choose from {', '.join(names)}, or pass "
                f"(name, {learner}) or (name, {learner}, uses_unlabeled)."
            )
        return name

    def add(entry: Entry, counterpart: str | None = None) -> str:
        if entry.name in known:
            raise ValueError(
                f"Two candidates are called {entry.name!r}: choose another name for yours."
            )
        weighted = entry.takes_weights
        if routed is not None:
            weighted = "sample_weight" in routed[entry.name].fit
        known[entry.name] = Wrapped(entry, counterpart, weighted=weighted)
        return entry.name

    def own(item: Any) -> str:
        if not isinstance(item, tuple | list) or len(item) not in (2, 3, 4):
            raise ValueError(f"Every item of candidates must be {kinds}, got {item!r}.")
        entry = read_entries([item[:3]], "candidates")[0]
        _check_learner(entry.name, entry.estimator, of_classes=of_classes)
        if len(item) < 4 or not entry.uses_unlabeled:
            return add(entry)
        if isinstance(item[3], str):
            named(item[3])
            return add(entry, item[3])
        twin = f"{entry.name} (labelled)"
        _check_learner(twin, item[3], of_classes=of_classes)
        name = add(entry, twin)
        add(Entry(twin, item[3], False))
        return name

    # The candidates, by name or as estimators.
    if not isinstance(candidates, str):
        names = [named(item) if isinstance(item, str) else own(item) for item in candidates]
    elif candidates == "default":
        names = default
    else:
        raise ValueError(
            f"candidates must be 'default' or a list, each item of which is {kinds}, "
            f"got {candidates!r}."
        )

    # The baselines, which are supervised.
    parts = baseline if isinstance(baseline, list | tuple) else [baseline]
    if not parts:
        raise ValueError("baseline is empty: name at least one supervised candidate.")
    baselines = []
    for part in parts:
        if isinstance(part, str):
            name = named(part)
        elif isinstance(part, list | tuple):
            name = own((*part[:2], False))
        else:
            name = own((type(part).__name__, part, False))
        if known[name].uses_unlabeled:
            raise ValueError(
                f"The baseline {name!r} uses unlabelled rows: choose a supervised candidate."
            )
        baselines.append(name)
    baselines = list(dict.fromkeys(baselines))

    # Both stacks; without unlabelled rows there is one.
    chosen = [known[name] for name in dict.fromkeys([*baselines, *names])]
    able = [candidate for candidate in chosen if candidate.applies_to(n_classes or 1)]
    notes = [f"{c.name} is for two classes only and is left out." for c in chosen if c not in able]
    twins = [known[c.counterpart] for c in able if c.uses_unlabeled and c.counterpart]
    supervised = [candidate for candidate in able if not candidate.uses_unlabeled]
    supervised = list(dict.fromkeys([*supervised, *twins]))
    stack = able if n_unlabeled else supervised
    return Team(stack, supervised, baselines, notes, n_unlabeled)


def _check_learner(name: str, estimator: Any, *, of_classes: bool) -> None:
    """Raise an error if a user's own candidate cannot be one."""
    scores = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
    if of_classes and not scores:
        raise ValueError(
            f"Candidate {name!r} ({type(estimator).__name__}) has neither predict_proba nor "
            "decision_function, so it has no scores to combine: wrap it in CalibratedClassifierCV, "
            "or leave it out."
        )
    if not of_classes and (is_classifier(estimator) or not hasattr(estimator, "predict")):
        raise ValueError(
            f"Candidate {name!r} ({type(estimator).__name__}) does not predict numbers: pass a "
            "regressor, or use SafeClassifier for classes."
        )


def routed_weights(estimator: BaseEstimator, sample_weight: Any) -> Any:
    """Return which of the user's own candidates receive weights, if metadata are routed."""
    if sample_weight is None or not get_config()["enable_metadata_routing"]:
        return None
    return process_routing(estimator, "fit", sample_weight=sample_weight)


def routing_of(estimator: BaseEstimator, team: Team) -> MetadataRouter:
    """Return which metadata ``fit`` accepts, and which of them the user's own receive."""
    router = MetadataRouter(owner=estimator).add_self_request(estimator)
    mapping = MethodMapping().add(caller="fit", callee="fit")
    for candidate in team.all:
        if isinstance(candidate, Wrapped):
            router.add(method_mapping=mapping, **{candidate.name: candidate.entry.estimator})
    return router
