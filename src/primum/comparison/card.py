"""The card of the model to deploy, and what it changes: figures, words, parts of a report.

A card is based on predictions for held-out rows; only the predictions for unlabelled rows come from
the model fitted to all rows. A row that several repeats hold out counts once. The interval of the
loss allows for the sample of labelled rows, for training sets that are smaller than the final one,
and for the choice among the methods, see ``primum.judging.intervals``.

    classes    guessing is the most frequent class; recall and precision of every class
    numbers    guessing is the mean of the known numbers; how large the errors are
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import stats
from sklearn.metrics import roc_auc_score

from primum._typing import AnyArray, Floats, Index, PlainRecord
from primum._words import counted, listed
from primum.comparison.plan import judge_of
from primum.comparison.words import BASELINE, show_loss, show_loss_in_unit, with_article
from primum.judging.held_out import largest_cost
from primum.judging.intervals import (
    around,
    design_effect,
    mean_interval,
    n_counted,
    n_independent,
    rate_interval,
    row_means,
    tails_of,
)
from primum.judging.losses import (
    OF_CLASSES,
    RMSE,
    Loss,
    Measure,
    Predictions,
    measure_of,
    number_measure,
)
from primum.judging.objectives import OF_POSITIVE
from primum.judging.words import Alert, interval_level, percent_of_level
from primum.pages.charts import scatter_chart
from primum.pages.page import Cell, Chart, Folded, PageBlock, PageTable, Text
from primum.reading.data import effective_size
from primum.reading.labels import KnownLabels

if TYPE_CHECKING:
    from primum.comparison.records import HeldOutPredictions
    from primum.comparison.result import Comparison

# With a smaller recall, a class is as good as never predicted: one of twenty rows is found.
MIN_RECALL = 0.05
# With at least this area under the ROC curve, where 0.5 is chance, another threshold is worth
# trying.
MIN_USEFUL_AUC = 0.6
# Advice that moves the threshold of a model that finds too few rows of a class.
SAY_COSTS = "say what errors cost (cost= of compare, --cost), and the model adjusts its threshold"
# Scorings that do not reward a model for ignoring a rare class.
RANKING = "roc_auc"
OTHER_SCORINGS = ("balanced_accuracy", RANKING)
# A class is seldom predicted if its predictions are fewer than this share of its rows: half of them
# are missed whatever the rest is.
SELDOM_SHARE = 0.5


# The number of largest errors that are listed, as many as people look at; figures count all rows.
MAX_RESIDUALS = 20
# The most points of the picture; more would hide each other.
MAX_POINTS = 1000
# The most changed rows that are stored, and that a report shows, because more would hide the rest
# of it; counts include all rows.
MAX_LISTED_CHANGES, MAX_SHOWN = 1000, 50
# There is an alert if at most this share of the rows makes up more than half of the squared error.
FEW_ROWS_SHARE, MIN_ERROR_SHARE = 0.05, 0.5


@dataclass(frozen=True)
class LossCard(PlainRecord):
    """The loss of the recommended model, for classes and numbers alike.

    Attributes
    ----------
    name : str
        The method.
    measure : Measure
        Name and unit of the loss.
    loss : float
        Its mean on held-out rows.
    interval : (float, float)
        Interval of the loss on new rows. The upper end allows for the choice among the methods.
    level : float
        The probability of the interval.
    guessing : float or None
        The loss of guessing without any feature; None if the scoring is undefined for it.
    equivalence : float
        Differences up to this size count as none.
    n_methods : int
        Number of methods among which it was chosen.
    """

    name: str
    measure: Measure
    loss: float
    interval: tuple[float, float]
    level: float
    guessing: float | None
    equivalence: float
    n_methods: int
    in_json: ClassVar[tuple[str, ...]] = (
        *("name", "measure", "loss", "interval", "level", "guessing", "gain", "beats_guessing"),
        "n_methods",
    )

    @property
    def gain(self) -> float | None:
        """How much lower the loss is than that of guessing."""
        return None if self.guessing is None else self.guessing - self.loss

    @property
    def beats_guessing(self) -> bool | None:
        """Whether the whole interval is below the loss of guessing, and the gain matters."""
        if self.guessing is None or self.gain is None:
            return None
        return self.interval[1] < self.guessing and self.gain > self.equivalence

    @property
    def compared_with_guessing(self) -> str:
        """How a model that does not clearly beat guessing compares with it; empty if it does."""
        if self.gain is None or self.beats_guessing:
            return ""
        return "is no better than guessing" if self.gain <= 0 else "hardly beats guessing"

    @property
    def in_words(self) -> str:
        """The loss with its interval, beside that of guessing."""
        low, high = (show_loss(value, self.measure) for value in self.interval)
        level, loss = percent_of_level(self.level), show_loss_in_unit(self.loss, self.measure)
        guessing = ""
        if self.guessing is not None:
            guessing = f"; guessing: {show_loss(self.guessing, self.measure)}"
        return f"{self.measure.name} {loss} ({level} interval {low} to {high}){guessing}"

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain JSON values."""
        return super().to_dict() | {"measure": self.measure.name}


