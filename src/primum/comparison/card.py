"""The card of the recommended model, computed from held-out predictions.

The interval of its loss allows for the rows it is estimated from, for training sets that are
smaller than the final one, and for the choice among the methods: see
``primum.judging.loss_interval``.

What is known of the model to deploy: its loss with an interval, and what it does to every class.

All of it comes from predictions for rows that were held out, except for the number of unlabelled
rows in every class, which the model fitted to all rows predicts. ``compare_model`` computes it.
"""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from primum._typing import Floats, Index
from primum._words import listed
from primum.comparison.plan import ComparisonPlan
from primum.comparison.statistics import judge_of
from primum.judging.loss_interval import (
    around,
    design_effect,
    mean_interval,
    n_counted,
    n_independent,
    rate_interval,
    row_means,
    tails_of,
)
from primum.judging.losses import ERROR, OF_CLASSES, Loss, Measure, Predictions, joined, measure_of
from primum.judging.words import Alert, interval_level, percent_of_level
from primum.reading.folds import Fold

# A class of which fewer rows are found is as good as never predicted.
LEAST_RECALL = 0.05
# From here on, scores rank the rows well enough that another threshold is worth trying.
USEFUL_RANKING = 0.6
# By which a model that ignores a rare class is not good.
OTHER_SCORINGS = ("balanced_accuracy", "roc_auc")


@dataclass(frozen=True)
class ClassFigures:
    """What a model does with one class, on held-out rows.

    Attributes
    ----------
    name : str
        The class.
    n_labeled : int
        Number of its labelled rows.
    recall : float or None
        Share of its rows that are predicted as such; None if none was held out.
    precision : float or None
        Share of the rows predicted as such that belong to it; None if none is.
    n_unlabeled : int or None
        Number of unlabelled rows that the model, fitted to all rows, assigns to it; None if it was
        not fitted.
    """

    name: str
    n_labeled: int
    recall: float | None
    precision: float | None
    n_unlabeled: int | None = None


