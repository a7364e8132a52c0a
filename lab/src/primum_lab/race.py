"""The race of the safe choice: every candidate and stack against tuned supervised models.

One fit of the safe choice provides all of them. On each data set they are compared with the better,
in hindsight, of tuned ridge and tuned logistic regression: by paired differences over the repeats,
a t-test on each data set, and Holm's correction over all data sets. The contribution of unlabelled
rows is the difference between the safe stack and the stack of supervised models.

In the race for numbers, every repeat shuffles a table or draws a problem; 80% of the rows are for
training, the others for testing. The first rows are labelled, at most ``most_unlabeled`` others are
unlabelled, and the rest is for testing too. The measure is the RMSE on test rows, as a ratio to
that of tuned ridge regression: its mean over the repeats, and a paired t-test of its logarithm on
each problem, with Holm's correction over all problems with the same number of labels. The
contribution of unlabelled rows is the ratio of the safe stack to the stack of supervised models.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from pandas import DataFrame
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from primum import SafeClassifier, SafeRegressor
from primum._typing import Floats
from primum.comparison.plan import rng_for
from primum.comparison.store import ResultStore, identity_of_data
from primum.judging.difference import holm
from primum.reading.data import read_numbers, read_rows
from primum.safe.candidates import BASELINE as PARTS_OF_BASELINE
from primum.safe.candidates import CANDIDATES, DEFAULT, Candidate, CandidateModel
from primum.safe.candidates.base import prepare
from primum.safe.candidates.own import Team, choose_candidates
from primum.safe.out_of_fold import Scored, run
from primum.safe.rows import SharedRows, Targets, shared_rows
from primum.safe.stack import BASELINE, SAFE, SUPERVISED, StackedClassifier
from primum_lab.measures import score_probability
from primum_lab.methods import Method
from primum_lab.paper import ExperimentPlan
from primum_lab.runner import run_missing
from primum_lab.scenarios import SKLEARN_COLUMNS, TABLES, Draw
from primum_lab.splits import HoldOut

# |t| above this counts as a difference: 5% two-sided with 20 repeats.
CRITICAL_T = 2.1
# The level of the family of tests over all data sets, after Holm's correction: the usual one.
FAMILY_LEVEL = 0.05
# Smaller differences of errors and losses are rounding.
MIN_DIFFERENCE = 1e-12
# In the race for numbers: the share of the rows for training, as in five folds, and the rows of a
# simulated problem, about as many as tables have.
TRAINING_SHARE, N_ROWS = 0.8, 1000
Unit = tuple[str, int]  # problem with its number of labels, and repeat


def all_models(
    safe: SafeClassifier | SafeRegressor, team: Team, rows: SharedRows, targets: Targets
) -> dict[str, CandidateModel]:
    """Return the candidates of a fitted safe choice and of its supervised stack, fitted.

    Those without a weight are fitted now; those that fail are left out.
    """
    models = {**safe.baseline_.models_, **safe.supervised_.models_, **safe.models_}
    scored = [candidate for candidate in team.all if candidate.name in safe.report_["model"]]
    tasks = [
        (candidate.name, "final fit", fit_to_all, candidate, rows, targets)
        for candidate in scored
        if candidate.name not in models
    ]
    models |= {name: model for name, _, model in run(Scored(), tasks, safe.n_jobs) if model}
    return {
        candidate.name: models[candidate.name] for candidate in scored if candidate.name in models
    }


def fit_to_all(candidate: Candidate, rows: SharedRows, targets: Targets) -> CandidateModel:
    """Return a candidate fitted to all labelled rows."""
    return prepare(candidate, rows, targets).fit(np.arange(len(targets)), targets)


class RaceClassifier(SafeClassifier):
    """The safe choice with all of its candidates, and those of its supervised stack, as parts."""

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:  # type: ignore[override]  # noqa: D102
        super().fit(X, y, X_unlabeled)
        given = read_rows(self, X, y, X_unlabeled)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = shared_rows(given, seed, self.standardize, None, self.n_jobs)
        targets = Targets.of_classes(given.labels.codes, len(self.classes_))
        n_unlabeled = rows.unlabeled.shape[0]
        team = choose_candidates(self.candidates, self.baseline, targets.n_outputs, n_unlabeled)
        self.all_models_ = all_models(self, team, rows, targets)
        return self

    @property
    def parts_(self) -> dict[str, StackedClassifier]:
        """The candidates and the stacks, each as a classifier."""
        single = {name: self._stack({name: 1.0}, self.all_models_) for name in self.all_models_}
        return {**single, SUPERVISED: self.supervised_, BASELINE: self.baseline_}


def race_method(n_classes: int = 2) -> Method:
    """Return the safe choice and all of its parts, as one method of an experiment."""
    pool = [CANDIDATES[name] for name in DEFAULT if CANDIDATES[name].applies_to(n_classes)]
    raced = {name for candidate in pool for name in (candidate.name, candidate.counterpart)}
    parts = {
        name: "partly" if candidate.uses_unlabeled else "labeled"
        for name, candidate in CANDIDATES.items()
        if name in raced and candidate.applies_to(n_classes)
    }
    parts |= {SUPERVISED: "labeled", BASELINE: "labeled"}
    return Method(SAFE, RaceClassifier(), score=score_probability, parts=parts)


def paired_differences(
    results: DataFrame, measure: str = "error", against: str | None = None
) -> DataFrame:
    """Return the difference of every method from a model, on every data set.

    Parameters
    ----------
    results : DataFrame
        Results of ``run_experiment``.
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
    if len(change) < 2 or np.abs(change).max() <= MIN_DIFFERENCE:
        return 0.0, 1.0
    if np.ptp(change) <= MIN_DIFFERENCE:
        return float(np.sign(change[0]) * np.inf), 0.0
    t, p = stats.ttest_1samp(change, 0.0)
    return float(t), float(p)


