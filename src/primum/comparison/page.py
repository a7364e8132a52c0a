"""The report of a comparison, for someone with a table who asks which model to use.

It opens with the answer and one picture. Everything below supports the answer: the recommended
model, the data, all methods with their intervals, harm, learning curves, changed predictions,
coefficients, the preparation of the columns, failures, and code that repeats the comparison. The
two pictures, changes from the baseline and learning curves, are drawn in two ways: as HTML beside
their numbers for the report, and with matplotlib for ``Comparison.plot``.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._typing import AnyArray, plain
from primum._words import counted
from primum.comparison.answer import Answer
from primum.comparison.card import MAX_SHOWN
from primum.comparison.decision import decision_part
from primum.comparison.plan import N_LABELED, N_UNLABELED
from primum.comparison.repeat import code_of
from primum.comparison.settle import ANSWERS, HEADING, SettledComparison, settlement_blocks
from primum.comparison.shares import COUNTS, assumption_in_words
from primum.comparison.words import (
    BASELINE,
    Headline,
    MethodResult,
    estimation,
    show_change,
    show_loss,
    show_loss_in_unit,
    unit_of,
    with_article,
)
from primum.judging.drift import Drift
from primum.judging.losses import ERROR, Measure
from primum.judging.words import (
    HARM,
    HELP,
    Verdict,
    capitalised,
    interval_level,
    percent,
    percent_of_level,
)
from primum.pages.charts import Curve, IntervalLine, interval_chart, line_chart
from primum.pages.page import (
    AnswerBlock,
    Bullets,
    Cell,
    Chart,
    Code,
    Facts,
    Folded,
    PageBlock,
    PageTable,
    Section,
    Text,
    asset,
    html_page,
    markdown_of,
)
from primum.pages.pictures import line_styles, new_figure

if TYPE_CHECKING:
    from primum.tables.columns import Column


AXES = {N_UNLABELED: "Number of unlabelled rows", N_LABELED: "Number of labelled training rows"}


def changes_chart(answer: Answer) -> Chart:
    """Return a chart of every method's change from the baseline, with intervals, for a page."""
    measure, compared = answer.measure, answer.compared
    baseline = answer.baseline
    label = f"Estimated change in {measure.name} against {baseline}{unit_of(measure)}"
    verdicts = [(method.name, method.judged) for method in compared]
    items = []
    for name, verdict in verdicts:
        low, high = verdict.interval
        values = (value * measure.scale for value in (low, verdict.change, high))
        items.append(IntervalLine(name, verdict.answer, ANSWERS[verdict.answer], *values))
    level = percent_of_level(verdicts[0][1].interval_level)
    described = "; ".join(
        f"{name}: {measure.show_range(*verdict.interval)}, {ANSWERS[verdict.answer]}"
        for name, verdict in verdicts
    )
    numbers = PageTable.of(
        f"{label}, from cross-validation; from and to are the ends of the {level} interval. "
        "Negative is better.",
        ("Method", "Estimated change", "From", "To", "Answer"),
        [
            [
                name,
                *(show_change(value, measure) for value in (verdict.change, *verdict.interval)),
                ANSWERS[verdict.answer],
            ]
            for name, verdict in verdicts
        ],
    )
    drawing = interval_chart(items, answer.limit * measure.scale, label, f"{label}. {described}.")
    return Chart(drawing, _caption_of_changes(answer, label, level), numbers)


def _caption_of_changes(answer: Answer, label: str, level: str) -> str:
    measure = answer.measure
    point = " One point is one row in a hundred." if measure.unit == ERROR.unit else ""
    fixed = " Labels that settle what is better on your rows do not change this picture."
    return (
        f"{label}, from cross-validation: how much the {measure.name} on new rows would change if "
        f"you used the method instead.{point} Dots are estimates; bars are {level} intervals, "
        f"widened to allow for the number of methods. Shaded: changes of up to "
        f"{answer.limit_in_words}, which make no practical difference. If a bar extends beyond the "
        "shaded region on both sides, the method may be better or worse."
        f"{'' if answer.why_not_settled else fixed}"
    )


