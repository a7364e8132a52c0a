"""Losses of a comparison, and their differences, over the splits that were finished."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Index
from primum.evaluation.compare_plan import ComparisonPlan
from primum.evaluation.compare_scoring import Loss, Predictions, joined, row_changes
from primum.selection._folds import Fold
from primum.selection.disagreement import Disagreement, all_compared, counted
from primum.selection.losses import Scorer, undefined_in_a_fold
from primum.selection.statistics import (
    Difference,
    resampled_difference,
    resampled_difference_of_scores,
)
from primum.selection.units import grouped_difference, pooled_difference, repeats_of
from primum.selection.wording import Sample


@dataclass(frozen=True)
class SplitStatistics:
    """Statistics over splits.

    Attributes
    ----------
    plan : ComparisonPlan
        What is compared.
    splits : sequence of int
        Numbers of the splits that are part of the result.
    equivalence : float
        Differences up to this size count as none.
    scoring : str or callable
        How predictions are judged, for messages.
    folds : sequence of Fold or None
        All splits, by number; None: those of the plan.
    """

    plan: ComparisonPlan
    splits: Sequence[int]
    equivalence: float
    scoring: Any
    folds: Sequence[Fold] | None = None

    def difference(self, pairs: Sequence[tuple[Any, Any]], loss: Loss) -> Difference:
        """Return the difference of two classifiers' losses over the splits."""
        folds, units = [self._fold(number) for number in self.splits], self._units
        n_train = [len(np.unique(units[fold.train])) for fold in folds]
        if loss.of_rows is None:
            values = [loss.of_split(one) - loss.of_split(other) for one, other in pairs]
            one, other = (joined([pair[k] for pair in pairs]) for k in (0, 1))

            def change(index: Index) -> float:
                return loss.of_split(one.take(index)) - loss.of_split(other.take(index))

            return self._of_splits(values, change, n_train)
        rows, n_units = row_changes(pairs, loss), self._n_scored_units
        if self.plan.table.groups is None:
            return resampled_difference(rows, n_train, n_rows=n_units)
        return grouped_difference(rows, folds, units, n_groups=n_units)

    def disagreement(
        self, pairs: Sequence[tuple[Any, Any]], share: float | None, n_compared: int
    ) -> Disagreement:
        """Return how often two classifiers disagree, and which is right there.

        ``share`` is that of ``n_compared`` unlabelled rows; None: there are none.
        """
        own, others = (joined([pair[k] for pair in pairs]) for k in (0, 1))
        n_units = float(self._n_scored_units)
        # Every unit counts once in all, however often it is held out.
        weight = np.full(len(own.truth), n_units / len(own.truth))
        counts = counted(own.predicted, others.predicted, own.truth, weight)
        compared = all_compared(counts, n_units, (share or 0.0) * n_compared, n_compared)
        trained = [len(np.unique(self._units[self._fold(n).train])) for n in self.splits]
        train_share = float(np.mean(trained)) / len(np.unique(self._units))
        n_classes = len(self.plan.table.labels.classes)
        return Disagreement(*counts, *compared, train_share, n_classes)

    @property
    def _n_scored_units(self) -> int:
        """How many units are held out in some split."""
        tests = [self._units[self._fold(number).test] for number in self.splits]
        return len(np.unique(np.concatenate(tests)))

    def mean_of_scores(self, splits: Sequence[Predictions], loss: Loss) -> Difference:
        """Return the mean of a loss that is not a mean over rows, with its standard error."""
        n_train = [len(np.unique(self._units[self._fold(n).train])) for n in self.splits]
        together = joined(splits)
        values = [loss.of_split(split) for split in splits]
        return self._of_splits(values, lambda rows: loss.of_split(together.take(rows)), n_train)

    def _of_splits(
        self, values: Sequence[float], change: Callable[[Index], float], n_train: list[int]
    ) -> Difference:
        """Estimate from the value of every split or, if it is undefined in one, of every repeat.

        ``change`` is the value of held-out rows, given their positions.
        """
        tests = [self._units[self._fold(number).test] for number in self.splits]
        if np.isfinite(values).all():
            n_test = [len(np.unique(test)) for test in tests]
            return resampled_difference_of_scores(values, n_train, n_test, unit=self.equivalence)
        return pooled_difference(change, self._repeats(values), np.concatenate(tests), n_train)

    def _repeats(self, values: Sequence[float]) -> list[Index]:
        """Return the positions of the held-out rows of every repeat, one split after the other."""
        tests = [self._fold(number).test for number in self.splits]
        repeats = repeats_of(tests, self.plan.table.n_labeled)
        if repeats is None:
            number = int(np.flatnonzero(~np.isfinite(values))[0])
            codes, classes = self.plan.table.labels.codes, self.plan.table.labels.classes
            raise undefined_in_a_fold(
                Scorer(self.scoring, classes), self.splits[number], codes[tests[number]]
            )
        ends = np.cumsum([0, *(len(test) for test in tests)])
        return [np.arange(ends[repeat[0]], ends[repeat[-1] + 1]) for repeat in repeats]

    def mean_loss(self, splits: Sequence[Predictions], loss: Loss) -> float:
        """Return the mean loss of held-out rows or, if it is undefined in a split, of repeats."""
        values = [loss.of_split(split) for split in splits]
        if np.isfinite(values).all():
            return float(np.average(values, weights=[len(split.truth) for split in splits]))
        together = joined(splits)
        return float(
            np.mean([loss.of_split(together.take(index)) for index in self._repeats(values)])
        )

    @property
    def _units(self) -> Index:
        """What the statistics count: the labelled rows, or their groups."""
        table = self.plan.table
        if table.groups is None:
            return np.arange(table.n_labeled)
        return np.asarray(table.groups[table.labels.labeled])

    def sample(self, difference: Difference) -> Sample:
        """Return the rows that a verdict is based on."""
        table = self.plan.table
        n_scored = len(np.unique(np.concatenate([self._fold(n).test for n in self.splits])))
        if table.groups is None:
            return Sample(table.n_labeled, n_scored, None, table.n_unlabeled)
        labels, groups = table.labels, table.groups
        further = np.setdiff1d(groups[labels.unlabeled], groups[labels.labeled])
        return Sample(table.n_labeled, n_scored, difference.n_rows, len(further))

    def _fold(self, number: int) -> Fold:
        if self.folds is not None:
            return self.folds[number]
        repeat, fold = divmod(number, self.plan.n_folds)
        return self.plan.folds(repeat)[fold]