def found_of(result: "Comparison", name: str) -> "tuple[HeldOutPredictions, LossCard] | None":
    """Return the held-out predictions of a method and its loss, for classes and numbers alike.

    Parameters
    ----------
    result : Comparison
        The comparison.
    name : str
        The method.

    Returns
    -------
    (HeldOutPredictions, LossCard) or None
        Its predictions, and its card without the loss of guessing; None if the predictions are not
        known.
    """
    candidates = {m.name: m for m in [result.methods[0], *result.compared]}
    stored = {key: result.records.held_out(key) for key in candidates}
    held_out = {key: value for key, value in stored.items() if value is not None}
    if name not in held_out:
        return None
    held, loss, level = held_out[name], candidates[name].loss, interval_level(result.level)
    tails = tails_of(level, _n_methods(list(held_out.values()), result.loss))
    interval = _interval(result, held, loss, tails)
    measure, n_methods = result.measure, len(candidates)
    return held, LossCard(name, measure, loss, interval, level, None, result.limit, n_methods)


def _loss_of_guess(guess: Predictions, loss: Loss, weight: Floats | None) -> float | None:
    """Return the loss of guessing; None if it is undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a precision of 0 / 0 is 0 here
        try:
            value = loss.of_split(guess, weight)
        except ValueError:
            return None
    return value if np.isfinite(value) else None


def _n_methods(predictions: "Sequence[HeldOutPredictions]", loss: Loss) -> float:
    """Return the number of uncorrelated methods that the eligible methods are worth."""
    if loss.of_rows is None:
        return float(len(predictions))
    losses = [row_means(one.rows, loss.of_rows(one.all)) for one in predictions]
    common = reduce(np.intersect1d, [rows for rows, _ in losses])
    return n_independent(np.column_stack([v[np.isin(rows, common)] for rows, v in losses]))


def _interval(
    result: "Comparison", held_out: "HeldOutPredictions", loss: float, tails: tuple[float, float]
) -> tuple[float, float]:
    table, of_rows = result.plan.table, result.loss.of_rows
    if of_rows is None:
        return _interval_of_scores(result, held_out, loss, tails)
    every = held_out.all
    rows, losses = row_means(held_out.rows, of_rows(every))
    groups = table.groups_of(table.known.labeled[rows])
    share = float(np.mean([len(fold.train) for fold in held_out.folds]) / table.n_labeled)
    if (weight := table.labeled_weight) is not None:  # rows of unequal weights are worth fewer
        share *= effective_size(weight[rows]) / len(rows)
    if result.loss.scoring in OF_CLASSES:
        wrong = row_means(held_out.rows, every.predicted != every.truth)[1]
        plain = result.loss.scoring == "accuracy"
        strata = np.zeros(len(rows), dtype=np.intp) if plain else table.labels.codes[rows]
        return rate_interval(loss, n_counted(wrong, strata, groups, share), tails)
    n_rows = share * len(rows) / design_effect(losses - losses.mean(), groups)
    n_units = len(rows) if groups is None else len(np.unique(groups))
    low, high = mean_interval(loss, losses, n_rows, tails, n_units, largest_cost(result.loss))
    return max(low, 0.0), high


def _interval_of_scores(
    result: "Comparison", held_out: "HeldOutPredictions", loss: float, tails: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval of a loss that is not a mean over rows, from its values in splits."""
    judge = judge_of(result.plan.table, held_out.folds, result.equivalence)
    mean = judge.difference(held_out.all, None, result.loss)
    low, high = around(loss, mean.standard_error, mean.degrees_of_freedom, tails)
    objective = result.loss.objective
    if objective is None or objective.name not in OF_POSITIVE:
        return low, high
    # The score is a share of the rows of a class, or minus the shortfall of precision.
    return max(low, -1.0), max(loss, min(high, objective.precision or 0.0))


