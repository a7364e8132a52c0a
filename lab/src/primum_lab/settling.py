"""A study of labels where two fitted models differ: their number, their errors, their effect.

A problem is a data set or a simulation with known labels, most of which are hidden. One fit of the
safe choice raises two questions: on these unlabelled rows, is the stack better than its baseline,
and is it better than its supervised stack? The hidden labels are the truth,

    change = errors(stack) - errors(other) = F - T,    on D, the N of U rows where the two differ,

which means help below -margin, harm above +margin, and no difference in between.

Every order is one random permutation of all U rows. The rows of D within it are a random order of
D, so one permutation answers two questions:

* chosen rows: the first n rows of D are labelled, up to the least n for which
  ``judging.error_bounds`` gives an answer. The answer is wrong if the truth is another one;
* random rows: the first n of all rows are labelled. Labels of rows on which the models agree say
  nothing about their difference, so random labels reach the same answer once they include the same
  rows of D. This comparison is the fairest to random labels. The usual one is added: an exact
  two-sided sign test, with the number of labels that chosen rows needed.

On the same orders, the sets of the plain formula (uniform prior, no running intersection) are
evaluated from their definition, state by state: they must never need fewer labels.

To show the effect of labels on the model, the stack is fitted again with further labels: of rows of
D in their order, of random rows, and of the rows with the smallest gap between their two largest
scores. Labels that were not drawn at random are marked as chosen, so that they are trained on but
never held out; for rows of D, a fit without that mark is added. Errors are counted on rows that no
fit has labels of, and on rows that the model itself has no labels of.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

from primum import SafeClassifier
from primum._typing import AnyArray, Floats, Index, Mask
from primum.comparison.plan import rng_for
from primum.comparison.store import ResultStore, Unit, identity_of, identity_of_data
from primum.judging import error_bounds
from primum.judging.difference import PRACTICAL_EQUIVALENCE
from primum.judging.error_bounds import BASELINE, CHALLENGER, NEITHER, OPEN, Pair, bounds_after
from primum.judging.words import HARM, HELP, NO_DIFFERENCE
from primum_lab.datasets.loading import Dataset
from primum_lab.runner import run_missing
from primum_lab.scenarios import PAPER_UNLABELED, SCENARIOS, Draw, Problem, shuffled
from primum_lab.splits import labeled_first

# The models that the safe stack is compared with; ``clf.baseline_`` and ``clf.supervised_``.
AGAINST = ("baseline", "supervised")
# Rows that get further labels: none, those where models differ (marked as chosen, or not), random
# ones, uncertain ones.
BEFORE, DIFFERENT, UNMARKED, RANDOM, UNCERTAIN = (
    *("before", "different", "unmarked", "random", "uncertain"),
)
ARMS = (BEFORE, DIFFERENT, UNMARKED, RANDOM, UNCERTAIN)
# Suffix of the names of units in which models are fitted again with further labels.
REFITTED = ", refitted"
# Kinds of rows in the results.
ORDER, MODEL, BOTH = "order", "model", "both"


@dataclass(frozen=True)
class StudyDesign:
    """The settings that all problems share.

    Attributes
    ----------
    n_labeled : int
        Number of labelled rows, at least one of each class.
    most_unlabeled : int
        Largest number of unlabelled rows.
    n_orders : int
        Number of random orders of the rows, for each fit.
    alpha, margin : float
        Probability that an answer is wrong, at most, and region of practical equivalence.
    n_further : int
        Number of further labels with which the model is fitted again.
    candidates : tuple of str
        Candidates of the safe choice.
    cv_repeats : int
        How often its folds are repeated.
    """

    n_labeled: int = 40
    most_unlabeled: int = 1000
    n_orders: int = 10
    alpha: float = 0.05
    margin: float = PRACTICAL_EQUIVALENCE
    n_further: int = 30
    candidates: tuple[str, ...] = ("ridge", "logistic", "components", "spreading", "kernel")
    cv_repeats: int = 1


@dataclass(frozen=True)
class Study:
    """Problems with their identities, and how they are run.

    Attributes
    ----------
    draws : mapping of str to callable
        Functions of a generator and a number of rows that return rows and classes 0, 1, ...
    identities : mapping of str to Any
        The identity of each problem in the configuration.
    repeats, refits : int
        Number of random repeats, and number of the first of these in which the model is fitted
        again with further labels.
    seed : int
        Seed of everything random.
    design : StudyDesign
        The settings that all problems share.
    """

    draws: Mapping[str, Draw]
    identities: Mapping[str, Any]
    repeats: int = 20
    refits: int = 2
    seed: int = 0
    design: StudyDesign = field(default_factory=StudyDesign)

    @property
    def config(self) -> dict[str, Any]:
        """What the results depend on; repeats and further problems may be added later."""
        design = identity_of(asdict(self.design), "The design")
        return {
            "experiment": "settling",
            "settling": design,
            "seed": int(self.seed),
            "data": dict(self.identities),
        }

    @property
    def units(self) -> list[Unit]:
        """All pairs (problem, repeat), with and without further labels, problems in turn."""
        questions = [(repeat, name) for repeat in range(self.repeats) for name in self.draws]
        # Fits with further labels take three times as long, so one repeat of them follows five
        # others.
        refits = range(min(self.refits, self.repeats))
        models = [(5 * (k + 1), f"{name}{REFITTED}", k) for k in refits for name in self.draws]
        timed = [*((repeat, name, repeat) for repeat, name in questions), *models]
        return [(name, repeat) for _, name, repeat in sorted(timed, key=lambda one: one[0])]


def settling_study(datasets: Iterable[Dataset], repeats: int | None = None, seed: int = 0) -> Study:
    """Return the study of given data sets and of all simulations with different draws."""
    loaded = list(datasets)
    draws: dict[str, Draw] = {one.name: partial(_draw_of, one.X, one.codes) for one in loaded}
    identities: dict[str, Any] = {one.name: identity_of_data(one.X, one.codes) for one in loaded}
    for name, scenario in SCENARIOS.items():
        if name not in PAPER_UNLABELED and scenario.draw not in draws.values():
            draws[name] = scenario.draw
            identities[name] = f"simulated, {scenario.draw.__name__}"
    return Study(draws, identities, Study.repeats if repeats is None else repeats, seed=seed)


def _draw_of(X: Floats, codes: Index, rng: np.random.Generator, _n_rows: int) -> Problem:
    return shuffled(rng, X, codes)


def run_study(
    study: Study, folder: str | Path, *, n_jobs: int = 1, resume: bool = False, verbose: bool = True
) -> pd.DataFrame:
    """Run the units that are not yet stored in the folder, and return all rows.

    Parameters
    ----------
    study : Study
        What to run.
    folder : path
        Where results are stored; an interrupted run continues there with ``resume=True``.
    n_jobs : int, default=1
        Number of processes; -1 means one per core.
    resume : bool, default=False
        Whether to continue a folder that already contains results.
    verbose : bool, default=True
        Whether to show progress.

    Returns
    -------
    DataFrame
        Rows of three kinds, in the column ``kind``: one for every question and order, one for every
        order and both questions, and one for every model that was fitted again.
    """
    with ResultStore(folder, study.config, resume=resume, part_of=problem_of) as store:
        shared = (study.design, study.seed)
        tasks = {unit: (study.draws[problem_of(unit[0])], *shared) for unit in study.units}
        run_missing(store, run_study_unit, tasks, n_jobs, "settling" if verbose else "")
        return pd.DataFrame(
            {"dataset": problem_of(unit[0]), "repeat": unit[1], **row}
            for unit in study.units
            for row in store.done[unit]
        )


def problem_of(name: str) -> str:
    """Return the name of the problem of a unit."""
    return name.removesuffix(REFITTED)


def run_study_unit(
    unit: Unit, draw: Draw, design: StudyDesign, seed: int
) -> tuple[Unit, list[dict[str, Any]]]:
    """Return (unit, the rows of one repeat of one problem)."""
    name, repeat = unit
    rng = rng_for(seed, "settling", problem_of(name), repeat)
    with threadpool_limits(1):
        fitted = Fitted.of(draw, design, rng)
        orders = [rng.permutation(len(fitted.truth)) for _ in range(design.n_orders)]
        if name.endswith(REFITTED):
            return unit, [{"kind": MODEL, **row} for row in fitted.refits(orders[0], rng)]
        rows = [
            {"kind": ORDER, "against": against, "order": k, **row}
            for against in AGAINST
            for k, row in enumerate(fitted.questions(against, orders))
        ]
        rows += [{"kind": BOTH, "order": k, **row} for k, row in enumerate(fitted.both(orders))]
    return unit, rows


@dataclass(frozen=True)
class Fitted:
    """A fitted stack, its rows (labelled ones first), and predictions for the unlabelled ones.

    Attributes
    ----------
    clf : SafeClassifier
        The fitted model.
    X, y : array
        All rows, and their true classes.
    predicted : dict of str to array
        Predictions for the unlabelled rows by the stack ("stack") and the models it is compared
        with.
    design : StudyDesign
        The settings of the fit.
    """

    clf: SafeClassifier
    X: Floats
    y: Index
    predicted: dict[str, Index]
    design: StudyDesign

    @classmethod
    def of(cls, draw: Draw, design: StudyDesign, rng: np.random.Generator) -> "Fitted":
        """Draw a problem, and fit the safe choice."""
        n_rows = design.n_labeled + design.most_unlabeled
        X, y = draw(rng, n_rows)
        order = labeled_first(y, np.arange(len(y)), rng)[:n_rows]
        X, y = X[order], y[order]
        labels = np.where(np.arange(len(y)) < design.n_labeled, y, -1)
        clf = safe_choice_of(design, int(rng.integers(2**31))).fit(X, labels)
        unlabeled = X[design.n_labeled :]
        models = {"stack": clf, "baseline": clf.baseline_, "supervised": clf.supervised_}
        predicted = {name: model.predict(unlabeled) for name, model in models.items()}
        return cls(clf, X, y, predicted, design)

    @property
    def truth(self) -> Index:
        """The hidden classes of the unlabelled rows."""
        return np.asarray(self.y[self.design.n_labeled :])

    def outcomes(self, against: str) -> Index:
        """Return the outcome of every unlabelled row's label; -1 where the two models agree."""
        return outcomes_of(self.predicted["stack"], self.predicted[against], self.truth)

    def pair(self, against: str, alpha: float) -> Pair:
        """Return the question of whether the stack is better than the other model."""
        n_different = int(np.sum(self.outcomes(against) >= 0))
        two = len(self.clf.classes_) == 2
        return Pair(len(self.truth), n_different, two, alpha, self.design.margin)

    def questions(self, against: str, orders: Sequence[Index]) -> Iterable[dict[str, Any]]:
        """Yield the labels that each order needs to answer one question."""
        outcomes, pair = self.outcomes(against), self.pair(against, self.design.alpha)
        verdict = getattr(self.clf.verdict_, against)
        question = {
            "verdict": verdict.answer,
            "n_unlabeled": pair.n_rows,
            "n_different": pair.n_different,
            "n_classes": len(self.clf.classes_),
            "change": _change(outcomes),
        }
        for order in orders:
            yield {**question, **labels_needed(pair, outcomes[order])}

    def both(self, orders: Sequence[Index]) -> Iterable[dict[str, Any]]:
        """Yield the labels that each order needs to answer both questions at a shared level."""
        outcomes = [self.outcomes(against) for against in AGAINST]
        counts = [int(np.sum(codes >= 0)) for codes in outcomes]
        level = 1 - self.design.alpha
        alphas = error_bounds.shared_level(
            level, len(self.truth), counts, margin=self.design.margin
        )
        pairs = [self.pair(*one) for one in zip(AGAINST, alphas, strict=True)]
        for order in orders:
            listed = order[np.any([codes[order] >= 0 for codes in outcomes], axis=0)]
            firsts = [
                first_settled(pair, codes[listed])
                for pair, codes in zip(pairs, outcomes, strict=True)
            ]
            yield {
                "needed": max(one.needed for one in firsts),
                "wrong": any(one.wrong for one in firsts),
                "n_different": len(listed),
            }

    def refits(self, order: Index, rng: np.random.Generator) -> Iterable[dict[str, Any]]:
        """Yield the errors of the stack before and after further labels."""
        further = self._further(order, rng)
        labelled = np.concatenate(list(further.values()))
        common = np.setdiff1d(np.arange(len(self.truth)), labelled)
        seed = int(rng.integers(2**31))
        for arm in ARMS:
            rows = further[arm]
            wrong = self._refitted(arm, rows, seed) != self.truth
            yield {
                "arm": arm,
                "error": float(np.mean(wrong[common])),
                "error_own": float(np.mean(np.delete(wrong, rows))),
                "n_common": len(common),
                "n_different": int(np.sum(self._differs())),
            }

    def _refitted(self, arm: str, rows: Index, seed: int) -> Index:
        """Return the predictions of the stack, fitted again with the labels of further rows."""
        if arm == BEFORE:
            return self.predicted["stack"]
        n_labeled = self.design.n_labeled
        labelled = np.append(np.arange(n_labeled), rows + n_labeled)
        labels = np.full_like(self.y, -1)
        labels[labelled] = self.y[labelled]
        chosen = rows[self._differs()[rows]] if arm == DIFFERENT else rows
        marked = arm in (DIFFERENT, UNCERTAIN) and len(chosen) > 0
        clf = safe_choice_of(self.design, seed)
        clf.fit(self.X, labels, chosen=chosen + n_labeled if marked else None)
        return np.asarray(clf.predict(self.X[n_labeled:]))

    def _differs(self) -> Mask:
        """Return the mask of rows on which the stack differs from another model."""
        return np.any([self.outcomes(against) >= 0 for against in AGAINST], axis=0)

    def _further(self, order: Index, rng: np.random.Generator) -> dict[str, Index]:
        """Return the rows to label; if too few differ, random ones are added."""
        n_further, differs = self.design.n_further, self._differs()[order]
        scores = np.sort(self.clf.predict_proba(self.X[self.design.n_labeled :]), axis=1)
        different = np.concatenate([order[differs], order[~differs]])[:n_further]
        gap = scores[:, -1] - scores[:, -2]
        return {
            BEFORE: order[:0],
            DIFFERENT: different,
            UNMARKED: different,
            RANDOM: rng.permutation(len(order))[:n_further],
            UNCERTAIN: np.argsort(gap, kind="stable")[:n_further],
        }


