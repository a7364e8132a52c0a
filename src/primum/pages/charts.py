"""Charts drawn as HTML and SVG, with text that keeps its size on every screen.

They need no plotting library, and their shapes stretch with the page while names and numbers do
not. Their colours are variables of ``chart.css``, so that they can be read on a dark page too. A
chart has the role of an image with an alternative text, and is shown with its numbers as a table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import asinh, floor, log10

# Curves differ in colour (--series-0 and so on) and dashes: as many colours as people tell apart.
N_COLOURS = 7
DASHES = ("", "6 3", "2 3", "8 3 2 3")
# Ticks of an axis, at most: more would touch each other on a phone.
MAX_TICKS = 6


@dataclass(frozen=True)
class IntervalLine:
    """One line of a chart of intervals: a name, its answer (a key and words) and the numbers."""

    name: str
    answer: str
    words: str
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Curve:
    """One curve: its name and points (x, y, half the height of the band)."""

    name: str
    points: Sequence[tuple[float, float, float]]


@dataclass(frozen=True)
class BandedCurve:
    """One curve of shares: its name and points (x, y, lower end, upper end)."""

    name: str
    points: Sequence[tuple[float, float, float, float]]


def interval_chart(items: Sequence[IntervalLine], edge: float, label: str, alternative: str) -> str:
    """Return a chart of intervals around zero, in which left is better.

    Parameters
    ----------
    items : sequence of IntervalLine
        The lines, from top to bottom.
    edge : float
        Changes up to this size make no practical difference; they are shaded.
    label : str
        What the axis shows, with its unit.
    alternative : str
        The chart in words.

    Returns
    -------
    str
        HTML, to be used with the style sheet ``chart.css``.
    """
    low = min([-2 * edge, *(item.low for item in items)])
    high = max([2 * edge, *(item.high for item in items)])
    scale = _Scale(low - 0.05 * (high - low), high + 0.05 * (high - low))
    band = f"<span class='band' style='{scale.stretch(-edge, edge)}'></span>"
    zero = f"<span class='zero' style='left:{scale.at(0)}'></span>"
    rows = "".join(_interval_row(item, scale) for item in items)
    ticks = _below(scale, {tick: _signed(tick) for tick in scale.ticks})
    return (
        f"<div class='chart' role='img' aria-label='{escape(alternative)}'>"
        "<div class='sides'><span>← better</span><span>worse →</span></div>"
        f"<div class='plot'>{band}{zero}{rows}</div>"
        f"<div class='ticks'>{ticks}</div><div class='label'>{escape(label)}</div></div>"
    )


def _interval_row(item: IntervalLine, scale: "_Scale") -> str:
    kind = f" {item.answer}" if item.answer in ("help", "harm") else ""
    return (
        f"<div class='item{kind}'><div class='name'><b>{escape(item.name)}</b>"
        f"<span>{escape(item.words)}</span></div><div class='track'>"
        f"<span class='bar' style='{scale.stretch(item.low, item.high)}'></span>"
        f"<span class='dot' style='left:{scale.at(item.middle)}'></span></div></div>"
    )


def line_chart(series: Sequence[Curve], x_label: str, y_label: str, alternative: str) -> str:
    """Return a chart of curves over sizes, from zero to large, with their bands.

    Parameters
    ----------
    series : sequence of Curve
        The curves; every x of a point gets a tick.
    x_label, y_label : str
        What the axes show, with units.
    alternative : str
        The chart in words.

    Returns
    -------
    str
        HTML, to be used with the style sheet ``chart.css``.
    """
    points = [point for curve in series for point in curve.points]
    sizes = sorted({x for x, _, _ in points})
    unit = min((size for size in sizes if size > 0), default=1.0)
    across = _Scale(asinh(sizes[0] / unit), asinh(sizes[-1] / unit))
    low, high = min(y - e for _, y, e in points), max(y + e for _, y, e in points)
    margin = 0.05 * (high - low) or 1.0
    upward = _Scale(low - margin if low < 0 else max(low - margin, 0.0), high + margin)
    plot = _Plot(
        across,
        {asinh(size / unit): f"{size:,g}" for size in sizes},
        upward,
        {tick: f"{tick:g}" for tick in upward.inner_ticks},
    )
    banded = [[(asinh(x / unit), y, y - e, y + e) for x, y, e in curve.points] for curve in series]
    drawn = "".join(_curve(points, k, plot, dots=True) for k, points in enumerate(banded))
    legend = _legend([curve.name for curve in series])
    return plot.chart(f"{plot.grid}{drawn}", (x_label, y_label), alternative, legend=legend)


def threshold_chart(
    series: Sequence[BandedCurve],
    mark: float,
    interval: tuple[float, float] | None,
    label: str,
    alternative: str,
) -> str:
    """Return a chart of shares over a threshold from 0 to 1, with bands and a marked threshold.

    Parameters
    ----------
    series : sequence of BandedCurve
        The curves.
    mark : float
        The threshold.
    interval : (float, float) or None
        The interval of the marked threshold, which is shaded.
    label : str
        What the horizontal axis shows.
    alternative : str
        The chart in words.

    Returns
    -------
    str
        HTML, to be used with the style sheet ``chart.css``.
    """
    scale = _Scale(0.0, 1.0)
    chosen = scale.share(min(max(mark, 0.0), 1.0))
    strip = ""
    if interval is not None:
        low, high = (scale.share(min(max(end, 0.0), 1.0)) for end in interval)
        strip = f"<path class='equal' d='M{low:.2f} 0H{high:.2f}V100H{low:.2f}Z'/>"
    ticks = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    numbers, shares = ({tick: f"{tick:{form}}" for tick in ticks} for form in ("g", ".0%"))
    plot = _Plot(scale, numbers, scale, shares)
    drawn = "".join(_curve(curve.points, k, plot) for k, curve in enumerate(series))
    line = f"<path class='middle' d='M{chosen:.2f} 0V100'/>"
    legend = _legend([curve.name for curve in series])
    return plot.chart(f"{strip}{plot.grid}{drawn}{line}", (label, ""), alternative, legend=legend)


def scatter_chart(
    points: Sequence[tuple[float, float]], labels: tuple[str, str], alternative: str
) -> str:
    """Return a chart of points (x, y) in one unit, with the line on which x equals y.

    Parameters
    ----------
    points : sequence of (float, float)
        The points; at least one.
    labels : (str, str)
        What the horizontal and the vertical axis show, with units.
    alternative : str
        The chart in words.

    Returns
    -------
    str
        HTML, to be used with the style sheet ``chart.css``.
    """
    values = [value for point in points for value in point]
    margin = 0.05 * (max(values) - min(values)) or 1.0
    scale = _Scale(min(values) - margin, max(values) + margin)
    ticks = {tick: f"{tick:g}" for tick in scale.inner_ticks}
    plot = _Plot(scale, ticks, scale, ticks)
    dots = _dots(plot.at(points))
    equal = f"<path class='middle' d='M0 100L100 0'/><path class='dots' d='{dots}'/>"
    return plot.chart(f"{plot.grid}{equal}", labels, alternative, shape=" scatter")


def bounds_chart(
    path: Sequence[tuple[float, float]],
    edge: float,
    labels: tuple[str, str],
    alternative: str,
    answer: str = "",
) -> str:
    """Return a chart of bounds around zero that narrow from left to right; lower is better.

    Parameters
    ----------
    path : sequence of (float, float)
        Lower and upper bounds after 0, 1, 2, ... steps; two or more.
    edge : float
        Changes up to this size make no practical difference; they are shaded.
    labels : (str, str)
        What the horizontal and the vertical axis show, with units.
    alternative : str
        The chart in words.
    answer : str, default=""
        The answer; "help" and "harm" have a colour of their own.

    Returns
    -------
    str
        HTML, to be used with the style sheet ``chart.css``.
    """
    low = min([-2 * edge, *(lower for lower, _ in path)])
    high = max([2 * edge, *(upper for _, upper in path)])
    margin = 0.05 * (high - low) or 1.0
    across, upward = _Scale(0, len(path) - 1), _Scale(low - margin, high + margin)
    plot = _Plot(
        across,
        {tick: f"{tick:,g}" for tick in across.ticks if tick == round(tick)},
        upward,
        {tick: _signed(tick) for tick in upward.inner_ticks},
    )
    kind = f" {answer}" if answer in ("help", "harm") else ""
    return plot.chart(_drawn_bounds(path, edge, plot), labels, alternative, kind=kind)


def _drawn_bounds(path: Sequence[tuple[float, float]], edge: float, plot: "_Plot") -> str:
    """Return the shaded margin, the grid, the zero line, and the area between the bounds."""
    top, zero, bottom = (100 - plot.upward.share(value) for value in (edge, 0.0, -edge))
    lower, upper = (plot.at([(k, ends[side]) for k, ends in enumerate(path)]) for side in (0, 1))
    return (
        f"<path class='equal' d='M0 {top:.2f}H100V{bottom:.2f}H0Z'/>{plot.grid}"
        f"<path class='middle' d='M0 {zero:.2f}H100'/>"
        f"<path class='between' d='{_band(lower, upper)}'/>"
        f"<path class='bound' d='M{' '.join(lower)}'/><path class='bound' d='M{' '.join(upper)}'/>"
    )


def _colour(number: int) -> str:
    return f"var(--series-{number % N_COLOURS})"


def _style(number: int) -> str:
    dash = DASHES[number % len(DASHES)]
    dashed = f";stroke-dasharray:{dash}" if dash else ""
    return f"class='line' style='stroke:{_colour(number)}{dashed}'"


def _curve(
    points: Sequence[tuple[float, ...]], number: int, plot: "_Plot", *, dots: bool = False
) -> str:
    """Return a curve (x, y, lower end, upper end), its band and, if asked for, dots."""
    colour = _colour(number)
    line, lower, upper = (plot.at([(point[0], point[k]) for point in points]) for k in (1, 2, 3))
    dotted = f"<path class='dots' d='{_dots(line)}' style='stroke:{colour}'/>" if dots else ""
    return (
        f"<path class='around' d='{_band(lower, upper)}' style='fill:{colour}'/>"
        f"<path d='M{' '.join(line)}' {_style(number)}/>{dotted}"
    )


def _band(lower: Sequence[str], upper: Sequence[str]) -> str:
    """Return the path around the area between two lines."""
    return f"M{' '.join([*upper, *reversed(lower)])}Z"


def _dots(places: Sequence[str]) -> str:
    """Return the path of dots: lines of length zero with round ends."""
    return "".join(f"M{place.replace(',', ' ')}h0" for place in places)


def _legend(names: Sequence[str]) -> str:
    items = "".join(
        f"<span><svg width='32' height='8'><path d='M0 4H32' {_style(k)}/></svg>"
        f"{escape(name)}</span>"
        for k, name in enumerate(names)
    )
    return f"<div class='legend'>{items}</div>"


def _signed(value: float) -> str:
    return "0" if value == 0 else f"{value:+g}"


@dataclass(frozen=True)
class _Scale:
    """The linear map of an interval to per cent of the width or height of a chart."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return the place of a value, in per cent."""
        return 100 * (value - self.low) / (self.high - self.low) if self.high > self.low else 50.0

    def at(self, value: float) -> str:
        """Return the place of a value as a length of CSS."""
        return f"{self.share(value):.2f}%"

    def stretch(self, low: float, high: float) -> str:
        """Return the place of an interval as properties of CSS."""
        return f"left:{self.at(low)};width:{self.share(high) - self.share(low):.2f}%"

    @property
    def ticks(self) -> list[float]:
        """Round numbers from end to end: multiples of 1, 2 or 5 times a power of ten."""
        rough = (self.high - self.low) / MAX_TICKS
        power = 10.0 ** floor(log10(rough))
        step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough * (1 - 1e-9))
        first, last = int(-(-self.low // step)), int(self.high // step)
        return [round(k * step, 12) for k in range(first, last + 1)]

    @property
    def inner_ticks(self) -> list[float]:
        """The ticks that rounding has not moved beyond the ends."""
        return [tick for tick in self.ticks if self.low <= tick <= self.high]


def _below(scale: _Scale, ticks: Mapping[float, str]) -> str:
    """Return the texts of ticks below a chart."""
    places = ((scale.at(tick), text) for tick, text in ticks.items())
    return "".join(f"<span class='tick' style='left:{at}'>{text}</span>" for at, text in places)


@dataclass(frozen=True)
class _Plot:
    """The axes of a chart with curves or points: their scales, and the texts of their ticks."""

    across: _Scale
    x_ticks: Mapping[float, str]
    upward: _Scale
    y_ticks: Mapping[float, str]

    def at(self, points: Sequence[tuple[float, float]]) -> list[str]:
        """Return the places of points (x, y) in a path of SVG."""
        return [f"{self.across.share(x):.2f},{100 - self.upward.share(y):.2f}" for x, y in points]

    @property
    def grid(self) -> str:
        """A horizontal line at every tick."""
        heights = (100 - self.upward.share(tick) for tick in self.y_ticks)
        return "".join(f"<path class='grid' d='M0 {height:.2f}H100'/>" for height in heights)

    def chart(
        self,
        drawing: str,
        labels: tuple[str, str],
        alternative: str,
        *,
        shape: str = "",
        kind: str = "",
        legend: str = "",
    ) -> str:
        """Return a chart: a drawing (SVG) with these axes; ``labels`` are those of x and of y.

        ``shape`` is a CSS class of the plot and of what is below it, ``kind`` one of the plot
        alone.
        """
        places = ((self.upward.at(tick), text) for tick, text in self.y_ticks.items())
        marks = "".join(f"<span class='y' style='bottom:{at}'>{text}</span>" for at, text in places)
        x_label, y_label = map(escape, labels)
        return (
            f"<div class='chart' role='img' aria-label='{escape(alternative)}'>"
            f"{f'<div>{y_label}</div>' if y_label else ''}"
            f"<div class='plot curves{shape}{kind}'>{marks}"
            f"<svg viewBox='0 0 100 100' preserveAspectRatio='none'>{drawing}</svg></div>"
            f"<div class='ticks{shape}' style='margin:0 1.5rem 0 3.25rem'>"
            f"{_below(self.across, self.x_ticks)}</div>"
            f"<div class='label{shape}'>{x_label}</div>{legend}</div>"
        )