def curve_chart(answer: Answer, axis: str) -> Chart:
    """Return the learning curves over an axis, for a page."""
    measure, label = answer.measure, AXES[axis]
    series = _series(answer, axis)
    loss = f"{capitalised(measure.name)}{' (%)' if measure.unit == ERROR.unit else ''}"
    caption = (
        f"{loss} on held-out rows against the {label.lower()}. Lines are means over the "
        "splits of one repeat; bands are one standard error on either side."
    )
    names = [curve.name for curve in series]
    once = [with_article(name) for name in answer.alone if name in names]
    if once and axis == N_UNLABELED:
        caption += (
            f" The curve of {' and '.join(once)} is the baseline's {measure.name} plus the "
            "observed change; its band is the standard error of that change."
        )
    ends = "; ".join(
        f"{curve.name}: {curve.points[0][1]:.3g} at {curve.points[0][0]:,} rows, "
        f"{curve.points[-1][1]:.3g} at {curve.points[-1][0]:,}"
        for curve in series
    )
    drawing = line_chart(series, label, loss, f"{loss} by {label.lower()}. {ends}.")
    sizes = sorted({x for curve in series for x, _, _ in curve.points})
    texts = [
        {x: f"{y:.3g} ± {e:.2g}" if e else f"{y:.3g}" for x, y, e in curve.points}
        for curve in series
    ]
    rows = [(Cell.of(n), *(Cell(of.get(n, "–")) for of in texts)) for n in sizes]
    return Chart(drawing, caption, PageTable.of(f"{loss} ± standard error.", (label, *names), rows))


def _series(answer: Answer, axis: str) -> list[Curve]:
    """Return the curves over an axis, in the unit of the loss."""
    scale, points = answer.measure.scale, [p for p in answer.curves if p.axis == axis]
    # The mean of a single split has no standard error, so no band is drawn.
    return [
        Curve(
            name,
            [
                (p.n, p.loss * scale, float(np.nan_to_num(p.standard_error)) * scale)
                for p in points
                if p.name == name
            ],
        )
        for name in dict.fromkeys(point.name for point in points)
    ]


def plot_comparison(answer: Answer) -> Any:
    """Draw the change of every method from the baseline, and the learning curves.

    Points are estimated changes, and bars are their intervals. If help or harm is claimed, the
    whole bar is beyond the shaded region of practical equivalence. Bands of the curves are one
    standard error of the mean over the splits of one repeat on either side.

    Parameters
    ----------
    answer : Answer
        What ``primum.compare`` found.

    Returns
    -------
    matplotlib Figure
        The figure.
    """
    axes = list(dict.fromkeys(point.axis for point in answer.curves))
    figure = new_figure(5.2 * (1 + len(axes)), 3.8)
    first, *others = figure.subplots(1, 1 + len(axes), squeeze=False)[0]
    _draw_changes(first, answer)
    for panel, axis in zip(others, axes, strict=True):
        _draw_curves(panel, _series(answer, axis), AXES[axis], answer.measure)
    return figure


def _draw_changes(panel: Any, answer: Answer) -> None:
    measure, compared = answer.measure, answer.compared
    edge = answer.limit * measure.scale
    panel.axvspan(-edge, edge, color="#999999", alpha=0.25, linewidth=0, label="no difference")
    panel.axvline(0, color="#000000", linewidth=0.8)
    for row, verdict in enumerate(method.judged for method in compared):
        low, high = (value * measure.scale for value in verdict.interval)
        colour = {HELP: "#009E73", HARM: "#D55E00"}.get(verdict.answer, "#0072B2")
        panel.plot([low, high], [row, row], color=colour, linewidth=2)
        panel.plot(verdict.change * measure.scale, row, "o", color=colour)
    panel.set_yticks(range(len(compared)), [method.name for method in compared])
    panel.set_ylim(len(compared) - 0.5, -0.5)
    panel.set_xlabel(f"estimated change in {measure.name}{unit_of(measure)}, left is better")
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_title(f"Against {answer.baseline}", fontsize="medium")


def _draw_curves(panel: Any, series: list[Curve], label: str, measure: Measure) -> None:
    styles = line_styles(["Supervised", *(curve.name for curve in series[1:])])
    for curve, (colour, line) in zip(series, styles.values(), strict=True):
        sizes, mean, error = np.array(curve.points).T
        panel.plot(sizes, mean, line, color=colour, label=curve.name, marker="o", markersize=3)
        panel.fill_between(sizes, mean - error, mean + error, color=colour, alpha=0.12, linewidth=0)
    ticks = sorted({size for curve in series for size, _, _ in curve.points})
    panel.set_xscale("symlog", linthresh=max(min(size for size in ticks if size), 1))
    panel.set_xticks(ticks, [str(size) for size in ticks])
    panel.minorticks_off()
    panel.set_xlabel(label.lower())
    panel.set_ylabel(f"{measure.name}{unit_of(measure)}")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize="small", frameon=False)


