"""Print what this machine measures today, beside the committed figures and the bars.

A figure that is more than a quarter larger than the committed one of the same problem is flagged,
and the exit code is then 1. ``--update`` commits today's figures, with the machine and the commit.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from measurements import ROWS, SIMULATED, Figure, NotMeasuredError, processor

COMMITTED = Path(__file__).with_name("ratios.json")
SLOWER = 1.25
PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow", "dask", "torch")
HEADER = ("row", "problem", "figure", "today", "spread", "committed", "bar", "")
LEGEND = """\
today: the median of these runs. spread: the smallest and the largest of them (with --runs 2 or
more). committed: the figure in lab/benchmarks/ratios.json. bar: what the figure should not exceed.
Lower is better. A figure is new if none is committed for the same problem.
"""


class Line(NamedTuple):
    """A figure of the table, with the values of all runs."""

    row: str
    figure: Figure
    problem: str
    values: list[float]

    @property
    def name(self):
        """Return the name under which the figure is committed."""
        return f"{self.row}: {self.figure.name}"

    @property
    def today(self):
        """Return the median of the runs."""
        return statistics.median(self.values)


def main():
    options = arguments()
    committed = json.loads(COMMITTED.read_text()) if COMMITTED.exists() else {}
    origin = {"machine": machine(), "commit": commit(), "versions": versions()}
    print(f"{origin['machine']}, commit {origin['commit']}\n\n{LEGEND}")
    print(f"| {' | '.join(HEADER)} |\n{'| --- ' * len(HEADER)}|")
    lines = []
    for row in ROWS:
        if row.name in options.only:
            lines += report(row, options, committed)
    if options.update:
        found = updated(committed, lines, origin)
        COMMITTED.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")
    slower = [line.name for line in lines if verdict(line, committed) == "slower"]
    if slower:
        sys.exit(f"\nMore than {SLOWER - 1:.0%} slower than committed: {'; '.join(slower)}")


def arguments():
    parser, names = argparse.ArgumentParser(description=__doc__), [row.name for row in ROWS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="rows (all)")
    parser.add_argument("--quick", action="store_true", help="smaller problems, without bars")
    parser.add_argument("--runs", type=int, default=1, help="runs of every measurement (1)")
    parser.add_argument("--update", action="store_true", help="rewrite the committed figures")
    return parser.parse_args()


def report(row, options, committed):
    """Measure a row, print its figures, and return them."""
    try:
        runs = [in_new_process(row, options.quick) for _ in range(options.runs)]
    except NotMeasuredError as reason:
        print(f"| {row.name} | not measured: {reason} |" + " |" * 6, flush=True)
        return []
    easier = options.quick or runs[0].problem == SIMULATED  # bars are those of the real problem
    figures = [replace(figure, bar=None) if easier else figure for figure in row.figures]
    lines = [
        Line(row.name, figure, runs[0].problem, list(values))
        for figure, *values in zip(figures, *(run.values for run in runs), strict=True)
    ]
    for line in lines:
        print(f"| {' | '.join(described(line, committed, runs[-1].note))} |", flush=True)
    return lines


def in_new_process(row, quick):
    """Measure a row in a process of its own, so that its memory and its imports are its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(row.measure, quick).result()


def described(line, committed, note=""):
    """Return the cells of a line."""
    unit, bar, before = line.figure.unit, line.figure.bar, committed_value(line, committed)
    spread = f"{min(line.values):.3g} to {max(line.values):.3g}" if len(line.values) > 1 else ""
    return (
        line.row,
        f"{line.problem} ({note})" if note else line.problem,
        line.figure.name,
        f"{line.today:.3g} {unit}".strip(),
        spread,
        "" if before is None else f"{before:.3g}",
        "" if bar is None else f"{bar:g}",
        remark(line, committed),
    )


def remark(line, committed):
    """Say whether a figure is new or slower, and whether it misses its bar."""
    bar = line.figure.bar
    missed = "misses its bar" if bar is not None and line.today > bar else ""
    return ", ".join(filter(None, (verdict(line, committed), missed)))


def verdict(line, committed):
    """Return "new", "slower" or an empty string."""
    before = committed_value(line, committed)
    if before is None:
        return "new"
    return "slower" if line.today > SLOWER * before else ""


def committed_value(line, committed):
    """Return the committed value of a figure for the same problem, or None."""
    return committed.get(line.name, {}).get(line.problem, {}).get("value")


def updated(committed, lines, origin):
    """Return the committed figures with those of the lines replaced, and where they come from."""
    found = {name: dict(problems) for name, problems in committed.items()}
    for line in lines:
        entry = {"value": float(f"{line.today:.3g}"), **origin}
        found.setdefault(line.name, {})[line.problem] = entry
    return found


def machine():
    return f"{processor()}, {os.cpu_count()} cores"


def versions():
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except ModuleNotFoundError:  # an optional one
            continue
    return found


def commit():
    """Return the commit of the sources, with a + if they have been changed since."""
    here = Path(__file__).parents[2]

    def git(*command):
        return subprocess.run(
            ["git", *command], cwd=here, check=True, capture_output=True, text=True
        ).stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + "+" * bool(
            git("status", "-s", "--", "src", "lab/src")
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


if __name__ == "__main__":
    main()
