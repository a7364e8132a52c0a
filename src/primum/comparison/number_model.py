"""The model to deploy where numbers are predicted: what is known of it, and what it changes.

As for classes (``model``), its card comes from predictions for rows that were held out. A row that
several repeats hold out counts once, with the mean of its predictions. Guessing is the mean of the
known numbers for every row.
"""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._typing import AnyArray, Floats, Index
from primum._words import counted
from primum.comparison.model import LossCard, found_of, loss_in_words
from primum.judging.difference import row_means
from primum.judging.losses import Loss, Predictions
from primum.judging.words import Alert

if TYPE_CHECKING:
    from primum.comparison.result import ComparisonResult

# Rows that are listed; the figures are of all rows.
MOST_RESIDUALS, MOST_CHANGES = 20, 1000
# Points of the picture: more hide each other.
MOST_POINTS = 1000
# Few rows, at most this share, with more than half of the squared error, are worth a look.
FEW_ROWS, MOST_OF_THE_ERROR = 0.05, 0.5


@dataclass(frozen=True)
class Residual:
    """A labelled row, and what the model predicted for it when it was held out.

    Attributes
    ----------
    row : int
        Its position among all rows, from 0.
    id : str or None
        What identifies it, if the table has a column for that.
    truth, predicted : float
        Its number, and the mean prediction over repeats.
    """

    row: int
    id: str | None
    truth: float
    predicted: float


@dataclass(frozen=True)
class NumberCard(LossCard):
    """What is known of the recommended model, a regressor.

    Guessing is the mean of the known numbers for every row.

    Attributes
    ----------
    r2 : float
        Share of the variance of held-out rows that is explained; below 0 it is worse than guessing.
    typical_error, large_error : float
        The absolute errors that half, and nine tenths, of the held-out rows do not exceed.
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
        Number of unlabelled rows for which it predicted.
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

    @property
    def largest(self) -> tuple[Residual, ...]:
        """The rows with the largest errors."""
        return self.residuals[:MOST_RESIDUALS]

    @property
    def alerts(self) -> list[Alert]:
        """What must be known before the model is used."""
        return [*_guessing_alert(self), *_outlier_alert(self)]

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain JSON values."""
        return super().to_dict() | {
            "r2": self.r2,
            "typical_error": self.typical_error,
            "large_error": self.large_error,
            "residuals": [asdict(one) for one in self.residuals],
            "known_range": list(self.known_range),
            "n_outside": self.n_outside,
            "n_unlabeled": self.n_unlabeled,
            "alerts": [alert.to_dict() for alert in self.alerts],
        }


def _guessing_alert(card: NumberCard) -> list[Alert]:
    if card.beats_guessing is None or card.beats_guessing:
        return []
    assert card.gain is not None
    how = "is no better than guessing" if card.gain <= 0 else "hardly beats guessing"
    text = (
        f"The recommended model {how} (the mean of the labels): {loss_in_words(card)}. Either the "
        "columns say little about the number, or more labels are needed."
    )
    return [Alert("guessing", text)]


def _outlier_alert(card: NumberCard) -> list[Alert]:
    """Return an alert if a few rows make up most of the squared error."""
    squares = np.array([(one.predicted - one.truth) ** 2 for one in card.residuals])
    few = int(FEW_ROWS * len(squares))
    if few < 1 or squares[:few].sum() <= MOST_OF_THE_ERROR * squares.sum():
        return []
    shares = np.cumsum(squares) / squares.sum()
    n_rows = int(np.searchsorted(shares, MOST_OF_THE_ERROR)) + 1
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


def number_card_of(result: "ComparisonResult", name: str) -> NumberCard | None:
    """Return what is known of a method from the predictions of a comparison of numbers.

    Parameters
    ----------
    result : ComparisonResult
        The comparison.
    name : str
        The method.

    Returns
    -------
    NumberCard or None
        Without what it predicts for unlabelled rows. None if its predictions are not known.
    """
    found = found_of(result, name)
    if found is None:
        return None
    table, every = result.plan.table, found.own.all
    target = table.target
    rows, predicted = row_means(found.own.rows, every.predicted)
    truth = target.truth[rows]
    errors, drawn = np.abs(predicted - truth), table.drawn_target.truth
    typical, large = np.quantile(errors, [0.5, 0.9]).tolist()
    variance = float(np.mean((truth - truth.mean()) ** 2))
    return NumberCard(
        **found.figures,
        guessing=_loss_of_mean(drawn, result.loss, table.weight_of(table.drawn.labeled)),
        r2=1 - float(np.mean(errors**2)) / variance if variance else 0.0,
        typical_error=typical,
        large_error=large,
        residuals=_residuals(target.known.labeled[rows], truth, predicted, result.row_ids),
        known_range=(float(drawn.min()), float(drawn.max())),
        unit=f" {target.unit}" if target.unit else "",
        digits=target.digits,
    )