def safe_choice_of(design: StudyDesign, seed: int) -> SafeClassifier:
    """Return the safe choice of a design, not fitted."""
    candidates = list(design.candidates)
    return SafeClassifier(candidates, n_repeats=design.cv_repeats, random_state=seed, n_jobs=1)


def outcomes_of(challenger: AnyArray, baseline: AnyArray, truth: AnyArray) -> Index:
    """Return the outcome of each row's label for two predictions; -1 where these are the same."""
    right = np.where(baseline == truth, BASELINE, NEITHER)
    right = np.where(challenger == truth, CHALLENGER, right)
    return np.asarray(np.where(challenger == baseline, -1, right))


@dataclass(frozen=True)
class First:
    """The first moment at which a question is settled.

    Attributes
    ----------
    needed : int
        The number of labels in the order, including rows on which the two models agree.
    n_read : int
        The number of these on rows where they differ.
    answer : str
        The answer.
    wrong : bool
        Whether the truth is another one.
    """

    needed: int
    n_read: int
    answer: str
    wrong: bool


def true_answer(pair: Pair, change: int) -> str:
    """Return the answer for a true change, in rows."""
    return HELP if change < -pair.n_margin else HARM if change > pair.n_margin else NO_DIFFERENCE


def _answers(pair: Pair, path: Index) -> list[str]:
    """Return the answer of each pair of bounds; open unless both ends give the same."""
    ends = ((true_answer(pair, int(low)), true_answer(pair, int(high))) for low, high in path)
    return [one if one == other else OPEN for one, other in ends]


