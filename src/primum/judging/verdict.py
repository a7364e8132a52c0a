"""What out-of-fold scores say of a stack: whether it is better than the baseline, and why.

The weights of a stack are fitted to the out-of-fold scores, so that its loss on these is
optimistic. For the verdict they are cross-fitted: the rows that a fold holds out are scored with
weights that were fitted to the scores of all other rows. Differences in error are then judged as
``disagreement`` describes, those of other losses as ``statistics`` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import numpy as np

from primum._typing import AnyArray, Floats, Index
from primum.judging.difference import (
    PRACTICAL_EQUIVALENCE,
    Difference,
    grouped_difference,
    pooled_difference,
    repeats_of,
    resampled_difference,
    resampled_difference_of_scores,
)
from primum.judging.disagreement import Disagreement, all_compared, counted, posterior_of
from primum.judging.losses import (
    ROW_LOSSES,
    Scorer,
    measure_of,
    predicted_codes,
    undefined_in_a_fold,
)
from primum.judging.words import (
    CANNOT_TELL,
    HARM,
    HELP,
    NO_DIFFERENCE,
    Measure,
    Sample,
    Verdict,
    percent,
    percent_of_level,
    verdict_of,
)
from primum.reading.folds import Fold

BRIER = "neg_brier_score"


@dataclass(frozen=True)
class SafeVerdict:
    """Whether a stack is better than the baseline, and whether unlabelled rows are the reason.

    Attributes
    ----------
    baseline : Verdict
        The stack against the baseline.
    supervised : Verdict or None
        The stack against the one of supervised candidates: what unlabelled rows contribute. None
        if there are no unlabelled rows.
    text : str
        All in words, and what was approximated or left out.
    brier : Verdict or None
        The stack against the baseline by the Brier score of their probabilities: better
        probabilities need not mean fewer errors. None if the stack is judged by another loss than
        the error.

    Notes
    -----
    ``answer`` is that of ``baseline``. Whether the unlabelled rows help is another question, which
    ``supervised.answer`` answers.
    """

    baseline: Verdict
    supervised: Verdict | None
    text: str
    brier: Verdict | None = None

    @property
    def answer(self) -> str:
        """The answer against the baseline: "help", "no_difference", "harm" or "cannot_tell"."""
        return self.baseline.answer

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values."""
        return {
            "answer": self.answer,
            "baseline": self.baseline.to_dict(),
            "supervised": None if self.supervised is None else self.supervised.to_dict(),
            "brier": None if self.brier is None else self.brier.to_dict(),
            "text": self.text,
        }