def _loss_of_mean(truth: Floats, loss: Loss, weight: Floats | None) -> float | None:
    """Return the loss of the mean of the known numbers for every row; None if it is undefined."""
    mean = np.full(len(truth), np.average(truth, weights=weight))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = loss.of_split(Predictions(truth, mean, None), weight)
        except ValueError:
            return None
    return value if np.isfinite(value) else None


def _residuals(
    rows: Index, truth: Floats, predicted: Floats, ids: AnyArray | None
) -> tuple[Residual, ...]:
    """Return rows by the size of their error; of very many, the largest and some at random."""
    order = np.argsort(-np.abs(predicted - truth), kind="stable")
    if len(order) > MOST_POINTS:
        rest = np.random.default_rng(0).permutation(np.arange(MOST_RESIDUALS, len(order)))
        kept = np.append(np.arange(MOST_RESIDUALS), np.sort(rest[: MOST_POINTS - MOST_RESIDUALS]))
        order = order[kept]
    return tuple(
        Residual(int(rows[i]), id_of(ids, rows[i]), float(truth[i]), float(predicted[i]))
        for i in order
    )


def id_of(ids: AnyArray | None, row: int) -> str | None:
    """Return what identifies a row, if that is known."""
    return None if ids is None or row >= len(ids) or ids[row] is None else str(ids[row])


def with_unlabeled(card: NumberCard, predicted: Floats) -> NumberCard:
    """Return a card with what the model predicts for the unlabelled rows."""
    low, high = card.known_range
    outside = int(np.count_nonzero((predicted < low) | (predicted > high)))
    return replace(card, n_outside=outside, n_unlabeled=len(predicted))


@dataclass(frozen=True)
class ChangedNumber:
    """An unlabelled row, and what a method and the baseline predict for it.

    Attributes
    ----------
    row : int
        Its position among all rows, from 0.
    id : str or None
        What identifies it, if the table has a column for that.
    baseline, method : float
        The number by either.
    """

    row: int
    id: str | None
    baseline: float
    method: float


@dataclass(frozen=True)
class NumberChanges:
    """How far a method and the baseline predict different numbers for the unlabelled rows.

    Attributes
    ----------
    method : str
        Name of the method.
    n_compared : int
        Number of unlabelled rows.
    typical_change : float
        The root mean square of the difference.
    rows : list of ChangedNumber
        The thousand rows that differ most, the largest difference first.
    digits : int
        Digits after the decimal point of a number.
    """

    method: str
    n_compared: int
    typical_change: float
    rows: list[ChangedNumber]
    digits: int = 3

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as plain JSON values."""
        return asdict(self)


def number_changes_of(
    method: str,
    own: Floats,
    baseline: Floats,
    rows: Index,
    ids: AnyArray | None = None,
    digits: int = 3,
) -> NumberChanges:
    """Return the changes between the predicted numbers of some rows."""
    changes = own - baseline
    order: Sequence[int] = np.argsort(-np.abs(changes), kind="stable")[:MOST_CHANGES].tolist()
    listed = [
        ChangedNumber(int(rows[i]), id_of(ids, rows[i]), float(baseline[i]), float(own[i]))
        for i in order
    ]
    typical = float(np.sqrt(np.mean(changes**2)))
    return NumberChanges(method, len(rows), typical, listed, digits)


def errors_in_words(card: NumberCard) -> str:
    """Return how large the errors of a model are, in one or two sentences."""
    unit, digits = card.unit, card.digits
    text = (
        f"It explains {max(card.r2, 0.0):.0%} of the variance. Half of the held-out rows are off "
        f"by at most {card.typical_error:,.{digits}f}{unit}, nine in ten by at most "
        f"{card.large_error:,.{digits}f}."
    )
    if card.n_outside:
        low, high = (f"{value:,.{digits}f}" for value in card.known_range)
        text += (
            f" For {card.n_outside:,} of {counted(card.n_unlabeled, 'unlabelled row')} it predicts "
            f"a number outside the range of the known ones, {low} to {high}."
        )
    return text
