"""Losses of a comparison, and their differences, over the splits that were finished.

Losses of stored predictions: lower is better.

Losses that are means over rows (error, balanced error, Brier score, log loss) are those of
``judging.losses``. Any other score of scikit-learn is computed once for every split.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from primum._typing import AnyArray, Floats, Index
from primum.comparison.plan import ComparisonPlan
from primum.judging.difference import (
    Difference,
    grouped_difference,
    pooled_difference,
    repeats_of,
    resampled_difference,
    resampled_difference_of_scores,
)
from primum.judging.disagreement import Disagreement, all_compared, counted
from primum.judging.losses import (
    ROW_LOSSES,
    Scorer,
    measure_of,
    read_scorer,
    score_of,
    undefined_in_a_fold,
)
from primum.judging.words import Measure, Sample
from primum.reading.folds import Fold

# Losses of the predicted classes alone.
OF_CLASSES = ("accuracy", "balanced_accuracy")


@dataclass(frozen=True)
class Predictions:
    """Predictions of one classifier for the held-out rows of one split."""

    truth: Index
    predicted: Index
    scores: Floats | None

    def take(self, rows: Index) -> "Predictions":
        """Return the predictions of some of the rows."""
        scores = None if self.scores is None else self.scores[rows]
        return Predictions(self.truth[rows], self.predicted[rows], scores)


def joined(parts: Sequence[Predictions]) -> Predictions:
    """Return the predictions of several splits as one."""
    scores = [part.scores for part in parts if part.scores is not None]
    return Predictions(
        np.concatenate([part.truth for part in parts]),
        np.concatenate([part.predicted for part in parts]),
        np.concatenate(scores) if len(scores) == len(parts) else None,
    )


@dataclass(frozen=True)
class Loss:
    """How predictions are judged.

    Attributes
    ----------
    scoring : str or callable
        The scoring of scikit-learn.
    measure : Measure
        Its name and unit.
    of_rows : callable or None
        Predictions to the loss of every row, if the loss is a mean over rows.
    of_split : callable
        Predictions to the loss of the split; NaN if it is undefined there.
    needs_scores : bool
        Whether classifiers that only predict classes cannot be judged by it.
    """

    scoring: Any
    measure: Measure
    of_rows: Callable[[Predictions], Floats] | None
    of_split: Callable[[Predictions], float]
    needs_scores: bool = False


def read_scoring(scoring: Any, classes: AnyArray) -> Loss:
    """Return the loss of a scikit-learn scoring.

    Parameters
    ----------
    scoring : str or callable
        "accuracy", "balanced_accuracy", "neg_brier_score" (the sum over classes divided by two),
        "neg_log_loss", the name of any other scorer of scikit-learn, or a callable
        ``scorer(estimator, X, y)``, of which higher is better. A callable must not look at X.
    classes : array of shape (n_classes,)
        Names of the classes.

    Returns
    -------
    Loss
        The loss.
    """
    measure = measure_of(scoring)
    if isinstance(scoring, str) and scoring in ROW_LOSSES:
        of_scores, needs = ROW_LOSSES[scoring].of_rows, scoring not in OF_CLASSES

        def of_rows(found: Predictions) -> Floats:
            scores = _scores_of(found) if needs else np.eye(len(classes))[found.predicted]
            return np.asarray(of_scores(scores, found.truth))

        return Loss(scoring, measure, of_rows, lambda found: float(of_rows(found).mean()), needs)
    scorer = read_scorer(scoring)
    return Loss(scoring, measure, None, lambda found: -_scored(scorer, found, classes))


def _scores_of(predictions: Predictions) -> Floats:
    if predictions.scores is None:
        raise ValueError(
            "The scoring needs scores, but a classifier has neither predict_proba nor "
            "decision_function: leave it out, or choose a scoring of predicted classes."
        )
    return predictions.scores


class StoredClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions are already known, for scikit-learn's scorers."""

    def __init__(self, predictions: Any = None, classes: Any = None) -> None:
        self.predictions = predictions
        self.classes = classes

    @property
    def classes_(self) -> AnyArray:
        """The classes."""
        return np.asarray(self.classes)

    def fit(self, X: Any, y: Any) -> "StoredClassifier":
        """Do nothing."""
        return self

    def predict(self, X: Any) -> AnyArray:
        """Return the stored classes."""
        return np.asarray(self.classes_[self.predictions.predicted])

    def predict_proba(self, X: Any) -> Floats:
        """Return the stored scores."""
        return _scores_of(self.predictions)


def _scored(scorer: Any, predictions: Predictions, classes: AnyArray) -> float:
    return score_of(scorer, StoredClassifier(predictions, classes), predictions.truth, classes)


def row_changes(pairs: Sequence[tuple[Predictions, Predictions]], loss: Loss) -> list[Floats]:
    """Return the differences of the losses in the held-out rows of every split."""
    of_rows: Any = loss.of_rows
    return [of_rows(one) - of_rows(other) for one, other in pairs]


def twin_loss(
    loss: Loss, pairs: Sequence[tuple[Predictions, Predictions]], classes: AnyArray
) -> Loss:
    """Return the loss by which methods are compared with their twins.

    It is that of the comparison, unless that needs scores which some twin does not have: then it
    is the error.
    """
    complete = all(part.scores is not None for pair in pairs for part in pair)
    of_classes = loss.of_rows is not None and not loss.needs_scores
    return loss if complete or of_classes else read_scoring("accuracy", classes)


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
