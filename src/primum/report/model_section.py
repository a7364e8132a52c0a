"""The section of a comparison's report on the recommended model."""

from typing import Any

from primum._words import counted
from primum.evaluation.compare_card import ModelCard, loss_in_words, show_loss
from primum.evaluation.compare_words import BASELINE, with_article
from primum.report.blocks import Block, Text
from primum.report.tables import Cell, Table
from primum.selection.wording import capitalised


def model_section(result: Any) -> list[Block]:
    """Return what is known of the recommended model: loss, classes and confusion matrix."""
    card = result.model_card
    if card is None:
        return []
    return [Text(in_words(card)), _classes_table(card), _confusion_table(card)]


def in_words(card: ModelCard) -> str:
    """Return the loss of the model with its interval, and what it gains over guessing."""
    name = f"the tuned {BASELINE}" if card.name == BASELINE else with_article(card.name)
    text = f"{capitalised(name)} on rows it has not seen: {loss_in_words(card)}."
    if card.guessing is not None:
        losses = (card.loss, *reversed(card.interval))
        shown = [show_loss(card.guessing - loss, card.measure) for loss in losses]
        text += f" Gain over guessing: {shown[0]} ({shown[1]} to {shown[2]})."
    if card.n_methods > 1:
        text += f" The interval allows for the choice among {card.n_methods} models."
    return text


def _classes_table(card: ModelCard) -> Table:
    header = ["Class", "Labelled rows", "Recall", "Precision"]
    caption = (
        "What the model does with every class, on held-out rows. Recall: share of the rows of the "
        "class that it finds. Precision: share of the rows predicted as the class that belong to "
        "it; none, if it never predicts the class."
    )
    if card.n_assigned:
        header.append("Unlabelled rows")
        caption += (
            " Unlabelled rows: how many the model, fitted to all rows, assigns to the class, of "
            f"{counted(card.n_assigned, 'row')}."
        )
    rows = []
    for one in card.classes:
        row = [
            Cell(one.name),
            Cell(f"{one.n_labeled:,}", value=one.n_labeled),
            *map(_share, (one.recall, one.precision)),
        ]
        if card.n_assigned:
            row.append(Cell(f"{one.n_unlabeled:,}", value=one.n_unlabeled))
        rows.append(tuple(row))
    return Table(caption, tuple(header), tuple(rows))


def _share(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(f"{value:.0%}", value=value)


def _confusion_table(card: ModelCard) -> Table:
    names = [one.name for one in card.classes]
    rows = [
        (Cell(name), *(Cell(show_count(count), bold=j == k) for j, count in enumerate(counts)))
        for k, (name, counts) in enumerate(zip(names, card.confusion, strict=True))
    ]
    caption = (
        "Confusion matrix: held-out rows by true class (one row each) and predicted class "
        "(columns), mean over the repeats. Bold: right."
    )
    return Table(caption, ("True class", *(f"predicted {name}" for name in names)), tuple(rows))


def show_count(count: float) -> str:
    """Return a mean number of rows, with one decimal if it is not whole."""
    return f"{count:,.0f}" if abs(count - round(count)) < 0.05 else f"{count:,.1f}"