def race_summary(compared: DataFrame) -> DataFrame:
    """Return, for every method, its mean difference and the number of data sets with differences.

    ``better`` and ``worse`` count data sets with t below -2.1 or above 2.1, ``better_holm`` and
    ``worse_holm`` those that remain significant at 5% after Holm's correction over the data sets,
    and ``largest_loss`` is the largest mean difference.
    """
    rows = []
    for name, group in compared.groupby("classifier", sort=False):
        sure, sign = holm(group["p"].to_numpy()) <= FAMILY_LEVEL, np.sign(group["mean"].to_numpy())
        better, worse = group["t"] < -CRITICAL_T, group["t"] > CRITICAL_T
        counts = (better, worse, sure & (sign < 0), sure & (sign > 0))
        numbers = (int(chosen.sum()) for chosen in counts)
        rows.append((name, group["mean"].mean(), *numbers, group["mean"].max()))
    columns = ["classifier", "mean", "better", "worse", "better_holm", "worse_holm", "largest_loss"]
    return DataFrame(rows, columns=columns)


def _race(
    title: str, n_labeled: int | None = None, n_classes: int = 2, **data: Any
) -> ExperimentPlan:
    return ExperimentPlan(title, HoldOut(n_labeled), (race_method(n_classes),), repeats=20, **data)


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


class RaceRegressor(SafeRegressor):
    """The safe choice with all of its candidates, and those of its supervised stack, as parts."""

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:  # type: ignore[override]  # noqa: D102
        super().fit(X, y, X_unlabeled)
        given = read_numbers(self, X, y, X_unlabeled)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = shared_rows(given, seed, self.standardize, None, self.n_jobs)
        targets = Targets.of_numbers(given.labels.targets)
        n_unlabeled = rows.unlabeled.shape[0]
        team = choose_candidates(self.candidates, self.baseline, None, n_unlabeled, self.bounds)
        self.all_models_ = all_models(self, team, rows, targets)
        return self

    def predictions(self, X: Floats) -> dict[str, Floats]:
        """Return the predictions of every candidate and stack."""
        single = {name: self._stack({name: 1.0}, self.all_models_) for name in self.all_models_}
        models = {**single, SUPERVISED: self.supervised_, BASELINE: self.baseline_, SAFE: self}
        return {name: model.predict(X) for name, model in models.items()}


@dataclass(frozen=True)
class NumberRace:
    """Problems, numbers of labels, and how often they are run.

    Attributes
    ----------
    draws : mapping of str to callable
        The problems.
    numbers : tuple of int
        Numbers of labelled rows.
    repeats, seed, most_unlabeled : int
        Number of repeats, seed of everything random, and the largest number of unlabelled rows.
    """

    draws: Mapping[str, Draw] = field(default_factory=lambda: dict(TABLES))
    numbers: tuple[int, ...] = (30, 100)
    repeats: int = 20
    seed: int = 0
    most_unlabeled: int = 500

    @property
    def config(self) -> dict[str, Any]:
        """What the results depend on; repeats and further problems may be added later."""
        names = [unit_name(*pair) for pair in self.pairs]
        identities = [_identity(self.draws[name], name) for name, _ in self.pairs]
        return {
            "experiment": "safe regression",
            "safe_regression": {
                "most_unlabeled": self.most_unlabeled,
                "n_rows": N_ROWS,
                "training_share": TRAINING_SHARE,
            },
            "seed": int(self.seed),
            "data": dict(zip(names, identities, strict=True)),
        }

    @property
    def pairs(self) -> list[tuple[str, int]]:
        """All problems with all numbers of labels."""
        return [(name, number) for number in self.numbers for name in self.draws]

    @property
    def units(self) -> list[tuple[Unit, str, int]]:
        """What is run: unit, problem and number of labels, repeat after repeat."""
        repeats = range(self.repeats)
        return [((unit_name(*pair), repeat), *pair) for repeat in repeats for pair in self.pairs]


