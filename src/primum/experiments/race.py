"""The race of the safe choice: every candidate and stack against tuned supervised models.

One fit of the safe choice gives all of them. They are compared with the better, in hindsight, of
tuned ridge and tuned logistic regression on each data set: by paired differences over the repeats,
with a t-test on each data set, and with Holm's correction over all data sets. What unlabelled rows
contribute is the difference between the safe stack and the stack of supervised models.
"""

from functools import partial
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy import stats
from sklearn.datasets import load_digits

from primum._typing import Floats
from primum.experiments.measures import score_probability
from primum.experiments.methods import Method
from primum.experiments.paper import Plan
from primum.experiments.splits import HoldOut
from primum.judging.difference import holm
from primum.judging.held_out import HeldOut
from primum.safe import SafeClassifier
from primum.safe.base import SafeStack
from primum.safe.candidates import BASELINE as PARTS_OF_BASELINE
from primum.safe.candidates import CANDIDATES, DEFAULT, CandidateModel
from primum.safe.candidates.entrants import Entrants
from primum.safe.out_of_fold import OutOfFold
from primum.safe.stack import StackedClassifier, stack_of

# The names of the two stacks and of the tuned supervised model, in results and tables.
SAFE, SUPERVISED, BASELINE = "safe stack", "supervised stack", "baseline"
# |t| above this is a difference; 5% two-sided with 20 repeats.
CRITICAL = 2.1
# The level of the family of tests over all data sets, after Holm's correction.
LEVEL = 0.05
# Differences of errors and losses below this are rounding.
ROUNDING = 1e-12


def all_models(safe: SafeStack[Any], scored: OutOfFold) -> dict[str, CandidateModel]:
    """Return all candidates of a fitted safe choice, and those of its supervised stack, fitted."""
    models = {**safe.baseline_.models_, **safe.supervised_.models_, **safe.models_}
    others = [name for name in scored.scores if name not in models]
    for name, (model, _) in scored.refit(others, scored.rows.unlabeled[:0]).items():
        models[name] = model
    return {name: models[name] for name in scored.scores if name in models}


class RaceClassifier(SafeClassifier):
    """The safe choice with all of its candidates, and those of its supervised stack, as parts."""

    def _combine(self, scored: OutOfFold, entrants: Entrants, held_out: HeldOut) -> None:
        super()._combine(scored, entrants, held_out)
        self.all_models_ = all_models(self, scored)

    @property
    def parts_(self) -> dict[str, StackedClassifier]:
        """The candidates and the stacks, each as a classifier."""
        single = {name: stack_of(self, {name: 1.0}, self.all_models_) for name in self.all_models_}
        return {**single, SUPERVISED: self.supervised_, BASELINE: self.baseline_}


def race_method(n_classes: int = 2) -> Method:
    """Return the safe choice and all of its parts, as one method of an experiment."""
    own = [CANDIDATES[name] for name in DEFAULT if CANDIDATES[name].applies_to(n_classes)]
    raced = {*(candidate.name for candidate in own), *(candidate.counterpart for candidate in own)}
    parts = {
        name: "partly" if candidate.uses_unlabeled else "labeled"
        for name, candidate in CANDIDATES.items()
        if name in raced and candidate.applies_to(n_classes)
    }
    parts |= {SUPERVISED: "labeled", BASELINE: "labeled"}
    return Method(SAFE, RaceClassifier(), score=score_probability, parts=parts)


def differences(
    results: DataFrame, measure: str = "error", against: str | None = None
) -> DataFrame:
    """Return the difference of every method to a model, on every data set.

    Parameters
    ----------
    results : DataFrame
        Of ``run_experiment``.
    measure : str
        "error" or "loss_test".
    against : str, optional
        The model to compare with; by default the baseline with the least mean on each data set.

    Returns
    -------
    DataFrame
        One row per data set and method: ``reference`` (its name) and ``reference_mean``, ``mean``
        (of the differences), ``t``, ``p`` and ``repeats``.
    """
    rows = []
    for dataset, group in results.groupby("dataset", sort=False):
        values = group.pivot(index="repeat", columns="classifier", values=measure)
        reference = values[list(PARTS_OF_BASELINE)].mean().idxmin() if against is None else against
        for name in group["classifier"].unique():
            change = (values[name] - values[reference]).dropna().to_numpy()
            t, p = paired_t(change)
            row = (dataset, name, reference, values[reference].mean(), change.mean(), t, p)
            rows.append((*row, len(change)))
    columns = ["dataset", "classifier", "reference", "reference_mean", "mean", "t", "p", "repeats"]
    return DataFrame(rows, columns=columns)


def paired_t(change: Floats) -> tuple[float, float]:
    """Return t and the two-sided p of differences; equal models have t = 0 and p = 1."""
    if len(change) < 2 or np.abs(change).max() <= ROUNDING:
        return 0.0, 1.0
    if np.ptp(change) <= ROUNDING:
        return float(np.sign(change[0]) * np.inf), 0.0
    t, p = stats.ttest_1samp(change, 0.0)
    return float(t), float(p)


def race_summary(compared: DataFrame) -> DataFrame:
    """Return, for every method, its mean difference and on how many data sets it differs.

    ``better`` and ``worse`` count data sets with t below -2.1 or above 2.1, ``better_holm`` and
    ``worse_holm`` those that remain significant at 5% after Holm's correction over the data sets,
    and ``largest_loss`` is the largest mean difference.
    """
    rows = []
    for name, group in compared.groupby("classifier", sort=False):
        sure, sign = holm(group["p"].to_numpy()) <= LEVEL, np.sign(group["mean"].to_numpy())
        better, worse = group["t"] < -CRITICAL, group["t"] > CRITICAL
        counts = (better, worse, sure & (sign < 0), sure & (sign > 0))
        numbers = (int(chosen.sum()) for chosen in counts)
        rows.append((name, group["mean"].mean(), *numbers, group["mean"].max()))
    columns = ["classifier", "mean", "better", "worse", "better_holm", "worse_holm", "largest_loss"]
    return DataFrame(rows, columns=columns)


def _race(title: str, n_labeled: int | None = None, n_classes: int = 2, **data: Any) -> Plan:
    return Plan(title, HoldOut(n_labeled), (race_method(n_classes),), repeats=20, **data)


# Scikit-learn's digits: ten classes, 64 features, 1797 rows.
_DIGITS = {"datasets": (), "further": {"digits": partial(load_digits, return_X_y=True)}}
# By target of the command line: labels by the paper's rule, fixed numbers of them, and digits.
RACES = {
    "safe-choice": _race("The safe choice against tuned supervised models"),
    **{f"safe-choice-{n}": _race(f"The safe choice with {n} labels", n) for n in (20, 50, 100)},
    **{
        f"safe-choice-digits-{n}": _race(
            f"The safe choice on digits, with {n} labels", n, 10, **_DIGITS
        )
        for n in (50, 150)
    },
}
