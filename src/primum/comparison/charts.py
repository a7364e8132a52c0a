"""The two pictures of a comparison: changes to the baseline, and learning curves.

Each is drawn twice: for the report, as HTML beside its numbers, and for ``Comparison.plot``, with
matplotlib.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from primum._lazy import needed
from primum.comparison.plan import N_LABELED, N_UNLABELED
from primum.comparison.records import CurvePoint
from primum.comparison.settle import why_not
from primum.comparison.words import show_change, unit_of, with_article
from primum.judging import words
from primum.judging.losses import ERROR, Measure
from primum.pages.charts import Interval, Series, interval_chart, line_chart
from primum.pages.page import Cell, Chart, Table
from primum.pages.pictures import line_styles

if TYPE_CHECKING:
    from primum.comparison.result import Comparison

ANSWERS = {
    words.HELP: "better",
    words.NO_DIFFERENCE: "no practical difference",
    words.HARM: "worse",
    words.CANNOT_TELL: "cannot tell",
}
AXES = {N_UNLABELED: "Number of unlabelled rows", N_LABELED: "Number of labelled training rows"}


def changes_chart(result: "Comparison") -> Chart:
    """Return the interval of every method's change to the baseline, for a page."""
    measure, compared = result.loss.measure, result.compared
    baseline = result.plan.baseline_in_words
    label = f"Estimated change in {measure.name} against {baseline}{unit_of(measure)}"
    verdicts = [(method.name, method.judged) for method in compared]
    items = []
    for name, verdict in verdicts:
        low, high = verdict.interval
        values = (value * measure.scale for value in (low, verdict.change, high))
        items.append(Interval(name, verdict.answer, ANSWERS[verdict.answer], *values))
    level = words.percent_of_level(verdicts[0][1].interval_level)
    described = "; ".join(
        f"{name}: {measure.show_range(*verdict.interval)}, {ANSWERS[verdict.answer]}"
        for name, verdict in verdicts
    )
    point = " One point is one row in a hundred." if measure.unit == ERROR.unit else ""
    caption = (
        f"{label}, from cross-validation: how much the {measure.name} on new rows would change if "
        "you used the method "
        f"instead.{point} Dots are estimates; bars are {level} intervals, "
        "widened to allow for the number of methods. Shaded: changes of up to "
        f"{result.limit_in_words}, which make no practical difference. If a bar "
        "extends beyond the shaded region on both sides, the method may be better or worse."
    )
    if not why_not(result):
        caption += " Labels that settle what is better on your rows do not change this picture."
    numbers = Table.of(
        f"{label}, from cross-validation; from and to are the ends of the {level} interval. "
        "Negative is better.",
        ("Method", "Change", "From", "To", "Answer"),
        [
            [
                name,
                *(show_change(value, measure) for value in (verdict.change, *verdict.interval)),
                ANSWERS[verdict.answer],
            ]
            for name, verdict in verdicts
        ],
    )
    edge = result.limit * measure.scale
    return Chart(interval_chart(items, edge, label, f"{label}. {described}."), caption, numbers)


def curve_chart(result: "Comparison", axis: str) -> Chart:
    """Return the learning curves over an axis, for a page."""
    measure, label = result.loss.measure, AXES[axis]
    series = _series(result, axis)
    what = f"{words.capitalised(measure.name)}{' (%)' if measure.unit == ERROR.unit else ''}"
    caption = (
        f"{what} on held-out rows against the {label.lower()}. Lines are means over the "
        "splits of one repeat; bands are one standard error on either side."
    )
    names = [curve.name for curve in series]
    once = [with_article(entry.name) for entry in result.plan.cross_fitted if entry.name in names]
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
    drawing = line_chart(series, label, what, f"{what} by {label.lower()}. {ends}.")
    sizes = sorted({x for curve in series for x, _, _ in curve.points})
    texts = [
        {x: f"{y:.3g} ± {e:.2g}" if e else f"{y:.3g}" for x, y, e in curve.points}
        for curve in series
    ]
    rows = [(Cell.of(n), *(Cell(of.get(n, "–")) for of in texts)) for n in sizes]
    return Chart(drawing, caption, Table.of(f"{what} ± standard error.", (label, *names), rows))