def unit_name(problem: str, n_labeled: int) -> str:
    """Return the name of a problem with a number of labels."""
    return f"{problem}, {n_labeled} labels"


def _identity(draw: Draw, name: str) -> str:
    """Return the identity of a problem for the configuration."""
    if name not in SKLEARN_COLUMNS:
        return f"simulated, {name}"
    X, y = draw(np.random.default_rng(0), 0)
    table = np.column_stack([X, y])
    return identity_of_data(table, np.zeros(len(y), dtype=np.intp))


def run_number_race(
    race: NumberRace, folder: str | Path, *, n_jobs: int = 1, resume: bool = False
) -> DataFrame:
    """Run the units that are not yet stored in the folder, and return all rows.

    Parameters
    ----------
    race : NumberRace
        What to run.
    folder : path
        Where results are stored; an interrupted run continues there with ``resume=True``.
    n_jobs : int, default=1
        Number of processes; -1 means one per core.
    resume : bool, default=False
        Whether to continue a folder that already contains results.

    Returns
    -------
    DataFrame
        One row per problem, number of labels, repeat and model: its RMSE on test rows, and that of
        tuned ridge regression.
    """
    with ResultStore(folder, race.config, resume=resume) as store:
        tasks = {key: (name, number, race) for key, name, number in race.units}
        run_missing(store, run_race_unit, tasks, n_jobs, "safe-regression")
        return DataFrame(
            {"dataset": name, "n_labeled": number, "repeat": key[1], **row}
            for key, name, number in race.units
            for row in store.done[key]
        )


def run_race_unit(
    unit: Unit, name: str, n_labeled: int, race: NumberRace
) -> tuple[Unit, list[dict[str, Any]]]:
    """Return (unit, the rows of one repeat of one problem with a number of labels)."""
    rng = rng_for(race.seed, "safe regression", *unit)
    X, y = race.draws[name](rng, N_ROWS)
    n_unlabeled = min(race.most_unlabeled, int(TRAINING_SHARE * len(y)) - n_labeled)
    n_known = n_labeled + n_unlabeled
    labels = np.where(np.arange(n_known) < n_labeled, y[:n_known], np.nan)
    with threadpool_limits(1):
        reg = RaceRegressor(random_state=unit[1], n_jobs=1).fit(X[:n_known], labels)
        predicted = reg.predictions(X[n_known:])
    losses = {model: _rmse(values, y[n_known:]) for model, values in predicted.items()}
    verdict = reg.verdict_
    verdicts = {
        "answer": verdict.answer,
        "answer_supervised": verdict.supervised and verdict.supervised.answer,
    }
    return unit, [
        {"model": model, "rmse": loss, "ridge": losses[BASELINE], **verdicts}
        for model, loss in losses.items()
    ]


def _rmse(predicted: Floats, truth: Floats) -> float:
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


def ratios(results: DataFrame, against: str = BASELINE) -> DataFrame:
    """Return the ratio of every model's RMSE to that of one, on every problem.

    Parameters
    ----------
    results : DataFrame
        Results of ``run_number_race``.
    against : str
        The model to compare with.

    Returns
    -------
    DataFrame
        One row per number of labels, problem and model: ``reference_mean`` (RMSE), ``ratio`` (its
        mean), ``t`` and ``p`` of its logarithm, ``p_holm`` over all problems with the same number
        of labels, and ``repeats``.
    """
    rows = []
    keys = ["n_labeled", "dataset"]
    for (number, dataset), group in results.groupby(keys, sort=False):
        values = group.pivot(index="repeat", columns="model", values="rmse")
        for name in group["model"].unique():
            ratio = (values[name] / values[against]).dropna().to_numpy()
            t, p = paired_t(np.log(ratio))
            mean = values[against].mean()
            rows.append((number, dataset, name, mean, ratio.mean(), t, p, len(ratio)))
    columns = [*keys, "model", "reference_mean", "ratio", "t", "p", "repeats"]
    table = DataFrame(rows, columns=columns)
    corrected = table.groupby(["n_labeled", "model"], sort=False)["p"].transform(holm)
    return table.assign(p_holm=corrected)


def race_totals(table: DataFrame) -> DataFrame:
    """Return, for every number of labels and model, a summary of ``ratios`` over all problems.

    ``mean`` is the geometric mean of the ratios, ``better`` and ``worse`` count the problems on
    which it differs significantly after Holm's correction, and ``largest`` is the largest ratio.
    """
    rows = []
    for (number, name), group in table.groupby(["n_labeled", "model"], sort=False):
        sure, mean = group["p_holm"] <= FAMILY_LEVEL, float(np.exp(np.log(group["ratio"]).mean()))
        counts = (int((sure & (sign * group["t"] > 0)).sum()) for sign in (-1, 1))
        rows.append((number, name, mean, *counts, float(group["ratio"].max())))
    return DataFrame(rows, columns=["n_labeled", "model", "mean", "better", "worse", "largest"])
