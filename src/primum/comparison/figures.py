"""Figures of a comparison: changes to the baseline, and learning curves."""

from typing import TYPE_CHECKING, Any

import numpy as np

from primum._lazy import needed
from primum.comparison.curves import CurvePoint
from primum.judging.words import Measure
from primum.pages.pictures import line_styles

if TYPE_CHECKING:
    from primum.comparison.compare import Comparison


AXES = {"n_unlabeled": "number of unlabelled rows", "n_labeled": "number of labelled training rows"}


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
    measure, curves = result.loss.measure, result.curves
    axes = list(dict.fromkeys(point.axis for point in curves))
    figure = Figure(figsize=(5.2 * (1 + len(axes)), 3.8), layout="constrained")
    panels = figure.subplots(1, 1 + len(axes), squeeze=False)[0]
    _draw_changes(panels[0], result)
    for panel, axis in zip(panels[1:], axes, strict=True):
        _draw_curve(panel, [point for point in curves if point.axis == axis], measure)
    return figure


def _draw_changes(panel: Any, result: "Comparison") -> None:
    measure, compared = result.loss.measure, result.compared
    edge = result.equivalence * measure.scale
    panel.axvspan(-edge, edge, color="#999999", alpha=0.25, linewidth=0, label="no difference")
    panel.axvline(0, color="#000000", linewidth=0.8)
    for row, method in enumerate(compared):
        verdict = method.judged
        low, high = (value * measure.scale for value in verdict.interval)
        colour = {"help": "#009E73", "harm": "#D55E00"}.get(verdict.answer, "#0072B2")
        panel.plot([low, high], [row, row], color=colour, linewidth=2)
        panel.plot(verdict.change * measure.scale, row, "o", color=colour)
    panel.set_yticks(range(len(compared)), [method.name for method in compared])
    panel.set_ylim(len(compared) - 0.5, -0.5)
    panel.set_xlabel(f"estimated change in {measure.name}{_unit(measure)}, left is better")
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_title("Against the tuned baseline", fontsize="medium")


def _draw_curve(panel: Any, points: list[CurvePoint], measure: Measure) -> None:
    names = list(dict.fromkeys(point.name for point in points))
    styles = line_styles(["Supervised", *names[1:]])
    for name, (colour, line) in zip(names, styles.values(), strict=True):
        own = [point for point in points if point.name == name]
        sizes = [point.n for point in own]
        mean = np.array([point.loss for point in own]) * measure.scale
        error = np.array([point.standard_error for point in own]) * measure.scale
        panel.plot(sizes, mean, line, color=colour, label=name, marker="o", markersize=3)
        panel.fill_between(sizes, mean - error, mean + error, color=colour, alpha=0.12, linewidth=0)
    sizes = sorted({point.n for point in points})
    panel.set_xscale("symlog", linthresh=max(min(size for size in sizes if size), 1))
    panel.set_xticks(sizes, [str(size) for size in sizes])
    panel.minorticks_off()
    panel.set_xlabel(AXES[points[0].axis])
    panel.set_ylabel(f"{measure.name}{_unit(measure)}")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize="small", frameon=False)


def _unit(measure: Measure) -> str:
    return f" ({measure.unit.strip()})" if measure.unit else ""