TITLE = "Do the unlabelled rows help?"
MAX_COEFFICIENTS = 30  # rows of the table of coefficients: the largest, more than a screen shows
# Stands for a missing number.
NONE = Cell("–")


def comparison_page(answer: Answer, head: Headline, settled: SettledComparison | None) -> str:
    """Return the report of a comparison as one self-contained HTML page.

    Parameters
    ----------
    answer : Answer
        What was found.
    head : Headline
        The headline, in which labels may have the last word.
    settled : SettledComparison or None
        What labels have settled, or can settle.

    Returns
    -------
    str
        The page.
    """
    sections = _sections(answer, head, settled)
    return html_page(TITLE, sections, subtitle=_subtitle(answer))


def comparison_markdown(answer: Answer, head: Headline, settled: SettledComparison | None) -> str:
    """Return the report as Markdown, with the numbers of its charts as tables.

    The parameters are those of ``comparison_page``.
    """
    return markdown_of(TITLE, _sections(answer, head, settled), _subtitle(answer))


def comparison_fragment(answer: Answer, head: Headline) -> str:
    """Return the verdict, the picture and its numbers as HTML, for notebooks."""
    parts = "".join(block.to_html() for block in _lead(answer, head))
    return f"<style>{asset('chart.css')}</style><div class='primum'>{parts}</div>"


def comparison_json(
    answer: Answer, head: Headline, settled: SettledComparison | None
) -> dict[str, Any]:
    """Return everything that was found as values of JSON, with what follows from it."""
    columns = zip(answer.columns, answer.n_terms, strict=True)
    return {
        "verdict": "\n".join(head.lines),
        "headline": head.to_dict(),
        "recommended": answer.recommended,
        "measure": answer.measure.name,
        "equivalence": answer.equivalence,
        "level": answer.level,
        "n_labeled": answer.n_labeled,
        "n_chosen": answer.n_chosen,
        "n_unlabeled": answer.n_unlabeled,
        "target_kind": answer.target_kind,
        "recognised": answer.recognised,
        "classes": plain(answer.classes),
        "rare_classes": plain(answer.rare_classes),
        "n_folds": answer.n_folds,
        "n_repeats": answer.n_repeats,
        "seed": answer.seed,
        "methods": plain(answer.methods),
        "curves": plain(answer.curves),
        "drift": plain(answer.drift),
        "shift": plain(answer.shift),
        "failures": plain(answer.failures),
        "left_out": plain(answer.left_out),
        "notes": plain(answer.notes),
        "seconds": answer.seconds,
        "n_stored_fits": answer.n_stored_fits,
        "stored_seconds": answer.stored_seconds,
        "model_card": plain(answer.model_card),
        "target": answer.target,
        "columns": [column.to_dict() | {"vocabulary": n} for column, n in columns],
        "decision": plain(answer.decision),
        "changed": plain(answer.changed),
        "settlement": plain(settled),
        "coefficients": plain(answer.coefficients),
        "shares": plain(answer.shares),
    }


def report_text(
    suffix: str, answer: Answer, head: Headline, settled: SettledComparison | None
) -> str:
    """Return the report as a file with some suffix contains it: ".html", ".md" or ".json"."""
    if suffix == ".json":
        values = comparison_json(answer, head, settled)
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    write = comparison_page if suffix == ".html" else comparison_markdown
    return write(answer, head, settled)


def _subtitle(answer: Answer) -> str:
    drawn = f"{answer.n_labeled - answer.n_chosen:,} labelled"
    chosen = f", {answer.n_chosen:,} chosen" if answer.n_chosen else ""
    if answer.known_range is None:
        kind = f"{len(answer.n_by_class)} classes"
    else:
        kind = f"numbers from {answer.known_range[0]} to {answer.known_range[1]}"
    parts = [
        *([] if answer.target is None else [f"Column to predict: {answer.target}"]),
        f"{drawn}{chosen} and {counted(answer.n_unlabeled, 'unlabelled row')}",
        kind,
    ]
    return " · ".join(parts)


