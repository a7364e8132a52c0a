"""Figures of a comparison: changes to the baseline, and learning curves."""

from typing import Any

from primum._lazy import needed
from primum.pages.pictures import line_styles

AXES = {"n_unlabeled": "number of unlabelled rows", "n_labeled": "number of labelled training rows"}


def plot_comparison(result: Any) -> Any:
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
    found = result.to_dict()
    measure = result.loss.measure
    axes = list(dict.fromkeys(point["axis"] for point in found["curves"]))
    figure = Figure(figsize=(5.2 * (1 + len(axes)), 3.8), layout="constrained")
    panels = figure.subplots(1, 1 + len(axes), squeeze=False)[0]
    _draw_changes(panels[0], found, measure)
    for panel, axis in zip(panels[1:], axes, strict=True):
        _draw_curve(panel, found["curves"], axis, measure)
    return figure


def _draw_changes(panel: Any, found: dict[str, Any], measure: Any) -> None:
    compared = [method for method in found["methods"] if method["verdict"] is not None]
    edge = found["equivalence"] * measure.scale
    panel.axvspan(-edge, edge, color="#999999", alpha=0.25, linewidth=0, label="no difference")
    panel.axvline(0, color="#000000", linewidth=0.8)
    for row, method in enumerate(compared):
        verdict = method["verdict"]
        low, high = (value * measure.scale for value in verdict["interval"])
        colour = {"help": "#009E73", "harm": "#D55E00"}.get(verdict["answer"], "#0072B2")
        panel.plot([low, high], [row, row], color=colour, linewidth=2)
        panel.plot(verdict["change"] * measure.scale, row, "o", color=colour)
    panel.set_yticks(range(len(compared)), [method["name"] for method in compared])
    panel.set_ylim(len(compared) - 0.5, -0.5)
    panel.set_xlabel(f"estimated change in {measure.name}{_unit(measure)}, left is better")
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_title("Against the tuned baseline", fontsize="medium")


def _draw_curve(panel: Any, curves: list[dict[str, Any]], axis: str, measure: Any) -> None:
    points = [point for point in curves if point["axis"] == axis]
    names = list(dict.fromkeys(point["name"] for point in points))
    styles = line_styles(["Supervised", *names[1:]])
    for name, (colour, line) in zip(names, styles.values(), strict=True):
        own = [point for point in points if point["name"] == name]
        sizes = [point["n"] for point in own]
        mean, error = (
            [point[key] * measure.scale for point in own] for key in ("loss", "standard_error")
        )
        panel.plot(sizes, mean, line, color=colour, label=name, marker="o", markersize=3)
        low, high = ([m + sign * e for m, e in zip(mean, error, strict=True)] for sign in (-1, 1))
        panel.fill_between(sizes, low, high, color=colour, alpha=0.12, linewidth=0)
    panel.set_xscale("symlog", linthresh=max(min(p["n"] for p in points if p["n"]), 1))
    sizes = sorted({point["n"] for point in points})
    panel.set_xticks(sizes, [str(size) for size in sizes])
    panel.minorticks_off()
    panel.set_xlabel(AXES[axis])
    panel.set_ylabel(f"{measure.name}{_unit(measure)}")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize="small", frameon=False)


def _unit(measure: Any) -> str:
    return f" ({measure.unit.strip()})" if measure.unit else ""