def _series(result: "Comparison", axis: str) -> list[Series]:
    """Return the curves over an axis, in the unit of the loss."""
    scale, points = result.loss.measure.scale, [p for p in result.curves if p.axis == axis]
    # The mean of a single split has no standard error, and no band is drawn.
    return [
        Series(
            name,
            [
                (p.n, p.loss * scale, float(np.nan_to_num(p.standard_error)) * scale)
                for p in points
                if p.name == name
            ],
        )
        for name in dict.fromkeys(point.name for point in points)
    ]


def plot_comparison(result: "Comparison") -> Any:
    """Draw the change of every method against the baseline, and the learning curves.

    Points are estimated changes, and bars their intervals: where help or harm is
    claimed, all of the bar is beyond the shaded region of practical equivalence. Bands of the
    curves are one standard error of the mean over the splits of one repeat on either side.

    Parameters
    ----------
    result : Comparison
        What ``primum.compare`` returned.

    Returns
    -------
    matplotlib Figure
        The figure.
    """
    with needed("Figures"):
        from matplotlib.figure import Figure
    axes = list(dict.fromkeys(point.axis for point in result.curves))
    figure = Figure(figsize=(5.2 * (1 + len(axes)), 3.8), layout="constrained")
    first, *others = figure.subplots(1, 1 + len(axes), squeeze=False)[0]
    _draw_changes(first, result)
    for panel, axis in zip(others, axes, strict=True):
        points = [point for point in result.curves if point.axis == axis]
        _draw_curve(panel, points, result.loss.measure)
    return figure


def _draw_changes(panel: Any, result: "Comparison") -> None:
    measure, compared = result.loss.measure, result.compared
    edge = result.limit * measure.scale
    panel.axvspan(-edge, edge, color="#999999", alpha=0.25, linewidth=0, label="no difference")
    panel.axvline(0, color="#000000", linewidth=0.8)
    for row, verdict in enumerate(method.judged for method in compared):
        low, high = (value * measure.scale for value in verdict.interval)
        colour = {words.HELP: "#009E73", words.HARM: "#D55E00"}.get(verdict.answer, "#0072B2")
        panel.plot([low, high], [row, row], color=colour, linewidth=2)
        panel.plot(verdict.change * measure.scale, row, "o", color=colour)
    panel.set_yticks(range(len(compared)), [method.name for method in compared])
    panel.set_ylim(len(compared) - 0.5, -0.5)
    panel.set_xlabel(f"estimated change in {measure.name}{unit_of(measure)}, left is better")
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_title(f"Against {result.plan.baseline_in_words}", fontsize="medium")


def _draw_curve(panel: Any, points: list[CurvePoint], measure: Measure) -> None:
    names = list(dict.fromkeys(point.name for point in points))
    styles = line_styles(["Supervised", *names[1:]])
    for name, (colour, line) in zip(names, styles.values(), strict=True):
        own = [(p.n, p.loss, p.standard_error) for p in points if p.name == name]
        sizes, mean, error = np.array(own).T * [[1], [measure.scale], [measure.scale]]
        panel.plot(sizes, mean, line, color=colour, label=name, marker="o", markersize=3)
        panel.fill_between(sizes, mean - error, mean + error, color=colour, alpha=0.12, linewidth=0)
    ticks = sorted({point.n for point in points})
    panel.set_xscale("symlog", linthresh=max(min(size for size in ticks if size), 1))
    panel.set_xticks(ticks, [str(size) for size in ticks])
    panel.minorticks_off()
    panel.set_xlabel(AXES[points[0].axis].lower())
    panel.set_ylabel(f"{measure.name}{unit_of(measure)}")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize="small", frameon=False)
