"""What is known of the model to deploy: its loss with an interval, and what it does to every class.

All of it comes from predictions for rows that were held out, except for the number of unlabelled
rows in every class, which the model fitted to all rows predicts. ``compare_model`` computes it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from primum._alerts import Alert
from primum._words import listed
from primum.selection.losses import measure_of
from primum.selection.wording import ERROR, Measure, percent_of_level

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