def _sections(answer: Answer, head: Headline, settled: SettledComparison | None) -> list[Section]:
    axes = dict.fromkeys(point.axis for point in answer.curves)
    sections: list[Section] = [
        ("The answer", _lead(answer, head)),
        (HEADING, [] if settled is None else settlement_blocks(settled, answer.recommended)),
        ("The model you deploy", _model(answer)),
        ("The decision rule", decision_part(answer)),
        ("The data", _data(answer)),
        ("Classes among the unlabelled rows", _shares(answer)),
        ("The methods", _methods(answer)),
        ("Could a method do harm?", _harm(answer)),
        ("More unlabelled rows", [curve_chart(answer, axis) for axis in axes]),
        ("Predictions that changed", _changed(answer)),
        ("Coefficients of the baseline", _coefficients(answer)),
        ("What was done to the columns", _columns(answer)),
        ("Failures and what was left out", _left_out(answer)),
        ("What was run", _run(answer)),
        ("Repeat it in Python", _repetition(answer)),
    ]
    return [(heading, blocks) for heading, blocks in sections if blocks]


def _repetition(answer: Answer) -> list[PageBlock]:
    """Return the call of ``primum.compare``."""
    return [] if answer.call is None else [Code(code_of(answer.call))]


def _probability(value: float) -> Cell:
    return Cell(percent(value), value=value)


def _lead(answer: Answer, head: Headline) -> list[PageBlock]:
    """Return the answer, a few numbers and the picture."""
    measure = answer.measure
    shown = [m for m in answer.methods if m.name in (BASELINE, answer.recommended)]
    facts = [
        ("Labelled rows", f"{answer.n_labeled - answer.n_chosen:,}"),
        *([("Chosen labels", f"{answer.n_chosen:,}")] if answer.n_chosen else []),
        ("Unlabelled rows", f"{answer.n_unlabeled:,}"),
        *(
            (
                f"{capitalised(measure.name)} of {answer.name_in_words(m.name)}",
                show_loss_in_unit(m.loss, measure),
            )
            for m in shown
        ),
    ]
    return [
        answer_block(head),
        Facts(facts),
        *([changes_chart(answer)] if answer.compared else []),
    ]


def answer_block(head: Headline) -> AnswerBlock:
    """Return the answer as part of a report, which labels may change."""
    why = "Earlier" if head.labelled else "Why"
    reasons = [("On your rows", head.certain), (why, head.reason), ("Next", head.next_step)]
    return AnswerBlock(head.answer, head.kind, reasons, [alert.text for alert in head.alerts])


def _model(answer: Answer) -> list[PageBlock]:
    """Return the card of the recommended model: its loss and its figures."""
    card = answer.model_card
    if card is None:
        return []
    name = capitalised(answer.name_in_words(card.name))
    text = f"{name} on rows it has not seen: {card.in_words}."
    if card.guessing is not None:
        losses = (card.loss, *reversed(card.interval))
        gains = [show_loss(card.guessing - loss, card.measure) for loss in losses]
        text += f" Gain over guessing: {gains[0]} ({gains[1]} to {gains[2]})."
    if card.n_methods > 1:
        text += f" The interval allows for the choice among {card.n_methods} models."
    return [Text(text), *card.blocks]


def _data(answer: Answer) -> list[PageBlock]:
    """Return the numbers of rows, what was recognised, the labels, the groups and the drift."""
    text = (
        f"{answer.n_labeled:,} rows have a label and {answer.n_unlabeled:,} have none; there are "
        f"{answer.n_columns:,} columns of features."
    )
    if answer.n_chosen:
        text += f" {_chosen_sentence(answer.n_chosen)}"
    if answer.n_groups is not None:
        text += f" The labelled rows belong to {answer.n_groups:,} groups, which are never split."
    if answer.recognised:
        text += f" {answer.recognised}"
    labels = _quantiles_table(answer) if answer.numeric else _classes_table(answer)
    return [Text(text), labels, Text(_drift_sentence(answer.drift))]


# Quantiles of the known numbers that a table shows.
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def quantiles_and_mean(numbers: AnyArray) -> tuple[float, ...]:
    """Return what a table shows of numbers: ``QUANTILES``, and their mean."""
    return (*np.quantile(numbers, QUANTILES).tolist(), float(numbers.mean()))


