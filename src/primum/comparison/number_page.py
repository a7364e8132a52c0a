"""What a report shows where numbers are predicted: errors, a picture of them, and changes."""

from typing import TYPE_CHECKING

import numpy as np

from primum._words import counted
from primum.comparison.number_model import (
    NumberCard,
    NumberChanges,
    Residual,
    errors_in_words,
)
from primum.comparison.words import with_article
from primum.pages.charts import scatter_chart
from primum.pages.page import Block, Cell, Chart, Folded, Table, Text

if TYPE_CHECKING:
    from primum.comparison.compare import Comparison

# More rows would hide the rest of the report.
MAX_ROWS = 50
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def number_blocks(card: NumberCard) -> list[Block]:
    """Return the errors of a model, predicted numbers against true ones, and the largest errors.

    Parameters
    ----------
    card : NumberCard
        What is known of the model.

    Returns
    -------
    list of Block
        Parts of a report.
    """
    return [Text(errors_in_words(card)), _picture(card)]


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


def _largest_errors(card: NumberCard) -> Table:
    by_id = any(one.id is not None for one in card.largest)
    caption = (
        f"The {len(card.largest)} largest errors of {len(card.residuals)} held-out rows. "
        f"{'Row: its id' if by_id else 'Row: its number, from 1'}. Error: predicted minus true."
    )
    rows = [_residual_row(one, card.digits) for one in card.largest]
    return Table.of(caption, ("Row", "True", "Predicted", "Error"), rows)


def _residual_row(one: Residual, digits: int) -> list[Cell]:
    error = one.predicted - one.truth
    numbers = [_shown(value, digits) for value in (one.truth, one.predicted)]
    return [Cell(_row(one.row, one.id)), *numbers, Cell(f"{error:+,.{digits}f}", value=error)]


def _row(row: int, identity: str | None) -> str:
    return str(row + 1) if identity is None else identity


def _shown(value: float, digits: int) -> Cell:
    return Cell(f"{value:,.{digits}f}", value=value)


def known_numbers(result: "Comparison") -> Table:
    """Return how the known numbers are distributed.

    Parameters
    ----------
    result : Comparison
        The comparison.

    Returns
    -------
    Table
        Their quantiles, and those of the predictions for unlabelled rows if there are any.
    """
    table, digits = result.plan.table, result.plan.table.target.digits
    known = table.drawn_target.truth
    without = ", without chosen ones" if table.n_chosen else ""
    header = ["", *(f"{share:.0%} below" for share in QUANTILES[1:-1])]
    header = ["", "Smallest", *header[1:], "Largest", "Mean"]
    values = [*np.quantile(known, QUANTILES).tolist(), float(known.mean())]
    rows = [[Cell("Labelled rows"), *(_shown(value, digits) for value in values)]]
    caption = f"Quantiles of the known numbers{without}."
    if (card := result.model_card) is not None and table.n_unlabeled and result.predicted_numbers:
        found = np.array(result.predicted_numbers)
        values = [*np.quantile(found, QUANTILES).tolist(), float(found.mean())]
        rows.append([Cell("Predictions"), *(_shown(value, digits) for value in values)])
        caption += (
            f" Predictions: those of {result.name_in_words(card.name)} for the unlabelled rows; "
            "they usually vary less than the numbers themselves."
        )
    return Table.of(caption, header, rows)


def changed_numbers(changed: NumberChanges) -> tuple[list[Block], list[Block]]:
    """Return how far a method changes the predictions, and the rows that it changes most.

    Parameters
    ----------
    changed : NumberChanges
        What it changes.

    Returns
    -------
    first, details : list of Block
        Parts of a report.
    """
    method, digits = with_article(changed.method), changed.digits
    text = (
        f"Fitted to all rows, {method} and the baseline differ by "
        f"{changed.typical_change:,.{digits}f} (root mean square) in their predictions for "
        f"{counted(changed.n_compared, 'unlabelled row')}."
    )
    listed = [
        (
            _row(row.row, row.id),
            _shown(row.baseline, digits),
            _shown(row.method, digits),
            Cell(f"{row.method - row.baseline:+,.{digits}f}", value=row.method - row.baseline),
        )
        for row in changed.rows[:MAX_ROWS]
    ]
    if not listed:
        return [Text(text)], []
    by_id = changed.rows[0].id is not None
    caption = (
        f"The {len(listed)} rows that differ most. "
        f"{'Row: its id' if by_id else 'Row: its number, from 1'}."
    )
    header = ("Row", "By the baseline", f"By {method}", "Change")
    return [Text(text)], [Folded("Which rows", Table.of(caption, header, listed))]
