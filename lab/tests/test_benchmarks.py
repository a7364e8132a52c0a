"""The table of benchmarks: its rows, its flags, and the committed figures. Nothing is timed."""

import json
import runpy
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def table(monkeypatch):
    """Return the names that the script defines."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return runpy.run_path(str(BENCHMARKS / "table.py"))


@pytest.fixture
def line(table):
    """Return a function that makes a line of the table from values, one for every run."""
    figure = table["Figure"]("ICLS / Ridge", "x", bar=1.5)
    return lambda *values: table["Line"]("in memory", figure, "few rows", list(values))


COMMITTED = {"in memory: ICLS / Ridge": {"few rows": {"value": 1.0}}}


def test_rows_have_names_functions_and_figures(table):
    rows = table["ROWS"]
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.name and callable(row.measure) and row.figures for row in rows)
    for figure in (figure for row in rows for figure in row.figures):
        assert figure.name
        assert figure.bar is None or figure.bar > 0


@pytest.mark.parametrize(("value", "verdict"), [(1.3, "slower"), (1.2, ""), (0.5, "")])
def test_more_than_a_quarter_is_slower(table, line, value, verdict):
    assert table["verdict"](line(value), COMMITTED) == verdict


def test_the_median_of_the_runs_is_judged(table, line):
    assert table["verdict"](line(1.1, 9.0, 1.0), COMMITTED) == ""
    assert table["described"](line(1.1, 9.0, 1.0), COMMITTED)[3:5] == ("1.1 x", "1 to 9")


@pytest.mark.parametrize(
    "committed", [{}, {"in memory: ICLS / Ridge": {"many rows": {"value": 1.0}}}]
)
def test_a_figure_that_is_not_committed_for_this_problem_is_new(table, line, committed):
    assert table["verdict"](line(9.0), committed) == "new"


def test_a_missed_bar_is_named(table, line):
    assert table["remark"](line(1.6), COMMITTED) == "slower, misses its bar"
    assert table["remark"](line(1.2), COMMITTED) == ""


def test_an_update_replaces_only_what_was_measured(table, line):
    committed = {**COMMITTED, "dask: two workers": {"10 rows": {"value": 2.0}}}
    found = table["updated"](committed, [line(1.23456)], {"commit": "abc"})
    entry = found["in memory: ICLS / Ridge"]["few rows"]
    assert entry == {"value": 1.23, "commit": "abc"}
    assert found["dask: two workers"] == committed["dask: two workers"]
    assert COMMITTED["in memory: ICLS / Ridge"]["few rows"] == {"value": 1.0}


def test_committed_figures_belong_to_rows_and_say_where_they_come_from(table):
    names = {f"{row.name}: {figure.name}" for row in table["ROWS"] for figure in row.figures}
    committed = json.loads(table["COMMITTED"].read_text())
    assert set(committed) <= names
    for entry in (entry for problems in committed.values() for entry in problems.values()):
        assert entry["value"] > 0
        assert entry["machine"]
        assert entry["commit"]


def test_a_row_that_cannot_be_measured_says_why(table, capsys):
    def measure(quick):
        raise table["NotMeasuredError"]("no accelerator")

    def here(row, quick):
        return row.measure(quick)

    report = table["report"]
    report.__globals__["in_new_process"] = here
    row = table["ROWS"][0].__class__("gpu", measure, ())
    options = table["argparse"].Namespace(quick=False, runs=1)
    assert report(row, options, {}) == []
    assert "| gpu | not measured: no accelerator |" in capsys.readouterr().out


def test_chosen_labels_that_are_held_out_or_only_train_make_errors_too_high():
    script = runpy.run_path(str(BENCHMARKS / "chosen_labels.py"))
    sizes = (40, 200, 30, 500)
    rows = [row for repeat in range(12) for row in script["draw_of"]("clusters", repeat, 1, sizes)]
    table = script["table_of"](rows)
    bias = table.groupby("way")["baseline"].mean()
    assert set(bias.index) == {*script["WAYS"], "left out"}
    assert min(bias["held out"], bias["trained on"]) > bias["random"] + 3
    assert len(script["summary"](table)) == 5
    assert list(script["paired"](table).index) == ["clusters"]
