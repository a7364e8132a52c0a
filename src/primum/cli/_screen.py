"""The result of a comparison as plain text, at most 80 characters wide."""

import textwrap
from collections import Counter
from typing import Any

from primum._words import WIDTH, counted, listed, wrapped
from primum.evaluation.compare_card import ModelCard, loss_in_words
from primum.evaluation.compare_words import BASELINE, estimation, with_article
from primum.selection.wording import CANNOT_TELL, HARM, HELP, NO_DIFFERENCE, percent

ANSWERS = {HELP: "helps", HARM: "harms", NO_DIFFERENCE: "no difference", CANNOT_TELL: "cannot tell"}
MODEL_ROW = "{:<24} {:>9} {:>8} {:>10} {:>16}"
MAX_CLASSES = 12
ROW = "{:<18} {:>7} {:>24} {:>6} {:>6}  {:<13}"


def screen_text(result: Any) -> str:
    """Return the data, the verdict, one table, and what was left out."""
    notes = "\n".join(f"Note: {sentence}" for sentence in dict.fromkeys(result.left_out))
    texts = [wrapped(data_text(result)), str(result.headline), _model_text(result.model_card)]
    parts = [*texts, _table(result), wrapped(_caption(result)), wrapped(notes)]
    return printable("\n\n".join(part for part in parts if part))


def printable(text: str) -> str:
    """Return text that cannot control a terminal, whatever the cells of the table contain."""
    return "".join(
        character
        if character.isprintable() or character == "\n"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def data_text(result: Any) -> str:
    """Return how many rows there are, of which classes, and how many columns are used."""
    table = result.plan.table
    names = [str(name) for name in table.labels.classes.tolist()]
    counts = Counter(table.labels.codes.tolist())
    classes = listed([f"{name!r}: {counts[code]}" for code, name in enumerate(names)])
    if table.n_unlabeled == 0:
        return (
            f"All {table.n_labeled} rows are labelled ({classes}), so there are no unlabelled rows "
            "that could help, and the methods are compared on the labelled rows alone. Unknown "
            f"labels must be empty cells, or markers listed in --missing.{_columns(result)}"
        )
    unlabeled = counted(table.n_unlabeled, "unlabelled row")
    return f"{table.n_labeled} labelled rows ({classes}) and {unlabeled}.{_columns(result)}"


def _columns(result: Any) -> str:
    if not result.columns:
        return ""
    used = sum(column.used for column in result.columns)
    return f"\n{used} of {len(result.columns)} columns are used; the report says how."


def _model_text(card: ModelCard | None) -> str:
    """Return the loss of the recommended model, and what it does with every class."""
    if card is None:
        return ""
    name = f"the tuned {card.name}" if card.name == BASELINE else with_article(card.name)
    loss = wrapped(f"The model to deploy ({name}): {loss_in_words(card)}.")
    head = MODEL_ROW.format("class", "labelled", "recall", "precision", "unlabelled rows")
    rows = [
        MODEL_ROW.format(
            textwrap.shorten(one.name, 24, placeholder="..."),
            one.n_labeled,
            *("-" if share is None else f"{share:.0%}" for share in (one.recall, one.precision)),
            "-" if one.n_unlabeled is None else one.n_unlabeled,
        )
        for one in card.classes[:MAX_CLASSES]
    ]
    if len(card.classes) > MAX_CLASSES:
        rows.append(f"and {len(card.classes) - MAX_CLASSES} more classes, which the report lists")
    return "\n".join([loss, "", head, "-" * WIDTH, *rows])


def _table(result: Any) -> str:
    head = ROW.format("method", "loss", "change (interval)", "help", "harm", "answer")
    rows = [_row(method, result.loss.measure) for method in result.methods]
    return "\n".join(line.rstrip() for line in [head, "-" * WIDTH, *rows])


def _row(method: Any, measure: Any) -> str:
    loss = f"{method.loss * measure.scale:.{measure.digits}f}"
    name = textwrap.shorten(method.name, 18, placeholder="...")
    if method.verdict is None:
        return ROW.format(name, loss, "", "", "", "")
    verdict, odds = method.verdict, method.verdict.probabilities
    change = f"{_signed(verdict.change, measure)} ({_interval(verdict.interval, measure)})"
    answer = ANSWERS[verdict.answer]
    return ROW.format(name, loss, change, _short(odds.help), _short(odds.harm), answer)


def _short(probability: float) -> str:
    return percent(probability).replace("below ", "<").replace("above ", ">")


def _signed(value: float, measure: Any) -> str:
    return f"{round(value * measure.scale, measure.digits) + 0.0:+.{measure.digits}f}"


def _interval(interval: tuple[float, float], measure: Any) -> str:
    low, high = (_signed(value, measure) for value in interval)
    return f"{low} to {high}"


def _caption(result: Any) -> str:
    measure = result.loss.measure
    unit = f", in{measure.unit}" if measure.unit.strip() else ""
    return (
        f"loss: {measure.name}{unit}, on held-out rows. change: difference from the tuned "
        f"baseline, estimated {estimation(result.loss.scoring)}, with its interval; negative is "
        "better. "
        "help, harm: their probabilities."
    )
