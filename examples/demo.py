"""Does unlabelled data help? A comparison on the Wisconsin breast cancer data (WDBC).

Of 569 rows, 35 are labelled; more and more of the others are given without their labels, and the
rest is for testing. Repeated over random splits. Prints a table for the largest number of
unlabelled rows and saves a learning curve.
"""

import argparse
import tempfile
from pathlib import Path

from primum.datasets import load
from primum.evaluation import (
    LEAST_SQUARES,
    Experiment,
    LearningCurve,
    run_experiment,
    summarise,
)
from primum.report import curves_figure

SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 400)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100, help="random splits (100)")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="where to save")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {options.repeats}")

    wdbc = load("wdbc")
    experiment = Experiment(
        name="WDBC, random splits",
        data={"wdbc": (wdbc.X, wdbc.codes)},
        design=LearningCurve(sizes=SIZES),
        methods=LEAST_SQUARES,
        repeats=options.repeats,
    )
    with tempfile.TemporaryDirectory() as folder:
        results = run_experiment(experiment, folder, jobs=-1)
    summary = summarise(results, curve=True)
    print_table(summary[summary["n_unlabeled"] == SIZES[-1]], options.repeats)
    options.out.mkdir(parents=True, exist_ok=True)
    picture = options.out / "learning_curve.png"
    curves_figure(summary, "error", "loss_test").savefig(picture, dpi=120)
    print(f"\nLearning curve saved to {picture}")


def print_table(summary, repeats):
    print(f"\n35 labelled and {SIZES[-1]} unlabelled rows, {repeats} splits\n")
    print(f"{'':14}{'error':>8}{'squared loss':>14}{'worse than supervised':>24}{'seconds':>10}")
    for name, cells in summary.groupby("classifier", sort=False):
        cell = cells.set_index("measure")
        times = cell.loc["error", "times_worse"]
        worse = "" if name == "Supervised" else f"{times / repeats:.0%} of splits"
        error, loss, seconds = cell.loc[["error", "loss_test", "seconds"], "mean"]
        print(f"{name:14}{error:8.3f}{loss:14.3f}{worse:>24}{seconds:10.4f}")


if __name__ == "__main__":
    main()