@dataclass(frozen=True)
class OwnVerdict:
    """What a classifier that judges itself has found out in its fit.

    Attributes
    ----------
    baseline : Verdict
        The classifier against its baseline.
    supervised : Verdict or None
        The classifier against its supervised twin, if both can be compared.
    rows, folds : array of shape (n_held_out,)
        Rows of X that the folds hold out, one fold after the other, and the numbers of the folds.
    scores : array of shape (n_held_out, n_classes)
        Their scores: neither the models nor their weights have seen the label of the row.
    notes : list of str
        What was approximated, left out or warned of.
    limited : bool
        Whether something was left out for lack of time.
    """

    baseline: Verdict
    supervised: Verdict | None
    rows: Index
    folds: Index
    scores: Floats
    notes: list[str]
    limited: bool

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by what the classifier was compared with."""
        found = {"baseline": self.baseline, "supervised": self.supervised}
        return {against: verdict for against, verdict in found.items() if verdict is not None}


class JudgesItself(Protocol):
    """A classifier that one fit to all labelled rows judges, by cross-fitted scores.

    A comparison fits any other classifier in every split and judges its held-out predictions. One
    with these parameters and methods is fitted once, and asked for its own verdict. Its ``fit``
    accepts ``groups``, and ``baseline_`` is the fitted classifier that it is compared with.

    Attributes
    ----------
    cv, n_repeats
        How the labelled rows are split, and how often.
    scoring : str or callable
        The loss that the verdict is about.
    time_budget : float or None
        Seconds that a fit may take.
    """

    cv: Any
    n_repeats: int
    scoring: Any
    time_budget: float | None
    baseline_: Any

    def count_fits(self) -> int:
        """Return how many fits to parts of the rows, and to all of them, a fit consists of."""

    def own_verdict(self) -> OwnVerdict:
        """Return what the fit has found out."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters."""

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted class of every row."""


def judges_itself(classifier: Any) -> TypeGuard[JudgesItself]:
    """Return whether a classifier, fitted or not, has a verdict of its own."""
    return hasattr(classifier, "own_verdict")


@dataclass(frozen=True)
class HeldOut:
    """The labelled rows that the folds hold out, one fold after the other.

    Attributes
    ----------
    folds : sequence of Fold
        The folds.
    codes : array of shape (n_labeled,)
        Classes of the labelled rows.
    n_classes : int
        Number of classes.
    weight : array of shape (n_labeled,) or None
        Their weights.
    groups : array of shape (n_labeled,) or None
        Rows of a group belong together.
    n_further_groups : int or None
        Number of groups without a label, if rows belong together.
    """

    folds: Sequence[Fold]
    codes: Index
    n_classes: int
    weight: Floats | None = None
    groups: AnyArray | None = None
    n_further_groups: int | None = None

    @property
    def rows(self) -> Index:
        """Positions among the labelled rows."""
        return np.concatenate([fold.test for fold in self.folds])

    @property
    def fold_of(self) -> Index:
        """The number of the fold of each."""
        return np.repeat(np.arange(len(self.folds)), [len(fold.test) for fold in self.folds])

    @property
    def one_hot(self) -> Floats:
        """Their labels."""
        return np.asarray(np.eye(self.n_classes)[self.codes[self.rows]])

    @property
    def row_weight(self) -> Floats | None:
        """Their weights (None: 1)."""
        return None if self.weight is None else self.weight[self.rows]

    def sample(self, n_unlabeled: int) -> Sample:
        """Return how many rows there are, for the wording of a verdict."""
        rows = np.unique(self.rows)
        if self.groups is None:
            return Sample(len(self.codes), len(rows), None, n_unlabeled)
        n_groups = len(np.unique(self.groups[rows]))
        return Sample(len(self.codes), len(rows), n_groups, self.n_further_groups)

    def difference(
        self, scores: Floats, others: Floats, scoring: Any, classes: AnyArray
    ) -> Difference:
        """Return the difference of the losses of two models, of which the second is the baseline.

        It is estimated from rows if the loss is a mean over rows, and otherwise from folds.
        """
        codes, weight = self.codes[self.rows], self.row_weight
        if not (isinstance(scoring, str) and scoring in ROW_LOSSES):
            return self._difference_of_folds(scores, others, Scorer(scoring, classes))
        # The shares of the classes, by weight, belong to the balanced error of a row.
        known = {"weight": weight} if scoring == "balanced_accuracy" else {}
        loss, of_others = (
            ROW_LOSSES[scoring].of_rows(found, codes, **known) for found in (scores, others)
        )
        return self.difference_of_rows(loss - of_others)

    def disagreement(
        self, scores: Floats, others: Floats, fitted: tuple[Floats, Floats] | None
    ) -> Disagreement:
        """Return how often two models disagree, and which is right there.

        ``fitted`` are the scores of both, fitted to all labels, for unlabelled rows.
        """
        own, other = predicted_codes(scores), predicted_codes(others)
        weight = np.ones(len(own)) if self.row_weight is None else self.row_weight
        # Every unit counts once in all; unequal weights are worth fewer rows.
        weight = weight * self._n_effective / weight.sum()
        counts = counted(own, other, self.codes[self.rows], weight)
        compared = (0.0, 0.0)
        if fitted is not None:
            of_own, of_other = map(predicted_codes, fitted)
            compared = (float(np.sum(of_own != of_other)), float(len(of_own)))
        n_different, n_compared = all_compared(counts, self._n_effective, *compared)
        n_units = len(np.unique(self._units))
        train_share = float(np.mean(self._n_train)) / n_units
        return Disagreement(*counts, n_different, n_compared, train_share, self.n_classes)

    @property
    def _n_effective(self) -> float:
        """Number of units that are held out or, if they have weights, what these are worth."""
        rows = np.unique(self.rows)
        if self.groups is not None:
            return float(len(np.unique(self.groups[rows])))
        if self.weight is None:
            return float(len(rows))
        weight = self.weight[rows]
        return float(weight.sum() ** 2 / np.sum(weight**2))

    def _difference_of_folds(self, scores: Floats, others: Floats, scorer: Scorer) -> Difference:
        """Estimate from the score of every fold or, if it is undefined in one, of every repeat."""
        codes, weight = self.codes[self.rows], self.row_weight

        def change(rows: Index) -> float:
            known = None if weight is None else weight[rows]
            of_others = scorer.of(others[rows], codes[rows], known)
            return of_others - scorer.of(scores[rows], codes[rows], known)

        parts = [np.flatnonzero(self.fold_of == number) for number in range(len(self.folds))]
        changes = np.array([change(part) for part in parts])
        if np.isfinite(changes).all():
            n_test = [len(np.unique(self._units[fold.test])) for fold in self.folds]
            return resampled_difference_of_scores(changes, self._n_train, n_test)
        repeats = repeats_of([fold.test for fold in self.folds], len(self.codes))
        if repeats is None:
            number = int(np.flatnonzero(~np.isfinite(changes))[0])
            raise undefined_in_a_fold(scorer, number, codes[parts[number]])
        together = [np.concatenate([parts[number] for number in repeat]) for repeat in repeats]
        return pooled_difference(change, together, self._units[self.rows], self._n_train)

    @property
    def _units(self) -> AnyArray:
        """What the statistics count: the labelled rows, or their groups."""
        return np.arange(len(self.codes)) if self.groups is None else self.groups

    @property
    def _n_train(self) -> list[int]:
        """The number of units that each fold trains on."""
        units = self._units
        return [len(np.unique(units[fold.train])) for fold in self.folds]

    def difference_of_rows(self, change: Floats) -> Difference:
        """Return the difference of two models from that of their losses in every held-out row."""
        weight = self.row_weight
        if weight is not None:
            change = change * weight / weight.mean()
        parts = np.split(change, np.cumsum([len(fold.test) for fold in self.folds])[:-1])
        if self.groups is None:
            n_rows = len(np.unique(self.rows))
            return resampled_difference(parts, self._n_train, n_rows=n_rows)
        n_groups = len(np.unique(self.groups[self.rows]))
        return grouped_difference(parts, self.folds, self.groups, n_groups=n_groups)


def judge(
    difference: Difference,
    disagreement: Disagreement | None,
    scoring: Any,
    baseline: str,
    sample: Sample | None = None,
) -> Verdict:
    """Return the verdict on a stack against another one."""
    return verdict_of(
        posterior_of(difference, disagreement),
        method="the model",
        baseline=baseline,
        measure=measure_of(scoring),
        sample=sample,
    )


def in_words(
    baseline: Verdict,
    supervised: Verdict | None,
    brier: Verdict | None,
    scoring: Any,
    notes: Sequence[str],
) -> str:
    """Return the verdicts and the notes as one text."""
    parts = [baseline.text]
    if supervised is not None:
        parts.append(contribution(supervised, measure_of(scoring)))
    if brier is not None and brier.answer in (HELP, HARM):
        parts.append(on_probabilities(brier))
    return " ".join([*parts, *notes])


def on_probabilities(verdict: Verdict) -> str:
    """Return a sentence on probabilities that are better or worse than those of the baseline."""
    measure, better = measure_of(BRIER), verdict.answer == HELP
    return (
        f"Its probabilities are {'better' if better else 'worse'} than the baseline's: the "
        f"{measure.name} is about {measure.show(verdict.change)} {'lower' if better else 'higher'} "
        f"({percent_of_level(verdict.interval_level)} interval "
        f"{measure.show_range(*verdict.interval)})."
    )


def contribution(verdict: Verdict, measure: Measure) -> str:
    """Return a sentence on what unlabelled rows contribute, given the verdict on that."""
    size, odds, name = measure.show(verdict.change), verdict.probabilities, measure.name
    edge = measure.show_limit(PRACTICAL_EQUIVALENCE)
    interval = (
        f"{percent_of_level(verdict.interval_level)} interval "
        f"{measure.show_range(*verdict.interval)}"
    )
    clear = {
        HELP: f"The unlabelled rows lower its {name} by about {size} ({interval}, probability "
        f"{percent(odds.help)}).",
        HARM: f"The unlabelled rows raise its {name} by about {size} ({interval}, probability "
        f"{percent(odds.harm)}).",
        NO_DIFFERENCE: f"The unlabelled rows change its {name} by less than {edge} (probability "
        f"{percent(odds.no_difference)}).",
        CANNOT_TELL: f"Whether the unlabelled rows help is not clear ({interval}; "
        f"probability of help {percent(odds.help)}, of harm {percent(odds.harm)}).",
    }
    return clear[verdict.answer]