def first_settled(pair: Pair, outcomes: Index) -> First:
    """Return when the outcomes of rows in an order settle a question; -1 says nothing about it.

    The labels of all rows settle every question.
    """
    at, codes = _of_pair(outcomes)
    return _first_on(pair, bounds_after(pair, codes).path, at, codes)


def _first_on(pair: Pair, path: Index, at: Index, codes: Index) -> First:
    """Return when bounds that run along an order settle a question."""
    answers = _answers(pair, path)
    n_read = next(n for n, answer in enumerate(answers) if answer != OPEN)
    wrong = answers[n_read] != true_answer(pair, _change(codes))
    return First(_place(at, n_read), n_read, answers[n_read], wrong)


def _of_pair(outcomes: Index) -> tuple[Index, Index]:
    """Return the places in the order where the two models differ, and the outcomes there."""
    at = np.flatnonzero(outcomes >= 0)
    return at, outcomes[at]


def _place(at: Index, n_read: int) -> int:
    """Return how many labels of the order include ``n_read`` rows where the models differ."""
    return int(at[n_read - 1]) + 1 if n_read else 0


def _change(codes: Index) -> int:
    return int(np.sum(codes == BASELINE) - np.sum(codes == CHALLENGER))


def labels_needed(pair: Pair, outcomes: Index) -> dict[str, Any]:
    """Return the labels that one order of all unlabelled rows needs, chosen and at random.

    Parameters
    ----------
    pair : Pair
        The question.
    outcomes : array of int, of shape (n_rows,)
        Outcomes of the rows' labels, in random order; -1 where the two models agree.

    Returns
    -------
    dict
        ``answer``, whether it is ``wrong``, and the numbers of labels ``needed``: of chosen rows,
        of ``random`` ones, and by the formula of ``plain`` sets. The same for "not worse"; None if
        that is not true. ``sign_test`` is the answer of the same number of random labels.
    """
    at, codes = _of_pair(outcomes)
    path = bounds_after(pair, codes).path
    first = _first_on(pair, path, at, codes)
    reached = np.flatnonzero(path[:, 1] <= pair.n_margin)
    not_worse = int(reached[0]) if len(reached) else None
    return {
        "needed": first.n_read,
        "answer": first.answer,
        "wrong": first.wrong,
        "random": first.needed,
        "plain": plain_labels(pair, codes),
        "sign_test": sign_test(outcomes[: first.n_read], pair.alpha),
        "not_worse": not_worse,
        "not_worse_wrong": not_worse is not None and _change(codes) > pair.n_margin,
        "not_worse_random": None if not_worse is None else _place(at, not_worse),
    }