@dataclass(frozen=True)
class ClassFigures:
    """Recall, precision and counts of a model for one class, on held-out rows.

    Attributes
    ----------
    name : str
        The class.
    n_labeled : int
        Number of its labelled rows, without chosen ones.
    recall : float or None
        Share of its rows that are predicted as this class; None if none was held out.
    precision : float or None
        Share of the rows predicted as this class that belong to it; None if there are none.
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
class ModelCard(LossCard):
    """The card of the recommended model, a classifier.

    Guessing always predicts the most frequent class, with the class shares as scores.

    Attributes
    ----------
    classes : tuple of ClassFigures
        Figures of each class.
    confusion : tuple of tuples of float
        Held-out rows by class (rows) and predicted class (columns), mean over repeats.
    roc_auc : float or None
        With two classes, the area under the ROC curve on held-out rows: how well the scores rank
        them, whatever the threshold; None for more classes or without scores.
    n_assigned : int
        Number of unlabelled rows that were assigned to classes: all, a random sample, or none.
    weighted : bool
        Whether held-out rows count by their weights, which correct for a shift.
    decides : bool
        Whether it predicts by a decision rule that was chosen for the objective it is judged by.
    rare : str
        Which classes were grouped or left out, in a sentence; empty if none was.
    details : str
        The same, under the name that it has for numbers.
    """

    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[float, ...], ...]
    roc_auc: float | None = None
    n_assigned: int = 0
    weighted: bool = False
    decides: bool = False
    rare: str = ""
    in_json = (*LossCard.in_json, "classes", "confusion", "roc_auc", "n_assigned", "rare", "alerts")

    @property
    def details(self) -> str:
        """What else is said of the model: which classes were grouped or left out."""
        return self.rare

    @property
    def neglected(self) -> list[ClassFigures]:
        """The classes with a recall near 0."""
        return [one for one in self.classes if one.recall is not None and one.recall < MIN_RECALL]

    @property
    def alerts(self) -> list[Alert]:
        """What must be known before the model is used."""
        return [*_guessing_alert(self), *_neglected_alert(self)]

    @property
    def blocks(self) -> list[PageBlock]:
        """What the model does with every class, as part of a report."""
        said: list[PageBlock] = [Text(self.rare)] if self.rare else []
        return [*said, _classes_table(self), _confusion_table(self)]

    def with_predictions(self, codes: Index) -> Self:
        """Return the card with the number of unlabelled rows that the model assigns to a class."""
        counts = np.bincount(codes, minlength=len(self.classes)).tolist()
        classes = tuple(
            replace(one, n_unlabeled=count) for one, count in zip(self.classes, counts, strict=True)
        )
        return replace(self, classes=classes, n_assigned=len(codes))


def _guessing_alert(card: ModelCard) -> list[Alert]:
    if not card.compared_with_guessing:
        return []
    text = f"The recommended model {card.compared_with_guessing}: {card.in_words}."
    if not card.neglected:  # neglected classes have an alert of their own
        text += f" {_why_guessing(card)}"
    return [Alert("guessing", text)]


def _why_guessing(card: ModelCard) -> str:
    """Return what to do about a model that hardly beats guessing."""
    if card.roc_auc is None or card.roc_auc < MIN_USEFUL_AUC:
        return "Either the columns say little about the class, or more labels are needed."
    ranks = f"Yet it ranks rows well (area under the ROC curve {card.roc_auc:.2f})"
    if card.decides:
        rarer = repr(card.classes[_rarer(card)].name)
        return (
            f"{ranks}: label more rows, above all of {rarer}, so that its decision rule becomes "
            "more certain."
        )
    if card.measure.name != measure_of(RANKING).name and _rarely_predicts_the_rarer(card):
        return (
            f"{ranks}: hardly any row is more likely than not to be of the rarer class, so "
            f"{SAY_COSTS}, or compare by the scoring {RANKING}."
        )
    return f"{ranks}: more labels are needed to say whether it is better than guessing."


def _rarer(card: ModelCard) -> int:
    """Return the class with the fewest held-out rows."""
    return int(np.argmin(np.sum(card.confusion, axis=1)))


def _rarely_predicts_the_rarer(card: ModelCard) -> bool:
    """Return whether the rarer class is predicted for far fewer rows than belong to it."""
    counts, rarer = np.array(card.confusion), _rarer(card)
    return bool(counts[:, rarer].sum() < SELDOM_SHARE * counts[rarer].sum())


def _neglected_alert(card: ModelCard) -> list[Alert]:
    if not card.neglected:
        return []
    column = {one.name: sum(row[k] for row in card.confusion) for k, one in enumerate(card.classes)}
    never = [one for one in card.neglected if column[one.name] == 0]
    rest = [one for one in card.neglected if column[one.name] > 0]
    faults = [f"never predicts {_with_counts(never)}"] if never else []
    if rest:
        faults.append(f"finds less than {MIN_RECALL:.0%} of the rows of class {_with_counts(rest)}")
    text = f"On held-out rows, the recommended model {' and '.join(faults)}. {_advice(card)}"
    return [Alert("neglected class", text)]


def _with_counts(classes: Sequence[ClassFigures]) -> str:
    return listed([f"{one.name!r} ({one.n_labeled} labelled)" for one in classes])


def _advice(card: ModelCard) -> str:
    """Return what to do about classes that are not found."""
    if card.decides:
        return (
            "That is best for what it is judged by, as far as these labels show: if rows of it are "
            "to be found, raise the cost of missing them, or label more."
        )
    single = len(card.neglected) == 1
    which, matter = ("that class", "matters") if single else ("those classes", "matter")
    scorings = [one for one in OTHER_SCORINGS if measure_of(one).name != card.measure.name]
    scoring = f"compare by another scoring, such as {' or '.join(scorings)}"
    advice = f"{scoring}, or label more rows of {which}"
    if card.roc_auc is None or card.roc_auc < MIN_USEFUL_AUC:
        return f"If {which} {matter}, {advice}."
    return (
        "Its scores still tell the classes apart (area under the ROC curve "
        f"{card.roc_auc:.2f}): if {which} {matter}, {SAY_COSTS}, {advice}."
    )


def card_of(result: "Comparison", name: str) -> ModelCard | None:
    """Return the card of a method, from the predictions of a comparison of classifiers.

    Parameters
    ----------
    result : Comparison
        The comparison.
    name : str
        The method.

    Returns
    -------
    ModelCard or None
        The card, without counts of unlabelled rows. None if the predictions are not known.
    """
    judged = found_of(result, name)
    if judged is None:
        return None
    (held_out, card), table = judged, result.plan.table
    labels = table.labels_drawn
    confusion = _confusion(held_out, len(labels.classes), table.labeled_weight)
    weight = table.weight_of(labels.labeled)
    guess = guessing_loss(labels.codes, len(labels.classes), result.loss, weight)
    return ModelCard(
        **vars(replace(card, guessing=guess)),
        classes=_figures(confusion, labels),
        confusion=tuple(map(tuple, confusion.tolist())),
        roc_auc=_roc_auc(held_out),
        weighted=weight is not None,
        decides=result.loss.objective is not None and result.loss.objective.has_rule,
        rare="" if table.rare is None else table.rare.text,
    )


# A class is rare with at most this share of the labels, and has few labels below this number: both
# make its errors invisible in an accuracy.
RARE_SHARE, FEW_LABELS = 0.1, 20
# The probability, for all classes together, of as few labels in one of several equal classes, up to
# which chance does not explain them.
MAX_CHANCE = 0.05


def rare_class_alerts(labels: KnownLabels, loss: Loss) -> list[Alert]:
    """Return an alert that errors say little, if a class is rare and has few labels.

    Of many classes none is frequent, so a rare one also has fewer labels than any would have by
    chance if all were equally frequent.
    """
    counts, names = labels.counts, labels.classes.tolist()
    rarest, total = int(counts.argmin()), int(counts.sum())
    count = int(counts[rarest])
    if loss.scoring != "accuracy" or count > RARE_SHARE * total or count >= FEW_LABELS:
        return []
    if len(names) * stats.binom.cdf(count, total, 1 / len(names)) > MAX_CHANCE:
        return []
    name, other = names[rarest], names[int(counts.argmax())]
    also = "balanced_accuracy"
    if len(names) == 2:
        also = f"average_precision with positive={name!r} (--positive)"
    text = (
        f"Only {count} of the {total} labelled rows are of class {name!r}: a model that never "
        f"predicts it has an error of {show_loss(count / total, loss.measure)}, so that a "
        "verdict on errors says little about it. If it matters, say what errors cost (cost= of "
        f"compare, --cost '{name}:{other}=5'), or compare by the scoring {also}, and label "
        "more rows of it."
    )
    return [Alert("rare class", text)]


def guessing_loss(
    codes: Index, n_classes: int, loss: Loss, weight: Floats | None = None
) -> float | None:
    """Return the loss of always predicting the most frequent class; None if it is undefined.

    The scores are the shares of the classes, by the weights of the rows. If errors have costs, the
    cheapest class is predicted.
    """
    totals = np.bincount(codes, weight, n_classes)
    shares = totals / totals.sum()
    guess = shares.argmax()
    if loss.objective is not None and loss.objective.cost is not None:
        guess = (shares @ np.array(loss.objective.cost)).argmin()
    predicted = np.full(len(codes), guess)
    guessed = Predictions(codes, predicted, np.tile(shares, (len(codes), 1)))
    return _loss_of_guess(guessed, loss, weight)


def _confusion(held_out: "HeldOutPredictions", n_classes: int, weight: Floats | None) -> Floats:
    """Return held-out rows by class and predicted class; each row counts once, or its weight."""
    every, rows = held_out.all, held_out.rows
    counts = np.zeros((n_classes, n_classes))
    weights = 1.0 if weight is None else weight[rows]
    np.add.at(counts, (every.truth, every.predicted), weights / np.bincount(rows)[rows])
    return counts


def _figures(confusion: Floats, labels: KnownLabels) -> tuple[ClassFigures, ...]:
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


def _roc_auc(held_out: "HeldOutPredictions") -> float | None:
    every = held_out.all
    if every.scores is None or every.scores.shape[1] != 2:
        return None
    columns = every.truth, every.scores[:, 1]
    truth, scores = (row_means(held_out.rows, column)[1] for column in columns)
    return float(roc_auc_score(truth, scores)) if len(np.unique(truth)) == 2 else None


def _classes_table(card: ModelCard) -> PageTable:
    header = ["Class", "Labelled rows", "Recall", "Precision"]
    caption = (
        "What the model does with every class, on held-out rows. Recall: share of the rows of the "
        "class that it finds. Precision: share of the rows predicted as the class that belong to "
        "it; none, if it never predicts the class."
    )
    rows: list[list[object]] = [
        [c.name, Cell.of(c.n_labeled), Cell.of(c.recall, ".0%"), Cell.of(c.precision, ".0%")]
        for c in card.classes
    ]
    if card.n_assigned:
        header.append("Unlabelled rows")
        caption += (
            " Unlabelled rows: how many the model, fitted to all rows, assigns to the class, of "
            f"{counted(card.n_assigned, 'row')}."
        )
        for row, figures in zip(rows, card.classes, strict=True):
            row.append(Cell.of(figures.n_unlabeled or 0))
    return PageTable.of(caption, header, rows)


def _confusion_table(card: ModelCard) -> PageTable:
    names = [one.name for one in card.classes]
    rows = [
        (name, *(Cell(f"{n:,.1f}".removesuffix(".0"), bold=j == k) for j, n in enumerate(counts)))
        for k, (name, counts) in enumerate(zip(names, card.confusion, strict=True))
    ]
    caption = (
        "Confusion matrix: held-out rows by true class (one row each) and predicted class "
        f"(columns), mean over the repeats{', weighted' if card.weighted else ''}. Bold: right."
    )
    return PageTable.of(caption, ("True class", *(f"predicted {name}" for name in names)), rows)


@dataclass(frozen=True)
class NamedRow:
    """A row of the table.

    Attributes
    ----------
    row : int
        Its position among all rows, from 0.
    id : str or None
        Its identifier, if the table has a column of these.
    """

    row: int
    id: str | None

    @property
    def shown(self) -> str:
        """Its id, or its number from 1."""
        return str(self.row + 1) if self.id is None else self.id


def id_of(ids: AnyArray | None, row: int) -> str | None:
    """Return the identifier of a row, if it is known."""
    return None if ids is None or row >= len(ids) or ids[row] is None else str(ids[row])


def _how_named(rows: Sequence[NamedRow]) -> str:
    """Return how the rows of a table are named, in a sentence."""
    by_id = any(one.id is not None for one in rows)
    return "Row: its id." if by_id else "Row: its number, from 1."


@dataclass(frozen=True)
class Residual(NamedRow):
    """A labelled row, and what the model predicted for it when it was held out.

    Attributes
    ----------
    row, id
        As of a ``NamedRow``.
    truth, predicted : float
        Its number, and the mean prediction over repeats.
    """

    truth: float
    predicted: float


@dataclass(frozen=True)
class NumberCard(LossCard):
    """The card of the recommended model, a regressor.

    Guessing predicts the mean of the known numbers for every row.

    Attributes
    ----------
    r2 : float
        Share of the variance of held-out rows that is explained; below 0 it is worse than guessing.
    typical_error, large_error : float
        The median and the 90% quantile of the absolute errors of held-out rows.
    residuals : tuple of Residual
        Held-out rows, the largest errors first; at most a thousand, the others at random.
    known_range : (float, float)
        The smallest and the largest known number.
    unit : str
        Shown after a number, with a space before it; empty if it is not known.
    digits : int
        Digits after the decimal point of a number.
    n_outside : int or None
        Number of unlabelled rows for which the model, fitted to all rows, predicts a number outside
        of that range; None if it was not fitted.
    n_unlabeled : int
        Number of unlabelled rows for which it predicts.
    classes : tuple
        Empty: there are no classes.
    """

    r2: float
    typical_error: float
    large_error: float
    residuals: tuple[Residual, ...]
    known_range: tuple[float, float]
    unit: str = ""
    digits: int = 3
    n_outside: int | None = None
    n_unlabeled: int = 0
    classes = ()
    in_json = (
        *(*LossCard.in_json, "r2", "typical_error", "large_error", "residuals", "known_range"),
        *("n_outside", "n_unlabeled", "alerts"),
    )

    @property
    def largest(self) -> tuple[Residual, ...]:
        """The rows with the largest errors."""
        return self.residuals[:MAX_RESIDUALS]

    @property
    def details(self) -> str:
        """How large the errors of the model are, in one or two sentences."""
        text = (
            f"It explains {max(self.r2, 0.0):.0%} of the variance. Half of the held-out rows are "
            f"off by at most {self.show(self.typical_error)}{self.unit}, nine in ten by at most "
            f"{self.show(self.large_error)}."
        )
        if self.n_outside:
            low, high = map(self.show, self.known_range)
            text += (
                f" For {self.n_outside:,} of {counted(self.n_unlabeled, 'unlabelled row')} it "
                f"predicts a number outside the range of the known ones, {low} to {high}."
            )
        return text

    def show(self, number: float) -> str:
        """Return a number with its digits."""
        return f"{number:,.{self.digits}f}"

    @property
    def alerts(self) -> list[Alert]:
        """What must be known before the model is used."""
        alerts = _outlier_alert(self)
        if not self.compared_with_guessing:
            return alerts
        text = (
            f"The recommended model {self.compared_with_guessing} (the mean of the labels): "
            f"{self.in_words}. Either the columns say little about the number, or more labels are "
            "needed."
        )
        return [Alert("guessing", text), *alerts]

    @property
    def blocks(self) -> list[PageBlock]:
        """The errors, predicted numbers against true ones, and the largest errors."""
        return [Text(self.details), _picture(self)]

    def with_predictions(self, numbers: Floats) -> Self:
        """Return the card with what the model predicts for the unlabelled rows."""
        low, high = self.known_range
        outside = int(np.count_nonzero((numbers < low) | (numbers > high)))
        return replace(self, n_outside=outside, n_unlabeled=len(numbers))


def _outlier_alert(card: NumberCard) -> list[Alert]:
    """Return an alert if a few rows make up most of the squared error."""
    squares = np.array([(one.predicted - one.truth) ** 2 for one in card.residuals])
    few = int(FEW_ROWS_SHARE * len(squares))
    if few < 1 or squares[:few].sum() <= MIN_ERROR_SHARE * squares.sum():
        return []
    shares = np.cumsum(squares) / squares.sum()
    n_rows = int(np.searchsorted(shares, MIN_ERROR_SHARE)) + 1
    make = "makes" if n_rows == 1 else "make"
    which = "it is" if n_rows == 1 else "they are"
    return [
        Alert(
            "outliers",
            f"{counted(n_rows, 'labelled row')} of {len(squares)} {make} up "
            f"{shares[n_rows - 1]:.0%} of the squared error: check whether {which} right (the "
            "report lists the largest errors), or compare by the scoring neg_mean_absolute_error.",
        )
    ]


def digits_of(numbers: Floats) -> int:
    """Return the digits after the decimal point with which numbers are shown."""
    return number_measure(RMSE, numbers).digits


def number_card_of(result: "Comparison", name: str, unit: str, digits: int) -> NumberCard | None:
    """Return the card of a method, from the predictions of a comparison of regressors.

    Parameters
    ----------
    result : Comparison
        The comparison.
    name : str
        The method.
    unit : str
        Unit of the numbers; may be empty.
    digits : int
        Digits after the decimal point of a number.

    Returns
    -------
    NumberCard or None
        The card, without counts of unlabelled rows. None if the predictions are not known.
    """
    judged = found_of(result, name)
    if judged is None:
        return None
    (held_out, card), table = judged, result.plan.table
    rows, predicted = row_means(held_out.rows, held_out.all.predicted)
    truth = table.truth[rows]
    errors, drawn = np.abs(predicted - truth), table.drawn.values
    typical, large = np.quantile(errors, [0.5, 0.9]).tolist()
    variance = float(np.mean((truth - truth.mean()) ** 2))
    weight = table.weight_of(table.drawn.labeled)
    mean = Predictions(drawn, np.full(len(drawn), np.average(drawn, weights=weight)), None)
    return NumberCard(
        **vars(replace(card, guessing=_loss_of_guess(mean, result.loss, weight))),
        r2=1 - float(np.mean(errors**2)) / variance if variance else 0.0,
        typical_error=typical,
        large_error=large,
        residuals=_residuals(table.known.labeled[rows], truth, predicted, result.row_ids),
        known_range=(float(drawn.min()), float(drawn.max())),
        unit=f" {unit}" if unit else "",
        digits=digits,
    )


def _residuals(
    rows: Index, truth: Floats, predicted: Floats, ids: AnyArray | None
) -> tuple[Residual, ...]:
    """Return rows by decreasing error; of very many, the largest and a sample of the rest."""
    order = np.argsort(-np.abs(predicted - truth), kind="stable")
    if len(order) > MAX_POINTS:
        rest = np.random.default_rng(0).permutation(np.arange(MAX_RESIDUALS, len(order)))
        shown = np.append(np.arange(MAX_RESIDUALS), np.sort(rest[: MAX_POINTS - MAX_RESIDUALS]))
        order = order[shown]
    return tuple(
        Residual(int(rows[i]), id_of(ids, rows[i]), float(truth[i]), float(predicted[i]))
        for i in order
    )


def _picture(card: NumberCard) -> Chart:
    unit = f" ({card.unit.strip()})" if card.unit else ""
    points = [(one.truth, one.predicted) for one in card.residuals]
    largest = card.largest[0]
    drawing = scatter_chart(
        points,
        (f"True number{unit}", f"Predicted number{unit}"),
        f"Predicted against true numbers of {len(points)} held-out rows; R² {card.r2:.2f}. The "
        f"largest error is {abs(largest.predicted - largest.truth):.{card.digits}f}.",
    )
    caption = (
        f"Predicted against true numbers of {counted(len(points), 'held-out row')}{unit}, each "
        "predicted by models that have not seen it, mean over the repeats. On the line both are "
        "equal: points below it are predicted too low, points above it too high."
    )
    return Chart(drawing, caption, _largest_errors(card))


def _largest_errors(card: NumberCard) -> PageTable:
    caption = (
        f"The {len(card.largest)} largest errors of {len(card.residuals)} held-out rows. "
        f"{_how_named(card.largest)} Error: predicted minus true."
    )
    rows = [
        (one.shown, *_two_and_change(one.truth, one.predicted, card.digits)) for one in card.largest
    ]
    return PageTable.of(caption, ("Row", "True", "Predicted", "Error"), rows)


def _two_and_change(first: float, second: float, digits: int) -> list[Cell]:
    """Return two numbers, and the second minus the first, as cells."""
    form = f",.{digits}f"
    return [Cell.of(first, form), Cell.of(second, form), Cell.of(second - first, f"+{form}")]


@dataclass(frozen=True)
class ChangedRow(NamedRow):
    """An unlabelled row with the predictions of a method and of the baseline.

    Attributes
    ----------
    row, id
        As of a ``NamedRow``.
    baseline, method : str or float
        The class, or number, that each predicts.
    """

    baseline: Any
    method: Any


@dataclass(frozen=True)
class Changes(PlainRecord):
    """The unlabelled rows that a method and the baseline assign to different classes.

    Attributes
    ----------
    method : str
        Name of the method.
    n_compared : int
        Number of unlabelled rows for which both predicted a class: all, or a random sample.
    n_changed : int
        Number of these with different classes.
    counts : list of (str, str, int)
        Class by the baseline, class by the method and number of rows, most frequent first.
    rows : list of ChangedRow
        The first thousand of them.
    """

    method: str
    n_compared: int
    n_changed: int
    counts: list[tuple[str, str, int]]
    rows: list[ChangedRow]

    @property
    def blocks(self) -> tuple[list[PageBlock], list[PageBlock]]:
        """The rows that change, as parts of a report: by pair of classes, and one by one."""
        method = with_article(self.method)
        text = (
            f"Fitted to all rows, {method} and the baseline predict different classes for "
            f"{self.n_changed:,} of {counted(self.n_compared, 'unlabelled row')}."
        )
        if not self.n_changed:
            return [Text(text)], []
        header = ("By the baseline", f"By {method}")
        pairs = [(old, new, Cell.of(count)) for old, new, count in self.counts]
        by_class = PageTable.of("Unlabelled rows by predicted class.", (*header, "Rows"), pairs)
        cells = [(row.shown, row.baseline, row.method) for row in self.rows[:MAX_SHOWN]]
        first = f"The first {len(cells)} of these rows. {_how_named(self.rows)}"
        rows = PageTable.of(first, ("Row", *header), cells)
        return [Text(text), by_class], [Folded("Which rows", rows)]


@dataclass(frozen=True)
class NumberChanges(PlainRecord):
    """How far the predictions of a method and the baseline for unlabelled rows differ.

    Attributes
    ----------
    method : str
        Name of the method.
    n_compared : int
        Number of unlabelled rows.
    typical_change : float
        The root mean square of the difference.
    rows : list of ChangedRow
        The thousand rows that differ most, the largest difference first.
    digits : int
        Digits after the decimal point of a number.
    """

    method: str
    n_compared: int
    typical_change: float
    rows: list[ChangedRow]
    digits: int = 3

    @property
    def blocks(self) -> tuple[list[PageBlock], list[PageBlock]]:
        """How far the predictions change, and the rows that change most, as parts of a report."""
        method = with_article(self.method)
        text = (
            f"Fitted to all rows, {method} and the baseline differ by "
            f"{self.typical_change:,.{self.digits}f} (root mean square) in their predictions for "
            f"{counted(self.n_compared, 'unlabelled row')}."
        )
        cells = [
            (row.shown, *_two_and_change(row.baseline, row.method, self.digits))
            for row in self.rows[:MAX_SHOWN]
        ]
        if not cells:
            return [Text(text)], []
        header = ("Row", "By the baseline", f"By {method}", "Change")
        caption = f"The {len(cells)} rows that differ most. {_how_named(self.rows)}"
        return [Text(text)], [Folded("Which rows", PageTable.of(caption, header, cells))]


def changes_of(result: "Comparison", method: str) -> Changes:
    """Return the unlabelled rows for which a method and the baseline predict other classes."""
    names = [str(name) for name in result.plan.table.labels.classes.tolist()]
    codes = result.predicted(method), result.predicted(BASELINE)
    changed = np.flatnonzero(codes[0] != codes[1]).tolist()
    predicted, baseline = ([names[code] for code in of_model] for of_model in codes)
    pairs = Counter((baseline[i], predicted[i]) for i in changed)
    counts = [(old, new, count) for (old, new), count in pairs.most_common()]
    rows = _changed_rows(result, changed, baseline, predicted)
    return Changes(method, len(predicted), len(changed), counts, rows)


def number_changes_of(result: "Comparison", method: str, digits: int) -> NumberChanges:
    """Return how the numbers that a method and the baseline predict for unlabelled rows differ."""
    predicted, baseline = result.predicted(method), result.predicted(BASELINE)
    changes = predicted - baseline
    order: Sequence[int] = np.argsort(-np.abs(changes), kind="stable").tolist()
    rows = _changed_rows(result, order, baseline.tolist(), predicted.tolist())
    return NumberChanges(method, len(predicted), float(np.sqrt(np.mean(changes**2))), rows, digits)


def _changed_rows(
    result: "Comparison", places: Sequence[int], baseline: Sequence[Any], predicted: Sequence[Any]
) -> list[ChangedRow]:
    """Return the first of the unlabelled rows at some places, with both predictions."""
    rows, ids = result.plan.table.known.unlabeled.tolist(), result.row_ids
    first = places[:MAX_LISTED_CHANGES]
    return [ChangedRow(rows[i], id_of(ids, rows[i]), baseline[i], predicted[i]) for i in first]
