"""Classifiers of a comparison that follow what errors cost, each by a decision rule of its own.

A rule is chosen inside every training set, in folds of its labelled rows, with all unlabelled rows
in training. The averaged baseline has one rule, so that it is one classifier. Methods that judge
themselves choose their rule on their cross-fitted scores.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.pipeline import Pipeline

from primum.judging.objectives import Objective
from primum.judging.words import judges_itself
from primum.reading.classifiers import Entry, last_step
from primum.safe import TunedDecisionClassifierCV

LEAST_FOLDS = 2


def with_rules(entries: Sequence[Entry], objective: Objective, n_folds: int) -> list[Entry]:
    """Return the entries with decision rules, chosen in so many folds.

    Those without scores stay as they are.
    """
    return [_with_rule(entry, objective, n_folds) for entry in entries]


def baseline_with_rule(entries: Sequence[Entry], objective: Objective, n_folds: int) -> list[Entry]:
    """Return the baseline, the mean of the probabilities of several, as one with a rule."""
    if len(entries) == 1:
        return with_rules(entries, objective, n_folds)
    lacking = [entry.name for entry in entries if not hasattr(entry.estimator, "predict_proba")]
    if lacking:
        raise ValueError(
            f"The baseline {lacking[0]!r} has no predict_proba, so that costs cannot choose the "
            "class that the average of the baselines predicts: calibrate it with "
            "CalibratedClassifierCV."
        )
    parts = [(_name_of_part(entry.name), last_step(entry.estimator)) for entry in entries]
    average = _in_place(entries[0].estimator, VotingClassifier(parts, voting="soft"))
    name = " and ".join(entry.name for entry in entries)
    return with_rules([Entry(name, average, False)], objective, n_folds)


def _with_rule(entry: Entry, objective: Objective, n_folds: int) -> Entry:
    last = last_step(entry.estimator)
    has_scores = hasattr(last, "predict_proba") or hasattr(last, "decision_function")
    if judges_itself(last) or not has_scores:
        return entry
    ruled = TunedDecisionClassifierCV(
        last, scoring=objective, uses_unlabeled=entry.uses_unlabeled, cv=n_folds
    )
    return replace(entry, estimator=_in_place(entry.estimator, ruled))


def _in_place(estimator: Any, last: Any) -> Any:
    """Return a classifier, or a pipeline, with another last step."""
    if not hasattr(estimator, "steps"):
        return last
    *before, (name, _) = estimator.steps
    return Pipeline([*before, (name, last)])


def is_ruled(classifier: Any) -> bool:
    """Return whether a classifier has a decision rule that a comparison gave it."""
    return isinstance(classifier, TunedDecisionClassifierCV)


def fitted_parts(model: Any, name: str) -> list[tuple[str, Any]]:
    """Return a fitted model by its name; one with a rule as the classifiers that it averages."""
    last = last_step(model)
    if not is_ruled(last):
        return [(name, model)]
    inside = last.estimator_
    parts = [(name, inside)]
    if isinstance(inside, VotingClassifier):
        parts = [(part, inside.named_estimators_[part]) for part, _ in inside.estimators]
    return [(part, _in_place(model, fitted)) for part, fitted in parts]


def _name_of_part(name: str) -> str:
    return name.replace("__", "_")  # scikit-learn refuses double underscores in names


def _is_average(classifier: Any, name: str) -> bool:
    """Return whether a classifier is the average of baselines, and not one of the user's own."""
    if not isinstance(classifier, VotingClassifier):
        return False
    return " and ".join(part for part, _ in classifier.estimators) == _name_of_part(name)


def without_rules(entries: Sequence[Entry]) -> list[Entry]:
    """Return entries as they were before they had decision rules."""
    given = []
    for entry in entries:
        last = last_step(entry.estimator)
        if isinstance(getattr(last, "scoring", None), Objective) and not is_ruled(last):
            plain = clone(last).set_params(scoring="accuracy")
            given.append(replace(entry, estimator=_in_place(entry.estimator, plain)))
        elif not is_ruled(last):
            given.append(entry)
        elif _is_average(last.estimator, entry.name):
            given += [
                Entry(name, _in_place(entry.estimator, part), False)
                for name, part in last.estimator.estimators
            ]
        else:
            given.append(replace(entry, estimator=_in_place(entry.estimator, last.estimator)))
    return given