def _classes_table(answer: Answer) -> PageTable:
    """Return the known labels of every class, without chosen ones, as a table."""
    counts = answer.n_by_class
    rows = [
        (name, Cell.of(count), f"{count / sum(counts):.0%}")
        for name, count in zip(answer.classes or (), counts, strict=True)
    ]
    without = ", without chosen ones" if answer.n_chosen else ""
    caption = f"Labelled rows by class{without}. Share: of the labelled rows{without}."
    return PageTable.of(caption, ("Class", "Labelled rows", "Share"), rows)


def _quantiles_table(answer: Answer) -> PageTable:
    """Return quantiles and means of the known numbers, and of predictions for unlabelled rows."""
    without = ", without chosen ones" if answer.n_chosen else ""
    caption = f"Quantiles of the known numbers{without}."
    every = {"Labelled rows": answer.known_quantiles}
    if answer.predicted_quantiles:
        every["Predictions"] = answer.predicted_quantiles
        caption += (
            f" Predictions: those of {answer.name_in_words(answer.recommended)} for the unlabelled "
            "rows; they usually vary less than the numbers themselves."
        )
    rows = [
        (name, *(Cell.of(value, f",.{answer.digits}f") for value in values))
        for name, values in every.items()
    ]
    below = (f"{share:.0%} below" for share in QUANTILES[1:-1])
    return PageTable.of(caption, ["", "Smallest", *below, "Largest", "Mean"], rows)


def _shares(answer: Answer) -> list[PageBlock]:
    """Return the class shares of the unlabelled rows, with their assumptions."""
    shares = answer.shares
    if shares is None:
        return []
    unit = "labelled row" if answer.n_groups is None else "labelled group"
    text = f"{assumption_in_words(shares, answer.drift, answer.shift)} {COUNTS}"
    level = f"{shares.level:.0%}"
    rows = [
        (
            Cell(str(one.name)),
            *(Cell.of(share, ".1%") for share in (one.labeled, one.estimate)),
            Cell(f"{one.low:.1%} to {one.high:.1%}", value=one.low),
            Cell(one.count(shares.n_unlabeled), value=one.estimate),
        )
        for one in shares.classes
    ]
    caption = (
        f"Estimated shares of the classes among {counted(shares.n_unlabeled, 'unlabelled row')} "
        f"({shares.method}, from {counted(shares.n_labeled, unit)}), and intervals that contain "
        f"the true share of a class with {level} probability."
    )
    header = (
        *("Class", "Share of labelled rows", "Share of unlabelled rows", f"{level} interval"),
        "Unlabelled rows, about",
    )
    return [Text(text), PageTable.of(caption, header, rows)]


def _chosen_sentence(n_chosen: int) -> str:
    labels, them = ("label was", "it") if n_chosen == 1 else ("labels were", "them")
    return (
        f"{n_chosen:,} {labels} not drawn at random, but chosen: every model is trained on {them}, "
        f"and none is judged by {them}."
    )


def _drift_sentence(drift: Drift | None) -> str:
    if drift is None:
        return (
            "It was not tested whether labelled and unlabelled rows come from the same "
            "distribution: there are fewer than ten rows (or groups) of one kind."
        )
    if drift.found:
        return drift.text
    return (
        "No visible difference between labelled and unlabelled rows was found: a classifier "
        f"tells them apart with {drift.accuracy:.0%} accuracy, where 50% is chance."
    )


def _methods(answer: Answer) -> list[PageBlock]:
    """Return the table of all methods, and the meaning of their answers."""
    measure, compared = answer.measure, answer.compared
    name = capitalised(measure.name)
    needed = compared[0].judged.level if compared else answer.level
    level, share = percent_of_level(needed), percent_of_level(interval_level(needed))
    table = PageTable.of(
        f"{name} on held-out rows, and its change from the baseline{unit_of(measure)}; lower is "
        "better. Observed change: the difference of the two means. Estimated change: "
        f"{estimation(answer.scoring)}. Interval: contains the true change with {share} "
        "probability. P: probability. Bold: recommended.",
        (
            *("Method", "Unlabelled rows", f"{name}{' (%)' if measure.unit == ERROR.unit else ''}"),
            *("Observed change", "Estimated change", f"{share} interval"),
            *("P(better)", "P(no difference)", "P(worse)", "Answer"),
        ),
        [_method_row(method, answer.recommended, measure) for method in answer.methods],
    )
    names = answer.baselines
    parts = f"the average of {' and '.join(names)}" if len(names) > 1 else names[0]
    tuned = "" if answer.own_baseline else "tuned "
    explained = (
        f"The {tuned}baseline ({parts}) is fitted to the labelled rows alone. A method is called "
        f"better or worse only if the probability of that is at least {level}; differences of up "
        f"to {answer.limit_in_words} count as none."
    )
    return [Text(explained), table]


