"""What out-of-fold scores say of a stack: whether it is better than the baseline, and why.

The weights of a stack are fitted to the out-of-fold scores, so that its loss on these is
optimistic. For the verdict they are cross-fitted: the rows that a fold holds out are scored with
weights that were fitted to the scores of all other rows. Differences of losses are then judged as
``statistics`` describes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats, Index
from primum.selection._folds import Fold
from primum.selection.losses import ROW_LOSSES, check_fold_scoring, fold_scores
from primum.selection.stack import stack_weights
from primum.selection.stacked import predicted_codes
from primum.selection.statistics import (
    BLENDED_UNIT,
    Difference,
    Posterior,
    blended_errors,
    grouped_difference,
    resampled_difference,
    resampled_difference_of_scores,
)
from primum.selection.wording import HELP, Measure, Verdict, verdict_of


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
    """

    baseline: Verdict
    supervised: Verdict | None
    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values."""
        return {
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

    def check(self, scoring: Any, classes: AnyArray) -> None:
        """Raise an error if a scoring cannot be computed in every fold."""
        tests = np.split(np.arange(len(self.rows)), np.flatnonzero(np.diff(self.fold_of)) + 1)
        check_fold_scoring(scoring, self.codes[self.rows], tests, classes, self.row_weight)

    def difference(
        self, scores: Floats, others: Floats, scoring: Any, classes: AnyArray
    ) -> Difference:
        """Return the difference of the losses of two models, of which the second is the baseline.

        It is estimated from rows if the loss is a mean over rows, and otherwise from folds.
        """
        codes, weight = self.codes[self.rows], self.row_weight
        if isinstance(scoring, str) and scoring in ROW_LOSSES:
            # The shares of the classes, by weight, belong to the balanced error of a row.
            known = {"weight": weight} if scoring == "balanced_accuracy" else {}
            loss, of_others = (
                ROW_LOSSES[scoring].of_rows(found, codes, **known) for found in (scores, others)
            )
            change = loss - of_others
            if scoring == "accuracy":
                brier = ROW_LOSSES["neg_brier_score"].of_rows
                squares = brier(scores, codes) - brier(others, codes)
                error = float(np.average(of_others, weights=weight))
                return self.difference_of_rows(blended_errors(change, squares, error), BLENDED_UNIT)
            return self.difference_of_rows(change)
        change = fold_scores(scoring, others, codes, self.fold_of, classes, weight)
        change -= fold_scores(scoring, scores, codes, self.fold_of, classes, weight)
        n_train = [len(fold.train) for fold in self.folds]
        n_test = [len(fold.test) for fold in self.folds]
        return resampled_difference_of_scores(change, n_train, n_test)

    def difference_of_rows(self, change: Floats, unit: float | None = None) -> Difference:
        """Return the difference of two models from that of their losses in every held-out row."""
        weight = self.row_weight
        if weight is not None:
            change = change * weight / weight.mean()
        parts = np.split(change, np.cumsum([len(fold.test) for fold in self.folds])[:-1])
        if self.groups is None:
            n_train = [len(fold.train) for fold in self.folds]
            n_rows = len(np.unique(self.rows))
            return resampled_difference(parts, n_train, n_rows=n_rows, unit=unit)
        n_groups = len(np.unique(self.groups[self.rows]))
        return grouped_difference(parts, self.folds, self.groups, n_groups=n_groups, unit=unit)


def measure_of(scoring: Any) -> Measure:
    """Return how the loss of a scoring is called and shown."""
    if isinstance(scoring, str) and scoring in ROW_LOSSES:
        return ROW_LOSSES[scoring].measure
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "the given score")
    return Measure(f"loss (minus {name})", "", 1.0, 3)


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
    difference: Difference, bound: float | None, scoring: Any, method: str, baseline: str
) -> Verdict:
    """Return the verdict on a model against its baseline."""
    posterior = Posterior(difference, bound=bound)
    return verdict_of(posterior, method=method, baseline=baseline, measure=measure_of(scoring))


def in_words(baseline: Verdict, supervised: Verdict | None, notes: Sequence[str]) -> str:
    """Return both verdicts and the notes as one text."""
    parts = [baseline.text]
    if supervised is not None:
        credit = baseline.answer == HELP and supervised.answer == HELP
        subject = "The gain is due to the unlabelled rows" if credit else "Unlabelled rows"
        parts.append(f"{subject}: {supervised.text}")
    return " ".join([*parts, *notes])
