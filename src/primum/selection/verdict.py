"""What out-of-fold scores say of a stack: whether it is better than the baseline, and why.

The weights of a stack are fitted to the out-of-fold scores, so that its loss on these is
optimistic. For the verdict they are cross-fitted: the rows that a fold holds out are scored with
weights that were fitted to the scores of all other rows. Differences of losses are then judged as
``statistics`` describes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats, Index
from primum.selection._folds import Fold
from primum.selection.losses import ROW_LOSSES, Scorer, measure_of, undefined_in_a_fold
from primum.selection.stack import stack_weights
from primum.selection.stacked import predicted_codes
from primum.selection.statistics import (
    BLENDED_UNIT,
    PRACTICAL_EQUIVALENCE,
    Difference,
    Posterior,
    blended_errors,
    resampled_difference,
    resampled_difference_of_scores,
)
from primum.selection.units import grouped_difference, pooled_difference, repeats_of
from primum.selection.wording import (
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
        Both in words, and what was approximated or left out.

    Notes
    -----
    ``answer`` is that of ``baseline``. Whether the unlabelled rows help is another question, which
    ``supervised.answer`` answers.
    """

    baseline: Verdict
    supervised: Verdict | None
    text: str

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
            "text": self.text,
        }


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
    """

    folds: Sequence[Fold]
    codes: Index
    n_classes: int
    weight: Floats | None = None
    groups: AnyArray | None = None

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
        n_groups = None if self.groups is None else len(np.unique(self.groups[rows]))
        return Sample(len(self.codes), len(rows), n_groups, n_unlabeled)

    def weights(
        self, scores: Floats, baseline: Floats, shrinkage: float, among: Index | None = None
    ) -> tuple[Floats, float]:
        """Return the weights of candidates with given scores, and their gap.

        ``among`` are positions of the rows to fit to; by default all.
        """
        index = np.arange(len(scores)) if among is None else among
        weight = self.row_weight
        return stack_weights(
            scores[index],
            self.one_hot[index],
            baseline,
            shrinkage=shrinkage,
            n_labeled=len(np.unique(self.rows[index])),
            row_weight=None if weight is None else weight[index],
        )

    def cross_fitted(self, scores: Floats, baseline: Floats, shrinkage: float) -> Floats:
        """Return the scores of a stack, each row's with weights fitted to the other folds."""
        found, rows, fold_of = np.empty(scores.shape[:2]), self.rows, self.fold_of
        for number, fold in enumerate(self.folds):
            others = np.flatnonzero(~np.isin(rows, fold.test))
            own, weights = fold_of == number, baseline
            if len(others):
                weights, _ = self.weights(scores, baseline, shrinkage, others)
            found[own] = scores[own] @ weights
        return found

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
        change = loss - of_others
        raw = float(np.average(change, weights=weight))
        if scoring != "accuracy":
            return replace(self.difference_of_rows(change), raw=raw)
        brier = ROW_LOSSES["neg_brier_score"].of_rows
        squares = brier(scores, codes) - brier(others, codes)
        error = float(np.average(of_others, weights=weight))
        blended = blended_errors(change, squares, error)
        return replace(self.difference_of_rows(blended, BLENDED_UNIT), raw=raw)

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

    def difference_of_rows(self, change: Floats, unit: float | None = None) -> Difference:
        """Return the difference of two models from that of their losses in every held-out row."""
        weight = self.row_weight
        if weight is not None:
            change = change * weight / weight.mean()
        parts = np.split(change, np.cumsum([len(fold.test) for fold in self.folds])[:-1])
        if self.groups is None:
            n_rows = len(np.unique(self.rows))
            return resampled_difference(parts, self._n_train, n_rows=n_rows, unit=unit)
        n_groups = len(np.unique(self.groups[self.rows]))
        return grouped_difference(parts, self.folds, self.groups, n_groups=n_groups, unit=unit)


def largest_change(scores: Floats, others: Floats, scoring: Any) -> float | None:
    """Return how large the difference of two losses can be, given scores of unlabelled rows.

    The error differs at most in the share of rows for which the two models predict different
    classes; three rows more than observed are counted, since a share of 0 in n rows rules out no
    more than 3 / n. Other losses have no such bound.
    """
    if scoring != "accuracy" or len(scores) == 0:
        return None
    n_different = np.count_nonzero(predicted_codes(scores) != predicted_codes(others))
    return float(min(1.0, (n_different + 3) / len(scores)))


def judge(
    difference: Difference,
    bound: float | None,
    scoring: Any,
    baseline: str,
    sample: Sample | None = None,
) -> Verdict:
    """Return the verdict on a stack against another one."""
    posterior, measure = Posterior(difference, bound=bound), measure_of(scoring)
    return verdict_of(
        posterior, method="the model", baseline=baseline, measure=measure, sample=sample
    )


def in_words(
    baseline: Verdict, supervised: Verdict | None, scoring: Any, notes: Sequence[str]
) -> str:
    """Return both verdicts and the notes as one text."""
    parts = [baseline.text]
    if supervised is not None:
        parts.append(contribution(supervised, measure_of(scoring)))
    return " ".join([*parts, *notes])


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