def _method_row(method: MethodResult, recommended: str, measure: Measure) -> list[str | Cell]:
    loss = method.loss * measure.scale
    first: list[str | Cell] = [
        Cell(method.name, bold=method.name == recommended),
        "used" if method.uses_unlabeled else "not used",
        Cell.of(loss, f".{measure.digits}f"),
    ]
    if method.verdict is None or method.observed_change is None:
        return [*first, *[NONE] * 7]
    odds = method.verdict.probabilities
    return [
        *first,
        Cell(show_change(method.observed_change, measure), value=method.observed_change),
        *_change_cells(method.verdict, measure),
        *map(_probability, (odds.help, odds.no_difference, odds.harm)),
        ANSWERS[method.verdict.answer],
    ]


def _change_cells(verdict: Verdict, measure: Measure) -> tuple[Cell, Cell]:
    low, high = (show_change(value, measure) for value in verdict.interval)
    change = Cell(show_change(verdict.change, measure), value=verdict.change)
    return change, Cell(f"{low} to {high}", value=verdict.interval[0])


def _harm(answer: Answer) -> list[PageBlock]:
    """Return harm against the baseline and against the same method without unlabelled rows."""
    stacks, rows, texts = answer.alone, [], []
    for method in answer.compared:
        is_stack = method.name in stacks
        twin = "the supervised stack" if is_stack else "itself without unlabelled rows"
        for other, verdict, measure in (
            (answer.baseline, method.verdict, answer.measure),
            (twin, method.twin, method.twin_measure),
        ):
            if verdict is not None and measure is not None:
                rows.append([method.name, other, *_harm_cells(verdict, measure)])
                texts.append(verdict.text)
    if not rows:
        return []
    table = PageTable.of(
        "P(worse): the probability that the method is worse by more than the difference that "
        "counts as none. The comparison with the baseline decides which model to use; that "
        "with the same method without unlabelled rows shows what these contribute.",
        ("Method", "Compared with", "P(worse)", "Estimated change", "Interval", "Loss", "Answer"),
        rows,
    )
    return [table, Folded("In words", Bullets(texts))]


def _harm_cells(verdict: Verdict, measure: Measure) -> list[str | Cell]:
    return [
        _probability(verdict.probabilities.harm),
        *_change_cells(verdict, measure),
        f"{measure.name}{unit_of(measure)}",
        ANSWERS[verdict.answer],
    ]


def _changed(answer: Answer) -> list[PageBlock]:
    """Return which predictions of the baseline methods change, and how far."""
    blocks: list[PageBlock] = []
    one_by_one: list[PageBlock] = []
    if answer.changed is not None:
        blocks, one_by_one = answer.changed.blocks
    if answer.why_changes_are_unknown:
        why = answer.why_changes_are_unknown
        blocks.append(Text(f"It is not known which predictions change. {why}"))
    shares = answer.changed_in_splits
    if shares:
        n_rows = counted(answer.n_probed, "unlabelled row")
        if answer.numeric:
            heading = "Difference"
            change = (
                "Root mean square of the difference between the predictions of a method and of the "
                "baseline for unlabelled rows"
            )
            shown = [f"{float(f'{rms:.3g}'):,.10g}" for rms in shares.values()]
        else:
            heading = "Predictions changed"
            change = (
                "Share of the unlabelled rows for which a method and the baseline predict "
                "different classes"
            )
            shown = [f"{share:.1%}" for share in shares.values()]
        rows = [
            (name, Cell(text, value=share))
            for text, (name, share) in zip(shown, shares.items(), strict=True)
        ]
        caption = f"{change}: mean over all splits, on {n_rows}."
        blocks.append(PageTable.of(caption, ("Method", heading), rows))
    return [*blocks, *one_by_one]


def _coefficients(answer: Answer) -> list[PageBlock]:
    """Return the largest coefficients of a linear baseline with their direction."""
    every = answer.coefficients
    if not every:
        return []
    rows = [
        (one.feature, one.direction, Cell.of(one.value, "+.3g")) for one in every[:MAX_COEFFICIENTS]
    ]
    n_all = answer.n_coefficients
    which = f"The {len(rows)} largest of {n_all}" if n_all > len(rows) else "All"
    caption = (
        f"{which} coefficients of the {every[0].model} baseline, fitted to all labelled rows, "
        "largest first. Direction: what a larger value of the feature, or belonging to that "
        "category, means for the prediction. Numbers are scaled to unit variance first; those of "
        "an embedding together, and words and groups of characters (in quotes) by their rarity. "
        "Coefficients describe the model, not causes."
    )
    return [PageTable.of(caption, ("Feature", "Direction", "Coefficient"), rows)]


