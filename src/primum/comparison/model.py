"""The model to deploy: what is known of it, how it is fitted to all rows, and what it changes.

Its card comes from predictions for rows that were held out, except for the number of unlabelled
rows in every class, which the model fitted to all rows predicts. The interval of its loss allows
for the rows it is estimated from, for training sets that are smaller than the final one, and for
the choice among the methods: see ``primum.judging.difference``.

The models fitted to all rows show the unlabelled rows that a method classifies differently than the
baseline, and the coefficients of a linear baseline.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_auc_score

from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats, Index
from primum._words import listed
from primum.comparison.arguments import with_preparation
from primum.comparison.plan import ComparisonPlan
from primum.comparison.records import HeldOutPredictions
from primum.comparison.run import fit_entry, fit_whole
from primum.comparison.words import BASELINE, show_loss, show_loss_in_unit
from primum.comparison.workers import seeded
from primum.judging.difference import (
    around,
    design_effect,
    mean_interval,
    n_counted,
    n_independent,
    rate_interval,
    row_means,
    tails_of,
)
from primum.judging.held_out import largest_cost
from primum.judging.losses import OF_CLASSES, Loss, Measure, Predictions, measure_of
from primum.judging.objectives import OF_POSITIVE
from primum.judging.words import Alert, interval_level, percent_of_level
from primum.reading.classifiers import Entry, last_step
from primum.reading.data import effective_size
from primum.reading.labels import KnownLabels

if TYPE_CHECKING:
    from primum.comparison.result import ComparisonResult

# A class of which fewer rows are found is as good as never predicted.
LEAST_RECALL = 0.05
# From here on, scores rank the rows well enough that another threshold is worth trying.
USEFUL_RANKING = 0.6
# What moves the threshold of a model that finds too few rows of a class.
SAY_COSTS = "say what errors cost (cost= of compare, --cost), and the model adjusts its threshold"
# By which a model that ignores a rare class is not good.
RANKING = "roc_auc"
OTHER_SCORINGS = ("balanced_accuracy", RANKING)
# A class that is predicted for a smaller share of the number of its rows is seldom predicted.
SELDOM = 0.5


@dataclass(frozen=True)
class ClassFigures:
    """What a model does with one class, on held-out rows.

    Attributes
    ----------
    name : str
        The class.
    n_labeled : int
        Number of its labelled rows, without chosen ones.
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
class LossCard:
    """What is known of the loss of the recommended model, whatever it predicts.

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
    def alerts(self) -> list[Alert]:
        """What must be known before the model is used."""
        raise NotImplementedError

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
        }


@dataclass(frozen=True)
class ModelCard(LossCard):
    """What is known of the recommended model, a classifier.

    Guessing is the most frequent class always, with the shares of the classes as scores.

    Attributes
    ----------
    classes : tuple of ClassFigures
        What it does with every class.
    confusion : tuple of tuples of float
        Held-out rows by class (rows) and predicted class (columns), mean over repeats.
    roc_auc : float or None
        Of two classes, the area under the ROC curve on held-out rows: how well the scores rank
        them, whatever the threshold; None for more classes or without scores.
    n_assigned : int
        Number of unlabelled rows that were assigned to classes: all, a random sample, or none.
    weighted : bool
        Whether held-out rows count by their weights, those of a shift.
    decides : bool
        Whether it predicts by a decision rule that was chosen for what it is judged by.
    """

    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[float, ...], ...]
    roc_auc: float | None = None
    n_assigned: int = 0
    weighted: bool = False
    decides: bool = False

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
        return super().to_dict() | {
            "classes": [asdict(one) for one in self.classes],
            "confusion": [list(row) for row in self.confusion],
            "roc_auc": self.roc_auc,
            "n_assigned": self.n_assigned,
            "alerts": [alert.to_dict() for alert in self.alerts],
        }


def loss_in_words(card: LossCard) -> str:
    """Return the loss with its interval, beside that of guessing."""
    low, high = (show_loss(value, card.measure) for value in card.interval)
    level, loss = percent_of_level(card.level), show_loss_in_unit(card.loss, card.measure)
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
    """Return what to do about a model that hardly beats guessing."""
    if card.roc_auc is None or card.roc_auc < USEFUL_RANKING:
        return "Either the columns say little about the class, or more labels are needed."
    ranks = f"Yet it ranks rows well (area under the ROC curve {card.roc_auc:.2f})"
    if card.decides:
        rarer = repr(card.classes[_rarer(card)].name)
        return (
            f"{ranks}: label more rows, above all of {rarer}, so that its decision rule becomes "
            "more certain."
        )
    if card.measure != measure_of(RANKING) and _rarely_predicts_the_rarer(card):
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
    return bool(counts[:, rarer].sum() < SELDOM * counts[rarer].sum())


def _neglected_alert(card: ModelCard) -> list[Alert]:
    if not card.neglected:
        return []
    column = {one.name: sum(row[k] for row in card.confusion) for k, one in enumerate(card.classes)}
    never = [one for one in card.neglected if column[one.name] == 0]
    rest = [one for one in card.neglected if column[one.name] > 0]
    found = [f"never predicts {_with_counts(never)}"] if never else []
    if rest:
        found.append(
            f"finds less than {LEAST_RECALL:.0%} of the rows of class {_with_counts(rest)}"
        )
    text = f"The recommended model {' and '.join(found)}. {_advice(card)}"
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
    one = len(card.neglected) == 1
    which, matter = ("that class", "matters") if one else ("those classes", "matter")
    scorings = [name for name in OTHER_SCORINGS if measure_of(name) != card.measure]
    scoring = f"compare by another scoring, such as {' or '.join(scorings)}"
    advice = f"{scoring}, or label more rows of {which}"
    if card.roc_auc is None or card.roc_auc < USEFUL_RANKING:
        return f"If {which} {matter}, {advice}."
    return (
        "Its scores still tell the classes apart (area under the ROC curve "
        f"{card.roc_auc:.2f}): if {which} {matter}, {SAY_COSTS}, {advice}."
    )


@dataclass(frozen=True)
class FoundLoss:
    """What held-out rows say of the loss of a method, whatever it predicts.

    Attributes
    ----------
    own : HeldOutPredictions
        Its predictions.
    figures : dict
        The attributes of a ``LossCard`` other than the loss of guessing.
    """

    own: HeldOutPredictions
    figures: dict[str, Any]


def found_of(result: "ComparisonResult", name: str) -> FoundLoss | None:
    """Return what is known of the loss of a method; None if its predictions are not known.

    Parameters
    ----------
    result : ComparisonResult
        The comparison.
    name : str
        The method.

    Returns
    -------
    FoundLoss or None
        Its held-out predictions, and the figures of its card.
    """
    candidates = {m.name: m for m in [result.methods[0], *result.compared]}
    stored = {key: result.records.held_out(key) for key in candidates}
    held_out = {key: value for key, value in stored.items() if value is not None}
    if name not in held_out:
        return None
    own, loss, level = held_out[name], candidates[name].loss, interval_level(result.level)
    tails = tails_of(level, _n_methods(list(held_out.values()), result.loss))
    figures = {
        "name": name,
        "measure": result.loss.measure,
        "loss": loss,
        "interval": _interval(result, own, loss, tails),
        "level": level,
        "equivalence": result.limit,
        "n_methods": len(candidates),
    }
    return FoundLoss(own, figures)


def card_of(result: "ComparisonResult", name: str) -> ModelCard | None:
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
    found = found_of(result, name)
    if found is None:
        return None
    table, own = result.plan.table, found.own
    labels = table.labels_drawn
    confusion = _confusion(own, len(labels.classes), table.labeled_weight)
    weight = table.weight_of(labels.labeled)
    return ModelCard(
        **found.figures,
        guessing=guessing_loss(labels.codes, len(labels.classes), result.loss, weight),
        classes=_figures(confusion, labels),
        confusion=tuple(map(tuple, confusion.tolist())),
        roc_auc=_roc_auc(own),
        weighted=weight is not None,
        decides=result.loss.objective is not None and result.loss.objective.has_rule,
    )


def with_assigned(card: ModelCard, counts: Sequence[int]) -> ModelCard:
    """Return a card with the number of unlabelled rows that the model assigns to every class."""
    classes = tuple(
        replace(one, n_unlabeled=int(count))
        for one, count in zip(card.classes, counts, strict=True)
    )
    return replace(card, classes=classes, n_assigned=int(sum(counts)))


def guessing_loss(
    codes: Index, n_classes: int, loss: Loss, weight: Floats | None = None
) -> float | None:
    """Return the loss of the most frequent class for every row, or None if it is undefined.

    Its scores are the shares of the classes, by the weights of the rows. If errors have costs, it
    is the cheapest class.
    """
    totals = np.bincount(codes, weight, n_classes)
    shares = totals / totals.sum()
    guess = shares.argmax()
    if loss.objective is not None and loss.objective.cost is not None:
        guess = (shares @ np.array(loss.objective.cost)).argmin()
    predicted = np.full(len(codes), guess)
    guessed = Predictions(codes, predicted, np.tile(shares, (len(codes), 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a precision of 0 / 0 is 0 here
        try:
            value = loss.of_split(guessed, weight)
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
    result: "ComparisonResult", own: HeldOutPredictions, loss: float, tails: tuple[float, float]
) -> tuple[float, float]:
    table, of_rows = result.plan.table, result.loss.of_rows
    if of_rows is None:
        return _interval_of_scores(result, own, loss, tails)
    found = own.all
    rows, losses = row_means(own.rows, of_rows(found))
    groups = None if table.groups is None else table.groups[table.known.labeled][rows]
    share = _training_share(own, table.n_labeled)
    if (weight := table.labeled_weight) is not None:  # rows of unequal weights are worth fewer
        share *= effective_size(weight[rows]) / len(rows)
    if result.loss.scoring in OF_CLASSES:
        wrong = row_means(own.rows, found.predicted != found.truth)[1]
        plain = result.loss.scoring == "accuracy"
        strata = np.zeros(len(rows), dtype=np.intp) if plain else table.labels.codes[rows]
        return rate_interval(loss, n_counted(wrong, strata, groups, share), tails)
    n_rows = share * len(rows) / design_effect(losses - losses.mean(), groups)
    n_units = len(rows) if groups is None else len(np.unique(groups))
    low, high = mean_interval(loss, losses, n_rows, tails, n_units, largest_cost(result.loss))
    return max(low, 0.0), high


def _training_share(own: HeldOutPredictions, n_labeled: int) -> float:
    return float(np.mean([len(fold.train) for fold in own.folds]) / n_labeled)


def _interval_of_scores(
    result: "ComparisonResult", own: HeldOutPredictions, loss: float, tails: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval of a loss that is not a mean over rows, from its values in splits."""
    mean = result.plan.judge(own.folds, result.equivalence).difference(own.all, None, result.loss)
    low, high = around(loss, mean.standard_error, mean.degrees_of_freedom, tails)
    objective = result.loss.objective
    if objective is None or objective.name not in OF_POSITIVE:
        return low, high
    # A share of the rows of a class, or less what its precision lacks.
    return max(low, -1.0), max(loss, min(high, objective.precision or 0.0))


