"""The models of a comparison fitted to all rows, and the coefficients of a linear baseline."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum.comparison.arguments import with_preparation
from primum.comparison.plan import ComparisonPlan
from primum.comparison.run import fit_entry, fit_whole
from primum.comparison.target import Target
from primum.comparison.words import BASELINE
from primum.comparison.workers import seeded
from primum.reading.classifiers import Entry, last_step


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
        The class whose score it is a part of; of two classes, the second; empty for numbers.
    value : float
        The coefficient. Above 0, larger values of the feature make the class more likely, or the
        number larger.
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
        if not self.of_class:
            return "larger" if self.value > 0 else "smaller"
        return f"{'more' if self.value > 0 else 'less'} likely {self.of_class}"

    def to_dict(self) -> dict[str, Any]:
        """Return the coefficient as plain JSON values."""
        return asdict(self) | {"direction": self.direction}


def fit_model(plan: ComparisonPlan, name: str, prepare: Any) -> Any:
    """Return a method, or the averaged baseline, fitted to all rows by the names of classes.

    It has the seeds of its first fit, so that the model is the one judged.
    """
    for entry in plan.cross_fitted:
        if entry.name == name and entry.is_of_primum:
            return fit_whole(plan, entry)
    return fit_to_all(plan, name, prepare)


def fit_to_all(plan: ComparisonPlan, name: str, prepare: Any) -> Any:
    """Return a method, or the averaged baseline, fitted to all rows by the names of classes.

    Parameters
    ----------
    plan : ComparisonPlan
        The rows and classifiers.
    name : str
        Which of them.
    prepare : transformer or None
        Put before every classifier.

    Returns
    -------
    classifier
        With the seeds of its first fit.
    """
    target, rows = plan.table.target, np.arange(plan.table.n_rows)
    y = target.names
    if name == BASELINE:
        entry = _average(plan, prepare)
    else:
        entry = target.deployable(next(entry for entry in plan.entries if entry.name == name))
    if not entry.uses_unlabeled:
        rows, y = target.known.labeled, target.known_names
    groups, chosen = (
        None if values is None else values[rows] for values in (plan.groups, plan.table.chosen)
    )
    weight = plan.table.weight_of(rows)
    one = Entry(entry.name, seeded(entry.estimator, plan.seed, entry.name, 0))
    with one_blas_thread():
        # Rows without a label are left out above, so that all of these are used.
        return fit_entry(one, take_rows(plan.table.X, rows), y, groups, chosen, weight)


def _average(plan: ComparisonPlan, prepare: Any) -> Entry:
    """Return the average of the baselines as one model."""
    entries, target = plan.baselines, plan.table.target
    if not target.can_be_averaged(entries):
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
    average = with_preparation(prepare, target.average(parts), False)
    return Entry(BASELINE, average, False)


def coefficients_of(model: Any, name: str, target: Target) -> list[Coefficient]:
    """Return the coefficients of a fitted linear model or pipeline, the largest first.

    It may have been fitted to codes of classes; the target has their names.
    """
    coef = np.atleast_2d(np.asarray(last_step(model).coef_, dtype=float))
    names = _feature_names(model, coef.shape[1])
    every = [
        Coefficient(name, feature, of_class, float(value))
        for of_class, values in zip(target.score_names(len(coef)), coef, strict=True)
        for feature, value in zip(names, values, strict=True)
    ]
    return sorted(every, key=lambda one: -abs(one.value))


def _feature_names(model: Any, n_features: int) -> list[str]:
    if hasattr(model, "steps") and hasattr(model[:-1], "get_feature_names_out"):
        return [str(name) for name in model[:-1].get_feature_names_out()]
    named = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_features)] if named is None else [str(n) for n in named]