def _columns(answer: Answer) -> list[PageBlock]:
    """Return what was done to every column of the table."""
    rows = [
        (c.block or str(c.name), c.kind, "used" if c.used else "not used", c.action, c.note or "")
        for c in _named_once(answer.columns)
    ]
    caption = (
        "Columns of the table and how they are prepared. Means, scales, medians, categories and "
        "weights of words are learnt in every training set, never from held-out rows."
    )
    header = ("Column", "Kind", "Used", "What is done", "Note")
    return [PageTable.of(caption, header, rows)] if rows else []


def _named_once(columns: "Sequence[Column]") -> "list[Column]":
    """Return columns, with only the first of each block."""
    first: dict[tuple[str, str], Column] = {}
    for column in columns:
        first.setdefault((column.block, "" if column.block else column.name), column)
    return list(first.values())


def _left_out(answer: Answer) -> list[PageBlock]:
    """Return failed fits, what the time budget left out, and the notes and warnings of fits."""
    sentences = [
        *dict.fromkeys([*answer.left_out, *answer.notes]),
        *(f"{name} warned in {counted(n, 'fit')}: {note}" for name, note, n in answer.warned),
    ]
    if not sentences:
        return [Text("No fit failed, and nothing was left out.")]
    rest = len(sentences) - MAX_SHOWN
    return [Bullets([*sentences[:MAX_SHOWN], *([f"{rest} more are not shown."] * (rest > 0))])]


def _run(answer: Answer) -> list[PageBlock]:
    """Return the design, the seed, the estimators and the versions."""
    learner = answer.learner
    # Counted from the splits, because a time budget may have left out repeats and methods.
    repeats = -(-answer.n_splits // answer.n_folds)
    times = f", {repeats} times" if repeats > 1 else ""
    design = (
        f"The labelled rows were split into {answer.n_folds} folds{times}. Every {learner} was "
        "fitted to the training folds, with all unlabelled rows if it uses them, and judged on the "
        "held-out fold."
    )
    if once := " and ".join(map(with_article, answer.fitted_alone)):
        design += f" {capitalised(once)} was fitted once and judged by cross-fitted scores."
    settings = (
        f"Seed: {answer.seed}. Scoring: {answer.scoring}. Practical equivalence: "
        f"{answer.limit_in_words}. Level: {answer.level:g}. "
        f"{_time_in_words(answer)}"
    )
    listed = ", ".join(f"{name} {version}" for name, version in answer.versions.items())
    return [Text(design), Text(settings), _fits_table(answer), Text(f"Versions: {listed}.")]


def _time_in_words(answer: Answer) -> str:
    """Return how long a run took and, if it continued an earlier one, the stored fits."""
    seconds = f"{answer.seconds:.0f} seconds"
    if not answer.n_stored_fits:
        return f"Time: {seconds}."
    return (
        f"Time: {seconds} for the last run; {counted(answer.n_stored_fits, 'fit')} of earlier "
        f"runs, which were stored, took {answer.stored_seconds:.0f} seconds."
    )


def _fits_table(answer: Answer) -> PageTable:
    """Return the classifiers with the time of their fits and the p-values of their differences."""
    methods, rows = {method.name: method for method in answer.methods}, []
    learner = answer.learner
    for name, estimator in answer.estimators.items():
        numbers: Sequence[str | Cell] = [NONE] * 3
        if (method := methods.get(name)) is not None:
            p_value = NONE if method.p_value is None else Cell(f"{method.p_value:.2g}")
            numbers = [f"{method.seconds:.2g}", str(method.n_splits), p_value]
        rows.append([name, *numbers, estimator])
    return PageTable.of(
        f"{capitalised(learner)}s, each fitted to the prepared columns. Time: mean of one fit and "
        "its predictions. p: two-sided p-value of the difference from the baseline, adjusted "
        "for the number of methods by Holm's method.",
        ("Name", "Time (s)", "Splits", "p (Holm)", capitalised(learner)),
        rows,
    )
