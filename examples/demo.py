"""Does unlabelled data help? A comparison on the Wisconsin breast cancer data (WDBC).

Of 569 rows, 35 are labelled; more and more of the others are given without their labels, and the
rest is for testing. Repeated over random splits. Prints a table for the largest number of
unlabelled rows and saves a learning curve.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from tqdm import tqdm

from primum import (
    ICLSClassifier,
    LeastSquaresClassifier,
    SelfLearningClassifier,
    USMClassifier,
)

N_LABELED = 35
N_UNLABELED = [2, 4, 8, 16, 32, 64, 128, 256, 400]
MEASURES = ("error", "squared loss", "seconds")
METHODS = {
    "Supervised": LeastSquaresClassifier(),
    "Self-learning": SelfLearningClassifier(),
    "USM": USMClassifier(),
    "ICLS": ICLSClassifier(),
    "Oracle": LeastSquaresClassifier(),
}
# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLORS = ["#D55E00", "#E69F00", "#CC79A7", "#0072B2", "#009E73"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100, help="random splits (100)")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="where to save")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {options.repeats}")

    results = run(options.repeats)
    print_table(results, options.repeats)
    options.out.mkdir(parents=True, exist_ok=True)
    picture = options.out / "learning_curve.png"
    draw(results, picture)
    print(f"\nLearning curve saved to {picture}")


def run(repeats):
    """Return results[repeat, number of unlabelled rows, method, measure]."""
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    results = np.empty((repeats, len(N_UNLABELED), len(METHODS), len(MEASURES)))
    for repeat in tqdm(range(repeats), desc="WDBC, random splits", unit="split"):
        order = split(y, np.random.default_rng([2017, repeat]))
        for u, n_unlabeled in enumerate(N_UNLABELED):
            train, test = np.split(order, [N_LABELED + n_unlabeled])
            for m, (name, clf) in enumerate(METHODS.items()):
                results[repeat, u, m] = evaluate(name, clf, X, y, train, test)
    return results


def split(y, rng):
    """Shuffle the rows so that the first two are of different classes."""
    order = rng.permutation(len(y))
    first, other = order[0], order[y[order] != y[order[0]]][0]
    return np.concatenate([[first, other], order[(order != first) & (order != other)]])


def evaluate(name, clf, X, y, train, test):
    """Fit to the training rows, of which only the first are labelled, and test."""
    labels = y[train].copy()
    if name != "Oracle":
        labels[N_LABELED:] = -1
    start = time.perf_counter()
    clf.fit(X[train], labels)
    seconds = time.perf_counter() - start
    score = clf.decision_function(X[test]) + 0.5
    return np.mean((score > 0.5) != y[test]), np.mean((score - y[test]) ** 2), seconds


def print_table(results, repeats):
    last = results[:, -1]
    error = last[:, :, 0]
    print(f"\n{N_LABELED} labelled and {N_UNLABELED[-1]} unlabelled rows, {repeats} splits\n")
    print(f"{'':14}{'error':>8}{'squared loss':>14}{'worse than supervised':>24}{'seconds':>10}")
    for m, name in enumerate(METHODS):
        worse = "" if m == 0 else f"{np.mean(error[:, m] > error[:, 0]):.0%} of splits"
        mean = last[:, m].mean(axis=0)
        print(f"{name:14}{mean[0]:8.3f}{mean[1]:14.3f}{worse:>24}{mean[2]:10.4f}")


def draw(results, path):
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, (i, measure) in zip(figure.subplots(1, 2), enumerate(MEASURES[:2]), strict=True):
        for m, name in enumerate(METHODS):
            values = results[:, :, m, i]
            mean, sem = values.mean(axis=0), values.std(axis=0) / len(values) ** 0.5
            axes.plot(N_UNLABELED, mean, "o-", color=COLORS[m], markersize=4, label=name)
            axes.fill_between(N_UNLABELED, mean - sem, mean + sem, color=COLORS[m], alpha=0.2)
        axes.set_xscale("log", base=2)
        axes.set(xlabel="unlabelled rows", ylabel=f"{measure} on test rows", ylim=(0, None))
        axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.suptitle(f"WDBC, {N_LABELED} labelled rows (mean and standard error)")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
