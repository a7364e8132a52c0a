"""Does unlabelled data help? A comparison on the Wisconsin breast cancer data (WDBC).

Of 569 rows, 35 are labelled; an increasing number of the others are used without their labels, and
the rest are for testing, over many random splits. The supervised least-squares model and the
semi-supervised ones are compared with ridge and logistic regression, tuned by cross-validation on
the labelled rows: what is possible without any unlabelled row. Prints a table for the largest
number of unlabelled rows and saves a learning curve.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegressionCV, RidgeClassifierCV

from primum import ICLSClassifier, LeastSquaresClassifier, SelfLearningClassifier
from primum.datasets import load
from primum.evaluation import (
    Experiment,
    LearningCurve,
    Method,
    run_experiment,
    score_signed,
    summarise,
)
from primum.report import curves_figure

SIZES = (2, 8, 32, 128, 400)
RIDGE = RidgeClassifierCV(alphas=np.geomspace(1e-3, 1e4, 15))
LOGISTIC = LogisticRegressionCV(Cs=np.geomspace(1e-3, 10, 5), cv=3, scoring="neg_log_loss")
METHODS = (
    Method("Supervised", LeastSquaresClassifier(), sees="labeled"),
    Method("Self-Learning", SelfLearningClassifier()),
    Method("ICLS", ICLSClassifier()),
    Method("ICLS, metric=0.2", ICLSClassifier(metric=0.2)),
    Method("Ridge (CV)", RIDGE, sees="labeled", score=score_signed),
    Method("Logistic (CV)", LOGISTIC, sees="labeled"),
)


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
        methods=METHODS,
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
    print(f"{'':17}{'error':>8}{'squared loss':>14}{'worse than supervised':>24}{'seconds':>10}")
    for name, cells in summary.groupby("classifier", sort=False):
        cell = cells.set_index("measure")
        times = cell.loc["error", "times_worse"]
        worse = "" if name == "Supervised" else f"{times / repeats:.0%} of splits"
        error, loss, seconds = cell.loc[["error", "loss_test", "seconds"], "mean"]
        print(f"{name:17}{error:8.3f}{loss:14.3f}{worse:>24}{seconds:10.4f}")


if __name__ == "__main__":
    main()
