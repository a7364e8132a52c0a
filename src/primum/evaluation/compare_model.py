"""The card of the recommended model, computed from held-out predictions.

The interval of its loss allows for the rows it is estimated from, for training sets that are
smaller than the final one, and for the choice among the methods: see
``primum.selection.loss_interval``.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from primum._typing import Floats, Index
from primum.evaluation.compare_card import ClassFigures, ModelCard
from primum.evaluation.compare_plan import ComparisonPlan
from primum.evaluation.compare_scoring import OF_CLASSES, Loss, Predictions, joined
from primum.evaluation.compare_statistics import SplitStatistics
from primum.selection._folds import Fold
from primum.selection.loss_interval import (
    around,
    design_effect,
    mean_interval,
    n_counted,
    n_independent,
    rate_interval,
    row_means,
    tails_of,
)
from primum.selection.wording import interval_level


@dataclass(frozen=True)
class HeldOutPredictions:
    """The predictions of one method in all of its splits.

    Attributes
    ----------
    folds : sequence of Fold
        The splits.
    splits : sequence of Predictions
        The predictions for the rows that each holds out.
    """

    folds: Sequence[Fold]
    splits: Sequence[Predictions]

    @property
    def rows(self) -> Index:
        """Positions of the held-out rows among the labelled ones, one split after the other."""
        return np.concatenate([fold.test for fold in self.folds])

    @property
    def all(self) -> Predictions:
        """The predictions of all splits."""
        return joined(self.splits)


def stored_predictions(record: dict[str, Any], plan: ComparisonPlan) -> HeldOutPredictions | None:
    """Return the cross-fitted predictions of a method that judged itself, from its record.

    None if a folder of fits was written by a version that did not store them.
    """
    if "held_out" not in record:
        return None
    stored, labels = record["held_out"], plan.table.labels
    rows = np.searchsorted(labels.labeled, stored["rows"])
    found = Predictions(
        labels.codes[rows],
        np.array(stored["predicted"], dtype=np.intp),
        np.array(stored["scores"], dtype=float),
    )
    numbers = np.array(stored["folds"])
    parts = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
    if plan.cv is None or isinstance(plan.cv, Integral):
        every = np.arange(plan.table.n_labeled)
        folds = [Fold(np.setdiff1d(every, rows[part]), rows[part]) for part in parts]
    else:
        folds = plan.folds(0)
    return HeldOutPredictions(folds, [found.take(part) for part in parts])


def card_of(result: Any, name: str) -> ModelCard | None:
    """Return what is known of a method from the predictions of a comparison.

    Parameters
    ----------
    result : ComparisonResult
        The comparison.
    name : str
        The method.

    Returns
    -------
    ModelCard or None
        Without the number of unlabelled rows of every class. None if its predictions are not known.
    """
    baseline, *others = result.methods
    candidates = [baseline, *(method for method in others if method.verdict is not None)]
    known = {method.name: result.held_out(method.name) for method in candidates}
    found = {key: value for key, value in known.items() if value is not None}
    if name not in found:
        return None
    own, loss = found[name], next(m.loss for m in candidates if m.name == name)
    level = interval_level(result.level)
    tails = tails_of(level, _n_methods(list(found.values()), result.loss))
    labels = result.plan.table.labels
    confusion = _confusion(own, len(labels.classes))
    return ModelCard(
        name=name,
        measure=result.loss.measure,
        loss=loss,
        interval=_interval(result, own, loss, tails),
        level=level,
        guessing=guessing_loss(labels.codes, len(labels.classes), result.loss),
        equivalence=result.equivalence,
        n_methods=len(candidates),
        classes=_figures(confusion, labels),
        confusion=tuple(map(tuple, confusion.tolist())),
        roc_auc=_roc_auc(own),
    )


def with_assigned(card: ModelCard, counts: Sequence[int]) -> ModelCard:
    """Return a card with the number of unlabelled rows that the model assigns to every class."""
    classes = tuple(
        replace(one, n_unlabeled=int(count))
        for one, count in zip(card.classes, counts, strict=True)
    )
    return replace(card, classes=classes, n_assigned=int(sum(counts)))


def guessing_loss(codes: Index, n_classes: int, loss: Loss) -> float | None:
    """Return the loss of the most frequent class for every row, or None if it is undefined.

    Its scores are the shares of the classes.
    """
    shares = np.bincount(codes, minlength=n_classes) / len(codes)
    predicted = np.full(len(codes), shares.argmax())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a precision of 0 / 0 is 0 here
        try:
            value = loss.of_split(Predictions(codes, predicted, np.tile(shares, (len(codes), 1))))
        except ValueError:
            return None
    return value if np.isfinite(value) else None


def _n_methods(found: Sequence[HeldOutPredictions], loss: Loss) -> float:
    """Return as how many uncorrelated methods those that could be chosen count."""
    if loss.of_rows is None:
        return float(len(found))
    losses = [row_means(one.rows, loss.of_rows(one.all)) for one in found]
    common = reduce(np.intersect1d, [rows for rows, _ in losses])
    return n_independent(np.column_stack([v[np.isin(rows, common)] for rows, v in losses]))


def _interval(
    result: Any, own: HeldOutPredictions, loss: float, tails: tuple[float, float]
) -> tuple[float, float]:
    table, of_rows = result.plan.table, result.loss.of_rows
    if of_rows is None:
        return _interval_of_scores(result, own, loss, tails)
    found = own.all
    rows, losses = row_means(own.rows, of_rows(found))
    groups = None if table.groups is None else table.groups[table.labels.labeled][rows]
    share = _training_share(own, table.n_labeled)
    if result.loss.scoring in OF_CLASSES:
        wrong = row_means(own.rows, found.predicted != found.truth)[1]
        plain = result.loss.scoring == "accuracy"
        strata = np.zeros(len(rows), dtype=np.intp) if plain else table.labels.codes[rows]
        return rate_interval(loss, n_counted(wrong, strata, groups, share), tails)
    n_rows = share * len(rows) / design_effect(losses - losses.mean(), groups)
    n_units = len(rows) if groups is None else len(np.unique(groups))
    low, high = mean_interval(loss, losses, n_rows, tails, n_units)
    return max(low, 0.0), high


def _training_share(own: HeldOutPredictions, n_labeled: int) -> float:
    return float(np.mean([len(fold.train) for fold in own.folds]) / n_labeled)


def _interval_of_scores(
    result: Any, own: HeldOutPredictions, loss: float, tails: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval of a loss that is not a mean over rows, from its values in splits."""
    numbers = range(len(own.folds))
    statistics = SplitStatistics(
        result.plan, numbers, result.equivalence, result.loss.scoring, own.folds
    )
    found = statistics.mean_of_scores(own.splits, result.loss)
    return around(loss, found.standard_error, found.degrees_of_freedom, tails)


def _confusion(own: HeldOutPredictions, n_classes: int) -> Floats:
    """Return held-out rows by class and predicted class; each row counts once."""
    found, rows = own.all, own.rows
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (found.truth, found.predicted), 1 / np.bincount(rows)[rows])
    return counts


def _figures(confusion: Floats, labels: Any) -> tuple[ClassFigures, ...]:
    right, of_class, of_predicted = confusion.diagonal(), confusion.sum(1), confusion.sum(0)
    counts = np.bincount(labels.codes, minlength=len(labels.classes))
    return tuple(
        ClassFigures(
            str(name),
            int(counts[k]),
            float(right[k] / of_class[k]) if of_class[k] else None,
            float(right[k] / of_predicted[k]) if of_predicted[k] else None,
        )
        for k, name in enumerate(labels.classes.tolist())
    )


def _roc_auc(own: HeldOutPredictions) -> float | None:
    found = own.all
    if found.scores is None or found.scores.shape[1] != 2:
        return None
    truth, scores = (row_means(own.rows, values)[1] for values in (found.truth, found.scores[:, 1]))
    return float(roc_auc_score(truth, scores)) if len(np.unique(truth)) == 2 else None