def sign_test(outcomes: Index, alpha: float) -> str:
    """Return which model an exact two-sided sign test finds better, if any."""
    wins = [int(np.sum(outcomes == code)) for code in (CHALLENGER, BASELINE)]
    if not sum(wins) or stats.binomtest(wins[0], sum(wins)).pvalue > alpha:
        return OPEN
    return HELP if wins[0] > wins[1] else HARM


def plain_labels(pair: Pair, codes: Index) -> int:
    """Return the number of labels that the sets {prior / posterior < 1 / alpha} need."""
    states = _all_states(pair)
    change = states[BASELINE] - states[CHALLENGER]
    evidence, n_outcomes = np.zeros(len(change)), NEITHER if pair.two_outcomes else NEITHER + 1
    counts = np.zeros(NEITHER + 1)
    for n in range(len(codes) + 1):
        possible = change[evidence >= np.log(pair.alpha) - error_bounds.EVIDENCE_ROUNDING]
        if len(possible):
            ends = np.array([[possible.min(), possible.max()]])
            if _answers(pair, ends)[0] != OPEN:
                return n
        if n < len(codes):
            k = codes[n]
            of_state = (states[k] - counts[k]) / (pair.n_different - n)
            with np.errstate(divide="ignore"):
                evidence += np.log(np.maximum(of_state, 0) * (n + n_outcomes) / (counts[k] + 1))
            counts[k] += 1
    raise AssertionError("The labels of all rows leave one state.")


def _all_states(pair: Pair) -> Floats:
    """Return all possible numbers of rows for the challenger, the baseline and neither."""
    n = pair.n_different
    if pair.two_outcomes:
        right = np.arange(n + 1.0)
        return np.stack([right, n - right, np.zeros(n + 1)])
    right, other = np.nonzero(np.tri(n + 1, dtype=bool)[::-1])
    return np.stack([right, other, n - right - other]).astype(float)
