"""The report of a comparison: which model to use, for someone with a table and this question.

It opens with the answer and one picture. Everything below supports it: the data, all methods with
their intervals, harm, learning curves, changed predictions, coefficients, the preparation of the
columns, failures, and how to repeat it.

The section of a comparison's report on the recommended model.
"""

from typing import Any

from primum._words import counted
from primum.comparison.card import ModelCard, loss_in_words, show_loss
from primum.comparison.code import code_of, target_of
from primum.comparison.sections import (
    ANSWERS,
    changed_section,
    coefficients_section,
    columns_section,
    compared_methods,
    curves_section,
    data_section,
    harm_section,
    left_out_section,
    methods_section,
    run_section,
    show_level,
    unit_of,
)
from primum.comparison.words import BASELINE, with_article
from primum.judging.losses import ERROR
from primum.judging.words import capitalised, percent_of_level
from primum.pages.blocks import (
    Answer,
    Block,
    Chart,
    Code,
    Facts,
    Section,
    Text,
    markdown_of,
    page_of,
)
from primum.pages.charts import Interval, interval_chart
from primum.pages.page import asset
from primum.pages.tables import Cell, Table


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


TITLE = "Do the unlabelled rows help?"
TUNED = f"the tuned {BASELINE}"


def comparison_page(result: Any, *, code: str | None = None) -> str:
    """Return the report of a comparison as one self-contained HTML page.

    Parameters
    ----------
    result : Comparison
        What ``primum.compare`` returned.
    code : str, default=None
        Python code that repeats the comparison; None writes it from the result.

    Returns
    -------
    str
        The page.
    """
    return page_of(TITLE, _sections(result, code), _subtitle(result))


def comparison_markdown(result: Any, *, code: str | None = None) -> str:
    """Return the report of a comparison as Markdown, with the numbers of its charts as tables.

    Parameters
    ----------
    result : Comparison
        What ``primum.compare`` returned.
    code : str, default=None
        Python code that repeats the comparison; None writes it from the result.

    Returns
    -------
    str
        The report.
    """
    return markdown_of(TITLE, _sections(result, code), _subtitle(result))


def comparison_fragment(result: Any) -> str:
    """Return the verdict, the picture and its numbers as HTML, for notebooks."""
    parts = "".join(block.to_html() for block in _lead(result))
    return f"<style>{asset('chart.css')}</style><div class='primum'>{parts}</div>"


def _subtitle(result: Any) -> str:
    table, target = result.plan.table, target_of(result)
    parts = [] if target is None else [f"Column to predict: {target}"]
    parts += [
        f"{table.n_labeled:,} labelled and {counted(table.n_unlabeled, 'unlabelled row')}",
        f"{len(table.labels.classes)} classes",
    ]
    return " · ".join(parts)


def _sections(result: Any, code: str | None) -> list[Section]:
    sections: list[Section] = [
        ("The answer", _lead(result)),
        ("The model you deploy", model_section(result)),
        ("The data", data_section(result)),
        ("The methods", methods_section(result)),
        ("Could a method do harm?", harm_section(result)),
        ("More unlabelled rows", curves_section(result)),
        ("Predictions that changed", changed_section(result)),
        ("Coefficients of the baseline", coefficients_section(result)),
        ("What was done to the columns", columns_section(result)),
        ("Failures and what was left out", left_out_section(result)),
        ("What was run", run_section(result)),
        ("Repeat it in Python", [Code(code or code_of(result))]),
    ]
    return [(heading, blocks) for heading, blocks in sections if blocks]


def _lead(result: Any) -> list[Block]:
    """Return the answer, a few numbers and the picture."""
    head = result.headline
    reasons = [("Why", head.reason), ("Next", head.next_step)]
    answer = Answer(head.answer, head.kind, reasons, [alert.text for alert in head.alerts])
    blocks: list[Block] = [answer, Facts(_facts(result))]
    if compared_methods(result):
        blocks.append(_changes_chart(result))
    return blocks


def _facts(result: Any) -> list[tuple[str, str]]:
    table, measure = result.plan.table, result.loss.measure
    name = capitalised(measure.name)
    shown = [result.methods[0]]
    shown += [method for method in compared_methods(result) if method.name == result.recommended]
    return [
        ("Labelled rows", f"{table.n_labeled:,}"),
        ("Unlabelled rows", f"{table.n_unlabeled:,}"),
        *(
            (
                f"{name} of {TUNED if method.name == BASELINE else with_article(method.name)}",
                show_level(method.loss, measure),
            )
            for method in shown
        ),
    ]


def _changes_chart(result: Any) -> Chart:
    measure, compared = result.loss.measure, compared_methods(result)
    scale, unit = measure.scale, unit_of(measure)
    items = [
        Interval(
            method.name,
            method.verdict.answer,
            ANSWERS[method.verdict.answer],
            *(
                value * scale
                for value in (
                    method.verdict.interval[0],
                    method.verdict.change,
                    method.verdict.interval[1],
                )
            ),
        )
        for method in compared
    ]
    level = percent_of_level(compared[0].verdict.interval_level)
    edge = measure.show_limit(result.equivalence)
    label = f"Estimated change in {measure.name} against the tuned baseline{unit}"
    described = "; ".join(
        f"{method.name}: {measure.show_range(*method.verdict.interval)}, "
        f"{ANSWERS[method.verdict.answer]}"
        for method in compared
    )
    point = " One point is one row in a hundred." if measure.unit == ERROR.unit else ""
    caption = (
        f"{label}: how much the {measure.name} on new rows would change if you used the method "
        f"instead of the tuned baseline.{point} Dots are estimates; bars are {level} intervals, "
        "widened to allow for the number of methods. Shaded: changes of up to "
        f"{edge}, which make no practical difference. If a bar extends beyond the shaded region on "
        "both sides, the method may be better or worse."
    )
    drawing = interval_chart(items, result.equivalence * scale, label, f"{label}. {described}.")
    return Chart(drawing, caption, _changes_table(items, label, level, measure.digits))


def _changes_table(items: list[Interval], label: str, level: str, digits: int) -> Table:
    rows = [
        (
            Cell(item.name),
            *(
                Cell(f"{round(value, digits) + 0.0:+.{digits}f}")
                for value in (item.middle, item.low, item.high)
            ),
            Cell(item.words),
        )
        for item in items
    ]
    return Table(
        f"{label}; from and to are the ends of the {level} interval. Negative is better.",
        ("Method", "Change", "From", "To", "Answer"),
        tuple(rows),
    )
