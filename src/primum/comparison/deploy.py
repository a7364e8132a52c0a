"""Models fitted to all rows, for use after a comparison, and what they show.

The recommended model, the unlabelled rows that it classifies differently than the baseline, and
the coefficients of a linear baseline.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.pipeline import Pipeline

from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import AnyArray
from primum._words import key_of
from primum.comparison.arguments import with_preparation
from primum.comparison.plan import ComparisonPlan, last_step
from primum.comparison.run import fit_entry, keep_groups
from primum.comparison.words import BASELINE
from primum.comparison.workers import seeded
from primum.reading.classifiers import Entry, NamedClassifier

# Rows that are listed; the counts are of all rows.
MAX_LISTED = 1000


@dataclass(frozen=True)
class ChangedRow:
    """An unlabelled row for which a method and the baseline predict different classes.

    Attributes
    ----------
    row : int
        Its position among all rows, from 0.
    id : str or None
        What identifies it, if the table has a column for that.
    baseline, method : str
        The class by either.
    """

    row: int
    id: str | None
    baseline: str
    method: str


@dataclass(frozen=True)
class Changes:
    """Which unlabelled rows a method and the baseline assign to different classes.

    Attributes
    ----------
    method : str
        Name of the method.
    n_compared : int
        Number of unlabelled rows for which both predicted a class: all, or a random sample.
    n_changed : int
        Number of those with different classes.
    counts : list of (str, str, int)
        Class by the baseline, class by the method, number of rows; most frequent first.
    rows : list of ChangedRow
        The first thousand of them.
    """

    method: str
    n_compared: int
    n_changed: int
    counts: list[tuple[str, str, int]]
    rows: list[ChangedRow]

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as plain JSON values."""
        return asdict(self) | {"counts": [list(count) for count in self.counts]}


@dataclass(frozen=True)
class Coefficient:
    """The weight of a feature in a linear baseline.

    Attributes
    ----------
    model : str
        Name of the baseline.
    feature : str
        Name of the prepared feature.
    of_class : str
        The class whose score it is a part of; of two classes, the second.
    value : float
        The coefficient. Above 0, larger values of the feature make the class more likely.
    """

    model: str
    feature: str
    of_class: str
    value: float

    @property
    def direction(self) -> str:
        """What larger values of the feature mean."""
        if self.value == 0:
            return "no effect"
        return f"{'more' if self.value > 0 else 'less'} likely {self.of_class}"

    def to_dict(self) -> dict[str, Any]:
        """Return the coefficient as plain JSON values."""
        return asdict(self) | {"direction": self.direction}


def fit_model(plan: ComparisonPlan, name: str, prepare: Any) -> Any:
    """Return a method, or the averaged baseline, fitted to all rows by the names of classes."""
    entry = _baseline(plan, prepare) if name == BASELINE else _named(_find(plan, name))
    labels = plan.table.labels
    y = np.full(len(plan.table.codes), None, dtype=object)
    y[labels.labeled] = labels.classes[labels.codes]
    with one_blas_thread():
        if entry.uses_unlabeled:
            return fit_entry(_seeded(plan, entry), plan.table.X, y, plan.groups)
        rows = take_rows(plan.table.X, labels.labeled)
        estimator = _seeded(plan, entry).estimator
        if plan.groups is not None:
            at = np.arange(len(labels.labeled))
            keep_groups(estimator, at, labels.codes, plan.groups[labels.labeled])
        return estimator.fit(rows, labels.classes[labels.codes])


def find_name(name: str, names: Sequence[str]) -> str | None:
    """Return the one of some names that is meant, exactly or as it is typed; None if there is none.

    ``safe-stack`` is "safe stack", unless another has that name.
    """
    keys = [key_of(other) for other in names]
    if name in names or keys.count(key_of(name)) != 1:
        return name if name in names else None
    return names[keys.index(key_of(name))]


def _find(plan: ComparisonPlan, name: str) -> Entry:
    return next(entry for entry in plan.entries if entry.name == name)


def _seeded(plan: ComparisonPlan, entry: Entry) -> Entry:
    """Return an entry with the seeds of its first fit, so that the model is the one judged."""
    estimator = seeded(entry.estimator, plan.seed, entry.name, 0)
    return Entry(entry.name, estimator, entry.uses_unlabeled)


def _named(entry: Entry) -> Entry:
    """Return an entry that can be fitted to the names of classes, with None where unknown."""
    last = last_step(entry.estimator)
    if not entry.uses_unlabeled or type(last).__module__.startswith("primum."):
        return entry
    named = NamedClassifier(last)
    if last is not entry.estimator:
        *before, (name, _) = entry.estimator.steps
        named = Pipeline([*before, (name, named)])
    return Entry(entry.name, named, True)


def can_be_averaged(baselines: Sequence[Entry]) -> bool:
    """Return whether the average of the baselines is a classifier of its own."""
    return len(baselines) == 1 or all(hasattr(b.estimator, "predict_proba") for b in baselines)


def _baseline(plan: ComparisonPlan, prepare: Any) -> Entry:
    """Return the mean of the probabilities of the baselines as one classifier."""
    entries = plan.baselines
    if not can_be_averaged(entries):
        lacking = next(e.name for e in entries if not hasattr(e.estimator, "predict_proba"))
        raise ValueError(
            f"The baseline {lacking!r} has no predict_proba, so that the average of the baselines "
            "cannot be fitted as a model: calibrate it with CalibratedClassifierCV."
        )
    if len(entries) == 1:
        return entries[0]
    # scikit-learn refuses double underscores in names.
    parts = [
        (e.name.replace("__", "_"), e.estimator if prepare is None else last_step(e.estimator))
        for e in entries
    ]
    return Entry(BASELINE, with_preparation(prepare, VotingClassifier(parts, voting="soft")), False)


def changes_of(
    method: str,
    own: AnyArray,
    baseline: AnyArray,
    rows: AnyArray,
    classes: Sequence[Any],
    ids: Any = None,
) -> Changes:
    """Return the changes between the predicted codes of some rows."""
    names = [str(name) for name in classes]
    changed = np.flatnonzero(own != baseline)
    pairs = Counter((names[baseline[i]], names[own[i]]) for i in changed)
    listed = [
        ChangedRow(int(rows[i]), _id(ids, rows[i]), names[baseline[i]], names[own[i]])
        for i in changed[:MAX_LISTED]
    ]
    counts = [(old, new, count) for (old, new), count in pairs.most_common()]
    return Changes(method, len(rows), len(changed), counts, listed)


def _id(ids: Any, row: int) -> str | None:
    return None if ids is None or row >= len(ids) or ids[row] is None else str(ids[row])


def coefficients_of(model: Any, name: str) -> list[Coefficient]:
    """Return the coefficients of a fitted linear classifier or pipeline, the largest first."""
    coef = np.atleast_2d(np.asarray(last_step(model).coef_, dtype=float))
    classes = [str(label) for label in model.classes_]
    names = _feature_names(model, coef.shape[1])
    of_class = classes[1:] if len(coef) == 1 else classes
    found = [
        Coefficient(name, feature, label, float(value))
        for label, values in zip(of_class, coef, strict=True)
        for feature, value in zip(names, values, strict=True)
    ]
    return sorted(found, key=lambda one: -abs(one.value))


def _feature_names(model: Any, n_features: int) -> list[str]:
    if hasattr(model, "steps") and hasattr(model[:-1], "get_feature_names_out"):
        return [str(name) for name in model[:-1].get_feature_names_out()]
    named = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_features)] if named is None else [str(n) for n in named]