@dataclass(frozen=True)
class ModelCard:
    """What is known of the recommended model.

    Attributes
    ----------
    name : str
        The method.
    measure : Measure
        Name and unit of the loss.
    loss : float
        Its mean on held-out rows.
    interval : (float, float)
        Where the loss on new rows lies. The upper end allows for the choice among the methods.
    level : float
        The probability of the interval.
    guessing : float or None
        The loss of guessing: the most frequent class always, with the shares of the classes as
        scores; None if the scoring is undefined for it.
    equivalence : float
        Differences up to this size count as none.
    n_methods : int
        Number of methods among which it was chosen.
    classes : tuple of ClassFigures
        What it does with every class.
    confusion : tuple of tuples of float
        Held-out rows by class (rows) and predicted class (columns), mean over repeats.
    roc_auc : float or None
        Of two classes, the area under the ROC curve on held-out rows: how well the scores rank
        them, whatever the threshold; None for more classes or without scores.
    n_assigned : int
        Number of unlabelled rows that were assigned to classes: all, a random sample, or none.
    """

    name: str
    measure: Measure
    loss: float
    interval: tuple[float, float]
    level: float
    guessing: float | None
    equivalence: float
    n_methods: int
    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[float, ...], ...]
    roc_auc: float | None = None
    n_assigned: int = 0

    @property
    def gain(self) -> float | None:
        """How much lower the loss is than that of guessing."""
        return None if self.guessing is None else self.guessing - self.loss

    @property
    def beats_guessing(self) -> bool | None:
        """Whether all of the interval is below the loss of guessing, and the gain matters."""
        if self.guessing is None or self.gain is None:
            return None
        return self.interval[1] < self.guessing and self.gain > self.equivalence

    @property
    def neglected(self) -> list[ClassFigures]:
        """The classes of which the model finds no rows, or hardly any."""
        return [one for one in self.classes if one.recall is not None and one.recall < LEAST_RECALL]

    @property
    def alerts(self) -> list[Alert]:
        """What must be known before the model is used."""
        return [*_guessing_alert(self), *_neglected_alert(self)]

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain JSON values."""
        return {
            "name": self.name,
            "measure": self.measure.name,
            "loss": self.loss,
            "interval": list(self.interval),
            "level": self.level,
            "guessing": self.guessing,
            "gain": self.gain,
            "beats_guessing": self.beats_guessing,
            "n_methods": self.n_methods,
            "classes": [asdict(one) for one in self.classes],
            "confusion": [list(row) for row in self.confusion],
            "roc_auc": self.roc_auc,
            "n_assigned": self.n_assigned,
            "alerts": [alert.to_dict() for alert in self.alerts],
        }


def show_loss(loss: float, measure: Measure) -> str:
    """Return a loss, in per cent if its changes are in points."""
    sign = "%" if measure.unit == ERROR.unit else ""
    return f"{round(loss * measure.scale, measure.digits) + 0.0:.{measure.digits}f}{sign}"


def loss_in_words(card: ModelCard) -> str:
    """Return the loss with its interval, beside that of guessing."""
    low, high = (show_loss(value, card.measure) for value in card.interval)
    level, loss = percent_of_level(card.level), show_loss(card.loss, card.measure)
    guessing = ""
    if card.guessing is not None:
        guessing = f"; guessing: {show_loss(card.guessing, card.measure)}"
    return f"{card.measure.name} {loss} ({level} interval {low} to {high}){guessing}"


def _guessing_alert(card: ModelCard) -> list[Alert]:
    if card.beats_guessing is None or card.beats_guessing:
        return []
    assert card.gain is not None
    how = "is no better than guessing" if card.gain <= 0 else "hardly beats guessing"
    text = f"The recommended model {how}: {loss_in_words(card)}."
    if not card.neglected:  # of these there is more to say
        text += f" {_why_guessing(card)}"
    return [Alert("guessing", text)]


def _why_guessing(card: ModelCard) -> str:
    if card.roc_auc is None or card.roc_auc < USEFUL_RANKING:
        return "Either the columns say little about the class, or more labels are needed."
    return (
        f"Yet it ranks rows well (area under the ROC curve {card.roc_auc:.2f}): hardly any is more "
        "likely of the rarer class than not, so move the threshold, or compare by the scoring "
        "roc_auc."
    )


def _neglected_alert(card: ModelCard) -> list[Alert]:
    if not card.neglected:
        return []
    column = {one.name: sum(row[k] for row in card.confusion) for k, one in enumerate(card.classes)}
    never = [one for one in card.neglected if column[one.name] == 0]
    rest = [one for one in card.neglected if column[one.name] > 0]
    found = [f"never predicts {_named(never)}"] if never else []
    if rest:
        found.append(f"finds less than {LEAST_RECALL:.0%} of the rows of class {_named(rest)}")
    text = f"The recommended model {' and '.join(found)}. {_advice(card)}"
    return [Alert("neglected class", text)]


def _named(classes: Sequence[ClassFigures]) -> str:
    return listed([f"{one.name!r} ({one.n_labeled} labelled)" for one in classes])


def _advice(card: ModelCard) -> str:
    """Return what to do about classes that are not found."""
    one = len(card.neglected) == 1
    which, matter = ("that class", "matters") if one else ("those classes", "matter")
    scorings = [name for name in OTHER_SCORINGS if measure_of(name) != card.measure]
    scoring = f"compare by another scoring, such as {' or '.join(scorings)}"
    advice = f"{scoring}, or label more rows of {which}"
    if card.roc_auc is None or card.roc_auc < USEFUL_RANKING:
        return f"If {which} {matter}, {advice}."
    return (
        "Its scores still tell the classes apart (area under the ROC curve "
        f"{card.roc_auc:.2f}): if {which} {matter}, move the threshold, for example with "
        f"TunedThresholdClassifierCV of scikit-learn, {advice}."
    )


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
    judge = judge_of(result.plan, own.folds, result.equivalence)
    found = judge.difference(own.all, None, result.loss)
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
