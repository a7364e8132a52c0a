"""Charts of HTML and SVG: everything is where its number says."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from primum.pages.charts import (
    Curve,
    IntervalLine,
    _Scale,
    bounds_chart,
    interval_chart,
    line_chart,
)


def lengths(pattern, chart):
    return [tuple(map(float, found)) for found in re.findall(pattern, chart)]


def test_intervals_lie_where_their_numbers_are():
    items = [
        IntervalLine("good", "help", "better", -8.0, -5.0, -2.0),
        IntervalLine("<i>", "cannot_tell", "cannot tell", -4.0, 0.0, 4.0),
    ]
    chart = interval_chart(items, 1.0, "Change (points)", "In words")
    bars = lengths(r"class='bar' style='left:([\d.]+)%;width:([\d.]+)%", chart)
    ((band, wide),) = lengths(r"class='band' style='left:([\d.]+)%;width:([\d.]+)%", chart)
    zero = float(re.search(r"class='zero' style='left:([\d.]+)%", chart)[1])
    unit = wide / 2.0
    assert band + wide / 2 == pytest.approx(zero, abs=0.02)
    for (left, width), item in zip(bars, items, strict=True):
        assert left == pytest.approx(zero + unit * item.low, abs=0.03)
        assert width == pytest.approx(unit * (item.high - item.low), abs=0.03)
    dots = [float(x) for x in re.findall(r"class='dot' style='left:([\d.]+)%", chart)]
    np.testing.assert_allclose(dots, [zero + unit * item.middle for item in items], atol=0.03)
    assert "&lt;i&gt;" in chart
    assert "aria-label='In words'" in chart


def test_curves_pass_through_their_points():
    series = [Curve("a", [(0, 2.0, 0.5), (4, 1.0, 0.5)]), Curve("b", [(0, 3.0, 0.0)])]
    chart = line_chart(series, "rows", "error", "In words")
    (start, end), (single,) = (
        [tuple(map(float, point.split(","))) for point in line.split()]
        for line in re.findall(r"<path d='M([\d., ]+)' class='line'", chart)
    )
    assert (start[0], end[0], single[0]) == (0, 100, 0)
    assert single[1] < start[1] < end[1]  # SVG counts downwards: 3 is above 2, above 1
    assert (end[1] - start[1]) == pytest.approx(start[1] - single[1], abs=0.02)


def test_bounds_and_margin_lie_where_their_numbers_are():
    path = [(-20, 20), (-20, 18), (-19, 4), (-12, -8)]
    chart = bounds_chart(path, 5, ("rows", "change"), "In words", "help")
    lower, upper = (
        [tuple(map(float, point.split(","))) for point in line.split()]
        for line in re.findall(r"class='bound' d='M([\d., ]+)'", chart)
    )
    zero = float(re.search(r"class='middle' d='M0 ([\d.]+)H100'", chart)[1])
    ((top, bottom),) = lengths(r"class='equal' d='M0 ([\d.]+)H100V([\d.]+)H0Z'", chart)
    unit = (bottom - top) / 10  # SVG counts downwards
    np.testing.assert_allclose([x for x, _ in lower], [0, 100 / 3, 200 / 3, 100], atol=0.01)
    for side, drawn in enumerate((lower, upper)):
        expected = [zero - unit * ends[side] for ends in path]
        np.testing.assert_allclose([y for _, y in drawn], expected, atol=0.03)
    assert "class='plot curves help'" in chart
    assert "aria-label='In words'" in chart
    assert "NaN" not in bounds_chart([(0, 0), (0, 0)], 0, ("rows", "change"), "In words")


def test_equal_values_are_drawn_too():
    flat = [Curve("a", [(5, 0.0, 0.0)])]
    assert "NaN" not in line_chart(flat, "rows", "error", "In words")
    same = [IntervalLine("a", "no_difference", "none", 0.0, 0.0, 0.0)]
    assert "width:0.00%" in interval_chart(same, 0.01, "Change", "In words")


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_round_and_inside(low, width):
    scale = _Scale(low, low + width)
    ticks = scale.ticks
    assert 1 <= len(ticks) <= 8
    slack = 1e-6 * max(abs(low), width, 1e-6)
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)
    if len(ticks) > 1:
        step = min(np.diff(ticks))
        digit = float(f"{step:.6e}".split("e")[0])
        assert min(abs(digit - round_) for round_ in (1, 2, 5, 10)) < 1e-2