def _confusion(own: HeldOutPredictions, n_classes: int, weight: Floats | None) -> Floats:
    """Return held-out rows by class and predicted class; each row counts once, or its weight."""
    found, rows = own.all, own.rows
    counts = np.zeros((n_classes, n_classes))
    each = 1.0 if weight is None else weight[rows]
    np.add.at(counts, (found.truth, found.predicted), each / np.bincount(rows)[rows])
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


def _roc_auc(own: HeldOutPredictions) -> float | None:
    found = own.all
    if found.scores is None or found.scores.shape[1] != 2:
        return None
    truth, scores = (row_means(own.rows, values)[1] for values in (found.truth, found.scores[:, 1]))
    return float(roc_auc_score(truth, scores)) if len(np.unique(truth)) == 2 else None


# Rows that are listed; the counts are of all rows.
MAX_LISTED = 1000


@dataclass(frozen=True)
class ChangedRow:
    """An unlabelled row for which a method and the baseline predict different classes.

    Attributes
    ----------
    row : int
        Its position among all rows, from 0.
    id : str or None
        What identifies it, if the table has a column for that.
    baseline, method : str
        The class by either.
    """

    row: int
    id: str | None
    baseline: str
    method: str


@dataclass(frozen=True)
class Changes:
    """Which unlabelled rows a method and the baseline assign to different classes.

    Attributes
    ----------
    method : str
        Name of the method.
    n_compared : int
        Number of unlabelled rows for which both predicted a class: all, or a random sample.
    n_changed : int
        Number of those with different classes.
    counts : list of (str, str, int)
        Class by the baseline, class by the method, number of rows; most frequent first.
    rows : list of ChangedRow
        The first thousand of them.
    """

    method: str
    n_compared: int
    n_changed: int
    counts: list[tuple[str, str, int]]
    rows: list[ChangedRow]

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as plain JSON values."""
        return asdict(self) | {"counts": [list(count) for count in self.counts]}


@dataclass(frozen=True)
class Coefficient:
    """The weight of a feature in a linear baseline.

    Attributes
    ----------
    model : str
        Name of the baseline.
    feature : str
        Name of the prepared feature.
    of_class : str
        The class whose score it is a part of; of two classes, the second; empty for numbers.
    value : float
        The coefficient. Above 0, larger values of the feature make the class more likely, or the
        number larger.
    """

    model: str
    feature: str
    of_class: str
    value: float

    @property
    def direction(self) -> str:
        """What larger values of the feature mean."""
        if self.value == 0:
            return "no effect"
        if not self.of_class:
            return "larger" if self.value > 0 else "smaller"
        return f"{'more' if self.value > 0 else 'less'} likely {self.of_class}"

    def to_dict(self) -> dict[str, Any]:
        """Return the coefficient as plain JSON values."""
        return asdict(self) | {"direction": self.direction}


def fit_model(plan: ComparisonPlan, name: str, prepare: Any) -> Any:
    """Return a method, or the averaged baseline, fitted to all rows by the names of classes.

    It has the seeds of its first fit, so that the model is the one judged.
    """
    for entry in plan.cross_fitted:
        if entry.name == name and entry.is_of_primum:
            return fit_whole(plan, entry)
    return fit_to_all(plan, name, prepare)


def fit_to_all(plan: ComparisonPlan, name: str, prepare: Any) -> Any:
    """Return a method, or the averaged baseline, fitted to all rows by the names of classes.

    Parameters
    ----------
    plan : ComparisonPlan
        The rows and classifiers.
    name : str
        Which of them.
    prepare : transformer or None
        Put before every classifier.

    Returns
    -------
    classifier
        With the seeds of its first fit.
    """
    target, rows = plan.table.target, np.arange(plan.table.n_rows)
    y = target.names
    if name == BASELINE:
        entry = _average(plan, prepare)
    else:
        entry = target.deployable(next(entry for entry in plan.entries if entry.name == name))
    if not entry.uses_unlabeled:
        rows, y = target.known.labeled, target.known_names
    groups, chosen = (
        None if values is None else values[rows] for values in (plan.groups, plan.table.chosen)
    )
    weight = plan.table.weight_of(rows)
    one = Entry(entry.name, seeded(entry.estimator, plan.seed, entry.name, 0))
    with one_blas_thread():
        # Rows without a label are left out above, so that all of these are used.
        return fit_entry(one, take_rows(plan.table.X, rows), y, groups, chosen, weight)


def _average(plan: ComparisonPlan, prepare: Any) -> Entry:
    """Return the average of the baselines as one model."""
    entries, target = plan.baselines, plan.table.target
    if not target.can_be_averaged(entries):
        lacking = next(e.name for e in entries if not hasattr(e.estimator, "predict_proba"))
        raise ValueError(
            f"The baseline {lacking!r} has no predict_proba, so that the average of the baselines "
            "cannot be fitted as a model: calibrate it with CalibratedClassifierCV."
        )
    if len(entries) == 1:
        return entries[0]
    # scikit-learn refuses double underscores in names.
    parts = [
        (e.name.replace("__", "_"), e.estimator if prepare is None else last_step(e.estimator))
        for e in entries
    ]
    average = with_preparation(prepare, target.average(parts), False)
    return Entry(BASELINE, average, False)


def changes_of(
    method: str,
    own: AnyArray,
    baseline: AnyArray,
    rows: AnyArray,
    classes: Sequence[Any],
    ids: Any = None,
) -> Changes:
    """Return the changes between the predicted codes of some rows."""
    names = [str(name) for name in classes]
    changed = np.flatnonzero(own != baseline)
    pairs = Counter((names[baseline[i]], names[own[i]]) for i in changed)
    listed = [
        ChangedRow(int(rows[i]), _id(ids, rows[i]), names[baseline[i]], names[own[i]])
        for i in changed[:MAX_LISTED]
    ]
    counts = [(old, new, count) for (old, new), count in pairs.most_common()]
    return Changes(method, len(rows), len(changed), counts, listed)


def _id(ids: Any, row: int) -> str | None:
    return None if ids is None or row >= len(ids) or ids[row] is None else str(ids[row])


def coefficients_of(model: Any, name: str, classes: AnyArray | None) -> list[Coefficient]:
    """Return the coefficients of a fitted linear model or pipeline, the largest first.

    ``classes`` are the names of its classes: it may have been fitted to codes. None: it predicts
    numbers.
    """
    coef = np.atleast_2d(np.asarray(last_step(model).coef_, dtype=float))
    labels = ["", ""] if classes is None else [str(label) for label in classes.tolist()]
    names = _feature_names(model, coef.shape[1])
    of_class = labels[1:] if len(coef) == 1 else labels
    every = [
        Coefficient(name, feature, label, float(value))
        for label, values in zip(of_class, coef, strict=True)
        for feature, value in zip(names, values, strict=True)
    ]
    return sorted(every, key=lambda one: -abs(one.value))


def _feature_names(model: Any, n_features: int) -> list[str]:
    if hasattr(model, "steps") and hasattr(model[:-1], "get_feature_names_out"):
        return [str(name) for name in model[:-1].get_feature_names_out()]
    named = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_features)] if named is None else [str(n) for n in named]
