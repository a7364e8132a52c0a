"""The plan of a comparison on a partly labelled table: rows, splits, classifiers, fits.

The labelled rows are split into folds, several times. Every classifier is fitted to the training
folds, with all unlabelled rows if it uses them, and predicts the fold held out, which is left out
of training entirely; whatever a classifier tunes, it tunes inside the training folds. Learning
curves repeat the first splits with fewer unlabelled or fewer labelled rows.

Rounds of fits come in order of importance, so that a comparison that runs out of time has done the
most important ones.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from primum._typing import Index
from primum.comparison.data import Data
from primum.comparison.store import identity_of
from primum.comparison.words import BASELINE, TUNED
from primum.judging.held_out import HeldOut
from primum.judging.losses import OF_CLASSES, Loss
from primum.judging.words import judges_itself
from primum.reading.classifiers import Entry, last_step
from primum.reading.folds import Fold, is_number, judging_folds

# Numbers of folds in which the default classifiers are tuned, and decision rules chosen: few,
# because they are fitted in every split.
MAX_INNER_FOLDS, MIN_INNER_FOLDS = 3, 2
PREPARE, WEIGH, CLASSIFY = "prepare", "weigh", "classify"
ALL = "all"
# The stage of a fit to all labelled rows, of a classifier that is judged by cross-fitted scores.
# Fits called "cross-fitted", from earlier versions, had other splits than the baseline.
CROSS_FITTED = "whole"
N_UNLABELED, N_LABELED = "n_unlabeled", "n_labeled"
# Predictions for at most this many unlabelled rows are kept, to see how often classifiers differ:
# enough for a share to about three points, and small in the files of a comparison.
MAX_PROBE_ROWS = 300
# Shares of the rows at which learning curves are computed, in addition to all rows: a factor of
# four apart for unlabelled rows, which help slowly, and of two for labelled ones.
UNLABELED_SHARES = (0.0, 1 / 16, 1 / 4)
LABELED_SHARES = (1 / 4, 1 / 2)
# A learning curve needs this many labelled rows, and this many of every class in each part of them:
# penalties are chosen in three folds, and each must hold out a row of every class.
MIN_LABELED_FOR_CURVE, MIN_OF_CLASS_FOR_CURVE = 80, 3


def check_equivalence(equivalence: float | None, numeric: bool, loss: Loss) -> None:
    """Raise an error for a practical equivalence that no difference of a bounded loss exceeds."""
    bounded = numeric or loss.scoring in (*OF_CLASSES, "neg_brier_score")
    if equivalence is not None and bounded and equivalence >= 1:
        share = f"0.02 for 2% of the baseline's {loss.measure.name}" if numeric else "0.01"
        raise ValueError(
            f"equivalence={equivalence!r} would count every difference as none: pass a share below "
            f"1, such as {share}{'' if numeric else ' for one point'}."
        )


def check_numbers(n_repeats: Any, equivalence: Any, level: Any, time_budget: Any) -> None:
    """Raise an error for an argument of ``compare`` that is out of its range."""
    is_size = equivalence is None or 0 <= equivalence < np.inf
    whole = isinstance(n_repeats, Integral) and int(n_repeats) > 0
    can_end = time_budget is None or time_budget >= 0
    for name, value, valid, range_ in (
        ("n_repeats", n_repeats, whole, "an int >= 1"),
        ("equivalence", equivalence, is_size, "a number of at least 0"),
        ("level", level, 0.5 < level < 1, "between 1/2 and 1"),
        ("time_budget", time_budget, can_end, "at least 0, or None"),
    ):
        if not valid:
            raise ValueError(f"{name} must be {range_}, got {value!r}.")


# Folds of every repeat.
Folds = Sequence[Sequence[Fold]]


def make_folds(data: Data, cv: Any, n_repeats: int, seed: int) -> Folds:
    """Return the folds of every repeat: one repeat unless ``cv`` is a number of folds, or None.

    Those of a repeat do not depend on the number of repeats.
    """
    seeds = [
        int(rng_for(seed, "folds", repeat).integers(2**31))
        for repeat in range(n_repeats if is_number(cv) else 1)
    ]
    return [judging_folds(cv, data.known, data.groups, one, data.chosen) for one in seeds]


def judge_of(data: Data, folds: Sequence[Fold], equivalence: float | None = None) -> HeldOut:
    """Return what judges the predictions for the rows that some folds hold out."""
    known, groups, n_unlabeled = data.known, data.groups, data.n_unlabeled
    if groups is not None:
        n_unlabeled = len(np.setdiff1d(groups[known.unlabeled], groups[known.labeled]))
        groups = groups[known.labeled]
    return HeldOut(
        folds,
        data.truth,
        data.classes,
        data.labeled_weight,
        groups=groups,
        n_unlabeled=n_unlabeled,
        equivalence=equivalence,
        chosen=None if data.chosen is None else data.chosen[known.labeled],
    )


def class_counts(data: Data, folds: Sequence[Fold], *, drawn: bool = False) -> Index:
    """Return the numbers of training rows, (n_folds, n_classes); all numbers are one class.

    With ``drawn``, only labels drawn at random count.
    """
    strata, trains = data.known.strata, [fold.train for fold in folds]
    if drawn:
        trains = [train[~data.are_chosen(train)] for train in trains]
    n_strata = int(strata.max()) + 1
    return np.array([np.bincount(strata[train], minlength=n_strata) for train in trains])


def fewest_to_tune(data: Data, folds: Folds) -> int:
    """Return the fewest rows of a class in a training set that has two of every class.

    A training set in which some class has a single row does not count: nothing can be tuned in it,
    and its repeat is not part of the result.
    """
    least = np.concatenate([class_counts(data, repeat).min(axis=1) for repeat in folds])
    return min((number for number in least.tolist() if number >= 2), default=1)


def inner_folds(data: Data, folds: Folds, *, within: bool = False) -> int:
    """Return the number of folds in which the default classifiers are tuned.

    ``within`` is for tuning inside the folds that choose decision rules, if every class has enough
    rows for that.
    """
    counts = class_counts(data, folds[0])
    if counts.min() < 2:
        if data.classes is None:
            raise ValueError(
                f"Some training set has only {int(counts.min())} labelled rows, with which "
                "nothing can be tuned: label more rows, or use splits with larger training sets."
            )
        rarest = data.classes.tolist()[int(counts.min(axis=0).argmin())]
        raise ValueError(
            f"Some training set has only one labelled row of class {rarest!r}, with which nothing "
            "can be tuned: label more rows of it (three are the least), or empty its labels, so "
            "that its rows count as unlabelled."
        )
    least = fewest_to_tune(data, folds)
    n_folds = min(least, MAX_INNER_FOLDS)
    left = least - ceil(least / n_folds)
    return min(left, n_folds) if within and left >= MIN_INNER_FOLDS else n_folds


def rule_folds(data: Data, folds: Folds) -> int:
    """Return the number of folds in which decision rules are chosen."""
    return max(min(fewest_to_tune(data, folds), MAX_INNER_FOLDS), MIN_INNER_FOLDS)


@dataclass(frozen=True)
class Plan:
    """The rows, models and splits of a comparison.

    Attributes
    ----------
    table : Data
        The rows.
    baselines, methods : sequence of Entry
        The classifiers.
    folds : sequence of sequence of Fold
        The folds of every repeat.
    cv, n_repeats : int, splitter, iterable or None; int
        How the labelled rows were said to be split.
    curves : bool
        Whether to compute learning curves.
    nested : bool
        Whether SafeClassifier is fitted in every split too, instead of once.
    seed : int
        Seed of everything random.
    own_baseline : bool
        Whether the user chose the baselines.
    safe : tuple of str
        Names of the methods that are safe stacks: shrunk towards these baselines, by default or
        more.
    """

    table: Data
    baselines: Sequence[Entry]
    methods: Sequence[Entry]
    folds: Folds
    cv: Any = None
    n_repeats: int = 3
    curves: bool = False
    nested: bool = False
    seed: int = 0
    own_baseline: bool = False
    safe: tuple[str, ...] = ()

    @property
    def entries(self) -> list[Entry]:
        """Baselines and methods."""
        return [*self.baselines, *self.methods]

    @property
    def baseline_in_words(self) -> str:
        """The baseline as part of a sentence, with its names if the user chose it."""
        names = " and ".join(entry.name for entry in self.baselines)
        return f"the {BASELINE} ({names})" if self.own_baseline else TUNED

    @property
    def first_methods(self) -> list[Entry]:
        """The safe stacks: they are judged before any other method is fitted."""
        return [entry for entry in self.methods if judges_itself(last_step(entry.estimator))]

    @property
    def cross_fitted(self) -> list[Entry]:
        """The methods that judge themselves by cross-fitted scores: one fit instead of many."""
        return [] if self.nested else self.first_methods

    @property
    def split_entries(self) -> list[Entry]:
        """Baselines and methods that are fitted in every split."""
        once = {entry.name for entry in self.cross_fitted}
        return [entry for entry in self.entries if entry.name not in once]

    @property
    def repeats(self) -> int:
        """Number of repeats: 1 unless ``cv`` is a number of folds."""
        return len(self.folds)

    @property
    def n_folds(self) -> int:
        """Number of folds of a repeat."""
        return len(self.folds[0])

    def split(self, number: int) -> Fold:
        """Return a split by its number, which counts over the repeats."""
        repeat, fold = divmod(number, self.n_folds)
        return self.folds[repeat][fold]

    @property
    def probe(self) -> Index:
        """Unlabelled rows for which predictions are kept."""
        unlabeled = self.table.known.unlabeled
        if len(unlabeled) <= MAX_PROBE_ROWS:
            return unlabeled
        rng = rng_for(self.seed, "probe")
        return np.sort(rng.choice(unlabeled, MAX_PROBE_ROWS, replace=False))


@dataclass(frozen=True)
class Task:
    """One fit: a classifier, the rows it is trained on and those it predicts.

    Attributes
    ----------
    stage : str
        "all", or the point of a learning curve.
    entry : Entry
        The classifier.
    number : int
        Number of the split.
    train, test : array of int
        Rows of the table.
    cv : list of pairs, or None
        Splits of a classifier that judges itself, as positions among the training rows; None: its
        own splits.
    of_baseline : bool
        Whether it is a fit of a baseline, of which more is kept.
    """

    stage: str
    entry: Entry
    number: int
    train: Index
    test: Index
    cv: list[tuple[Index, Index]] | None = None
    of_baseline: bool = False

    @property
    def unit(self) -> tuple[str, int]:
        """The name of the fit in a store of results."""
        return f"{self.stage}/{self.entry.name}", self.number

    @property
    def turn(self) -> int:
        """The turn of a fit after the first answer, if there is no time budget.

        The first fit of every classifier comes first, to show how long the others take. The longest
        follow, so that no process has to wait for them in the end.
        """
        if self.stage == ALL and self.number == 0:
            return 0
        return 1 if len(self.test) == 0 else 2

    @property
    def weight(self) -> float:
        """How long a fit takes, relative to others of the same classifier."""
        last = last_step(self.entry.estimator)
        return float(last.n_repeats) if judges_itself(last) else 1.0

    @property
    def n_fits(self) -> int:
        """How many fits a task consists of: its folds and a final one, if it judges itself."""
        last = last_step(self.entry.estimator)
        if not judges_itself(last):
            return 1
        return last.count_fits() if self.cv is None else len(self.cv) + 1


def plan_fits(plan: Plan) -> list[list[Task]]:
    """Return the fits of a comparison in rounds, the most important first."""
    data, known = plan.table, plan.table.known
    folds, entries, once = range(plan.n_folds), plan.split_entries, plan.cross_fitted

    # The first repeat for the baselines, the methods that judge themselves, the first split and
    # then the rest of the first repeat for the other methods, and further repeats.
    others = [entry for entry in entries if entry not in plan.baselines]
    rounds = [
        _fits_in_folds(plan, ALL, 0, plan.baselines, folds),
        [fit_holding_out_none(plan, CROSS_FITTED, entry, known.unlabeled) for entry in once],
        _fits_in_folds(plan, ALL, 0, others, [0]),
        _fits_in_folds(plan, ALL, 0, others, folds[1:]),
    ]
    rounds += [_fits_in_folds(plan, ALL, k, entries, folds) for k in range(1, plan.repeats)]
    if not plan.curves:
        return rounds

    # Learning curves over the unlabelled rows. One more point in one repeat is enough for a slow
    # fit; the point without unlabelled rows is known.
    using = [entry for entry in entries if entry.uses_unlabeled]
    order = rng_for(plan.seed, "unlabelled").permutation(known.unlabeled)
    for share in UNLABELED_SHARES if data.n_unlabeled and (using or once) else ():
        part = order[: round(share * data.n_unlabeled)]
        stage = f"{N_UNLABELED}={len(part)}"
        tasks = _fits_in_folds(plan, stage, 0, using, folds, unlabeled=part)
        if share == UNLABELED_SHARES[-1]:
            single = [self_judged(entry, n_repeats=1) for entry in once]
            tasks += [fit_holding_out_none(plan, stage, entry, part) for entry in single]
        rounds.append(tasks)

    # Learning curves over the labelled rows.
    train = plan.folds[0][0].train
    n_chosen = int(data.are_chosen(train).sum())
    for share in _labeled_shares(data, plan.folds):
        stage = f"{N_LABELED}={n_chosen + round(share * (len(train) - n_chosen))}"
        rounds.append(_fits_in_folds(plan, stage, 0, entries, folds, share=share))
    return rounds


def _fits_in_folds(
    plan: Plan,
    stage: str,
    repeat: int,
    entries: Sequence[Entry],
    numbers: Sequence[int],
    *,
    unlabeled: Index | None = None,
    share: float = 1,
) -> list[Task]:
    """Return fits in folds of a repeat, with all or some unlabelled and labelled rows.

    A share of the labelled rows is one of each class; larger shares include smaller ones, and every
    one includes the chosen rows.
    """
    data, known, tasks = plan.table, plan.table.known, []
    unlabeled = known.unlabeled if unlabeled is None else unlabeled
    for entry, number in product(entries, numbers):
        fold = plan.folds[repeat][number]
        train = fold.train
        if share != 1:
            rng, of_chosen = rng_for(plan.seed, "labelled", number), data.are_chosen(train)
            parts, train = [train[of_chosen]], train[~of_chosen]
            codes = known.strata[train]
            for code in np.unique(codes):
                of_class = rng.permutation(train[codes == code])
                parts.append(of_class[: round(share * len(of_class))])
            train = np.sort(np.concatenate(parts))
        rows = _rows_for(entry, known.labeled[train], unlabeled)
        split = repeat * plan.n_folds + number
        of_baseline = entry in plan.baselines
        test = known.labeled[fold.test]
        tasks.append(Task(stage, entry, split, rows, test, of_baseline=of_baseline))
    return tasks


def fit_holding_out_none(plan: Plan, stage: str, entry: Entry, unlabeled: Index) -> Task:
    """Return a fit to all labelled rows of a method that judges itself.

    The classifier is cross-fitted in splits of the comparison, so that it and the baseline predict
    the same rows after training on the same rows.
    """
    labeled = plan.table.known.labeled
    rows = _rows_for(entry, labeled, unlabeled)
    at = np.searchsorted(rows, labeled)
    n_repeats = last_step(entry.estimator).n_repeats
    folds = [fold for repeat in plan.folds[:n_repeats] for fold in repeat]
    cv = [(at[fold.train], at[fold.test]) for fold in folds]
    return Task(stage, entry, 0, rows, rows[:0], cv)


def _rarest(data: Data, folds: Folds) -> tuple[int, int]:
    """Return the fewest rows of a stratum in a training set of the first repeat, and the stratum.

    Chosen rows do not count, because every part of a training set has all of them.
    """
    least = class_counts(data, folds[0], drawn=True).min(axis=0)
    return int(least.min()), int(least.argmin())


def _labeled_shares(data: Data, folds: Folds) -> list[float]:
    """Return the shares of the labelled rows at which learning curves are computed."""
    if len(data.drawn.labeled) < MIN_LABELED_FOR_CURVE:
        return []
    least, _ = _rarest(data, folds)
    return [s for s in LABELED_SHARES if round(s * least) >= MIN_OF_CLASS_FOR_CURVE]


def missing_points(plan: Plan) -> list[str]:
    """Return sentences on the points of learning curves for which there are too few rows."""
    if not plan.curves:
        return []
    drawn = _labeled_shares(plan.table, plan.folds)
    if len(drawn) == len(LABELED_SHARES):
        return []
    curve, n_labeled = "The learning curve over labelled rows", len(plan.table.drawn.labeled)
    if n_labeled < MIN_LABELED_FOR_CURVE:
        return [f"{curve} needs {MIN_LABELED_FOR_CURVE} of them, and there are {n_labeled}."]
    least, code = _rarest(plan.table, plan.folds)
    name = plan.table.labels.classes.tolist()[code]  # only classes can be too few
    shares = " and ".join(f"{share:.0%}" for share in LABELED_SHARES if share not in drawn)
    return [
        f"{curve} is not drawn at {shares} of them: training sets have as few as {least} rows "
        f"of class {name!r}, and {shares} of these are fewer than {MIN_OF_CLASS_FOR_CURVE}."
    ]


def identity_of_fits(plan: Plan) -> dict[str, Any]:
    """Return what stored fits depend on; classifiers, repeats and curves may be added later.

    Every part is a separate setting, because errors name the settings that differ.
    """
    data = plan.table
    counts = f"{data.n_labeled} of {data.n_rows} known"
    folds = [(fold.train, fold.test) for fold in plan.folds[0]]
    splitter = "" if is_number(plan.cv) else f" of {type(plan.cv).__name__}"
    return {
        "X": f"{data.X.shape[0]} x {data.X.shape[1]}, {_checksum(data.X)}",
        "labels": f"{counts}, {_checksum(data.y)}",
        "groups": None if data.groups is None else _checksum(data.groups),
        **({} if data.chosen is None else {"chosen": _checksum(data.chosen)}),
        **({} if data.weight is None else {"shift": _checksum(data.weight)}),
        "seed": int(plan.seed),
        "nested": bool(plan.nested),
        "cv": f"{len(folds)} folds{splitter}, {_checksum(folds)}",
        "data": {
            entry.name: {
                "classifier": identity_of(entry.estimator, f"{entry.name!r}"),
                "uses_unlabeled": entry.uses_unlabeled,
            }
            for entry in plan.entries
        },
    }


def _rows_for(entry: Entry, labeled: Index, unlabeled: Index) -> Index:
    """Return the rows that a classifier is fitted to."""
    return np.sort(np.concatenate([labeled, unlabeled])) if entry.uses_unlabeled else labeled


def self_judged(entry: Entry, **settings: Any) -> Entry:
    """Return an entry with other settings for a classifier that judges itself; else unchanged."""
    if not judges_itself(last_step(entry.estimator)):
        return entry
    estimator = clone(entry.estimator)
    last_step(estimator).set_params(**settings)
    return replace(entry, estimator=estimator)


def _checksum(value: Any) -> str:
    import joblib

    return f"checksum {joblib.hash(value)}"


def rng_for(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return a generator for a purpose such as ``("cross-validation", "wdbc", 17)``."""
    name = "\x1f".join(str(part) for part in (seed, *purpose))
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def read_seed(random_state: Any) -> int:
    """Return the seed that a scikit-learn random_state stands for; an integer is its own seed."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def seeded(estimator: Any, seed: int, *purpose: str | int) -> Any:
    """Return a clone in which every random_state that was None is a number.

    Otherwise a run could not be repeated, and a resumed run would mix two streams of numbers.
    """
    estimator = clone(estimator)
    open_ = [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if value is None and name.split("__")[-1] == "random_state"
    ]
    rng = rng_for(seed, "estimators", *purpose)
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in open_})
